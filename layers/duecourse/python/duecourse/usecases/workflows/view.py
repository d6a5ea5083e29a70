"""A run of a workflow, as people look at it: its graph with the state of each member."""

from __future__ import annotations

from dataclasses import dataclass

from duecourse.domain.runs.decision import Readiness
from duecourse.domain.runs.run import Run
from duecourse.domain.workflows.graph import Graph, Member, numbers_in, read_ref
from duecourse.domain.workflows.state import WorkflowState
from duecourse.ports import RunStore, WorkflowStore
from duecourse.usecases.workflows.messages import name_in


class RunNotBegunError(Exception):
    """The run of the workflow has not begun: it has no graph yet."""


@dataclass(frozen=True, slots=True)
class MemberView:
    """A member in a run: `run` is its record (None: it has none), `readiness` what keeps it, or lets it start;
    `waits_for` are the jobs that have not ended, where it waits for some.
    """

    member: Member
    readiness: Readiness
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
    """Reads runs of workflows. Each item is read strongly, all of them at moments of their own."""

    runs: RunStore
    workflows: WorkflowStore

    def get(self, tenant: str, workflow_id: str, local: str) -> WorkflowRunView | None:
        """The run of that local name; None where it has no record. Raises RunNotBegunError, GraphMissingError."""
        run = self.runs.get(tenant, workflow_id, local)
        if run is None:
            return None
        if run.workflow is None or run.is_member:
            raise RunNotBegunError(str(run.name))
        graph = self.workflows.graph(tenant, read_ref(run.workflow))
        ends = self.workflows.read(tenant, run.name, graph.parts, with_run=False).ends
        state = WorkflowState(graph, run.occurrence, run.suffix, ends)
        records = self.workflows.records(tenant, [name_in(run, member) for member in graph.members])
        found = {record.job_id: record for record in records}
        return WorkflowRunView(
            run,
            graph,
            tuple(_viewed(state, number, found.get(member.id)) for number, member in enumerate(graph.members)),
        )


def _viewed(state: WorkflowState, number: int, run: Run | None) -> MemberView:
    graph, readiness = state.graph, state.readiness(number)
    open_ = graph.upstream[number] & ~state.ends.any if readiness is Readiness.WAITS else 0
    waits_for = tuple(graph.members[each].id for each in numbers_in(open_))
    return MemberView(graph.members[number], readiness, run, waits_for)
