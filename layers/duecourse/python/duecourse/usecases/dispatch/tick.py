"""The tick: once a minute it wakes the shards that have due work."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING

from duecourse.domain.jobs.cursor import BUCKET_SECONDS, RARE_LOOKAHEADS, bucket_of, buckets
from duecourse.ports import Clock, Executor, ShardQueue
from duecourse.usecases.dispatch.watch import StageWatch
from duecourse.usecases.ping import StagePing
from duecourse.usecases.report import Report, format_error

if TYPE_CHECKING:
    from duecourse.stores.cursors import CursorStore
    from duecourse.stores.tick_mark import Overdue, TickMark
    from duecourse.usecases.dispatch.prescale import Prescale

GOLDEN = 0.618033988749895

FULL_TURN_MINUTES = 15
"""The maximum number of minutes between two rounds of a shard, even if the tick finds no due work: rounds raise the
watermark, and read the hours that the tick does not read. This is an eighth of the usual lag of a watermark.
"""

GAP_SECONDS = 150
"""After this time without a tick, in seconds, the next tick wakes all shards. Ticks come every 60 seconds; one may be
late or missing.
"""

OVERDUE_SECONDS = 120
"""An entry is overdue if it was due this many seconds ago: the last minute's round has not claimed it. An entry that
the API has just written was due more recently.
"""

SEARCHED_SHARDS = 50
"""The maximum number of shards that a tick searches for overdue work below the last hour."""


def in_turn(shards: int, minute: int) -> list[int]:
    """Return all shards, beginning with a different shard each minute. If a minute is too short to dispatch all shards,
    the last ones must not always be the same. Steps of the golden ratio spread the first shards evenly for any count.
    """
    first = int(minute * GOLDEN % 1 * shards)
    return [*range(first, shards), *range(first)]


@dataclass(frozen=True, slots=True)
class Look:
    """The result of a tick's check of a shard: whether there is work that wakes it, and work that its rounds should
    have claimed (None: this could not be checked).
    """

    wakes: bool
    overdue: bool | None = False


@dataclass(frozen=True, slots=True)
class Tick:
    """Sends the messages of a tick. `shards` is the configured count; every shard ever used is checked, so that no job
    is lost when the count is raised. `lookahead` is the lookahead of a round (seconds): work that is due within this
    time wakes its shard. `mark` stores the time of the last tick, which the API's health check also reads. `executor`
    checks shards concurrently. `watch` checks what other functions cannot report. `ping` reports to an external monitor
    that the stage is healthy. `prescale` raises the stage's capacity before a peak.
    """

    cursors: CursorStore
    queue: ShardQueue
    mark: TickMark
    clock: Clock
    executor: Executor
    shards: int
    lookahead: int
    watch: StageWatch | None = None
    ping: StagePing | None = None
    prescale: Prescale | None = None

    def __call__(self) -> Report:
        """Start a dispatch round in every shard that has due work or has not had a round for FULL_TURN_MINUTES. The
        queue deduplicates two ticks of the same minute.
        """
        now, report = self.clock.now(), Report()
        minute = int(now) // 60
        if self.watch is not None:
            self.watch.before(report)
        shards = self.cursors.highest_shards(self.shards)
        woken, (marks, known) = in_turn(shards, minute), self._marks(report)
        standing = self._known(known, shards, now)
        if marks is not None and now - marks.get("tick", 0.0) <= GAP_SECONDS:
            looks = self.executor.map(lambda shard: self._look(shard, minute, now, report), woken)
            found = dict(zip(woken, looks, strict=True))
            standing = standing | {shard for shard in woken if found[shard].overdue is not False}
            woken = [shard for shard in woken if found[shard].wakes]
            if overdue := sorted(shard for shard in woken if found[shard].overdue):
                report.counts["ShardsOverdue"] = len(overdue)
                report.add("shards_overdue", alarming=True, overdue=overdue)
        refused = self.queue.send(woken, minute) if woken else []
        # Shards without due work count as served. If the queue accepted no message, no tick was sent.
        served = 0 if woken and len(refused) == len(woken) else shards - len(refused)
        report.counts["TicksSent"] = served
        report.counts["TicksRefused"] = len(refused)
        if served:
            self._mark(now, self._still_overdue(standing, now, report), report)
        facts = {"minute": minute, "shards": shards, "woken": len(woken)}
        if marks is not None and self.watch is not None:
            self.watch.after(minute, marks, report)
        report.add("ticked", alarming=bool(refused), refused=refused, **facts)
        if self.ping is not None:
            self.ping.after_tick(report)
        if self.prescale is not None:
            self.prescale.after_tick(None if marks is None else marks.get("tick"), shards, report)
        return report

    def _marks(self, report: Report) -> tuple[Mapping[str, float] | None, Overdue | None]:
        """Return when the tick and the maintenance functions last ended, and what the last tick found overdue; None if
        this cannot be read.
        """
        try:
            return self.mark.state()
        except Exception as problem:  # noqa: BLE001 - after any error all shards are woken
            report.add("last_tick_not_read", alarming=True, error=format_error(problem))
            return None, None

    @staticmethod
    def _known(known: Overdue | None, shards: int, now: float) -> Set[int]:
        """Return the shards that may have overdue work according to the last tick: all, if it is not known."""
        return frozenset(range(shards)) if known is None or now - known.at > GAP_SECONDS else known.shards

    def _look(self, shard: int, minute: int, now: float, report: Report) -> Look:
        """Return whether a round of the shard has work, or must run now, and whether work is overdue. Entries that are
        older than the last hour wait for the full turn (FULL_TURN_MINUTES); they exist only if rounds failed for an
        hour. A shard without due work costs only one query.
        """
        if (minute + shard) % FULL_TURN_MINUTES == 0:
            return Look(wakes=True)
        try:
            if not self._has_due(shard, now, now + self.lookahead, now + RARE_LOOKAHEADS * self.lookahead):
                return Look(wakes=False)
            return Look(wakes=True, overdue=self._has_due(shard, now, now - OVERDUE_SECONDS))
        except Exception as problem:  # noqa: BLE001 - a shard that cannot be checked is woken
            report.add("shard_not_checked", alarming=True, shard=shard, error=format_error(problem))
            return Look(wakes=True, overdue=None)

    def _has_due(self, shard: int, now: float, until: float, rare_until: float | None = None) -> bool:
        return self._has_due_from(bucket_of(now - BUCKET_SECONDS), shard, until, rare_until)

    def _has_due_from(self, first: str, shard: int, until: float, rare_until: float | None = None) -> bool:
        slots = (f"{bucket}/{shard:04d}" for bucket in buckets(first, rare_until or until))
        return any(self.cursors.has_due(slot, until, rare_until) for slot in slots)

    def _still_overdue(self, shards: Set[int], now: float, report: Report) -> frozenset[int]:
        """Return these shards without those that have no overdue work. Ticks only look at the last hour, so a shard
        with overdue work keeps its mark until a search from its watermark on finds none.
        """

        def search(shard: int) -> bool:
            try:
                watermark = self.cursors.watermark(shard)
                until = now - OVERDUE_SECONDS
                return watermark is None or self._has_due_from(watermark, shard, until)
            except Exception as problem:  # noqa: BLE001 - it is searched again in the next minute
                report.add("shard_not_searched", alarming=True, shard=shard, error=format_error(problem))
                return True

        searched = sorted(shards)[:SEARCHED_SHARDS]
        found = dict(zip(searched, self.executor.map(search, searched), strict=True))
        return frozenset(shard for shard in shards if found.get(shard, True))

    def _mark(self, now: float, overdue: frozenset[int], report: Report) -> None:
        """Store the time of the tick, after its messages were sent. A tick that reached no shard does not count."""
        try:
            self.mark.mark(now, overdue)
        except Exception as problem:  # noqa: BLE001 - only the mark is missing until the next tick
            report.add("tick_not_marked", alarming=True, error=format_error(problem))
