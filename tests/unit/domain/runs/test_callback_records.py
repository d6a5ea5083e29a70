"""The record of an attempt whose run will wait for its callback stands before the call is made."""

from __future__ import annotations

from dataclasses import replace

from duecourse.domain.jobs.job import Job
from duecourse.domain.jobs.policies import Completion
from duecourse.domain.runs.callback import CallbackToken
from duecourse.domain.runs.decision import Start
from duecourse.domain.runs.run import Run, RunState
from duecourse.domain.runs.start import decide_start
from tests.support.jobs import job
from tests.support.start_requests import DUE, EXPIRES, SECRET, TOKEN, context, run, start_request, waiting_run

NOW = DUE + 12.0
CALLBACK = job(completion=Completion.CALLBACK, completion_seconds=7200, timeout_seconds=30)
BEATING = replace(CALLBACK, heartbeat_seconds=60)


def begun(of: Job, record: Run | None = None) -> Run:
    attempt = 1 if record is None else record.attempt + 1
    decision = decide_start(start_request(attempt=attempt), of, record, context(), now=NOW)
    assert isinstance(decision, Start)
    return decision.run


def test_a_run_that_ends_with_its_answer_has_neither_token_nor_deadline() -> None:
    record = begun(job(completion_seconds=7200, heartbeat_seconds=60))
    assert (record.callback_hash, record.waiting_until, record.heartbeat_until, record.deadline) == (None,) * 4
    assert record.expires_at == EXPIRES


def test_the_token_is_that_of_tenant_attempt_and_secret() -> None:
    assert begun(CALLBACK).callback_hash == TOKEN.hash
    again = begun(CALLBACK, run(RunState.RETRYING, attempt=2))
    assert again.callback_hash == CallbackToken("default", 3, SECRET).hash


def test_it_must_be_completed_so_long_after_its_attempt_began() -> None:
    record = begun(CALLBACK)
    assert (record.waiting_until, record.heartbeat_until, record.deadline) == (NOW + 7200, None, NOW + 7200)


def test_the_first_heartbeat_is_given_the_time_of_the_call_besides() -> None:
    record = begun(BEATING)
    assert (record.heartbeat_until, record.deadline) == (NOW + 30 + 60, NOW + 90)


def test_the_record_is_kept_from_the_end_of_its_waiting_on() -> None:
    assert begun(CALLBACK).expires_at == EXPIRES + 7200


def test_nothing_of_an_earlier_attempts_waiting_is_left_in_the_next_one() -> None:
    before = waiting_run(RunState.RETRYING, heartbeat_until=DUE + 5.0, cancel_requested="replaced", reason="x")
    record = begun(job(), before)
    assert (record.callback_hash, record.deadline, record.cancel_requested, record.reason) == (None,) * 4


def test_the_deadline_is_the_earlier_of_heartbeat_and_completion() -> None:
    assert waiting_run(waiting_until=50.0, heartbeat_until=40.0).deadline == 40.0
    assert waiting_run(waiting_until=30.0, heartbeat_until=40.0).deadline == 30.0
    assert waiting_run(waiting_until=None, heartbeat_until=40.0).deadline == 40.0
    assert waiting_run(waiting_until=30.0).deadline == 30.0
    assert run().deadline is None
