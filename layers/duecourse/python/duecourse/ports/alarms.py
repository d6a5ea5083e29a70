"""What CloudWatch says of the stage by itself."""

from __future__ import annotations

from typing import Protocol

from duecourse.checks.facts import Alarms


class AlarmsUnavailableError(RuntimeError):
    """They cannot be read; the message says why."""


class StageAlarms(Protocol):
    """The alarms of the stage."""

    def alarms(self) -> Alarms:
        """Those that ring, at most some seconds old. Raises AlarmsUnavailableError."""
