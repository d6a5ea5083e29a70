"""The stage's figures, on MiniStack's CloudWatch."""

from __future__ import annotations

from uuid import uuid4

import pytest

from duecourse.adapters.aws.cloudwatch import METRICS_FRESH_SECONDS, CloudWatchMetrics
from duecourse.checks.facts import Lateness, Outcomes
from duecourse.checks.metrics import STEP_SECONDS, STEPS
from duecourse.domain.jobs.job import Lane
from duecourse.testing.clock import SettableClock

NOW = 1_795_243_620.0
STEP = NOW // STEP_SECONDS * STEP_SECONDS
EARLIER = STEP - STEP_SECONDS


def test_values_that_the_functions_wrote_are_figures_of_the_stage(clients):
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
    put("AttemptsFailed", STEP, 1.0, function="sweep")
    put("RunsDead", STEP, 1.0, function="sweep")
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
