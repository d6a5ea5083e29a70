"""The scan of the jobs table, which continues where the invocation before ran out of time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from duecourse.domain.maintenance.index import Position

P = TypeVar("P", bound=Position)


def scan(
    position: P,
    *,
    going: Callable[[], bool],
    page: Callable[[P], tuple[str | None, Counter[str]]],
    save: Callable[[P], bool],
) -> P | None:
    """Read page after page until the scan is finished or `going` is false; returns the position reached.

    `page` reads and checks the page at a position, and returns the next start (None: that was all) and its counts. The
    position is saved after each page, so that no page is repeated; None if another invocation has saved meanwhile.
    """
    while not position.done and going():
        following, counts = page(position)
        position = replace(position, start=following, done=following is None, counts=Counter(position.counts) + counts)
        if not save(position):
            return None
        position = replace(position, version=position.version + 1)
    return position
