"""What a run is part of: from the request, or the round, through messages and record, in all that is told of it."""

from dataclasses import replace

import orjson
import pytest

from duecourse.domain.ids import RunIdentity
from duecourse.domain.jobs.backfill import Backfill
from duecourse.domain.jobs.job import Backoff, Completion, Overlap, RetryPolicy
from duecourse.domain.runs.states import RunState
from duecourse.domain.targets.targets import Failed, Outcome, Returned
from duecourse.messages import MessageKind, Redrive, RunMessage, read_run_message
from duecourse.ports import Call, Outgoing
from duecourse.usecases.report import Event
from duecourse.usecases.runs.commands import CommandSender
from duecourse.usecases.runs.requests import RunRequest
from tests.support.jobs import NOON, job
from tests.support.tables import Tables
from tests.support.world import World

N = int(NOON)
ROUND, ORDER = "52fdfc07-2182-454f-963f-5f0f9a621d72", "order-4711"
TWICE = RetryPolicy(max_attempts=2, backoff=Backoff.FIXED, min_seconds=30, max_seconds=30)
FAILED = Failed("it answered 503", code="http.503")


@pytest.fixture
def world(tables: Tables) -> World:
    made = World(tables)
    made.round_id = ROUND
    return made


def told(world: World) -> list[Event]:
    """What was said of runs, by workers and calls of the reconciler."""
    return [event for report in world.reports for event in report.events if "run_id" in event.facts]


def borne(world: World) -> set[str | None]:
    """What the messages bear."""
    return {one.message.correlation_id for one in world.wheel.sent}


def seen(call: Call) -> str | None:
    return call.run.correlation_id


def asks(world: World, job_id: str = "tick-tock") -> None:
    office = world.office
    office.api.manual.run(office.job(job_id), RunRequest("anna", correlation_id=ORDER))


def test_correlation_id_of_a_scheduled_run_is_that_of_the_round_that_enqueued_it(world: World) -> None:
    made = world.add(job("at(2026-11-21T12:10:00)"))
    world.until(NOON + 660)
    (run,) = world.runs(made.id)
    assert (run.state, run.correlation_id, borne(world)) == (RunState.SUCCEEDED, ROUND, {ROUND})


def test_correlation_id_of_a_round_is_in_all_its_events(world: World) -> None:
    world.add(job("at(2026-11-21T12:10:00)"))
    assert {(event.facts["shard"], event.facts["correlation_id"]) for event in world.dispatch().events} == {(0, ROUND)}


def test_correlation_id_is_the_same_in_every_attempt_and_every_log_line(world: World) -> None:
    world.add(job("0 0 1 1 *", retry=TWICE))
    calls: list[str | None] = []

    def failing_once(call: Call) -> Outcome:
        calls.append(seen(call))
        return FAILED if len(calls) == 1 else Returned("fine")

    world.caller.answer = failing_once
    asks(world)
    world.until(NOON + 60)
    (run,) = world.runs("tick-tock")
    assert (run.state, run.attempt, run.correlation_id) == (RunState.SUCCEEDED, 2, ORDER)
    assert (calls, borne(world)) == ([ORDER, ORDER], {ORDER})
    lines = told(world)
    assert [event.action for event in lines] == ["run_settled", "run_settled"]
    assert {event.facts["correlation_id"] for event in lines} == {ORDER}
    whose = {(event.facts["tenant"], event.facts["job_id"], event.facts["run_id"]) for event in lines}
    assert whose == {("default", "tick-tock", str(run.name))}


def test_correlation_id_is_kept_by_a_redrive(world: World) -> None:
    world.add(job("0 0 1 1 *", retry=replace(TWICE, max_attempts=1)))
    world.caller.answer = lambda _: FAILED
    asks(world)
    world.until(NOON + 30)
    (dead,) = world.runs("tick-tock")
    assert (dead.state, dead.correlation_id) == (RunState.DEAD, ORDER)
    world.caller.answer = lambda _: Returned("fine")
    CommandSender(world.wheel, world.clock, world.randomness).send_one(Redrive(), dead)
    world.work()
    (run,) = world.runs("tick-tock")
    assert (run.state, run.correlation_id, borne(world)) == (RunState.SUCCEEDED, ORDER, {ORDER})


def test_correlation_id_is_kept_by_runs_that_wait_in_the_due_index(world: World) -> None:
    world.add(job("*/5 * * * *"))
    office = world.office
    an_hour = Backfill(N - 3600, N, 600)  # twelve runs, ten minutes apart: most of them wait as timers
    office.api.backfills.start(office.job(), an_hour, RunRequest("anna", correlation_id=ORDER))
    world.until(NOON + 7200)
    assert [run.correlation_id for run in [run for run in world.runs("tick-tock") if run.suffix]] == [ORDER] * 12


def test_correlation_id_is_kept_by_a_callback_and_its_deadline(world: World) -> None:
    world.add(job("0 0 1 1 *", completion=Completion.CALLBACK, completion_seconds=60, retry=TWICE))
    asks(world)
    world.until(NOON + 200)
    (run,) = world.runs("tick-tock")
    assert {one.message.kind for one in world.wheel.sent} >= {MessageKind.START, MessageKind.DEADLINE}
    assert (run.attempt, run.correlation_id, borne(world)) == (2, ORDER, {ORDER})


def test_correlation_id_of_a_replaced_run_is_used_for_its_cancellation(world: World) -> None:
    world.add(job("0 0 1 1 *", completion=Completion.CALLBACK, overlap=Overlap.REPLACE))
    asks(world)
    world.until(NOON + 5)
    office = world.office
    office.api.manual.run(office.job(), RunRequest("bert", correlation_id="order-4712"))
    world.until(NOON + 60)
    (cancel,) = [one.message for one in world.wheel.sent if one.message.kind is MessageKind.CANCEL]
    assert cancel.correlation_id == ORDER
    assert {run.correlation_id for run in world.runs("tick-tock")} == {ORDER, "order-4712"}


def test_correlation_id_of_a_repeated_request_is_that_of_the_first_request(world: World) -> None:
    world.add(job("0 0 1 1 *"))
    office = world.office
    first = office.api.manual.run(office.job(), RunRequest("anna", "a key", ORDER))
    again = office.api.manual.run(office.job(), RunRequest("anna", "a key", "order-4712"))
    assert (first.correlation_id, again.correlation_id, borne(world)) == (ORDER, ORDER, {ORDER})
    assert office.record(first).correlation_id == ORDER


def test_correlation_id_is_in_the_event_of_a_dead_letter(world: World) -> None:
    world.add(job("0 0 1 1 *", retry=replace(TWICE, max_attempts=1)))
    world.caller.answer = lambda _: FAILED
    asks(world)
    world.until(NOON + 30)
    report = world.reconcile()
    (kept,) = [event for event in report.events if event.action == "dead_letter_kept"]
    assert kept.facts["correlation_id"] == ORDER


def test_correlation_id_is_absent_for_a_message_of_an_older_version_which_runs_as_before(world: World) -> None:
    made = world.add(job("0 0 1 1 *", retry=TWICE))
    body = RunMessage(
        RunIdentity(
            tenant="default", job_id=made.id, occurrence=N, due=N, generation=made.generation, suffix=".mAbCd1234"
        ),
        lane=made.lane,
        not_before=NOON,
        nonce="old",
    ).to_json()
    assert "correlation_id" not in orjson.loads(body)
    world.wheel.send([Outgoing(read_run_message(body), 0)])
    world.caller.answer = lambda call: FAILED if call.run.attempt == 1 else Returned("fine")
    world.until(NOON + 60)
    (run,) = world.runs(made.id)
    assert (run.state, run.correlation_id) == (RunState.SUCCEEDED, None)
    assert all("correlation_id" not in event.facts for event in told(world))
