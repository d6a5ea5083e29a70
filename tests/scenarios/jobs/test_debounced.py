"""Bursts of requests with an API key start one run per window, with the payload of the last request."""

from typing import Any

import pytest

from duecourse.domain.instants import CLOCKS_DIFFER_SECONDS
from duecourse.domain.runs.api_keys import ApiKey
from duecourse.domain.runs.states import Run, RunState
from duecourse.domain.targets.targets import Failed
from duecourse.ports import NoAnswerError
from duecourse.testing.faults import after, before, failing, lost
from duecourse.usecases.runs.api_keys import ApiKeyDraft
from duecourse.usecases.runs.requests import Later, OwnPayload
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


@pytest.mark.parametrize(("first", "second"), [(None, {"from": "request"}), ({"from": "request"}, None)])
def test_debounced_payload_is_that_of_the_last_request_whether_it_has_one_or_not(
    world: World, office: Office, calls: Payloads, key: ApiKey, first: Any, second: Any
) -> None:
    office.edit(payload={"from": "job"})
    send(office, key, first)
    world.until(NOON + 20)
    send(office, key, second)
    world.until(NOON + 300)
    assert calls.given == [second or {"from": "job"}]


@pytest.mark.parametrize("seconds", [0, 30, 4000])
def test_debounced_request_after_the_start_of_a_rescheduled_run_opens_the_next_window(
    world: World, office: Office, calls: Payloads, key: ApiKey, seconds: int
) -> None:
    first, reschedule = send(office, key, 1), office.api.rescheduling
    reschedule(reschedule.unstarted("default", first.run_id), "anna", None, Later(delay_seconds=seconds))
    for second in (0, 15, 25, 40):
        world.until(NOON + second)
        send(office, key, second)
    world.until(NOON + 5000)
    # A request within ten seconds before the start may be too late, so it also opens the next window.
    assert calls.given == {0: [1, 40], 30: [15, 40], 4000: [40]}[seconds]


def test_debounced_request_after_the_cancellation_of_the_run_opens_the_next_window(
    world: World, office: Office, calls: Payloads, key: ApiKey
) -> None:
    first = send(office, key, 1)
    office.api.commands.cancel("default", first.run_id, "anna")
    world.work()
    second = send(office, key, 2)
    assert second.name != first.name
    assert send(office, key, 3).name == second.name
    world.until(NOON + 300)
    assert calls.given == [3]
    assert office.record(first).state is RunState.CANCELLED


def test_debounced_run_that_is_attempted_again_keeps_its_payload(
    world: World, office: Office, calls: Payloads, key: ApiKey
) -> None:
    calls.failing = [Failed("503")]
    first, reschedule = send(office, key, 1), office.api.rescheduling
    reschedule(reschedule.unstarted("default", first.run_id), "anna", None, Later(delay_seconds=0))
    world.until(NOON + 1)
    assert office.record(first).state is RunState.RETRYING
    send(office, key, 2)
    world.until(NOON + 300)
    assert sorted(calls.given) == [1, 1, 2]


@pytest.mark.parametrize(("seconds", "given"), [(0, [1, 2]), (600, [2])])
def test_debounced_run_that_is_rescheduled_during_a_request_gets_its_payload_or_the_next_run_does(
    world: World, office: Office, calls: Payloads, key: ApiKey, seconds: int, given: list[int]
) -> None:
    first, reschedule = send(office, key, 1), office.api.rescheduling

    def other() -> None:
        reschedule(reschedule.unstarted("default", first.run_id), "anna", None, Later(delay_seconds=seconds))
        world.work()

    with world.faulty("inputs", replace_payload=before(other, times=1)):
        send(office, key, 2)
    world.until(NOON + 900)
    assert calls.given == given


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
