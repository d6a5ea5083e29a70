"""`duecourse workflows`: put, list, show, runs, watch and delete."""

from __future__ import annotations

from typing import cast

import click

from duecourse.cli.commands.listing import print_page
from duecourse.cli.commands.options import (
    api_options,
    confirm,
    connected,
    list_options,
    named_options,
    page_options,
    yes_option,
)
from duecourse.cli.commands.runs import list_runs
from duecourse.cli.commands.watch import run_of, watch
from duecourse.cli.manifests.documents import read_object
from duecourse.cli.output.values import print_json
from duecourse.cli.output.workflows import print_workflow, print_workflow_run, print_workflows
from duecourse.cli.terminal import Command, Group, say
from duecourse.client.bodies import WorkflowRequest

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
@click.argument("document", metavar="[FILE]", default="-")
@click.option("--dry-run", is_flag=True, help="Validate the workflow and print the changes; write nothing.")
@named_options
def put(workflow_id: str, document: str, dry_run: bool, api: str | None, sign: bool | None, as_json: bool) -> None:
    """Create or replace a workflow from a JSON or YAML file, or from standard input."""
    asked = read_object(document)
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
@list_options
def list_workflows(
    limit: int, cursor: str | None, output: str, api: str | None, sign: bool | None, as_json: bool
) -> None:
    """List workflows."""
    with connected(api, sign) as client:
        page = client.list_workflows(limit=limit, cursor=cursor)
    print_page(
        page,
        "workflows",
        as_json=as_json,
        output=output,
        name="id",
        table=print_workflows,
    )


@workflows.command(cls=Command, example="duecourse workflows show nightly.20261121T020000Z")
@click.argument("name", metavar="WORKFLOW|RUN")
@named_options
def show(name: str, api: str | None, sign: bool | None, as_json: bool) -> None:
    """Show a workflow with its steps, or one of its runs with the state of each step."""
    with connected(api, sign) as client:
        if "." in name:
            run = run_of(client, name, forecast=True)
            print_json(run) if as_json else print_workflow_run(run)
            return
        found = client.get_workflow(name)
    if as_json:
        print_json(found)
    else:
        print_workflow(found)


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


workflows.add_command(list_runs, "runs")
workflows.add_command(watch)
