"""Messages of planned firings, for the dispatcher and the API, and of timers that are due soon.

The messages of due timers are sent before the timers are deleted. After a crash in between, the next round repeats
both, and workers drop the repeated messages.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from math import ceil, floor

from duecourse.domain.ids import RunIdentity
from duecourse.domain.jobs.cursor import Cursor, Firing, Plan
from duecourse.domain.jobs.job import Precision
from duecourse.domain.schedules.schedule import OccurrenceRules
from duecourse.limits import MAX_DELAY_SECONDS
from duecourse.messages import RunMessage
from duecourse.ports import ClaimResult, CursorStore, Lanes, Outgoing, Randomness, Timer
from duecourse.usecases.report import Report
from duecourse.usecases.write_retry import WriteRetry

ALIGNED_SECONDS = 0.15
"""A message sent within this time after the start of a second counts as sent at its start."""

HOLD_SECONDS = 1.0
"""A worker holds a message that arrives up to this time early until its instant."""


def outgoing(
    cursor: Cursor, plan: Plan, *, now: float, nonce: Callable[[], str], correlation_id: str | None = None
) -> list[Outgoing]:
    """Return one message per firing, each with the delay that makes it visible at its due second if it is sent at
    `now`. `correlation_id` identifies the request or round that enqueues the messages.
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
    """Return the delay of a message in whole seconds, rounded up so that it is never visible early.

    A message sent some tenths after the start of a second becomes visible those tenths after its due second. Messages
    of jobs with precision `exact` become visible one second earlier (up to two, if they are not sent at the start of a
    second), and their worker holds them.
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
    """Return the message of a firing. Its first attempt may start when it is due."""
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
        # A range is read with the rules that created it, even if the job changes before it runs.
        rules=OccurrenceRules(cursor.schedule, cursor.exclude, cursor.jitter_seconds) if firing.count > 1 else None,
        final=final,
    )


OUT_OF_TIME = "out of time; the next tick continues"

GROUP_TIMERS = 100
"""The number of timers sent and cleared together: ten full batches of messages, four of deletions."""


def send_due_timers(
    timers: Sequence[Timer], store: CursorStore, lanes: Lanes, retry: WriteRetry, report: Report
) -> str | None:
    """Send and delete the timers, and retry throttled deletions. Return the reason if it stopped early: the time is up,
    or a deletion failed for another reason than its condition. In the second case further messages would only be
    repeated. If the table rejects a deletion permanently, the timer is reported and the others continue; every round
    sends it again.
    """
    for begin in range(0, len(timers), GROUP_TIMERS):
        now = retry.clock.now()
        if now >= retry.deadline:
            return OUT_OF_TIME
        group = timers[begin : begin + GROUP_TIMERS]
        accepted = lanes.send([_outgoing(timer, retry.randomness, now) for timer in group])
        sent = [timer for timer, fine in zip(group, accepted, strict=True) if fine]
        cleared = retry.write_all(store.clear, sent)
        results = Counter(each.result for each in cleared)
        refused = [each.error for each in cleared if each.result is ClaimResult.REFUSED]
        failed = len(cleared) - len(refused) - results[ClaimResult.WON] - results[ClaimResult.LOST]
        report.counts["WakesSent"] += len(sent)
        report.counts["SendsRefused"] += len(group) - len(sent)
        report.counts["ClaimsLost"] += results[ClaimResult.LOST]
        report.counts["ClaimsRefused"] += len(refused)
        report.counts["ClaimsFailed"] += failed
        report.counts["StatementsThrottled"] += sum(each.throttled for each in cleared)
        if len(sent) < len(group):
            report.add("send_refused", alarming=True, reason="timers", refused=len(group) - len(sent))
        if refused:
            report.add("claims_refused", alarming=True, reason="timers", count=len(refused), error=refused[0])
        if failed:
            return "a timer could not be cleared"
    return None


def _outgoing(timer: Timer, randomness: Randomness, now: float) -> Outgoing:
    """Return the timer's message with a new nonce. A timer that could not be deleted is sent again, and a dead run's
    nonce under another message id would count as a redrive.
    """
    message = timer.message.again(nonce=randomness.nonce())
    return Outgoing(message, delay(timer.due, Precision.SECOND, now))
