"""Lambda functions as targets, on MiniStack."""

from __future__ import annotations

import io
import zipfile
from functools import partial
from typing import Any
from uuid import uuid4

import pytest

from duecourse.adapters.aws.clients import AwsClients
from duecourse.adapters.targets.aws.lambda_function import LambdaCaller
from duecourse.domain.targets.targets import Failed, LambdaMode, LambdaTarget, Returned
from duecourse.testing.clock import SettableClock
from tests.support.calls import a_call
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
def caller(clients: AwsClients) -> LambdaCaller:
    return LambdaCaller(SettableClock(0), partial(clients.calling, "lambda"))


def test_the_function_is_given_the_run_and_its_answer_is_kept(caller, function):
    target = LambdaTarget(function)
    outcome = caller.call(a_call(target, payload={"n": [1, "zwei"]}), target)
    assert isinstance(outcome, Returned)
    assert outcome.result["body"]["received"]["run_id"] == "nightly.20261121T064700Z"
    assert outcome.result["body"]["received"]["payload"] == {"n": [1, "zwei"]}


def test_what_the_function_raises_is_the_error(caller, function):
    target = LambdaTarget(function)
    outcome = caller.call(a_call(target, payload="raise"), target)
    assert isinstance(outcome, Failed)
    assert outcome.retryable
    assert outcome.error.startswith(f"function {function} failed: ")
    assert outcome.error.endswith(": 'id'")
    assert outcome.code == "Runtime.HandlerError"  # MiniStack's word for all; Lambda says KeyError, see the unit tests


def test_an_asynchronous_call_does_not_wait_for_what_the_function_makes_of_it(caller, function):
    target = LambdaTarget(function, LambdaMode.ASYNC)
    assert caller.call(a_call(target, payload="raise"), target) == Returned({"status": 202})


def test_a_function_that_does_not_exist_is_not_worth_a_retry(caller):
    target = LambdaTarget("nobody")
    outcome = caller.call(a_call(target), target)
    assert isinstance(outcome, Failed)
    assert not outcome.retryable
    assert "ResourceNotFoundException" in outcome.error
