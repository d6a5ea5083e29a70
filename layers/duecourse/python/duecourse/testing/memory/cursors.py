"""Cursors, timers, watermarks and the time of the last tick in memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from duecourse.domain.jobs.cursor import Cursor
from duecourse.ports import BrokenCursor, Claim, Claimed, ClaimResult, Clock, Progress, Timer
from duecourse.testing.memory.items import CURSOR, Items

_LOST = Claimed(ClaimResult.LOST)


@dataclass(frozen=True)
class MemoryCursorStore:
    """Implementation of ports.CursorStore."""

    items: Items
    clock: Clock

    def due(self, slot: str, until: float) -> Iterator[Sequence[Cursor | BrokenCursor | Timer]]:
        with self.items.lock:
            found = self.items.index.due(slot, int(until))
            page = [self._entry(*key) for key in found]
        if page:
            yield page

    def has_due(self, slot: str, until: float) -> bool:
        return any(self.due(slot, until))

    def _entry(self, tenant: str, job_id: str, which: str) -> Cursor | Timer:
        if which == CURSOR:
            return self.items.cursors[tenant, job_id]
        return self.items.timers[tenant, job_id, which]

    def claim(self, claims: Sequence[Claim], shards: int) -> list[Claimed]:
        seen: set[tuple[str, str]] = set()
        results = []
        for wanted in claims:  # if a cursor occurs twice, only its first claim is made
            key = wanted.cursor.tenant, wanted.cursor.job_id
            results.append(_LOST if key in seen else self._claimed(wanted, shards))
            seen.add(key)
        return results

    def _claimed(self, wanted: Claim, shards: int) -> Claimed:
        read, moved, items = wanted.cursor, wanted.moved, self.items
        with items.lock:
            standing = items.cursors.get((read.tenant, read.job_id))
            if standing is None:
                return _LOST
            stands = standing.error is None and (standing.due, standing.generation) == (read.due, read.generation)
            fresh = all(items.run(run.tenant, run.job_id, run.name.local) is None for run in wanted.records)
            if not (stands and fresh):
                as_wanted = (moved.occurrence, moved.due, read.generation)
                made = (standing.occurrence, standing.due, standing.generation) == as_wanted
                return Claimed(ClaimResult.WON) if made else _LOST
            for run in wanted.records:
                items.put_run(run)
            # A claim leaves attributes unchanged that it does not set.
            changed = replace(
                standing,
                due=moved.due,
                occurrence=moved.occurrence,
                after=moved.after,
                remaining=standing.remaining if moved.remaining is None else moved.remaining,
                last=standing.last if moved.last is None else moved.last,
                tzdata=moved.tzdata,
                error=None if moved.error is None else moved.error[:400],
                ending=moved.ending or (standing.ending and not read.ending),
                waited=moved.waited if read.waited else standing.waited,
            )
            items.put_cursor(changed, shards, self.clock.now())
            return Claimed(ClaimResult.WON)

    def clear(self, timers: Sequence[Timer]) -> list[Claimed]:
        return [self._cleared(timer) for timer in timers]

    def _cleared(self, timer: Timer) -> Claimed:
        key = timer.message.tenant, timer.message.job_id, timer.key
        with self.items.lock:
            standing = self.items.timers.get(key)
            if standing is None or standing.due != timer.due:
                return _LOST
            if not timer.requested:
                del self.items.timers[key]
            self.items.index.put(key, None, None)
            return Claimed(ClaimResult.WON)

    def quarantine(self, cursor: Cursor | BrokenCursor, error: str) -> bool:
        if isinstance(cursor, BrokenCursor):
            return False  # no cursor in memory is unreadable
        key = cursor.tenant, cursor.job_id
        with self.items.lock:
            standing = self.items.cursors.get(key)
            if standing is None or (*key, CURSOR) not in self.items.index.places:
                return False
            if (standing.due, standing.generation) != (cursor.due, cursor.generation):
                return False
            self.items.cursors[key] = replace(standing, error=error[:400])
            self.items.index.put((*key, CURSOR), None, None)
            return True

    def watermark(self, shard: int) -> str | None:
        return self.items.watermarks.get(shard)

    def advance_watermark(self, shard: int, bucket: str) -> bool:
        with self.items.lock:
            if bucket <= self.items.watermarks.get(shard, ""):
                return False
            self.items.watermarks[shard] = bucket
            return True

    def highest_shards(self, shards: int) -> int:
        self.items.shards = max(self.items.shards, shards)
        return self.items.shards


@dataclass(frozen=True)
class MemoryTimers:
    """Implementation of ports.Timers."""

    items: Items
    shards: int = 1

    def put(self, timer: Timer) -> None:
        with self.items.lock:
            self.items.put_timer(timer, self.shards)

    def put_all(self, timers: Sequence[Timer]) -> None:
        for timer in timers:
            self.put(timer)

    def get(self, tenant: str, job_id: str, key: str) -> Timer | None:
        return self.items.timers.get((tenant, job_id, key))

    def requested_runs(self, tenant: str, job_id: str, *, limit: int, before: str | None) -> list[Timer]:
        with self.items.lock:
            of_job = [timer for key, timer in self.items.timers.items() if key[:2] == (tenant, job_id)]
        found = [timer for timer in of_job if timer.requested]
        found = [timer for timer in found if before is None or timer.message.name.local < before]
        return sorted(found, key=lambda timer: timer.message.name.local, reverse=True)[:limit]


@dataclass(frozen=True)
class MemoryTickMark:
    """Implementation of ports.TickMark."""

    items: Items

    def mark(self, at: float) -> None:
        self.items.ticked_at = at

    def last(self) -> float | None:
        return self.items.ticked_at

    def beat(self, function: str, at: float) -> None:
        self.items.ended_at[function] = at

    def marks(self) -> Mapping[str, float]:
        ticked = self.items.ticked_at
        return self.items.ended_at | ({} if ticked is None else {"tick": ticked})

    def progress(self) -> Progress:
        return Progress({shard: self.items.watermarks.get(shard) for shard in range(self.items.shards)})
