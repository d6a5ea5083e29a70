"""What a posted job hands on: which templates may stand in it, and how large it may be, before they are filled in and
at the run whose values are longest.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from duecourse.api.problems.problems import FieldFault, pointer
from duecourse.domain.jobs.job import Job
from duecourse.domain.jobs.policies import Completion
from duecourse.domain.runs.rendering import (
    TemplateTooLargeError,
    check_document_size,
    check_headers_size,
    longest_values,
)
from duecourse.domain.targets.kinds import TARGETS
from duecourse.domain.targets.targets import AwsTarget, HttpTarget, Target, TaskTarget
from duecourse.domain.targets.template import CALL_NAMES, CALLBACK_NAMES, check_document, check_template
from duecourse.domain.workflows.results import blanked
from duecourse.ports import Tasks
from duecourse.usecases.jobs.draft import Draft

MAX_PAYLOAD_BYTES = 200 * 1024
MAX_PARAMETER_BYTES = 16 * 1024
MAX_ECS_CHARACTERS = 7000
"""ECS takes 8,192 characters of overrides; what else an event holds needs some of them."""

_TEMPLATED = {word: [name for name, field in kind.fields.items() if field.template] for word, kind in TARGETS.items()}
"""The fields of a target that are templates, beside headers and parameters."""

_REMEDY = "store it elsewhere and pass its address"

_MAX_ID = "x" * 64
"""Stands for an id that is yet to be made up."""


def payload_faults(value: Mapping[str, Any], known: Mapping[str | None, FieldFault]) -> Iterator[FieldFault]:
    """What is wrong with payload and target that no model can see; what has `known` faults is not looked at. A
    workflow's payload is no template; that of a job without a schedule may take results of other jobs.
    """
    target = value.get("target")
    target = target if isinstance(target, dict) else {}
    names = CALLBACK_NAMES if value.get("completion") == "callback" else CALL_NAMES
    parts: dict[str, Any] = {"payload": value.get("payload")}
    if target.get("type") == "aws":
        parts["target/parameters"] = target.get("parameters")
    for place, part in parts.items():
        if not _within(f"/{place}", known):
            yield from _sizes(place, part, target)
            handed_down = place == "payload" and value.get("schedule", "") is None
            plain = target.get("type") == "workflow"
            found = () if plain else check_document(part, names, blanked if handed_down else str)
            for path, problem in found:
                yield FieldFault(_hint(problem, value), pointer([*place.split("/"), *path]))
    if not _within("/target/headers", known) and (problems := list(_header_problems(target, names))):
        yield FieldFault(_hint("; ".join(problems[:5]), value), "/target/headers")
    for field in _TEMPLATED.get(str(target.get("type")), ()):
        text = target.get(field)
        if isinstance(text, str) and not _within(f"/target/{field}", known) and (wrong := check_template(text, names)):
            yield FieldFault(_hint("; ".join(wrong[:5]), value), f"/target/{field}")


def _within(place: str, known: Mapping[str | None, FieldFault]) -> bool:
    """Whether anything there is known to be wrong, or the whole of which it is a part."""
    return any(at == place or at.startswith(f"{place}/") or place.startswith(f"{at}/") for at in known if at)


def _sizes(place: str, part: Any, target: Mapping[str, Any]) -> Iterator[FieldFault]:
    text = json.dumps(part, ensure_ascii=False, separators=(",", ":"))
    limit = MAX_PARAMETER_BYTES if place == "target/parameters" else MAX_PAYLOAD_BYTES
    if (size := len(text.encode())) > limit:
        yield FieldFault(f"has {size} bytes as JSON; at most {limit} are allowed: {_REMEDY}", f"/{place}")
    elif place == "payload" and target.get("type") == "ecs" and (count := len(json.dumps(text))) > MAX_ECS_CHARACTERS:
        limits = f"an ECS task's environment takes {MAX_ECS_CHARACTERS}"
        yield FieldFault(f"has {count} characters as JSON inside JSON; {limits}: {_REMEDY}", f"/{place}")


def _header_problems(target: Mapping[str, Any], names: tuple[str, ...]) -> Iterator[str]:
    """What is wrong with the templates in the headers of an HTTP target: only there secrets may stand."""
    headers = target.get("headers")
    if target.get("type") == "http" and isinstance(headers, dict):
        for name, text in headers.items():
            if isinstance(text, str):
                yield from (f"header {name[:40]}: {wrong}" for wrong in check_template(text, names, secrets=True))


def _hint(problem: str, value: Mapping[str, Any]) -> str:
    """What a name that is good elsewhere wants here."""
    if "{{callback_token}}" in problem and value.get("completion") != "callback":
        return f"{problem}; callback_token needs completion: callback"
    return problem


def rendering_faults(job: Draft | Job, tasks: Tasks) -> list[FieldFault]:
    """What would be too large to be sent. How long secrets are is known at the call alone: here they count nothing."""
    faults: list[FieldFault] = []
    with _noted(faults, "/idempotency_key", "choose a shorter template"):
        callback = job.completion is Completion.CALLBACK
        key = job.idempotency_key
        values = longest_values(job.tenant, job.id or _MAX_ID, job.name, key, callback=callback)
    if faults:
        return faults
    with _noted(faults, "/payload", "name less in it, or store it elsewhere and pass its address"):
        check_document_size(job.payload, values)
    faults += _target_faults(job.target, values, tasks)
    return faults


def _target_faults(target: Target, values: Mapping[str, str], tasks: Tasks) -> list[FieldFault]:
    faults: list[FieldFault] = []
    match target:
        case HttpTarget(headers=headers):
            with _noted(faults, "/target/headers", "shorten them, or put into the payload what is long"):
                check_headers_size(headers, values, {})
        case AwsTarget(parameters=parameters):
            with _noted(faults, "/target/parameters", "name less in them"):
                check_document_size(parameters, values)
        case TaskTarget(name=name) if (task := tasks.get(name)) is not None:
            found = [fault.detail for fault in _target_faults(task.target, values, tasks)]
            faults += [FieldFault(f"what the task sends {detail}", "/target/name") for detail in found]
    return faults


@contextmanager
def _noted(faults: list[FieldFault], place: str, remedy: str) -> Iterator[None]:
    """Whatever is too large becomes a fault at that place."""
    try:
        yield
    except TemplateTooLargeError as problem:
        faults.append(FieldFault(f"makes {problem}: {remedy}", place))
