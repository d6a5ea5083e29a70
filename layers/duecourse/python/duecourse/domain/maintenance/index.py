"""Faults of cursors and timers in the due index, their correct slots, and the time at which a job is removed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Self

from duecourse.checks.tenants import SUSPENDED, TenantFigures
from duecourse.domain.instants import DAY_SECONDS
from duecourse.domain.jobs.cursor import Cursor, shard_of, slot_of
from duecourse.domain.jobs.job import Job, JobState
from duecourse.domain.runs.states import Run
from duecourse_schedules import TZDATA_VERSION


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """The position of a scan. It continues at `start` (None: at the beginning). `done`: the scan is finished. `version`
    is the version of the next write and increases with each write.
    """

    start: str | None = None
    done: bool = False
    counts: Mapping[str, int] = field(default_factory=dict)
    version: int = 1

    def moved(self, following: str | None, counts: Mapping[str, int]) -> Self:
        """Return the position after a page with these counts. The next page begins at `following` (None: that was the
        last one).
        """
        together = Counter(self.counts) + Counter(counts)
        return replace(self, start=following, done=following is None, counts=together)


@dataclass(frozen=True, slots=True)
class RepairPass(Position):
    """One scan of the whole table, started at `begun_at` (UTC seconds). `tenants` has the figures of each tenant so
    far; None if this pass does not count them from its beginning.
    """

    begun_at: float
    tenants: Mapping[str, TenantFigures] | None = None


GIVEN_UP_SECONDS = 15 * DAY_SECONDS
"""After this time (seconds) no message of an occurrence exists. Lanes and the dead-letter queue keep messages for 14
days (Amazon SQS Developer Guide, "Amazon SQS message quotas").
"""


class IndexFault(StrEnum):
    """A fault of a cursor or a timer.

    UNREAD: no dispatch round reads its slot. OUTDATED: according to the current zone data, its due time differs from
    that in its entry. OUTSIDE: it is in no slot although it has a future occurrence, or its pause has a planned end.
    QUARANTINED: it was removed from the index. ENDED: its schedule is exhausted and its last occurrence has come due,
    but its job is ACTIVE. NO_SCHEDULE: its place is correct, but no later run of its schedule would start a waiting
    run. SENT: a timer whose message was sent so long ago that its run should have started.
    """

    UNREAD = "unread"
    OUTDATED = "outdated"
    OUTSIDE = "outside"
    QUARANTINED = "quarantined"
    ENDED = "ended"
    NO_SCHEDULE = "no_schedule"
    SENT = "sent"


BEGUN_SECONDS = 6 * 3600
"""The time (seconds) after its due time by which a manual run has started, unless its message is lost or its lane is
far behind.
"""


@dataclass(frozen=True, slots=True)
class Entry:
    """A cursor or a timer in the form that index repair reads.

    - `key`: the key of the item in the store.
    - `slot`, `due`: its place in the due index (UTC seconds).
    - `cursor`: None for a timer, and for a cursor that cannot be read (`unreadable`).
    - `state`: the state of its job. None if the job was not read together with it.
    - `sent`: a timer whose message was sent.
    - `listed`: a cursor that the `state` index lists as quarantined.
    - `keyed`: runs of its job may wait for a concurrency key, or behind other runs of a backfill.
    """

    key: tuple[str, str]
    tenant: str
    job_id: str
    slot: str | None
    due: int | None
    cursor: Cursor | None = None
    unreadable: bool = False
    state: JobState | None = None
    sent: bool = False
    keyed: bool = False
    listed: bool = False


@dataclass(frozen=True, slots=True)
class CompletedJob:
    """A COMPLETED job as index repair reads it, and when it was last changed (UTC seconds)."""

    tenant: str
    job_id: str
    updated_at: float


@dataclass(frozen=True, slots=True)
class ReadSlots:
    """The slots that dispatch will read: from each shard's watermark on, or from `first` if a shard has none yet.
    `watermarks` has an entry for each shard that receives ticks.
    """

    watermarks: Mapping[int, str | None]
    first: str

    def read(self, slot: str) -> bool:
        """Return whether a round will read the slot, now or later."""
        bucket, _, number = slot.partition("/")
        if not number.isdigit() or int(number) not in self.watermarks:
            return False
        return bucket >= (self.watermarks[int(number)] or self.first)

    def slot_for(self, entry: Entry, due: int, now: float) -> str:
        """Return the slot in which dispatch will read an entry that is due at `due` (UTC seconds). It is the slot of
        its due time, or of the current bucket if that slot is below the watermark.
        """
        number = (entry.slot or "").partition("/")[2]
        known = number.isdigit() and int(number) in self.watermarks
        shard = int(number) if known else shard_of(entry.tenant, entry.job_id, max(len(self.watermarks), 1))
        return slot_of(max(due, int(now)), shard)


def fault_of(entry: Entry, slots: ReadSlots, *, now: float) -> IndexFault | None:
    """Return the fault of an entry, or None. If the job's state is unknown, the caller must read the job first. Raises
    ScheduleError or ExclusionError for a cursor that cannot be recomputed.
    """
    cursor = entry.cursor
    if entry.slot is not None:
        if not slots.read(entry.slot):
            return IndexFault.UNREAD
        return IndexFault.OUTDATED if cursor is not None and _outdated(cursor) else None
    if entry.sent:
        return IndexFault.SENT if (entry.due or 0) + BEGUN_SECONDS <= now else None
    if cursor is not None and cursor.error == SUSPENDED:
        return None  # it returns to the index when its tenant is resumed
    if cursor is None and not entry.unreadable:
        return IndexFault.QUARANTINED  # a timer: its run waits, regardless of its job's schedule
    if entry.state is not JobState.ACTIVE and cursor is not None and cursor.resume is not None and not cursor.error:
        return IndexFault.OUTSIDE  # its pause would not end
    if entry.state not in (JobState.ACTIVE, None):
        return None  # intentionally not in the index
    if cursor is None or cursor.error is not None:
        return IndexFault.QUARANTINED
    if cursor.occurrence is None and cursor.last is not None:
        return IndexFault.ENDED if cursor.last <= now else None
    if not cursor.schedule.expression:
        return IndexFault.NO_SCHEDULE
    return IndexFault.OUTSIDE if recomputed(cursor) is not None else None


def recomputed(cursor: Cursor) -> Cursor | None:
    """Return the cursor according to the current zone data, at the first occurrence that it has not passed. None if
    there is none. During a pause with a planned end, the cursor is due at that end. Raises ScheduleError or
    ExclusionError.
    """
    if cursor.resume is not None:
        return replace(cursor, due=cursor.resume.dispatched_at)
    if cursor.remaining is not None and cursor.remaining <= 0:
        return None
    occurrences = cursor.occurrences()
    fresh = cursor.occurrence is not None and cursor.tzdata == TZDATA_VERSION
    at = cursor.occurrence if fresh else occurrences.next(cursor.after)
    if at is None:
        return None
    return replace(cursor, occurrence=at, due=occurrences.due(at), tzdata=TZDATA_VERSION)


def long_over(cursor: Cursor, runs: Iterable[Run], *, now: float) -> bool:
    """Return whether a job whose last occurrence has no record may be completed. This is the case if no message can
    start that occurrence any longer, and none of the newest `runs` is active.
    """
    if cursor.occurrence is not None or cursor.last is None or cursor.last + GIVEN_UP_SECONDS > now:
        return False
    return all(run.state.final for run in runs)


def is_worn_out(job: Job | CompletedJob, *, now: float, retention_days: int, has_history: bool = False) -> bool:
    """Return whether a job may be removed: it was completed long ago, has not changed since (an edit may have made it
    ACTIVE again), and no record or request of its runs is left.
    """
    completed = isinstance(job, CompletedJob) or job.state is JobState.COMPLETED
    return completed and not has_history and job.updated_at <= now - retention_days * DAY_SECONDS


def _outdated(cursor: Cursor) -> bool:
    if cursor.tzdata == TZDATA_VERSION or cursor.due is None:
        return False
    anew = recomputed(cursor)
    return anew is not None and anew.due != cursor.due
