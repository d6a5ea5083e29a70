"""The clock of the system: ticks, the shard queue, and the maximum number of dispatchers."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import count
from random import Random
from typing import Any

from benchmarks.burst.bucket import Bucket
from benchmarks.burst.conductor import Conductor
from benchmarks.burst.jobs import ShardJobs
from benchmarks.burst.ledger import CALLS, COLD, DISPATCHERS, NEXT_TICK, ROUND, STOPPED, TICK, Ledger
from benchmarks.burst.limits import FIFO_CALLS, SEND_BATCH
from benchmarks.burst.settings import Scenario
from benchmarks.burst.store import Cursors, Lanes, RoundClock, Tables
from duecourse.usecases.dispatch.claim import Claiming, Skipping
from duecourse.usecases.dispatch.round import Dispatch, DispatchRules
from duecourse.usecases.report import Report
from duecourse.usecases.run_counts import RunCounts

TICK_SECONDS = 60
RETENTION_SECONDS = 300
"""The retention of the shard queue. An older round has no value."""


class Untouched:
    """A port that a burst does not use. A call of it is an error of the model."""

    def __getattr__(self, name: str) -> Callable[..., object]:
        """Raise AssertionError at any call."""
        raise AssertionError(f"a burst of daily jobs has nothing to {name}")


class Numbered:
    """Implementation of ports.Randomness with the same values in every simulation, different for each shard."""

    def __init__(self, shard: int) -> None:
        self._numbers = count()
        self._drawn = Random(shard)

    def draw(self) -> float:
        """Return the next value of a sequence that depends on the shard."""
        return self._drawn.random()

    def nonce(self) -> str:
        """Return the next number."""
        return f"{next(self._numbers):016d}"


@dataclass(frozen=True, slots=True)
class Station:
    """A shard with its jobs, and the real dispatcher with simulated ports."""

    shard: int
    jobs: ShardJobs
    ledger: Ledger
    clock: RoundClock
    lanes: Lanes
    cursors: Cursors
    dispatch: Dispatch

    @classmethod
    def of(cls, scenario: Scenario, shard: int, jobs: ShardJobs, tables: Tables, conductor: Conductor) -> Station:
        """Return the station with all ports simulated."""
        ledger, given = Ledger(), scenario.assumptions
        clock = RoundClock(conductor, ledger)
        lanes = Lanes(clock, jobs, given)
        cursors: Any = Cursors(tables, clock, jobs, ledger, given)
        untouched: Any = Untouched()
        dispatch = Dispatch(
            cursors=cursors,
            lanes=lanes,
            clock=clock,
            randomness=Numbered(shard),
            claiming=Claiming(untouched, Skipping(untouched, clock, 90, RunCounts(untouched, clock)), clock),
            rules=DispatchRules(shards=scenario.shards, lookahead=scenario.lookahead, horizon=scenario.horizon),
        )
        return cls(shard, jobs, ledger, clock, lanes, cursors, dispatch)

    def round(self, deadline: float) -> Report:
        """Run one round of the real dispatcher."""
        self.ledger.refused_by = None
        return self.dispatch(self.shard, deadline)


class Dispatchers:
    """Implementation of ports.ShardQueue, and the functions that read the queue: the messages of a group are processed
    one at a time, oldest first.
    """

    def __init__(
        self, conductor: Conductor, stations: Sequence[Station], scenario: Scenario, most: int, began: float
    ) -> None:
        self._conductor = conductor
        self._stations = {station.shard: station for station in stations}
        self._scenario = scenario
        self._most = most
        self._waiting: deque[tuple[int, float]] = deque()
        # Each round is a separate message, which is received and deleted: the number of calls is the same for both
        # actions.
        self._calls = Bucket(CALLS, FIFO_CALLS.value * len(stations) / scenario.shards, began)
        self._held = False
        self._asked_in_vain: set[int] = set()
        self._busy: set[int] = set()
        self._known: set[tuple[int, int]] = set()
        self._warm = 0
        self._ended = dict.fromkeys(self._stations, began)
        self._reason = dict.fromkeys(self._stations, TICK)
        self.reports: list[Report] = []

    def send(self, shards: Iterable[int], minute: int) -> list[int]:
        """See ports.ShardQueue. Requests of ten messages are sent one after another."""
        asked, size = list(shards), int(SEND_BATCH.value)
        for begin in range(0, len(asked), size):
            self._conductor.sleep_until(self._conductor.now + self._scenario.assumptions.send)
            for shard in asked[begin : begin + size]:
                if shard in self._stations and (shard, minute) not in self._known:
                    self._known.add((shard, minute))
                    self._waiting.append((shard, self._conductor.now))
            self._pump()
        return []

    def _pump(self) -> None:
        """Start the rounds that may start."""
        kept: deque[tuple[int, float]] = deque()
        while self._waiting and len(self._busy) < self._most:
            if not self._calls.has(min(1.0, self._calls.rate), self._conductor.now):
                self._hold()
                break
            shard, since = self._waiting.popleft()
            if shard in self._busy:
                kept.append((shard, since))
            elif self._conductor.now - since < RETENTION_SECONDS:
                self._start(shard, since)
        self._waiting.extendleft(reversed(kept))
        if len(self._busy) >= self._most:
            self._asked_in_vain.clear()  # shards that still wait then wait for a dispatcher

    def _hold(self) -> None:
        """The rate of receive calls is used up: check again when it allows another call."""
        if not self._held:
            self._held = True
            self._asked_in_vain.update(shard for shard, _ in self._waiting)
            self._conductor.at(self._conductor.now + 1 / self._calls.rate, self._unhold)

    def _unhold(self) -> None:
        self._held = False
        self._pump()

    def _start(self, shard: int, since: float) -> None:
        station, given = self._stations[shard], self._scenario.assumptions
        self._calls.take(min(1.0, self._calls.rate))
        self._busy.add(shard)
        cold = len(self._busy) > self._warm
        self._warm = max(self._warm, len(self._busy))
        startup = given.invoke + (given.cold_start if cold else 0)
        now = self._conductor.now
        if station.jobs.left:
            ended = self._ended[shard]
            station.ledger.charge(self._reason[shard], max(since, ended) - ended)
            station.ledger.charge(CALLS if shard in self._asked_in_vain else DISPATCHERS, now - max(since, ended))
            station.ledger.charge(COLD, startup)
        self._asked_in_vain.discard(shard)
        self._conductor.spawn(now + startup, lambda: self._round(station))

    def _round(self, station: Station) -> None:
        deadline = self._conductor.now + self._scenario.setting.round_seconds
        report = station.round(deadline)
        self.reports.append(report)
        now = self._conductor.now
        self._ended[station.shard] = now
        self._reason[station.shard] = _why(station.ledger.refused_by, late=now >= deadline)
        self._busy.discard(station.shard)
        self._pump()


def _why(refused_by: str | None, *, late: bool) -> str:
    """Return the reason for which a shard waits after a round."""
    if refused_by is not None:
        return f"{STOPPED}{refused_by})"
    return ROUND if late else NEXT_TICK
