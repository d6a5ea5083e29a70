"""`duecourse accounts`: service accounts of a stage, for programs."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from duecourse.cli.commands.options import confirm, yes_option
from duecourse.cli.terminal import Command, Group, outputs, say

if TYPE_CHECKING:
    from duecourse.cli.accounts import Accounts
    from duecourse.cli.doctor.stage import Stage

STAGE_HELP = """\
The stage, accessed with your AWS credentials and region. The default is the local stack of this checkout.
[env: DUECOURSE_STAGE]"""

stage_option = click.option("--stage", default="local", envvar="DUECOURSE_STAGE", metavar="STAGE", help=STAGE_HELP)


@click.group(cls=Group, example="duecourse accounts create reports --tenant acme --scope jobs:read --stage prod")
def accounts() -> None:
    """Create, list and delete the service accounts that programs use to call a stage's API. Requires AWS
    credentials.
    """


@accounts.command(cls=Command, example="duecourse accounts create reports --tenant acme --scope jobs:read --stage prod")
@click.argument("name")
@click.option("--tenant", required=True, metavar="ID", help="The tenant of the account.")
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    required=True,
    metavar="SCOPE",
    help=(
        "A scope of the account: jobs:read, jobs:write or ops; jobs:read:tag=billing for jobs with a tag. Can "
        "be repeated."
    ),
)
@stage_option
@outputs(ids=False)
def create(name: str, tenant: str, scopes: tuple[str, ...], stage: str, as_json: bool) -> None:
    """Create an account, and print the environment variables of a program that uses it. The secret is shown only
    once.
    """
    from duecourse.cli.accounts import check, new_secret
    from duecourse.cli.output.values import print_json

    check(name, tenant, scopes)
    with _of(stage) as found:
        environment = found.create(name, tenant, scopes, new_secret())
    if as_json:
        print_json(environment)
    else:
        for variable, value in environment.items():
            say(f"export {variable}={shlex.quote(str(value))}")


@accounts.command("list", cls=Command, example="duecourse accounts list --stage prod")
@stage_option
@outputs()
def list_accounts(stage: str, as_json: bool) -> None:
    """List the accounts of a stage: name, tenant, scopes."""
    from duecourse.cli.output.documents import Accounts
    from duecourse.cli.output.table import print_table
    from duecourse.cli.output.values import print_json

    with _of(stage) as found:
        all_of_them = sorted(found.all(), key=lambda account: (account.tenant, account.name))
    if as_json:
        print_json(Accounts(items=[account.document() for account in all_of_them], next_cursor=None))
    else:
        print_table(
            ("account", "tenant", "scopes"),
            [(each.name, each.tenant, " ".join(sorted(each.scopes)) or "no scope") for each in all_of_them],
        )


@accounts.command(cls=Command, example="duecourse accounts delete reports --stage prod")
@click.argument("name")
@yes_option
@stage_option
def delete(name: str, yes: bool, stage: str) -> None:
    """Delete an account. It cannot get new tokens; existing tokens expire within one hour."""
    with _of(stage) as found:
        if not yes:
            confirm(f"Delete the account {name} of {found.stage.stack}?")
        found.delete(name)
    say(f"{name} deleted; its existing tokens expire within one hour")


@contextmanager
def _of(name: str) -> Iterator[Accounts]:
    """Yield the accounts of a stage. Raises CliError if AWS rejects the request."""
    from duecourse.cli.accounts import Accounts

    with operated(name) as stage:
        yield Accounts.of(stage)


@contextmanager
def operated(name: str) -> Iterator[Stage]:
    """Yield a stage, accessed with the operator's AWS credentials. Raises CliError if AWS rejects a request."""
    from botocore.exceptions import BotoCoreError, ClientError

    from duecourse.cli.accounts import refused
    from duecourse.cli.doctor.stage import clients_for, find_stage
    from duecourse.cli.terminal import CliError

    try:
        yield find_stage(name, clients_for(name))
    except ClientError as error:
        raise refused(error) from error
    except BotoCoreError as error:
        raise CliError(f"AWS cannot be reached: {error}") from error
