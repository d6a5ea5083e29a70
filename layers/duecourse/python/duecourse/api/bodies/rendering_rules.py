"""How large what a job sends becomes once its templates are filled in, at the run whose values are longest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from duecourse.api.problems.problems import FieldFault
from duecourse.domain.jobs.job import Job
from duecourse.domain.jobs.policies import Completion
from duecourse.domain.runs.rendering import (
    TemplateTooLargeError,
    check_document_size,
    check_headers_size,
    longest_values,
)
from duecourse.domain.targets.targets import AwsTarget, HttpTarget, Target, TaskTarget
from duecourse.ports import Tasks
from duecourse.usecases.jobs.draft import Draft

_MAX_ID = "x" * 64
"""Stands for an id that is yet to be made up."""


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
