"""Forecasts the runs of jobs with the notice `at_risk`, and delivers this notice.

The start of a run requests its first forecast by a message. A forecast without risk requests the next one for the
instant at which the run will be at risk if no other step ends until then. So a step that takes too long is noticed
while it is active, and the end of a step causes no forecast.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import ceil
from typing import TYPE_CHECKING, Any

from duecourse.domain.jobs.job import Job, Lane
from duecourse.domain.runs.states import Retrying, Run, Running
from duecourse.domain.runs.transitions import ARMED_SECONDS
from duecourse.domain.workflows.forecast import (
    Due,
    Forecast,
    NotDue,
    at_risk_notice,
    decide_forecast,
    forecast,
    next_check,
    wants_forecast,
)
from duecourse.messages import CheckForecast, RunMessage
from duecourse.usecases.announce import NoticeSender
from duecourse.usecases.forwarder import Forwarder
from duecourse.usecases.report import Report
from duecourse.usecases.worker.work_item import Disposition, WorkItem
from duecourse.usecases.workflows.forecasts import Durations
from duecourse.usecases.workflows.workflows import NotSentError

if TYPE_CHECKING:
    from duecourse.settings import TableSettings
    from duecourse.usecases.parts import Parts


@dataclass(frozen=True, slots=True)
class ForecastChecks:
    """Handles the messages that request forecasts. `notifier` returns the sender of notices."""

    parts: Parts[TableSettings]
    forwarder: Forwarder
    notifier: Callable[[], NoticeSender]

    def request(self, run: Running, before: Run | None, job: Job, message: RunMessage) -> None:
        """Send the message that requests the first forecast, before the start of the run is written. It goes through
        the `high` lane, like the checks of deadlines. `before` is the record of the run before this start: only the
        first attempt of a job without steps is forecast. Raises NotSentError: the run then starts later.
        """
        if not wants_forecast(job, run) or (isinstance(before, Retrying) and not run.is_workflow):
            return
        at = self.parts.clock.now() + ARMED_SECONDS
        start = message.to_start(run.attempt, nonce=self.parts.randomness.nonce(), not_before=at)
        request = replace(start, identity=run.identity, command=CheckForecast(run.lease_until))
        if not self.forwarder.send(request, at, Lane.HIGH):
            raise NotSentError(f"the request of the forecast of {run.name}")

    def check(self, item: WorkItem) -> Disposition:
        """Forecast the run of a message. A repeated message delivers no second notice."""
        message, now = item.message, self.parts.clock.now()
        lease_until = message.command.lease_until if isinstance(message.command, CheckForecast) else None
        record = self.parts.runs.get(message.tenant, message.job_id, message.name.local)
        snapshot = self.parts.jobs.snapshot(message.tenant, message.job_id)
        match decide_forecast(record, snapshot, message.attempt, lease_until, now):
            case NotDue(reason, again):
                if again:
                    return self._send(item, now + ARMED_SECONDS, CheckForecast(lease_until), reason)
                item.report.add("message_dropped", reason=reason, asked=message.kind)
                return Disposition.ACK
            case Due(run, job, deadline):
                durations = Durations(self.parts)
                view = durations.view(run)
                known = durations.of(view)
                found = forecast(view, known, deadline, now)
                _report(found, item.report)
                if found.at_risk:
                    self.notifier().send([at_risk_notice(run, job, found)], item.report)
                    return Disposition.ACK
                at = next_check(view, known, deadline, now)
                if at is None:
                    return Disposition.ACK
                return self._send(item, at, CheckForecast(), "the run will be at risk if no other step has ended")

    def _send(self, item: WorkItem, at: float, command: CheckForecast, reason: str) -> Disposition:
        """Send the message again for an instant (UTC seconds). If the run has a timer for it, it replaces the timer."""
        nonce = self.parts.randomness.nonce()
        again = replace(item.message, nonce=nonce, not_before=float(ceil(at)), command=command, replaces=())
        sent = self.forwarder.send(again, at, Lane.HIGH)
        item.report.add(
            "message_forwarded" if sent else "send_refused", alarming=not sent, not_before=at, reason=reason
        )
        return Disposition.ACK if sent else Disposition.RETAIN


def _report(found: Forecast, report: Report) -> None:
    report.counts["RunsForecast"] += 1
    facts: dict[str, Any] = {
        "predicted_end": found.predicted_end,
        "deadline": None if found.deadline is None else found.deadline.at,
        "reason": found.reason,
        "critical_path": [each.id for each in found.path[:5]],
        "unknown": len(found.unknown),
    }
    if found.at_risk:
        report.counts["RunsAtRisk"] += 1
        report.add("run_at_risk", **facts)
    else:
        report.add("run_forecast", **facts)
