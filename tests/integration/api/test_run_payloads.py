"""What a run sends, told by the API: the same as its target receives."""

from collections.abc import Iterator
from typing import Any

import pytest

from duecourse.client import ConflictError, NotFoundError
from duecourse.client.bodies import HttpTarget, JobRequest, Step
from duecourse.testing import Scheduler

TARGET: HttpTarget = {"type": "http", "url": "https://example.com/hook"}
NIGHTLY: JobRequest = {
    "id": "nightly",
    "schedule": "30 2 * * *",
    "timezone": "Europe/Berlin",
    "target": TARGET,
    "payload": {"day": "{{date}}", "attempt": "{{attempt}}", "key": "{{idempotency_key}}"},
}


@pytest.fixture
def scheduler() -> Iterator[Scheduler]:
    with Scheduler(now="2026-03-28T00:00:00Z") as scheduler:
        yield scheduler


def told(scheduler: Scheduler, run_id: str) -> Any:
    return scheduler.client.get_run_payload(run_id)


def test_run_payloads_templates_are_rendered_as_for_the_last_attempt(scheduler: Scheduler) -> None:
    scheduler.client.create_job(NIGHTLY)
    scheduler.answer("nightly", status=503)
    *_, last = scheduler.advance(days=1)
    found = told(scheduler, last.run_id)
    assert found.payload == last.payload
    assert found.payload["attempt"] == "4"
    assert (found.idempotency_key, found.own, found.changed) == ("default/nightly.20260328T013000Z", False, False)


def test_run_payloads_payload_of_a_queued_run_is_shown_as_it_will_be_sent(scheduler: Scheduler) -> None:
    scheduler.client.create_job({**NIGHTLY, "schedule": "rate(5 minutes)"})
    scheduler.advance(minutes=1)  # a tick enqueues what is due within five minutes
    queued = scheduler.client.list_runs("nightly").items[-1]
    assert queued.state == "QUEUED"
    before = told(scheduler, queued.id)
    call = scheduler.advance(minutes=5)[0]
    assert (call.run_id, before.payload) == (queued.id, call.payload)


def test_run_payloads_payload_given_with_the_request_is_shown(scheduler: Scheduler) -> None:
    scheduler.client.create_job({**NIGHTLY, "schedule": None})
    scheduler.client.run_job("nightly", payload={"only": "{{job_id}}"})
    (call,) = scheduler.advance(seconds=1)
    found = told(scheduler, call.run_id)
    assert (found.payload, found.own) == (call.payload, True)


def test_run_payloads_later_change_of_the_job_is_reported(scheduler: Scheduler) -> None:
    scheduler.client.create_job(NIGHTLY)
    (call,) = scheduler.advance(days=1)
    scheduler.client.patch_job("nightly", {"payload": "other"})
    found = told(scheduler, call.run_id)
    assert (found.payload, found.changed) == ("other", True)


def test_run_payloads_callback_token_is_not_shown(scheduler: Scheduler) -> None:
    scheduler.client.create_job({**NIGHTLY, "completion": "callback", "payload": ["{{callback_token}}", "{{run_id}}"]})
    (call,) = scheduler.advance(hours=2)
    token, run_id = call.payload
    assert told(scheduler, call.run_id).payload == ["{{callback_token}}", run_id]
    assert token != "{{callback_token}}"


def test_run_payloads_values_taken_from_an_upstream_step_are_shown(scheduler: Scheduler) -> None:
    scheduler.client.put_workflow(
        "month-end",
        {
            "schedule": "0 3 1 * *",
            "jobs": {
                "extract": {"job_id": "extract", "job": {"target": TARGET}},
                "load": {
                    "job_id": "load",
                    "after": ["extract"],
                    "job": {"target": TARGET, "payload": {"rows": "{{upstream.extract.result.body.rows}}"}},
                },
            },
        },
    )
    scheduler.answer("extract", body={"rows": 12})
    calls = scheduler.advance_to("2026-04-01T04:00:00Z")
    load = next(call for call in calls if call.job_id == "load")
    assert told(scheduler, load.run_id).payload == load.payload == {"rows": 12}


def test_run_payloads_reason_for_an_unavailable_payload_is_reported(scheduler: Scheduler) -> None:
    scheduler.client.create_job(NIGHTLY)
    (call,) = scheduler.advance(days=1)
    with pytest.raises(NotFoundError):
        told(scheduler, "nightly.20260101T000000Z")
    scheduler.client.delete_job("nightly")
    with pytest.raises(ConflictError) as refused:
        told(scheduler, call.run_id)
    assert "was deleted" in str(refused.value)


def test_run_payloads_run_of_a_deleted_job_does_not_use_the_recreated_job(scheduler: Scheduler) -> None:
    scheduler.client.create_job(NIGHTLY)
    (call,) = scheduler.advance(days=1)
    scheduler.client.delete_job("nightly")
    scheduler.client.create_job({**NIGHTLY, "payload": "of another job"})
    with pytest.raises(ConflictError, match="was deleted"):
        told(scheduler, call.run_id)


def test_run_payloads_run_that_never_started_has_no_sent_payload(scheduler: Scheduler) -> None:
    scheduler.client.create_job(NIGHTLY)
    scheduler.client.pause_job("nightly")
    scheduler.advance(days=2)
    scheduler.client.resume_job("nightly")
    scheduler.advance(hours=1)
    skipped = scheduler.client.list_runs("nightly").items[-1]
    assert skipped.state == "SKIPPED"
    found = told(scheduler, skipped.id)
    assert (found.payload, found.problem) == (None, "the run ended before its first attempt, so no request was sent")


def test_run_payloads_payload_of_a_workflow_run_is_shown_as_its_steps_receive_it(scheduler: Scheduler) -> None:
    only: Step = {"job": {"target": TARGET, "payload": {"day": "{{workflow.payload.day}}"}}}
    scheduler.client.put_workflow(
        "month-end", {"schedule": "0 3 1 * *", "payload": {"day": "{{date}}"}, "jobs": {"only": only}}
    )
    (call,) = scheduler.advance_to("2026-04-01T04:00:00Z")
    (run,) = scheduler.client.list_runs("month-end").items
    assert told(scheduler, run.id).payload == call.payload == {"day": "{{date}}"}
