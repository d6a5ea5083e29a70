"""Renaming a job: its new id, and the effect on its cursor and its enqueued runs.

A rename takes effect at one instant. Occurrences that are due before then keep the former id, and later ones have the
new id, as after a change of the schedule. So no occurrence has two runs, and none is lost.
"""

from __future__ import annotations

from dataclasses import replace

from duecourse.domain.instants import CLOCKS_DIFFER_SECONDS
from duecourse.domain.jobs.cursor import Cursor
from duecourse.domain.jobs.edit import rescheduled
from duecourse.domain.jobs.job import MAX_FORMER_IDS, FormerId, Job, JobState
from duecourse.domain.jobs.pause import PauseChange
from duecourse.domain.targets.targets import WorkflowTarget
from duecourse_schedules import ScheduleError
from duecourse_schedules.exclusions import ExclusionError


class RenameError(Exception):
    """The job cannot be renamed now. The text is the reason with its remedy."""


def effective_at(now: float) -> int:
    """Return when a rename that is requested at `now` takes effect (UTC seconds). Even a worker whose clock is ahead
    has not started a later occurrence under the former id.
    """
    return int(now) + CLOCKS_DIFFER_SECONDS


def rename(job: Job, cursor: Cursor, new_id: str, *, now: float, reserved_until: int) -> PauseChange:
    """Return the job with its cursor under the id `new_id`, requested at `now`. Occurrences until `effective_at` must
    have been enqueued. The old id is reserved until `reserved_until` (both in UTC seconds).

    Raises RenameError for a workflow, for a job whose last run has not ended, and for too many former ids.
    """
    if isinstance(job.target, WorkflowTarget):
        raise RenameError(f"{job.id} is a workflow; create the workflow under its new id, and delete this one")
    kept = tuple(each for each in job.former if each.until > now and each.id != new_id)
    if len(kept) >= MAX_FORMER_IDS:
        first = min(kept, key=lambda each: each.until)
        raise RenameError(f"{job.id} has {len(kept)} former ids; rename it after the first, {first.id}, has expired")
    former = (FormerId(job.id, reserved_until), *kept)
    wanted = replace(
        job,
        id=new_id,
        former=former,
        seed=job.seed or job.id,
        created_by=None,
        updated_at=max(now, job.updated_at),
        revision=job.revision + 1,
    )
    moved = replace(cursor, job_id=new_id, seed=wanted.seed)
    match job.state:
        case JobState.PAUSED:
            return PauseChange(wanted, moved)
        case JobState.COMPLETED:  # the audit does not look for its earlier runs under the new id
            ended = wanted.redefined(now)
            return PauseChange(ended, replace(moved, generation=ended.generation))
        case JobState.ACTIVE if not job.scheduled:
            return PauseChange(wanted, moved)
        case JobState.ACTIVE:
            at = effective_at(now)
            try:
                return rescheduled(job, cursor, wanted, max(at, job.changed_at), at)
            except (ScheduleError, ExclusionError) as problem:
                remedy = "rename it after its last run has ended, or change its schedule first"
                raise RenameError(f"{job.id} has no occurrence after the rename ({problem}); {remedy}") from problem


def locks(job: Job) -> bool:
    """Return whether the runs of a job may take its lock. If the schedule is no longer valid, they may."""
    try:
        return job.needs_lock
    except (ScheduleError, ExclusionError):
        return True
