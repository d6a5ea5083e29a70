"""Delivers what jobs request about their runs: notices, events on the event bus (best effort), and pings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from duecourse.domain.jobs.job import Job
from duecourse.domain.runs.decision import MissedDeadline
from duecourse.domain.runs.notices import (
    Notice,
    Notifications,
    deadline_notifications,
    notifications_of,
    pause_notifications,
)
from duecourse.domain.runs.states import Run
from duecourse.ports import Bus, Clock, OutboundEvent
from duecourse.usecases.report import Report

if TYPE_CHECKING:
    from duecourse.usecases.ping import Pings


class NoticeSender(Protocol):
    """Delivers notices."""

    def send(self, notices: Sequence[Notice], report: Report) -> None:
        """Deliver the notices by the rules of their job. Raises if one could not be delivered."""


@dataclass(frozen=True, slots=True)
class Announcements:
    """Delivers the notifications that jobs request. `notifier` and `pings` return the senders of notices and of pings,
    which most jobs do not need. All methods raise if a notice could not be delivered. Events that the bus does not
    accept are counted and logged.
    """

    bus: Bus
    clock: Clock
    notifier: Callable[[], NoticeSender]
    pings: Callable[[], Pings]

    def publish(self, run: Run, job: Job, report: Report, until: float = 0.0) -> None:
        """Announce a record. No ping lasts beyond `until` (UTC seconds)."""
        if job.notify or job.events or job.ping_url is not None:
            self._deliver(notifications_of(run, job), report, until)

    def publish_deadline(self, missed: MissedDeadline, job: Job, report: Report) -> None:
        """Announce a missed deadline."""
        if job.notify or job.events:
            self._deliver(deadline_notifications(missed.run, job, missed.deadline, missed.at), report)

    def publish_pause(self, job: Job, because: str, report: Report) -> None:
        """Announce that Duecourse has paused the job."""
        self._deliver(pause_notifications(job, because, job.updated_at), report)

    def _deliver(self, wanted: Notifications, report: Report, until: float = 0.0) -> None:
        if wanted.notices:
            self.notifier().send(wanted.notices, report)
        if wanted.events:
            at = self.clock.now()
            refused = self.bus.publish([OutboundEvent(kind, detail, at) for kind, detail in wanted.events.items()])
            report.counts["EventsPublished"] += len(wanted.events) - refused
            if refused:
                report.counts["EventsRefused"] += refused
                detail = next(iter(wanted.events.values()))
                of = {name: detail[name] for name in ("tenant", "run_id")}
                report.add("event_refused", alarming=True, events=list(wanted.events), **of)
        if wanted.ping is not None:
            self.pings().send(wanted.ping, until, report)
