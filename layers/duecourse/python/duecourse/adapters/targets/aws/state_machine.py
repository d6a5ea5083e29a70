"""Step Functions state machines as targets."""

from __future__ import annotations

from functools import partial
from typing import Self

from botocore.exceptions import ClientError

from duecourse.adapters.targets.aws.aws_call import ClientFor, handed_over, wait_of
from duecourse.adapters.targets.aws.names import Arns, attempt_name
from duecourse.adapters.targets.callers import Means
from duecourse.adapters.targets.http.connection import Deadline
from duecourse.adapters.targets.invocation import message_text
from duecourse.domain.targets.targets import Outcome, Returned, StepFunctionsTarget
from duecourse.ports import Call, Clock

_NAME_CHARACTERS = 80


class StateMachineCaller:
    """Starts executions in the stage's account and region. Safe to share between threads."""

    def __init__(self, clock: Clock, client_for: ClientFor, arns: Arns) -> None:
        self._clock = clock
        self._client_for = client_for
        self._arns = arns

    @classmethod
    def made_of(cls, means: Means, client_for: ClientFor) -> Self:
        """Return the caller of a process."""
        return cls(means.clock, client_for, means.arns)

    def call(self, call: Call, target: StepFunctionsTarget) -> Outcome:
        """Start an execution. A started execution is a success, whatever its later result. The result has the
        execution's ARN.

        The execution is named after the attempt, so an existing one was started by this attempt.
        """
        return handed_over(f"state machine {target.machine}", call, self._clock, partial(self._start, call, target))

    def _start(self, call: Call, target: StepFunctionsTarget, deadline: Deadline) -> Outcome:
        name = attempt_name(call, _NAME_CHARACTERS)
        client = self._client_for(wait_of(deadline))
        try:
            answer = client.start_execution(
                stateMachineArn=self._arns.arn("states", f"stateMachine:{target.machine}"),
                name=name,
                input=message_text(call),
            )
        except ClientError as refused:
            if refused.response.get("Error", {}).get("Code") != "ExecutionAlreadyExists":
                raise
            arn = self._arns.arn("states", f"execution:{target.machine}:{name}")
        else:
            arn = answer["executionArn"]
        return Returned({"execution_arn": arn})
