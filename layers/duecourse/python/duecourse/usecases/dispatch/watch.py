"""The part of the tick that detects what no other function can report: queues that are not read, maintenance functions
that do not run, and an archive function that does not read its stream.

Only problems are counted, so a healthy stage emits no metrics for them. SQS's counts are approximate, and due messages
are visible until a poller has received them. So a queue counts as unread only if it seems so twice, some seconds apart
(Amazon SQS API Reference, "GetQueueAttributes").
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from duecourse.ports import Clock, ConcurrencyQuota, EventSource, Executor, QueueDepths
from duecourse.usecases.report import Report, format_error

if TYPE_CHECKING:
    from duecourse.stores.tick_mark import TickMark

SHARDS = "shards"
"""The name of the shard queue."""

PAUSE_SECONDS = 5
"""The time between the two looks at a queue that seems to be unread."""

SILENT_SECONDS = 7_200
"""A maintenance function is reported if its last end is this long ago (seconds). Each starts at least once an hour."""

MAINTENANCE = ("reconcile", "repair", "audit")
"""The functions that a rule starts, other than the tick."""

SOURCE_MINUTES = 15
"""The interval (minutes) at which the archive's event source is examined. The stream keeps records for 24 hours."""

QUOTA_MINUTES = 60
"""The interval (minutes) at which the account's quota of concurrent executions is compared with the setting."""


@dataclass(frozen=True, slots=True)
class StageWatch:
    """Checks once a minute. `lanes` and `bulk` are the names of the lanes' queues; the bulk queues are checked every
    other minute. `letters` are all dead-letter queues except the lanes' own. `account_concurrency` is the setting that
    the account's quota must not be below.
    """

    depths: QueueDepths
    source: EventSource
    mark: TickMark
    clock: Clock
    executor: Executor
    lanes: Sequence[str]
    bulk: Sequence[str]
    letters: Sequence[str]
    quota: ConcurrencyQuota
    account_concurrency: int

    def before(self, report: Report) -> None:
        """Count a shard queue that still has messages of earlier minutes, before new ones are sent."""
        try:
            waiting = self.depths.depth_of(SHARDS).waiting
        except Exception as problem:  # noqa: BLE001 - the tick sends its messages whatever happens here
            _failed(report, problem)
            return
        if waiting:
            report.counts["RoundsWaiting"] += 1
            report.add("rounds_waiting", alarming=True, messages=waiting)

    def after(self, minute: int, marks: Mapping[str, float], report: Report) -> None:
        """Check everything else, after the messages of the minute (epoch minutes) were sent. `marks`: see TickMark."""
        try:
            self._queues(self.bulk if minute % 2 else self.lanes, report)
            self._maintenance(marks, report)
            if minute % SOURCE_MINUTES == 0:
                self._archive(report)
        except Exception as problem:  # noqa: BLE001 - it looks again in the next minute
            _failed(report, problem)
        if minute % QUOTA_MINUTES == 0:
            self._concurrency(report)

    def _queues(self, names: Sequence[str], report: Report) -> None:
        unread = self._unread(names)
        if unread:
            self.clock.sleep_until(self.clock.now() + PAUSE_SECONDS)
            unread = self._unread(unread)
        if unread:
            report.counts["QueuesUnread"] += len(unread)
            report.add("queues_unread", alarming=True, queues=unread)

    def _unread(self, names: Sequence[str]) -> list[str]:
        """Return the queues that have visible messages while no worker has received any."""
        depths = self.executor.map(self.depths.depth_of, names)
        return [name for name, depth in zip(names, depths, strict=True) if depth.waiting and not depth.in_flight]

    def _maintenance(self, marks: Mapping[str, float], report: Report) -> None:
        now = self.clock.now()
        for name in MAINTENANCE:
            ended = marks.get(name)
            if ended is None:
                self.mark.beat(name, now)  # a new stage: it is silent from now on
            elif now - ended > SILENT_SECONDS:
                report.counts["MaintenanceSilent"] += 1
                report.add("maintenance_silent", alarming=True, function=name, seconds=round(now - ended))

    def _archive(self, report: Report) -> None:
        for name in self.letters:
            if messages := self.depths.depth_of(name).waiting:
                report.counts["LettersWaiting"] += messages
                report.add("letters_waiting", alarming=True, queue=name, messages=messages)
        if (reason := self.source.problem()) is not None:
            report.counts["ArchiveStopped"] += 1
            report.add("archive_stopped", alarming=True, reason=reason)

    def _concurrency(self, report: Report) -> None:
        """Compare the account's quota with the setting, from which the maximum of the lanes was derived. A quota that
        cannot be read is only logged: the permission, or the service, may not exist.
        """
        try:
            executions = self.quota.executions()
        except Exception as problem:  # noqa: BLE001 - the quota is not needed by anything that runs
            report.add("quota_not_read", error=format_error(problem))
            return
        if executions < self.account_concurrency:
            report.counts["QuotaBelowSetting"] += 1
            report.add("quota_below_setting", alarming=True, quota=executions, setting=self.account_concurrency)


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """Stores that a maintenance function has ended without an error."""

    mark: TickMark
    clock: Clock

    def __call__(self, function: str) -> None:
        """Store the end of a function (MAINTENANCE) at this moment."""
        self.mark.beat(function, self.clock.now())


def _failed(report: Report, problem: Exception) -> None:
    report.counts["WatchesFailed"] += 1
    report.add("watch_failed", alarming=True, error=format_error(problem))
