"""The stage's event bus, on MiniStack: a rule hands what comes in to a queue."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest

from duecourse.adapters.aws.event_bus import EventBridgeBus
from duecourse.ports import OutboundEvent
from tests.support.queues import bodies, create_queue, receive

AT = 1_795_243_680.0


@pytest.fixture
def bus_name(clients) -> str:
    name = f"bus-{uuid4().hex[:8]}"
    clients.get("events").create_event_bus(Name=name)
    return name


@pytest.fixture
def listening(clients, sqs: Any, bus_name: str) -> str:
    """The URL of a queue that is given our events."""
    queue_url = create_queue(sqs)
    arn = sqs.get_queue_attributes(QueueUrl=queue_url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    events = clients.get("events")
    events.put_rule(Name="ours", EventBusName=bus_name, EventPattern='{"source": ["duecourse"]}')
    events.put_targets(Rule="ours", EventBusName=bus_name, Targets=[{"Id": "queue", "Arn": arn}])
    return queue_url


def test_outbound_events_reach_whoever_listens(clients, sqs, bus_name, listening):
    outbound_events = [
        OutboundEvent("Run Dead", {"event": f"e-{number}", "run_id": "nightly"}, AT) for number in range(12)
    ]
    assert EventBridgeBus(clients.get("events"), bus_name).publish(outbound_events) == 0
    events = bodies(receive(sqs, listening))
    assert sorted(event["detail"]["event"] for event in events) == sorted(f"e-{number}" for number in range(12))
    assert {(event["source"], event["detail-type"]) for event in events} == {("duecourse", "Run Dead")}
