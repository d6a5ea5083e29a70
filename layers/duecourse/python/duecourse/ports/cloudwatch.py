"""The state of the stage according to CloudWatch."""

from __future__ import annotations

from typing import Protocol

from duecourse.checks.facts import Alarms, StageFigures


class CloudWatchUnavailableError(RuntimeError):
    """It cannot be read; the message says why."""


class StageAlarms(Protocol):
    """The alarms of the stage."""

    def alarms(self) -> Alarms:
        """The active alarms, at most some seconds old. Raises CloudWatchUnavailableError."""


class StageMetrics(Protocol):
    """What CloudWatch keeps of the stage over time."""

    def figures(self) -> StageFigures:
        """Those of the last 24 hours, at most a minute old. Raises CloudWatchUnavailableError."""
