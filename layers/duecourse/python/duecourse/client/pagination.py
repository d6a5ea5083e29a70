"""A page of a list, with the cursor of the next one. Iteration continues with the later pages."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Total:
    """The number of matching jobs from a page to the end of the list, and the number of jobs that were searched.
    `complete` is False if one request cannot search or read all jobs.
    """

    matching: int
    searched: int
    complete: bool


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
    complete: bool | None = None
    """Only for a list of limits: False if there are more waiting runs than were examined."""
    unreadable: tuple[str, ...] = ()
    """The ids of the jobs of this page that the stage's release cannot read."""

    def __iter__(self) -> Iterator[T]:
        return (item for page in self.pages() for item in page.items)

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
    complete: bool | None = None
    """Only for a list of limits: False if there are more waiting runs than were examined."""
    unreadable: tuple[str, ...] = ()
    """The ids of the jobs of this page that the stage's release cannot read."""

    async def __aiter__(self) -> AsyncIterator[T]:
        page = self
        while True:
            for item in page.items:
                yield item
            if not (page.next_cursor and page.turn):
                return
            page = await page.turn(page.next_cursor)
