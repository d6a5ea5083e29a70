"""`duecourse deploy`: deploy the stage of a release without a checkout."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from duecourse.cli.commands.options import confirm, yes_option
from duecourse.cli.terminal import CliError, Command, UsageError, outputs, plain, read_text, say

if TYPE_CHECKING:
    from duecourse.cli.deployment.account import Wanted
    from duecourse.cli.deployment.assembly import Assembly, Chosen
    from duecourse.cli.doctor.stage import Clients
    from duecourse.cli.output.documents import PlannedDeployment

EXAMPLE = """\
duecourse deploy duecourse-1.0.0-prod.tgz --settings prod.json --dry-run
duecourse deploy duecourse-1.0.0-prod.tgz --settings prod.json

# prod.json: with only alarm_email, the stage has a user pool of its own
{"alarm_email": "you@example.com", "issuer": "https://login.example.com",
 "audience": "duecourse", "console_client": "duecourse-console"}"""


@click.command(cls=Command, example=EXAMPLE)
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--stage", default="prod", show_default=True, metavar="STAGE", help="The stage in the file.")
@click.option("--settings", required=True, metavar="PATH", help="A JSON file with the settings; - reads from stdin.")
@click.option("--dry-run", is_flag=True, help="Check and show the plan only.")
@yes_option
@outputs(ids=False)
def deploy(file: Path, stage: str, settings: str, dry_run: bool, yes: bool, as_json: bool) -> None:
    """Deploy the stage of a release to the account and region of your AWS credentials.

    FILE is duecourse-VERSION-STAGE.tgz of the release of this command. The settings alarm_email, issuer, audience and
    console_client become parameters of CloudFormation. For other settings, use the construct DuecourseStage.

    The command checks the issuer and the account, and then runs the CDK's command line: `cdk` if it is on the PATH,
    otherwise npx. A new stage is created in two deployments, of which the second protects it from deletion. The
    account and region must have been prepared with `cdk bootstrap`.
    """
    from duecourse.cli.deployment import account
    from duecourse.cli.deployment.assembly import Assembly, chosen
    from duecourse.cli.doctor.stage import clients_for
    from duecourse.cli.output.values import print_json
    from duecourse.version import VERSION

    assembly = Assembly(file)
    assembly.check(VERSION, stage)
    choice = chosen(assembly.description, _settings(settings))
    if (problem := account.problem_of_endpoint(os.environ.get("AWS_ENDPOINT_URL"))) is not None:
        raise UsageError(problem)
    wanted = replace(assembly.description.wanted, issuer=choice.parameters.get("Issuer"))
    clients = clients_for(stage)
    planned = _plan(wanted, choice, clients)
    print_json(planned) if as_json else _show(planned)
    if dry_run:
        return
    command = _cdk(assembly.description.cdk)
    if not yes:
        confirm(f"Deploy {planned['stack']}?")

    def run(protected: bool) -> int:
        return _deployed(command, assembly, choice, protected=protected, quiet=as_json)

    def tell(line: str) -> None:
        click.echo(plain(f"duecourse: {line}"), err=True)

    import httpx

    raise SystemExit(account.deploy(wanted, clients, run, tell, fetch=httpx.get))


def _settings(path: str) -> Mapping[str, Any]:
    """Return the settings in a file. Raises UsageError."""
    from duecourse.cli.terminal import source_name

    try:
        found = json.loads(read_text(path))
    except ValueError as error:
        raise UsageError(plain(f"{source_name(path)} must be JSON: {error}")) from error
    if not isinstance(found, dict):
        raise UsageError(f'{source_name(path)} must be an object, such as {{"alarm_email": "you@example.com"}}')
    return found


def _plan(wanted: Wanted, choice: Chosen, clients: Clients) -> PlannedDeployment:
    """Return what a deployment will do. Raises CliError if the stage cannot be deployed now."""
    from botocore.exceptions import BotoCoreError, ClientError

    from duecourse.cli.deployment import account

    try:
        found = account.find(clients("cloudformation"), wanted.stack_name)
        problem = account.problem_of_stack(wanted, found, clients)
        identity = clients("sts").get_caller_identity()
        region = clients("sts").meta.region_name
    except (BotoCoreError, ClientError) as error:
        remedy = "log in to AWS, and set AWS_PROFILE and AWS_REGION to the account and region of the stage"
        raise CliError(
            plain(f"the account and the stack cannot be read: {str(error).rstrip('.')}; {remedy}")
        ) from error
    if problem is not None:
        raise CliError(problem)
    return {
        "stack": wanted.stack_name,
        "account": identity["Account"],
        "region": region,
        "action": "create" if found.is_new else "change",
        "deployments": len(account.steps(wanted, found)),
        "variant": choice.variant,
        "parameters": dict(choice.parameters),
    }


def _show(planned: PlannedDeployment) -> None:
    twice = ", in two deployments" if planned["deployments"] > 1 else ""
    say(f"{planned['action']} {planned['stack']} in account {planned['account']}, {planned['region']}{twice}")
    for name, value in planned["parameters"].items():
        say(f"    {name}: {value}")


def _cdk(version: str) -> list[str]:
    """Return the CDK's command line. Raises UsageError if there is none."""
    if (cdk := shutil.which("cdk")) is not None:
        return [cdk]
    if (npx := shutil.which("npx")) is not None:
        return [npx, "--yes", f"aws-cdk@{version}"]
    raise UsageError("the CDK's command line was not found; install Node 22 or newer, which contains npx")


def _deployed(command: list[str], assembly: Assembly, choice: Chosen, *, protected: bool, quiet: bool) -> int:
    """Deploy a variant and return the exit code of the CDK. If `quiet`, its output goes to standard error."""
    from duecourse.cli.deployment.assembly import UNPROTECTED

    variant = choice.variant if protected else f"{choice.variant}{UNPROTECTED}"
    with TemporaryDirectory() as folder:
        assembly.write(variant, Path(folder))
        parameters = [f"--parameters={name}={value}" for name, value in choice.parameters.items()]
        options = ["--app", folder, "--output", str(Path(folder) / "out"), "--require-approval", "never"]
        whole = [*command, "deploy", *options, *parameters]
        return subprocess.run(whole, cwd=folder, stdout=sys.stderr if quiet else None, check=False).returncode
