"""The trend of a worker's runs over five minutes: whether many targets fail, or many runs start late.

An alarm must distinguish an outage from usual failures, at one run a minute and at thousands a second. Each worker
process therefore computes the shares among its own runs, and reports them only if they are bad. Its runs are a sample
of all runs, so no process needs the others' counts.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from duecourse.usecases.report import Report

WINDOW_MINUTES = 5

MIN_FAILED = 6
"""The minimum number of failed attempts in the window for which targets count as failing."""

FAILED_SHARE = 0.05
"""The minimum share of failed attempts for which targets count as failing."""

MIN_TARGETS = 3
TARGETS_SHARE = 0.2
"""The minimum number of targets with failed attempts, and their minimum share of all targets. The jobs of one broken
target are the concern of their owner (notified of dead runs), not of the person on call.
"""

MIN_LATE = 3
LATE_SHARE = 0.05
"""The minimum number of late starts in the window, and their minimum share of all starts."""


@dataclass(frozen=True, slots=True)
class Counts:
    """The counts of a batch, or of all batches of a minute. A target is a tenant together with a host or a resource."""

    attempts: int = 0
    failed: int = 0
    called: AbstractSet[str] = frozenset()
    failing: AbstractSet[str] = frozenset()
    starts: int = 0
    late: int = 0

    def __add__(self, other: Counts) -> Counts:
        """Return the sum."""
        return Counts(
            self.attempts + other.attempts,
            self.failed + other.failed,
            self.called | other.called,
            self.failing | other.failing,
            self.starts + other.starts,
            self.late + other.late,
        )

    @property
    def targets_fail(self) -> bool:
        """Whether many targets fail."""
        return self.failed >= max(MIN_FAILED, FAILED_SHARE * self.attempts) and len(self.failing) >= max(
            MIN_TARGETS, TARGETS_SHARE * len(self.called | self.failing)
        )

    @property
    def starts_late(self) -> bool:
        """Whether many runs start late."""
        return self.late >= max(MIN_LATE, LATE_SHARE * self.starts)


def counted(report: Report, late_seconds: float) -> Counts:
    """Return the counts of a batch. A run is late if it starts more than `late_seconds` after it was due."""
    lateness = report.seconds.get("Lateness", ())
    return Counts(
        attempts=report.counts["AttemptsStarted"],
        failed=report.counts["AttemptsFailed"],
        called=frozenset(report.called),
        failing=frozenset(report.failing),
        starts=len(lateness),
        late=sum(seconds > late_seconds for seconds in lateness),
    )


@dataclass(slots=True)
class Trends:
    """The counts of the last minutes in this process, by epoch minute."""

    minutes: dict[int, Counts] = field(default_factory=dict)

    def add(self, batch: Counts, now: float, report: Report) -> None:
        """Add a batch. If the trend is bad, add the failures or late starts of the batch to its report."""
        minute = int(now) // 60
        kept = {at: counts for at, counts in self.minutes.items() if minute - WINDOW_MINUTES < at <= minute}
        self.minutes = kept | {minute: kept.get(minute, Counts()) + batch}
        whole = sum(self.minutes.values(), Counts())
        if batch.failed and whole.targets_fail:
            report.counts["TargetsFailing"] += len(batch.failing)
            report.add("targets_fail", alarming=True, targets=sorted(whole.failing)[:SHOWN], failed=whole.failed)
        if batch.late and whole.starts_late:
            report.counts["StartsLate"] += batch.late
            report.add("starts_late", alarming=True, late=whole.late, starts=whole.starts)


SHOWN = 20
