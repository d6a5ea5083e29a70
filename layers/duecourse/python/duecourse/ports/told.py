"""Where people and programs are told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from duecourse.domain.run import Run


@dataclass(frozen=True, slots=True)
class Death:
    """The notice of a dead run."""

    run: Run
    died_at: float


class Notices(Protocol):
    """Where people are told."""

    def death(self, death: Death) -> None:
        """Publish; raises when it was not accepted."""


@dataclass(frozen=True, slots=True)
class Occasion:
    """An outcome for the event bus. `detail_type` is one of domain.announce's; `detail` is JSON-able and small."""

    detail_type: str
    detail: dict[str, Any]
    at: float


class Bus(Protocol):
    """Where programs are told."""

    def publish(self, occasions: Sequence[Occasion]) -> int:
        """Publish; how many were not accepted. Never raises for what the bus does."""
