"""Publishes outcomes on the event bus, if the job requests them. Best effort: it never delays a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from duecourse.domain.jobs.job import EventKind, Job
from duecourse.domain.runs.decision import MissedDeadline
from duecourse.domain.runs.document import DEADLINE_MISSED, deadline_detail_of, detail_of, outbound_events_of
from duecourse.domain.runs.states import Run
from duecourse.ports import Bus, Clock, OutboundEvent
from duecourse.usecases.report import Report


@dataclass(frozen=True, slots=True)
class Announcements:
    """Publishes the outcome in a record, if its job's `events` include it."""

    bus: Bus
    clock: Clock

    def publish(self, run: Run, job: Job, report: Report) -> None:
        """Publish the outcome. Events that the bus did not accept are counted and logged."""
        self._publish(run, {kind: detail_of(run, kind) for kind in outbound_events_of(run, job)}, report)

    def publish_deadline(self, missed: MissedDeadline, job: Job, report: Report) -> None:
        """Publish a missed deadline, in the same way."""
        if set(job.events) & {EventKind.ALL, EventKind.DEADLINES}:
            details = {DEADLINE_MISSED: deadline_detail_of(missed.run, missed.deadline, missed.at)}
            self._publish(missed.run, details, report)

    def _publish(self, run: Run, details: Mapping[str, dict[str, Any]], report: Report) -> None:
        if not details:
            return
        at = self.clock.now()
        refused = self.bus.publish([OutboundEvent(kind, detail, at) for kind, detail in details.items()])
        report.counts["EventsPublished"] += len(details) - refused
        if refused:
            report.counts["EventsRefused"] += refused
            report.add("event_refused", alarming=True, tenant=run.tenant, run_id=str(run.name), events=list(details))
