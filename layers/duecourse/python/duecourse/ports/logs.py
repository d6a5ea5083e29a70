"""The interface of the store of logs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class StoredPortion:
    """A stored portion of a log: its key, its size in bytes, and when it was last written (UTC seconds)."""

    key: str
    size: int
    written_at: float


class LogStore(Protocol):
    """The store of logs. A portion is kept as long as a result. All methods raise AwsError."""

    def write_portion(self, key: str, text: bytes) -> None:
        """Write a portion (UTF-8). It replaces a portion with the same key."""

    def portions(self, folder: str, after: str, limit: int) -> Sequence[StoredPortion]:
        """Return the first portions whose keys start with `folder` and are greater than `after`, ordered by key."""

    def read_portion(self, key: str) -> bytes:
        """Return a portion; nothing if it does not exist any longer."""
