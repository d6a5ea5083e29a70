"""Faults that meet each other: what an adversary would try on the flow from cursor to record."""

from __future__ import annotations

from dataclasses import replace

import pytest

from duecourse.adapters.dynamodb.run_store import DynamoRunStore
from duecourse.domain.job import JobState, MissedMode, MissedPolicy, Overlap
from duecourse.domain.overlap import Lock
from duecourse.domain.retry import Backoff, RetryPolicy
from duecourse.domain.run import Run, RunState
from duecourse.domain.targets import Failed, Succeeded
from duecourse.messages import read_run_message
from duecourse.ports import Death
from tests.support.jobs import NOON, job
from tests.support.tables import Tables
from tests.support.world import World

ONCE = RetryPolicy(max_attempts=1)
TWICE = RetryPolicy(max_attempts=2, backoff=Backoff.FIXED, min_seconds=5, max_seconds=5)


@pytest.fixture
def world(tables: Tables) -> World:
    return World(tables)


def test_a_catch_up_behind_runs_sent_at_once_is_not_lost_where_the_schedule_ends_with_it(world: World) -> None:
    world.add(job("* * * * *", max_runs=5))
    world.until(NOON + 600, ticking=False)
    world.until(NOON + 720)
    assert [(run.occurrence - NOON, run.count, run.state) for run in world.runs("tick-tock")] == [
        (60, 1, RunState.SUCCEEDED),
        (120, 1, RunState.SUCCEEDED),
        (180, 3, RunState.SUCCEEDED),
    ]
    found = world.jobs.get("default", "tick-tock")
    assert found is not None
    assert found.state is JobState.COMPLETED


def test_the_last_run_may_end_before_an_earlier_one_has_started(world: World) -> None:
    world.add(job("rate(100 seconds)", max_runs=3, overlap=Overlap.ALLOW))
    world.until(NOON + 100)
    late = world.wheel.hold_back(200)
    world.until(NOON + 330)
    world.wheel.give_back(late)
    world.until(NOON + 400)
    assert [second for second, _ in world.states("tick-tock")] == [100, 200, 300]


def test_the_last_of_a_bounded_row_is_not_superseded_by_what_will_never_come(world: World) -> None:
    world.add(job("* * * * *", max_runs=2))
    world.until(NOON + 110)
    late = world.wheel.hold_back(120)
    world.until(NOON + 300)
    world.wheel.give_back(late)
    world.until(NOON + 400)
    assert world.states("tick-tock") == [(60, RunState.SUCCEEDED), (120, RunState.SUCCEEDED)]


def test_a_redriven_run_that_has_to_wait_for_another_one_of_its_job_is_not_lost(world: World) -> None:
    world.caller.answer = lambda _: Failed("HTTP 500")
    made = world.add(job("*/5 * * * *", retry=ONCE))
    world.until(NOON + 330)
    (dead,) = world.wheel.dead_letters
    world.caller.answer = lambda _: Succeeded()
    other = replace(world.runs(made.id)[0], occurrence=int(NOON) + 240, state=RunState.RUNNING, token="other")
    alive = replace(other, lease_until=world.clock.now() + 60)
    assert world.run_store.write(alive, None) is None
    assert world.run_store.lock("default", made.id, Lock(alive.name.local, world.clock.now() + 60), None) is None
    world.wheel.send([replace(world.wheel.sent[0], message=dead.message, delay_seconds=0)])
    world.work()
    assert world.run_store.write(replace(alive, state=RunState.SUCCEEDED), alive) is None
    world.until(NOON + 360)
    assert world.states(made.id) == [(240, RunState.SUCCEEDED), (300, RunState.SUCCEEDED)]


def test_a_dead_run_whose_notice_is_refused_again_and_again_still_reaches_the_dead_letters(world: World) -> None:
    class Refusing:
        def death(self, death: Death) -> None:
            raise OSError(f"no notice of {death.run.name}")

    world.caller.answer = lambda _: Failed("HTTP 500")
    world.notices = Refusing()  # type: ignore[assignment]
    world.add(job("at(2026-11-21T12:02:00)", retry=ONCE))
    world.until(NOON + 3600)
    assert [held.message.name.local for held in world.wheel.dead_letters] == ["20261121T120200Z"]


def test_a_job_is_not_blocked_for_ever_by_a_run_whose_next_attempt_got_lost(world: World) -> None:
    world.caller.answer = lambda call: Failed("later") if call.run.occurrence == int(NOON) + 60 else Succeeded()
    world.add(job("* * * * *", retry=TWICE))
    world.until(NOON + 60)
    assert world.wheel.hold_back(60)
    world.until(NOON + 3 * 3600)
    assert world.states("tick-tock")[0] == (60, RunState.RETRYING)
    assert world.states("tick-tock")[-1][1] is RunState.SUCCEEDED


def test_a_lock_is_not_seized_from_a_holder_that_has_just_taken_it_again(world: World) -> None:
    store = world.run_store
    assert store.lock("default", "tick-tock", Lock("a", NOON + 10), None) is None
    assert store.lock("default", "tick-tock", Lock("a", NOON + 300), None) is None
    assert store.lock("default", "tick-tock", Lock("b", NOON + 300), Lock("a", NOON + 10)) == Lock("a", NOON + 300)
    assert store.lock("default", "tick-tock", Lock("b", NOON + 300), Lock("a", NOON + 300)) is None


@pytest.mark.parametrize(
    "rules",
    [
        '{"expression":5,"missed":{"mode":"skip","grace_seconds":60,"max_missed":1}}',
        '{"expression":"* * * * *","jitter_seconds":"5","missed":{"mode":"skip","grace_seconds":60,"max_missed":1}}',
        '{"expression":"* * * * *","missed":{"mode":"skip","grace_seconds":"a","max_missed":1}}',
        '{"expression":"* * * * *","exclude":[7],"missed":{"mode":"skip","grace_seconds":60,"max_missed":1}}',
        '{"expression":"* * * * *","timezone":5,"missed":{"mode":"skip","grace_seconds":60,"max_missed":1}}',
    ],
)
def test_a_cursor_of_wrong_types_is_set_aside_and_blocks_nobody(world: World, rules: str) -> None:
    world.add(job("rate(10 seconds)", id="good"))
    world.add(job("rate(10 seconds)", id="bad"))
    world.tables.client.update_item(
        TableName=world.tables.jobs,
        Key={"PK": {"S": "JOB#default#bad"}, "SK": {"S": "CURSOR"}},
        UpdateExpression="SET #rules = :rules",
        ExpressionAttributeNames={"#rules": "rules"},
        ExpressionAttributeValues={":rules": {"S": rules}},
    )
    world.until(NOON + 200)
    assert [second for second, _ in world.states("good")] == list(range(10, 201, 10))
    assert world.count("CursorsSetAside") == 1


def test_a_round_that_runs_out_of_time_among_empty_hours_goes_on_from_there(world: World) -> None:
    world.clock.set(NOON + 400 * 86_400)
    store = world.cursors

    class Slow:
        def __getattr__(self, name: str) -> object:
            return getattr(store, name)

        def due(self, slot: str, until: float) -> object:
            world.clock.advance(0.05)
            return store.due(slot, until)

    before = world.cursors.watermark(0)
    world.dispatch(Slow())  # type: ignore[arg-type]
    after = world.cursors.watermark(0)
    assert before is not None
    assert after is not None
    assert before < after < "2027-12-26"


def test_a_long_lease_near_the_receive_limit_is_waited_for_whatever_sqs_can_hold_back(world: World) -> None:
    made = world.add(job("at(2026-11-21T12:00:10)"))
    world.until(NOON + 9)
    (held,) = world.wheel.hold_back(10)
    world.clock.set(NOON + 11)
    lease = NOON + 11 + 900
    lost = replace(_running(held.serial), lease_until=lease)
    assert world.run_store.write(lost, None) is None
    held.receives = 3
    world.wheel.give_back([held])
    world.until(NOON + 2400)
    assert world.states(made.id) == [(10, RunState.SUCCEEDED)]


def _running(serial: int) -> Run:
    return Run(
        tenant="default",
        job_id="tick-tock",
        occurrence=int(NOON) + 10,
        due=int(NOON) + 10,
        generation=int(NOON * 1000),
        state=RunState.RUNNING,
        lane=job().lane,
        attempt=1,
        attempts_allowed=4,
        token="gone",
        message_id=f"message-{serial}",
        nonce="nonce-1",
    )


def test_skipped_records_of_other_jobs_are_written_where_one_cannot_be(world: World) -> None:
    for name in ("a", "b", "c"):
        world.add(job("*/5 * * * *", id=name, missed=MissedPolicy(MissedMode.SKIP)))
    world.clock.set(NOON + 3600)
    store = world.run_store

    class Failing:
        def __getattr__(self, name: str) -> object:
            return getattr(store, name)

        def write(self, run: Run, previous: Run | None) -> object:
            if run.job_id == "a":
                raise OSError("no")
            return store.write(run, previous)

    world.run_store = Failing()  # type: ignore[assignment]
    world.dispatch()
    world.run_store = store
    assert [len([r for r in world.runs(name) if r.count > 1]) for name in ("a", "b", "c")] == [0, 1, 1]


def test_a_redriven_run_that_has_to_wait_for_a_lock_without_a_record_is_not_lost(world: World) -> None:
    world.caller.answer = lambda _: Failed("HTTP 500")
    made = world.add(job("*/5 * * * *", retry=ONCE))
    world.until(NOON + 330)
    (dead,) = world.wheel.dead_letters
    world.caller.answer = lambda _: Succeeded()
    about_to_start = Lock("20261121T120400Z", world.clock.now() + 5)
    assert world.run_store.lock("default", made.id, about_to_start, None) is None
    world.wheel.send([replace(world.wheel.sent[0], message=dead.message, delay_seconds=0)])
    world.until(NOON + 360)
    assert world.states(made.id) == [(300, RunState.SUCCEEDED)]


def test_whether_all_runs_have_ended_is_asked_with_a_strong_read(world: World) -> None:
    asked = []

    class Client:
        def query(self, **request: object) -> dict[str, object]:
            asked.append(request.get("ConsistentRead"))
            return {"Items": []}

    DynamoRunStore(Client(), "runs").page("default", "tick-tock", limit=50, before=None)
    assert asked == [True]


def test_a_message_says_that_it_is_the_last_and_older_ones_do_not(world: World) -> None:
    world.add(job("* * * * *", max_runs=2))
    assert [sent.message.final for sent in world.wheel.sent] == [False, True]
    first, last = (sent.message for sent in world.wheel.sent)
    assert read_run_message(last.to_json()) == last
    assert "final" not in first.to_json()
