"""Facts from CloudWatch: alarms, ages of messages, errors, throttles."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from duecourse.checks.alarms import alarms_of
from duecourse.checks.facts import Alarms
from duecourse.checks.metrics import RECENT_SECONDS, Asked, age_of_oldest, queries, values
from duecourse.cli.doctor.facts import Function, Table
from duecourse.cli.doctor.stage import Stage
from duecourse.limits import METRICS_NAMESPACE

Key = TypeVar("Key")

HOUR = 3600

TABLES = {"Jobs": ("JobsTable", ("due", "tenant", "state")), "Runs": ("RunsTable", ("dead",))}
"""The output with each table's name, and the table's indexes."""


def alarms(stage: Stage) -> Alarms:
    """Return the alarms of the stage. Their names have a prefix such as `Duecourse/prod/`."""
    prefix = f"{METRICS_NAMESPACE.format(stage=stage.name)}/"
    pages = stage.clients("cloudwatch").get_paginator("describe_alarms").paginate(AlarmNamePrefix=prefix)
    found = [each for page in pages for each in page.get("MetricAlarms", ())]
    return alarms_of(found, prefix)


def functions(stage: Stage) -> list[Function]:
    """Return the figures of every function in the last hour."""
    names = ("Invocations", "Errors", "Throttles")
    asked = {
        (function, metric): Asked("AWS/Lambda", metric, {"FunctionName": resource})
        for function, resource in stage.functions.items()
        for metric in names
    }
    found = _values(stage, asked, HOUR)
    return [Function(name, *(found[name, metric] or 0.0 for metric in names)) for name in stage.functions]


def tables(stage: Stage) -> list[Table]:
    """Return the throttled requests of the last hour. Indexes have separate metrics."""
    asked = {}
    for table, (output, indexes) in TABLES.items():
        for metric in ("ReadThrottleEvents", "WriteThrottleEvents"):
            whole = {"TableName": stage.outputs[output]}
            asked[table, metric, ""] = Asked("AWS/DynamoDB", metric, whole)
            for index in indexes:
                of_index = {**whole, "GlobalSecondaryIndexName": index}
                asked[table, metric, index] = Asked("AWS/DynamoDB", metric, of_index)
    found = _values(stage, asked, HOUR)
    return [Table(table, sum(found[key] or 0.0 for key in asked if key[0] == table)) for table in TABLES]


def oldest(stage: Stage, queues: Sequence[str]) -> dict[str, float | None]:
    """Return the age (s) of the oldest message of each queue by the queue's URL, or None without a recent figure."""
    return _values(stage, {url: age_of_oldest(url) for url in queues}, RECENT_SECONDS)


def most_executions(stage: Stage) -> float | None:
    """Return the maximum number of concurrent executions of the whole account in the last hour."""
    return _values(stage, {0: Asked("AWS/Lambda", "ConcurrentExecutions", {}, "Maximum")}, HOUR)[0]


def _values(stage: Stage, asked: Mapping[Key, Asked], seconds: int) -> dict[Key, float | None]:
    """Return one value of each metric for the last `seconds`, or None if it has no data."""
    until = datetime.fromtimestamp(stage.now, UTC)
    pages = (
        stage.clients("cloudwatch")
        .get_paginator("get_metric_data")
        .paginate(
            MetricDataQueries=queries(asked.values()), StartTime=until - timedelta(seconds=seconds), EndTime=until
        )
    )
    found = values(asked, (result for page in pages for result in page["MetricDataResults"]))
    return {key: _together(each.statistic, found[key].values()) for key, each in asked.items()}


def _together(statistic: str, found: Collection[float]) -> float | None:
    if not found:
        return None
    return max(found) if statistic == "Maximum" else sum(found)
