"""`duecourse runs JOB`: what became of a job's occurrences."""

from __future__ import annotations

import click

from duecourse_cli.commands.connection import api_options, connected
from duecourse_cli.commands.jobs import json_option
from duecourse_cli.examples import Command
from duecourse_cli.output import print_json, print_runs


@click.command(cls=Command, example="duecourse runs nightly --limit 5")
@click.argument("job_id", metavar="JOB")
@click.option("--limit", type=click.IntRange(1, 100), default=20, show_default=True, help="How many runs at most.")
@click.option("--cursor", help="Go on where an earlier page ended (its next_cursor).")
@api_options
@json_option
def runs(job_id: str, limit: int, cursor: str | None, api: str | None, sign: bool | None, as_json: bool) -> None:
    """Show the runs of a job, newest first."""
    with connected(api, sign) as client:
        page = client.runs(job_id, limit=limit, cursor=cursor)
    if as_json:
        print_json({"items": [run.document for run in page.items], "next_cursor": page.next_cursor})
        return
    print_runs(page.items)
    if page.next_cursor:
        click.echo(f"more: duecourse runs {job_id} --cursor {page.next_cursor}")
