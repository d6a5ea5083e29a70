"""Whether a run may start while another run of its job is alive.

The lock names the run that holds it, and until when its holder's invocation lives. Acquired before the first start and
released at the final state, it is only ever believed together with the holder's own record.
"""

from __future__ import annotations

from dataclasses import dataclass

from duecourse.domain.run import Run, RunState
from duecourse.domain.start import LEASE_MARGIN_SECONDS

ORPHAN_SECONDS = 120
"""How long after its lease a RUNNING holder is believed to come back: its message is visible again 30 s after the
worker's time-out, and a worker that takes it over asks for the lock like everybody else."""


LOST_SECONDS = 3600
"""How long after its next attempt was due a RETRYING holder keeps the lock: its message may be lost or among the dead
letters, and must not block its job for ever. One that comes after all asks for the lock like everybody else."""


@dataclass(frozen=True, slots=True)
class Lock:
    """`holder` is the local name of a run (`RunName.local`), `until` the end of the acquiring invocation (UTC s)."""

    holder: str
    until: float


@dataclass(frozen=True, slots=True)
class Yield:
    """The lock is another's and that one is alive: this run is skipped."""

    reason: str


@dataclass(frozen=True, slots=True)
class Await:
    """The holder has the lock but no record yet: it starts or dies before `until`; ask again then."""

    until: float
    reason: str


@dataclass(frozen=True, slots=True)
class Seize:
    """The holder is final or gone: take the lock over from exactly that holder."""

    previous: Lock
    reason: str


LockDecision = Yield | Await | Seize


def decide_lock(lock: Lock, holder: Run | None, *, now: float) -> LockDecision:
    """Decide on a lock that another run holds; `holder` is that run's record (strongly read)."""
    # Whoever took the lock may be about to write its start (the first one, the next attempt, a redrive of the dead).
    starting = now < lock.until + LEASE_MARGIN_SECONDS
    if starting and (holder is None or holder.state is RunState.DEAD):
        return Await(min(lock.until + LEASE_MARGIN_SECONDS, now + 2), "its holder is about to start")
    if holder is None:
        return Seize(lock, "its holder never started")
    if holder.state.final:
        return Seize(lock, f"its holder is {holder.state}")
    if holder.state is RunState.RUNNING and not starting and now > (holder.lease_until or 0.0) + ORPHAN_SECONDS:
        return Seize(lock, "its holder's worker vanished")
    if holder.state is RunState.RETRYING and not starting and now > (holder.not_before or 0.0) + LOST_SECONDS:
        return Seize(lock, "its holder's next attempt never came")
    return Yield(f"{holder.name} is {holder.state}")
