"""The view of a workflow's run: its graph with the state of each step."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from duecourse.domain.runs.decision import WORKFLOW_OVER, Readiness
from duecourse.domain.runs.states import Cancelled, Run
from duecourse.domain.runs.transitions import goes_on
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
    ended. `waits_for` are the steps that it waits for. `again`: the end in the record no longer counts, because the
    step or an upstream step was redriven.
    """

    step: Step
    progress: StepOutcome | Pending
    run: Run | None
    waits_for: tuple[str, ...] = ()
    again: bool = False

    @property
    def current(self) -> Run | None:
        """The record, unless the step may run again."""
        return None if self.again else self.run


@dataclass(frozen=True, slots=True)
class WorkflowRunView:
    """A run of a workflow with its steps. `continues`: the run has ended, but continues after a redriven step."""

    run: Run
    graph: Graph
    steps: tuple[StepView, ...]
    continues: bool = False

    def step(self, job_id: str) -> StepView:
        """Return the step of this job."""
        return self.steps[self.graph.of_jobs[job_id]]

    def of(self, run: Run) -> StepView:
        """Return the step to which this run belongs."""
        return self.steps[self.graph.number_of(run)]

    def due(self, step: StepView) -> int | None:
        """Return the time when a step is due to start (UTC seconds): when its upstream steps have ended, but not before
        its `not_before`. None if the workflow's run has not started.
        """
        number = self.graph.numbers[step.step.id]
        upstream = (self.steps[each].current for each in numbers_in(self.graph.upstream[number]))
        ended = [each.finished_at for each in upstream if each is not None]
        own = self.graph.not_before(number, self.run.occurrence, self.run.suffix)
        known = [at for at in (self.run.started_at, own, *ended) if at is not None]
        return None if self.run.started_at is None else int(max(known))


def viewed(
    run: Run, graph: Graph, ends: StepOutcomes, records: Iterable[Run], *, deleted: bool = False
) -> WorkflowRunView:
    """Return the view of a workflow's run. `records` are the existing records of its steps. An ended run of a `deleted`
    workflow never continues.
    """
    state = WorkflowState(graph, run.occurrence, run.suffix, ends)
    found = {graph.number_of(record): record for record in records}
    continues = not deleted and goes_on(run, state.outcome) and not _stopped(state, found)
    over = run.state.final and not continues
    steps = (_viewed(state, number, found, over=over) for number in range(len(graph.steps)))
    return WorkflowRunView(run, graph, tuple(steps), continues)


def _stopped(state: WorkflowState, records: Mapping[int, Run]) -> bool:
    """Return whether the redrive of a step was cancelled with its workflow. Then the step gets no other outcome."""
    redriven = (records.get(number) for number in numbers_in(state.known.withdrawn))
    return any(isinstance(each, Cancelled) and each.reason == WORKFLOW_OVER for each in redriven)


def _viewed(state: WorkflowState, number: int, records: Mapping[int, Run], *, over: bool) -> StepView:
    step = state.graph.steps[number]
    run = records.get(number)
    if step.carried_over is not None and run is not None and not _as_carried_over(run, step.carried_over.end):
        run = None
    progress = _progress(state, number, run, over=over)
    # An end that was not recorded yet is the current one.
    known = run is not None and (state.known.round(number) > run.round or state.known.of(number) is not None)
    again = progress in (Pending.WAITING, Pending.DUE) and run is not None and run.state.final and known
    waits = progress is Pending.WAITING and state.graph.items is None  # items wait for any of the others
    open_ = state.graph.upstream[number] & ~state.ends.any if waits else 0
    return StepView(step, progress, run, tuple(state.graph.steps[each].id for each in numbers_in(open_)), again)


def _as_carried_over(run: Run, outcome: StepOutcome) -> bool:
    """Return whether the record is still the one that a rerun carried over. A redrive may have changed it since."""
    return run.state.final and end_of(run) is outcome


def _progress(state: WorkflowState, number: int, run: Run | None, *, over: bool) -> StepOutcome | Pending:
    given = state.graph.steps[number].carried_over
    if given is not None:
        return given.end
    end = state.ends.of(number)
    if end is not None and state.settled(number):
        return end
    if over and (run is None or run.state.final):
        return state.known.of(number) or Pending.LEFT
    return Pending.WAITING if state.readiness(number) is Readiness.WAITS else Pending.DUE
