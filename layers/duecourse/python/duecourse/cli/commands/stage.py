"""`duecourse stats` and `duecourse health`: the tenant's counts and limits, and the health of the stage."""

from __future__ import annotations

from typing import Literal

import click

from duecourse.cli.commands.listing import instant_option
from duecourse.cli.commands.options import answer_options, connected
from duecourse.cli.output.table import Cell, print_table
from duecourse.cli.output.values import print_fields, print_json
from duecourse.cli.terminal import Command, UsageError, say
from duecourse.client.models import ByHour

BAR = 12
"""The width of the longest bar, in columns: the table then has 80."""


@click.command(cls=Command, example="duecourse stats --by hour")
@click.option("--by", type=click.Choice(["hour"]), help="Show the number of runs by hour instead.")
@click.option("--since", metavar="TIME", help="With --by, only hours that end after this time. [default: 24 h ago]")
@click.option("--until", metavar="TIME", help="With --by, only hours that begin before this time.")
@answer_options
def stats(
    by: Literal["hour"] | None,
    since: str | None,
    until: str | None,
    api: str | None,
    sign: bool | None,
    as_json: bool,
) -> None:
    """Show the number of jobs and dead runs of the tenant, its limits, and the load of the stage.

    With --by hour, show how many runs ended in each hour. These counts are approximate and lag by a minute or more.
    """
    if by is None and (since or until):
        raise UsageError("--since and --until require --by hour")
    with connected(api, sign) as client:
        begin, end = instant_option("since", since), instant_option("until", until)
        found = client.get_stats(by=by, since=begin, until=end)
    if as_json:
        print_json(found)
    elif found.by_hour is not None:
        _print_hours(found.by_hour)
    else:
        print_fields(found.document)


def _print_hours(found: ByHour) -> None:
    """Print a row for each hour with counts. Nothing is known about earlier hours, so they have no row."""
    if not found.items:
        say("no runs were counted in these hours")
        return
    most = max(1, *(hour.succeeded + hour.dead for hour in found.items))
    columns = ("hour", "succeeded", "dead", "retried", "skipped", "cancelled", "")
    rows: list[tuple[Cell, ...]] = [
        (
            hour.hour,
            *(str(count) for count in (hour.succeeded, hour.dead, hour.retried, hour.skipped, hour.cancelled)),
            _bar(hour.succeeded, most, "#") + _bar(hour.dead, most, "x"),
        )
        for hour in found.items
    ]
    print_table(columns, rows)
    say(f"bars: # succeeded, x dead, {most} at most; approximate, a minute or more behind")


def _bar(count: int, most: int, mark: str) -> str:
    """Return a part of a bar, which has a mark if the count is not 0."""
    return mark * max(count * BAR // most, count > 0)


@click.command(cls=Command, example="duecourse health")
@answer_options
def health(api: str | None, sign: bool | None, as_json: bool) -> None:
    """Show whether the stage responds and its ticks run. The exit code is 1 if ticks are late."""
    with connected(api, sign) as client:
        found = client.get_health()
    print_json(found) if as_json else print_fields(found.document)
