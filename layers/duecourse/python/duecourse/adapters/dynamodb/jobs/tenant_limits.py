"""A tenant's token bucket and counters in the jobs table: one small item each, apart from its jobs."""

from __future__ import annotations

from typing import Any

from botocore.exceptions import ClientError

from duecourse.adapters.dynamodb import values
from duecourse.adapters.dynamodb.errors import condition_failed, found
from duecourse.adapters.dynamodb.jobs import job_count
from duecourse.adapters.dynamodb.keys import Item, tenant_key
from duecourse.adapters.dynamodb.reading import read_item
from duecourse.domain.jobs.bucket import Bucket
from duecourse.ports import BucketConflict

BUCKET = "BUCKET"

KEPT_SECONDS = 86_400
"""For how long an untouched bucket is kept: by then it is full again, and a full one need not be written down."""


class DynamoTenantLimits:
    """ports.TenantLimits."""

    def __init__(self, client: Any, table: str) -> None:
        self._client = client
        self._table = table

    def bucket(self, tenant: str) -> Bucket | None:
        """See ports.TenantLimits."""
        item = read_item(self._client, self._table, tenant_key(tenant, BUCKET))
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
        return job_count.total(self._client, self._table, tenant)


def _bucket(item: Item) -> Bucket:
    return Bucket(float(item["tokens"]["N"]), float(item["at"]["N"]))
