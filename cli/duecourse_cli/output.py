"""Answers for people (tables) and for programs (JSON)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from duecourse_cli.models import Job, Run, instant

PIPE_WIDTH = 200
STATE_COLOURS = {
    "SUCCEEDED": "green",
    "ACTIVE": "green",
    "DEAD": "red",
    "CANCELLED": "red",
    "RETRYING": "yellow",
    "WAITING": "cyan",
    "SKIPPED": "yellow",
    "PAUSED": "yellow",
}


def print_json(document: Any) -> None:
    """One JSON document on standard output."""
    click.echo(json.dumps(document, indent=2, ensure_ascii=False))


def coloured(state: str) -> str:
    """A state in its colour."""
    colour = STATE_COLOURS.get(state)
    return f"[{colour}]{state}[/{colour}]" if colour else state


def moment(value: datetime | None) -> str:
    """An instant as people read it, in UTC."""
    return "-" if value is None else value.strftime("%Y-%m-%d %H:%M:%SZ")


def lateness(seconds: float | None) -> str:
    """How late a run started: `+0.042 s`."""
    return "-" if seconds is None else f"{seconds:+.3f} s"


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    listed = list(rows)
    table = Table(box=None, pad_edge=False, header_style="bold")
    wanted = [index for index in range(len(columns)) if any(row[index] for row in listed) or not listed]
    for index in wanted:
        table.add_column(columns[index], no_wrap=columns[index] != "error", overflow="fold")
    for row in listed:
        table.add_row(*(row[index] for index in wanted))
    console = Console()
    console.print(table, width=None if console.is_terminal else PIPE_WIDTH)


def print_jobs(jobs: Iterable[Job]) -> None:
    """Jobs as a table."""
    _table(
        ("job", "state", "schedule", "next occurrence", "error"),
        ((job.id, coloured(job.state), job.schedule, moment(job.next_occurrence), job.error or "") for job in jobs),
    )


def print_dead_letters(runs: Iterable[Run]) -> None:
    """Dead runs of any job as a table; their ids are what `duecourse run redrive` takes."""
    _table(
        ("run", "died", "attempts", "code", "error"),
        (
            (
                run.id,
                moment(instant(run.document.get("finished_at"))),
                f"{run.attempts}/{run.max_attempts}",
                run.code or "",
                run.error or "",
            )
            for run in runs
        ),
    )


def print_run(run: Run) -> None:
    """One run, a field a line; what says nothing is left out."""
    cancelling = " (it is to end)" if run.cancel_requested else ""
    fields = {
        "run": run.id,
        "job": run.job_id,
        "state": coloured(run.state) + escape((f" ({run.reason})" if run.reason else "") + cancelling),
        "occurrence": moment(run.occurrence),
        "started": _moment_of(run, "started_at"),
        "late": None if run.lateness_seconds is None else lateness(run.lateness_seconds),
        "attempts": f"{run.attempts}/{run.max_attempts}",
        "complete by": _moment_of(run, "waiting_until"),
        "heartbeat by": _moment_of(run, "heartbeat_until"),
        "finished": _moment_of(run, "finished_at"),
        "code": run.code,
        "error": run.error,
        "result": _result(run),
    }
    console = Console(highlight=False, soft_wrap=True)
    for name, value in fields.items():
        if value:
            console.print(f"[bold]{name:<14}[/bold]{value if name == 'state' else escape(value)}")


def _moment_of(run: Run, name: str) -> str | None:
    found = instant(run.document.get(name))
    return None if found is None else moment(found)


def _result(run: Run) -> str | None:
    """The result itself, or where it can be fetched."""
    if url := run.document.get("result_url"):
        seconds = run.document.get("result_url_seconds")
        return f"{run.document.get('result_bytes') or '?'} bytes, for {seconds or 'some'} s at {url}"
    result = run.document.get("result")
    return None if result is None else json.dumps(result, ensure_ascii=False)


def print_runs(runs: Iterable[Run]) -> None:
    """Runs as a table."""
    _table(
        ("occurrence", "state", "late", "attempts", "error"),
        (
            (
                moment(run.occurrence),
                coloured(run.state) + (f" ({run.reason})" if run.reason else ""),
                lateness(run.lateness_seconds),
                f"{run.attempts}/{run.max_attempts}",
                run.error or "",
            )
            for run in runs
        ),
    )
