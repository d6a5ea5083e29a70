"""From a posted value to a draft of a job, or to everything that is wrong with it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from duecourse.domain.exclusions import ExclusionError, canonical_exclusion
from duecourse.domain.job import Delivery, Lane, MissedMode, MissedPolicy, Overlap, Precision
from duecourse.domain.retry import Backoff, RetryPolicy
from duecourse.domain.schedule import ScheduleError, ScheduleSpec
from duecourse.domain.schedule.given import read_instant
from duecourse.domain.targets import HttpTarget, LambdaTarget, Target
from duecourse.http.instants import OWN
from duecourse.http.jsontext import unfit
from duecourse.http.models import HttpTargetBody, JobBody, LambdaTargetBody, MissedBody, RetryBody, Rules
from duecourse.http.problems import Fault, invalid, pointer
from duecourse.usecases.jobs import Draft

MAX_PAYLOAD_BYTES = 200 * 1024

ALWAYS = "* * * * *"

CheckSchedule = Callable[[ScheduleSpec, tuple[str, ...]], None]
"""Raises ScheduleError or ExclusionError for a schedule (and what it excludes) that no job may have."""

_TARGETS: Mapping[str, type[BaseModel]] = {"http": HttpTargetBody, "lambda": LambdaTargetBody}
_MODELS: Mapping[str, type[BaseModel]] = {"retry": RetryBody, "missed": MissedBody}

_TARGET_FORM = 'write {"type": "http", "url": "https://..."} or {"type": "lambda", "function": "..."}'

_REQUIRED = {
    "/schedule": "is required: write cron such as 0 9 * * 1, rate(5 minutes) or at(2026-01-31T09:00:00)",
    "/target": f"is required: {_TARGET_FORM}",
    "/target/url": "is required: write the address to call, such as https://example.com/hook",
    "/target/function": "is required: write the name of the Lambda function to call",
}

_TYPES = {
    "string_type": "must be text",
    "string_unicode": "must be Unicode text",
    "int_type": "must be a whole number, such as 3",
    "int_from_float": "must be a whole number, such as 3",
    "float_type": "must be a number, such as 2.5",
    "finite_number": "must be a finite number",
    "list_type": "must be a list, such as [...]",
    "dict_type": 'must be an object of names and values, such as {"name": "value"}',
    "model_type": 'must be an object, such as {"field": "value"}',
    "model_attributes_type": f"must be an object: {_TARGET_FORM}",
    "union_tag_not_found": f"is required: {_TARGET_FORM}",
    "union_tag_invalid": "must be http or lambda; other targets come with a later version",
}

_PATTERNS = {
    "/id": "must be 1 to 64 letters (a-z), digits, - or _",
    "/tags": "must be 1 to 64 letters (a-z), digits or _ . : / = + @ -",
}


def read_job(value: Any, tenant: str, rules: Rules, check_schedule: CheckSchedule) -> Draft:
    """The draft of a posted value. Raises Problem (422) with all its faults."""
    faults = {fault.pointer: fault for fault in unfit(value)}
    body: JobBody | None = None
    try:
        body = JobBody.model_validate(value, context=rules)
    except ValidationError as error:
        for fault in faults_in(error, JobBody):
            faults.setdefault(fault.pointer, fault)
    if isinstance(value, dict):
        for fault in (*_schedule_faults(value, faults, check_schedule), *_payload_faults(value, faults)):
            faults.setdefault(fault.pointer, fault)
    if faults or body is None:
        raise invalid(sorted(faults.values(), key=lambda fault: fault.pointer or ""))
    return _draft(body, tenant, rules)


def faults_in(error: ValidationError, root: type[BaseModel]) -> Iterator[Fault]:
    """Pydantic's errors about a body, said so that they can be acted upon."""
    for each in error.errors(include_url=False, include_input=False):
        yield _fault(each, root)


def _fault(error: ErrorDetails, root: type[BaseModel]) -> Fault:
    path = list(error["loc"])
    if len(path) > 1 and path[0] == "target":
        del path[1]  # the union's tag, which is no part of the document
    if error["type"] in ("union_tag_not_found", "union_tag_invalid"):
        path.append("type")
    if path[-1:] == ["[key]"]:
        path.pop()
    place = pointer(path)
    return Fault(_sentence(error, place, error["loc"], root), place)


def _sentence(error: ErrorDetails, place: str, location: tuple[int | str, ...], root: type[BaseModel]) -> str:
    context = error.get("ctx", {})
    match error["type"]:
        case kind if kind == OWN:
            return str(context["reason"])
        case "missing":
            return _REQUIRED.get(place, "is required")
        case "extra_forbidden":
            return _unknown_field(location, root)
        case "string_pattern_mismatch":
            return _PATTERNS["/id" if place == "/id" else "/tags"]
        case "literal_error":
            return f"must be one of {str(context['expected']).replace(chr(39), '').replace(' or ', ', ')}"
        case "greater_than_equal" | "less_than_equal":
            return _range(location, root) or error["msg"]
        case "string_too_short":
            return "must not be empty"
        case "string_too_long" | "too_long":
            unit = "characters" if error["type"] == "string_too_long" else "entries"
            return f"is too long: at most {context['max_length']} {unit} are allowed"
        case kind:
            return _TYPES.get(kind, error["msg"])


def _model_at(location: tuple[int | str, ...], root: type[BaseModel]) -> type[BaseModel] | None:
    if len(location) == 1:
        return root
    return _TARGETS.get(str(location[1])) if location[0] == "target" else _MODELS.get(str(location[0]))


def _unknown_field(location: tuple[int | str, ...], root: type[BaseModel]) -> str:
    model = _model_at(location, root)
    known = sorted(model.model_fields) if model is not None else []
    near = get_close_matches(str(location[-1])[:64], known, n=1)
    hint = f"did you mean {near[0]}?" if near else f"the fields are {', '.join(known)}"
    return f"is not known here; {hint}"


def _range(location: tuple[int | str, ...], root: type[BaseModel]) -> str | None:
    model = _model_at(location, root)
    if model is None:
        return None
    low = high = None
    for rule in model.model_fields[str(location[-1])].metadata:
        low, high = getattr(rule, "ge", low), getattr(rule, "le", high)
    return f"must be a number from {low} to {high}"


def _schedule_faults(
    value: Mapping[str, Any], known: Mapping[str | None, Fault], check: CheckSchedule
) -> Iterator[Fault]:
    """What is wrong with the fields that make a schedule, as far as each can be looked at."""
    expression = value.get("schedule")
    if "/schedule" in known or not isinstance(expression, str):
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
    spec = ScheduleSpec(
        expression, usable("timezone", "UTC"), gap, fold, instant("anchor"), instant("start"), instant("end")
    )
    try:
        check(spec, exclude)
    except ExclusionError as problem:
        yield Fault(problem.detail, f"/exclude/{problem.index}")
    except ScheduleError as problem:
        yield Fault(problem.detail, f"/{problem.field}")
        # The engine stops at the first fault; what it has not looked at then is asked about by itself.
        if problem.field == "timezone":
            yield from _schedule_faults({"schedule": spec.expression}, {}, check)
        elif problem.field == "schedule" and spec.timezone != "UTC":
            yield from _schedule_faults({"schedule": ALWAYS, "timezone": spec.timezone}, {}, check)


def _payload_faults(value: Mapping[str, Any], known: Mapping[str | None, Fault]) -> Iterator[Fault]:
    if any((place or "").startswith("/payload") for place in known):
        return
    size = len(json.dumps(value.get("payload"), ensure_ascii=False, separators=(",", ":")).encode())
    if size > MAX_PAYLOAD_BYTES:
        remedy = "store it elsewhere and pass its address"
        yield Fault(f"has {size} bytes as JSON; at most {MAX_PAYLOAD_BYTES} are allowed: {remedy}", "/payload")


def _draft(body: JobBody, tenant: str, rules: Rules) -> Draft:
    return Draft(
        tenant=tenant,
        id=body.id,
        name=body.name,
        schedule=ScheduleSpec(
            body.schedule, body.timezone, body.dst_gap, body.dst_fold, body.anchor, body.start, body.end
        ),
        exclude=tuple(canonical_exclusion(entry) for entry in body.exclude),
        jitter_seconds=body.jitter_seconds,
        max_runs=body.max_runs,
        target=_target(body.target),
        payload=body.payload,
        priority=Lane(body.priority),
        timeout_seconds=body.timeout_seconds,
        retry=RetryPolicy(
            max_attempts=body.retry.max_attempts,
            backoff=Backoff(body.retry.backoff),
            min_seconds=body.retry.min_seconds,
            max_seconds=body.retry.max_seconds,
        ),
        missed=MissedPolicy(MissedMode(body.missed.policy), body.missed.grace_seconds, body.missed.max_missed),
        overlap=Overlap(body.overlap),
        precision=rules.default_precision if body.precision is None else Precision(body.precision),
        delivery=Delivery(body.delivery),
        idempotency_key=body.idempotency_key,
        tags=tuple(body.tags),
    )


def _target(body: HttpTargetBody | LambdaTargetBody) -> Target:
    match body:
        case HttpTargetBody():
            return HttpTarget(body.url, body.method, tuple(body.headers.items()))
        case LambdaTargetBody():
            return LambdaTarget(body.function)
