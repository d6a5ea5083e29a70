"""The enqueuing of a burst: the real dispatcher processes a sample of the shards until all their jobs are in their
lane.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import ceil, gcd
from typing import Any

from benchmarks.burst.conductor import Conductor
from benchmarks.burst.jobs import BURST, Placement, ShardJobs
from benchmarks.burst.ledger import DISPATCHERS, DUE_WRITES, JOBS_WRITES, STOPPED
from benchmarks.burst.limits import DOUBLING_SECONDS, INDEX_WRITES, PARTITION_WRITES
from benchmarks.burst.rounds import TICK_SECONDS, Dispatchers, Station
from benchmarks.burst.settings import Scenario
from benchmarks.burst.store import TENTH, Tables
from duecourse.domain.jobs.job import MissedPolicy
from duecourse.ports import InlineExecutor
from duecourse.testing.stores import MemoryStores
from duecourse.usecases.dispatch.tick import Tick

SAMPLE_JOBS = 40_000
"""The minimum number of jobs in a simulation, if the burst has that many. A sample consists of whole shards."""

GRACE_SECONDS = MissedPolicy().grace_seconds

MANY_SHARDS, FEW_SHARDS, MANY_JOBS = 16, 4, 300_000
"""The number of shards in a sample whose shards compete for a table: 16 or, if these have more than MANY_JOBS jobs,
fewer (at least 4). 16 of 64 shards predict the end within 5 % of all 64. If each shard is limited only by its own slot,
one shard is sufficient.
"""

SPEED_SECONDS = 120
"""If the burst is not enqueued this many seconds after the due second and the grace period of the last job, the end is
extrapolated from the speed so far. Rounds keep no state, so minutes repeat.
"""


@dataclass(slots=True)
class Enqueued:
    """The result of enqueuing. Times are seconds after the first due second; values before it are negative."""

    jobs: int
    last: float | None
    """When the last job's message was accepted; None if enqueuing never ends because nothing progresses."""
    limited_by: str
    waited: Mapping[str, float]
    """The waiting times (s) of the shard that finished last, by reason."""
    refused: Mapping[str, float]
    """The throttled claims per job, by the limit that throttled them."""
    sends_per_job: float
    simulated_jobs: int
    simulated_shards: int
    carried_on: bool
    """Whether the end was extrapolated from the speed of the last minutes."""
    soonest: float = 0.0
    """The earliest possible time for the last message by AWS's limits alone (see `soonest`)."""
    curve: list[tuple[float, float]] = field(default_factory=list)
    """Pairs of a second and the number of jobs that were enqueued by then."""
    visible: Counter[int] = field(default_factory=Counter)
    """The number of messages, including repeats, that become visible in each tenth of a second, scaled to the whole
    burst.
    """


def shard_speed(scenario: Scenario) -> float:
    """Return the claims a second that AWS's limits allow for each shard when all are busy."""
    setting = scenario.setting
    shared = min(scenario.due_writes / INDEX_WRITES.value, setting.jobs_writes) / scenario.shards
    return min(PARTITION_WRITES.value, shared)


def soonest(scenario: Scenario, fullest: int) -> float:
    """Return the earliest time at which AWS's limits alone allow the last message (seconds after the first due second).
    From the first tick on, each table, index and slot works without a pause at its full rate, with the stored units of
    its first second.
    """
    setting, jobs = scenario.setting, scenario.jobs
    slowest = max(
        _growing(jobs, setting.jobs_writes, setting.table_quota),
        _growing(jobs * INDEX_WRITES.value, setting.due_writes, setting.table_quota),
        fullest / PARTITION_WRITES.value,
    )
    seen = scenario.seconds - 1 - scenario.ahead  # when the last job comes within the lookahead
    return max(scenario.assumptions.tick_phase - scenario.ahead + max(slowest - 1, 0), seen)


def _growing(units: float, rate: float, quota: float) -> float:
    """Return the seconds that a table needs for this number of units if its rate doubles every half hour, up to its
    quota.
    """
    took = 0.0
    while units > rate * DOUBLING_SECONDS.value and rate < quota:
        took += DOUBLING_SECONDS.value
        units -= rate * DOUBLING_SECONDS.value
        rate = min(2 * rate, quota)
    return took + units / rate


def sampled_shards(scenario: Scenario) -> int:
    """Return the number of shards to simulate: enough for SAMPLE_JOBS, with a whole number of dispatchers."""
    shards, most = scenario.shards, min(scenario.setting.dispatchers, scenario.shards)
    # The smallest number of shards with a whole number of dispatchers. If nearly all shards have one, rounding down has
    # little effect.
    step = 1 if 2 * most > shards else shards // gcd(shards, most)
    speed = shard_speed(scenario)
    each = min(scenario.jobs / shards, speed * (scenario.ahead + scenario.seconds + SPEED_SECONDS))
    competing = max(min(MANY_SHARDS, int(MANY_JOBS / each)), FEW_SHARDS)
    least = 1 if speed >= PARTITION_WRITES.value else competing
    wanted = max(ceil(SAMPLE_JOBS / each), least)
    return min(-(-wanted // step) * step, shards)


def enqueue(scenario: Scenario, placement: Placement, count: int | None = None) -> Enqueued:
    """Simulate `count` shards (all of them for an exact result). They have a proportional share of shared resources."""
    count = sampled_shards(scenario) if count is None else count
    chosen = placement.sample(count)
    jobs = {shard: ShardJobs(placement.numbers(shard), scenario.seconds) for shard in chosen}
    simulated = sum(map(len, jobs.values()))
    share = simulated / scenario.jobs
    began = float(BURST - scenario.ahead)
    conductor = Conductor(began)
    tables = Tables(scenario.setting, began, share, scenario.due_writes)
    stations = [Station.of(scenario, shard, jobs[shard], tables, conductor) for shard in chosen]
    most = max(min(scenario.setting.dispatchers, scenario.shards) * count // scenario.shards, 1)
    dispatchers = Dispatchers(conductor, stations, scenario, most, began)
    clock, lookahead = stations[0].clock, scenario.lookahead
    cursors: Any = stations[0].cursors
    mark = MemoryStores().tick_mark()
    tick = Tick(cursors, dispatchers, mark, clock, InlineExecutor(), scenario.shards, lookahead)
    first = began + scenario.assumptions.tick_phase

    def left() -> int:
        return sum(station.jobs.left for station in stations)

    def ticking() -> None:
        if left():
            tick()
            conductor.spawn(conductor.now - (conductor.now - first) % TICK_SECONDS + TICK_SECONDS, ticking)

    conductor.spawn(first, ticking)
    ends = BURST + scenario.seconds + GRACE_SECONDS + SPEED_SECONDS
    conductor.run(lambda: not left() or conductor.now >= ends)
    enqueued = _enqueued(scenario, stations, simulated, left(), conductor.now)
    enqueued.soonest = soonest(scenario, placement.count(chosen[0]))
    return enqueued


def _enqueued(scenario: Scenario, stations: list[Station], simulated: int, left: int, now: float) -> Enqueued:
    scale = scenario.jobs / simulated
    firsts, visible, claimed, refused = Counter[int](), Counter[int](), Counter[int](), Counter[str]()
    for station in stations:
        firsts += station.lanes.enqueued
        visible += station.lanes.visible
        claimed += station.cursors.claimed
        refused += station.cursors.refused
    latest = max(stations, key=lambda station: (station.jobs.left, station.lanes.last))
    seen = Counter({tenth: round(messages * scale) for tenth, messages in visible.items()})
    curve = _curve(firsts, scale)
    waited = latest.ledger.top(8) or {DISPATCHERS: round(now - BURST + scenario.ahead, 1)}
    limited_by = _limited_by(waited, refused)
    last: float | None = max(station.lanes.last for station in stations) - BURST
    if left:
        speed = sum(jobs for tenth, jobs in claimed.items() if tenth > (now - SPEED_SECONDS) * TENTH) / SPEED_SECONDS
        doubles = limited_by in (DUE_WRITES, JOBS_WRITES)
        last = _carry_on(scenario, left, speed, doubles, now, scale, curve, seen)
    return Enqueued(
        jobs=scenario.jobs,
        last=last,
        limited_by=limited_by,
        waited=waited,
        refused={name: round(statements / simulated, 2) for name, statements in refused.items()},
        sends_per_job=round(visible.total() / firsts.total(), 3),
        simulated_jobs=simulated,
        simulated_shards=len(stations),
        carried_on=left > 0,
        curve=curve,
        visible=seen,
    )


def _limited_by(waited: Mapping[str, float], refused: Counter[str]) -> str:
    """Return the limit that caused the longest waits. If rounds stopped after a rejection, or kept dispatchers from
    other shards because of one, it is the limit that caused the rejection.
    """
    name = next(iter(waited))
    if refused and (name == DISPATCHERS or name.startswith(STOPPED)):
        return refused.most_common(1)[0][0]
    return name


def _curve(firsts: Counter[int], scale: float) -> list[tuple[float, float]]:
    total, points = 0.0, []
    for tenth in sorted(firsts):
        total += firsts[tenth] * scale
        points.append((tenth / TENTH - BURST, total))
    return points


def _carry_on(
    scenario: Scenario,
    left: int,
    speed: float,
    doubles: bool,
    now: float,
    scale: float,
    curve: list[tuple[float, float]],
    seen: Counter[int],
) -> float | None:
    """Extrapolate the remaining part from the speed of the last minutes: rounds keep no state, so minutes repeat. A
    table that was busy for half an hour takes twice as much afterwards, up to its quota.
    """
    if speed <= 0:
        return None
    began, at, rest = now, now, float(left)
    setting = scenario.setting
    grows = min(setting.table_quota / setting.due_writes, setting.table_quota / setting.jobs_writes)
    while rest > 0:
        doublings = int((at - (BURST - scenario.ahead)) // DOUBLING_SECONDS.value)
        fast = speed * (min(2.0**doublings, grows) if doubles else 1.0)
        done = min(fast, rest)
        at += done / fast
        rest -= done
        seen[int(at * TENTH)] += round(done * scale)
    curve.append((began - BURST, curve[-1][1]))
    curve.append((at - BURST, float(scenario.jobs)))
    return at - BURST
