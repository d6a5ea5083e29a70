"""Targets on AWS.

- Lambda functions as targets, on MiniStack.
- SQS queues as targets, on MiniStack.
"""

import io
import zipfile
from functools import partial
from typing import Any
from uuid import uuid4

import orjson
import pytest

from duecourse.adapters.aws.clients import AwsClients
from duecourse.adapters.targets.aws.lambda_function import LambdaCaller
from duecourse.adapters.targets.aws.message_targets import SqsCaller
from duecourse.domain.targets.targets import LambdaMode, LambdaTarget, Returned, SqsTarget
from duecourse.testing.clock import SettableClock
from tests.support.aws_targets import ARNS, TOKEN, a_waiting_call
from tests.support.calls import a_call, revised
from tests.support.queues import create_queue, receive
from tests.support.varied import varied
from tests.support.waiting import PATIENCE_SECONDS

CODE = b"""
def handler(event, context):
    order = event["payload"]
    if order == "raise":
        raise KeyError("id")
    return {"received": event}
"""


@pytest.fixture(scope="module")
def function(clients: AwsClients) -> str:
    """The name of a deployed function."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as bundle:
        bundle.writestr("index.py", CODE)
    name = f"target-{uuid4().hex[:8]}"
    lambda_client: Any = clients.get("lambda")
    lambda_client.create_function(
        FunctionName=name,
        Runtime="python3.13",
        Handler="index.handler",
        Role="arn:aws:iam::000000000000:role/target",
        Code={"ZipFile": archive.getvalue()},
        Timeout=PATIENCE_SECONDS,
    )
    return name


@pytest.fixture
def lambda_caller(clients: AwsClients) -> LambdaCaller:
    return LambdaCaller(SettableClock(0), partial(clients.calling, "lambda"), ARNS)


def test_targets_lambda_receives_the_run_and_its_response_is_kept(lambda_caller, function):
    target = LambdaTarget(function)
    outcome = lambda_caller.call(a_call(target, payload={"n": [1, "zwei"]}), target)
    assert isinstance(outcome, Returned)
    assert outcome.result["body"]["received"]["run_id"] == "nightly.20261121T064700Z"
    assert outcome.result["body"]["received"]["payload"] == {"n": [1, "zwei"]}


def test_targets_lambda_exception_is_the_error(lambda_caller, function):
    target = LambdaTarget(function)
    outcome = lambda_caller.call(a_call(target, payload="raise"), target)
    assert outcome.retryable
    assert outcome.error.startswith(f"function {function} failed: ")
    assert outcome.error.endswith(": 'id'")
    assert outcome.code == "Runtime.HandlerError"  # MiniStack's word for all; Lambda says KeyError, see the unit tests


def test_targets_asynchronous_lambda_call_does_not_wait_for_the_outcome(lambda_caller, function):
    target = LambdaTarget(function, LambdaMode.ASYNC)
    assert lambda_caller.call(a_call(target, payload="raise"), target) == Returned({"status": 202})


def test_targets_missing_lambda_is_not_retryable(lambda_caller):
    target = LambdaTarget("nobody")
    outcome = lambda_caller.call(a_call(target), target)
    assert not outcome.retryable
    assert "ResourceNotFoundException" in outcome.error


@pytest.fixture
def sqs_caller(clients: AwsClients) -> SqsCaller:
    return SqsCaller(SettableClock(0), partial(clients.calling, "sqs"), ARNS)


@pytest.fixture
def fifo_url(sqs: Any) -> str:
    return create_queue(sqs, fifo=True)


def name_of(queue_url: str) -> str:
    return queue_url.rsplit("/", 1)[1]


def read(sqs: Any, queue_url: str) -> list[dict[str, Any]]:
    answer = sqs.receive_message(
        QueueUrl=queue_url, MaxNumberOfMessages=10, MessageAttributeNames=["All"], MessageSystemAttributeNames=["All"]
    )
    return answer.get("Messages", [])


def test_targets_sqs_receives_the_run_with_filterable_attributes(sqs_caller, sqs, queue_url):
    target = SqsTarget(name_of(queue_url))
    outcome = sqs_caller.call(a_call(target, payload={"day": "{{date}}", "n": 1}), target)
    (message,) = read(sqs, queue_url)
    assert outcome == Returned({"message_id": message["MessageId"]})
    event = orjson.loads(message["Body"])
    assert event["run_id"] == "nightly.20261121T064700Z"
    assert event["payload"] == {"day": "2026-11-21", "n": 1}
    attributes = {name: value["StringValue"] for name, value in message["MessageAttributes"].items()}
    assert attributes == {"run_id": "nightly.20261121T064700Z", "job_id": "nightly", "tenant": "acme"}


def test_targets_waiting_run_sends_its_token(sqs_caller, sqs, queue_url):
    target = SqsTarget(name_of(queue_url))
    outcome = sqs_caller.call(a_waiting_call(target), target)
    (message,) = read(sqs, queue_url)
    assert orjson.loads(message["Body"])["callback"] == {"token": TOKEN, "run": "nightly.20261121T064700Z"}
    assert TOKEN not in str(outcome)


def test_targets_fifo_queue_groups_by_job_unless_configured_otherwise(sqs_caller, sqs, fifo_url):
    plain = SqsTarget(name_of(fifo_url))
    grouped = SqsTarget(name_of(fifo_url), group="{{tenant}}-{{month}}")
    sqs_caller.call(a_call(plain, idempotency_key="one"), plain)
    sqs_caller.call(a_call(grouped, idempotency_key="two"), grouped)
    groups = [message["Attributes"]["MessageGroupId"] for message in receive(sqs, fifo_url)]
    assert groups == ["nightly", "acme-2026-11"]


def test_targets_fifo_queue_drops_repeated_run_after_a_lost_response(sqs_caller, sqs, fifo_url):
    target = SqsTarget(name_of(fifo_url))
    assert isinstance(sqs_caller.call(a_call(target), target), Returned)
    assert isinstance(sqs_caller.call(a_call(target, attempt=2), target), Returned)
    (message,) = receive(sqs, fifo_url)
    assert orjson.loads(message["Body"])["attempt"] == 1


def test_targets_fifo_queue_delivers_each_attempt_that_waits_for_its_own_token(sqs_caller, sqs, fifo_url):
    target = SqsTarget(name_of(fifo_url), group="{{run_id}}-{{attempt}}")
    for attempt in (1, 2):
        call = a_waiting_call(target, attempt=attempt, token=TOKEN.replace(".1.", f".{attempt}."))
        assert isinstance(sqs_caller.call(call, target), Returned)
    events = [orjson.loads(message["Body"]) for message in receive(sqs, fifo_url)]
    assert [event["callback"]["token"] for event in events] == [TOKEN, TOKEN.replace(".1.", ".2.")]


def test_targets_tenants_with_equal_keys_do_not_drop_each_others_messages(sqs_caller, sqs, fifo_url):
    target = SqsTarget(name_of(fifo_url), group="{{tenant}}")
    call = a_call(target, idempotency_key="report")
    sqs_caller.call(call, target)
    sqs_caller.call(revised(call, run=varied(call.run, tenant="other")), target)
    assert len(receive(sqs, fifo_url)) == 2


def test_targets_queue_is_looked_up_once(clients, queue_url):
    asked = []
    client = clients.calling("sqs", PATIENCE_SECONDS)
    caller = SqsCaller(SettableClock(0), lambda _: client, ARNS)  # which the factory would make anew after ten seconds
    client.meta.events.register("before-call.sqs.*", lambda model, **_: asked.append(model.name), unique_id="count")
    target = SqsTarget(name_of(queue_url))
    for _ in range(3):
        caller.call(a_call(target), target)
    client.meta.events.unregister("before-call.sqs.*", unique_id="count")
    assert asked == ["GetQueueUrl", "SendMessage", "SendMessage", "SendMessage"]


def test_targets_missing_queue_is_not_retryable(sqs_caller):
    target = SqsTarget("nobody")
    outcome = sqs_caller.call(a_call(target), target)
    assert not outcome.retryable
    assert outcome.code.endswith(("NonExistentQueue", "QueueDoesNotExist"))
    assert outcome.error.startswith("queue nobody: ")
