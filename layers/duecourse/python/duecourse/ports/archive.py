"""The archive of expired runs, and the stream that they come from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from duecourse.domain.maintenance.archive import RunChange, Sheet


@dataclass(frozen=True, slots=True)
class Stretch:
    """Changes that were read again; `whole` is False if some of them are no longer in the stream."""

    changes: tuple[RunChange, ...]
    whole: bool


class RunChanges(Protocol):
    """The runs table's stream."""

    def handed(self, records: Sequence[Mapping[str, Any]]) -> tuple[RunChange, ...]:
        """The changes in records from the stream's event source. A run that cannot be read is an Unreadable."""

    def again(self, failed: Mapping[str, Any]) -> Stretch:
        """The changes of a failed batch, by the event source's failure record (`DDBStreamBatchInfo`): shard, first and
        last sequence number. The stream keeps them for 24 hours. Raises KeyError for another document.
        """


class Archive(Protocol):
    """The store of runs after their time in the table."""

    def put(self, sheet: Sheet) -> None:
        """Write an object, over one of the same key. Raises the store's error if it was not accepted."""
