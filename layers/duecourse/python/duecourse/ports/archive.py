"""The archive of expired runs, and the stream that delivers them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from duecourse.domain.maintenance.archive import RunChange, Sheet


@dataclass(frozen=True, slots=True)
class Stretch:
    """Changes that were read again from the stream. `whole` is False if the stream no longer contains some of them."""

    changes: tuple[RunChange, ...]
    whole: bool


class RunChanges(Protocol):
    """The runs table's stream."""

    def handed(self, records: Sequence[Mapping[str, Any]]) -> tuple[RunChange, ...]:
        """Return the changes in records from the stream's event source. A run that cannot be read becomes an
        Unreadable.
        """

    def again(self, failed: Mapping[str, Any]) -> Stretch:
        """Return the changes of a failed batch. `failed` is the event source's failure record (`DDBStreamBatchInfo`)
        with the shard and the first and last sequence number. The stream keeps the changes for 24 hours. Raises
        KeyError for any other document.
        """


class Archive(Protocol):
    """The store of runs that have expired in the table."""

    def put(self, sheet: Sheet) -> None:
        """Write an object, replacing one with the same key. Raises the store's error if it was not accepted."""
