"""Prints runs as tables, and one run field by field."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, tzinfo
from typing import Any

import click
from rich.console import Console
from rich.text import Text

from duecourse.cli.output.jobs import json_line, print_fields_of, target_text
from duecourse.cli.output.table import Cell, print_table
from duecourse.cli.output.values import coloured, lateness
from duecourse.cli.when import local_zone, moment, relative
from duecourse.client.models import (
    Attempt,
    Run,
    RunPayload,
    SingleRun,
)


def print_run(
    run: SingleRun,
    *,
    zone: tzinfo,
    now: datetime,
    target: Mapping[str, Any] | None = None,
    sent: RunPayload | None = None,
    why: str | None = None,
) -> None:
    """Print one run with one field per line, and its attempts. Empty fields are omitted. `target` is the target of its
    job, `sent` its payload, `why` an explanation.
    """

    def at(value: datetime | None) -> str | None:
        return None if value is None else f"{moment(value, zone)} ({relative(value, now)})"

    cancelling = " (end requested)" if run.cancel_requested and not run.is_final else ""
    fields: dict[str, str | Text | None] = {
        "run": run.id,
        "job": run.job_id,
        "workflow": run.workflow if run.workflow != run.job_id else None,
        "target": None if target is None else target_text(target),
        "state": coloured(run.state, run.reason) + cancelling,
        "why": why,
        "waits for": ", ".join(run.waits_for or ()) or None,
        "occurrence": at(run.occurrence),
        "started": at(run.started_at),
        "late": None if run.lateness_seconds is None else lateness(run.lateness_seconds),
        "attempts": f"{run.attempts}/{run.max_attempts}",
        "in wait queue since": at(run.waiting_since) if run.state == "QUEUED" else None,
        "complete by": at(run.waiting_until),
        "heartbeat by": at(run.heartbeat_until),
        "progress": progress_of(run),
        "finished": at(run.finished_at),
        "next attempt": at(run.next_attempt_at),
        "payload": None if sent is None or sent.payload is None else json_line(sent.payload),
        "code": run.code,
        "error": run.error,
        "result": _result(run),
        "stored at": run.result_location and f"{run.result_location} ({run.result_bytes or '?'} bytes)",
        "not stored": run.result_error,
    }
    print_fields_of(fields)
    if len(run.attempt_list) > 1:
        click.echo()
        rows = [
            (str(each.number), each.started_at, _lasted(each), each.outcome or "lasts", each.error or "")
            for each in run.attempt_list
        ]
        print_table(("attempt", "started", "lasted", "outcome", "error"), rows, wide=True, zone=zone)


def progress_of(run: Run) -> str | None:
    """Return the progress in the last heartbeat of a run: `40%, 45 of 112 invoices`. None for a run that succeeded,
    since its last report was made before the end.
    """
    if run.state == "SUCCEEDED":
        return None
    share = None if run.progress is None else f"{run.progress:.0%}"
    return ", ".join(filter(None, [share, run.note])) or None


def coming_of(run: Run) -> str:
    """Return the progress of an active run, or the time of day of the next attempt."""
    if run.next_attempt_at is not None:
        return f"next {run.next_attempt_at.astimezone(local_zone()):%H:%M:%S}"
    return (progress_of(run) or "") if run.state in ("RUNNING", "WAITING") else ""


def _lasted(attempt: Attempt) -> str:
    if attempt.started_at is None or attempt.ended_at is None:
        return "-"
    return f"{(attempt.ended_at - attempt.started_at).total_seconds():.1f} s"


def _result(run: SingleRun) -> str | None:
    """Return the result, or the URL to fetch it from."""
    if run.result_url:
        return f"{run.result_bytes or '?'} bytes, for {run.result_url_seconds or 'some'} s at {run.result_url}"
    return None if run.result is None else json.dumps(run.result, ensure_ascii=False)


def print_ahead(runs: Sequence[Run], *, err: bool = False) -> None:
    """If there are runs that are not due, print one line with their number; with `err`, to standard error."""
    if runs:
        click.echo(f"{len(runs)} queued until {moment(max(run.due for run in runs), local_zone())}", err=err)


def print_found_runs(runs: Iterable[Run], *, wide: bool = False, coverage: bool = False) -> None:
    """Print runs as a table. A failed run has its code instead of its reason, which only a `wide` table has.
    `coverage`: also print how many occurrences each run covers, and their total.
    """
    runs = list(runs)

    def more(run: Run) -> tuple[Cell, ...]:
        return (run.started_at, run.finished_at) if wide else ()

    failed = not wide and Console().is_terminal and all(run.state in ("DEAD", "RETRYING") for run in runs)
    rows: list[tuple[Cell, ...]] = [
        (
            run.id,
            run.occurrence,
            coloured(run.state, run.reason if wide or not run.code else None),
            "" if failed else lateness(run.lateness_seconds),
            f"{run.attempts}/{run.max_attempts}",
            coming_of(run),
            *([str(run.count)] if coverage else []),
            *more(run),
            run.code or "",
            run.error or "" if wide else error_text(run.error, run.code),
        )
        for run in runs
    ]
    columns = ("started", "ended") if wide else ()
    covers = ["covers"] if coverage else []
    print_table(
        ("run", "occurrence", "state", "late", "attempts", "progress", *covers, *columns, "code", "error"),
        rows,
        spare=("occurrence", "attempts", "late"),  # the id has the occurrence
        wide=wide,
        jobs=[run.job_id for run in runs],
    )
    if coverage and runs:
        click.echo(f"{len(runs)} runs, {sum(run.count for run in runs)} occurrences")


def print_dead_letters(runs: Iterable[Run], *, wide: bool = False) -> None:
    """Print dead runs of any job as a table. `duecourse runs redrive` accepts their ids."""
    runs = list(runs)
    rows: list[tuple[Cell, ...]] = [
        (
            run.id,
            run.finished_at,
            f"{run.attempts}/{run.max_attempts}",
            run.code or "",
            run.error or "" if wide else error_text(run.error, run.code),
        )
        for run in runs
    ]
    print_table(
        ("run", "died", "attempts", "code", "error"),
        rows,
        spare=("attempts",),
        wide=wide,
        jobs=[run.job_id for run in runs],
    )


_REQUEST = re.compile(r"(?P<request>[A-Z]+ https?://[^\s]+?)(?: answered |: )(?P<said>.+)", re.DOTALL)


def error_text(error: str | None, code: str | None) -> str:
    """Return the error of a run for a table. On a terminal, where the end can be cut, the cause comes first: the
    response of an HTTP target before the address, and without a beginning that repeats the code:
    `no such account (GET https://example.com)`.
    """
    if not error or not Console().is_terminal:
        return error or ""
    found = _REQUEST.fullmatch(error)
    said = error if found is None else found["said"]
    beginning, _, cause = said.partition(": ")
    if code and cause and code.rpartition(".")[2] in re.findall(r"\w+", beginning):
        said = cause
    return said if found is None else f"{said} ({found['request']})"
