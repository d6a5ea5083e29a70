"""Imports Celery's beat_schedule from JSON, or from a Python file with a literal, which is parsed but never run."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from duecourse.cli.imports.celery_source import ZONES, Call, Computed, Task, is_schedule, of_python
from duecourse.cli.imports.entry import (
    Document,
    Entry,
    Names,
    NotImportedError,
    NotReadableError,
    Runner,
    converted,
    one_line,
    schedule_fault,
)
from duecourse.cli.manifests.json_text import read_json
from duecourse_schedules.cron.cron import DAY_OF_WEEK, MONTH

_FIELDS = {
    "minute": (0, 60),
    "hour": (0, 24),
    "day_of_month": (1, 31),
    "month_of_year": (1, 12),
    "day_of_week": (0, 7),
}
"""The fields of a crontab: the first value, and the number of values."""

_ORDER = ("minute", "hour", "day_of_week", "day_of_month", "month_of_year")
"""The order of the positional arguments of crontab."""

_WORDS = {name.lower(): number for values in (DAY_OF_WEEK.names, MONTH.names) for name, number in values.items()}
"""Celery reads the first three letters of a word, and knows days and months in each field."""

_PART = re.compile(r"(?:(?P<all>\*)|(?P<first>\w+)(?:-(?P<last>\w+))?)(?:/(?P<step>\d+))?", re.ASCII)
_UNITS = {"weeks": 604_800, "days": 86_400, "hours": 3_600, "minutes": 60, "seconds": 1}
_READ = ("task", "schedule", "args", "kwargs", "options")

_COMPUTED = "is computed: write it as a literal"
_QUEUE = "is a queue of Celery; the called target must send the task to it"


def read_beat(
    text: str, *, file: str, runner: Runner, names: Names, zone: str | None, app: str | None, now: float
) -> list[Entry]:
    """Return the result for each entry, and for each other write to the schedule. `app` is the value of `celery -A`.
    Raises NotReadableError.
    """
    is_json = text.lstrip().startswith("{")
    found_zone, tasks, left = _of_json(text, file) if is_json else of_python(text, file, zone)
    used = found_zone or zone or "UTC"
    results = [converted(each.place, each.name, partial(_entry, each, runner, names, used, app, now)) for each in tasks]
    return [*results, *left]


def _of_json(text: str, file: str) -> tuple[str | None, list[Task], list[Entry]]:
    try:
        value = read_json(text)
    except ValueError as error:
        raise NotReadableError(f"{file}: {error}") from error
    inside = next((each for name, each in value.items() if is_schedule(name)), value)
    if not isinstance(inside, dict):
        raise NotReadableError(f"{file}: beat_schedule must be an object with an entry for each name")
    zone = None if inside is value else next((value[name] for name in ZONES if name in value), None)
    if not isinstance(zone, str | None):
        raise NotReadableError(f"{file}: timezone must be text; correct it, or use --timezone")
    return zone, [Task(name, f"{file} {name}", each) for name, each in inside.items()], []


def _entry(task: Task, runner: Runner, names: Names, zone: str, app: str | None, now: float) -> Entry:
    entry, told = task.value, task.name
    if not isinstance(entry, Mapping):
        return Entry(task.place, told, None, (_COMPUTED,))
    if task.replaced:
        return Entry(task.place, told, None, ("is replaced by a later entry of the same name, so it never runs",))
    if entry.get("enabled") is False:
        return Entry(task.place, told, None, ("is disabled, but a job would run; import it when it should run",))
    if computed := [name for name, value in entry.items() if isinstance(value, Computed)]:
        return Entry(task.place, told, None, (f"{', '.join(computed)} {_COMPUTED}",))
    called = entry.get("task")
    if not isinstance(called, str):
        return Entry(task.place, told, None, ("has no task",))
    told = one_line(f"{task.name}: {called}")
    schedule = _schedule(entry.get("schedule"))
    if fault := schedule_fault({"schedule": schedule, "timezone": zone}, now):
        return Entry(task.place, told, None, (fault,))
    options = entry.get("options") or {}
    job_id = names.take(task.name)
    job: Document = {"id": job_id, "name": one_line(called), "schedule": schedule, "timezone": zone}
    job |= runner.document(job_id, _payload(called, entry, runner, app))
    job |= {"overlap": "allow", "retry": {"max_attempts": 1}}
    if is_number := _is_number(expires := options.get("expires")):
        job["start_deadline_seconds"] = expires
    notes = [f"options.queue {options['queue']} {_QUEUE}"] if "queue" in options else []
    notes += [f"options.{name} is not carried over" for name in options if name not in ("queue", "expires")]
    notes += [f"{name} is not carried over" for name in entry if name not in _READ]
    if expires is not None and not is_number:
        notes.append("options.expires is not a number of seconds; set start_deadline_seconds")
    return Entry(task.place, told, job, tuple(notes))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _payload(called: str, entry: Mapping[str, Any], runner: Runner, app: str | None) -> dict[str, Any]:
    args, kwargs = list(entry.get("args") or ()), dict(entry.get("kwargs") or {})
    if runner.queue is None:
        return {"task": called, "args": args, "kwargs": kwargs}
    words = ["celery", *(["-A", app] if app else []), "call", called]
    words += [f"--args={json.dumps(args)}"] if args else []
    words += [f"--kwargs={json.dumps(kwargs)}"] if kwargs else []
    return {"command": shlex.join(words)}


def _schedule(value: Any) -> str:
    """Return the expression. Raises NotImportedError with the reason if there is none."""
    match value:
        case bool() | None:
            raise NotImportedError("has no schedule")
        case int() | float():
            return _rate(value)
        case str():
            return value
        case Call("timedelta", (), named) if set(named) <= set(_UNITS):
            return _rate(sum(_UNITS[unit] * amount for unit, amount in named.items()))
        case Call("timedelta", (days,), named) if set(named) <= set(_UNITS) - {"days"}:
            return _schedule(replace(value, positional=(), named={"days": days, **named}))
        case Call("schedule" | "interval", (every,), named) if not named:
            return _schedule(every)
        case Call("schedule" | "interval", (), {"run_every": every, **more}) if not more:
            return _schedule(every)
        case Call("schedule" | "interval", _, _):
            raise NotImportedError(
                "schedule has other arguments than run_every, such as relative; write run_every alone"
            )
        case Call("crontab.from_string", (str(text),), named) if not named and len(text.split()) == len(_FIELDS):
            return _cron(dict(zip(_FIELDS, text.split(), strict=True)))
        case Call("crontab.from_string", _, _):
            raise NotImportedError("crontab.from_string must have one text with five fields")
        case Call("crontab", positional, named) if len(positional) <= len(_ORDER):
            return _schedule({**dict(zip(_ORDER, positional, strict=False)), **named})
        case Call("solar", _, _):
            raise NotImportedError(
                "solar: solar schedules are not supported; use a job that runs every minute or every day, and checks "
                "the time"
            )
        case Mapping() if set(value) <= set(_FIELDS):
            return _cron(value)
        case Mapping():
            unknown = ", ".join(sorted(str(name) for name in set(value) - set(_FIELDS)))
            raise NotImportedError(f"schedule has unknown fields: {unknown}")
    raise NotImportedError("schedule has a custom class; write an equivalent schedule")


def _cron(fields: Mapping[str, Any]) -> str:
    parts = [_field(name, fields.get(name, "*")) for name in _FIELDS]
    if parts[2] != "*" and parts[4] != "*":
        raise NotImportedError(
            "day_of_month and day_of_week are both restricted: Celery runs the task on days that match both, but cron "
            "on days that match either; create this job with + before the day of week (0 9 13 * +FRI), so that both "
            "must match"
        )
    return " ".join(parts)


def _field(name: str, value: Any) -> str:
    """Return a field as cron writes it. As in Celery, ranges wrap in every field, and steps continue after the wrap."""
    low, count = _FIELDS[name]
    refused = NotImportedError(f"{name} {value} is not a value that Celery accepts; correct it")
    values: Iterable[Any] = value if isinstance(value, list | tuple | set | frozenset) else [value]
    if isinstance(value, str):
        spec = value.replace(" ", "")
        if re.fullmatch(r"\*/[1-9]\d*", spec, re.ASCII) and int(spec[2:]) < count:
            return spec
        values = {number for part in spec.split(",") for number in _numbers(part, low, count, refused)}
    if not values or not all(type(each) is int and low <= each < low + count for each in values):
        raise refused
    return "*" if len(set(values)) == count else ",".join(_ranges(sorted(set(values))))


def _numbers(part: str, low: int, count: int, refused: NotImportedError) -> list[int]:
    found = _PART.fullmatch(part)
    if found is None or (found["step"] and not (found["all"] or found["last"])):
        raise refused
    every = range(low, low + count)
    step = int(found["step"] or 1)
    if found["all"]:
        numbers = list(every)
    else:
        first, last = (_number(each, refused) for each in (found["first"], found["last"] or found["first"]))
        if first not in every or last not in every:
            raise refused
        wraps = [*range(first, low + count), *range(low, last + 1)]
        numbers = list(range(first, last + 1)) if first <= last else wraps
    if step == 0:
        raise refused
    return numbers[::step]


def _number(word: str, refused: NotImportedError) -> int:
    if word.isdigit():
        return int(word)
    if (number := _WORDS.get(word[:3].lower())) is None:
        raise refused
    return number


def _ranges(numbers: list[int]) -> Iterator[str]:
    """Yield ascending numbers as ranges and single numbers."""
    first = last = numbers[0]
    for number in [*numbers[1:], None]:
        if number is not None and number == last + 1:
            last = number
            continue
        yield str(first) if first == last else f"{first}-{last}"
        if number is not None:
            first = last = number


def _rate(seconds: float) -> str:
    if not 1 <= seconds < float("inf") or seconds != int(seconds):
        raise NotImportedError(f"every {seconds:g} s: a schedule must have whole seconds")
    whole = int(seconds)
    for name, size in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if whole % size == 0:
            return f"rate({whole // size} {name}{'s' * (whole != size)})"
    return f"rate({whole} second{'s' * (whole != 1)})"
