"""A run that holds its job's turn and is gone blocks nobody; one that is there is not pushed aside."""

from __future__ import annotations

from duecourse.domain.jobs.job import Completion, MissedMode, MissedPolicy, Overlap
from duecourse.domain.runs.overlap import Lock
from duecourse.domain.runs.states import RunState
from duecourse.domain.targets.targets import Failed, Returned
from duecourse.messages import MessageKind
from duecourse.usecases.worker.overlap import WATCH_SECONDS
from tests.support.jobs import NOON, job
from tests.support.one_run import ONCE, SOON
from tests.support.world import World


def test_a_job_is_not_blocked_for_ever_by_a_run_whose_next_attempt_got_lost(world: World) -> None:
    world.caller.answer = lambda call: Failed("later") if call.run.occurrence == int(NOON) + 60 else Returned()
    world.add(job("* * * * *", retry=SOON))
    world.until(NOON + 60)
    assert world.wheel.hold_back(60)
    world.until(NOON + 3 * 3600)
    assert world.states("tick-tock")[0] == (60, RunState.RETRYING)
    assert world.states("tick-tock")[-1][1] is RunState.SUCCEEDED


def test_a_lock_is_not_taken_over_from_a_holder_that_has_just_taken_it_again(world: World) -> None:
    store = world.run_store
    assert store.lock("default", "tick-tock", Lock("a", NOON + 10), None) is None
    assert store.lock("default", "tick-tock", Lock("a", NOON + 300), None) is None
    assert store.lock("default", "tick-tock", Lock("b", NOON + 300), Lock("a", NOON + 10)) == Lock("a", NOON + 300)
    assert store.lock("default", "tick-tock", Lock("b", NOON + 300), Lock("a", NOON + 300)) is None


def test_a_copy_of_a_dead_runs_message_holds_nobody_up(world: World) -> None:
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


def test_a_run_that_replaces_one_which_does_not_listen_does_not_circle_every_few_seconds(world: World) -> None:
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
