"""Where the lateness of a run came from."""

from typing import Any

import pytest

from duecourse.domain.jobs.job import Completion, Overlap
from duecourse.domain.runs.delays import Delays, delays_of
from duecourse.domain.runs.states import RunState
from duecourse.messages import MessageKind
from duecourse.testing import Scheduler
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


RATE = {"key": "mail", "per_minute": 1, "burst": 1}


def limited(scheduler: Scheduler, job_id: str, schedule: str, **more: Any) -> None:
    target = {"type": "http", "url": "https://example.com/hook"}
    scheduler.client.create_job({"id": job_id, "schedule": schedule, "target": target, "rate": RATE} | more)


def delays_in(scheduler: Scheduler, job_id: str, until: str) -> dict[str, float]:
    """The delays of the newest run of a job."""
    scheduler.advance_to(until)
    run = scheduler.client.get_run(scheduler.client.list_runs(job_id).items[0].id)
    assert run.delays is not None
    document: dict[str, float] = run.delays.document
    assert sum(document.values()) == pytest.approx(run.lateness_seconds)
    return document


def test_delays_of_a_run_whose_second_attempt_waits_too_are_those_of_its_first_wait() -> None:
    with Scheduler("2026-03-01T00:00:00Z") as scheduler:
        limited(scheduler, "first", "0 12 * * *")
        limited(scheduler, "late", "0 12 * * *", retry={"max_attempts": 3, "min_seconds": 1, "max_seconds": 1})
        scheduler.answer("late", status=503)
        found = delays_in(scheduler, "late", "2026-03-01T12:10:00Z")
    assert found == {"dispatch": 0, "queue": 0, "waiting": 60, "start": 0}


def test_delays_of_a_run_that_waited_for_another_and_then_for_a_rate_are_both_waits() -> None:
    with Scheduler("2026-03-01T00:00:00Z") as scheduler:
        limited(scheduler, "other", "28-30 12 * * *")
        limited(
            scheduler,
            "late",
            "0,5 12 * * *",
            overlap="queue",
            completion="callback",
            completion_seconds=1800,
            retry={"max_attempts": 1},
        )
        found = delays_in(scheduler, "late", "2026-03-01T13:30:00Z")
    assert (found["queue"], found["waiting"] > 1500) == (0, True)


def test_delays_of_a_punctual_run_are_not_stored(world: World) -> None:
    world.add(job(AT))
    world.until(NOON + 180)
    assert (the_run(world).state, delays_of(the_run(world))) == (RunState.SUCCEEDED, None)
