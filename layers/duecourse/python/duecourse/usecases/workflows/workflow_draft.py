"""What is asked of workflows, and what comes of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b

from duecourse.domain.budget import Budget
from duecourse.domain.jobs.job import Job
from duecourse.domain.workflows.check import WorkflowFault
from duecourse.domain.workflows.graph import Graph, Member
from duecourse.usecases.jobs.draft import Draft
from duecourse.usecases.jobs.job_view import JobView


class WorkflowInvalidError(Exception):
    """All that is wrong with what was asked; nothing was written."""

    def __init__(self, faults: list[WorkflowFault]) -> None:
        super().__init__("; ".join(fault.detail for fault in faults[:3]))
        self.faults = faults


MEMBERS_A_REQUEST = 20
"""Jobs of a workflow that are read, and together count as one request."""


def members_cost(members: int) -> int:
    """What the reading of so many jobs counts as (domain.budget)."""
    return 1 + members // MEMBERS_A_REQUEST


class NoWorkflowError(Exception):
    """The job (its id is the argument) is there, and is no workflow."""


@dataclass(frozen=True, slots=True)
class WorkflowDraft:
    """A workflow as a caller asks for it: `members` without their lanes, `inline` the jobs that are defined with it,
    `definition` the draft of the workflow's own job, whose target is the graph with that hash. `reach` raises for a
    job that stands, or would, out of the caller's reach. `budget` is what the checks may take.
    """

    members: tuple[Member, ...]
    definition: Callable[[str], Draft]
    inline: Mapping[str, Draft]
    reach: Callable[[Job | Draft], None] = lambda _: None
    budget: Budget = field(default_factory=Budget)

    def digest(self) -> str:
        """What tells the request from others that define a workflow otherwise."""
        return blake2b(repr((self.members, self.definition(""), self.inline)).encode(), digest_size=16).hexdigest()

    def inline_over(self, name: str, job: Job | None) -> Draft:
        """The draft of a job that is defined with it, over the one that stands. Raises what `reach` raises."""
        if job is not None:
            self.reach(job)
        return self.inline[name]


@dataclass(frozen=True, slots=True)
class WorkflowPut:
    """What came of it, or would: the workflow's own job, its graph, and the jobs that are created or changed with it,
    its own among them.
    """

    view: JobView
    graph: Graph
    created: tuple[str, ...]
    changed: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Workflow:
    """A workflow as it stands."""

    view: JobView
    graph: Graph

    @property
    def job(self) -> Job:
        """Its own job."""
        return self.view.job
