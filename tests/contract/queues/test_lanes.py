"""The queues of the lanes, on MiniStack."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import boto3
import pytest

from duecourse.adapters.aws.clients import AwsClients
from duecourse.adapters.sqs.lanes import SqsLanes
from duecourse.adapters.sqs.received import SqsReceived
from duecourse.adapters.system import SystemClock, SystemRandomness
from duecourse.domain.ids import RunIdentity
from duecourse.domain.jobs.cursor import plan
from duecourse.domain.jobs.job import Lane
from duecourse.domain.runs.states import RunState
from duecourse.messages import COMMANDS, MessageKind, OperationMessage, RunMessage, read_message, read_run_message
from duecourse.ports import Claimed, ClaimResult, Outgoing, OutgoingOperation, Timer
from duecourse.testing.clock import Numbered, SettableClock
from duecourse.usecases.dispatch.claim import outgoing, send_due_timers
from duecourse.usecases.forwarder import Forwarder
from duecourse.usecases.report import Report
from duecourse.usecases.runs.commands import CommandSender
from duecourse.usecases.write_retry import WriteRetry
from tests.support.jobs import NOON, cursor, job
from tests.support.queues import create_queue, receive
from tests.support.runs import run
from tests.support.varied import varied


def a_message(number: int = 0, *, lane: Lane = Lane.NORMAL, tenant: str = "acme") -> RunMessage:
    return RunMessage(
        RunIdentity(tenant=tenant, job_id=f"job-{number}", occurrence=1_795_243_620, due=1_795_243_620, generation=7),
        lane=lane,
        not_before=1_795_243_620,
        nonce=f"nonce-{number}",
    )


@pytest.fixture
def queue_urls(sqs: Any) -> dict[Lane, str]:
    return {lane: create_queue(sqs) for lane in Lane}


@pytest.fixture
def lanes(sqs: Any, queue_urls: dict[Lane, str]) -> SqsLanes:
    return SqsLanes(sqs, queue_urls, SystemClock(), SystemRandomness())


def test_lanes_message_arrives_as_sent(lanes, sqs, queue_urls):
    assert lanes.send([Outgoing(a_message(), 0)]) == [True]
    (received,) = receive(sqs, queue_urls[Lane.NORMAL])
    assert read_run_message(received["Body"]) == a_message()


def test_lanes_operation_arrives_in_the_bulk_queue_of_its_lane(sqs, queue_urls):
    bulk = {lane: create_queue(sqs) for lane in Lane}
    lanes = SqsLanes(sqs, queue_urls, SystemClock(), SystemRandomness(), bulk_urls=bulk)
    message = OperationMessage("acme", "op-1", 3, 1_795_243_620.5, "nonce-1")
    assert lanes.send([OutgoingOperation(message, 0), Outgoing(a_message(), 0)]) == [True, True]
    (received,) = receive(sqs, bulk[Lane.HIGH])
    assert read_message(received["Body"]) == message
    assert received["Attributes"]["MessageGroupId"] == "acme"
    assert all(receive(sqs, queue_urls[lane]) == [] for lane in Lane if lane is not Lane.NORMAL)


def test_lanes_tenant_is_the_message_group(lanes, sqs, queue_urls):
    lanes.send([Outgoing(a_message(0, tenant="acme"), 0), Outgoing(a_message(1, tenant="zenith"), 0)])
    received = receive(sqs, queue_urls[Lane.NORMAL])
    assert {message["Attributes"]["MessageGroupId"] for message in received} == {"acme", "zenith"}


TENANTS = ("acme", "zenith")


@dataclass
class Wakings:
    """Where timers wait (Timers), and where the dispatcher clears them from."""

    waiting: list[Timer] = field(default_factory=list)

    def put(self, timer: Timer) -> None:
        self.waiting.append(timer)

    def clear(self, timers: Sequence[Timer]) -> list[Claimed]:
        return [Claimed(ClaimResult.WON) for _ in timers]


@dataclass
class Senders:
    """Everybody who sends runs on their way, with the real lanes behind them."""

    lanes: SqsLanes
    received: SqsReceived
    clock: SettableClock
    wakings: Wakings = field(default_factory=Wakings)

    def dispatcher(self, tenant: str) -> None:
        standing = cursor(job("at(2026-11-21T12:00:01)", tenant=tenant, at=NOON - 60))
        messages = outgoing(standing, plan(standing, now=NOON, horizon=840), now=NOON + 1, nonce=lambda: "nonce")
        assert self.lanes.send(messages) == [True]

    def api_that_was_asked_to(self, kind: MessageKind, tenant: str) -> None:
        orders = CommandSender(self.lanes, self.clock, Numbered())
        assert orders.send(COMMANDS[kind](), [run(job(tenant=tenant), RunState.WAITING, lane=Lane.NORMAL)]) == [True]

    def worker_that_tries_again(self, tenant: str, *, after: float = 0) -> None:
        retry = a_message(tenant=tenant).to_start(2, nonce="again", not_before=NOON + after)
        parts: Any = SimpleNamespace(lanes=self.lanes, timers=self.wakings, clock=self.clock)
        forwarder = Forwarder(parts, self.received, Lane.NORMAL)
        assert forwarder.send(retry, NOON + after)

    def dispatcher_that_wakes_up(self, tenant: str) -> None:
        self.worker_that_tries_again(tenant, after=3600)
        self.clock.advance(3600)
        retry = WriteRetry(self.clock, Numbered(), self.clock.now() + 45)
        assert send_due_timers(self.wakings.waiting, self.wakings, self.lanes, retry, Report()) is None


@pytest.fixture
def senders(lanes: SqsLanes, sqs: Any, queue_urls: dict[Lane, str]) -> Senders:
    return Senders(lanes, SqsReceived(sqs, queue_urls[Lane.NORMAL]), SettableClock(NOON))


def groups(sqs: Any, queue_url: str) -> list[tuple[str, str]]:
    """The group of each message that is in the queue, with the tenant whose run it is about."""
    return [
        (message["Attributes"]["MessageGroupId"], read_run_message(message["Body"]).tenant)
        for message in receive(sqs, queue_url)
    ]


@pytest.mark.parametrize("tenant", TENANTS)
def test_lanes_dispatcher_sends_in_the_group_of_the_tenant(senders, sqs, queue_urls, tenant):
    senders.dispatcher(tenant)
    assert groups(sqs, queue_urls[Lane.NORMAL]) == [(tenant, tenant)]


@pytest.mark.parametrize("tenant", TENANTS)
@pytest.mark.parametrize("kind", [kind for kind in MessageKind if kind is not MessageKind.START])
def test_lanes_run_requests_are_sent_in_the_group_of_the_tenant(senders, sqs, queue_urls, kind, tenant):
    senders.api_that_was_asked_to(kind, tenant)
    assert groups(sqs, queue_urls[Lane.NORMAL]) == [(tenant, tenant)]


@pytest.mark.parametrize("tenant", TENANTS)
def test_lanes_worker_retries_are_sent_in_the_group_of_the_tenant(senders, sqs, queue_urls, tenant):
    senders.worker_that_tries_again(tenant)
    assert groups(sqs, queue_urls[Lane.NORMAL]) == [(tenant, tenant)]


@pytest.mark.parametrize("tenant", TENANTS)
def test_lanes_dispatcher_timers_are_sent_in_the_group_of_the_tenant(senders, sqs, queue_urls, tenant):
    senders.dispatcher_that_wakes_up(tenant)
    assert groups(sqs, queue_urls[Lane.NORMAL]) == [(tenant, tenant)]


def test_lanes_every_sender_groups_messages_by_tenant(senders, sqs, queue_urls):
    """SQS can be fair only to tenants that it can tell apart: nobody sends without a group, or in a common one."""
    for tenant in TENANTS:
        senders.dispatcher(tenant)
        senders.api_that_was_asked_to(MessageKind.CANCEL, tenant)
        senders.worker_that_tries_again(tenant)
    assert sorted(groups(sqs, queue_urls[Lane.NORMAL])) == sorted((tenant, tenant) for tenant in TENANTS * 3)


def test_lanes_messages_of_one_tenant_are_received_in_parallel(lanes, sqs, queue_urls):
    lanes.send([Outgoing(a_message(number), 0) for number in range(3)])
    assert len(receive(sqs, queue_urls[Lane.NORMAL])) == 3


def test_lanes_each_message_goes_to_its_own_lane(lanes, sqs, queue_urls):
    sent = lanes.send([Outgoing(a_message(number, lane=lane), 0) for number, lane in enumerate(Lane)])
    assert sent == [True] * len(Lane)
    for number, lane in enumerate(Lane):
        (received,) = receive(sqs, queue_urls[lane])
        assert read_run_message(received["Body"]) == a_message(number, lane=lane)


def test_lanes_more_than_ten_messages_use_several_batches_and_all_arrive(lanes, sqs, queue_urls):
    mixed = [a_message(number, lane=Lane.HIGH if number % 3 else Lane.LOW) for number in range(47)]
    assert lanes.send([Outgoing(message, 0) for message in mixed]) == [True] * 47
    arrived = receive(sqs, queue_urls[Lane.HIGH]) + receive(sqs, queue_urls[Lane.LOW])
    assert {read_run_message(message["Body"]) for message in arrived} == set(mixed)


def test_lanes_delayed_message_is_held_back(lanes, sqs, queue_urls):
    lanes.send([Outgoing(a_message(0), 900), Outgoing(a_message(1), 0)])
    (received,) = receive(sqs, queue_urls[Lane.NORMAL])
    assert read_run_message(received["Body"]).job_id == "job-1"


def test_lanes_receive_nothing_from_an_empty_send(lanes):
    assert lanes.send([]) == []


def test_lanes_missing_queue_accepts_nothing_and_the_reason_is_logged(sqs, queue_urls, caplog):
    lanes = SqsLanes(sqs, queue_urls | {Lane.LOW: queue_urls[Lane.LOW] + "-gone"}, SystemClock(), SystemRandomness())
    with caplog.at_level(logging.WARNING, "duecourse"):
        sent = lanes.send([Outgoing(a_message(0, lane=Lane.LOW), 0), Outgoing(a_message(1), 0)])
    assert sent == [False, True]
    assert "NonExistentQueue" in caplog.records[0].error


def test_lanes_unreachable_endpoint_accepts_nothing(queue_urls, caplog):
    session = boto3.Session(aws_access_key_id="test", aws_secret_access_key="test", region_name="us-east-1")
    nowhere = AwsClients(session, endpoint_url="http://127.0.0.1:1").get("sqs", once=True)
    with caplog.at_level(logging.WARNING, "duecourse"):
        assert SqsLanes(nowhere, queue_urls, SettableClock(0.0), Numbered()).send([Outgoing(a_message(), 0)]) == [False]
    assert "ConnectionRefusedError" in caplog.records[0].error


def test_lanes_without_a_queue_receive_nothing(sqs, queue_urls, caplog):
    worker = SqsLanes(sqs, {Lane.HIGH: queue_urls[Lane.HIGH]}, SystemClock(), SystemRandomness())
    with caplog.at_level(logging.ERROR, "duecourse"):
        assert worker.send([Outgoing(a_message(), 0), Outgoing(a_message(lane=Lane.HIGH), 0)]) == [False, True]
    assert caplog.records[0].lane is Lane.NORMAL


def test_lanes_message_is_small(queue_urls):
    longest = varied(a_message(tenant="t" * 64), job_id="j" * 64, suffix=".b" + "s" * 32, nonce="n" * 16)
    longest = varied(longest, correlation_id="c" * 36)
    assert len(longest.to_json()) < 500
