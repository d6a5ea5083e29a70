"""A job is COMPLETED when its schedule has nothing left and its last run has ended."""

from __future__ import annotations

from collections.abc import Iterable

from duecourse.domain.ids import RunName
from duecourse.domain.jobs.cursor import Cursor
from duecourse.domain.runs.run import Run
from duecourse.ports import JobStore, RunStore

RECENT_RUNS = 50
"""Runs looked at for one that is still alive; more than a job can have alive at its end without being in trouble."""


def complete_if_ended(jobs: JobStore, runs: RunStore, tenant: str, job_id: str, *, at: float) -> bool:
    """Set the job COMPLETED if nothing of it is left to run; whether this call did it. Idempotent.

    Asked by the worker that ended a run, after the record of its end. The dispatcher that claims the last occurrence
    asks as well (see `Claiming`): whichever comes second finds both done.
    """
    cursor = jobs.get_cursor(tenant, job_id)
    return cursor is not None and cursor.occurrence is None and complete_if_over(jobs, runs, cursor, at=at)


def complete_if_over(jobs: JobStore, runs: RunStore, cursor: Cursor, *, at: float, besides: Iterable[Run] = ()) -> bool:
    """The same for a cursor that is exhausted, or is to be; `besides` are records that are about to be written."""
    tenant, job_id, last = cursor.tenant, cursor.job_id, cursor.last
    if last is None:
        return False
    recent = runs.page(tenant, job_id, limit=RECENT_RUNS, before=None)
    if recent and recent[-1].occurrence > last:  # many were run by hand since
        recent += runs.page(tenant, job_id, limit=RECENT_RUNS, before=RunName(job_id, last + 1).local)
    if not all(run.state.final for run in recent) or not any(_covers(run, last) for run in (*recent, *besides)):
        return False
    job = jobs.get(tenant, job_id)
    return job is not None and job.generation == cursor.generation and jobs.complete(job, at=at)


def _covers(run: Run, occurrence: int) -> bool:
    """Whether a run stands for an occurrence: a catch-up is named after the first of those that were missed. What was
    run by hand besides stands for none.
    """
    return not run.suffix and run.occurrence <= occurrence <= (run.occurrence if run.through is None else run.through)
