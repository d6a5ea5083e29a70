"""`duecourse dead-letters`: runs that used up their attempts."""

from __future__ import annotations

from typing import Any

import click

from duecourse_cli.client import Client
from duecourse_cli.commands.connection import api_options, connected
from duecourse_cli.commands.jobs import json_option
from duecourse_cli.examples import Command, Group
from duecourse_cli.output import print_dead_letters, print_json

MOST_AT_ONCE = 100
"""How many runs one call redrives: some seconds of the API's time."""

job_option = click.option("--job", "job_id", metavar="JOB", help="Only the runs of this job.")


@click.group("dead-letters", cls=Group, example="duecourse dead-letters list --job nightly")
def dead_letters() -> None:
    """List and redrive the runs that died."""


@dead_letters.command("list", cls=Command, example="duecourse dead-letters list --job nightly --limit 5")
@job_option
@click.option("--limit", type=click.IntRange(1, 100), default=20, show_default=True, help="How many runs at most.")
@click.option("--cursor", help="Go on where an earlier page ended (its next_cursor).")
@api_options
@json_option
def list_dead(
    job_id: str | None, limit: int, cursor: str | None, api: str | None, sign: bool | None, as_json: bool
) -> None:
    """Show the runs that died, the last one first."""
    with connected(api, sign) as client:
        page = client.dead_letters(job_id, limit=limit, cursor=cursor)
    if as_json:
        print_json({"items": [run.document for run in page.items], "next_cursor": page.next_cursor})
        return
    print_dead_letters(page.items)
    if page.next_cursor:
        of_job = f" --job {job_id}" if job_id else ""
        click.echo(f"more: duecourse dead-letters list{of_job} --cursor {page.next_cursor}")


@dead_letters.command(
    cls=Command, example="duecourse dead-letters redrive --job nightly --since 2026-11-21T00:00:00Z --yes"
)
@job_option
@click.option("--since", metavar="INSTANT", help="Only what died from this instant on (ISO-8601).")
@click.option("--until", metavar="INSTANT", help="Only what died before this instant (ISO-8601).")
@click.option("--limit", type=click.IntRange(1), help="How many runs at most.  [default: all]")
@click.option("--yes", is_flag=True, help="Do not ask first.")
@api_options
@json_option
def redrive(
    job_id: str | None,
    since: str | None,
    until: str | None,
    limit: int | None,
    yes: bool,
    api: str | None,
    sign: bool | None,
    as_json: bool,
) -> None:
    """Give dead runs a fresh allowance of attempts."""
    with connected(api, sign) as client:
        if not yes:
            click.confirm(_question(job_id, since, until, limit), abort=True, err=True)
        done = _redriven(client, job_id, since, until, limit)
    if as_json:
        print_json(done)
        return
    refused = f", {done['refused']} could not be" if done["refused"] else ""
    click.echo(f"{done['redriven']} redriven{refused}" + ("; there are more of them" if done["more"] else ""))


def _redriven(
    client: Client, job_id: str | None, since: str | None, until: str | None, limit: int | None
) -> dict[str, Any]:
    """The sums of as many calls as it takes. Each goes on where the one before ended: a run stays in the list until its
    worker has started it again.
    """
    redriven = refused = 0
    cursor = None
    while True:
        left = MOST_AT_ONCE if limit is None else min(limit - redriven - refused, MOST_AT_ONCE)
        done = client.redrive_dead_letters(job_id, since=since, until=until, limit=left, cursor=cursor)
        redriven, refused, cursor = redriven + done.redriven, refused + done.refused, done.next_cursor
        if cursor is None or (limit is not None and redriven + refused >= limit):
            return {"redriven": redriven, "refused": refused, "more": done.more}


def _question(job_id: str | None, since: str | None, until: str | None, limit: int | None) -> str:
    runs = f"dead runs of {job_id}" if job_id else "dead runs of ALL jobs"
    when = (f" since {since}" if since else "") + (f" until {until}" if until else "")
    return f"Redrive {'all' if limit is None else f'up to {limit}'} {runs}{when}?"
