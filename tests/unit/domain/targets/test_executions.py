"""Which targets have an end that AWS reports, and what its events say."""

from typing import Any

import pytest

from duecourse.domain.targets.executions import STARTS, end_refusal, ended_by, started_by
from duecourse.domain.targets.targets import (
    AwsTarget,
    EcsTarget,
    Execution,
    ExecutionService,
    HttpTarget,
    LambdaMode,
    LambdaTarget,
    SqsTarget,
    StepFunctionsTarget,
    Target,
)

ARN = "arn:aws:states:eu-west-1:123456789012:execution:flow:duecourse-nightly-20261121T064700Z-1-0123456789abcdef"


@pytest.mark.parametrize(
    "target",
    [
        StepFunctionsTarget("flow"),
        EcsTarget("reports", "report:7", "main", ("subnet-0123456789abcdef0",)),
        LambdaTarget("durable", LambdaMode.ASYNC, "live"),
        *(AwsTarget(*action.split(":"), {}, "role") for action in STARTS),
    ],
)
def test_executions_end_is_reported_for_these_targets(target: Target) -> None:
    assert end_refusal(target) is None


@pytest.mark.parametrize(
    ("target", "remedy"),
    [
        (HttpTarget("https://example.com"), "use completion: callback"),
        (SqsTarget("orders"), "use completion: callback"),
        (LambdaTarget("plain"), "use completion: response"),
        (LambdaTarget("plain", qualifier="live"), "use completion: response"),
        (LambdaTarget("plain", LambdaMode.ASYNC), "set qualifier"),
        (AwsTarget("ecs", "UpdateService", {}, "role"), "batch:SubmitJob, glue:StartJobRun, codebuild:StartBuild"),
    ],
)
def test_executions_end_of_other_targets_is_refused_with_the_remedy(target: Target, remedy: str) -> None:
    problem = end_refusal(target)
    assert problem is not None
    assert remedy in problem


@pytest.mark.parametrize(
    ("event", "execution"),
    [
        (
            {"source": "aws.states", "detail-type": "Step Functions Execution Status Change"}
            | {"detail": {"executionArn": ARN, "status": "SUCCEEDED"}},
            Execution(ExecutionService.STATES, ARN),
        ),
        (
            {"source": "aws.glue", "detail-type": "Glue Job State Change"}
            | {"detail": {"jobName": "load/it", "jobRunId": "jr_1", "state": "FAILED"}},
            Execution(ExecutionService.GLUE, "load/it/jr_1"),
        ),
        (
            {"source": "aws.batch", "detail-type": "Batch Job State Change", "detail": {"jobId": "4c7599ae"}},
            Execution(ExecutionService.BATCH, "4c7599ae"),
        ),
        ({"source": "aws.batch", "detail-type": "Batch Job State Change", "detail": {}}, None),
        ({"source": "aws.batch", "detail-type": "Batch Job State Change", "detail": None}, None),
        ({"source": "aws.s3", "detail-type": "Object Created", "detail": {"jobId": "4c7599ae"}}, None),
        ({}, None),
    ],
)
def test_executions_event_identifies_its_execution(event: dict[str, Any], execution: Execution | None) -> None:
    assert ended_by(event) == execution


def test_executions_call_that_starts_one_is_known_by_its_response() -> None:
    def started(action: str, parameters: dict[str, Any], answer: dict[str, Any]) -> Execution | None:
        return started_by(AwsTarget(*action.split(":"), parameters, "role"), parameters, answer)

    assert started("batch:SubmitJob", {}, {"jobId": "4c7"}) == Execution(ExecutionService.BATCH, "4c7", "role")
    glue = Execution(ExecutionService.GLUE, "load/jr_1", "role")
    assert started("glue:StartJobRun", {"JobName": "load"}, {"JobRunId": "jr_1"}) == glue
    build = Execution(ExecutionService.CODEBUILD, "arn:aws:codebuild:1", "role")
    assert started("codebuild:StartBuild", {}, {"build": {"arn": "arn:aws:codebuild:1"}}) == build
    assert started("ecs:UpdateService", {}, {"service": {}}) is None


@pytest.mark.parametrize(
    "execution",
    [
        Execution(ExecutionService.STATES, ARN),
        Execution(ExecutionService.GLUE, "a job with spaces/jr_1", "role+with=all,of.them@-"),
    ],
)
def test_executions_text_is_read_back(execution: Execution) -> None:
    assert Execution.parse(str(execution)) == execution
