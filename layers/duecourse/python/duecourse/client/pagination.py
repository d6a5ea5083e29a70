"""A page of a list, with the cursor of the next one. Iteration continues with the later pages."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Total:
    """The number of matching jobs from a page to the end of the list, and the number of jobs that were searched.
    `complete` is False if there are more jobs than one request searches.
    """

    matching: int
    searched: int
    complete: bool


@dataclass(frozen=True)
class Searched:
    """The progress of a list of successful runs across jobs: all runs from `complete_from` on (None: not known), and
    earlier runs of `jobs` jobs, are on this page or on earlier ones.
    """

    complete_from: datetime | None
    jobs: int


@dataclass(frozen=True)
class Page(Generic[T]):
    """One page of a list, and the cursor of the next one. Iterating continues over all later pages.

    for job in client.list_jobs(tag="billing"): ...
    """

    items: tuple[T, ...]
    next_cursor: str | None
    turn: Callable[[str], Page[T]] | None = field(default=None, repr=False, compare=False)
    """Reads the page at a cursor."""
    total: Total | None = None
    """Only for a list with `total=True`."""
    searched: Searched | None = None
    """Only for a list of successful runs across jobs. Iterating returns the runs in order, newest first."""

    def __iter__(self) -> Iterator[T]:
        return in_order(self.pages())

    def pages(self) -> Iterator[Page[T]]:
        """Return this page and all later pages."""
        page = self
        yield page
        while page.next_cursor and page.turn:
            page = page.turn(page.next_cursor)
            yield page


@dataclass(frozen=True)
class AsyncPage(Generic[T]):
    """One page of a list, and the cursor of the next one. Iterating continues over all later pages.

    async for job in await client.list_jobs(tag="billing"): ...
    """

    items: tuple[T, ...]
    next_cursor: str | None
    turn: Callable[[str], Awaitable[AsyncPage[T]]] | None = field(default=None, repr=False, compare=False)
    """Reads the page at a cursor."""
    total: Total | None = None
    """Only for a list with `total=True`."""
    searched: Searched | None = None
    """Only for a list of successful runs across jobs. Iterating returns the runs in order, newest first."""

    async def __aiter__(self) -> AsyncIterator[T]:
        page, held = self, list[T]()
        while True:
            ready, held = _ready(page, held)
            for item in ready:
                yield item
            if not (page.next_cursor and page.turn):
                return
            page = await page.turn(page.next_cursor)


def in_order(pages: Iterable[Page[T]]) -> Iterator[T]:
    """Yield the items of the pages in the order of the list."""
    held = list[T]()
    for page in pages:
        ready, held = _ready(page, held)
        yield from ready


def _ready(page: Page[T] | AsyncPage[T], held: list[T]) -> tuple[list[T], list[T]]:
    """Divide the items of a page and those `held` back from earlier pages. Return the items that no item of a later
    page can precede, in the order of the list, and then the others.
    """
    runs: list[Any] = [*held, *page.items]
    if page.searched is None:
        return runs, []
    runs.sort(key=lambda run: run.job_id)
    runs.sort(key=lambda run: run.id.partition(".")[2], reverse=True)
    since = page.searched.complete_from
    if page.next_cursor is None:
        return runs, []
    count = 0 if since is None else sum(run.occurrence >= since for run in runs)
    return runs[:count], runs[count:]
