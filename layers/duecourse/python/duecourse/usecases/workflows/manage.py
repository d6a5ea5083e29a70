"""Workflows as their owners want them: create, replace, delete."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from duecourse.domain.instants import DAY_SECONDS
from duecourse.domain.jobs.job import Job
from duecourse.domain.runs.run import Run
from duecourse.domain.targets.targets import WorkflowTarget
from duecourse.domain.workflows.check import WorkflowFault, graph_faults, member_faults, time_faults
from duecourse.domain.workflows.graph import Graph, Member, WorkflowRef
from duecourse.domain.workflows.results import result_faults
from duecourse.messages import MessageKind, RunMessage, message_about
from duecourse.ports import (
    Clock,
    Executor,
    JobStore,
    Lanes,
    Outgoing,
    Randomness,
    RunStore,
    WorkflowStore,
)
from duecourse.usecases.jobs.draft import Draft
from duecourse.usecases.jobs.edit_jobs import Edited, EditJobs
from duecourse.usecases.jobs.job_errors import ANYTHING, JobChangedError, JobUnknownError, Precondition
from duecourse.usecases.jobs.membership import Membership

GRAPH_DAYS = 150
"""How long a graph is kept that no definition names any more: longer than a run's record, and a run before it."""

CLAIM_TRIES = 4

ALIVE_LOOKED_AT = 100
"""Runs of a deleted workflow, the newest ones, that are cancelled where they have not ended."""


class WorkflowInvalidError(Exception):
    """All that is wrong with what was asked; nothing was written."""

    def __init__(self, faults: list[WorkflowFault]) -> None:
        super().__init__("; ".join(fault.detail for fault in faults[:3]))
        self.faults = faults


class NoWorkflowError(Exception):
    """The job (its id is the argument) is there, and is no workflow."""


@dataclass(frozen=True, slots=True)
class WorkflowDraft:
    """A workflow as a caller asks for it. `members` are without their lanes; `inline` makes the draft of each job that
    is defined here over the one that stands (None: there is none), `definition` that of the workflow itself, whose
    target is the graph with that hash.
    """

    members: tuple[Member, ...]
    definition: Callable[[Job | None, str], Draft]
    inline: Mapping[str, Callable[[Job | None], Draft]]


@dataclass(frozen=True, slots=True)
class WorkflowPut:
    """What came of it: the workflow's own job, its graph, and the jobs that were created or changed with it."""

    edited: Edited
    graph: Graph
    created: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Workflow:
    """A workflow as it stands."""

    job: Job
    graph: Graph


@dataclass(frozen=True, slots=True)
class ManageWorkflows:
    """The order of writes: the jobs that are defined in the document, each an edit of its own; who is a member; the
    graph; the workflow's own job, which switches to it. Until then nothing runs otherwise than before, and the same
    request goes on where one ended; jobs that are left over have no schedule.
    """

    editing: EditJobs
    store: JobStore
    runs: RunStore
    workflows: WorkflowStore
    membership: Membership
    lanes: Lanes
    clock: Clock
    randomness: Randomness
    executor: Executor

    def get(self, tenant: str, workflow_id: str) -> Workflow:
        """Raises JobUnknownError, NoWorkflowError, GraphMissingError."""
        job = self.store.get(tenant, workflow_id)
        if job is None:
            raise JobUnknownError(workflow_id)
        if not isinstance(job.target, WorkflowTarget):
            raise NoWorkflowError(workflow_id)
        return Workflow(job, self.workflows.graph(tenant, WorkflowRef(job.id, job.target.graph)))

    def check(
        self, tenant: str, workflow_id: str, draft: WorkflowDraft, expected: Precondition = ANYTHING
    ) -> dict[str, Job]:
        """The members that exist. Raises WorkflowInvalidError with all that is wrong, JobVersionError, NoWorkflowError,
        and what the drafts raise; writes nothing.
        """
        standing = self.store.get(tenant, workflow_id)
        expected.check(standing)
        if standing is not None and not isinstance(standing.target, WorkflowTarget):
            raise NoWorkflowError(workflow_id)
        if faults := graph_faults(draft.members):
            raise WorkflowInvalidError(faults)
        found = self.workflows.jobs(tenant, [member.id for member in draft.members])
        own = draft.definition(standing, "")
        drafts = {name: make(found.get(name)) for name, make in draft.inline.items()}
        faults = [
            *time_faults(draft.members, own.schedule, own.exclude, int(self.clock.now())),
            *member_faults(workflow_id, draft.members, draft.inline, found),
            *self._claimed(workflow_id, found),
        ]
        graph = Graph(draft.members, own.schedule.timezone)
        for member in draft.members:
            job = drafts.get(member.id) or found.get(member.id)
            if job is not None:
                inline: tuple[str | int, ...] = ("job",) if member.id in drafts else ()
                faults += [
                    WorkflowFault(("jobs", member.id, *inline, "payload", *path), detail)
                    for path, detail in result_faults(job.payload, member.id, graph)
                ]
        if faults:
            raise WorkflowInvalidError(faults)
        return found

    def put(
        self,
        tenant: str,
        workflow_id: str,
        draft: WorkflowDraft,
        expected: Precondition = ANYTHING,
        correlation_id: str | None = None,
        *,
        by: str | None = None,
    ) -> WorkflowPut:
        """Create the workflow, or replace it. Raises as `check` (nothing is written then), and as EditJobs.put."""
        found = self.check(tenant, workflow_id, draft, expected)
        before = self._standing(tenant, workflow_id)

        def write(name: str) -> Edited:
            return self.editing.put(tenant, name, draft.inline[name], correlation_id=correlation_id, by=by)

        edits = dict(zip(draft.inline, self.executor.map(write, list(draft.inline)), strict=True))
        jobs = found | {name: edited.view.job for name, edited in edits.items()}
        self._claim(tenant, workflow_id, jobs)
        own = draft.definition(None if before is None else before.job, "")
        members = tuple(
            replace(member, lane=jobs[member.id].lane, bulk=jobs[member.id].bulk) for member in draft.members
        )
        graph = Graph(members, own.schedule.timezone, own.priority)
        ref = self.workflows.put_graph(tenant, workflow_id, graph)
        edited = self.editing.put(
            tenant, workflow_id, lambda job: draft.definition(job, ref.graph), expected, correlation_id, by=by
        )
        if before is not None and before.graph != graph:
            self._retire(before, graph)
        return WorkflowPut(
            edited,
            graph,
            tuple(name for name, edit in edits.items() if edit.created),
            tuple(name for name, edit in edits.items() if edit.changed and not edit.created),
        )

    def deleted(self, workflow: Workflow) -> None:
        """What follows from a workflow's deletion: its runs end, its members are free."""
        job = workflow.job
        self._retire(workflow, Graph(()))
        newest = self.runs.page(job.tenant, job.id, limit=ALIVE_LOOKED_AT, before=None)
        alive = [run for run in newest if not run.state.final]
        self.lanes.send([Outgoing(self._cancellation(run), 0) for run in alive])

    def _standing(self, tenant: str, workflow_id: str) -> Workflow | None:
        try:
            return self.get(tenant, workflow_id)
        except JobUnknownError:
            return None

    def _cancellation(self, run: Run) -> RunMessage:
        nonce = self.randomness.nonce()
        return message_about(run, MessageKind.CANCEL, now=self.clock.now(), nonce=nonce, reason="deleted")

    def _retire(self, before: Workflow, graph: Graph) -> None:
        """Let the graph of before expire, and free those members that are not in the new one."""
        job = before.job
        if isinstance(job.target, WorkflowTarget):
            ref = WorkflowRef(job.id, job.target.graph)
            self.workflows.expire_graph(job.tenant, ref, at=int(self.clock.now()) + GRAPH_DAYS * DAY_SECONDS)
        left = [name for name in before.graph.numbers if name not in graph.numbers]
        members = [each for each in self.workflows.jobs(job.tenant, left).values() if each.workflow == job.id]
        self.workflows.claim(members, None)  # one that was changed meanwhile stays: its claim is void

    def _claimed(self, workflow_id: str, found: Mapping[str, Job]) -> list[WorkflowFault]:
        others = {name: job for name, job in found.items() if job.workflow not in (None, workflow_id)}
        owners = {name: self.membership.of(job) for name, job in others.items()}
        return [
            WorkflowFault(("jobs", name), f"is in workflow {owner}; take it out there first", conflict=True)
            for name, owner in owners.items()
            if owner is not None
        ]

    def _claim(self, tenant: str, workflow_id: str, jobs: Mapping[str, Job]) -> None:
        """Make all of them members. Raises JobChangedError, WorkflowInvalidError."""
        wanted = dict(jobs)
        for _ in range(CLAIM_TRIES):
            refused = self.workflows.claim([job for job in wanted.values() if job.workflow != workflow_id], workflow_id)
            if not refused:
                return
            wanted = self.workflows.jobs(tenant, refused)
            faults = member_faults(workflow_id, [Member(id=name) for name in refused], {}, wanted)
            if faults := [*faults, *self._claimed(workflow_id, wanted)]:
                raise WorkflowInvalidError(faults)
        raise JobChangedError(workflow_id)
