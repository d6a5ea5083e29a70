"""The view of a workflow's run: its graph with the state of each step."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from duecourse.domain.runs.decision import Readiness
from duecourse.domain.runs.states import Run, finished_at
from duecourse.domain.workflows.graph import Graph, Step, StepOutcome, StepOutcomes, end_of, numbers_in
from duecourse.domain.workflows.state import WorkflowState


class Pending(StrEnum):
    """The state of a step that has not ended. WAITING: it waits for other steps. DUE: it is due or active. LEFT: its
    workflow's run ended without it.
    """

    WAITING = "waiting"
    DUE = "due"
    LEFT = "left"


@dataclass(frozen=True, slots=True)
class StepView:
    """A step in a run. `run` is its record (None: no record). `progress` is its outcome, or its state if it has not
    ended. `waits_for` are the steps that it waits for.
    """

    step: Step
    progress: StepOutcome | Pending
    run: Run | None
    waits_for: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class WorkflowRunView:
    """A run of a workflow with its steps."""

    run: Run
    graph: Graph
    steps: tuple[StepView, ...]

    def due(self, step: StepView) -> int | None:
        """Return the time when a step is due to start (UTC seconds): when its upstream steps have ended, but not before
        its `not_before`. None if the workflow's run has not started.
        """
        number = self.graph.numbers[step.step.id]
        upstream = (self.steps[each].run for each in numbers_in(self.graph.upstream[number]))
        ended = [finished_at(each) for each in upstream if each is not None]
        own = self.graph.not_before(number, self.run.occurrence, self.run.suffix)
        known = [at for at in (self.run.started_at, own, *ended) if at is not None]
        return None if self.run.started_at is None else int(max(known))


def viewed(run: Run, graph: Graph, ends: StepOutcomes, records: Iterable[Run]) -> WorkflowRunView:
    """Return the view of a workflow's run. `records` are the existing records of its steps."""
    state = WorkflowState(graph, run.occurrence, run.suffix, ends)
    found = {record.job_id: record for record in records}
    steps = (_viewed(state, run, number, found) for number in range(len(graph.steps)))
    return WorkflowRunView(run, graph, tuple(steps))


def _viewed(state: WorkflowState, of: Run, number: int, records: Mapping[str, Run]) -> StepView:
    step = state.graph.steps[number]
    run = records.get(step.job_id)
    if step.carried_over is not None and run is not None and not _as_carried_over(run, step.carried_over.end):
        run = None
    progress = _progress(state, of, number, run)
    open_ = state.graph.upstream[number] & ~state.ends.any if progress is Pending.WAITING else 0
    return StepView(step, progress, run, tuple(state.graph.steps[each].id for each in numbers_in(open_)))


def _as_carried_over(run: Run, outcome: StepOutcome) -> bool:
    """Return whether the record is still the one that a rerun carried over. A redrive may have changed it since."""
    return run.state.final and end_of(run) is outcome


def _progress(state: WorkflowState, of: Run, number: int, run: Run | None) -> StepOutcome | Pending:
    given = state.graph.steps[number].carried_over
    if given is not None:
        return given.end
    end = state.ends.of(number)
    if end is not None and state.settled(number):
        return end
    if of.state.final and (run is None or run.state.final):
        return Pending.LEFT
    return Pending.WAITING if state.readiness(number) is Readiness.WAITS else Pending.DUE
