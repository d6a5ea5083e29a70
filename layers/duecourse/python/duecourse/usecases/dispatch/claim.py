"""The plans of due cursors, what a claim writes in addition to the cursor, and the records of occurrences that it
skips.

No step after a claim is required: records of skipped occurrences are written in the claim's transaction, and a job
whose schedule ends is completed before it. If the last run is still active, the claimed cursor stays in the index as
`ending` until another round has checked it: the worker that ends the last run then finds the schedule over.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from duecourse.domain.instants import CLOCKS_DIFFER_SECONDS, DAY_SECONDS
from duecourse.domain.jobs.cursor import Cursor
from duecourse.domain.jobs.job import EventKind, MissedMode
from duecourse.domain.jobs.plan import Plan, SkippedRange, plan
from duecourse.domain.runs.coverage import OccurrenceRange, unrecorded
from duecourse.domain.runs.identity import RunIdentity
from duecourse.domain.runs.states import Run, Skipped
from duecourse.domain.schedules import ScheduleError
from duecourse.domain.schedules.occurrences import ExclusionError
from duecourse.ports import BrokenCursor, Claim, Clock, JobStore, RunStore
from duecourse.usecases.announce import Announcements
from duecourse.usecases.complete import complete_if_over
from duecourse.usecases.report import Report, format_error
from duecourse.usecases.unreadable import UNREADABLE

MAX_RECORDS = 50
"""Records of one range: with a job, its cursor and its tags they fit into one transaction of 100 writes."""


@dataclass(frozen=True, slots=True)
class Skipping:
    """Makes records; they live for `run_retention_days`."""

    runs: RunStore
    clock: Clock
    run_retention_days: int

    def records(self, cursor: Cursor, ranges: Iterable[SkippedRange]) -> tuple[Run, ...]:
        """The records of ranges that `cursor` passes, for the parts that have none yet: some occurrences may have been
        enqueued without a claim (by the API, or by a dispatcher that died), and have run or wait. Records are read
        strongly, and the write is conditional on the new ones not existing.
        """
        return tuple(self._record(cursor, part) for skipped in ranges for part in self._parts(cursor, skipped))

    def _parts(self, cursor: Cursor, skipped: SkippedRange) -> Iterable[SkippedRange]:
        known = self.runs.between(cursor.tenant, cursor.job_id, skipped.first - 1, skipped.last, strongly=True)
        whole = OccurrenceRange(skipped.first, skipped.last, skipped.count)
        for part in unrecorded(cursor.occurrences(), whole, known, most=MAX_RECORDS):
            yield replace(skipped, first=part.first, last=part.last, count=part.count)

    def _record(self, cursor: Cursor, skipped: SkippedRange) -> Run:
        return Skipped(
            RunIdentity(
                tenant=cursor.tenant,
                job_id=cursor.job_id,
                occurrence=skipped.first,
                due=cursor.occurrences().due(skipped.first),
                generation=cursor.generation,
                count=skipped.count,
                through=skipped.last if skipped.count > 1 else None,
            ),
            lane=cursor.lane,
            reason=skipped.reason,
            fencing_token="dispatch",
            expires_at=int(self.clock.now()) + self.run_retention_days * DAY_SECONDS,
        )


MIN_GROUP = 100
"""Cursors: ten full batches of messages, four of claims."""

MAX_GROUP = 1000
"""The throughput of a DynamoDB partition (1,000 write units a second), so one group a second is a shard's full
speed."""

GROUP_FIRINGS = 2000
"""A group ends earlier when its cursors fire often, so that memory stays flat."""


MAX_FAILED_SECONDS = 10
"""After reads of records that failed have taken this long, a round reads no more of them: its other cursors are due."""


@dataclass(frozen=True, slots=True)
class Planned:
    """A cursor and its plan."""

    cursor: Cursor
    plan: Plan


@dataclass(slots=True)
class GroupSize:
    """How many cursors are sent and claimed together: few at first, twice as many after each group without throttling.

    Cursors that were sent and not claimed are sent again by the next round. So groups start small, and are halved when
    the table throttles.
    """

    cursors: int = MIN_GROUP

    def record_outcome(self, *, well: bool) -> None:
        """Adjust the size after a group."""
        self.cursors = min(2 * self.cursors, MAX_GROUP) if well else max(self.cursors // 2, MIN_GROUP)


@dataclass(frozen=True, slots=True)
class Rejected:
    """A cursor that is to be quarantined, and why."""

    cursor: Cursor | BrokenCursor
    error: str


@dataclass(frozen=True, slots=True)
class Planning:
    """Plans pages of the due index up to `horizon` seconds ahead. `runs` are read for `run_all` jobs that missed more
    than `max_missed`: occurrences that ran on time were not missed. A cursor whose records cannot be read now is left
    to the next round: `report` counts and names it.
    """

    clock: Clock
    horizon: int
    runs: RunStore
    report: Report
    failed: list[float] = field(default_factory=list)
    """How long each read took that failed (s)."""

    def groups(
        self, page: Sequence[Cursor | BrokenCursor], size: GroupSize, rejected: list[Rejected]
    ) -> Iterator[list[Planned]]:
        """The groups of a page, each of the size that `size` has by then; a cursor that the page has twice is planned
        once. Cursors that cannot be read or planned are added to `rejected`.
        """
        group: list[Planned] = []
        firings = 0
        known: set[tuple[str, str]] = set()
        for cursor in page:
            planned = self._plan(cursor, rejected)
            if planned is None or (key := (planned.cursor.tenant, planned.cursor.job_id)) in known:
                continue
            known.add(key)
            group.append(planned)
            firings += len(planned.plan.firings)
            if len(group) >= size.cursors or firings >= GROUP_FIRINGS:
                yield group
                group, firings = [], 0
        if group:
            yield group

    def again(self, won: Sequence[Planned], until: float, rejected: list[Rejected]) -> list[Planned]:
        """The cursors that are still due by `until` after their claim, planned again."""
        left = (planned.plan.cursor for planned in won)
        plans = (self._plan(cursor, rejected) for cursor in left if cursor.due is not None and cursor.due <= until)
        return [planned for planned in plans if planned is not None]

    def _plan(self, cursor: Cursor | BrokenCursor, rejected: list[Rejected]) -> Planned | None:
        match cursor:
            case BrokenCursor():
                rejected.append(Rejected(cursor, cursor.error))
            case Cursor(error=str(error)):
                # Quarantined, and put back into the index by an older version: no claim would take it.
                rejected.append(Rejected(cursor, error))
            case Cursor():
                now = self.clock.now()
                made = self._made(cursor, now, rejected)
                if made is None or cursor.missed.mode is not MissedMode.RUN_ALL or not made.skipped:
                    return None if made is None else Planned(cursor, made)
                on_time = self._on_time(cursor, made)
                anew = self._made(cursor, now, rejected, on_time) if on_time else made
                return None if on_time is None or anew is None else Planned(cursor, anew)
        return None

    def _made(self, cursor: Cursor, now: float, rejected: list[Rejected], on_time: Collection[int] = ()) -> Plan | None:
        """The plan; None for a cursor that cannot be planned. Nothing is read here, so each error is the cursor's."""
        try:
            return plan(cursor, now=now, horizon=self.horizon, on_time=on_time)
        except (ScheduleError, ExclusionError) as problem:
            rejected.append(Rejected(cursor, str(problem)))
        except UNREADABLE as problem:
            rejected.append(Rejected(cursor, f"the cursor cannot be planned: {problem!r}"))
        return None

    def _on_time(self, cursor: Cursor, made: Plan) -> frozenset[int] | None:
        """The missed occurrences of a plan that have a run of their own; None if the records cannot be read now. An
        error of the store says nothing about the cursor.
        """
        first, last = made.firings[0].occurrence if made.firings else made.skipped[0].first, made.skipped[-1].last
        began = self.clock.now()
        if sum(self.failed) > MAX_FAILED_SECONDS:
            self._defer(cursor, made, "the failed reads of this round took too long")
            return None
        try:
            known = self.runs.between(cursor.tenant, cursor.job_id, first - 1, last, strongly=True)
        except Exception as problem:  # noqa: BLE001 - no error of the store may stop its shard or quarantine the cursor
            self.failed.append(self.clock.now() - began)
            self._defer(cursor, made, format_error(problem))
            return None
        return frozenset(record.occurrence for record in known if not record.caught_up)

    def _defer(self, cursor: Cursor, made: Plan, error: str) -> None:
        whose = {"tenant": cursor.tenant, "job_id": cursor.job_id}
        self.report.counts["ClaimsDeferred"] += 1
        self.report.add("claim_deferred", alarming=True, reason=made.reason, error=error, **whose)


@dataclass(frozen=True, slots=True)
class Claiming:
    """Makes claims from plans. With `announcements`, skipped ranges are published if their job asks for it."""

    jobs: JobStore
    skipping: Skipping
    clock: Clock
    announcements: Announcements | None = None

    def is_plain(self, made: Plan) -> bool:
        """Whether the claim of this plan only moves the cursor."""
        return not made.skipped and not self._is_over(made)

    def claim(self, planned: Planned) -> Claim:
        """The claim of a plan. Raises the error of a store that does not respond; nothing is written then, and the next
        round repeats it.
        """
        cursor, moved = planned.cursor, planned.plan.cursor
        records = self.skipping.records(cursor, planned.plan.skipped)
        if self._is_over(planned.plan):
            over = complete_if_over(self.jobs, self.skipping.runs, moved, at=self.clock.now(), besides=records)
            if not over and cursor.occurrence is not None:
                moved = replace(moved, ending=True, due=cursor.due)
        return Claim(cursor, moved, records)

    def tell(self, planned: Planned, records: Sequence[Run], report: Report) -> None:
        """Count and announce the missed and skipped occurrences of a claim that was won."""
        made = planned.plan
        skipped = sum(record.count for record in records)
        missed = skipped + sum(firing.count for firing in made.firings if firing.caught_up)
        report.counts["Skipped"] += skipped
        for record in records:
            self._announce(record, report)
        if missed:
            report.counts["Missed"] += missed
            cursor = made.cursor
            report.add("caught_up", tenant=cursor.tenant, job_id=cursor.job_id, missed=missed, reason=made.reason)

    def _is_over(self, made: Plan) -> bool:
        """Whether the schedule has ended and its last occurrence may have run."""
        left = made.cursor
        if left.occurrence is not None:
            return False
        return left.last is None or left.last <= self.clock.now() + CLOCKS_DIFFER_SECONDS

    def _announce(self, record: Run, report: Report) -> None:
        """Publish a skipped range. The cursor does not have the job's `events`, so the job is read; ranges are rare."""
        if self.announcements is None:
            return
        job = self.jobs.get(record.tenant, record.job_id)
        if job is not None and job.events and set(job.events) & {EventKind.ALL, EventKind.LATE}:
            self.announcements.publish(record, job, report)
