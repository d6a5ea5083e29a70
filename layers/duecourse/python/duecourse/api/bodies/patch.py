"""The steps before the validation of a body: read-only fields, defaults of registered tasks, and merge patches.

Read-only fields are in responses, but requests cannot set them. The response of GET is a valid body of PUT: a read-only
field is ignored if it is unchanged, and rejected if it has another value.

For a job with a registered task, the abbreviation `task` is expanded and the task's defaults are filled in.

Merge patches of jobs follow RFC 7396.
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
"""Read-only fields that only other requests can change."""

DERIVED = ("understood_as", "schedule_canonical", "next_occurrence", "updated_at", "error", "delete_at", "last_runs")
"""Read-only fields that are computed from the rest of the body, the time and the last write. They are always ignored:
the first of two equal requests changes them, and the second request must still be valid.
"""

T = TypeVar("T")


def validate_draft(value: Any, job_id: str | None, job: Job | None, kind: str, read: Callable[[Any], T]) -> T:
    """Check the read-only fields of a body, and return the result of `read` for the other fields.

    `job` is the stored job (None: a new job). The body may repeat the id in the path. Raises Problem; for invalid
    fields it has this `kind` and contains the faults of the read-only fields and of `read`.
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
    """Return whether the posted value counts as unchanged. ACTIVE and COMPLETED are equal, because they depend on the
    schedule and the time; callers can only pause a job.
    """
    by_itself = (JobState.ACTIVE.value, JobState.COMPLETED.value)
    return said == stands or (name == "state" and said in by_itself and stands in by_itself)


def _told(stands: object, job: Job | None) -> str:
    what = "a new job does not have it yet" if job is None else f"it is {json.dumps(stands, ensure_ascii=False)}"
    return f"is read-only: {what}; remove it"


DEFAULT_FIELDS = JobBody.model_fields.keys() - {
    "id", "name", "description", "schedule", "timezone", "dst_gap", "dst_fold", "anchor", "start", "end", "exclude",
    "jitter_seconds", "max_runs", "target", "task", "precision", "tags", "after_completion",
}  # fmt: skip
"""The fields of a job for which a task may have defaults. The fields that name or schedule the job are not included."""

_MERGED = ("retry", "missed")
_OF_CALLBACKS = ("completion_seconds", "heartbeat_seconds")


@dataclass(frozen=True, slots=True)
class WrittenOut:
    """A posted job, expanded for validation. `short`: the job used the field `task`. `defaulted`: pointers to the
    fields that have a default of the task. `faults`: the faults found during the expansion.
    """

    value: Any
    task: str = ""
    short: bool = False
    defaulted: tuple[str, ...] = ()
    faults: tuple[FieldFault, ...] = ()

    def placed(self, fault: FieldFault) -> FieldFault:
        """Return a fault of the validated value in terms of the posted value: at `/task` for an abbreviated target, and
        with a note for a default of the task.
        """
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
    """Return the posted value with `task` expanded to a target and with the task's defaults. All other values are
    unchanged; the models validate them.
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
    """Return the name in a posted target of type task, or None for another target."""
    if isinstance(target, dict) and target.get("type") == "task" and isinstance(target.get("name"), str):
        name: str = target["name"]
        return name
    return None


def _fill(job: dict[str, Any], defaults: Mapping[str, Any]) -> tuple[str, ...]:
    """Add the defaults of the fields that the job omits. Return the pointers to these fields."""
    filled: list[str] = []
    for name in sorted(DEFAULT_FIELDS & defaults.keys()):
        if name in _OF_CALLBACKS and job.get("completion", "callback") != "callback":
            continue  # the job does not wait for a callback, so the limits of the wait do not apply
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
    """Apply the patch to a JSON value: objects are merged, null removes a field, and other values replace."""
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
    """Return the job's document with the patch applied. It is validated like a posted job.

    A target of another type replaces the target completely, because the types have different fields.
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
    responds = "completion" in patch and patch["completion"] in (None, Completion.RESPONSE)  # null: the default
    if responds and job.completion_seconds == COMPLETION_SECONDS:
        document["completion_seconds"] = None  # the default; the caller did not set it
    if "schedule" in patch and patch["schedule"] is None:
        document["anchor"] = None  # the start of a rate; the caller may not have set it
    return {"schedule": None} | merged(document, patch)  # null means no schedule


def postable(job: Job) -> Document:
    """Return the document of the job as a valid body, with all fields."""
    shown = job_document(JobView(job, None))
    document: Document = json.loads(write_json({name: shown[name] for name in POSTABLE}))
    return document
