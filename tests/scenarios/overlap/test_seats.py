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


def test_what_a_job_with_a_seat_enqueues_is_not_for_bulk(world: World) -> None:
    world.add(job(seated=True))
    world.until(NOON + 30)
    assert len(world.caller.runs) == 3
    assert not any(queues(world))


def test_what_a_job_in_bulk_enqueues_goes_there_at_once_and_its_retries_too(world: World) -> None:
    answers = [Failed("it answered 503", code="http.503"), Returned("fine")]
    world.caller.answer = lambda _: answers.pop(0)
    again = RetryPolicy(max_attempts=2, backoff=Backoff.FIXED, min_seconds=5, max_seconds=5)
    world.add(job("at(2026-11-21T12:00:10)", seated=False, retry=again))
    world.until(NOON + 30)
    assert len(world.caller.runs) == 2
    assert queues(world) == [True, True]


def test_runs_that_were_enqueued_before_their_job_lost_its_seat_are_sent_on_before_they_call(world: World) -> None:
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


def test_runs_that_were_enqueued_for_another_lane_are_sent_on_to_bulk(world: World) -> None:
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


def test_a_one_off_that_is_run_by_hand_goes_through_bulk_and_a_recurring_job_does_not(world: World) -> None:
    world.add(job("at(2026-11-21T18:00:00)", id="tick-tock", seated=True))
    world.wheel.sent.clear()
    world.office.run()
    assert queues(world) == [True]


def test_a_recurring_job_that_is_run_by_hand_keeps_its_seat(world: World) -> None:
    world.add(job("0 0 1 1 *", seated=True))
    world.office.run()
    assert queues(world) == [False]


def test_a_job_of_before_there_were_seats_runs_where_it_did(world: World) -> None:
    world.add(job())
    world.until(NOON + 10)
    assert len(world.caller.runs) == 1
    assert not any(queues(world))
