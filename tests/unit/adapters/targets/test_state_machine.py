"""Step Functions state machines as targets, on moto."""

from __future__ import annotations

from functools import partial

import orjson
import pytest

from duecourse.adapters.targets.aws.state_machine import StateMachineCaller
from duecourse.domain.targets.targets import Failed, Returned, StepFunctionsTarget
from tests.support.aws_targets import ARNS, Service, refusal
from tests.support.calls import a_call

TARGET = StepFunctionsTarget("duecourse-target-report")
DEFINITION = '{"StartAt": "End", "States": {"End": {"Type": "Succeed"}}}'


@pytest.fixture
def machines(mocked):
    client = mocked.get("stepfunctions")
    client.create_state_machine(name=TARGET.machine, definition=DEFINITION, roleArn=ARNS.role_arn("machine"))
    return client


@pytest.fixture
def caller(mocked, clock):
    return StateMachineCaller(clock, partial(mocked.calling, "stepfunctions"), ARNS)


def test_an_execution_is_started_with_the_run_and_named_after_the_attempt(machines, caller):
    outcome = caller.call(a_call(TARGET, payload={"n": 1}, attempt=2), TARGET)
    assert isinstance(outcome, Returned)
    execution = machines.describe_execution(executionArn=outcome.result["execution_arn"])
    assert execution["name"].startswith("nightly-20261121T064700Z-2-")
    event = orjson.loads(execution["input"])
    assert (event["run_id"], event["payload"]) == ("nightly.20261121T064700Z", {"n": 1})


def test_the_same_attempt_again_starts_nothing_and_succeeds(machines, caller):
    first = caller.call(a_call(TARGET), TARGET)
    assert caller.call(a_call(TARGET), TARGET) == first
    arn = ARNS.arn("states", f"stateMachine:{TARGET.machine}")
    assert len(machines.list_executions(stateMachineArn=arn)["executions"]) == 1


def test_an_execution_that_exists_already_is_this_attempts_own(clock):
    service = Service(refusal("ExecutionAlreadyExists", 400))
    outcome = StateMachineCaller(clock, service.client_for, ARNS).call(a_call(TARGET), TARGET)
    assert isinstance(outcome, Returned)
    name = service.asked[0]["name"]
    assert outcome.result == {"execution_arn": ARNS.arn("states", f"execution:{TARGET.machine}:{name}")}


def test_a_machine_that_does_not_exist_is_not_worth_a_retry(mocked, caller):
    outcome = caller.call(a_call(TARGET), TARGET)
    assert isinstance(outcome, Failed)
    assert (outcome.code, outcome.retryable) == ("StateMachineDoesNotExist", False)


def test_too_many_executions_are(clock):
    service = Service(refusal("ExecutionLimitExceeded", 400))
    outcome = StateMachineCaller(clock, service.client_for, ARNS).call(a_call(TARGET), TARGET)
    assert isinstance(outcome, Failed)
    assert outcome.retryable
