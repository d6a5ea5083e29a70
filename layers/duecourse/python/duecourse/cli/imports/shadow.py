"""Imported jobs as shadows of the old scheduler, with the command that pings them."""

from __future__ import annotations

from dataclasses import replace

from duecourse.cli.imports.entry import Entry

WHERE = {
    "crontab": "set DUECOURSE_API and DUECOURSE_API_KEY above the line, and write this before its command",
    "systemd": "add this line to [Service], and set DUECOURSE_API and DUECOURSE_API_KEY in its environment",
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
    """Return the shell command that pings a shadow job for the current minute. It never fails and takes at most ten
    seconds. In a crontab and in a unit of systemd, a percent sign has a meaning.
    """
    request = f'"$DUECOURSE_API/key/v1/jobs/{job_id}/ping?occurrence=$(date -u +%FT%RZ)"'
    command = f'curl -fsS -m 10 -o /dev/null -X POST -H "Authorization: Bearer $DUECOURSE_API_KEY" {request}'
    match kind:
        case "crontab":
            return command.replace("%", r"\%") + ";"
        case "systemd":
            return f"ExecStartPre=-/bin/sh -c '{command.replace('%', '%%').replace('$(', '$$(')}'"
        case _:
            return f"{command} || true"
