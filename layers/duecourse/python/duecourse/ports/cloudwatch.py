"""The state of the stage according to CloudWatch."""

from __future__ import annotations

from typing import Protocol

from duecourse.checks.facts import Alarms, StageFigures


class CloudWatchUnavailableError(RuntimeError):
    """CloudWatch cannot be read. The message has the reason."""


class StageAlarms(Protocol):
    """The alarms of the stage."""

    def alarms(self) -> Alarms:
        """Return the active alarms, at most a few seconds old. Raises CloudWatchUnavailableError."""


class StageMetrics(Protocol):
    """The stage's metrics in CloudWatch."""

    def figures(self) -> StageFigures:
        """Return the figures of the last 24 hours, at most a minute old. Raises CloudWatchUnavailableError."""
