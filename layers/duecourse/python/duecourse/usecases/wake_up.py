"""Wake-ups that have come near: send their messages, then clear them. Who dies in between is repeated by the next tick,
and the workers drop the repeats.
"""

from __future__ import annotations

from collections.abc import Sequence

from duecourse.domain.job import Precision
from duecourse.ports import ClaimResult, Clock, CursorStore, Lanes, Outgoing, Wake
from duecourse.usecases.enqueue import delay
from duecourse.usecases.report import Report

GROUP_WAKES = 100
"""Wake-ups sent and cleared together: ten full batches of messages, four of deletions."""


def wake_up(wakes: Sequence[Wake], store: CursorStore, lanes: Lanes, clock: Clock, report: Report) -> bool:
    """Send and clear; whether one could not be cleared for another reason than its condition, so that sending on would
    only repeat itself.
    """
    for begin in range(0, len(wakes), GROUP_WAKES):
        group = wakes[begin : begin + GROUP_WAKES]
        now = clock.now()
        accepted = lanes.send([Outgoing(wake.message, delay(wake.due, Precision.SECOND, now)) for wake in group])
        sent = [wake for wake, fine in zip(group, accepted, strict=True) if fine]
        cleared = store.clear(sent)
        results = [each.result for each in cleared]
        report.counts["WakesSent"] += len(sent)
        report.counts["SendsRefused"] += len(group) - len(sent)
        report.counts["ClaimsLost"] += results.count(ClaimResult.LOST)
        failed = results.count(ClaimResult.FAILED) + results.count(ClaimResult.REFUSED)
        report.counts["ClaimsFailed"] += failed
        report.counts["StatementsThrottled"] += sum(each.throttled for each in cleared)
        if len(sent) < len(group):
            report.add("send_refused", alarming=True, reason="wake-ups", refused=len(group) - len(sent))
        if failed:
            return True
    return False
