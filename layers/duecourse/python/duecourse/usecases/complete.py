"""Completes a job when its schedule and its last run have ended."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from duecourse.domain.ids import RunName
from duecourse.domain.jobs.cursor import Cursor
from duecourse.domain.jobs.job import Job, JobState
from duecourse.domain.runs.states import Dead, Run
from duecourse.limits import LOST_RACES
from duecourse_schedules import ScheduleError
from duecourse_schedules.exclusions import ExclusionError

if TYPE_CHECKING:
    from duecourse.stores.jobs import JobStore
    from duecourse.stores.runs import RunStore

RECENT_RUNS = 50
"""The number of records that are read to find a run that is still active. A healthy job has fewer active runs at its
end.
"""


def complete_if_ended(jobs: JobStore, runs: RunStore, tenant: str, job_id: str, *, at: float) -> bool:
    """Set the job to COMPLETED if nothing is left to run. Return whether this call did so. Idempotent.

    It is called by the worker that ended a run, after it wrote the record, and by the dispatcher that claims the last
    occurrence (see `Claiming`). The second of the two finds both conditions met.
    """
    cursor = jobs.get_cursor(tenant, job_id)
    return cursor is not None and cursor.occurrence is None and complete_if_over(jobs, runs, cursor, at=at)


def complete_if_over(jobs: JobStore, runs: RunStore, cursor: Cursor, *, at: float, besides: Iterable[Run] = ()) -> bool:
    """Complete a job whose cursor has no further occurrences, or will have none after a pending write. Return whether
    this call did so. `besides` are records that are about to be written.
    """
    tenant, job_id, last = cursor.tenant, cursor.job_id, cursor.last
    if last is None:
        return False
    recent = runs.page(tenant, job_id, limit=RECENT_RUNS, before=None)
    if recent and recent[-1].occurrence > last:  # many manual runs since
        recent += runs.page(tenant, job_id, limit=RECENT_RUNS, before=RunName(job_id, last + 1).local)
    if not all(run.state.final for run in recent) or not any(_covers(run, last) for run in (*recent, *besides)):
        return False
    died = any(isinstance(run, Dead) for run in recent)
    for _ in range(LOST_RACES):  # an edit that keeps the schedule may happen between read and write
        job = jobs.get(tenant, job_id)
        if job is None or job.generation != cursor.generation or job.state is not JobState.ACTIVE:
            return False
        if jobs.complete(job, at=at, expires_at=removal_of(job, at, died=died)):
            return True
    return False


def removal_of(job: Job, at: float, *, died: bool) -> int | None:
    """Return when a job that ends at `at` is removed (both in UTC seconds). None if its schedule can no longer be
    read.
    """
    try:
        return job.removal_after(at, died=died)
    except (ScheduleError, ExclusionError):
        return None


def _covers(run: Run, occurrence: int) -> bool:
    """Return whether a run covers an occurrence. A catch-up has the name of the first of its missed occurrences. Manual
    runs cover no occurrence.
    """
    return not run.suffix and run.occurrence <= occurrence <= (run.occurrence if run.through is None else run.through)
