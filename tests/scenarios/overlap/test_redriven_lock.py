"""Redriven locks, and the watch over a wait queue.

- The lock of a redriven run is not released by a message about the attempt before.
- Whoever sets up the watch of a wait queue may die or get no answer: the watch that is noted has its message.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest

from duecourse.domain.jobs.job import Completion, Job, Overlap
from duecourse.domain.runs.overlap import Lock
from duecourse.domain.runs.states import Run, RunState
from duecourse.domain.targets.targets import Returned
from duecourse.messages import MessageKind
from duecourse.testing.faults import after, around
from tests.support.client_faults import Fault, FaultyClient, Request
from tests.support.jobs import NOON, job
from tests.support.one_run import ONCE, fail, hand_over, receive, the_run
from tests.support.tables import Tables
from tests.support.wheel import Held
from tests.support.world import Killed, World


@dataclass
class Died:
    """A run that is DEAD, and the message of its first attempt."""

    world: World
    run: Run
    message: Held

    def redrive(self) -> None:
        """Handle the API's redrive."""
        self.world.tell(self.world.about(self.run, MessageKind.REDRIVE))

    def late_copy(self) -> None:
        """Handle a late copy of the message, as the API sends what the dispatcher sends too."""
        hand_over(self.world, self.world.wheel.put_in(self.message.message.again(nonce="late")))

    def again(self) -> None:
        """Handle one more delivery of the message itself."""
        hand_over(self.world, replace(self.message, receives=self.message.receives + 1))

    def interrupted(self, method: str, then: Callable[[], object]) -> None:
        """Execute `then` after the next call of a method of the table of runs."""
        self.world.run_store = around(self.world.run_store, **{method: after(then, times=1)})


def died(world: World, overlap: Overlap) -> Died:
    """A run that died in its first attempt."""
    world.add(every_minute(overlap))
    world.clock.set(NOON + 60)
    held = receive(world)
    world.caller.answer = fail
    hand_over(world, held)
    world.caller.answer = lambda _: Returned()
    assert (the_run(world).state, the_run(world).attempt) == (RunState.DEAD, 1)
    return Died(world, the_run(world), held)


def died_unstarted(world: World, overlap: Overlap) -> Died:
    """A run whose message became a dead letter before its first attempt."""
    world.add(every_minute(overlap))
    (held,) = world.wheel.hold_back(60)
    world.clock.set(NOON + 60)
    world.wheel.dead_letters.append(held)
    world.reconcile()
    assert (the_run(world).state, the_run(world).attempt) == (RunState.DEAD, 0)
    return Died(world, the_run(world), held)


def every_minute(overlap: Overlap) -> Job:
    """A job with two runs, each of which lasts until its callback."""
    made = job("* * * * *", overlap=overlap, completion=Completion.CALLBACK, retry=ONCE, max_runs=2)
    return replace(made, completion_seconds=600)


def copy_before_the_redrive(dead: Died) -> None:
    dead.interrupted("locked_beside", dead.redrive)
    dead.late_copy()


def copy_between_lock_and_record(dead: Died) -> None:
    dead.interrupted("lock", dead.late_copy)
    dead.redrive()


def copy_refused_before_the_redrive(dead: Died) -> None:
    dead.interrupted("write", dead.redrive)
    dead.late_copy()


def copy_after_the_redrive(dead: Died) -> None:
    dead.redrive()
    dead.late_copy()


def delivery_between_lock_and_record(dead: Died) -> None:
    dead.interrupted("lock", dead.again)
    dead.redrive()


def delivery_before_the_redrive(dead: Died) -> None:
    dead.interrupted("get", dead.redrive)
    dead.again()


COPIES = [
    copy_before_the_redrive,
    copy_between_lock_and_record,
    copy_refused_before_the_redrive,
    copy_after_the_redrive,
]
DELIVERIES = [delivery_between_lock_and_record, delivery_before_the_redrive]
CASES = [
    *((died, order) for order in (*COPIES, *DELIVERIES) if order is not copy_refused_before_the_redrive),
    *((died_unstarted, order) for order in COPIES),
]


@pytest.mark.parametrize("overlap", [Overlap.SKIP, Overlap.QUEUE, Overlap.NEWEST])
@pytest.mark.parametrize(("dies", "order"), CASES, ids=lambda each: each.__name__)
def test_lock_of_a_redriven_run_is_kept_despite_a_late_message_about_its_death(
    world: World, dies: Callable[[World, Overlap], Died], order: Callable[[Died], None], overlap: Overlap
) -> None:
    dead = dies(world, overlap)
    order(dead)
    redriven = the_run(world)
    assert (redriven.state, redriven.attempt) == (RunState.WAITING, dead.run.attempt + 1)
    held = world.run_store.locked("default", "tick-tock")
    assert held is not None
    assert held.holder == redriven.name.local
    world.until(NOON + 125)
    assert world.runs("tick-tock")[1].state is (RunState.SKIPPED if overlap is Overlap.SKIP else RunState.QUEUED)
    world.tell(world.about(redriven, MessageKind.COMPLETE))
    assert world.runs("tick-tock")[0].state is RunState.SUCCEEDED
    assert world.runs("tick-tock")[1].state is (RunState.SKIPPED if overlap is Overlap.SKIP else RunState.WAITING)


@pytest.mark.parametrize("dies", [died, died_unstarted])
@pytest.mark.parametrize("overlap", [Overlap.SKIP, Overlap.NEWEST])
def test_lock_is_not_held_by_a_copy_of_the_first_message_of_a_dead_run(
    world: World, dies: Callable[[World, Overlap], Died], overlap: Overlap
) -> None:
    dead = dies(world, overlap)
    dead.late_copy()
    world.until(NOON + 121)
    assert [run.state for run in world.runs("tick-tock")] == [RunState.DEAD, RunState.WAITING]


def test_lock_of_a_deleted_job_does_not_block_a_run_of_the_same_name(world: World) -> None:
    world.add(job("* * * * *", overlap=Overlap.NEWEST))
    left_behind = Lock("20261121T120100Z", NOON - 600, rank=7)
    assert world.run_store.lock("default", "tick-tock", left_behind, None) is None
    world.until(NOON + 65)
    assert world.states("tick-tock") == [(60, RunState.SUCCEEDED)]


@pytest.mark.parametrize("fault", Fault)
@pytest.mark.tables
def test_lock_watch_that_is_stored_has_a_message_after_any_fault_of_the_write(tables: Tables, fault: Fault) -> None:
    client = FaultyClient(tables.client)
    world = World(replace(tables, client=client))
    world.add(job("* * * * *", max_runs=2, overlap=Overlap.QUEUE, completion=Completion.CALLBACK))
    world.until(NOON + 119)
    met: list[Request] = []

    def once(request: Request) -> Fault | None:
        hit = request.asked.get("Item", {}).get("SK", {}).get("S") == "WATCH" and not met
        met.extend([request] * hit)
        return fault if hit else None

    client.fault_of = once
    world.clock.set(NOON + 120)
    held = receive(world)
    try:
        left = hand_over(world, held)
    except Killed:
        left = ("its worker died",)
    if left:
        world.wheel.put_back(held)
    world.until(NOON + 300)
    noted = world.wait_queues.watch("default", "tick-tock")
    assert met
    assert noted is not None
    assert noted.nonce in [each.message.watch for each in world.wheel._held]
