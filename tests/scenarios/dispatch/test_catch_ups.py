"""A run that stands for all that was missed and the runs of those occurrences share nothing, whoever comes first."""

from collections import Counter
from typing import Any

import pytest

from duecourse.domain.jobs.job import Lane, MissedMode, MissedPolicy, Overlap
from duecourse.domain.runs.states import RunState
from duecourse.domain.targets.targets import Failed, Returned
from duecourse.testing.faults import around, throttled
from duecourse.usecases.dispatch.claim import CATCH_UP_RUNS
from tests.support.jobs import NOON, job
from tests.support.one_run import ONCE
from tests.support.world import Killed, World, dying

S, K = RunState.SUCCEEDED, RunState.SKIPPED


def covered(world: World) -> list[tuple[int, int, RunState]]:
    """From which second after NOON to which each record reaches, and its state."""
    return [
        (run.occurrence - int(NOON), (run.through or run.occurrence) - int(NOON), run.state)
        for run in world.runs("tick-tock")
    ]


def answered(world: World) -> list[int]:
    """The seconds after NOON that records answer for, as often as they do."""
    return sorted(second for first, last, _ in covered(world) for second in range(first, last + 1, 60))


def sent_unclaimed(world: World, **changes: object) -> None:
    """Fourteen minutes of a job are sent by a dispatcher that dies before its claim."""
    world.add(job("* * * * *", overlap=Overlap.ALLOW, **changes))
    world.cursors = around(world.cursors, claim=throttled(times=1))
    world.until(NOON + 60)


def test_catch_up_stops_before_a_recorded_run_and_continues_after_it(world: World) -> None:
    sent_unclaimed(world)
    late = [held for second in (180, 240, 420) for held in world.wheel.hold_back(second)]
    world.until(NOON + 1210, ticking=False)
    world.until(NOON + 1330)
    assert covered(world)[2:4] == [(180, 240, S), (300, 300, S)]
    assert (420, 420, S) in covered(world)
    assert (960, 1140, S) in covered(world)
    assert answered(world) == list(range(60, 1321, 60))
    world.wheel.give_back(late)
    world.until(NOON + 1390)
    assert answered(world) == list(range(60, 1381, 60))
    assert len(world.caller.runs) == len(set(world.caller.runs))


def test_catch_up_remainder_can_be_one_occurrence(world: World) -> None:
    sent_unclaimed(world)
    world.wheel.hold_back(900)
    world.until(NOON + 1000, ticking=False)
    world.dispatch()
    world.until(NOON + 1150)
    assert (900, 900, S) in covered(world)
    assert answered(world) == list(range(60, 1141, 60))
    assert world.wheel.dead_letters == []


def test_catch_up_covers_a_late_run_that_then_does_not_run_again(world: World) -> None:
    sent_unclaimed(world)
    late = [held for second in range(120, 901, 60) for held in world.wheel.hold_back(second)]
    world.until(NOON + 1210, ticking=False)
    world.until(NOON + 1270)
    assert (120, 1140, S) in covered(world)
    world.wheel.give_back(late)
    world.until(NOON + 1330)
    assert answered(world) == list(range(60, 1321, 60))
    assert len(world.caller.runs) == 5


def in_queues(world: World) -> Counter[tuple[str, str]]:
    """How many messages of jobs of a kind are in the lane's queue for seats, and how many in its bulk queue."""
    return Counter(
        (held.message.job_id.partition("-")[0], "bulk" if held.message.bulk else "seats") for held in world.wheel._held
    )


def hourly(world: World, jobs: int, kind: str, **changes: Any) -> None:
    """Add hourly jobs with a seat."""
    for number in range(jobs):
        world.add(job("0 * * * *", id=f"{kind}-{number}", seated=True, **changes))


def test_catch_up_beyond_a_minutes_work_of_a_lane_goes_through_its_bulk_queue(world: World) -> None:
    hourly(world, CATCH_UP_RUNS + 2, "normal")
    hourly(world, 3, "low", priority=Lane.LOW)
    world.until(NOON + 5 * 3600 + 600, ticking=False)
    world.dispatch()
    assert in_queues(world) == {("normal", "seats"): CATCH_UP_RUNS, ("normal", "bulk"): 2, ("low", "seats"): 3}


def test_catch_up_of_one_job_is_not_divided_between_the_queues_and_leaves_room_for_others(world: World) -> None:
    every = MissedPolicy(MissedMode.RUN_ALL, max_missed=100)
    world.add(job("* * * * *", id="many-0", seated=True, missed=every))
    hourly(world, CATCH_UP_RUNS, "few")
    world.until(NOON + 5 * 3600 + 600, ticking=False)
    world.dispatch()
    found = in_queues(world)
    assert (found["many", "bulk"], found["few", "seats"], found["few", "bulk"]) == (100, CATCH_UP_RUNS, 0)


def test_catch_up_that_goes_through_the_bulk_queue_leaves_runs_on_time_in_the_queue_for_seats(world: World) -> None:
    every = MissedPolicy(MissedMode.RUN_ALL, max_missed=70)
    world.add(job("* * * * *", id="many-0", seated=True, missed=every, overlap=Overlap.QUEUE))
    world.until(NOON + 5 * 3600 + 30, ticking=False)
    world.dispatch()
    queued = [(held.message.caught_up_at is not None, held.message.bulk) for held in world.wheel._held]
    assert set(queued) == {(True, True), (False, False)}


def test_catch_up_in_the_next_round_starts_in_the_queue_for_seats_again(world: World) -> None:
    hourly(world, CATCH_UP_RUNS + 1, "first")
    world.until(NOON + 3600 + 600, ticking=False)
    world.dispatch()
    hourly(world, 2, "second")
    before = in_queues(world)
    assert (before["first", "seats"], before["first", "bulk"]) == (CATCH_UP_RUNS, 1)
    world.dispatch()
    assert in_queues(world) - before == {("second", "seats"): 2}


def test_catch_up_through_both_queues_runs_each_job_once(world: World) -> None:
    hourly(world, CATCH_UP_RUNS + 5, "job")
    world.until(NOON + 3600 + 600, ticking=False)
    world.dispatch()
    world.work()
    assert len(world.caller.runs) == len(set(world.caller.runs)) == CATCH_UP_RUNS + 5


def test_catch_up_sent_again_by_the_next_round_runs_once_even_if_its_queue_has_changed(world: World) -> None:
    hourly(world, CATCH_UP_RUNS, "job")
    world.until(NOON + 3600 + 600, ticking=False)
    with pytest.raises(Killed):
        world.dispatch(dying(world.cursors))
    world.add(job("0 * * * *", id="and-0", seated=True))
    world.dispatch()
    sent = in_queues(world)
    assert (sent["job", "seats"] + sent["job", "bulk"], sent["and", "bulk"] + sent["job", "bulk"]) == (
        2 * CATCH_UP_RUNS,
        1,
    )
    world.work()
    assert len(world.caller.runs) == len(set(world.caller.runs)) == CATCH_UP_RUNS + 1


@pytest.mark.parametrize("mode", MissedMode)
def test_catch_up_and_late_unclaimed_messages_run_or_skip_each_occurrence_once(world: World, mode: MissedMode) -> None:
    sent_unclaimed(world, missed=MissedPolicy(mode, grace_seconds=60, max_missed=3))
    late = [held for second in range(120, 901, 60) for held in world.wheel.hold_back(second)]
    assert len(late) > 13
    world.until(NOON + 1210, ticking=False)
    world.dispatch()
    catch_up = [held for second in range(60, 1201, 60) for held in world.wheel.hold_back(second)]
    world.wheel.give_back(late[:5])
    world.work()
    world.wheel.give_back(catch_up)
    world.work()
    world.wheel.give_back(late[5:])
    world.until(NOON + 1330)
    assert answered(world) == list(range(60, 1321, 60))
    assert len(world.caller.runs) == len(set(world.caller.runs))


def test_catch_up_remainder_is_not_lost_if_its_worker_dies_after_sending_it(world: World) -> None:
    sent_unclaimed(world)
    for second in (180, 240):
        world.wheel.hold_back(second)
    world.until(NOON + 1210, ticking=False)
    world.run_store = around(world.run_store, write=throttled(times=2, when=lambda run, _: run.count > 1))
    world.until(NOON + 1630)
    assert answered(world) == list(range(60, 1621, 60))


def test_catch_up_that_was_skipped_does_not_prevent_a_redrive_of_a_dead_run_it_covers(world: World) -> None:
    """Its message comes back as a first attempt under a new id, whose record is not read at once."""
    sent_unclaimed(world, retry=ONCE, missed=MissedPolicy(MissedMode.RUN_ONCE, grace_seconds=60))
    world.wheel.hold_back(120)
    world.caller.answer = lambda call: Failed("no") if call.run.occurrence == NOON + 180 else Returned("ok")
    world.until(NOON + 1210, ticking=False)
    world.dispatch()
    world.clock.set(NOON + 1500)  # the catch-up waits in its lane until it is late
    world.work()
    assert (120, 1140, K) in covered(world)
    assert (180, 180, RunState.DEAD) in covered(world)
    world.caller.answer = lambda _: Returned("ok")
    world.wheel.redrive()
    world.work()
    assert (180, 180, S) in covered(world)
