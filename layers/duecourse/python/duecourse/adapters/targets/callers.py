"""One caller a kind of target, made when it is first called: a cold start pays only for what its first run calls."""

from __future__ import annotations

from functools import cached_property, partial
from typing import TYPE_CHECKING

from duecourse.adapters.aws import AwsClients
from duecourse.adapters.targets.place import Place
from duecourse.ports import Clock, Secrets

if TYPE_CHECKING:
    from duecourse.adapters.targets.aws_call import AwsCaller
    from duecourse.adapters.targets.ecs_task import EcsCaller
    from duecourse.adapters.targets.event_bus import EventBusCaller
    from duecourse.adapters.targets.http import HttpCaller
    from duecourse.adapters.targets.lambda_function import LambdaCaller
    from duecourse.adapters.targets.sns_topic import SnsCaller
    from duecourse.adapters.targets.sqs_queue import SqsCaller
    from duecourse.adapters.targets.state_machine import StateMachineCaller


class Callers:
    """The callers of a process, each shared by its threads. Two threads that are first at once may each make one."""

    def __init__(self, *, private: bool, clock: Clock, place: Place, secrets: Secrets, clients: AwsClients) -> None:
        """`private` allows HTTP targets at addresses that are not public."""
        self._private = private
        self._clock = clock
        self._place = place
        self._secrets = secrets
        self._clients = clients

    @cached_property
    def http(self) -> HttpCaller:
        """Of HTTP endpoints."""
        from duecourse.adapters.targets.http import HttpCaller

        return HttpCaller(self._clock, private=self._private, secrets=self._secrets)

    @cached_property
    def functions(self) -> LambdaCaller:
        """Of Lambda functions."""
        from duecourse.adapters.targets.lambda_function import LambdaCaller

        return LambdaCaller(self._clock, partial(self._clients.calling, "lambda"))

    @cached_property
    def queues(self) -> SqsCaller:
        """Of SQS queues."""
        from duecourse.adapters.targets.sqs_queue import SqsCaller

        return SqsCaller(self._clock, partial(self._clients.calling, "sqs"))

    @cached_property
    def topics(self) -> SnsCaller:
        """Of SNS topics."""
        from duecourse.adapters.targets.sns_topic import SnsCaller

        return SnsCaller(self._clock, partial(self._clients.calling, "sns"), self._place)

    @cached_property
    def buses(self) -> EventBusCaller:
        """Of EventBridge buses."""
        from duecourse.adapters.targets.event_bus import EventBusCaller

        return EventBusCaller(self._clock, partial(self._clients.calling, "events"))

    @cached_property
    def machines(self) -> StateMachineCaller:
        """Of Step Functions state machines."""
        from duecourse.adapters.targets.state_machine import StateMachineCaller

        return StateMachineCaller(self._clock, partial(self._clients.calling, "stepfunctions"), self._place)

    @cached_property
    def tasks(self) -> EcsCaller:
        """Of Fargate tasks."""
        from duecourse.adapters.targets.ecs_task import EcsCaller

        return EcsCaller(self._clock, partial(self._clients.calling, "ecs"))

    @cached_property
    def actions(self) -> AwsCaller:
        """Of any AWS API."""
        from duecourse.adapters.targets.aws_call import AwsCaller
        from duecourse.adapters.targets.roles import Roles

        roles = Roles(self._clock, partial(self._clients.calling, "sts"), self._place)
        return AwsCaller(self._clock, self._clients.calling, roles)
