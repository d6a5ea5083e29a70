"""Imports Kubernetes CronJobs from `kubectl get cronjobs -A -o yaml` or from a manifest."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from duecourse.cli.imports.entry import (
    Document,
    Entry,
    Names,
    NotReadableError,
    Runner,
    converted,
    either_day,
    one_line,
    schedule_fault,
)
from duecourse.cli.manifests.yaml_text import NotYamlError, Parsed, parse

_OVERLAP = {"Allow": "allow", "Forbid": "skip", "Replace": "replace"}
WAIT_SECONDS = 3_600
"""The maximum time to wait for a Kubernetes job without a deadline."""

_REPLACED = (
    "concurrencyPolicy Replace: Duecourse replaces the run but not its pods; the command is ended, "
    "so delete the job in a trap, or use Forbid"
)
_TEMPLATE = "its jobTemplate stays in the cluster; suspend the CronJob there, so that it does not run twice"


def read_cronjobs(text: str, *, file: str, runner: Runner, names: Names, zone: str, now: float) -> list[Entry]:
    """Return the result for each CronJob. `zone` is the time zone of the cluster's controller manager. Raises
    NotReadableError.
    """
    try:
        documents = list(parse(text))
    except NotYamlError as error:
        raise NotReadableError(f"{file}:{error.line}: {error}") from error
    entries: list[Entry] = []
    for document in documents:
        for place, value in _objects(document, file):
            if not isinstance(value, Mapping) or value.get("kind") != "CronJob":
                kind = value.get("kind") if isinstance(value, Mapping) else None
                entries.append(Entry(place, f"kind: {kind}", None, ("is not a CronJob",)))
                continue
            entries.append(converted(place, "kind: CronJob", partial(_entry, value, place, runner, names, zone, now)))
    return entries


def _objects(document: Parsed, file: str) -> Iterator[tuple[str, Any]]:
    value = document.value
    if not isinstance(value, Mapping):
        raise NotReadableError(f"{file}:{document.line()}: is not a Kubernetes object")
    if isinstance(value.get("items"), list):
        for number, each in enumerate(value["items"]):
            yield f"{file}:{document.line(f'items/{number}')}", each
    else:
        yield f"{file}:{document.line()}", value


def _entry(value: Mapping[str, Any], place: str, runner: Runner, names: Names, zone: str, now: float) -> Entry:
    metadata, spec = value.get("metadata") or {}, value.get("spec") or {}
    name, namespace = str(metadata.get("name") or ""), metadata.get("namespace")
    schedule, found_zone = _schedule(str(spec.get("schedule") or ""), spec.get("timeZone") or zone)
    told = one_line(f"CronJob {name} {schedule}")
    if not name:
        return Entry(place, told, None, ("has no metadata.name",))
    if spec.get("suspend"):
        why = "is suspended, but a job would run; import it when it should run, or create the job and pause it"
        return Entry(place, told, None, (why,))
    if fault := _fault(schedule, found_zone, now):
        return Entry(place, told, None, (fault,))
    notes = [*either_day(schedule), _TEMPLATE]
    policy = spec.get("concurrencyPolicy") or "Allow"
    if policy == "Replace":
        notes.append(_REPLACED)
    job_id = names.take(name)
    deadline = ((spec.get("jobTemplate") or {}).get("spec") or {}).get("activeDeadlineSeconds")
    job: Document = {"id": job_id, "name": f"CronJob {name}", "schedule": schedule, "timezone": found_zone}
    job |= {"dst_gap": "skip", "dst_fold": "both"} if found_zone != "UTC" else {}
    job |= runner.document(job_id, {"command": _command(name, namespace, deadline)})
    job |= {"overlap": _OVERLAP.get(str(policy), "allow"), "retry": {"max_attempts": 1}}
    late = spec.get("startingDeadlineSeconds")
    if isinstance(late, int):
        job["start_deadline_seconds"] = late
    return Entry(place, told, job, tuple(notes))


def _schedule(schedule: str, zone: str) -> tuple[str, str]:
    """Return the expression and its time zone. In older clusters, the expression can start with the time zone."""
    if found := re.match(r"(?:CRON_)?TZ=(\S+)\s+(.*)", schedule):
        return found[2], found[1]
    if found := re.fullmatch(r"@every (\d+)([smh])", schedule):
        unit = {"s": "second", "m": "minute", "h": "hour"}[found[2]]
        return f"rate({found[1]} {unit}{'s' * (found[1] != '1')})", zone
    return schedule, zone


def _fault(schedule: str, zone: str, now: float) -> str | None:
    fields = schedule.split()
    days = (fields[2], fields[4]) if len(fields) == 5 else ("*", "*")
    if "*" not in days and "?" not in days and any(each.startswith(("*/", "?/")) for each in days):
        return (
            "day of month and day of week are both restricted, one with a step: Kubernetes runs it on days that match "
            "either, Duecourse on days that match both; write 1-31/n for */n (0-6/n for days of the week)"
        )
    return schedule_fault({"schedule": schedule, "timezone": zone}, now)


def _command(name: str, namespace: object, deadline: object) -> str:
    """Return the command that creates the job of a CronJob and waits for its end."""
    space = f" -n {shlex.quote(str(namespace))}" if namespace else ""
    seconds = deadline if isinstance(deadline, int) else WAIT_SECONDS
    return (
        f'job={name}-$(date +%s) && kubectl create job{space} --from=cronjob/{name} "$job" && '
        f'kubectl wait{space} --for=condition=complete --timeout={seconds}s "job/$job"'
    )
