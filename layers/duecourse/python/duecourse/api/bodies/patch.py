"""JSON merge patches (RFC 7396) of jobs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from duecourse.api.answers import Document, job_document
from duecourse.api.bodies.job_body import JobBody
from duecourse.api.bodies.jsontext import write_json
from duecourse.domain.jobs.job import COMPLETION_SECONDS, Job
from duecourse.domain.jobs.policies import Completion
from duecourse.usecases.jobs.job_view import JobView

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
        document["completion_seconds"] = None  # the default, which nobody has said and nobody should have to take back
    if "schedule" in patch and patch["schedule"] is None:
        document["anchor"] = None  # where a rate counts from, which nobody may have said
    return {"schedule": None} | merged(document, patch)  # it has no default that null could bring back: null is none


def postable(job: Job) -> Document:
    """The job as it could have been posted, every field written out."""
    shown = job_document(JobView(job, None))
    document: Document = json.loads(write_json({name: shown[name] for name in POSTABLE}))
    return document
