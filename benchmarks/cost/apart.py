"""Costs beyond the idle month for optional features, for runs and for requests: the requests of a busy worker to the
KMS key, provisioned pollers, warm throughput, the metrics of a stage with runs, the dashboards of a second stage, and
anonymous requests to the open routes. Pure.
"""

from __future__ import annotations

from benchmarks.cost.idle import TABLES, Idle, key_requests
from benchmarks.cost.model import GB, HOURS_OF_MONTH, MINUTES_OF_MONTH, Assumptions, lambda_usd
from benchmarks.cost.months import ACTIVE_METRICS
from benchmarks.cost.prices import usd


def apart(idle: Idle, assume: Assumptions) -> dict[str, float]:
    """Return USD a month by item. Warm throughput is charged once."""
    items = {
        "customer_key": idle.customer_key_usd,
        "customer_key_of_each_busy_worker": usd("kms_request", key_requests(assume.batch, TABLES)),
        "provisioned_pollers": usd("event_poller", HOURS_OF_MONTH * idle.provisioned_pollers),
        "each_provisioned_poller": usd("event_poller", HOURS_OF_MONTH),
        "warm_throughput_once": usd("warm_writes", idle.warm_writes) + usd("warm_reads", idle.warm_reads),
        "metrics_of_an_active_stage": usd("metric", ACTIVE_METRICS),
        "dashboards_of_a_second_stage": idle.dashboards_usd(stages=2) - idle.dashboards_usd(stages=1),
        "open_routes_flooded": _open_requests_usd(idle.open_requests_per_second, assume),
    }
    return {name: round(value, 4) for name, value in items.items()}


def _open_requests_usd(per_second: float, assume: Assumptions) -> float:
    """Return the cost of anonymous requests for a whole month: the gateway, the function, a read, and one log line of
    each.
    """
    requests = per_second * MINUTES_OF_MONTH * 60
    logged = requests * (assume.access_log_bytes + assume.lambda_log_bytes) / GB
    work = lambda_usd(requests, assume.open_seconds, assume.api_mb)
    return usd("http_api", requests) + work + usd("rru", requests) + usd("log_ingestion", logged)
