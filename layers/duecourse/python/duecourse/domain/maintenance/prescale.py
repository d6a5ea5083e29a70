"""When a stage gets more capacity than usual, and when it loses it again: a pure decision about the runs that are due
in the next half hour.

Before a peak (peaks.py), the queue gets provisioned pollers, and the tables get warm throughput. Afterwards the pollers
are removed. Warm throughput cannot be removed, and is charged only once.

The decision depends only on the stored plan, the forecast and the time, so missed and repeated ticks are harmless. What
it charges to the budget is stored before a request is made.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from math import ceil
from typing import TypeAlias

from duecourse.domain.instants import to_iso
from duecourse.domain.maintenance.peaks import (
    KEPT_SECONDS,
    LEAD_SECONDS,
    START_SECONDS,
    Peak,
    PrescalePlan,
    PrescaleRules,
    Raised,
    Throughput,
    wanted_pollers,
)
from duecourse.limits import (
    CALLS_PER_POLLER,
    MIN_POLLERS,
    OWN_READS,
    OWN_WRITES,
    POLLER_HOUR_DOLLARS,
    WARM_READ_DOLLARS,
    WARM_WRITE_DOLLARS,
)

CLAIM_SECONDS = 180
"""The time within which the runs of a peak are claimed (docs/sizing.md), in seconds."""

RUN_WRITES, RUN_READS, LIST_WRITES, JOB_READS, CLAIM_WRITES = 3, 2, 1, 1, 2
"""The units of a run whose overlap is forbidden: of the runs table, of its list of ended runs, of the jobs table, and
of the due index for each claim (docs/sizing.md, `benchmarks.execute`).
"""

STEP = 1.2
"""The factor by which pollers are raised at least while a queue has some: otherwise a budget that is nearly used up
would lead to a small request each minute.
"""

LEAST_PART = 0.1
"""The part of a day's budget that a request for warm throughput uses at least, unless it is for all that is needed."""

LEAST_PERCENT = 10
"""What a budget must pay of what is needed, in percent. Less would not help."""

UNIT_STEP = 1_000

TABLES: Mapping[str, str] = {"jobs": "jobs", "due": "jobs", "runs": "runs", "ended": "runs"}
"""The table of each table and index whose throughput is raised."""

WARMED = ("runs.writes", "runs.reads", "ended.writes", "jobs.reads", "jobs.writes", "due.writes")
"""The units that are raised. The others are not used up by a peak."""

HOUR = 3_600


@dataclass(frozen=True, slots=True)
class SetPollers:
    """Give a queue provisioned pollers, unless it has them."""

    queue: str
    source: str
    minimum: int
    maximum: int


@dataclass(frozen=True, slots=True)
class RemovePollers:
    """Take the provisioned pollers from a queue, and give it back its maximum concurrency."""

    queue: str
    source: str
    concurrent: int | None


@dataclass(frozen=True, slots=True)
class WarmUp:
    """Raise the warm throughput of a table (`jobs`, `runs`) and its indexes to these units per second. `dollars` is
    what was charged to the budget for it, with this or an earlier request.
    """

    table: str
    units: Mapping[str, int]
    dollars: float


PrescaleAction: TypeAlias = SetPollers | RemovePollers | WarmUp


@dataclass(frozen=True, slots=True)
class PrescaleDecision:
    """The plan to store, the requests that follow once it is stored, and what could not be raised as far as needed."""

    plan: PrescalePlan
    actions: tuple[PrescaleAction, ...]
    limits: tuple[str, ...] = ()


def decide(rules: PrescaleRules, plan: PrescalePlan, warm: Throughput | None, now: float) -> PrescaleDecision:
    """Return what to do now. `plan` has the current peaks (`with_counted`). `warm` is the throughput that the tables
    have; None if it was not read, because there is no peak. The same plan and time lead to the same requests, so a
    repeated tick only repeats them.
    """
    plan, raises, limits = _raised(rules, plan, now)
    plan, removals = _removed(rules, plan, now)
    plan, heating, more = _warmed(rules, plan, warm, now)
    return PrescaleDecision(plan, (*removals, *raises, *heating), (*limits, *more))


def removed(plan: PrescalePlan, queue: str) -> PrescalePlan:
    """Return the plan after the pollers of a queue were seen to be removed."""
    return replace(plan, raised={name: each for name, each in plan.raised.items() if name != queue})


def refused(plan: PrescalePlan, action: WarmUp, now: float, why: str) -> PrescalePlan:
    """Return the plan after AWS refused warm throughput: it costs nothing, and is requested again after an hour."""
    asked = {name: units for name, units in plan.asked.items() if name not in action.units}
    charges = _only(asked, plan.charges)
    plan = replace(plan, asked=asked, charges=charges, refused_until=int(now) + HOUR)
    return plan.charged(now, f"warm throughput was refused: {why}", 0 - action.dollars)  # no -0.0


def _active(plan: PrescalePlan, now: float) -> list[Peak]:
    """Return the peaks whose pollers are needed now."""
    return [each for each in plan.peaks if each.at - LEAD_SECONDS <= now < each.at + KEPT_SECONDS]


def _needed(rules: PrescaleRules, peaks: Iterable[Peak]) -> dict[str, int]:
    """Return the pollers of each queue for these peaks."""
    needed: dict[str, int] = {}
    for peak in peaks:
        for name, pollers in wanted_pollers(rules, peak).items():
            needed[name] = max(needed.get(name, 0), pollers)
    return needed


def _raised(
    rules: PrescaleRules, plan: PrescalePlan, now: float
) -> tuple[PrescalePlan, tuple[SetPollers, ...], tuple[str, ...]]:
    """Raise the pollers for the peaks of the next minutes, as far as the budget and the account's concurrency allow."""
    active = _active(plan, now) if rules.dollars_per_day > 0 else []
    needed = _needed(rules, active)
    if not needed:
        return plan, (), ()
    until = max(each.at for each in active) + KEPT_SECONDS
    given, limits = _given(rules, plan, needed, until, now)
    for name, pollers in sorted(given.items()):
        has = plan.raised.get(name, Raised(0, int(now)))
        kept = has.pollers if pollers < has.pollers * STEP else pollers
        if kept == has.pollers and until <= has.paid_until:
            continue
        says = f"{name}: {kept} pollers until {to_iso(until)} ({needed[name]} needed)"
        plan = plan.charged(now, says, _cost(has, kept, until, now))
        plan = replace(plan, raised={**plan.raised, name: Raised(kept, max(until, has.paid_until))})
    actions = tuple(
        SetPollers(name, rules.queues[name].source, has.pollers, rules.queues[name].maximum_of(has.pollers))
        for name, has in sorted(plan.raised.items())
        if name in needed and has.pollers and now < has.paid_until
    )
    return plan, actions, limits


def _removed(rules: PrescaleRules, plan: PrescalePlan, now: float) -> tuple[PrescalePlan, tuple[RemovePollers, ...]]:
    """Remove the pollers of queues whose peak has passed, or whose time is not paid, until they are seen to be removed.
    Pollers that a missed tick or a refused removal has left are charged.
    """
    needed = _needed(rules, _active(plan, now)) if rules.dollars_per_day > 0 else {}
    actions = []
    for name, has in sorted(plan.raised.items()):
        queue = rules.queues.get(name)
        if queue is None or (name in needed and has.pollers and now < has.paid_until):
            continue
        actions.append(RemovePollers(name, queue.source, queue.concurrent))
        says, until = f"{name}: remove {has.pollers or has.left} pollers", max(has.paid_until, int(now))
        late = _cost(has, has.pollers, until, now)
        if has.pollers:
            plan = plan.charged(now, says, late)
            plan = replace(plan, raised={**plan.raised, name: Raised(0, int(now), has.pollers, until)})
        elif late:
            plan = plan.charged(now, says, late, again=True)
            plan = replace(plan, raised={**plan.raised, name: replace(has, left_paid_until=int(now))})
    return plan, tuple(actions)


def _given(
    rules: PrescaleRules, plan: PrescalePlan, needed: Mapping[str, int], until: int, now: float
) -> tuple[dict[str, int], tuple[str, ...]]:
    """Return the pollers of each queue that budget and concurrency allow, each the same percentage of what it needs,
    and what is too small for all of them.
    """
    left = rules.dollars_per_day - plan.spent_on(now)
    allowed = _within_spare(rules, needed)
    wanted = ", ".join(f"{name} {each}" for name, each in sorted(needed.items()))
    short = [] if allowed == needed else [f"account_concurrency is too small for the pollers that are needed: {wanted}"]
    for percent in range(100, LEAST_PERCENT - 1, -1):
        given = _part(allowed, percent)
        cost = sum(_cost(plan.raised.get(name, Raised(0, int(now))), each, until, now) for name, each in given.items())
        if cost <= left + 1e-9:
            return given, tuple(short)
        if percent == 100:
            short.append(f"dollars_per_day leaves ${max(left, 0):.2f}, and the pollers ({wanted}) cost ${cost:.2f}")
    return {}, tuple(short)


def _within_spare(rules: PrescaleRules, needed: Mapping[str, int]) -> dict[str, int]:
    """Return the pollers for whose executions the account has enough concurrency: the same percentage of each."""
    for percent in range(100, 0, -1):
        given = _part(needed, percent)
        queues = [(rules.queues[name], each) for name, each in given.items()]
        if sum(max(queue.maximum_of(each) * CALLS_PER_POLLER - queue.most, 0) for queue, each in queues) <= rules.spare:
            return given
    return {}


def _part(needed: Mapping[str, int], percent: int) -> dict[str, int]:
    return {name: max(ceil(pollers * percent / 100), MIN_POLLERS) for name, pollers in needed.items()}


def _cost(has: Raised, pollers: int, until: int, now: float) -> float:
    """Return what more pollers, and a longer time, cost in addition to what was charged (USD). Pollers whose time was
    over may still have been there.
    """
    more = max(pollers - has.pollers, 0) * max(until - int(now), 0)
    longer = has.pollers * max(until - has.paid_until, 0)
    left = has.left * max(int(now) - has.left_paid_until, 0)
    return (more + longer + left) * POLLER_HOUR_DOLLARS / HOUR


def _warmed(
    rules: PrescaleRules, plan: PrescalePlan, warm: Throughput | None, now: float
) -> tuple[PrescalePlan, tuple[WarmUp, ...], tuple[str, ...]]:
    """Raise the warm throughput for the peaks ahead. The pollers come first: the budget keeps what they will cost."""
    ahead = [each for each in plan.peaks if each.at > now]
    if warm is None or warm.updating or not ahead or now < plan.refused_until or rules.dollars_per_day <= 0:
        return plan, (), ()
    asked = {name: units for name, units in plan.asked.items() if units > warm.units.get(name, 0)}
    has = {name: max(_own(name), warm.units.get(name, 0), asked.get(name, 0)) for name in WARMED}
    left = rules.dollars_per_day - plan.spent_on(now) - _coming_pollers(rules, plan, now)
    more, short = _affordable(rules, _wanted_units(rules, ahead), has, left)
    costs = {name: (units - has[name]) * _price(name) for name, units in more.items()}
    if asked != plan.asked:
        plan = replace(plan, asked=asked, charges=_only(asked, plan.charges))
    if more:
        named = ", ".join(f"{name} {units:,}" for name, units in sorted(more.items()))
        plan = plan.charged(now, f"warm throughput: {named}", sum(costs.values()))
        charges = {name: plan.charges.get(name, 0.0) + dollars for name, dollars in costs.items()}
        plan = replace(plan, asked=asked | more, charges={**plan.charges, **charges})
    actions = []
    for table in sorted(set(TABLES.values())):
        units = {name: each for name, each in plan.asked.items() if table_of(name) == table}
        if units:
            actions.append(WarmUp(table, units, sum(plan.charges.get(name, 0.0) for name in units)))
    return plan, tuple(actions), short


def _only(asked: Mapping[str, int], charges: Mapping[str, float]) -> dict[str, float]:
    return {name: dollars for name, dollars in charges.items() if name in asked}


def _affordable(
    rules: PrescaleRules, wanted: Mapping[str, float], has: Mapping[str, int], left: float
) -> tuple[dict[str, int], tuple[str, ...]]:
    """Return the units to request that the rest of the budget pays: the same percentage of each. Also return what is
    too small for all of them.
    """
    short: tuple[str, ...] = ()
    for percent in range(100, 0, -1):
        wanted_now = {name: ceil(each * percent / 100 / UNIT_STEP) * UNIT_STEP for name, each in wanted.items()}
        targets = {name: min(units, rules.table_quota) for name, units in wanted_now.items()}
        more = {name: units for name, units in targets.items() if units > has[name]}
        cost = sum((units - has[name]) * _price(name) for name, units in more.items())
        if cost <= left + 1e-9:
            enough = percent == 100 or cost >= LEAST_PART * rules.dollars_per_day
            return more if enough else {}, short
        if percent == 100:
            short = (f"dollars_per_day leaves ${max(left, 0):.2f}, and the warm throughput costs ${cost:.2f}",)
    return {}, short


def _wanted_units(rules: PrescaleRules, peaks: Iterable[Peak]) -> dict[str, float]:
    """Return the units per second with which the runs of the peaks start as fast as their pollers allow."""
    wanted = dict.fromkeys(WARMED, 0.0)
    for peak in peaks:
        starts = 0.0
        for name, pollers in _within_spare(rules, wanted_pollers(rules, peak)).items():
            starts += min(pollers * rules.queues[name].per_poller, peak.busiest * peak.shares[name] / START_SECONDS)
        starts, claims = min(starts, rules.table_quota / RUN_WRITES), peak.runs / CLAIM_SECONDS
        units = {
            "runs.writes": RUN_WRITES * starts,
            "runs.reads": RUN_READS * starts,
            "jobs.reads": JOB_READS * starts,
            "jobs.writes": claims,
            "due.writes": CLAIM_WRITES * claims,
            "ended.writes": LIST_WRITES * starts if rules.list_successes else 0.0,
        }
        wanted = {name: max(each, units[name]) for name, each in wanted.items()}
    return wanted


def _coming_pollers(rules: PrescaleRules, plan: PrescalePlan, now: float) -> float:
    """Return what the pollers of peaks that are still ahead will cost (USD)."""
    later = [each for each in plan.peaks if now < each.at - LEAD_SECONDS]
    pollers = sum(_within_spare(rules, _needed(rules, later)).values())
    first, last = (min(each.at for each in later), max(each.at for each in later)) if later else (0, 0)
    return pollers * (last - first + LEAD_SECONDS + KEPT_SECONDS) * POLLER_HOUR_DOLLARS / HOUR


def table_of(unit: str) -> str:
    """Return the table of a unit (`due.writes`): `jobs` or `runs`."""
    return TABLES[unit.partition(".")[0]]


def _own(name: str) -> int:
    return OWN_READS if name.endswith(".reads") else OWN_WRITES


def _price(name: str) -> float:
    return WARM_READ_DOLLARS if name.endswith(".reads") else WARM_WRITE_DOLLARS
