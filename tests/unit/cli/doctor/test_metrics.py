"""What the doctor reads from CloudWatch: alarms by their names, sums of the last hour."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

from duecourse.cli.doctor import metrics, queues
from duecourse.cli.doctor.facts import Function, Quotas, Skew, Table
from duecourse.cli.doctor.stage import Stage

NOW = 1.8e9
OUTPUTS = {"TickFunction": "tick-1", "ApiFunction": "api-1", "JobsTable": "jobs-1", "RunsTable": "runs-1"}
LINK = "https://example.com/docs/runbooks.md#jobs-not-firing"
ALARMS = [
    {
        "AlarmName": "Duecourse/prod/ticks-missing",
        "AlarmDescription": "No tick. First: look. Runbook: docs/runbooks.md#ticks-missing",
        "StateValue": "ALARM",
    },
    {"AlarmName": "Duecourse/prod/runs-dying", "StateValue": "OK"},
    {"AlarmName": "Duecourse/prod-acme/ticks-missing", "StateValue": "ALARM"},
    {
        "AlarmName": "Duecourse/prod/jobs-not-firing",
        "AlarmDescription": f"Jobs do not fire. Runbook: {LINK}",
        "StateValue": "ALARM",
    },
]


class CloudWatch:
    """Has these values, each by namespace, metric and dimensions; a page for each, as AWS may do."""

    def __init__(self, values: Mapping[tuple[str, ...], list[float]]) -> None:
        self.values = values
        self.since: list[float] = []

    def get_paginator(self, operation: str) -> Any:
        pages = {"describe_alarms": self.alarms, "get_metric_data": self.data}[operation]
        return type("Paginator", (), {"paginate": staticmethod(pages)})

    def alarms(self, *, AlarmNamePrefix: str) -> Iterator[dict[str, Any]]:  # noqa: N803
        for each in ALARMS:
            yield {"MetricAlarms": [each] if each["AlarmName"].startswith(AlarmNamePrefix) else []}

    def data(
        self,
        *,
        MetricDataQueries: list[dict[str, Any]],  # noqa: N803
        StartTime: datetime,  # noqa: N803
        EndTime: datetime,  # noqa: N803
    ) -> Iterator[dict[str, Any]]:
        self.since.append(EndTime.timestamp() - StartTime.timestamp())
        for query in MetricDataQueries:
            asked = query["MetricStat"]["Metric"]
            dimensions = tuple(each["Value"] for each in asked["Dimensions"])
            values = self.values.get((asked["Namespace"], asked["MetricName"], *dimensions), [])
            instants = [StartTime + timedelta(minutes=number) for number in range(len(values))]
            yield {"MetricDataResults": [{"Id": query["Id"], "Timestamps": instants, "Values": values}]}


class Lambda:
    def get_account_settings(self) -> dict[str, Any]:
        return {"AccountLimit": {"ConcurrentExecutions": 1_000, "UnreservedConcurrentExecutions": 932}}


def stage(values: Mapping[tuple[str, ...], list[float]]) -> Stage:
    clients = {"cloudwatch": CloudWatch(values), "lambda": Lambda()}
    return Stage("prod", OUTPUTS, 1e6, NOW, Skew(0.0), clients.__getitem__)


def test_alarms_are_found_by_the_stages_name_and_have_the_link_to_their_runbook() -> None:
    found = metrics.alarms(stage({}))
    assert found.all == 3
    assert [(each.name, each.runbook) for each in found.ringing] == [
        ("ticks-missing", "docs/runbooks.md#ticks-missing"),
        ("jobs-not-firing", LINK),
    ]


def test_alarms_of_a_stage_whose_name_begins_alike_are_not_this_ones() -> None:
    assert [each.name for each in metrics.alarms(stage({})).ringing].count("ticks-missing") == 1


def test_functions_are_summed_over_the_last_hour_and_what_has_no_data_is_none() -> None:
    values = {("AWS/Lambda", "Invocations", "tick-1"): [30.0, 30.0], ("AWS/Lambda", "Errors", "tick-1"): [1.0]}
    assert metrics.functions(stage(values)) == [Function("Tick", 60, 1, 0), Function("Api", 0, 0, 0)]


def test_throttled_requests_of_a_table_and_its_indexes_are_put_together() -> None:
    values = {
        ("AWS/DynamoDB", "WriteThrottleEvents", "jobs-1"): [2.0],
        ("AWS/DynamoDB", "WriteThrottleEvents", "jobs-1", "due"): [3.0, 4.0],
    }
    assert metrics.tables(stage(values)) == [Table("Jobs", 9), Table("Runs", 0)]


def test_the_age_of_a_queue_is_the_largest_of_the_last_minutes() -> None:
    asked = stage({("AWS/SQS", "ApproximateAgeOfOldestMessage", "high"): [5.0, 80.0, 7.0]})
    urls = ["https://sqs/1/high", "https://sqs/1/low"]
    assert metrics.oldest(asked, urls) == {urls[0]: 80.0, urls[1]: None}


def test_quotas_are_told_with_what_was_used_at_most() -> None:
    values = {("AWS/Lambda", "ConcurrentExecutions"): [10.0, 700.0]}
    assert queues.quotas(stage(values)) == Quotas(1_000, 932, 700)
