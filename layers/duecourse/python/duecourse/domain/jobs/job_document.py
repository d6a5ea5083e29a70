"""A job's definition as the API accepts and shows it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from duecourse.domain.documents import part_of, read_fields
from duecourse.domain.instants import to_iso
from duecourse.domain.jobs.job import COMPLETION_SECONDS, JobDefinition
from duecourse.domain.jobs.policies import Completion, MissedMode, MissedPolicy, Overlap
from duecourse.domain.schedules import ScheduleSpec
from duecourse.domain.schedules.exclusions import canonical_exclusion
from duecourse.domain.targets.target_document import target_document, target_of

_COMPOSED = ("schedule", "target", "missed", "overlap", "queue_limit")
"""The fields that the API spells differently."""

_PLAIN = tuple(field.name for field in fields(JobDefinition) if field.name not in _COMPOSED)


def definition_document(job: JobDefinition) -> dict[str, Any]:
    """The fields of the posted body, defaults filled in."""
    spec, missed = job.schedule, job.missed
    document = {
        "name": job.name,
        "schedule": spec.expression or None,
        "timezone": spec.timezone,
        "dst_gap": spec.dst_gap,
        "dst_fold": spec.dst_fold,
        "anchor": _second(spec.anchor),
        "start": _second(spec.start),
        "end": _second(spec.end),
        **part_of(job, _PLAIN),
        "target": target_document(job.target),
        "missed": {
            "policy": missed.mode.value,
            "grace_seconds": missed.grace_seconds,
            "max_missed": missed.max_missed,
        },
        "overlap": job.overlap.value if job.queue_limit is None else {job.overlap.value: job.queue_limit},
    }
    if job.completion is not Completion.CALLBACK:
        document["completion_seconds"] = None
    return document


def definition_fields(document: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a JobDefinition: the inverse, for a document without faults, its instants as UTC seconds."""
    missed, overlap, seconds = document["missed"], document["overlap"], document["completion_seconds"]
    spec = (document[name] for name in ("timezone", "dst_gap", "dst_fold", "anchor", "start", "end"))
    rule, limit = next(iter(overlap.items())) if isinstance(overlap, Mapping) else (overlap, None)
    return read_fields(
        JobDefinition,
        document,
        schedule=ScheduleSpec(document["schedule"] or "", *spec),
        exclude=tuple(map(canonical_exclusion, document["exclude"])),
        target=target_of(document["target"]),
        completion_seconds=COMPLETION_SECONDS if seconds is None else seconds,
        missed=MissedPolicy(MissedMode(missed["policy"]), missed["grace_seconds"], missed["max_missed"]),
        overlap=Overlap(rule),
        queue_limit=limit,
    )


def _second(instant: int | None) -> str | None:
    return None if instant is None else to_iso(instant)
