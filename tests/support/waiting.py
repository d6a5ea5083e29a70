"""Waiting for what happens by itself, where real time passes: a deployed stack's clock is its own."""

import time
from collections.abc import Callable
from typing import TypeVar

PATIENCE_SECONDS = 300
"""Ends what hangs, and decides nothing else: on a machine that is busy with other things all takes longer."""
POLL_SECONDS = 0.25
T = TypeVar("T")


def awaited(what: str, look: Callable[[], T | None]) -> T:
    """What `look` finds, once it finds something that is true."""
    end = time.monotonic() + PATIENCE_SECONDS
    while not (found := look()):
        assert time.monotonic() < end, f"{what} was not seen within {PATIENCE_SECONDS} s"
        time.sleep(POLL_SECONDS)
    return found
