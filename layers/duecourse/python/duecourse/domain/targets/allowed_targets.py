"""What jobs of a stage may call besides HTTP: checked when a job is posted, and again at each call."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase

from duecourse.domain.targets.targets import (
    AwsTarget,
    CallableTarget,
    EcsTarget,
    EventBridgeTarget,
    LambdaTarget,
    SnsTarget,
    SqsTarget,
    StepFunctionsTarget,
)

DEFAULT_GROUP = "default"
"""The network's default security group, which a task gets if its job names none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowedTargets:
    """Name patterns of this account's resources in this region; for target `aws` actions (`ecs:UpdateService`) with the
    patterns of the roles that are assumed for them.

    `task_definitions`: `family` allows the latest revision alone, `family:7` that one, `family:*` every one and the
    latest. `public_ip`: whether ECS tasks may have a public address.
    """

    functions: tuple[str, ...] = ()
    queues: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    buses: tuple[str, ...] = ()
    machines: tuple[str, ...] = ()
    clusters: tuple[str, ...] = ()
    task_definitions: tuple[str, ...] = ()
    subnets: tuple[str, ...] = ()
    security_groups: tuple[str, ...] = ()
    public_ip: bool = False
    actions: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()


_DOES = {
    "functions": "calls functions named",
    "queues": "sends to queues named",
    "topics": "publishes to topics named",
    "buses": "puts events on buses named",
    "machines": "starts executions of machines named",
    "clusters": "runs tasks on clusters named",
    "task_definitions": "runs task definitions named",
    "subnets": "runs tasks in subnets",
    "security_groups": "runs tasks in security groups",
    "actions": "calls",
    "roles": "calls in the name of roles named",
}
"""The verb for each kind of name in an error: what the stage allows."""


def name_refusal(kind: str, name: str, allowed: AllowedTargets) -> str | None:
    """Why a name of that kind (a field of AllowedTargets) may not be used, and what to do; None if it may."""
    patterns: tuple[str, ...] = getattr(allowed, kind)
    if any(_matches(kind, name, pattern) for pattern in patterns):
        return None
    where = f", which {_DOES[kind]} {', '.join(patterns)}" if patterns else f", where allowed_targets.{kind} is empty"
    return _not_allowed(kind, where)


def public_ip_refusal(wanted: bool, allowed: AllowedTargets) -> str | None:
    """Why a task may not have a public address; None if it may, or wants none."""
    return _not_allowed("public_ip", "") if wanted and not allowed.public_ip else None


def action_of(service: str, action: str) -> str:
    """An API call as a stage allows it: `ecs:UpdateService`."""
    return f"{service}:{action}"


def groups_of(security_groups: tuple[str, ...] | list[str]) -> tuple[str, ...]:
    """The security groups of a task, by the names in the stage's list."""
    return tuple(security_groups) or (DEFAULT_GROUP,)


def target_refusal(target: CallableTarget, allowed: AllowedTargets) -> str | None:
    """Why a target may not be called, with the refused name; None if it may."""
    for kind, name in _names(target):
        if problem := name_refusal(kind, name, allowed):
            return f"{name} {problem}"
    if isinstance(target, EcsTarget) and (problem := public_ip_refusal(target.public_ip, allowed)):
        return f"public_ip {problem}"
    return None


def _names(target: CallableTarget) -> Iterator[tuple[str, str]]:
    match target:
        case LambdaTarget(function=name):
            yield "functions", name
        case SqsTarget(queue=name):
            yield "queues", name
        case SnsTarget(topic=name):
            yield "topics", name
        case EventBridgeTarget(bus=name):
            yield "buses", name
        case StepFunctionsTarget(machine=name):
            yield "machines", name
        case EcsTarget():
            yield "clusters", target.cluster
            yield "task_definitions", target.task_definition
            yield from (("subnets", subnet) for subnet in target.subnets)
            yield from (("security_groups", group) for group in groups_of(target.security_groups))
        case AwsTarget():
            yield "actions", action_of(target.service, target.action)
            yield "roles", target.role


def _matches(kind: str, name: str, pattern: str) -> bool:
    if kind == "actions":
        return name == pattern
    if kind == "task_definitions":
        family, _, revision = name.partition(":")
        families, _, revisions = pattern.partition(":")
        return fnmatchcase(family, families) and (revisions == "*" or revision == revisions)
    return fnmatchcase(name, pattern)


def _not_allowed(kind: str, where: str) -> str:
    return (
        f"is not allowed on this stage{where}; the operator allows more in the stage's setting allowed_targets.{kind}"
    )
