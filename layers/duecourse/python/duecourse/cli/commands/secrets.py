"""`duecourse secrets`: write, list and delete the secrets that the jobs of a stage refer to, for its operator."""

from __future__ import annotations

import sys

import click

from duecourse.cli.commands.accounts import operated, stage_option
from duecourse.cli.commands.options import confirm, yes_option
from duecourse.cli.terminal import Command, Group, UsageError, outputs, read_text, say

tenant_option = click.option(
    "--tenant",
    default="default",
    show_default=True,
    metavar="ID",
    help="The tenant of the jobs that reference the secret.",
)


@click.group(cls=Group, example="duecourse secrets put report-api --stage prod")
def secrets() -> None:
    """Write, list and delete the secrets of jobs ({{secret:NAME}}). Requires AWS credentials."""


@secrets.command(cls=Command, example="openssl rand -hex 32 | duecourse secrets put report-api --stage prod")
@click.argument("name")
@tenant_option
@stage_option
def put(name: str, tenant: str, stage: str) -> None:
    """Create or replace a secret. The value is read from a prompt, or from standard input.

    A final line break is removed.
    """
    from duecourse.cli.secrets import check, secrets_of

    check(name, tenant)
    value = _value()
    with operated(stage) as found:
        secrets_of(found, tenant).put(name, value)
    say(f"{name} of the tenant {tenant} is written; runs use it within a minute")


@secrets.command("list", cls=Command, example="duecourse secrets list --stage prod")
@tenant_option
@stage_option
@outputs()
def list_secrets(tenant: str, stage: str, as_json: bool) -> None:
    """List the names of a tenant's secrets and the times of their last changes. Values are never shown."""
    from duecourse.cli.output.documents import Secrets
    from duecourse.cli.output.table import print_table
    from duecourse.cli.output.values import print_json
    from duecourse.cli.secrets import check, secrets_of

    check(None, tenant)
    with operated(stage) as found:
        known = sorted(secrets_of(found, tenant).all(), key=lambda secret: secret.name)
    if as_json:
        print_json(Secrets(items=[each.document() for each in known], next_cursor=None))
    else:
        print_table(("secret", "changed"), [(each.name, each.changed_at) for each in known])


@secrets.command(cls=Command, example="duecourse secrets delete report-api --stage prod")
@click.argument("name")
@tenant_option
@yes_option
@stage_option
def delete(name: str, tenant: str, yes: bool, stage: str) -> None:
    """Delete a secret. Runs of jobs that reference it fail after a minute."""
    from duecourse.cli.secrets import check, secrets_of

    check(name, tenant)
    with operated(stage) as found:
        if not yes:
            confirm(f"Delete the secret {name} of the tenant {tenant} of {found.stack}?")
        secrets_of(found, tenant).delete(name)
    say(f"{name} of the tenant {tenant} is deleted; runs may use it for another minute")


def _value() -> str:
    """Return the value. Raises UsageError if it is empty."""
    if sys.stdin.isatty():
        value: str = click.prompt("Value", hide_input=True, confirmation_prompt=True, err=True)
    else:
        value = read_text("-", may_be_empty=True).removesuffix("\n").removesuffix("\r")
    if not value.strip():
        raise UsageError("the value is empty, so nothing was written; pass a value on standard input")
    return value
