"""Rates by key: the time at which an attempt may start (domain.runs.rate)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from duecourse.domain.instants import DAY_SECONDS
from duecourse.domain.jobs.job import Rate
from duecourse.domain.runs.rate import AskAgain, Hold, JoinLine, Pay, decide_rate, micro, start_paid_by
from duecourse.ports import Clock, Randomness

if TYPE_CHECKING:
    from duecourse.stores.jobs import JobStore
    from duecourse.stores.waits import WaitQueues

MAX_MOVES = 4
"""The maximum number of decisions if other workers write first."""

HOLD_SECONDS = 2.0
"""A worker holds a run up to this many seconds until its start. The queue delivers a message up to a second after the
instant of its run, and so the starts of a key come up to a second and a few requests after the instants. A run that
cannot be held waits again, behind all others.
"""

BUSY_SECONDS = 2
"""A run tries again after this time (seconds) if other workers were first at each move."""


@dataclass(frozen=True, slots=True)
class Paid:
    """The attempt may start at `at` (UTC seconds): now, or within HOLD_SECONDS."""

    at: float


@dataclass(frozen=True, slots=True)
class Later:
    """The run waits until `at` (UTC seconds) and then tries again. `in_turn`: the rate has given the run this
    instant.
    """

    at: float
    in_turn: bool


@dataclass(frozen=True, slots=True)
class Rates:
    """Counts the starts of keys. A stored limit of a key replaces the rate of the job."""

    jobs: JobStore
    wait_queues: WaitQueues
    clock: Clock
    randomness: Randomness

    def pause(self, tenant: str, key: str, until: float) -> None:
        """Start no attempt with the key before `until` (UTC seconds)."""
        self.wait_queues.spend(tenant, key, Hold(micro(until)), expires_at=int(until) + DAY_SECONDS)

    def ask(self, tenant: str, key: str, of_job: Rate, *, in_turn: bool) -> Paid | Later:
        """Count a start, or return when the run tries again. If the response to a write is lost, a start may be counted
        that does not take place.
        """
        stored = self.jobs.key_limits.get(tenant, key)
        common = None if stored is None else stored.rate
        rate = replace(of_job if common is None else common, key=key)
        spent = self.wait_queues.spent(tenant, key)
        for _ in range(MAX_MOVES):
            now = self.clock.now()
            decision = decide_rate(
                spent,
                rate,
                now=now,
                hold_seconds=HOLD_SECONDS,
                in_turn=in_turn,
                draw=self.randomness.draw(),
                stored=common is not None,
            )
            if isinstance(decision, AskAgain):
                return Later(decision.at, in_turn=False)
            made, spent = self.wait_queues.spend(tenant, key, decision.move, expires_at=int(now) + DAY_SECONDS)
            match decision:
                case Pay() if made:
                    return Paid(max(now, start_paid_by(spent, rate)))
                case JoinLine() if made:
                    return Later(spent.line / 1_000_000, in_turn=True)
                case _:
                    continue
        return Later(self.clock.now() + BUSY_SECONDS, in_turn=False)
