"""API keys in the jobs table: `TENANT#<tenant>/APIKEY#<id>`. `APIKEY#` counts the keys that the tenant has added."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from duecourse.domain.runs.api_keys import ApiKey
from duecourse.stores import values
from duecourse.stores.keys import API_KEY_PREFIX, Item, tenant_key
from duecourse.stores.table import (
    Absent,
    Check,
    Delete,
    Prefix,
    Present,
    Put,
    Query,
    Set,
    Table,
    Tables,
    Update,
    Write,
    all_of,
    holds,
    pages,
)

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
    *("debounce_seconds", "debounce_key", "last_used_at", "salt", "request", "deduplicate_key"),
)


@dataclass(frozen=True, slots=True)
class AllKeys:
    """All keys of a tenant. `version` increases with every key that is added."""

    items: Sequence[ApiKey]
    version: int


class ApiKeyStore:
    """The API keys of a tenant."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def get(self, tenant: str, key_id: str) -> ApiKey | None:
        """Return the key; None if there is none. Strongly consistent."""
        item = self._tables.get(Table.JOBS, _key(tenant, key_id))
        return None if item is None else _api_key(tenant, item)

    def all(self, tenant: str) -> AllKeys:
        """Return all keys of the tenant (at most MAX_KEYS), ordered by id. Strongly consistent."""
        partition = tenant_key(tenant, "")["PK"]["S"]
        query = Query(Table.JOBS, partition, Prefix("SK", API_KEY_PREFIX), consistent=True)
        items = list(pages(self._tables, query))
        version = values.integer(items.pop(0), "version") if items else 0  # the version sorts first
        return AllKeys([_api_key(tenant, item) for item in items], version)

    def add(self, key: ApiKey, version: int, replaced: str | None = None) -> bool:
        """Write a new key if no other key has been added since `version`, and delete the key with the id `replaced`.
        Return whether it was written. Raises StoreBusyError.
        """
        item = _key(key.tenant, key.id) | values.pack({name: getattr(key, name) for name in _FIELDS})
        item |= values.pack({"expires_at": key.expires_at, "events": key.events, "scopes": key.scopes})
        count, unchanged = (Set("version", version + 1),), holds({"version": version or None})
        writes: list[Write | Check] = [
            Put(Table.JOBS, item, Absent()),
            Update(Table.JOBS, _key(key.tenant, ""), count, unchanged),
        ]
        if replaced is not None:
            writes.append(Delete(Table.JOBS, _key(key.tenant, replaced)))
        return not self._tables.transact(writes)

    def delete(self, tenant: str, key_id: str) -> bool:
        """Delete the key. Return whether there was one."""
        return self._tables.write(Delete(Table.JOBS, _key(tenant, key_id), Present())).held

    def note_use(self, key: ApiKey, at: float) -> None:
        """Store the last use (UTC seconds), unless the key has been deleted or used since it was read."""
        condition = all_of(Present(), holds({"last_used_at": key.last_used_at}))
        self._tables.write(Update(Table.JOBS, _key(key.tenant, key.id), (Set("last_used_at", at),), condition))


def _key(tenant: str, key_id: str) -> Item:
    return tenant_key(tenant, f"{API_KEY_PREFIX}{key_id}")


def _api_key(tenant: str, item: Item) -> ApiKey:
    key_id = item["SK"]["S"].removeprefix(API_KEY_PREFIX)
    given = values.read_fields(ApiKey, item, _FIELDS)
    given |= {name: frozenset(item[name]["SS"]) for name in ("events", "scopes") if name in item}
    return ApiKey(tenant, key_id, **given)
