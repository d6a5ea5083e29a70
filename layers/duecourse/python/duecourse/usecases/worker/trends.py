"""The trend of a worker's attempts over five minutes: whether many targets fail.

Each worker process computes the shares among its own attempts, and reports them only if they are bad. This causes a
ticket. The alarm that pages compares the failed attempts of all processes of a lane with the started ones
(`Counts.beyond`), because in a large stage each process sees few attempts.
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


@dataclass(frozen=True, slots=True)
class Counts:
    """The counts of a batch, or of all batches of a minute. A target is a tenant together with a host or a resource."""

    attempts: int = 0
    failed: int = 0
    called: AbstractSet[str] = frozenset()
    failing: AbstractSet[str] = frozenset()

    def __add__(self, other: Counts) -> Counts:
        """Return the sum."""
        return Counts(
            self.attempts + other.attempts,
            self.failed + other.failed,
            self.called | other.called,
            self.failing | other.failing,
        )

    @property
    def targets_fail(self) -> bool:
        """Whether many targets fail."""
        return self.failed >= max(MIN_FAILED, FAILED_SHARE * self.attempts) and len(self.failing) >= max(
            MIN_TARGETS, TARGETS_SHARE * len(self.called | self.failing)
        )

    def beyond(self, share: float) -> float:
        """Return by how many the failed attempts exceed this share of the started ones; negative if fewer failed.

        These values can be added: the sum over all processes is positive if more than the share failed in all of them
        together. So an alarm needs one metric for each lane, not two.
        """
        return self.failed - share * self.attempts


def counted(report: Report) -> Counts:
    """Return the counts of a batch."""
    return Counts(
        attempts=report.counts["AttemptsStarted"],
        failed=report.counts["AttemptsFailed"],
        called=frozenset(report.called),
        failing=frozenset(report.failing),
    )


@dataclass(slots=True)
class Trends:
    """The counts of the last minutes in this process, by epoch minute."""

    minutes: dict[int, Counts] = field(default_factory=dict)

    def add(self, batch: Counts, now: float, report: Report, failed_share: float) -> None:
        """Add a batch, and to its report what its failures are beyond a share. If the trend is bad, also add its
        failing targets.
        """
        if batch.attempts or batch.failed:
            report.balances["FailuresBeyond"] = batch.beyond(failed_share)
        minute = int(now) // 60
        kept = {at: counts for at, counts in self.minutes.items() if minute - WINDOW_MINUTES < at <= minute}
        self.minutes = kept | {minute: kept.get(minute, Counts()) + batch}
        whole = sum(self.minutes.values(), Counts())
        if batch.failed and whole.targets_fail:
            report.counts["TargetsFailing"] += len(batch.failing)
            report.add("targets_fail", alarming=True, targets=sorted(whole.failing)[:SHOWN], failed=whole.failed)


SHOWN = 20
