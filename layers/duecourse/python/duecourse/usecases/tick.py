"""The tick: once a minute, one message for each shard."""

from __future__ import annotations

from dataclasses import dataclass

from duecourse.ports import Clock, CursorStore, ShardQueue
from duecourse.usecases.report import Report


@dataclass(frozen=True, slots=True)
class Tick:
    """`shards` is the configured count; every shard ever used is ticked, so that raising the count loses nobody."""

    cursors: CursorStore
    queue: ShardQueue
    clock: Clock
    shards: int

    def __call__(self) -> Report:
        """Start a dispatch round in every shard. A double tick of one minute collapses in the queue."""
        minute = int(self.clock.now()) // 60
        shards = self.cursors.highest_shards(self.shards)
        refused = self.queue.send(range(shards), minute)
        report = Report()
        report.counts["TicksSent"] = shards - len(refused)
        report.counts["TicksRefused"] = len(refused)
        report.add("ticked", alarming=bool(refused), minute=minute, shards=shards, refused=refused)
        return report
