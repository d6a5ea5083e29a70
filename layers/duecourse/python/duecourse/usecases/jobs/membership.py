"""Jobs that belong to a workflow: what cannot be done to them while they do."""

from __future__ import annotations

from dataclasses import dataclass

from duecourse.domain.jobs.job import Job
from duecourse.domain.targets.targets import WorkflowTarget
from duecourse.domain.workflows.graph import Graph, WorkflowRef
from duecourse.ports import GraphMissingError, JobStore, WorkflowStore


class MemberError(Exception):
    """The job (`job_id`) is a member of `workflow`, and would be none after what was asked."""

    def __init__(self, job_id: str, workflow: str) -> None:
        super().__init__(f"{job_id} is in workflow {workflow}")
        self.job_id = job_id
        self.workflow = workflow


@dataclass(frozen=True, slots=True)
class Membership:
    """A job bears the name of its workflow. That name stands alone where the workflow was not switched to a graph with
    the job, or is gone: nothing is kept from being done then.
    """

    store: JobStore
    workflows: WorkflowStore

    def graph(self, job: Job) -> Graph | None:
        """The present graph of the workflow that the job is a member of. A job without the name costs no read."""
        if job.workflow is None:
            return None
        workflow = self.store.get(job.tenant, job.workflow)
        if workflow is None or not isinstance(workflow.target, WorkflowTarget):
            return None
        try:
            graph = self.workflows.graph(job.tenant, WorkflowRef(workflow.id, workflow.target.graph))
        except GraphMissingError:
            return None
        return graph if job.id in graph.numbers else None

    def keep(self, job: Job) -> None:
        """Raises MemberError for a member."""
        if job.workflow is not None and self.graph(job) is not None:
            raise MemberError(job.id, job.workflow)
