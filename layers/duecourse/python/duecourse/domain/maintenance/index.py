"""What is wrong with the place of a cursor or a timer in the due index, where it belongs, and when a job is removed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from duecourse.domain.instants import DAY_SECONDS
from duecourse.domain.jobs.cursor import Cursor
from duecourse.domain.jobs.job import Job
from duecourse.domain.jobs.policies import JobState
from duecourse.domain.jobs.sharding import shard_of, slot_of
from duecourse.domain.runs.run import Run
from duecourse.domain.schedules import TZDATA_VERSION

GIVEN_UP_SECONDS = 15 * DAY_SECONDS
"""After so long no message can speak of an occurrence any more: lanes and dead letters keep theirs for 14 days (Amazon
SQS Developer Guide, "Amazon SQS message quotas").
"""


class IndexFault(StrEnum):
    """UNREAD: no round of dispatch reads its slot. OUTDATED: by today's zone data it is due earlier than where it
    stands. OUTSIDE: it has an occurrence to come and is in no slot. QUARANTINED: a cursor or a timer that was taken out
    of the index. ENDED: its schedule is over and its last occurrence has come due, while its job is ACTIVE.
    NO_SCHEDULE: its place is right, but no occurrence comes whose run would call a line that nobody looks after.
    """

    UNREAD = "unread"
    OUTDATED = "outdated"
    OUTSIDE = "outside"
    QUARANTINED = "quarantined"
    ENDED = "ended"
    NO_SCHEDULE = "no_schedule"


@dataclass(frozen=True, slots=True)
class Entry:
    """A cursor or a timer as index repair reads it. `key` is the store's own name for it; `slot` and `due` (UTC
    seconds) say where it stands in the due index. `cursor` is None for a timer, and for a cursor that cannot be read
    (`unreadable`). `state` is its job's, None where it was not read along with it.
    """

    key: tuple[str, str]
    tenant: str
    job_id: str
    slot: str | None
    due: int | None
    cursor: Cursor | None = None
    unreadable: bool = False
    state: JobState | None = None


@dataclass(frozen=True, slots=True)
class CompletedJob:
    """A COMPLETED job as index repair reads it, and when it was last changed (UTC seconds)."""

    tenant: str
    job_id: str
    updated_at: float


@dataclass(frozen=True, slots=True)
class ReadSlots:
    """Which slots dispatch will read: from each shard's watermark on, or from `first` where a shard has none yet.
    `watermarks` has an entry for each shard that is ticked.
    """

    watermarks: Mapping[int, str | None]
    first: str

    def read(self, slot: str) -> bool:
        """Whether a round will read the slot, now or later."""
        bucket, _, number = slot.partition("/")
        if not number.isdigit() or int(number) not in self.watermarks:
            return False
        return bucket >= (self.watermarks[int(number)] or self.first)

    def slot_for(self, entry: Entry, due: int, now: float) -> str:
        """The slot in which an entry that is due at `due` (UTC seconds) will be read: its own, or that of the present
        hour for what should have been read before.
        """
        number = (entry.slot or "").partition("/")[2]
        known = number.isdigit() and int(number) in self.watermarks
        shard = int(number) if known else shard_of(entry.tenant, entry.job_id, max(len(self.watermarks), 1))
        return slot_of(max(due, int(now)), shard)


def fault_of(entry: Entry, slots: ReadSlots, *, now: float) -> IndexFault | None:
    """What is wrong with an entry, None if nothing is. Where its job's state is unknown the job is to be read before
    anything is believed. Raises ScheduleError or ExclusionError for a cursor that cannot be computed anew.
    """
    cursor = entry.cursor
    if entry.slot is not None:
        if not slots.read(entry.slot):
            return IndexFault.UNREAD
        return IndexFault.OUTDATED if cursor is not None and _earlier(cursor) else None
    if cursor is None and not entry.unreadable:
        return IndexFault.QUARANTINED  # a timer: its run waits, whatever has become of its job's schedule
    if entry.state not in (JobState.ACTIVE, None):
        return None  # it does not fire, and is not meant to
    if cursor is None or cursor.error is not None:
        return IndexFault.QUARANTINED
    if cursor.occurrence is None and cursor.last is not None:
        return IndexFault.ENDED if cursor.last <= now else None
    if not cursor.schedule.expression:
        return IndexFault.NO_SCHEDULE
    return IndexFault.OUTSIDE if recomputed(cursor) is not None else None


def recomputed(cursor: Cursor) -> Cursor | None:
    """The cursor as today's zone data have it, at the first occurrence that it has not passed; None: there is none.
    Raises ScheduleError or ExclusionError.
    """
    if cursor.remaining is not None and cursor.remaining <= 0:
        return None
    occurrences = cursor.occurrences()
    fresh = cursor.occurrence is not None and cursor.tzdata == TZDATA_VERSION
    at = cursor.occurrence if fresh else occurrences.next(cursor.after)
    if at is None:
        return None
    return replace(cursor, occurrence=at, due=occurrences.due(at), tzdata=TZDATA_VERSION)


def long_over(cursor: Cursor, runs: Iterable[Run], *, now: float) -> bool:
    """Whether a job whose last occurrence has no record may be completed all the same: nothing can start it any more,
    and none of its `runs` (the newest) is alive.
    """
    if cursor.occurrence is not None or cursor.last is None or cursor.last + GIVEN_UP_SECONDS > now:
        return False
    return all(run.state.final for run in runs)


def is_worn_out(job: Job | CompletedJob, *, now: float, retention_days: int, has_history: bool = False) -> bool:
    """Whether a job may be removed: it was completed long ago, nobody has touched it since (an edit may have made it
    ACTIVE again, and would show as its last change), and no record or request of its runs is left.
    """
    completed = isinstance(job, CompletedJob) or job.state is JobState.COMPLETED
    return completed and not has_history and job.updated_at <= now - retention_days * DAY_SECONDS


def _earlier(cursor: Cursor) -> bool:
    if cursor.tzdata == TZDATA_VERSION or cursor.due is None:
        return False
    anew = recomputed(cursor)
    return anew is not None and anew.due is not None and anew.due < cursor.due
