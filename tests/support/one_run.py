"""One run in a world, and its messages handed over one at a time."""

from collections.abc import Callable

import pytest

from duecourse.domain.jobs.job import Backoff, RetryPolicy
from duecourse.domain.runs.states import Run, RunState
from duecourse.domain.targets.targets import Failed, Outcome
from duecourse.ports import Call
from duecourse.testing.faults import Fault, failing, lost
from tests.support.wheel import Held
from tests.support.world import FUNCTION_SECONDS, Killed, World

AT = "at(2026-11-21T12:02:00)"
"""Two minutes after NOON."""

ONCE = RetryPolicy(max_attempts=1)
SOON = RetryPolicy(max_attempts=2, backoff=Backoff.FIXED, min_seconds=5, max_seconds=5)


def the_run(world: World) -> Run:
    """The only record of the job."""
    (run,) = world.runs("tick-tock")
    return run


def begins(run: Run, *_: object) -> bool:
    """Whether this write starts an attempt."""
    return run.state is RunState.RUNNING


def ends(run: Run, *_: object) -> bool:
    """Whether this write ends the run well."""
    return run.state is RunState.SUCCEEDED


def fail(_: Call) -> Outcome:
    """A target that fails."""
    return Failed("no")


def crash(_: Call) -> Outcome:
    """A call in which the worker is killed."""
    raise Killed


def dies_before(write: Callable[..., bool]) -> Fault:
    """The worker is killed before such a write of a record."""
    return failing(Killed(), times=1, when=write)


def dies_after(write: Callable[..., bool]) -> Fault:
    """The worker is killed after such a write of a record."""
    return lost(Killed(), times=1, when=write)


def killed(world: World, held: Held, fault: Fault) -> None:
    """Let a worker have the message, which is killed at a write."""
    with world.faulty("run_store", write=fault), pytest.raises(Killed):
        hand_over(world, held)


def receive(world: World) -> Held:
    """The next message."""
    held = world.wheel.receive()
    assert held is not None
    return held


def hand_over(world: World, held: Held) -> tuple[str, ...]:
    """Let a worker have the message; the ids of what it leaves in the queue."""
    return world.worker()([world.wheel.received(held)], world.clock.now() + FUNCTION_SECONDS).retained
