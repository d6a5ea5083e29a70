"""Ctrl-C, SIGTERM and a closed terminal all end a command the same way: once, with everything stopped."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Stopped(BaseException):
    """Somebody asked the command to end."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number

    @property
    def exit_code(self) -> int:
        """What a shell expects of a command that a signal ended."""
        return 128 + self.number


@contextmanager
def stoppable() -> Iterator[None]:
    """Raise Stopped at the first of these signals; later ones are ignored, so that stopping is not interrupted."""
    before = {each: signal.getsignal(each) for each in ENDING}
    asked = False

    def ask(number: int, _frame: FrameType | None) -> None:
        nonlocal asked
        if not asked:
            asked = True
            raise Stopped(number)

    for each in ENDING:
        signal.signal(each, ask)
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
