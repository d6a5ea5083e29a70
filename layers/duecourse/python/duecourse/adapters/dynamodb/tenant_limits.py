"""A tenant's token bucket and counters in the jobs table: one small item each, apart from its jobs."""

from __future__ import annotations

from typing import Any

from botocore.exceptions import ClientError

from duecourse.adapters.dynamodb import values
from duecourse.adapters.dynamodb.errors import condition_failed, found
from duecourse.adapters.dynamodb.keys import LIMITS, Item, tenant_key
from duecourse.domain.bucket import Bucket
from duecourse.ports import BucketConflict

BUCKET = "BUCKET"

KEPT_SECONDS = 86_400
"""For how long an untouched bucket is kept: by then it is full again, and a full one need not be written down."""


def counted(table: str, tenant: str, more: int, quota: int | None = None) -> dict[str, Any]:
    """The write that counts a tenant's jobs, refused at the quota; a part of the transaction that writes the job."""
    update = {
        "TableName": table,
        "Key": tenant_key(tenant, LIMITS),
        "UpdateExpression": "ADD #jobs :more",
        "ExpressionAttributeNames": {"#jobs": "jobs"},
        "ExpressionAttributeValues": values.pack({":more": more, ":quota": quota}),
    }
    bound = {} if quota is None else {"ConditionExpression": "attribute_not_exists(#jobs) OR #jobs < :quota"}
    return {"Update": update | bound}


class DynamoTenantLimits:
    """ports.TenantLimits."""

    def __init__(self, client: Any, table: str) -> None:
        self._client = client
        self._table = table

    def bucket(self, tenant: str) -> Bucket | None:
        """See ports.TenantLimits."""
        item = self._get(tenant, BUCKET)
        return None if item is None else _bucket(item)

    def write_bucket(self, tenant: str, bucket: Bucket, previous: Bucket | None) -> BucketConflict | None:
        """See ports.TenantLimits."""
        condition: dict[str, Any] = {"ConditionExpression": "attribute_not_exists(PK)"}
        if previous is not None:
            condition = {
                "ConditionExpression": "#tokens = :tokens AND #at = :at",
                "ExpressionAttributeNames": {"#tokens": "tokens", "#at": "at"},
                "ExpressionAttributeValues": values.pack({":tokens": previous.tokens, ":at": previous.at}),
            }
        stand = {"tokens": bucket.tokens, "at": bucket.at, "expires_at": int(bucket.at) + KEPT_SECONDS}
        try:
            self._client.put_item(
                TableName=self._table,
                Item=tenant_key(tenant, BUCKET) | values.pack(stand),
                ReturnValuesOnConditionCheckFailure="ALL_OLD",
                **condition,
            )
        except ClientError as error:
            if not condition_failed(error):
                raise
            item = found(error)
            return BucketConflict(None if item is None else _bucket(item))
        return None

    def jobs(self, tenant: str) -> int:
        """See ports.TenantLimits."""
        item = self._get(tenant, LIMITS)
        return 0 if item is None else max(values.optional_integer(item, "jobs") or 0, 0)

    def _get(self, tenant: str, sort: str) -> Item | None:
        item: Item | None = self._client.get_item(
            TableName=self._table, Key=tenant_key(tenant, sort), ConsistentRead=True
        ).get("Item")
        return item


def _bucket(item: Item) -> Bucket:
    return Bucket(float(item["tokens"]["N"]), float(item["at"]["N"]))
