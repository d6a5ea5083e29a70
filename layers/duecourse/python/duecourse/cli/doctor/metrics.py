"""Facts from CloudWatch: alarms, ages, errors, throttles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from duecourse.checks.alarms import alarms_of
from duecourse.checks.facts import Alarms
from duecourse.cli.doctor.facts import Function, Table
from duecourse.cli.doctor.stage import Stage

Key = TypeVar("Key")

HOUR = 3600
PERIOD = 60
RECENT = 600
"""How far back (s) the newest figure of a queue is looked for: SQS tells CloudWatch every minute, if it is in use."""

TABLES = {"Jobs": ("JobsTable", ("due", "tenant")), "Runs": ("RunsTable", ("dead",))}
"""By name: the output with the table's own, and its indexes."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A metric, and how its values are put together."""

    namespace: str
    name: str
    dimensions: Mapping[str, str]
    statistic: str = "Sum"


def alarms(stage: Stage) -> Alarms:
    """Those in the stage's folder of names: `Duecourse/prod/ticks-missing`."""
    prefix = f"Duecourse/{stage.name}/"
    pages = stage.clients("cloudwatch").get_paginator("describe_alarms").paginate(AlarmNamePrefix=prefix)
    found = [each for page in pages for each in page.get("MetricAlarms", ())]
    return alarms_of(found, prefix)


def functions(stage: Stage) -> list[Function]:
    """Every function's last hour."""
    names = ("Invocations", "Errors", "Throttles")
    asked = {
        (function, metric): Asked("AWS/Lambda", metric, {"FunctionName": resource})
        for function, resource in stage.functions.items()
        for metric in names
    }
    found = _values(stage, asked, HOUR)
    return [Function(name, *(found[name, metric] or 0.0 for metric in names)) for name in stage.functions]


def tables(stage: Stage) -> list[Table]:
    """Throttled requests of the last hour; those of an index have a dimension of their own."""
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
    """The age (s) of the oldest message of each queue, named by its address; None where none was told lately."""
    asked = {
        url: Asked("AWS/SQS", "ApproximateAgeOfOldestMessage", {"QueueName": url.rsplit("/", 1)[-1]}, "Maximum")
        for url in queues
    }
    return _values(stage, asked, RECENT)


def most_executions(stage: Stage) -> float | None:
    """Concurrent executions of the whole account, at most, in the last hour."""
    return _values(stage, {0: Asked("AWS/Lambda", "ConcurrentExecutions", {}, "Maximum")}, HOUR)[0]


def _values(stage: Stage, asked: Mapping[Key, Asked], seconds: int) -> dict[Key, float | None]:
    """One value for the last so many seconds of each metric, or None where it had none."""
    queries: list[dict[str, Any]] = [
        {
            "Id": f"m{number}",
            "MetricStat": {
                "Metric": {
                    "Namespace": each.namespace,
                    "MetricName": each.name,
                    "Dimensions": [{"Name": name, "Value": value} for name, value in each.dimensions.items()],
                },
                "Period": PERIOD,
                "Stat": each.statistic,
            },
        }
        for number, each in enumerate(asked.values())
    ]
    until = datetime.fromtimestamp(stage.now, UTC)
    values: dict[str, list[float]] = {query["Id"]: [] for query in queries}
    pages = stage.clients("cloudwatch").get_paginator("get_metric_data")
    for page in pages.paginate(MetricDataQueries=queries, StartTime=until - timedelta(seconds=seconds), EndTime=until):
        for result in page["MetricDataResults"]:
            values[result["Id"]] += result["Values"]
    return {key: _together(each.statistic, values[f"m{number}"]) for number, (key, each) in enumerate(asked.items())}


def _together(statistic: str, values: Sequence[float]) -> float | None:
    if not values:
        return None
    return max(values) if statistic == "Maximum" else sum(values)
