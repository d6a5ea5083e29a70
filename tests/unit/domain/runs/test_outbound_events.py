"""What the event bus is told of, and what of it."""

from __future__ import annotations

import json

import pytest

from duecourse.domain.jobs.job import EventKind, MissedPolicy
from duecourse.domain.runs.document import detail_of, outbound_events_of
from duecourse.domain.runs.states import Run, RunState
from tests.support.jobs import job
from tests.support.start_requests import DUE, run

DEATHS, FAILURES, LATE, ALL = EventKind.DEATHS, EventKind.FAILURES, EventKind.LATE, EventKind.ALL
GRACE = 60


def told(record: Run, *events: EventKind) -> tuple[str, ...]:
    return outbound_events_of(record, job(events=events, missed=MissedPolicy(grace_seconds=GRACE)))


def late(state: RunState = RunState.SUCCEEDED, by: float = GRACE + 1.0, attempt: int = 1) -> Run:
    return run(state, first_started_at=DUE + by, attempt=attempt)


@pytest.mark.parametrize("state", list(RunState))
def test_a_job_that_asks_for_nothing_is_told_of_nothing(state: RunState) -> None:
    assert told(late(state)) == ()


@pytest.mark.parametrize(
    ("state", "kind"),
    [
        (RunState.DEAD, "Run Dead"),
        (RunState.RETRYING, "Attempt Failed"),
        (RunState.SUCCEEDED, "Run Succeeded"),
        (RunState.CANCELLED, "Run Cancelled"),
        (RunState.SKIPPED, "Run Skipped"),
    ],
)
def test_events_of_all_kinds_cover_every_outcome(state: RunState, kind: str) -> None:
    assert told(run(state), ALL) == (kind,)
    assert told(run(state), DEATHS, ALL) == (kind,)


@pytest.mark.parametrize("state", [RunState.QUEUED, RunState.RUNNING, RunState.WAITING])
def test_what_has_no_outcome_yet_is_told_to_nobody(state: RunState) -> None:
    assert told(late(state), ALL) == ()


@pytest.mark.parametrize("kind", [DEATHS, FAILURES])
def test_a_death_is_told_to_who_asks_for_deaths_and_to_who_asks_for_failures(kind: EventKind) -> None:
    assert told(run(RunState.DEAD), kind) == ("Run Dead",)
    assert told(run(RunState.DEAD), LATE) == ()


def test_a_failed_attempt_is_told_to_who_asks_for_failures_only() -> None:
    assert told(run(RunState.RETRYING), FAILURES) == ("Attempt Failed",)
    assert told(run(RunState.RETRYING), DEATHS, LATE) == ()


@pytest.mark.parametrize("state", [RunState.SUCCEEDED, RunState.CANCELLED, RunState.SKIPPED])
def test_what_is_no_failure_and_not_late_is_told_to_who_asks_for_all_only(state: RunState) -> None:
    assert told(run(state), DEATHS, FAILURES, LATE) == ()


@pytest.mark.parametrize("reason", ["missed", "superseded", "start_deadline"])
def test_a_run_that_was_skipped_for_its_lateness_is_told_to_who_asks_for_late_ones(reason: str) -> None:
    skipped = run(RunState.SKIPPED, reason=reason, first_started_at=None)
    assert told(skipped, LATE) == ("Run Skipped",)
    assert told(skipped, DEATHS, FAILURES) == ()


@pytest.mark.parametrize("reason", [None, "overlap", "paused", "deleted", "replaced"])
def test_a_run_that_was_skipped_for_other_reasons_is_not(reason: str | None) -> None:
    assert told(run(RunState.SKIPPED, reason=reason, first_started_at=None), LATE) == ()


@pytest.mark.parametrize(
    ("state", "kinds"),
    [
        (RunState.SUCCEEDED, ("Run Succeeded", "Run Late")),
        (RunState.RETRYING, ("Attempt Failed", "Run Late")),
        (RunState.DEAD, ("Run Dead", "Run Late")),
        (RunState.CANCELLED, ("Run Cancelled", "Run Late")),
    ],
)
def test_a_run_that_started_after_its_grace_is_told_of_beside_its_outcome(
    state: RunState, kinds: tuple[str, ...]
) -> None:
    assert told(late(state), LATE) == ("Run Late",)
    assert told(late(state), ALL) == kinds


def test_a_run_that_started_within_its_grace_is_not_late() -> None:
    assert told(late(by=float(GRACE)), LATE) == ()
    assert told(late(by=GRACE + 0.001), LATE) == ("Run Late",)


def test_a_late_run_is_told_of_by_its_first_attempt_only() -> None:
    assert told(late(attempt=2), LATE) == ()


def test_a_late_run_is_told_to_who_asks_for_late_ones_only() -> None:
    assert told(late(), DEATHS, FAILURES) == ()


# What it says.


def test_an_event_says_all_that_a_reader_needs_and_is_json() -> None:
    record = run(
        RunState.DEAD, attempt=4, reason="lost", error="gone", code="lost", first_started_at=DUE + 0.12345, count=3
    )
    detail = detail_of(record, "Run Dead")
    assert detail == {
        "event": "default/tick-tock.20261121T120100Z/4/Run Dead",
        "tenant": "default",
        "job_id": "tick-tock",
        "run_id": "tick-tock.20261121T120100Z",
        "state": "DEAD",
        "reason": "lost",
        "attempt": 4,
        "occurrence": "2026-11-21T12:01:00Z",
        "due": "2026-11-21T12:01:00Z",
        "lateness_seconds": 0.123,
        "error": "gone",
        "code": "lost",
        "count": 3,
    }
    assert json.loads(json.dumps(detail)) == detail


def test_the_due_time_of_a_shaken_occurrence_is_told_beside_its_name() -> None:
    assert detail_of(run(due=DUE + 5), "Run Late")["due"] == "2026-11-21T12:01:05Z"
    assert detail_of(run(due=DUE + 5), "Run Late")["occurrence"] == "2026-11-21T12:01:00Z"


def test_a_run_that_never_started_has_no_lateness() -> None:
    assert detail_of(run(RunState.SKIPPED, first_started_at=None), "Run Skipped")["lateness_seconds"] is None


def test_each_outcome_of_each_attempt_is_an_event_of_its_own_and_a_repeat_is_not() -> None:
    events = [detail_of(run(attempt=attempt), kind)["event"] for kind in ("Run Dead", "Run Late") for attempt in (1, 2)]
    assert len(set(events)) == len(events)
    assert detail_of(run(token="another"), "Run Dead")["event"] == detail_of(run(), "Run Dead")["event"]
