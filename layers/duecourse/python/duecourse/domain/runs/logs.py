"""The log of a run: the portions in which it is stored, their names, and the limits. Pure.

A portion is a text. Its sender numbers its portions, so a portion that is sent again replaces itself, and a growing
portion can be sent several times. The number of portions of an attempt is limited by their names.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from duecourse.domain.instants import CLOCKS_DIFFER_SECONDS
from duecourse.domain.runs.callbacks import TOKEN, TOKEN_CHARACTERS
from duecourse.domain.runs.states import Retrying, Run

MAX_PORTION_BYTES = 64 * 1024
"""The maximum size of a portion in UTF-8."""
MAX_PORTIONS = 100
"""The maximum number of portions of one delivery."""
MAX_DELIVERIES = 10
"""The maximum number of deliveries of an attempt's message whose portions are kept apart."""

KEEP_SECONDS = 15
"""The time (seconds) that a worker must have left to store a log: the store can need 12 s to reject it."""
LATE_SECONDS = KEEP_SECONDS + CLOCKS_DIFFER_SECONDS + 5
"""How long after the end of an attempt its log may still change: the log of a function is stored after the end is
recorded and its effects are written (usually within 5 s), requests may be in progress, and clocks differ.
"""

CLOSING_LINE = (
    f"[The log of this delivery has reached its limit of {MAX_PORTIONS} portions of 64 KB. The rest was not kept.]\n"
)


class LogSource(StrEnum):
    """Where a portion comes from. CALL: the call of the target, such as the end of a function's log. WORK: the program
    that works on the run, with the run's token.
    """

    CALL = "call"
    WORK = "work"


@dataclass(frozen=True, slots=True)
class PortionName:
    """The name of a portion. The portions of a log are ordered by the text of their names."""

    attempt: int
    source: LogSource
    delivery: int
    number: int

    def __str__(self) -> str:
        return f"{self.attempt:09}/{self.source}-{self.delivery:02}-{self.number:03}.txt"

    @classmethod
    def parse(cls, text: str) -> PortionName:
        """Return the name of a text of `str`. Raises ValueError."""
        if (match := _NAME.fullmatch(text)) is None:
            raise ValueError(f"{text!r} is not the name of a portion")
        return cls(int(match["attempt"]), LogSource(match["source"]), int(match["delivery"]), int(match["number"]))


_SOURCE = "|".join(LogSource)
_NAME = re.compile(
    rf"(?P<attempt>[0-9]{{9}})/(?P<source>{_SOURCE})-(?P<delivery>[0-9]{{2}})-(?P<number>[0-9]{{3}})\.txt"
)
_END = rf"(?:{_SOURCE})\.[0-9]{{1,2}}\.[0-9]{{1,3}}\.[0-9]{{1,5}}"
POSITION_PATTERN = rf"[0-9]{{1,9}}:{_END}(?:,{_END}){{0,{MAX_DELIVERIES}}}"
_POSITION = re.compile(POSITION_PATTERN)


@dataclass(frozen=True, slots=True)
class Position:
    """What was read of a run's log: earlier attempts completely, and of this `attempt` what `ends` says. For each
    source and delivery, `ends` has the number of the last portion that was read, and the number of its bytes: the
    portions of two deliveries can grow at the same time.
    """

    attempt: int
    ends: Mapping[tuple[LogSource, int], tuple[int, int]]

    def __str__(self) -> str:
        ends = sorted(self.ends.items())
        return f"{self.attempt}:" + ",".join(f"{of}.{delivery}.{last}.{read}" for (of, delivery), (last, read) in ends)

    @classmethod
    def parse(cls, text: str) -> Position:
        """Return the position of a text of `str`. Raises ValueError."""
        if _POSITION.fullmatch(text) is None:
            raise ValueError(f"{text!r} is not a position in a log")
        attempt, _, ends = text.partition(":")
        parts = [end.split(".") for end in ends.split(",")]
        return cls(int(attempt), {(LogSource(of), int(d)): (int(last), int(read)) for of, d, last, read in parts})


def read_of(position: Position | None, name: PortionName) -> int | None:
    """Return the number of bytes of a portion that were read; None if the whole portion was read, because a later one
    was.
    """
    if position is None or name.attempt > position.attempt:
        return 0
    last, read = position.ends.get((name.source, name.delivery), (0, 0))
    if name.attempt < position.attempt or name.number < last:
        return None
    return read if name.number == last else 0


def moved(position: Position | None, name: PortionName, size: int) -> Position:
    """Return the position after the first `size` bytes of a portion, which follows what was read."""
    before = {} if position is None or position.attempt != name.attempt else position.ends
    return Position(name.attempt, {**before, (name.source, name.delivery): (name.number, size)})


@dataclass(frozen=True, slots=True)
class Portion:
    """A portion to store, and whether its text was accepted; otherwise the text is the line that ends a full log."""

    name: PortionName
    text: str
    accepted: bool


def portion_of(attempt: int, delivery: int, number: int, text: str) -> Portion:
    """Return what is stored of a portion that a program sends: the text without callback tokens, or the line that ends
    the log if the program has already sent MAX_PORTIONS.
    """
    if number > MAX_PORTIONS:
        return Portion(PortionName(attempt, LogSource.WORK, delivery, MAX_PORTIONS + 1), CLOSING_LINE, accepted=False)
    return Portion(PortionName(attempt, LogSource.WORK, delivery, number), without_tokens(text), accepted=True)


def portion_of_call(attempt: int, text: str) -> Portion:
    """Return the portion with the log of an attempt's call."""
    return Portion(PortionName(attempt, LogSource.CALL, 1, 1), without_tokens(text), accepted=True)


def stored_as(run: Run, portion: Portion) -> tuple[str, bytes]:
    """Return the key and the content of a portion in the store."""
    return folder_of(run) + str(portion.name), portion.text.encode()


def without_tokens(text: str) -> str:
    """Return the text with `*` for each character of a callback token: a reader of a log must not be able to end a run
    with one. The length is unchanged, so a position in a portion stays valid when the portion has grown.
    """
    return TOKEN.sub(lambda found: "*" * len(found[0]), text)


def without_rest_of_token(text: str) -> str:
    """Return a text whose beginning was cut off, without what may be the rest of a callback token."""
    return text.lstrip(TOKEN_CHARACTERS)


def folder_of(run: Run, attempt: int | None = None) -> str:
    """Return the beginning of the keys of a run's portions, or of those of one attempt."""
    folder = f"logs/{run.tenant}/{run.job_id}/{run.name.local}/"
    return folder if attempt is None else folder + attempt_folder(attempt)


def attempt_folder(attempt: int) -> str:
    """Return the beginning of the names of an attempt's portions. It is less than all of them."""
    return f"{attempt:09}/"


def may_grow(run: Run, attempt: int | None, now: float) -> bool:
    """Return whether lines may still be added to the log of a run, or of one of its attempts, at `now` (UTC seconds).
    A redrive of a run that has ended can add further attempts later.
    """
    if attempt is not None and attempt < run.attempt:
        return run.started_at is not None and now < run.started_at + LATE_SECONDS
    if run.state.final or (attempt == run.attempt and isinstance(run, Retrying)):
        return run.finished_at is not None and now < run.finished_at + LATE_SECONDS
    return True
