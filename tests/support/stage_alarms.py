"""The alarms of a stage's template, by the names that runbooks call them."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache
from typing import Any

from tests.support.alarm_evaluator import ALARM, OK, MetricAlarm, composite_state
from tests.support.metric_data import MetricData
from tests.support.template import resources

CONSTRUCT = "Observability"


def name_of(logical_id: str) -> str:
    """`NoTick` of `ObservabilityNoTickA65BD6BF`."""
    return re.sub(rf"^{CONSTRUCT}(.+)[0-9A-F]{{8}}$", r"\1", logical_id)


@cache
def alarms(stage: str) -> dict[str, dict[str, Any]]:
    """Properties of the metric alarms that tell operators; not of those that only watch deployments."""
    found = resources(stage, "AWS::CloudWatch::Alarm").items()
    return {name_of(logical_id): each["Properties"] for logical_id, each in found if logical_id.startswith(CONSTRUCT)}


@cache
def composites(stage: str) -> dict[str, dict[str, Any]]:
    """Properties of the alarms over other alarms."""
    found = resources(stage, "AWS::CloudWatch::CompositeAlarm").items()
    return {name_of(logical_id): each["Properties"] for logical_id, each in found}


def rule_of(composite: dict[str, Any]) -> str:
    """Its rule, with the members' names where the deployment puts their addresses."""
    rule = composite["AlarmRule"]
    parts = rule["Fn::Join"][1] if isinstance(rule, dict) else [rule]
    return "".join(part if isinstance(part, str) else name_of(part["Fn::GetAtt"][0]) for part in parts)


@dataclass(frozen=True)
class Judge:
    """What goes off in a stage over some metric data, between two instants."""

    stage: str
    data: MetricData
    begin: float
    end: float

    def goes_off(self, name: str) -> bool:
        """Whether an alarm, metric or composite, is in ALARM at some time."""
        if name in composites(self.stage):
            rule = rule_of(composites(self.stage)[name])
            states = {each: ALARM if self.goes_off(each) else OK for each in alarms(self.stage)}
            return composite_state(rule, states) == ALARM
        alarm = MetricAlarm(alarms(self.stage)[name])
        return ALARM in alarm.states(self.data, self.begin, self.end + alarm.period)

    def all_that_go_off(self) -> set[str]:
        """Their names."""
        return {name for name in (*alarms(self.stage), *composites(self.stage)) if self.goes_off(name)}


def section_of(properties: dict[str, Any]) -> str:
    """The runbook's section that a description names."""
    found = re.search(r"docs/runbooks\.md#([a-z]+)\.", json.dumps(properties["AlarmDescription"]))
    assert found, properties["AlarmDescription"]
    return found[1]
