"""The tick: sends one message for each shard once a minute."""

from __future__ import annotations

from dataclasses import dataclass

from duecourse.ports import Clock, CursorStore, ShardQueue, TickMark
from duecourse.usecases.report import Report, format_error

GOLDEN = 0.618033988749895


def in_turn(shards: int, minute: int) -> list[int]:
    """Return all shards, beginning with a different shard each minute. If there are more shards than can be dispatched
    in a minute, the last ones must not always be the same. Steps of the golden ratio spread the first shards evenly for
    any count.
    """
    first = int(minute * GOLDEN % 1 * shards)
    return [*range(first, shards), *range(first)]


@dataclass(frozen=True, slots=True)
class Tick:
    """Sends the messages of a tick. `shards` is the configured count; every shard ever used gets a message, so that no
    job is lost when the count is raised. `mark` stores the time of the last tick, which the API's health check reads.
    """

    cursors: CursorStore
    queue: ShardQueue
    mark: TickMark
    clock: Clock
    shards: int

    def __call__(self) -> Report:
        """Start a dispatch round in every shard. The queue deduplicates two ticks of the same minute."""
        now = self.clock.now()
        minute = int(now) // 60
        shards = self.cursors.highest_shards(self.shards)
        refused = self.queue.send(in_turn(shards, minute), minute)
        report = Report()
        report.counts["TicksSent"] = shards - len(refused)
        report.counts["TicksRefused"] = len(refused)
        if len(refused) < shards:
            self._mark(now, report)
        report.add("ticked", alarming=bool(refused), minute=minute, shards=shards, refused=refused)
        return report

    def _mark(self, now: float, report: Report) -> None:
        """Store the time of the tick, after its messages were sent. A tick that reached no shard does not count."""
        try:
            self.mark.mark(now)
        except Exception as problem:  # noqa: BLE001 - only the mark is missing until the next tick
            report.add("tick_not_marked", alarming=True, error=format_error(problem))
