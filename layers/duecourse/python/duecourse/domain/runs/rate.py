"""Decides when an attempt may start whose job has a rate: the generic cell rate algorithm, with a line of waiting runs.

A start is paid when it begins, never before: `paid` moves by one interval. A run that cannot be paid yet gets the next
instant of the line, one interval after the last one, waits without a worker, and is paid when it comes back. So a run
that is late, repeated or lost costs other runs at most one interval, and runs that come late together wait again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil

from duecourse.domain.jobs.job import Rate

LINE_SECONDS = 900
"""The maximum time (seconds) until the last instant of the line: the maximum delay of a queue."""

AGAIN_SECONDS = 600
"""If the line is full, a run asks again after this time (seconds) up to LINE_SECONDS, so that not all ask at once."""


@dataclass(frozen=True, slots=True)
class Spent:
    """The starts of a rate key (UTC microseconds, 0: none): `paid` is when the paid starts are used up at the current
    rate, and `line` is the last instant that was given to a waiting run.
    """

    paid: int = 0
    line: int = 0


@dataclass(frozen=True, slots=True)
class Move:
    """A change of one counter of `Spent`: add `step` if the counter is between `low` and `high`. With `to`, set it to
    `to` instead if it is below `low`.
    """

    counter: str
    low: int
    high: int
    step: int
    to: int | None = None


@dataclass(frozen=True, slots=True)
class Pay:
    """The attempt may start once `move` is written: now, or in a moment."""

    move: Move


@dataclass(frozen=True, slots=True)
class JoinLine:
    """The run waits for the instant that it gets once `move` is written."""

    move: Move


@dataclass(frozen=True, slots=True)
class AskAgain:
    """The line is full: the run asks again at `at` (UTC seconds)."""

    at: float


def moved(spent: Spent, move: Move) -> tuple[bool, Spent]:
    """Return whether the condition of the move holds, and the counters after it."""
    value: int = getattr(spent, move.counter)
    if move.to is not None:
        return (True, replace(spent, **{move.counter: move.to})) if value < move.low else (False, spent)
    held = move.low <= value <= move.high
    return held, replace(spent, **{move.counter: value + move.step}) if held else spent


def micro(instant: float) -> int:
    """Return UTC seconds as microseconds."""
    return round(instant * 1_000_000)


def interval(rate: Rate) -> int:
    """Return the time between two starts (microseconds)."""
    return ceil(60_000_000 / rate.per_minute)


def decide_rate(
    spent: Spent, rate: Rate, *, now: float, hold_seconds: float, in_turn: bool, draw: float
) -> Pay | JoinLine | AskAgain:
    """Decide on an attempt that asks to start. `spent` may be stale: each move has a condition. `in_turn`: the run has
    waited for its instant of the line. A worker waits at most `hold_seconds` for the start. `draw` is a random number
    in [0, 1).
    """
    step, at = interval(rate), micro(now)
    spare, soon, last = (rate.burst - 1) * step, at + micro(hold_seconds), at + micro(LINE_SECONDS)
    free_at = max(at, spent.paid - spare)
    if free_at <= soon and (in_turn or spent.line <= at):
        return Pay(Move("paid", at, soon + spare, step, at + step if spent.paid < at else None))
    if max(free_at, spent.line + step) > last:
        return AskAgain(now + AGAIN_SECONDS + (LINE_SECONDS - AGAIN_SECONDS) * draw)
    first = free_at - step
    return JoinLine(Move("line", first, last - step, step, free_at if spent.line < first else None))


def start_paid_by(spent: Spent, rate: Rate) -> float:
    """Return the instant of the start that was paid last (UTC seconds). It may be in the past."""
    return (spent.paid - rate.burst * interval(rate)) / 1_000_000
