"""Decides when an attempt of a job with a rate may start: the generic cell rate algorithm, with an instant for each
waiting run.

A start is counted when it begins, never before: `paid` moves by one interval. A run that may not start yet gets the
next free instant (`given`), one interval after the previous one. It waits without a worker, and its start is counted
when its message returns. So a run that is late, repeated or lost delays other runs by at most one interval, and runs
that are late together wait again.

The counters are instants, so they depend on the interval with which they were counted (`step`). If the rate has
changed, or differs between jobs, starts are counted with the interval of the faster rate: no window has more starts
than the larger burst and the faster rate allow.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import ceil

from duecourse.domain.instants import CLOCKS_DIFFER_SECONDS
from duecourse.domain.jobs.job import Rate
from duecourse.domain.runs.transitions import has_turn
from duecourse.gates.gate import At, Gate, Pass, Starting, Write, replacing
from duecourse.stores import table
from duecourse.stores.table import Absent, Between, Compare, Condition, Set, all_of, any_of, equal

AHEAD_SECONDS = 900
"""The maximum time (seconds) until the instant of a waiting run: the maximum delay of a queue."""

AGAIN_SECONDS = 600
"""If no instant is free, a run tries again after a time between this (seconds) and AHEAD_SECONDS, so that the runs do
not all try at once.
"""


@dataclass(frozen=True, slots=True)
class Spent:
    """The starts of a rate key (UTC microseconds, 0: none): `paid` is when the counted starts are used up, one every
    `step` (microseconds), and `given` is the last instant that was given to a waiting run. No attempt starts before
    `held`, because the target requested a pause.
    """

    paid: int = 0
    given: int = 0
    step: int = 0
    held: int = 0


@dataclass(frozen=True, slots=True)
class Move:
    """A change of one counter of `Spent`: add `step` if the counter is between `low` and `high`, and `paid` was counted
    with this step. With `to`, set it to `to` instead if it is below `low`. `paid` only changes if `held` has passed at
    `low`.
    """

    counter: str
    low: int
    high: int
    step: int
    to: int | None = None


@dataclass(frozen=True, slots=True)
class Recount:
    """Replace exactly the counters `before` by `after`, which are counted with the interval of another rate."""

    before: Spent
    after: Spent


@dataclass(frozen=True, slots=True)
class PauseKey:
    """Set `held` to `until` if it is earlier."""

    until: int


Change = Move | Recount | PauseKey


@dataclass(frozen=True, slots=True)
class Pay:
    """The attempt may start once `move` is written: now, or in a moment."""

    move: Move | Recount


@dataclass(frozen=True, slots=True)
class Adapt:
    """Write `move`, and decide again: the rate has changed."""

    move: Recount


@dataclass(frozen=True, slots=True)
class TakeInstant:
    """The run waits for the instant that it gets once `move` is written."""

    move: Move


@dataclass(frozen=True, slots=True)
class AskAgain:
    """No instant is free: the run tries again at `at` (UTC seconds)."""

    at: float


def micro(instant: float) -> int:
    """Return UTC seconds as microseconds."""
    return round(instant * 1_000_000)


def interval(rate: Rate) -> int:
    """Return the time between two starts (microseconds)."""
    return ceil(60_000_000 / rate.per_minute)


def decide_rate(
    spent: Spent, rate: Rate, *, now: float, hold_seconds: float, in_turn: bool, draw: float, stored: bool = False
) -> Pay | Adapt | TakeInstant | AskAgain:
    """Decide whether an attempt may start. `spent` may be stale: each move has a condition. `in_turn`: the run has
    waited for its instant. A worker waits at most `hold_seconds` for the start. `draw` is a random number in [0, 1).
    `stored`: the rate is that of all jobs with the key.
    """
    step, at, held = interval(rate), micro(now), micro(hold_seconds)
    counted, slack = spent.step or step, held + micro(CLOCKS_DIFFER_SECONDS)
    most = at + rate.burst * step if stored else None
    if step < counted or (most is not None and (step > counted or spent.paid > most + slack)):
        adapted = _adapted(spent, step, at, most)
        if adapted is not None:
            return Adapt(Recount(spent, adapted))
    slower = step > counted and spent.paid > at  # it pays once enough starts are used up at the faster rate
    spare, soon, last = (rate.burst - 1) * step, at if slower else at + held, at + micro(AHEAD_SECONDS)
    free_at = max(at, spent.paid - (rate.burst - 1) * counted, spent.held)
    # The message of the run with the last instant may be late: a queue delays it by whole seconds.
    if free_at <= soon and spent.held <= at and (in_turn or spent.given + min(step, counted) <= at):
        if slower:
            paid = at + ceil((spent.paid - at) * step / counted) + step
            return Pay(Recount(spent, replace(spent, paid=paid, step=step)))
        begins = spent.paid <= at
        return Pay(Move("paid", at + begins, soon + spare, step, at + step if begins else None))
    if max(free_at, spent.given + step) > last:
        return AskAgain(now + AGAIN_SECONDS + (AHEAD_SECONDS - AGAIN_SECONDS) * draw)
    first = free_at - step
    return TakeInstant(Move("given", first, last - step, step, free_at if spent.given < first else None))


def _adapted(spent: Spent, step: int, at: int, most: int | None) -> Spent | None:
    """Return the counters as counted with `step` from `at` on, and `paid` at most `most`. None if they are used up."""
    owed, given, counted = max(spent.paid - at, 0), max(spent.given - at, 0), spent.step or step
    if not owed and not given:
        return None
    paid = at + ceil(owed * step / counted)
    paid, given = paid if most is None else min(paid, most), min(spent.given, at + given * step // counted)
    return replace(spent, paid=paid, given=given, step=step)


def start_paid_by(spent: Spent, rate: Rate) -> float:
    """Return the instant of the start that was counted last (UTC seconds). It may be in the past."""
    return (spent.paid - rate.burst * interval(rate)) / 1_000_000


class RateGate(Gate[Rate, Spent]):
    """The rate of a key."""

    name = "rate"
    item = "RATE"
    limit = Rate
    state = Spent
    keeps = True
    pauses = True

    def enter(self, state: Spent, start: Starting[Rate]) -> Pass | At | Write[Spent]:
        """Count the start, or give the run an instant. If the response to a write is lost, a start may be counted that
        does not take place.
        """
        now, rate = start.now, start.limit
        in_turn = has_turn(start.continued, self.name, start.key, now, waited=start.waited)
        decision = decide_rate(
            state, rate, now=now, hold_seconds=start.hold_seconds, in_turn=in_turn, draw=start.draw, stored=start.stored
        )
        match decision:
            case Pay(move):
                return write_of(move, lambda after: Pass(max(now, start_paid_by(after, rate))))
            case TakeInstant(move):
                return write_of(move, lambda after: At(after.given / 1_000_000, in_turn=True))
            case Adapt(move):
                return write_of(move)
            case AskAgain(at):
                return At(at)

    def held(self, state: Spent, until: float) -> Write[Spent] | None:
        """Set `held`, unless it is later."""
        return None if state.held >= micro(until) else write_of(PauseKey(micro(until)))

    def opened(self, state: Spent, now: float) -> Write[Spent] | None:
        """Clear `held`."""
        return None if state.held <= micro(now) else write_of(Recount(state, replace(state, held=0)))

    def paused_until(self, state: Spent) -> float:
        """Return `held`."""
        return state.held / 1_000_000


SPENT = ("paid", "given", "step", "held")
"""The fields of `Spent`."""


def write_of(move: Change, then: Callable[[Spent], Pass | At] | None = None) -> Write[Spent]:
    """Return the write of a move, with its condition."""
    match move:
        case Move():
            condition, changes = _moved(move)
        case Recount(before, after):
            condition, changes = replacing(SPENT, before, after)
        case PauseKey(until):
            condition, changes = any_of(Absent("held"), Compare("held", "<", until)), (Set("held", until),)
    return Write(changes, condition, then)


def _moved(move: Move) -> tuple[Condition, tuple[table.Change, ...]]:
    counter, low, paying = move.counter, move.low, move.counter == "paid"
    free = (any_of(Absent("held"), Compare("held", "<=", low)),) if paying else ()
    if move.to is None:
        same = (equal("step", move.step),) if paying else ()
        return all_of(Between(counter, low, move.high), *free, *same), (table.Add(counter, move.step),)
    step = (Set("step", move.step),) if paying else ()
    return all_of(any_of(Absent(counter), Compare(counter, "<", low)), *free), (Set(counter, move.to), *step)
