"""A client of DynamoDB that adds up the billed units of its writes, from the items before and after each write."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from math import ceil
from typing import Any

from benchmarks.wire.capacity import KB, item_bytes

Item = Mapping[str, Any]
Key = tuple[str, str, str]
"""Table, partition key, sort key."""

TRANSACTION = 2
"""The factor for the units of a table in a transaction, compared with the same writes alone ("DynamoDB transactions",
Amazon DynamoDB Developer Guide). Indexes are not part of a transaction: DynamoDB updates them afterwards and bills each
update once, as others have measured on AWS (github.com/nubo-db/dynoxide, pull request 188).
"""


@dataclass(frozen=True)
class Metered:
    """A client that counts its writes. All other methods are those of the real client. For one thread at a time.

    A write costs a unit for each started KB of the larger of the item before and after, whether its condition holds or
    not. It costs the same for each index in which the item changes (an index contains all attributes, or only keys). If
    the item's key in an index changes, it costs the units of the deleted and of the written entry ("DynamoDB read and
    write operations", "Using Global Secondary Indexes", Amazon DynamoDB Developer Guide).
    """

    client: Any
    requests: Counter[str] = field(default_factory=Counter)
    """The requests by operation."""
    units: Counter[str] = field(default_factory=Counter)
    """The write units by the kinds of partition key and sort key (`JOB RUN`)."""
    _indexes: dict[str, list[Mapping[str, Any]]] = field(default_factory=dict, repr=False)

    def __getattr__(self, name: str) -> Any:
        made = getattr(self.client, name)
        return self._counted(name, made) if callable(made) else made

    @property
    def written(self) -> int:
        """All write units so far."""
        return self.units.total()

    def clear(self) -> None:
        """Reset the counts."""
        self.requests.clear()
        self.units.clear()

    def _counted(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*words: Any, **request: Any) -> Any:
            self.requests[name] += 1
            keys = list(_written(name, request))
            before = [self._item(key) for key in keys]
            try:
                return call(*words, **request)
            finally:
                for key, old in zip(keys, before, strict=True):
                    new, times = self._item(key), TRANSACTION if name == "transact_write_items" else 1
                    self.units[_kind(key)] += _begun(old, new) * times + self._in_indexes(key[0], old, new)

        return counted

    def _item(self, key: Key) -> Item:
        table, partition, sort = key
        found = self.client.get_item(
            TableName=table, Key={"PK": {"S": partition}, "SK": {"S": sort}}, ConsistentRead=True
        )
        item: Item = found.get("Item", {})
        return item

    def _in_indexes(self, table: str, old: Item, new: Item) -> int:
        if table not in self._indexes:
            described = self.client.describe_table(TableName=table)["Table"]
            self._indexes[table] = described.get("GlobalSecondaryIndexes", [])
        return sum(_in_index(index, old, new) for index in self._indexes[table])


def _in_index(index: Mapping[str, Any], old: Item, new: Item) -> int:
    names = [each["AttributeName"] for each in index["KeySchema"]]
    kept = {*names, "PK", "SK"} if index["Projection"]["ProjectionType"] == "KEYS_ONLY" else {*old, *new}
    was, now = (
        {name: value for name, value in item.items() if name in kept} if all(name in item for name in names) else {}
        for item in (old, new)
    )
    if was == now:
        return 0
    if was and now and any(was[name] != now[name] for name in names):
        return _begun(was) + _begun(now)
    return _begun(was, now)


def _begun(*items: Item) -> int:
    return max(ceil(max(map(item_bytes, items)) / KB), 1)


def _kind(key: Key) -> str:
    """Return the kind of an item: the words before the first `#` of its keys."""
    return " ".join(part.partition("#")[0] for part in key[1:])


def _written(name: str, request: Mapping[str, Any]) -> Iterator[Key]:
    """Yield the keys of the items that a request writes."""
    match name:
        case "put_item":
            yield _key(request["TableName"], request["Item"])
        case "update_item" | "delete_item":
            yield _key(request["TableName"], request["Key"])
        case "transact_write_items":
            for each in request["TransactItems"]:
                ((_, asked),) = each.items()
                yield _key(asked["TableName"], asked.get("Item") or asked["Key"])
        case "batch_write_item":
            for table, asked in request["RequestItems"].items():
                yield from (_key(table, (one.get("PutRequest") or {}).get("Item", {})) for one in asked)
        case "batch_execute_statement":
            for each in request["Statements"]:
                change, _, _ = each["Statement"].partition(" WHERE ")
                keys = each["Parameters"][change.count("?") :]
                yield _key(change.split('"')[1], {"PK": keys[0], "SK": keys[1]})


def _key(table: str, item: Item) -> Key:
    return table, item["PK"]["S"], item["SK"]["S"]
