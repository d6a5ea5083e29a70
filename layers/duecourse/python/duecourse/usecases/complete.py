"""A job is COMPLETED when its schedule has nothing left and its last run has ended."""

from __future__ import annotations

from duecourse.domain.ids import RunName
from duecourse.domain.run import Run
from duecourse.ports import JobStore, RunStore

RECENT_RUNS = 50
"""Runs looked at for one that is still alive; more than a job can have alive at its end without being in trouble."""


def complete_if_ended(jobs: JobStore, runs: RunStore, tenant: str, job_id: str, *, at: float) -> bool:
    """Set the job COMPLETED if nothing of it is left to run; whether this call did it. Idempotent.

    Asked by the worker that ended a run and by the dispatcher that claimed the last occurrence: whichever comes second
    finds both done.
    """
    cursor = jobs.get_cursor(tenant, job_id)
    if cursor is None or cursor.occurrence is not None or cursor.last is None:
        return False
    recent = runs.page(tenant, job_id, limit=RECENT_RUNS, before=None)
    if recent and recent[-1].occurrence > cursor.last:  # many were run by hand since
        recent += runs.page(tenant, job_id, limit=RECENT_RUNS, before=RunName(job_id, cursor.last + 1).local)
    if not all(run.state.final for run in recent) or not any(_covers(run, cursor.last) for run in recent):
        return False
    job = jobs.get(tenant, job_id)
    return job is not None and job.generation == cursor.generation and jobs.complete(job, at=at)


def _covers(run: Run, occurrence: int) -> bool:
    """Whether a run stands for an occurrence: a catch-up is named after the first of those that were missed. What was
    run by hand besides stands for none.
    """
    return not run.suffix and run.occurrence <= occurrence <= (run.occurrence if run.through is None else run.through)
