"""The runs of the next half hour that a stage cannot start in time, and the plan for them: types and forecast.

A *peak* is a minute in which more runs are due than a queue can start within PEAK_SECONDS.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil

from duecourse.domain.instants import to_iso
from duecourse.limits import (
    CALLS_PER_POLLER,
    FIRST_CONCURRENT,
    MAX_MINIMUM_POLLERS,
    MIN_POLLERS,
    MORE_CONCURRENT,
    OWN_MAX_CONCURRENT,
    POLLS_PER_POLLER,
)

PEAK_SECONDS = 10
"""The time within which the runs of a peak should start."""

START_SECONDS = 8
"""The time for which pollers and throughput are chosen, in seconds. The rest of PEAK_SECONDS is for cold starts."""

BATCH_SECONDS = 1.0
"""The assumed duration of a batch: a poller fetches ten batches a second, so shorter ones need as many pollers."""

FORECAST_MINUTES = 30
"""How far ahead runs are counted: AWS needs minutes for warm throughput, and the charge is known before the peak."""

RECOUNT_MINUTES = 15
"""Each minute is counted again so many minutes before, for jobs that were created since. No run of it is enqueued yet,
because the horizon is 14 minutes.
"""

LEAD_SECONDS = 600
"""How long before a peak its pollers are requested, in seconds. AWS needs some minutes for them."""

KEPT_SECONDS = 180
"""How long after the beginning of the peak's minute its pollers stay, in seconds."""

KEPT_ENTRIES = 20
"""The number of entries of the history."""

MIN_SHARE = 0.001
"""The part of a peak below which a queue needs nothing."""

MINUTE = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueRules:
    """A queue of the stage. `source` is the id of its event source, `concurrent` the maximum concurrency that it has
    without provisioned pollers (None: only Lambda's own limit), and `batch` the number of messages of a batch.
    """

    source: str
    concurrent: int | None
    batch: int

    @property
    def most(self) -> int:
        """The maximum number of concurrent executions without provisioned pollers."""
        return OWN_MAX_CONCURRENT if self.concurrent is None else self.concurrent

    @property
    def starts(self) -> int:
        """The number of runs that it starts within PEAK_SECONDS if it was idle: Lambda's own pollers begin with a few
        executions.
        """
        growth = MORE_CONCURRENT / MINUTE
        full = min(max((self.most - FIRST_CONCURRENT) / growth, 0.0), PEAK_SECONDS)
        first = min(FIRST_CONCURRENT, self.most)
        executions = first * full + growth * full**2 / 2 + self.most * (PEAK_SECONDS - full)
        return int(executions * self.batch / BATCH_SECONDS)

    @property
    def per_poller(self) -> float:
        """The runs a second that one provisioned poller starts."""
        return self.batch * min(float(POLLS_PER_POLLER), CALLS_PER_POLLER / BATCH_SECONDS)

    def maximum_of(self, pollers: int) -> int:
        """Return the maximum number of pollers for this minimum. The queue never has less concurrency than usual."""
        return max(pollers, ceil(self.most / CALLS_PER_POLLER))


@dataclass(frozen=True, slots=True, kw_only=True)
class PrescaleRules:
    """The limits of a stage. `dollars_per_day` is the most that the pollers and the warm throughput of a day (UTC) may
    cost. `table_quota` is the account's quota of a table and of each index, in units per second. `spare` is the number
    of executions of the account that neither the lanes nor reservations use. `runs_table` is the name of the table of
    runs. `queues` by name: `normal`, `normal bulk`.
    """

    dollars_per_day: float
    table_quota: int
    spare: int
    list_successes: bool
    runs_table: str
    queues: Mapping[str, QueueRules]


def rules_of(text: str) -> PrescaleRules:
    """Return the rules in a JSON object of the fields of PrescaleRules. Raises ValueError."""
    try:
        given = json.loads(text)
        queues = {name: QueueRules(**queue) for name, queue in given.pop("queues").items()}
        return PrescaleRules(queues=queues, **given)
    except (ValueError, TypeError, AttributeError, KeyError) as problem:
        raise ValueError(f"must be a JSON object with dollars_per_day and queues: {problem!r}") from None


@dataclass(frozen=True, slots=True)
class Peak:
    """A minute (epoch minutes) with `runs` due runs, of which `busiest` are due within PEAK_SECONDS. `shares` has the
    part of each queue, from a sample. `at_least`: not all were counted.
    """

    minute: int
    runs: int
    busiest: int
    shares: Mapping[str, float]
    at_least: bool = False

    @property
    def at(self) -> int:
        """The first second of the minute (UTC)."""
        return self.minute * MINUTE


@dataclass(frozen=True, slots=True)
class Raised:
    """A queue that has provisioned pollers, or may have them: at least `pollers`, charged until `paid_until` (UTC
    seconds). It is kept until the pollers are known to be removed: `left` pollers are being removed, and are charged
    until `left_paid_until`.
    """

    pollers: int
    paid_until: int
    left: int = 0
    left_paid_until: int = 0


@dataclass(frozen=True, slots=True)
class Entry:
    """What was decided at `at` (UTC seconds), and what it was charged (USD)."""

    at: int
    says: str
    dollars: float = 0.0


@dataclass(frozen=True, slots=True)
class PrescalePlan:
    """What is stored: the peaks of the next half hour, the queues with pollers, the warm throughput that was requested
    (`asked`, units per second by name) and not yet seen, what the day (`2026-11-21`) has cost so far, of which
    `charges` are for `asked` (USD by name), and the last decisions. `refused_until`: AWS refused warm throughput, which
    is not requested before this time (UTC seconds).
    """

    version: int = 0
    peaks: tuple[Peak, ...] = ()
    raised: Mapping[str, Raised] = field(default_factory=dict)
    asked: Mapping[str, int] = field(default_factory=dict)
    charges: Mapping[str, float] = field(default_factory=dict)
    day: str = ""
    spent: float = 0.0
    refused_until: int = 0
    history: tuple[Entry, ...] = ()

    def spent_on(self, now: float) -> float:
        """Return what the day of `now` has cost so far (USD)."""
        return self.spent if self.day == day_of(now) else 0.0

    def charged(self, now: float, says: str, dollars: float = 0.0, *, again: bool = False) -> PrescalePlan:
        """Return the plan with one more decision, and its charge. With `again`, the charge is added to that of the last
        entry that says the same.
        """
        same = next((each for each in reversed(self.history) if again and each.says == says), Entry(int(now), says))
        entry = replace(same, dollars=round(same.dollars + dollars, 4))
        history = (*(each for each in self.history if each is not same), entry)[-KEPT_ENTRIES:]
        spent, today = max(self.spent_on(now) + dollars, 0.0), day_of(now)
        charges = self.charges if self.day == today else {}
        return replace(self, day=today, spent=round(spent, 4), charges=charges, history=history)


@dataclass(frozen=True, slots=True)
class Throughput:
    """The warm throughput of the tables and indexes by unit (`runs.writes`), in units per second. While AWS is
    `updating` a table, it accepts no other request for it.
    """

    units: Mapping[str, int]
    updating: bool = False


def day_of(now: float) -> str:
    """Return the day (UTC) of an instant."""
    return to_iso(int(now))[:10]


def minutes_to_count(now: float, last_tick: float | None) -> list[int]:
    """Return the minutes (epoch minutes) that a tick counts: those that have entered the next half hour since the last
    tick, and those that are counted again. After a gap, at most five of each: the others are counted again later.
    """
    minute = int(now) // MINUTE
    last = minute - 1 if last_tick is None else min(int(last_tick) // MINUTE, minute - 1)
    entered = [minute - ago for ago in range(min(minute - last, 5))]
    return sorted(each + ahead for each in entered for ahead in (RECOUNT_MINUTES, FORECAST_MINUTES))


def busiest(pages: Iterable[tuple[int, int, int]], seconds: int = PEAK_SECONDS) -> int:
    """Return the maximum number of entries within `seconds`. Each page has `(first, last, entries)`: its entries are
    due from `first` to `last` (UTC seconds), and are assumed to be spread evenly over these seconds.
    """
    by_second: dict[int, float] = {}
    for first, last, entries in pages:
        for second in range(first, last + 1):
            by_second[second] = by_second.get(second, 0.0) + entries / (last - first + 1)
    if not by_second:
        return 0
    return ceil(max(sum(by_second.get(at + more, 0.0) for more in range(seconds)) for at in by_second) - 1e-6)


def with_counted(rules: PrescaleRules, plan: PrescalePlan, counted: Sequence[Peak], now: float) -> PrescalePlan:
    """Return the plan with the peaks among these minutes, and without those that have passed. A minute that was counted
    again replaces the earlier count, unless it was not counted completely and the earlier count is larger.
    """
    known = {each.minute: each for each in plan.peaks if now < each.at + KEPT_SECONDS}
    for each in counted:
        before = known.pop(each.minute, None)
        larger = before if before is not None and each.at_least and before.runs > each.runs else each
        if wanted_pollers(rules, larger):
            known[each.minute] = larger
    peaks = sorted(known.values(), key=lambda each: each.minute)
    return plan if tuple(peaks) == plan.peaks else replace(plan, peaks=tuple(peaks))


def may_be_peak(rules: PrescaleRules, runs: int) -> bool:
    """Return whether this number of runs of a minute could be a peak of some queue."""
    return runs > min((each.starts for each in rules.queues.values()), default=runs)


def wanted_pollers(rules: PrescaleRules, peak: Peak) -> dict[str, int]:
    """Return the pollers with which the runs of a peak start in time, for each queue that has too many of them."""
    wanted = {}
    for name, share in peak.shares.items():
        queue, due = rules.queues.get(name), peak.busiest * share
        if queue is not None and share >= MIN_SHARE and due > queue.starts:
            pollers = ceil(due / START_SECONDS / queue.per_poller)
            wanted[name] = min(max(pollers, MIN_POLLERS), MAX_MINIMUM_POLLERS)
    return wanted
