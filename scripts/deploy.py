"""Deploy a stage (`make deploy`).

    .venv/bin/python -m scripts.deploy -c stage=prod [-c NAME=VALUE ...] [options of `cdk deploy`]

The script runs `cdk deploy` and adds two things:

- It first checks that the account has the concurrency that the stage reserves. Without it, CloudFormation fails after
  some minutes.
- It creates a stage that keeps its data in two deployments. The second deployment protects the stack from deletion.
  `cdk deploy` would protect the stack before it creates any resource, and CloudFormation could not roll back a failure.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import boto3
from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError

from duecourse.cli.doctor import topics
from duecourse.cli.doctor.stage import find_stage
from duecourse.cli.terminal import CliError
from infra.settings.config import UNRESERVED_CONCURRENCY, ConfigError, ReservedConcurrency, StageConfig
from infra.settings.deployment_settings import with_deployment_settings
from infra.stages import STAGES, from_context

ROOT = Path(__file__).resolve().parent.parent
UNPROTECTED = ("-c", "deletion_protection=off")

NEVER_MADE = frozenset({"CREATE_FAILED", "ROLLBACK_COMPLETE", "ROLLBACK_FAILED"})
"""The states of a stack whose first deployment failed, with or without a rollback (`--no-rollback`). Such a stack can
only be deleted. `cdk deploy` deletes it and creates it again (AWS CloudFormation User Guide, "Stack status codes").
"""
NOT_DELETED = "DELETE_FAILED"
"""The state of a stack of which some resources could not be deleted. It can neither be updated nor created."""

LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})

IN_REVIEW = "REVIEW_IN_PROGRESS"
"""The state of a stack that has only a change set."""

Clients = Callable[[str], Any]
"""A function that returns a boto3 client by the name of its service."""


@dataclass(frozen=True, slots=True)
class Found:
    """The current stack. Without a status the stack does not exist."""

    status: str | None = None
    protected: bool = False
    outputs: Mapping[str, str] | None = None

    @property
    def never_made(self) -> bool:
        """Whether the first deployment of the stack failed."""
        return self.status in NEVER_MADE

    @property
    def is_new(self) -> bool:
        """Whether the next deployment creates the stack."""
        return self.never_made or self.status in {None, IN_REVIEW}


def deploy(
    arguments: Sequence[str],
    clients: Clients,
    run: Callable[[list[str]], int],
    say: Callable[[str], None],
    *,
    settings: Path,
    endpoint: str | None = None,
) -> int:
    """Check the account and the stack, then deploy. Return the exit code.

    `run` calls `cdk deploy` with arguments. `say` prints one line. `endpoint` is the environment's AWS_ENDPOINT_URL.
    """
    if endpoint is not None and urlsplit(endpoint).hostname in LOOPBACK:
        say(
            f"AWS_ENDPOINT_URL is {endpoint}, a local stack instead of AWS; run this command in a terminal without "
            "the variables that `make local` prints"
        )
        return 1
    try:
        config = _config(arguments, settings)
    except ConfigError as error:
        say(str(error))
        return 1
    try:
        found = _find(clients("cloudformation"), config.stack_name)
        problem = _problem_of_concurrency(config, found, clients)
        if problem is not None:
            say(problem)
            return 1
        if found.status == NOT_DELETED:
            say(
                f"{config.stack_name} was not deleted completely; delete it again (docs/deleting.md), then deploy: "
                f"aws cloudformation delete-stack --stack-name {config.stack_name}"
            )
            return 1
        if found.never_made and found.protected:
            say(
                f"{config.stack_name} was never created; switching off its deletion protection, so that it can be "
                "deleted"
            )
            clients("cloudformation").update_termination_protection(
                StackName=config.stack_name, EnableTerminationProtection=False
            )
    except NoCredentialsError:
        say("there are no AWS credentials; log in to AWS, set AWS_PROFILE and AWS_REGION, and run this again")
        return 1
    except (BotoCoreError, ClientError) as error:
        warning = f"the account and the stack could not be checked: {error}"
        if config.refuses_deletion:
            warning += f". If {config.stack_name} does not exist yet, deploy it with {' '.join(UNPROTECTED)} first"
        say(warning)
        found = Found(status="unknown")
    for step in _steps(arguments, in_two=found.is_new and config.refuses_deletion):
        status = run(step)
        if status:
            return status
    _say_what_is_wrong(config, clients, say)
    return 0


def _say_what_is_wrong(config: StageConfig, clients: Clients, say: Callable[[str], None]) -> None:
    """Warn if no confirmed subscription receives the pages of the deployed stage, or if its lanes exceed the quota of
    the account.
    """
    try:
        quota = int(clients("lambda").get_account_settings()["AccountLimit"]["ConcurrentExecutions"])
        check = topics.judge(topics.subscribers(find_stage(config.stage, clients)))
    except (BotoCoreError, ClientError, CliError) as error:
        say(f"the subscribers and the quota could not be checked: {error}")
        return
    for each in (problem_of_lanes(config, quota=quota), None if check.do is None else f"{check.says}; {check.do}"):
        if each is not None:
            say(each)


def problem_of_lanes(config: StageConfig, *, quota: int) -> str | None:
    """Return a warning if the lanes can use more executions than the account's `quota`, or if the alarm on the quota
    uses another number. Otherwise return None.
    """
    lanes = sum(lane.most_concurrent + lane.most_concurrent_in_bulk for lane in config.lanes.values())
    taken = lanes + config.reserved_concurrency.whole
    if taken > quota:
        return (
            f"stage {config.stage} can use {taken} concurrent executions, and the account has {quota}: a burst "
            "throttles its runs; raise the quota (Service Quotas, AWS Lambda, Concurrent executions), or lower "
            "max_concurrency of the lanes"
        )
    if config.account_concurrency > quota:
        return (
            f"the account has {quota} concurrent executions, not {config.account_concurrency}: set "
            f"account_concurrency of stage {config.stage}, which the alarm concurrency-exhausted watches"
        )
    return None


def _steps(arguments: Sequence[str], *, in_two: bool) -> list[list[str]]:
    """Return the arguments of each deployment."""
    whole = [*arguments]
    return [[*whole, *UNPROTECTED], whole] if in_two else [whole]


def _config(arguments: Sequence[str], settings: Path) -> StageConfig:
    """Return the settings of the stage to deploy. Raises ConfigError."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("-c", "--context", action="append", default=[])
    pairs = (each.partition("=") for each in parser.parse_known_args(arguments)[0].context)
    context = {name: value for name, _, value in pairs}
    return from_context(with_deployment_settings(context.get, settings, STAGES))


def _find(cloudformation: Any, name: str) -> Found:
    try:
        (stack,) = cloudformation.describe_stacks(StackName=name)["Stacks"]
    except ClientError as error:
        if "does not exist" in error.response["Error"].get("Message", ""):
            return Found()
        raise
    outputs = {each["OutputKey"]: each["OutputValue"] for each in stack.get("Outputs", ())}
    return Found(stack["StackStatus"], bool(stack.get("EnableTerminationProtection")), outputs)


def _problem_of_concurrency(config: StageConfig, found: Found, clients: Clients) -> str | None:
    if not config.reserved_concurrency.whole:
        return None
    functions = clients("lambda")
    limit = functions.get_account_settings()["AccountLimit"]
    held = {
        name: functions.get_function_concurrency(FunctionName=found.outputs[output])
        for name in _wishes(config.reserved_concurrency)
        if found.outputs is not None and (output := f"{name.capitalize()}Function") in found.outputs
    }
    return problem_of_concurrency(
        config,
        {name: each.get("ReservedConcurrentExecutions", 0) for name, each in held.items()},
        quota=limit["ConcurrentExecutions"],
        unreserved=limit["UnreservedConcurrentExecutions"],
    )


def problem_of_concurrency(config: StageConfig, held: Mapping[str, int], *, quota: int, unreserved: int) -> str | None:
    """Return a message if the account has too little concurrency for the stage, otherwise None.

    `held` is the current reserved concurrency of the stage's functions by name. Concurrency that one function releases
    does not count for another function, because CloudFormation changes functions in any order.
    """
    wishes = _wishes(config.reserved_concurrency)
    more = sum(max(wish - held.get(name, 0), 0) for name, wish in wishes.items())
    missing = more + UNRESERVED_CONCURRENCY - unreserved
    if not more or missing <= 0:
        return None
    return (
        f"stage {config.stage} reserves {config.reserved_concurrency.whole} executions "
        f"({', '.join(f'{name} {wish}' for name, wish in wishes.items())}), {more} more than now; {unreserved} of "
        f"the account's {quota} are free, of which AWS keeps {UNRESERVED_CONCURRENCY}: {missing} are missing; raise "
        "the quota (Service Quotas, AWS Lambda, Concurrent executions), or deploy with -c reserved_concurrency=none"
    )


def _wishes(reserved: ReservedConcurrency) -> dict[str, int]:
    wishes = asdict(reserved)
    return {name: wish for name, wish in wishes.items() if wish}


def _clients(arguments: Sequence[str]) -> Clients:
    """Return a factory of clients with the credentials and the region that the CDK uses. The factory raises
    BotoCoreError if the profile does not exist.
    """
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--profile")
    profile = parser.parse_known_args(arguments)[0].profile

    def client(service: str) -> Any:
        session = boto3.Session(profile_name=profile)
        # botocore reads only AWS_DEFAULT_REGION. The CDK reads both variables, and uses us-east-1 by default.
        return session.client(service, os.environ.get("AWS_REGION") or session.region_name or "us-east-1")

    return client


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    given = sys.argv[1:] if arguments is None else [*arguments]

    def run(step: list[str]) -> int:
        return subprocess.run(
            [ROOT / "node_modules" / ".bin" / "cdk", "deploy", *step], cwd=ROOT, check=False
        ).returncode

    def say(line: str) -> None:
        sys.stderr.write(f"duecourse: {line}\n")

    return deploy(
        given, _clients(given), run, say, settings=ROOT / "settings", endpoint=os.environ.get("AWS_ENDPOINT_URL")
    )


if __name__ == "__main__":
    sys.exit(main())
