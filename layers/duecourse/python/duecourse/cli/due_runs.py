"""Finds the due runs of a job behind those that are already queued for a future time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from duecourse.client import Client, Page
from duecourse.client.models import Run

MAX_PER_PAGE = 100
"""The API's maximum size of a page."""

ReadPage = Callable[[int, str | None], Page[Run]]
"""Reads a page with this number of runs of a job, newest first, from a cursor."""


@dataclass(frozen=True, slots=True)
class DueRuns:
    """The due runs, newest first; the future ones `ahead` of them in the list; and the cursor of the next page."""

    due: tuple[Run, ...]
    ahead: tuple[Run, ...]
    next_cursor: str | None


def due_runs(read: ReadPage, *, limit: int, cursor: str | None, now: datetime) -> DueRuns:
    """Return the newest `limit` due runs (1 to 100). Raises the errors of `read`.

    A job that fires every second always has 840 queued runs in the future, and the list has the newest runs first.
    """
    due: list[Run] = []
    ahead: list[Run] = []
    size = limit
    while True:
        page = read(size, cursor)
        places = [place for place, run in enumerate(page.items) if not is_ahead(run, now)]
        room = limit - len(due)
        if len(places) > room:
            size = places[room - 1] + 1  # read again up to the last run that fits, to get its cursor
            continue
        due += [page.items[place] for place in places]
        ahead += [run for run in page.items if is_ahead(run, now)]
        cursor = page.next_cursor
        if cursor is None or len(due) == limit or len(places) == len(page.items):
            return DueRuns(tuple(due), tuple(ahead), cursor)
        size = limit - len(due) if places else MAX_PER_PAGE


def last_due_run(client: Client, job_id: str, now: datetime) -> Run | None:
    """Return the last due run of a job, or None if it has none. Raises the errors of the client."""

    def read(size: int, cursor: str | None) -> Page[Run]:
        return client.list_runs(job_id, limit=size, cursor=cursor)

    return next(iter(due_runs(read, limit=1, cursor=None, now=now).due), None)


def is_ahead(run: Run, now: datetime) -> bool:
    """Return whether a run is queued for a future time."""
    return run.state == "QUEUED" and run.due > now
