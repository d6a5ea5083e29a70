"""The report of the benchmark of lanes, and its checks. Pure: no clock, no calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from duecourse.cli.local.demo.verdict import LatenessFigures, figures
from duecourse.client.models import Run
from duecourse.client.reading import instant

PROMISE_SECONDS = 2.0
"""The maximum delay of high and normal runs, independent of the number of waiting low runs."""

PRESSED = 10
"""The minimum number of high runs, and of normal runs, that must be due while low runs wait. With fewer runs the result
proves nothing.
"""

PROMISED = ("high", "normal")
LANES = ("high", "normal", "low", "long")


@dataclass(frozen=True, slots=True)
class Start:
    """A run according to its record: its lane, and when it was due, started and ended (None: not yet)."""

    lane: str
    run_id: str
    state: str
    due: datetime
    started_at: datetime | None
    finished_at: datetime | None
    lateness: float | None

    @classmethod
    def of(cls, lane: str, run: Run) -> Start:
        """Return the start of a run from its record."""
        return cls(
            lane=lane,
            run_id=run.id,
            state=run.state,
            due=run.due,
            started_at=instant(run.document.get("started_at")),
            finished_at=instant(run.document.get("finished_at")),
            lateness=run.lateness_seconds,
        )

    def waits_at(self, moment: datetime) -> bool:
        """Return whether the run was due at this moment and had not started."""
        return self.due <= moment and (self.started_at is None or self.started_at > moment)


@dataclass(frozen=True, slots=True)
class Backlog:
    """The number of low runs that waited when runs of another lane came due: the maximum and the minimum. `pressed` is
    the number of those runs that came due while any low run waited.
    """

    most: int
    fewest: int
    pressed: int


@dataclass(frozen=True, slots=True)
class LaneReport:
    """The figures of a lane: the runs, the successful runs, their lateness, and the low runs that waited."""

    lane: str
    runs: int
    succeeded: int
    lateness: LatenessFigures | None
    backlog: Backlog | None


@dataclass(frozen=True, slots=True)
class Check:
    """A check of the benchmark and its result."""

    name: str
    kept: bool
    detail: str


@dataclass(frozen=True, slots=True)
class Report:
    """The figures of all lanes, and the checks."""

    lanes: tuple[LaneReport, ...]
    checks: tuple[Check, ...]
    facts: Mapping[str, Any]

    @property
    def kept(self) -> bool:
        """Whether all checks passed."""
        return all(check.kept for check in self.checks)

    def document(self) -> dict[str, Any]:
        """Return the report as JSON data."""
        return {
            "facts": dict(self.facts),
            "lanes": [_lane_document(lane) for lane in self.lanes],
            "checks": {check.name: {"kept": check.kept, "detail": check.detail} for check in self.checks},
        }

    def __str__(self) -> str:
        head = f"{'lane':8}{'runs':>6}{'done':>6}{'p50':>10}{'p99':>10}{'max':>10}   low runs waiting in the meantime"
        facts = [f"{name.replace('_', ' '):30}{value}" for name, value in self.facts.items()]
        checks = [f"{'kept' if check.kept else 'BROKEN':8}{check.name}: {check.detail}" for check in self.checks]
        return "\n".join([*facts, "", head, *map(_lane_line, self.lanes), "", *checks])


def report(starts: Sequence[Start], expected: Mapping[str, int], slow: timedelta, facts: Mapping[str, Any]) -> Report:
    """Return the report of the runs. `expected` has the number of posted runs by lane. A run of `long` takes `slow`."""
    low = [start for start in starts if start.lane == "low"]
    by_lane = {lane: [start for start in starts if start.lane == lane] for lane in LANES}
    lanes = tuple(_lane(lane, by_lane[lane], [] if lane == "low" else low) for lane in LANES if by_lane[lane])
    found = {lane.lane: lane for lane in lanes}
    checks = [_in_time(found.get(lane), lane, expected[lane]) for lane in PROMISED]
    checks += [_under_pressure(found.get(lane), lane) for lane in PROMISED]
    checks += [_all_done(found.get(lane), lane, expected[lane]) for lane in ("low", "long") if expected.get(lane)]
    if expected.get("long"):
        checks.append(_beside_long(starts, slow))
    return Report(lanes, tuple(checks), facts)


def backlog(starts: Sequence[Start], low: Sequence[Start]) -> Backlog | None:
    """Return how many low runs waited at the moments at which the runs in `starts` came due."""
    waiting = [sum(one.waits_at(start.due) for one in low) for start in starts]
    return Backlog(max(waiting), min(waiting), sum(count > 0 for count in waiting)) if waiting and low else None


def started_per_second(starts: Sequence[Start]) -> float:
    """Return the rate at which runs with the same due time were started."""
    waits = [(start.started_at - start.due).total_seconds() for start in starts if start.started_at]
    return len(waits) / max(*waits, 1.0) if waits else 0.0


def _lane(lane: str, starts: Sequence[Start], low: Sequence[Start]) -> LaneReport:
    return LaneReport(
        lane=lane,
        runs=len(starts),
        succeeded=sum(start.state == "SUCCEEDED" for start in starts),
        lateness=figures(start.lateness for start in starts if start.lateness is not None),
        backlog=backlog(starts, low),
    )


def _in_time(found: LaneReport | None, lane: str, expected: int) -> Check:
    name = f"{lane} runs start within {PROMISE_SECONDS:g} s"
    if found is None or found.lateness is None:
        return Check(name, kept=False, detail="none has started")
    late = found.lateness
    kept = late.count == expected and found.succeeded == expected and late.early == 0 and late.worst <= PROMISE_SECONDS
    return Check(name, kept, f"{late.count} of {expected} started, the worst after {late.worst:.3f} s")


def _under_pressure(found: LaneReport | None, lane: str) -> Check:
    met = found.backlog.pressed if found and found.backlog else 0
    return Check(f"{lane} runs came due while low ones waited", met >= PRESSED, f"{met}, wanted {PRESSED} or more")


def _all_done(found: LaneReport | None, lane: str, expected: int) -> Check:
    done = found.succeeded if found else 0
    return Check(f"no {lane} run is lost", done == expected, f"{done} of {expected} succeeded")


def _beside_long(starts: Sequence[Start], slow: timedelta) -> Check:
    """Return the check that no high or normal run was late that came due while all `long` runs were active."""
    spans = [
        (start.started_at, start.finished_at)
        for start in starts
        if start.lane == "long" and start.started_at and start.finished_at
    ]
    name = f"runs of {slow.total_seconds():g} s in long delay nobody"
    if not spans or min(end - begin for begin, end in spans) < slow:
        return Check(name, kept=False, detail="the long runs were not as long as that")
    begin, end = max(begin for begin, _ in spans), min(end for _, end in spans)
    beside = [start for start in starts if start.lane in PROMISED and begin <= start.due <= end]
    late = [start for start in beside if start.lateness is None or start.lateness > PROMISE_SECONDS]
    detail = f"{len(beside)} high and normal runs came due while all {len(spans)} were at work, {len(late)} late"
    return Check(name, bool(beside) and not late, detail)


def _lane_line(lane: LaneReport) -> str:
    late, waiting = lane.lateness, lane.backlog
    spread = "".join(f"{value:>8.3f} s" for value in (late.median, late.p99, late.worst)) if late else f"{'-':>10}" * 3
    beside = f"   {waiting.most} to {waiting.fewest}" if waiting else ""
    return f"{lane.lane:8}{lane.runs:>6}{lane.succeeded:>6}{spread}{beside}"


def _lane_document(lane: LaneReport) -> dict[str, Any]:
    late, waiting = lane.lateness, lane.backlog
    return {
        "lane": lane.lane,
        "runs": lane.runs,
        "succeeded": lane.succeeded,
        "lateness_seconds": late and {"p50": late.median, "p99": late.p99, "max": late.worst, "early": late.early},
        "low_waiting": waiting and {"most": waiting.most, "fewest": waiting.fewest, "met_by": waiting.pressed},
    }
