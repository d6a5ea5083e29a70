"""A run that holds its job's turn and is gone blocks nobody; one that is there is not pushed aside."""

from __future__ import annotations

from typing import Any

from duecourse.domain.jobs.job import Completion, MissedMode, MissedPolicy, Overlap
from duecourse.domain.runs.decision import Start
from duecourse.domain.runs.overlap import Lock
from duecourse.domain.runs.states import RunState
from duecourse.domain.targets.targets import Failed, Returned
from duecourse.gates.places import Held
from duecourse.messages import MessageKind
from duecourse.usecases.worker.wait_queue import WATCH_SECONDS
from tests.support.jobs import NOON, job
from tests.support.one_run import ONCE, SOON
from tests.support.runs import run
from tests.support.world import World


def test_lock_of_a_run_whose_next_attempt_was_lost_does_not_block_the_job_forever(world: World) -> None:
    world.caller.answer = lambda call: Failed("later") if call.run.occurrence == int(NOON) + 60 else Returned()
    world.add(job("* * * * *", retry=SOON))
    world.until(NOON + 60)
    assert world.wheel.hold_back(60)
    world.until(NOON + 3 * 3600)
    assert world.states("tick-tock")[0] == (60, RunState.RETRYING)
    assert world.states("tick-tock")[-1][1] is RunState.SUCCEEDED


def test_lock_is_not_held_by_a_copy_of_the_message_of_a_dead_run(world: World) -> None:
    world.caller.answer = lambda call: Failed("no") if call.run.occurrence == int(NOON) + 60 else Returned()
    world.add(job("* * * * *", retry=ONCE, missed=MissedPolicy(MissedMode.SKIP, grace_seconds=40)))
    world.until(NOON + 90)
    first = world.runs("tick-tock")[0]
    assert first.state is RunState.DEAD
    copy = next(sent.message for sent in world.wheel.sent if sent.message.occurrence == first.occurrence)
    world.tell(copy.again(nonce="of a copy"))
    world.until(NOON + 250)
    assert world.states("tick-tock") == [
        (60, RunState.DEAD),
        (120, RunState.SUCCEEDED),
        (180, RunState.SUCCEEDED),
        (240, RunState.SUCCEEDED),
    ]


def test_lock_is_free_if_its_holder_ends_right_after_both_were_read(world: World) -> None:
    world.add(job("* * * * *", completion=Completion.CALLBACK, completion_seconds=7200))
    world.until(NOON + 119)
    (first,) = world.runs("tick-tock")

    def ends(real: Any, *asked: Any) -> Any:
        found = real(*asked)
        assert found[1] == first
        world.tell(world.about(first, MessageKind.COMPLETE))
        return found

    with world.faulty("run_store", locked_beside=ends):
        world.until(NOON + 121)
    assert world.states("tick-tock") == [(60, RunState.SUCCEEDED), (120, RunState.WAITING)]


def test_lock_is_not_free_if_its_holder_is_redriven_right_after_both_were_read(world: World) -> None:
    world.caller.answer = lambda call: Failed("no", retryable=False) if call.run.attempt == 1 else Returned()
    world.add(job("* * * * *", completion=Completion.CALLBACK, completion_seconds=7200, retry=ONCE))
    world.until(NOON + 119)
    (first,) = world.runs("tick-tock")
    assert first.state is RunState.DEAD

    def redriven(real: Any, *asked: Any) -> Any:
        found = real(*asked)
        if asked[2] == first.occurrence:
            assert found[1].state is RunState.DEAD
            world.tell(world.about(first, MessageKind.REDRIVE))
        return found

    with world.faulty("run_store", locked_beside=redriven):
        world.until(NOON + 121)
    assert world.states("tick-tock") == [(60, RunState.WAITING), (120, RunState.SKIPPED)]


def test_lock_keeps_track_of_active_calls_if_a_run_is_cancelled_before_its_record_is_written(world: World) -> None:
    store, overlaps, made = world.run_store, world.worker().starter.overlaps, job("* * * * *")
    store.lock("default", made.id, Lock("", NOON, called_until=NOON - 5), None)
    first = run(made, RunState.RUNNING, after=60, attempt=1)
    assert overlaps.take(made, Start(first, None, "due"), NOON + 180) == Held(NOON - 5)
    never = run(made, RunState.CANCELLED, after=60, attempt=0, reason="cancelled", finished_at=NOON)
    store.write(never, None)
    overlaps.release(made, never)
    second = run(made, RunState.RUNNING, after=120, attempt=1)
    assert overlaps.take(made, Start(second, None, "due"), NOON + 240) == Held(NOON - 5, never)


def test_lock_wait_of_a_replacing_run_does_not_resend_its_message_every_few_seconds(world: World) -> None:
    deaf = job("0 * * * *", completion=Completion.CALLBACK, heartbeat_seconds=36_000, overlap=Overlap.REPLACE)
    world.add(deaf)
    world.until(NOON + 7205)
    first, second = world.runs("tick-tock")
    assert (first.cancel_requested, second.state) == ("replaced", RunState.QUEUED)
    before = len(world.wheel.sent)
    world.until(NOON + 7200 + 1800)
    assert len(world.wheel.sent) - before <= 2 * 1800 / WATCH_SECONDS
    world.tell(world.about(first, MessageKind.FAIL, error="stopped at last"))
    world.until(NOON + 7200 + 1900)
    assert [run.state for run in world.runs("tick-tock")] == [RunState.CANCELLED, RunState.WAITING]
