"""A dispatch round of one shard: read the entries that are due soon, send their messages, then claim.

If a dispatcher dies between sending and claiming, the cursor has not moved. The next round enqueues the same run ids
again, and workers drop the repeated messages. There is no other recovery.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from traceback import format_exc
from typing import TYPE_CHECKING, TypeGuard

from duecourse.domain.instants import DAY_SECONDS
from duecourse.domain.jobs.cursor import (
    BUCKET_SECONDS,
    RARE_LOOKAHEADS,
    Cursor,
    bucket_of,
    bucket_start,
    buckets,
    plan,
)
from duecourse.limits import ROUND_MARGIN_SECONDS
from duecourse.ports import BrokenCursor, Clock, Executor, InlineExecutor, Lanes, Randomness, StoreBusyError, Timer
from duecourse.usecases.dispatch.claim import (
    MIN_GROUP,
    OUT_OF_TIME,
    Claiming,
    GroupSize,
    Planned,
    Planning,
    Rejected,
    Resumed,
    SendAndClaim,
    report_quarantine,
    send_due_timers,
)
from duecourse.usecases.report import Report, format_error
from duecourse.usecases.write_retry import MAX_WAIT_SECONDS, WriteRetry
from duecourse_schedules import ScheduleError
from duecourse_schedules.exclusions import ExclusionError

if TYPE_CHECKING:
    from duecourse.stores.cursors import CursorStore

BEHIND_SECONDS = 12_600
"""The age of a shard's oldest bucket above which the shard is behind, in seconds."""

WATERMARK_LAG_SECONDS = 2 * BUCKET_SECONDS
"""The minimum lag of a watermark behind the current time (seconds). It is much longer than reads of the index can lag.
"""

FIRST_LOOK_BACK_SECONDS = 7 * DAY_SECONDS
"""How far back a shard without a watermark reads (seconds), because jobs may have been created long before the first
tick. This takes 168 queries, once per shard.
"""

ALIGNED_GROUPS = 16
"""The number of groups of a round that wait for the start of a second. A round with more groups has a backlog and runs
as fast as the table allows. If it waited, small groups of jobs that fire every few seconds would be claimed too slowly.
"""

LARGE_CATCH_UP = 1_000
"""The number of missed occurrences above which a round's catch-up causes a ticket."""

TRACE_FRAMES = 8
"""The number of stack frames in the log line of an unexpected error."""

MAX_REFUSED = 1000
"""The maximum number of cursors that a round quarantines because the table rejects their claims."""


@dataclass(frozen=True, slots=True)
class DispatchRules:
    """The settings of a round. `lookahead`: a cursor is read if it is due within this time (seconds), or within twice
    this time if its occurrences are rare. `horizon`: how far ahead occurrences are enqueued (seconds).
    """

    shards: int
    lookahead: int
    horizon: int

    @property
    def rare_lookahead(self) -> int:
        """The lookahead for rare occurrences (seconds). A burst of daily jobs has twice the time to be enqueued."""
        return min(RARE_LOOKAHEADS * self.lookahead, self.horizon)


def _is_paused(cursor: Cursor | BrokenCursor) -> TypeGuard[Cursor]:
    """Return whether the cursor is in the index for the planned end of its job's pause."""
    return isinstance(cursor, Cursor) and cursor.resume is not None and not cursor.error


class _StopSending(Exception):
    """Stops sending: a claim failed for a reason other than its condition, so later claims may fail too."""


@dataclass(frozen=True, slots=True)
class Dispatch:
    """The use case. One instance serves many rounds, one at a time."""

    cursors: CursorStore
    lanes: Lanes
    clock: Clock
    randomness: Randomness
    claiming: Claiming
    rules: DispatchRules
    executor: Executor = field(default_factory=InlineExecutor)

    def __call__(self, shard: int, deadline: float, correlation_id: str | None = None) -> Report:
        """Run a round. It ends before `deadline` (UTC seconds); the next tick's round continues. `correlation_id`
        identifies the round in its messages and in its report.
        """
        return _Round.of(self, shard, deadline, correlation_id).run()


@dataclass(slots=True)
class _Round:
    """One round and its state."""

    uses: Dispatch
    shard: int
    retry: WriteRetry
    send_and_claim: SendAndClaim
    planning: Planning
    report: Report
    size: GroupSize = field(default_factory=GroupSize)
    groups: int = 0
    first: str | None = None
    refused: list[Rejected] = field(default_factory=list)

    @classmethod
    def of(cls, uses: Dispatch, shard: int, deadline: float, correlation_id: str | None) -> _Round:
        """Return a round that has not started."""
        parts = (uses.cursors, uses.lanes, uses.clock, uses.randomness, uses.claiming, uses.executor, uses.rules.shards)
        named = {} if correlation_id is None else {"correlation_id": correlation_id}
        report = Report(about={"shard": shard, **named})
        return cls(
            uses,
            shard,
            WriteRetry(uses.clock, uses.randomness, deadline),
            SendAndClaim(*parts, correlation_id=correlation_id),
            Planning(uses.clock, uses.rules.horizon, uses.claiming.skipping.runs, report),
            report,
        )

    def run(self) -> Report:
        """Dispatch every bucket from the watermark to the lookahead, oldest first. Returns the report even after an
        error.
        """
        complete = False
        try:
            self._walk()
            complete = True
        except _StopSending as stop:
            self.report.counts["RoundsUnfinished"] += 1
            self.report.add("round_stopped", alarming=True, reason=str(stop))
        except Exception as problem:  # noqa: BLE001 - after any error the work so far is valid and reported
            self.report.counts["RoundsFailed"] += 1
            error = format_error(problem)
            self.report.add("round_failed", alarming=True, error=error, exception=format_exc(limit=-TRACE_FRAMES))
        self._quarantine_refused()
        if (missed := self.report.counts["Missed"]) > LARGE_CATCH_UP:
            self.report.counts["LargeCatchUps"] += 1
            self.report.add("large_catch_up", alarming=True, missed=missed)
        counts = {metric: count for metric, count in self.report.counts.items() if count}
        self.report.add("dispatched", first_bucket=self.first, complete=complete, counts=counts)
        self.uses.claiming.skipping.counts.write(self.report, self.retry.deadline + ROUND_MARGIN_SECONDS)
        return self.report

    def _walk(self) -> None:
        now = self.uses.clock.now()
        behind = bucket_of(now - WATERMARK_LAG_SECONDS)
        watermark = self.uses.cursors.watermark(self.shard)
        self.first = first = bucket_of(now - FIRST_LOOK_BACK_SECONDS) if watermark is None else min(watermark, behind)
        age = now - bucket_start(first)
        # A shard without a watermark reads far back although it is not late. A watermark normally lags by two to three
        # hours; a metric for this normal lag would cost money every month.
        if watermark is not None and age > WATERMARK_LAG_SECONDS + BUCKET_SECONDS:
            self.report.age("WatermarkAge", age)
            self.report.counts["ShardsBehind"] += age > BEHIND_SECONDS
        until, rare_until = now + self.uses.rules.lookahead, now + self.uses.rules.rare_lookahead
        last = bucket_of(until)
        empty_through: str | None = None
        unbroken = True
        try:
            for bucket in buckets(first, rare_until):
                seen = self._bucket(f"{bucket}/{self.shard:04d}", until, rare_until if bucket >= last else None)
                unbroken = unbroken and seen == 0
                if unbroken:
                    empty_through = bucket
        finally:
            self._advance(watermark or first, empty_through, behind)

    def _advance(self, watermark: str, empty_through: str | None, behind: str) -> None:
        """Raise the watermark past the buckets that were empty. A watermark always lags by at least two hours."""
        if empty_through is not None and watermark < behind:
            following = bucket_of(bucket_start(empty_through) + BUCKET_SECONDS)
            self.uses.cursors.advance_watermark(self.shard, min(following, behind))

    def _bucket(self, slot: str, until: float, rare_until: float | None) -> int:
        """Dispatch all entries that are due in a slot. Return their number. After throttling, the slot is read again
        from the beginning; claimed entries are no longer in it.
        """
        self.report.counts["SlotsRead"] += 1
        seen = 0
        while True:
            self._check_time()
            try:
                for page in self.uses.cursors.due(slot, until, rare_until):
                    self._check_time()
                    seen += len(page)
                    self._page(page, until)
            except StoreBusyError as busy:
                self.report.counts["StatementsThrottled"] += 1
                if not self.retry.wait(MAX_WAIT_SECONDS):
                    raise _StopSending(str(busy)) from busy
            else:
                return seen

    def _page(self, page: Sequence[Cursor | BrokenCursor | Timer], until: float) -> None:
        uses, report = self.uses, self.report
        timers = [entry for entry in page if isinstance(entry, Timer)]
        cursors = [entry for entry in page if not isinstance(entry, Timer)]
        report.counts["CursorsRead"] += len(cursors)
        if timers and (why := send_due_timers(timers, uses.cursors, uses.lanes, self.retry, report)):
            raise _StopSending(why)
        rejected: list[Rejected] = []
        paused = [each for each in cursors if _is_paused(each)]
        active = [each for each in cursors if not _is_paused(each)] if paused else cursors
        for group in self.planning.groups(active, self.size, rejected):
            self._group(group, until, rejected)
        for resumed in self._resumed(paused, rejected):
            for group in self.planning.groups(resumed, self.size, rejected):
                self._group(group, until, rejected)
        for begin in range(0, len(rejected), MIN_GROUP):
            self._check_time()
            self._quarantine(rejected[begin : begin + MIN_GROUP])

    def _resumed(self, paused: Sequence[Cursor], rejected: list[Rejected]) -> Iterator[list[Cursor]]:
        """Resume the jobs whose pause has ended, and yield the cursors of these jobs that are due within the lookahead.
        Shortly before the end of a pause, only send the occurrences that follow it. A cursor that cannot be computed is
        added to `rejected`, and its job stays paused. After an error of the store, the next round tries again.
        """
        uses = self.uses
        due = [cursor for cursor in paused if cursor.due is not None and cursor.due <= uses.clock.now()]
        for begin in range(0, len(due), MIN_GROUP):
            self._check_time()
            part = due[begin : begin + MIN_GROUP]
            made = uses.executor.map(self._resume, part)
            resumed = list[Cursor]()
            for cursor, ending in zip(part, made, strict=True):
                tenant, job_id = cursor.tenant, cursor.job_id
                match ending:
                    case ScheduleError() | ExclusionError():
                        rejected.append(Rejected(cursor, f"its pause cannot end: {ending}"))
                    case Exception():
                        self.report.counts["ClaimsDeferred"] += 1
                        error = format_error(ending)
                        self.report.add(
                            "claim_deferred",
                            alarming=True,
                            reason="its pause ends",
                            error=error,
                            tenant=tenant,
                            job_id=job_id,
                        )
                    case Resumed(moved, in_advance=True):
                        ahead = plan(moved, now=uses.clock.now(), horizon=uses.rules.lookahead)
                        self.send_and_claim.send([Planned(moved, ahead)], self.report)
                    case Resumed(moved):
                        self.report.add("job_resumed", tenant=tenant, job_id=job_id)
                        resumed.append(moved)
            until = uses.clock.now() + uses.rules.lookahead
            yield [each for each in resumed if each.due is not None and each.due <= until]

    def _resume(self, cursor: Cursor) -> Resumed | Exception | None:
        try:
            return self.uses.claiming.resume(cursor)
        except Exception as problem:  # noqa: BLE001 - no error of one job may stop the others
            return problem

    def _group(self, group: list[Planned], until: float, rejected: list[Rejected]) -> None:
        """Send and claim a group. Cursors that are still due within the lookahead are planned again immediately."""
        while group:
            self._check_time()
            self.groups += 1
            done = self.send_and_claim(group, self.retry, self.report, aligned=self.groups <= ALIGNED_GROUPS)
            for planned, error in done.refused[: MAX_REFUSED - len(self.refused)]:
                self.refused.append(Rejected(planned.cursor, f"its claim was rejected: {error}"))
            if done.failed is not None:
                raise _StopSending(f"a claim failed for a reason other than its condition: {done.failed}")
            self.size.record_outcome(well=done.well)
            group = self.planning.again(done.won, until, rejected)

    def _check_time(self) -> None:
        if self.uses.clock.now() >= self.retry.deadline:
            raise _StopSending(OUT_OF_TIME)

    def _quarantine_refused(self) -> None:
        """Quarantine cursors whose claims the table rejects, since every round would send their messages again. If no
        other claim succeeded, the table may be the cause instead of the cursors, so nothing is quarantined.
        """
        if not self.refused:
            return
        if self.report.counts["ClaimsWon"]:
            self._quarantine(self.refused)
        else:
            self.report.add("claims_refused", alarming=True, count=len(self.refused), error=self.refused[0].error)

    def _quarantine(self, rejected: Sequence[Rejected]) -> None:
        """Remove the cursors from the index concurrently, so that they do not block others."""
        cursors = self.uses.cursors
        written = self.uses.executor.map(lambda one: cursors.quarantine(one.cursor, one.error), rejected)
        for each, done in zip(rejected, written, strict=True):
            report_quarantine(each, self.report, done=done)
