"""Waits that are longer than a queue holds a message back."""

from dataclasses import replace

import pytest

from duecourse.domain.jobs.job import Backoff, RetryPolicy
from duecourse.domain.runs.decision import AttemptContext, Ended, Transition
from duecourse.domain.runs.states import RunState
from duecourse.domain.runs.transitions import decide
from duecourse.domain.targets.targets import Failed, Outcome, Returned
from duecourse.ports import Call, Claimed, ClaimResult
from duecourse.stores.cursors import CursorStore
from duecourse.testing.faults import around, failing
from duecourse.usecases.dispatch.round import DispatchRules
from tests.support.jobs import NOON, job
from tests.support.one_run import fail, the_run
from tests.support.tables import Tables
from tests.support.varied import varied
from tests.support.world import Killed, World

HOURS = RetryPolicy(max_attempts=3, backoff=Backoff.FIXED, min_seconds=7200, max_seconds=7200)
AT = "at(2026-11-21T12:02:00)"


@pytest.fixture
def world(tables: Tables) -> World:
    world = World(tables)

    def fail_the_first(call: Call) -> Outcome:
        return Failed("not yet") if call.run.attempt == 1 else Returned()

    world.caller.answer = fail_the_first
    return world


def test_long_wait_of_a_retry_after_two_hours_uses_the_due_index_and_ends_on_its_second(world: World) -> None:
    world.add(job(AT, retry=HOURS))
    world.until(NOON + 3600)
    assert len(world.wheel) == 0  # nothing circles in the queue meanwhile
    world.until(NOON + 7400)
    assert [(attempt, at - NOON) for _, attempt, at in world.caller.calls] == [(1, 120.0), (2, 7320.0)]
    assert world.count("WakesSent") == 1


def test_long_wait_run_starts_once_after_a_dispatcher_crash_between_sending_and_clearing(world: World) -> None:
    world.add(job(AT, retry=HOURS))
    world.until(NOON + 7000)
    world.clock.advance(30)
    with pytest.raises(Killed):
        world.dispatch(around(world.cursors, clear=failing(Killed())))
    world.until(NOON + 7600)
    assert [attempt for _, attempt, _ in world.caller.calls] == [1, 2]
    assert world.count("WakesSent") == 1


def test_long_wait_timer_sent_twice_gives_no_attempt_to_a_run_without_attempts_left(world: World) -> None:
    world.caller.answer = lambda call: Failed("no")
    world.add(job(AT, retry=replace(HOURS, max_attempts=2)))
    world.until(NOON + 7000)
    world.clock.advance(30)
    with pytest.raises(Killed):
        world.dispatch(around(world.cursors, clear=failing(Killed())))
    world.until(NOON + 20_000)
    assert [attempt for _, attempt, _ in world.caller.calls] == [1, 2]
    assert [(run.state, run.attempt) for run in world.runs("tick-tock")] == [(RunState.DEAD, 2)]


def test_long_wait_timer_survives_a_dispatcher_outage(world: World) -> None:
    world.add(job(AT, retry=HOURS))
    world.until(NOON + 600)
    world.until(NOON + 5 * 3600, ticking=False)
    world.until(NOON + 5 * 3600 + 120)
    assert [attempt for _, attempt, _ in world.caller.calls] == [1, 2]
    assert [run.state for run in world.runs("tick-tock")] == [RunState.SUCCEEDED]


def busy(world: World, until: float) -> CursorStore:
    """A cursor store whose table puts off what is to be cleared until then (UTC seconds)."""
    later = Claimed(ClaimResult.BUSY, "ThrottlingException: slower", 1)
    store: CursorStore = around(
        world.cursors, clear=lambda real, timers: [later] * len(timers) if world.clock.now() < until else real(timers)
    )
    return store


def test_long_wait_timers_that_a_busy_table_cannot_clear_are_sent_once_and_cleared_later(world: World) -> None:
    world.add(job(AT, retry=HOURS))
    world.until(NOON + 7000)
    world.clock.advance(30)
    report = world.dispatch(busy(world, world.clock.now() + 10))
    assert (report.counts["WakesSent"], report.counts["ClaimsFailed"]) == (1, 0)
    assert report.counts["StatementsThrottled"] > 1
    assert world.dispatch().counts["WakesSent"] == 0


def test_long_wait_timers_stop_being_sent_while_the_table_stays_busy(world: World) -> None:
    world.add(job(AT, retry=HOURS))
    world.until(NOON + 7000)
    world.clock.advance(30)
    report = world.dispatch(busy(world, world.clock.now() + 3600))
    assert report.counts["ClaimsFailed"] == 1
    assert "a timer could not be cleared" in [event.facts.get("reason") for event in report.events]


def test_long_wait_timer_of_a_deleted_job_cancels_its_run(world: World) -> None:
    world.add(job(AT, retry=HOURS))
    world.until(NOON + 600)
    found = world.jobs.get("default", "tick-tock")
    assert found is not None
    assert world.jobs.delete(found, deleted_at=world.clock.now())
    world.until(NOON + 8000)
    (run,) = world.runs("tick-tock")
    assert (run.state, run.reason, len(world.caller.calls)) == (RunState.CANCELLED, "deleted", 1)


def test_long_wait_attempt_beyond_the_maximum_age_of_its_run_is_not_made(world: World) -> None:
    oldest = RetryPolicy(max_attempts=9, backoff=Backoff.FIXED, min_seconds=600, max_seconds=600, max_age_seconds=1500)
    world.caller.answer = lambda _: Failed("no")
    world.add(job(AT, retry=oldest))
    world.until(NOON + 4000)
    (run,) = world.runs("tick-tock")
    assert (run.state, run.reason, run.attempt) == (RunState.DEAD, "too_old", 3)


def test_long_wait_keeps_the_run_until_its_next_attempt_however_short_the_retention(world: World) -> None:
    days = RetryPolicy(max_attempts=2, backoff=Backoff.FIXED, min_seconds=86_400, max_seconds=86_400)
    made = world.add(job(AT, retry=days))
    world.caller.answer = fail
    world.until(NOON + 130)
    begun = varied(the_run(world), state=RunState.RUNNING, expires_at=int(NOON) + 86_400)
    again = decide(Ended(Failed("no"), 0.5), made, begun, AttemptContext("m", "t", NOON, 0), now=world.clock.now())
    assert isinstance(again, Transition)
    assert again.run.not_before is not None
    assert again.run.expires_at is not None
    assert again.run.expires_at > again.run.not_before + 86_400


def test_long_wait_timer_is_found_after_an_increase_of_the_shard_count(tables: Tables) -> None:
    hours = RetryPolicy(max_attempts=2, backoff=Backoff.FIXED, min_seconds=7200, max_seconds=7200)
    before = World(tables, rules=DispatchRules(shards=1, lookahead=300, horizon=840))
    before.caller.answer = fail
    for number in range(6):
        before.add(job(AT, id=f"job-{number}", retry=hours))
    before.until(NOON + 600)
    after = World(tables, at=NOON + 600, rules=DispatchRules(shards=4, lookahead=300, horizon=840))
    after.until(NOON + 7400)
    assert sorted(after.caller.runs) == [f"job-{number}.20261121T120200Z" for number in range(6)]
