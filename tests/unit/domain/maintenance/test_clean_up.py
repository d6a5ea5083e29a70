"""When a completed job has been kept long enough."""

from __future__ import annotations

from dataclasses import replace

import pytest

from duecourse.domain.jobs.job import Job, JobState
from duecourse.domain.maintenance.index import is_worn_out
from tests.support.jobs import NOON, job

DAY = 86_400
DONE = replace(job(id="once"), state=JobState.COMPLETED, updated_at=NOON)


def goes(made: Job, *, days: float = 90, has_history: bool = False) -> bool:
    return is_worn_out(made, now=NOON + days * DAY, retention_days=90, has_history=has_history)


def test_a_job_goes_ninety_days_after_it_was_completed() -> None:
    assert goes(DONE)
    assert not goes(DONE, days=89.99)


def test_a_job_stays_while_anything_of_its_runs_can_be_read() -> None:
    assert not goes(DONE, days=400, has_history=True)


@pytest.mark.parametrize("state", [JobState.ACTIVE, JobState.PAUSED])
def test_only_a_completed_job_goes(state: JobState) -> None:
    assert not goes(replace(DONE, state=state), days=400)


def test_an_edit_that_left_the_job_completed_begins_its_time_anew() -> None:
    assert not goes(replace(DONE, updated_at=NOON + DAY))
