"""Imports a crontab: `crontab -l`, /etc/crontab or /etc/cron.d/*, with the syntax of Debian's cron and cronie."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from string import whitespace

from duecourse.cli.imports.entry import Document, Entry, Names, Runner, converted, either_day, one_line, schedule_fault

_ASSIGNMENT = re.compile(r"""^(["']?)([A-Za-z_]\w*)\1\s*=\s*(.*)$""", re.ASCII)
_BLANKS = " \t"
"""The characters that separate fields. As in cron, other white space is part of the field or the command."""
_NOT_EXPORTED = ("MAILTO", "MAILFROM", "CRON_TZ", "SHELL", "LOGNAME", "USER", "RANDOM_DELAY")
_WRAPPERS = frozenset(
    [
        "sudo",
        "nice",
        "ionice",
        "env",
        "flock",
        "timeout",
        "test",
        "[",
        "exec",
        "bash",
        "sh",
        "dash",
        "zsh",
        "python",
        "python3",
        "php",
        "perl",
        "ruby",
        "node",
        "nohup",
        "chronic",
    ]
)
_TEST = re.compile(r"\s*\[ .*? \]\s*&&")
"""A test before a command: `[ "$(date +%d)" = 01 ] && close.sh`."""
_TITLE = re.compile(r"#\s*([^\W\d_]\S.*)")
"""A comment that can be the name of the entry below it; a line that is commented out cannot."""
_HEADING = re.compile(r"m(in(ute)?)?\s+h(our)?\s", re.IGNORECASE)
"""The comment with the names of the fields."""
_REBOOT = "jobs cannot run at the start of a machine; use the init system (a systemd unit)"
_RETURN = (
    "contains a carriage return, which cron treats as part of the command; convert the line endings "
    "(dos2unix), or remove it"
)
_MAIL = (
    "output is not mailed; the end of a failed command's output is in the error of its run; see docs/runs.md "
    "for notifications"
)


@dataclass(slots=True)
class _State:
    """The settings of the lines so far."""

    zone: str
    environment: dict[str, str] = field(default_factory=dict)
    shell: str = "/bin/sh"


def read_crontab(
    text: str, *, file: str, runner: Runner, names: Names, zone: str, system: bool, now: float
) -> list[Entry]:
    """Return the result for each line except comments. Only a newline ends a line. `system`: each line has a user
    before the command. `zone` is the machine's timezone.
    """
    state, entries, title = _State(zone), [], ""
    for number, line in enumerate(text.split("\n"), 1):
        stripped = line.lstrip(_BLANKS)
        above, title = title, _title(stripped)
        if not stripped.rstrip(_BLANKS + "\r") or stripped.startswith("#"):
            continue
        place = f"{file}:{number}"
        if found := _ASSIGNMENT.match(stripped):
            if notes := _assigned(state, found[2], _unquoted(found[3])):
                entries.append(Entry(place, one_line(stripped), None, notes, setting=True))
            continue
        convert = partial(_entry, stripped, place, state, runner, names, above, system=system, now=now)
        entries.append(converted(place, stripped, convert))
    return entries


def _assigned(state: _State, name: str, value: str) -> tuple[str, ...]:
    """Record an assignment. Return notes on the parts that cannot be imported."""
    if name == "CRON_TZ":
        state.zone = value
    elif name == "SHELL":
        state.shell = value
    elif name == "RANDOM_DELAY":
        return ("random delays are not imported; set jitter_seconds on the jobs that need one",)
    elif name in ("MAILTO", "MAILFROM"):
        return (_MAIL,) if value else ()
    elif name not in _NOT_EXPORTED:
        state.environment[name] = value
    return ()


def _entry(
    line: str, place: str, state: _State, runner: Runner, names: Names, title: str, *, system: bool, now: float
) -> Entry:
    notes: list[str] = []
    told = one_line(line)
    if "\r" in line:
        return Entry(place, told, None, (_RETURN,))
    line = line.removeprefix("-")  # cronie: the run is not logged
    wanted = 1 if line.startswith("@") else 5
    parts = re.split(f"[{_BLANKS}]+", line, maxsplit=wanted + system)
    if len(parts) != wanted + system + 1 or not parts[-1]:
        missing = "a user and a command" if system else "a command"
        return Entry(
            place, told, None, (f"is not a line of a crontab: {wanted} field{'s' * (wanted > 1)} and {missing}",)
        )
    schedule, rest = " ".join(parts[:wanted]), parts[-1]
    if re.search(r"[^ !-~]", schedule):
        return Entry(place, told, None, ("its time contains a character that cron does not accept",))
    if schedule == "@reboot":
        return Entry(place, told, None, (_REBOOT,))
    if "~" in schedule:
        return Entry(
            place,
            told,
            None,
            ("random times (~) are not supported; write a time, and use jitter_seconds to spread it",),
        )
    if fault := schedule_fault({"schedule": schedule, "timezone": state.zone}, now):
        return Entry(place, told, None, (f"{fault}; its meaning in the crontab may differ",))
    if system and parts[wanted] != "root":
        notes.append(f"ran as {parts[wanted]}; start its worker as that user")
    elif system:
        notes.append("ran as root; start its worker as a user with the necessary permissions")
    command, took_input = _command(rest, state.environment, state.shell)
    if took_input:
        notes.append("the text after % is the command's standard input, as in cron")
    job_id = names.take(_name(rest))
    job: Document = {"id": job_id, "name": title or one_line(rest), "schedule": schedule, "timezone": state.zone}
    job |= runner.document(job_id, {"command": command})
    job |= {"overlap": "allow", "retry": {"max_attempts": 1}, "missed": {"policy": "skip"}}
    return Entry(place, told, job, (*either_day(schedule), *notes))


def _command(text: str, environment: Mapping[str, str], shell: str) -> tuple[str, bool]:
    """Return the shell's command, and whether it has input. The input starts at the first %, and each % is a line
    break. A line break ends the last line of the input unless it is empty.
    """
    command, *lines = (part.replace("\\%", "%") for part in re.split(r"(?<!\\)%", text))
    has_input = bool(lines)
    if lines and not lines[-1]:
        lines.pop()
    if lines:
        command = f"printf '%s\\n' {' '.join(map(shlex.quote, lines))} | {{ {command.rstrip()}\n}}"
    if environment:
        values = " ".join(f"{name}={shlex.quote(value)}" for name, value in environment.items())
        command = f"export {values}; {command}"
    if shell not in ("/bin/sh", "sh"):
        command = f"{shell} -c {shlex.quote(command)}"
    return command, has_input


def _title(line: str) -> str:
    """Return the text of a comment that can name an entry, or an empty text."""
    found = _TITLE.fullmatch(line.rstrip())
    return "" if found is None or _HEADING.match(found[1]) or "\r" in line else one_line(found[1])


def _unquoted(value: str) -> str:
    value = value.strip(whitespace)
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"" else value


def _name(command: str) -> str:
    """Return a descriptive word of the command: the name of its program, without wrappers such as sudo, or a test."""
    words = iter(re.split(r"[\s;&|()<>]+", _TEST.sub("", command, count=1)))
    for word in words:
        if word == "cd":
            next(words, None)
        elif word and word not in _WRAPPERS and not re.match(r"[-\d%'\"$]|\w+=", word):
            stem = word.rsplit("/", 1)[-1].split(".", 1)[0]
            if stem and stem not in _WRAPPERS:
                return stem
    return "cron"
