"""Bodies before validation: read-only fields, defaults of registered tasks, and merge patches.

What answers show and requests do not set. GET's answer can be put back: such an unchanged field is ignored, and
rejected by name where it says something else.

A job that names a registered task: the shorthand written out, and the task's defaults filled in.

JSON merge patches (RFC 7396) of jobs.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from duecourse.api.answers import Document, job_document
from duecourse.api.bodies.definition_body import OF_SCHEDULES, JobBody
from duecourse.api.bodies.models import write_json
from duecourse.api.bodies.target_bodies import task_problem
from duecourse.api.problems import FieldFault, Problem, invalid, pointer
from duecourse.domain.jobs.job import COMPLETION_SECONDS, Completion, Job, JobState
from duecourse.ports import Tasks
from duecourse.usecases.jobs.view import JobView

KEPT = ("tenant", "state", "paused_by", "paused_because", "created_at", "workflow")
"""What other requests set."""

DERIVED = ("understood_as", "schedule_canonical", "next_occurrence", "updated_at", "error", "delete_at")
"""What follows from the rest of the body, from the time and from the last write. Ignored whatever they say: after the
first of two equal requests they differ, and the second has to be the same as the first.
"""

T = TypeVar("T")


def validate_draft(value: Any, job_id: str | None, job: Job | None, kind: str, read: Callable[[Any], T]) -> T:
    """What `read` makes of a body without its read-only fields, over the stored job (None: a new one). The body
    may repeat the id of the path.

    Raises Problem, of this `kind` where fields are wrong, with the faults of both.
    """
    if not isinstance(value, Mapping):
        return read(value)
    faults = _changed(value, job)
    if job_id is not None and value.get("id") not in (None, job_id):
        faults.append(FieldFault("is not the id in the path; an id cannot be changed", "/id"))
    try:
        found = read({name: each for name, each in value.items() if name not in (*KEPT, *DERIVED)})
    except Problem as problem:
        if not faults or problem.kind != kind:
            raise
        raise _refusal([*faults, *problem.faults], kind) from None
    if faults:
        raise _refusal(faults, kind)
    return found


def _refusal(faults: list[FieldFault], kind: str) -> Problem:
    return invalid(sorted(faults, key=lambda fault: fault.pointer or ""), kind)


def _changed(value: Mapping[str, Any], job: Job | None) -> list[FieldFault]:
    shown = dict.fromkeys(KEPT) if job is None else job_document(JobView(job, None))
    return [
        FieldFault(_told(shown[name], job), f"/{name}")
        for name in sorted(KEPT)
        if name in value and not _same(name, value[name], shown[name])
    ]


def _same(name: str, said: object, stands: object) -> bool:
    """A job is ACTIVE or COMPLETED by its schedule and the time; only a pause is an action of a caller."""
    by_itself = (JobState.ACTIVE.value, JobState.COMPLETED.value)
    return said == stands or (name == "state" and said in by_itself and stands in by_itself)


def _told(stands: object, job: Job | None) -> str:
    what = "a new job does not have it yet" if job is None else f"it is {json.dumps(stands, ensure_ascii=False)}"
    return f"is read-only: {what}; remove it"


DEFAULT_FIELDS = JobBody.model_fields.keys() - {
    "id", "name", "description", "schedule", "timezone", "dst_gap", "dst_fold", "anchor", "start", "end", "exclude",
    "jitter_seconds", "max_runs", "target", "task", "precision", "tags", "after_completion",
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
                f"{fault.detail}; this is a default of the task {self.task}; set your own "
                "value, or ask the operator to correct the task",
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
        return WrittenOut(written, faults=(FieldFault("cannot be combined with target; keep one of the two", "/task"),))
    if short:
        written["target"] = {"type": "task", "name": written.pop("task")}
    name = _task_of(written.get("target"))
    task = tasks.get(name) if name is not None and task_problem(name, tasks) is None else None
    if name is None or task is None:
        return WrittenOut(written, short=short)
    defaulted = _fill(written, task.defaults)
    foreign = sorted(set(task.defaults) - DEFAULT_FIELDS)
    place = "/task" if short else "/target/name"
    wrong = (
        f"cannot be used: its defaults contain {', '.join(foreign)}, which tasks must not have; ask the "
        "operator to correct the task"
    )
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


POSTABLE = tuple(name for name in JobBody.model_fields if name != "task")
"""The fields of a job's document that can be posted."""


def merged(target: Any, patch: Any) -> Any:
    """What the patch makes of a JSON value: objects are merged, null removes, anything else replaces."""
    if not isinstance(patch, Mapping):
        return patch
    result = dict(target) if isinstance(target, Mapping) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = merged(result.get(name), value)
    return result


def patched(job: Job, patch: Any) -> Any:
    """The job's document with the patch, to be judged as if it had been posted.

    A target of another type takes nothing over from the one before: their fields are not each other's.
    """
    if not isinstance(patch, Mapping):
        return patch
    document = postable(job)
    target = patch.get("target")
    another = (
        isinstance(target, Mapping) and target.get("type", document["target"]["type"]) != document["target"]["type"]
    )
    if another or patch.get("task") is not None:
        del document["target"]
    responds = "completion" in patch and patch["completion"] in (None, Completion.RESPONSE)  # null: by default it does
    if responds and job.completion_seconds == COMPLETION_SECONDS:
        document["completion_seconds"] = None  # the default, which was not set and need not be reset
    if "schedule" in patch and patch["schedule"] is None:
        document["anchor"] = None  # where a rate counts from, which may not have been set
    return {"schedule": None} | merged(document, patch)  # it has no default that null could bring back: null is none


def postable(job: Job) -> Document:
    """The job as it could have been posted, every field written out."""
    shown = job_document(JobView(job, None))
    document: Document = json.loads(write_json({name: shown[name] for name in POSTABLE}))
    return document
