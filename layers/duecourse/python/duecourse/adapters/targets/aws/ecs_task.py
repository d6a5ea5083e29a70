"""Fargate tasks as targets."""

from __future__ import annotations

from functools import partial
from typing import Any

import orjson

from duecourse.adapters.targets.aws.aws_call import ServiceCaller, said, started, wait_of
from duecourse.adapters.targets.aws.names import attempt_name
from duecourse.adapters.targets.http.connection import Deadline
from duecourse.adapters.targets.invocation import message_text
from duecourse.domain.jobs.job import Completion
from duecourse.domain.targets.executions import NAME_PREFIX
from duecourse.domain.targets.targets import EcsTarget, Execution, ExecutionService, Failed, Outcome, Returned
from duecourse.ports import Call

EVENT_VARIABLE = "DUECOURSE_EVENT"
"""The environment variable of the container that contains the event."""

_OVERRIDES_CHARACTERS = 8192
_TOKEN_CHARACTERS = 64
_STARTED_BY_CHARACTERS = 128
_STARTED_BY_PREFIX = "duecourse/"


class EcsCaller(ServiceCaller):
    """Runs tasks on clusters in the stage's account and region."""

    def call(self, call: Call, target: EcsTarget) -> Outcome:
        """Run a task. A task that ECS accepts is a success, regardless of its later result, unless the job follows it
        until its end. The result has the task's ARN.

        Retryable, in addition to the usual errors: every reason of ECS for not placing a task. Not retryable: an event
        that is too large for ECS, which accepts 8,192 characters of overrides.
        """
        name = f"task {target.task_definition} on cluster {target.cluster}"
        return started(name, call, self._clock, partial(self._run, name, call, target))

    def _run(self, name: str, call: Call, target: EcsTarget, deadline: Deadline) -> Outcome:
        event = {"name": EVENT_VARIABLE, "value": message_text(call)}
        overrides = {"containerOverrides": [{"name": target.container, "environment": [event]}]}
        if (size := len(orjson.dumps(overrides))) > _OVERRIDES_CHARACTERS:
            text = f"{name} was not run: the event has {size} characters, and ECS accepts {_OVERRIDES_CHARACTERS}"
            return Failed(text, retryable=False, code="event_too_large")
        prefix = NAME_PREFIX if call.job.completion is Completion.END else _STARTED_BY_PREFIX
        answer = self._client_for(wait_of(deadline)).run_task(
            cluster=target.cluster,
            taskDefinition=target.task_definition,
            launchType="FARGATE",
            count=1,
            networkConfiguration={"awsvpcConfiguration": _network(target)},
            overrides=overrides,
            clientToken=attempt_name(call, _TOKEN_CHARACTERS),
            startedBy=f"{prefix}{call.run.tenant}/{call.run.job_id}"[:_STARTED_BY_CHARACTERS],
        )
        if tasks := answer.get("tasks"):
            arn: str = tasks[0]["taskArn"]
            return Returned({"task_arn": arn}, Execution(ExecutionService.ECS, arn))
        failure: dict[str, Any] = next(iter(answer.get("failures", ())), {})
        reason = str(failure.get("reason") or "no reason given")
        detail = None if failure.get("detail") is None else str(failure["detail"])
        return Failed(said(f"{name} was not run", reason, None), code=reason, detail=detail)


def _network(target: EcsTarget) -> dict[str, Any]:
    return {
        "subnets": list(target.subnets),
        "securityGroups": list(target.security_groups),
        "assignPublicIp": "ENABLED" if target.public_ip else "DISABLED",
    }
