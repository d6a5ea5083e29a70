"""Where notices, events and results go."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from duecourse.ports import FailureNotification, OutboundEvent


@dataclass
class Announced:
    """ports.Notices."""

    deaths: list[FailureNotification] = field(default_factory=list)

    def death(self, death: FailureNotification) -> None:
        """See Notices."""
        self.deaths.append(death)


@dataclass
class RecordedEvents:
    """ports.Bus."""

    events: list[OutboundEvent] = field(default_factory=list)
    refuses: bool = False

    def publish(self, events: Sequence[OutboundEvent]) -> int:
        """See Bus."""
        if self.refuses:
            return len(events)
        self.events += events
        return 0

    @property
    def kinds(self) -> list[tuple[str, str]]:
        """Detail type and run of each, in order."""
        return [(one.detail_type, one.detail["run_id"]) for one in self.events]


@dataclass
class StoredResults:
    """ports.Results."""

    documents: dict[str, bytes] = field(default_factory=dict)
    refuses: bool = False

    def put(self, key: str, document: bytes) -> None:
        """See Results."""
        if self.refuses:
            raise ConnectionError("the store is not available")
        self.documents[key] = document

    def link(self, key: str) -> str:
        """See Results."""
        return f"https://results.example/{key}"
