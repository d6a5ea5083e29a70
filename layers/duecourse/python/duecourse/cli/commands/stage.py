"""`duecourse stats` and `duecourse health`: what the tenant has, and whether the stage fires."""

from __future__ import annotations

import click

from duecourse.cli.commands.options import answer_options, connected
from duecourse.cli.output.values import print_fields, print_json
from duecourse.cli.terminal import Command


@click.command(cls=Command, example="duecourse stats --json")
@answer_options
def stats(api: str | None, sign: bool | None, as_json: bool) -> None:
    """Show how many jobs and dead runs the tenant has, its limits, and how busy the stage is."""
    with connected(api, sign) as client:
        found = client.get_stats()
    print_json(found.document) if as_json else print_fields(found.document)


@click.command(cls=Command, example="duecourse health")
@answer_options
def health(api: str | None, sign: bool | None, as_json: bool) -> None:
    """Say whether the stage answers and its ticks arrive; exit code 1 where they are late."""
    with connected(api, sign) as client:
        found = client.get_health()
    print_json(found.document) if as_json else print_fields(found.document)
