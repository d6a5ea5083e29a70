"""Decides from the observations whether the demo has passed, with figures of lateness. Pure functions: no clock, no
calls.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from duecourse.cli.local.demo.receiver import ReceivedCall
from duecourse.client.models import Run

WANTED_SHARE = 0.9

BUSY = 1.0
"""The load of each core above which lateness is not evaluated, because workers then wait for a core."""


@dataclass(frozen=True, slots=True)
class LatenessFigures:
    """The lateness of a number of starts, in seconds."""

    count: int
    early: int
    within_a_second: int
    median: float
    p90: float
    p99: float
    worst: float

    @property
    def share_within_a_second(self) -> float:
        """The share of starts that were not early and at most one second late."""
        return self.within_a_second / self.count

    def __str__(self) -> str:
        return (
            f"{self.count} starts, {self.early} early, "
            f"{self.within_a_second} within one second ({100 * self.share_within_a_second:.0f}%), "
            f"median {self.median:.3f} s, p90 {self.p90:.3f} s, p99 {self.p99:.3f} s, worst {self.worst:.3f} s"
        )


def rank(ordered: Sequence[float], share: float) -> float:
    """Return the nearest-rank percentile: the smallest value that is at least as large as this share of the values."""
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def figures(latenesses: Iterable[float]) -> LatenessFigures | None:
    """Return the figures of these values, or None if there are none."""
    ordered = sorted(latenesses)
    if not ordered:
        return None
    return LatenessFigures(
        count=len(ordered),
        early=sum(value < 0 for value in ordered),
        within_a_second=sum(0 <= value <= 1 for value in ordered),
        median=rank(ordered, 0.5),
        p90=rank(ordered, 0.9),
        p99=rank(ordered, 0.99),
        worst=ordered[-1],
    )


@dataclass(frozen=True, slots=True)
class ExpectedRun:
    """The expected runs of a job: its occurrences, and the state in which each must end."""

    job_id: str
    occurrences: tuple[datetime, ...]
    state: str = "SUCCEEDED"
    attempts: int = 1


@dataclass(frozen=True, slots=True)
class ObservedRun:
    """The observations until a moment; runs that were due later are ignored. `load` is the machine's load in the last
    minute, divided by its cores.
    """

    until: datetime
    runs: Sequence[Run]
    calls: Sequence[ReceivedCall]
    dead_letter_jobs: frozenset[str]
    noticed_runs: frozenset[str]
    load: float = 0.0

    def runs_of(self, job_id: str) -> Mapping[datetime, Run]:
        """Return the runs of one job by their occurrence."""
        return {run.occurrence: run for run in self.runs if run.job_id == job_id}

    @property
    def started(self) -> tuple[Run, ...]:
        """The started runs that were due before the end."""
        return tuple(run for run in self.runs if run.due <= self.until and run.lateness_seconds is not None)

    @property
    def first_calls(self) -> tuple[ReceivedCall, ...]:
        """The calls of first attempts that were due before the end."""
        return tuple(
            call
            for call in self.calls
            if call.attempt == 1 and call.scheduled_at is not None and call.scheduled_at <= self.until
        )


@dataclass(frozen=True, slots=True)
class DemoCheck:
    """One check of the demo."""

    name: str
    passed: bool
    detail: str


@dataclass(frozen=True, slots=True)
class DemoResult:
    """All checks, and the figures from the run records and from the receiver's clock."""

    checks: tuple[DemoCheck, ...]
    recorded: LatenessFigures | None
    arrived: LatenessFigures | None

    @property
    def passed(self) -> bool:
        """Whether all checks have passed."""
        return all(check.passed for check in self.checks)


def occurrences(first: datetime, every: timedelta | None, until: datetime) -> tuple[datetime, ...]:
    """Return the occurrences from the first one until a moment. A one-off has only the first."""
    if every is None:
        return (first,)
    return tuple(first + step * every for step in range(max(0, (until - first) // every + 1)))


def is_complete(expected: Sequence[ExpectedRun], seen: ObservedRun) -> bool:
    """Return whether the demo is complete: every expected run is final, and every notice of a dead run has arrived."""
    return all(check.passed for one in expected for check in _happened(one, seen))


def judge(expected: Sequence[ExpectedRun], seen: ObservedRun) -> DemoResult:
    """Return the verdict on all checks."""
    recorded = figures(run.lateness_seconds for run in seen.started if run.lateness_seconds is not None)
    arrived = figures(call.lateness_seconds for call in seen.first_calls if call.lateness_seconds is not None)
    return DemoResult(
        checks=(
            *(check for one in expected for check in _happened(one, seen)),
            _once(seen),
            *_in_time("run records", recorded, seen.load),
            *_in_time("receiver's clock", arrived, seen.load),
        ),
        recorded=recorded,
        arrived=arrived,
    )


def _happened(expected: ExpectedRun, seen: ObservedRun) -> tuple[DemoCheck, ...]:
    runs = seen.runs_of(expected.job_id)
    missing = [
        f"{occurrence:%H:%M:%S} {runs[occurrence].state if occurrence in runs else 'not seen'}"
        for occurrence in expected.occurrences
        if not _ended_as(expected, runs.get(occurrence))
    ]
    unexpected = [
        f"{run.occurrence:%H:%M:%S} was not expected"
        for run in runs.values()
        if run.due <= seen.until and run.occurrence not in expected.occurrences
    ]
    total = len(expected.occurrences)
    wrong = missing + unexpected
    detail = f"{total - len(missing)} of {total} {expected.state}" + (f" ({', '.join(wrong)})" if wrong else "")
    fired = DemoCheck(expected.job_id, bool(total) and not wrong, detail)
    return (fired, *_died(expected, runs, seen)) if expected.state == "DEAD" else (fired,)


def _ended_as(expected: ExpectedRun, run: Run | None) -> bool:
    if run is None or run.state != expected.state:
        return False
    return expected.state != "DEAD" or run.attempts == expected.attempts


def _died(expected: ExpectedRun, runs: Mapping[datetime, Run], seen: ObservedRun) -> tuple[DemoCheck, ...]:
    dead = {runs[occurrence].id for occurrence in expected.occurrences if occurrence in runs}
    failed = [call for call in seen.calls if call.job_id == expected.job_id and not call.succeeded]
    wanted = expected.attempts * len(expected.occurrences)
    waits = expected.job_id in seen.dead_letter_jobs
    told = bool(dead) and dead <= seen.noticed_runs
    return (
        DemoCheck("attempts of the dead run", len(failed) == wanted, f"{len(failed)} failed calls of {wanted}"),
        DemoCheck("dead-letter queue", waits, "its message waits there" if waits else "its message has not arrived"),
        DemoCheck("notice of the death (SNS)", told, "delivered" if told else "not delivered"),
    )


def _once(seen: ObservedRun) -> DemoCheck:
    successes = Counter(call.run_id for call in seen.calls if call.succeeded and _in_window(call, seen))
    succeeded = {run.id for run in seen.runs if run.state == "SUCCEEDED" and run.due <= seen.until}
    wrong = [f"{run_id} {successes[run_id]} times" for run_id in sorted(succeeded) if successes[run_id] != 1]
    wrong += [f"{run_id} called, not SUCCEEDED" for run_id in sorted(successes.keys() - succeeded)]
    return DemoCheck("one successful call per run", not wrong, ", ".join(wrong) or f"{len(succeeded)} runs")


def _in_window(call: ReceivedCall, seen: ObservedRun) -> bool:
    return call.scheduled_at is None or call.scheduled_at <= seen.until


def _in_time(source: str, found: LatenessFigures | None, load: float) -> tuple[DemoCheck, DemoCheck]:
    if found is None:
        return DemoCheck(f"never early ({source})", False, "no starts"), DemoCheck(
            f"in time ({source})", False, "no starts"
        )
    in_time, detail = found.share_within_a_second >= WANTED_SHARE, f"{100 * found.share_within_a_second:.0f}%"
    detail += " within one second"
    if not in_time and load > BUSY:
        in_time, detail = True, f"{detail}; not judged: this machine is busy (load of {load:.1f} for each core)"
    return (
        DemoCheck(f"never early ({source})", found.early == 0, f"{found.early} of {found.count} early"),
        DemoCheck(f"in time ({source})", in_time, detail),
    )
