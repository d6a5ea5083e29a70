"""Notifications for people and programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from duecourse.domain.runs.states import Run


@dataclass(frozen=True, slots=True)
class FailureNotification:
    """The notice of a dead run, with the owner (empty: no owner) and the runbook of its job."""

    run: Run
    died_at: float
    owner: str = ""
    runbook_url: str | None = None


class Notifier(Protocol):
    """Notices for people."""

    def death(self, death: FailureNotification) -> None:
        """Publish the notice. Raises if it was not accepted."""


@dataclass(frozen=True, slots=True)
class OutboundEvent:
    """An outcome of a run. `detail_type` is one of the types in domain.runs.document. `detail` is small and can be
    encoded as JSON.
    """

    detail_type: str
    detail: dict[str, Any]
    at: float


class Bus(Protocol):
    """Events for programs."""

    def publish(self, events: Sequence[OutboundEvent]) -> int:
        """Publish the events. Return how many were not accepted. Never raises for an error of the bus."""
