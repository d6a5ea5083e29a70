"""API keys in the jobs table: `TENANT#<tenant>/APIKEY#<id>`. `APIKEY#` counts the keys that the tenant has added."""

from __future__ import annotations

from typing import Any

from duecourse.adapters.dynamodb.conditions import ABSENT, PRESENT
from duecourse.adapters.dynamodb.writing import TableStore, conditional, read_items, transact
from duecourse.domain.runs.api_keys import ApiKey
from duecourse.ports import AllKeys, Clock
from duecourse.stores import values
from duecourse.stores.keys import API_KEY_PREFIX, Item, tenant_key

_FIELDS = (
    *(
        "hash",
        "job_id",
        "job_generation",
        "description",
        "created_at",
        "created_by",
        "valid_until",
        "requests_per_minute",
    ),
    *("debounce_seconds", "debounce_key", "last_used_at", "salt", "request"),
)


class DynamoApiKeys(TableStore):
    """Implementation of ports.ApiKeyStore."""

    def __init__(self, client: Any, table: str, clock: Clock) -> None:
        super().__init__(client, table)
        self._clock = clock

    def get(self, tenant: str, key_id: str) -> ApiKey | None:
        """Return the key; None if there is none. Strongly consistent."""
        item = self._item(_key(tenant, key_id))
        return None if item is None else _api_key(tenant, item)

    def all(self, tenant: str) -> AllKeys:
        """Return all keys of the tenant (at most MAX_KEYS), ordered by id. Strongly consistent."""
        query = values.expressions(
            {"hash": tenant_key(tenant, "")["PK"]["S"], "prefix": API_KEY_PREFIX},
            key="#PK = :hash AND begins_with(#SK, :prefix)",
        )
        items = list(read_items(self._client, TableName=self._table, ConsistentRead=True, **query))
        version = values.integer(items.pop(0), "version") if items else 0  # the version sorts first
        return AllKeys([_api_key(tenant, item) for item in items], version)

    def add(self, key: ApiKey, version: int, replaced: str | None = None) -> bool:
        """Write a new key if no other key has been added since `version`, and delete the key with the id `replaced`.
        Return whether it was written. Raises StoreBusyError.
        """
        item = _key(key.tenant, key.id) | values.pack({name: getattr(key, name) for name in _FIELDS})
        item |= values.pack({"expires_at": key.expires_at, "events": key.events})
        unchanged = "attribute_not_exists(#version)" if version == 0 else "#version = :version"
        stand = {"next": version + 1} | ({"version": version} if version else {})
        counted = {
            "TableName": self._table,
            "Key": _key(key.tenant, ""),
            **values.expressions(stand, update="SET #version = :next", condition=unchanged),
        }
        put = {"TableName": self._table, "Item": item, **ABSENT}
        gone = [] if replaced is None else [{"Delete": {"TableName": self._table, "Key": _key(key.tenant, replaced)}}]
        return not transact(self._client, [{"Put": put}, {"Update": counted}, *gone], self._clock)

    def delete(self, tenant: str, key_id: str) -> bool:
        """Delete the key. Return whether there was one."""
        return conditional(self._client.delete_item, TableName=self._table, Key=_key(tenant, key_id), **PRESENT)

    def note_use(self, key: ApiKey, at: float) -> None:
        """Store the last use (UTC seconds), unless the key has been deleted or used since it was read."""
        before = "attribute_not_exists(#last_used_at)" if key.last_used_at is None else "#last_used_at = :before"
        self._update(
            _key(key.tenant, key.id),
            "SET #last_used_at = :at",
            f"attribute_exists(PK) AND {before}",
            at=at,
            before=key.last_used_at,
        )


def _key(tenant: str, key_id: str) -> Item:
    return tenant_key(tenant, f"{API_KEY_PREFIX}{key_id}")


def _api_key(tenant: str, item: Item) -> ApiKey:
    key_id = item["SK"]["S"].removeprefix(API_KEY_PREFIX)
    events = frozenset(item["events"]["SS"]) if "events" in item else frozenset[str]()
    return ApiKey(tenant, key_id, events=events, **values.read_fields(ApiKey, item, _FIELDS))
