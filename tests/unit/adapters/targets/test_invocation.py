"""What every target is told about its run."""

from __future__ import annotations

from dataclasses import replace

import pytest

from duecourse.adapters.targets.invocation import run_event
from duecourse.domain.targets.targets import LambdaTarget
from duecourse.domain.targets.template import TemplateError
from tests.support.calls import a_call
from tests.support.varied import varied

TARGET = LambdaTarget("report")
TOKEN = "dc1.acme.1.AbCdEfGhIjKlMnOp"


def test_the_event_says_which_run_it_is_and_carries_the_rendered_payload():
    call = a_call(TARGET, payload={"week": "{{week}}", "key": "{{idempotency_key}}", "n": 1}, attempt=2)
    call = replace(call, run=varied(call.run, due=call.run.due + 30))
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


def test_the_event_of_a_run_that_waits_for_its_callback_says_how_to_complete_it():
    event = run_event(replace(a_call(TARGET, payload="{{callback_token}}"), token=TOKEN))
    assert event["callback"] == {"token": TOKEN, "run": "nightly.20261121T064700Z"}
    assert event["payload"] == TOKEN


def test_an_invocation_without_callback_has_no_token():
    assert "callback" not in run_event(a_call(TARGET))
    with pytest.raises(TemplateError, match="callback_token"):
        run_event(a_call(TARGET, payload="{{callback_token}}"))


def test_secrets_do_not_go_into_events():
    with pytest.raises(TemplateError, match="header values"):
        run_event(a_call(TARGET, payload={"password": "{{secret:api-key}}"}))


def test_the_event_says_what_the_run_is_part_of_where_that_is_known():
    call = a_call(TARGET)
    assert "correlation_id" not in run_event(call)
    told = run_event(replace(call, run=varied(call.run, correlation_id="order-4711")))
    assert told["correlation_id"] == "order-4711"
