"""The interface of both tables. Conditions and changes are data, so that every implementation evaluates the same ones.

`adapters.dynamodb` renders them as expressions and PartiQL; `testing.table` evaluates them in memory. An operation that
this language lacks cannot be written.

Items are low-level: maps from attribute names to values such as `{"S": …}`. The values of conditions and changes are
plain: str, int, float, bool, and frozensets of str.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Literal, Protocol, TypeAlias

from duecourse.ports import THROTTLED

Item: TypeAlias = dict[str, Any]
"""A low-level item, or the key of one."""

Value: TypeAlias = str | int | float | bool | frozenset[str]


class Table(Enum):
    """The tables of a stage."""

    JOBS = "jobs"
    RUNS = "runs"


@dataclass(frozen=True, slots=True)
class Index:
    """A global index of the items that have both key attributes. Its partition key is a string, and its sort key a
    number or a string. An index of keys returns only the keys of items: those of the table and its own.
    """

    table: Table
    name: str
    partition: str
    sort: str
    number: bool = False
    keys_only: bool = False


DUE = Index(Table.JOBS, "due", "slot", "due", number=True)
"""The cursors and timers of a time bucket and shard, by due time."""

TENANT = Index(Table.JOBS, "tenant", "tenant", "job_id")
"""The jobs of a tenant."""

STATE = Index(Table.JOBS, "state", "state_key", "job_id")
"""The jobs of a tenant that are not ACTIVE, by state, and its quarantined cursors."""

ENDED = Index(Table.RUNS, "ended", "ended_key", "ended_at", number=True, keys_only=True)
"""The runs of a tenant whose last attempt has ended, by state and time, and the requests for its delayed runs, by due
time.
"""

ACTIVE = Index(Table.RUNS, "active", "active_key", "active_since", number=True, keys_only=True)
"""The waiting runs and long calls of a tenant, by state and time."""

INDEXES = (DUE, TENANT, STATE, ENDED, ACTIVE)


# -- Conditions ----------------------------------------------------------------------------------------------------
#
# Not frozen: frozen dataclasses take three times as long to create, and a round creates ten of them for each claim.


@dataclass(slots=True)
class Compare:
    """An attribute compares to a value. The condition is false if the attribute is absent or has another type."""

    name: str
    how: Literal["=", "<", "<=", ">", ">="]
    value: Value


@dataclass(slots=True)
class Between:
    """An attribute is in a range. Both bounds are included."""

    name: str
    low: str | float
    high: str | float


@dataclass(slots=True)
class In:
    """An attribute has one of at most 100 values."""

    name: str
    values: tuple[Value, ...]


@dataclass(slots=True)
class Prefix:
    """A string attribute begins with a text."""

    name: str
    text: str


@dataclass(slots=True)
class Present:
    """An attribute, or with the default the item, exists."""

    name: str = "PK"


@dataclass(slots=True)
class Absent:
    """An attribute, or with the default the item, does not exist."""

    name: str = "PK"


@dataclass(slots=True)
class All:
    """All parts hold."""

    parts: tuple[Condition, ...]


@dataclass(slots=True)
class AnyOf:
    """One part or more hold."""

    parts: tuple[Condition, ...]


@dataclass(slots=True)
class Not:
    """The part does not hold."""

    part: Condition


Condition: TypeAlias = Compare | Between | In | Prefix | Present | Absent | All | AnyOf | Not


def equal(name: str, value: Value) -> Compare:
    """Return the condition that an attribute has a value."""
    return Compare(name, "=", value)


def all_of(*parts: Condition) -> Condition:
    """Return the condition that all parts hold."""
    return parts[0] if len(parts) == 1 else All(parts)


def any_of(*parts: Condition) -> Condition:
    """Return the condition that one part or more hold."""
    return parts[0] if len(parts) == 1 else AnyOf(parts)


def holds(values: Mapping[str, Value | None]) -> Condition:
    """Return the condition that attributes have these values. None requires that the attribute is absent."""
    return all_of(*(Absent(name) if value is None else equal(name, value) for name, value in values.items()))


# -- Changes -------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Set:
    """Write an attribute."""

    name: str
    value: Value


@dataclass(slots=True)
class Add:
    """Add to a number. An absent attribute counts as 0."""

    name: str
    by: float


@dataclass(slots=True)
class Remove:
    """Remove an attribute, if it exists."""

    name: str


@dataclass(slots=True)
class RemoveFrom:
    """Remove texts from a set of strings. A set without texts is removed."""

    name: str
    texts: frozenset[str]


Change: TypeAlias = Set | Add | Remove | RemoveFrom


def changes_to(values: Mapping[str, Value | None]) -> tuple[Change, ...]:
    """Return the changes after which attributes have these values. None removes the attribute."""
    return tuple(Remove(name) if value is None else Set(name, value) for name, value in values.items())


# -- Requests ------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Put:
    """Write a whole item."""

    table: Table
    item: Item
    condition: Condition | None = None


@dataclass(slots=True)
class Update:
    """Change attributes of an item. An item that does not exist is created, unless the condition prevents it."""

    table: Table
    key: Item
    changes: tuple[Change, ...]
    condition: Condition | None = None


@dataclass(slots=True)
class Delete:
    """Remove an item, if it exists."""

    table: Table
    key: Item
    condition: Condition | None = None


@dataclass(slots=True)
class Check:
    """The condition of a transaction on an item that it does not write."""

    table: Table
    key: Item
    condition: Condition


Write: TypeAlias = Put | Update | Delete


class Returned(Enum):
    """What a write returns in addition to its outcome. Each choice costs nothing."""

    NOTHING = "nothing"
    FOUND = "found"
    """The stored item, if the condition failed."""
    BEFORE = "before"
    """The item before the write, or the stored item if the condition failed."""
    AFTER = "after"
    """The item after an update, or the stored item if the condition failed."""


@dataclass(frozen=True, slots=True)
class Written:
    """The outcome of a write: whether its condition held, and the item that was requested. The item is None if it does
    not exist or was not returned.
    """

    held: bool
    item: Item | None = None


CONDITION_FAILED = frozenset({"ConditionalCheckFailed", "ConditionalCheckFailedException"})
"""Codes of writes whose condition failed."""

RETRYABLE = THROTTLED | {"TransactionConflict", "InternalServerError"}
"""Codes of single statements and cancelled transactions after which the same write can be retried.

Amazon DynamoDB API Reference, BatchStatementError and TransactionCanceledException.
"""

NEVER = frozenset({"ValidationError", "ValidationException", "ItemCollectionSizeLimitExceeded", "DuplicateItem"})
"""Codes of statements that fail on every retry (BatchStatementError)."""


@dataclass(frozen=True, slots=True)
class WriteOutcome:
    """The outcome of one of many writes. `code` is None if it was executed, and otherwise an error code of DynamoDB.
    `found` is the stored item if a condition failed. `throttled` counts how many times the write was throttled.
    """

    code: str | None = None
    message: str = ""
    found: Item | None = None
    throttled: int = 0


@dataclass(frozen=True, slots=True)
class Query:
    """A query of one partition of a table or of one of its indexes.

    `sort` is a condition on the sort key. A query returns items in the order of the sort key, `newest` first in the
    reverse order. It evaluates at most `limit` items or one megabyte, then applies `only`, and returns the attributes
    in `read`, or all if it is empty. It starts after the key `start`. Only a query of a table can be consistent.
    """

    table: Table
    partition: str
    sort: Compare | Between | Prefix | None = None
    index: Index | None = None
    newest: bool = False
    consistent: bool = False
    limit: int | None = None
    start: Item | None = None
    only: Condition | None = None
    read: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Scan:
    """A scan of a table or of an index, or of one of its equal parts. The other fields are those of a query."""

    table: Table
    index: Index | None = None
    part: int = 0
    parts: int = 1
    limit: int | None = None
    start: Item | None = None
    only: Condition | None = None
    read: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Page:
    """The items of one request, and the key after which the next request starts (None: everything was searched)."""

    items: Sequence[Item]
    last: Item | None


class Tables(Protocol):
    """Both tables. A request that fails for another reason than its condition raises AwsError: ServiceError if the
    service rejected it, NoAnswerError if its outcome is unknown.
    """

    def get(self, table: Table, key: Item, *, consistent: bool = True) -> Item | None:
        """Return the item of a key."""

    def get_many(self, table: Table, keys: Iterable[Item], *, consistent: bool = False) -> list[Item]:
        """Return the items that exist among the keys, in any order and in as many requests as needed. A key occurs
        once.
        """

    def get_from_both(self, keys: Mapping[Table, Iterable[Item]], *, consistent: Collection[Table]) -> list[Item]:
        """Return the items that exist among the keys, as `get_many` does, but from both tables in one request. Reads of
        the tables in `consistent` are strongly consistent.
        """

    def query(self, query: Query) -> Page:
        """Return one page of a query."""

    def count(self, query: Query) -> tuple[int, Item | None]:
        """Return the number of items that one page of a query has, and the key after which the next page starts."""

    def scan(self, scan: Scan) -> Page:
        """Return one page of a scan."""

    def write(self, write: Write, returned: Returned = Returned.NOTHING) -> Written:
        """Execute one write."""

    def write_many(self, writes: Sequence[Update | Delete]) -> list[WriteOutcome]:
        """Execute independent writes and return their outcomes in the same order. Throttled writes are repeated with
        backoff. A failed condition returns the stored item. No two writes may have the same key. Never raises AwsError:
        errors and missing responses are outcomes.

        An update of an item that does not exist fails like one whose condition failed. Changes are only Set and Remove,
        and conditions are Compare, Absent and All.
        """

    def put_many(self, table: Table, items: Sequence[Item]) -> None:
        """Write items without conditions. No two items may have the same key."""

    def transact(self, writes: Sequence[Write | Check]) -> list[int]:
        """Execute at most 100 writes in one transaction. Return an empty list if all were written, and otherwise the
        indices of the writes whose conditions failed.

        Raises StoreBusyError if the transaction collided with others in every attempt.
        """


def pages(tables: Tables, query: Query) -> Iterator[Item]:
    """Yield at most `query.limit` items of a query. Pages are read on demand."""
    limit, start = query.limit, query.start
    while limit is None or limit > 0:
        page = tables.query(_from(query, start, limit))
        yield from page.items
        if page.last is None:
            return
        start, limit = page.last, None if limit is None else limit - len(page.items)


def rest_of(tables: Tables, query: Query, page: Page) -> Iterator[Item]:
    """Yield the items of a query, beginning with its first page. The other pages are read on demand, and each has at
    most `query.limit` items.
    """
    yield from page.items
    while page.last is not None:
        page = tables.query(_from(query, page.last, query.limit))
        yield from page.items


def _from(query: Query, start: Item | None, limit: int | None) -> Query:
    return Query(
        query.table, query.partition, query.sort, query.index, query.newest, query.consistent, limit, start,
        query.only, query.read,
    )  # fmt: skip  # dataclasses.replace takes ten times as long
