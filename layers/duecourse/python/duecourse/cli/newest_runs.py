"""Puts the newest runs of all jobs in order, while a terminal shows the progress of the search."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from rich.console import Console

from duecourse.cli.when import local_zone, moment
from duecourse.client import Page
from duecourse.client.models import Run
from duecourse.client.pagination import Searched, in_order

SEARCHED_AT_ONCE = 50
"""The minimum number of runs of a request. A smaller number would need more requests in a stage with many jobs."""


def newest_runs(first: Page[Run], limit: int) -> Page[Run]:
    """Return the first `limit` runs of a list that may come in slices, starting with its page `first`. Its cursor is
    the id of the last run. Raises the errors of the client.
    """
    last = first
    console = Console(stderr=True)
    with console.status("searching …") as status:

        def pages() -> Iterator[Page[Run]]:
            nonlocal last
            for last in first.pages():
                if last.searched is not None:
                    status.update(f"{_progress(last.searched)} …")
                yield last

        found = in_order(pages())
        runs = tuple(islice(found, limit))
    ended = last.next_cursor is None and next(found, None) is None
    return Page(runs, None if ended or not runs else runs[-1].id)


def _progress(searched: Searched) -> str:
    since, jobs = searched.complete_from, searched.jobs
    if since is None:
        return f"searched {jobs:,} jobs"
    return f"searched back to {moment(since, local_zone())}{f', {jobs:,} jobs further back' if jobs else ''}"
