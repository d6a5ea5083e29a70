"""Runs as they are answered."""

from __future__ import annotations

from dataclasses import replace

from duecourse.api.answers import run_document
from duecourse.domain.jobs.job import Lane
from duecourse.domain.runs.identity import RunIdentity
from duecourse.domain.runs.records import queued
from duecourse.domain.runs.states import RunState
from tests.support.jobs import NOON
from tests.support.varied import record, varied

RUN = record(
    RunState.RUNNING,
    RunIdentity("default", "nightly", int(NOON), int(NOON), 5),
    Lane.NORMAL,
    attempt=1,
    token="secret-token",
)


def test_a_run_that_waits_shows_until_when_and_whether_it_is_to_end() -> None:
    waits = varied(
        RUN,
        state=RunState.WAITING,
        waiting_until=NOON + 600.25,
        heartbeat_until=NOON + 60,
        cancel_requested="asked for over the API",
        callback_hash="hash-of-the-token",
    )
    document = run_document(waits)
    assert document["state"] == "WAITING"
    assert document["waiting_until"] == "2026-11-21T12:10:00.250Z"
    assert document["heartbeat_until"] == "2026-11-21T12:01:00.000Z"
    assert document["cancel_requested"] == "asked for over the API"


def test_a_run_in_line_shows_what_it_waits_for_and_since_when() -> None:
    document = run_document(queued(RUN, NOON + 1.5))
    assert (document["state"], document["attempts"], document["started_at"]) == ("QUEUED", 0, None)
    assert (document["waiting_for"], document["waiting_since"]) == ("overlap", "2026-11-21T12:00:01.500Z")


def test_a_failure_shows_its_code() -> None:
    dead = run_document(varied(RUN, state=RunState.DEAD, error="it answered 503", code="http.503"))
    assert (dead["error"], dead["code"]) == ("it answered 503", "http.503")


def test_a_small_result_is_shown_and_a_large_one_told_by_its_size() -> None:
    small = run_document(varied(RUN, state=RunState.SUCCEEDED, result={"status": 200}))
    assert (small["result"], small["result_bytes"]) == ({"status": 200}, None)
    large = run_document(varied(RUN, state=RunState.SUCCEEDED, result_key="results/x.json", result_bytes=70_000))
    assert (large["result"], large["result_bytes"]) == (None, 70_000)


def test_nothing_by_which_a_run_is_fenced_is_shown() -> None:
    shown = str(run_document(replace(RUN, callback_hash="hash-of-the-token", nonce="its-nonce", message_id="its-id")))
    assert not any(word in shown for word in ("secret-token", "hash-of-the-token", "its-nonce", "its-id"))
