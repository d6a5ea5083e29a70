"""Rejects changes to steps of workflows, and to jobs that another request is replacing in several writes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from duecourse.domain.jobs.job import Job, Reservation
from duecourse.domain.targets.targets import WorkflowTarget
from duecourse.domain.workflows.graph import Graph, WorkflowRef
from duecourse.ports import Clock, GraphMissingError
from duecourse.usecases.jobs.job_errors import JobChangedError

if TYPE_CHECKING:
    from duecourse.stores.jobs import JobStore
    from duecourse.stores.workflows import WorkflowStore

CLAIM_SECONDS = 60
"""How long a claim is valid without a graph: the API ends a request after 29 s, and clocks differ by seconds."""


class StepError(Exception):
    """The job (`job_id`) is a step of `workflow`, and the requested change does not allow it to remain one."""

    def __init__(self, job_id: str, workflow: str) -> None:
        super().__init__(f"{job_id} is a step of workflow {workflow}")
        self.job_id = job_id
        self.workflow = workflow


@dataclass(frozen=True, slots=True)
class Membership:
    """Decides which jobs are steps. A job stores the name of its workflow. It is a step while the workflow's graph
    contains it, and for CLAIM_SECONDS after it got that name: the request that claimed it may still switch the workflow
    to such a graph. After that time, the name alone has no meaning, because that request failed.
    """

    store: JobStore
    workflows: WorkflowStore

    def graph(self, job: Job) -> Graph | None:
        """Return the current graph of the workflow that has the job as a step; None if the job is not a step. A job
        without the name of a workflow does not cost a read.
        """
        if job.workflow is None:
            return None
        workflow = self.store.get(job.tenant, job.workflow)
        if workflow is None or not isinstance(workflow.target, WorkflowTarget):
            return None
        try:
            graph = self.workflows.graph(job.tenant, WorkflowRef(workflow.id, workflow.target.graph))
        except GraphMissingError:
            return None
        return graph if job.id in graph.owned else None

    def holds(self, job: Job, now: float) -> bool:
        """Return whether the job is a step of the workflow whose name it has, at `now` (UTC seconds)."""
        if job.workflow is None:
            return False
        return is_fresh(job, now) or self.graph(job) is not None

    def keep(self, job: Job, now: float) -> None:
        """Raise StepError if the job is a step."""
        if job.workflow is not None and self.holds(job, now):
            raise StepError(job.id, job.workflow)


def is_fresh(job: Job, now: float) -> bool:
    """Return whether the request that claimed the job may still be active."""
    return job.claimed_at is not None and now < job.claimed_at + CLAIM_SECONDS


RESERVED_SECONDS = 60
"""How long a reservation is valid: the API ends a request after 29 s, and clocks differ by seconds."""

WAITS = 20
RESERVED_WAIT_SECONDS = 0.25
"""The number of waits for the request that has reserved a job, and the length of each wait: 5 s in total."""


def unreserved(store: JobStore, clock: Clock, tenant: str, job_id: str, own: Reservation | None = None) -> Job | None:
    """Wait until no other request holds a reservation on the job, then return it (None if it does not exist). Raises
    JobChangedError.
    """
    for _ in range(WAITS):
        job = store.get(tenant, job_id)
        if job is None or not is_reserved(job, clock.now(), own):
            return job
        clock.sleep_until(clock.now() + RESERVED_WAIT_SECONDS)
    raise JobChangedError(job_id)


def is_reserved(job: Job, now: float, own: Reservation | None = None) -> bool:
    """Return whether a request other than the owner of the reservation `own` may still replace the job."""
    if job.reserved is None or job.reserved.until <= now:
        return False
    return own is None or job.reserved.by != own.by
