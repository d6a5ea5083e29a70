"""How many deaths in a row a job has seen."""

from __future__ import annotations

from dataclasses import fields
from itertools import permutations

from duecourse.domain.runs.states import STATES, Run, RunState, deaths_in_a_row
from tests.support.start_requests import DUE, run

CHANGED = float(DUE)


def ended(state: RunState, at: float) -> Run:
    """A run that ended so many seconds after the job's last change, if its state has an end."""
    has_end = any(field.name == "finished_at" for field in fields(STATES[state]))
    return run(state, finished_at=CHANGED + at if has_end else None)


def count(*runs: Run) -> int:
    return deaths_in_a_row(runs, since=CHANGED)


def test_a_job_without_runs_has_seen_none() -> None:
    assert count() == 0


def test_deaths_are_counted_back_to_the_last_success() -> None:
    runs = [ended(RunState.DEAD, 1), ended(RunState.SUCCEEDED, 2), ended(RunState.DEAD, 3), ended(RunState.DEAD, 4)]
    for order in permutations(runs):
        assert count(*order) == 2


def test_a_success_ends_the_row() -> None:
    assert count(ended(RunState.DEAD, 1), ended(RunState.DEAD, 2), ended(RunState.SUCCEEDED, 3)) == 0


def test_what_was_skipped_or_cancelled_or_is_still_alive_says_nothing() -> None:
    others = [state for state in RunState if state not in (RunState.DEAD, RunState.SUCCEEDED)]
    between = [ended(state, 2) for state in others]
    assert count(ended(RunState.DEAD, 1), *between, ended(RunState.DEAD, 3)) == 2


def test_what_ended_before_the_jobs_last_change_is_not_counted() -> None:
    assert count(ended(RunState.DEAD, -1), ended(RunState.DEAD, 0), ended(RunState.DEAD, 0.001)) == 1
