"""Circuit breakers by key: whether an attempt may start, and what its end changes (domain.runs.breaker)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from duecourse.domain.instants import DAY_SECONDS
from duecourse.domain.jobs.job import Breaker
from duecourse.domain.runs.breaker import (
    BreakerState,
    Closed,
    Probe,
    Verdict,
    WaitUntil,
    decide_end,
    decide_start,
    verdict_of,
    without_probe,
)
from duecourse.domain.targets.targets import Outcome
from duecourse.ports import Clock, Randomness
from duecourse.usecases.report import Report
from duecourse.usecases.worker.rates import BUSY_SECONDS, MAX_MOVES

if TYPE_CHECKING:
    from duecourse.stores.jobs import JobStore
    from duecourse.stores.waits import WaitQueues


@dataclass(frozen=True, slots=True)
class Guarded:
    """The circuit breaker of an attempt: its `key`, its state, and the fencing token of the attempt of the run `run`
    (its id), whose lease ends at `lease_until` (UTC seconds).
    """

    key: str
    run: str
    token: str
    lease_until: float
    state: BreakerState


@dataclass(frozen=True, slots=True)
class Breakers:
    """Reads and changes circuit breakers. Stored settings of a key replace those of the job."""

    jobs: JobStore
    wait_queues: WaitQueues
    clock: Clock
    randomness: Randomness

    def read(self, tenant: str, key: str, run: str, token: str, lease_until: float) -> Guarded:
        """Return the breaker for an attempt."""
        return Guarded(key, run, token, lease_until, self.wait_queues.breaker(tenant, key))

    def look(self, guarded: Guarded) -> Closed | Probe | WaitUntil:
        """Return whether the attempt may start. Nothing is written."""
        now, draw = self.clock.now(), self.randomness.draw()
        lease = guarded.lease_until
        return decide_start(guarded.state, guarded.run, guarded.token, now=now, lease_until=lease, draw=draw)

    def enter(self, tenant: str, guarded: Guarded) -> Guarded | WaitUntil:
        """Return the breaker with which the attempt starts. If a probe is required, the attempt becomes the probe
        first.
        """
        for _ in range(MAX_MOVES):
            match self.look(guarded):
                case Closed():
                    return guarded
                case WaitUntil() as wait:
                    return wait
                case Probe(after):
                    state = self._set(tenant, guarded.key, after, guarded.state)[1]
                    guarded = replace(guarded, state=state)
        return WaitUntil(self.clock.now() + BUSY_SECONDS)

    def not_started(self, tenant: str, guarded: Guarded) -> None:
        """Let another attempt be the probe if this one has become the probe but does not start, because its message is
        late and its run has ended (the write of the start shows this), or because of an error up to that write. An
        attempt that started earlier may fail in the meantime, which changes the state.
        """
        state = guarded.state
        for _ in range(MAX_MOVES):
            if state.probe != guarded.token:
                return
            state = self._set(tenant, guarded.key, without_probe(state), state)[1]

    def ended(self, tenant: str, guarded: Guarded, of_job: Breaker, outcome: Outcome, report: Report) -> None:
        """Record the attempt's outcome for the circuit breaker. Repeated failures may be counted twice if the
        response to a write is lost.
        """
        verdict, key, state = verdict_of(outcome), guarded.key, guarded.state
        rule = of_job
        if verdict is Verdict.FAILS:
            stored = self.jobs.key_limits.get(tenant, key)
            rule = of_job if stored is None or stored.breaker is None else stored.breaker
            if state.probe != guarded.token:
                state = self.wait_queues.count_failure(tenant, key, expires_at=self._expires_at())
        for _ in range(MAX_MOVES):
            after = decide_end(state, verdict, guarded.token, rule, now=self.clock.now())
            if after == state:
                return
            made, state = self._set(tenant, key, after, state)
            if made:
                self._report(key, after, report)
                return

    def _report(self, key: str, after: BreakerState, report: Report) -> None:
        if after.open_until and not after.probe_until:
            report.counts["BreakersOpened"] += 1
            report.add("breaker_opened", key=key, failures=after.failures, until=after.open_until)
        elif not after.open_until:
            report.add("breaker_closed", key=key)

    def _set(self, tenant: str, key: str, state: BreakerState, previous: BreakerState) -> tuple[bool, BreakerState]:
        return self.wait_queues.set_breaker(tenant, key, state, previous, expires_at=self._expires_at())

    def _expires_at(self) -> int:
        return int(self.clock.now()) + DAY_SECONDS
