"""The constructs for a job and a workflow."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from aws_cdk import CustomResource, Duration, Names, RemovalPolicy, Stack
from constructs import Construct

from duecourse_cdk.stage import Duecourse
from duecourse_cdk.targets import Target, target_document

MAX_DOCUMENT_BYTES = 100_000
"""The maximum size of a document. The event of an update contains the old and the new document, and Lambda long
accepted at most 256 KB for an asynchronous event ("Lambda quotas", AWS Lambda Developer Guide).
"""
NAMES = ("id", "workflow")
"""The field of a document with the id of a job or of a workflow."""
ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
ID_LENGTH = TAG_LENGTH = 64
"""The limits of the API (openapi.json, JobRequest)."""
PATIENCE = Duration.minutes(15)
"""The time for which CloudFormation waits for the function, which Lambda invokes again if it dies. The default is an
hour.
"""
STACK, CONSTRUCT = "managed-by=stack:", "construct:"
"""The prefixes of the tags for a job's owner. `duecourse apply --owner stack:Billing` also uses the first."""


class ScheduledJob(Construct):
    """A job of a stage. It is created or replaced when the stack is deployed, and deleted with the stack."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        stage: Duecourse,
        schedule: str | Sequence[str] | None,
        target: Target | None = None,
        job_id: str | None = None,
        tags: Sequence[str] = (),
        removal_policy: RemovalPolicy | None = None,
        **fields: Any,
    ) -> None:
        """`schedule` and `fields` (`timezone`, `payload`, `retry`, ...) are the fields of POST /v1/jobs. `target` is
        not needed if the fields have a `task`. The default of `job_id` is generated from the construct's path. Two tags
        for the owner are added. With RETAIN, the job remains when the construct is removed.

        Raises ValueError for an invalid or duplicate id, and for an invalid target.
        """
        super().__init__(scope, construct_id)
        self.job_id = _id(self, job_id)
        called = {} if target is None else {"target": target_document(self, target, stage.allowed_names)}
        self.document: dict[str, Any] = {
            "id": self.job_id,
            "schedule": schedule if schedule is None or isinstance(schedule, str) else list(schedule),
            **fields,
            **called,
            "tags": [*tags, *_tags(self)],
        }
        stage.take([self.job_id], self.node.path)
        _resource(self, "Job", stage, self.job_id, self.document, removal_policy)


class Workflow(Construct):
    """A workflow of a stage with the jobs that it defines."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        stage: Duecourse,
        document: Mapping[str, Any],
        workflow_id: str | None = None,
        removal_policy: RemovalPolicy | None = None,
    ) -> None:
        """`document` is the body of PUT /v1/workflows/{id}. A `target` in it can be any target of a `ScheduledJob`. The
        default of `workflow_id` is generated from the construct's path. Raises ValueError like `ScheduledJob`.
        """
        super().__init__(scope, construct_id)
        self.workflow_id = _id(self, workflow_id)
        steps = {name: self._step(step, stage) for name, step in document.get("jobs", {}).items()}
        tags = [*document.get("tags", ()), *_tags(self)]
        self.document: dict[str, Any] = {"workflow": self.workflow_id, **document, "jobs": steps, "tags": tags}
        defined = [step.get("job_id") or f"{self.workflow_id}--{name}" for name, step in steps.items() if "job" in step]
        stage.take([self.workflow_id, *defined], self.node.path)
        _resource(self, "Workflow", stage, self.workflow_id, self.document, removal_policy)

    def _step(self, step: Mapping[str, Any], stage: Duecourse) -> Mapping[str, Any]:
        if "job" not in step:
            return step
        job = {**step["job"]}
        if "target" in job:
            job["target"] = target_document(self, job["target"], stage.allowed_names)
        return {**step, "job": {**job, "tags": [*job.get("tags", ()), *_tags(self)]}}


def _resource(
    construct: Construct,
    name: str,
    stage: Duecourse,
    job_id: str,
    document: Mapping[str, Any],
    removal_policy: RemovalPolicy | None,
) -> None:
    """Create the resource in the template."""
    stack = Stack.of(construct)
    function, auth = stage.provide(stack)
    stack_tag, construct_tag = _tags(construct)
    # The document is text, because CloudFormation converts all numbers and booleans to text.
    body = json.dumps({key: document[key] for key in document if key not in NAMES}, allow_nan=False)
    if len(body.encode()) > MAX_DOCUMENT_BYTES:
        raise ValueError(
            f"{construct.node.path}: the document takes {len(body.encode())} bytes as JSON; at most "
            f"{MAX_DOCUMENT_BYTES} are allowed; write a larger one with `duecourse apply`"
        )
    CustomResource(
        construct,
        name,
        service_token=function,
        service_timeout=PATIENCE,
        resource_type=f"Custom::Duecourse{name}",
        removal_policy=removal_policy,
        properties={
            "Kind": "workflows" if name == "Workflow" else "jobs",
            "Id": job_id,
            "Api": stage.api,
            "Auth": auth,
            "StackTag": stack_tag,
            "ConstructTag": construct_tag,
            "Document": body,
        },
    )


def _id(construct: Construct, given: str | None) -> str:
    if given is None:
        return Names.unique_resource_name(
            construct, max_length=ID_LENGTH, separator="-", allowed_special_characters="_-"
        )
    if ID.fullmatch(given) is None:
        raise ValueError(f"{construct.node.path}: the id must be 1 to 64 letters (A-Z, a-z), digits, - or _: {given!r}")
    return given


def _tags(construct: Construct) -> tuple[str, str]:
    """Return the tags of the stack and of the construct in it."""
    stack = Stack.of(construct)
    while (parent := stack.nested_stack_parent) is not None:
        stack = parent
    name = stack.stack_name
    if len(STACK + name) > TAG_LENGTH:
        digest = hashlib.sha256(name.encode()).hexdigest()[:8]
        name = f"{name[: TAG_LENGTH - len(STACK) - 9]}-{digest}"
    return STACK + name, CONSTRUCT + construct.node.addr[:32]
