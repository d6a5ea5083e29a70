"""How AWS services describe the end of executions, and how they are stopped."""

from types import SimpleNamespace
from typing import Any

import pytest
from botocore.exceptions import EndpointConnectionError
from botocore.parsers import ResponseParserError

from duecourse.adapters.targets.aws.executions import MAX_OUTPUT_BYTES, AwsExecutions
from duecourse.adapters.targets.callers import Means
from duecourse.domain.targets.targets import Execution, ExecutionService, Failed, Outcome, Returned
from duecourse.ports import ExecutionUnavailableError
from duecourse.testing.clock import SettableClock
from tests.support.aws_targets import ARNS, TOKEN, Service, refusal
from tests.support.calls import a_run
from tests.support.jobs import NOON

STATES = Execution(ExecutionService.STATES, "arn:aws:states:eu-west-1:123456789012:execution:flow:x")
TASK = Execution(ExecutionService.ECS, "arn:aws:ecs:eu-west-1:123456789012:task/reports/0b8a")
DURABLE = Execution(ExecutionService.LAMBDA, "arn:aws:lambda:eu-west-1:123456789012:function:f:1/durable-execution/x/y")
BATCH = Execution(ExecutionService.BATCH, "4c7599ae", "role")
GLUE = Execution(ExecutionService.GLUE, "load/it/jr_1", "role")
BUILD = Execution(ExecutionService.CODEBUILD, "arn:aws:codebuild:eu-west-1:123456789012:build/app:87", "role")
CONTAINERS = {"overrides": {"containerOverrides": [{"name": "main"}]}, "taskArn": TASK.id, "lastStatus": "STOPPED"}


def access(answer: dict[str, Any] | Exception) -> tuple[AwsExecutions, Service, list[str]]:
    """The access to services that always have this response, and the clients that it has asked for."""
    service, asked = Service(answer), list[str]()
    given = {"AccessKeyId": "a", "SecretAccessKey": "s", "SessionToken": "t", "Expiration": SimpleNamespace()}
    given["Expiration"].timestamp = lambda: NOON + 3600

    def calling(name: str, seconds: int, credentials: object = None) -> Service:
        asked.append(name if credentials is None else f"{name} as the role")
        return Service({"Credentials": given}) if name == "sts" else service

    clients: Any = SimpleNamespace(calling=calling)
    secrets: Any = None
    means = Means(private=False, clock=SettableClock(NOON), arns=ARNS, secrets=secrets, clients=clients)
    return AwsExecutions(means), service, asked


def end(execution: Execution, answer: dict[str, Any] | Exception) -> Outcome | None:
    return access(answer)[0].end_of(execution, a_run())


@pytest.mark.parametrize(
    ("execution", "answer"),
    [
        (STATES, {"status": "RUNNING"}),
        (STATES, {"status": "PENDING_REDRIVE"}),
        (TASK, {"tasks": [{"lastStatus": "DEPROVISIONING"}]}),
        (DURABLE, {"Status": "RUNNING"}),
        (BATCH, {"jobs": [{"status": "RUNNABLE"}]}),
        (GLUE, {"JobRun": {"JobRunState": "STOPPING"}}),
        (BUILD, {"builds": [{"buildStatus": "IN_PROGRESS"}]}),
    ],
)
def test_executions_active_one_has_no_outcome(execution: Execution, answer: dict[str, Any]) -> None:
    assert end(execution, answer) is None


@pytest.mark.parametrize(
    ("execution", "answer", "result"),
    [
        (
            STATES,
            {"status": "SUCCEEDED", "executionArn": STATES.id, "output": '{"rows":3}'},
            {"execution_arn": STATES.id, "output": {"rows": 3}},
        ),
        (
            TASK,
            {
                "tasks": [
                    CONTAINERS | {"containers": [{"name": "log", "exitCode": 143}, {"name": "main", "exitCode": 0}]}
                ]
            },
            {"task_arn": TASK.id, "exit_code": 0},
        ),
        (
            DURABLE,
            {"Status": "SUCCEEDED", "DurableExecutionArn": DURABLE.id, "Result": "not json"},
            {"execution_arn": DURABLE.id, "output": "not json"},
        ),
        (BATCH, {"jobs": [{"status": "SUCCEEDED", "jobId": BATCH.id}]}, {"job_id": BATCH.id}),
        (GLUE, {"JobRun": {"JobRunState": "SUCCEEDED", "Id": "jr_1"}}, {"job_run_id": "jr_1"}),
        (BUILD, {"builds": [{"buildStatus": "SUCCEEDED", "arn": BUILD.id}]}, {"build_arn": BUILD.id}),
    ],
)
def test_executions_success_has_the_result(execution: Execution, answer: dict[str, Any], result: object) -> None:
    assert end(execution, answer) == Returned(result)


@pytest.mark.parametrize(
    ("execution", "answer", "code", "error"),
    [
        (
            STATES,
            {"status": "FAILED", "error": "States.TaskFailed", "cause": "no rows"},
            "States.TaskFailed",
            "its execution ended with FAILED: States.TaskFailed: no rows",
        ),
        (STATES, {"status": "ABORTED"}, "states.ABORTED", "its execution ended with ABORTED"),
        (
            TASK,
            {"tasks": [CONTAINERS | {"containers": [{"name": "main", "exitCode": 3}], "stoppedReason": "Essential"}]},
            "exit.3",
            "its execution ended with exit code 3: exit.3: Essential",
        ),
        (
            TASK,
            {"tasks": [CONTAINERS | {"stopCode": "TaskFailedToStart", "stoppedReason": "no image"}]},
            "TaskFailedToStart",
            "its execution ended with no exit code: TaskFailedToStart: no image",
        ),
        (
            DURABLE,
            {"Status": "FAILED", "Error": {"ErrorType": "ValueError", "ErrorMessage": "no rows"}},
            "ValueError",
            "its execution ended with FAILED: ValueError: no rows",
        ),
        (
            BATCH,
            {"jobs": [{"status": "FAILED", "statusReason": "Essential container", "container": {"exitCode": 1}}]},
            "exit.1",
            "its execution ended with FAILED: exit.1: Essential container",
        ),
        (
            GLUE,
            {"JobRun": {"JobRunState": "TIMEOUT", "ErrorMessage": "too slow"}},
            "glue.TIMEOUT",
            "its execution ended with TIMEOUT: too slow",
        ),
        (
            BUILD,
            {"builds": [{"buildStatus": "FAILED", "phases": [{}, {"contexts": [{"message": "exit status 1"}]}]}]},
            "codebuild.FAILED",
            "its execution ended with FAILED: exit status 1",
        ),
    ],
)
def test_executions_failure_has_code_and_error(
    execution: Execution, answer: dict[str, Any], code: str, error: str
) -> None:
    assert end(execution, answer) == Failed(error, code=code)


@pytest.mark.parametrize(
    ("execution", "answer"),
    [
        (STATES, refusal("ExecutionDoesNotExist", 400)),
        (TASK, {"tasks": [], "failures": [{"reason": "MISSING"}]}),
        (DURABLE, refusal("ResourceNotFoundException", 404)),
        (BATCH, {"jobs": []}),
        (GLUE, refusal("EntityNotFoundException", 400)),
        (BUILD, {"builds": []}),
    ],
)
def test_executions_unknown_one_fails_without_a_retry(execution: Execution, answer: dict[str, Any] | Exception) -> None:
    outcome = end(execution, answer)
    assert isinstance(outcome, Failed)
    assert (outcome.code, outcome.retryable) == ("execution_unknown", False)


def test_executions_output_that_is_too_large_is_cut() -> None:
    large = '"' + "x" * MAX_OUTPUT_BYTES + '"'
    outcome = end(STATES, {"status": "SUCCEEDED", "executionArn": STATES.id, "output": large})
    assert isinstance(outcome, Returned)
    assert outcome.result["output"] == {"truncated": True, "text": large[: MAX_OUTPUT_BYTES // 8]}


def test_executions_output_that_grows_when_it_is_written_again_is_cut() -> None:
    """A number such as 1e300 is longer in the result than in the output."""
    numbers = "[" + ",".join(["1e15"] * (MAX_OUTPUT_BYTES // 6)) + "]"
    outcome = end(STATES, {"status": "SUCCEEDED", "executionArn": STATES.id, "output": numbers})
    assert isinstance(outcome, Returned)
    assert outcome.result["output"]["truncated"] is True


def test_executions_output_that_is_nested_deeply_is_text() -> None:
    deep = "[" * 300 + "]" * 300
    outcome = end(STATES, {"status": "SUCCEEDED", "executionArn": STATES.id, "output": deep})
    assert isinstance(outcome, Returned)
    assert outcome.result["output"] == deep


def test_executions_result_and_error_do_not_contain_the_token_of_the_run() -> None:
    """A state machine that returns its input returns the event that it has received."""
    output = f'{{"callback": {{"token": "{TOKEN}"}}}}'
    outcome = end(STATES, {"status": "SUCCEEDED", "executionArn": STATES.id, "output": output})
    assert isinstance(outcome, Returned)
    assert outcome.result["output"] == {"callback": {"token": "(callback token)"}}
    failed = end(STATES, {"status": "FAILED", "error": TOKEN, "cause": f"no {TOKEN}"})
    assert isinstance(failed, Failed)
    assert TOKEN not in f"{failed.error} {failed.code}"


@pytest.mark.parametrize(
    "error",
    [
        refusal("AccessDenied", 400, "acct 1"),
        EndpointConnectionError(endpoint_url="x"),
        ResponseParserError("Unable to parse acct 1"),
    ],
)
def test_executions_that_cannot_be_asked_say_why_without_the_text_of_aws(error: Exception) -> None:
    executions, _, _ = access(error)
    for ask in (executions.end_of, executions.stop):
        with pytest.raises(ExecutionUnavailableError) as raised:
            ask(STATES, a_run())
        assert str(raised.value) in ("AccessDenied", "EndpointConnectionError", "ResponseParserError")


def test_executions_ecs_that_cannot_describe_a_task_does_not_say_that_it_is_unknown() -> None:
    with pytest.raises(ExecutionUnavailableError, match=r"^INTERNAL$"):
        end(TASK, {"tasks": [], "failures": [{"reason": "INTERNAL"}]})


def test_executions_glue_run_that_was_not_stopped_is_reported() -> None:
    executions, _, _ = access({"Errors": [{"ErrorDetail": {"ErrorCode": "JobRunNotInTerminalStateException"}}]})
    with pytest.raises(ExecutionUnavailableError, match=r"^JobRunNotInTerminalStateException$"):
        executions.stop(GLUE, a_run())


@pytest.mark.parametrize(
    ("execution", "request_"),
    [
        (STATES, {"executionArn": STATES.id}),
        (TASK, {"cluster": "reports", "task": TASK.id}),
        (DURABLE, {"DurableExecutionArn": DURABLE.id}),
        (BATCH, {"jobId": BATCH.id}),
        (GLUE, {"JobName": "load/it", "JobRunIds": ["jr_1"]}),
        (BUILD, {"id": BUILD.id}),
    ],
)
def test_executions_are_stopped_by_their_service(execution: Execution, request_: dict[str, Any]) -> None:
    executions, service, clients = access({})
    executions.stop(execution, a_run())
    (asked,) = service.asked
    assert request_.items() <= asked.items()
    role = execution.role is not None
    assert clients[-1].endswith("as the role") is role
    assert (clients[0] == "sts") is role
