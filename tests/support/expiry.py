"""DynamoDB's time to live on an emulator that has the stream but not this service.

MiniStack removes expired items without a record in its stream, and does not record the author of a removal; AWS does
both.
"""

from dataclasses import dataclass
from typing import Any

from duecourse.domain.runs.states import Run
from duecourse.stores.keys import RUN_PREFIX, job_key
from tests.support.tables import Tables


@dataclass(frozen=True)
class SignedStream:
    """A client of `dynamodbstreams` whose removals have the author that AWS sets for expired items, in the format of
    the stream's own API.
    """

    client: Any

    def __getattr__(self, name: str) -> Any:
        return getattr(self.client, name)

    def get_records(self, **asked: Any) -> dict[str, Any]:
        page: dict[str, Any] = self.client.get_records(**asked)
        for record in page["Records"]:
            if record["eventName"] == "REMOVE":
                record["userIdentity"] = {"Type": "Service", "PrincipalId": "dynamodb.amazonaws.com"}
        return page


def expire(tables: Tables, *runs: Run) -> None:
    """Write the records and remove them again. The stream then has an INSERT and a REMOVE of each."""
    for run in runs:
        tables.run_store().write(run, None)
    for run in runs:
        key = job_key(run.tenant, run.job_id, RUN_PREFIX + run.name.local)
        tables.client.delete_item(TableName=tables.runs, Key=key)


def stream_of(tables: Tables) -> str:
    """Return the ARN of the runs table's stream."""
    arn: str = tables.client.describe_table(TableName=tables.runs)["Table"]["LatestStreamArn"]
    return arn


def batch_info(streams: Any, stream: str) -> dict[str, Any]:
    """Return the message in the failure queue for a failed batch with all records of the stream."""
    (shard,) = streams.describe_stream(StreamArn=stream)["StreamDescription"]["Shards"]
    where = {"StreamArn": stream, "ShardId": shard["ShardId"]}
    iterator = streams.get_shard_iterator(**where, ShardIteratorType="TRIM_HORIZON")["ShardIterator"]
    numbers = [
        record["dynamodb"]["SequenceNumber"] for record in streams.get_records(ShardIterator=iterator)["Records"]
    ]
    return {
        "shardId": shard["ShardId"],
        "startSequenceNumber": numbers[0],
        "endSequenceNumber": numbers[-1],
        "batchSize": len(numbers),
        "streamArn": stream,
    }
