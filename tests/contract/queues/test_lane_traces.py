"""The traces that messages of the lanes belong to, as the client is asked: the emulator forgets them in batches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from duecourse.adapters.sqs.lanes import SqsLanes
from duecourse.adapters.system import SystemClock, SystemRandomness
from duecourse.domain.jobs.job import Lane
from duecourse.messages import read_run_message
from duecourse.ports import Outgoing
from tests.contract.queues.test_lanes import a_message
from tests.support.client_faults import FaultyClient
from tests.support.queues import create_queue, receive

RECORDED = "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1"


@pytest.fixture
def queue_urls(sqs: Any) -> dict[Lane, str]:
    return {Lane.NORMAL: create_queue(sqs)}


@pytest.fixture
def sqs(sqs: Any) -> FaultyClient:
    """A client that keeps what is sent."""
    return FaultyClient(sqs, kinds=frozenset({"send_message_batch"}))


@pytest.fixture
def entries(sqs: FaultyClient) -> Entries:
    return Entries(sqs)


@dataclass(frozen=True)
class Entries:
    """What is asked of SQS, entry by entry."""

    sqs: FaultyClient

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (entry for each in self.sqs.seen for entry in each.asked["Entries"])


def test_lane_traces_are_carried_by_messages_outside_their_attributes(sqs, queue_urls, entries):
    lanes = SqsLanes(sqs, queue_urls, SystemClock(), SystemRandomness(), trace=lambda: RECORDED)
    assert all(lanes.send([Outgoing(a_message(number), 0) for number in range(11)]))
    trace = {"AWSTraceHeader": {"DataType": "String", "StringValue": RECORDED}}
    assert [entry["MessageSystemAttributes"] for entry in entries] == [trace] * 11
    arrived = receive(sqs, queue_urls[Lane.NORMAL])
    assert len(arrived) == 11
    assert not any("MessageAttributes" in message for message in arrived)
    assert {read_run_message(message["Body"]) for message in arrived} == {a_message(number) for number in range(11)}


@pytest.mark.parametrize("trace", [None, RECORDED.replace("Sampled=1", "Sampled=0"), "Root=1-5759e988"])
def test_lane_traces_that_are_not_recorded_add_nothing_to_messages(sqs, queue_urls, entries, trace):
    SqsLanes(sqs, queue_urls, SystemClock(), SystemRandomness(), trace=lambda: trace).send([Outgoing(a_message(), 0)])
    assert ["MessageSystemAttributes" in entry for entry in entries] == [False]


def test_lane_traces_lineage_of_an_invocation_is_not_passed_on(sqs, queue_urls, entries):
    trace = f"{RECORDED};Lineage=2:a87bd80c:16|68fd508a:5"
    SqsLanes(sqs, queue_urls, SystemClock(), SystemRandomness(), trace=lambda: trace).send([Outgoing(a_message(), 0)])
    (entry,) = entries
    assert entry["MessageSystemAttributes"]["AWSTraceHeader"]["StringValue"] == RECORDED


def test_lane_traces_belong_to_each_invocation(sqs, queue_urls, entries, monkeypatch):
    lanes = SqsLanes(sqs, queue_urls, SystemClock(), SystemRandomness())
    for number in range(2):
        monkeypatch.setenv("_X_AMZN_TRACE_ID", RECORDED.replace("1-5759e988", f"1-5759e98{number}"))
        lanes.send([Outgoing(a_message(number), 0)])
    found = [entry["MessageSystemAttributes"]["AWSTraceHeader"]["StringValue"][:15] for entry in entries]
    assert found == ["Root=1-5759e980", "Root=1-5759e981"]
