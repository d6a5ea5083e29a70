"""Index repair: once a day one scan of the jobs table; each page goes through a list of checks.

A scan reads half a unit per 4 KB, of which most is definitions: 1 million jobs of 2.5 KB each (all items) are about
310,000 read units (4 US cents), and take ten minutes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from duecourse.domain.maintenance.scan import RepairPass
from duecourse.ports import Clock, IndexPage, RepairStore
from duecourse.usecases.maintenance.scan import scan
from duecourse.usecases.report import Report, in_words

Check = Callable[[IndexPage, Report], None]
"""Checks a page, repairs faults and reports them. An exception ends the invocation, and the page is read again."""


@dataclass(frozen=True, slots=True)
class IndexRepair:
    """The use case, started more often than there is work. A pass begins `every_seconds` after the previous one, and an
    invocation continues where the one before ran out of time.
    """

    store: RepairStore
    checks: Sequence[Check]
    clock: Clock
    every_seconds: int

    def __call__(self, deadline: float) -> Report:
        """Continue the pass until `deadline` (UTC seconds), or begin the next one if it is time. Never raises: errors
        are counted and logged, and the next invocation continues with the page that failed.
        """
        report = Report()
        try:
            position = self._position()
            if position is not None:
                self._scan(position, deadline, report)
        except Exception as problem:  # noqa: BLE001 - after any error the next invocation tries again
            report.counts["PatrolsFailed"] += 1
            report.add("patrol_failed", alarming=True, error=in_words(problem))
        if report.counts["JobsCleanedUp"]:
            report.add("cleaned_up", removed=report.counts["JobsCleanedUp"])
        return report

    def _position(self) -> RepairPass | None:
        """The pass to continue; None if the next one is not due yet, or another invocation has begun it."""
        known, now = self.store.last_pass(), self.clock.now()
        if known is not None and not known.done:
            return replace(known, version=known.version + 1)
        if known is not None and now < known.begun_at + self.every_seconds:
            return None
        begun = RepairPass(now, version=1 if known is None else known.version + 1)
        return replace(begun, version=begun.version + 1) if self.store.save(begun, now=now) else None

    def _scan(self, position: RepairPass, deadline: float, report: Report) -> None:
        def page(position: RepairPass) -> tuple[str | None, Counter[str]]:
            found, before = self.store.page(position.start), report.counts.copy()
            for check in self.checks:
                check(found, report)
            return found.following, report.counts - before

        reached = scan(
            position,
            going=lambda: self.clock.now() < deadline,
            page=page,
            save=lambda position: self.store.save(position, now=self.clock.now()),
        )
        if reached is None:
            report.add("patrol_overtaken", reason="another invocation is on the same patrol")
        else:
            counts = dict(reached.counts)
            report.add("patrolled", complete=reached.done, begun_at=reached.begun_at, counts=counts)
