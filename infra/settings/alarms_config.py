"""The thresholds of a stage's alarms, and which kinds of alarms it can have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from duecourse.limits import FAILED_SHARE, LANES


def _lateness() -> dict[str, int]:
    return {"high": 5, "normal": 5, "low": 60, "long": 60}


@dataclass(frozen=True, slots=True, kw_only=True)
class AlarmsConfig:
    """The thresholds of a stage's alarms."""

    lateness_seconds: Mapping[str, int] = field(default_factory=_lateness)
    """The lateness by lane, in seconds, above which a start counts as late."""
    failed_attempts: int = 20
    failed_share: float = FAILED_SHARE
    """The minimum number of failed attempts in five minutes in a lane for a page, and the minimum share of failed
    attempts if they are many. Between these, more than the share is needed: failed - failed_share * started must reach
    failed_attempts * (1 - failed_share).
    """
    metric_math: bool = True
    """Whether alarms can combine several metrics. If not, as on the emulator, each metric has a separate alarm."""
    dashboards: bool = True

    def problems(self, *, on_this_machine: bool) -> Iterator[tuple[str, str]]:
        """Yield each invalid field with its requirement."""
        if tuple(self.lateness_seconds) != LANES:
            yield "lateness_seconds", f"must name the lanes {', '.join(LANES)}"
        for lane, seconds in self.lateness_seconds.items():
            if seconds < 1:
                yield f"lateness_seconds.{lane}", "must be at least 1"
        if self.failed_attempts < 1:
            yield "failed_attempts", "must be at least 1"
        if not 0 < self.failed_share < 1:
            yield "failed_share", "must be a number between 0 and 1, such as 0.4"
        if self.metric_math and on_this_machine:
            yield "metric_math", "must be false on the local stage, because the emulator does not support it"
