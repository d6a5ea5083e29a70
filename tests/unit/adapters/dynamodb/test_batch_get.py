"""What DynamoDB puts off of a batch of reads, which an emulator never does."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from botocore.exceptions import ClientError

from duecourse.adapters.dynamodb.cursors.tick_mark import DynamoTickMark
from duecourse.adapters.dynamodb.jobs.job_store import DynamoJobStore
from duecourse.adapters.dynamodb.keys import key
from duecourse.adapters.dynamodb.writing import READ_BATCH, batch_get
from duecourse.api.problems import unavailable
from duecourse.testing.clock import SettableClock
from tests.support.jobs import NOON

TABLE = "jobs"


@dataclass
class Busy:
    """A table of numbered items, whose batches answer `answered` keys each and put the others off."""

    answered: int = 0
    single: list[dict[str, Any]] = field(default_factory=list)
    batches: list[dict[str, Any]] = field(default_factory=list)
    refuses: bool = False

    def batch_get_item(self, RequestItems: dict[str, Any]) -> dict[str, Any]:  # noqa: N803
        asked = RequestItems[TABLE]
        self.batches.append(asked)
        now, later = asked["Keys"][: self.answered], asked["Keys"][self.answered :]
        put_off = {"UnprocessedKeys": {TABLE: {**asked, "Keys": later}}} if later else {}
        return {"Responses": {TABLE: [item(each) for each in now]}, **put_off}

    def get_item(self, **asked: Any) -> dict[str, Any]:
        self.single.append(asked)
        if self.refuses:
            code = {"Code": "ProvisionedThroughputExceededException", "Message": "slow down"}
            raise ClientError({"Error": code}, "GetItem")
        if asked["Key"]["PK"]["S"] == "SHARDS":
            return {"Item": {**asked["Key"], "shards": {"N": "3"}}}
        return {"Item": item(asked["Key"])}


def item(of: dict[str, Any]) -> dict[str, Any]:
    return {**of, "bucket": {"S": "2026-11-21T11"}}


def keys(count: int) -> list[dict[str, Any]]:
    return [key(f"ITEM#{number}", "X") for number in range(count)]


def test_a_hundred_are_read_by_a_request_and_nothing_else_where_nothing_is_put_off() -> None:
    client = Busy(answered=READ_BATCH)
    assert batch_get(client, TABLE, keys(230)) == [item(each) for each in keys(230)]
    assert [len(each["Keys"]) for each in client.batches] == [100, 100, 30]
    assert client.single == []


def test_what_is_put_off_is_read_one_by_one_since_the_sdk_waits_between_its_tries_of_these() -> None:
    """Asked for again as a batch, at once and for as long as it takes, it kept a busy table busy."""
    client = Busy(answered=2)
    found = batch_get(client, TABLE, keys(5), consistent=True)
    assert sorted(each["PK"]["S"] for each in found) == sorted(each["PK"]["S"] for each in keys(5))
    assert len(client.batches) == 1
    assert client.single == [{"TableName": TABLE, "Key": each, "ConsistentRead": True} for each in keys(5)[2:]]


def test_a_table_that_goes_on_refusing_is_told_as_such_after_the_tries_of_one_read() -> None:
    client = Busy(refuses=True)
    with pytest.raises(ClientError) as refused:
        batch_get(client, TABLE, keys(5))
    assert len(client.single) == 1
    problem = unavailable(refused.value)
    assert problem is not None
    assert problem.status == 503


def test_watermarks_and_jobs_are_read_so() -> None:
    client = Busy()
    progress = DynamoTickMark(client, TABLE).progress()
    assert set(progress.watermarks) == {0, 1, 2}
    assert None not in progress.watermarks.values()
    assert len(client.batches) == 1

    store = DynamoJobStore(client, TABLE, shards=1, clock=SettableClock(NOON))
    client.refuses = True
    with pytest.raises(ClientError):
        store.get_both("default", "nightly")
    assert len(client.batches) == 2
