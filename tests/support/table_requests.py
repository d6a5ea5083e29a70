"""Requests to both tables as data, and what of their results has to agree on every implementation."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice
from typing import Any, NamedTuple

from duecourse.ports import ServiceError
from duecourse.stores.table import (
    INDEXES,
    Between,
    Delete,
    Index,
    Item,
    Page,
    Query,
    Scan,
    Table,
    Tables,
    WriteOutcome,
    Written,
)

EXACT = 2
"""Up to this limit, items of 400 KB fit into a page of 1 MB. It is undocumented whether the item that exceeds it is in
the page.
"""


class Request(NamedTuple):
    """A call of a method of Tables."""

    method: str
    arguments: tuple[Any, ...]

    def send(self, to: Tables) -> Any:
        """The result, with sets in order. A rejection is its code.

        Pages of a query of an index and of a scan are put together: DynamoDB does not specify the order of equal keys.
        """
        try:
            return self._result(to)
        except ServiceError as error:
            return error.code

    def _result(self, to: Tables) -> Any:
        (first, *_) = self.arguments
        if self.method == "query":
            found = [item for page in _pages(to, first) for item in page.items]
            if first.index is not None:
                return [_plain(each).get(first.index.sort) for each in found], _ordered(found)
            exact = to.query(first) if first.limit is not None and first.limit <= EXACT else None
            return list(map(_plain, found)), exact and (len(exact.items), _last(first, exact.last))
        if self.method == "count":
            number, last = to.count(first)
            return number, _last(first, last)
        if self.method == "scan":
            parts = [replace(first, part=part) for part in range(first.parts)] if first.part == 0 else [first]
            return _ordered(item for part in parts for page in _pages(to, part) for item in page.items)
        match getattr(to, self.method)(*self.arguments):
            case Written(held, item):
                return held, item and _plain(item)
            case [WriteOutcome(), *_] as outcomes:
                return [(each.code, each.found and _plain(each.found)) for each in outcomes]
            case dict() as item:
                return _plain(item)
            case [dict(), *_] as items:
                return _ordered(items)
            case other:
                return other


def _last(query: Query, last: Item | None) -> Item | None:
    """Where the next page starts. At an upper bound, DynamoDB Local knows that nothing follows; it need not."""
    inclusive = isinstance(query.sort, Between) or (query.sort is not None and getattr(query.sort, "how", "") == "<=")
    return None if inclusive or (query.newest and query.sort is not None) else last


def _pages(to: Tables, search: Query | Scan) -> Iterator[Page]:
    while True:
        page = to.query(search) if isinstance(search, Query) else to.scan(search)
        yield page
        if page.last is None:
            return
        search = replace(search, start=page.last)


def _plain(item: Item) -> dict[str, Any]:
    return {name: tuple(sorted(value["SS"])) if "SS" in value else value for name, value in item.items()}


def _ordered(items: Iterable[Item]) -> list[Any]:
    return sorted(map(_plain, items), key=lambda item: repr(sorted(item.items())))


def contents(of: Tables) -> list[Any]:
    """Everything in both tables and their indexes."""
    searched: list[tuple[Table, Index | None]] = [*((table, None) for table in Table)]
    searched += [(index.table, index) for index in INDEXES]
    return [Request("scan", (Scan(table, index),)).send(of) for table, index in searched]


def clear(tables: Tables) -> None:
    """Remove all items."""
    for table in Table:
        keys = [item for page in _pages(tables, Scan(table, read=("PK", "SK"))) for item in page.items]
        while batch := list(islice(keys, 25)):
            del keys[:25]
            tables.write_many([Delete(table, key) for key in batch])
