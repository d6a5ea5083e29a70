"""Posted values as the API reads them, without an event around them."""

from typing import Any

import pytest

from duecourse.api.bodies.models import Rules
from duecourse.api.bodies.validation import read_job
from duecourse.api.problems import Problem
from duecourse.domain.instants import from_iso
from duecourse.domain.jobs.edit import reject_past, resolve_anchor
from duecourse.domain.jobs.job import Precision
from duecourse.domain.targets.targets import HttpTarget, LambdaTarget, SqsTarget
from duecourse.ports import RegisteredTask
from duecourse.usecases.jobs.change import Draft
from duecourse_schedules import ScheduleSpec
from duecourse_schedules.schedule import occurrences_of
from tests.support.api import ALLOWED, BODY
from tests.support.tasks import Registered

NOW = from_iso("2026-11-21T12:00:00Z")
TASKS = {
    "send-invoice": RegisteredTask(
        SqsTarget("duecourse-target-invoices"),
        {
            "timeout_seconds": 45,
            "retry": {"max_attempts": 2, "backoff": "fixed"},
            "completion": "callback",
            "completion_seconds": 7200,
            "heartbeat_seconds": 60,
            "payload": {"token": "{{callback_token}}"},
            "events": ["deaths"],
            "missed": {"policy": "skip"},
        },
    ),
    "plain": RegisteredTask(LambdaTarget("duecourse-target-plain"), {}),
    "broken": RegisteredTask(LambdaTarget("duecourse-target-broken"), {"timeout_seconds": 0, "retry": {"on": "5xx"}}),
    "loud": RegisteredTask(HttpTarget("https://example.test/", headers=(("X-Name", "{{job_name}}" * 40),)), {}),
    "foreign": RegisteredTask(LambdaTarget("duecourse-target-foreign"), {"schedule": "* * * * *", "tags": []}),
}
RULES = Rules(
    private_targets=False,
    allowed=ALLOWED,
    default_precision=Precision.EXACT,
    tasks=Registered(TASKS),
    result_buckets={"*": {"*": ""}},
    oidc=True,
)


def first_occurrence(spec: ScheduleSpec, now: float, exclude: tuple[str, ...] = ()) -> int | None:
    first = occurrences_of("", "", spec, exclude=exclude).next(int(now))
    if first is None:
        reject_past(spec, exclude, now)
    return first


def check(spec: ScheduleSpec, exclude: tuple[str, ...]) -> None:
    first_occurrence(resolve_anchor(spec, None, NOW), NOW, exclude)


def read(value: Any) -> Draft:
    return read_job(value, "default", RULES, check)


def errors(value: Any) -> dict[str, str]:
    with pytest.raises(Problem) as refused:
        read(value)
    assert refused.value.status == 422
    return {fault.pointer or "": fault.detail for fault in refused.value.faults}


def posted(**changes: Any) -> dict[str, Any]:
    return BODY | changes
