"""One caller a kind of target, made when it is first called: a cold start pays only for what its first run calls."""

from __future__ import annotations

from functools import partial
from typing import Any, Protocol, assert_never

from duecourse.adapters.aws.clients import AwsClients
from duecourse.adapters.targets.aws.names import Arns
from duecourse.domain.targets.targets import (
    AwsTarget,
    CallableTarget,
    EcsTarget,
    EventBridgeTarget,
    HttpTarget,
    LambdaTarget,
    Outcome,
    SnsTarget,
    SqsTarget,
    StepFunctionsTarget,
)
from duecourse.ports import Call, Clock, Secrets


class TargetCaller(Protocol):
    """Calls targets of one kind. Safe to share between threads."""

    def call(self, call: Call, target: Any) -> Outcome:
        """Call the target and judge its answer; never raises for what the target does."""


class Callers:
    """The callers of a process, each shared by its threads. Two threads that are first at once may each make one."""

    def __init__(self, *, private: bool, clock: Clock, arns: Arns, secrets: Secrets, clients: AwsClients) -> None:
        """`private` allows HTTP targets at addresses that are not public."""
        self._private = private
        self._clock = clock
        self._arns = arns
        self._secrets = secrets
        self._calling = clients.calling
        self._made: dict[type, TargetCaller] = {}

    def of(self, target: CallableTarget) -> TargetCaller:
        """The caller of this kind of target."""
        kind = type(target)
        if kind not in self._made:
            self._made[kind] = self._make(target)
        return self._made[kind]

    def _make(self, target: CallableTarget) -> TargetCaller:
        clock, calling = self._clock, self._calling
        match target:
            case HttpTarget():
                from duecourse.adapters.targets.http.http import HttpCaller

                return HttpCaller(clock, private=self._private, secrets=self._secrets)
            case LambdaTarget():
                from duecourse.adapters.targets.aws.lambda_function import LambdaCaller

                return LambdaCaller(clock, partial(calling, "lambda"))
            case SqsTarget():
                from duecourse.adapters.targets.aws.message_targets import SqsCaller

                return SqsCaller(clock, partial(calling, "sqs"))
            case SnsTarget():
                from duecourse.adapters.targets.aws.message_targets import SnsCaller

                return SnsCaller(clock, partial(calling, "sns"), self._arns)
            case EventBridgeTarget():
                from duecourse.adapters.targets.aws.message_targets import EventBusCaller

                return EventBusCaller(clock, partial(calling, "events"))
            case StepFunctionsTarget():
                from duecourse.adapters.targets.aws.state_machine import StateMachineCaller

                return StateMachineCaller(clock, partial(calling, "stepfunctions"), self._arns)
            case EcsTarget():
                from duecourse.adapters.targets.aws.ecs_task import EcsCaller

                return EcsCaller(clock, partial(calling, "ecs"))
            case AwsTarget():
                from duecourse.adapters.targets.aws.aws_call import AwsCaller
                from duecourse.adapters.targets.aws.roles import Roles

                return AwsCaller(clock, calling, Roles(clock, partial(calling, "sts"), self._arns))
            case other:
                assert_never(other)
