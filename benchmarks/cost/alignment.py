"""The time that a round sleeps until the next second begins, and the time for which workers hold its messages instead
if they are few. Lambda bills both like work. Measured with the real dispatcher in virtual time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from benchmarks.burst.limits import SEND_BATCH, STATEMENTS
from benchmarks.burst.rounds import Numbered, Untouched
from benchmarks.burst.settings import Assumptions
from benchmarks.dispatch.cases import NOW, PAGE, SHARD, SHARDS, named
from duecourse.domain.jobs.cursor import Cursor, bucket_of
from duecourse.ports import Claim, Claimed, ClaimResult, Outgoing
from duecourse.usecases.dispatch.claim import Claiming, Skipping
from duecourse.usecases.dispatch.round import WATERMARK_LAG_SECONDS, Dispatch, DispatchRules
from duecourse.usecases.run_counts import RunCounts

PHASES = 20
"""The number of rounds. Each begins another twentieth of a second later, because a round may begin at any time within a
second.
"""

LOOKAHEAD, HORIZON = 300, 840


@dataclass(slots=True)
class VirtualClock:
    """Implementation of ports.Clock. `slept` is the time (seconds) for which the round has waited."""

    at: float
    slept: float = 0.0

    def now(self) -> float:
        """See ports.Clock."""
        return self.at

    def sleep_until(self, instant: float) -> None:
        """See ports.Clock."""
        self.slept += max(instant - self.at, 0.0)
        self.at = max(self.at, instant)


@dataclass(frozen=True, slots=True)
class Passing:
    """Implementation of ports.Lanes and of the methods of CursorStore that a round uses. Everything is accepted,
    after the usual time.
    """

    clock: VirtualClock
    found: Sequence[Cursor]
    given: Assumptions
    early: list[float] = field(default_factory=list)
    """The time (seconds) between the visibility of each message and its due second."""

    def send(self, outgoing: Sequence[Outgoing]) -> list[bool]:
        """See ports.Lanes."""
        now = self.clock.now()
        self.early.extend(max(each.message.not_before - now - each.delay_seconds, 0.0) for each in outgoing)
        self._pass(len(outgoing), SEND_BATCH.value, self.given.send)
        return [True] * len(outgoing)

    def claim(self, claims: Sequence[Claim], shards: int) -> list[Claimed]:  # noqa: ARG002 - the port's name
        """See CursorStore."""
        self._pass(len(claims), STATEMENTS.value, self.given.claim)
        return [Claimed(ClaimResult.WON)] * len(claims)

    def watermark(self, shard: int) -> str:  # noqa: ARG002 - the port's name
        """See CursorStore."""
        return bucket_of(self.clock.now() - WATERMARK_LAG_SECONDS)

    def advance_watermark(self, shard: int, bucket: str) -> bool:  # noqa: ARG002 - the port's names
        """See CursorStore."""
        return True

    def due(
        self,
        slot: str,
        until: float,  # noqa: ARG002 - the port's names
        rare_until: float | None = None,  # noqa: ARG002 - the port's names
    ) -> Iterator[Sequence[Cursor]]:
        """See CursorStore."""
        self.clock.at += self.given.query
        if slot.startswith(bucket_of(self.found[0].due or 0)):
            yield from (self.found[begin : begin + PAGE] for begin in range(0, len(self.found), PAGE))

    def _pass(self, count: int, size: float, seconds: float) -> None:
        """Advance the time for this many entries: in requests of `size`, as many at the same time as there are
        connections, and with their CPU time.
        """
        turns = -(-count // int(size * self.given.connections))
        self.clock.at += turns * seconds + count * self.given.cpu_per_firing / 2


@dataclass(frozen=True, slots=True)
class Alignment:
    """The average time (seconds) that a round with a number of firings sleeps, and the average and maximum time for
    which a worker holds one of its messages.
    """

    slept: float
    held: float = 0.0
    held_at_most: float = 0.0

    def held_by(self, batch: int) -> float:
        """Return the time (seconds) for which an invocation with this number of messages holds them. Messages of
        several rounds are held for different times, so a batch waits for the longest.
        """
        return self.held if batch == 1 else self.held_at_most


def alignment(firings: int) -> Alignment:
    """Measure rounds with this number of firings, of daily jobs that are due in one minute."""
    cursors = named("distinct").cursors(firings)
    slept, held = list[float](), list[float]()
    for phase in range(PHASES):
        clock, early = _round(cursors, NOW + phase / PHASES)
        slept.append(clock.slept)
        held += early
    return Alignment(round(sum(slept) / PHASES, 3), round(sum(held) / len(held), 3), round(max(held), 3))


def _round(cursors: Sequence[Cursor], begun: float) -> tuple[VirtualClock, list[float]]:
    clock = VirtualClock(begun)
    passing = Passing(clock, cursors, Assumptions())
    ports: Any = passing
    unused = cast("Any", Untouched())
    rules = DispatchRules(SHARDS, LOOKAHEAD, HORIZON)
    claiming = Claiming(unused, Skipping(unused, clock, 90, RunCounts(unused, clock)), clock)
    dispatch = Dispatch(ports, ports, clock, Numbered(1), claiming, rules)
    report = dispatch(SHARD, NOW + 46.0)
    if report.counts["Enqueued"] != len(cursors):
        raise AssertionError(f"{report.counts} of {len(cursors)} jobs")
    return clock, passing.early
