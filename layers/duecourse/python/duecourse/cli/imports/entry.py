"""The common parts of all imports: entries and their results, ids, checks of schedules, and runners of commands."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from math import ceil
from typing import Any

from duecourse.cli.fields import declared
from duecourse.domain.targets.template import literal, render_template
from duecourse.domain.tenants.quota import (
    MAX_DEPTH,
    MAX_ECS_CHARACTERS,
    MAX_EXPRESSION,
    MAX_PARAMETER_BYTES,
    MAX_PAYLOAD_BYTES,
)
from duecourse_schedules import ScheduleError, ScheduleSpec, compile_schedule
from duecourse_schedules.schedule import joined, read_instant

LEFT_OUT = 3
"""The exit code if an entry could not be imported."""

MAX_ID = 64
HEARTBEAT_SECONDS = 3_600
"""The maximum time that a command waits for a worker before its run is lost. If a worker dies, another one takes over
its run within a minute.
"""

Document = dict[str, Any]

_LIMITED = (("jitter_seconds",), ("start_deadline_seconds",), ("retry", "max_attempts"), ("retry", "max_age_seconds"))
"""The numbers of a job that an import may change. The minimum of each is 1."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a file: its place, its text, its job (None if it cannot be imported), and notes on the differences.
    `setting`: the entry only changes other entries.
    """

    place: str
    text: str
    job: Document | None = None
    notes: tuple[str, ...] = ()
    setting: bool = False


class NotReadableError(ValueError):
    """The file does not have the expected format."""


class NotImportedError(ValueError):
    """The reason why an entry cannot be imported."""


@dataclass(frozen=True, slots=True)
class Runner:
    """The runner of commands: a queue that `duecourse work --shell` polls, or a URL to call (`{id}` in it is the job's
    id).
    """

    queue: str | None = None
    url: str | None = None

    def document(self, job_id: str, payload: Document) -> Document:
        """Return the target of a job with this payload, and its related fields. A command completes by its worker's
        callback.
        """
        if self.queue is None:
            target = {"type": "http", "url": (self.url or "").replace("{id}", job_id)}
            return {"target": target, "payload": literal(payload)}
        waits = {"completion": "callback", "heartbeat_seconds": HEARTBEAT_SECONDS}
        return {"target": {"type": "sqs", "queue": self.queue}, "payload": literal(payload), **waits}


@dataclass(frozen=True, slots=True)
class Names:
    """Allocates unique ids. `taken` has the ids that cannot be used. `source` is what is imported: it keeps the ids of
    two sources apart that are written to the same folder.
    """

    prefix: str = ""
    source: str = ""
    taken: set[str] = field(default_factory=set)

    def take(self, wish: str, *marks: str) -> str:
        """Return an unused id similar to the requested one.

        `marks`: what identifies the entry, most important first. The id ends with a checksum of the first mark, so that
        it does not depend on the order of the entries. If it is taken, the checksum includes the source, and then the
        other marks. Without marks, the id has a checksum only if it is taken.
        """
        slug = re.sub(r"[^A-Za-z0-9_-]+", "-", f"{self.prefix}{wish}").strip("-") or "job"
        plain = () if marks else (slug[: MAX_ID - 4],)
        sourced = tuple("\0".join((self.source, *marks[:count], wish)) for count in range(1, len(marks) + 1))
        wanted = (*marks[:1], *(sourced or (f"{self.source}\0{wish}",)))
        found = next(
            (each for each in (*plain, *(_marked(slug, mark) for mark in wanted)) if each not in self.taken), ""
        )
        number = 1
        while not found or found in self.taken:
            number += 1
            found = f"{_marked(slug, wanted[-1])}-{number}"
        self.taken.add(found)
        return found


def _marked(slug: str, mark: str) -> str:
    """Return an id with the checksum of a mark, and space for a number."""
    return f"{slug[: MAX_ID - 12].rstrip('-')}-{sha256(mark.encode(errors='surrogatepass')).hexdigest()[:4]}"


def commands_of(entries: Iterable[Entry]) -> list[str]:
    """Return the commands of the jobs in the form that a worker receives."""
    payloads = [entry.job.get("payload") for entry in entries if entry.job is not None]
    found = [payload["command"] for payload in payloads if isinstance(payload, dict) and "command" in payload]
    return [render_template(each, {}) for each in found]


def converted(place: str, text: str, convert: Callable[[], Entry]) -> Entry:
    """Return the result of one entry, with the numbers of its job within the limits of jobs. An entry that cannot be
    read is not imported, and does not affect the others.
    """
    try:
        entry = convert()
        return entry if entry.job is None else _within_limits(entry, entry.job)
    except NotImportedError as error:
        return Entry(place, one_line(text), None, (str(error),))
    except Exception as error:  # noqa: BLE001 - any value can be in a file; the result is the outcome of this entry
        why = f"cannot be read ({type(error).__name__}: {one_line(str(error))}); correct it, or create the job yourself"
        return Entry(place, one_line(text), None, (why,))


def _within_limits(entry: Entry, job: Document) -> Entry:
    """Return the entry with a job that the API accepts, and with a note on each change. Raises NotImportedError, and
    ValueError or TypeError if the job cannot be written as JSON.
    """
    job = json.loads(json.dumps(job, allow_nan=False, ensure_ascii=False).encode())
    for fault in _excesses(job):
        raise NotImportedError(f"{fault}; shorten it, or create the job yourself")
    notes = [*entry.notes, *_limited(job)]
    if job["schedule"].startswith("rate(") and not {"anchor", "start"} & job.keys():
        notes.append("counts from the moment at which the job is created; set anchor to keep the times of the source")
    return replace(entry, job=job, notes=tuple(notes))


def _excesses(job: Document) -> Iterator[str]:
    """Yield the parts of a job that exceed a limit and cannot be shortened without a loss."""
    if (length := len(job["schedule"])) > MAX_EXPRESSION:
        yield f"schedule has {length} characters, but at most {MAX_EXPRESSION} are allowed"
    text, parameters = _compact(job.get("payload")), _compact(job["target"].get("parameters"))
    is_task = job["target"]["type"] == "ecs"
    for name, size, most in (
        ("payload", len(text.encode()), MAX_PAYLOAD_BYTES),
        ("payload as the text of an ECS task", len(json.dumps(text)) * is_task, MAX_ECS_CHARACTERS),
        ("target.parameters", len(parameters.encode()), MAX_PARAMETER_BYTES),
    ):
        if size > most:
            yield f"{name} has {size} bytes, but at most {most} are allowed"
    pending: list[tuple[Any, int]] = [(job, 0)]
    while pending:
        value, depth = pending.pop()
        if isinstance(value, dict | list):
            pending += [(each, depth + 1) for each in (value.values() if isinstance(value, dict) else value)]
            if depth > MAX_DEPTH:
                yield f"it is nested too deeply: at most {MAX_DEPTH} levels are allowed"
        elif isinstance(value, int) and not -(2**63) <= value < 2**64:
            yield "a whole number in it does not fit in 64 bits"


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _limited(job: Document) -> Iterator[str]:
    """Move the numbers of a job into their limits. Yield a note on each change."""
    for path in _LIMITED:
        *outer, name = path
        inside = job.get(outer[0], {}) if outer else job
        if name not in inside:
            continue
        most = declared("JobRequest", *path)["maximum"]
        found, kept = inside[name], min(max(ceil(inside[name]), 1), most)
        inside[name] = kept
        if found != kept or isinstance(found, bool):
            yield f"{'.'.join(path)} is {kept} instead of {found}: it must be a whole number from 1 to {most}"


def schedule_fault(times: Mapping[str, Any], now: float) -> str | None:
    """Return the reason why the times of such a job cannot be imported, or None if they can."""
    gap, fold = times.get("dst_gap", "next"), times.get("dst_fold", "first")
    try:
        anchor, start, end = (
            read_instant(name, times[name]) if name in times else None for name in ("anchor", "start", "end")
        )
        anchor = int(now) if anchor is None else anchor
        spec = ScheduleSpec(joined(times["schedule"]), times["timezone"], gap, fold, anchor, start, end)
        if compile_schedule(spec).next(int(now)) is not None:
            return None
        if compile_schedule(replace(spec, dst_gap="next")).next(int(now)) is not None:
            return f"its time does not exist in {spec.timezone}: the clocks go forward; choose another time"
    except ScheduleError as error:
        return f"{error.pointer[1:]} {error.detail}"
    return "it has no occurrence in the future"


def either_day(schedule: str) -> tuple[str, ...]:
    """Return a note if day of month and day of week are both restricted, which has two common interpretations."""
    fields = schedule.split()
    if len(fields) != 5 or any(each in ("*", "?") for each in (fields[2], fields[4])):
        return ()
    both = any(each.startswith("*") for each in (fields[2], fields[4]))
    how = "on days that match both" if both else "on days that match either"
    return (f"day of month and day of week are both restricted: it runs {how}, as in cron",)


def one_line(text: str, most: int = 100) -> str:
    """Return a text as one line for the report."""
    line = "".join(each if each.isprintable() else "\ufffd" for each in " ".join(text.split()))
    return line if len(line) <= most else f"{line[: most - 1]}…"


def counted(entries: Iterable[Entry]) -> tuple[int, int]:
    """Return the number of entries that became jobs, and of those that did not."""
    made = [entry.job is not None for entry in entries if not entry.setting]
    return sum(made), len(made) - sum(made)
