"""A dispatch round of one shard: enqueue what is due soon, then claim.

A dispatcher that dies between the two leaves the cursor where it was; the next round enqueues the same run names again
and the workers drop the repeats. That is the whole of its recovery.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from duecourse.domain.sharding import BUCKET_SECONDS, bucket_of, bucket_start, buckets
from duecourse.ports import Alone, Clock, Crew, CursorStore, Lanes, Randomness, Wake
from duecourse.usecases.after_claim import AfterClaim
from duecourse.usecases.planning import GroupSize, Planned, Planning
from duecourse.usecases.report import Report
from duecourse.usecases.send_and_claim import SendAndClaim
from duecourse.usecases.wake_up import wake_up

WATERMARK_LAG_SECONDS = 2 * BUCKET_SECONDS
"""How far a watermark stays behind: far longer than an index read is ever stale."""

FIRST_LOOK_BACK_SECONDS = 7 * 86_400
"""Where a shard without a watermark begins: jobs may have been created long before the first tick came through.
168 queries, once in a shard's life."""

MOST_REFUSED = 1000
"""Cursors set aside in one round because the table refuses their claims."""


@dataclass(frozen=True, slots=True)
class DispatchRules:
    """`lead`: a cursor is picked up when due within it; `reach`: how far ahead its occurrences are enqueued (s)."""

    shards: int
    lead: int
    reach: int


class _StopSending(Exception):
    """A claim failed for another reason than its condition: what is sent now might not be claimable either."""


@dataclass(frozen=True, slots=True)
class Dispatch:
    """The use case; one instance serves many rounds, one at a time."""

    cursors: CursorStore
    lanes: Lanes
    clock: Clock
    randomness: Randomness
    after_claim: AfterClaim
    rules: DispatchRules
    crew: Crew = field(default_factory=Alone)

    def __call__(self, shard: int, deadline: float, correlation_id: str | None = None) -> Report:
        """Run a round; it ends by itself before `deadline` (UTC seconds), and the next tick goes on. `correlation_id`
        names it in the messages that it sends and in what it tells.
        """
        return _Round(self, deadline).run(shard, correlation_id)


@dataclass(slots=True)
class _Round:
    """One round, with what it has learned on its way."""

    uses: Dispatch
    deadline: float
    report: Report = field(default_factory=Report)
    size: GroupSize = field(default_factory=GroupSize)
    refused: list[tuple[Planned, str]] = field(default_factory=list)
    planning: Planning = field(init=False)
    send_and_claim: SendAndClaim = field(init=False)

    def __post_init__(self) -> None:
        uses = self.uses
        self.planning = Planning(uses.cursors, uses.clock, uses.rules.reach)
        self.send_and_claim = SendAndClaim(
            uses.cursors, uses.lanes, uses.clock, uses.randomness, uses.after_claim, uses.crew, uses.rules.shards
        )

    def run(self, shard: int, correlation_id: str | None) -> Report:
        """Every bucket from the watermark to what is due soon, oldest first."""
        self.send_and_claim = replace(self.send_and_claim, shard=shard, correlation_id=correlation_id)
        named = {} if correlation_id is None else {"correlation_id": correlation_id}
        self.report.about = {"shard": shard, **named}
        now = self.uses.clock.now()
        behind = bucket_of(now - WATERMARK_LAG_SECONDS)
        watermark = self.uses.cursors.watermark(shard)
        first = bucket_of(now - FIRST_LOOK_BACK_SECONDS) if watermark is None else min(watermark, behind)
        if watermark is not None:  # a shard that has none yet looks back far, and is not behind
            self.report.age("WatermarkAge", now - bucket_start(first))
        until = now + self.uses.rules.lead
        empty_through: str | None = None
        unbroken = True
        complete = False
        try:
            for bucket in buckets(first, until):
                seen = self._bucket(f"{bucket}/{shard:04d}", until)
                unbroken = unbroken and seen == 0
                if unbroken:
                    empty_through = bucket
            complete = True
        except _StopSending as stop:
            self.report.counts["RoundsUnfinished"] += 1
            self.report.add("round_stopped", alarming=True, reason=str(stop))
        self._set_refused_aside()
        self._advance(shard, watermark or first, empty_through, behind)
        counts = {metric: count for metric, count in self.report.counts.items() if count}
        self.report.add("dispatched", first_bucket=first, complete=complete, counts=counts)
        return self.report

    def _advance(self, shard: int, watermark: str, empty_through: str | None, behind: str) -> None:
        """Raise the watermark past the buckets that were found empty, but never to less than two hours behind."""
        if empty_through is not None and watermark < behind:
            following = bucket_of(bucket_start(empty_through) + BUCKET_SECONDS)
            self.uses.cursors.advance_watermark(shard, min(following, behind))

    def _bucket(self, slot: str, until: float) -> int:
        """Dispatch everything due in a slot; how many entries it had."""
        self._check_time()
        uses, report = self.uses, self.report
        report.counts["SlotsRead"] += 1
        seen = 0
        for page in uses.cursors.due(slot, until):
            seen += len(page)
            wakes = [entry for entry in page if isinstance(entry, Wake)]
            cursors = [entry for entry in page if not isinstance(entry, Wake)]
            report.counts["CursorsRead"] += len(cursors)
            if wakes and wake_up(wakes, uses.cursors, uses.lanes, uses.clock, report):
                raise _StopSending("a wake-up could not be cleared")
            for group in self.planning.groups(cursors, self.size, report):
                self._group(group, until)
        return seen

    def _group(self, group: list[Planned], until: float) -> None:
        """Send and claim a group; a cursor that is still due within the lead goes on at once."""
        while group:
            self._check_time()
            done = self.send_and_claim(group, self.deadline, self.report)
            self.size.went(well=done.well)
            self.refused += done.refused[: MOST_REFUSED - len(self.refused)]
            if done.failed is not None:
                raise _StopSending(f"a claim failed for another reason than its condition: {done.failed}")
            group = [again for won in done.won if (again := self.planning.again(won, until)) is not None]

    def _check_time(self) -> None:
        if self.uses.clock.now() >= self.deadline:
            raise _StopSending("out of time; the next tick goes on")

    def _set_refused_aside(self) -> None:
        """A claim that can never be made would be sent again and again. Where no other claim was won it may be the
        table that is wrong and not the cursor, so nothing is set aside then.
        """
        if not self.refused:
            return
        if not self.report.counts["ClaimsWon"]:
            self.report.add("claims_refused", alarming=True, count=len(self.refused), error=self.refused[0][1])
            return
        for planned, error in self.refused:
            self.planning.set_aside(planned.cursor, f"its claim is refused: {error}", self.report)
