"""Both tables in memory, as strict as Amazon DynamoDB: a request that DynamoDB rejects is rejected here with its code.

Limits and codes are those of the Amazon DynamoDB Developer Guide ("Quotas in Amazon DynamoDB", "DynamoDB item sizes and
formats") and API Reference. tests/contract/tables compares every request with DynamoDB Local and MiniStack. Indexes
have no lag here, nothing is throttled, and only `remove_expired` removes expired items.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right, insort
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Context, Decimal
from heapq import heappop, heappush
from itertools import chain
from operator import eq, ge, gt, itemgetter, le, lt
from threading import Lock
from typing import Any, TypeVar
from zlib import crc32

from duecourse.ports import ServiceError
from duecourse.stores.keys import RARE
from duecourse.stores.table import (
    DUE,
    INDEXES,
    Absent,
    Add,
    All,
    AnyOf,
    Between,
    Change,
    Check,
    Compare,
    Condition,
    Delete,
    In,
    Index,
    Item,
    Not,
    Page,
    Prefix,
    Present,
    Put,
    Query,
    Remove,
    RemoveFrom,
    Returned,
    Scan,
    Set,
    Table,
    Update,
    Value,
    Write,
    WriteOutcome,
    Written,
)
from duecourse.stores.values import attribute

_ITEM_BYTES = 400 * 1024
_PAGE_BYTES = 1024 * 1024
_TRANSACTION_BYTES = 4 * 1024 * 1024
_TRANSACTION = 100
_BATCH = 25
_OPERATORS = 300
_OPERANDS = 100
_DIGITS = 38
_PARTITION_BYTES, _SORT_BYTES, _NAME_BYTES = 2048, 1024, 65_535
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_SHORT_NUMBER = re.compile(r"0|-?[1-9][0-9]{0,17}(\.[0-9]{0,17}[1-9])?")
"""A number in the form in which it is stored."""
_WIDE = Context(prec=1000)
_COMPARE = {"=": eq, "<": lt, "<=": le, ">": gt, ">=": ge}

Where = tuple[str, str]
"""Partition and sort key."""

Entry = tuple[Any, str, str]
"""What a table or an index sorts by: its sort key, and the primary key."""

_SORT = itemgetter(0)
_T = TypeVar("_T")


class _RejectedError(ServiceError):
    """DynamoDB rejects the request. `whole`: it also rejects a transaction as a whole, instead of cancelling it for
    this write. `value`: a value is invalid, whatever the request does with it.
    """

    def __init__(self, message: str, *, whole: bool = True, value: bool = False) -> None:
        super().__init__("ValidationException", message)
        self.whole = whole
        self.value = value


_PRIMARY = {table: Index(table, "", "PK", "SK") for table in Table}
"""The tables themselves, as if they were indexes."""

_ORDERS = {
    table: (primary, *(index for index in INDEXES if index.table is table)) for table, primary in _PRIMARY.items()
}
_NAMES = {
    index.name: tuple(dict.fromkeys(("PK", "SK", index.partition, index.sort)))
    for indexes in _ORDERS.values()
    for index in indexes
}
"""The attributes of all keys that an index has."""

_KEY = {"PK": ("S", _PARTITION_BYTES), "SK": ("S", _SORT_BYTES)}
"""The type and the maximum length of the attributes of a primary key."""

_KEYS = {
    table: {index.partition: ("S", _PARTITION_BYTES) for index in indexes}
    | {index.sort: ("N" if index.number else "S", _SORT_BYTES) for index in indexes}
    for table, indexes in _ORDERS.items()
}
"""The type and the maximum length of all attributes that are keys of a table or of its indexes."""


def _entry(index: Index, item: Item) -> Entry:
    sort = item[index.sort]
    return Decimal(sort["N"]) if index.number else sort["S"], item["PK"]["S"], item["SK"]["S"]


# -- Values --------------------------------------------------------------------------------------------------------


def _number(text: str, *, whole: bool = True) -> str:
    """Return a number in the form in which it is stored."""
    if _SHORT_NUMBER.fullmatch(text):
        return text
    if not _NUMBER.fullmatch(text):
        raise _RejectedError("a value provided cannot be converted into a number", value=True)
    number = _WIDE.normalize(Decimal(text))
    if not number:
        return "0"
    if not -130 <= number.adjusted() <= 125:
        raise _RejectedError("the magnitude of a number is out of range", whole=whole, value=True)
    if len(number.as_tuple().digits) > _DIGITS:
        raise _RejectedError("a number has more than 38 significant digits", whole=whole, value=True)
    return f"{number:f}"


def _stored(value: Any) -> dict[str, Any]:
    """Return a copy of an attribute's value in the form in which it is stored."""
    if len(value) != 1:
        raise _RejectedError("a value must contain exactly one of the supported datatypes", value=True)
    ((kind, content),) = value.items()
    if (kind == "S" and isinstance(content, str)) or (kind == "BOOL" and isinstance(content, bool)):
        return {kind: content}
    if kind == "N" and isinstance(content, str):
        return {kind: _number(content)}
    if kind == "SS" and isinstance(content, list) and all(isinstance(text, str) for text in content):
        if not content or len({*content}) < len(content):
            raise _RejectedError("a set is empty or has duplicates", value=True)
        return {kind: sorted(content)}
    raise TypeError(f"{value!r} is not a string, a number, a flag or a set of strings")


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())


def _size(kind: str, content: Any) -> int:
    if kind == "S":
        return len(content) if content.isascii() else len(content.encode())
    if kind == "N":
        digits = len(content.replace(".", "").strip("-0"))
        return (digits + 1) // 2 + (2 if content.startswith("-") else 1)
    return sum(map(_bytes, content)) if kind == "SS" else 1


def _sizes(item: Item) -> int:
    return sum(_bytes(name) + _size(*each) for name, value in item.items() for each in value.items())


def _copy(item: Item) -> Item:
    copy = {name: value.copy() for name, value in item.items()}
    for value in copy.values():
        if "SS" in value:
            value["SS"] = [*value["SS"]]
    return copy


def _comparable(kind: str, content: Any) -> Any:
    return Decimal(content) if kind == "N" else frozenset(content) if kind == "SS" else content


def _named(name: str) -> str:
    if not name or _bytes(name) > _NAME_BYTES:
        raise _RejectedError("an attribute name is empty or too long")
    return name


# -- Conditions ----------------------------------------------------------------------------------------------------


def _operand(value: Value, *, ordered: bool = False) -> tuple[str, Any]:
    """Return the type and the value of an operand. Only strings and numbers are `ordered`."""
    ((kind, content),) = _stored(attribute(value)).items()
    if ordered and kind not in ("S", "N"):
        raise _RejectedError(f"incorrect operand type {kind}")
    return kind, _comparable(kind, content)


def _found(item: Item, name: str, kind: str) -> Any:
    """Return an attribute that has this type, or None."""
    content = item.get(_named(name), {}).get(kind)
    return None if content is None else _comparable(kind, content)


def _holds(condition: Condition, item: Item) -> bool:
    """Return whether a condition holds. Every part is evaluated, because an invalid one is rejected in any case."""
    match condition:
        case Compare(name, how, value):
            kind, wanted = _operand(value, ordered=how != "=")
            found = _found(item, name, kind)
            return found is not None and _COMPARE[how](found, wanted)
        case Between(name, low, high):
            (kind, least), (other, most) = _operand(low, ordered=True), _operand(high, ordered=True)
            if kind != other or least > most:
                raise _RejectedError("the bounds of BETWEEN differ in type or are reversed")
            found = _found(item, name, kind)
            return found is not None and least <= found <= most
        case In(name, options):
            if not 1 <= len(options) <= _OPERANDS:
                raise _RejectedError("IN has no operands or too many")
            operands = [_operand(option) for option in options]
            return any(_found(item, name, kind) == wanted for kind, wanted in operands)
        case Prefix(name, text):
            found = _found(item, name, "S")
            return found is not None and found.startswith(text)
        case Present(name):
            return _named(name) in item
        case Absent(name):
            return _named(name) not in item
        case All(parts) | AnyOf(parts):
            held = [_holds(part, item) for part in parts]
            if not held:
                raise _RejectedError("an expression is empty")
            return all(held) if isinstance(condition, All) else any(held)
        case Not(part):
            return not _holds(part, item)


def _parts(condition: Condition) -> Iterator[Condition]:
    """Yield a condition and all its parts."""
    yield condition
    match condition:
        case All(parts) | AnyOf(parts):
            for part in parts:
                yield from _parts(part)
        case Not(part):
            yield from _parts(part)


def _checked(condition: Condition | None, item: Item) -> bool:
    """Return whether the condition of a request holds."""
    if condition is None:
        return True
    if isinstance(condition, All | AnyOf | Not):
        operators = (len(part.parts) - 1 if isinstance(part, All | AnyOf) else 1 for part in _parts(condition))
        if sum(operators) > _OPERATORS:
            raise _RejectedError("an expression has too many operators")
    return _holds(condition, item)


# -- Changes -------------------------------------------------------------------------------------------------------


def _operands(changes: Sequence[Change]) -> list[tuple[Change, Any]]:
    """Return each change with its value as it is stored (Remove: None)."""
    names = {_named(change.name) for change in changes}
    if not changes or len(names) < len(changes):
        raise _RejectedError("an update has no changes, or two of an attribute")
    found: list[tuple[Change, Any]] = []
    for change in changes:
        match change:
            case Set(_, value) | Add(_, value) | RemoveFrom(_, value):
                found.append((change, _stored(attribute(value))))
                if _sizes({"": found[-1][1]}) > _ITEM_BYTES:
                    raise _RejectedError("the size of a value exceeds that of an item")
            case Remove():
                found.append((change, None))
    return found


def _changed(item: Item, changes: Sequence[tuple[Change, Any]]) -> Item:
    """Return an item after changes."""
    after = item.copy()
    for change, operand in changes:
        name = change.name
        if name in _KEY:
            raise _RejectedError(f"cannot update attribute {name}: it is part of the key", whole=False)
        match change:
            case Set():
                after[name] = operand
            case Add():
                total = _WIDE.add(Decimal(_old(item, name, "N", "0")), Decimal(operand["N"]))
                after[name] = {"N": _number(f"{total:f}", whole=False)}
            case Remove():
                after.pop(name, None)
            case RemoveFrom(_, texts):
                after.pop(name, None)
                if left := [text for text in _old(item, name, "SS", ()) if text not in texts]:
                    after[name] = {"SS": left}
    return after


def _old(item: Item, name: str, kind: str, default: Any) -> Any:
    value = item.get(name)
    if value is None:
        return default
    if kind not in value:
        raise _RejectedError("an operand in the update expression has an incorrect data type", whole=False)
    return value[kind]


# -- Items ---------------------------------------------------------------------------------------------------------


def _check_keys(item: Item, keys: dict[str, tuple[str, int]]) -> None:
    """Raise _RejectedError if an attribute of the item is no valid key."""
    for name, (kind, longest) in keys.items():
        if (value := item.get(name)) is None:
            continue
        content = value.get(kind)
        if content is None:
            raise _RejectedError(f"type mismatch for key {name}", whole=False)
        if not content:
            raise _RejectedError(f"the key attribute {name} cannot contain an empty string value")
        if kind == "S" and _bytes(content) > longest:
            raise _RejectedError(f"the size of the key {name} exceeds {longest} bytes", whole=False)


def _where(key: Item) -> Where:
    if key.keys() != _KEY.keys():
        raise _RejectedError("the key does not match the schema")
    _check_keys({name: _stored(value) for name, value in key.items()}, _KEY)
    return key["PK"]["S"], key["SK"]["S"]


@dataclass(frozen=True, slots=True)
class _Record:
    """A stored item. It is never changed. `places` are its entries: index, partition and entry."""

    item: Item
    where: Where
    size: int
    places: tuple[tuple[str, str, Entry], ...]

    @classmethod
    def of(cls, table: Table, item: Item, *, whole: bool) -> _Record:
        """`item` has stored values. `whole` is how an item that is too large is rejected."""
        _check_keys(item, _KEYS[table])
        size = _sizes(item)
        if size > _ITEM_BYTES:
            raise _RejectedError("item size has exceeded the maximum allowed size", whole=whole)
        places = tuple(
            (index.name, item[index.partition]["S"], _entry(index, item))
            for index in _ORDERS[table]
            if index.partition in item and index.sort in item
        )
        return cls(item, (item["PK"]["S"], item["SK"]["S"]), size, places)

    @classmethod
    def put(cls, table: Table, item: Item) -> _Record:
        """Return the record of an item that a request has."""
        stored = {_named(name): _stored(value) for name, value in item.items()}
        if not _KEY.keys() <= stored.keys():
            raise _RejectedError("one of the required keys was not given a value")
        return cls.of(table, stored, whole=True)


def _until(record: _Record) -> Decimal | None:
    number = record.item.get("expires_at", {}).get("N")
    return None if number is None else Decimal(number)


@dataclass
class _Records:
    """The records of a table, and their entries by index (the table itself: an empty name) and partition."""

    table: Table
    by_key: dict[Where, _Record] = field(default_factory=dict)
    orders: dict[str, dict[str, list[Entry]]] = field(default_factory=dict)
    expiring: list[tuple[Decimal, Where]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.orders = {index.name: {} for index in _ORDERS[self.table]}

    def replace(self, where: Where, new: _Record | None) -> None:
        """Write or remove a record."""
        old = self.by_key.pop(where, None)
        before, after = () if old is None else old.places, () if new is None else new.places
        if before != after:
            for name, partition, entry in before:
                entries = self.orders[name][partition]
                del entries[bisect_left(entries, entry)]
                if not entries:
                    del self.orders[name][partition]
            for name, partition, entry in after:
                insort(self.orders[name].setdefault(partition, []), entry)
        if new is not None:
            self.by_key[where] = new
            if (until := _until(new)) is not None and (old is None or until != _until(old)):
                heappush(self.expiring, (until, where))

    def remove_expired(self, now: float) -> None:
        """Remove the items that expire by `now`."""
        while self.expiring and self.expiring[0][0] <= now:
            _, where = heappop(self.expiring)
            record = self.by_key.get(where)
            until = None if record is None else _until(record)
            if until is not None and until <= now:
                self.replace(where, None)


@dataclass(frozen=True, slots=True)
class _Plan:
    """A write that is valid: whether its condition holds, and the item before and after it."""

    records: _Records
    where: Where
    old: _Record | None
    held: bool
    new: _Record | None

    def execute(self) -> None:
        if self.new is not self.old:
            self.records.replace(self.where, self.new)


class MemoryTables:
    """Implementation of stores.table.Tables. Safe to share between threads."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._records = {table: _Records(table) for table in Table}

    def get(self, table: Table, key: Item, *, consistent: bool = True) -> Item | None:
        with self._lock:
            record = self._records[table].by_key.get(_where(key))
            return None if record is None else _copy(record.item)

    def get_many(self, table: Table, keys: Iterable[Item], *, consistent: bool = False) -> list[Item]:
        with self._lock:
            wanted = _distinct([_where(key) for key in keys])
            records = self._records[table].by_key
            return [_copy(records[where].item) for where in wanted if where in records]

    def get_from_both(self, keys: Mapping[Table, Iterable[Item]], *, consistent: Collection[Table]) -> list[Item]:
        return [item for table, of_table in keys.items() for item in self.get_many(table, of_table)]

    def query(self, query: Query) -> Page:
        with self._lock:
            return self._page(query, *self._queried(query))

    def count(self, query: Query) -> tuple[int, Item | None]:
        if query.read:
            raise _RejectedError("a count has no attributes to read")
        page = self.query(query)
        return len(page.items), page.last

    def scan(self, scan: Scan) -> Page:
        with self._lock:
            return self._page(scan, *self._scanned(scan))

    def write(self, write: Write, returned: Returned = Returned.NOTHING) -> Written:
        if returned is Returned.AFTER and not isinstance(write, Update):
            raise ValueError("only an update returns the item after it")
        with self._lock:
            plan = self._planned(write)
            if plan.held:
                plan.execute()
            match returned, plan.held:
                case (Returned.NOTHING, _) | (Returned.FOUND, True):
                    record = None
                case Returned.AFTER, True:
                    record = plan.new
                case _:
                    record = plan.old
            return Written(plan.held, None if record is None else _copy(record.item))

    def write_many(self, writes: Sequence[Update | Delete]) -> list[WriteOutcome]:
        for write in writes:
            _check_statement(write)
        with self._lock:
            if len({(write.table, repr(write.key)) for write in writes}) < len(writes):
                raise ValueError("two writes have the same key")
            return [self._statement(write) for write in writes]

    def put_many(self, table: Table, items: Sequence[Item]) -> None:
        with self._lock:
            _distinct([_where({name: item[name] for name in _KEY if name in item}) for item in items])
            for begin in range(0, len(items), _BATCH):
                batch = [_Record.put(table, item) for item in items[begin : begin + _BATCH]]
                for record in batch:
                    self._records[table].replace(record.where, record)

    def transact(self, writes: Sequence[Write | Check]) -> list[int]:
        if not 1 <= len(writes) <= _TRANSACTION:
            raise _RejectedError("a transaction has no writes or too many")
        with self._lock:
            plans: list[_Plan | None] = []
            reasons = [{"Code": "None"} for _ in writes]
            for reason, write in zip(reasons, writes, strict=True):
                try:
                    plans.append(self._planned(write))
                except _RejectedError as error:
                    if error.whole:
                        raise
                    reason |= {"Code": "ValidationError", "Message": error.message}
                    plans.append(None)
            made = [plan for plan in plans if plan is not None]
            _distinct([(plan.records.table, plan.where) for plan in made])
            touched = (plan.new or plan.old for plan in made)
            if sum(0 if record is None else record.size for record in touched) > _TRANSACTION_BYTES:
                raise _RejectedError("the aggregate size of the items in the transaction exceeds 4 MB")
            if failed := [index for index, plan in enumerate(plans) if plan is not None and not plan.held]:
                return failed
            if len(made) < len(plans):
                raise ServiceError("TransactionCanceledException", "", answer={"CancellationReasons": reasons})
            for plan in made:
                plan.execute()
            return []

    def remove_expired(self, now: float) -> None:
        """Remove the items whose `expires_at` is at most `now` (UTC seconds), as time to live does."""
        with self._lock:
            for records in self._records.values():
                records.remove_expired(now)

    def first_read(self, lookahead: int, rare_lookahead: int) -> int | None:
        """Return the earliest time (UTC seconds) at which a round with these lookaheads (seconds) reads an entry of the
        index DUE.
        """
        first: int | None = None
        with self._lock:
            records = self._records[DUE.table]
            for entries in records.orders[DUE.name].values():
                for due, *where in entries:
                    if first is not None and due - rare_lookahead >= first:
                        break
                    is_rare = RARE in records.by_key[where[0], where[1]].item
                    at = int(due) - (rare_lookahead if is_rare else lookahead)
                    first = at if first is None else min(first, at)
        return first

    # -- Writes ----------------------------------------------------------------------------------------------------

    def _planned(self, write: Write | Check) -> _Plan:
        """Return what a write does. Raises _RejectedError."""
        records, new = self._records[write.table], None
        if isinstance(write, Put):
            new = _Record.put(write.table, write.item)
            where = new.where
        else:
            where = _where(write.key)
        changes = _operands(write.changes) if isinstance(write, Update) else []
        old = records.by_key.get(where)
        held = _checked(write.condition, {} if old is None else old.item)
        if isinstance(write, Check):
            new = old
        elif isinstance(write, Update) and held:
            item = _changed(_copy(write.key) if old is None else old.item, changes)
            new = _Record.of(write.table, item, whole=False)
        return _Plan(records, where, old, held, new)

    def _statement(self, write: Update | Delete) -> WriteOutcome:
        """Execute a write as PartiQL does: an update of an item that does not exist fails, and a delete succeeds."""
        condition = Present() if write.condition is None else All((Present(), write.condition))
        try:
            if isinstance(write, Update):
                plan = self._planned(Update(write.table, write.key, write.changes, condition))
            else:
                plan = self._planned(Delete(write.table, write.key, condition))
        except _RejectedError as error:
            return WriteOutcome("ValidationException" if error.value else "ValidationError", error.message)
        if plan.held:
            plan.execute()
        elif plan.old is not None or isinstance(write, Update):
            found = None if plan.old is None else _copy(plan.old.item)
            return WriteOutcome("ConditionalCheckFailed", "The conditional request failed", found)
        return WriteOutcome()

    # -- Reads -----------------------------------------------------------------------------------------------------

    def _queried(self, query: Query) -> tuple[Index, Sequence[Entry]]:
        """Return the index of a query and the entries that it evaluates, in order."""
        index, start = self._searched(query)
        if query.index is not None and query.consistent:
            raise _RejectedError("consistent reads are not supported on global secondary indexes")
        _check_operand(index.partition, query.partition, "S", _PARTITION_BYTES)
        if query.sort is not None:
            _check_sort(query.sort, index)
        if query.only is not None and {index.partition, index.sort} & _names(query.only):
            raise _RejectedError("a filter of a query can only contain attributes that are no keys")
        entries = self._records[query.table].orders[index.name].get(query.partition, [])
        begin, end = _range(entries, query.sort)
        if start is not None:
            if start[index.partition]["S"] != query.partition or not _checked(query.sort, start):
                raise _RejectedError("the provided starting key does not match the range key predicate")
            if query.newest:
                end = min(end, bisect_left(entries, _entry(index, start)))
            else:
                begin = max(begin, bisect_right(entries, _entry(index, start)))
        return index, entries[begin:end][::-1] if query.newest else entries[begin:end]

    def _scanned(self, scan: Scan) -> tuple[Index, Iterator[Entry]]:
        """Return the index of a scan and the entries that it evaluates, in order."""
        index, start = self._searched(scan)
        first = "" if start is None else start[index.partition]["S"]
        if not 0 <= scan.part < scan.parts or (start is not None and not _in_part(first, scan)):
            raise _RejectedError("the part does not exist, or the provided starting key is not in it")
        order = self._records[scan.table].orders[index.name]

        def entries(partition: str) -> list[Entry]:
            found = order[partition]
            return found[bisect_right(found, _entry(index, start)) :] if start and partition == first else found

        partitions = (each for each in sorted(order) if each >= first and _in_part(each, scan))
        return index, chain.from_iterable(map(entries, partitions))

    def _searched(self, search: Query | Scan) -> tuple[Index, Item | None]:
        """Return the index and the start of a query or scan. Raises _RejectedError for what is invalid in both."""
        index = search.index or _PRIMARY[search.table]
        if index not in _ORDERS[search.table]:
            raise _RejectedError("the table does not have the specified index")
        if search.limit is not None and search.limit < 1:
            raise _RejectedError("the limit must be at least 1")
        used = {_named(name) for name in search.read}
        if len(used) < len(search.read):
            raise _RejectedError("two document paths overlap with each other")
        if search.only is not None:
            _checked(search.only, {})
            used |= _names(search.only)
        if index.keys_only and not used <= {*_NAMES[index.name]}:
            raise _RejectedError("the index does not project all attributes")
        if search.start is None:
            return index, None
        if search.start.keys() != {*_NAMES[index.name]}:
            raise _RejectedError("the provided starting key is invalid")
        start = {name: _stored(value) for name, value in search.start.items()}
        _check_keys(start, _KEYS[search.table])
        return index, start

    def _page(self, search: Query | Scan, index: Index, entries: Iterable[Entry]) -> Page:
        """Evaluate entries until the limit or the size of a page is reached."""
        records, keys = self._records[search.table].by_key, _NAMES[index.name]
        read = search.read or (keys if index.keys_only else ())
        found: list[Item] = []
        size, last = 0, Item()
        for evaluated, (_, partition, sort) in enumerate(entries, start=1):
            record = records[partition, sort]
            item = record.item
            size += _sizes(_only(item, keys)) if index.keys_only else record.size
            if size > _PAGE_BYTES and last:
                return Page(found, _copy(_only(last, keys)))
            last = item
            if search.only is None or _holds(search.only, item):
                found.append(_copy(_only(item, read) if read else item))
            if evaluated == search.limit:
                return Page(found, _copy(_only(item, keys)))
        return Page(found, None)


def _in_part(partition: str, scan: Scan) -> bool:
    return scan.parts == 1 or crc32(partition.encode()) % scan.parts == scan.part


def _only(item: Item, names: Iterable[str]) -> Item:
    return {name: item[name] for name in names if name in item}


def _names(condition: Condition) -> set[str]:
    return {part.name for part in _parts(condition) if not isinstance(part, All | AnyOf | Not)}


def _check_operand(name: str, value: Value, kind: str, longest: int) -> None:
    _check_keys({name: _stored(attribute(value))}, {name: (kind, longest)})


def _check_sort(sort: Compare | Between | Prefix, index: Index) -> None:
    if sort.name != index.sort:
        raise ValueError(f"{sort.name} is not the sort key {index.sort}")
    _holds(sort, {})
    match sort:
        case Between(name, low, high):
            values: tuple[Value, ...] = (low, high)
        case Compare(name, _, value) | Prefix(name, value):
            values = (value,)
    for each in values:
        _check_operand(name, each, "N" if index.number else "S", _SORT_BYTES)


def _range(entries: list[Entry], sort: Compare | Between | Prefix | None) -> tuple[int, int]:
    """Return the begin and the end of the entries that a condition on the sort key selects."""

    def left(value: Value) -> int:
        return bisect_left(entries, _operand(value)[1], key=_SORT)

    def right(value: Value) -> int:
        return bisect_right(entries, _operand(value)[1], key=_SORT)

    match sort:
        case None:
            return 0, len(entries)
        case Between(_, low, high):
            return left(low), right(high)
        case Prefix(_, text):
            return left(text), bisect_right(entries, text, key=lambda entry: entry[0][: len(text)])
        case Compare(_, how, value):
            begin = left(value) if how in ("=", ">=") else right(value) if how == ">" else 0
            end = right(value) if how in ("=", "<=") else left(value) if how == "<" else len(entries)
            return begin, end


def _check_statement(write: Update | Delete) -> None:
    """Raise TypeError for a change or condition that has no form in PartiQL."""
    changes = write.changes if isinstance(write, Update) else ()
    parts = write.condition.parts if isinstance(write.condition, All) else (write.condition,)
    for change in changes:
        if not isinstance(change, Set | Remove):
            raise TypeError(f"{change} has no form in PartiQL")
    for part in parts:
        if part is not None and not isinstance(part, Compare | Present | Absent):
            raise TypeError(f"{part} has no form in PartiQL")


def _distinct(keys: list[_T]) -> list[_T]:
    if len({*keys}) < len(keys):
        raise _RejectedError("two operations have the same key")
    return keys
