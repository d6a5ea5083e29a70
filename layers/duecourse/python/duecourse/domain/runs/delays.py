"""Where the lateness of a run came from. Pure."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

from duecourse.domain.runs.states import Run, Running

LATE_SECONDS = 1.0
"""A later start is explained. Most runs start earlier, and their records have no more attributes."""


@dataclass(frozen=True, slots=True)
class Delays:
    """The parts of the lateness of a run's first start, in seconds. Their sum is the lateness.

    - `dispatch`: until its message was sent.
    - `queue`: until a worker received the message. For a run that waited, also the time until its message was sent.
    - `waiting`: for another run of its job, or for a place, a rate or a circuit breaker of a key.
    - `start`: until the call, in the worker.
    """

    dispatch: float
    queue: float
    waiting: float
    start: float


_PARTS = tuple(each.name for each in fields(Delays))


def explained(run: Running, sent_at: float | None, received_at: float) -> Running:
    """Return a late run with the instants that explain its lateness, if it is about to start for the first time.
    `sent_at` and `received_at` are those of its message (UTC seconds). Its next attempt may wait again.
    """
    attempts = run.attempts
    if attempts.first_started_at != attempts.started_at:
        return run
    instants = replace(attempts, sent_at=sent_at, received_at=received_at, waited_since=run.waiting_since)
    return replace(run, attempts=instants)


def delays_of(run: Run) -> Delays | None:
    """Return the parts of a run's lateness; None if it was not late, or if they are not known. No part is negative,
    although clocks differ.
    """
    attempts = run.attempts
    if attempts is None or attempts.received_at is None:
        return None
    at, began = float(run.due), attempts.first_started_at
    steps = [attempts.sent_at or at, attempts.received_at, attempts.received_at, began]
    waited = run.waiting_since if attempts.waited_since is None else attempts.waited_since
    if waited is not None and waited <= began:  # the message is the one that ended the wait
        steps = [at, waited, attempts.received_at, began]
    parts = list[float]()
    for step in steps:
        reached = min(max(step, at), began)
        parts.append(round(reached - at, 3))
        at = reached
    return Delays(*parts)


def facts_of(run: Run) -> dict[str, float] | None:
    """Return the parts of a run's lateness by name, in seconds; None if they are not known."""
    delays = delays_of(run)
    return None if delays is None else {name: getattr(delays, name) for name in _PARTS}
