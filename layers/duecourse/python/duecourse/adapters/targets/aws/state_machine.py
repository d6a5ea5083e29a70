"""Step Functions state machines as targets."""

from __future__ import annotations

from functools import partial

from botocore.exceptions import ClientError

from duecourse.adapters.targets.aws.aws_call import ServiceCaller, started, wait_of
from duecourse.adapters.targets.aws.names import attempt_name
from duecourse.adapters.targets.http.connection import Deadline
from duecourse.adapters.targets.invocation import message_text
from duecourse.domain.targets.targets import Execution, ExecutionService, Outcome, Returned, StepFunctionsTarget
from duecourse.ports import Call

_NAME_CHARACTERS = 80


class StateMachineCaller(ServiceCaller):
    """Starts executions in the stage's account and region."""

    def call(self, call: Call, target: StepFunctionsTarget) -> Outcome:
        """Start an execution. A started execution is a success, regardless of its later result, unless the job follows
        it until its end. The result has the execution's ARN.

        The execution is named after the attempt, so an existing one was started by this attempt.
        """
        return started(f"state machine {target.machine}", call, self._clock, partial(self._start, call, target))

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
        # Express workflows do not report their end.
        execution = None if ":express:" in arn else Execution(ExecutionService.STATES, arn)
        return Returned({"execution_arn": arn}, execution)
