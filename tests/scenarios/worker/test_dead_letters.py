"""The dead-letter queue: what lies there, what is recorded of it, and how it comes back."""

from dataclasses import replace

import pytest

from duecourse.domain.jobs.job import Completion, JobState, RetryPolicy
from duecourse.domain.runs.states import Dead, Discard, Run, RunState
from duecourse.domain.targets.targets import Failed, Outcome, Returned
from duecourse.messages import MessageKind
from duecourse.ports import Call
from tests.support.jobs import NOON, job
from tests.support.one_run import AT, ONCE, the_run
from tests.support.world import FUNCTION_SECONDS, Killed, World


def dead_run(world: World) -> Run:
    world.caller.answer = lambda _: Failed("no")
    world.add(job(AT, retry=ONCE))
    world.until(NOON + 300)
    run = the_run(world)
    assert run.state is RunState.DEAD
    assert len(world.wheel.dead_letters) == 1
    return run


def lose_to_the_dead_letters(world: World, second: int = 120) -> None:
    """The message is received again and again and never handled, as under throttling or a worker that crashes."""
    for held in world.wheel.hold_back(second):
        world.wheel.dead_letters.append(held)


def test_dead_letters_of_dead_runs_stay_available_in_the_console(world: World) -> None:
    run = dead_run(world)
    world.reconcile()
    assert len(world.wheel.dead_letters) == 1
    assert the_run(world) == run
    assert len(world.notices.deaths) == 1


def test_dead_letters_of_discarded_runs_are_removed(world: World) -> None:
    run = dead_run(world)
    world.api.commands.discard(run.tenant, str(run.name), "sent again", "ann")
    world.reconcile()
    assert world.wheel.dead_letters == []
    assert the_run(world).discard == Discard(world.clock.now(), "ann", "sent again")
    assert len(world.notices.deaths) == 1


def test_dead_letters_of_a_deleted_job_are_removed_and_its_dead_runs_discarded(world: World) -> None:
    run = dead_run(world)
    world.api.jobs.delete(run.tenant, run.job_id)
    world.reconcile()
    assert world.wheel.dead_letters == []
    assert the_run(world).discard == Discard(world.clock.now())
    assert (world.count("DeadLettersRecorded"), world.count("RunsDead")) == (0, 1)


def test_dead_letters_run_that_was_discarded_before_its_notification_is_still_announced(world: World) -> None:
    run = dead_run(world)
    assert isinstance(run, Dead)
    assert world.run_store.write(replace(run, notified=False, fencing_token="before"), run) is None
    world.notices.deaths.clear()
    world.api.commands.discard(run.tenant, str(run.name), None, "ann")
    world.reconcile()
    world.reconcile()
    assert len(world.notices.deaths) == 1
    assert world.wheel.dead_letters == []


def test_dead_letters_copy_of_a_discarded_runs_message_announces_the_run_before_it_is_removed(world: World) -> None:
    run = dead_run(world)
    (letter,) = world.wheel.dead_letters
    copy = letter.message.again(nonce="copy", instead_of=run.message_id)
    world.wheel.dead_letters[:] = [replace(letter, body=copy.to_json())]
    assert isinstance(run, Dead)
    assert world.run_store.write(replace(run, notified=False, fencing_token="before"), run) is None
    world.notices.deaths.clear()
    world.api.commands.discard(run.tenant, str(run.name), None, "ann")
    for _ in range(3):
        world.reconcile()
    assert len(world.notices.deaths) == 1
    assert world.wheel.dead_letters == []


def test_dead_letters_redriven_run_is_no_longer_discarded(world: World) -> None:
    run = dead_run(world)
    world.api.commands.discard(run.tenant, str(run.name), "sent again", "ann")
    world.caller.answer = lambda _: Returned({"status": 200})
    world.api.commands.redrive(run.tenant, str(run.name), "ann")
    world.until(NOON + 600)
    assert (the_run(world).state, the_run(world).discard) == (RunState.SUCCEEDED, None)


def test_dead_letters_notice_names_the_owner_and_the_runbook_of_the_job(world: World) -> None:
    runbook = "https://wiki.example.com/runbooks/report"
    world.caller.answer = lambda _: Failed("no")
    world.add(job(AT, retry=ONCE, owner="billing", runbook_url=runbook))
    world.until(NOON + 300)
    (death,) = world.notices.deaths
    assert (death.owner, death.runbook_url) == ("billing", runbook)


def test_dead_letters_message_of_a_run_that_never_started_is_recorded_and_announced(world: World) -> None:
    world.add(job(AT))
    world.clock.set(NOON + 60)
    lose_to_the_dead_letters(world)
    world.until(NOON + 300, ticking=False)
    assert world.runs("tick-tock") == []
    world.reconcile()
    run = the_run(world)
    assert (run.state, run.reason, run.attempt) == (RunState.DEAD, "dead_lettered", 0)
    assert len(world.notices.deaths) == 1
    assert world.count("DeadLettersRecorded") == 1
    world.reconcile()
    assert len(world.notices.deaths) == 1
    world.wheel.redrive()
    world.work()
    assert (the_run(world).state, the_run(world).attempt) == (RunState.SUCCEEDED, 1)


def test_dead_letters_run_of_a_worker_that_crashes_at_every_delivery_is_recorded_by_the_reconciler(
    world: World,
) -> None:
    def crash(call: Call) -> Outcome:
        raise Killed

    world.caller.answer = crash
    world.add(job(AT, retry=ONCE))
    world.until(NOON + 119, ticking=False)
    world.clock.set(NOON + 120)
    held = world.wheel.receive()
    assert held is not None
    with pytest.raises(Killed):
        world.worker()([world.wheel.received(held)], world.clock.now() + FUNCTION_SECONDS)
    world.wheel.dead_letters.append(held)
    world.reconcile()
    assert the_run(world).state is RunState.RUNNING  # its lease has not ended: it may be alive
    world.until(NOON + 400, ticking=False)
    world.reconcile()
    assert (the_run(world).state, the_run(world).reason) == (RunState.DEAD, "dead_lettered")


def test_dead_letters_retry_among_them_is_recorded_as_dead(world: World) -> None:
    outcomes = iter([Failed("no"), Returned()])
    world.caller.answer = lambda _: next(outcomes)
    world.add(job(AT, retry=RetryPolicy(max_attempts=3, min_seconds=60, max_seconds=60)))
    world.until(NOON + 130)
    lose_to_the_dead_letters(world)
    world.until(NOON + 300, ticking=False)
    world.reconcile()
    assert (the_run(world).state, the_run(world).attempt) == (RunState.DEAD, 1)
    world.wheel.redrive()
    world.work()
    assert (the_run(world).state, the_run(world).attempt) == (RunState.SUCCEEDED, 2)


def test_dead_letters_remaining_after_a_redrive_are_removed(world: World) -> None:
    run = dead_run(world)
    world.caller.answer = lambda _: Returned()
    world.tell(world.about(run, MessageKind.REDRIVE))
    assert (the_run(world).state, the_run(world).attempt) == (RunState.SUCCEEDED, 2)
    assert len(world.wheel.dead_letters) == 1
    world.reconcile()
    assert world.wheel.dead_letters == []


def test_dead_letters_redrive_requested_twice_runs_once_more_and_not_twice(world: World) -> None:
    run = dead_run(world)
    asked = world.about(run, MessageKind.REDRIVE)
    world.tell(asked)
    world.tell(replace(asked, nonce="another"))
    assert [attempt for _, attempt, _ in world.caller.calls] == [1, 2]
    assert the_run(world).state is RunState.DEAD
    assert len(world.notices.deaths) == 2  # it died twice


def test_dead_letters_copy_of_a_message_is_dropped_and_the_dead_letter_itself_runs_again(world: World) -> None:
    dead_run(world)
    copy = world.wheel.sent[0].message.again(nonce="of a copy", not_before=world.clock.now())
    world.tell(copy)
    assert len(world.caller.calls) == 1
    world.caller.answer = lambda _: Returned()
    world.wheel.redrive()
    world.work()
    assert the_run(world).state is RunState.SUCCEEDED


def test_dead_letters_callback_among_them_is_sent_again(world: World) -> None:
    world.add(job(AT, completion=Completion.CALLBACK))
    world.until(NOON + 130)
    done = world.about(the_run(world), MessageKind.COMPLETE, result=7)
    world.wheel.dead_letters.append(world.wheel.put_in(done))
    world.reconcile()
    world.work()
    assert (the_run(world).state, the_run(world).result) == (RunState.SUCCEEDED, 7)
    assert world.wheel.dead_letters == []


def test_dead_letters_that_cannot_be_read_are_kept_and_counted(world: World) -> None:
    world.add(job(AT))
    broken = world.wheel.put_in(world.queued_about("tick-tock", 120, MessageKind.START))
    world.wheel.dead_letters.append(replace(broken, body="not a message"))
    world.reconcile()
    assert len(world.wheel.dead_letters) == 1
    assert world.count("DeadLettersUnreadable") == 1


def test_dead_letters_are_checked_page_by_page(world: World) -> None:
    world.caller.answer = lambda _: Failed("no", retryable=False)
    for number in range(25):
        world.add(job(AT, id=f"job-{number:02}"))
    world.until(NOON + 300)
    assert len(world.wheel.dead_letters) == 25
    assert world.reconcile().counts["DeadLettersKept"] == 25


def test_dead_letters_job_that_ends_with_a_run_found_dead_is_completed(world: World) -> None:
    world.add(job(AT))
    world.until(NOON + 60)
    lose_to_the_dead_letters(world)
    world.until(NOON + 300)
    world.reconcile()
    assert world.jobs.get("default", "tick-tock").state is JobState.COMPLETED
