"""Jobs and their changes as tables."""

from __future__ import annotations

import json
from collections.abc import Iterable

from duecourse.cli.output.table import Cell, print_table
from duecourse.cli.output.values import coloured
from duecourse.client.models import (
    Change,
    ChangedField,
    Job,
)


def print_changes(changes: Iterable[Change], *, wide: bool = False) -> None:
    """Print the changes of a job as a table."""
    rows = [(change.at, change.principal, change.action, _what(change)) for change in changes]
    print_table(("at", "principal", "action", "what"), rows, wide=wide)


def _what(change: Change) -> str:
    """Return a change as one line: `timeout_seconds 30 -> 60`. Fields whose values are not recorded have only their
    name.
    """
    said = [_difference(each) for each in change.changes]
    return "; ".join(said + [f"{name} {_value(value)}" for name, value in change.facts.items()])


def _difference(change: ChangedField) -> str:
    shown = "before" in change.document
    return f"{change.field} {_value(change.before)} -> {_value(change.after)}" if shown else change.field


def _value(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def print_jobs(jobs: Iterable[Job], *, wide: bool = False) -> None:
    """Print jobs as a table."""

    def row(job: Job) -> list[Cell]:
        more = [job.timezone or "", job.owner or "", ", ".join(job.tags), job.paused_until] if wide else []
        said = [job.paused_because or "", job.name or ""]
        return [
            job.id,
            coloured(job.state),
            job.schedule or "on request",
            job.next_occurrence,
            *said,
            *more,
            job.error or "",
        ]

    columns = ["zone", "owner", "tags", "paused until"] if wide else []
    names = ["job", "state", "schedule", "next occurrence", "paused because", "name", *columns, "error"]
    print_table(names, [row(job) for job in jobs], spare=("name", "paused because"), wide=wide)
