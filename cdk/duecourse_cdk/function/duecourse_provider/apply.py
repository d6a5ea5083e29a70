"""Applies a deployment to a stage: puts or removes a job or a workflow if its tags show that it belongs to the stack.

A job has two tags for its owner. The tag of the stack (`managed-by=stack:Billing`) allows the stack to replace it. The
tag of the construct allows the construct to delete it. If a construct is renamed, CloudFormation creates the new one
before it deletes the old one, and both are the same job.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from duecourse_provider.api import Answer, Api, RefusedError

JOBS, WORKFLOWS = "jobs", "workflows"


class NotOursError(Exception):
    """The job exists, but has another owner."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A job (`kind` jobs) or a workflow in a template."""

    kind: str
    id: str
    document: str
    stack: str
    construct: str

    @classmethod
    def of(cls, properties: Mapping[str, Any]) -> Wanted:
        """Read the instance from the properties of a resource."""
        return cls(*(str(properties[name]) for name in ("Kind", "Id", "Document", "StackTag", "ConstructTag")))

    @property
    def steps(self) -> frozenset[str]:
        """The jobs that the workflow defines."""
        if self.kind != WORKFLOWS:
            return frozenset()
        jobs = json.loads(self.document).get("jobs") or {}
        return frozenset(step.get("job_id") or f"{self.id}--{name}" for name, step in jobs.items() if "job" in step)


def put(api: Api, wanted: Wanted) -> None:
    """Put the job or workflow. Raises NotOursError, or RefusedError with the stage's error.

    If it changes between read and write, it is read again.
    """
    body = wanted.document.encode()
    path = f"/v1/{wanted.kind}/{wanted.id}"
    while True:
        condition = _condition(api, wanted)
        try:
            if wanted.kind == WORKFLOWS:
                _check_steps(api, wanted, api.send("PUT", f"{path}?dry_run=true", body, **condition))
            api.send("PUT", path, body, **condition)
        except RefusedError as refused:
            if not _changed_meanwhile(api, refused):
                raise
        else:
            return


def make_way(api: Api, wanted: Wanted, before: Wanted) -> None:
    """Delete a workflow if another one needs its jobs, because a job can be in only one workflow. It is deleted only if
    this is the other workflow's only fault.

    Raises RefusedError with the other faults.
    """
    try:
        api.send("PUT", f"/v1/{wanted.kind}/{wanted.id}?dry_run=true", wanted.document.encode())
    except RefusedError as refused:
        if refused.kind != "workflow-conflict":
            raise
    delete(api, (before.id,), before.construct)


def remove(api: Api, wanted: Wanted) -> tuple[str, ...]:
    """Delete the job and the jobs that it defines. Return the ids that were not deleted, because they no longer belong
    to the construct.
    """
    return delete(api, (wanted.id, *sorted(wanted.steps)), wanted.construct)


def delete(api: Api, ids: Iterable[str], tag: str) -> tuple[str, ...]:
    """Delete each job that has the tag and is in no workflow. Return the others. Missing jobs are not an error."""
    return tuple(job_id for job_id in ids if not _deleted(api, job_id, tag))


def _deleted(api: Api, job_id: str, tag: str) -> bool:
    while True:
        found = _look(api, job_id)
        if found is None:
            return True
        if tag not in _tags(found):
            return False
        try:
            api.send("DELETE", f"/v1/jobs/{job_id}", if_match=found.headers["etag"])
        except RefusedError as refused:
            if refused.status == HTTPStatus.NOT_FOUND:
                return True
            if refused.kind == "in-workflow":
                return False
            if not _changed_meanwhile(api, refused):
                raise
        else:
            return True


def _condition(api: Api, wanted: Wanted) -> dict[str, str]:
    """Return the condition header. With it, only the version that was checked is overwritten."""
    found = _look(api, wanted.id)
    if found is None:
        return {"if_none_match": "*"}
    _check(found, wanted.id, wanted.stack)
    return {"if_match": found.headers["etag"]}


def _check_steps(api: Api, wanted: Wanted, looked_at: Answer) -> None:
    """Raise NotOursError if the workflow would change a job of another owner."""
    for job_id in sorted(wanted.steps & set(looked_at.body.get("changed") or ())):
        found = _look(api, job_id)
        if found is not None:
            _check(found, job_id, wanted.stack)


def _check(found: Answer, job_id: str, tag: str) -> None:
    if tag not in _tags(found):
        raise NotOursError(
            f"job {job_id} already exists and does not have the tag {tag}; choose another id, delete "
            "the job, or add the tag so that this stack manages it"
        )


def _changed_meanwhile(api: Api, refused: RefusedError) -> bool:
    """Return whether the error is a conflicting change, and there is time to read again."""
    faster = refused.status == HTTPStatus.PRECONDITION_FAILED or refused.kind == "job-changed"
    return faster and api.patience.left > 0


def _look(api: Api, job_id: str) -> Answer | None:
    try:
        found = api.send("GET", f"/v1/jobs/{job_id}")
    except RefusedError as refused:
        if refused.status == HTTPStatus.NOT_FOUND:
            return None
        raise
    if found.body.get("id") != job_id or "etag" not in found.headers:
        raise RefusedError(found.status, f"{api.base} did not respond like Duecourse; check the address of the API")
    return found


def _tags(found: Answer) -> tuple[str, ...]:
    return tuple(found.body.get("tags") or ())
