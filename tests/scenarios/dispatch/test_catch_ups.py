"""A run that stands for all that was missed and the runs of those occurrences share nothing, whoever comes first."""

import pytest

from duecourse.domain.jobs.job import MissedMode, MissedPolicy, Overlap
from duecourse.domain.runs.states import RunState
from duecourse.domain.targets.targets import Failed, Returned
from duecourse.testing.faults import around, throttled
from tests.support.jobs import NOON, job
from tests.support.one_run import ONCE
from tests.support.world import World

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
