"""Alarms watch the metrics that the functions really emit."""

from __future__ import annotations

import json
from typing import Any

import pytest
from aws_lambda_powertools import Logger, Metrics

from duecourse.telemetry import publish
from duecourse.usecases.report import Report
from tests.support.template import resources

STAGES = ("local", "dev", "prod")
DISPATCHED = ("Missed", "CursorsSetAside", "RoundsFailed", "AfterClaimsFailed")
EXECUTED = ("EventsRefused", "ResultsLost", "RescueReadsFailed", "PausesFailed")


def alarms(stage: str) -> dict[str, dict[str, Any]]:
    """By metric name."""
    found = resources(stage, "AWS::CloudWatch::Alarm").values()
    return {each["Properties"]["MetricName"]: each["Properties"] for each in found}


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize(
    ("metric", "told"),
    [
        *((metric, {"function": "dispatch"}) for metric in DISPATCHED),
        *((metric, {"function": "execute", "lane": "low"}) for metric in EXECUTED),
        ("DeadLettersRecorded", {"function": "sweep"}),
    ],
)
def test_an_alarm_watches_what_a_function_emits_whatever_its_lane(
    stage: str,
    metric: str,
    told: dict[str, str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("POWERTOOLS_SERVICE_NAME", "duecourse")
    report = Report()
    report.counts[metric] = 3
    publish(report, Logger(), Metrics(namespace="Duecourse"), **told)
    emitted = json.loads(capsys.readouterr().out)
    (directive,) = emitted["_aws"]["CloudWatchMetrics"]
    alarm = alarms(stage)[metric]
    assert directive["Namespace"] == alarm["Namespace"]
    dimensions = {each["Name"]: each["Value"] for each in alarm["Dimensions"]}
    assert dimensions in [{name: emitted[name] for name in names} for names in directive["Dimensions"]]


@pytest.mark.parametrize("stage", STAGES)
def test_every_metric_of_ours_with_an_alarm_is_looked_at_here(stage: str) -> None:
    ours = {name for name, alarm in alarms(stage).items() if alarm["Namespace"] == "Duecourse"}
    assert ours == {*DISPATCHED, *EXECUTED, "DeadLettersRecorded"}


@pytest.mark.parametrize("stage", STAGES)
def test_every_alarm_tells_the_topic_of_alarms_and_says_what_it_means(stage: str) -> None:
    for alarm in alarms(stage).values():
        assert alarm["AlarmActions"]
        assert len(alarm["AlarmDescription"]) > 40


@pytest.mark.parametrize("stage", STAGES)
def test_a_catch_up_larger_than_the_stage_allows_for_raises_an_alarm(stage: str) -> None:
    alarm = alarms(stage)["Missed"]
    assert (alarm["Threshold"], alarm["ComparisonOperator"]) == (1000, "GreaterThanThreshold")
