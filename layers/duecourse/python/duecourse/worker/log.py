"""The log that a task writes: the text that was not sent yet, in the portions that the API stores.

A portion that is not full is sent again with more text, which replaces it. After a request without a response, the same
text is sent again, and further text follows in the next portion: a late request can then not replace a longer text.

The API hides callback tokens, but cannot recognize one that two portions divide. So no portion ends within a token:
what may be the beginning of one waits for further text, or for the end of the log.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from threading import Lock

PORTION_BYTES = 64 * 1024
"""The API's limit for the size of a portion in UTF-8."""
MAX_WAITING_BYTES = 1024 * 1024
"""The maximum size of the text that waits to be sent. Further text is lost until a portion was sent."""
MAX_DELIVERIES = 10
"""The API's limit for the number of deliveries of a message."""

_TOKEN_BYTES = len("dc1.") + 64 + len(".") + 9 + len(".") + 64
_OPEN_TOKEN = re.compile(rb"d(c(1(\.[A-Za-z0-9_.-]*)?)?)?\Z")
"""At the end of a text: a callback token or its beginning, of at most _TOKEN_BYTES."""

_CONTROLS = re.compile("[\0-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\ud800-\udfff\ufffe\uffff]")
"""Characters without a meaning in a log. JSON needs six bytes for most of them, and the API rejects some."""


@dataclass(frozen=True, slots=True)
class LogPortion:
    """A portion to send."""

    number: int
    text: str


class RunLog:
    """Collects the text of a log. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._waiting = bytearray()
        self._current = b""
        self._number = 1
        self._sent = True
        self._repeats = False
        self._lost = 0
        self._ended = False

    def add(self, text: str) -> bool:
        """Add text. Return whether nothing waited before."""
        data = _CONTROLS.sub("\ufffd", text).encode()
        with self._lock:
            idle = self._sent and not self._waiting
            if self._ended or not data:
                return False
            self._note_lost()
            kept = b"" if self._lost else _beginning(data, MAX_WAITING_BYTES - len(self._waiting))
            self._waiting += kept
            self._lost += len(data) - len(kept)
            return idle

    @property
    def unsent(self) -> int:
        """The number of bytes that were added and not sent."""
        with self._lock:
            return 0 if self._ended else len(self._waiting) + self._lost + (0 if self._sent else len(self._current))

    @property
    def is_long(self) -> bool:
        """Whether a full portion waits."""
        with self._lock:
            return not self._ended and len(self._waiting) >= PORTION_BYTES

    def portion(self, *, last: bool = False) -> LogPortion | None:
        """Return what to send next; None if there is nothing. What may be the beginning of a callback token is held
        back, unless the text that waits is the `last`.
        """
        with self._lock:
            if self._ended:
                return None
            if not self._repeats:
                self._fill(last=last)
            return None if self._sent else LogPortion(self._number, self._current.decode())

    def stored(self) -> None:
        """Note that the API has stored the portion."""
        with self._lock:
            self._sent = True
            if self._repeats:
                self._next()

    def unanswered(self) -> None:
        """Note that it is unknown whether the API has stored the portion: it must be sent again unchanged."""
        with self._lock:
            self._repeats = True

    def end(self) -> None:
        """Drop what was not sent, and what is added later."""
        with self._lock:
            self._ended = True

    def _fill(self, *, last: bool) -> None:
        self._note_lost()
        room = PORTION_BYTES - len(self._current)
        taken = _whole(self._waiting, room, last=last)
        if not taken and self._sent and len(self._waiting) > room:
            self._next()
            taken = _whole(self._waiting, PORTION_BYTES, last=last)
        if taken:
            self._current += taken
            del self._waiting[: len(taken)]
            self._sent = False

    def _next(self) -> None:
        self._number, self._current, self._sent, self._repeats = self._number + 1, b"", True, False

    def _note_lost(self) -> None:
        if self._lost and len(self._waiting) <= MAX_WAITING_BYTES - PORTION_BYTES:
            self._waiting += (
                f"[{self._lost} bytes were not kept, because the log grew faster than it could be sent]\n".encode()
            )
            self._lost = 0


def _whole(data: bytearray, most: int, *, last: bool) -> bytes:
    """Return the beginning of a text that does not end within a callback token. A `last` text may end anywhere."""
    begun = _beginning(data, most)
    if last and len(begun) == len(data):
        return begun
    open_token = _OPEN_TOKEN.search(begun, max(0, len(begun) - _TOKEN_BYTES))
    return begun if open_token is None else begun[: open_token.start()]


def _beginning(data: bytes | bytearray, most: int) -> bytes:
    """Return the first `most` bytes, or fewer so that no character of the UTF-8 text is divided."""
    if len(data) <= most:
        return bytes(data)
    end = max(most, 0)
    while end and data[end] & 0xC0 == 0x80:
        end -= 1
    return bytes(data[:end])
