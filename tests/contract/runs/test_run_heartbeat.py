"""A heartbeat moves one deadline of one attempt, on every emulator that executes conditions rightly."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from duecourse.domain.jobs.job import Lane
from duecourse.domain.runs.callbacks import NOTHING, CallbackToken, Heartbeat, ProgressReport
from duecourse.domain.runs.identity import RunIdentity
from duecourse.domain.runs.states import Run, RunState
from duecourse.ports import Conflict
from tests.support.jobs import NOON
from tests.support.tables import Tables
from tests.support.varied import record, varied

BEAT = Heartbeat(NOON + 25, NOON + 90, NOTHING)


def waiting(**changes: Any) -> Run:
    run = record(
        RunState.WAITING,
        RunIdentity(tenant="default", job_id="tick-tock", occurrence=int(NOON), due=int(NOON), generation=5),
        Lane.NORMAL,
        attempt=2,
        token="worker",
        callback_hash=CallbackToken("default", 2, "s" * 16).hash,
        waiting_until=NOON + 86_400,
        heartbeat_until=NOON + 60,
        cancel_requested="cancelled",
    )
    return varied(run, **changes)


@pytest.mark.parametrize("state", [RunState.RUNNING, RunState.WAITING])
def test_a_heartbeat_moves_the_deadline_and_touches_nothing_else(any_tables: Tables, state: RunState) -> None:
    store = any_tables.run_store()
    run = waiting(state=state)
    store.write(run, None)
    assert store.heartbeat(run, Heartbeat(NOON + 25.5, NOON + 90.5, NOTHING)) is None
    moved = varied(run, heartbeat_at=NOON + 25.5, heartbeat_until=NOON + 90.5)
    assert store.get("default", "tick-tock", run.name.local) == moved


def test_a_heartbeat_keeps_what_it_reports_and_leaves_what_it_does_not(any_tables: Tables) -> None:
    store = any_tables.run_store()
    run = waiting()
    store.write(run, None)
    for report, progress, note in (
        (ProgressReport(0.25, "a quarter"), 0.25, "a quarter"),
        (ProgressReport(progress=0), 0.0, "a quarter"),
        (ProgressReport(note=""), 0.0, ""),
    ):
        assert store.heartbeat(run, Heartbeat(NOON + 20, None, report)) is None
        kept = replace(run, heartbeat_at=NOON + 20, progress=progress, note=note)
        assert store.get("default", "tick-tock", run.name.local) == kept


@pytest.mark.parametrize(
    "became",
    [
        {"state": RunState.RETRYING},
        {"state": RunState.SUCCEEDED},
        {"state": RunState.DEAD, "finished_at": NOON},
        {"state": RunState.CANCELLED, "finished_at": NOON},
        {"attempt": 3},
        {"callback_hash": CallbackToken("default", 2, "t" * 16).hash},
        {"callback_hash": None},
    ],
)
def test_a_heartbeat_of_what_is_over_changes_nothing_and_is_told_what_is_there(
    any_tables: Tables, became: dict[str, Any]
) -> None:
    store = any_tables.run_store()
    now = waiting(**became)
    store.write(now, None)
    assert store.heartbeat(waiting(), BEAT) == Conflict(now)
    assert store.get("default", "tick-tock", now.name.local) == now


def test_a_heartbeat_makes_no_record(any_tables: Tables) -> None:
    store = any_tables.run_store()
    assert store.heartbeat(waiting(), BEAT) == Conflict(None)
    assert store.page("default", "tick-tock", limit=1, before=None) == []


def test_what_was_decided_before_a_heartbeat_came_is_not_written_over_it(any_tables: Tables) -> None:
    store = any_tables.run_store()
    run = waiting()
    store.write(run, None)
    store.heartbeat(run, BEAT)
    ended = varied(run, state=RunState.DEAD, token="other")
    conflict = store.write(ended, run)
    assert conflict is not None
    assert conflict.found == BEAT.beaten(run)
    assert store.write(ended, conflict.found) is None


def test_what_was_decided_before_progress_was_reported_is_not_written_over_it(any_tables: Tables) -> None:
    store = any_tables.run_store()
    run = waiting(heartbeat_until=None)
    store.write(run, None)
    report = Heartbeat(NOON + 25, None, ProgressReport(0.5))
    store.heartbeat(run, report)
    conflict = store.write(varied(run, cancel_requested="cancelled", token="other"), run)
    assert conflict == Conflict(report.beaten(run))
