"""Reads and stops the executions that calls have started in AWS services."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, assert_never

import orjson
from botocore.exceptions import BotoCoreError, ClientError
from botocore.parsers import ResponseParserError

from duecourse.adapters.targets.aws.aws_call import HANDOVER_SECONDS, Roles, said, session_name
from duecourse.adapters.targets.callers import Means
from duecourse.adapters.targets.http.connection import Deadline
from duecourse.adapters.targets.invocation import cut
from duecourse.domain.runs.callbacks import TOKEN
from duecourse.domain.runs.states import Run
from duecourse.domain.targets.targets import Execution, ExecutionService, Failed, Outcome, Returned
from duecourse.ports import ExecutionUnavailableError

MAX_OUTPUT_BYTES = 200 * 1024
"""The largest output that is kept whole. A message has at most 256 KB, and JSON strings grow by escapes."""

_ERROR_BYTES = 1024
_REASON = "The run in Duecourse no longer waits for the end of this execution."

Found = Mapping[str, Any]

_ERRORS = (ClientError, BotoCoreError, ResponseParserError, TimeoutError)


_CLIENTS: Mapping[ExecutionService, str] = {
    ExecutionService.STATES: "stepfunctions",
    ExecutionService.ECS: "ecs",
    ExecutionService.LAMBDA: "lambda",
    ExecutionService.BATCH: "batch",
    ExecutionService.GLUE: "glue",
    ExecutionService.CODEBUILD: "codebuild",
}
"""The services by boto3's names."""


class AwsExecutions:
    """Implementation of ports.Executions. Safe to share between threads."""

    def __init__(self, means: Means) -> None:
        self._clients = means.clients
        self._roles = Roles(means.clock, lambda seconds: means.clients.calling("sts", seconds), means.arns)

    def end_of(self, execution: Execution, run: Run) -> Outcome | None:
        """Return how the execution of a run ended; None while it is active. Raises ExecutionUnavailableError."""
        try:
            found = _read(self._client_for(execution, run), execution)
        except _ERRORS as problem:
            raise ExecutionUnavailableError(_reason(problem)) from problem
        if found is None:
            text = f"its execution is no longer known to {execution.service}; its result is unknown"
            return Failed(text, retryable=False, code="execution_unknown")
        return _JUDGES[execution.service](found)

    def stop(self, execution: Execution, run: Run) -> None:
        """Request the end of a run's execution. Raises ExecutionUnavailableError."""
        try:
            _stop(self._client_for(execution, run), execution)
        except _ERRORS as problem:
            raise ExecutionUnavailableError(_reason(problem)) from problem

    def _client_for(self, execution: Execution, run: Run) -> Any:
        credentials = None
        if execution.role is not None:
            credentials = self._roles.assume(execution.role, session_name(run), Deadline(HANDOVER_SECONDS))
        return self._clients.calling(_CLIENTS[execution.service], HANDOVER_SECONDS, credentials)


def _reason(problem: Exception) -> str:
    """Return the code of an error of AWS. Its text may name accounts and roles that are not the tenant's."""
    if isinstance(problem, ClientError):
        return str(problem.response.get("Error", {}).get("Code") or "error")
    return type(problem).__name__


def _failed(service: ExecutionService, status: str, code: object = None, message: object = None) -> Failed:
    text = said(f"its execution ended with {status}", str(code or ""), message)
    text, code = TOKEN.sub("(callback token)", text), code and TOKEN.sub("(callback token)", str(code))
    return Failed(cut(text, _ERROR_BYTES), code=cut(str(code or f"{service}.{status}"), 128))


def _output(text: str | None) -> object:
    """Return an output, which is JSON; its text if it is not, or if it is nested too deeply to be written again. If it
    is too large, return the beginning of its text.
    """
    if text is None:
        return None
    text = TOKEN.sub("(callback token)", text)  # a state machine may return its input
    try:
        value = orjson.loads(text)
        size = len(orjson.dumps(value))  # larger than the text, if it has numbers such as 1e15
    except (orjson.JSONDecodeError, TypeError):  # orjson reads deeper values than it writes
        value, size = text, len(orjson.dumps(text))
    if size > MAX_OUTPUT_BYTES:
        return {"truncated": True, "text": cut(text, MAX_OUTPUT_BYTES // 8)}
    return value


def judge_states(found: Found) -> Outcome | None:
    """Judge the response of DescribeExecution."""
    match str(found["status"]):
        case "SUCCEEDED":
            return Returned({"execution_arn": found["executionArn"], "output": _output(found.get("output"))})
        case "RUNNING" | "PENDING_REDRIVE":
            return None
        case status:
            return _failed(ExecutionService.STATES, status, found.get("error"), found.get("cause"))


def judge_task(found: Found) -> Outcome | None:
    """Judge a task of DescribeTasks by the container that received the event."""
    if found.get("lastStatus") != "STOPPED":
        return None
    chosen = {each.get("name") for each in found.get("overrides", {}).get("containerOverrides", ())}
    container: Found = next((each for each in found.get("containers", ()) if each.get("name") in chosen), {})
    status, reason = container.get("exitCode"), container.get("reason") or found.get("stoppedReason")
    if status == 0:
        return Returned({"task_arn": found["taskArn"], "exit_code": 0})
    if status is None:  # it was not started, or it was stopped before it could end
        return _failed(ExecutionService.ECS, "no exit code", found.get("stopCode"), reason)
    return _failed(ExecutionService.ECS, f"exit code {status}", f"exit.{status}", reason)


def judge_durable(found: Found) -> Outcome | None:
    """Judge the response of GetDurableExecution."""
    match str(found["Status"]):
        case "SUCCEEDED":
            arn = found["DurableExecutionArn"]
            return Returned({"execution_arn": arn, "output": _output(found.get("Result"))})
        case "RUNNING":
            return None
        case status:
            error = found.get("Error") or {}
            return _failed(ExecutionService.LAMBDA, status, error.get("ErrorType"), error.get("ErrorMessage"))


def judge_batch(found: Found) -> Outcome | None:
    """Judge a job of DescribeJobs."""
    match str(found["status"]):
        case "SUCCEEDED":
            return Returned({"job_id": found["jobId"]})
        case "FAILED":
            status = found.get("container", {}).get("exitCode")
            code = None if status is None else f"exit.{status}"
            return _failed(ExecutionService.BATCH, "FAILED", code, found.get("statusReason"))
        case _:
            return None


def judge_glue(found: Found) -> Outcome | None:
    """Judge the response of GetJobRun."""
    match str(found["JobRunState"]):
        case "SUCCEEDED":
            return Returned({"job_run_id": found["Id"]})
        case "FAILED" | "TIMEOUT" | "STOPPED" | "ERROR" | "EXPIRED" as status:
            return _failed(ExecutionService.GLUE, status, None, found.get("ErrorMessage"))
        case _:
            return None


def judge_build(found: Found) -> Outcome | None:
    """Judge a build of BatchGetBuilds."""
    match str(found["buildStatus"]):
        case "SUCCEEDED":
            return Returned({"build_arn": found["arn"]})
        case "IN_PROGRESS":
            return None
        case status:
            phases = [text for phase in found.get("phases", ()) for text in phase.get("contexts", ()) if text]
            message = next((each["message"] for each in phases if each.get("message")), None)
            return _failed(ExecutionService.CODEBUILD, status, None, message)


_JUDGES: Mapping[ExecutionService, Callable[[Found], Outcome | None]] = {
    ExecutionService.STATES: judge_states,
    ExecutionService.ECS: judge_task,
    ExecutionService.LAMBDA: judge_durable,
    ExecutionService.BATCH: judge_batch,
    ExecutionService.GLUE: judge_glue,
    ExecutionService.CODEBUILD: judge_build,
}


def _read(client: Any, execution: Execution) -> Found | None:
    """Return what a service knows about an execution; None if it does not know it any longer. Raises botocore's
    errors.
    """
    # The clients of batch, glue and codebuild have the permissions of the job's role.
    assumed, identity = client, execution.id
    match execution.service:
        case ExecutionService.STATES:
            return _known("ExecutionDoesNotExist", partial(client.describe_execution, executionArn=identity))
        case ExecutionService.ECS:
            answer = client.describe_tasks(cluster=_cluster(identity), tasks=[identity])
            return _described(answer.get("tasks"), answer.get("failures"))
        case ExecutionService.LAMBDA:
            return _known(
                "ResourceNotFoundException", partial(client.get_durable_execution, DurableExecutionArn=identity)
            )
        case ExecutionService.BATCH:
            return _first(assumed.describe_jobs(jobs=[identity]).get("jobs"))
        case ExecutionService.GLUE:
            name, _, run = identity.rpartition("/")
            found = _known("EntityNotFoundException", partial(assumed.get_job_run, JobName=name, RunId=run))
            return None if found is None else found["JobRun"]
        case ExecutionService.CODEBUILD:
            return _first(assumed.batch_get_builds(ids=[identity]).get("builds"))
        case other:
            assert_never(other)


def _stop(client: Any, execution: Execution) -> None:
    assumed, identity = client, execution.id
    match execution.service:
        case ExecutionService.STATES:
            client.stop_execution(executionArn=identity, cause=_REASON)
        case ExecutionService.ECS:
            client.stop_task(cluster=_cluster(identity), task=identity, reason=_REASON)
        case ExecutionService.LAMBDA:
            client.stop_durable_execution(DurableExecutionArn=identity)
        case ExecutionService.BATCH:
            assumed.terminate_job(jobId=identity, reason=_REASON)
        case ExecutionService.GLUE:
            name, _, run = identity.rpartition("/")
            if refused := assumed.batch_stop_job_run(JobName=name, JobRunIds=[run]).get("Errors"):
                raise ExecutionUnavailableError(str(refused[0].get("ErrorDetail", {}).get("ErrorCode", "error")))
        case ExecutionService.CODEBUILD:
            assumed.stop_build(id=identity)
        case other:
            assert_never(other)


def _first(found: Any) -> Found | None:
    return next(iter(found or ()), None)


def _described(tasks: Any, failures: Any) -> Found | None:
    """Return the task; None if ECS does not know it any longer. Raises ExecutionUnavailableError."""
    reason = next((str(each.get("reason")) for each in failures or ()), None)
    if not tasks and reason not in (None, "MISSING"):
        raise ExecutionUnavailableError(reason or "error")
    return _first(tasks)


def _cluster(arn: str) -> str:
    """Return the cluster of a task: `arn:aws:ecs:eu-west-1:123456789012:task/reports/0b8a…`."""
    return arn.split("/")[-2]


def _known(code: str, read: Callable[[], Found]) -> Found | None:
    """Return what a service knows; None after an error with this code."""
    try:
        return read()
    except ClientError as refused:
        if refused.response.get("Error", {}).get("Code") == code:
            return None
        raise
