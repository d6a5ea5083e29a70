"""Imports Celery's beat_schedule from JSON, or from a Python file with a literal, which is parsed but never run."""

from __future__ import annotations

import ast
import json
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from duecourse.cli.imports.entry import Document, Entry, Names, NotReadableError, Runner, one_line, schedule_fault
from duecourse.cli.manifests.json_text import read_json

_SCHEDULES = ("beat_schedule", "CELERY_BEAT_SCHEDULE", "CELERYBEAT_SCHEDULE")
_ZONES = ("timezone", "CELERY_TIMEZONE", "TIME_ZONE")
_FIELDS = ("minute", "hour", "day_of_month", "month_of_year", "day_of_week")
_UNITS = {"weeks": 604_800, "days": 86_400, "hours": 3_600, "minutes": 60, "seconds": 1}
_NOT_CARRIED = ("priority", "routing_key", "exchange", "serializer", "compression", "eta", "link", "link_error")

_COMPUTED = "is computed: write it as a literal"
_QUEUE = "is a queue of Celery; the called target must send the task to it"


class _Computed(Exception):
    """A value that is known only when the file runs."""


@dataclass(frozen=True, slots=True)
class _Call:
    """A call in the file: `crontab(minute=0)`."""

    name: str
    positional: tuple[Any, ...]
    named: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Task:
    """An entry of the schedule: its value, or a _Computed."""

    name: str
    place: str
    value: Any


def read_beat(
    text: str, *, file: str, runner: Runner, names: Names, zone: str | None, app: str | None, now: float
) -> list[Entry]:
    """Return the result for each entry. `app` is the value of `celery -A`. Raises NotReadableError."""
    found_zone, tasks = _of_json(text, file) if text.lstrip().startswith("{") else _of_python(text, file)
    used = zone or found_zone or "UTC"
    return [_entry(task, runner, names, used, app, now) for task in tasks]


def _of_json(text: str, file: str) -> tuple[str | None, list[_Task]]:
    try:
        value = read_json(text)
    except ValueError as error:
        raise NotReadableError(f"{file}: {error}") from error
    inside = value.get("beat_schedule", value)
    if not isinstance(inside, dict):
        raise NotReadableError(f"{file}: beat_schedule must be an object with an entry for each name")
    zone = value.get("timezone") if inside is not value else None
    return zone, [_Task(name, f"{file} {name}", each) for name, each in inside.items()]


def _of_python(text: str, file: str) -> tuple[str | None, list[_Task]]:
    try:
        module = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError) as error:
        raise NotReadableError(f"{file} is not valid Python: {error}") from error
    assigned = dict(_assigned(module))
    zone = next((each.value for name in _ZONES if isinstance(each := assigned.get(name), ast.Constant)), None)
    schedule = next((assigned[name] for name in _SCHEDULES if name in assigned), None)
    if not isinstance(schedule, ast.Dict):
        raise NotReadableError(
            f"{file}: beat_schedule is missing or computed; write a literal, beat_schedule = {{...}}"
        )
    tasks = []
    for key, value in zip(schedule.keys, schedule.values, strict=True):
        name = str(key.value) if isinstance(key, ast.Constant) else "?"
        tasks.append(_Task(name, f"{file}:{value.lineno}", _literal_entry(value)))
    return zone if isinstance(zone, str) else None, tasks


def _assigned(module: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    """Yield all assigned names and attributes by their last part, and the arguments of calls such as
    `conf.update(timezone=…)`.
    """
    for node in ast.walk(module):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                name = target.attr if isinstance(target, ast.Attribute) else getattr(target, "id", None)
                if name:
                    yield name, node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "update":
            yield from ((each.arg, each.value) for each in node.keywords if each.arg)


def _literal_entry(node: ast.expr) -> Any:
    """Return the entry. Each computed field has a _Computed as its value."""
    if not isinstance(node, ast.Dict):
        return _Computed()
    found: dict[str, Any] = {}
    for key, value in zip(node.keys, node.values, strict=True):
        if not isinstance(key, ast.Constant):
            return _Computed()
        try:
            found[str(key.value)] = _literal(value)
        except _Computed as computed:
            found[str(key.value)] = computed
    return found


def _literal(node: ast.expr) -> Any:
    if isinstance(node, ast.Call):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if any(each.arg is None for each in node.keywords):
            raise _Computed
        named = {str(each.arg): _literal(each.value) for each in node.keywords}
        return _Call(str(name), tuple(_literal(each) for each in node.args), named)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):  # 60 * 60
        left, right = _literal(node.left), _literal(node.right)
        if isinstance(left, int | float) and isinstance(right, int | float):
            return left * right
        raise _Computed
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError) as error:
        raise _Computed from error


def _entry(task: _Task, runner: Runner, names: Names, zone: str, app: str | None, now: float) -> Entry:
    entry, told = task.value, task.name
    if not isinstance(entry, Mapping):
        return Entry(task.place, told, None, (_COMPUTED,))
    if computed := [name for name, value in entry.items() if isinstance(value, _Computed)]:
        return Entry(task.place, told, None, (f"{', '.join(computed)} {_COMPUTED}",))
    called = entry.get("task")
    if not isinstance(called, str):
        return Entry(task.place, told, None, ("has no task",))
    told = one_line(f"{task.name}: {called}")
    try:
        schedule = _schedule(entry.get("schedule"))
    except NotReadableError as error:
        return Entry(task.place, told, None, (str(error),))
    if fault := schedule_fault({"schedule": schedule, "timezone": zone}, now):
        return Entry(task.place, told, None, (fault,))
    options = entry.get("options") or {}
    job_id = names.take(task.name)
    job: Document = {"id": job_id, "name": one_line(called), "schedule": schedule, "timezone": zone}
    job |= runner.document(job_id, _payload(called, entry, runner, app))
    job |= {"overlap": "allow", "retry": {"max_attempts": 1}}
    expires = options.get("expires")
    if isinstance(expires, int | float) and expires >= 1:
        job["start_deadline_seconds"] = int(expires)
    notes = [f"options.queue {options['queue']} {_QUEUE}"] if "queue" in options else []
    notes += [f"options.{name} is not carried over" for name in _NOT_CARRIED if name in options]
    if expires is not None and "start_deadline_seconds" not in job:
        notes.append("options.expires is not a number of seconds; set start_deadline_seconds")
    return Entry(task.place, told, job, tuple(notes))


def _payload(called: str, entry: Mapping[str, Any], runner: Runner, app: str | None) -> dict[str, Any]:
    args, kwargs = list(entry.get("args") or ()), dict(entry.get("kwargs") or {})
    if runner.queue is None:
        return {"task": called, "args": args, "kwargs": kwargs}
    words = ["celery", *(["-A", app] if app else []), "call", called]
    words += [f"--args={json.dumps(args)}"] if args else []
    words += [f"--kwargs={json.dumps(kwargs)}"] if kwargs else []
    return {"command": shlex.join(words)}


def _schedule(value: Any) -> str:
    """Return the expression. Raises NotReadableError with the reason if there is none."""
    match value:
        case bool() | None:
            raise NotReadableError("has no schedule")
        case int() | float():
            return _rate(value)
        case str():
            return value
        case _Call("timedelta", (), named) if set(named) <= set(_UNITS):
            return _rate(sum(_UNITS[unit] * amount for unit, amount in named.items()))
        case _Call("timedelta", (days,), named) if set(named) <= set(_UNITS) - {"days"}:
            return _schedule(replace(value, positional=(), named={"days": days, **named}))
        case _Call("schedule" | "interval", positional, named):
            every = named.get("run_every", named.get("every", positional[0] if positional else None))
            return _schedule(every)
        case _Call("crontab", positional, named) if len(positional) <= len(_FIELDS):
            order = ("minute", "hour", "day_of_week", "day_of_month", "month_of_year")
            return _cron({**dict(zip(order, positional, strict=False)), **named})
        case _Call("solar", _, _):
            raise NotReadableError(
                "solar: solar schedules are not supported; use a job that runs every minute or every day, and checks "
                "the time"
            )
        case Mapping() if set(value) <= set(_FIELDS):
            return _cron(value)
        case Mapping():
            raise NotReadableError(f"schedule has unknown fields: {', '.join(sorted(set(value) - set(_FIELDS)))}")
    raise NotReadableError("schedule has a custom class; write an equivalent schedule")


def _cron(fields: Mapping[str, Any]) -> str:
    parts = [_field(fields.get(name, "*")) for name in _FIELDS]
    if parts[2] != "*" and parts[4] != "*":
        raise NotReadableError(
            "day_of_month and day_of_week are both restricted: Celery runs the task on days that match both, but cron "
            "on days that match either; create this job with + before the day of week (0 9 13 * +FRI), so that both "
            "must match"
        )
    return " ".join(parts)


def _field(value: Any) -> str:
    if isinstance(value, list | tuple | set | frozenset):
        return ",".join(str(each) for each in sorted(value))
    return str(value).replace(" ", "")


def _rate(seconds: float) -> str:
    if seconds < 1 or seconds != int(seconds):
        raise NotReadableError(f"every {seconds:g} s: a schedule must have whole seconds")
    whole = int(seconds)
    for name, size in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if whole % size == 0:
            return f"rate({whole // size} {name}{'s' * (whole != size)})"
    return f"rate({whole} second{'s' * (whole != 1)})"
