"""The alarms of a stage's template, by the names that runbooks call them."""

import re
from dataclasses import dataclass
from functools import cache
from typing import Any

from tests.support.alarm_evaluator import ALARM, MetricAlarm
from tests.support.metric_data import MetricData
from tests.support.template import resources


def name_of(properties: dict[str, Any]) -> str:
    """`ticks-missing` of `Duecourse/prod/ticks-missing`."""
    return str(properties["AlarmName"]).rpartition("/")[2]


@cache
def alarms(stage: str) -> dict[str, dict[str, Any]]:
    """Properties of all alarms."""
    found = resources(stage, "AWS::CloudWatch::Alarm").values()
    return {name_of(each["Properties"]): each["Properties"] for each in found}


def watched(alarm: dict[str, Any]) -> list[dict[str, Any]]:
    """The metrics that an alarm is about."""
    if "MetricName" in alarm:
        return [alarm]
    return [one["MetricStat"]["Metric"] for one in alarm["Metrics"] if "MetricStat" in one]


def billed_metrics(stage: str) -> int:
    """How many metrics its alarms watch: CloudWatch bills each of them."""
    return sum(len(watched(each)) for each in alarms(stage).values())


@dataclass(frozen=True, slots=True)
class Judge:
    """What goes off in a stage over some metric data, between two instants."""

    stage: str
    data: MetricData
    begin: float
    end: float

    def goes_off(self, name: str) -> bool:
        """Whether an alarm is in ALARM at some time."""
        alarm = MetricAlarm(alarms(self.stage)[name])
        return ALARM in alarm.states(self.data, self.begin, self.end + alarm.period)

    def all_that_tell(self) -> set[str]:
        """The names of those that go off and tell an operator."""
        return {name for name, each in alarms(self.stage).items() if "AlarmActions" in each and self.goes_off(name)}


def section_of(properties: dict[str, Any]) -> str:
    """The runbook's section that a description ends with."""
    found = re.search(r"docs/runbooks\.md#([a-z-]+)$", properties["AlarmDescription"])
    assert found, properties["AlarmDescription"]
    return found[1]
