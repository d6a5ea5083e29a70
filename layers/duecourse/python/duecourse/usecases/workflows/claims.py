"""Makes jobs members of a workflow that is being put."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from duecourse.domain.jobs.job import Job
from duecourse.domain.targets.targets import WorkflowTarget
from duecourse.domain.workflows.check import WorkflowFault, member_faults
from duecourse.domain.workflows.graph import Member, WorkflowRef
from duecourse.ports import Clock, GraphMissingError, WorkflowStore
from duecourse.usecases.jobs.draft import Draft
from duecourse.usecases.jobs.edit_jobs import EditJobs
from duecourse.usecases.jobs.job_errors import JobChangedError
from duecourse.usecases.jobs.membership import Membership, is_fresh
from duecourse.usecases.workflows.workflow_draft import NoWorkflowError, WorkflowInvalidError

CLAIM_TRIES = 4


@dataclass(frozen=True, slots=True)
class Claims:
    """The claims of one request that puts `workflow`: `made` are the ids of the jobs that it has claimed. `reach`
    raises for a job out of the caller's reach.
    """

    editing: EditJobs
    workflows: WorkflowStore
    clock: Clock
    tenant: str
    workflow: str
    reach: Callable[[Job | Draft], None]
    made: list[str] = field(default_factory=list)

    def make(self, jobs: Mapping[str, Job], named: frozenset[str]) -> None:
        """Make all of these jobs members, but those that are `named` by the workflow's graph or were claimed by this
        request just now. Raises JobChangedError, WorkflowInvalidError, and what `reach` raises.
        """
        wanted = dict(jobs)
        for _ in range(CLAIM_TRIES):
            now = self.clock.now()
            strangers = {name: job for name, job in wanted.items() if not self._is_ours(job, named, now)}
            for job in strangers.values():
                self.reach(job)
            members = [Member(id=name) for name in strangers]
            faults = member_faults(self.workflow, members, {}, strangers)
            if faults := [*faults, *claimed_by_others(self.editing.jobs.membership, self.workflow, strangers, now)]:
                raise WorkflowInvalidError(faults)
            refused = self.workflows.claim(list(strangers.values()), self.workflow, at=now) if strangers else []
            self.made.extend(name for name in strangers if name not in refused)
            if not refused:
                return
            wanted = self.workflows.jobs(self.tenant, refused)
            if missing := [name for name in refused if name not in wanted]:
                raise WorkflowInvalidError(member_faults(self.workflow, [Member(id=each) for each in missing], {}, {}))
        raise JobChangedError(self.workflow)

    def release(self) -> None:
        """Free the jobs that a request claimed which was refused then, unless the workflow has them."""
        standing = self.editing.store.get(self.tenant, self.workflow)
        is_workflow = standing is not None and isinstance(standing.target, WorkflowTarget)
        named = self.named(ref_of(standing) if standing is not None and is_workflow else None)
        left = self.workflows.jobs(self.tenant, [name for name in self.made if name not in named])
        mine = [job for job in left.values() if job.workflow == self.workflow]
        self.workflows.free(mine, self.workflow, standing, at=self.clock.now())

    def named(self, ref: WorkflowRef | None) -> frozenset[str]:
        """The members that a graph names."""
        try:
            return frozenset() if ref is None else frozenset(self.workflows.graph(self.tenant, ref).numbers)
        except GraphMissingError:
            return frozenset()

    def _is_ours(self, job: Job, named: frozenset[str], now: float) -> bool:
        return job.workflow == self.workflow and (job.id in named or (job.id in self.made and is_fresh(job, now)))


def claimed_by_others(
    membership: Membership, workflow: str, found: Mapping[str, Job], now: float
) -> list[WorkflowFault]:
    """What is wrong where another workflow has some of these jobs, at `now` (UTC seconds)."""
    return [
        WorkflowFault(("jobs", name), f"is in workflow {job.workflow}; take it out there first", conflict=True)
        for name, job in found.items()
        if job.workflow not in (None, workflow) and membership.holds(job, now)
    ]


def ref_of(job: Job) -> WorkflowRef:
    """The graph of a workflow's own job. Raises NoWorkflowError."""
    if not isinstance(job.target, WorkflowTarget):
        raise NoWorkflowError(job.id)
    return WorkflowRef(job.id, job.target.graph)
