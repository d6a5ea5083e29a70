"""The scan of the jobs table that all checks share: it goes on where the invocation before ran out of time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from duecourse.domain.maintenance.scan import Position

P = TypeVar("P", bound=Position)


def scan(
    position: P,
    *,
    going: Callable[[], bool],
    page: Callable[[P], tuple[str | None, Counter[str]]],
    save: Callable[[P], bool],
) -> P | None:
    """Page after page until the scan is finished or not `going` any more; the position that was reached.

    `page` reads and checks what lies behind a position, and says where to go on (None: that was all) and what it has
    counted. The position is saved after each page, so that nobody does it again; None where another invocation has
    saved meanwhile.
    """
    while not position.done and going():
        following, counts = page(position)
        position = replace(position, start=following, done=following is None, counts=Counter(position.counts) + counts)
        if not save(position):
            return None
        position = replace(position, version=position.version + 1)
    return position
