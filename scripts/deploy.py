"""Deploys a stage: what `make deploy` runs.

    .venv/bin/python -m scripts.deploy -c stage=prod [-c NAME=VALUE ...] [options of `cdk deploy`]

Two things around `cdk deploy`. Before it, whether the account has the concurrency that the stage reserves: without it
CloudFormation fails after minutes. And a stage that keeps its data is made in two deployments, the second of which
protects it from deletion: `cdk deploy` would protect it before anything is made, and CloudFormation could not take back
what fails.
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

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from infra.settings.config import UNRESERVED_CONCURRENCY, ConfigError, ReservedConcurrency, StageConfig
from infra.settings.deployment_settings import with_deployment_settings
from infra.stages import STAGES, from_context

ROOT = Path(__file__).resolve().parent.parent
UNPROTECTED = ("-c", "deletion_protection=off")

NEVER_MADE = frozenset({"ROLLBACK_COMPLETE", "ROLLBACK_FAILED"})
"""What is left of a stack whose first deployment failed: it can only be deleted, and `cdk deploy` does so before it
creates it again (AWS CloudFormation User Guide, "Stack status codes").
"""
IN_REVIEW = "REVIEW_IN_PROGRESS"
"""A stack of which there is a change set and nothing else."""

Clients = Callable[[str], Any]
"""A boto3 client by the name of its service."""


@dataclass(frozen=True, slots=True)
class Found:
    """The stack as it is; without a status there is none."""

    status: str | None = None
    protected: bool = False
    outputs: Mapping[str, str] | None = None

    @property
    def never_made(self) -> bool:
        """Whether its first deployment failed."""
        return self.status in NEVER_MADE

    @property
    def is_new(self) -> bool:
        """Whether the next deployment is the one that makes it."""
        return self.never_made or self.status in {None, IN_REVIEW}


def deploy(
    arguments: Sequence[str],
    clients: Clients,
    run: Callable[[list[str]], int],
    say: Callable[[str], None],
    *,
    settings: Path,
) -> int:
    """Look, then deploy; the exit status. `run` is `cdk deploy` with arguments, `say` gets one line at a time."""
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
        if found.never_made and found.protected:
            say(f"{config.stack_name} was never made: its protection is taken off, so that it can be made anew")
            clients("cloudformation").update_termination_protection(
                StackName=config.stack_name, EnableTerminationProtection=False
            )
    except (BotoCoreError, ClientError) as error:
        told = f"not looked at beforehand: {error}"
        if config.refuses_deletion:
            told += f". Where {config.stack_name} is still to be made, deploy it with {' '.join(UNPROTECTED)} first"
        say(told)
        found = Found(status="unknown")
    for step in _steps(arguments, in_two=found.is_new and config.refuses_deletion):
        status = run(step)
        if status:
            return status
    return 0


def _steps(arguments: Sequence[str], *, in_two: bool) -> list[list[str]]:
    """The deployments."""
    whole = [*arguments]
    return [[*whole, *UNPROTECTED], whole] if in_two else [whole]


def _config(arguments: Sequence[str], settings: Path) -> StageConfig:
    """The stage that is about to be deployed. Raises ConfigError."""
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
    """What the account lacks for what a stage reserves, in one sentence; None where it lacks nothing. `held`: what the
    stage's functions have already, by their names. What one of them gives back is not counted for another: functions
    are changed in any order.
    """
    wishes = _wishes(config.reserved_concurrency)
    more = sum(max(wish - held.get(name, 0), 0) for name, wish in wishes.items())
    missing = more + UNRESERVED_CONCURRENCY - unreserved
    if not more or missing <= 0:
        return None
    return (
        f"stage {config.stage} reserves {config.reserved_concurrency.whole} executions "
        f"({', '.join(f'{name} {wish}' for name, wish in wishes.items())}), {more} more than it has; {unreserved} of "
        f"the account's {quota} are free, of which AWS keeps {UNRESERVED_CONCURRENCY}: {missing} are missing; raise "
        "the quota (Service Quotas, AWS Lambda, Concurrent executions), or deploy with -c reserved_concurrency=none"
    )


def _wishes(reserved: ReservedConcurrency) -> dict[str, int]:
    wishes = asdict(reserved)
    return {name: wish for name, wish in wishes.items() if wish}


def _clients(arguments: Sequence[str]) -> Clients:
    """With the credentials and in the region that the CDK will use. Making one raises BotoCoreError for a profile that
    is none.
    """
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--profile")
    profile = parser.parse_known_args(arguments)[0].profile

    def client(service: str) -> Any:
        session = boto3.Session(profile_name=profile)
        # botocore reads AWS_DEFAULT_REGION only; the CDK reads both, and takes us-east-1 without a setting.
        return session.client(service, os.environ.get("AWS_REGION") or session.region_name or "us-east-1")

    return client


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    given = sys.argv[1:] if arguments is None else [*arguments]

    def run(step: list[str]) -> int:
        return subprocess.run(
            [ROOT / "node_modules" / ".bin" / "cdk", "deploy", *step], cwd=ROOT, check=False
        ).returncode

    def say(line: str) -> None:
        sys.stderr.write(f"duecourse: {line}\n")

    return deploy(given, _clients(given), run, say, settings=ROOT / "settings")


if __name__ == "__main__":
    sys.exit(main())
