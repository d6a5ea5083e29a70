"""Workflows and their runs in responses: the models and types, and the functions that build them."""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field
from typing_extensions import TypedDict

from duecourse.api.answers import Count, Document, JobId, Millisecond, RunId, Second, job_document
from duecourse.api.bodies.definition_body import DefinitionBody
from duecourse.api.bodies.job_answer import KeptBody, LastRuns
from duecourse.domain.documents import part_of
from duecourse.domain.instants import millisecond, to_iso
from duecourse.domain.runs.states import Alive, RunState
from duecourse.domain.workflows.forecast import DeadlineField, Forecast, PathStep
from duecourse.domain.workflows.graph import Graph, Rule, Step, StepOutcome
from duecourse.domain.workflows.view import Pending, StepView, WorkflowRunView
from duecourse.usecases.jobs.view import JobView


class WorkflowJobAnswer(TypedDict):
    """A step of a workflow, and the conditions of its start."""

    job_id: JobId
    after: list[JobId]
    when: Rule
    may_fail: bool
    not_before: str | None
    only: str | None
    shared: bool
    for_each: Annotated[str | None, Field(description="The list for whose items the step runs, once each.")]
    at_once: Count | None
    max_failed: Count | None


def _tidy(schema: dict[str, Any]) -> None:
    """Make `last_runs` optional, because only lists have it."""
    schema["required"].remove("last_runs")


class WorkflowSummaryAnswer(KeptBody, DefinitionBody):
    """A workflow without its steps."""

    model_config = ConfigDict(defer_build=True, json_schema_extra=_tidy)

    deadline_seconds: int
    last_runs: LastRuns


class WorkflowAnswer(WorkflowSummaryAnswer):
    """A stored workflow; the job of each step is at /v1/jobs/<id>."""

    model_config = ConfigDict(defer_build=True)

    jobs: dict[JobId, WorkflowJobAnswer]


class WorkflowPutAnswer(WorkflowAnswer):
    """The workflow after the change. With `dry_run`, the workflow that the change would produce."""

    model_config = ConfigDict(defer_build=True)

    dry_run: bool
    created: Annotated[list[JobId], Field(description="The jobs that were created, including the job of the workflow.")]
    changed: Annotated[list[JobId], Field(description="The jobs that were changed.")]


class CountsAnswer(TypedDict):
    """The number of steps that succeeded, failed, did not run because an upstream step failed or the run had ended
    (`aborted`), were not needed (`skipped`), are due or running, are waiting, or will not run (`left`).
    """

    succeeded: Count
    failed: Count
    aborted: Count
    skipped: Count
    due: Count
    waiting: Count
    left: Count


class StepRunAnswer(TypedDict):
    """A step in a run of its workflow. `id` is its name in the workflow."""

    id: JobId
    job_id: JobId
    state: Annotated[
        RunState | Literal["WAITS", "DUE", "LEFT"],
        Field(
            description="The state of the step's run. Without a record, or after a redrive of the step or an upstream "
            "step: WAITS, DUE, LEFT if the run of the workflow has ended, or the outcome that a rerun carried over."
        ),
    ]
    reason: str | None
    run: Annotated[
        RunId | None,
        Field(description="Null if the run has no record, or if the record has changed since it was carried over."),
    ]
    carried_over: Annotated[
        bool, Field(description="Whether the rerun keeps the outcome of `run` instead of running the step again.")
    ]
    after: list[JobId]
    when: Rule
    waits_for: Annotated[
        list[JobId], Field(description="The upstream steps that have not ended, while the step waits.")
    ]
    has_items: Annotated[
        bool,
        Field(
            description="Whether the step runs once for each item of a list. GET /v1/workflows/<job_id>/runs/<instant> "
            "shows its items as steps."
        ),
    ]
    is_workflow: Annotated[
        bool,
        Field(
            description="Whether the step's job is a workflow. GET /v1/workflows/<job_id>/runs/<instant> shows its "
            "steps."
        ),
    ]
    attempts: Count
    started_at: Millisecond | None
    finished_at: Millisecond | None
    code: Annotated[str | None, Field(description="The code of the last failure, such as http.503 or timeout.")]
    error: str | None


class PathStepAnswer(TypedDict):
    """A step of the critical path that has not ended. `p90_seconds` is null if it has too few earlier runs."""

    id: JobId
    job_id: JobId
    ends_at: Annotated[Second, Field(description="The predicted end of the step.")]
    p90_seconds: float | None
    samples: Annotated[int, Field(ge=0, description="The number of earlier runs of which this is the p90.")]


class ForecastAnswer(TypedDict):
    """The predicted end of a run: each remaining step takes the 90th percentile of its earlier durations."""

    predicted_end: Second
    is_lower_bound: Annotated[
        bool,
        Field(description="Whether the run may end later, because steps are unknown or take longer than their p90."),
    ]
    at_risk: Annotated[bool, Field(description="Whether the run is predicted to miss its deadline.")]
    deadline: Annotated[DeadlineField | None, Field(description="The field that sets the next deadline.")]
    deadline_at: Second | None
    reason: str
    critical_path: Annotated[
        list[PathStepAnswer], Field(description="The remaining steps that determine the predicted end, in order.")
    ]
    unknown: Annotated[list[JobId], Field(description="The remaining steps with too few earlier runs.")]
    overdue: Annotated[list[JobId], Field(description="The active steps that take longer than their p90.")]


class WorkflowRunAnswer(TypedDict):
    """A run of a workflow with the states of its steps, each read at a different moment."""

    run: RunId
    state: RunState
    reason: str | None
    occurrence: Second
    started_at: Millisecond | None
    finished_at: Millisecond | None
    deadline: Annotated[Millisecond | None, Field(description="The time by which all steps must have ended.")]
    rerun_of: Annotated[RunId | None, Field(description="The run of which this run is a partial rerun.")]
    rerun_from: Annotated[list[JobId], Field(description="The steps that the rerun started with.")]
    code: str | None
    error: str | None
    counts: CountsAnswer
    forecast: Annotated[
        ForecastAnswer | None,
        Field(description="Only with `forecast`, for the run of a workflow that has started and has not ended."),
    ]
    jobs: list[StepRunAnswer]


SHOWN = tuple(name for name in WorkflowSummaryAnswer.model_fields if name not in ("deadline_seconds", "last_runs"))


def summary_document(view: JobView) -> Document:
    """Return a `WorkflowSummaryAnswer` of the job of a workflow."""
    shown = job_document(view)
    return {name: shown[name] for name in SHOWN} | {"deadline_seconds": view.job.completion_seconds}


def workflow_document(view: JobView, graph: Graph) -> Document:
    """Return a `WorkflowAnswer`."""
    return summary_document(view) | {"jobs": {step.id: _step_document(step) for step in graph.steps}}


_OF_ITEMS = ("for_each", "at_once", "max_failed")


def _step_document(step: Step) -> Document:
    """Return a `WorkflowJobAnswer`."""
    conditions = [name for name in WorkflowJobAnswer.__annotations__ if name not in ("job_id", *_OF_ITEMS)]
    each = step.for_each
    values = (None, None, None) if each is None else (each.items, each.at_once, each.max_failed)
    return {"job_id": step.job_id} | part_of(step, conditions) | dict(zip(_OF_ITEMS, values, strict=True))


def run_view_document(view: WorkflowRunView, forecast: Forecast | None = None) -> WorkflowRunAnswer:
    """Return a `WorkflowRunAnswer`."""
    run, counts = view.run, Counter(each.progress for each in view.steps)
    deadlines = run.deadlines if isinstance(run, Alive) else None
    return WorkflowRunAnswer(
        run=run.run_id,
        state=run.state,
        reason=run.reason,
        occurrence=to_iso(run.occurrence),
        started_at=millisecond(run.started_at if run.first_started_at is None else run.first_started_at),
        finished_at=millisecond(run.finished_at),
        deadline=None if deadlines is None else millisecond(deadlines.waiting_until),
        rerun_of=view.graph.rerun_of,
        rerun_from=list(view.graph.rerun_from),
        code=run.code,
        error=run.error,
        counts=CountsAnswer(**{each.value: counts[each] for each in (*StepOutcome, *Pending)}),  # type: ignore[typeddict-item]
        forecast=None if forecast is None else _forecast_document(forecast),
        jobs=[_step_run(each) for each in view.steps],
    )


def _forecast_document(found: Forecast) -> ForecastAnswer:
    deadline = found.deadline
    return ForecastAnswer(
        predicted_end=to_iso(int(found.predicted_end)),
        is_lower_bound=found.is_lower_bound,
        at_risk=found.at_risk,
        deadline=None if deadline is None else deadline.field,
        deadline_at=None if deadline is None else to_iso(int(deadline.at)),
        reason=found.reason,
        critical_path=[_path_step(each) for each in found.path],
        unknown=list(found.unknown),
        overdue=list(found.overdue),
    )


def _path_step(step: PathStep) -> PathStepAnswer:
    p90, samples = (None, 0) if step.duration is None else (round(step.duration.p90, 1), step.duration.samples)
    return PathStepAnswer(
        id=step.id, job_id=step.job_id, ends_at=to_iso(int(step.ends_at)), p90_seconds=p90, samples=samples
    )


def _step_run(view: StepView) -> StepRunAnswer:
    run, step, current = view.run, view.step, view.current
    started = None if run is None else run.started_at if run.first_started_at is None else run.first_started_at
    return StepRunAnswer(
        id=step.id,
        job_id=step.job_id,
        state=_state(view),
        reason=None if current is None else current.reason,
        run=None if run is None else run.run_id,
        carried_over=step.carried_over is not None,
        after=list(step.after),
        when=step.when,
        waits_for=list(view.waits_for),
        has_items=step.for_each is not None,
        is_workflow=step.nested,
        attempts=0 if run is None else run.attempt,
        started_at=millisecond(started),
        finished_at=None if current is None else millisecond(current.finished_at),
        code=None if current is None else current.code,
        error=None if current is None else current.error,
    )


def _state(view: StepView) -> RunState | Literal["WAITS", "DUE", "LEFT"]:
    if view.current is not None:
        return view.current.state
    match view.progress:
        case Pending.WAITING:
            return "WAITS"
        case Pending.DUE:
            return "DUE"
        case Pending.LEFT | StepOutcome.ABORTED:
            return "LEFT"
        case StepOutcome.SUCCEEDED:
            return RunState.SUCCEEDED
        case StepOutcome.FAILED:
            return RunState.DEAD
        case StepOutcome.SKIPPED:
            return RunState.SKIPPED
