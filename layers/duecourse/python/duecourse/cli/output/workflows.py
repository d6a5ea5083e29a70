"""Prints workflows and their runs as tables."""

from __future__ import annotations

from collections.abc import Iterable

import click
from rich.console import Console
from rich.text import Text

from duecourse.cli.output.runs import error_text
from duecourse.cli.output.table import Cell, print_table, table
from duecourse.cli.output.values import coloured, schedule_text
from duecourse.cli.terminal import form, plain
from duecourse.cli.when import local_zone, moment
from duecourse.client.models import (
    Forecast,
    PathStep,
    Workflow,
    WorkflowRun,
    WorkflowSummary,
)


def print_workflows(workflows: Iterable[WorkflowSummary]) -> None:
    """Print workflows as a table."""
    rows = [(each.id, coloured(each.state), schedule_text(each.schedule), each.next_occurrence) for each in workflows]
    print_table(("workflow", "state", "schedule", "next occurrence"), rows)


def print_workflow(workflow: Workflow) -> None:
    """Print a workflow and its jobs, each with the rule by which it starts; with `-o wide`, also with their ids."""
    wide = form() == "wide"
    print_workflows([workflow])
    click.echo()
    rows = [
        (
            name,
            job.job_id if wide else "",
            ", ".join(job.after),
            job.when if job.after else "",
            " ".join(
                [f"{field} {value}" for field, value in (("not_before", job.not_before), ("only", job.only)) if value]
                + ["may fail"] * job.may_fail
                + ["shared"] * bool(job.shared)
                + ([] if job.for_each is None else [f"for each of {job.for_each}, {job.at_once} at once"])
            ),
        )
        for name, job in workflow.jobs.items()
    ]
    print_table(("job", "id", "after", "when", "also"), rows)


COUNTS = {
    "succeeded": "succeeded",
    "failed": "failed",
    "aborted": "stopped by a failure or the end of the run",
    "skipped": "skipped",
    "due": "due or active",
    "waiting": "waiting",
    "left": "not started",
}
"""How the console and the command name the fields of Counts."""

ORDER = {"WAITS": 1} | dict.fromkeys(("SUCCEEDED", "SKIPPED", "CANCELLED", "LEFT"), 2)
"""The order of steps that do not fit the height, by state. Steps that are active or dead come first."""

HEADER_LINES = 3


def workflow_run_text(
    run: WorkflowRun, width: int, height: int | None = None, forecast: Forecast | None = None
) -> Text:
    """Return the jobs of a workflow's run, each with its state and what it waits for, in lines of this width, with a
    forecast that was read before. If there are more lines than `height`, the most relevant jobs come first.
    """
    lines: list[Text] = [] if forecast is None else list(forecast_text(forecast).wrap(Console(width=width), width))
    left = None if height is None else height - len(lines)
    shown = table(COLUMNS, _rows(run, left), spare=SPARE, width=width)
    return Text("\n", no_wrap=True).join([_title(run), *lines, shown])


SHOWN_STEPS = 5
"""The maximum number of steps of the critical path that are shown."""


def forecast_text(forecast: Forecast) -> Text:
    """Return when a run is predicted to end, and the steps that determine this, in two lines."""
    bound = "at the earliest " if forecast.is_lower_bound else ""
    text = Text(f"predicted end {bound}{moment(forecast.predicted_end, local_zone())}: ")
    text.append(plain(forecast.reason), "red" if forecast.at_risk else "")
    path, more = forecast.critical_path[:SHOWN_STEPS], len(forecast.critical_path) - SHOWN_STEPS
    steps = [f"{each.id} ({_p90(each)})" for each in path]
    shown = ", ".join([*steps, *([f"{more} more"] if more > 0 else [])])
    return text.append("\n").append(plain(f"critical path: {shown or 'no step remains'}"))


def _p90(step: PathStep) -> str:
    return "unknown" if step.p90_seconds is None else f"p90 {step.p90_seconds:.0f} s of {step.samples} runs"


def _title(run: WorkflowRun) -> Text:
    title = Text.assemble((plain(run.run), "bold"), "  ", coloured(run.state, run.reason))
    if run.deadline is not None and not run.is_final:
        title.append(f"  until {moment(run.deadline, local_zone())}")
    counts = [f"{number} {text}" for name, text in COUNTS.items() if (number := getattr(run.counts, name))]
    title.append(f"\n{len(run.jobs)} steps: {', '.join(counts)}")
    return title


def _rows(run: WorkflowRun, height: int | None = None, *, wide: bool = False) -> list[tuple[Cell, ...]]:
    rows: list[tuple[Cell, ...]] = []
    fits = height is None or len(run.jobs) + HEADER_LINES <= height
    for job in run.jobs if fits else sorted(run.jobs, key=lambda each: ORDER.get(each.state, 0)):
        state = coloured(job.state, job.reason)
        if job.carried_over:
            state.append(" (not run again)")
        error = job.error or "" if wide else error_text(job.error, job.code)
        more = [job.run or ""] if wide else []
        rows.append((job.id, state, str(job.attempts or ""), ", ".join(job.waits_for), *more, error))
    return rows


COLUMNS, SPARE = ("job", "state", "attempts", "waits for", "error"), ("attempts",)


def print_workflow_run(run: WorkflowRun) -> None:
    """Print a workflow's run with the state of each of its jobs; with `-o wide`, also with their runs."""
    wide = form() == "wide"
    console = Console(highlight=False)
    console.print(_title(run), soft_wrap=True)
    if run.forecast is not None:
        console.print(forecast_text(run.forecast), soft_wrap=True)
    columns = (*COLUMNS[:-1], "run", COLUMNS[-1]) if wide else COLUMNS
    print_table(columns, _rows(run, wide=wide), spare=SPARE)
    if run.error:
        console.print(Text(plain(run.error)), soft_wrap=True)
    for dead in [job.run for job in run.jobs if job.state == "DEAD" and job.run][:1]:
        click.echo(plain(f"duecourse runs show {dead}"))
