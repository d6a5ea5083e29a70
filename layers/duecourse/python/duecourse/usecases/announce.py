"""Publishes outcomes on the event bus, if the job requests them. Best effort: it never delays a run."""

from __future__ import annotations

from dataclasses import dataclass

from duecourse.domain.jobs.job import Job
from duecourse.domain.runs.document import detail_of, outbound_events_of
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
        wanted = outbound_events_of(run, job)
        if not wanted:
            return
        at = self.clock.now()
        refused = self.bus.publish([OutboundEvent(kind, detail_of(run, kind), at) for kind in wanted])
        report.counts["EventsPublished"] += len(wanted) - refused
        if refused:
            report.counts["EventsRefused"] += refused
            report.add("event_refused", alarming=True, tenant=run.tenant, run_id=str(run.name), events=list(wanted))
