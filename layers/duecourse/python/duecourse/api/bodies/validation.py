"""The validation of request bodies.

The functions convert a posted value to the draft of a job or workflow, or to the model of a body. If the value is not
valid, they raise Problem with all its faults.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from difflib import get_close_matches
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from duecourse.api.bodies.definition_body import (
    OF_SCHEDULES,
    AfterCompletionBody,
    CheckSchedule,
    JobBody,
    MissedBody,
    QueueBody,
    RetryBody,
    StepBody,
    WorkflowBody,
    payload_faults,
    rendering_faults,
    schedule_faults,
)
from duecourse.api.bodies.models import OWN, Body, Rules, unfit
from duecourse.api.bodies.patch import write_out
from duecourse.api.bodies.target_bodies import TARGET_BODIES, SignBody
from duecourse.api.problems import MAX_FAULTS, FieldFault, Problem, invalid, pointer
from duecourse.api.request import MAX_BODY_BYTES, Request
from duecourse.domain.ids import is_id
from duecourse.domain.jobs.document import definition_fields
from duecourse.domain.jobs.job import Overlap
from duecourse.domain.targets.kinds import TARGETS
from duecourse.domain.workflows.definition import workflow_fields
from duecourse.domain.workflows.graph import Rule, Step
from duecourse.usecases.jobs.change import Draft
from duecourse.usecases.workflows.manage import WorkflowDraft

_MODELS: Mapping[str, type[BaseModel]] = {
    "retry": RetryBody,
    "missed": MissedBody,
    "overlap": QueueBody,
    "after_completion": AfterCompletionBody,
}

_UNIONS = ("target", "overlap")
"""The fields whose errors have the tag of the variant in their location. The tag is not a part of the document."""

_WORKFLOW = "cannot be used here; create the workflow with its jobs by PUT /v1/workflows/<id>"
_TARGET_FORM = 'write {"type": "http", "url": "https://..."} or {"type": "lambda", "function": "..."}'
_KINDS = ", ".join(TARGET_BODIES)

_REQUIRED = {
    "WorkflowBody/jobs": "is required: list the steps by the ids of their jobs, such as "
    '{"extract": {}, "load": {"after": ["extract"]}}',
    "/schedule": "is required: write cron such as 0 9 * * 1, rate(5 minutes) or at(2026-01-31T09:00:00), "
    "or null for a job that runs only on request",
    "/target": f'is required: {_TARGET_FORM}, or "task" with the name of a registered task',
    **{
        f"/target/{name}": f"is required: write {each.wanted}"
        for kind in TARGETS.values()
        for name, each in kind.fields.items()
        if each.wanted is not None
    },
    "/target/sign/secret": "is required: write the name of the secret to sign with",
    "/after_completion/delete_after_seconds": "is required: write a number of seconds, or null for never",
    "/overlap/queue": 'is required: write how many runs may wait, such as {"queue": 10}',
}

_OVERLAP = f'must be one of {", ".join(Overlap)}, or {{"queue": 10}} for a queue of at most ten runs'

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
    "model_attributes_type": f"must be an object: {_TARGET_FORM}",
    "union_tag_not_found": f"is required: {_TARGET_FORM}; the types are {_KINDS}",
    "union_tag_invalid": f"must be one of {_KINDS}",
}

_RETRY_WORD = "must be a status (503), a class of them (5xx), a code (timeout) or a pattern (Throttling*)"
_PATTERNS = {
    "/id": "must be 1 to 64 letters (a-z), digits, - or _",
    "/tags": "must be 1 to 64 letters (a-z), digits or _ . : / = + @ -",
    "/retry/on": _RETRY_WORD,
    "/retry/never": _RETRY_WORD,
    "/target/container": "must be 1 to 255 letters, digits, - and _",
    "/target/subnets": "must be the id of a subnet, such as subnet-0123456789abcdef0",
    "/target/security_groups": "must be the id of a security group, such as sg-0123456789abcdef0",
    "/target/sign/secret": "must be the name of a secret: 1 to 64 letters, digits, _ . and -",
    "/target/service": "must be boto3's name of a service, such as ecs",
    "/target/action": "must be the name of an action in capitals, such as UpdateService",
}

Model = TypeVar("Model", bound=Body)


def read_job(value: Any, tenant: str, rules: Rules, check_schedule: CheckSchedule) -> Draft:
    """Return the draft of a posted job. Raises Problem (422) with all its faults."""
    written = write_out(value, rules.tasks)
    posted = written.value
    faults = {fault.pointer: fault for fault in unfit(posted)}
    body: JobBody | None = None
    try:
        body = JobBody.model_validate(posted, context=rules)
    except ValidationError as error:
        for fault in faults_in(error, JobBody):
            faults.setdefault(fault.pointer, fault)
    if isinstance(posted, dict):
        for fault in (*schedule_faults(posted, faults, check_schedule), *payload_faults(posted, faults)):
            faults.setdefault(fault.pointer, fault)
    draft = None
    if body is not None and not faults:
        draft = _draft(body, tenant, rules)
        faults = {fault.pointer: fault for fault in rendering_faults(draft, rules.tasks)}
    if draft is None or faults or written.faults:
        faults_by_pointer = {fault.pointer: fault for fault in map(written.placed, faults.values())}
        faults_by_pointer |= {fault.pointer: fault for fault in written.faults}
        raise invalid(sorted(faults_by_pointer.values(), key=lambda fault: fault.pointer or ""))
    return draft


def _draft(body: JobBody, tenant: str, rules: Rules) -> Draft:
    document = body.model_dump(exclude={"payload"}) | {"payload": body.payload}
    precision = rules.default_precision if body.precision is None else body.precision
    return Draft(tenant=tenant, id=body.id, **definition_fields(document | {"precision": precision}))


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
        case "missing":
            return _REQUIRED.get(f"{root.__name__}{place}") or _REQUIRED.get(place, "is required")
        case "union_tag_invalid" if context.get("tag") == "workflow":
            return _WORKFLOW
        case "string_pattern_mismatch":
            return _pattern(place) or f"must be of the form {context['pattern']}"
        case "literal_error" | "model_type" if place == "/overlap":
            return _OVERLAP
        case "literal_error":
            return f"must be one of {str(context['expected']).replace(chr(39), '').replace(' or ', ', ')}"
        case "greater_than_equal" | "less_than_equal":
            return _range(location, root) or error["msg"]
        case "string_too_short":
            return "must not be empty"
        case "string_too_long" | "too_long":
            unit = "characters" if error["type"] == "string_too_long" else "entries"
            return f"is too long: at most {context['max_length']} {unit} are allowed"
        case "too_short":
            return f"must have at least {context['min_length']} {'entry' if context['min_length'] == 1 else 'entries'}"
        case kind:
            return _TYPES.get(kind, error["msg"])


def _pattern(place: str) -> str | None:
    """Return the required form of the text at `place`, which is a field or an entry of a list."""
    return _PATTERNS.get(place) or _PATTERNS.get(place.rpartition("/")[0])


def _model_at(location: tuple[int | str, ...], root: type[BaseModel]) -> type[BaseModel] | None:
    if len(location) == 1:
        return root
    if location[0] == "jobs":
        return StepBody
    if location[:3] == ("target", "http", "sign") and len(location) > 3:
        return SignBody
    return TARGET_BODIES.get(str(location[1])) if location[0] == "target" else _MODELS.get(str(location[0]))


def _unknown_field(location: tuple[int | str, ...], root: type[BaseModel]) -> str:
    model = _model_at(location, root)
    known = sorted(field.alias or name for name, field in model.model_fields.items()) if model is not None else []
    near = get_close_matches(str(location[-1])[:64], known, n=1)
    hint = f"did you mean {near[0]}?" if near else f"the fields are {', '.join(known)}"
    return f"is not a known field; {hint}"


def _range(location: tuple[int | str, ...], root: type[BaseModel]) -> str | None:
    model = _model_at(location, root)
    if model is None:
        return None
    low = high = None
    for rule in model.model_fields[str(location[-1])].metadata:
        low, high = getattr(rule, "ge", low), getattr(rule, "le", high)
    return f"must be a number from {low} to {high}"


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
    """Read the body of a request, of at most `most` bytes. A missing `optional` body is equal to an empty object.

    `more` returns further faults of an otherwise valid body. The value of the field `apart` is checked by the caller.
    Raises the problems of `Request.json`, and Problem of this `kind` with all faults of the body.
    """
    if optional and not request.body:
        return model()
    value = request.json(most)
    looked_at = {**value, apart: None} if apart is not None and isinstance(value, dict) else value
    faults = {fault.pointer: fault for fault in unfit(looked_at)}
    body: Model | None = None
    try:
        body = model.model_validate(value)
    except ValidationError as error:
        for fault in faults_in(error, model):
            faults.setdefault(fault.pointer, fault)
    if isinstance(value, dict) and not faults:
        faults = {fault.pointer: fault for fault in more(value)}
    if faults or body is None:
        raise invalid(sorted(faults.values(), key=lambda fault: fault.pointer or ""), kind)
    return body


_OF_THE_WORKFLOW = ("schedule", "timezone", *OF_SCHEDULES)
_TARGET = {"type": "workflow", "graph": ""}


def read_workflow(
    value: Any, workflow_id: str, tenant: str, rules: Rules, check_schedule: CheckSchedule
) -> WorkflowDraft:
    """Return the draft of a posted workflow. Raises Problem (422) with all its faults, including those of its jobs."""
    faults = {fault.pointer: fault for fault in unfit(value)}
    body: WorkflowBody | None = None
    try:
        body = WorkflowBody.model_validate(value, context=rules)
    except ValidationError as error:
        for fault in faults_in(error, WorkflowBody):
            faults.setdefault(fault.pointer, fault)
    inline: dict[str, Draft] = {}
    if isinstance(value, dict):
        of_payload = payload_faults({"payload": value.get("payload"), "target": _TARGET}, faults)
        for fault in (*schedule_faults(value, faults, check_schedule), *of_payload):
            faults.setdefault(fault.pointer, fault)
        zone = value.get("timezone", "UTC") if "/timezone" not in faults else "UTC"
        for name, job in _defined(value):
            try:
                inline[name] = _read_inline(job, name, zone, tenant, rules)
            except Problem as problem:
                for fault in problem.faults:
                    place = pointer(["jobs", name, "job"]) + (fault.pointer or "")
                    faults.setdefault(place, FieldFault(fault.detail, place))
    if faults or body is None:
        raise invalid(sorted(faults.values(), key=lambda fault: fault.pointer or ""), "invalid-workflow")
    return _workflow_draft(body, workflow_id, tenant, rules, inline)


def _defined(value: Mapping[str, Any]) -> Iterable[tuple[str, Mapping[str, Any]]]:
    """Yield the id and the definition of each job that the document defines. Omit those that are not objects."""
    jobs = value.get("jobs")
    for name, step in jobs.items() if isinstance(jobs, dict) else ():
        if is_id(name) and isinstance(step, dict) and isinstance(step.get("job"), dict):
            yield name, step["job"]


def _read_inline(job: Mapping[str, Any], name: str, zone: str, tenant: str, rules: Rules) -> Draft:
    """Return the draft of a job that the document defines. The job has no schedule. Raises Problem."""
    foreign = [FieldFault("is set by the name under jobs; remove it", "/id")] if "id" in job else []
    foreign += [
        FieldFault("is a field of the workflow, which starts its steps; remove it here", f"/{field}")
        for field in _OF_THE_WORKFLOW
        if field in job
    ]
    own = {field: each for field, each in job.items() if field not in ("id", *_OF_THE_WORKFLOW)}
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

    steps = tuple(_step(name, each) for name, each in body.jobs.items())
    return WorkflowDraft(steps, definition, inline)


def _step(name: str, body: StepBody) -> Step:
    return Step(
        id=name,
        after=tuple(body.after),
        when=Rule(body.when),
        may_fail=body.may_fail,
        not_before=body.not_before,
        only=body.only,
    )
