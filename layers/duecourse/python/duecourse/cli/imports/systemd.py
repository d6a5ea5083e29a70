"""Imports systemd timers with their services, from unit files or the output of `systemctl cat`."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from duecourse.cli.imports.entry import (
    Document,
    Entry,
    Names,
    NotReadableError,
    Runner,
    either_day,
    one_line,
    schedule_fault,
)
from duecourse.cli.imports.systemd_commands import (
    NotExactError,
    assignments_of,
    commands_of_line,
    splits,
    without_specifiers,
)
from duecourse.cli.imports.systemd_times import NotCalendarError, cron_of, seconds_of
from duecourse_schedules.schedule import MAX_JITTER_SECONDS

_FRAGMENT = re.compile(r"# (/(?:.*/)?)([^/\s]+\.(?:timer|service))(?:\.d/[^/]+\.conf)?")
"""The line of `systemctl cat` before each file."""
_MONOTONIC = ("OnActiveSec", "OnBootSec", "OnStartupSec", "OnUnitActiveSec", "OnUnitInactiveSec")
_EVENTS = ("OnClockChange", "OnTimezoneChange")
_TIMER = frozenset(
    [
        "OnCalendar",
        "Persistent",
        "RandomizedDelaySec",
        "AccuracySec",
        "Unit",
        *_MONOTONIC,
        *_EVENTS,
        "RemainAfterElapse",
    ]
)
_SERVICE = frozenset(
    re.findall(
        r"\S+",
        "Type ExecStart ExecStartPre ExecStartPost User WorkingDirectory Environment UMask Restart RemainAfterExit "
        "ExecReload StandardOutput StandardError SyslogIdentifier",
    )
)
_NO_JOB = (
    "ExecCondition",
    "ExecStop",
    "ExecStopPost",
    "EnvironmentFile",
    "RootDirectory",
    "RootImage",
    "StandardInput",
)
"""Settings of a service that change what runs."""
_ORDER = frozenset(
    re.findall(
        r"\S+",
        "Description Documentation After Before DefaultDependencies SourcePath RefuseManualStart RefuseManualStop "
        "CollectMode StopWhenUnneeded",
    )
)
"""Settings of [Unit] without an effect on what runs, and when."""

Settings = Mapping[str, Mapping[str, list[str]]]


@dataclass(slots=True)
class _Unit:
    """A unit: the values of each setting, by section. An empty value removes the earlier ones."""

    name: str
    folder: str = ""
    sections: dict[str, dict[str, list[str]]] = field(default_factory=dict)

    def put(self, section: str, name: str, value: str) -> None:
        values = self.sections.setdefault(section, {})
        if value:
            values.setdefault(name, []).append(value)
        else:
            values.pop(name, None)

    def all(self, section: str, name: str) -> list[str]:
        return self.sections.get(section, {}).get(name, [])

    def last(self, section: str, name: str, otherwise: str = "") -> str:
        return (self.all(section, name) or [otherwise])[-1]

    def has(self, section: str, name: str) -> bool:
        """Return whether a setting is switched on."""
        return self.last(section, name).lower() in ("1", "yes", "y", "true", "t", "on")


def read_timers(text: str, *, file: str, runner: Runner, names: Names, zone: str, now: float) -> list[Entry]:
    """Return the result for each timer. `text` is that of `systemctl cat`, or of the file of one unit. `zone` is the
    machine's time zone. Raises NotReadableError.
    """
    units = _units(text, file)
    timers = [each for each in units.values() if each.name.endswith(".timer")]
    if not timers:
        raise NotReadableError(
            f"{file} has no timer; give a .timer file, a folder with units, or the output of systemctl cat '*.timer' "
            "'*.service'"
        )
    return [entry for timer in timers for entry in _entries(timer, units, runner, names, zone, now)]


def _units(text: str, file: str) -> dict[str, _Unit]:
    """Return the units of a text, by name."""
    own = file.rsplit("/", 1)[-1]
    units: dict[str, _Unit] = {}
    unit, section = _Unit(own), ""
    if own.endswith((".timer", ".service")):
        units[own] = unit
    for line in _lines(text):
        if found := _FRAGMENT.fullmatch(line):
            unit, section = units.setdefault(found[2], _Unit(found[2], found[1])), ""
        elif line.startswith(("#", ";")) or not line:
            continue
        elif line.startswith("[") and line.endswith("]"):
            section = line[1:-1]
        else:
            name, equals, value = line.partition("=")
            if not equals:
                raise NotReadableError(f"{file}: {one_line(line, 60)!r} is not a line of a unit file (name=value)")
            unit.put(section, name.strip(), value.strip())
    return units


def _lines(text: str) -> Iterator[str]:
    """Yield the lines of a text without white space at their ends. A backslash at the end continues a line; comments in
    between are ignored.
    """
    joined = ""
    for line in text.split("\n"):
        stripped = line.strip()
        if stripped.startswith(("#", ";")):
            if not joined:
                yield stripped
        elif stripped.endswith("\\"):
            joined += f"{stripped[:-1]} "
        else:
            yield joined + stripped
            joined = ""
    if joined:
        yield joined


def _entries(
    timer: _Unit, units: Mapping[str, _Unit], runner: Runner, names: Names, zone: str, now: float
) -> Iterator[Entry]:
    """Yield the results for a timer: its calendar events, and its other times."""
    told = one_line(f"{timer.name} {', '.join(timer.all('Timer', 'OnCalendar'))}".rstrip())
    for name in (*_MONOTONIC, *_EVENTS):
        for value in timer.all("Timer", name):
            yield Entry(timer.name, f"{timer.name} {name}={one_line(value)}", None, (_why_not(name, value),))
    if not timer.all("Timer", "OnCalendar"):
        if not any(timer.all("Timer", name) for name in (*_MONOTONIC, *_EVENTS)):
            yield Entry(timer.name, told, None, ("has no OnCalendar",))
        return
    try:
        job, notes = _job(timer, units, runner, names, zone, now)
    except (NotExactError, NotCalendarError) as error:
        yield Entry(timer.name, told, None, (str(error),))
    else:
        yield Entry(timer.name, told, job, tuple(notes))


def _why_not(name: str, value: str) -> str:
    if name != "OnUnitActiveSec":
        return f"{name} refers to an event on the machine, so it has no times that a job can have"
    seconds = seconds_of(value)
    whole = f"rate({seconds:.0f} seconds)" if seconds and seconds >= 1 and seconds == int(seconds) else "rate(…)"
    return f"OnUnitActiveSec counts from the last start on the machine; create a job with {whole} and an anchor"


def _job(
    timer: _Unit, units: Mapping[str, _Unit], runner: Runner, names: Names, zone: str, now: float
) -> tuple[Document, list[str]]:
    """Return the job of a timer, and the notes. Raises NotExactError or NotCalendarError."""
    stem = timer.name.removesuffix(".timer")
    if "@" in stem:
        raise NotExactError("is a template or its instance; write a unit for each instance")
    name = timer.last("Timer", "Unit", f"{stem}.service")
    if "@" in name:
        raise NotExactError(f"starts {name}, an instance of a template; write a unit for each instance")
    service = units.get(name)
    if service is None:
        raise NotExactError(f"starts {name}, which is not in the input; add it (systemctl cat {shlex.quote(name)})")
    times, notes = _times(timer, zone, now)
    command = _command(service, notes)
    notes += _ignored(timer, service)
    job_id = names.take(stem)
    described = timer.last("Unit", "Description") or service.last("Unit", "Description") or timer.name
    job: Document = {"id": job_id, "name": one_line(described), **times}
    job |= runner.document(job_id, {"command": command})
    job |= {"overlap": "skip", "retry": {"max_attempts": 1}}
    job["missed"] = {"policy": "run_once" if timer.has("Timer", "Persistent") else "skip"}
    return job, notes


def _times(timer: _Unit, zone: str, now: float) -> tuple[Document, list[str]]:
    """Return the fields of a job for its times, and notes. Raises NotExactError or NotCalendarError."""
    found = [cron_of(without_specifiers(each), zone) for each in timer.all("Timer", "OnCalendar")]
    schedules, zones = list(dict.fromkeys(each for each, _ in found)), {each for _, each in found}
    if len(zones) > 1:
        raise NotExactError(f"has several time zones ({', '.join(sorted(zones))}); a job has one: divide the timer")
    times: Document = {"schedule": schedules[0] if len(schedules) == 1 else schedules, "timezone": zones.pop()}
    times |= {"dst_gap": "skip"} if times["timezone"] != "UTC" else {}
    notes: list[str] = []
    if timer.all("Timer", "RandomizedOffsetSec"):
        raise NotExactError("has RandomizedOffsetSec, which depends on the machine; write its times, or use spread")
    if delay := timer.last("Timer", "RandomizedDelaySec"):
        seconds = seconds_of(delay)
        if seconds is None or seconds != int(seconds) or seconds > MAX_JITTER_SECONDS:
            raise NotExactError(
                f"RandomizedDelaySec={delay} is not within {MAX_JITTER_SECONDS} whole seconds, the maximum"
            )
        times |= {"jitter_seconds": int(seconds)} if seconds else {}
    if accuracy := timer.last("Timer", "AccuracySec"):
        notes.append(f"AccuracySec={one_line(accuracy)}: a job is due at the exact time")
    if fault := schedule_fault(times, now):
        raise NotExactError(fault)
    return times, [*notes, *(note for each in schedules for note in either_day(each) if "+" not in each)]


def _command(service: _Unit, notes: list[str]) -> str:
    """Return the command of a service. Raises NotExactError."""
    _check(service)
    kind = service.last("Service", "Type", "simple")
    starts = service.all("Service", "ExecStart")
    after = service.all("Service", "ExecStartPost")
    lines = [*service.all("Service", "ExecStartPre"), *starts, *after]
    commands = [each for line in lines for each in commands_of_line(line)]
    if not starts or (kind != "oneshot" and (len(starts) > 1 or after)):
        raise NotExactError(
            f"{service.name} has {len(starts)} ExecStart and {len(after)} ExecStartPost; Type={kind} has one ExecStart"
        )
    is_of_user = "/user/" in service.folder
    folder = without_specifiers(service.last("Service", "WorkingDirectory", "~" if is_of_user else "/"))
    moved = "cd" if folder.lstrip("-") == "~" else f"cd {shlex.quote(folder.removeprefix('-'))}"
    before = [f"{moved} || {'true' if folder.startswith('-') else 'exit'}"]
    if mask := service.last("Service", "UMask"):
        before.append(f"umask {shlex.quote(mask)}")
    values = dict(each for line in service.all("Service", "Environment") for each in assignments_of(line))
    if values:
        before.insert(0, "export " + " ".join(f"{name}={shlex.quote(value)}" for name, value in values.items()))
    if any(splits(each) for each in commands):
        before.append("set -f")
    user = service.last("Service", "User")
    if user and user != "root":
        notes.append(f"ran as {one_line(user)}; start its worker as that user")
    elif not is_of_user:
        notes.append("ran as root; start its worker as a user with the necessary permissions")
    return "; ".join((*before, " && ".join(commands)))


def _check(service: _Unit) -> None:
    """Raise NotExactError if a service has a setting without which its command has another effect."""
    kind = service.last("Service", "Type", "simple")
    if kind not in ("simple", "exec", "oneshot", "idle"):
        raise NotExactError(f"{service.name} has Type={kind}, whose command does not end with its work")
    if service.has("Service", "RemainAfterExit"):
        raise NotExactError(f"{service.name} has RemainAfterExit, so the timer starts it only once")
    for name in _NO_JOB:
        if service.all("Service", name):
            raise NotExactError(f"{service.name} has {name}, which a command does not have; put it into a script")


def _ignored(timer: _Unit, service: _Unit) -> Iterator[str]:
    """Yield a note for the settings that have no effect on the job. Raises NotExactError for conditions."""
    names: set[str] = set()
    for unit in (timer, service):
        for name in unit.sections.get("Unit", {}):
            if name.startswith(("Condition", "Assert")):
                raise NotExactError(f"{unit.name} has {name}, which a job does not have; test it in the command")
        names |= unit.sections.get("Unit", {}).keys() - _ORDER
    names |= timer.sections.get("Timer", {}).keys() - _TIMER
    names |= service.sections.get("Service", {}).keys() - _SERVICE
    names |= {"Restart"} if service.last("Service", "Restart", "no") != "no" else set()
    if names:
        yield f"these settings are ignored: {', '.join(sorted(map(one_line, names)))}"
