"""`duecourse runs JOB`: what became of a job's occurrences."""

from __future__ import annotations

from datetime import UTC, datetime

import click

from duecourse_cli.commands.connection import api_options, connected
from duecourse_cli.commands.jobs import json_option
from duecourse_cli.due_runs import due_runs
from duecourse_cli.examples import Command
from duecourse_cli.output import print_json, print_runs
from duecourse_cli.plain import say


@click.command(cls=Command, example="duecourse runs nightly --limit 5")
@click.argument("job_id", metavar="JOB")
@click.option("--limit", type=click.IntRange(1, 100), default=20, show_default=True, help="How many runs at most.")
@click.option("--cursor", help="Continue after an earlier page (its next_cursor).")
@api_options
@json_option
def runs(job_id: str, limit: int, cursor: str | None, api: str | None, sign: bool | None, as_json: bool) -> None:
    """Show the runs of a job, newest first.

    Runs that only wait for their second are summed up in one line. With --json they are in the list, as the API returns
    it.
    """
    with connected(api, sign) as client:
        if as_json:
            page = client.runs(job_id, limit=limit, cursor=cursor)
            print_json({"items": [run.document for run in page.items], "next_cursor": page.next_cursor})
            return
        found = due_runs(
            lambda size, at: client.runs(job_id, limit=size, cursor=at),
            limit=limit,
            cursor=cursor,
            now=datetime.now(UTC),
        )
    print_runs(found)
    if found.next_cursor:
        say(f"more: duecourse runs {job_id} --cursor {found.next_cursor}")
