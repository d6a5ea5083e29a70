"""Counts the runs that end in this process, and adds the counts to those of their tenants (domain.runs.counts)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from threading import Event, Lock

from duecourse.domain.runs.counts import FRESH_SECONDS, HeldCounts, RunCount, due
from duecourse.domain.runs.states import Run
from duecourse.ports import Clock, Executor, InlineExecutor
from duecourse.stores.run_counts import RunCountStore
from duecourse.usecases.report import Report, format_error


@dataclass(frozen=True, slots=True)
class RunCounts:
    """The counts of this process. One instance serves all its invocations and their threads.

    `slowest_seconds` is the longest time that a write can take.
    """

    store: RunCountStore
    clock: Clock
    executor: Executor = field(default_factory=InlineExecutor)
    slowest_seconds: float = 0
    _held: dict[str, HeldCounts] = field(default_factory=dict, repr=False)
    _postponed: Event = field(default_factory=Event, repr=False)
    _lock: Lock = field(default_factory=Lock, repr=False)

    def add(self, tenant: str, kind: RunCount, count: int = 1) -> None:
        """Add to the counts of the current hour. They are written later (`write`)."""
        now = self.clock.now()
        with self._lock:
            self._held.setdefault(tenant, HeldCounts(now)).add(kind, count, now)

    def add_skipped(self, records: Iterable[Run]) -> None:
        """Add the occurrences of records that were written."""
        for record in records:
            self.add(record.tenant, RunCount.SKIPPED, record.count)

    def write(self, report: Report, deadline: float) -> None:
        """Write the counts of the tenants that are due, if this can end before `deadline` (UTC seconds). Never raises:
        counts that could not be written are kept for a later call.
        """
        now = self.clock.now()
        if not self._held:
            return
        if now + self.slowest_seconds > deadline:
            self._postponed.set()
            return
        self._postponed.clear()
        with self._lock:
            for tenant in [tenant for tenant, held in self._held.items() if held.is_over(now)]:
                del self._held[tenant]
            taken = [(tenant, self._held[tenant]) for tenant in due(self._held, now)]
            self._held.update({tenant: HeldCounts(now, tried_at=now) for tenant, _ in taken})
        if taken:
            for part in self.executor.map(lambda each: self._write(*each, now, report.part()), taken):
                report.merge(part)

    def write_postponed(self, report: Report, deadline: float) -> None:
        """Write what the last invocation had no time to write. Otherwise an invocation writes at its end, with its own
        counts.
        """
        if self._postponed.is_set():
            self.write(report, deadline)

    def _write(self, tenant: str, held: HeldCounts, now: float, report: Report) -> Report:
        try:
            if now - held.since > FRESH_SECONDS and self.store.is_erased(tenant):
                held.hours.clear()
            while held.hours:
                hour, counts = next(iter(held.hours.items()))
                self.store.add(tenant, hour, counts)
                del held.hours[hour]
        except Exception as problem:  # noqa: BLE001 - the counts are less important than the work of the process
            report.add("run_counts_not_written", tenant=tenant, error=format_error(problem))
            with self._lock:
                self._held[tenant].put_back(held)
        return report
