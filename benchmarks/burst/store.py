"""The dispatcher's ports with the model of AWS: which requests are accepted, when, and which are throttled."""

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
from duecourse.ports import (
    BrokenCursor,
    Claim,
    Claimed,
    ClaimResult,
    Outgoing,
    OutgoingOperation,
    StoreBusyError,
    Timer,
)

TENTH = 10
"""Curves have one value per tenth of a second."""


class Tables:
    """The jobs table and its due index, shared by all shards. `share`: the part of their throughput that a sample of
    shards has. `due_writes`: what the index accepts, if this is less than its setting (Scenario.due_writes).
    """

    def __init__(self, setting: Setting, now: float, share: float = 1.0, due_writes: float | None = None) -> None:
        self.jobs = Bucket(JOBS_WRITES, setting.jobs_writes * share, now)
        self.due = Bucket(DUE_WRITES, (setting.due_writes if due_writes is None else due_writes) * share, now)
        self.due_reads = Bucket(DUE_READS, setting.due_reads * share, now)
        self._slots: dict[str, Bucket] = {}
        self._read_slots: dict[str, Bucket] = {}
        self._began = now

    def slot(self, name: str) -> Bucket:
        """Return the bucket of a slot's partition. AWS may split a partition, but this is not guaranteed."""
        if name not in self._slots:
            self._slots[name] = Bucket(PARTITION_WRITES.name, PARTITION_WRITES.value, self._began)
        return self._slots[name]

    def write(self, old: str | None, new: str | None, now: float) -> str | None:
        """Make a claim: write the cursor, and move its entry from one slot to another. Return None, or the limit that
        throttled it.
        """
        entries = Counter(name for name in (old, new) if name is not None)
        wanted: list[tuple[Bucket, float]] = [(self.jobs, 1), (self.due, entries.total())]
        wanted += [(self.slot(name), units) for name, units in entries.items()]
        return _taken(wanted, now)

    def read(self, slot: str, units: float, now: float) -> str | None:
        """Read a page of a slot. Return None, or the limit that throttled it."""
        if slot not in self._read_slots:
            self._read_slots[slot] = Bucket(PARTITION_READS.name, PARTITION_READS.value, self._began)
        return _taken([(self.due_reads, units), (self._read_slots[slot], units)], now)


def _taken(wanted: Sequence[tuple[Bucket, float]], now: float) -> str | None:
    """Take the units from all buckets, or none. Return None, or the name of the bucket that has too little. So a
    throttled index also prevents the write to its table.
    """
    for bucket, needed in wanted:
        if not bucket.has(needed, now):
            return bucket.name
    for bucket, needed in wanted:
        bucket.take(needed)
    return None


class RoundClock:
    """Implementation of ports.Clock for a round."""

    def __init__(self, conductor: Conductor, ledger: Ledger) -> None:
        self._conductor = conductor
        self._ledger = ledger

    def now(self) -> float:
        """See ports.Clock."""
        return self._conductor.now

    def sleep_until(self, instant: float) -> None:
        """See ports.Clock. The use case sleeps until the next second, or until it retries claims."""
        self.wait(instant, self._ledger.busy or ALIGNMENT)

    def wait(self, instant: float, reason: str) -> None:
        """Sleep, and record the reason."""
        self._ledger.charge(reason, instant - self._conductor.now)
        self._conductor.sleep_until(instant)

    def spend(self, seconds: float, reason: str) -> None:
        """Sleep for this many seconds."""
        self.wait(self._conductor.now + seconds, reason)


class Lanes:
    """Implementation of ports.Lanes. A standard queue accepts every message; `enqueued` and `visible` count messages by
    time.
    """

    def __init__(self, clock: RoundClock, jobs: ShardJobs, given: Assumptions) -> None:
        self._clock = clock
        self._jobs = jobs
        self._given = given
        self.enqueued: Counter[int] = Counter()
        """The first messages of jobs, by tenth of a second."""
        self.visible: Counter[int] = Counter()
        """All messages, including repeats, by the tenth of a second from which they are visible."""
        self.last = 0.0

    def send(self, outgoing: Sequence[Outgoing | OutgoingOperation]) -> list[bool]:
        """See ports.Lanes."""
        given, size = self._given, int(SEND_BATCH.value)
        self._clock.spend(given.cpu_per_firing * len(outgoing) / 2, CPU)
        for begin in range(0, len(outgoing), size * given.connections):
            sent_at = self._clock.now()
            self._clock.spend(given.send, SENDS)
            now = self._clock.now()
            for message in outgoing[begin : begin + size * given.connections]:
                self.visible[int(max(sent_at + message.delay_seconds, now) * TENTH)] += 1
                if isinstance(message, Outgoing) and self._jobs.send(message.message.job_id):
                    self.enqueued[int(now * TENTH)] += 1
                    self.last = now
        return [True] * len(outgoing)


class Cursors:
    """The methods of CursorStore that rounds and ticks use, for one shard."""

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
        """The successful claims, by tenth of a second."""
        self.refused: Counter[str] = Counter()

    def due(
        self, slot: str, until: float, rare_until: float | None = None
    ) -> Iterator[Sequence[Cursor | BrokenCursor | Timer]]:
        """See CursorStore: daily jobs are rare. Each page after the first is read while the previous one is processed.
        Throttling is only noticed when the page is needed.
        """
        self._clock.spend(self._given.query, TABLE)
        if rare_until is not None:
            self._clock.spend(self._given.query, TABLE)
        if not slot.startswith(bucket_of(BURST)):
            self._read(slot, 0)
            return
        for page in self._jobs.pages(max(until, rare_until or 0), self._given.page):
            self._read(slot, len(page))
            yield page

    def has_due(self, slot: str, until: float, rare_until: float | None = None) -> bool:
        """See CursorStore. A burst is due in every slot of its hour. The tick's concurrent queries take no time
        in the simulation.
        """
        return slot.startswith(bucket_of(BURST)) and max(until, rare_until or 0) >= BURST

    def _read(self, slot: str, cursors: int) -> None:
        """Read one page as the client does: with retries after a pause. Raises StoreBusyError if all tries are
        throttled.
        """
        units = self._given.page_units(cursors)
        for attempt in range(self._given.tries):
            refusal = self._tables.read(slot, units, self._clock.now())
            if refusal is None:
                return
            self._ledger.busy = refusal
            self._clock.spend(self._given.backoff * 2**attempt, refusal)
        raise StoreBusyError(f"{self._ledger.busy} is used up")

    def claim(self, claims: Sequence[Claim], shards: int) -> list[Claimed]:
        """See CursorStore. There are as many concurrent requests as connections. Throttled statements are retried
        with backoff.
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
        """Return the statements that were throttled, and the limit that throttled them."""
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
        """See CursorStore. Returns the usual watermark of a running shard."""
        self._clock.spend(self._given.get, TABLE)
        return bucket_of(self._clock.now() - 2 * 3600)

    def advance_watermark(self, shard: int, bucket: str) -> bool:  # noqa: ARG002 - the port's names
        """See CursorStore."""
        self._clock.spend(self._given.get, TABLE)
        return True

    def highest_shards(self, shards: int) -> int:
        """See CursorStore."""
        return shards

    def clear(self, timers: Sequence[Timer]) -> list[Claimed]:
        """See CursorStore. A burst has no timers."""
        return [Claimed(ClaimResult.WON)] * len(timers)

    def quarantine(self, cursor: Cursor | BrokenCursor, error: str) -> bool:  # noqa: ARG002 - the port's name
        """See CursorStore. A burst has no invalid cursors, so a call is an error of the model."""
        raise AssertionError(f"a cursor of the burst was quarantined: {error}")
