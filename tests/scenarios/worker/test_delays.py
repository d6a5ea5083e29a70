"""Where the lateness of a run came from."""

from duecourse.domain.jobs.job import Completion, Overlap
from duecourse.domain.runs.delays import Delays, delays_of
from duecourse.domain.runs.states import RunState
from duecourse.messages import MessageKind
from tests.support.jobs import NOON, job
from tests.support.one_run import AT, the_run
from tests.support.world import World


def test_delays_of_a_run_that_no_worker_received_are_in_the_queue(world: World) -> None:
    world.add(job(AT))
    world.until(NOON + 90)
    world.clock.set(NOON + 180)
    world.until(NOON + 181)
    assert (the_run(world).lateness, delays_of(the_run(world))) == (60, Delays(0, 60, 0, 0))


def test_delays_of_a_run_that_dispatch_sent_late_are_before_the_queue(world: World) -> None:
    world.add(job("at(2026-11-21T12:30:00)"))
    world.until(NOON + 600)
    world.clock.set(NOON + 1830)
    world.until(NOON + 1900)
    run = the_run(world)
    found = delays_of(run)
    assert found is not None
    assert (run.state, found.queue, found.waiting, found.start) == (RunState.SUCCEEDED, 0, 0, 0)
    assert found.dispatch == run.lateness > 1


def test_delays_of_a_run_that_waited_for_another_are_its_wait(world: World) -> None:
    waits = {"completion": Completion.CALLBACK, "completion_seconds": 600, "overlap": Overlap.QUEUE, "max_runs": 2}
    world.add(job("* * * * *", **waits))
    world.until(NOON + 200)
    first, second = sorted(world.runs("tick-tock"), key=lambda run: run.due)
    assert (first.state, second.state) == (RunState.WAITING, RunState.QUEUED)
    world.tell(world.about(first, MessageKind.COMPLETE, result=1))
    world.until(NOON + 260)
    late = world.runs("tick-tock")[-1]
    found = delays_of(late)
    assert found is not None
    assert (found.dispatch, found.queue, late.lateness) == (0, 0, 80)
    assert found.waiting == late.lateness


def test_delays_of_a_punctual_run_are_not_stored(world: World) -> None:
    world.add(job(AT))
    world.until(NOON + 180)
    assert (the_run(world).state, delays_of(the_run(world))) == (RunState.SUCCEEDED, None)
