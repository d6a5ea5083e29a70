"""The end of a function's log, which a worker stores after it has recorded the end of the attempt."""

import pytest

from duecourse.domain.jobs.job import Backoff, RetryPolicy
from duecourse.domain.runs.logs import KEEP_SECONDS
from duecourse.domain.runs.states import RunState
from duecourse.domain.targets.targets import Failed, LambdaTarget, Outcome, Returned
from duecourse.ports import Call
from duecourse.testing.faults import around
from duecourse.usecases.runs.logs import LogReader
from tests.support.jobs import NOON, job
from tests.support.one_run import the_run
from tests.support.tables import Tables
from tests.support.world import FUNCTION_SECONDS, World

AT = "at(2026-11-21T12:02:00)"
SOON = RetryPolicy(max_attempts=2, backoff=Backoff.FIXED, min_seconds=5, max_seconds=5)
TARGET = LambdaTarget("report", log=True)
FOLDER = "logs/default/tick-tock/20261121T120200Z"


@pytest.fixture
def world(tables: Tables) -> World:
    return World(tables)


def texts(world: World) -> dict[str, str]:
    return {key: text.decode() for key, (text, _) in world.logs.portions_by_key.items()}


def lost(world: World) -> list[object]:
    return [event.facts["error"] for report in world.reports for event in report.events if event.action == "log_lost"]


def test_run_logs_of_each_attempt_are_kept(world: World) -> None:
    def answer(call: Call) -> Outcome:
        text = f"attempt {call.run.attempt}\n"
        return Failed("no paper", log=text) if call.run.attempt == 1 else Returned(log=text)

    world.caller.answer = answer
    world.add(job(AT, retry=SOON, target=TARGET))
    world.until(NOON + 130)
    assert the_run(world).state is RunState.SUCCEEDED
    assert texts(world) == {
        f"{FOLDER}/000000001/call-01-001.txt": "attempt 1\n",
        f"{FOLDER}/000000002/call-01-001.txt": "attempt 2\n",
    }
    assert (lost(world), world.count("LogsLost")) == ([], 0)


def test_run_logs_of_other_targets_cost_no_request(world: World) -> None:
    world.logs.refuses = True
    world.add(job(AT))
    world.until(NOON + 130)
    assert the_run(world).state is RunState.SUCCEEDED
    assert (texts(world), lost(world)) == ({}, [])


def test_run_logs_are_stored_after_the_end_of_the_attempt_is_recorded(world: World) -> None:
    seen: list[RunState] = []
    world.logs = around(world.logs, write_portion=lambda *_: seen.append(the_run(world).state))
    world.caller.answer = lambda _: Returned(log="done\n")
    world.add(job(AT, target=TARGET))
    world.until(NOON + 130)
    assert seen == [RunState.SUCCEEDED]


def test_run_logs_are_open_while_the_log_of_a_function_is_stored(world: World) -> None:
    real, seen = world.logs, list[bool]()
    reader = LogReader(real, world.clock)

    def slow(key: str, text: bytes) -> None:
        world.clock.advance(KEEP_SECONDS)
        seen.append(reader.page(the_run(world)).open)
        real.write_portion(key, text)

    world.logs = around(real, write_portion=lambda _, key, text: slow(key, text))
    world.caller.answer = lambda _: Returned(log="done\n")
    world.add(job(AT, target=TARGET))
    world.until(NOON + 150)
    assert seen == [True]


def test_run_logs_store_that_refuses_does_not_change_the_outcome_of_the_run(world: World) -> None:
    world.logs.refuses = True
    world.caller.answer = lambda _: Returned({"status": 200}, log="done\n")
    world.add(job(AT, target=TARGET))
    world.until(NOON + 130)
    run = the_run(world)
    assert (run.state, run.result) == (RunState.SUCCEEDED, {"status": 200})
    assert lost(world) == ["ConnectionError: the store is not available"]
    assert world.count("LogsLost") == 1


def test_run_logs_are_not_stored_if_the_worker_has_too_little_time_left(world: World) -> None:
    def slow(_: Call) -> Outcome:
        world.clock.advance(FUNCTION_SECONDS - KEEP_SECONDS + 1)
        return Returned(log="done\n")

    world.caller.answer = slow
    world.add(job(AT, target=TARGET, timeout_seconds=110))
    world.until(NOON + 130)
    assert the_run(world).state is RunState.SUCCEEDED
    assert lost(world) == ["the worker had only 14.0 s left"]
    assert texts(world) == {}
