"""`duecourse stats` and `duecourse health`: the tenant's counts and limits, and the health of the stage."""

from __future__ import annotations

import click

from duecourse.cli.commands.options import answer_options, connected
from duecourse.cli.output.values import print_fields, print_json
from duecourse.cli.terminal import Command


@click.command(cls=Command, example="duecourse stats --json")
@answer_options
def stats(api: str | None, sign: bool | None, as_json: bool) -> None:
    """Show the number of jobs and dead runs of the tenant, its limits, and the load of the stage."""
    with connected(api, sign) as client:
        found = client.get_stats()
    print_json(found) if as_json else print_fields(found.document)


@click.command(cls=Command, example="duecourse health")
@answer_options
def health(api: str | None, sign: bool | None, as_json: bool) -> None:
    """Show whether the stage responds and its ticks run. The exit code is 1 if ticks are late."""
    with connected(api, sign) as client:
        found = client.get_health()
    print_json(found) if as_json else print_fields(found.document)
