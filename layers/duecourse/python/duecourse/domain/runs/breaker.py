"""Decides whether an attempt may start while the target of a job with a circuit breaker fails.

The failures of a key are counted until an attempt succeeds. After enough of them the breaker opens: attempts wait until
a known instant. The first attempt after it is the probe. If it succeeds, or its target rejects only this request, the
breaker closes; if it fails, the breaker opens for twice as long. Each change except the count replaces exactly the
state that was read, so late, repeated or lost messages never cause two probes after one opening. If the worker of a
probe dies, the next attempt after its lease is the probe.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from enum import StrEnum
from hashlib import sha256
from math import ceil
from typing import Literal

from duecourse.domain.instants import CLOCKS_DIFFER_SECONDS
from duecourse.domain.jobs.job import MAX_OPEN_SECONDS, Breaker
from duecourse.domain.targets.targets import Failed, Outcome
from duecourse.limits import MAX_DELAY_SECONDS

SPREAD_SECONDS = 30
"""Attempts that wait for an open breaker start within this time (seconds) after `open_until`, or within `open_seconds`
if that is shorter.
"""

PROBING_SECONDS = (5.0, 30.0)
"""While a probe is in progress, other attempts try again after a time between these (seconds)."""

HELD_SECONDS = 60
"""If the first probe after an operator's hold fails, the breaker opens for twice this time (seconds)."""

_COUNTED = re.compile(r"http\.(429|5\d\d)|timeout|connection|tls")
_OWN_FAULTS = frozenset({"internal", "secrets_unavailable", "token_unavailable", "tasks_unavailable"})


BreakerWord = Literal["closed", "open", "half_open"]


@dataclass(frozen=True, slots=True)
class BreakerState:
    """The state of a breaker (UTC seconds; 0: none). No attempt starts before `open_until`; after it, only the probe
    may start. If `open_until` is 0, the breaker is closed. It was opened for `open_seconds`. `failures` counts the
    failures since the last success. `probe` is the fencing token of the probe, whose lease has ended by
    every clock at `probe_until`.
    """

    failures: int = 0
    open_until: int = 0
    open_seconds: int = 0
    probe: str = ""
    probe_until: int = 0

    def word(self, now: float) -> BreakerWord:
        """Return whether the breaker is `closed`, `open` or, after `open_until`, `half_open`."""
        if not self.open_until:
            return "closed"
        return "open" if now < self.open_until else "half_open"


@dataclass(frozen=True, slots=True)
class Closed:
    """The attempt may start: the breaker is closed, or the attempt is its probe."""


@dataclass(frozen=True, slots=True)
class Probe:
    """The attempt may start as the probe once `after` has replaced the state."""

    after: BreakerState


@dataclass(frozen=True, slots=True)
class WaitUntil:
    """The attempt tries again at `at` (UTC seconds)."""

    at: float


class Verdict(StrEnum):
    """The effect of an attempt on its circuit breaker. REJECTS: the target responded and rejected only this request,
    which closes a half-open breaker but does not clear the failures of a closed one. NOTHING: the outcome does not show
    whether the target works.
    """

    WORKS = "works"
    REJECTS = "rejects"
    FAILS = "fails"
    NOTHING = "nothing"


def verdict_of(outcome: Outcome) -> Verdict:
    """Return the effect of a call's outcome on the circuit breaker. For an HTTP target, 429 and 5xx count as failures,
    and other statuses as rejections. For other targets, errors count as failures after which a later attempt may
    succeed, and an exception of a function that forbids this as a rejection.
    """
    match outcome:
        case Failed(code=code) if _COUNTED.fullmatch(code):
            return Verdict.FAILS
        case Failed(code=code, forbidden=forbidden) if forbidden or code.startswith("http."):
            return Verdict.REJECTS
        case Failed(code=code, retryable=retryable):
            return Verdict.FAILS if retryable and code not in _OWN_FAULTS else Verdict.NOTHING
        case _:
            return Verdict.WORKS


def decide_start(
    state: BreakerState, run: str, token: str, *, now: float, lease_until: float, draw: float
) -> Closed | Probe | WaitUntil:
    """Decide whether an attempt may start. `run` is the id of its run, and `token` is its fencing token. `state` may be
    stale, because the write that starts a probe is conditional. `draw` is a random number in [0, 1).
    """
    if not state.open_until or state.probe == token:
        return Closed()
    if now < state.open_until:
        # An operator may hold a key for a day and close the breaker earlier: a run detects this when it tries again.
        at = min(state.open_until, now + MAX_DELAY_SECONDS - SPREAD_SECONDS)
        return WaitUntil(at + min(SPREAD_SECONDS, state.open_seconds) * share_of(run))
    if now < state.probe_until:
        first, last = PROBING_SECONDS
        return WaitUntil(now + first + (last - first) * draw)
    return Probe(replace(state, probe=token, probe_until=ceil(lease_until + CLOCKS_DIFFER_SECONDS)))


def decide_end(state: BreakerState, verdict: Verdict, token: str, rule: Breaker, *, now: float) -> BreakerState:
    """Return the state after an attempt with this fencing token. `state` already counts its failure."""
    if state.open_until and state.probe != token:
        return state  # only its probe changes an open breaker
    match verdict:
        case Verdict.WORKS:
            return BreakerState()
        case Verdict.REJECTS:
            return BreakerState() if state.open_until else state
        case Verdict.NOTHING:
            return without_probe(state)
        case Verdict.FAILS if not state.open_until and state.failures < rule.failures:
            return state
        case Verdict.FAILS:
            longer = min(2 * state.open_seconds, MAX_OPEN_SECONDS) if state.open_until else rule.open_seconds
            return BreakerState(state.failures, ceil(now) + longer, longer)


def without_probe(state: BreakerState) -> BreakerState:
    """Return the state of a half-open breaker whose next attempt is the probe."""
    return replace(state, probe="", probe_until=0)


def held_until(state: BreakerState, until: float) -> BreakerState:
    """Return the state of a breaker that an operator keeps open until this instant (UTC seconds), or longer if it is
    open longer.
    """
    if state.open_until >= until:
        return state
    return BreakerState(state.failures, ceil(until), state.open_seconds or HELD_SECONDS)


def share_of(run: str) -> float:
    """Return a number in [0, 1) that is the same for each attempt of the run."""
    return int.from_bytes(sha256(run.encode()).digest()[:4]) / 2**32
