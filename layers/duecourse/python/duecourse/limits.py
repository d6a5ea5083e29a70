"""Limits that the stack and several parts of the code import.

The only module of the core that `infra` imports. It contains only constants.
"""

from __future__ import annotations

from collections.abc import Mapping

WORKER_SECONDS: Mapping[str, int] = {"high": 120, "normal": 120, "low": 120, "long": 900}
"""The timeout in seconds of the worker function of each lane, which bounds calls."""

LANES = tuple(WORKER_SECONDS)

OPERATIONS_LANE = "high"
"""The lane whose bulk queue carries operations. Its workers may search for runs."""

MAX_DELAY_SECONDS = 900
"""The longest delay of a message in SQS (Amazon SQS API Reference, "SendMessage": DelaySeconds)."""

MAX_COMPLETION_SECONDS = 30 * 86_400
"""The longest time that a run waits for the end of its work."""

MESSAGE_RETENTION_DAYS = 14
"""How long lanes and the dead-letter queue keep a message after it was sent: the maximum of SQS."""

MAX_ACCOUNT_CONCURRENCY = 10_000_000
"""The largest quota of concurrent executions that a setting can name: far above any that AWS grants."""

LENGTH_DIGITS = 15
"""The maximum number of digits of a Content-Length that is read."""

RUN_INDEX_PARTITIONS = 8
"""The least and usual number of partitions of a list of ended runs in one state."""

MAX_RUN_INDEX_PARTITIONS = 64
"""The maximum number of partitions of a list of runs in one state. Each page of the list queries all of them."""

MAX_SHARDS = 9_999
"""The maximum number of shards: slot names have four digits for the shard."""

API_SECONDS = 29
"""The timeout of the API's functions, in seconds: an HTTP API has a timeout of 30 s."""

DISPATCH_SECONDS = 58
"""The timeout of the dispatcher, in seconds: nearly the minute between two ticks, because a busy shard needs
all of it.
"""

ROUND_MARGIN_SECONDS = 12
"""The time of an invocation that a round reserves for the group in progress, if every response is slow."""

ROUND_SECONDS = DISPATCH_SECONDS - ROUND_MARGIN_SECONDS
"""The maximum working time of a round, in seconds."""

SHARD_VISIBILITY_SECONDS = 65
"""The time in seconds after which the shard of a stopped dispatcher is free again: slightly longer than the function's
timeout.
"""

SHARD_RETENTION_SECONDS = 300
"""The time in seconds after which a waiting tick is dropped: later ticks do the same work."""

SECRET_SECONDS, SECRET_SPREAD = 60, 0.25
"""How long a worker caches a secret at most, in seconds, and the part of this time by which a secret may expire
earlier, so that many processes do not fetch it at once. A rotated secret is used within a minute.
"""

TASK_NAME = r"[A-Za-z0-9_-]{1,64}"
"""Pattern of a registered task's name."""

CONNECTOR_NAME = r"[a-z][a-z0-9]{0,17}"
"""The form of the name of a connector. Its function's name, which contains the stage's name too, has at most 64
characters.
"""

EVENTS_SOURCE = "duecourse"
"""Source of Duecourse's events on EventBridge. Targets of jobs must not use it."""

METRICS_NAMESPACE = "Duecourse/{stage}"
"""Namespace of a stage's metrics, so that the metrics of several stages in an account are separate. The names of its
alarms also begin with it.
"""

RESULT_BUCKET = r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]"
"""The form of the name of a bucket for results (Amazon S3 User Guide, "General purpose bucket naming rules")."""

RESULT_PREFIX = r"([A-Za-z0-9_=-][A-Za-z0-9_.=-]{0,99}/){0,7}"
"""The form of a prefix of results: folders, each with a slash at its end. Their keys stay below 1,024
bytes (Amazon S3 User Guide, "Naming Amazon S3 objects").
"""

EVERY_TENANT = "*"
TENANT_IN_PREFIX = "{tenant}"
"""In the settings of a bucket for results, `*` means all other tenants, and `{tenant}` in their prefix is replaced by
the tenant.
"""

LOST_RACES = 5
"""The maximum number of times that a caller reads an item and writes it on the condition that it has not changed, while
other writers are faster.
"""

FAILED_SHARE = 0.4
"""The share of failed attempts above which an alarm counts them, if the stage sets no other."""

REFUSED_CALLBACKS = 0.4
"""The share of refused callbacks above which an alarm counts them. Heartbeats and results are rarely refused."""

UNRESERVED_CONCURRENCY = 100
"""The concurrency that AWS keeps unreserved (Lambda Developer Guide, "Configuring reserved concurrency")."""

OWN_READS, OWN_WRITES = 12_000, 4_000
"""The units per second of a new on-demand table or index, which are also the minimum setting (Amazon DynamoDB Developer
Guide, "Understanding DynamoDB warm throughput in different scenarios").
"""

TABLE_QUOTA = 40_000
"""The default quota of a table, and of each index, in units per second (Amazon DynamoDB Developer Guide, "Quotas in
Amazon DynamoDB").
"""

MIN_POLLERS, MAX_MINIMUM_POLLERS, MAX_POLLERS = 2, 200, 10_000
"""The limits of a queue's event source (AWS Lambda API Reference, "ProvisionedPollerConfig")."""

CALLS_PER_POLLER, POLLS_PER_POLLER = 10, 10
"""The number of concurrent executions of one provisioned poller, and its polls per second (AWS Lambda Developer Guide,
"Lambda parameters for Amazon SQS event source mappings").
"""

FIRST_CONCURRENT, MORE_CONCURRENT, OWN_MAX_CONCURRENT = 5, 300, 1_250
"""The concurrent executions of Lambda's own pollers: at first, more in each minute, and at most (AWS Lambda Developer
Guide, "Configuring scaling behavior for SQS event source mappings").
"""

POLLER_HOUR_DOLLARS = 0.00925
"""The price of a provisioned poller of an SQS event source for an hour ("AWS Lambda Pricing", us-east-1)."""

WARM_WRITE_DOLLARS, WARM_READ_DOLLARS = 0.00065, 0.00013
"""The prices of one more unit per second of warm throughput, charged once: an hour of provisioned capacity ("Pricing
for On-Demand Capacity", us-east-1; not verified).
"""
