"""A target as a JSON document, the same in requests, answers and the table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, assert_never

from duecourse.domain.targets.targets import (
    AwsTarget,
    EcsTarget,
    EventBridgeTarget,
    HttpTarget,
    LambdaMode,
    LambdaTarget,
    SnsTarget,
    SqsTarget,
    StepFunctionsTarget,
    Target,
    TaskTarget,
    WorkflowTarget,
)

Document = dict[str, Any]


def type_of(target: Target) -> str:
    """The word that names a target's kind in documents, logs and metrics."""
    match target:
        case HttpTarget():
            return "http"
        case LambdaTarget():
            return "lambda"
        case SqsTarget():
            return "sqs"
        case SnsTarget():
            return "sns"
        case EventBridgeTarget():
            return "eventbridge"
        case StepFunctionsTarget():
            return "stepfunctions"
        case EcsTarget():
            return "ecs"
        case AwsTarget():
            return "aws"
        case TaskTarget():
            return "task"
        case WorkflowTarget():
            return "workflow"
        case other:
            assert_never(other)


def target_document(target: Target) -> Document:
    """`{"type": "http", "url": …, "headers": {…}}` and so on: the type and the fields of the target."""
    document: Document = {"type": type_of(target)} | asdict(target)
    if isinstance(target, HttpTarget):
        document["headers"] = dict(target.headers)
        document["sign"] = None if target.sign is None else {"secret": target.sign}
    return document


def target_of(document: Mapping[str, Any]) -> Target:
    """The inverse; missing fields have their defaults. Raises KeyError, ValueError."""
    fields = {name: _frozen(value) for name, value in document.items() if name != "type"}
    match document["type"]:
        case "http":
            sign = document.get("sign")
            own = {"headers": _pairs(document.get("headers", ())), "sign": None if sign is None else sign["secret"]}
            return HttpTarget(**(fields | own))
        case "lambda":
            return LambdaTarget(document["function"], LambdaMode(document.get("mode", "sync")))
        case "sqs":
            return SqsTarget(**fields)
        case "sns":
            return SnsTarget(**fields)
        case "eventbridge":
            return EventBridgeTarget(**fields)
        case "stepfunctions":
            return StepFunctionsTarget(**fields)
        case "ecs":
            return EcsTarget(**fields)
        case "aws":
            return AwsTarget(**(fields | {"parameters": document["parameters"]}))
        case "task":
            return TaskTarget(**fields)
        case "workflow":
            return WorkflowTarget(**fields)
        case other:
            raise ValueError(f"unknown target type {other!r}")


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _pairs(headers: Any) -> tuple[tuple[str, str], ...]:
    """Headers as pairs; older items have a list of pairs."""
    pairs = headers.items() if isinstance(headers, Mapping) else headers
    return tuple((name, value) for name, value in pairs)
