"""Events as EventBridge and SQS send them to a function, and the context beside them.

Field by field after AWS's example documents.
"""

from dataclasses import dataclass
from typing import Any
from uuid import uuid4

ACCOUNT = "000000000000"
REGION = "us-east-1"


@dataclass(frozen=True)
class Context:
    """What Lambda passes beside the event."""

    function_name: str = "duecourse-test"
    memory_limit_in_mb: int = 256
    invoked_function_arn: str = f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:duecourse-test"
    aws_request_id: str = "52fdfc07-2182-454f-963f-5f0f9a621d72"
    remaining_ms: int = 120_000

    def get_remaining_time_in_millis(self) -> int:
        return self.remaining_ms


def scheduled_event() -> dict[str, Any]:
    """A minute of the rule."""
    return {
        "version": "0",
        "id": str(uuid4()),
        "detail-type": "Scheduled Event",
        "source": "aws.events",
        "account": ACCOUNT,
        "time": "2026-11-21T12:00:00Z",
        "region": REGION,
        "resources": [f"arn:aws:events:{REGION}:{ACCOUNT}:rule/Duecourse-test-Tick"],
        "detail": {},
    }


def fifo_event(*bodies: str, shard: int = 0) -> dict[str, Any]:
    """Messages of a FIFO queue, as its event source hands them over."""
    return {
        "Records": [
            _record(
                body,
                str(uuid4()),
                "AQEBwJnKyrHigUMZj6rYigCgxlaS3SLy0a",
                1,
                queue="shards.fifo",
                SequenceNumber="18849496460467696128",
                MessageGroupId=f"{shard:04d}",
                MessageDeduplicationId=f"{shard:04d}-29920000",
            )
            for body in bodies
        ]
    }


def lane_event(messages: list[dict[str, Any]]) -> dict[str, Any]:
    """Messages as `receive_message` returned them, as a standard queue's event source hands them over."""
    return {
        "Records": [
            _record(
                message["Body"],
                message["MessageId"],
                message["ReceiptHandle"],
                int(message["Attributes"]["ApproximateReceiveCount"]),
                queue="normal",
            )
            for message in messages
        ]
    }


def _record(
    body: str, message_id: str, receipt: str, receives: int, *, queue: str, **attributes: str
) -> dict[str, Any]:
    return {
        "messageId": message_id,
        "receiptHandle": receipt,
        "body": body,
        "attributes": {
            "ApproximateReceiveCount": str(receives),
            "SentTimestamp": "1795262400000",
            "SenderId": "AIDAIENQZJOLO23YVJ4VO",
            "ApproximateFirstReceiveTimestamp": "1795262400001",
            **attributes,
        },
        "messageAttributes": {},
        "md5OfBody": "e4e68fb7bd0e697a0ae8f1bb342846b3",
        "eventSource": "aws:sqs",
        "eventSourceARN": f"arn:aws:sqs:{REGION}:{ACCOUNT}:{queue}",
        "awsRegion": REGION,
    }
