"""Executions: how the end of work in another AWS service is noticed. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from duecourse.domain.targets.targets import (
    AwsTarget,
    EcsTarget,
    Execution,
    ExecutionService,
    LambdaMode,
    LambdaTarget,
    StepFunctionsTarget,
    Target,
)

NAME_PREFIX = "duecourse-"
"""The beginning of the names of executions that runs follow, and of `startedBy` of ECS tasks. It filters events."""


@dataclass(frozen=True, slots=True)
class EndEvent:
    """The event that a service publishes to the default event bus at the end of an execution.

    `detail` is the filter of its detail. `ids` are the fields of the detail that identify the execution.
    """

    source: str
    detail_type: str
    detail: Mapping[str, Any]
    ids: tuple[str, ...]


END_EVENTS: Mapping[ExecutionService, EndEvent] = {
    # AWS Step Functions Developer Guide, "Automating Step Functions event delivery with EventBridge". Standard
    # workflows only.
    ExecutionService.STATES: EndEvent(
        "aws.states",
        "Step Functions Execution Status Change",
        {"status": ["SUCCEEDED", "FAILED", "TIMED_OUT", "ABORTED"], "name": [{"prefix": NAME_PREFIX}]},
        ("executionArn",),
    ),
    # Amazon ECS Developer Guide, "Amazon ECS task state change events".
    ExecutionService.ECS: EndEvent(
        "aws.ecs",
        "ECS Task State Change",
        {"lastStatus": ["STOPPED"], "startedBy": [{"prefix": NAME_PREFIX}]},
        ("taskArn",),
    ),
    # AWS Lambda Developer Guide, "Monitoring durable functions".
    ExecutionService.LAMBDA: EndEvent(
        "aws.lambda",
        "Durable Execution Status Change",
        {
            "status": ["SUCCEEDED", "FAILED", "TIMED_OUT", "STOPPED"],
            "durableExecutionName": [{"prefix": NAME_PREFIX}],
        },
        ("durableExecutionArn",),
    ),
    # AWS Batch User Guide, "Batch job state change events". The jobs of an array are not executions of a run.
    ExecutionService.BATCH: EndEvent(
        "aws.batch",
        "Batch Job State Change",
        {"status": ["SUCCEEDED", "FAILED"], "arrayProperties": {"index": [{"exists": False}]}},
        ("jobId",),
    ),
    # AWS Glue User Guide, "Automating AWS Glue with EventBridge".
    ExecutionService.GLUE: EndEvent(
        "aws.glue",
        "Glue Job State Change",
        {"state": ["SUCCEEDED", "FAILED", "TIMEOUT", "STOPPED", "ERROR"]},
        ("jobName", "jobRunId"),
    ),
    # AWS CodeBuild User Guide, "Build notifications input format reference".
    ExecutionService.CODEBUILD: EndEvent(
        "aws.codebuild",
        "CodeBuild Build State Change",
        {"build-status": ["SUCCEEDED", "FAILED", "FAULT", "STOPPED", "TIMED_OUT"]},
        ("build-id",),
    ),
}
"""The events by their service. infra/queues/end_events.py filters them."""

STARTS: Mapping[str, tuple[ExecutionService, Callable[[Mapping[str, Any], Mapping[str, Any]], str]]] = {
    "batch:SubmitJob": (ExecutionService.BATCH, lambda _asked, answer: answer["jobId"]),
    "glue:StartJobRun": (ExecutionService.GLUE, lambda asked, answer: f"{asked['JobName']}/{answer['JobRunId']}"),
    "codebuild:StartBuild": (ExecutionService.CODEBUILD, lambda _asked, answer: answer["build"]["arn"]),
}
"""The calls of `aws` targets that start an execution, each with its service and its id, by parameters and response."""


def started_by(target: AwsTarget, parameters: Mapping[str, Any], answer: Mapping[str, Any]) -> Execution | None:
    """Return the execution that a call has started; None if the call starts none that can be followed."""
    start = STARTS.get(f"{target.service}:{target.action}")
    return None if start is None else Execution(start[0], start[1](parameters, answer), target.role)


def ended_by(event: Mapping[str, Any]) -> Execution | None:
    """Return the execution that an event from the event bus is about; None for another event."""
    detail = event.get("detail")
    for service, known in END_EVENTS.items():
        if isinstance(detail, Mapping) and (event.get("source"), event.get("detail-type")) == (
            known.source,
            known.detail_type,
        ):
            ids = [detail.get(name) for name in known.ids]
            return Execution(service, "/".join(map(str, ids))) if all(ids) else None
    return None


_CALLBACK = "or use completion: callback"


def end_refusal(target: Target) -> str | None:
    """Return why a run cannot follow the work of this target until its end, with the remedy; None if it can."""
    match target:
        case StepFunctionsTarget() | EcsTarget():
            return None
        case LambdaTarget(mode=LambdaMode.ASYNC, qualifier=str()):
            return None
        case LambdaTarget(mode=LambdaMode.SYNC):
            return (
                "a synchronous call ends with its response; use completion: response, or set mode: async and qualifier "
                "in the target of a durable function"
            )
        case LambdaTarget():
            return (
                "Lambda reports only the end of durable functions; set qualifier in the target to the version or alias "
                f"of a durable function, {_CALLBACK}"
            )
        case AwsTarget() if f"{target.service}:{target.action}" in STARTS:
            return None
        case _:
            return (
                "requires a target whose end AWS reports: stepfunctions, ecs, a durable Lambda function, or an aws "
                f"call of {', '.join(STARTS)}; use such a target, {_CALLBACK}"
            )
