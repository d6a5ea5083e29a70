"""Timers that are due soon: send their messages, then delete them. After a crash in between the next round repeats
both, and workers drop the repeats.
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
    """Send and delete the timers, and retry throttled deletes. Returns why it stopped early, if it did: the time is up,
    or a delete failed for another reason than its condition, so that more sends would only be repeated. A timer whose
    delete the table refuses permanently is reported and does not stop the others; every round sends it again.
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
    """The message with a new nonce: a timer that could not be deleted is sent again, and a dead run's nonce under
    another message id would be a redrive.
    """
    message = timer.message.again(nonce=randomness.nonce())
    return Outgoing(message, delay(timer.due, Precision.SECOND, now))
