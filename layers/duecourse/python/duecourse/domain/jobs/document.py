"""A job's definition as a JSON document, and the records of its changes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from typing import Any

from duecourse.domain.documents import part_of, read_fields
from duecourse.domain.instants import DAY_SECONDS, to_iso
from duecourse.domain.jobs.calendars import CalendarDays, copies_of, pause_of, written
from duecourse.domain.jobs.job import (
    COMPLETION_SECONDS,
    DUECOURSE,
    Completion,
    Job,
    JobDefinition,
    MissedMode,
    MissedPolicy,
    Overlap,
    author,
)
from duecourse.domain.targets.kinds import target_document, target_of
from duecourse_schedules import ScheduleSpec
from duecourse_schedules.exclusions import canonical_exclusion
from duecourse_schedules.schedule import SEPARATOR

_COMPOSED = ("schedule", "target", "missed", "overlap", "queue_limit", "active_limit")
"""The fields whose format in the API differs from that in JobDefinition."""

_PLAIN = tuple(field.name for field in fields(JobDefinition) if field.name not in _COMPOSED)


def definition_document(job: JobDefinition) -> dict[str, Any]:
    """Return the fields of the request body, with defaults filled in."""
    spec, missed, overlap = job.schedule, job.missed, job.overlap.value
    limit = None if job.overlap.rule.limits is None else getattr(job, job.overlap.rule.limits)
    document = {
        "name": job.name,
        "schedule": _listed(spec.expression),
        "timezone": spec.timezone,
        "dst_gap": spec.dst_gap,
        "dst_fold": spec.dst_fold,
        "anchor": _second(spec.anchor),
        "start": _second(spec.start),
        "end": _second(spec.end),
        "on_excluded": spec.on_excluded,
        **part_of(job, _PLAIN),
        "exclude": list(written(job.exclude) if job.exclude else ()),
        "calendar": _one_or_all(job.calendars) if job.exclude else None,
        "target": target_document(job.target),
        "missed": {
            "policy": missed.mode.value,
            "grace_seconds": missed.grace_seconds,
            "max_missed": missed.max_missed,
        },
        "overlap": overlap if limit is None else {overlap: limit},
    }
    if job.completion is Completion.RESPONSE:
        document["completion_seconds"] = None
    return document


def _one_or_all(ids: tuple[str, ...]) -> str | list[str] | None:
    return list(ids) if len(ids) > 1 else next(iter(ids), None)


def calendar_ids(calendar: str | list[str] | None) -> list[str]:
    """Return the ids in the field `calendar` of a valid document. The inverse of `_one_or_all`."""
    return calendar if isinstance(calendar, list) else [] if calendar is None else [calendar]


def _listed(expression: str) -> str | list[str] | None:
    """Return the form of an expression in documents: text, a list if there are several, None if there is none."""
    return expression.split(SEPARATOR) if SEPARATOR in expression else expression or None


def _joined(schedule: str | list[str] | None) -> str:
    """Return the expression of a valid document's schedule. The inverse of `_listed`."""
    return SEPARATOR.join(schedule) if isinstance(schedule, list) else schedule or ""


def definition_fields(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a JobDefinition from a valid document, with instants as UTC seconds. The inverse of
    `definition_document`.
    """
    missed, overlap, seconds = document["missed"], document["overlap"], document["completion_seconds"]
    spec = (document[name] for name in ("timezone", "dst_gap", "dst_fold", "anchor", "start", "end", "on_excluded"))
    word, limit = next(iter(overlap.items())) if isinstance(overlap, Mapping) else (overlap, None)
    rule = Overlap(word)
    calendars = map(CalendarDays, calendar_ids(document.get("calendar")))
    limits = {name: limit if name == rule.rule.limits else None for name in ("queue_limit", "active_limit")}
    return read_fields(
        JobDefinition,
        document,
        schedule=ScheduleSpec(_joined(document["schedule"]), *spec),
        exclude=(*map(canonical_exclusion, document["exclude"]), *calendars),
        target=target_of(document["target"]),
        completion_seconds=COMPLETION_SECONDS if seconds is None else seconds,
        missed=MissedPolicy(MissedMode(missed["policy"]), missed["grace_seconds"], missed["max_missed"]),
        overlap=rule,
        **limits,
    )


def _second(instant: int | None) -> str | None:
    return None if instant is None else to_iso(instant)


KEPT_DAYS = 400
"""How many days a record is kept: long enough for a yearly review."""

VALUE_CHARACTERS = 200
TOTAL_CHARACTERS = 2_000
"""The limit for the total length of a record's values, in characters. Further values are omitted, because a record is
one small item.
"""

NEVER_SHOWN = frozenset({"payload", "target.headers", "target.parameters"})
"""A record lists these fields without their values, which may contain data that should not be kept for so long."""

Document = dict[str, Any]
_MISSING = object()


class ChangeAction(StrEnum):
    """The type of a change. MOVED: new time zone data moved the next occurrence. This action and the actions from
    SKIPPED_NEXT on leave the job unchanged.
    """

    CREATED = "created"
    EDITED = "edited"
    PAUSED = "paused"
    RESUMED = "resumed"
    DELETED = "deleted"
    MOVED = "moved"
    SKIPPED_NEXT = "skipped_next"
    RUN_NOW = "run_now"
    BACKFILLED = "backfilled"
    CANCELLED = "cancelled"
    REDRIVEN = "redriven"
    DISCARDED = "discarded"
    MARKED_SUCCEEDED = "marked_succeeded"
    RESCHEDULED = "rescheduled"
    KEY_CREATED = "key_created"
    KEY_REVOKED = "key_revoked"


@dataclass(frozen=True, slots=True)
class ChangeRecord:
    """The record of a change: `principal` did `action` (a ChangeAction, or an action of a later release) at `at` (UTC
    seconds).

    `key` distinguishes records of the same millisecond. A repeated request has the same key. `revision` is the job's
    revision after the change; None if the request concerned a run and did not read the job. `changes` are
    `{"field": …, "before": …, "after": …}`, or only the field if its values are long or not shown. `facts` describe a
    request about runs.
    """

    tenant: str
    job_id: str
    at: float
    principal: str
    action: str
    key: str
    revision: int | None = None
    changes: tuple[Document, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def expires_at(self) -> int:
        """When the record expires (UTC seconds)."""
        return int(self.at) + KEPT_DAYS * DAY_SECONDS

    @property
    def fields(self) -> list[str]:
        """The names of the changed fields, for the log line of the request."""
        return [change["field"] for change in self.changes]


def created(job: Job) -> ChangeRecord:
    """Return the record of a job's creation. The job has `created_by`, and its definition has never been changed."""
    first = replace(job, revision=1)
    return _changed(ChangeAction.CREATED, first, job.created_by, job.created_at, _summary(None, job))


def changed(action: ChangeAction, before: Job, after: Job, by: str | None, note: str | None = None) -> ChangeRecord:
    """Return the record of a job that changes from `before` to `after`, with the `note` of the caller."""
    record = _changed(action, after, by, after.updated_at, _differences(_shown(before), _shown(after)))
    return record if note is None else replace(record, facts={"note": note})


def deleted(job: Job, by: str | None, at: float) -> ChangeRecord:
    """Return the record of a job that is deleted at `at` (UTC seconds)."""
    return _changed(ChangeAction.DELETED, job, by, at, _summary(job, None))


def moved(job: tuple[str, str], at: float, tzdata: tuple[str, str], occurrence: tuple[int, int]) -> ChangeRecord:
    """Return the record of a job (tenant, id) whose next occurrence was moved by new time zone data. The pairs are the
    version and the occurrence (UTC seconds) before and after.
    """
    shown = [_difference("next_occurrence", *map(to_iso, occurrence)), _difference("tzdata", *tzdata)]
    return ChangeRecord(*job, at, DUECOURSE, ChangeAction.MOVED, f"{tzdata[1]}-{occurrence[1]}", changes=tuple(shown))


def asked(
    action: ChangeAction, job: tuple[str, str], by: str | None, at: float, key: str, revision: int | None, **facts: Any
) -> ChangeRecord:
    """Return the record of a request about runs of a job (tenant, id)."""
    return ChangeRecord(*job, at, author(by), action, key, revision, facts=facts)


def _changed(action: ChangeAction, job: Job, by: str | None, at: float, changes: list[Document]) -> ChangeRecord:
    key = f"{job.revision:06}-{action}"
    return ChangeRecord(job.tenant, job.id, at, author(by), action, key, job.revision, tuple(_bounded(changes)))


def _shown(job: Job) -> Document:
    """Return the job's fields by their names in the API, with each field of the target."""
    document = definition_document(job)
    target = _with_prefix(document.pop("target"))
    end = _second(job.pause_ends_at)
    if job.exclude and (copies := copies_of(job.exclude)):
        document["calendar"] = ", ".join(f"{each.id} (version {each.version})" for each in copies)
    if job.exclude and (pause := pause_of(job.exclude)) is not None:
        document["planned_pause"] = pause.window
    return document | target | {"state": job.state.value, "paused_because": job.paused_because, "paused_until": end}


def _summary(before: Job | None, after: Job | None) -> list[Document]:
    old, new = ({} if job is None else _summed(job) for job in (before, after))
    return _differences(old, new)


def _summed(job: Job) -> Document:
    """Return the fields in the record of a creation or deletion: schedule, state, and the fields of the target."""
    shown = {"schedule": _listed(job.schedule.expression), "timezone": job.schedule.timezone}
    shown |= {**_with_prefix(target_document(job.target)), "state": job.state.value}
    return {name: value for name, value in shown.items() if value is not None}


def _with_prefix(target: Document) -> Document:
    return {f"target.{name}": value for name, value in target.items()}


def _differences(before: Document, after: Document) -> list[Document]:
    names = dict.fromkeys((*before, *after))
    pairs = ((name, before.get(name, _MISSING), after.get(name, _MISSING)) for name in names)
    return [_difference(name, old, new) for name, old, new in pairs if not _same(name, old, new)]


def _difference(name: str, old: Any, new: Any) -> Document:
    values = [None if value is _MISSING else value for value in (old, new)]
    if name in NEVER_SHOWN or any(len(_text(value)) > VALUE_CHARACTERS for value in values):
        return {"field": name}
    before, after = (json.loads(_text(value)) for value in values)
    return {"field": name, "before": before, "after": after}


def _same(name: str, old: Any, new: Any) -> bool:
    """Return whether two values are equal. Callers' JSON is compared as text with sorted names, because true is not 1
    in JSON.
    """
    return _text(old) == _text(new) if name in NEVER_SHOWN else old == new


def _bounded(changes: list[Document]) -> list[Document]:
    """Return the changes, without values from the point where they exceed TOTAL_CHARACTERS."""
    bounded, left = [], TOTAL_CHARACTERS
    for change in changes:
        left -= len(_text(change))
        bounded.append(change if left >= 0 else {"field": change["field"]})
    return bounded


def _text(value: Any) -> str:
    return "" if value is _MISSING else json.dumps(value, sort_keys=True)
