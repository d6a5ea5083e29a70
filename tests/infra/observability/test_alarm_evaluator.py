"""The judge of the alarms itself, by the examples of CloudWatch's guide on missing data, and by hand."""

from typing import Any

import pytest

from tests.support.alarm_evaluator import ALARM, OK, MetricAlarm
from tests.support.metric_data import MetricData, dimensions
from tests.support.metric_math import NotUsedError, evaluate

BEGIN = 1_795_262_400.0
KEPT = "the state that it had"


def alarm(**changes: Any) -> MetricAlarm:
    whole = {"Namespace": "Duecourse", "MetricName": "M", "Dimensions": [], "Period": 60, "Statistic": "Sum"}
    judged = {"EvaluationPeriods": 3, "Threshold": 0, "ComparisonOperator": "GreaterThanThreshold"}
    return MetricAlarm(whole | judged | {"TreatMissingData": "notBreaching"} | changes)


def told(minutes: str, of: MetricAlarm) -> MetricData:
    """One character a minute: `0` within the threshold, `X` beyond it, `-` nothing."""
    data = MetricData()
    namespace = of.properties["Namespace"]
    for minute, what in enumerate(minutes):
        if what != "-":
            data.put(namespace, "M", dimensions({}), BEGIN + 60 * minute, 1.0 if what == "X" else 0.0)
    return data


@pytest.mark.parametrize(
    ("minutes", "needed", "ignore", "breaching", "not_breaching"),
    [
        ("0-X-X", 3, OK, OK, OK),
        ("0----", 3, OK, OK, OK),
        ("-----", 3, KEPT, ALARM, OK),
        ("0XX-X", 3, ALARM, ALARM, ALARM),
        ("--X--", 3, KEPT, ALARM, OK),
        ("0-X-X", 2, ALARM, ALARM, ALARM),
        ("00X0X", 2, ALARM, ALARM, ALARM),
        ("0-X--", 2, OK, ALARM, OK),
        ("----0", 2, OK, ALARM, OK),
        ("---X-", 2, KEPT, ALARM, OK),
    ],
)
def test_alarm_evaluator_treats_missing_data_as_the_guide_shows(
    minutes: str, needed: int, ignore: str, breaching: str, not_breaching: str
) -> None:
    for treatment, expected in (("ignore", ignore), ("breaching", breaching), ("notBreaching", not_breaching)):
        judge = alarm(TreatMissingData=treatment, DatapointsToAlarm=needed)
        for before in (OK, ALARM):
            assert judge.state(told(minutes, judge), BEGIN + 300, before) == (before if expected == KEPT else expected)


def test_alarm_evaluator_keeps_the_state_of_dynamodb_alarms_without_data_regardless_of_their_setting() -> None:
    judge = alarm(Namespace="AWS/DynamoDB", EvaluationPeriods=1)
    assert judge.states(told("-X", judge), BEGIN, BEGIN + 3600)[1:] == [OK, *[ALARM] * 59]


@pytest.mark.parametrize(
    ("statistic", "value"),
    [
        ({"Statistic": "Sum"}, 5050.0),
        ({"Statistic": "Maximum"}, 100.0),
        ({"Statistic": "Minimum"}, 1.0),
        ({"Statistic": "Average"}, 50.5),
        ({"Statistic": "SampleCount"}, 100.0),
        ({"ExtendedStatistic": "p99"}, 99.0),
        ({"ExtendedStatistic": "p50"}, 50.0),
    ],
)
def test_alarm_evaluator_period_has_the_value_of_its_statistic(statistic: dict[str, str], value: float) -> None:
    data = MetricData()
    for number in range(100, 0, -1):
        data.put("Duecourse", "M", dimensions({}), BEGIN + number / 2, float(number))
    data.put("Duecourse", "M", dimensions({}), BEGIN + 60, 1000.0)
    properties = {"Namespace": "Duecourse", "MetricName": "M", "Dimensions": [], "Period": 60, **statistic}
    assert MetricAlarm(properties).value(data, BEGIN) == value


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("IF(failed >= 20, 100 * failed / started, 0)", 25.0),
        ("IF(failed > 25, 1, FILL(missing, 7) - 2)", 5.0),
        ("failed / (started - 100)", None),
        ("failed + missing", None),
        ("IF(missing > 1, 1, 0)", None),
        ("MAX([failed - 20, started, missing])", 100.0),
        ("MIN([FILL(missing - started, 0), failed])", 0.0),
        ("MAX([missing])", None),
    ],
)
def test_alarm_evaluator_expression_is_evaluated_per_period(expression: str, value: float | None) -> None:
    assert evaluate(expression, {"failed": 25.0, "started": 100.0, "missing": None}) == value


@pytest.mark.parametrize(("told_now", "value"), [(None, 3.0), (0.0, 0.0), (2.0, 2.0)])
def test_alarm_evaluator_repeat_expression_uses_the_previous_value_without_data(
    told_now: float | None, value: float
) -> None:
    assert evaluate("FILL(failed * 1, REPEAT)", {"failed": told_now}, 3.0) == value


def test_alarm_evaluator_refuses_features_that_no_alarm_uses() -> None:
    judge = alarm(TreatMissingData="missing")
    with pytest.raises(NotUsedError):
        judge.state(told("X", judge), BEGIN + 300)
    with pytest.raises(NotUsedError):
        alarm(Statistic="IQM").value(told("X", judge), BEGIN)
    with pytest.raises(NotUsedError):
        evaluate("RATE(failed)", {"failed": 1.0})
    with pytest.raises(NotUsedError):
        evaluate("FILL(failed, REPEAT) + 1", {"failed": None})
