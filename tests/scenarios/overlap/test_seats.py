"""What has no seat is worked on by the bulk queue's workers, however it was enqueued."""

from __future__ import annotations

from dataclasses import replace

from duecourse.domain.jobs.job import Backoff, Lane, Overlap, RetryPolicy
from duecourse.domain.runs.states import RunState
from duecourse.domain.targets.targets import Failed, Returned
from tests.support.jobs import NOON, job
from tests.support.world import World


def queues(world: World) -> list[bool]:
    """Of each message that was sent: whether it went into the bulk queue."""
    return [one.message.bulk for one in world.wheel.sent]


def test_seats_job_with_a_seat_does_not_use_the_bulk_queue(world: World) -> None:
    world.add(job(seated=True))
    world.until(NOON + 30)
    assert len(world.caller.runs) == 3
    assert not any(queues(world))


def test_seats_job_without_a_seat_sends_its_runs_and_retries_directly_to_the_bulk_queue(world: World) -> None:
    answers = [Failed("it answered 503", code="http.503"), Returned("fine")]
    world.caller.answer = lambda _: answers.pop(0)
    again = RetryPolicy(max_attempts=2, backoff=Backoff.FIXED, min_seconds=5, max_seconds=5)
    world.add(job("at(2026-11-21T12:00:10)", seated=False, retry=again))
    world.until(NOON + 30)
    assert len(world.caller.runs) == 2
    assert queues(world) == [True, True]


def test_seats_runs_enqueued_before_their_job_lost_its_seat_move_to_bulk_before_their_call(world: World) -> None:
    office = world.office
    world.add(job(seated=True))
    office.edit(overlap=Overlap.ALLOW)
    world.wheel.sent.clear()
    world.until(NOON + 10)
    (sent_on,) = world.wheel.sent
    assert (sent_on.message.bulk, sent_on.delay_seconds) == (True, 0)
    assert len(world.caller.runs) == 1
    (run,) = [run for run in world.runs("tick-tock") if run.state is RunState.SUCCEEDED]
    assert run.attempt == 1


def test_seats_runs_enqueued_for_another_lane_move_to_the_bulk_queue(world: World) -> None:
    world.add(job(seated=True))
    standing = world.jobs.get("default", "tick-tock")
    where = world.jobs.get_cursor("default", "tick-tock")
    assert standing is not None
    assert where is not None
    moved = replace(standing, priority=Lane.HIGH, revision=2)
    assert world.jobs.change(standing, where, moved, replace(where, lane=Lane.HIGH))
    world.wheel.sent.clear()
    world.until(NOON + 10)
    assert [(one.message.lane, one.message.bulk) for one in world.wheel.sent] == [(Lane.HIGH, True)]


def test_seats_manual_run_of_a_one_off_job_uses_the_bulk_queue(world: World) -> None:
    world.add(job("at(2026-11-21T18:00:00)", id="tick-tock", seated=True))
    world.wheel.sent.clear()
    world.office.run()
    assert queues(world) == [True]


def test_seats_manual_run_of_a_recurring_job_keeps_the_seat(world: World) -> None:
    world.add(job("0 0 1 1 *", seated=True))
    world.office.run()
    assert queues(world) == [False]


def test_seats_job_created_before_seats_existed_keeps_its_queue(world: World) -> None:
    world.add(job())
    world.until(NOON + 10)
    assert len(world.caller.runs) == 1
    assert not any(queues(world))
