"""Who waits for a job's overlap lock, in the runs table: one small item, only for jobs that queue or replace."""

from __future__ import annotations

from typing import Any

from botocore.exceptions import ClientError

from duecourse.adapters.dynamodb import values
from duecourse.adapters.dynamodb.errors import condition_failed
from duecourse.adapters.dynamodb.keys import WAITER, Item, job_key
from duecourse.domain.overlap import Waiter


class DynamoWaiters:
    """ports.Waiters."""

    def __init__(self, client: Any, table: str) -> None:
        self._client = client
        self._table = table

    def front(self, tenant: str, job_id: str) -> Waiter | None:
        """See ports.Waiters."""
        key = job_key(tenant, job_id, WAITER)
        item: Item | None = self._client.get_item(TableName=self._table, Key=key, ConsistentRead=True).get("Item")
        return None if item is None else Waiter(values.text(item, "name"), float(item["until"]["N"]))

    def step_up(self, tenant: str, job_id: str, waiter: Waiter, *, newest: bool, now: float) -> bool:
        """See ports.Waiters."""
        comes_before = "#name <= :mine" if newest else "#name >= :mine"
        # Its TTL clears away what nobody took back: a waiter whose message was lost.
        stand = {"name": waiter.name, "until": waiter.until, "expires_at": int(waiter.until) + 86_400}
        return self._conditionally(
            self._client.put_item,
            Item=job_key(tenant, job_id, WAITER) | values.pack(stand),
            ConditionExpression=f"attribute_not_exists(PK) OR #until < :now OR {comes_before}",
            ExpressionAttributeNames={"#name": "name", "#until": "until"},
            ExpressionAttributeValues=values.pack({":mine": waiter.name, ":now": now}),
        )

    def leave(self, tenant: str, job_id: str, name: str) -> None:
        """See ports.Waiters."""
        self._conditionally(
            self._client.delete_item,
            Key=job_key(tenant, job_id, WAITER),
            ConditionExpression="#name = :mine",
            ExpressionAttributeNames={"#name": "name"},
            ExpressionAttributeValues=values.pack({":mine": name}),
        )

    def _conditionally(self, write: Any, **request: Any) -> bool:
        try:
            write(TableName=self._table, **request)
        except ClientError as error:
            if not condition_failed(error):
                raise
            return False
        return True
