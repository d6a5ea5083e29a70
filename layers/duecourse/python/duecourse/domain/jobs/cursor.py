"""A job's position in its schedule, its place in the due index, and the plan of a dispatcher for one cursor: the runs
to enqueue, the occurrences to skip, and the next cursor.

A place in the due index is a slot: one bucket (an hour) of one shard.

Two dispatchers that read the same cursor at different times must enqueue runs with the same names, because the next
round repeats the sends if a claim failed. So every name here is derived from the cursor. The time only determines how
far the plan reaches.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from hashlib import blake2b
from itertools import islice
from time import gmtime, strftime

from duecourse.domain.instants import from_iso
from duecourse.domain.jobs.calendars import Window
from duecourse.domain.jobs.job import MAX_FIRINGS, Deadline, Job, Lane, MissedMode, MissedPolicy, Precision
from duecourse_schedules import TZDATA_VERSION, ScheduleError, ScheduleSpec
from duecourse_schedules.exclusions import ExclusionError
from duecourse_schedules.schedule import OccurrenceRules, Occurrences, occurrences_of

BUCKET_SECONDS = 3600


def shard_of(tenant: str, job_id: str, shards: int) -> int:
    """Return the shard of a job: a stable hash of its key, modulo the shard count.

    Python's `hash` is not stable: it differs between processes.
    """
    digest = blake2b(f"{tenant}#{job_id}".encode(), digest_size=8).digest()
    return int.from_bytes(digest) % shards


def bucket_of(instant: float) -> str:
    """Return the bucket of an instant (UTC seconds): its hour, `2026-11-21T06`. Buckets sort by time."""
    return _bucket(int(instant // BUCKET_SECONDS))


@lru_cache
def _bucket(number: int) -> str:
    """Return the bucket of this number. Cached, since a round calls it for each claim and there are few buckets."""
    return strftime("%Y-%m-%dT%H", gmtime(number * BUCKET_SECONDS))


@lru_cache
def bucket_start(bucket: str) -> int:
    """Return the first second of a bucket (UTC seconds)."""
    return int(from_iso(f"{bucket}:00:00Z"))


def slot_of(due: int, shard: int) -> str:
    """Return the partition key of the due index: `2026-11-21T06/0007`."""
    return f"{bucket_of(due)}/{shard:04d}"


def buckets(first: str, until: float) -> list[str]:
    """Return every bucket from `first` to the bucket of `until` (UTC seconds), oldest first."""
    return [bucket_of(start) for start in range(int(bucket_start(first)), int(until) + 1, BUCKET_SECONDS)]


RARE_SECONDS = 540
"""Occurrences that are further apart than this (seconds) are rare: a claim covers one of them however early it is made,
because the others are beyond the horizon. So a rare occurrence may be enqueued earlier at no cost. It is the horizon
less the lookahead, as shipped.
"""

RARE_LOOKAHEADS = 2
"""How many lookaheads before their due time rare occurrences are enqueued. So a burst of daily jobs has ten minutes."""

RARE_FOLLOWING = 2
"""How many following occurrences decide whether a cursor is rare. A wrong answer only changes when runs are enqueued.
"""

RESUME_AHEAD_SECONDS = 90
"""How long before the end of a pause the occurrences that follow the end are sent, in seconds. The round that resumes
the job could be too late for them.
"""


@dataclass(frozen=True, slots=True)
class PlannedResume:
    """The end of a pause at `at` (UTC seconds), at which the job resumes automatically. With `catch_up`, the job's
    policy for missed occurrences applies to the occurrences during the pause.
    """

    at: int
    catch_up: bool = False

    @property
    def dispatched_at(self) -> int:
        """The earliest time at which a round sends the occurrences that follow the end (UTC seconds). The first round
        after the end resumes the job.
        """
        return self.at - RESUME_AHEAD_SECONDS


@dataclass(frozen=True, slots=True)
class Firing:
    """One run to enqueue, due at `due`. If `count` > 1, it covers the missed occurrences from `occurrence` to
    `through`.

    `caught_up`: the run is late because dispatch was late; the policy for late runs was applied at dispatch, so the
    worker does not apply it again. `following` is the time at which the next occurrence is due; None if this is the
    schedule's last occurrence.
    """

    occurrence: int
    due: int
    through: int
    count: int = 1
    caught_up: bool = False
    following: int | None = None


@dataclass(frozen=True, slots=True)
class Cursor:
    """The next occurrence that is not enqueued yet, with the fields of the job that dispatch needs.

    `occurrence` is the nominal instant. `due` is its due time with offset and jitter; the due index sorts by it (UTC
    seconds). If the schedule is exhausted, both are None, the cursor is not in the index, and `last` is the occurrence
    of the last run. An `ending` cursor stays in the index until dispatch has checked whether its job is completed. A
    job without a schedule has no `last` either, and is never completed. The cursor of a paused job is not in the index
    either, unless the job is to `resume` automatically: then `due` is the time at which a round resumes it.

    `occurrence` is the first one after `after`, computed with zone data of version `tzdata`. `remaining` is the number
    of occurrences that may still come due (None: no limit). `bulk`: messages go to the bulk queue of the lane.
    `waited`: runs of earlier definitions that had not started when the job was paused. A resume with a catch-up starts
    them; until its claim, `due` is the time of the resume.
    """

    tenant: str
    job_id: str
    generation: int
    schedule: ScheduleSpec
    occurrence: int | None
    due: int | None
    after: int
    lane: Lane = Lane.NORMAL
    precision: Precision = Precision.SECOND
    missed: MissedPolicy = field(default_factory=MissedPolicy)
    exclude: tuple[Window, ...] = ()
    jitter_seconds: int = 0
    offset_seconds: int | None = None
    remaining: int | None = None
    tzdata: str = TZDATA_VERSION
    error: str | None = None
    last: int | None = None
    ending: bool = False
    bulk: bool = False
    resume: PlannedResume | None = None
    deadlines: tuple[Deadline, ...] = ()
    waited: tuple[Firing, ...] = ()

    def slot(self, shards: int, *, now: float) -> str | None:
        """Return the cursor's partition in the due index of a stage with `shards` shards, if it is written at `now`
        (UTC seconds).

        A late cursor is placed in the current bucket: its nominal bucket may be below the shard's watermark, where no
        round reads. A round reads all due entries of every bucket from the watermark on.
        """
        if self.due is None:
            return None
        return slot_of(max(self.due, int(now)), shard_of(self.tenant, self.job_id, shards))

    def is_rare(self) -> bool:
        """Return whether this occurrence and the next ones are more than RARE_SECONDS apart."""
        if (at := self.occurrence) is None or (due := self.due) is None or self.resume is not None:
            return False
        try:
            for _ in range(RARE_FOLLOWING):
                at, following = self.occurrences().next_due(at)
                if at is None or following is None:
                    return True
                if following - due <= RARE_SECONDS:
                    return False
                due = following
        except (ScheduleError, ExclusionError):
            return False
        return True

    @property
    def rules(self) -> OccurrenceRules:
        """The fields that determine the occurrences."""
        return OccurrenceRules(self.schedule, self.exclude, self.jitter_seconds, self.offset_seconds or 0)

    def occurrences(self) -> Occurrences:
        """Return the job's compiled occurrences (from a cache). Raises ScheduleError or ExclusionError."""
        return occurrences_of(
            self.tenant,
            self.job_id,
            self.schedule,
            exclude=self.exclude,
            jitter_seconds=self.jitter_seconds,
            offset_seconds=self.offset_seconds or 0,
        )


def cursor_for(job: Job, after: float) -> Cursor:
    """Return the cursor of a job at its first occurrence strictly after `after` (UTC seconds)."""
    first, due = job.occurrences().next_due(int(after))
    return Cursor(
        tenant=job.tenant,
        job_id=job.id,
        generation=job.generation,
        schedule=job.schedule,
        occurrence=first,
        due=due,
        after=int(after),
        lane=job.lane,
        precision=job.precision,
        missed=job.missed,
        exclude=job.exclude,
        jitter_seconds=job.jitter_seconds,
        offset_seconds=job.offset_seconds or None,
        remaining=job.max_runs,
        bulk=job.bulk,
        deadlines=job.deadlines,
    )


def planned(
    tenant: str,
    job_id: str,
    generation: int,
    schedule: ScheduleSpec,
    *,
    exclude: tuple[Window, ...] = (),
    jitter_seconds: int = 0,
    offset_seconds: int = 0,
    ended: bool = False,
    resume: int | None = None,
) -> Cursor:
    """Return a cursor with the runs that come due according to a definition without `max_runs`: all of the schedule;
    none if it has `ended`; or those after a pause, which ends at `resume` (UTC seconds). The cursor is before all
    occurrences, and has no due time.
    """
    return Cursor(
        tenant=tenant,
        job_id=job_id,
        generation=generation,
        schedule=schedule,
        occurrence=None if ended or resume is not None else 0,
        due=None,
        after=0,
        exclude=exclude,
        jitter_seconds=jitter_seconds,
        offset_seconds=offset_seconds or None,
        resume=None if resume is None else PlannedResume(resume),
    )


COUNT_LIMIT = 10_000
"""Missed occurrences are counted up to this number. For more occurrences the count is a lower bound."""


@dataclass(frozen=True, slots=True)
class SkippedRange:
    """The occurrences from `first` through `last` that will not run. `count` is exact below COUNT_LIMIT."""

    first: int
    last: int
    count: int
    reason: str


@dataclass(frozen=True, slots=True)
class Plan:
    """The runs to enqueue and the occurrences to skip. `cursor` is the cursor after the claim; its occurrence is None
    if none is left.
    """

    firings: tuple[Firing, ...]
    skipped: tuple[SkippedRange, ...]
    cursor: Cursor
    reason: str

    @property
    def missed(self) -> int:
        """The number of missed occurrences, whether they run or are skipped."""
        return sum(f.count for f in self.firings if f.caught_up) + sum(s.count for s in self.skipped)


def plan(cursor: Cursor, *, now: float, horizon: float, on_time: Collection[int] = ()) -> Plan:
    """Plan a cursor's occurrences up to and including those due at `now + horizon` (s), at most MAX_FIRINGS of them.

    Occurrences due before `now - grace` are missed, and the job's policy applies: `skip` drops them, `run_once` creates
    one run with the name of the first one, and `run_all` runs the oldest `max_missed` and drops the others. `on_time`
    are occurrences that already have a run although they were not claimed; `run_all` does not count them.

    If an occurrence has no successor that can be found, the plan ends with it, and the cursor after the claim has the
    error. Raises ScheduleError or ExclusionError for a cursor that cannot be compiled.
    """
    occurrences = cursor.occurrences()
    # The stored due time is that of the stored occurrence, except in the cursor of a job that is or was paused.
    stored = cursor.tzdata == TZDATA_VERSION and cursor.resume is None and not cursor.waited
    try:
        at = standing(cursor, occurrences)
    except ScheduleError:
        if cursor.resume is not None:
            raise
        at, stored = cursor.occurrence, True
    if at is None:
        # Newer zone data can remove the last occurrence of a schedule. Then the last passed occurrence was its last
        # one.
        ended = cursor.after if cursor.last is None else cursor.last
        return Plan(cursor.waited, (), _moved(cursor, None, None, cursor.after, cursor.remaining, ended), "exhausted")
    row = _PlannedRow(occurrences, at, cursor.remaining, cursor.due if stored else None)
    firings, skipped = _catch_up(cursor, row, int(now) - cursor.missed.grace_seconds, on_time)
    caught_up = bool(firings or skipped)
    due = row.due
    while (at := row.at) is not None and due is not None and due <= now + horizon and len(firings) < MAX_FIRINGS:
        row.step()
        following = row.due
        firings.append(Firing(at, due, at, following=following))
        due = following
    last = firings[-1].through if firings else skipped[-1].last if skipped else cursor.last
    moved = _moved(cursor, row.at, due, row.passed, row.remaining, last)
    if row.error is not None:
        moved = replace(moved, last=None, error=row.error)
    reason = "caught up" if caught_up else "due" if firings else "not due"
    return Plan((*cursor.waited, *firings), tuple(skipped), moved, reason)


def standing(cursor: Cursor, occurrences: Occurrences) -> int | None:
    """Return the cursor's occurrence, as stored or (if the zone data have changed) recomputed."""
    if cursor.occurrence is None or cursor.tzdata == TZDATA_VERSION:
        return cursor.occurrence
    return occurrences.next(cursor.after)


def _moved(
    cursor: Cursor, at: int | None, due: int | None, after: int, remaining: int | None, last: int | None
) -> Cursor:
    # Every claim makes such a copy, and `replace` takes twice as long.
    return Cursor(
        tenant=cursor.tenant,
        job_id=cursor.job_id,
        generation=cursor.generation,
        schedule=cursor.schedule,
        occurrence=at,
        due=due,
        after=after,
        lane=cursor.lane,
        precision=cursor.precision,
        missed=cursor.missed,
        exclude=cursor.exclude,
        jitter_seconds=cursor.jitter_seconds,
        offset_seconds=cursor.offset_seconds,
        remaining=remaining,
        tzdata=TZDATA_VERSION,
        error=cursor.error,
        last=last if at is None else None,
        ending=False,
        bulk=cursor.bulk,
        resume=cursor.resume,
        deadlines=cursor.deadlines,
        waited=(),
    )


class Row:
    """A walk over the occurrences from the cursor on. `at` is the next occurrence, due at `due` (UTC seconds), and
    `passed` the last one that was passed.
    """

    def __init__(self, occurrences: Occurrences, at: int, remaining: int | None, due: int | None = None) -> None:
        """`due` is the due time of `at`, if it is known."""
        self.occurrences = occurrences
        self.passed = at - 1
        self.remaining = remaining
        self.at: int | None = None
        self.due: int | None = None
        if remaining is None or remaining > 0:
            self.at, self.due = at, occurrences.due(at) if due is None else due

    @classmethod
    def after(cls, occurrences: Occurrences, instant: int, remaining: int | None) -> Row:
        """Return a row at the first occurrence that is due after `instant` (UTC seconds)."""
        at, due = occurrences.due_after(instant)
        row = cls(occurrences, at if at is not None else instant + 1, remaining, due)
        if at is None:
            row.at = row.due = None
        return row

    def step(self) -> None:
        """Pass one occurrence."""
        if self.at is None:
            return
        self.passed = self.at
        if self.remaining is not None:
            self.remaining -= 1
        over = self.remaining is not None and self.remaining <= 0
        self.at, self.due = (None, None) if over else self._next_due(self.at)

    def before(self, on_time: int) -> Iterator[int]:
        """Pass and yield all occurrences that were due before `on_time`."""
        while (at := self.at) is not None and self.due is not None and self.due < on_time:
            self.step()
            yield at

    def jump(self, on_time: int) -> None:
        """Pass all occurrences that were due before `on_time` without counting them."""
        # Only the last occurrence before `on_time` can be due later.
        last = self.occurrences.last(on_time - 1, max(on_time - self.occurrences.longest_delay, self.passed + 1))
        self.at, self.due = self._next_due(max(on_time - 1, self.passed) if last is None else last - 1)
        while self.due is not None and self.due < on_time:
            self.step()
        self.passed = max(self.passed, on_time - 1 if self.at is None else min(on_time, self.at) - 1)

    def _next_due(self, after: int) -> tuple[int, int] | tuple[None, None]:
        return self.occurrences.next_due(after)


class _PlannedRow(Row):
    """A row that ends with an `error` after an occurrence whose successor cannot be found."""

    error: str | None = None

    def _next_due(self, after: int) -> tuple[int, int] | tuple[None, None]:
        try:
            return super()._next_due(after)
        except ScheduleError as problem:
            self.error = str(problem)
            return None, None


def _catch_up(
    cursor: Cursor, row: Row, grace_begins: int, on_time: Collection[int]
) -> tuple[list[Firing], list[SkippedRange]]:
    """Handle the missed occurrences (due before `grace_begins`). Afterwards the row is at the first one that is not
    missed.
    """
    if row.due is None or row.due >= grace_begins:
        return [], []
    match cursor.missed.mode:
        case MissedMode.SKIP:
            return [], range_before(row, grace_begins)
        case MissedMode.RUN_ONCE:
            due = row.due
            return [
                Firing(each.first, due or each.first, each.last, each.count, caught_up=True, following=row.due)
                for each in range_before(row, grace_begins)
            ], []
        case MissedMode.RUN_ALL:
            missed = (at for at in row.before(grace_begins) if at not in on_time)
            oldest = islice(missed, cursor.missed.max_missed)
            firings = [Firing(at, row.occurrences.due(at), at, caught_up=True) for at in oldest]
            return firings, range_before(row, grace_begins)


def range_before(row: Row, on_time: int) -> list[SkippedRange]:
    """Return all missed occurrences as one range (empty if there are none), counted up to COUNT_LIMIT."""
    count, first, last = 0, None, 0
    for at in islice(row.before(on_time), COUNT_LIMIT):
        first, last, count = at if first is None else first, at, count + 1
    if first is None:
        return []
    if count == COUNT_LIMIT and row.remaining is None:
        row.jump(on_time)
        last = row.passed
    return [SkippedRange(first, last, count, "missed")]
