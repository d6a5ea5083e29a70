"""Messages of planned firings, for the dispatcher and the API."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, floor

from duecourse.domain.jobs.cursor import Cursor
from duecourse.domain.jobs.plan import Firing, Plan
from duecourse.domain.jobs.policies import Precision
from duecourse.domain.runs.identity import RunIdentity
from duecourse.domain.schedules.occurrences import OccurrenceRules
from duecourse.limits import MAX_DELAY_SECONDS
from duecourse.messages import RunMessage
from duecourse.ports import Outgoing

ALIGNED_SECONDS = 0.15
"""A message sent within this time after a second's start counts as sent at its start."""

HOLD_SECONDS = 1.0
"""A worker holds a message that arrives at most this early until its instant."""


def outgoing(
    cursor: Cursor, plan: Plan, *, now: float, nonce: Callable[[], str], correlation_id: str | None = None
) -> list[Outgoing]:
    """One message per firing, each with the delay that makes it visible at its due second when sent at `now`.
    `correlation_id` names the request or round that enqueues them.
    """
    final = plan.firings[-1] if plan.firings and plan.cursor.occurrence is None else None
    return [
        Outgoing(
            message(cursor, firing, now=now, nonce=nonce(), final=firing is final, correlation_id=correlation_id),
            delay(firing.due, cursor.precision, now),
        )
        for firing in plan.firings
    ]


def delay(due: int, precision: Precision, now: float) -> int:
    """The delay of a message in whole seconds, rounded up so that it is never visible early.

    A message that is sent some tenths after a second's start is visible those tenths after its due second. Messages of
    jobs with precision `exact` are visible one second earlier (up to two, if not sent at a second's start), and their
    worker holds them.
    """
    match precision:
        case Precision.SECOND:
            wait = ceil(due - now)
        case Precision.EXACT:
            wait = floor(due - HOLD_SECONDS - now + ALIGNED_SECONDS)
    return min(max(wait, 0), MAX_DELAY_SECONDS)


def message(
    cursor: Cursor, firing: Firing, *, now: float, nonce: str, final: bool = False, correlation_id: str | None = None
) -> RunMessage:
    """The message of a firing; its first attempt may start when it is due."""
    return RunMessage(
        RunIdentity(
            tenant=cursor.tenant,
            job_id=cursor.job_id,
            occurrence=firing.occurrence,
            due=firing.due,
            generation=cursor.generation,
            count=firing.count,
            through=firing.through if firing.count > 1 else None,
            correlation_id=correlation_id,
        ),
        lane=cursor.lane,
        bulk=cursor.bulk,
        not_before=float(firing.due),
        nonce=nonce,
        caught_up_at=now if firing.caught_up else None,
        following=firing.following,
        # A range is read by the rules that made it, even if the job changes before it runs.
        rules=OccurrenceRules(cursor.schedule, cursor.exclude, cursor.jitter_seconds) if firing.count > 1 else None,
        final=final,
    )
