"""Destinations in memory for notifications, events, results and logs."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from duecourse.ports import Clock, DeadlineNotification, FailureNotification, OutboundEvent, ResultRefusedError
from duecourse.ports.logs import StoredPortion


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


@dataclass
class StoredLogs:
    """Implementation of ports.logs.LogStore. It keeps the portions in memory, by their keys, with the time at which
    they were written. `refuses`: whether all requests fail.
    """

    clock: Clock
    portions_by_key: dict[str, tuple[bytes, float]] = field(default_factory=dict)
    refuses: bool = False

    def write_portion(self, key: str, text: bytes) -> None:
        """Keep the portion. Raises ConnectionError if requests fail."""
        self._check()
        self.portions_by_key[key] = text, self.clock.now()

    def portions(self, folder: str, after: str, limit: int) -> Sequence[StoredPortion]:
        """Return the first portions of a folder after a key. Raises ConnectionError if requests fail."""
        self._check()
        keys = sorted(key for key in self.portions_by_key if key.startswith(folder) and key > after)[:limit]
        return [StoredPortion(key, len(self.portions_by_key[key][0]), self.portions_by_key[key][1]) for key in keys]

    def read_portion(self, key: str) -> bytes:
        """Return a portion; nothing if there is none. Raises ConnectionError if requests fail."""
        self._check()
        return self.portions_by_key.get(key, (b"", 0.0))[0]

    def _check(self) -> None:
        if self.refuses:
            raise ConnectionError("the store is not available")
