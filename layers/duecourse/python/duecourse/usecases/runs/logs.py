"""Stores and reads the logs of runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from duecourse.domain.runs.logs import (
    MAX_PORTIONS,
    PortionName,
    Position,
    attempt_folder,
    folder_of,
    may_grow,
    moved,
    portion_of,
    read_of,
    stored_as,
)
from duecourse.domain.runs.states import Final, Run, Running, Waiting
from duecourse.ports import Clock
from duecourse.ports.logs import LogStore
from duecourse.usecases.runs.commands import AttemptOverError, RunEndedError

PORTIONS_OF_A_PAGE = 4
"""The maximum number of portions of a page: 256 KB of text, which JSON can make six times as long."""

LISTED = 1000
"""The number of portions of one listing (Amazon S3 API Reference, "ListObjectsV2"). An attempt has about as many at
most, so a page needs few listings.
"""


@dataclass(frozen=True, slots=True)
class LogText:
    """The text of a portion from a position on, and when the portion was last written (UTC seconds)."""

    portion: PortionName
    written_at: float
    text: str


@dataclass(frozen=True, slots=True)
class LogPage:
    """A page of a log. `after` is the position at its end (None: nothing was read yet). `more`: further portions are
    stored. `open`: further lines may be added.
    """

    texts: Sequence[LogText]
    after: Position | None
    more: bool
    open: bool


@dataclass(frozen=True, slots=True)
class LogWriter:
    """Stores what programs report. Nothing is written to the tables."""

    store: LogStore

    def append(self, run: Run, delivery: int, number: int, text: str) -> bool:
        """Store a portion that the program of a run's current attempt sends. Return whether it was accepted: a full log
        ends with a line that says so instead. Idempotent.

        Raises RunEndedError or AttemptOverError if the attempt has ended, and AwsError.
        """
        match run:
            case Running() | Waiting():
                portion = portion_of(run.attempt, delivery, number, text)
                if number <= MAX_PORTIONS + 1:  # the last one is the line that ends a full log
                    self.store.write_portion(*stored_as(run, portion))
                return portion.accepted
            case Final():
                raise RunEndedError(run)
            case _:
                raise AttemptOverError(run)


@dataclass(frozen=True, slots=True)
class LogReader:
    """Reads the logs of runs."""

    store: LogStore
    clock: Clock

    def page(self, run: Run, attempt: int | None = None, after: Position | None = None) -> LogPage:
        """Return a page of the log of a run, or of one attempt, after a position. Raises AwsError."""
        grows = may_grow(run, attempt, self.clock.now())  # first: what is stored later is on the next page
        folder, texts = folder_of(run), list[LogText]()
        start = "" if after is None else folder + attempt_folder(after.attempt)
        while True:
            found = self.store.portions(folder_of(run, attempt), start, LISTED)
            for stored in found:
                name = PortionName.parse(stored.key.removeprefix(folder))
                read = read_of(after, name)
                if read is None or stored.size <= read:
                    continue
                if len(texts) == PORTIONS_OF_A_PAGE:
                    return LogPage(texts, after, more=True, open=grows)
                data = self.store.read_portion(stored.key)
                texts.append(LogText(name, stored.written_at, data[read:].decode("utf-8", "replace")))
                after = moved(after, name, max(stored.size, len(data)))
            if len(found) < LISTED:
                return LogPage(texts, after, more=False, open=grows)
            start = found[-1].key
