"""The dispatcher's ports over the model: what AWS would take, when, and what it would refuse."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from heapq import heappop, heappush
from itertools import count

from benchmarks.burst.bucket import Bucket
from benchmarks.burst.conductor import Conductor
from benchmarks.burst.jobs import BURST, ShardJobs
from benchmarks.burst.ledger import ALIGNMENT, CPU, DUE_READS, DUE_WRITES, JOBS_WRITES, SENDS, TABLE, Ledger
from benchmarks.burst.limits import PARTITION_READS, PARTITION_WRITES, SEND_BATCH, STATEMENTS
from benchmarks.burst.settings import Assumptions, Setting
from duecourse.domain.jobs.cursor import Cursor, bucket_of
from duecourse.ports import BrokenCursor, Claim, Claimed, ClaimResult, Outgoing, StoreBusyError, Timer

TENTH = 10
"""Curves are kept by the tenth of a second."""


class Tables:
    """The jobs table and its due index, shared by all shards. `share`: of their throughput, for a sample of shards."""

    def __init__(self, setting: Setting, now: float, share: float = 1.0) -> None:
        self.jobs = Bucket(JOBS_WRITES, setting.jobs_writes * share, now)
        self.due = Bucket(DUE_WRITES, setting.due_writes * share, now)
        self.due_reads = Bucket(DUE_READS, setting.due_reads * share, now)
        self._slots: dict[str, Bucket] = {}
        self._read_slots: dict[str, Bucket] = {}
        self._began = now

    def slot(self, name: str) -> Bucket:
        """The partition of a slot. It is one partition: AWS may split it, which nobody can count on."""
        if name not in self._slots:
            self._slots[name] = Bucket(PARTITION_WRITES.name, PARTITION_WRITES.value, self._began)
        return self._slots[name]

    def write(self, old: str | None, new: str | None, now: float) -> str | None:
        """One claim: the cursor, and its entry out of one slot and into another. None, or who refused it."""
        entries = Counter(name for name in (old, new) if name is not None)
        wanted: list[tuple[Bucket, float]] = [(self.jobs, 1), (self.due, entries.total())]
        wanted += [(self.slot(name), units) for name, units in entries.items()]
        return _taken(wanted, now)

    def read(self, slot: str, units: float, now: float) -> str | None:
        """A page of a slot. None, or who refused it."""
        if slot not in self._read_slots:
            self._read_slots[slot] = Bucket(PARTITION_READS.name, PARTITION_READS.value, self._began)
        return _taken([(self.due_reads, units), (self._read_slots[slot], units)], now)


def _taken(wanted: Sequence[tuple[Bucket, float]], now: float) -> str | None:
    """All of it, or nothing: then who has too little. So a full index lets no write through to its table, either."""
    for bucket, needed in wanted:
        if not bucket.has(needed, now):
            return bucket.name
    for bucket, needed in wanted:
        bucket.take(needed)
    return None


class RoundClock:
    """ports.Clock of a round."""

    def __init__(self, conductor: Conductor, ledger: Ledger) -> None:
        self._conductor = conductor
        self._ledger = ledger

    def now(self) -> float:
        """See ports.Clock."""
        return self._conductor.now

    def sleep_until(self, instant: float) -> None:
        """See ports.Clock. The use case sleeps until its next second, or until it makes claims again."""
        self.wait(instant, self._ledger.busy or ALIGNMENT)

    def wait(self, instant: float, reason: str) -> None:
        """Sleep, and note why."""
        self._ledger.charge(reason, instant - self._conductor.now)
        self._conductor.sleep_until(instant)

    def spend(self, seconds: float, reason: str) -> None:
        """Sleep for so long."""
        self.wait(self._conductor.now + seconds, reason)


class Lanes:
    """ports.Lanes. A standard queue takes what it is given; `enqueued` and `visible` count messages by time."""

    def __init__(self, clock: RoundClock, jobs: ShardJobs, given: Assumptions) -> None:
        self._clock = clock
        self._jobs = jobs
        self._given = given
        self.enqueued: Counter[int] = Counter()
        """First messages of jobs, by tenths of a second."""
        self.visible: Counter[int] = Counter()
        """All messages, repeats included, by the tenth in which workers can see them."""
        self.last = 0.0

    def send(self, outgoing: Sequence[Outgoing]) -> list[bool]:
        """See ports.Lanes."""
        given, size = self._given, int(SEND_BATCH.value)
        self._clock.spend(given.cpu_per_firing * len(outgoing) / 2, CPU)
        for begin in range(0, len(outgoing), size * given.connections):
            sent_at = self._clock.now()
            self._clock.spend(given.send, SENDS)
            now = self._clock.now()
            for message in outgoing[begin : begin + size * given.connections]:
                self.visible[int(max(sent_at + message.delay_seconds, now) * TENTH)] += 1
                if self._jobs.send(message.message.job_id):
                    self.enqueued[int(now * TENTH)] += 1
                    self.last = now
        return [True] * len(outgoing)


class Cursors:
    """ports.CursorStore of one shard."""

    def __init__(
        self,
        tables: Tables,
        clock: RoundClock,
        jobs: ShardJobs,
        ledger: Ledger,
        given: Assumptions,
    ) -> None:
        self._tables = tables
        self._clock = clock
        self._jobs = jobs
        self._ledger = ledger
        self._given = given
        self.claimed: Counter[int] = Counter()
        """Claims that were won, by tenths of a second."""
        self.refused: Counter[str] = Counter()

    def due(self, slot: str, until: float) -> Iterator[Sequence[Cursor | BrokenCursor | Timer]]:
        """See ports.CursorStore. All pages but the first are read while the one before is worked on: that they are
        throttled is found out when they are wanted.
        """
        self._clock.spend(self._given.query, TABLE)
        if not slot.startswith(bucket_of(BURST)):
            self._read(slot, 0)
            return
        for page in self._jobs.pages(until, self._given.page):
            self._read(slot, len(page))
            yield page

    def has_due(self, slot: str, until: float) -> bool:
        """See ports.CursorStore. A burst is due in every slot of its hour. The tick's concurrent queries take no time
        here.
        """
        return slot.startswith(bucket_of(BURST)) and until >= BURST

    def _read(self, slot: str, cursors: int) -> None:
        """One page, as the client asks for it: again after a wait, so many times. Raises StoreBusyError then."""
        units = self._given.page_units(cursors)
        for attempt in range(self._given.tries):
            refusal = self._tables.read(slot, units, self._clock.now())
            if refusal is None:
                return
            self._ledger.busy = refusal
            self._clock.spend(self._given.backoff * 2**attempt, refusal)
        raise StoreBusyError(f"{self._ledger.busy} is used up")

    def claim(self, claims: Sequence[Claim], shards: int) -> list[Claimed]:
        """See ports.CursorStore. As many requests side by side as there are connections; a statement that is throttled
        is tried again automatically, with backoff.
        """
        given, size = self._given, int(STATEMENTS.value)
        results = [Claimed(ClaimResult.FAILED)] * len(claims)
        self._clock.spend(given.cpu_per_firing * len(claims) / 2, CPU)
        waiting = [range(begin, min(begin + size, len(claims))) for begin in range(0, len(claims), size)][::-1]
        numbers = count()
        under_way: list[tuple[float, int, Sequence[int], int, str]] = []

        def begin(at: float) -> None:
            if waiting:
                heappush(under_way, (at + given.claim, next(numbers), waiting.pop(), 1, TABLE))

        for _ in range(given.connections):
            begin(self._clock.now())
        while under_way:
            done_at, _, asked, attempt, reason = heappop(under_way)
            self._clock.wait(done_at, reason)
            again, refused_by = self._statements(claims, asked, results, shards, attempt)
            if refused_by is not None and attempt < given.tries:
                pause = given.backoff * 2 ** (attempt - 1)
                heappush(under_way, (done_at + pause + given.claim, next(numbers), again, attempt + 1, refused_by))
                continue
            self._ledger.refused_by = refused_by or self._ledger.refused_by
            begin(done_at)
        put_off = [claimed.error for claimed in results if claimed.result is ClaimResult.BUSY]
        self._ledger.busy = put_off[0] if put_off else None
        return results

    def _statements(
        self, claims: Sequence[Claim], asked: Sequence[int], results: list[Claimed], shards: int, attempt: int
    ) -> tuple[list[int], str | None]:
        """Those that were throttled, and by whom."""
        now, again, refused_by = self._clock.now(), [], None
        for index in asked:
            claim = claims[index]
            refusal = self._tables.write(claim.cursor.slot(shards, now=now), claim.moved.slot(shards, now=now), now)
            if refusal is not None:
                refused_by = refusal
                self.refused[refusal] += 1
                again.append(index)
                results[index] = Claimed(ClaimResult.BUSY, refusal, attempt)
                continue
            won = self._jobs.claim(claim.cursor.job_id)
            results[index] = Claimed(ClaimResult.WON if won else ClaimResult.LOST, throttled=attempt - 1)
            self.claimed[int(now * TENTH)] += won
        return again, refused_by

    def watermark(self, shard: int) -> str | None:  # noqa: ARG002 - the port's name
        """See ports.CursorStore. Where a live shard's stands."""
        self._clock.spend(self._given.get, TABLE)
        return bucket_of(self._clock.now() - 2 * 3600)

    def advance_watermark(self, shard: int, bucket: str) -> bool:  # noqa: ARG002 - the port's names
        """See ports.CursorStore."""
        self._clock.spend(self._given.get, TABLE)
        return True

    def highest_shards(self, shards: int) -> int:
        """See ports.CursorStore."""
        return shards

    def clear(self, timers: Sequence[Timer]) -> list[Claimed]:
        """See ports.CursorStore. There are no timers in a burst."""
        return [Claimed(ClaimResult.WON)] * len(timers)

    def quarantine(self, cursor: Cursor | BrokenCursor, error: str) -> bool:  # noqa: ARG002 - the port's name
        """See ports.CursorStore. A burst has no bad cursors, so that one here is a mistake of the model."""
        raise AssertionError(f"a cursor of the burst was quarantined: {error}")
