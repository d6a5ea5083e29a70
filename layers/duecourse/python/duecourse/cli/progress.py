"""Progress on standard error, for people at a terminal only."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock, Timer

from rich.console import Console
from rich.progress import Progress, ProgressColumn
from rich.status import Status

SILENT_SECONDS = 2.0
"""The time after which a terminal shows what the command waits for."""


_ONE = Lock()
"""Only one text is shown at a time."""


@cache
def errors() -> Console:
    """Return the console of standard error. There is one, because only displays of the same console can be nested."""
    return Console(stderr=True)


def bar(*columns: ProgressColumn | str, quiet: bool = False) -> Progress:
    """Return a progress bar. It is hidden if a result could be printed to the same line: unless standard output is a
    terminal, too.
    """
    hidden = quiet or not errors().is_terminal or not sys.stdout.isatty()
    return Progress(*columns, console=errors(), transient=True, disable=hidden)


def spinner(text: str) -> Status:
    """Return a text with a spinner, which is shown as long as it is the context."""
    return errors().status(text)


@contextmanager
def awaited(text: str) -> Iterator[None]:
    """Show the text if the block lasts longer than SILENT_SECONDS. Within such a block, also in its threads, no other
    text is shown.
    """
    if not errors().is_terminal or not _ONE.acquire(blocking=False):
        yield
        return
    status = spinner(text)
    timer = Timer(SILENT_SECONDS, status.start)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        status.stop()
        _ONE.release()
