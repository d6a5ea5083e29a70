"""A job that names a registered task: the shorthand written out, and the task's defaults filled in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from duecourse.api.bodies.definition_body import OF_SCHEDULES
from duecourse.api.bodies.job_body import JobBody
from duecourse.api.bodies.target_rules import task_problem
from duecourse.api.problems.problems import FieldFault, pointer
from duecourse.ports import Tasks

DEFAULT_FIELDS = JobBody.model_fields.keys() - {
    "id", "name", "description", "schedule", "timezone", "dst_gap", "dst_fold", "anchor", "start", "end", "exclude",
    "jitter_seconds", "max_runs", "target", "task", "precision", "tags",
}  # fmt: skip
"""The fields of a job for which a task may have defaults: all but what the job is called and when it is due."""

_MERGED = ("retry", "missed")
_OF_CALLBACKS = ("completion_seconds", "heartbeat_seconds")


@dataclass(frozen=True, slots=True)
class WrittenOut:
    """A posted job as it is validated. `short`: it named its task by `task`. `defaulted`: pointers of what the task
    filled in. `faults`: what was wrong with that already.
    """

    value: Any
    task: str = ""
    short: bool = False
    defaulted: tuple[str, ...] = ()
    faults: tuple[FieldFault, ...] = ()

    def placed(self, fault: FieldFault) -> FieldFault:
        """A fault of the validated value, as the caller knows it: at `/task`, or at the default that it is."""
        place = fault.pointer or ""
        if self.short and (place == "/target" or place.startswith("/target/")):
            return FieldFault(fault.detail, "/task")
        if any(place == default or place.startswith(f"{default}/") for default in self.defaulted):
            return FieldFault(
                f"{fault.detail}; this is a default of the task {self.task}: write a value of your own, "
                "or have the operator mend the task",
                fault.pointer,
            )
        return fault


def write_out(value: Any, tasks: Tasks) -> WrittenOut:
    """The posted value with `task` written out as its target, and with the task's defaults. Anything else stays as it
    is, for the models to judge.
    """
    if not isinstance(value, dict):
        return WrittenOut(value)
    written, short = dict(value), value.get("task") is not None
    if short and value.get("target") is not None:
        del written["task"]
        return WrittenOut(written, faults=(FieldFault("stands beside target; keep one of the two", "/task"),))
    if short:
        written["target"] = {"type": "task", "name": written.pop("task")}
    name = _task_of(written.get("target"))
    task = tasks.get(name) if name is not None and task_problem(name, tasks) is None else None
    if name is None or task is None:
        return WrittenOut(written, short=short)
    defaulted = _fill(written, task.defaults)
    foreign = sorted(set(task.defaults) - DEFAULT_FIELDS)
    place = "/task" if short else "/target/name"
    wrong = f"cannot be used: its defaults hold {', '.join(foreign)}, which no task may have; have the operator mend it"
    return WrittenOut(written, name, short, defaulted, (FieldFault(wrong, place),) if foreign else ())


def _task_of(target: object) -> str | None:
    """The name in a posted target of type task."""
    if isinstance(target, dict) and target.get("type") == "task" and isinstance(target.get("name"), str):
        name: str = target["name"]
        return name
    return None


def _fill(job: dict[str, Any], defaults: Mapping[str, Any]) -> tuple[str, ...]:
    """Give the job what it leaves out; the pointers of what it was given."""
    filled: list[str] = []
    for name in sorted(DEFAULT_FIELDS & defaults.keys()):
        if name in _OF_CALLBACKS and job.get("completion", "callback") != "callback":
            continue  # the job itself says that it waits for no callback, so how long it would is nothing to it
        if name in OF_SCHEDULES and job.get("schedule", "") is None:
            continue
        posted, default = job.get(name), defaults[name]
        if name not in job:
            job[name] = default
            filled.append(pointer([name]))
        elif name in _MERGED and isinstance(posted, dict) and isinstance(default, Mapping):
            job[name] = {**default, **posted}
            filled += [pointer([name, inner]) for inner in default if inner not in posted]
    return tuple(filled)
