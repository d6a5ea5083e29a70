"""Jobs and their changes as tables."""

from __future__ import annotations

import json
from collections.abc import Iterable

from rich.text import Text

from duecourse.cli.output.table import print_table
from duecourse.cli.output.values import coloured
from duecourse.cli.when import moment, zone_of
from duecourse.client.models import (
    Change,
    ChangedField,
    Job,
)


def print_changes(changes: Iterable[Change]) -> None:
    """Who changed a job, as a table."""
    rows = [(moment(change.at), change.principal, change.action, _what(change)) for change in changes]
    print_table(("at", "principal", "action", "what"), rows)


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
        return [job.id, coloured(job.state), job.schedule or "on request", following, *more, job.error or ""]

    columns = ["zone", "owner", "tags"] if wide else []
    print_table(["job", "state", "schedule", "next occurrence", *columns, "error"], [row(job) for job in jobs])
