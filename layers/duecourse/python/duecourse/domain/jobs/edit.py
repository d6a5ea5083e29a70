"""Edits of a job, and their effect on its cursor, on enqueued runs, and on due occurrences that are not enqueued.

An edit that does not change the schedule keeps the generation, so every enqueued run stays valid. A change of the
schedule starts a new generation at `now`: earlier occurrences still run, later ones of the old schedule do not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

from duecourse.domain.instants import to_iso
from duecourse.domain.jobs.calendars import CalendarDays, PlannedPause, Window, written
from duecourse.domain.jobs.cursor import (
    Cursor,
    Row,
    SkippedRange,
    cursor_for,
    plan,
    range_before,
    standing,
)
from duecourse.domain.jobs.job import Job, JobDefinition, JobState
from duecourse.domain.jobs.pause import PauseChange, covered, ending_at, given_back, pause_began
from duecourse.domain.targets.kinds import target_document
from duecourse_schedules import ScheduleError, ScheduleSpec, compile_schedule
from duecourse_schedules.exclusions import ExclusionError, canonical_exclusion, excluding, reject_begun
from duecourse_schedules.schedule import SEPARATOR, check_interval, counted_from, occurrences_of, rates

KEPT = {field.name for field in fields(Job)} - {field.name for field in fields(JobDefinition)}
"""Fields that an edit does not set directly."""

SCHEDULE = ("schedule", "jitter_seconds", "offset_seconds", "exclude", "max_runs")
"""The fields that determine the occurrences of a job."""


@dataclass(frozen=True, slots=True)
class _Old:
    """What remains of the old schedule: due occurrences that will not run, and the remaining part of `max_runs` (None:
    no limit).
    """

    skipped: tuple[SkippedRange, ...]
    remaining: int | None


def edit(job: Job, cursor: Cursor, wanted: Job, *, now: float, sent_until: int = 0) -> PauseChange:
    """Return `job` with the definition of `wanted` at `now` (UTC seconds), or `job` itself if the definitions are
    equal.

    Occurrences of the old schedule that came due and are not enqueued are skipped (reason `edited`, or `paused` during
    a pause). Occurrences up to `sent_until` are not skipped, since they were sent without a claim. A COMPLETED job with
    a new schedule becomes ACTIVE. In a job that stays COMPLETED, a change of `after_completion` counts from `now`.

    Raises ScheduleError for a new schedule without a future occurrence. Raises ExclusionError if the exclusions cannot
    be compiled or exclude all future occurrences.
    """
    asked = replace(wanted, **{name: getattr(job, name) for name in KEPT})
    if same(asked, job):
        return PauseChange(job, cursor)
    now = max(now, job.changed_at)
    edited = replace(asked, updated_at=now, revision=job.revision + 1)
    if job.state is JobState.COMPLETED and edited.after_completion != job.after_completion:
        edited = replace(edited, expires_at=edited.removal_after(now))
    if any(getattr(job, name) != getattr(edited, name) for name in SCHEDULE):
        return rescheduled(job, cursor, edited, now, sent_until)
    kept = replace(cursor, lane=edited.lane, precision=edited.precision, missed=edited.missed)
    return PauseChange(edited, replace(kept, deadlines=edited.deadlines))


def resolve_anchor(spec: ScheduleSpec, job: Job | None, now: float) -> ScheduleSpec:
    """Return the spec of a request at `now` with its anchor resolved.

    A rate without anchor and start uses the anchor of the same rate in `job`, otherwise the whole second of `now`. All
    rates of a job have the same anchor. Raises ScheduleError for an invalid expression.
    """
    if not spec.expression:
        return spec
    kept = job is not None and any(rate in job.schedule.expression.split(SEPARATOR) for rate in rates(spec.expression))
    anchor = job.schedule.anchor if job is not None and kept else None
    return counted_from(spec, int(now) if anchor is None else anchor)


def check_schedule(
    spec: ScheduleSpec, exclude: tuple[str, ...], job: Job | None, now: float, smallest_interval: int
) -> None:
    """Check a schedule for `job` (None: a new job). A job may keep its schedule even if it has no more occurrences.

    Raises ScheduleError or ExclusionError for a schedule that is invalid, has no occurrence after `now`, fires more
    often than every `smallest_interval` seconds, or has a planned pause that has started.
    """
    wanted = resolve_anchor(spec, job, now)
    occurrences = occurrences_of("", "", wanted, exclude=exclude)
    kept = job is not None and (wanted, tuple(map(canonical_exclusion, exclude))) == (
        job.schedule,
        written(job.exclude),
    )
    if kept:
        return
    if occurrences.next(int(now)) is None:
        reject_past(wanted, exclude, now)
    check_interval(occurrences.schedule, int(now), smallest_interval)
    if exclude:
        reject_begun(exclude, () if job is None else job.exclude, now)


def reject_past(spec: ScheduleSpec, exclude: tuple[Window, ...], now: float) -> None:
    """Reject a schedule that has no occurrence after `now`, unless it has no expression.

    Raises ScheduleError if the schedule has no future occurrence, ExclusionError if all of them are excluded.
    """
    if not spec.expression:
        return
    at = compile_schedule(spec).next(int(now))
    index = None if at is None else excluding(exclude, spec.timezone, at)
    if at is None or index is None:
        raise ScheduleError("schedule", "has no occurrence in the future; choose a schedule with a future occurrence")
    never = f"excludes {to_iso(at)}, and the schedule has no other future occurrence"
    match exclude[index]:
        case PlannedPause():
            said = f"has no occurrence after the planned pause, which excludes {to_iso(at)}"
            raise ScheduleError("schedule", f"{said}; end the pause earlier, or set catch_up")
        case CalendarDays() as calendar:
            raise ScheduleError("calendar", f"{calendar.id} {never}; choose another calendar, or another time")
        case str() as entry:
            raise ExclusionError(index, f'"{entry}" {never}; remove the entry, or choose another time')


def rescheduled(job: Job, cursor: Cursor, edited: Job, now: float, sent_until: int) -> PauseChange:
    """Return `edited` with a new generation at `now` (UTC seconds), and its cursor after that. See `edit`."""
    old = _left(job, cursor, now, sent_until)
    occurrences = edited.occurrences()
    row = Row.after(occurrences, int(now), _allowance(job, edited, old.remaining))
    # More jitter or a later offset may delay an occurrence that has already come due. It already has its run and counts
    # only once.
    while row.at is not None and _came_due(cursor, row.at, now):
        row.at, row.due = occurrences.next_due(row.at)
    # Less jitter or an earlier offset may move an occurrence into the past before its run. It is late then.
    delayed = _delayed(cursor, now)
    if delayed is not None and row.remaining != 0 and occurrences.next(delayed - 1) == delayed:
        row.at, row.due = delayed, occurrences.due(delayed)
    if row.at is None:
        reject_past(edited.schedule, edited.exclude, now)
    paused = job.state is JobState.PAUSED
    at = None if paused else row.at
    was_paused = job.paused_at is not None and not paused
    changed = replace(
        edited.redefined(now),
        state=JobState.PAUSED if paused else JobState.ACTIVE,
        expires_at=None,
        # Until now `changed_at` was the end of the pause. Occurrences due after it were not part of the pause.
        resumed_at=(job.changed_at if job.resumed_at is None else job.resumed_at) if was_paused else None,
    )
    moved = replace(
        cursor_for(changed, now),
        occurrence=at,
        due=None if at is None else row.due,
        after=int(now) if at is None else min(at - 1, int(now)),
        remaining=row.remaining,
    )
    return PauseChange(changed, ending_at(moved, cursor.resume) if paused else moved, old.skipped)


def _left(job: Job, cursor: Cursor, now: float, sent_until: int) -> _Old:
    """Walk the old schedule up to `now`. A schedule that can no longer be compiled cannot be walked; the edit replaces
    it.
    """
    try:
        occurrences = cursor.occurrences()
        remaining = given_back(cursor, now)
        if job.state is JobState.PAUSED:
            row = Row.after(occurrences, cursor.after, cursor.remaining)
            skips = covered(row, pause_began(job, cursor), int(now))
        elif (at := standing(cursor, occurrences)) is None:
            return _Old((), remaining)
        else:
            row = Row(occurrences, at, cursor.remaining)
            # The policy for missed occurrences did not send all of them.
            missed = plan(cursor, now=job.changed_at, horizon=0).skipped
            while row.due is not None and row.due <= min(sent_until, now):
                row.step()
            skips = (*missed, *(replace(each, reason="edited") for each in range_before(row, int(now) + 1)))
    except (ScheduleError, ExclusionError):
        return _Old((), cursor.remaining)
    passed = 0 if cursor.remaining is None or row.remaining is None else cursor.remaining - row.remaining
    return _Old(skips, None if remaining is None else remaining - passed)


def _came_due(cursor: Cursor, at: int, now: float) -> bool:
    """Return whether the old schedule contained the occurrence, and it was due by `now`."""
    try:
        occurrences = cursor.occurrences()
        return occurrences.next(at - 1) == at and occurrences.due(at) <= now
    except (ScheduleError, ExclusionError):
        return False


def _delayed(cursor: Cursor, now: float) -> int | None:
    """Return the occurrence of the old schedule whose jitter or offset had delayed it beyond `now`, if there is one."""
    newest = now if cursor.occurrence is not None else cursor.last
    if newest is None:
        return None
    try:
        at = Row.after(cursor.occurrences(), int(now), None).at
    except (ScheduleError, ExclusionError):
        return None
    return at if at is not None and at <= min(newest, now) else None


def _allowance(job: Job, edited: Job, remaining: int | None) -> int | None:
    """Return how many occurrences may still come due. If the job had no limit before, the new limit counts from
    now on.
    """
    if edited.max_runs is None or job.max_runs is None or remaining is None:
        return edited.max_runs
    passed = job.max_runs - remaining
    if edited.max_runs <= passed:
        raise ScheduleError("max_runs", f"must be more than {passed}, the number of occurrences that are already due")
    return edited.max_runs - passed


def same(one: Job, other: Job) -> bool:
    """Return whether two jobs are equal as Python values and as JSON: true is not 1, and an object's names (headers)
    have no order.
    """
    if not _alike(target_document(one.target), target_document(other.target)):
        return False
    return replace(one, target=other.target) == other and _alike(one.payload, other.payload)


def _alike(one: object, other: object) -> bool:
    match one, other:
        case Mapping(), Mapping():
            return one.keys() == other.keys() and all(_alike(one[name], other[name]) for name in one)
        case ((list() | tuple()), (list() | tuple())):
            return len(one) == len(other) and all(map(_alike, one, other))
        case _:
            return type(one) is type(other) and one == other
