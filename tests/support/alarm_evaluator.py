"""Determines when CloudWatch would raise an alarm: evaluates the properties of a template's alarm for metric data.

It follows the Amazon CloudWatch User Guide ("Alarm evaluation", "Configuring how CloudWatch alarms treat missing data",
"Using metric math") for the features that this project's alarms use. Other features are rejected.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import ceil
from typing import Any

from tests.support.metric_data import MetricData, dimensions
from tests.support.metric_math import NotUsedError, evaluate

EXTRA_PERIODS = 2
"""The number of additional periods in which an alarm searches for values: for three periods, the guide shows five."""

COMPARISONS: Mapping[str, Callable[[float, float], bool]] = {
    "GreaterThanThreshold": lambda value, threshold: value > threshold,
    "GreaterThanOrEqualToThreshold": lambda value, threshold: value >= threshold,
    "LessThanThreshold": lambda value, threshold: value < threshold,
    "LessThanOrEqualToThreshold": lambda value, threshold: value <= threshold,
}

OK, ALARM = "OK", "ALARM"


@dataclass(frozen=True, slots=True)
class MetricAlarm:
    """An `AWS::CloudWatch::Alarm` with the properties in its template."""

    properties: Mapping[str, Any]

    @property
    def period(self) -> int:
        """The period in seconds."""
        if "Metrics" not in self.properties:
            return int(self.properties["Period"])
        (period,) = {int(one["MetricStat"]["Period"]) for one in self.properties["Metrics"] if "MetricStat" in one}
        return period

    @property
    def treats_missing(self) -> str:
        """The treatment of missing data. Alarms on DynamoDB always ignore missing data (API Reference,
        "PutMetricAlarm").
        """
        of_dynamodb = self.properties.get("Namespace") == "AWS/DynamoDB"
        return "ignore" if of_dynamodb else str(self.properties.get("TreatMissingData", "missing"))

    def value(self, data: MetricData, begin: float, before: float | None = None) -> float | None:
        """Return the value of the period that begins at `begin`; None without data. `before` is the value of the
        previous period.
        """
        if "Metrics" in self.properties:
            return self._expression(data, begin, before)
        return _statistic(self.properties, self.properties, data, begin, self.period)

    def state(self, data: MetricData, at: float, before: str = OK) -> str:
        """Return the state at the end of a period. `before` is the state at the end of the previous period."""
        periods = int(self.properties["EvaluationPeriods"])
        needed = int(self.properties.get("DatapointsToAlarm", periods))
        last = int(at) // self.period * self.period
        begins = [last - number * self.period for number in range(1, periods + EXTRA_PERIODS + 1)]
        found = [value for value in self._values(data, begins) if value is not None][:periods]
        breaching = [self._breaches(value) for value in found]
        missing = periods - len(found)
        if missing and self.treats_missing == "ignore":
            if breaching.count(True) >= needed:
                return ALARM
            return OK if False in breaching else before
        if self.treats_missing not in ("breaching", "notBreaching", "ignore"):
            raise NotUsedError(f"no alarm of ours treats missing data as {self.treats_missing}")
        filled = breaching + [self.treats_missing == "breaching"] * missing
        return ALARM if filled.count(True) >= needed else OK

    def states(self, data: MetricData, begin: float, end: float) -> list[str]:
        """Return the states at the end of each minute of that time, beginning with OK."""
        states = [OK]
        for at in range(ceil(begin / 60) * 60, int(end) + 1, 60):
            states.append(self.state(data, at, states[-1]))
        return states[1:]

    def first_breach(self, data: MetricData, begin: float, end: float) -> float:
        """Return when the first period in alarm ended, which is the first time at which CloudWatch could detect it."""
        for at in range(int(begin) // self.period * self.period, int(end), self.period):
            value = self.value(data, at)
            missing = self.treats_missing == "breaching"
            if missing if value is None else self._breaches(value):
                return at + self.period
        raise AssertionError("no period is in alarm")

    def _breaches(self, value: float) -> bool:
        return COMPARISONS[self.properties["ComparisonOperator"]](value, float(self.properties["Threshold"]))

    def _values(self, data: MetricData, begins: list[int]) -> list[float | None]:
        """Return the values of periods, latest first. FILL with REPEAT uses the oldest of them at most."""
        values: list[float | None] = []
        for begin in reversed(begins):
            values.append(self.value(data, begin, values[-1] if values else None))
        return values[::-1]

    def _expression(self, data: MetricData, begin: float, before: float | None) -> float | None:
        (expression,) = [one["Expression"] for one in self.properties["Metrics"] if "Expression" in one]
        values = {
            one["Id"]: _statistic(
                one["MetricStat"]["Metric"],
                {"Statistic": one["MetricStat"]["Stat"]},
                data,
                begin,
                int(one["MetricStat"]["Period"]),
            )
            for one in self.properties["Metrics"]
            if "MetricStat" in one
        }
        return evaluate(expression, values, before)


def _statistic(
    metric: Mapping[str, Any], how: Mapping[str, Any], data: MetricData, begin: float, period: int
) -> float | None:
    key = (metric["Namespace"], metric["MetricName"], dimensions(metric.get("Dimensions", [])))
    values = sorted(data.within(key, begin, begin + period))
    if not values:
        return None
    which = str(how.get("ExtendedStatistic") or how["Statistic"])
    if percentile := re.fullmatch(r"p(\d+(?:\.\d+)?)", which):
        # Nearest rank; CloudWatch interpolates between neighbours of a large sample, which changes no verdict here.
        return values[ceil(float(percentile[1]) / 100 * len(values)) - 1]
    if rank := re.fullmatch(r"PR\(:(\d+)\)", which):
        return 100 * sum(value <= float(rank[1]) for value in values) / len(values)
    match which:
        case "Sum":
            return sum(values)
        case "Maximum":
            return values[-1]
        case "Minimum":
            return values[0]
        case "Average":
            return sum(values) / len(values)
        case "SampleCount":
            return float(len(values))
    raise NotUsedError(f"no alarm of ours uses the statistic {which}")
