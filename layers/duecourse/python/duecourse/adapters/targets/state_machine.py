"""Step Functions state machines as targets."""

from __future__ import annotations

from botocore.exceptions import ClientError

from duecourse.adapters.targets.aws_errors import HANDOVER_SECONDS, ClientFor, attempted, wait_of
from duecourse.adapters.targets.deadline import Deadline
from duecourse.adapters.targets.names import attempt_name
from duecourse.adapters.targets.place import Place
from duecourse.adapters.targets.queued import message_text
from duecourse.domain.targets import Outcome, StepFunctionsTarget, Succeeded
from duecourse.ports import Call, Clock

_NAME_CHARACTERS = 80


class StateMachineCaller:
    """Starts executions of the stage's own account and region. Safe to share between threads."""

    def __init__(self, clock: Clock, client_for: ClientFor, place: Place) -> None:
        self._clock = clock
        self._client_for = client_for
        self._place = place

    def call(self, call: Call, target: StepFunctionsTarget) -> Outcome:
        """An execution that was started succeeds, whatever becomes of it; the result names it.

        It is named after the attempt, so one that exists already is this attempt's own.
        """
        return attempted(
            f"state machine {target.machine}",
            call,
            self._clock,
            lambda deadline: self._start(call, target, deadline),
            longest=HANDOVER_SECONDS,
        )

    def _start(self, call: Call, target: StepFunctionsTarget, deadline: Deadline) -> Outcome:
        name = attempt_name(call, _NAME_CHARACTERS)
        client = self._client_for(wait_of(deadline))
        try:
            answer = client.start_execution(
                stateMachineArn=self._place.arn("states", f"stateMachine:{target.machine}"),
                name=name,
                input=message_text(call),
            )
        except ClientError as refused:
            if refused.response.get("Error", {}).get("Code") != "ExecutionAlreadyExists":
                raise
            arn = self._place.arn("states", f"execution:{target.machine}:{name}")
        else:
            arn = answer["executionArn"]
        return Succeeded({"execution_arn": arn})
