"""Stored limits of concurrency keys in the jobs table: `TENANT#<tenant>/LIMIT#<key>`."""

from __future__ import annotations

from duecourse.adapters.dynamodb.conditions import PRESENT
from duecourse.adapters.dynamodb.writing import TableStore, conditional
from duecourse.domain.runs.overlap import KeyLimit
from duecourse.ports import KeyLimitPage
from duecourse.stores import values
from duecourse.stores.keys import LIMIT_PREFIX, Item, tenant_key

_FIELDS = ("concurrency", "per_minute", "burst", "failures", "open_seconds", "updated_at", "updated_by")


class DynamoKeyLimits(TableStore):
    """Implementation of ports.KeyLimits."""

    def get(self, tenant: str, key: str) -> KeyLimit | None:
        """Return the limit of a key; None if there is none. Strongly consistent."""
        item = self._item(_key(tenant, key))
        return None if item is None else _limit(tenant, item)

    def page(self, tenant: str, *, limit: int, after: str | None) -> KeyLimitPage:
        """Return a page of the tenant's limits, beginning after a key. May be stale."""
        request = values.expressions(
            {"hash": tenant_key(tenant, "")["PK"]["S"], "prefix": LIMIT_PREFIX},
            key="#PK = :hash AND begins_with(#SK, :prefix)",
        )
        start = {} if after is None else {"ExclusiveStartKey": _key(tenant, after)}
        answer = self._client.query(TableName=self._table, Limit=limit, **request, **start)
        found = tuple(_limit(tenant, item) for item in answer["Items"])
        return KeyLimitPage(found, found[-1].key if found and "LastEvaluatedKey" in answer else None)

    def put(self, limit: KeyLimit) -> bool:
        """Write the limit unconditionally. Return whether there was none before."""
        item = _key(limit.tenant, limit.key) | values.pack({name: getattr(limit, name) for name in _FIELDS})
        answer = self._client.put_item(TableName=self._table, Item=item, ReturnValues="ALL_OLD")
        return not answer.get("Attributes")

    def delete(self, tenant: str, key: str) -> bool:
        """Delete the limit. Return whether there was one."""
        return conditional(self._client.delete_item, TableName=self._table, Key=_key(tenant, key), **PRESENT)


def _key(tenant: str, key: str) -> Item:
    return tenant_key(tenant, f"{LIMIT_PREFIX}{key}")


def _limit(tenant: str, item: Item) -> KeyLimit:
    key = item["SK"]["S"].removeprefix(LIMIT_PREFIX)
    return KeyLimit(tenant, key, **values.read_fields(KeyLimit, item, _FIELDS))
