"""The archive of runs that have expired, and the stream that they come from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from duecourse.domain.maintenance.archive import RunChange, Sheet


@dataclass(frozen=True, slots=True)
class Stretch:
    """Changes that were read again; `whole` is False where some of those asked for are not in the stream any more."""

    changes: tuple[RunChange, ...]
    whole: bool


class RunChanges(Protocol):
    """The runs table's stream."""

    def handed(self, records: Sequence[Mapping[str, Any]]) -> tuple[RunChange, ...]:
        """The changes in records that the stream's event source handed over. Raises nothing for a run that cannot be
        read: that is an Unreadable.
        """

    def again(self, failed: Mapping[str, Any]) -> Stretch:
        """The changes of a failed batch, by what the event source left of it (`DDBStreamBatchInfo`): shard, first and
        last sequence number. The stream keeps them for 24 hours. Raises KeyError for another document.
        """


class Archive(Protocol):
    """Where history lies after its time in the table."""

    def put(self, sheet: Sheet) -> None:
        """Write an object, over one of the same key. Raises the store's error when it was not accepted."""
