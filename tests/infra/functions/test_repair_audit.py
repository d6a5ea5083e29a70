"""Index repair and the audit: when they come, and for how long."""

from __future__ import annotations

from dataclasses import replace

import pytest

from duecourse.settings import AuditSettings, RepairSettings
from infra.settings.config import ConfigError
from infra.stages import STAGES
from tests.infra.conftest import Stack

BOTH = pytest.mark.parametrize("name", ["Patrol", "Audit"])


@BOTH
def test_each_comes_every_quarter_of_an_hour_and_ends_before_the_next(stack: Stack, name: str) -> None:
    function = {"Fn::GetAtt": [stack.output(f"{name}Function"), "Arn"]}
    rules = stack.resources("AWS::Events::Rule").values()
    (rule,) = [rule for rule in rules if [target["Arn"] for target in rule["Targets"]] == [function]]
    assert (rule["ScheduleExpression"], rule["State"]) == ("rate(15 minutes)", "ENABLED")
    assert stack.function(f"{name}Function")["Timeout"] < 900
    (policy,) = [target["RetryPolicy"] for target in rule["Targets"]]
    assert policy["MaximumEventAgeInSeconds"] <= 900


@BOTH
def test_index_repair_that_failed_is_not_repeated_since_the_next_goes_on(stack: Stack, name: str) -> None:
    invokes = stack.resources("AWS::Lambda::EventInvokeConfig").values()
    (invoke,) = [each for each in invokes if each["FunctionName"] == {"Ref": stack.output(f"{name}Function")}]
    assert (invoke["MaximumEventAgeInSeconds"], invoke["MaximumRetryAttempts"]) == (900, 0)


def test_index_repair_and_audit_have_the_rhythm_of_their_stage(stack: Stack) -> None:
    config = STAGES[stack.stage]
    repair = RepairSettings.from_env(stack.environment("PatrolFunction"))
    audit = AuditSettings.from_env(stack.environment("AuditFunction"))
    assert (repair.patrol_hours, audit.audit_segments) == (config.patrol_hours, config.audit_segments)
    assert (audit.lookahead_seconds, audit.horizon_seconds) == (config.lookahead_seconds, config.horizon_seconds)


@pytest.mark.parametrize("field", ["patrol_hours", "audit_segments"])
@pytest.mark.parametrize("hours", [0, 169])
def test_index_repair_and_audit_may_take_a_week_at_most(field: str, hours: int) -> None:
    with pytest.raises(ConfigError, match=f"{field} must lie between 1 and 168"):
        replace(STAGES["dev"], **{field: hours})
