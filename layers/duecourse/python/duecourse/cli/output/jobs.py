"""Jobs and their changes as tables."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from statistics import median
from sys import maxsize
from typing import Any

from rich.console import Console
from rich.text import Text

from duecourse.cli.night import calendars_of
from duecourse.cli.output.table import Cell, print_table
from duecourse.cli.output.values import coloured, schedule_text
from duecourse.cli.terminal import form, plain
from duecourse.cli.when import moment
from duecourse.client.models import (
    Change,
    ChangedField,
    Job,
    Run,
)


def print_changes(changes: Iterable[Change]) -> None:
    """Print the changes of a job as a table."""
    rows = [(change.at, change.principal, change.action, _what(change)) for change in changes]
    print_table(("at", "principal", "action", "what"), rows)


def _what(change: Change) -> str:
    """Return a change as one line: `timeout_seconds 30 -> 60`. Fields whose values are not recorded have only their
    name.
    """
    facts = [f"{name} {_value(value)}" for name, value in change.facts.items()]
    return "; ".join(facts + [_difference(each) for each in change.changes])


def _difference(change: ChangedField) -> str:
    shown = "before" in change.document
    return f"{change.field} {_value(change.before)} -> {_value(change.after)}" if shown else change.field


def _value(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def print_jobs(jobs: Iterable[Job], *, frame: dict[str, int] | None = None) -> None:
    """Print jobs as a table, or as a page of one (`frame`). With `-o wide`, it has more columns."""
    wide = form() == "wide"

    def row(job: Job) -> list[Cell]:
        more = [job.timezone or "", job.owner or "", ", ".join(job.tags), job.paused_until] if wide else []
        said = [job.paused_because or "", job.name or ""]
        return [
            job.id,
            coloured(job.state),
            schedule_text(job.schedule),
            job.next_occurrence,
            *said,
            *more,
            job.error or "",
        ]

    columns = ["zone", "owner", "tags", "paused until"] if wide else []
    names = ["job", "state", "schedule", "next occurrence", "paused because", "name", *columns, "error"]
    print_table(names, [row(job) for job in jobs], spare=("name", "paused because"), frame=frame)


NEWEST = 10
"""The number of newest durations that are compared with the earlier ones."""

MIN_MEASURED = 3
"""The minimum number of durations. The median of fewer is not meaningful."""


def durations_text(runs: Iterable[Run]) -> str | None:
    """Return how long the attempts of the newest successful runs took, and of the runs before them. The newest run is
    first. None if too few runs have succeeded.
    """
    measured = [run.duration_seconds for run in runs if run.state == "SUCCEEDED" and run.duration_seconds is not None]
    newest, before = measured[:NEWEST], measured[NEWEST:]
    if len(newest) < MIN_MEASURED:
        return None
    said = f"{_seconds(median(newest))} (median of the last {len(newest)} successful runs)"
    if len(before) < MIN_MEASURED:
        return said
    return f"{said}; before: {_seconds(median(before))} (of {len(before)})"


def _seconds(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < 60 else f"{timedelta(seconds=round(seconds))}"


def print_job(
    job: Job, occurrences: Sequence[tuple[datetime, str]], zone: tzinfo, durations: str | None = None
) -> None:
    """Print one job with one field per line, its next occurrences with their marks, and how long its runs take. Empty
    fields are omitted.
    """

    def at(value: datetime | None) -> str | None:
        return None if value is None else moment(value, zone)

    attempts, missed = (job.document.get(name) or {} for name in ("retry", "missed"))
    words = "" if job.understood_as is None else f" ({job.understood_as})"
    paused = [("by", job.paused_by), ("until", at(job.paused_until))]
    state = coloured(job.state, ", ".join(f"{word} {text}" for word, text in paused if text))
    retry = f"{attempts.get('max_attempts')}, each {job.timeout_seconds} s at most" if attempts else None
    coming = "\n".join(f"{moment(at, zone)}  {mark}".rstrip() for at, mark in occurrences)
    clock = f"times that the clock skips: {job.dst_gap}; times that it shows twice: {job.dst_fold}"
    fields: dict[str, str | Text | None] = {
        "job": job.id,
        "name": job.name,
        "description": job.description,
        "state": state,
        "paused because": job.paused_because,
        "planned pause": _planned(job),
        "schedule": f"{schedule_text(job.schedule)}{words}" if job.schedule else "on demand",
        "zone": job.timezone if job.schedule else None,
        "clock changes": clock if job.schedule and job.timezone not in (None, "UTC") else None,
        "starts": at(job.start),
        "ends": at(job.end),
        "excluded": ", ".join(job.exclude or ()),
        "calendar": ", ".join(calendars_of(job)),
        "if excluded": job.on_excluded if job.exclude or job.calendar else None,
        "spread": _spread(job),
        "jitter": f"{job.jitter_seconds} s" if job.jitter_seconds else None,
        "target": target_text(job.target or {}),
        "auth": _auth(job.target or {}),
        "payload": json_line(job.document["payload"]) if job.document.get("payload") is not None else None,
        "attempts": retry,
        "completion": _completion(job),
        "overlap": _value(job.overlap) if job.document.get("overlap") else None,
        "missed": missed.get("policy"),
        "notify": "; ".join(map(_notify, job.document.get("notify") or ())),
        "then": ", ".join(f"{rule.get('job')} ({rule.get('on')})" for rule in job.document.get("then") or ()),
        "owner": job.owner,
        "tags": ", ".join(job.tags or ()),
        "runbook": job.runbook_url,
        "created": at(job.created_at),
        "changed": at(job.updated_at),
        "error": job.error,
        "duration": durations,
        "next": coming or ("none" if job.schedule else None),
    }
    print_fields_of(fields)


def _planned(job: Job) -> str | None:
    """Return the window of the job's planned pause, unless it is over."""
    end = None if job.planned_pause is None else job.planned_pause.split("/")[1]
    return None if end is None or datetime.fromisoformat(end) <= datetime.now(UTC) else job.planned_pause


def _spread(job: Job) -> str | None:
    """Return the offset of each run. In a dry run, add the runs that are due in the chosen minute."""
    if job.spread is None:
        return None
    said = f"{job.spread.offset_minutes} min after each occurrence (of {job.spread.within_minutes} min)"
    load = job.spread_load
    if load is None:
        return said
    runs = f"{load.after.runs:,} run{'s' * (load.after.runs != 1)}"
    return f"{said}; {runs} in that minute, {load.before.runs:,} without the change"


def _completion(job: Job) -> str | None:
    """Return how long the work may take after the call of a job that waits for it."""
    if job.completion == "response":
        return None
    beats = f", a heartbeat every {job.heartbeat_seconds} s" if job.heartbeat_seconds else ""
    return f"{job.completion} within {job.completion_seconds} s{beats}"


SHORTENED = 300
"""The maximum length of JSON that is shown with the other fields."""


def json_line(value: object) -> str:
    """Return JSON as one line for people, shortened."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= SHORTENED else f"{text[:SHORTENED]}… (--json shows all)"


def starts_others(document: Mapping[str, Any]) -> bool:
    """Return whether a job starts other jobs, which must exist."""
    return bool(document.get("notify") or document.get("then"))


def _notify(rule: Mapping[str, Any]) -> str:
    """Return a rule of `notify` as one line: `dead, late -> tell-slack (slack)`."""
    to = rule.get("to") or {}
    form = f" ({to['format']})" if to.get("format", "json") != "json" else ""
    return f"{', '.join(rule.get('on') or ())} -> {to.get('job')}{form}"


def _auth(target: Mapping[str, Any]) -> str | None:
    """Return how the calls of a target authenticate, with the name of the secret: `oauth, secret crm-client`. An OIDC
    token has an audience instead.
    """
    auth = target.get("auth")
    if not isinstance(auth, Mapping):
        return None
    what = next((each for each in ("secret", "audience") if auth.get(each)), "secret")
    return f"{auth.get('type')}, {what} {auth.get(what)}"


def print_fields_of(fields: Mapping[str, str | Text | None]) -> None:
    """Print fields with one name per line. Empty fields are omitted; further lines of a value are indented."""
    console = Console(highlight=False, soft_wrap=True)
    width = max(14, *(len(name) + 2 for name, value in fields.items() if value))
    room = max(20, console.width - width) if console.is_terminal else maxsize
    for name, value in fields.items():
        if isinstance(value, Text):
            console.print(Text.assemble((f"{name:<{width}}", "bold"), value))
        elif value:
            lines = value.split("\n") if name == "next" else [value]
            first, *more = (part for line in lines for part in wrapped(plain(line), room))
            console.print(Text.assemble((f"{name:<{width}}", "bold"), first))
            for line in more:
                console.print(Text(" " * width + line))


def wrapped(text: str, room: int) -> list[str]:
    """Return the text in lines of this length, broken between words; URLs are not broken."""
    return textwrap.wrap(text, room, break_long_words=False, break_on_hyphens=False) or [text]


def target_text(target: Mapping[str, Any]) -> str:
    """Return the target of a job in one line: `http POST https://example.com/hook via office`, without the query of an
    address.
    """
    url = target.get("url")
    if isinstance(url, str):
        via = f" via {target['via']}" if target.get("via") else ""
        return f"{target.get('type')} {target.get('method', 'POST')} {url.partition('?')[0]}{via}"
    named = [str(value) for name, value in target.items() if name != "type" and isinstance(value, str)]
    return " ".join([str(target.get("type", "")), *named]).strip()
