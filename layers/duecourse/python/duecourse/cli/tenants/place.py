"""A tenant of a stage, the item that closes it, and the reads that all commands share."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import ClientError

from duecourse.checks.tenants import Closed, tenant_of
from duecourse.cli.doctor.stage import Stage
from duecourse.cli.terminal import UsageError

Item = dict[str, Any]
Progress = Callable[[str, int, int | None], None]
"""Called with the current step, the number of items that it has processed, and the total number if it is known."""

PAGE = 100
"""The number of jobs that one step reads: BatchGetItem accepts 100 keys."""

BATCH = 25
"""The maximum number of items of one BatchWriteItem (Amazon DynamoDB API Reference, "BatchWriteItem")."""

MIN_WAIT_SECONDS, MAX_WAIT_SECONDS = 0.1, 20.0


def quiet(step: str, done: int, of: int | None) -> None:
    """Show no progress."""


@dataclass(frozen=True, slots=True)
class Place:
    """A tenant of a stage. `now` (UTC seconds) and `sleep` are the clock, `progress` shows the progress of a command.
    All methods raise ClientError.
    """

    stage: Stage
    tenant: str
    now: Callable[[], float] = time.time
    sleep: Callable[[float], None] = time.sleep
    progress: Progress = quiet

    @property
    def database(self) -> Any:
        """The client of both tables."""
        return self.stage.clients("dynamodb")

    @property
    def jobs(self) -> str:
        """The table of jobs."""
        return self.stage.outputs["JobsTable"]

    @property
    def runs(self) -> str:
        """The table of runs."""
        return self.stage.outputs["RunsTable"]

    @property
    def rate_key(self) -> Item:
        """The key of the item of the tenant's request rate, which also closes the tenant."""
        return {"PK": {"S": f"TENANT#{self.tenant}"}, "SK": {"S": "RATE"}}

    def rate(self) -> Item:
        """Return the item of the tenant's request rate, or an empty item."""
        answer = self.database.get_item(TableName=self.jobs, Key=self.rate_key, ConsistentRead=True)
        found: Item = answer.get("Item", {})
        return found

    def closed(self) -> Closed | None:
        """Return how the tenant is closed, or None."""
        return Closed.of(self.rate())

    def write(self, table: str, key: Item, change: str, condition: str, stand: Mapping[str, Any]) -> bool:
        """Update an item. Return False if the condition does not hold: another writer was first."""
        named = {f":{name}": packed(value) for name, value in stand.items()}
        used = {name: value for name, value in named.items() if name in f"{change} {condition}"}
        names = {name: name[1:] for name in ("#error", "#at") if name in f"{change} {condition}"}
        try:
            self.database.update_item(
                TableName=table,
                Key=key,
                UpdateExpression=change,
                ConditionExpression=condition,
                ExpressionAttributeValues=used,
                **({"ExpressionAttributeNames": names} if names else {}),
            )
        except ClientError as error:
            if error.response["Error"]["Code"] == "ConditionalCheckFailedException":
                return False
            raise
        return True

    def job_ids(self) -> Iterator[list[str]]:
        """Yield the ids of the tenant's jobs in pages, from the `tenant` index, which lags by a moment."""
        start: dict[str, Any] = {}
        while True:
            page = self.database.query(
                TableName=self.jobs,
                IndexName="tenant",
                KeyConditionExpression="tenant = :tenant",
                ProjectionExpression="job_id",
                ExpressionAttributeValues={":tenant": {"S": self.tenant}},
                Limit=PAGE // 2,
                **start,
            )
            yield [item["job_id"]["S"] for item in page["Items"]]
            if "LastEvaluatedKey" not in page:
                return
            start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}

    def read(self, ids: list[str], sorts: tuple[str, ...]) -> list[Item]:
        """Return the items of jobs with these sort keys. Strongly consistent."""
        keys = [{"PK": {"S": f"JOB#{self.tenant}#{each}"}, "SK": {"S": sort}} for each in ids for sort in sorts]
        found: list[Item] = []
        wait = MIN_WAIT_SECONDS
        while keys:
            answer = self.database.batch_get_item(RequestItems={self.jobs: {"Keys": keys, "ConsistentRead": True}})
            found += answer["Responses"].get(self.jobs, [])
            keys = answer.get("UnprocessedKeys", {}).get(self.jobs, {}).get("Keys", [])
            if keys:
                self.sleep(wait)
                wait = min(2 * wait, MAX_WAIT_SECONDS)
        return found

    def pages(self, table: str, *, only_keys: bool) -> Iterator[list[Item]]:
        """Yield the tenant's items of a table in pages. The whole table is read, because no index has all of them."""
        about = self.database.describe_table(TableName=table)["Table"].get("ItemCount")
        step, looked_at, start = "items of jobs" if table == self.jobs else "items of runs", 0, dict[str, Any]()
        keys: dict[str, Any] = {"ProjectionExpression": "PK, SK"} if only_keys else {}
        while True:
            page = self.database.scan(TableName=table, ConsistentRead=True, **keys, **start)
            looked_at += page["ScannedCount"]
            self.progress(step, looked_at, about)
            yield [item for item in page["Items"] if tenant_of(item["PK"]["S"], item["SK"]["S"]) == self.tenant]
            if "LastEvaluatedKey" not in page:
                return
            start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}

    def wait_until(self, at: float, why: str) -> None:
        """Wait until `at` (UTC seconds) and show the wait."""
        begun = self.now()
        while (left := at - self.now()) > 0:
            self.progress(why, int(self.now() - begun), int(at - begun))
            self.sleep(min(left, 5.0))


def packed(value: object) -> Item:
    """Return a value in the form that DynamoDB accepts."""
    return {"N": repr(value)} if isinstance(value, int | float) else {"S": str(value)}


def placed(stage: Stage, tenant: str, **more: Any) -> Place:
    """Return a tenant of a stage. Raises UsageError for a name that no tenant can have."""
    from duecourse.cli.accounts import TENANT

    if TENANT.fullmatch(tenant) is None:
        raise UsageError(f"TENANT must have 1 to 64 letters (A-Z, a-z), digits, - or _: {tenant}")
    return Place(stage, tenant, **more)
