"""Bursts of requests with an API key start one run per window, with the payload of the last request."""

from typing import Any

import pytest

from duecourse.domain.instants import CLOCKS_DIFFER_SECONDS
from duecourse.domain.runs.api_keys import ApiKey
from duecourse.domain.runs.states import Run, RunState
from duecourse.ports import NoAnswerError
from duecourse.testing.faults import after, failing, lost
from duecourse.usecases.runs.api_keys import ApiKeyDraft
from duecourse.usecases.runs.requests import OwnPayload
from tests.support.jobs import NOON, job
from tests.support.world import Killed, Office, Payloads, World

WINDOW = 60
DUE = int(NOON) + WINDOW + CLOCKS_DIFFER_SECONDS


@pytest.fixture
def calls(world: World) -> Payloads:
    """A job without a schedule, and what its target is given."""
    world.add(job(""))
    answers = Payloads()
    world.caller.answer = answers
    return answers


@pytest.fixture
def key(office: Office, calls: Payloads) -> ApiKey:
    del calls
    return office.api.api_keys.create("default", ApiKeyDraft("tick-tock", debounce_seconds=WINDOW), by="anna")[0]


def send(office: Office, key: ApiKey, payload: Any) -> Run:
    keys = office.api.api_keys
    return keys.run(key, keys.job(key), None if payload is None else OwnPayload(payload), None, "c")


def test_debounced_requests_of_a_window_start_one_run_with_the_last_payload(
    world: World, office: Office, calls: Payloads, key: ApiKey
) -> None:
    runs = []
    for second in (0, 20, 59):
        world.until(NOON + second)
        runs.append(send(office, key, {"n": second}))
    assert {run.name for run in runs} == {runs[0].name}
    assert runs[0].due == DUE
    world.until(NOON + 300)
    assert world.caller.calls == [(str(runs[0].name), 1, DUE)]
    assert calls.given == [{"n": 59}]


def test_debounced_request_without_a_payload_gives_the_run_that_of_the_job(
    world: World, office: Office, calls: Payloads, key: ApiKey
) -> None:
    send(office, key, {"n": 1})
    send(office, key, None)
    world.until(NOON + 300)
    assert calls.given == [None]


def test_debounced_request_after_the_window_opens_the_next_one(
    world: World, office: Office, calls: Payloads, key: ApiKey
) -> None:
    send(office, key, 1)
    world.until(NOON + WINDOW)
    send(office, key, 2)
    world.until(NOON + 300)
    assert [at for _, _, at in world.caller.calls] == [DUE, DUE + WINDOW]
    assert calls.given == [1, 2]


def test_debounced_payload_that_is_written_too_late_is_also_delivered_by_the_next_window(
    world: World, office: Office, calls: Payloads, key: ApiKey
) -> None:
    send(office, key, 1)
    world.until(NOON + WINDOW - 1)
    with world.faulty("inputs", replace_payload=after(lambda: world.clock.advance(3), times=1)):
        run = send(office, key, 2)
    assert run.due == DUE + WINDOW + 2
    world.until(NOON + 300)
    assert calls.given == [2, 2]


def test_debounced_request_that_loses_the_race_for_a_window_uses_that_of_the_winner(
    world: World, office: Office, calls: Payloads, key: ApiKey
) -> None:
    group = key.debounced({})
    assert group is not None

    def other() -> None:
        assert world.inputs.open_window("default", "tick-tock", group, int(NOON) + 30, instead_of=None)

    with world.faulty("inputs", window_end=after(other, times=1)):
        run = send(office, key, 1)
    assert run.due == int(NOON) + 30 + CLOCKS_DIFFER_SECONDS
    world.until(NOON + 300)
    assert calls.given == [1]


@pytest.mark.parametrize("operation", ["open_window", "put", "replace_payload"])
def test_debounced_request_that_dies_is_repeated_in_the_same_window(
    world: World, office: Office, calls: Payloads, key: ApiKey, operation: str
) -> None:
    if operation == "replace_payload":
        send(office, key, 0)
    with world.faulty("inputs", **{operation: lost(Killed())}), pytest.raises(Killed):
        send(office, key, 1)
    world.until(NOON + 5)
    assert send(office, key, 1).due == DUE
    world.until(NOON + 300)
    assert calls.given == [1]


def test_debounced_request_without_an_answer_of_the_table_fails_and_can_be_repeated(
    world: World, office: Office, calls: Payloads, key: ApiKey
) -> None:
    send(office, key, 0)
    with world.faulty("inputs", replace_payload=failing(NoAnswerError("timed out"))), pytest.raises(NoAnswerError):
        send(office, key, 1)
    send(office, key, 2)
    world.until(NOON + 300)
    assert calls.given == [2]
    assert [run.state for run in office.listed()] == [RunState.SUCCEEDED]
