"""`duecourse workflows`: put, list, show, runs, watch and delete."""

from __future__ import annotations

import time
from typing import IO, cast

import click
from rich.console import Console
from rich.live import Live

from duecourse.cli.commands.listing import output_option, print_page, wide_option
from duecourse.cli.commands.options import answer_options, api_options, confirm, connected, page_options, yes_option
from duecourse.cli.commands.runs import list_runs
from duecourse.cli.manifests.json_text import read_job
from duecourse.cli.output.values import print_json
from duecourse.cli.output.workflows import print_workflow, print_workflow_run, print_workflows, workflow_run_text
from duecourse.cli.terminal import CliError, Command, Group, UsageError, plain, say
from duecourse.client import ApiError, Client
from duecourse.client.bodies import WorkflowRequest
from duecourse.client.models import WorkflowRun

POLL_SECONDS = 2.0
PUT_EXAMPLE = """\
echo '{"schedule": "0 2 * * *", "jobs": {
         "extract": {"job": {"target": {"type": "http", "url": "https://example.com/extract"}}},
         "load": {"after": ["extract"], "job": {"target": {"type": "http", "url": "https://example.com/load"}}}}}' \\
  | duecourse workflows put nightly"""


@click.group(cls=Group, example="duecourse workflows show nightly.20261121T020000Z")
def workflows() -> None:
    """Create, show, watch and delete workflows: graphs of jobs with dependencies."""


@workflows.command(cls=Command, example=PUT_EXAMPLE)
@click.argument("workflow_id", metavar="WORKFLOW")
@click.argument("document", type=click.File("r", encoding="utf-8"), default="-")
@click.option("--dry-run", is_flag=True, help="Validate the workflow and print the changes; write nothing.")
@answer_options
def put(workflow_id: str, document: IO[str], dry_run: bool, api: str | None, sign: bool | None, as_json: bool) -> None:
    """Create or replace a workflow from a JSON file, or from standard input."""
    try:
        asked = read_job(document.read())
    except ValueError as error:
        raise UsageError(plain(f"{document.name}: {error}")) from error
    with connected(api, sign) as client:
        made = client.put_workflow(workflow_id, cast("WorkflowRequest", asked), dry_run=dry_run)
    if as_json:
        print_json(made)
        return
    print_workflow(made)
    for said, ids in (("created", made.created), ("changed", made.changed)):
        if ids:
            say(f"{'would be ' if dry_run else ''}{said}: {', '.join(ids)}")
    if not made.created and not made.changed:
        say("nothing would change" if dry_run else "nothing has changed")


@workflows.command("list", cls=Command, example="duecourse workflows list")
@page_options("workflows")
@output_option
@answer_options
def list_workflows(
    limit: int, cursor: str | None, output: str, api: str | None, sign: bool | None, as_json: bool
) -> None:
    """List workflows."""
    with connected(api, sign) as client:
        page = client.list_workflows(limit=limit, cursor=cursor)
    print_page(
        page,
        as_json=as_json,
        output=output,
        name="id",
        table=lambda items: print_workflows(items, wide=output == "wide"),
        more="duecourse workflows list",
    )


@workflows.command(cls=Command, example="duecourse workflows show nightly.20261121T020000Z")
@click.argument("name", metavar="WORKFLOW|RUN")
@wide_option
@answer_options
def show(name: str, output: str, api: str | None, sign: bool | None, as_json: bool) -> None:
    """Show a workflow with its steps, or one of its runs with the state of each step."""
    with connected(api, sign) as client:
        if "." in name:
            run = run_of(client, name)
            print_json(run) if as_json else print_workflow_run(run, wide=output == "wide")
            return
        found = client.get_workflow(name)
    if as_json:
        print_json(found)
    else:
        print_workflow(found, wide=output == "wide")


@workflows.command(cls=Command, example="duecourse workflows watch nightly")
@click.argument("name", metavar="WORKFLOW|RUN")
@click.option(
    "--every", type=click.FloatRange(0.2, 60), default=POLL_SECONDS, show_default=True, help="Seconds between requests."
)
@answer_options
def watch(name: str, every: float, api: str | None, sign: bool | None, as_json: bool) -> None:
    """Follow a run until it ends; wait for its start if it is queued. For a workflow, follow its newest run.

    The exit code is 0 if the run succeeded, otherwise 1.
    """
    with connected(api, sign) as client:
        run = _follow(client, name if "." in name else _newest(client, name), every, quiet=as_json)
    if as_json:
        print_json(run)
    if run.state != "SUCCEEDED":
        raise CliError(plain(f"{run.run} is {run.state}: {run.error or run.reason or 'see its steps'}"))


@workflows.command(cls=Command, example="duecourse workflows delete nightly --yes")
@click.argument("workflow_id", metavar="WORKFLOW")
@yes_option
@api_options
def delete(workflow_id: str, yes: bool, api: str | None, sign: bool | None) -> None:
    """Delete a workflow. Its runs are cancelled; the jobs of its steps are kept."""
    with connected(api, sign) as client:
        client.get_workflow(workflow_id)  # fails for a job that is not a workflow
        if not yes:
            confirm(f"Delete {workflow_id}, and cancel its runs?")
        client.delete_job(workflow_id)
    say(f"{workflow_id} deleted; the jobs of its steps are kept")


def run_of(client: Client, run_id: str) -> WorkflowRun:
    """Return a workflow's run by its id."""
    workflow_id, _, instant = run_id.partition(".")
    return client.get_workflow_run(workflow_id, instant)


def _newest(client: Client, workflow_id: str) -> str:
    """Return the id of the run that has started last; a rerun has an older occurrence. Raises CliError if there is
    none.
    """
    begun = [run for run in client.list_runs(workflow_id, limit=20).items if run.state not in ("QUEUED", "SKIPPED")]
    if not begun:
        remedy = f"start one with duecourse jobs run {workflow_id}, or watch a new one by its id"
        raise CliError(plain(f"no run of {workflow_id} has started yet; {remedy}"))
    return max(begun, key=lambda run: run.started_at or run.due).id


def _follow(client: Client, run_id: str, every: float, *, quiet: bool) -> WorkflowRun:
    run = _begun(client, run_id, every, quiet=quiet)
    console = Console(highlight=False, quiet=quiet)
    with Live(console=console, auto_refresh=False, transient=True) as live:
        while not run.is_final:
            if console.is_terminal:
                live.update(workflow_run_text(run, console.width, console.height), refresh=True)
            time.sleep(every)
            run = run_of(client, run_id)
    if not quiet:
        print_workflow_run(run)
    return run


def _begun(client: Client, run_id: str, every: float, *, quiet: bool) -> WorkflowRun:
    """Return the run when it has started. The API returns no steps for a queued run. Raises ApiError."""
    told = False
    while True:
        try:
            return run_of(client, run_id)
        except ApiError as error:
            if error.status != 409 or client.get_run(run_id).is_final:
                raise
        if not told:
            client.get_workflow(run_id.partition(".")[0])  # fails for a job that is not a workflow
            if not quiet:
                say(f"{run_id} is QUEUED")
        told = True
        time.sleep(every)


workflows.add_command(list_runs, "runs")
