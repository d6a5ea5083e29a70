"""The scan of the jobs table. It continues where the previous invocation ran out of time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from duecourse.domain.maintenance.index import Position

P = TypeVar("P", bound=Position)


def scan(
    position: P,
    *,
    going: Callable[[], bool],
    page: Callable[[P], P],
    save: Callable[[P], bool],
) -> P | None:
    """Read page after page until the scan is finished or `going` returns False. Return the position reached.

    `page` reads and checks the page at a position, and returns the position after it (Position.moved). The position is
    saved after each page, so that no page is repeated. Return None if another invocation has saved a position in the
    meantime.
    """
    while not position.done and going():
        position = page(position)
        if not save(position):
            return None
        position = replace(position, version=position.version + 1)
    return position
