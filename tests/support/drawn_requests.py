"""Requests to both tables that are drawn: mostly valid, sometimes odd or too large."""

from collections.abc import Callable, Sequence
from typing import Any

from duecourse.stores.table import (
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
)
from duecourse.stores.values import attribute
from tests.support.table_requests import Request

TEXTS = ("a", "b", "ab", "é", "𝄞")
NUMBERS = (0, 1, 2, 3, -1, 1.5, 0.1, 1764288000.123)
SETS = tuple(frozenset(each) for each in (("a",), ("a", "b"), ("é", ""), ("a", "b", "é")))
ODD_NUMBERS = (-0.0, 1e100, 9e125, 1e126, 1e-130, 1e-131, 10**37, 10**38 - 1, 10**38 + 1, float("nan"), float("-inf"))
LENGTHS = (("a", 0), ("a", 1024), ("a", 1025), ("a", 2049), ("a", 150_000), ("a", 409_500), ("é", 204_801))
METHODS = (*["write"] * 4, "put_many", "write_many", "transact", "get", "get_many", "query", "query", "scan", "count")
ORDERS = ("=", "<", "<=", ">", ">=")


class Drawn:
    """What is drawn with a function that picks one of several options."""

    def __init__(self, pick: Callable[[Sequence[Any]], Any]) -> None:
        self._pick = pick
        self._table: Table = pick(tuple(Table))
        self._indexes = tuple(index for index in INDEXES if index.table is self._table)
        keys = [name for index in self._indexes for name in (index.partition, index.sort)]
        self._names = ("x", "count", "tags", *keys)
        self._numbers = {"count", *(index.sort for index in self._indexes if index.number)}

    def request(self) -> Request:
        """A request to the table that was picked."""
        method = self._pick(METHODS)
        arguments: tuple[Any, ...]
        match method:
            case "write":
                write = self._write()
                returned = [each for each in Returned if each is not Returned.AFTER or isinstance(write, Update)]
                arguments = (write, self._pick(returned))
            case "put_many":
                arguments = (self._table, self._distinct(self._item))
            case "write_many":
                arguments = (self._distinct(self._statement),)
            case "transact":
                arguments = (self._distinct(self._part),)
            case "get":
                arguments = (self._table, self._key())
            case "get_many":
                arguments = (self._table, self._several(self._key))
            case "scan":
                arguments = (self._scan(),)
            case "count":
                arguments = (self._query(None, (0, 1, 2), ()),)
            case _:
                arguments = (self._query(self._pick((None, *self._indexes)), (None, None, 1, 2, 3, 0), self._read()),)
        return Request(method, arguments)

    def _seldom(self) -> bool:
        return bool(self._pick(range(10)) == 9)

    def _several(self, one: Callable[[], Any], most: int = 4) -> list[Any]:
        return [one() for _ in range(self._pick(range(1, most + 1)))]

    def _distinct(self, one: Callable[[], Any]) -> list[Any]:
        """Several items or writes with different keys."""
        found = self._several(one)
        keys = [each if isinstance(each, dict) else each.item if isinstance(each, Put) else each.key for each in found]
        return [*{(key["PK"]["S"], key["SK"]["S"]): each for key, each in zip(keys, found, strict=True)}.values()]

    def _key(self) -> Item:
        return {"PK": {"S": self._pick(("p", "q"))}, "SK": {"S": self._pick(TEXTS)}}

    def _value(self, name: str = "x") -> Value:
        """A value, mostly of the usual type of the attribute."""
        if self._seldom():
            if (kind := self._pick(range(4))) == 3:
                letter, length = self._pick(LENGTHS)
                return str(letter * length)
            odd: Value = self._pick((ODD_NUMBERS, (frozenset(),), (True, False))[kind])
            return odd
        usual: tuple[Value, ...] = TEXTS
        if name in self._numbers:
            usual = NUMBERS
        elif name in ("tags", "x"):
            usual = SETS if name == "tags" else self._pick((TEXTS, NUMBERS, SETS, (True, False)))
        value: Value = self._pick(usual)
        return value

    def _item(self) -> Item:
        names = {name for name in self._names if self._pick((True, False))}
        return self._key() | {name: attribute(self._value(name)) for name in self._names if name in names}

    def _condition(self, depth: int = 2) -> Condition:
        kinds = ("=", "=", "order", "between", "in", "prefix", "present", "absent", "all", "any", "not")
        kind = self._pick(kinds[: None if depth else -3])
        name = self._pick((*self._names, "PK", "SK"))
        match kind:
            case "=":
                return Compare(name, "=", self._value(name))
            case "order":
                return Compare(name, self._pick(ORDERS), self._value(name))
            case "between":
                low, high = self._value(name), self._value(name)
                return Between(name, *(sorted((low, high)) if type(low) is type(high) else (low, high)))
            case "in":
                return In(name, tuple(self._several(lambda: self._value(name))))
            case "prefix":
                return Prefix(name, self._pick(TEXTS))
            case "present":
                return Present(name)
            case "absent":
                return Absent(name)
            case "not":
                return Not(self._condition(depth - 1))
            case _:
                parts = tuple(self._several(lambda: self._condition(depth - 1), 3))
                return All(parts) if kind == "all" else AnyOf(parts)

    def _only(self) -> Condition | None:
        return self._condition() if self._pick((False, True)) else None

    def _changes(self, *, statement: bool) -> tuple[Change, ...]:
        changes = self._several(lambda: self._change(statement=statement), 3)
        return tuple(changes if self._seldom() else {change.name: change for change in changes}.values())

    def _change(self, *, statement: bool) -> Change:
        name = self._pick((*self._names, "SK")) if self._seldom() else self._pick(self._names)
        match self._pick(("set", "set", "remove") if statement else ("set", "set", "remove", "add", "take")):
            case "set":
                return Set(name, self._value(name))
            case "remove":
                return Remove(name)
            case "add":
                return Add(self._pick(("count", name)), self._pick(ODD_NUMBERS if self._seldom() else NUMBERS))
            case _:
                return RemoveFrom(self._pick(("tags", name)), self._pick(SETS))

    def _write(self) -> Write:
        match self._pick(("put", "update", "update", "delete")):
            case "put":
                return Put(self._table, self._item(), self._only())
            case "update":
                return Update(self._table, self._key(), self._changes(statement=False), self._only())
            case _:
                return Delete(self._table, self._key(), self._only())

    def _part(self) -> Write | Check:
        return self._write() if self._pick(range(4)) else Check(self._table, self._key(), self._condition())

    def _statement(self) -> Update | Delete:
        parts = [
            Absent(name) if self._pick((True, False)) else Compare(name, self._pick(ORDERS), self._value(name))
            for name in self._several(lambda: self._pick(self._names), 2)
        ]
        condition = self._pick((None, parts[0], All(tuple(parts))))
        if self._pick((True, True, False)):
            return Update(self._table, self._key(), self._changes(statement=True), condition)
        return Delete(self._table, self._key(), condition)

    def _read(self) -> tuple[str, ...]:
        return tuple({*self._several(lambda: self._pick((*self._names, "PK", "SK")))}) if self._seldom() else ()

    def _scan(self) -> Scan:
        index, parts, limit = self._pick((None, *self._indexes)), self._pick((1, 1, 2)), self._pick((None, 1, 2, 3))
        only = None if index is not None and index.keys_only else self._only()  # a filter of others: rejected_requests
        return Scan(self._table, index, 0, parts, limit, None, only, self._read())

    def _query(self, index: Index | None, limits: tuple[int | None, ...], read: tuple[str, ...]) -> Query:
        name = "SK" if index is None else index.sort
        start = self._key() if index is None and self._seldom() else None
        consistent = index is None or self._seldom()
        partition = self._pick(("p", "q") if index is None else TEXTS)
        return Query(
            self._table, partition, self._sort(name), index, self._pick((False, True)), consistent, self._pick(limits),
            start, self._only(), read,
        )  # fmt: skip

    def _sort(self, name: str) -> Compare | Between | Prefix | None:
        match self._pick((None, "order", "between", "prefix")):
            case None:
                return None
            case "order":
                return Compare(name, self._pick(ORDERS), self._value(name if name in self._numbers else "SK"))
            case "prefix":
                return Prefix(name, self._pick((*TEXTS, "")))
            case _:
                values = NUMBERS if name in self._numbers else TEXTS
                return Between(name, *sorted((self._pick(values), self._pick(values))))
