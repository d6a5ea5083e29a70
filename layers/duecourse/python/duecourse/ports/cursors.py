"""Cursors, timers and watermarks: what the due index holds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from duecourse.domain.jobs.cursor import Cursor
from duecourse.domain.runs.run import Run
from duecourse.messages import RunMessage


@dataclass(frozen=True, slots=True)
class BrokenCursor:
    """An index entry that cannot be read. `key` is the adapter's own, `due` where it stood (UTC seconds)."""

    key: tuple[str, str]
    due: int
    error: str


@dataclass(frozen=True, slots=True)
class Claim:
    """Write `moved` where exactly `cursor` stands as it was read; one without an occurrence leaves the index, unless it
    is `ending`. With it, or not at all, `records` of what it skips are written, each of which must be new.
    """

    cursor: Cursor
    moved: Cursor
    records: tuple[Run, ...] = ()


class ClaimResult(StrEnum):
    """WON; LOST: its condition failed, since somebody else moved or changed it or one of its records is there already;
    BUSY: to be made again a little later (throttled, or in conflict with a transaction); REFUSED: this very write can
    never be made, whoever tries and whenever; FAILED: anything else (no answer, no permission).
    """

    WON = "won"
    LOST = "lost"
    BUSY = "busy"
    REFUSED = "refused"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Claimed:
    """What became of a claim, or of a timer that was to be cleared. `error` says why it was BUSY, REFUSED or
    FAILED; `throttled` is how often it was asked to come back later.
    """

    result: ClaimResult
    error: str | None = None
    throttled: int = 0


@dataclass(frozen=True, slots=True)
class Timer:
    """A message that waits in the due index until `due` (UTC seconds), since SQS holds none back for that long.

    One exists per purpose: `key` is the sort key, made of the run, the message's kind and its attempt.
    """

    message: RunMessage
    due: int

    @property
    def key(self) -> str:
        """`WAKE#20261121T064700Z.start2`."""
        return f"WAKE#{self.message.name.local}.{self.message.kind}{self.message.attempt}"


class Timers(Protocol):
    """Timers, written by whoever has to wait long."""

    def put(self, timer: Timer) -> None:
        """Write it over an earlier one of the same purpose."""

    def put_all(self, timers: Sequence[Timer]) -> None:
        """The same for many, of different purposes, in few requests. Raises when one could not be written."""


class CursorStore(Protocol):
    """Cursors and timers by due time, and the watermarks of the shards."""

    def due(self, slot: str, until: float) -> Iterable[Sequence[Cursor | BrokenCursor | Timer]]:
        """Pages of what is due in a slot at or before `until`, oldest first. May be stale. Raises StoreBusyError where
        the store asks to come back later.
        """

    def clear(self, timers: Sequence[Timer]) -> list[Claimed]:
        """Remove each timer by itself where it stands unchanged (its `due`), after its message was sent."""

    def claim(self, claims: Sequence[Claim], shards: int) -> list[Claimed]:
        """Each claim by itself, conditional on the cursor being unchanged; what became of each, in their order."""

    def quarantine(self, cursor: Cursor | BrokenCursor, error: str) -> bool:
        """Take a cursor that cannot be planned or claimed out of the index, with its error; False when it moved
        meanwhile, or cannot be written at all.
        """

    def watermark(self, shard: int) -> str | None:
        """The oldest bucket of a shard not known to be empty; None before the first round."""

    def advance_watermark(self, shard: int, bucket: str) -> bool:
        """Raise a watermark; False when it already stands there or later."""

    def highest_shards(self, shards: int) -> int:
        """The largest shard count ever used, `shards` included (which is recorded)."""


class ShardQueue(Protocol):
    """The FIFO queue of dispatch rounds."""

    def send(self, shards: Iterable[int], minute: int) -> list[int]:
        """One message a shard, deduplicated by shard and minute (epoch minutes); the shards that were not accepted."""
