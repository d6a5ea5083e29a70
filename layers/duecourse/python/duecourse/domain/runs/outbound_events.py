"""Which outcomes of a run are published on the event bus, as its job chooses."""

from __future__ import annotations

from typing import Any

from duecourse.domain.instants import to_iso
from duecourse.domain.jobs.job import Job
from duecourse.domain.jobs.policies import EventKind
from duecourse.domain.runs.run import (
    Cancelled,
    Dead,
    Queued,
    Retrying,
    Run,
    Running,
    Skipped,
    Succeeded,
    Waiting,
    reason_of,
)

LATE_REASONS = frozenset({"missed", "superseded", "start_deadline"})
"""Reasons for which a late run is skipped."""

RUN_DEAD = "Run Dead"
RUN_SUCCEEDED = "Run Succeeded"
RUN_CANCELLED = "Run Cancelled"
RUN_SKIPPED = "Run Skipped"
RUN_LATE = "Run Late"
ATTEMPT_FAILED = "Attempt Failed"


def outbound_events_of(run: Run, job: Job) -> tuple[str, ...]:
    """The detail types to publish for a record that was just written; none unless the job asks for them."""
    if not job.events:
        return ()
    found: list[str] = []
    match run:
        case Dead():
            found += [RUN_DEAD] if _wants(job, EventKind.DEATHS, EventKind.FAILURES) else []
        case Retrying():
            found += [ATTEMPT_FAILED] if _wants(job, EventKind.FAILURES) else []
        case Succeeded():
            found += [RUN_SUCCEEDED] if _wants(job) else []
        case Cancelled():
            found += [RUN_CANCELLED] if _wants(job) else []
        case Skipped():
            late = run.reason in LATE_REASONS
            found += [RUN_SKIPPED] if _wants(job, *([EventKind.LATE] if late else [])) else []
        case Queued() | Running() | Waiting():
            return ()
    if run.attempt == 1 and (run.lateness or 0.0) > job.missed.grace_seconds and _wants(job, EventKind.LATE):
        found.append(RUN_LATE)
    return tuple(found)


def detail_of(run: Run, kind: str) -> dict[str, Any]:
    """The detail of an event of this type. `event` is the same in each repetition, so consumers can drop repeats."""
    return {
        "event": f"{run.tenant}/{run.name}/{run.attempt}/{kind}",
        "tenant": run.tenant,
        "job_id": run.job_id,
        "run_id": str(run.name),
        "state": run.state.value,
        "reason": reason_of(run),
        "attempt": run.attempt,
        "occurrence": to_iso(run.occurrence),
        "due": to_iso(run.due),
        "lateness_seconds": None if run.lateness is None else round(run.lateness, 3),
        "error": run.error,
        "code": run.code,
        "count": run.count,
    }


def _wants(job: Job, *kinds: EventKind) -> bool:
    return EventKind.ALL in job.events or any(kind in job.events for kind in kinds)
