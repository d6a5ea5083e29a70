"""The items of keys by which callers name their requests."""

from __future__ import annotations

from typing import Any

from duecourse.adapters.dynamodb import values
from duecourse.adapters.dynamodb.keys import KEY_PREFIX, Item, tenant_key
from duecourse.ports import UsedKey


def key_of(tenant: str, digest: str) -> Item:
    """`TENANT#acme/KEY#<sha256>`."""
    return tenant_key(tenant, f"{KEY_PREFIX}{digest}")


def put(tenant: str, used: UsedKey, now: float, table: str) -> dict[str, Any]:
    """The write that uses a key up, unless it is used already. TTL removes items up to days late, so time is asked."""
    stand = {"request": used.request, "job_id": used.job_id, "expires_at": used.expires_at}
    return {
        "Put": {
            "TableName": table,
            "Item": key_of(tenant, used.digest) | values.pack(stand),
            "ConditionExpression": "attribute_not_exists(PK) OR #expires_at <= :now",
            "ExpressionAttributeNames": {"#expires_at": "expires_at"},
            "ExpressionAttributeValues": values.pack({":now": int(now)}),
        }
    }


def from_item(item: Item, now: float) -> UsedKey | None:
    """The key of an item, unless it is kept no more."""
    expires_at = values.integer(item, "expires_at")
    if expires_at <= int(now):
        return None
    digest = item["SK"]["S"].removeprefix(KEY_PREFIX)
    return UsedKey(digest, values.text(item, "request"), values.text(item, "job_id"), expires_at)
