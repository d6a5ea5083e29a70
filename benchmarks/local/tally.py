"""Counts the arrivals at the receiver: expected, arrived, duplicate, early and lost calls, and their lateness. Pure: no
clock, no calls.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from benchmarks.local.jobs import MINUTE, Job, Kind, Window
from duecourse.cli.local.demo.verdict import LatenessFigures, figures

P50_BUDGET_SECONDS, P99_BUDGET_SECONDS = 0.1, 1.0
"""The budgets for lateness on the local stack under light load."""

BOUNDS = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
"""The upper bounds of the histogram's classes, in seconds. The last class has no upper bound."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """One call at the receiver: its scheduler, its job, its due time and its arrival (seconds since 1970)."""

    side: str
    job: str
    due: int
    at: float


@dataclass(frozen=True, slots=True)
class Tally:
    """The result of one scheduler: the lateness (seconds) of the first call of each occurrence that arrived, and the
    counts.
    """

    expected: int
    doubled: int
    late: Mapping[tuple[str, int], float]
    kinds: Mapping[str, Kind]

    @property
    def lost(self) -> int:
        """The number of occurrences that never arrived."""
        return self.expected - len(self.late)

    @property
    def latenesses(self) -> list[float]:
        """All latenesses in ascending order, in seconds."""
        return sorted(self.late.values())

    @property
    def figures(self) -> LatenessFigures | None:
        """Return the spread of the latenesses; None if nothing arrived."""
        return figures(self.late.values())

    def of_kind(self, kind: Kind) -> LatenessFigures | None:
        """Return the spread for one kind of job."""
        return figures(late for (job, _), late in self.late.items() if self.kinds[job] is kind)

    def minute_medians(self) -> dict[int, float]:
        """Return the median of each minute in which a job was due."""
        found: dict[int, list[float]] = defaultdict(list)
        for (_, due), late in self.late.items():
            found[due // MINUTE].append(late)
        return {minute: median(values) for minute, values in sorted(found.items())}

    def histogram(self) -> list[int]:
        """Return the number of calls in each class of BOUNDS. Early calls count in the first class."""
        counts = [0] * (len(BOUNDS) + 1)
        for late in self.late.values():
            counts[sum(late > bound for bound in BOUNDS)] += 1
        return counts


def tally(jobs: Sequence[Job], arrivals: Iterable[Arrival], window: Window) -> Tally:
    """Count the arrivals of one scheduler. Calls of occurrences outside the window (in the warm-up) are ignored."""
    wanted = {(job.id, due) for job in jobs for due in job.occurrences(window.begin, window.end)}
    calls: dict[tuple[str, int], list[float]] = defaultdict(list)
    for each in arrivals:
        if (each.job, each.due) in wanted:
            calls[each.job, each.due].append(each.at - each.due)
    return Tally(
        expected=len(wanted),
        doubled=sum(len(each) > 1 for each in calls.values()),
        late={occurrence: min(each) for occurrence, each in calls.items()},
        kinds={job.id: job.kind for job in jobs},
    )


def ratio(side: Tally, ours: Tally) -> dict[str, float] | None:
    """Return how many times as late as Duecourse a scheduler was: the median, minimum and maximum of the ratios of the
    medians of each minute.
    """
    mine, theirs = ours.minute_medians(), side.minute_medians()
    ratios = [theirs[minute] / mine[minute] for minute in mine if minute in theirs and mine[minute] > 0]
    if not ratios:
        return None
    return {"median": round(median(ratios), 2), "min": round(min(ratios), 2), "max": round(max(ratios), 2)}


def budgets(ours: Tally) -> dict[str, bool]:
    """Return whether each budget for lateness is met."""
    spread = ours.figures
    return {
        "p50_below_100_ms": spread is not None and spread.median < P50_BUDGET_SECONDS,
        "p99_below_1_s": spread is not None and spread.p99 < P99_BUDGET_SECONDS,
        "none_early": spread is not None and spread.early == 0,
        "none_lost": ours.lost == 0,
        "none_doubled": ours.doubled == 0,
    }


def spread_document(spread: LatenessFigures | None) -> dict[str, float] | None:
    """Return the figures in seconds as JSON data."""
    if spread is None:
        return None
    return {
        "p50": round(spread.median, 4),
        "p90": round(spread.p90, 4),
        "p99": round(spread.p99, 4),
        "max": round(spread.worst, 4),
    }


def document(side: Tally, ours: Tally) -> dict[str, Any]:
    """Return one scheduler as JSON data, with its ratio to Duecourse if it is another one."""
    spread = side.figures
    return {
        "expected": side.expected,
        "arrived": len(side.late),
        "lost": side.lost,
        "doubled": side.doubled,
        "early": spread.early if spread else 0,
        "lateness_seconds": spread_document(spread),
        "by_kind": {kind.value: spread_document(side.of_kind(kind)) for kind in Kind},
        "histogram": {"upper_seconds": [*BOUNDS, None], "count": side.histogram()},
        **({} if side is ours else {"times_as_late_as_duecourse": ratio(side, ours)}),
    }
