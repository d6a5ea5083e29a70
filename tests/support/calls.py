"""Calls as the worker makes them. Tests state only the fields that matter."""

from dataclasses import replace
from typing import Any

from duecourse.domain.ids import RunIdentity, from_basic
from duecourse.domain.jobs.job import Job
from duecourse.domain.runs.rendering import call_values
from duecourse.domain.runs.states import Run, RunState
from duecourse.domain.targets.targets import HttpTarget, Target
from duecourse.ports import Call
from duecourse_schedules import ScheduleSpec
from tests.support.varied import record, varied
from tests.support.waiting import PATIENCE_SECONDS

CREATED_AT = 1_790_000_000.0
OCCURRENCE = "20261121T064700Z"


def a_job(*, target: Target | None = None, timezone: str = "UTC", **fields: Any) -> Job:
    """Return the job `nightly` of tenant `acme`."""
    return Job(
        tenant="acme",
        id="nightly",
        schedule=ScheduleSpec("47 6 * * *", timezone),
        target=target or HttpTarget("https://example.test/hook"),
        generation=1,
        created_at=CREATED_AT,
        updated_at=CREATED_AT,
        changed_at=CREATED_AT,
        created_generation=1,
        seated=True,
        **fields,
    )


def a_run(*, occurrence: str = OCCURRENCE, attempt: int = 1, job_id: str = "nightly", **fields: Any) -> Run:
    """Return a running attempt of that job."""
    at = from_basic(occurrence)
    made = record(RunState.RUNNING, RunIdentity("acme", job_id, at, at, generation=1), attempt=attempt)
    return varied(made, **fields)


def a_call(
    target: Target,
    *,
    payload: Any = None,
    timeout_seconds: float = PATIENCE_SECONDS,
    attempt: int = 1,
    idempotency_key: str = "key-1",
) -> Call:
    """Return the call of that attempt."""
    call = Call(
        job=a_job(target=target, payload=payload),
        run=a_run(attempt=attempt),
        idempotency_key=idempotency_key,
        timeout_seconds=timeout_seconds,
    )
    return revised(call)


def revised(call: Call, **fields: Any) -> Call:
    """Return the call with changed fields, and with the resulting values for its templates."""
    made = replace(call, **fields)
    return replace(made, values=call_values(made.run, made.job, made.idempotency_key, {}, made.callback_token))
