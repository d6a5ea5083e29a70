"""Any call of an AWS API as a target, in the name of a role of the job's own."""

from __future__ import annotations

from functools import partial
from typing import Any, Protocol, Self

from botocore import xform_name
from botocore.exceptions import ClientError

from duecourse.adapters.aws.clients import Credentials
from duecourse.adapters.targets.aws.aws_errors import STALE_CREDENTIALS, ClientFor, attempted, wait_of
from duecourse.adapters.targets.aws.jsonable import result_of
from duecourse.adapters.targets.aws.roles import Roles
from duecourse.adapters.targets.callers import Means
from duecourse.adapters.targets.http.deadline import Deadline
from duecourse.adapters.targets.invocation import call_values
from duecourse.domain.runs.rendering import render_document
from duecourse.domain.targets.targets import AwsTarget, Failed, Outcome, Returned
from duecourse.ports import Call, Clock


class ClientInName(Protocol):
    """Gives a client of a service with a read time-out in seconds, without retries, acting with credentials."""

    def __call__(self, service: str, seconds: int, credentials: Credentials) -> Any:
        """The client; raises BotoCoreError for an unknown service."""


class AwsCaller:
    """Calls actions in the stage's own account and region. Safe to share between threads.

    Which actions and roles a job may name was checked when it was created, and what a role may do is its own policy.
    """

    def __init__(self, clock: Clock, client_for: ClientInName, roles: Roles) -> None:
        self._clock = clock
        self._client_for = client_for
        self._roles = roles

    @classmethod
    def made_of(cls, means: Means, client_for: ClientFor) -> Self:
        """The caller of a process; `client_for` is that of STS."""
        return cls(means.clock, means.clients.calling, Roles(means.clock, client_for, means.arns))

    def call(self, call: Call, target: AwsTarget) -> Outcome:
        """An answer without an error succeeds; the result is the answer.

        Not retryable beside the usual: an action that the service does not have, parameters that it does not know.
        """
        name = f"{target.service}:{target.action}"
        return attempted(name, call, self._clock, partial(self._ask, name, call, target))

    def _ask(self, name: str, call: Call, target: AwsTarget, deadline: Deadline) -> Outcome:
        parameters = render_document(target.parameters, call_values(call))
        credentials = self._roles.assume(target.role, call, deadline)
        client = self._client_for(target.service, wait_of(deadline), credentials)
        method = xform_name(target.action)
        if problem := _problem(client, method, target.action, parameters):
            return Failed(f"{name} was not called: {problem}", retryable=False, code="ParamValidation")
        try:
            answer = getattr(client, method)(**parameters)
        except ClientError as refused:
            if refused.response.get("Error", {}).get("Code") in STALE_CREDENTIALS:
                self._roles.forget(target.role, call)
            raise
        return Returned(result_of(answer, deadline))


def _problem(client: Any, method: str, action: str, parameters: Any) -> str | None:
    """What botocore would not say, or not plainly. Types of values are its own to check."""
    if client.meta.method_to_api_mapping.get(method) != action:
        return "the service has no such action"
    model = client.meta.service_model.operation_model(action)
    if model.has_event_stream_output or model.has_event_stream_input:
        return "actions that stream events are not supported"
    if not isinstance(parameters, dict):
        return "its parameters must be an object"
    known = model.input_shape.members if model.input_shape else {}
    if unknown := [name for name in parameters if name not in known]:
        return f"it has no parameter {unknown[0]}"
    return None
