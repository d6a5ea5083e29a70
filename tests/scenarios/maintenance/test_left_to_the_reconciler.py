"""What a worker, or an earlier call of the reconciler, could not do is done by the reconciler's next call, and once."""

import pytest

from duecourse.domain.jobs.job import JobState
from duecourse.domain.runs.states import RunState
from duecourse.domain.targets.targets import Failed, Returned
from duecourse.testing.faults import failing
from tests.support.jobs import NOON, job
from tests.support.one_run import AT, ONCE, SOON, dies_after, fail, hand_over, killed, receive, the_run
from tests.support.world import World


def test_reconciler_keeps_the_message_of_a_run_whose_next_attempt_could_not_be_sent(world: World) -> None:
    world.caller.answer = lambda call: Failed("no") if call.run.attempt == 1 else Returned()
    world.add(job(AT, retry=SOON))
    world.wheel.refuse = lambda message: message.attempt == 2
    world.until(NOON + 119, ticking=False)
    world.clock.set(NOON + 120)
    held = receive(world)
    assert hand_over(world, held)
    assert the_run(world).state is RunState.RETRYING
    world.wheel.dead_letters.append(held)
    world.reconcile()
    world.wheel.refuse = lambda _: False
    world.reconcile()
    world.until(NOON + 300, ticking=False)
    assert the_run(world).state is RunState.SUCCEEDED
    assert world.wheel.dead_letters == []


def test_reconciler_announces_a_death_that_the_worker_could_not_announce(world: World) -> None:
    world.caller.answer = fail
    world.add(job(AT, retry=ONCE))
    with world.faulty("notices", death=failing(OSError("no notice"))):
        world.until(NOON + 3600)
        world.reconcile()
    assert len(world.wheel.dead_letters) == 1
    world.reconcile()
    world.reconcile()
    assert len(world.notices.deaths) == 1
    assert the_run(world).notified
    assert len(world.wheel.dead_letters) == 1


def test_reconciler_completes_the_actions_after_a_successful_run_with_a_dead_message(world: World) -> None:
    world.add(job(AT))
    world.until(NOON + 119)
    world.clock.set(NOON + 120)
    held = receive(world)
    killed(world, held, dies_after(lambda run, _: run.state.final))
    copies = world.wheel.hold_back(120)
    world.wheel.dead_letters += [held, *copies]
    world.until(NOON + 300)
    world.reconcile()
    assert world.jobs.get("default", "tick-tock").state is JobState.COMPLETED
    assert world.wheel.dead_letters == []


@pytest.mark.tables
def test_reconciler_does_not_announce_a_dead_letter_with_an_expired_record_again(world: World) -> None:
    world.caller.answer = fail
    world.add(job("0 * * * *", retry=ONCE))
    world.until(NOON + 3700)
    run = the_run(world)
    assert run.expires_at is not None
    world.clock.set(run.expires_at + 60)
    world.tables.client.delete_item(  # what the table's TTL does
        TableName=world.tables.runs, Key={"PK": {"S": "JOB#default#tick-tock"}, "SK": {"S": f"RUN#{run.name.local}"}}
    )
    world.reconcile()
    assert len(world.notices.deaths) == 1
