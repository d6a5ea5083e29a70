"""Jobs that were deleted and re-created under the same id, and which of them a record or a message belongs to."""

from __future__ import annotations

from dataclasses import replace

from duecourse.domain.jobs.job import Job, JobSnapshot
from duecourse.domain.runs.decision import Decision, Ended, Event, Start, StartRequest, Transition
from duecourse.domain.runs.run import Run


def of_predecessor(request: StartRequest, job: JobSnapshot, run: Run) -> bool:
    """Whether the record belongs to a run that never began of a deleted job of the same id, and the request to the
    present job.
    """
    return isinstance(job, Job) and binds_nobody(job, run) and job.created_generation <= request.generation


def binds_nobody(job: Job, run: Run) -> bool:
    """Whether the record belongs to a run that never began (skipped, or cancelled before it began) of a deleted job of
    the same id: it does not count for the re-created job.
    """
    return run.attempt == 0 and run.generation < job.created_generation


def instead_of(run: Run, decision: Decision) -> Decision:
    """The decision for a run without a record, written over this record."""
    return replace(decision, previous=run) if isinstance(decision, Start | Transition) else decision


def own_job(job: JobSnapshot, run: Run) -> JobSnapshot:
    """The job if the run belongs to it; None if it is a re-created one and the run belongs to its predecessor."""
    anew = isinstance(job, Job) and run.generation < job.created_generation
    return None if anew else job


def of_generation(event: Event, job: JobSnapshot, run: Run | None) -> Event:
    """The event with its job's generation. Whoever starts a member of a workflow has not read the member: it is the job
    as it stands when the message is received.
    """
    if isinstance(event, Ended):
        return event
    request = event if isinstance(event, StartRequest) else event.request
    if request.workflow is None or request.generation > 0:
        return event
    generation = run.generation if run is not None else job.generation if isinstance(job, Job) else 0
    bound = replace(request, identity=replace(request.identity, generation=generation))
    return bound if isinstance(event, StartRequest) else replace(event, request=bound)
