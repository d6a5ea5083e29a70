"""Prints runs as tables, and one run field by field."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any, Literal, cast

import click
from rich.console import Console
from rich.text import Text

from duecourse.cli.output.documents import RunGroup, utc
from duecourse.cli.output.jobs import json_line, print_fields_of, target_text
from duecourse.cli.output.table import Cell, print_table
from duecourse.cli.output.values import coloured, lateness
from duecourse.cli.when import local_zone, moment, relative
from duecourse.client.models import (
    Attempt,
    Delays,
    Discard,
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
        "because of": None if run.delays is None else delays_text(run.delays),
        "attempts": f"{run.attempts}/{run.max_attempts}",
        "in wait queue since": at(run.waiting_since) if run.state == "QUEUED" else None,
        "complete by": at(run.waiting_until),
        "heartbeat by": at(run.heartbeat_until),
        "execution": None if run.execution is None else run.execution.id,
        "progress": progress_of(run),
        "worker": run.worker,
        "finished": at(run.finished_at) if run.is_final else None,
        "next attempt": at(run.next_attempt_at),
        "payload": None if sent is None or sent.payload is None else json_line(sent.payload),
        "code": run.code,
        "error": run.error,
        "discarded": None if run.discarded is None else f"{at(run.discarded.at)} {discard_text(run.discarded)}",
        "result": _result(run),
        "stored at": run.result_location and f"{run.result_location} ({run.result_bytes or '?'} bytes)",
        "not stored": run.result_error,
    }
    print_fields_of(fields)
    if len(run.attempt_list) > 1:
        click.echo()
        named = any(each.worker for each in run.attempt_list)
        rows = [
            (
                str(each.number),
                each.started_at,
                _lasted(each),
                each.outcome or "lasts",
                *([each.worker or ""] if named else []),
                each.error or "",
            )
            for each in run.attempt_list
        ]
        columns = ["worker"] if named else []
        print_table(("attempt", "started", "lasted", "outcome", *columns, "error"), rows, wide=True, zone=zone)


def delays_text(delays: Delays) -> str:
    """Return the parts of a lateness, the longest first: `queue 40.1 s, waiting 3.0 s`."""
    parts = sorted(delays.document.items(), key=lambda each: -each[1])
    return ", ".join(f"{name} {seconds:.1f} s" for name, seconds in parts if seconds >= 0.05)


def discard_text(discard: Discard) -> str:
    """Return who discarded a run, and why: `by ann: sent again`."""
    by = "because its job was deleted" if discard.by is None else f"by {discard.by}"
    return by + (f": {discard.note}" if discard.note else "")


def progress_of(run: Run) -> str | None:
    """Return the progress in the last heartbeat of a run: `40%, 45 of 112 invoices`. None for a run that succeeded,
    since its last report was made before the end.
    """
    if run.state == "SUCCEEDED":
        return None
    share = None if run.progress is None else f"{run.progress:.0%}"
    return ", ".join(filter(None, [share, run.note])) or None


def coming_of(run: Run) -> str:
    """Return the progress of an active run, the time of day of the next attempt, or the time until a delayed run is
    due.
    """
    if run.state == "QUEUED" and run.due > (now := datetime.now(UTC)):
        return relative(run.due, now)
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


def duration_of(run: Run) -> str:
    """Return how long the last attempt of a run took, or has taken until now; empty if it has not started."""
    seconds = run.duration_seconds
    if seconds is None and run.attempt_started_at is not None:
        seconds = (datetime.now(UTC) - run.attempt_started_at).total_seconds()
    if seconds is None:
        return ""
    return f"{seconds:.1f} s" if seconds < 60 else f"{timedelta(seconds=round(seconds))}"


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
        return (run.started_at, run.finished_at, run.worker or "") if wide else ()

    rows: list[tuple[Cell, ...]] = [
        (
            run.id,
            run.occurrence,
            coloured(run.state, run.reason if wide or not run.code else None),
            duration_of(run),
            lateness(run.lateness_seconds),
            f"{run.attempts}/{run.max_attempts}",
            coming_of(run),
            *([str(run.count)] if coverage else []),
            *more(run),
            run.code or "",
            run.error or "" if wide else error_text(run.error, run.code),
        )
        for run in runs
    ]
    columns = ("started", "ended", "worker") if wide else ()
    time = "time" if Console().is_terminal and not wide else "occurrence"
    covers = ["covers"] if coverage else []
    print_table(
        ("run", time, "state", "duration", "late", "attempts", "progress", *covers, *columns, "code", "error"),
        rows,
        spare=("late", "attempts"),
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


def run_groups(runs: Iterable[Run], by: Literal["job", "error"]) -> list[RunGroup]:
    """Return the groups of runs of the same job, or with the same code and error; the largest group first."""
    found: dict[tuple[str | None, ...], list[Run]] = {}
    for run in runs:
        error = run.code, cause_of(run.error or "", run.code)[0] or None
        found.setdefault((run.job_id,) if by == "job" else error, []).append(run)
    groups: list[RunGroup] = []
    names = ("job",) if by == "job" else ("code", "error")
    for key, group in sorted(found.items(), key=lambda each: -len(each[1])):
        first, last = min(group, key=lambda run: run.occurrence), max(group, key=lambda run: run.occurrence)
        counted = {"runs": len(group), "first": utc(first.occurrence), "last": utc(last.occurrence), "run": last.id}
        groups.append(cast("RunGroup", dict(zip(names, key, strict=True)) | counted))
    return groups


def print_run_groups(groups: Iterable[RunGroup], by: Literal["job", "error"], *, wide: bool = False) -> None:
    """Print groups of runs as a table."""
    named = ("job",) if by == "job" else ("code", "error")
    rows: list[tuple[Cell, ...]] = [
        (
            f"{each['runs']:,}",
            *(str(each.get(name) or "") for name in named),
            datetime.fromisoformat(each["first"]) if wide else "",
            datetime.fromisoformat(each["last"]),
            each["run"],
        )
        for each in groups
    ]
    print_table(("runs", *named, "first", "last", "last run"), rows, spare=("last run",), wide=wide)


_REQUEST = re.compile(r"(?P<request>[A-Z]+ https?://[^\s]+?)(?: answered |: )(?P<said>.+)", re.DOTALL)


def error_text(error: str | None, code: str | None) -> str:
    """Return the error of a run for a table. On a terminal, where the end can be cut, the cause comes first: the
    response of an HTTP target before the address, and without a beginning that repeats the code:
    `no such account (GET https://example.com)`.
    """
    if not error or not Console().is_terminal:
        return error or ""
    said, request = cause_of(error, code)
    return said if request is None else f"{said} ({request})"


def cause_of(error: str, code: str | None) -> tuple[str, str | None]:
    """Return the cause of an error and the request of an HTTP target, if there is one."""
    found = _REQUEST.fullmatch(error)
    said = error if found is None else found["said"]
    beginning, _, cause = said.partition(": ")
    if code and cause and code.rpartition(".")[2] in re.findall(r"\w+", beginning):
        said = cause
    return said, None if found is None else found["request"]
