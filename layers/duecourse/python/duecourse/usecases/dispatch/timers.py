"""Timers that have come near: send their messages, then clear them. Who dies in between is repeated by the next tick,
and the workers drop the repeats.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from duecourse.domain.jobs.policies import Precision
from duecourse.ports import ClaimResult, CursorStore, Lanes, Outgoing, Randomness, Timer
from duecourse.usecases.dispatch.enqueue import delay
from duecourse.usecases.report import Report
from duecourse.usecases.write_retry import WriteRetry

OUT_OF_TIME = "out of time; the next tick goes on"

GROUP_TIMERS = 100
"""Timers sent and cleared together: ten full batches of messages, four of deletions."""


def send_due_timers(
    timers: Sequence[Timer], store: CursorStore, lanes: Lanes, retry: WriteRetry, report: Report
) -> str | None:
    """Send and clear, those that a busy table puts off again and again. Why it stopped before the end, if it did: the
    time is out, or one could not be cleared for another reason than its condition, so that sending on would only repeat
    itself. One that the table will never let be cleared is reported and stops nobody; it is sent again by every round.
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
    """With a nonce of its own: a timer that could not be cleared is sent once more, and a dead run's nonce under
    another message id would be a redrive.
    """
    message = timer.message.again(nonce=randomness.nonce())
    return Outgoing(message, delay(timer.due, Precision.SECOND, now))
