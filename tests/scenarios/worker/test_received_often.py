"""What is received again and again is carried on or ends among the dead letters; it never circles."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from duecourse.domain.runs.identity import RunIdentity
from duecourse.domain.runs.states import Run, RunState
from duecourse.domain.targets.targets import Failed
from duecourse.ports import Death
from tests.support.jobs import NOON, job
from tests.support.one_run import AT, ONCE, the_run
from tests.support.varied import record
from tests.support.world import World


def _running(serial: int) -> Run:
    return record(
        RunState.RUNNING,
        RunIdentity(
            tenant="default",
            job_id="tick-tock",
            occurrence=int(NOON) + 10,
            due=int(NOON) + 10,
            generation=int(NOON * 1000),
        ),
        job().lane,
        attempt=1,
        attempts_allowed=4,
        token="gone",
        message_id=f"message-{serial}",
        nonce="nonce-1",
    )


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


def test_runs_of_a_job_that_cannot_be_read_do_not_circle_for_ever(world: World) -> None:
    @dataclass
    class Unreadable:
        store: Any

        def __getattr__(self, name: str) -> Any:
            return getattr(self.store, name)

        def snapshot(self, tenant: str, job_id: str) -> object:
            raise ValueError(f"{tenant}/{job_id} cannot be read")

    world.add(job(AT))
    readable = world.jobs
    world.jobs = Unreadable(readable)  # type: ignore[assignment]
    world.until(NOON + 3 * 86_400, ticking=False)
    assert len(world.wheel) == 0
    (letter,) = world.wheel.dead_letters
    world.reconcile()
    assert world.wheel.dead_letters == [letter]
    world.jobs = readable
    world.reconcile()
    assert (the_run(world).state, len(world.notices.deaths)) == (RunState.DEAD, 1)


def test_a_dead_run_whose_notice_is_refused_again_and_again_still_reaches_the_dead_letters(world: World) -> None:
    class Refusing:
        def death(self, death: Death) -> None:
            raise OSError(f"no notice of {death.run.name}")

    world.caller.answer = lambda _: Failed("HTTP 500")
    world.notices = Refusing()  # type: ignore[assignment]
    world.add(job("at(2026-11-21T12:02:00)", retry=ONCE))
    world.until(NOON + 3600)
    assert [held.message.name.local for held in world.wheel.dead_letters] == ["20261121T120200Z"]
