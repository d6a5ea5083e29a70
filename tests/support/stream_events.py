"""Records of the runs table's stream, as Lambda's event source hands them over and as the stream itself tells them.

Field by field after AWS's example documents: AWS Lambda Developer Guide, "Using AWS Lambda with Amazon DynamoDB";
Amazon DynamoDB Developer Guide, "DynamoDB Streams and Time to Live".
"""

from hashlib import md5
from typing import Any

from duecourse.domain.runs.states import Run
from duecourse.stores.keys import Item
from duecourse.stores.run_item import to_item

STREAM = "arn:aws:dynamodb:us-east-1:000000000000:table/runs/stream/2026-11-21T12:00:00.000"
SHARD = "shardId-00000001795262400000-0a1b2c3d"
TTL = {"type": "Service", "principalId": "dynamodb.amazonaws.com"}
FIRST_NUMBER = 100_000_000_000_000_000_001


def expired(*runs: Run, first: int = FIRST_NUMBER) -> dict[str, Any]:
    """The event of runs that expired one after the other."""
    return event(*(removed(to_item(run), first + index) for index, run in enumerate(runs)))


def event(*records: dict[str, Any]) -> dict[str, Any]:
    return {"Records": list(records)}


def removed(item: Item, number: int, by: dict[str, str] | None = TTL) -> dict[str, Any]:
    """One removal; `by` stands in it only where a service did it."""
    record = {
        "eventID": md5(str(number).encode(), usedforsecurity=False).hexdigest(),
        "eventName": "REMOVE",
        "eventVersion": "1.1",
        "eventSource": "aws:dynamodb",
        "awsRegion": "us-east-1",
        "dynamodb": {
            "ApproximateCreationDateTime": 1795262400,
            "Keys": {"PK": item["PK"], "SK": item["SK"]},
            "OldImage": item,
            "SequenceNumber": str(number),
            "SizeBytes": 512,
            "StreamViewType": "NEW_AND_OLD_IMAGES",
        },
        "eventSourceARN": STREAM,
    }
    return record if by is None else record | {"userIdentity": by}


def failure(first: int, last: int, *, stream: str = STREAM, shard: str = SHARD, size: int = 2) -> dict[str, Any]:
    """What the event source sends to the failure queue: no record, only where they are."""
    return {
        "requestContext": {
            "requestId": "316aa6d0-8154-xmpl-9af7-85d5f4a6bc81",
            "functionArn": "arn:aws:lambda:us-east-1:000000000000:function:duecourse-archive:$LATEST",
            "condition": "RecordAgeExceeded",
            "approximateInvokeCount": 12,
        },
        "responseContext": {"statusCode": 200, "executedVersion": "$LATEST"},
        "version": "1.0",
        "timestamp": "2026-11-21T18:00:00.000Z",
        "DDBStreamBatchInfo": {
            "shardId": shard,
            "startSequenceNumber": str(first),
            "endSequenceNumber": str(last),
            "approximateArrivalOfFirstRecord": "2026-11-21T12:00:00Z",
            "approximateArrivalOfLastRecord": "2026-11-21T12:00:05Z",
            "batchSize": size,
            "streamArn": stream,
        },
    }
