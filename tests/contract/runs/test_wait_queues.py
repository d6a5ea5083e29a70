"""Wait queues, and requests for runs.

- The adapter of wait queues, on every emulator that executes conditions rightly.
- Requests for runs and many timers at once, on each emulator.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from duecourse.domain.ids import RunIdentity, to_basic
from duecourse.domain.jobs.backfill import Backfill, Only
from duecourse.domain.jobs.cursor import shard_of, slot_of
from duecourse.domain.jobs.job import Lane
from duecourse.domain.runs.overlap import QueuePosition
from duecourse.messages import Evaluate, Redrive, RunMessage
from duecourse.ports import Input, QueueWatch, Timer
from duecourse.testing.clock import SettableClock
from tests.support.jobs import NOON
from tests.support.tables import Tables
from tests.support.varied import varied

JOB = ("default", "tick-tock")
LATER = int(NOON) + 400 * 86_400


def message(seconds: int, *, due: int | None = None, suffix: str = "", padding: str = "") -> RunMessage:
    """What starts the run of an occurrence so many seconds after noon."""
    occurrence = int(NOON) + seconds
    return RunMessage(
        RunIdentity(
            *JOB,
            occurrence=occurrence,
            due=occurrence if due is None else int(NOON) + due,
            generation=5,
            suffix=suffix,
            correlation_id=padding or None,
        ),
        lane=Lane.NORMAL,
        not_before=float(occurrence),
        nonce=f"nonce{seconds}",
        waited=True,
    )


def place(entry: RunMessage) -> QueuePosition:
    return QueuePosition(entry.due, entry.name.local)


def stand(tables: Tables, *entries: RunMessage) -> None:
    queues = tables.wait_queues()
    assert [queues.enter(entry, expires_at=LATER) for entry in entries] == [True] * len(entries)


def test_wait_queues_order_follows_due_times_not_arrival(any_tables: Tables) -> None:
    late, jittered, early = message(60), message(10, due=70), message(30)
    stand(any_tables, late, jittered, early)
    queues = any_tables.wait_queues()
    assert queues.waiting(*JOB, limit=10) == [early, late, jittered]
    assert queues.waiting(*JOB, limit=2) == [early, late]
    assert queues.waiting(*JOB, limit=2, newest=True) == [jittered, late]


def test_wait_queues_equal_due_times_are_ordered_by_run_name(any_tables: Tables) -> None:
    plain, by_hand = message(30), message(30, suffix=".mabc")
    stand(any_tables, by_hand, plain)
    assert any_tables.wait_queues().waiting(*JOB, limit=10) == [plain, by_hand]
    assert place(plain) < place(by_hand)


def test_wait_queues_redrive_replaces_a_message_that_only_evaluates_the_run(any_tables: Tables) -> None:
    evaluation = replace(message(0), command=Evaluate())
    redrive = replace(message(0), nonce="another", command=Redrive())
    stand(any_tables, evaluation, redrive)
    queues = any_tables.wait_queues()
    assert not queues.enter(evaluation, expires_at=LATER)
    assert queues.waiting(*JOB, limit=10) == [redrive]
    assert not queues.leave(*JOB, place(redrive), through=1)


def test_wait_queues_run_is_queued_only_once(any_tables: Tables) -> None:
    stand(any_tables, message(0))
    again = replace(message(0), nonce="another")
    assert not any_tables.wait_queues().enter(again, expires_at=LATER)
    assert any_tables.wait_queues().waiting(*JOB, limit=10) == [message(0)]


def test_wait_queues_removal_of_a_run_is_repeatable(any_tables: Tables) -> None:
    stand(any_tables, message(0), message(60))
    queues = any_tables.wait_queues()
    assert [queues.leave(*JOB, place(message(0))) for _ in range(2)] == [True, False]
    assert queues.waiting(*JOB, limit=10) == [message(60)]


def test_wait_queues_run_waiting_for_a_later_attempt_stays_queued(any_tables: Tables) -> None:
    third = replace(message(0), command=Redrive(), attempt=2)
    stand(any_tables, third, message(60))
    queues = any_tables.wait_queues()
    assert [queues.leave(*JOB, place(third), through=attempt) for attempt in (0, 2)] == [False, False]
    assert queues.waiting(*JOB, limit=10) == [third, message(60)]
    assert queues.leave(*JOB, place(third), through=3)
    assert queues.leave(*JOB, place(message(60)), through=1)
    assert queues.waiting(*JOB, limit=10) == []


@pytest.mark.parametrize(("limit", "found"), [(1, 1), (3, 3), (5, 3)])
def test_wait_queues_count_stops_at_a_limit(any_tables: Tables, limit: int, found: int) -> None:
    stand(any_tables, message(0), message(60), message(120))
    assert any_tables.wait_queues().length(*JOB, limit=limit) == found


def test_wait_queues_count_continues_past_one_page(any_tables: Tables) -> None:
    big = "x" * 200_000  # six of them are more than the megabyte of a page
    stand(any_tables, *(message(60 * number, padding=big) for number in range(8)))
    assert any_tables.wait_queues().length(*JOB, limit=1000) == 8
    assert any_tables.wait_queues().length(*JOB, limit=7) == 7


def test_wait_queues_other_jobs_and_tenants_are_excluded(any_tables: Tables) -> None:
    stand(any_tables, varied(message(0), job_id="tick"), varied(message(0), tenant="acme"))
    assert any_tables.wait_queues().waiting(*JOB, limit=10) == []
    assert any_tables.wait_queues().length(*JOB, limit=10) == 0


def test_wait_queues_watch_is_set_only_over_the_previous_watch(any_tables: Tables) -> None:
    queues = any_tables.wait_queues()
    first, second = QueueWatch("one", NOON), QueueWatch("two", NOON + 30.25)
    assert queues.watch(*JOB) is None
    assert queues.set_watch(*JOB, first, None, expires_at=LATER)
    assert not queues.set_watch(*JOB, second, None, expires_at=LATER)
    assert queues.set_watch(*JOB, second, first, expires_at=LATER)
    assert not queues.set_watch(*JOB, first, first, expires_at=LATER)
    assert queues.watch(*JOB) == second


def test_wait_queues_watch_is_removed_only_by_a_writer_that_knows_it(any_tables: Tables) -> None:
    queues = any_tables.wait_queues()
    standing = QueueWatch("one", NOON)
    queues.set_watch(*JOB, standing, None, expires_at=LATER)
    assert not queues.set_watch(*JOB, None, QueueWatch("two", NOON), expires_at=0)
    assert queues.watch(*JOB) == standing
    assert queues.set_watch(*JOB, None, standing, expires_at=0)
    assert queues.watch(*JOB) is None


def test_wait_queues_calls_are_recorded_together_and_only_over_the_watch_that_was_read(any_tables: Tables) -> None:
    queues = any_tables.wait_queues()
    standing = QueueWatch("one", NOON)
    assert queues.set_watch(*JOB, standing, None, expires_at=LATER)
    called = replace(standing, calls=frozenset({"first", "second", "third"}))
    assert queues.set_watch(*JOB, called, standing, expires_at=LATER)
    assert not queues.set_watch(*JOB, replace(standing, calls=frozenset({"fourth"})), standing, expires_at=LATER)
    assert queues.watch(*JOB) == called
    fewer = replace(called, calls=frozenset({"third", "first"}))
    assert not queues.set_watch(*JOB, None, fewer, expires_at=LATER)
    assert queues.set_watch(*JOB, fewer, called, expires_at=LATER)
    assert queues.set_watch(*JOB, standing, fewer, expires_at=LATER)
    assert queues.watch(*JOB) == standing


def test_wait_queues_call_is_removed_whatever_the_other_calls_are(any_tables: Tables) -> None:
    queues = any_tables.wait_queues()
    called = QueueWatch("one", NOON, frozenset({"first", "second", "third"}))
    assert queues.remove_calls(*JOB, ["first"]) is None
    assert queues.watch(*JOB) is None
    assert queues.set_watch(*JOB, called, None, expires_at=LATER)
    assert queues.remove_calls(*JOB, ["second"]) == replace(called, calls=frozenset({"first", "third"}))
    assert queues.remove_calls(*JOB, ["second", "unknown"]) == replace(called, calls=frozenset({"first", "third"}))
    assert queues.remove_calls(*JOB, ["first", "third"]) == QueueWatch("one", NOON)
    assert queues.set_watch(*JOB, None, QueueWatch("one", NOON), expires_at=LATER)


def test_wait_queues_watch_and_lock_are_not_queued_runs(any_tables: Tables) -> None:
    any_tables.wait_queues().set_watch(*JOB, QueueWatch("one", NOON), None, expires_at=LATER)
    assert any_tables.wait_queues().waiting(*JOB, limit=10) == []
    assert any_tables.run_store().page(*JOB, limit=10, before=f"{to_basic(LATER)}") == []


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
CHOSEN = Backfill(N - 3600, N, 5, only=Only.FAILED, force_new_key=True, chosen=(N - 60, N - 1800, N - 3600))
BACKFILL = replace(ASKED, suffix=".bAbCd1234", occurrence=None, backfill=Backfill(N - 3600, N, 5, newest_first=True))


@pytest.mark.parametrize(
    "asked",
    [
        ASKED,
        BACKFILL,
        replace(BACKFILL, suffix=".fAbCd1234", backfill=CHOSEN),
        replace(ASKED, own_payload=True, payload=None),
        replace(ASKED, own_payload=True, payload={"a": [1, 2.5, "ä", None, True]}),
        replace(ASKED, own_payload=True, payload=""),
        replace(ASKED, sent=True),
        replace(ASKED, refused=True),
    ],
)
def test_wait_queues_run_request_is_read_as_written(any_tables: Tables, asked: Input) -> None:
    inputs = any_tables.inputs()
    assert inputs.put("acme", "nightly", asked) is None
    assert inputs.get("acme", "nightly", asked.suffix) == asked


def test_wait_queues_repeated_run_request_is_answered_and_not_overwritten(any_tables: Tables) -> None:
    inputs = any_tables.inputs()
    inputs.put("acme", "nightly", ASKED)
    assert inputs.put("acme", "nightly", replace(ASKED, requested_by="bert")) == ASKED
    assert inputs.get("acme", "nightly", ASKED.suffix) == ASKED


def test_wait_queues_run_request_belongs_to_its_tenant_and_job(any_tables: Tables) -> None:
    inputs = any_tables.inputs()
    inputs.put("acme", "nightly", ASKED)
    assert inputs.get("other", "nightly", ASKED.suffix) is None
    assert inputs.get("acme", "hourly", ASKED.suffix) is None
    assert inputs.get("acme", "nightly", BACKFILL.suffix) is None


def test_wait_queues_run_request_is_not_a_run(any_tables: Tables) -> None:
    any_tables.inputs().put("acme", "nightly", ASKED)
    assert any_tables.run_store().page("acme", "nightly", limit=10, before=None) == []


def test_wait_queues_marking_a_run_request_as_sent_changes_nothing_else(any_tables: Tables) -> None:
    inputs = any_tables.inputs()
    inputs.put("acme", "nightly", ASKED)
    inputs.mark_sent("acme", "nightly", ASKED.suffix)
    assert inputs.get("acme", "nightly", ASKED.suffix) == replace(ASKED, sent=True)
    inputs.mark_sent("acme", "nightly", ".mGone1234")
    assert inputs.get("acme", "nightly", ".mGone1234") is None


def test_wait_queues_run_request_is_marked_as_refused_unless_it_was_sent(any_tables: Tables) -> None:
    inputs = any_tables.inputs()
    inputs.put("acme", "nightly", ASKED)
    inputs.mark_refused("acme", "nightly", ASKED.suffix)
    assert inputs.get("acme", "nightly", ASKED.suffix) == replace(ASKED, refused=True)
    other = replace(ASKED, suffix=".mOther123")
    inputs.put("acme", "nightly", other)
    inputs.mark_sent("acme", "nightly", other.suffix)
    inputs.mark_refused("acme", "nightly", other.suffix)
    assert inputs.get("acme", "nightly", other.suffix) == replace(other, sent=True)
    inputs.mark_refused("acme", "nightly", ".mGone1234")
    assert inputs.get("acme", "nightly", ".mGone1234") is None


def test_wait_queues_many_timers_are_written_and_found_in_the_due_index(any_tables: Tables) -> None:
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
