"""Whether a run may start while another run of its job is alive.

The lock names the run that holds it, and until when its holder's invocation lives. Acquired before the first start and
released at the final state, it is only ever believed together with the holder's own record.
"""

from __future__ import annotations

from dataclasses import dataclass

from duecourse.domain.job import Overlap
from duecourse.domain.run import Run, RunState
from duecourse.domain.start import LEASE_MARGIN_SECONDS

ORPHAN_SECONDS = 120
"""How long after its lease a RUNNING holder is believed to come back: its message is visible again 30 s after the
worker's time-out, and a worker that takes it over asks for the lock like everybody else."""


LOST_SECONDS = 3600
"""How long after its next attempt was due a RETRYING holder keeps the lock: its message may be lost or among the dead
letters, and must not block its job for ever. One that comes after all asks for the lock like everybody else."""

FIRST_WAIT_SECONDS = 2
LONGEST_WAIT_SECONDS = 30
"""A run that waits for another asks again after a quarter of the time it has waited already, within these bounds."""

FRESH_SECONDS = 90
"""How long a waiting run is believed to be still there after it asked last: three of the longest waits."""


@dataclass(frozen=True, slots=True)
class Lock:
    """`holder` is the local name of a run (`RunName.local`), `until` the end of the acquiring invocation (UTC s)."""

    holder: str
    until: float


@dataclass(frozen=True, slots=True)
class Waiter:
    """The run that is first in line (`queue`: the oldest, `replace`: the newest), fresh until `until` (UTC seconds)."""

    name: str
    until: float


@dataclass(frozen=True, slots=True)
class Yield:
    """The lock is another's and that one is alive: this run is skipped, with `reason` in its record."""

    reason: str
    because: str


@dataclass(frozen=True, slots=True)
class Await:
    """The holder has the lock but no record yet: it starts or dies before `until`; ask again then."""

    until: float
    reason: str


@dataclass(frozen=True, slots=True)
class Wait:
    """Another run is alive or first in line: ask again at `until`. `oust`: ask that holder to end first."""

    until: float
    reason: str
    oust: Run | None = None


@dataclass(frozen=True, slots=True)
class Seize:
    """The holder is final or gone: take the lock over from exactly that holder."""

    previous: Lock
    reason: str


LockDecision = Yield | Await | Wait | Seize


def decide_lock(
    lock: Lock, holder: Run | None, *, now: float, mine: str = "", due: float = 0.0, policy: Overlap = Overlap.SKIP
) -> LockDecision:
    """Decide on a lock that another run holds; `holder` is that run's record (strongly read). `mine` is the local name
    of the run that asks, `due` since when it waits.
    """
    # Whoever took the lock may be about to write its start (the first one, the next attempt, a redrive of the dead).
    starting = now < lock.until + LEASE_MARGIN_SECONDS
    if starting and (holder is None or holder.state is RunState.DEAD):
        return Await(min(lock.until + LEASE_MARGIN_SECONDS, now + 2), "its holder is about to start")
    if holder is None:
        return Seize(lock, "its holder never started")
    if holder.state.final:
        return Seize(lock, f"its holder is {holder.state}")
    if lost := _lost(holder, starting, now):
        return Seize(lock, lost)
    alive = f"{holder.name} is {holder.state}"
    match policy:
        case Overlap.SKIP | Overlap.ALLOW:
            return Yield("overlap", alive)
        case Overlap.QUEUE:
            return Wait(ask_again(due, now), alive)
        case Overlap.REPLACE if mine < lock.holder:
            return Yield("replaced", alive)
        case Overlap.REPLACE:
            oust = holder if holder.cancel_requested is None else None
            return Wait(ask_again(due, now), alive, oust)


def decide_line(front: Waiter | None, mine: str, policy: Overlap, *, due: float, now: float) -> Wait | Yield | None:
    """Whether a run must let another one that waits go first; None when it is its turn."""
    if front is None or front.name == mine or now >= front.until:
        return None
    match policy:
        case Overlap.QUEUE if front.name < mine:
            return Wait(ask_again(due, now), f"{front.name} waits for longer")
        case Overlap.REPLACE if front.name > mine:
            return Yield("replaced", f"{front.name} takes its place")
        case _:
            return None


def ask_again(due: float, now: float) -> float:
    """When a run that has waited since `due` asks again (UTC seconds)."""
    return now + min(max((now - due) / 4, FIRST_WAIT_SECONDS), LONGEST_WAIT_SECONDS)


def _lost(holder: Run, starting: bool, now: float) -> str | None:
    """Why a holder that is not final is not believed to come back; None when it is."""
    if starting:
        return None
    match holder.state:
        case RunState.RUNNING if now > (holder.lease_until or 0.0) + ORPHAN_SECONDS:
            return "its holder's worker vanished"
        case RunState.RETRYING if now > (holder.not_before or 0.0) + LOST_SECONDS:
            return "its holder's next attempt never came"
        case RunState.WAITING if now > (holder.deadline or 0.0) + LOST_SECONDS:
            return "its holder's callback never came"
        case _:
            return None
