"""Imports a crontab: `crontab -l`, /etc/crontab or /etc/cron.d/*, with the syntax of Debian's cron and cronie."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import PurePath
from string import whitespace

from duecourse.cli.imports.command_names import is_program_word, is_shell_word, program_of
from duecourse.cli.imports.entry import Document, Entry, Names, Runner, converted, either_day, one_line, schedule_fault

_ASSIGNMENT = re.compile(r"""^(["']?)([A-Za-z_]\w*)\1\s*=\s*(.*)$""", re.ASCII)
_BLANKS = " \t"
"""The characters that separate fields. As in cron, other white space is part of the field or the command."""
_NOT_EXPORTED = ("MAILTO", "MAILFROM", "CRON_TZ", "SHELL", "LOGNAME", "USER", "RANDOM_DELAY")
_FIELD = re.compile(
    r"(?:[\d*?,/#~L-]|(?:SUN|MON|TUE|WED|THU|FRI|SAT|JAN|FEB|MAR|APR|MAY|JUN|JUL|AUG|SEP|OCT|NOV|DEC)\b)+"
)
"""A word that is a field of a schedule, not a program."""
_NAMED = re.compile(r"SUN|MON|TUE|WED|THU|FRI|SAT|JAN|FEB|MAR|APR|MAY|JUN|JUL|AUG|SEP|OCT|NOV|DEC", re.IGNORECASE)
_USER = re.compile(r"[A-Za-z_][\w.-]*\$?", re.ASCII)
SYSTEM_USERS = frozenset(
    re.findall(
        r"\S+",
        "root daemon www-data apache nginx http httpd wwwrun postgres mysql mongodb redis mail news "
        "uucp backup list man lp games bin sys proxy gnats irc git logcheck munin smmsp amavis debian-spamd "
        "ubuntu ec2-user vagrant admin deploy jenkins gitlab-runner nagios zabbix prometheus",
    )
) | {"nobody"}
"""Common users. The caller adds those of the machine."""
_PROGRAMS_TOO = frozenset(
    re.findall(
        r"\S+",
        "mail news backup list man git games sync nginx apache httpd redis munin admin deploy",
    )
)
"""Users with the names of programs. A command can begin with them."""
_TITLE = re.compile(r"#\s*([^\W\d_]\S.*)")
"""A comment that can be the name of the entry below it; a line that is commented out cannot."""
_HEADING = re.compile(r"m(in(ute)?)?\s+h(our)?\s", re.IGNORECASE)
"""The comment with the names of the fields."""
_REBOOT = "jobs cannot run at the start of a machine; use the init system (a systemd unit)"
_RETURN = (
    "contains a carriage return, which cron treats as part of the command; convert the line endings "
    "(dos2unix), or remove it"
)
_CONTINUED = "ends with a backslash, but cron does not continue lines; write the whole command in one line"
_ANACRON = (
    "is a line of an anacrontab (period, delay, name, command), whose jobs have no fixed time; write it as a line of a "
    "crontab"
)
_BINARY = re.compile(r"/(?:usr|bin|sbin|opt)/|\.{1,2}/|~/|\$HOME/")
"""The start of the path of a program."""
_ANACRON_LINE = re.compile(r"(?:[0-9]+|@[a-z]+)[ \t]+[0-9]+[ \t]+[A-Za-z][\w.-]+[ \t]", re.ASCII)
_MAIL = (
    "output is not mailed; the end of a failed command's output is in the error of its run; see docs/runs.md "
    "for notifications"
)


@dataclass(slots=True)
class _State:
    """The settings of the lines so far, and of the whole file."""

    zone: str
    own_zone: str
    users: frozenset[str]
    system: bool
    environment: dict[str, str] = field(default_factory=dict)
    shell: str = "/bin/sh"


def is_system(file: str) -> bool:
    """Return whether the name of a file is that of a crontab with users: etc/crontab, or a file in a folder cron.d."""
    parts = PurePath(file).parts
    return parts[-2:] == ("etc", "crontab") or parts[-2:-1] == ("cron.d",)


def read_crontab(
    text: str,
    *,
    file: str,
    runner: Runner,
    names: Names,
    zone: str,
    system: bool,
    now: float,
    users: frozenset[str] = frozenset(),
) -> list[Entry]:
    """Return the result for each line except comments. Only a newline ends a line. `system`: each line has a user
    before the command. `zone` is the machine's timezone. `users`: further names of users.
    """
    state, entries, title = _State(zone, zone, users | SYSTEM_USERS, system), [], ""
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
        convert = partial(_entry, stripped, place, state, runner, names, above, now)
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


def _entry(line: str, place: str, state: _State, runner: Runner, names: Names, title: str, now: float) -> Entry:
    notes: list[str] = []
    system = state.system
    told = one_line(line)
    wanted = 1 if line.startswith("@") else 5
    line = line.removeprefix("-")  # cronie: the run is not logged
    parts = re.split(f"[{_BLANKS}]+", line, maxsplit=wanted + system)
    if why := _why_none(line, parts, wanted, system=system):
        return Entry(place, told, None, (why,))
    schedule, rest = " ".join(parts[:wanted]), parts[-1].rstrip(_BLANKS)
    user = parts[wanted] if system else ""
    if why := _suspect(rest, user, state):
        return Entry(place, told, None, (why,))
    if fault := schedule_fault({"schedule": schedule, "timezone": state.zone}, now):
        return Entry(place, told, None, (f"{fault}; its meaning in the crontab may differ",))
    if system and user != "root":
        notes.append(f"ran as {user}; start its worker as that user")
    elif system:
        notes.append("ran as root; start its worker as a user with the necessary permissions")
    elif _may_be_user(rest, state):
        notes.append(f"{rest.split()[0]} can be a program or a user; if it is the user, use --system")
    if state.zone != state.own_zone:
        notes.append(
            f"CRON_TZ: runs in {state.zone}, as with cronie; Debian's cron ignores CRON_TZ, and uses the time zone of "
            "the machine"
        )
    command, took_input = _command(parts[-1], state.environment, state.shell)
    if took_input:
        notes.append("the text after % is the command's standard input, as in cron")
    job_id = names.take(program_of(re.split(r"(?<!\\)%", rest)[0]), f"{user} {rest}", schedule)
    job: Document = {"id": job_id, "name": title or one_line(rest), "schedule": schedule, "timezone": state.zone}
    job |= runner.document(job_id, {"command": command})
    job |= {"overlap": "allow", "retry": {"max_attempts": 1}, "missed": {"policy": "skip"}}
    return Entry(place, told, job, (*either_day(schedule), *notes))


def _why_none(line: str, parts: Sequence[str], wanted: int, *, system: bool) -> str | None:
    """Return why a line is not an entry that can be imported, or None."""
    if "\r" in line:
        return _RETURN
    if "\0" in line:
        return "contains a null character, which a command cannot contain; remove it"
    if _ANACRON_LINE.match(line):
        return _ANACRON
    if len(parts) != wanted + system + 1 or not parts[-1]:
        missing = "a user and a command" if system else "a command"
        return f"is not a line of a crontab: {wanted} field{'s' * (wanted > 1)} and {missing}"
    schedule = " ".join(parts[:wanted])
    if re.search(r"[^ !-~]", schedule):
        return "its time contains a character that cron does not accept"
    if schedule == "@reboot":
        return _REBOOT
    if "~" in schedule:
        return "random times (~) are not supported; write a time, and use jitter_seconds to spread it"
    if line.rstrip(_BLANKS).endswith("\\"):
        return _CONTINUED
    if parts[-1].startswith("%"):
        return "has only input (the text after %), and no command"
    return None if line.startswith("@") else _foreign(schedule)


def _foreign(schedule: str) -> str | None:
    """Return why cron does not read the fields of a schedule as Duecourse does, or None."""
    for item in re.split("[ ,]", schedule):
        plain = _NAMED.sub("0", item).upper()
        if re.fullmatch(r"\d+/\d+", plain):
            return (
                f"{item} has a step without a range, which cron reads as one value or rejects; write a range (0-59/15)"
            )
        if re.fullmatch(r"\?|L(-\d+)?|LW|\d+[LW]|\d+#\d", plain):
            return f"has {item}, which cron rejects; if it runs elsewhere, create the job yourself"
    return None


def _suspect(command: str, user: str, state: _State) -> str | None:
    """Return why the command is probably not one, so that a shell must not run it, or None."""
    system, words = state.system, command.split()
    first = words[0] if words else ""
    field = user if system and _FIELD.fullmatch(user) else first
    if _FIELD.fullmatch(field):
        expected = "the user" if system and field is user else "the command"
        return f"has {field!r} where {expected} is expected; a crontab has five fields, without seconds and years"
    if system and (_USER.fullmatch(user) is None or is_shell_word(user)):
        return f"has {one_line(user)!r} where the user is expected; if the lines have no users, use --user"
    if first.startswith("-"):
        return f"has the option {first!r} before the command, which only some cron programs know; remove it"
    if (
        not system
        and len(words) > 1
        and first in state.users
        and (first not in _PROGRAMS_TOO or _BINARY.match(words[1]))
    ):
        return f"begins with the user {first}; use --system for a crontab with users"
    return None


def _may_be_user(command: str, state: _State) -> bool:
    """Return whether the first word of a command can be a user: it is the name of one, or a program follows."""
    first, _, others = command.partition(" ")
    following = _BINARY.match(others.lstrip()) or is_program_word(others.split(maxsplit=1)[0] if others.strip() else "")
    return first in state.users or (bool(following) and program_of(command) == first)


def _command(text: str, environment: Mapping[str, str], shell: str) -> tuple[str, bool]:
    """Return the shell's command, and whether it has input. The input starts at the first %, and each % is a line
    break. A line break ends the last line of the input unless it is empty. HOME is the working directory.
    """
    command, *lines = (part.replace("\\%", "%") for part in re.split(r"(?<!\\)%", text))
    has_input = bool(lines)
    if lines and not lines[-1]:
        lines.pop()
    if shell not in ("/bin/sh", "sh"):
        command = f"{shlex.quote(shell)} -c {shlex.quote(command)}"
    if lines:
        command = f"printf '%s\\n' {' '.join(map(shlex.quote, lines))} | {{ {command.rstrip()}\n}}"
    if home := environment.get("HOME"):
        command = f"cd {shlex.quote(home)} || exit; {command}"
    if environment:
        values = " ".join(f"{name}={shlex.quote(value)}" for name, value in environment.items())
        command = f"export {values}; {command}"
    return command, has_input


def _title(line: str) -> str:
    """Return the text of a comment that can name an entry, or an empty text."""
    found = _TITLE.fullmatch(line.rstrip())
    return "" if found is None or _HEADING.match(found[1]) or "\r" in line else one_line(found[1])


def _unquoted(value: str) -> str:
    value = value.strip(whitespace)
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"" else value
