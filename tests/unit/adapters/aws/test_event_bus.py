"""Outbound events on the stage's bus."""

from __future__ import annotations

import logging
from datetime import UTC, datetime

import orjson
import pytest
from botocore.exceptions import EndpointConnectionError

from duecourse.adapters.aws.event_bus import EventBridgeBus
from duecourse.ports import OutboundEvent
from tests.support.aws_targets import refusal

AT = 1_795_243_680.25


class Events:
    """EventBridge that refuses the entries it is told to, counted over all requests."""

    def __init__(self, refused=(), problem=None):
        self.refused = set(refused)
        self.problem = problem
        self.requests = []

    def put_events(self, **request):
        start, entries = sum(map(len, self.requests)), request["Entries"]
        self.requests.append(entries)
        if self.problem is not None:
            raise self.problem
        answers = [
            {"ErrorCode": "InternalFailure", "ErrorMessage": "oops"} if start + n in self.refused else {"EventId": "e"}
            for n in range(len(entries))
        ]
        return {"FailedEntryCount": len(self.refused), "Entries": answers}


def outbound_events(count: int) -> list[OutboundEvent]:
    return [OutboundEvent("Run Dead", {"event": f"e-{number}"}, AT) for number in range(count)]


def test_an_outbound_event_is_an_event_of_ours():
    events = Events()
    assert EventBridgeBus(events, "duecourse-dev").publish([OutboundEvent("Run Dead", {"run_id": "nightly"}, AT)]) == 0
    ((entry,),) = events.requests
    assert orjson.loads(entry.pop("Detail")) == {"run_id": "nightly"}
    assert entry == {
        "EventBusName": "duecourse-dev",
        "Source": "duecourse",
        "DetailType": "Run Dead",
        "Time": datetime.fromtimestamp(AT, UTC),
    }


@pytest.mark.parametrize(("count", "sizes"), [(0, []), (1, [1]), (10, [10]), (23, [10, 10, 3])])
def test_ten_go_into_a_request(count, sizes):
    events = Events()
    assert EventBridgeBus(events, "bus").publish(outbound_events(count)) == 0
    assert [len(request) for request in events.requests] == sizes


def test_entries_that_were_refused_are_counted_and_logged(caplog):
    with caplog.at_level(logging.WARNING):
        assert EventBridgeBus(Events(refused={3, 11}), "bus").publish(outbound_events(12)) == 2
    assert [(record.event, record.error) for record in caplog.records] == [
        ("e-3", "InternalFailure: oops"),
        ("e-11", "InternalFailure: oops"),
    ]


@pytest.mark.parametrize(
    "problem", [refusal("ThrottlingException", 400), EndpointConnectionError(endpoint_url="https://events.test")]
)
def test_a_bus_that_fails_as_a_whole_raises_nothing(caplog, problem):
    with caplog.at_level(logging.WARNING):
        assert EventBridgeBus(Events(problem=problem), "bus").publish(outbound_events(12)) == 12
    assert len(caplog.records) == 2


def test_eventbridge_understands_it(mocked):
    events = mocked.get("events")
    arn = events.create_event_bus(Name="duecourse-dev")["EventBusArn"]
    events.create_archive(ArchiveName="all", EventSourceArn=arn)
    assert EventBridgeBus(events, "duecourse-dev").publish(outbound_events(11)) == 0
    assert events.describe_archive(ArchiveName="all")["EventCount"] == 11
