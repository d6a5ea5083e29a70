"""What a rename does to a job and its cursor, and which run holds the lock of a renamed job."""

from __future__ import annotations

from dataclasses import replace

import pytest

from duecourse.domain.jobs.cursor import plan
from duecourse.domain.jobs.job import FormerId, Job, JobState, Reservation
from duecourse.domain.jobs.rename import RenameError, effective_at, rename
from duecourse.domain.runs.overlap import held_by, holder_of
from duecourse.domain.runs.states import RunState
from duecourse.domain.targets.targets import WorkflowTarget
from tests.support.jobs import NOON, cursor, job
from tests.support.runs import run

UNTIL = int(NOON) + 1000


def renamed(of: Job, new: str = "daily", at: float = NOON) -> Job:
    return rename(of, cursor(of), new, now=at, reserved_until=UNTIL).job


def test_rename_gives_later_occurrences_the_new_id_and_keeps_earlier_ones() -> None:
    of = job("* * * * *", max_runs=10)
    claimed = plan(cursor(of), now=NOON + 55, horizon=300).cursor
    change = rename(of, claimed, "daily", now=NOON + 55, reserved_until=UNTIL)
    assert effective_at(NOON + 55) == NOON + 65
    assert (change.cursor.job_id, change.cursor.occurrence, change.cursor.remaining) == ("daily", NOON + 120, 9)
    assert change.job.superseded_at(of.generation) == NOON + 65
    assert change.cursor.generation == change.job.generation > of.generation
    assert change.skipped == ()


@pytest.mark.parametrize("state", [JobState.PAUSED, JobState.COMPLETED])
def test_rename_keeps_the_state_of_a_job_that_does_not_fire(state: JobState) -> None:
    of = replace(job(), state=state, paused_at=NOON if state is JobState.PAUSED else None)
    change = rename(of, cursor(of), "daily", now=NOON, reserved_until=UNTIL)
    assert change.job.state is state
    assert change.cursor.generation == change.job.generation


def test_rename_keeps_reserved_former_ids_latest_first() -> None:
    of = replace(job(), former=(FormerId("b", UNTIL), FormerId("a", int(NOON))), seed="a")
    made = renamed(of)
    assert made.former == (FormerId("tick-tock", UNTIL), FormerId("b", UNTIL))
    assert (made.names(NOON), made.names(UNTIL)) == (("daily", "tick-tock", "b"), ("daily",))
    assert (made.seed, renamed(job()).seed) == ("a", "tick-tock")
    assert [each.id for each in renamed(of, "b").former] == ["tick-tock"]


def test_rename_rejects_workflows_and_schedules_without_a_further_occurrence() -> None:
    with pytest.raises(RenameError, match="is a workflow; create the workflow under its new id"):
        renamed(job(target=WorkflowTarget("graph")))
    with pytest.raises(RenameError, match="has no occurrence after the rename"):
        renamed(job("at(2026-11-21T12:00:05)"))


def test_rename_reservation_contains_the_current_id_of_the_job() -> None:
    assert Reservation.for_renamed("daily", NOON).renamed_to == "daily"
    assert Reservation("0a1b", NOON).renamed_to is None


@pytest.mark.parametrize("suffix", ["", ".mabc", ".bday-1"])
def test_rename_lock_identifies_its_run_even_under_a_former_id(suffix: str) -> None:
    for job_id in ("daily", "tick-tock", "20261121T120000Z"):
        of = run(job(id=job_id), RunState.RUNNING, suffix=suffix)
        assert held_by(holder_of(of, "daily"), "daily") == of.name
    assert holder_of(run(job(id="daily"), RunState.RUNNING), "daily") == "20261121T120000Z"
