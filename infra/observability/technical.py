"""The dashboard of a stage's internals: rounds, queues, functions, tables and costs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_sqs as sqs

from infra.observability.charts import Row, chart, heading, states, weighted
from infra.observability.metrics import FIVE_MINUTES, counted, of_function, of_queue, of_table, ours
from infra.parts import Monitored
from infra.settings.config import StageConfig
from infra.stores.tables import ACTIVE_INDEX, DUE_INDEX, ENDED_INDEX, STATE_INDEX, TENANT_INDEX

UNITS = ("ConsumedReadCapacityUnits", "ConsumedWriteCapacityUnits")


def technical_rows(config: StageConfig, watched: Monitored, alarms: Sequence[cloudwatch.IAlarm]) -> Iterator[Row]:
    """Yield the rows of the dashboard in the order of a run's path, then the costs."""
    yield heading(
        "# Duecourse: internals\n"
        "Numbers are per five minutes unless a title says otherwise. The alarms are described "
        "in docs/runbooks.md."
    )
    yield states("Alarms (grey: no data yet)", alarms)
    yield from _rounds(config)
    yield from _queues(watched)
    yield from _functions(config, watched)
    yield from _tables(watched)
    yield from _costs(watched)


def _rounds(config: StageConfig) -> Iterator[Row]:
    read = counted(config, "dispatch", {"Enqueued": "enqueued", "WakesSent": "timers"})
    wrong = {
        "ClaimsLost": "claims lost (harmless)",
        "ClaimsFailed": "claims failed",
        "ClaimsRefused": "claims rejected",
        "StatementsThrottled": "statements throttled",
        "SendsRefused": "sends rejected",
        "RoundsUnfinished": "rounds timed out",
        "RoundsFailed": "rounds failed",
    }
    age = ours(config, "dispatch", "WatermarkAge", statistic="Maximum").with_(label="oldest slot")
    yield heading(
        "## Dispatch rounds\nOne tick a minute starts a round in each shard. The oldest slot is shown if it "
        "is more than three hours old."
    )
    yield [
        chart(
            "Ticks: shards with overdue work, waiting rounds",
            counted(
                config,
                "tick",
                {"ShardsOverdue": "overdue", "RoundsWaiting": "rounds waiting", "TicksRefused": "refused"},
            ),
            unit="",
            width=6,
        ),
        chart("Throughput", read, unit="", width=6),
        chart("Errors", counted(config, "dispatch", wrong), unit="", width=6),
        chart("Age of the oldest slot", [age], unit="s", width=6),
    ]


def _queues(watched: Monitored) -> Iterator[Row]:
    lanes = watched.parts.lanes.watched
    others = {"shards": watched.parts.shard_queue.queue, "dead letters": watched.parts.dead_letters.queue}
    every: dict[str, sqs.IQueue] = {**lanes, **others}
    every |= {f"{name.lower()}'s dead letters": queue for name, queue in watched.letters.items()}
    yield heading(
        "## Queues\nDelayed messages wait until they are due, visible messages wait for a worker. The age starts when "
        "a message is sent, up to 15 minutes before its run is due."
    )
    yield [
        chart(title, [of_queue(queue, name).with_(label=label) for label, queue in queues.items()], unit=unit, width=8)
        for title, name, queues, unit in (
            ("Delayed", "ApproximateNumberOfMessagesDelayed", lanes, "messages"),
            ("Visible", "ApproximateNumberOfMessagesVisible", every, "messages"),
            ("Age of the oldest message", "ApproximateAgeOfOldestMessage", every, "s"),
        )
    ]


def _functions(config: StageConfig, watched: Monitored) -> Iterator[Row]:
    yield heading(
        "## Functions\nErrors are invocations that failed, timed out or ran out of memory. Throttles are "
        "invocations without available concurrency."
    )
    charts = [
        chart(
            title,
            [
                of_function(each.function, name, statistic=statistic).with_(label=label)
                for label, each in watched.functions.items()
            ],
            unit=unit,
            width=8,
        )
        for title, name, statistic, unit in (
            ("Invocations", "Invocations", "Sum", ""),
            ("Errors", "Errors", "Sum", ""),
            ("Throttles", "Throttles", "Sum", ""),
            ("Duration (p99)", "Duration", "p99", "ms"),
            ("Maximum concurrent executions", "ConcurrentExecutions", "Maximum", ""),
        )
    ]
    worker = {
        "MessagesFailed": "messages failed",
        "DuplicatesDropped": "repeats dropped (harmless)",
        "FinishesRefused": "completions rejected",
    }
    api = {"InternalErrors": "responses with 500 or 503", "SendsRefused": "sends rejected"}
    reconcile = {
        "DeadLettersRecorded": "recorded as dead",
        "JobsPaused": "jobs paused",
        "EventsRefused": "events rejected",
    }
    yield charts[:3]
    yield [
        *charts[3:],
        chart("Workers: dropped messages and errors", counted(config, "execute", worker), unit="", width=8),
    ]
    yield [
        chart("API: failed requests and messages", counted(config, "api", api), unit=""),
        chart("Reconciler: actions on dead letters", counted(config, "reconcile", reconcile), unit=""),
    ]


def _tables(watched: Monitored) -> Iterator[Row]:
    yield heading(
        "## Tables\nConsumed units are five-minute sums; divide by 300 to get units per second, which warm "
        "throughput limits."
    )
    yield [
        chart(
            title,
            [of_table(table, name, index=index).with_(label=label) for label, table, index in _stores(watched)],
            unit=unit,
            width=6,
        )
        for title, name, unit in (
            ("Read units consumed", UNITS[0], "units"),
            ("Write units consumed", UNITS[1], "units"),
            ("Reads throttled", "ReadThrottleEvents", "requests"),
            ("Writes throttled", "WriteThrottleEvents", "requests"),
        )
    ]


def _costs(watched: Monitored) -> Iterator[Row]:
    """Yield the usage that AWS bills. docs/sizing.md has the calculation of prices."""
    stores = _stores(watched)
    functions = list(watched.functions.values())
    invocations = [(of_function(each.function, "Invocations"), 1.0) for each in functions]
    gigabyte_seconds = [(of_function(each.function, "Duration"), each.memory_mb / 1024 / 1000) for each in functions]
    units = [
        weighted(
            kind,
            f"{kind} units",
            [(of_table(table, name, index=index), 1.0) for _, table, index in stores],
        )
        for kind, name in zip(("read", "write"), UNITS, strict=True)
    ]
    sent = [
        (of_queue(queue, "NumberOfMessagesSent", statistic="Sum", seconds=FIVE_MINUTES), 1.0)
        for queue in watched.parts.lanes.watched.values()
    ]
    yield heading(
        "## Costs\nTable capacity units, GB-seconds (duration times memory, an estimate: Lambda bills each "
        "millisecond) and requests, per five minutes. Logs, metrics and alarms are not included."
    )
    yield [
        chart("Table capacity units", units, unit="units", width=8),
        chart(
            "GB-seconds",
            [weighted("gb", "GB-seconds", gigabyte_seconds)],
            unit="GB-s",
            width=8,
        ),
        chart(
            "Requests",
            [
                weighted("calls", "invocations", invocations),
                weighted("sent", "messages sent", sent),
            ],
            unit="",
            width=8,
        ),
    ]


def _stores(watched: Monitored) -> list[tuple[str, str, str | None]]:
    """Return the label, table and index of each store."""
    jobs, runs = watched.parts.jobs.name, watched.parts.runs.name
    return [
        ("jobs", jobs, None),
        ("jobs, index due", jobs, DUE_INDEX),
        ("jobs, index tenant", jobs, TENANT_INDEX),
        ("jobs, index state", jobs, STATE_INDEX),
        ("runs", runs, None),
        ("runs, index ended", runs, ENDED_INDEX),
        ("runs, index active", runs, ACTIVE_INDEX),
    ]
