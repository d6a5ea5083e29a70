"""Cursors, timers and watermarks of the due index."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from duecourse.domain.jobs.cursor import Cursor
from duecourse.domain.runs.states import Run
from duecourse.messages import MessageKind, RunMessage


@dataclass(frozen=True, slots=True)
class BrokenCursor:
    """An index entry that cannot be read. `key` is the adapter's own, `due` its due time in the index (UTC seconds)."""

    key: tuple[str, str]
    due: int
    error: str


@dataclass(frozen=True, slots=True)
class Claim:
    """Write `moved` over exactly `cursor` as it was read; one without an occurrence leaves the index, unless it is
    `ending`. The `records` of skipped occurrences are written in the same transaction; each must be new.
    """

    cursor: Cursor
    moved: Cursor
    records: tuple[Run, ...] = ()


class ClaimResult(StrEnum):
    """WON; LOST: its condition failed, since another writer changed the cursor or one of the records exists already;
    BUSY: to be retried (throttled, or in conflict with a transaction); REFUSED: this write can never succeed; FAILED:
    anything else (no response, no permission).
    """

    WON = "won"
    LOST = "lost"
    BUSY = "busy"
    REFUSED = "refused"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Claimed:
    """The result of a claim, or of the delete of a timer. `error` says why it was BUSY, REFUSED or FAILED; `throttled`
    is how often it was throttled.
    """

    result: ClaimResult
    error: str | None = None
    throttled: int = 0


@dataclass(frozen=True, slots=True)
class Timer:
    """A message that waits in the due index until `due` (UTC seconds), since SQS cannot delay it for that long.

    There is one per purpose: `key` is the sort key, made of the run, the message's kind and its attempt.
    """

    message: RunMessage
    due: int

    @property
    def key(self) -> str:
        """`WAKE#20261121T064700Z.start2`."""
        return f"WAKE#{self.message.name.local}.{self.message.kind}{self.message.attempt}"

    @property
    def requested(self) -> bool:
        """Whether it starts a run on request. Such a timer is kept for some days after its message was sent: lists show
        its run until that has a record, and index repair notices if it never has one.
        """
        message = self.message
        return message.kind is MessageKind.START and message.attempt == 1 and bool(message.suffix)


class Timers(Protocol):
    """Timers, for messages that wait longer than SQS can delay them."""

    def put(self, timer: Timer) -> None:
        """Write it, replacing an earlier one of the same purpose."""

    def put_all(self, timers: Sequence[Timer]) -> None:
        """The same for many, of different purposes, in few requests. Raises if one could not be written."""

    def get(self, tenant: str, job_id: str, key: str) -> Timer | None:
        """By its key, also if its message was sent. Strongly consistent."""

    def requested_runs(self, tenant: str, job_id: str, *, limit: int, before: str | None) -> list[Timer]:
        """The timers of a job's runs on request (also those whose message was sent) whose local names sort before
        `before`, newest first. Strongly consistent.
        """


class CursorStore(Protocol):
    """Cursors and timers by due time, and the watermarks of the shards."""

    def due(self, slot: str, until: float) -> Iterable[Sequence[Cursor | BrokenCursor | Timer]]:
        """Pages of entries due in a slot at or before `until`, oldest first. May be stale. Raises StoreBusyError if the
        store throttles.
        """

    def clear(self, timers: Sequence[Timer]) -> list[Claimed]:
        """Delete each timer separately if its `due` is unchanged, after its message was sent. One of a run on request
        only leaves the index.
        """

    def claim(self, claims: Sequence[Claim], shards: int) -> list[Claimed]:
        """Make each claim separately, conditional on the cursor being unchanged; the results in their order."""

    def quarantine(self, cursor: Cursor | BrokenCursor, error: str) -> bool:
        """Take a cursor that cannot be planned or claimed out of the index, with its error; False if it moved
        meanwhile, or cannot be written.
        """

    def watermark(self, shard: int) -> str | None:
        """The oldest bucket of a shard not known to be empty; None before the first round."""

    def advance_watermark(self, shard: int, bucket: str) -> bool:
        """Raise a watermark; False if it is already there or later."""

    def highest_shards(self, shards: int) -> int:
        """The largest shard count ever used, `shards` included (which is recorded)."""


class ShardQueue(Protocol):
    """The FIFO queue of dispatch rounds."""

    def send(self, shards: Iterable[int], minute: int) -> list[int]:
        """Send one message per shard, deduplicated by shard and minute (epoch minutes); the shards that were not
        accepted.
        """
