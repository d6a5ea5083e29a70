"""Requests for runs and many timers at once, on each emulator."""

from __future__ import annotations

from dataclasses import replace

import pytest

from duecourse.domain.jobs.backfill import Backfill
from duecourse.domain.jobs.cursor import shard_of, slot_of
from duecourse.domain.jobs.job import Lane
from duecourse.domain.runs.identity import RunIdentity
from duecourse.messages import RunMessage
from duecourse.ports import Input, Timer
from duecourse.testing.clock import SettableClock
from tests.support.jobs import NOON
from tests.support.tables import Tables

N = int(NOON)
ASKED = Input(
    suffix=".mAbCd1234",
    requested_at=NOON + 0.25,
    requested_by="anna",
    correlation_id="order-4711",
    fingerprint="f-1",
    generation=N * 1000,
    expires_at=N + 86_400,
    occurrence=N,
)
BACKFILL = replace(ASKED, suffix=".bAbCd1234", occurrence=None, backfill=Backfill(N - 3600, N, 5, newest_first=True))


@pytest.mark.parametrize(
    "asked",
    [
        ASKED,
        BACKFILL,
        replace(ASKED, own_payload=True, payload=None),
        replace(ASKED, own_payload=True, payload={"a": [1, 2.5, "ä", None, True]}),
        replace(ASKED, own_payload=True, payload=""),
        replace(ASKED, sent=True),
    ],
)
def test_a_request_is_read_as_it_was_written(any_tables: Tables, asked: Input) -> None:
    inputs = any_tables.inputs()
    assert inputs.put("acme", "nightly", asked) is None
    assert inputs.get("acme", "nightly", asked.suffix) == asked


def test_a_request_for_a_run_that_exists_is_answered_and_not_written_over(any_tables: Tables) -> None:
    inputs = any_tables.inputs()
    inputs.put("acme", "nightly", ASKED)
    assert inputs.put("acme", "nightly", replace(ASKED, requested_by="bert")) == ASKED
    assert inputs.get("acme", "nightly", ASKED.suffix) == ASKED


def test_a_request_for_a_run_belongs_to_its_tenant_and_job(any_tables: Tables) -> None:
    inputs = any_tables.inputs()
    inputs.put("acme", "nightly", ASKED)
    assert inputs.get("other", "nightly", ASKED.suffix) is None
    assert inputs.get("acme", "hourly", ASKED.suffix) is None
    assert inputs.get("acme", "nightly", BACKFILL.suffix) is None


def test_a_request_for_a_run_is_no_run(any_tables: Tables) -> None:
    any_tables.inputs().put("acme", "nightly", ASKED)
    assert any_tables.run_store().page("acme", "nightly", limit=10, before=None) == []


def test_what_was_sent_is_noted_and_nothing_else(any_tables: Tables) -> None:
    inputs = any_tables.inputs()
    inputs.put("acme", "nightly", ASKED)
    inputs.mark_sent("acme", "nightly", ASKED.suffix)
    assert inputs.get("acme", "nightly", ASKED.suffix) == replace(ASKED, sent=True)
    inputs.mark_sent("acme", "nightly", ".mGone1234")
    assert inputs.get("acme", "nightly", ".mGone1234") is None


def test_many_timers_are_written_and_found_by_the_due_index(any_tables: Tables) -> None:
    def timer(number: int) -> Timer:
        message = RunMessage(
            RunIdentity(
                tenant="acme",
                job_id="nightly",
                occurrence=N - 60 * number,
                due=N + number,
                generation=1,
                suffix=".bAbCd1234",
            ),
            lane=Lane.LOW,
            not_before=float(N + number),
            nonce=f"n-{number}",
        )
        return Timer(message, N + number)

    timers = [timer(number) for number in range(60)]
    store = any_tables.timers(shards=4)
    store.put_all(timers)
    store.put_all(timers[:3])  # again, as after an answer that was lost
    store.put_all([])
    slot = slot_of(N, shard_of("acme", "nightly", 4))
    found = any_tables.cursor_store(SettableClock(NOON)).due(slot, N + 100.0)
    assert [entry for page in found for entry in page] == timers
