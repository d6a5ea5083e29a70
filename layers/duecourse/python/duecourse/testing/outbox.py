"""Destinations in memory for notifications, events and results."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from duecourse.ports import DeadlineNotification, FailureNotification, OutboundEvent, ResultRefusedError


@dataclass
class Announced:
    """Implementation of ports.Notifier. It records the notifications."""

    deaths: list[FailureNotification] = field(default_factory=list)
    deadlines: list[DeadlineNotification] = field(default_factory=list)

    def death(self, death: FailureNotification) -> None:
        """Record the notification."""
        self.deaths.append(death)

    def deadline(self, missed: DeadlineNotification) -> None:
        """Record the notification of a missed deadline."""
        self.deadlines.append(missed)


@dataclass
class RecordedEvents:
    """Implementation of ports.Bus. It records the events."""

    events: list[OutboundEvent] = field(default_factory=list)
    refuses: bool = False

    def publish(self, events: Sequence[OutboundEvent]) -> int:
        """Record the events and return the number of rejected events: 0, or all if `refuses` is set."""
        if self.refuses:
            return len(events)
        self.events += events
        return 0

    @property
    def kinds(self) -> list[tuple[str, str]]:
        """The detail type and run id of each event, in order."""
        return [(one.detail_type, one.detail["run_id"]) for one in self.events]


@dataclass
class RecordedPings:
    """Implementation of ports.Pinger. It records the addresses. `problem` is the result of each ping."""

    urls: list[str] = field(default_factory=list)
    problem: str | None = None

    def ping(self, url: str, timeout: float) -> str | None:
        """Record the address of the ping."""
        del timeout
        self.urls.append(url)
        return self.problem


@dataclass
class StoredResults:
    """Implementation of ports.Results. It keeps the results in memory: those of the stage by their keys, and those in
    other buckets by their locations (s3://BUCKET/KEY). `refuses`: whether writes fail, or the buckets that reject them.
    """

    documents: dict[str, bytes] = field(default_factory=dict)
    refuses: bool | Collection[str] = False

    def put(self, key: str, document: bytes, bucket: str | None = None) -> None:
        """Keep the document. Raises ConnectionError if writes fail, and ResultRefusedError if the bucket rejects it."""
        if self.refuses is True:
            raise ConnectionError("the store is not available")
        if bucket is not None and self.refuses and bucket in self.refuses:
            raise ResultRefusedError("AccessDenied")
        self.documents[key if bucket is None else f"s3://{bucket}/{key}"] = document

    def get(self, key: str) -> bytes | None:
        """Return a document of the stage. Raises ConnectionError if the store is not available."""
        if self.refuses is True:
            raise ConnectionError("the store is not available")
        return self.documents.get(key)

    def link(self, key: str) -> str:
        """Return an address that depends only on the key."""
        return f"https://results.example/{key}"
