"""Imported jobs as shadows of the old scheduler, with the command that pings them."""

from __future__ import annotations

from dataclasses import replace

from duecourse.cli.imports.entry import Entry

WHERE = {
    "crontab": "set DUECOURSE_API and DUECOURSE_API_KEY above the line, and write this before its command",
    "systemd": "add this line to [Service], with an EnvironmentFile that sets DUECOURSE_API and DUECOURSE_API_KEY",
    "kubernetes": "run this first in the container, with DUECOURSE_API and DUECOURSE_API_KEY in its environment",
    "celery": "run this, or send the same request, when the task starts (task_prerun)",
    "eventbridge": "send this request when the target starts its work",
}
"""What to do with the command, by the kind of the import."""


def shadowed(entry: Entry, kind: str) -> Entry:
    """Return the entry with its job as a shadow, and with a note that has the command for its pings. `kind` begins with
    the name of the import.
    """
    if entry.job is None:
        return entry
    name = kind.partition(" ")[0]
    note = f"{WHERE[name]}: {ping_command(str(entry.job['id']), name)}"
    return replace(entry, job={**entry.job, "shadow": True}, notes=(*entry.notes, note))


def ping_command(job_id: str, kind: str = "") -> str:
    """Return the shell command that pings a shadow job for the present second. It never fails, and takes at most 20
    seconds; in a crontab, it runs beside the work. The key is not an argument of a process, because all users of a
    machine see these. In a crontab and in a unit of systemd, a percent sign has a meaning.

    The command names the second, not the minute: a job can start twice in a minute.
    """
    request = f'"$DUECOURSE_API/key/v1/jobs/{job_id}/ping?occurrence=$(date -u +%FT%TZ)"'
    header = 'echo "Authorization: Bearer $DUECOURSE_API_KEY"'
    tries = "-m 5 --retry 4 --retry-max-time 15"
    command = f"{header} | curl -fsS {tries} -o /dev/null -X POST -H @- {request}"
    match kind:
        case "crontab":
            return command.replace("%", r"\%") + " &"
        case "systemd":
            return f"ExecStartPre=-/bin/sh -c '{command.replace('%', '%%').replace('$(', '$$(')}'"
        case _:
            return f"{command} || true"
