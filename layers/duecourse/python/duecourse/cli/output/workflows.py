"""Workflows and their runs as tables."""

from __future__ import annotations

from collections.abc import Iterable

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from duecourse.cli.output.table import PIPE_WIDTH, print_table
from duecourse.cli.output.values import coloured
from duecourse.cli.terminal import plain
from duecourse.cli.when import moment
from duecourse.client.models import (
    Workflow,
    WorkflowRun,
    WorkflowSummary,
)


def print_workflows(workflows: Iterable[WorkflowSummary]) -> None:
    """Workflows as a table."""
    rows = [
        (each.id, coloured(each.state), each.schedule or "on request", moment(each.next_occurrence))
        for each in workflows
    ]
    print_table(("workflow", "state", "schedule", "next occurrence"), rows)


def print_workflow(workflow: Workflow) -> None:
    """A workflow and its jobs, each with the rule by which it starts."""
    print_workflows([workflow])
    click.echo()
    rows = [
        (
            job_id,
            ", ".join(job.after),
            job.when if job.after else "",
            " ".join(
                [f"{name} {value}" for name, value in (("not_before", job.not_before), ("only", job.only)) if value]
                + ["may fail"] * job.may_fail
            ),
        )
        for job_id, job in workflow.jobs.items()
    ]
    print_table(("job", "after", "when", "also"), rows)


def workflow_run_table(run: WorkflowRun) -> Table:
    """The jobs of a workflow's run, each with its state and what it waits for."""
    title = Text.assemble((plain(run.run), "bold"), "  ", coloured(run.state, run.reason))
    if run.deadline is not None and not run.is_final:
        title.append(f"  until {moment(run.deadline)}")
    table = Table("job", "state", "attempts", "waits for", "error", box=None, title=title, title_justify="left")
    for job in run.jobs:
        state = coloured(job.state, job.reason)
        if job.carried_over:
            state.append(" (not run again)")
        table.add_row(
            Text(plain(job.id)),
            state,
            str(job.attempts or ""),
            Text(plain(", ".join(job.waits_for))),
            Text(plain(job.error or "")),
        )
    return table


def print_workflow_run(run: WorkflowRun) -> None:
    """A workflow's run, and what became of each of its jobs."""
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = PIPE_WIDTH
    console.print(workflow_run_table(run))
    if run.error:
        console.print(Text(plain(run.error)))
