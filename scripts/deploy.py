"""Deploy a stage (`make deploy`).

    .venv/bin/python -m scripts.deploy -c stage=prod [-c NAME=VALUE ...] [options of `cdk deploy`]

The script runs `cdk deploy` with the checks of `duecourse.cli.deployment.account`.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import boto3
import httpx

from duecourse.cli.deployment import account
from duecourse.cli.deployment.account import Fetch, Wanted, problem_of_endpoint
from duecourse.cli.doctor.stage import Clients
from duecourse.cli.terminal import CliError
from infra.settings.config import ConfigError, StageConfig
from infra.settings.deployment_settings import with_deployment_settings
from infra.stages import STAGES, from_context

ROOT = Path(__file__).resolve().parent.parent
UNPROTECTED = ("-c", "deletion_protection=off")


def deploy(
    arguments: Sequence[str],
    clients: Clients,
    run: Callable[[list[str]], int],
    say: Callable[[str], None],
    *,
    settings: Path,
    endpoint: str | None = None,
    fetch: Fetch = httpx.get,
) -> int:
    """Check the account and the stack, then deploy. Return the exit code.

    `run` calls `cdk deploy` with arguments. `say` prints one line. `endpoint` is the environment's AWS_ENDPOINT_URL.
    `fetch` reads an address.
    """
    if (problem := problem_of_endpoint(endpoint)) is not None:
        say(problem)
        return 1
    try:
        config = _config(arguments, settings)
    except ConfigError as error:
        say(str(error))
        return 1
    wanted = wanted_stage(config)

    def step(protected: bool) -> int:
        return run([*arguments] if protected or not wanted.protected else [*arguments, *UNPROTECTED])

    def others() -> list[Wanted]:
        try:
            return [wanted_stage(each) for each in _others(config, settings)]
        except ConfigError as error:
            raise CliError(str(error)) from error

    return account.deploy(wanted, clients, step, say, fetch=fetch, others=others)


def wanted_stage(config: StageConfig) -> Wanted:
    """Return as much of a stage's configuration as a deployment checks."""
    of_connectors = ' and "concurrency": null for each connector' if config.connectors else ""
    return Wanted(
        stage=config.stage,
        protected=config.refuses_deletion,
        issuer=str(config.auth.issuer) if config.auth.kind == "jwt" else None,
        reserved=config.reserved,
        most_concurrent=config.most_concurrent,
        account_concurrency=config.account_concurrency,
        unreserving=f"deploy with -c reserved_concurrency=none{of_connectors}",
        unprotecting=" ".join(UNPROTECTED),
    )


def _others(config: StageConfig, settings: Path) -> list[StageConfig]:
    """Return the other stages for AWS that have a file in the folder of settings. They may share the account."""
    names = {file.stem for file in settings.glob("*.json")} - {config.stage, "local"}
    return [from_context(with_deployment_settings({"stage": name}.get, settings, STAGES)) for name in sorted(names)]


def _config(arguments: Sequence[str], settings: Path) -> StageConfig:
    """Return the settings of the stage to deploy. Raises ConfigError."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("-c", "--context", action="append", default=[])
    pairs = (each.partition("=") for each in parser.parse_known_args(arguments)[0].context)
    context = {name: value for name, _, value in pairs}
    return from_context(with_deployment_settings(context.get, settings, STAGES))


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
