"""What the idle month's budget leaves out: metrics and alarms, a customer key and what is asked of it, provisioned
pollers, traces of the clock, and strangers at the open routes. Pure.
"""

from __future__ import annotations

from benchmarks.cost.idle import CARETAKER_STARTS, Idle
from benchmarks.cost.model import GB, HOURS_OF_MONTH, MINUTES_OF_MONTH, Assumptions, lambda_usd
from benchmarks.cost.prices import usd

ALARMS = 115
IDLE_METRICS = 2
"""Alarms of stage prod, with the brakes of its canary; metrics that a stage sends while idle (the tick's two)."""

TABLES = 2
KEY_MINUTES = 5
"""For so long DynamoDB keeps a table's key for a connection with traffic (Amazon DynamoDB Developer Guide, "DynamoDB
encryption at rest: How it works"), before it asks KMS again.
"""

QUEUES = 11
"""Lanes and their bulk queues, shard queue, dead letters, the archive's: each is asked for once an hour by those who
send and who receive (infra/encryption.py, DATA_KEY_REUSE).
"""


def apart(idle: Idle, assume: Assumptions) -> dict[str, float]:
    """USD a month, item by item."""
    items = {
        "alarms": usd("alarm", ALARMS),
        "metrics": usd("metric", IDLE_METRICS),
        "customer_key": usd("kms_key", 1),
        "customer_key_while_idle": usd("kms_request", _idle_key_requests(idle)),
        "customer_key_of_each_busy_worker": usd("kms_request", key_requests(assume.batch, TABLES)),
        "traces_of_the_clock": idle.traces_usd,
        "provisioned_pollers": usd("event_poller", HOURS_OF_MONTH * idle.provisioned_pollers),
        "each_provisioned_poller": usd("event_poller", HOURS_OF_MONTH),
        "open_routes_flooded": _open_requests_usd(idle.open_requests_per_second, assume),
    }
    return {name: round(value, 4) for name, value in items.items()}


def key_requests(connections: float, tables: int) -> float:
    """Requests to KMS in a month of connections that are always in use. A worker has as many as runs in a batch: all
    read their jobs at once.
    """
    return connections * tables * MINUTES_OF_MONTH / KEY_MINUTES


def _idle_key_requests(idle: Idle) -> float:
    """At most: each shard's round by an environment of its own, which reads the jobs table alone, as the tick does;
    patrol and audit, whose starts lie further apart than a key is kept; the queues.
    """
    tables = key_requests(idle.shards + 1, 1) + 2 * CARETAKER_STARTS * TABLES
    return tables + 2 * QUEUES * HOURS_OF_MONTH


def _open_requests_usd(per_second: float, assume: Assumptions) -> float:
    """Requests of strangers for a whole month: the gateway, the function, a read, and a line of each in the logs."""
    requests = per_second * MINUTES_OF_MONTH * 60
    logged = requests * (assume.access_log_bytes + assume.lambda_log_bytes) / GB
    work = lambda_usd(requests, assume.open_seconds, assume.api_mb)
    return usd("http_api", requests) + work + usd("rru", requests) + usd("log_ingestion", logged)
