"""The right caller for each kind of target."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from types import SimpleNamespace
from typing import get_type_hints

import pytest

from duecourse.adapters.aws.clients import clients
from duecourse.adapters.targets import Targets
from duecourse.adapters.targets.callers import Callers, Means
from duecourse.domain.targets.allowed_targets import AllowedTargets, every_target
from duecourse.domain.targets.kinds import type_of
from duecourse.domain.targets.targets import (
    AwsTarget,
    EcsTarget,
    Failed,
    LambdaTarget,
    Returned,
    SqsTarget,
    TaskTarget,
)
from duecourse.ports import RegisteredTask, TasksUnavailableError
from tests.support.aws_targets import ARNS
from tests.support.calls import a_call
from tests.support.every_target import EVERY_TARGET

ECS = EcsTarget("c", "report", "main", ("subnet-1",), ("sg-1",))

ALL = every_target(("ecs:UpdateService",))


class Named:
    """A caller that answers with its name and what it was to call."""

    def __init__(self, name: str) -> None:
        self.name = name

    def call(self, call, target):
        return Returned((self.name, target))


class Registered:
    """ports.Tasks."""

    def __init__(self, **tasks):
        self.tasks = tasks

    def get(self, name):
        found = self.tasks.get(name)
        if isinstance(found, Exception):
            raise found
        return None if found is None else RegisteredTask(found, {})


def targets_with(tasks=None, allowed=ALL) -> Targets:
    callers = SimpleNamespace(of=lambda target: Named(type(target).__name__))
    return Targets(callers, tasks or Registered(), allowed)  # type: ignore[arg-type]


EACH = [target for target in EVERY_TARGET if not isinstance(target, TaskTarget)]


class NoSecrets:
    """ports.Secrets."""

    def get(self, tenant, name):
        raise AssertionError("nobody asks")


def test_each_kind_of_target_has_its_caller_which_is_made_at_its_first_call_and_once(clock):
    callers = Callers(Means(private=False, clock=clock, arns=ARNS, secrets=NoSecrets(), clients=clients()))
    for target in EACH:
        assert get_type_hints(type(callers.of(target)).call)["target"] is type(target)
        assert callers.of(target) is callers.of(replace(target))


@pytest.mark.parametrize("target", EACH, ids=type_of)
def test_a_target_is_called_by_the_caller_of_its_kind(target):
    assert targets_with().call(a_call(target)) == Returned((type(target).__name__, target))


REFUSED = {
    "function": (LambdaTarget("report"), {"functions": ("other",)}, "report", "functions"),
    "action": (AwsTarget("iam", "CreateUser", {}, "role"), {}, "iam:CreateUser", "actions"),
    "role": (AwsTarget("ecs", "UpdateService", {}, "admin"), {"roles": ("role",)}, "admin", "roles"),
    "subnet": (ECS, {"subnets": ("subnet-2",)}, "subnet-1", "subnets"),
    "group": (ECS, {"security_groups": ("default", "sg-2")}, "sg-1", "security_groups"),
    "network's own group": (
        replace(ECS, security_groups=()),
        {"security_groups": ("sg-1",)},
        "default",
        "security_groups",
    ),
    "public address": (replace(ECS, public_ip=True), {"public_ip": False}, "public_ip", "public_ip"),
    "revision": (
        replace(ECS, task_definition="report:3"),
        {"task_definitions": ("report",)},
        "report:3",
        "task_definitions",
    ),
    "latest": (ECS, {"task_definitions": ("report:3",)}, "report", "task_definitions"),
}


@pytest.mark.parametrize(("target", "narrower", "name", "setting"), REFUSED.values(), ids=REFUSED)
def test_what_the_stage_does_not_allow_any_more_is_not_called(target, narrower, name, setting):
    outcome = targets_with(allowed=replace(ALL, **narrower)).call(a_call(target))
    assert isinstance(outcome, Failed)
    assert (outcome.code, outcome.retryable) == ("target_not_allowed", False)
    assert f"{name} is not allowed on this stage" in outcome.error
    assert f"allowed_targets.{setting}" in outcome.error


@pytest.mark.parametrize("patterns", [("report",), ("rep*:*",), ("report:3", "report")])
def test_the_latest_revision_is_allowed_by_the_family_or_with_all_of_them(patterns):
    outcome = targets_with(allowed=replace(ALL, task_definitions=patterns)).call(a_call(ECS))
    assert isinstance(outcome, Returned)


def test_what_an_operator_has_registered_is_called_whatever_jobs_may_call_by_themselves():
    targets = targets_with(Registered(invoice=LambdaTarget("send-invoice")), allowed=AllowedTargets())
    assert isinstance(targets.call(a_call(TaskTarget("invoice"))), Returned)


def test_a_task_is_what_the_operator_has_registered_by_now():
    tasks = Registered(invoice=LambdaTarget("send-invoice"))
    targets, call = targets_with(tasks), a_call(TaskTarget("invoice"))
    assert targets.call(call) == Returned(("LambdaTarget", LambdaTarget("send-invoice")))
    tasks.tasks["invoice"] = SqsTarget("invoices")
    assert targets.call(call) == Returned(("SqsTarget", SqsTarget("invoices")))


def test_a_task_that_is_not_registered_is_not_worth_a_retry():
    outcome = targets_with().call(a_call(TaskTarget("invoice")))
    assert outcome == Failed("no task invoice is registered", retryable=False, code="task_unknown")


def test_a_task_that_cannot_be_looked_up_now_is():
    problem = TasksUnavailableError("task invoice (EndpointConnectionError)")
    outcome = targets_with(Registered(invoice=problem)).call(a_call(TaskTarget("invoice")))
    assert isinstance(outcome, Failed)
    assert (outcome.code, outcome.retryable) == ("tasks_unavailable", True)


def test_a_worker_imports_no_caller_before_it_calls():
    code = (
        "import sys, duecourse.adapters.targets\n"
        "kinds = ('http.http', 'aws.lambda_function', 'aws.message_targets', 'aws.state_machine', 'aws.ecs_task',"
        " 'aws.aws_call', 'aws.roles')\n"
        "print([kind for kind in kinds if f'duecourse.adapters.targets.{kind}' in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
