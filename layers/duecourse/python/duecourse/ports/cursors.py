"""Cursors, timers and watermarks of the due index."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from duecourse.domain.ids import RunName
from duecourse.domain.jobs.cursor import Cursor
from duecourse.domain.jobs.job import Job
from duecourse.domain.runs.states import Queued, Run
from duecourse.messages import MessageKind, RunMessage


@dataclass(frozen=True, slots=True)
class BrokenCursor:
    """An index entry that cannot be read. `key` is the adapter's key; `due` is the due time in the index (UTC
    seconds).
    """

    key: tuple[str, str]
    due: int
    error: str


@dataclass(frozen=True, slots=True)
class Claim:
    """Replace exactly `cursor` by `moved`. A cursor without an occurrence leaves the index, unless it is `ending`. The
    `records` of skipped occurrences are written in the same transaction; each must be new.
    """

    cursor: Cursor
    moved: Cursor
    records: tuple[Run, ...] = ()


class ClaimResult(StrEnum):
    """WON: the claim was written. LOST: its condition failed, because another writer changed the cursor or one of the
    records already exists. BUSY: retry it (it was throttled, or conflicted with a transaction). REFUSED: this write can
    never succeed. FAILED: any other error (no response, no permission).
    """

    WON = "won"
    LOST = "lost"
    BUSY = "busy"
    REFUSED = "refused"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Claimed:
    """The result of a claim, or of deleting a timer. `error` is the reason if it was BUSY, REFUSED or FAILED;
    `throttled` counts how often it was throttled.
    """

    result: ClaimResult
    error: str | None = None
    throttled: int = 0


@dataclass(frozen=True, slots=True)
class Timer:
    """A message that waits in the due index until `due` (UTC seconds), because SQS cannot delay it that long.

    There is one timer per purpose: `key`, the sort key, consists of the run, the message's kind and its attempt.
    """

    message: RunMessage
    due: int

    @property
    def key(self) -> str:
        """The sort key, for example `WAKE#20261121T064700Z.start2`."""
        return timer_key(self.message.name, self.message.kind, self.message.attempt)

    @property
    def requested(self) -> bool:
        """Whether the timer starts a manual run. Such a timer is kept for some days after its message was sent, so that
        lists show its run before the run has a record, and index repair detects a run that never gets one.
        """
        message = self.message
        return message.kind is MessageKind.START and message.attempt == 1 and bool(message.suffix)

    def queued(self, job: Job) -> Queued | None:
        """Return the run that the timer of a manual run starts. None if it was requested for an earlier job with the
        same id.
        """
        message = self.message
        if message.generation < job.created_generation:
            return None
        return Queued(message.identity, lane=message.lane, attempts_allowed=job.attempts_allowed)


def timer_key(name: RunName, kind: MessageKind = MessageKind.START, attempt: int = 1) -> str:
    """Return the key of a run's timer; by default, of the timer that starts the run."""
    return f"WAKE#{name.local}.{kind}{attempt}"


class ShardQueue(Protocol):
    """The FIFO queue of dispatch rounds."""

    def send(self, shards: Iterable[int], minute: int) -> list[int]:
        """Send one message per shard, deduplicated by shard and minute (epoch minutes). Return the shards whose message
        was not accepted.
        """
