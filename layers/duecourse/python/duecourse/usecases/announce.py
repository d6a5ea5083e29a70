"""Publishes outcomes on the event bus (best effort), and delivers notices, if the job requests them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from duecourse.domain.jobs.job import EventKind, Job, NoticeCause
from duecourse.domain.runs.decision import MissedDeadline
from duecourse.domain.runs.document import DEADLINE_MISSED, deadline_detail_of, detail_of, outbound_events_of
from duecourse.domain.runs.notices import Notice, deadline_notice, notices_of
from duecourse.domain.runs.states import Run
from duecourse.ports import Bus, Clock, OutboundEvent
from duecourse.usecases.report import Report


class NoticeSender(Protocol):
    """Delivers notices."""

    def send(self, notices: Sequence[Notice], report: Report) -> None:
        """Deliver the notices by the rules of their job. Raises if one could not be delivered."""


@dataclass(frozen=True, slots=True)
class Announcements:
    """Publishes the outcome of a run if its job's `events` include it, and delivers the notices that the job's `notify`
    requests. `notifier` returns the sender of notices, which only jobs with `notify` need.
    """

    bus: Bus
    clock: Clock
    notifier: Callable[[], NoticeSender]

    def publish(self, run: Run, job: Job, report: Report) -> None:
        """Publish the outcome and deliver the notices about it. Events that the bus does not accept are counted and
        logged. Raises if a notice could not be delivered.
        """
        if job.notify:
            self.notify(notices_of(run, job), report)
        if job.events:
            self._publish(run, {kind: detail_of(run, kind) for kind in outbound_events_of(run, job)}, report)

    def publish_deadline(self, missed: MissedDeadline, job: Job, report: Report) -> None:
        """Publish a missed deadline and deliver the notices about it, like `publish`."""
        if NoticeCause.DEADLINE in job.notices_wanted:
            self.notify([deadline_notice(missed.run, job, missed.deadline, missed.at)], report)
        if set(job.events) & {EventKind.ALL, EventKind.DEADLINES}:
            details = {DEADLINE_MISSED: deadline_detail_of(missed.run, missed.deadline, missed.at)}
            self._publish(missed.run, details, report)

    def notify(self, notices: Sequence[Notice], report: Report) -> None:
        """Deliver the notices. Raises if one could not be delivered."""
        if notices:
            self.notifier().send(notices, report)

    def _publish(self, run: Run, details: Mapping[str, dict[str, Any]], report: Report) -> None:
        if not details:
            return
        at = self.clock.now()
        refused = self.bus.publish([OutboundEvent(kind, detail, at) for kind, detail in details.items()])
        report.counts["EventsPublished"] += len(details) - refused
        if refused:
            report.counts["EventsRefused"] += refused
            report.add("event_refused", alarming=True, tenant=run.tenant, run_id=run.run_id, events=list(details))
