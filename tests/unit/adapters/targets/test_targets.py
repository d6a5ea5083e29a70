"""How a worker finds and calls a target of any kind.

- The right caller for each kind of target.
- What every target is told about its run.
- Names by which AWS recognises an attempt.
- Answers of boto3 as JSON.
"""

import io
import re
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from types import SimpleNamespace
from typing import get_type_hints

import pytest
from botocore.response import StreamingBody

from duecourse.adapters.aws.clients import clients
from duecourse.adapters.targets.aws.aws_call import result_of
from duecourse.adapters.targets.aws.names import attempt_name, deduplication_id
from duecourse.adapters.targets.callers import Callers, Means, Targets
from duecourse.adapters.targets.http.connection import Deadline
from duecourse.adapters.targets.invocation import run_event
from duecourse.domain.targets.allowed_targets import AllowedTargets, every_target
from duecourse.domain.targets.kinds import type_of
from duecourse.domain.targets.targets import AwsTarget, EcsTarget, Failed, LambdaTarget, Returned, SqsTarget, TaskTarget
from duecourse.domain.targets.template import TemplateError
from duecourse.ports import RegisteredTask, TasksUnavailableError
from tests.support.aws_targets import ARNS, a_waiting_call
from tests.support.calls import a_call, a_run, revised
from tests.support.every_target import EVERY_TARGET
from tests.support.varied import varied

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


def test_targets_create_one_caller_per_type_at_its_first_call(clock):
    callers = Callers(Means(private=False, clock=clock, arns=ARNS, secrets=NoSecrets(), clients=clients()))
    for target in EACH:
        assert get_type_hints(type(callers.of(target)).call)["target"] is type(target)
        assert callers.of(target) is callers.of(replace(target))


@pytest.mark.parametrize("target", EACH, ids=type_of)
def test_targets_are_called_by_the_caller_of_their_type(target):
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
def test_targets_no_longer_allowed_by_the_stage_are_not_called(target, narrower, name, setting):
    outcome = targets_with(allowed=replace(ALL, **narrower)).call(a_call(target))
    assert (outcome.code, outcome.retryable) == ("target_not_allowed", False)
    assert f"{name} is not allowed on this stage" in outcome.error
    assert f"allowed_targets.{setting}" in outcome.error


@pytest.mark.parametrize("patterns", [("report",), ("rep*:*",), ("report:3", "report")])
def test_targets_latest_revision_is_allowed_by_the_family_or_by_all_revisions(patterns):
    assert isinstance(targets_with(allowed=replace(ALL, task_definitions=patterns)).call(a_call(ECS)), Returned)


def test_targets_registered_by_an_operator_are_called_even_if_jobs_may_not_call_them_directly():
    targets = targets_with(Registered(invoice=LambdaTarget("send-invoice")), allowed=AllowedTargets())
    assert isinstance(targets.call(a_call(TaskTarget("invoice"))), Returned)


def test_targets_use_the_current_registration_of_a_task():
    tasks = Registered(invoice=LambdaTarget("send-invoice"))
    targets, call = targets_with(tasks), a_call(TaskTarget("invoice"))
    assert targets.call(call) == Returned(("LambdaTarget", LambdaTarget("send-invoice")))
    tasks.tasks["invoice"] = SqsTarget("invoices")
    assert targets.call(call) == Returned(("SqsTarget", SqsTarget("invoices")))


def test_targets_unregistered_task_is_not_retryable():
    outcome = targets_with().call(a_call(TaskTarget("invoice")))
    assert outcome == Failed("the task invoice is not registered", retryable=False, code="task_unknown")


def test_targets_failed_task_lookup_is_retryable():
    problem = TasksUnavailableError("task invoice (EndpointConnectionError)")
    outcome = targets_with(Registered(invoice=problem)).call(a_call(TaskTarget("invoice")))
    assert (outcome.code, outcome.retryable) == ("tasks_unavailable", True)


def test_targets_import_no_caller_before_the_first_call():
    code = (
        "import sys, duecourse.adapters.targets\n"
        "kinds = ('http.http', 'aws.lambda_function', 'aws.message_targets', 'aws.state_machine', 'aws.ecs_task',"
        " 'aws.aws_call', 'aws.roles')\n"
        "print([kind for kind in kinds if f'duecourse.adapters.targets.{kind}' in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


TARGET = LambdaTarget("report")
TOKEN = "dc1.acme.1.AbCdEfGhIjKlMnOp"


def test_targets_event_identifies_the_run_and_contains_the_rendered_payload():
    call = a_call(TARGET, payload={"week": "{{week}}", "key": "{{idempotency_key}}", "n": 1}, attempt=2)
    call = revised(call, run=varied(call.run, due=call.run.due + 30))
    assert run_event(call) == {
        "run_id": "nightly.20261121T064700Z",
        "job_id": "nightly",
        "tenant": "acme",
        "scheduled_at": "2026-11-21T06:47:00Z",
        "due_at": "2026-11-21T06:47:30Z",
        "attempt": 2,
        "idempotency_key": "key-1",
        "payload": {"week": "2026-W47", "key": "key-1", "n": 1},
    }


def test_targets_event_of_run_waiting_for_callback_contains_run_and_token():
    event = run_event(revised(a_call(TARGET, payload="{{callback_token}}"), callback_token=TOKEN))
    assert event["callback"] == {"token": TOKEN, "run": "nightly.20261121T064700Z"}
    assert event["payload"] == TOKEN


def test_targets_invocation_without_callback_has_no_token():
    assert "callback" not in run_event(a_call(TARGET))
    with pytest.raises(TemplateError, match="callback_token"):
        run_event(a_call(TARGET, payload="{{callback_token}}"))


def test_targets_event_contains_no_secrets():
    with pytest.raises(TemplateError, match="header values"):
        run_event(a_call(TARGET, payload={"password": "{{secret:api-key}}"}))


def test_targets_event_contains_the_correlation_id_if_it_is_known():
    call = a_call(TARGET)
    assert "correlation_id" not in run_event(call)
    assert run_event(revised(call, run=varied(call.run, correlation_id="order-4711")))["correlation_id"] == "order-4711"


NAMES_TARGET = SqsTarget("orders")


def of(call, **fields):
    return revised(call, run=varied(call.run, **fields))


@pytest.mark.parametrize("limit", [64, 80])
def test_targets_attempt_name_fits_the_limit_and_has_only_safe_characters(limit):
    call = revised(a_call(NAMES_TARGET), run=a_run(job_id="j" * 64, suffix=".b" + "s" * 32, attempt=123))
    name = attempt_name(call, limit)
    assert len(name) == limit
    assert re.fullmatch(r"[A-Za-z0-9_-]+", name)


def test_targets_attempt_name_contains_run_and_attempt():
    assert attempt_name(a_call(NAMES_TARGET, attempt=2), 80).startswith("nightly-20261121T064700Z-2-")


def test_targets_attempt_name_is_unique_and_stable():
    call = a_call(NAMES_TARGET)
    others = [
        of(call, attempt=2),
        of(call, tenant="other"),
        of(call, job_id="nightly2"),
        of(call, occurrence=call.run.occurrence + 1),
        of(call, suffix=".m1"),
    ]
    names = [attempt_name(call, 64), *(attempt_name(other, 64) for other in others)]
    assert len(set(names)) == 6
    assert attempt_name(a_call(NAMES_TARGET), 64) == names[0]


def test_targets_attempt_names_remain_distinct_when_truncated():
    long = revised(a_call(NAMES_TARGET), run=a_run(job_id="j" * 64))
    assert attempt_name(long, 64) != attempt_name(of(long, attempt=2), 64)


def test_targets_deduplication_id_is_the_same_for_all_attempts_of_a_run():
    call = a_call(NAMES_TARGET, idempotency_key="report-2026-W47")
    assert deduplication_id(call) == deduplication_id(of(call, attempt=2))
    assert re.fullmatch("[0-9a-f]{64}", deduplication_id(call))


def test_targets_deduplication_id_differs_between_tenants_with_the_same_key():
    call = a_call(NAMES_TARGET, idempotency_key="report-2026-W47")
    assert deduplication_id(call) != deduplication_id(of(call, tenant="other"))


def test_targets_deduplication_id_differs_between_attempts_that_wait_for_a_callback():
    call = a_waiting_call(NAMES_TARGET)
    assert deduplication_id(call) == deduplication_id(a_waiting_call(NAMES_TARGET))
    assert deduplication_id(call) != deduplication_id(of(call, attempt=2))


def json_of(**answer):
    return result_of({**answer, "ResponseMetadata": {"RequestId": "r-1"}}, Deadline(5))


def streaming(data: bytes) -> StreamingBody:
    return StreamingBody(io.BytesIO(data), len(data))


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        ("text", "text"),
        (True, True),
        (3, 3),
        (2.5, 2.5),
        (None, None),
        ([1, {"a": (2,)}], [1, {"a": [2]}]),
        (2**70, str(2**70)),
        (b"\x00\xff", "AP8="),
        (datetime(2026, 11, 21, 6, 47, tzinfo=UTC), "2026-11-21T06:47:00+00:00"),
        (datetime(2026, 11, 21, tzinfo=timezone(timedelta(hours=1))), "2026-11-21T00:00:00+01:00"),
        (Decimal("1.5"), "1.5"),
        ({1: "a"}, {"1": "a"}),
    ],
)
def test_targets_result_values_are_converted_to_json(value, kept):
    assert json_of(Value=value) == {"Value": kept}


def test_targets_result_omits_the_response_metadata():
    assert json_of() == {}


@pytest.mark.parametrize(("data", "kept"), [("Grüße".encode(), "Grüße"), (b"\xff\x00", "/wA="), (b"", "")])
def test_targets_result_contains_a_streamed_body(data, kept):
    assert json_of(Body=streaming(data)) == {"Body": kept}


def test_targets_result_contains_at_most_256_kb_of_a_streamed_body():
    body = streaming(b"x" * 5_000_000)
    result = json_of(Body=body)
    assert result["truncated"] is True
    assert len(result["text"]) == 256 * 1024


def test_targets_result_of_a_large_response_contains_the_beginning_of_its_text():
    result = json_of(Items=["x" * 1_000] * 1_000)
    assert result["truncated"] is True
    assert result["text"].startswith('{"Items":["xxx')
    assert len(result["text"]) == 256 * 1024


def test_targets_reading_of_an_endless_body_stops_at_the_deadline():
    class Endless(io.RawIOBase):
        def read(self, size=-1):
            return b"x"

    body = StreamingBody(Endless(), None)
    deadline = Deadline(0.05)
    with pytest.raises(TimeoutError):
        result_of({"Body": body}, deadline)
