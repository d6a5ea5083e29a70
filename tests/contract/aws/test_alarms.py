"""The stage's alarms, on MiniStack's CloudWatch."""

from __future__ import annotations

from uuid import uuid4

from duecourse.adapters.aws.cloudwatch import ALARMS_FRESH_SECONDS, CloudWatchAlarms
from duecourse.testing.clock import SettableClock


def test_an_alarm_of_the_stage_is_found_while_it_rings(clients):
    cloudwatch, clock, stage = clients.get("cloudwatch"), SettableClock(1_795_243_620.0), uuid4().hex
    alarms = CloudWatchAlarms(cloudwatch, stage, clock)
    for name in (f"Duecourse/{stage}/runs-dying", f"Duecourse/{stage}-other/runs-dying"):
        cloudwatch.put_metric_alarm(
            AlarmName=name,
            AlarmDescription="Runs die. Runbook: docs/runbooks.md#runs-dying",
            MetricName="RunsDead",
            Namespace=stage,
            Period=60,
            EvaluationPeriods=1,
            Threshold=0,
            ComparisonOperator="GreaterThanThreshold",
            Statistic="Sum",
        )
    quiet = alarms.alarms()
    assert (quiet.all, list(quiet.ringing)) == (1, [])
    cloudwatch.set_alarm_state(AlarmName=f"Duecourse/{stage}/runs-dying", StateValue="ALARM", StateReason="a test")
    clock.advance(ALARMS_FRESH_SECONDS)
    (ringing,) = alarms.alarms().ringing
    assert (ringing.name, ringing.runbook) == ("runs-dying", "docs/runbooks.md#runs-dying")
    assert ringing.since is not None
