"""Answers for people (tables) and for programs (JSON)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, tzinfo
from typing import Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from duecourse.cli.due_runs import DueRuns
from duecourse.cli.terminal import escaped, plain
from duecourse.cli.when import moment, relative, zone_of
from duecourse.client.models import (
    Attempt,
    Change,
    ChangedField,
    Job,
    Run,
    SingleRun,
    Workflow,
    WorkflowRun,
    WorkflowSummary,
)

PIPE_WIDTH = 200
"""Columns of a table for whom nobody knows how many there are."""

MIN_ERROR_STATUS = 20
"""Columns that an error keeps before ids are folded for it, too."""

GAP = 2
"""Columns between two cells."""

STATE_COLOURS = {
    "SUCCEEDED": "green",
    "ACTIVE": "green",
    "DEAD": "red",
    "CANCELLED": "red",
    "RETRYING": "yellow",
    "WAITING": "cyan",
    "SKIPPED": "yellow",
    "PAUSED": "yellow",
    "RUNNING": "cyan",
    "DUE": "cyan",
}


def print_json(document: Any) -> None:
    """One JSON document on standard output."""
    click.echo(escaped(json.dumps(document, indent=2, ensure_ascii=False)))


def coloured(state: str, reason: str | None = None) -> Text:
    """A state in its colour, with what it says of why."""
    return Text.assemble((plain(state), STATE_COLOURS.get(state, "")), plain(f" ({reason})" if reason else ""))


def lateness(seconds: float | None) -> str:
    """How late a run started: `+0.042 s`."""
    return "-" if seconds is None else f"{seconds:+.3f} s"


def _table(columns: Sequence[str], rows: Iterable[Sequence[str | Text]], *, spare: str = "") -> None:
    """Columns that say nothing are left out, and the `spare` one where there is no room. Nothing is cut off: what does
    not fit is folded, errors first.
    """
    listed = [[cell if isinstance(cell, Text) else Text(plain(cell)) for cell in row] for row in rows]
    widths = {index: max((row[index].cell_len for row in listed), default=1) for index in range(len(columns))}
    wanted = [index for index, width in widths.items() if width]
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = PIPE_WIDTH

    def whole() -> bool:
        """Whether each column fits as it is, and the error in some lines."""
        least = [MIN_ERROR_STATUS if columns[index] == "error" else widths[index] for index in wanted]
        titles = [len(columns[index]) for index in wanted]
        return sum(GAP + max(pair) for pair in zip(least, titles, strict=True)) - GAP <= console.width

    if not whole():
        wanted = [index for index in wanted if columns[index] != spare]
    table = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="bold")
    fits = whole()
    for index in wanted:
        table.add_column(columns[index], no_wrap=fits and columns[index] != "error", overflow="fold")
    for row in listed:
        table.add_row(*(row[index] for index in wanted))
    console.print(table)


def print_changes(changes: Iterable[Change]) -> None:
    """Who changed a job, as a table."""
    rows = [(moment(change.at), change.principal, change.action, _what(change)) for change in changes]
    _table(("at", "principal", "action", "what"), rows)


def _what(change: Change) -> str:
    """A change in a line: `timeout_seconds 30 -> 60`; the name alone of a field whose values are not shown."""
    said = [_difference(each) for each in change.changes]
    return "; ".join(said + [f"{name} {_value(value)}" for name, value in change.facts.items()])


def _difference(change: ChangedField) -> str:
    shown = "before" in change.document
    return f"{change.field} {_value(change.before)} -> {_value(change.after)}" if shown else change.field


def _value(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def print_jobs(jobs: Iterable[Job], *, wide: bool = False) -> None:
    """Jobs as a table, each with its next occurrence on its own clock."""

    def row(job: Job) -> list[str | Text]:
        more = [job.timezone or "", job.owner or "", ", ".join(job.tags)] if wide else []
        following = moment(job.next_occurrence, zone_of(job.timezone))
        return [job.id, coloured(job.state), job.schedule or "when asked", following, *more, job.error or ""]

    columns = ["zone", "owner", "tags"] if wide else []
    _table(["job", "state", "schedule", "next occurrence", *columns, "error"], [row(job) for job in jobs])


def print_dead_letters(runs: Iterable[Run]) -> None:
    """Dead runs of any job as a table; their ids are what `duecourse runs redrive` takes."""
    _table(
        ("run", "died", "attempts", "code", "error"),
        (
            (
                run.id,
                moment(run.finished_at),
                f"{run.attempts}/{run.max_attempts}",
                run.code or "",
                run.error or "",
            )
            for run in runs
        ),
        spare="attempts",
    )


def print_run(run: SingleRun, *, zone: tzinfo, now: datetime) -> None:
    """One run, a field a line, and its attempts; what says nothing is left out."""

    def at(value: datetime | None) -> str | None:
        return None if value is None else f"{moment(value, zone)} ({relative(value, now)})"

    cancelling = " (it is to end)" if run.cancel_requested and not run.is_final else ""
    fields: dict[str, str | Text | None] = {
        "run": run.id,
        "job": run.job_id,
        "state": coloured(run.state, run.reason) + cancelling,
        "occurrence": at(run.occurrence),
        "started": at(run.started_at),
        "late": None if run.lateness_seconds is None else lateness(run.lateness_seconds),
        "attempts": f"{run.attempts}/{run.max_attempts}",
        "in line since": at(run.waiting_since) if run.state == "QUEUED" else None,
        "complete by": at(run.waiting_until),
        "heartbeat by": at(run.heartbeat_until),
        "progress": None if run.progress is None else f"{run.progress:.0%}",
        "note": run.note,
        "finished": at(run.finished_at),
        "code": run.code,
        "error": run.error,
        "result": _result(run),
    }
    console = Console(highlight=False, soft_wrap=True)
    for name, value in fields.items():
        if value:
            said = value if isinstance(value, Text) else plain(value)
            console.print(Text.assemble((f"{name:<14}", "bold"), said))
    if len(run.attempt_list) > 1:
        click.echo()
        rows = [
            (str(each.number), moment(each.started_at, zone), _lasted(each), each.outcome or "lasts", each.error or "")
            for each in run.attempt_list
        ]
        _table(("attempt", "started", "lasted", "outcome", "error"), rows)


def _lasted(attempt: Attempt) -> str:
    if attempt.started_at is None or attempt.ended_at is None:
        return "-"
    return f"{(attempt.ended_at - attempt.started_at).total_seconds():.1f} s"


def _result(run: SingleRun) -> str | None:
    """The result itself, or where it can be fetched."""
    if run.result_url:
        return f"{run.result_bytes or '?'} bytes, for {run.result_url_seconds or 'some'} s at {run.result_url}"
    return None if run.result is None else json.dumps(run.result, ensure_ascii=False)


def print_fields(document: Mapping[str, Any], path: str = "") -> None:
    """A document, a field a line: `jobs.active  12`."""
    for name, value in document.items():
        if isinstance(value, Mapping):
            print_fields(value, f"{path}{name}.")
        elif value is not None:
            click.echo(plain(f"{path + name:<32}{value if isinstance(value, str) else json.dumps(value)}"))


def print_workflows(workflows: Iterable[WorkflowSummary]) -> None:
    """Workflows as a table."""
    rows = [
        (each.id, coloured(each.state), each.schedule or "on request", moment(each.next_occurrence))
        for each in workflows
    ]
    _table(("workflow", "state", "schedule", "next occurrence"), rows)


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
    _table(("job", "after", "when", "also"), rows)


def workflow_run_table(run: WorkflowRun) -> Table:
    """The jobs of a workflow's run, each with its state and what it waits for."""
    title = Text.assemble((plain(run.run), "bold"), "  ", coloured(run.state, run.reason))
    if run.deadline is not None and not run.is_final:
        title.append(f"  until {moment(run.deadline)}")
    table = Table("job", "state", "attempts", "waits for", "error", box=None, title=title, title_justify="left")
    for job in run.jobs:
        state = coloured(job.state, job.reason)
        if job.given:
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


def print_due_runs(runs: DueRuns, *, zone: tzinfo | None) -> None:
    """Runs of one job as a table, below one line for all that are not due."""
    if runs.ahead:
        click.echo(f"{len(runs.ahead)} queued until {moment(max(run.due for run in runs.ahead), zone or UTC)}")
    print_found_runs(runs.due, zone=zone)


def print_found_runs(runs: Iterable[Run], *, zone: tzinfo | None, wide: bool = False) -> None:
    """Runs as a table, in the zone of their job where they are of one."""
    at = zone or UTC

    def more(run: Run) -> tuple[str, ...]:
        return (moment(run.started_at, at), moment(run.finished_at, at), run.code or "") if wide else ()

    rows: list[tuple[str | Text, ...]] = [
        (
            run.id,
            moment(run.occurrence, at),
            coloured(run.state, run.reason),
            lateness(run.lateness_seconds),
            f"{run.attempts}/{run.max_attempts}",
            *more(run),
            run.error or "",
        )
        for run in runs
    ]
    columns = ("started", "ended", "code") if wide else ()
    _table(
        ("run", "occurrence", "state", "late", "attempts", *columns, "error"), rows, spare="occurrence"
    )  # the id has it
