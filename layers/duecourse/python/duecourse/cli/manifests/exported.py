"""Exports the stored jobs as documents that `apply` reads, without derived fields and defaults."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, cast

from duecourse.cli.manifests.difference import JOB_FIELDS, OF_THE_WORKFLOW, WORKFLOW_FIELDS, alike, only
from duecourse.cli.manifests.documents import job_of
from duecourse.cli.manifests.plan import patient
from duecourse.client import ApiError, Client
from duecourse.client.bodies import JobRequest
from duecourse.client.models import Job, Workflow

FIRST = ("name", "schedule", "timezone", "target", "payload")
"""The first fields of a document."""

KEPT = ("schedule", "target")
"""The fields without a default."""

Document = dict[str, Any]


def exported(client: Client, jobs: Iterable[Job]) -> list[Document]:
    """Return a document for each job. The document of an exported workflow contains its jobs."""
    found = {job.id: job for job in jobs}
    defaults = _defaults(client, found.values())
    workflows = {
        job.id: patient(partial(client.get_workflow, job.id)) for job in found.values() if _kind(job) == "workflow"
    }
    documents = []
    for job in found.values():
        within = workflows.get(job.workflow or "")
        if job.id in workflows:
            documents.append(_workflow(client, workflows[job.id], found, defaults))
        elif within is None or not _fits(job, within):
            documents.append(job_document(job.document, defaults) | _shadow(job))
    return documents


def _shadow(job: Job) -> Document:
    """Return the field with which `apply` creates the job as a shadow again, if it is one."""
    return {} if job.shadow_since is None else {"shadow": True}


def one(client: Client, job: Job) -> Document:
    """Return the document of a job, or of a workflow with its jobs."""
    return exported(client, [job])[0]


def job_document(shown: Mapping[str, Any], defaults: Mapping[str, Any]) -> Document:
    """Return the document of a job from the API's response."""
    return {"id": shown["id"], **_trimmed(only(shown, JOB_FIELDS), defaults)}


def _workflow(client: Client, workflow: Workflow, known: Mapping[str, Job], defaults: Mapping[str, Any]) -> Document:
    own = _trimmed({name: each for name, each in workflow.document.items() if name in WORKFLOW_FIELDS}, defaults)
    jobs: Document = {}
    for name, step in own.pop("jobs").items():
        job_id = step["job_id"]
        job = known.get(job_id) or patient(partial(client.get_job, job_id))
        place = {key: each for key, each in step.items() if key != "job_id" and each not in (None, [], False)}
        document = {"job": _step(job, defaults)} if _fits(job, workflow) else {}
        named = {} if job_of(workflow.id, name, document) == job_id else {"job_id": job_id}
        jobs[name] = named | document | place
    return {"workflow": workflow.id, **own, "jobs": jobs}


def _step(job: Job, defaults: Mapping[str, Any]) -> Document:
    fields = tuple(name for name in JOB_FIELDS if name not in OF_THE_WORKFLOW)
    return _trimmed(only(job.document, fields), defaults and {**defaults, "overlap": "allow"})


def _fits(job: Job, workflow: Workflow) -> bool:
    """Return whether the workflow's document can contain the job. Jobs in it get its time zone; others, shared jobs and
    workflows have separate documents.
    """
    return job.workflow == workflow.id and _kind(job) != "workflow" and job.timezone == workflow.timezone


def _trimmed(document: Mapping[str, Any], defaults: Mapping[str, Any]) -> Document:
    """Return the document without default values. A task has other defaults, which only the stage knows, so its
    document is complete.
    """
    order = dict.fromkeys((*(name for name in FIRST if name in document), *document))
    target = document.get("target") or {}
    if target.get("type") == "task":
        return {name: document[name] for name in order}
    found = {name: document[name] for name in order if not _is_default(name, document, defaults)}
    for name, value in found.items():
        if name == "target":
            found[name] = {key: each for key, each in value.items() if each is not None}
        elif isinstance(value, dict) and isinstance(defaults.get(name), dict):
            found[name] = {key: each for key, each in value.items() if not alike(each, defaults[name].get(key))}
    return found


def _is_default(name: str, document: Mapping[str, Any], defaults: Mapping[str, Any]) -> bool:
    if name in KEPT or (name == "timezone" and document.get("schedule") is not None):
        return False
    return name in defaults and alike(document[name], defaults[name])


def _defaults(client: Client, jobs: Iterable[Job]) -> Mapping[str, Any]:
    """Return the API's defaults for a minimal job, or an empty mapping if they are unknown; then all fields are
    written.
    """
    for job in jobs:
        if _kind(job) not in ("workflow", "task"):
            body = {"schedule": None, "target": job.target}
            try:
                shown = patient(partial(client.put_job, job.id, cast("JobRequest", body), dry_run=True))
            except ApiError:
                return {}
            return only(shown.document, JOB_FIELDS)
    return {}


def _kind(job: Job) -> str:
    return str(job.target.get("type"))
