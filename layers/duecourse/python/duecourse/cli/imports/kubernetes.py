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
_NAME = re.compile(r"(?=.{1,52}\Z)[a-z0-9]([-a-z0-9.]*[a-z0-9])?")
"""The form of the name of a CronJob: a DNS subdomain. Kubernetes adds eleven characters to it."""
_LABEL = re.compile(r"(?=.{1,63}\Z)[a-z0-9]([-a-z0-9]*[a-z0-9])?")
"""The form of the name of a namespace: a DNS label."""
_STATE = '{.metadata.name} {range .status.conditions[?(@.status=="True")]}{.type} {end}'
WAIT_SECONDS = 3_600
"""The maximum time to wait for a Kubernetes job without a deadline."""
POLL_SECONDS = 5
GRACE_SECONDS = 60
"""The time after the deadline of a Kubernetes job in which the cluster starts it, and ends it."""
MAX_SECONDS = 604_800
"""The maximum of `start_deadline_seconds`, and of the time to wait for a Kubernetes job."""

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
            if not isinstance(value, Mapping):
                entries.append(Entry(place, one_line(str(value), 60), None, ("is not a Kubernetes object",)))
                continue
            if value.get("kind") != "CronJob":
                entries.append(Entry(place, f"kind: {value.get('kind')}", None, ("is not a CronJob",)))
                continue
            entries.append(converted(place, "kind: CronJob", partial(_entry, value, place, runner, names, zone, now)))
    return entries


def _objects(document: Parsed, file: str) -> Iterator[tuple[str, Any]]:
    value = document.value
    if isinstance(value, Mapping) and isinstance(value.get("items"), list):
        # The items of a typed list have no kind (`kubectl get --raw`).
        kind = {"kind": "CronJob"} if value.get("kind") == "CronJobList" else {}
        for number, each in enumerate(value["items"]):
            yield f"{file}:{document.line(f'items/{number}')}", {**kind, **each} if isinstance(each, Mapping) else each
    else:
        yield f"{file}:{document.line()}", value


def _entry(value: Mapping[str, Any], place: str, runner: Runner, names: Names, zone: str, now: float) -> Entry:
    metadata, spec = _mapping(value.get("metadata")), _mapping(value.get("spec"))
    name, namespace = metadata.get("name"), metadata.get("namespace") or None
    schedule, found_zone = _schedule(str(spec.get("schedule") or ""), str(spec.get("timeZone") or zone))
    told = one_line(f"CronJob {name} {schedule}")
    if why := _why_none(name, namespace, spec) or _fault(schedule, found_zone, now):
        return Entry(place, told, None, (why,))
    notes = [*either_day(schedule), _TEMPLATE]
    policy = spec.get("concurrencyPolicy") or "Allow"
    if policy == "Replace":
        notes.append(_REPLACED)
    if schedule.startswith("rate("):
        notes.append("@every counts from the creation of the job; set anchor to count from another time")
    job_id = names.take(f"{namespace}-{name}" if namespace else str(name))
    deadline = _seconds(_mapping(_mapping(spec.get("jobTemplate"), notes).get("spec")), "activeDeadlineSeconds", notes)
    job: Document = {"id": job_id, "name": f"CronJob {name}", "schedule": schedule, "timezone": found_zone}
    job |= {"dst_gap": "skip", "dst_fold": "both"} if found_zone != "UTC" else {}
    job |= runner.document(job_id, {"command": _command(str(name), namespace, deadline or WAIT_SECONDS)})
    job |= {"overlap": _OVERLAP[policy], "retry": {"max_attempts": 1}}
    if late := _seconds(spec, "startingDeadlineSeconds", notes):
        job["start_deadline_seconds"] = late
    return Entry(place, told, job, tuple(notes))


def _mapping(value: Any, notes: list[str] | None = None) -> Mapping[str, Any]:
    """Return an object of a document, or an empty one for other values."""
    if notes is not None and not isinstance(value, Mapping | None):
        notes.append("its jobTemplate is not an object, and is ignored")
    return value if isinstance(value, Mapping) else {}


def _seconds(spec: Mapping[str, Any], name: str, notes: list[str]) -> int | None:
    """Return a number of seconds, at most a week, or None if it is missing. Other values are noted."""
    value = spec.get(name)
    if value is None:
        return None
    if type(value) is not int or value < 1:
        notes.append(f"{name} is not a positive number of seconds, and is ignored")
        return None
    if value > MAX_SECONDS:
        notes.append(f"{name} is {value}, but the maximum is {MAX_SECONDS}, which is used instead")
    return min(value, MAX_SECONDS)


def _why_none(name: object, namespace: object, spec: Mapping[str, Any]) -> str | None:
    """Return why a CronJob cannot be imported, or None."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        return "metadata.name is missing, or is not the name of a CronJob (lower-case letters, digits, - and .)"
    if namespace is not None and not (isinstance(namespace, str) and _LABEL.fullmatch(namespace)):
        return "metadata.namespace is not the name of a namespace (lower-case letters, digits and -)"
    if spec.get("suspend"):
        return "is suspended, but a job would run; import it when it should run, or create the job and pause it"
    if spec.get("concurrencyPolicy", "Allow") not in (*_OVERLAP, None):
        return f"concurrencyPolicy is unknown; write {', '.join(_OVERLAP)}"
    return None


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


def _command(name: str, namespace: object, seconds: int) -> str:
    """Return the command that creates the Kubernetes job of a CronJob and waits until it has completed or failed.

    `kubectl wait` waits for one condition only. A request that fails is repeated, because the Kubernetes job continues.
    """
    space = f" -n {shlex.quote(str(namespace))}" if namespace else ""
    quoted = shlex.quote(name)
    return (
        f'job={quoted}-$(date +%s) && kubectl create job{space} --from=cronjob/{quoted} "$job" || exit; '
        f"end=$(( $(date +%s) + {seconds + GRACE_SECONDS} )); "
        f'while [ "$(date +%s)" -le "$end" ]; do '
        f'if state=$(kubectl get job{space} "$job" --ignore-not-found -o jsonpath={shlex.quote(_STATE)}); then '
        'case " $state " in '
        '*" Complete "*) exit 0;; '
        '*" Failed "*) echo "$job has failed" >&2; exit 1;; '
        '"  ") echo "$job was deleted before its end was known" >&2; exit 1;; '
        f"esac; fi; sleep {POLL_SECONDS}; done; "
        f'echo "$job has not ended after {seconds} s" >&2; exit 1'
    )
