"""`duecourse runs JOB`, what became of a job's occurrences, and `duecourse run`, one run by its id."""

from __future__ import annotations

from datetime import UTC, datetime

import click

from duecourse.cli.commands.options import answer_options, connected, page_options
from duecourse.cli.due_runs import due_runs
from duecourse.cli.output import print_json, print_run, print_runs
from duecourse.cli.terminal import Command, Group, say
from duecourse.client.models import Run


@click.command(cls=Command, example="duecourse runs nightly --limit 5")
@click.argument("job_id", metavar="JOB")
@page_options("runs")
@answer_options
def runs(job_id: str, limit: int, cursor: str | None, api: str | None, sign: bool | None, as_json: bool) -> None:
    """Show the runs of a job, newest first.

    Runs that only wait for their second are summed up in one line. With --json they are in the list, as the API returns
    it.
    """
    with connected(api, sign) as client:
        if as_json:
            page = client.list_runs(job_id, limit=limit, cursor=cursor)
            print_json({"items": [run.document for run in page.items], "next_cursor": page.next_cursor})
            return
        found = due_runs(
            lambda size, at: client.list_runs(job_id, limit=size, cursor=at),
            limit=limit,
            cursor=cursor,
            now=datetime.now(UTC),
        )
    print_runs(found)
    if found.next_cursor:
        say(f"more: duecourse runs {job_id} --cursor {found.next_cursor}")


@click.group(cls=Group, example="duecourse run show nightly.20261121T030000Z")
def run() -> None:
    """Show, cancel or redrive one run; `duecourse runs JOB` lists a job's runs."""


@run.command(cls=Command, example="duecourse run show nightly.20261121T030000Z --json")
@click.argument("run_id", metavar="RUN")
@answer_options
def show(run_id: str, api: str | None, sign: bool | None, as_json: bool) -> None:
    """Show a run, with its result or the address of a large one."""
    with connected(api, sign) as client:
        found = client.get_run(run_id)
    if as_json:
        print_json(found.document)
    else:
        print_run(found)


@run.command(cls=Command, example="duecourse run cancel nightly.20261121T030000Z")
@click.argument("run_id", metavar="RUN")
@answer_options
def cancel(run_id: str, api: str | None, sign: bool | None, as_json: bool) -> None:
    """Cancel a run; a program that works on it learns this at its next heartbeat."""
    with connected(api, sign) as client:
        asked = client.cancel_run(run_id)
    _told(asked.run, "its end is asked for", as_json)


@run.command(cls=Command, example="duecourse run redrive nightly.20261121T030000Z")
@click.argument("run_id", metavar="RUN")
@answer_options
def redrive(run_id: str, api: str | None, sign: bool | None, as_json: bool) -> None:
    """Give a dead run a fresh allowance of attempts."""
    with connected(api, sign) as client:
        asked = client.redrive_run(run_id)
    _told(asked.run, "it will be tried again", as_json)


@run.command(cls=Command, example="duecourse run rerun nightly.20261121T020000Z --from load-eu")
@click.argument("run_id", metavar="RUN")
@click.option(
    "--from", "jobs", metavar="JOB", multiple=True, required=True, help="A job to begin with; may be repeated."
)
@click.option("--key", help="A name of this request: sent again with the same name it is the same run.")
@answer_options
def rerun(
    run_id: str, jobs: tuple[str, ...], key: str | None, api: str | None, sign: bool | None, as_json: bool
) -> None:
    """Run some jobs of a workflow's run again, and all that come after them.

    The other jobs count as they ended, and hand down their results. The run that is repeated stays as it is.
    """
    with connected(api, sign) as client:
        made = client.rerun(run_id, jobs, idempotency_key=key)
    if as_json:
        print_json(made.document)
    else:
        say(f"{made.id} is {made.state}; follow it: duecourse workflows watch {made.id}")


def _told(asked: Run, sentence: str, as_json: bool) -> None:
    if as_json:
        print_json(asked.document)
    else:
        say(f"{asked.id} was {asked.state}; {sentence}")
