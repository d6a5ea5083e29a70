"""Callbacks: their tokens and their records.

- The token by which whoever works on a run reports.
- The record of an attempt whose run will wait for its callback stands before the call is made.
"""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duecourse.domain.ids import ID_PATTERN
from duecourse.domain.jobs.job import Completion, Job
from duecourse.domain.runs.callbacks import CallbackToken, TokenError, read_token
from duecourse.domain.runs.decision import Start
from duecourse.domain.runs.states import Callback, Deadlines, Run, Running, RunState
from duecourse.domain.runs.transitions import decide_start
from tests.support.jobs import job
from tests.support.start_requests import DUE, EXPIRES, SECRET, TOKEN, context, expect, run, start_request, waiting_run

TOKENS = st.builds(
    CallbackToken,
    st.from_regex(ID_PATTERN, fullmatch=True),
    st.integers(1, 999_999_999),
    st.from_regex(r"[A-Za-z0-9_-]{12,64}", fullmatch=True),
)


@given(TOKENS)
def test_callback_token_round_trips_through_its_text(token: CallbackToken) -> None:
    assert read_token(str(token)) == token


@given(TOKENS, TOKENS)
def test_callback_token_matches_only_its_own_record(one: CallbackToken, other: CallbackToken) -> None:
    assert one.opens(Callback(one.hash))
    assert one.opens(Callback(other.hash)) is (one == other)


def test_callback_token_contains_tenant_and_attempt() -> None:
    assert str(TOKEN) == f"dc1.default.1.{SECRET}"


@pytest.mark.parametrize(
    "other",
    [
        CallbackToken("default", 2, SECRET),
        CallbackToken("defaulu", 1, SECRET),
        CallbackToken("default", 1, SECRET + "x"),
    ],
    ids=["attempt", "tenant", "secret"],
)
def test_callback_token_of_another_attempt_tenant_or_secret_is_rejected(other: CallbackToken) -> None:
    assert not other.opens(Callback(TOKEN.hash))


def test_callback_record_without_a_hash_matches_no_token() -> None:
    assert not TOKEN.opens(None)
    assert not TOKEN.opens(Callback(""))


def test_callback_hash_is_compared_to_its_last_character() -> None:
    assert not TOKEN.opens(Callback(TOKEN.hash[:-1] + ("0" if TOKEN.hash[-1] != "0" else "1")))
    assert not TOKEN.opens(Callback(TOKEN.hash[:-1]))


def test_callback_hash_does_not_reveal_the_secret() -> None:
    assert SECRET not in TOKEN.hash
    assert len(TOKEN.hash) == 64


@pytest.mark.parametrize(
    "text",
    [
        "",
        "dc1",
        f"dc2.default.1.{SECRET}",
        f"dc1.default.0.{SECRET}",
        f"dc1.default.01.{SECRET}",
        f"dc1.default.-1.{SECRET}",
        f"dc1.default.1234567890.{SECRET}",
        f"dc1.default.١.{SECRET}",
        f"dc1..1.{SECRET}",
        f"dc1.de#fault.1.{SECRET}",
        f"dc1.{'d' * 65}.1.{SECRET}",
        "dc1.default.1.short",
        f"dc1.default.1.{'s' * 65}",
        f"dc1.default.1.{SECRET}.more",
        f"dc1.default.1.{SECRET}\n",
        f" dc1.default.1.{SECRET}",
        f"dc1xdefault.1.{SECRET}",
    ],
)
def test_callback_invalid_token_is_rejected(text: str) -> None:
    with pytest.raises(TokenError, match="is not a callback token"):
        read_token(text)


NOW = DUE + 12.0
CALLBACK = job(completion=Completion.CALLBACK, completion_seconds=7200, timeout_seconds=30)
BEATING = replace(CALLBACK, heartbeat_seconds=60)


def begun(of: Job, record: Run | None = None) -> Running:
    attempt = 1 if record is None else record.attempt + 1
    return expect(Start, decide_start(start_request(attempt=attempt), of, record, context(), now=NOW)).run


def test_callback_run_without_callback_has_no_token_and_no_deadline() -> None:
    record = begun(job(completion_seconds=7200, heartbeat_seconds=60))
    assert (record.callback, record.deadlines) == (None, None)
    assert record.expires_at == EXPIRES


def test_callback_record_has_the_hash_of_tenant_attempt_and_secret() -> None:
    assert begun(CALLBACK).callback == Callback(TOKEN.hash)
    assert begun(CALLBACK, run(RunState.RETRYING, attempt=2)).callback == Callback(
        CallbackToken("default", 3, SECRET).hash
    )


def test_callback_deadline_counts_from_the_start_of_its_attempt() -> None:
    deadlines = begun(CALLBACK).deadlines
    assert deadlines == Deadlines(NOW + 7200)
    assert deadlines.next == NOW + 7200


def test_callback_first_heartbeat_deadline_includes_the_timeout_of_the_call() -> None:
    deadlines = begun(BEATING).deadlines
    assert (deadlines.heartbeat_until, deadlines.next) == (NOW + 30 + 60, NOW + 90)


def test_callback_record_retention_counts_from_the_end_of_the_wait() -> None:
    assert begun(CALLBACK).expires_at == EXPIRES + 7200


@pytest.mark.parametrize(
    "before",
    [
        waiting_run(RunState.RETRYING),
        waiting_run(RunState.RUNNING, heartbeat_until=DUE + 5.0, lease_until=DUE + 1.0),
        waiting_run(RunState.DEAD, message_id="message-0", cancel_requested="replaced"),
    ],
    ids=["retried", "taken over", "redriven"],
)
def test_callback_fields_of_an_earlier_attempt_are_cleared_for_the_next_one(before: Run) -> None:
    record = begun(job(), before)
    assert (record.callback, record.deadlines, record.cancel_requested) == (None,) * 3


def test_callback_deadline_is_the_earlier_of_heartbeat_and_completion() -> None:
    assert Deadlines(50.0, 40.0).next == 40.0
    assert Deadlines(30.0, 40.0).next == 30.0
    assert Deadlines(30.0).next == 30.0
