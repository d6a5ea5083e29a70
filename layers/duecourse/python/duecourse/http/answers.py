"""What is answered: jobs and runs as JSON documents."""

from __future__ import annotations

from typing import Any

from duecourse.domain.instants import to_iso
from duecourse.domain.job_document import definition_document
from duecourse.domain.run_document import millisecond, run_document
from duecourse.domain.schedule import ScheduleError, ScheduleSpec, compile_schedule
from duecourse.usecases.jobs import JobView

__all__ = ["Document", "job_document", "run_document"]

Document = dict[str, Any]


def job_document(view: JobView) -> Document:
    """The fields of the posted body, defaults filled in, and what became of them."""
    job = view.job
    following = view.next_occurrence
    return {
        "id": job.id,
        "tenant": job.tenant,
        "name": job.name,
        "state": job.state.value,
        **definition_document(job),
        **_understood(job.schedule),
        "next_occurrence": None if following is None else to_iso(following),
        "paused_by": job.paused_by,
        "paused_because": job.paused_because,
        "created_at": millisecond(job.created_at),
        "updated_at": millisecond(job.updated_at),
        "error": view.error,
    }


def _understood(spec: ScheduleSpec) -> Document:
    """The schedule in words and in canonical form; neither where it is understood no more (`error` says why)."""
    try:
        schedule = compile_schedule(spec)
    except ScheduleError:
        return {"understood_as": None, "schedule_canonical": None}
    return {"understood_as": schedule.words, "schedule_canonical": schedule.canonical}
