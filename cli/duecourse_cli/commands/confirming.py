"""Questions before what cannot be undone."""

from __future__ import annotations

import sys

import click

from duecourse_cli.errors import UsageError

yes_option = click.option("--yes", is_flag=True, help="Do not ask first; for scripts.")


def confirm(question: str) -> None:
    """Go on only after a yes. Raises click.Abort for a no, UsageError where nobody can answer."""
    try:
        agreed = click.confirm(question, err=True)
    except click.Abort:
        if sys.stdin.isatty():
            raise
        click.echo(err=True)
        raise UsageError("nobody answered; nothing was done: give --yes where there is no terminal") from None
    if not agreed:
        raise click.Abort
