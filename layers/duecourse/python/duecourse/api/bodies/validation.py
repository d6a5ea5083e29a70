"""The validation of request bodies, and the steps before it: read-only fields, defaults of registered tasks, and merge
patches.

Read-only fields are in responses, but requests cannot set them. The response of GET is a valid body of PUT: a read-only
field is ignored if it is unchanged, and rejected if it has another value. For a job with a registered task, the
abbreviation `task` is expanded and the task's defaults are filled in. Merge patches of jobs follow RFC 7396.

The functions convert a posted value to the draft of a job or workflow, or to the model of a body. They raise Problem,
with all faults, if the value is not valid.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any, TypeVar, get_args, get_origin

from annotated_types import Ge, Le
from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from duecourse.api.answers import Document, job_document
from duecourse.api.bodies.definition_body import (
    MAX_FINISH_SECONDS,
    OF_SCHEDULES,
    OVERLAP_BODIES,
    SILENCE,
    JobBody,
    StepBody,
    WorkflowBody,
)
from duecourse.api.bodies.models import OWN, Body, Rules, unfit, write_json
from duecourse.api.bodies.target_bodies import AUTH_BODIES, TARGET_BODIES, TARGET_FORM, task_problem
from duecourse.api.problems import MAX_FAULTS, FieldFault, Problem, invalid, pointer
from duecourse.api.request import MAX_BODY_BYTES, Request
from duecourse.domain.declared import Each, Error, Needed
from duecourse.domain.ids import is_id
from duecourse.domain.jobs.document import definition_fields
from duecourse.domain.jobs.job import COMPLETION_SECONDS, Completion, Job, JobState, Overlap
from duecourse.domain.jobs.rules import silence
from duecourse.domain.runs.rendering import oversized_parts, unsendable_parts
from duecourse.domain.targets.executions import end_refusal
from duecourse.domain.targets.kinds import TARGETS
from duecourse.domain.targets.targets import Target, TaskTarget
from duecourse.domain.targets.template import CALL_NAMES, CALLBACK_NAMES, check_document, check_template
from duecourse.domain.tenants.quota import (
    MAX_ECS_CHARACTERS,
    MAX_PARAMETER_BYTES,
    MAX_PAYLOAD_BYTES,
)
from duecourse.domain.workflows.check import workflow_fields
from duecourse.domain.workflows.graph import DEFAULT_AT_ONCE, ForEach, Rule, Step, own_job
from duecourse.domain.workflows.results import blanked
from duecourse.ports import RegisteredTask, Tasks
from duecourse.usecases.jobs.change import CheckSchedule, Draft
from duecourse.usecases.jobs.view import JobView
from duecourse.usecases.workflows.manage import WorkflowDraft
from duecourse_schedules import ScheduleError, ScheduleSpec
from duecourse_schedules.exclusions import ExclusionError
from duecourse_schedules.schedule import SEPARATOR, joined, read_instant

KEPT = ("tenant", "state", "paused_by", "paused_because", "created_at", "workflow")
"""Read-only fields that only other requests can change."""

DERIVED = (
    *("understood_as", "schedule_canonical", "next_occurrence", "updated_at", "error", "delete_at", "last_runs"),
    *("paused_until", "planned_pause", "runs_left", "spread_load", "schedule_change", "shadow_since"),
)
"""Read-only fields that are computed from the rest of the body, the time and the last write. They are always ignored:
if a request is repeated, the first request changes them, and the second must still be valid.
"""

T = TypeVar("T")


def validate_draft(value: Any, job_id: str | None, job: Job | None, kind: str, read: Callable[[Any], T]) -> T:
    """Check the read-only fields of a body, and return the result of `read` for the other fields.

    `job` is the stored job (None: a new job). The body may repeat the id in the path. Raises Problem. For invalid
    fields, the Problem has this `kind` and contains the faults of the read-only fields and of `read`.
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
    "calendar", "on_excluded", "jitter_seconds", "spread", "max_runs", "expect_every", "target", "task", "precision",
    "tags", "after_completion",
}  # fmt: skip
"""The fields of a job for which a registered task may have defaults. Fields that identify or schedule the job are
excluded.
"""

_MERGED = ("retry", "missed")
_OF_CALLBACKS = ("completion_seconds", "heartbeat_seconds")
_WAITS = (Completion.CALLBACK, Completion.END)


@dataclass(frozen=True, slots=True)
class WrittenOut:
    """A posted job, expanded for validation. `short`: the job used the `task` field. `defaulted`: pointers to the
    fields whose values are the task's defaults. `faults`: the faults found during the expansion.
    """

    value: Any
    task: str = ""
    short: bool = False
    defaulted: tuple[str, ...] = ()
    faults: tuple[FieldFault, ...] = ()

    def placed(self, fault: FieldFault) -> FieldFault:
        """Return a fault of the validated value as a fault of the posted value. It is at `/task` if the target was
        abbreviated, and has a note if the value is the task's default.
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
    _expand_expectation(written)
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


def _expand_expectation(written: dict[str, Any]) -> None:
    """Set the schedule of a job that expects pings: a rate with its interval. It replaces the rate of a different
    interval.
    """
    every, schedule = written.get("expect_every"), written.get("schedule", "")
    if type(every) is int and (schedule is None or re.fullmatch(SILENCE, str(schedule)) is not None):
        written["schedule"] = silence(every)


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
        if name in _OF_CALLBACKS and job.get("completion", Completion.CALLBACK) not in _WAITS:
            continue  # the job does not wait after its call, so the limits of the wait do not apply
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
    """Apply the patch to a JSON value: objects are merged, null removes a field, and other values replace the present
    value.
    """
    if not isinstance(patch, Mapping):
        return patch
    result = dict(target) if isinstance(target, Mapping) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = merged(result.get(name), value)
    return result


SPREAD_FOR = frozenset({"schedule", "timezone", "spread"})
"""The fields whose change requires another offset."""


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
    if document["spread"] is not None and not SPREAD_FOR.isdisjoint(patch):
        del document["spread"]["offset_minutes"]  # it was chosen for the former schedule or number of minutes
    return {"schedule": None} | merged(document, patch)  # null means no schedule


def postable(job: Job) -> Document:
    """Return the document of the job as a valid body, with all fields."""
    shown = job_document(JobView(job, None))
    document: Document = json.loads(write_json({name: shown[name] for name in POSTABLE}))
    return document


_UNIONS = ("schedule", "calendar", "target", "overlap", "finish_by")
"""The fields of union types. Pydantic adds the variant's tag to the location of their errors, but the document has no
such part.
"""

_WORKFLOW = "cannot be used here; use PUT /v1/workflows/<id> to create the workflow with its jobs"
_KINDS = ", ".join(TARGET_BODIES)

_OVERLAP = (
    f'must be one of {", ".join(Overlap)}, or {{"queue": 10}} for a queue of at most ten runs, '
    'or {"allow": 3} for at most three active runs'
)

_FINISH_BY = f"must be seconds from 1 to {MAX_FINISH_SECONDS}, or a time such as 06:00"

_AUTH = (
    'must be {"type": "basic", "username": "...", "secret": "NAME"}, '
    '{"type": "oauth", "token_url": "https://...", "client_id": "...", "secret": "NAME"} or '
    '{"type": "oidc", "audience": "https://..."}'
)

_TYPES = {
    "string_type": "must be text",
    "string_unicode": "must be Unicode text",
    "bool_type": "must be true or false",
    "int_type": "must be a whole number, such as 3",
    "int_from_float": "must be a whole number, such as 3",
    "float_type": "must be a number, such as 2.5",
    "finite_number": "must be a finite number",
    "list_type": "must be a list, such as [...]",
    "dict_type": 'must be an object of names and values, such as {"name": "value"}',
    "model_type": 'must be an object, such as {"field": "value"}',
    "model_attributes_type": f"must be an object: {TARGET_FORM}",
    "union_tag_not_found": f"is required: {TARGET_FORM}; the types are {_KINDS}",
    "union_tag_invalid": f"must be one of {_KINDS}",
}

ALWAYS = "* * * * *"


def schedule_faults(
    value: Mapping[str, Any], known: Mapping[str | None, FieldFault], check: CheckSchedule
) -> Iterator[FieldFault]:
    """Yield the faults of the schedule's fields. Fields with `known` faults are not checked."""
    if any(place == "/schedule" or (place or "").startswith("/schedule/") for place in known):
        return

    def usable(name: str, default: str) -> str:
        given = value.get(name)
        return given if isinstance(given, str) and f"/{name}" not in known else default

    def instant(name: str) -> int | None:
        given = usable(name, "")
        return read_instant(name, given) if given else None

    excluded = value.get("exclude")
    usable_exclude = isinstance(excluded, list) and not any((place or "").startswith("/exclude") for place in known)
    exclude = tuple(str(entry) for entry in excluded or ()) if usable_exclude else ()
    gap, fold = usable("dst_gap", "next"), usable("dst_fold", "first")
    given = value.get("schedule")  # null: no schedule
    spec = ScheduleSpec(
        *("", usable("timezone", "UTC"), gap, fold, instant("anchor"), instant("start"), instant("end")),
        on_excluded=usable("on_excluded", "skip"),
    )
    try:
        expression = given if isinstance(given, str) and SEPARATOR not in given else joined(given)
        check(replace(spec, expression=expression), exclude)
    except ExclusionError as problem:
        yield FieldFault(problem.detail, f"/exclude/{problem.index}")
    except ScheduleError as problem:
        yield FieldFault(problem.detail, problem.pointer)
        # The engine stops at the first fault. The other field is checked separately.
        if problem.field == "timezone":
            yield from schedule_faults({"schedule": given}, {}, check)
        elif problem.field == "schedule" and spec.timezone != "UTC":
            yield from schedule_faults({"schedule": ALWAYS, "timezone": spec.timezone}, {}, check)


_TEMPLATED = {word: [name for name, field in kind.fields.items() if field.template] for word, kind in TARGETS.items()}
"""The fields of each type of target that are templates, except headers and parameters."""

_REMEDY = "store the data elsewhere and pass its address"

_MAX_ID = "x" * 64
"""A placeholder for an id that has not been generated yet."""


def payload_faults(value: Mapping[str, Any], known: Mapping[str | None, FieldFault]) -> Iterator[FieldFault]:
    """Yield the faults of the payload and the target that the models do not find. Fields with `known` faults are not
    checked.

    The payload of a workflow is not a template. The payload of a job without a schedule may use results of other jobs.
    """
    target = value.get("target")
    target = target if isinstance(target, dict) else {}
    names = CALLBACK_NAMES if value.get("completion") in _WAITS else CALL_NAMES
    parts: dict[str, Any] = {"payload": value.get("payload")}
    if target.get("type") == "aws":
        parts["target/parameters"] = target.get("parameters")
    for place, part in parts.items():
        if not _within(f"/{place}", known):
            yield from _sizes(place, part, target)
            handed_down = place == "payload" and value.get("schedule", "") is None
            plain = target.get("type") == "workflow"
            found = () if plain or not part else check_document(part, names, blanked if handed_down else str)
            for path, problem in found:
                yield FieldFault(_hint(problem, value), pointer([*place.split("/"), *path]))
    if not _within("/target/headers", known) and (problems := list(_header_problems(target, names))):
        yield FieldFault(_hint("; ".join(problems[:5]), value), "/target/headers")
    for field in _TEMPLATED.get(str(target.get("type")), ()):
        text = target.get(field)
        if isinstance(text, str) and not _within(f"/target/{field}", known) and (wrong := check_template(text, names)):
            yield FieldFault(_hint("; ".join(wrong[:5]), value), f"/target/{field}")


def _within(place: str, known: Mapping[str | None, FieldFault]) -> bool:
    """Return whether a fault is known for the value at `place`, for a part of it, or for a value that contains it."""
    return any(at == place or at.startswith(f"{place}/") or place.startswith(f"{at}/") for at in known if at)


def _sizes(place: str, part: Any, target: Mapping[str, Any]) -> Iterator[FieldFault]:
    text = json.dumps(part, ensure_ascii=False, separators=(",", ":"))
    limit = MAX_PARAMETER_BYTES if place == "target/parameters" else MAX_PAYLOAD_BYTES
    if (size := len(text.encode())) > limit:
        yield FieldFault(f"has {size} bytes as JSON; at most {limit} are allowed: {_REMEDY}", f"/{place}")
    elif place == "payload" and target.get("type") == "ecs" and (count := len(json.dumps(text))) > MAX_ECS_CHARACTERS:
        limits = f"the environment of an ECS task allows {MAX_ECS_CHARACTERS}"
        yield FieldFault(f"has {count} characters as a JSON string; {limits}: {_REMEDY}", f"/{place}")


def _header_problems(target: Mapping[str, Any], names: tuple[str, ...]) -> Iterator[str]:
    """Yield the errors in the templates of the headers of an HTTP target. Only headers may contain secrets."""
    headers = target.get("headers")
    if target.get("type") == "http" and isinstance(headers, dict):
        for name, text in headers.items():
            if isinstance(text, str):
                yield from (f"header {name[:40]}: {wrong}" for wrong in check_template(text, names, secrets=True))


def _hint(problem: str, value: Mapping[str, Any]) -> str:
    """Return the problem. If the placeholder requires `completion: callback`, the problem includes a hint."""
    if "{{callback_token}}" in problem and value.get("completion") not in _WAITS:
        return f"{problem}; callback_token needs completion: callback"
    return problem


_TOO_LARGE = {
    "idempotency_key": ("/idempotency_key", "choose a shorter template"),
    "payload": ("/payload", "use fewer placeholders, or store the data elsewhere and pass its address"),
    "headers": ("/target/headers", "shorten them, or move long values to the payload"),
    "parameters": ("/target/parameters", "use fewer placeholders in them"),
}
"""The place and the remedy of each part of a call that is too large."""


def _called(job: Draft | Job, tasks: Tasks) -> tuple[RegisteredTask | None, Target]:
    """Return the registered task that a job refers to, if any, and the target that its runs call."""
    task = tasks.get(job.target.name) if isinstance(job.target, TaskTarget) else None
    return task, job.target if task is None else task.target


def end_faults(job: Draft, tasks: Tasks) -> Iterator[FieldFault]:
    """Yield the fault of a job that waits for the end of work whose end AWS does not report."""
    if job.completion is Completion.END and (problem := end_refusal(_called(job, tasks)[1])) is not None:
        yield FieldFault(problem, "/completion")


def then_faults(body: JobBody | WorkflowBody, job_id: str | None) -> Iterator[FieldFault]:
    """Yield the fault of a job that would start itself."""
    for index, rule in enumerate(body.model_dump(include={"then"})["then"]):
        if rule["job"] == job_id:
            yield FieldFault("is this job itself; name another job, or use a schedule", f"/then/{index}/job")


def rendering_faults(job: Draft | Job, tasks: Tasks) -> list[FieldFault]:
    """Return a fault for each part of the job's call that would be too large, or that HTTP or AWS would reject."""
    task, target = _called(job, tasks)
    faults: list[FieldFault] = []
    for part, problem in oversized_parts(job, job.tenant, job.id or _MAX_ID, target):
        place, remedy = _TOO_LARGE[part]
        detail = f"can have {problem}: {remedy}"
        if task is not None and place.startswith("/target/"):
            place, detail = "/target/name", f"the request of the task {detail}"
        faults.append(FieldFault(detail, place))
    for part, problem in unsendable_parts(job, job.tenant, job.id or _MAX_ID, target):
        field = part.removeprefix("target/")
        of_task = task is not None and field != part
        faults.append(
            FieldFault(f"the request of the task cannot be sent ({field}): {problem}", "/target/name")
            if of_task
            else FieldFault(problem, f"/{part}")
        )
    return faults


Model = TypeVar("Model", bound=Body)


def read_job(value: Any, tenant: str, rules: Rules, check_schedule: CheckSchedule) -> Draft:
    """Return the draft of a posted job. Raises Problem (422) with all its faults."""
    written = write_out(value, rules.tasks)
    posted = written.value
    body, faults = _validated(JobBody, posted, posted, rules)
    if isinstance(posted, dict):
        for fault in (*schedule_faults(posted, faults, check_schedule), *payload_faults(posted, faults)):
            faults.setdefault(fault.pointer, fault)
    draft = None
    if body is not None and not faults:
        draft = _draft(body, tenant)
        for fault in (
            *rendering_faults(draft, rules.tasks),
            *end_faults(draft, rules.tasks),
            *then_faults(body, body.id),
        ):
            faults[fault.pointer] = fault
    if draft is None or faults or written.faults:
        faults_by_pointer = {fault.pointer: fault for fault in map(written.placed, faults.values())}
        faults_by_pointer |= {fault.pointer: fault for fault in written.faults}
        raise invalid(sorted(faults_by_pointer.values(), key=lambda fault: fault.pointer or ""))
    return draft


def _validated(
    model: type[Model], value: Any, looked_at: Any, rules: Rules | None = None
) -> tuple[Model | None, dict[str | None, FieldFault]]:
    """Return the body (None if it is not valid), and the faults of `looked_at` and of the body, by pointer."""
    faults = {fault.pointer: fault for fault in unfit(looked_at)}
    try:
        return model.model_validate(value, context=rules), faults
    except ValidationError as error:
        for fault in faults_in(error, model):
            faults.setdefault(fault.pointer, fault)
        return None, faults


def _draft(body: JobBody, tenant: str) -> Draft:
    document = body.model_dump(exclude={"payload"}) | {"payload": body.payload}
    return Draft(tenant=tenant, id=body.id, **definition_fields(document))


def faults_in(error: ValidationError, root: type[BaseModel]) -> Iterator[FieldFault]:
    """Yield Pydantic's errors as faults with a remedy.

    Only the first MAX_FAULTS errors have suggestions for unknown fields. A suggestion takes 50 µs, and a body can
    contain tens of thousands of unknown fields, of which MAX_FAULTS are reported.
    """
    for number, each in enumerate(error.errors(include_url=False, include_input=False)):
        yield _fault(each, root, hinted=number < MAX_FAULTS)


def _fault(error: ErrorDetails, root: type[BaseModel], *, hinted: bool) -> FieldFault:
    path = list(error["loc"])
    if len(path) > 1 and path[0] in _UNIONS:
        del path[1]
    if len(path) > 2 and path[:2] == ["target", "auth"]:
        del path[2]
    if error["type"] in ("union_tag_not_found", "union_tag_invalid"):
        path.append("type")
    if path[-1:] == ["[key]"]:
        path.pop()
    place = pointer(path)
    if error["type"] == "extra_forbidden":
        return FieldFault(_unknown_field(error["loc"], root) if hinted else "is not a known field", place)
    return FieldFault(_sentence(error, place, error["loc"], root), place)


def _sentence(error: ErrorDetails, place: str, location: tuple[int | str, ...], root: type[BaseModel]) -> str:
    context = error.get("ctx", {})
    match error["type"]:
        case kind if kind == OWN:
            return str(context["reason"])
        case _ if place == "/finish_by":
            return _FINISH_BY
        case "missing":
            remedies = [mark.remedy for mark in _marks(location, root, Needed)] or _remedies(location)
            return f"is required: {remedies[0]}" if remedies else "is required"
        case "union_tag_invalid" if context.get("tag") == "workflow":
            return _WORKFLOW
        case "union_tag_not_found" | "union_tag_invalid" | "model_attributes_type" if place.startswith("/target/auth"):
            return _AUTH
        case "string_pattern_mismatch":
            form = f"must be of the form {context['pattern']}"
            return next((mark.text for mark in _marks(location, root, Error)), form)
        case "literal_error" | "model_type" if place == "/overlap":
            return _OVERLAP
        case "literal_error":
            return f"must be one of {str(context['expected']).replace(chr(39), '').replace(' or ', ', ')}"
        case "greater_than_equal" | "less_than_equal":
            low = [str(mark.ge) for mark in _marks(location, root, Ge)]
            high = [str(mark.le) for mark in _marks(location, root, Le)]
            return f"must be a number from {low[0]} to {high[0]}" if low and high else error["msg"]
        case "string_too_short":
            return "must not be empty"
        case "too_short" if context["field_type"] == "Value":  # a text that was checked already
            return "must not be empty"
        case "string_too_long" | "too_long":
            unit = "characters" if error["type"] == "string_too_long" else "entries"
            return f"is too long: at most {context['max_length']} {unit} are allowed"
        case "too_short":
            return f"must have at least {context['min_length']} {'entry' if context['min_length'] == 1 else 'entries'}"
        case kind:
            return _TYPES.get(kind, error["msg"])


_VARIANTS: Mapping[str, type[BaseModel]] = {**TARGET_BODIES, **AUTH_BODIES, **OVERLAP_BODIES}
"""The models of unions by their tags."""


def _found(location: Sequence[int | str], root: type[BaseModel]) -> tuple[type[BaseModel] | None, FieldInfo | None]:
    """Return the model and the field at a location of pydantic. The field is None if the model does not have it.
    Locations also contain the tags of unions, names in maps and indexes of lists.
    """
    models, model, field = [root], None, None
    in_map = False
    for part in location:
        if isinstance(part, int) or in_map:
            in_map = False
        elif len(models) > 1:
            models = [_VARIANTS[part]] if part in _VARIANTS else []
        elif models:
            (model,) = models
            names = {each.alias or name: each for name, each in model.model_fields.items()}
            field = names.get(part)
            models = [] if field is None else list(_models_in(field.annotation))
            in_map = field is not None and get_origin(field.annotation) is dict
    return model, field


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    """Yield the models in a type."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _models_in(part)


def _marks(location: Sequence[int | str], root: type[BaseModel], kind: type[T]) -> Iterator[T]:
    """Yield the declarations of a type for the field at a location, or for the entries of its list."""
    _, field = _found(location, root)
    pending = [] if field is None else [*field.metadata, field.annotation]
    for each in pending:
        if isinstance(each, kind):
            yield each
        pending += each.declared if isinstance(each, Each) else (*getattr(each, "__metadata__", ()), *get_args(each))


def _remedies(location: Sequence[int | str]) -> list[str]:
    """Return the remedy for a missing field of a target."""
    match location:
        case ("target", str(word), str(name)) if word in TARGETS and (wanted := TARGETS[word].fields[name].wanted):
            return [f"write {wanted}"]
    return []


def _unknown_field(location: tuple[int | str, ...], root: type[BaseModel]) -> str:
    model, _ = _found(location, root)
    known = sorted(field.alias or name for name, field in model.model_fields.items()) if model is not None else []
    near = get_close_matches(str(location[-1])[:64], known, n=1)
    hint = f"did you mean {near[0]}?" if near else f"the fields are {', '.join(known)}"
    return f"is not a known field; {hint}"


def read_body(
    request: Request,
    model: type[Model],
    *,
    optional: bool = False,
    kind: str = "invalid-command",
    more: Callable[[Mapping[str, Any]], Iterable[FieldFault]] = lambda _: (),
    apart: str | None = None,
    most: int = MAX_BODY_BYTES,
) -> Model:
    """Read the body of a request, of at most `most` bytes. If `optional` is true, a missing body is an empty object.

    `more` returns further faults of an otherwise valid body. The value of the `apart` field is checked by the caller.
    Raises the same Problems as `Request.json`, and a Problem of this `kind` with all faults of the body.
    """
    if optional and not request.body:
        return model()
    value = request.json(most)
    looked_at = {**value, apart: None} if apart is not None and isinstance(value, dict) else value
    body, faults = _validated(model, value, looked_at)
    if isinstance(value, dict) and not faults:
        faults = {fault.pointer: fault for fault in more(value)}
    if faults or body is None:
        raise invalid(sorted(faults.values(), key=lambda fault: fault.pointer or ""), kind)
    return body


OF_THE_WORKFLOW = (
    "schedule",
    "timezone",
    "expect_every",
    *OF_SCHEDULES,
    "start_within_seconds",
    "finish_by",
    "on_deadline",
)
"""The fields of a job that a step's job cannot have, because the workflow starts its steps."""
_TARGET = {"type": "workflow", "graph": ""}


def read_workflow(
    value: Any, workflow_id: str, tenant: str, rules: Rules, check_schedule: CheckSchedule
) -> WorkflowDraft:
    """Return the draft of a posted workflow. Raises Problem (422) with all its faults, including those of its jobs."""
    body, faults = _validated(WorkflowBody, value, value, rules)
    inline: dict[str, Draft] = {}
    if isinstance(value, dict):
        of_payload = payload_faults({"payload": value.get("payload"), "target": _TARGET}, faults)
        of_then = () if body is None else then_faults(body, workflow_id)
        for fault in (*schedule_faults(value, faults, check_schedule), *of_payload, *of_then):
            faults.setdefault(fault.pointer, fault)
        zone = value.get("timezone", "UTC") if "/timezone" not in faults else "UTC"
        for fault in _item_faults(value):
            faults.setdefault(fault.pointer, fault)
        for name, job_id, job in _defined(value, workflow_id):
            if not is_id(job_id):
                place = pointer(["jobs", name])
                detail = f"is too long: its job id {job_id} may have at most 64 characters; shorten it, or set job_id"
                faults.setdefault(place, FieldFault(detail, place))
                continue
            try:
                inline[job_id] = _read_inline(job, job_id, zone, tenant, rules)
            except Problem as problem:
                for fault in problem.faults:
                    place = pointer(["jobs", name, "job"]) + (fault.pointer or "")
                    faults.setdefault(place, FieldFault(fault.detail, place))
    if faults or body is None:
        raise invalid(sorted(faults.values(), key=lambda fault: fault.pointer or ""), "invalid-workflow")
    return _workflow_draft(body, workflow_id, tenant, rules, inline)


def _item_faults(value: Mapping[str, Any]) -> Iterator[FieldFault]:
    """Yield the faults of the steps that limit their items but have none."""
    jobs = value.get("jobs")
    for name, step in jobs.items() if isinstance(jobs, dict) else ():
        if isinstance(step, dict) and step.get("for_each") is None:
            for field in ("at_once", "max_failed"):
                if step.get(field) is not None:
                    yield FieldFault("needs for_each; add it, or remove this field", pointer(["jobs", name, field]))


def _defined(value: Mapping[str, Any], workflow_id: str) -> Iterable[tuple[str, str, Mapping[str, Any]]]:
    """Yield the step, the id and the definition of each job that the document defines. Definitions that are not objects
    are omitted.
    """
    jobs = value.get("jobs")
    for name, step in jobs.items() if isinstance(jobs, dict) else ():
        if is_id(name) and isinstance(step, dict) and isinstance(step.get("job"), dict):
            job_id = step.get("job_id")
            if job_id is None or (isinstance(job_id, str) and is_id(job_id)):  # otherwise, it is a fault
                yield name, job_id or own_job(workflow_id, name), step["job"]


def _read_inline(job: Mapping[str, Any], name: str, zone: str, tenant: str, rules: Rules) -> Draft:
    """Return the draft of a job that the document defines. Such a job has no schedule. Raises Problem."""
    foreign = [FieldFault("is set by job_id; remove it here", "/id")] if "id" in job else []
    foreign += [
        FieldFault("is a field of the workflow, which starts its steps; remove it here", f"/{field}")
        for field in OF_THE_WORKFLOW
        if field in job
    ]
    own = {field: each for field, each in job.items() if field not in ("id", *OF_THE_WORKFLOW)}
    given = {"overlap": Overlap.ALLOW.value} | own | {"id": name, "schedule": None, "timezone": zone}
    try:
        draft = read_job(given, tenant, rules, lambda *_: None)
    except Problem as problem:
        raise invalid([*foreign, *problem.faults]) from None
    if foreign:
        raise invalid(foreign)
    return draft


def _workflow_draft(
    body: WorkflowBody, workflow_id: str, tenant: str, rules: Rules, inline: Mapping[str, Draft]
) -> WorkflowDraft:
    document = body.model_dump(exclude={"payload", "jobs"}) | {"payload": body.payload, "completion_seconds": None}
    fields = definition_fields(document | {"target": _TARGET, "precision": rules.default_precision})

    def definition(graph: str) -> Draft:
        return Draft(tenant=tenant, id=workflow_id, **fields | workflow_fields(graph, body.deadline_seconds))

    steps = tuple(_step(name, each, workflow_id, body.deadline_seconds) for name, each in body.jobs.items())
    return WorkflowDraft(steps, definition, inline)


def _step(name: str, body: StepBody, workflow_id: str, within_seconds: int) -> Step:
    each = None
    if body.for_each is not None:
        at_once = DEFAULT_AT_ONCE if body.at_once is None else body.at_once
        each = ForEach(body.for_each, at_once, body.max_failed or 0, within_seconds)
    job_id = body.job_id or (name if body.job is None else own_job(workflow_id, name))
    return Step(
        id=name,
        job=None if job_id == name else job_id,
        after=tuple(body.after),
        when=Rule(body.when),
        may_fail=body.may_fail,
        not_before=body.not_before,
        only=body.only,
        for_each=each,
        shared=body.shared,
    )
