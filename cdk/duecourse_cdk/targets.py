"""Converts constructs of the app to the targets of jobs in the API's format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, TypeAlias

from aws_cdk import Annotations, ArnFormat, IResource, Stack, Token
from aws_cdk import aws_events as events
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sqs as sqs
from aws_cdk import aws_stepfunctions as sfn
from constructs import Construct, IConstruct

Target: TypeAlias = (
    lambda_.IFunction | sqs.IQueue | sns.ITopic | events.IEventBus | sfn.IStateMachine | str | Mapping[str, Any]
)
"""A resource of the app, the URL of an HTTP target, or a target in the API's format."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of resource: its type and field in the API, the attribute of its construct, and the property of its
    resource.
    """

    type: str
    field: str
    attribute: str
    given: str


KINDS = (
    Kind("lambda", "function", "function_name", "function_name"),
    Kind("sqs", "queue", "queue_name", "queue_name"),
    Kind("sns", "topic", "topic_name", "topic_name"),
    Kind("eventbridge", "bus", "event_bus_name", "name"),
    Kind("stepfunctions", "machine", "state_machine_arn", "state_machine_name"),
)


def target_document(job: Construct, target: Target, allowed: Sequence[str]) -> Mapping[str, Any]:
    """Return the target in the API's format. The job depends on the resource, and has a warning if the stage does not
    allow the resource's name.

    Raises ValueError for an unsupported target.
    """
    if isinstance(target, str):
        return {"type": "http", "url": target}
    if isinstance(target, Mapping):
        return target
    if hasattr(target, "alias_name") or hasattr(target, "version"):
        raise ValueError(
            f"{job.node.path}: jobs call functions by name; use the function instead of an alias or version"
        )
    for kind in KINDS:
        if hasattr(target, kind.attribute):
            job.node.add_dependency(target)
            return {"type": kind.type, kind.field: _name(job, target, kind, allowed)}
    raise ValueError(
        f"{job.node.path}: target must be a function, queue, topic, event bus or state machine, a URL, or a mapping"
    )


def _name(job: IConstruct, resource: IResource, kind: Kind, allowed: Sequence[str]) -> str:
    """Return the name. An explicit name is copied, so that the document contains it."""
    made_here = resource.node.default_child
    given = getattr(made_here, kind.given, None)
    name: str = _live_name(resource, kind) if given is None or Token.is_unresolved(given) else given
    if not Token.is_unresolved(name):
        if not _fits(name, allowed):
            _warn(job, f"the stage allows {', '.join(allowed)}, but not {name}")
    elif made_here is not None and not _fits(f"{Stack.of(resource).stack_name}-", allowed):
        _warn(job, f"the stage allows {', '.join(allowed)}; choose such a name for {resource.node.path}")
    return name


def _live_name(resource: IResource, kind: Kind) -> str:
    """Return the name in CloudFormation, or the name of an imported resource."""
    live: str = getattr(resource, kind.attribute)
    if not kind.attribute.endswith("_arn"):
        return live
    parts = Stack.of(resource).split_arn(live, ArnFormat.COLON_RESOURCE_NAME)
    return str(getattr(resource, kind.given, None) or parts.resource_name)


def _fits(name: str, allowed: Sequence[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in allowed)


def _warn(job: IConstruct, text: str) -> None:
    Annotations.of(job).add_warning_v2("duecourse:target-not-allowed", f"{text} (docs/security.md: allowed_targets)")
