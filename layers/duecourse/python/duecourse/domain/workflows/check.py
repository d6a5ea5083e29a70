"""The job of a workflow in a request, and the validation of the workflow's graph."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from duecourse.domain.instants import DAY_SECONDS
from duecourse.domain.jobs.calendars import Window
from duecourse.domain.jobs.job import Completion, Job, RetryPolicy
from duecourse.domain.targets.targets import WorkflowTarget
from duecourse.domain.tenants.rate import Budget
from duecourse.domain.workflows.graph import Rule, Step
from duecourse_schedules import ScheduleError, ScheduleSpec
from duecourse_schedules.schedule import SEPARATOR, Occurrences, occurrences_of

DEADLINE_SECONDS = DAY_SECONDS
"""The default time (seconds) from the start of a run within which its steps must end."""

OWN_FAULTS = ("workflow.start", "internal")
"""The failures that are retried. They concern the attempt of the workflow's run, which starts its steps."""


def workflow_fields(graph: str, deadline_seconds: int = DEADLINE_SECONDS) -> dict[str, Any]:
    """Return the fields of the job of a workflow with this graph (a hash). The run waits for its steps like other runs
    wait for their callback.
    """
    return {
        "target": WorkflowTarget(graph),
        "completion": Completion.CALLBACK,
        "completion_seconds": deadline_seconds,
        "retry": RetryPolicy(on=OWN_FAULTS),
    }


MAX_STEPS = 1024
MAX_EDGES = 10_000
MAX_DIRECT = 1000
"""The maximum number of direct upstream steps, and of direct downstream steps, of a step."""

MAX_DEPTH = 100
"""The maximum number of steps on a path."""

MAX_LISTS = 100
"""The maximum number of steps with for_each. Each has up to graph.MAX_ITEMS items."""

MAX_LEVELS = 4
"""The maximum number of workflows within each other. A run's record has the graph of each."""

MAX_NESTED = 20
"""The maximum number of steps of a workflow that are workflows. Each is read when the outer workflow is written."""

MAX_MEETINGS = 2000
"""The maximum number of occurrences that are compared before `only` and `schedule` count as having none in common."""

MAX_GUESSES = 10
"""The maximum number of unknown names for which a similar name is searched."""

LIKE = 0.6
"""The minimum similarity (0 to 1) between an unknown name and a suggested name."""

SHOWN = 12
"""The maximum number of steps of a path that an error message names."""

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class WorkflowFault:
    """A fault of a workflow's document: the `path` in the document, and the `detail`. `conflict`: the document itself
    is valid, but conflicts with another workflow or job.
    """

    path: Path
    detail: str
    conflict: bool = False


def graph_faults(steps: Sequence[Step], budget: Budget) -> list[WorkflowFault]:
    """Return the faults of the graph, independent of its jobs."""
    if not 1 <= len(steps) <= MAX_STEPS:
        return [WorkflowFault(("jobs",), f"has {len(steps):,} steps; 1 to {MAX_STEPS:,} are allowed")]
    edges = sum(len(step.after) for step in steps)
    if edges > MAX_EDGES:
        return [WorkflowFault(("jobs",), f"has {edges:,} edges; at most {MAX_EDGES:,} are allowed")]
    lists = [step.id for step in steps if step.for_each is not None]
    if len(lists) > MAX_LISTS:
        most = f"at most {MAX_LISTS} are allowed, so move some to another workflow"
        detail = f"is one of {len(lists):,} steps with for_each; {most}"
        return [WorkflowFault(("jobs", lists[MAX_LISTS], "for_each"), detail)]
    faults = [*_bad_names(steps, budget), *_bad_rules(steps), *_too_wide(steps)]
    if faults:
        return faults
    circle = _circle(steps)
    if circle is not None:
        return [circle]
    return list(_too_deep(steps))


def time_faults(
    steps: Sequence[Step], schedule: ScheduleSpec, exclude: tuple[Window, ...], now: int, budget: Budget
) -> list[WorkflowFault]:
    """Return the faults of the steps' expressions, for a workflow with a valid schedule."""
    faults, whole = [], occurrences_of("", "", schedule, exclude=exclude)
    for step in steps:
        for name, expression in (("not_before", step.not_before), ("only", step.only)):
            if expression is None:
                continue
            place: Path = ("jobs", step.id, name)
            try:
                if SEPARATOR in expression:
                    faults.append(WorkflowFault(place, "contains |; write one schedule"))
                    continue
                times = occurrences_of("", "", ScheduleSpec(expression, schedule.timezone))
                if times.next(now) is None:
                    faults.append(
                        WorkflowFault(
                            place, "has no occurrence in the future; choose a schedule with a future occurrence"
                        )
                    )
                elif name == "only" and schedule.expression and not _may_meet(times, whole, now, budget):
                    faults.append(
                        WorkflowFault(
                            place,
                            "does not match any occurrence of the workflow's schedule; choose a schedule that shares "
                            "occurrences with it",
                        )
                    )
            except ScheduleError as problem:
                faults.append(WorkflowFault(place, f"is not valid: {problem.detail}"))
    return faults


def step_faults(
    workflow: str, steps: Sequence[Step], inline: Mapping[str, object], found: Mapping[str, Job]
) -> list[WorkflowFault]:
    """Return the faults of the jobs that are steps: `found` are the existing jobs, `inline` the jobs that the document
    defines, both by id. A claim by another workflow is not checked here, since it may be void.
    """
    faults, seen = [], dict[str, str]()
    for step in steps:
        job, place = found.get(step.job_id), ("jobs", step.id)
        other = seen.setdefault(step.job_id, step.id)
        if step.job_id == workflow:
            faults.append(WorkflowFault(place, "is the workflow's own id; choose another id for the step"))
        elif other != step.id:
            faults.append(WorkflowFault(place, f"has the same job as {other} ({step.job_id}); choose another job"))
        elif job is None and step.job_id not in inline:
            detail = f"there is no job {step.job_id}; create it, name another in job_id, or define it here in job"
            faults.append(WorkflowFault(place, detail))
        elif step.shared and step.job_id in inline:
            detail = "needs an existing job; remove job, and name the existing job in job_id"
            faults.append(WorkflowFault((*place, "shared"), detail))
        elif job is not None and (nested := _workflow_faults(step, job, place, is_inline=step.job_id in inline)):
            faults += nested
        elif job is not None and job.schedule.expression and not step.shared:
            own = job.schedule.expression.replace(SEPARATOR, "; ")
            remedy = "" if isinstance(job.target, WorkflowTarget) else ", or add shared: true"
            detail = f"has its own schedule ({own}); set the schedule to null first{remedy}"
            faults.append(WorkflowFault(place, detail, conflict=True))
    return faults


def _workflow_faults(step: Step, job: Job, place: Path, *, is_inline: bool) -> list[WorkflowFault]:
    """Return the faults of a step whose job is a workflow."""
    name = step.job_id
    if not isinstance(job.target, WorkflowTarget):
        return []
    if is_inline:
        detail = f"{name} is a workflow; remove job, and change it with PUT /v1/workflows/{name}"
        return [WorkflowFault(place, detail, conflict=True)]
    if step.shared:
        detail = f"{name} is a workflow, which can be a step of one workflow only; remove shared"
        return [WorkflowFault((*place, "shared"), detail, conflict=True)]
    if step.for_each is not None:
        detail = f"{name} is a workflow, which cannot run for each item; use for_each in a step of {name}"
        return [WorkflowFault((*place, "for_each"), detail, conflict=True)]
    return []


def level_faults(
    workflow: str, steps: Sequence[Step], above: Sequence[str], levels: Mapping[str, int]
) -> list[WorkflowFault]:
    """Return the faults of the steps that are workflows. `above` are the workflows around this one, from the innermost
    one. `levels` are the numbers of workflows within each other, by the ids of the steps' workflows.
    """
    nested = [step for step in steps if step.job_id in levels]
    if len(nested) > MAX_NESTED:
        detail = f"is one of {len(nested)} steps that are workflows; at most {MAX_NESTED} are allowed"
        return [WorkflowFault(("jobs", nested[MAX_NESTED].id), detail)]
    faults = []
    for step in nested:
        place = ("jobs", step.id)
        if step.job_id in above:
            circle = [*above[: above.index(step.job_id) + 1][::-1], workflow, step.job_id]
            detail = f"creates a cycle of workflows: {_shown(circle)}; remove one of these steps"
            faults.append(WorkflowFault(place, detail, conflict=True))
        elif (deep := len(above) + 1 + levels[step.job_id]) > MAX_LEVELS:
            detail = f"makes {deep} levels of workflows; at most {MAX_LEVELS} are allowed, so remove a level"
            faults.append(WorkflowFault(place, detail, conflict=True))
    return faults


def _bad_names(steps: Sequence[Step], budget: Budget) -> Iterator[WorkflowFault]:
    known = [step.id for step in steps]
    names, unknown = set(known), 0
    for step in steps:
        seen: set[str] = set()
        for index, name in enumerate(step.after):
            place = ("jobs", step.id, "after", index)
            if name not in names:
                unknown += 1
                near = _nearest(name, known, budget) if unknown <= MAX_GUESSES else None
                meant = f"; did you mean {near}?" if near else "; write the name of a step of this workflow"
                yield WorkflowFault(place, f"{name} is not a step of this workflow{meant}")
            elif name in seen:
                yield WorkflowFault(place, f"names {name} twice; remove one of them")
            seen.add(name)


def _nearest(name: str, known: Sequence[str], budget: Budget) -> str | None:
    """Return the known name that is most similar to this one. None if no name is similar enough, or if the budget is
    used up.
    """
    likeness, nearest = max(((_likeness(name, each), each) for each in known if budget.spend()), default=(0.0, None))
    return nearest if likeness >= LIKE else None


def _likeness(one: str, other: str) -> float:
    """Return the share of the longer name (0 to 1) that both names have in common at the beginning and at the end."""
    short = min(len(one), len(other))
    begin = next((at for at in range(short) if one[at] != other[at]), short)
    end = next((at for at in range(short - begin) if one[-1 - at] != other[-1 - at]), short - begin)
    return (begin + end) / max(len(one), len(other))


def _bad_rules(steps: Sequence[Step]) -> Iterator[WorkflowFault]:
    for step in steps:
        if step.when in (Rule.ANY_SUCCESS, Rule.ANY_FAILURE) and not step.after:
            yield WorkflowFault(
                ("jobs", step.id, "when"), f"{step.when} needs after, because this step has no upstream steps"
            )


def _too_wide(steps: Sequence[Step]) -> Iterator[WorkflowFault]:
    following: dict[str, int] = {}
    for step in steps:
        if len(step.after) > MAX_DIRECT:
            detail = f"has {len(step.after):,} upstream steps; at most {MAX_DIRECT:,} are allowed"
            yield WorkflowFault(("jobs", step.id, "after"), detail)
        for name in step.after:
            following[name] = following.get(name, 0) + 1
    for name, count in following.items():
        if count > MAX_DIRECT:
            detail = f"has {count:,} steps directly after it; at most {MAX_DIRECT:,} are allowed"
            yield WorkflowFault(("jobs", name), detail)


def _circle(steps: Sequence[Step]) -> WorkflowFault | None:
    """Return a cycle, reported at the edge that closes it. The walk has an explicit stack, because a graph may
    be deep.
    """
    after = {step.id: step.after for step in steps}
    done: set[str] = set()
    for step in steps:
        path: dict[str, int] = {}
        stack = [(step.id, iter(after[step.id]))] if step.id not in done else []
        if stack:
            path[step.id] = 0
        while stack:
            here, rest = stack[-1]
            name = next(rest, None)
            if name is None:
                stack.pop()
                del path[here]
                done.add(here)
            elif name in path:
                # From `name` downstream: the reverse of the walk, which goes upstream.
                circle = [name, *reversed(list(path)[path[name] + 1 :]), name]
                detail = f"creates a cycle: {_shown(circle)}; remove one of these edges"
                return WorkflowFault(("jobs", here, "after", after[here].index(name)), detail)
            elif name not in done:
                path[name] = len(path)
                stack.append((name, iter(after[name])))
    return None


def _too_deep(steps: Sequence[Step]) -> Iterator[WorkflowFault]:
    """Report the longest path if it is too long. The graph has no cycle."""
    after = {step.id: step.after for step in steps}
    length: dict[str, int] = {}
    pending = [step.id for step in steps]
    while pending:
        here = pending[-1]
        unknown = [name for name in after[here] if name not in length]
        if unknown:
            pending += unknown
            continue
        length[pending.pop()] = 1 + max((length[name] for name in after[here]), default=0)
    last = max(length, key=length.__getitem__)
    if length[last] > MAX_DEPTH:
        path = [last]
        while after[path[-1]]:
            path.append(max(after[path[-1]], key=length.__getitem__))
        detail = f"path {_shown(path[::-1])} is {length[last]} steps long; at most {MAX_DEPTH} are allowed"
        yield WorkflowFault(("jobs", last, "after"), detail)


def _may_meet(one: Occurrences, other: Occurrences, now: int, budget: Budget) -> bool:
    """Return whether two schedules have an instant after `now` in common. Each is advanced alternately to the other's
    next occurrence. True also if the budget is used up first.
    """
    at = one.next(now)
    for _ in range(MAX_MEETINGS):
        if not budget.spend():
            return True
        if at is None or (found := other.next(at - 1)) is None:
            return False
        if found == at:
            return True
        at, one, other = found, other, one
    return False


def _shown(path: Sequence[str]) -> str:
    shown = [*path[: SHOWN // 2], "...", *path[-SHOWN // 2 :]] if len(path) > SHOWN else list(path)
    return " -> ".join(shown)
