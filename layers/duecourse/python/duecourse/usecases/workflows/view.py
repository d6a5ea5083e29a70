"""A run of a workflow, as people look at it: its graph with the state of each member."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from duecourse.domain.runs.decision import Readiness
from duecourse.domain.runs.run import Run
from duecourse.domain.workflows.ends import End
from duecourse.domain.workflows.graph import Graph, Member, numbers_in, read_ref
from duecourse.domain.workflows.state import WorkflowState
from duecourse.ports import WorkflowStore
from duecourse.usecases.workflows.messages import name_in


class NoWorkflowRunError(Exception):
    """`run` is no run of a workflow, or has not begun and so has no graph yet."""

    def __init__(self, run: Run) -> None:
        super().__init__(f"{run.name} is {run.state}")
        self.run = run


class Pending(StrEnum):
    """A member that has not ended: it waits for others; is due or at work; is left, its workflow's run being over."""

    WAITING = "waiting"
    DUE = "due"
    LEFT = "left"


@dataclass(frozen=True, slots=True)
class MemberView:
    """A member in a run: `run` is its record (None: it has none), `progress` how it has ended or what it is instead;
    `waits_for` are the jobs that have not ended, where it waits for some.
    """

    member: Member
    progress: End | Pending
    run: Run | None
    waits_for: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class WorkflowRunView:
    """A run of a workflow."""

    run: Run
    graph: Graph
    members: tuple[MemberView, ...]


@dataclass(frozen=True, slots=True)
class WorkflowRuns:
    """Reads what became of the members of a workflow's run. Each item is read strongly, at a moment of its own."""

    workflows: WorkflowStore

    def look(self, run: Run) -> WorkflowRunView:
        """The members of a run as it was read. Raises NoWorkflowRunError, GraphMissingError."""
        if run.workflow is None or run.is_member:
            raise NoWorkflowRunError(run)
        graph = self.workflows.graph(run.tenant, read_ref(run.workflow))
        ends = self.workflows.read(run.tenant, run.name, graph.parts, with_run=False).ends
        state = WorkflowState(graph, run.occurrence, run.suffix, ends)
        records = self.workflows.records(run.tenant, [name_in(run, member) for member in graph.members])
        found = {record.job_id: record for record in records}
        members = (_viewed(state, run, number, found.get(member.id)) for number, member in enumerate(graph.members))
        return WorkflowRunView(run, graph, tuple(members))


def _viewed(state: WorkflowState, of: Run, number: int, run: Run | None) -> MemberView:
    member, progress = state.graph.members[number], _progress(state, of, number, run)
    open_ = state.graph.upstream[number] & ~state.ends.any if progress is Pending.WAITING else 0
    return MemberView(member, progress, run, tuple(state.graph.members[each].id for each in numbers_in(open_)))


def _progress(state: WorkflowState, of: Run, number: int, run: Run | None) -> End | Pending:
    given = state.graph.members[number].given
    if given is not None:
        return given.end
    end = state.ends.of(number)
    if end is not None and state.settled(number):
        return end
    if of.state.final and (run is None or run.state.final):
        return Pending.LEFT
    return Pending.WAITING if state.readiness(number) is Readiness.WAITS else Pending.DUE
