"""Pause and resume: their effect on a job, its cursor, and the occurrences during the pause."""

from __future__ import annotations

from dataclasses import dataclass, replace

from duecourse.domain.jobs.calendars import Window
from duecourse.domain.jobs.cursor import (
    Cursor,
    Firing,
    PlannedResume,
    Row,
    SkippedRange,
    range_before,
    standing,
)
from duecourse.domain.jobs.job import MAX_FIRINGS, Job, JobState
from duecourse_schedules import ScheduleError
from duecourse_schedules.exclusions import ExclusionError


@dataclass(frozen=True, slots=True)
class PauseChange:
    """A job and its cursor after a change. The `skipped` occurrences were due and will not run."""

    job: Job
    cursor: Cursor
    skipped: tuple[SkippedRange, ...] = ()


ALL_JOBS = "*"
"""The name of a pause of all jobs in `Job.paused_with`. No tag has this name."""


def pause(
    job: Job,
    cursor: Cursor,
    *,
    now: float,
    because: str | None = None,
    by: str | None = None,
    together: str | None = None,
    end: PlannedResume | None = None,
) -> PauseChange:
    """Return the job paused at `now` (UTC seconds), until it is resumed or until `end`.

    Its cursor is removed from the index, or is due at the end of the pause. Occurrences that were enqueued for later
    will not run and do not count towards `max_runs`. The cursor does not move past earlier occurrences that are not
    enqueued; `resume` handles them. `because` is the reason, `by` the author (None: Duecourse), and `together` the tag
    of a pause of many jobs, or ALL_JOBS.
    """
    now = max(now, job.changed_at)
    paused = replace(
        _changed(job, JobState.PAUSED, now),
        paused_at=now,
        paused_because=because,
        paused_by=by,
        paused_with=together,
        paused_until=None if end is None else end.at,
    )
    try:
        after, given = _enqueued_through(cursor, now), _not_due_yet(cursor, now)
    except (ScheduleError, ExclusionError):  # a schedule that can no longer be compiled can still be paused
        after, given = int(now) if cursor.due is None else min(int(now), cursor.due - 1), 0
    left = replace(
        cursor,
        generation=paused.generation,
        occurrence=None,
        due=None,
        last=None if given else cursor.last,  # an exhausted schedule stays exhausted: its last run may be in progress
        ending=False,
        after=after,
        remaining=None if cursor.remaining is None else cursor.remaining + given,
    )
    return PauseChange(paused, ending_at(left, end))


def pause_again(
    job: Job,
    cursor: Cursor,
    *,
    now: float,
    because: str | None = None,
    by: str | None = None,
    together: str | None = None,
    end: PlannedResume | None = None,
) -> PauseChange | None:
    """Return the paused job with its pause ending at `end` (None: no planned end); None if nothing changes.

    A pause of many jobs (`together`) changes the jobs that it paused before. It changes a job that was paused in
    another way only if that job would resume earlier. The pause keeps its start; `because` replaces its reason.
    """
    joins = together is not None and job.paused_with != together
    if cursor.resume == end or (joins and not _ends_before(job.paused_until, end)):
        return None
    again = replace(
        job,
        paused_because=job.paused_because if because is None else because,
        paused_by=job.paused_by if because is None else by,
        paused_with=together if joins else job.paused_with,
        paused_until=None if end is None else end.at,
        updated_at=max(now, job.updated_at),
        revision=job.revision + 1,
        created_by=None,
    )
    return PauseChange(again, ending_at(cursor, end))


def with_exclusions(job: Job, cursor: Cursor, exclude: tuple[Window, ...], *, now: float) -> PauseChange:
    """Return the paused job with these exclusions. It has no enqueued occurrence, so its generation and the start of
    its pause do not change.
    """
    changed = replace(
        job, exclude=exclude, updated_at=max(now, job.updated_at), revision=job.revision + 1, created_by=None
    )
    return PauseChange(changed, replace(cursor, exclude=exclude))


def ending_at(cursor: Cursor, end: PlannedResume | None) -> Cursor:
    """Return the cursor of a paused job, in the index if the pause has an `end`. The error that keeps a quarantined
    cursor out of the index is then removed: the resume detects the error again.
    """
    if end is None:
        return replace(cursor, due=None, resume=None)
    return replace(cursor, due=end.dispatched_at, resume=end, error=None)


def is_over(job: Job, now: float) -> bool:
    """Return whether the pause of the job has reached its planned end, and the job is not resumed yet."""
    return job.state is JobState.PAUSED and job.paused_until is not None and job.paused_until <= now


def ended(job: Job, now: float) -> Job:
    """Return the job as it is after the planned end of its pause, if that end is not after `now` (UTC seconds). The
    stored job is PAUSED until a dispatch round or a request resumes it.
    """
    return _ended(job, job.paused_until) if job.paused_until is not None and is_over(job, now) else job


REVISIONS = 1000
"""So many revisions of a paused job have different generations after its pause. They fit into one second."""


def _ended(job: Job, end: int) -> Job:
    active = _active(job, max(end - 1, job.changed_at))
    # After a change of the paused job, workers drop what was sent in advance.
    generation = max(int(active.changed_at) * 1000 + job.revision % REVISIONS, job.generation + 1)
    return replace(active, generation=generation, paused_until=end, updated_at=max(end, active.updated_at))


def resume_as_planned(job: Job, cursor: Cursor, *, now: float) -> PauseChange | None:
    """Return the job resumed at the end of its pause; None if the pause has no planned end, or it is too early at `now`
    (UTC seconds). The result depends only on the planned end, not on `now`: occurrences from the end on will run.

    Before the end, the change must not be written. Its cursor, at the first occurrence from the end on, shows what is
    sent in advance. Raises the errors of `resume`.
    """
    end = cursor.resume
    if job.state is not JobState.PAUSED or end is None or end.at != job.paused_until or end.dispatched_at > now:
        return None
    over, counted = is_over(job, now), end.at - 1 if end.catch_up else None
    change = resume(job, cursor, now=end.at - 1, catch_up=end.catch_up and over, counted_until=counted)
    active = _ended(job, end.at)
    return replace(change, job=active, cursor=replace(change.cursor, generation=active.generation))


def after_pause(cursor: Cursor, paused_at: float | None) -> Cursor:
    """Return the cursor of a job that is paused since `paused_at` (UTC seconds; None: unknown) as it will be at the
    planned end of its pause, or `cursor` if there is none. Raises ScheduleError or ExclusionError.
    """
    if cursor.resume is None:
        return cursor
    before, left = cursor.resume.at - 1, cursor.remaining
    if left and (cursor.resume.catch_up or paused_at is not None):
        counted = before if cursor.resume.catch_up or paused_at is None else min(int(paused_at), before)
        row = Row.after(cursor.occurrences(), cursor.after, left)
        range_before(row, counted + 1)
        left = row.remaining
    row = Row.after(cursor.occurrences(), before, left)
    return replace(cursor, occurrence=row.at, due=row.due, remaining=row.remaining, resume=None)


def covered(row: Row, began: int, until: int) -> tuple[SkippedRange, ...]:
    """Pass all occurrences that are due up to `until`, the end of a pause that began at `began` (UTC seconds). Return
    their range (empty if there are none). Only those that came due before the pause count towards `max_runs`.
    """
    before, left = range_before(row, began + 1), row.remaining
    row.remaining = None
    ranges = before + range_before(row, until + 1)
    row.remaining = left
    if not ranges:
        return ()
    return (SkippedRange(ranges[0].first, ranges[-1].last, sum(each.count for each in ranges), "paused"),)


def put_back(cursor: Cursor, due: int) -> Cursor:
    """Return the cursor of a paused job before its occurrence that came due at `due` (UTC seconds), which had been
    enqueued and did not start. The cursor itself if it already is.
    """
    if due > cursor.after:
        return cursor
    left = cursor.remaining
    if left is not None:
        occurrences = cursor.occurrences()
        # An exhausted schedule has no occurrence after its last one.
        last = cursor.after if cursor.last is None else min(cursor.after, occurrences.due(cursor.last))
        left += sum(1 for _ in Row.after(occurrences, due - 1, None).before(last + 1))
    return replace(cursor, after=due - 1, remaining=left)


def listed(cursor: Cursor, run: Firing) -> Cursor:
    """Return the cursor of a paused job with a run of an earlier definition that did not start, whose occurrence the
    cursor's schedule may not contain. The cursor itself if the run is listed, or is not caught up: it covers several
    occurrences, MAX_FIRINGS runs are listed, or the job no longer has a schedule.
    """
    full = len(cursor.waited) >= MAX_FIRINGS or run.count > 1 or not cursor.schedule.expression
    return cursor if full or run in cursor.waited else replace(cursor, waited=(*cursor.waited, run))


def _ends_before(one: int | None, other: PlannedResume | None) -> bool:
    return one is not None and (other is None or one < other.at)


def resume(job: Job, cursor: Cursor, *, now: float, catch_up: bool, counted_until: int | None = None) -> PauseChange:
    """Return the job active again at `now` (UTC seconds).

    Occurrences during the pause are skipped (reason `paused`) and do not count towards `max_runs`. Those that were due
    before it and had not started are skipped too. With `catch_up`, the job's policy for missed occurrences applies to
    all of them instead. If the schedule was changed during the pause, only occurrences after that change count: the
    change recorded the earlier ones. Occurrences up to `counted_until` count towards `max_runs` in any case (UTC
    seconds; None: the start of the pause).

    Raises ScheduleError or ExclusionError for a schedule that can no longer be compiled.
    """
    now = max(now, job.changed_at)
    active = _active(job, now)
    occurrences = cursor.occurrences()
    row = Row.after(occurrences, cursor.after, cursor.remaining)
    skipped = (
        () if catch_up else covered(row, pause_began(job, cursor) if counted_until is None else counted_until, int(now))
    )
    over = row.at is None and active.scheduled
    last = row.passed if skipped or cursor.last is None else cursor.last
    waited = cursor.waited if catch_up else ()
    moved = replace(
        cursor,
        generation=active.generation,
        occurrence=row.at,
        due=last if over else int(now) if waited else row.due,
        after=cursor.after if row.at is None else min(row.at - 1, int(now)),
        remaining=row.remaining,
        error=None,
        last=last if over else None,
        ending=over,
        resume=None,
        waited=waited,
    )
    return PauseChange(active, moved, skipped)


def pause_began(job: Job, cursor: Cursor) -> int:
    """Return the instant (UTC seconds) after which occurrences of the paused job are part of its pause."""
    return cursor.after if job.paused_at is None else int(job.paused_at)


def given_back(cursor: Cursor, now: float) -> int | None:
    """Return how many occurrences may still come due, including enqueued ones that are not due yet."""
    return None if cursor.remaining is None else cursor.remaining + _not_due_yet(cursor, now)


def runs_left(job: Job, cursor: Cursor, now: float, *, most: int | None = None) -> int | None:
    """Return how many occurrences `max_runs` still allows to come due after `now` (UTC seconds; None: no limit), even
    if dispatch has not passed the earlier ones yet. Those during a pause do not count. With `most`, also None if more
    occurrences than these would have to be counted. Raises ScheduleError or ExclusionError.
    """
    if cursor.remaining is None or (most is not None and _is_long(job, cursor, now, most)):
        return None
    occurrences = cursor.occurrences()
    if job.state is JobState.PAUSED:
        row, until = Row.after(occurrences, cursor.after, cursor.remaining), pause_began(job, cursor)
    elif (at := standing(cursor, occurrences)) is None:
        return given_back(cursor, now)
    else:
        row, until = Row(occurrences, at, cursor.remaining), int(now)
    range_before(row, until + 1)
    return (row.remaining or 0) + _not_due_yet(cursor, now)


def _is_long(job: Job, cursor: Cursor, now: float, most: int) -> bool:
    """Return whether `runs_left` counts more than so many occurrences: those that are due before dispatch has passed
    them, or those that it has passed before they are due.
    """
    if job.state is JobState.PAUSED:
        at, end = cursor.after, pause_began(job, cursor) + 1
    else:
        at, end = sorted((int(now), _passed_until(cursor)))
    occurrences = cursor.occurrences()
    for _ in range(most + 1):
        following = occurrences.next(at)
        if following is None or following >= end:
            return False
        at = following
    return True


def _passed_until(cursor: Cursor) -> int:
    """Return the instant (UTC seconds) before which dispatch has passed all occurrences."""
    return cursor.occurrence if cursor.occurrence is not None else (cursor.last or 0) + 1


def _not_due_yet(cursor: Cursor, now: float) -> int:
    """Return the number of occurrences that are enqueued but not due yet."""
    end = _passed_until(cursor)
    row = Row.after(cursor.occurrences(), int(now), None)
    count = 0
    while row.at is not None and row.at < end:
        count += 1
        row.step()
    return count


def _enqueued_through(cursor: Cursor, now: float) -> int:
    """Return the instant until which all due occurrences are enqueued: `now`, unless dispatch is late or the job was
    quarantined.
    """
    occurrences = cursor.occurrences()
    at = standing(cursor, occurrences)
    return int(now) if at is None else min(int(now), occurrences.due(at) - 1)


def _active(job: Job, now: float) -> Job:
    again = _changed(job, JobState.ACTIVE, now)
    return replace(again, paused_because=None, paused_by=None, paused_with=None, paused_until=None)


def _changed(job: Job, state: JobState, now: float) -> Job:
    later, revision = job.redefined(now), job.revision + 1
    return replace(later, state=state, updated_at=now, resumed_at=None, revision=revision, created_by=None)
