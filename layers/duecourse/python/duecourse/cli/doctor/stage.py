"""The examined stage: its outputs, its age, the clients, and the time by AWS's clock."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from functools import cache
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from duecourse.cli.doctor.facts import Skew
from duecourse.cli.local.emulator import aws
from duecourse.cli.local.emulator.environment import REGION
from duecourse.cli.local.emulator.environment import STAGE as LOCAL
from duecourse.cli.terminal import UsageError
from duecourse.client.aws_session import own_session

CONNECT_SECONDS, READ_SECONDS = 5, 20

Clients = Callable[[str], Any]
"""Returns a boto3 client by the name of its service."""


@dataclass(frozen=True, slots=True)
class Stage:
    """A deployed stage. `now` is the time (UTC seconds) by AWS's clock at the start of the examination."""

    name: str
    outputs: Mapping[str, str]
    age: float
    now: float
    skew: Skew
    clients: Clients

    @property
    def stack(self) -> str:
        """The name of its stack."""
        return f"Duecourse-{self.name}"

    @property
    def is_local(self) -> bool:
        """Whether the stage is in the emulator, which has no metrics and no quotas of its own."""
        return self.name == LOCAL

    @property
    def functions(self) -> dict[str, str]:
        """The functions in the outputs by the first part of the output's name: `Tick`, `ExecuteHigh`."""
        ours = {name: value for name, value in self.outputs.items() if name.endswith("Function")}
        return {name.removesuffix("Function"): value for name, value in ours.items()}

    def worker_settings(self) -> dict[str, str]:
        """Return the environment variables of the workers. Raises ClientError."""
        worker = self.clients("lambda").get_function_configuration(FunctionName=self.functions["ExecuteHigh"])
        variables: dict[str, str] = worker["Environment"]["Variables"]
        return variables


def find_stage(name: str, clients: Clients) -> Stage:
    """Return the stage of this name. Raises UsageError (exit code 2) if it does not exist or cannot be read."""
    stack = f"Duecourse-{name}"
    try:
        asked = time.time()
        answer = clients("cloudformation").describe_stacks(StackName=stack)
        answered = time.time()
    except ClientError as error:
        raise UsageError(
            f"the stack {stack} cannot be read: {error.response['Error'].get('Message', error)}"
        ) from error
    except BotoCoreError as error:
        remedy = "log in to AWS, and set AWS_PROFILE and AWS_REGION to the account and region of the stage"
        raise UsageError(f"AWS cannot be reached: {str(error).rstrip('.')}; {remedy}") from error
    (found,) = answer["Stacks"]
    skew = _skew(answer["ResponseMetadata"]["HTTPHeaders"].get("date", ""), asked, answered)
    now = answered - skew.ahead
    outputs = {each["OutputKey"]: each["OutputValue"] for each in found.get("Outputs", ())}
    return Stage(name, outputs, now - found["CreationTime"].timestamp(), now, skew, clients)


def clients_for(name: str, region: str | None = None) -> Clients:
    """Return clients with the caller's credentials, for this region or the caller's. Clients for the local stage can
    only reach this machine.

    Raises UsageError if no local stack is running.
    """
    if name == LOCAL:
        from duecourse.cli.local.local import running_endpoint

        endpoint = os.environ.get("AWS_ENDPOINT_URL") or running_endpoint()
        if endpoint is None:
            raise UsageError("no local stack is running here; start it with `duecourse local`, or name a --stage")
        return cache(lambda service: aws.client(endpoint, service, region or REGION))
    return cache(lambda service: _of_the_caller(service, region))


def _of_the_caller(service: str, region: str | None) -> Any:
    from botocore.config import Config

    config = Config(
        retries={"mode": "standard", "max_attempts": 3}, connect_timeout=CONNECT_SECONDS, read_timeout=READ_SECONDS
    )
    return own_session().create_client(service, region_name=region, config=config)


def _skew(date: str, asked: float, answered: float) -> Skew:
    """Return the difference of the clocks. The header has whole seconds, rounded down; without it, the difference is
    zero.
    """
    try:
        theirs = parsedate_to_datetime(date).timestamp() + 0.5
    except (ValueError, OverflowError):
        return Skew(0.0)
    return Skew((asked + answered) / 2 - theirs)
