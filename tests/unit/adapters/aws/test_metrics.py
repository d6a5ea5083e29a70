"""Alarms and figures of CloudWatch.

- The stage's figures as CloudWatch tells them.
- The stage's alarms as CloudWatch lists them.
"""

import logging
from datetime import UTC, datetime
from typing import Any

import pytest

from duecourse.adapters.aws.cloudwatch import (
    ALARMS_FRESH_SECONDS,
    METRICS_FRESH_SECONDS,
    CloudWatchAlarms,
    CloudWatchMetrics,
)
from duecourse.checks.facts import Alarm, Alarms, Outcomes, StageFigures
from duecourse.checks.objectives import TARGETS, Objective
from duecourse.domain.jobs.job import Lane
from duecourse.ports import CloudWatchUnavailableError, ServiceError
from duecourse.testing.clock import SettableClock
from tests.support.metric_contract import problem_of

NOON = 1_795_262_400.0
URLS = {lane: f"https://queues.example/1/{lane.value}" for lane in Lane}
BULK = {lane: f"{url}-bulk" for lane, url in URLS.items()}


class CloudWatch:
    """Answers a page for each of these values, by the metric's name, or refuses."""

    def __init__(self, *pages: dict[str, float], refuses: bool = False, status: str = "Complete") -> None:
        self.pages, self.refuses, self.status = pages or ({},), refuses, status
        self.requests: list[dict[str, Any]] = []

    def get_metric_data(self, NextToken: str = "0", **request: Any) -> dict[str, Any]:  # noqa: N803
        self.requests.append(request)
        if self.refuses:
            raise ServiceError("AccessDenied", "not authorized")
        number = int(NextToken)
        results = [self.result(query, self.pages[number]) for query in request["MetricDataQueries"]]
        more = {"NextToken": str(number + 1)} if number + 1 < len(self.pages) else {}
        return {"MetricDataResults": results, **more}

    def result(self, query: dict[str, Any], values: dict[str, float]) -> dict[str, Any]:
        metric = query["MetricStat"]["Metric"]
        told = (
            values.get(metric["MetricName"])
            if {"Name": "function", "Value": "reconcile"} not in metric["Dimensions"]
            else None
        )
        at = datetime.fromtimestamp(NOON - 60 * len(values), UTC)
        found = [] if told is None else [told]
        return {"Id": query["Id"], "StatusCode": self.status, "Timestamps": [at] * len(found), "Values": found}


def metrics(cloudwatch: CloudWatch, clock: SettableClock | None = None) -> CloudWatchMetrics:
    return CloudWatchMetrics(cloudwatch, "prod", clock or SettableClock(NOON), URLS, BULK)


def test_cloudwatch_requested_metrics_all_exist() -> None:
    cloudwatch = CloudWatch()
    metrics(cloudwatch).figures("abc123")
    (request,) = cloudwatch.requests
    asked = [query["MetricStat"]["Metric"] for query in request["MetricDataQueries"]]
    named = [({pair["Name"]: pair["Value"] for pair in each["Dimensions"]}, each) for each in asked]
    assert [problem_of(each["Namespace"], each["MetricName"], of) for of, each in named] == [None] * len(asked)
    assert {each["Namespace"] for each in asked} == {"Duecourse/prod", "AWS/SQS", "AWS/ApiGateway"}
    assert {of["QueueName"] for of, _ in named if "QueueName" in of} == {
        *("high", "normal", "low", "long"),
        *("high-bulk", "normal-bulk", "low-bulk", "long-bulk"),
    }


def test_cloudwatch_figures_of_the_last_day_are_read_in_one_request() -> None:
    cloudwatch = CloudWatch()
    figures = metrics(cloudwatch).figures()
    (request,) = cloudwatch.requests
    assert (request["StartTime"].timestamp(), request["EndTime"].timestamp()) == (figures.since, NOON)
    assert NOON - 86_400 <= figures.since <= NOON - 84_600


def test_cloudwatch_figures_of_a_new_stage_are_empty() -> None:
    figures = metrics(CloudWatch()).figures()
    nothing = tuple(Objective(name, target, None) for name, target in TARGETS.items())
    lanes = dict.fromkeys(("high", "normal", "low", "long"))
    assert figures == StageFigures(figures.since, [], [], lanes, nothing)


def test_cloudwatch_figures_include_every_page() -> None:
    figures = metrics(CloudWatch({"RunsSucceeded": 2.0}, {"RunsSucceeded": 3.0, "RunsDead": 1.0})).figures()
    assert figures.outcomes == [Outcomes(NOON - 120, 3, 0, 1), Outcomes(NOON - 60, 2, 0, 0)]


def test_cloudwatch_figures_do_not_count_a_death_without_a_failed_attempt_as_a_retry() -> None:
    (outcomes,) = metrics(CloudWatch({"AttemptsFailed": 1.0, "RunsDead": 2.0})).figures().outcomes
    assert (outcomes.retried, outcomes.dead) == (0, 2)


@pytest.mark.parametrize(
    ("cloudwatch", "error"),
    [
        pytest.param(CloudWatch(refuses=True), "not authorized", id="refused"),
        pytest.param(CloudWatch(status="InternalError"), "17 metrics: InternalError", id="failed inside"),
    ],
)
def test_cloudwatch_error_of_the_figures_gives_the_reason_and_is_logged(
    cloudwatch: CloudWatch, error: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING), pytest.raises(CloudWatchUnavailableError, match=error):
        metrics(cloudwatch).figures()
    (line,) = caplog.records
    assert (line.levelname, line.message) == ("WARNING", "metrics_not_read")
    assert error in vars(line)["error"]


@pytest.mark.parametrize("refuses", [False, True])
def test_cloudwatch_figures_are_requested_again_only_after_a_minute(refuses: bool) -> None:
    clock, cloudwatch = SettableClock(NOON), CloudWatch(refuses=refuses)
    asking = metrics(cloudwatch, clock)
    for after in (0.0, METRICS_FRESH_SECONDS - 1.0, METRICS_FRESH_SECONDS):
        clock.set(NOON + after)
        try:
            asking.figures()
        except CloudWatchUnavailableError:
            assert refuses
    assert len(cloudwatch.requests) == 2


RINGING = {
    "AlarmName": "Duecourse/prod/ticks-missing",
    "AlarmDescription": "No tick. Runbook: docs/runbooks.md#ticks-missing",
    "StateValue": "ALARM",
    "StateUpdatedTimestamp": datetime(2026, 11, 21, 10, 0, tzinfo=UTC),
    "StateTransitionedTimestamp": datetime(2026, 11, 21, 9, 55, tzinfo=UTC),
}
SILENT = {"AlarmName": "Duecourse/prod/targets-failing", "StateValue": "INSUFFICIENT_DATA"}


class AlarmsCloudWatch:
    """Answers with a page for each alarm, or refuses."""

    def __init__(self, *alarms: dict[str, Any], refuses: bool = False) -> None:
        self.pages, self.refuses, self.asked = alarms, refuses, 0

    def describe_alarms(self, AlarmNamePrefix: str, MaxRecords: int, NextToken: str = "0") -> dict[str, Any]:  # noqa: N803
        assert (AlarmNamePrefix, MaxRecords) == ("Duecourse/prod/", 100)
        self.asked += 1
        if self.refuses:
            raise ServiceError("AccessDenied", "not authorized")
        number = int(NextToken)
        more = {"NextToken": str(number + 1)} if number + 1 < len(self.pages) else {}
        return {"MetricAlarms": [self.pages[number]], **more}


def test_cloudwatch_alarms_include_every_page_and_the_start_of_each_alarm() -> None:
    alarms = CloudWatchAlarms(AlarmsCloudWatch(RINGING, SILENT), "prod", SettableClock(0.0)).alarms()
    told = "No tick. Runbook: docs/runbooks.md#ticks-missing"
    ringing = Alarm("ticks-missing", told, "docs/runbooks.md#ticks-missing", "2026-11-21T09:55:00Z")
    assert alarms == Alarms([ringing], 2, 1)


def test_cloudwatch_error_of_the_alarms_gives_the_reason() -> None:
    with pytest.raises(CloudWatchUnavailableError, match="not authorized"):
        CloudWatchAlarms(AlarmsCloudWatch(refuses=True), "prod", SettableClock(0.0)).alarms()


@pytest.mark.parametrize("refuses", [False, True])
def test_cloudwatch_alarms_are_requested_again_only_after_some_seconds(refuses: bool) -> None:
    clock, cloudwatch = SettableClock(0.0), AlarmsCloudWatch(RINGING, refuses=refuses)
    alarms = CloudWatchAlarms(cloudwatch, "prod", clock)
    for at in (0.0, ALARMS_FRESH_SECONDS - 1.0, ALARMS_FRESH_SECONDS):
        clock.set(at)
        try:
            alarms.alarms()
        except CloudWatchUnavailableError:
            assert refuses
    assert cloudwatch.asked == 2
