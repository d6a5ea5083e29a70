"""A dispatch round of one shard: enqueue what is due soon, then claim.

A dispatcher that dies between the two leaves the cursor where it was; the next round enqueues the same run names again
and the workers drop the repeats. That is the whole of its recovery.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from duecourse.domain.cursor import Cursor
from duecourse.domain.exclusions import ExclusionError
from duecourse.domain.plan import Plan, plan
from duecourse.domain.schedule import ScheduleError
from duecourse.domain.sharding import BUCKET_SECONDS, bucket_of, bucket_start, buckets
from duecourse.ports import (
    BrokenCursor,
    Claim,
    ClaimResult,
    Clock,
    CursorStore,
    Lanes,
    Outgoing,
    Randomness,
    Wake,
)
from duecourse.usecases.after_claim import AfterClaim
from duecourse.usecases.enqueue import ALIGNED_SECONDS, outgoing
from duecourse.usecases.report import Report
from duecourse.usecases.wake_up import wake_up

WATERMARK_LAG_SECONDS = 2 * BUCKET_SECONDS
"""How far a watermark stays behind: far longer than an index read is ever stale."""

FIRST_LOOK_BACK_SECONDS = 7 * 86_400
"""Where a shard without a watermark begins: jobs may have been created long before the first tick came through.
168 queries, once in a shard's life."""

GROUP_CURSORS = 100
"""Cursors sent and claimed together: ten full batches of messages, four of claims."""

GROUP_FIRINGS = 2000
"""A group ends earlier when its cursors fire often, so that memory stays flat."""


@dataclass(frozen=True, slots=True)
class DispatchRules:
    """`lead`: a cursor is picked up when due within it; `reach`: how far ahead its occurrences are enqueued (s)."""

    shards: int
    lead: int
    reach: int


@dataclass(frozen=True, slots=True)
class Planned:
    """A cursor and what is to be done with it."""

    cursor: Cursor
    plan: Plan


class _StopSending(Exception):
    """A claim failed for another reason than its condition: what is sent now might not be claimable either."""


@dataclass(frozen=True, slots=True)
class Dispatch:
    """The use case; one instance serves many rounds."""

    cursors: CursorStore
    lanes: Lanes
    clock: Clock
    randomness: Randomness
    after_claim: AfterClaim
    rules: DispatchRules

    def __call__(self, shard: int, deadline: float) -> Report:
        """Run a round; it ends by itself before `deadline` (UTC seconds), and the next tick goes on."""
        report = Report()
        now = self.clock.now()
        behind = bucket_of(now - WATERMARK_LAG_SECONDS)
        watermark = self.cursors.watermark(shard)
        first = bucket_of(now - FIRST_LOOK_BACK_SECONDS) if watermark is None else min(watermark, behind)
        until = now + self.rules.lead
        empty_through: str | None = None
        unbroken = True
        complete = False
        try:
            for bucket in buckets(first, until):
                seen = self._bucket(f"{bucket}/{shard:04d}", until, deadline, report)
                unbroken = unbroken and seen == 0
                if unbroken:
                    empty_through = bucket
            complete = True
        except _StopSending as stop:
            report.add("round_stopped", alarming=True, shard=shard, reason=str(stop))
        self._advance(shard, watermark or first, empty_through, behind)
        report.add("dispatched", shard=shard, first_bucket=first, complete=complete, counts=dict(report.counts))
        return report

    def _advance(self, shard: int, watermark: str, empty_through: str | None, behind: str) -> None:
        """Raise the watermark past the buckets that were found empty, but never to less than two hours behind."""
        if empty_through is not None and watermark < behind:
            following = bucket_of(bucket_start(empty_through) + BUCKET_SECONDS)
            self.cursors.advance_watermark(shard, min(following, behind))

    def _bucket(self, slot: str, until: float, deadline: float, report: Report) -> int:
        """Dispatch everything due in a slot; how many entries it had."""
        if self.clock.now() >= deadline:
            raise _StopSending("out of time; the next tick goes on")
        seen = 0
        for page in self.cursors.due(slot, until):
            seen += len(page)
            wakes = [entry for entry in page if isinstance(entry, Wake)]
            cursors = [entry for entry in page if not isinstance(entry, Wake)]
            report.counts["CursorsRead"] += len(cursors)
            if wakes and wake_up(wakes, self.cursors, self.lanes, self.clock, report):
                raise _StopSending("a wake-up could not be cleared")
            for group in self._groups(cursors, report):
                self._group(group, until, deadline, report)
        return seen

    def _groups(self, page: Sequence[Cursor | BrokenCursor], report: Report) -> Iterator[list[Planned]]:
        group: list[Planned] = []
        firings = 0
        known: set[tuple[str, str]] = set()
        for cursor in page:
            planned = self._plan(cursor, report)
            if planned is None or (key := (planned.cursor.tenant, planned.cursor.job_id)) in known:
                continue
            known.add(key)
            group.append(planned)
            firings += len(planned.plan.firings)
            if len(group) >= GROUP_CURSORS or firings >= GROUP_FIRINGS:
                yield group
                group, firings = [], 0
        if group:
            yield group

    def _plan(self, cursor: Cursor | BrokenCursor, report: Report) -> Planned | None:
        """A cursor with its plan; one that cannot be read or planned is set aside, so that it blocks nobody."""
        match cursor:
            case BrokenCursor():
                self._set_aside(cursor, cursor.error, report)
                return None
            case Cursor():
                try:
                    return Planned(cursor, plan(cursor, now=self.clock.now(), reach=self.rules.reach))
                except (ScheduleError, ExclusionError) as problem:
                    self._set_aside(cursor, str(problem), report)
                except Exception as problem:  # noqa: BLE001 - a rule of a wrong type must not stop its shard
                    self._set_aside(cursor, f"the cursor cannot be planned: {problem!r}", report)
                return None

    def _set_aside(self, cursor: Cursor | BrokenCursor, error: str, report: Report) -> None:
        done = self.cursors.set_aside(cursor, error)
        report.counts["CursorsSetAside"] += done
        name = cursor.job_id if isinstance(cursor, Cursor) else cursor.key[0]
        report.add("cursor_set_aside", alarming=True, job_id=name, error=error, done=done)

    def _group(self, group: list[Planned], until: float, deadline: float, report: Report) -> None:
        """Send and claim a group; a cursor that is still due within the lead goes on at once."""
        while group:
            if self.clock.now() >= deadline:
                raise _StopSending("out of time; the next tick goes on")
            sent = self._send(group, report)
            claims = [Claim(planned.cursor, planned.plan.cursor) for planned in sent]
            results = self.cursors.claim(claims, self.rules.shards)
            won = [planned for planned, result in zip(sent, results, strict=True) if result is ClaimResult.WON]
            report.counts["ClaimsWon"] += len(won)
            report.counts["ClaimsLost"] += results.count(ClaimResult.LOST)
            report.counts["ClaimsFailed"] += results.count(ClaimResult.FAILED)
            for planned in won:
                self._follow(planned, report)
            if ClaimResult.FAILED in results:
                raise _StopSending("a claim failed for another reason than its condition")
            group = [again for planned in won if (again := self._again(planned, until)) is not None]

    def _follow(self, planned: Planned, report: Report) -> None:
        """What follows from a claim; nobody repeats it, so one that fails must not take the others' with it."""
        try:
            self.after_claim.follow(planned.cursor, planned.plan, report)
        except Exception as problem:  # noqa: BLE001 - whatever it is, the claim stands
            job_id, error = planned.cursor.job_id, f"{type(problem).__name__}: {problem}"
            report.counts["AfterClaimsFailed"] += 1
            report.add("after_claim_failed", alarming=True, job_id=job_id, reason=planned.plan.reason, error=error)

    def _again(self, planned: Planned, until: float) -> Planned | None:
        """The cursor after its claim, planned anew, where it is still due within the lead."""
        cursor = planned.plan.cursor
        if cursor.due is None or cursor.due > until:
            return None
        return Planned(cursor, plan(cursor, now=self.clock.now(), reach=self.rules.reach))

    def _send(self, group: list[Planned], report: Report) -> list[Planned]:
        """Send the messages of a group; those cursors of which every message was accepted."""
        now = self._aligned(group)
        batches = [outgoing(p.cursor, p.plan, now=now, nonce=self.randomness.nonce) for p in group]
        flat: list[Outgoing] = list(chain.from_iterable(batches))
        accepted = iter(self.lanes.send(flat) if flat else [])
        sent: list[Planned] = []
        for planned, batch in zip(group, batches, strict=True):
            fine = [next(accepted) for _ in batch]
            report.counts["Enqueued"] += sum(fine)
            report.counts["SendsRefused"] += len(fine) - sum(fine)
            if all(fine):
                sent.append(planned)
            else:
                report.add("send_refused", alarming=True, job_id=planned.cursor.job_id, refused=fine.count(False))
        return sent

    def _aligned(self, group: Iterable[Planned]) -> float:
        """Wait for the start of the next second where that makes messages visible on theirs; the time then."""
        now = self.clock.now()
        waits = any(planned.plan.firings and planned.plan.firings[-1].due > now for planned in group)
        if waits and now % 1 > ALIGNED_SECONDS:
            self.clock.sleep_until(int(now) + 1)
            return self.clock.now()
        return now
