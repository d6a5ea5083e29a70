"""Jobs that were deleted and created anew under the same id: which of them a record and a message belong to."""

from __future__ import annotations

from dataclasses import replace

from duecourse.domain.jobs.job import Job, JobSnapshot
from duecourse.domain.runs.decision import Decision, Start, StartRequest, Transition
from duecourse.domain.runs.run import Run


def of_predecessor(request: StartRequest, job: JobSnapshot, run: Run) -> bool:
    """Whether the record only says that another job, deleted since, did not run then, and the request is this job's."""
    return isinstance(job, Job) and binds_nobody(job, run) and job.created_generation <= request.generation


def binds_nobody(job: Job, run: Run) -> bool:
    """Whether another job, deleted since, was not to run then (it was skipped, or cancelled before it began): that
    binds no job of the same id.
    """
    return run.attempt == 0 and run.generation < job.created_generation


def instead_of(run: Run, decision: Decision) -> Decision:
    """The decision about a run without a record, written over that record."""
    return replace(decision, previous=run) if isinstance(decision, Start | Transition) else decision


def own_job(job: JobSnapshot, run: Run) -> JobSnapshot:
    """The job that a run belongs to: one re-created after that one was deleted is another job."""
    anew = isinstance(job, Job) and run.generation < job.created_generation
    return None if anew else job
