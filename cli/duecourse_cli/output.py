"""Answers for people (tables) and for programs (JSON)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from duecourse_cli.models import Job, Run

PIPE_WIDTH = 200
STATE_COLOURS = {
    "SUCCEEDED": "green",
    "ACTIVE": "green",
    "DEAD": "red",
    "CANCELLED": "red",
    "RETRYING": "yellow",
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
