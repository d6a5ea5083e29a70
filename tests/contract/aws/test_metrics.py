"""Alarms, metrics and tasks of a stage.

- The stage's figures, on MiniStack's CloudWatch.
- The stage's alarms, on MiniStack's CloudWatch.
- Named targets, on MiniStack's Parameter Store.
"""

from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from duecourse.adapters.aws.cloudwatch import (
    ALARMS_FRESH_SECONDS,
    METRICS_FRESH_SECONDS,
    CloudWatchAlarms,
    CloudWatchMetrics,
)
from duecourse.adapters.aws.tasks import SsmTasks
from duecourse.checks.facts import Lateness, Outcomes
from duecourse.checks.metrics import STEP_SECONDS, STEPS
from duecourse.domain.jobs.job import Lane
from duecourse.domain.targets.targets import SqsTarget
from duecourse.ports import RegisteredTask
from duecourse.testing.clock import SettableClock

YESTERDAY = datetime.now(UTC) - timedelta(days=1)
NOW = YESTERDAY.replace(hour=6, minute=47, second=0, microsecond=0).timestamp()
"""A day ago: MiniStack's CloudWatch forgets values that are older than two weeks."""

STEP = NOW // STEP_SECONDS * STEP_SECONDS
EARLIER = STEP - STEP_SECONDS


def test_metrics_values_written_by_functions_are_read_for_the_stage(clients):
    cloudwatch, clock, stage = clients.get("cloudwatch"), SettableClock(NOW), uuid4().hex

    def put(name, at, *values, function="execute", of=stage, namespace=None, dimensions=None):
        named = dimensions or {"service": "duecourse", "function": function}
        listed = [{"Name": key, "Value": value} for key, value in named.items()]
        data = [{"MetricName": name, "Dimensions": listed, "Timestamp": at, "Value": each} for each in values]
        cloudwatch.put_metric_data(Namespace=namespace or f"Duecourse/{of}", MetricData=data)

    def queue(name, at, age):
        put("ApproximateAgeOfOldestMessage", at, age, namespace="AWS/SQS", dimensions={"QueueName": f"{stage}-{name}"})

    urls = {lane: f"https://queues.example/1/{stage}-{lane.value}" for lane in Lane}
    bulk = {lane: f"{url}-bulk" for lane, url in urls.items()}
    metrics = CloudWatchMetrics(cloudwatch, stage, clock, urls, bulk)
    assert metrics.figures().oldest == dict.fromkeys(("high", "normal", "low", "long"))
    assert (metrics.figures().lateness, metrics.figures().outcomes) == ([], [])

    put("Lateness", EARLIER + 30, 100.0, 200.0, 300.0)
    put("RunsSucceeded", EARLIER + 30, 2.0, 3.0)
    put("AttemptsFailed", STEP, 3.0)
    put("RunsDead", STEP, 1.0)
    put("AttemptsFailed", STEP, 1.0, function="reconcile")
    put("RunsDead", STEP, 1.0, function="reconcile")
    put("RunsSucceeded", STEP - STEPS * STEP_SECONDS, 7.0)
    put("RunsSucceeded", STEP, 7.0, of=f"{stage}-other")
    queue("high", NOW - 60, 5.0)
    queue("high-bulk", NOW - 120, 80.0)
    queue("low", NOW - 3600, 900.0)
    clock.advance(METRICS_FRESH_SECONDS)
    found = metrics.figures()

    assert found.lateness == [Lateness(EARLIER, 0.2, pytest.approx(0.298, abs=0.003))]
    assert found.outcomes == [Outcomes(EARLIER, 5, 0, 0), Outcomes(STEP, 0, 2, 2)]
    assert found.oldest == {"high": 80.0, "normal": None, "low": None, "long": None}
    assert found.since == STEP - (STEPS - 1) * STEP_SECONDS


def test_metrics_stage_alarm_is_found_while_active(clients):
    cloudwatch, clock, stage = clients.get("cloudwatch"), SettableClock(NOW), uuid4().hex
    alarms = CloudWatchAlarms(cloudwatch, stage, clock)
    for name in (f"Duecourse/{stage}/targets-failing", f"Duecourse/{stage}-other/targets-failing"):
        cloudwatch.put_metric_alarm(
            AlarmName=name,
            AlarmDescription="Runs die. Runbook: docs/runbooks.md#targets-failing",
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
    cloudwatch.set_alarm_state(AlarmName=f"Duecourse/{stage}/targets-failing", StateValue="ALARM", StateReason="a test")
    clock.advance(ALARMS_FRESH_SECONDS)
    (ringing,) = alarms.alarms().ringing
    assert (ringing.name, ringing.runbook) == ("targets-failing", "docs/runbooks.md#targets-failing")
    assert ringing.since is not None


def test_metrics_task_is_found_once_registered(clients):
    ssm, clock, stage = clients.get("ssm"), SettableClock(NOW), uuid4().hex
    tasks = SsmTasks(ssm, stage, clock)
    assert tasks.get("invoice") is None
    document = '{"target": {"type": "sqs", "queue": "invoices"}, "defaults": {"timeout_seconds": 60}}'
    ssm.put_parameter(Name=f"/duecourse/{stage}/tasks/invoice", Value=document, Type="String")
    clock.advance(5)
    assert tasks.get("invoice") == RegisteredTask(SqsTarget("invoices"), {"timeout_seconds": 60})
    assert SsmTasks(ssm, "another", clock).get("invoice") is None
