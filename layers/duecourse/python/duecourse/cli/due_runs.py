"""The runs of a job that are due, found behind those that only wait for their second."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from duecourse.client import Page
from duecourse.client.models import Run

MAX_PER_PAGE = 100
"""The API's bound of a page."""

ReadPage = Callable[[int, str | None], Page[Run]]
"""So many runs of a job, newest first, from a cursor on."""


@dataclass(frozen=True, slots=True)
class DueRuns:
    """Runs that are due, newest first; those `ahead` of them in the list; where the next page begins."""

    due: tuple[Run, ...]
    ahead: tuple[Run, ...]
    next_cursor: str | None


def due_runs(read: ReadPage, *, limit: int, cursor: str | None, now: datetime) -> DueRuns:
    """The newest `limit` runs that are due (1 to 100). Raises what `read` raises.

    A job that fires every second has 840 runs in its queue at any time, and the newest are listed first.
    """
    due: list[Run] = []
    ahead: list[Run] = []
    size = limit
    while True:
        page = read(size, cursor)
        places = [place for place, run in enumerate(page.items) if not _is_ahead(run, now)]
        room = limit - len(due)
        if len(places) > room:
            size = places[room - 1] + 1  # once more, up to the last for which there is room: its cursor is not known
            continue
        due += [page.items[place] for place in places]
        ahead += [run for run in page.items if _is_ahead(run, now)]
        cursor = page.next_cursor
        if cursor is None or len(due) == limit or len(places) == len(page.items):
            return DueRuns(tuple(due), tuple(ahead), cursor)
        size = limit - len(due) if places else MAX_PER_PAGE


def _is_ahead(run: Run, now: datetime) -> bool:
    return run.state == "QUEUED" and run.due > now
