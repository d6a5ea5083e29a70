"""The forecast of a run: when its remaining steps will have ended, according to the durations of earlier runs.

Each step takes the 90th percentile (p90) of its durations. The steps that determine the predicted end are the critical
path. A step with too few earlier runs counts as zero seconds, and one that has exceeded its p90 as ending now: then the
predicted end is a lower bound. Steps are expected to succeed.

A job without steps is forecast like a workflow with one step.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from math import ceil
from typing import Any, assert_never

from duecourse.domain.instants import to_iso
from duecourse.domain.jobs.job import DeadlineEvent, Job, JobSnapshot, NoticeCause
from duecourse.domain.runs.decision import LEASE_MARGIN_SECONDS
from duecourse.domain.runs.notices import NOTIFIER, Notice
from duecourse.domain.runs.states import Queued, Retrying, Run, Succeeded
from duecourse.domain.runs.transitions import own_job
from duecourse.domain.workflows.graph import Graph, Rule, Step, StepOutcome, end_of
from duecourse.domain.workflows.view import Pending, StepView, WorkflowRunView
from duecourse_schedules import ScheduleError

SAMPLES = 20
"""The maximum number of earlier runs from which the p90 of a step is computed."""

MIN_SAMPLES = 3
"""A step with fewer durations is unknown."""

MAX_RECORDS = 4000
"""The maximum number of records of steps that one forecast reads. With more than 200 steps, the samples are smaller;
with 1,024 steps, which is the most, they have three runs.
"""

MIN_PAUSE_SECONDS = 60
PAUSE_SHARE = 0.02
"""The shortest time between two forecasts of a run: one minute, or this share of the time until the deadline."""

NAMED_STEPS = 20
"""The maximum number of steps of the critical path, and of unknown steps, in a notice."""

SHOWN_STEPS = 5
"""The maximum number of steps of the critical path in the text of a notice."""


class DeadlineField(StrEnum):
    """The field of a job that sets a deadline for the end of a run."""

    FINISH_BY = "finish_by"
    DEADLINE_SECONDS = "deadline_seconds"


@dataclass(frozen=True, slots=True)
class EndDeadline:
    """The next deadline for the end of a run (UTC seconds), and the field that sets it."""

    field: DeadlineField
    at: float


@dataclass(frozen=True, slots=True)
class Duration:
    """The p90 of a step's durations (seconds), and the number of durations."""

    p90: float
    samples: int


@dataclass(frozen=True, slots=True)
class PathStep:
    """A step of the critical path that has not ended: its name, its job, its predicted end (UTC seconds), and its
    duration (None: unknown).
    """

    id: str
    job_id: str
    ends_at: float
    duration: Duration | None


@dataclass(frozen=True, slots=True)
class Forecast:
    """The predicted end of a run (UTC seconds).

    - `at`: the time of the forecast (UTC seconds).
    - `path`: the remaining steps of the critical path, in order.
    - `unknown`, `overdue`: the names of the remaining steps that have too few earlier runs, and of those that have
      exceeded their p90.
    - `deadline`: the next deadline of the run; None if there is none.
    """

    at: float
    predicted_end: float
    path: tuple[PathStep, ...]
    unknown: tuple[str, ...]
    overdue: tuple[str, ...]
    deadline: EndDeadline | None

    @property
    def is_lower_bound(self) -> bool:
        """Whether the run may end later than predicted because a duration is not known."""
        return bool(self.unknown or self.overdue)

    @property
    def at_risk(self) -> bool:
        """Whether the run is predicted to miss its deadline."""
        return self.deadline is not None and self.predicted_end > self.deadline.at

    @property
    def reason(self) -> str:
        """What the forecast is compared with, and why it may be too early."""
        bound = "at least " if self.is_lower_bound else ""
        why = []
        if self.unknown:
            why.append(f"steps with fewer than {MIN_SAMPLES} earlier runs: {len(self.unknown)}")
        if self.overdue:
            why.append(f"steps that take longer than their p90: {len(self.overdue)}")
        because = f" ({'; '.join(why)})" if why else ""
        if self.deadline is None:
            return f"the run has no deadline that is still ahead{because}"
        spare = self.deadline.at - self.predicted_end
        if spare >= 0 and self.is_lower_bound:
            return f"predicted to end at most {span(spare)} before {self.deadline.field}{because}"
        when = f"{span(spare)} before" if spare >= 0 else f"{bound}{span(-spare)} after"
        return f"predicted to end {when} {self.deadline.field}{because}"


def span(seconds: float) -> str:
    """Return a duration as text: seconds, minutes or hours."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def duration_of(runs: Iterable[Run]) -> Duration | None:
    """Return the p90 (nearest rank) of the durations of these runs of a step, or None if they are too few.

    A duration is the time from when the run could start until its success, with its waits and retries. Runs that were
    redriven or caught up do not count: they waited for a person, or for the end of an outage.
    """
    took = sorted(
        max(run.finished_at - run.due, 0.0)
        for run in runs
        if isinstance(run, Succeeded) and run.redriven_at is None and not run.round and not run.caught_up
    )
    if len(took) < MIN_SAMPLES:
        return None
    return Duration(took[ceil(0.9 * len(took)) - 1], len(took))


def samples_of(steps: int) -> int:
    """Return how many earlier runs are read for a forecast of this many steps."""
    return max(min(SAMPLES, MAX_RECORDS // max(steps, 1)), MIN_SAMPLES)


def deadline_of(run: Run, job: Job, now: float) -> EndDeadline | None:
    """Return the first deadline for the end of the run after `now` (UTC seconds). A deadline that has passed was
    announced as missed, or has ended the run.
    """
    found = list[EndDeadline]()
    if run.is_workflow and run.deadlines is not None:
        found.append(EndDeadline(DeadlineField.DEADLINE_SECONDS, run.deadlines.waiting_until))
    if not run.name.backfilled:
        for each in job.deadlines:
            with suppress(ScheduleError):  # the time zone no longer exists
                if each.event is DeadlineEvent.FINISH and (at := each.instant(run.due, job.schedule.timezone)):
                    found.append(EndDeadline(DeadlineField.FINISH_BY, at))
    return min((each for each in found if each.at > now), key=lambda each: each.at, default=None)


def remaining(view: WorkflowRunView) -> list[int]:
    """Return the numbers of the steps that have not ended and may still run."""
    idle = view.graph.not_its_time(view.run.occurrence, view.run.suffix)
    return [
        number
        for number, step in enumerate(view.steps)
        if step.progress in (Pending.WAITING, Pending.DUE)
        and not idle >> number & 1
        and not (step.current is not None and step.current.state.final)
    ]


def alone(run: Run) -> WorkflowRunView:
    """Return the run of a job without steps as the run of a workflow whose only step it is."""
    step = Step(id=run.job_id)
    return WorkflowRunView(run, Graph((step,)), (StepView(step, Pending.DUE, run),))


@dataclass(frozen=True, slots=True)
class _End:
    """The end of a step, known or predicted: its outcome and time (UTC seconds). `after`: the upstream step whose end
    determines the start. `open`: the step has not ended, and is expected to run.
    """

    outcome: StepOutcome
    at: float
    after: int | None = None
    open: bool = False
    overdue: bool = False


def forecast(
    view: WorkflowRunView, durations: Mapping[int, Duration], deadline: EndDeadline | None, now: float
) -> Forecast:
    """Return the forecast of a run that has not ended. `durations` are those of its remaining steps, by number; steps
    without one are unknown. `now` is in UTC seconds.
    """
    ends = _ends(view, durations, now)
    steps = view.graph.steps
    path, number = list[PathStep](), _last(view.graph, ends)
    predicted = max(now, ends[number].at) if ends else now
    here: int | None = number if ends else None
    while here is not None:
        end = ends[here]
        if end.open:
            path.append(PathStep(steps[here].id, steps[here].job_id, end.at, durations.get(here)))
        here = end.after
    open_ = [each for each, end in enumerate(ends) if end.open]
    return Forecast(
        at=now,
        predicted_end=predicted,
        path=tuple(reversed(path)),
        unknown=tuple(steps[each].id for each in open_ if each not in durations),
        overdue=tuple(steps[each].id for each in open_ if ends[each].overdue),
        deadline=deadline,
    )


def at_risk_from(
    view: WorkflowRunView, durations: Mapping[int, Duration], deadline: EndDeadline, now: float
) -> int | None:
    """Return the first instant (UTC seconds, after `now`) at which the run will be at risk if no other step ends until
    then. None if there is no such instant before the deadline. The predicted end never moves backwards while no step
    ends, so the instant is found by bisection.
    """

    def at_risk(instant: float) -> bool:
        ends = _ends(view, durations, instant)
        return max(instant, max((each.at for each in ends), default=instant)) > deadline.at

    low, high = int(now), int(deadline.at)
    if high <= low or not at_risk(high):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if at_risk(middle) else (middle, high)
    return high


def _last(graph: Graph, ends: Sequence[_End]) -> int:
    """Return the number of the step that ends last. Of several, it is one without others after it."""
    return max(reversed(graph.order), key=lambda number: (ends[number].at, ends[number].open), default=0)


def _ends(view: WorkflowRunView, durations: Mapping[int, Duration], now: float) -> list[_End]:
    graph, run = view.graph, view.run
    begun = now if run.started_at is None else min(run.started_at, now)
    idle = graph.not_its_time(run.occurrence, run.suffix)
    found = dict[int, _End]()
    for number in graph.order:
        step = view.steps[number]
        if isinstance(step.progress, StepOutcome):
            ended = None if step.run is None else step.run.finished_at
            found[number] = _End(step.progress, begun if ended is None else min(ended, now))
        elif step.progress is Pending.LEFT or idle >> number & 1:
            found[number] = _End(StepOutcome.SKIPPED, begun)
        else:
            found[number] = _open_end(view, number, found, durations.get(number), begun, now)
    return [found[number] for number in range(len(graph.steps))]


def _open_end(
    view: WorkflowRunView, number: int, found: Mapping[int, _End], duration: Duration | None, begun: float, now: float
) -> _End:
    """Return the predicted end of a step that has not ended. `found` has the ends of its upstream steps."""
    p90, active = (0.0 if duration is None else duration.p90), view.steps[number].current
    if active is not None and active.state.final:  # its end is recorded next
        return _End(end_of(active), now if active.finished_at is None else min(active.finished_at, now))
    if active is not None:
        # A step that runs again has the due time of its first run.
        usual, tries_at = active.age_from + p90, now
        if isinstance(active, Queued | Retrying) and active.not_before is not None:
            tries_at = max(now, active.not_before)
        overdue = duration is not None and now > usual
        return _End(StepOutcome.SUCCEEDED, max(usual, tries_at), open=True, overdue=overdue)
    first = view.graph.first >> number & 1
    upstream = [] if first else [view.graph.numbers[name] for name in view.graph.steps[number].after]
    skipped, at, after = _start(view.graph.steps[number].when, upstream, found, begun)
    if skipped is not None:
        return _End(skipped, at, after)
    own = view.graph.not_before(number, view.run.occurrence, view.run.suffix)
    earliest = max(now, at if own is None else max(at, own))
    return _End(StepOutcome.SUCCEEDED, earliest + p90, after if earliest == at else None, open=True)


_FAILURES = (StepOutcome.FAILED, StepOutcome.ABORTED)


def _start(
    rule: Rule, upstream: Sequence[int], ends: Mapping[int, _End], begun: float
) -> tuple[StepOutcome | None, float, int | None]:
    """Return when a step can start (UTC seconds) and which upstream step determines this. The first value is None, or
    the outcome of a step that will not run.
    """
    if not upstream:
        return None, begun, None

    def first(of: Sequence[int]) -> tuple[float, int]:
        number = min(of, key=lambda each: ends[each].at)
        return ends[number].at, number

    number = max(upstream, key=lambda each: (ends[each].at, ends[each].open))
    last = ends[number].at, number
    failed = [each for each in upstream if ends[each].outcome in _FAILURES]
    succeeded = [each for each in upstream if ends[each].outcome is StepOutcome.SUCCEEDED]
    match rule:
        case Rule.ALL_SUCCESS:
            if failed:
                return StepOutcome.ABORTED, *first(failed)
            return None if len(succeeded) == len(upstream) else StepOutcome.SKIPPED, *last
        case Rule.ALL_DONE:
            return None, *last
        case Rule.ANY_SUCCESS:
            if succeeded:
                return None, *first(succeeded)
            return StepOutcome.ABORTED if failed else StepOutcome.SKIPPED, *last
        case Rule.ANY_FAILURE:
            return (None, *first(failed)) if failed else (StepOutcome.SKIPPED, *last)
        case Rule.NONE_FAILED:
            if failed:
                return StepOutcome.ABORTED, *first(failed)
            return None if succeeded else StepOutcome.SKIPPED, *last
        case other:
            assert_never(other)


def wants_forecast(job: Job, run: Run) -> bool:
    """Return whether a job requests the forecasts of a run. The runs of steps have no deadlines, and the runs that
    deliver notices cause no notices.
    """
    ahead = run.is_workflow or (job.finish_by is not None and not run.name.backfilled)
    return NoticeCause.AT_RISK in job.notices_wanted and ahead and not run.is_step and run.requested_by != NOTIFIER


@dataclass(frozen=True, slots=True)
class Due:
    """The run is forecast now, for this job and deadline."""

    run: Run
    job: Job
    deadline: EndDeadline


@dataclass(frozen=True, slots=True)
class NotDue:
    """The run is not forecast. `again`: the start of its attempt may not be written yet."""

    reason: str
    again: bool = False


def decide_forecast(
    run: Run | None, snapshot: JobSnapshot, attempt: int, lease_until: float | None, now: float
) -> Due | NotDue:
    """Decide whether a message requests the forecast of a run. It was sent before the start of this attempt was
    written, by an invocation that ends at `lease_until` (UTC seconds; None: the start was written).
    """
    if run is None or run.attempt < attempt:
        written = lease_until is None or now >= lease_until + LEASE_MARGIN_SECONDS
        return NotDue("its attempt was not started" if written else "its attempt is about to start", again=not written)
    if run.state.final:
        return NotDue(f"the run is {run.state}")
    job = own_job(snapshot, run)
    if not isinstance(job, Job):
        return NotDue("its job does not exist")
    if not wants_forecast(job, run):
        return NotDue("its job does not request forecasts")
    deadline = deadline_of(run, job, now)
    return NotDue("it has no deadline that is still ahead") if deadline is None else Due(run, job, deadline)


def next_check(
    view: WorkflowRunView, durations: Mapping[int, Duration], deadline: EndDeadline, now: float
) -> int | None:
    """Return when a run that is not at risk must be forecast again (UTC seconds). None: not before its deadline."""
    at = at_risk_from(view, durations, deadline, now)
    pause = max(MIN_PAUSE_SECONDS, PAUSE_SHARE * (deadline.at - now))
    later = None if at is None else max(at, ceil(now + pause))
    return None if later is None or later >= deadline.at else later


def at_risk_notice(run: Run, job: Job, found: Forecast) -> Notice:
    """Return the notice of a run that is at risk. It is the same for all forecasts since the run was started or
    redriven, which therefore cause one notice.
    """
    begun = run.first_started_at if run.redriven_at is None else run.redriven_at
    key, deadline = f"at_risk/{run.name}/{int(begun or run.due)}", found.deadline
    facts: dict[str, Any] = {
        "predicted_end": to_iso(int(found.predicted_end)),
        "is_lower_bound": found.is_lower_bound,
        "deadline": None if deadline is None else deadline.field.value,
        "deadline_at": None if deadline is None else to_iso(int(deadline.at)),
        "reason": found.reason,
        "forecast_at": to_iso(int(found.at)),
        "critical_path": [_fact(each) for each in found.path[:NAMED_STEPS]],
        "critical_path_steps": len(found.path),
        "unknown_steps": list(found.unknown[:NAMED_STEPS]),
    }
    end = f"at {facts['predicted_end']}{' at the earliest' if found.is_lower_bound else ''}"
    text = (
        f"Run {run.name} of {job.id} is predicted to end {end}, after its deadline {facts['deadline_at']}. "
        f"Critical path: {_shown(found.path)}"
    )
    return Notice(NoticeCause.AT_RISK, job, key, float(begun or run.due), text, run, facts)


def _fact(step: PathStep) -> dict[str, Any]:
    p90, samples = (None, 0) if step.duration is None else (round(step.duration.p90, 1), step.duration.samples)
    return {"id": step.id, "job_id": step.job_id, "p90_seconds": p90, "samples": samples}


def _shown(path: Sequence[PathStep]) -> str:
    def one(step: PathStep) -> str:
        if step.duration is None:
            return f"{step.id} (duration unknown)"
        return f"{step.id} (p90 {span(step.duration.p90)} of {step.duration.samples} runs)"

    more = len(path) - SHOWN_STEPS
    shown = ", ".join(map(one, path[:SHOWN_STEPS]))
    return f"{shown} and {more} more" if more > 0 else shown or "none"
