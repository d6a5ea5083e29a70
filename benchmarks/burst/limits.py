"""AWS's published limits that affect a burst, each with its source in AWS's documentation."""

from __future__ import annotations

from dataclasses import dataclass

from duecourse.limits import (
    CALLS_PER_POLLER,
    FIRST_CONCURRENT,
    MORE_CONCURRENT,
    OWN_MAX_CONCURRENT,
    OWN_READS,
    OWN_WRITES,
)
from duecourse.limits import POLLS_PER_POLLER as POLLS
from duecourse.limits import TABLE_QUOTA as DEFAULT_TABLE_QUOTA


@dataclass(frozen=True, slots=True)
class Limit:
    """A limit from AWS's documentation. `source`: the document and its page. `quota`: whether it can be raised."""

    name: str
    value: float
    unit: str
    source: str
    quota: str


_DYNAMODB = "Amazon DynamoDB Developer Guide"
_LAMBDA = "AWS Lambda Developer Guide"
_SQS = "Amazon SQS Developer Guide"
_SCALING = f"{_LAMBDA}, Configuring scaling behavior for SQS event source mappings"
_FIXED = "fixed"

PARTITION_WRITES = Limit(
    "slot partition writes",
    1_000,
    "write units/s",
    f"{_DYNAMODB}, Best practices for designing and using partition keys effectively in DynamoDB",
    "fixed; more shards make more partitions. Splits for heat and burst capacity are not counted on here",
)
PARTITION_READS = Limit(
    "slot partition reads",
    3_000,
    "read units/s",
    PARTITION_WRITES.source,
    "fixed; a page of 1,000 cursors takes about 75 (600 bytes each, eventually consistent)",
)
NEW_TABLE_WRITES = Limit(
    "write throughput of a new on-demand table or index",
    OWN_WRITES,
    "write units/s",
    f"{_DYNAMODB}, Understanding DynamoDB warm throughput in different scenarios",
    "raised by warm throughput, or by traffic",
)
NEW_TABLE_READS = Limit(
    "read throughput of a new on-demand table or index",
    OWN_READS,
    "read units/s",
    NEW_TABLE_WRITES.source,
    "raised by warm throughput, or by traffic",
)
DOUBLING_SECONDS = Limit(
    "time in which an on-demand table takes no more than twice its former peak",
    1_800,
    "s",
    f"{_DYNAMODB}, DynamoDB on-demand capacity mode",
    "fixed; warm throughput goes around it",
)
TABLE_QUOTA = Limit(
    "write quota of a table, and of each index",
    DEFAULT_TABLE_QUOTA,
    "write units/s",
    f"{_DYNAMODB}, Quotas in Amazon DynamoDB",
    "can be raised on request; warm throughput reaches no further than it",
)
INDEX_WRITES = Limit(
    "index writes of an update that changes its key",
    2,
    "writes",
    f"{_DYNAMODB}, Using Global Secondary Indexes in DynamoDB",
    "fixed: one out of the old slot, one into the new",
)
BACK_PRESSURE = Limit(
    "writes that a full index lets through to its table",
    0,
    "writes",
    f"{_DYNAMODB}, Understanding global secondary index (GSI) write throttling and back pressure in DynamoDB",
    "fixed; a claim is refused whole here, at once, though AWS applies it after a moment",
)
STATEMENTS = Limit(
    "statements of a BatchExecuteStatement",
    25,
    "statements",
    "Amazon DynamoDB API Reference, BatchExecuteStatement",
    _FIXED,
)
SEND_BATCH = Limit("messages of a SendMessageBatch", 10, "messages", f"{_SQS}, Amazon SQS message quotas", _FIXED)
IN_FLIGHT = Limit(
    "messages in flight in a standard queue",
    120_000,
    "messages",
    f"{_SQS}, Amazon SQS quotas: Quotas related to queues",
    "approximate; more queues",
)
FIFO_CALLS = Limit(
    "calls to a FIFO queue",
    300,
    "calls/s and action",
    f"{_SQS}, Amazon SQS message quotas",
    "3,000 messages/s in batches of ten; more by high throughput mode",
)
ACCOUNT_CONCURRENCY = Limit(
    "concurrent executions of the account", 1_000, "executions", f"{_LAMBDA}, Lambda quotas", "can be raised on request"
)
FUNCTION_SCALING = Limit(
    "new execution environments of a function",
    1_000,
    "environments/10 s",
    f"{_LAMBDA}, Lambda scaling behavior",
    "fixed; refilled continuously, never more than 1,000 in store",
)
FIRST_POLLERS = Limit("first batches of a queue's pollers", FIRST_CONCURRENT, "concurrent batches", _SCALING, _FIXED)
POLLER_GROWTH = Limit(
    "growth of a queue's pollers", MORE_CONCURRENT, "concurrent batches/min", _SCALING, "provisioned mode"
)
MAX_POLLED = Limit(
    "most batches of a queue's pollers", OWN_MAX_CONCURRENT, "concurrent batches", _SCALING, "provisioned mode"
)
PROVISIONED_GROWTH = Limit(
    "growth of provisioned pollers",
    1_000,
    "executions/min",
    "AWS News Blog, AWS Lambda enhances event processing with provisioned mode for SQS event-source mapping",
    _FIXED,
)
EXECUTIONS_PER_POLLER = Limit(
    "executions of a provisioned poller",
    CALLS_PER_POLLER,
    "concurrent executions",
    f"{_LAMBDA}, Lambda parameters for Amazon SQS event source mappings",
    "more pollers: a minimum of up to 200, a maximum of up to 10,000",
)
MAXIMUM_CONCURRENCY = Limit(
    "largest maximum concurrency of a queue's event source",
    1_000,
    "executions",
    "AWS Lambda API Reference, ScalingConfig",
    "provisioned mode",
)
POLLS_PER_POLLER = Limit(
    "polls of a provisioned poller",
    POLLS,
    "calls/s, ten messages each",
    "AWS samples, serverless-patterns: sqs-lambda-lmi-esm-provisioned-sam",
    "more pollers, or larger batches",
)
VCPU_MEMORY = Limit(
    "memory that comes with a whole vCPU", 1_769, "MB", f"{_LAMBDA}, Configure Lambda function memory", _FIXED
)

LIMITS = (
    PARTITION_WRITES,
    PARTITION_READS,
    NEW_TABLE_WRITES,
    NEW_TABLE_READS,
    DOUBLING_SECONDS,
    TABLE_QUOTA,
    INDEX_WRITES,
    BACK_PRESSURE,
    STATEMENTS,
    SEND_BATCH,
    IN_FLIGHT,
    FIFO_CALLS,
    ACCOUNT_CONCURRENCY,
    FUNCTION_SCALING,
    FIRST_POLLERS,
    POLLER_GROWTH,
    MAX_POLLED,
    PROVISIONED_GROWTH,
    EXECUTIONS_PER_POLLER,
    POLLS_PER_POLLER,
    MAXIMUM_CONCURRENCY,
    VCPU_MEMORY,
)
