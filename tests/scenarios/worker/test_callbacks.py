"""Runs that are completed by somebody else, long after their call."""

from dataclasses import replace

import pytest

from duecourse.domain.jobs.job import Backoff, Completion, Delivery, Job, JobState, Lane, Overlap, RetryPolicy
from duecourse.domain.runs.callbacks import NOTHING, Heartbeat, read_token
from duecourse.domain.runs.states import Run, RunState, Waiting
from duecourse.domain.targets.targets import Failed, Outcome, Returned
from duecourse.limits import WORKER_SECONDS
from duecourse.messages import Complete, MessageKind, RunMessage
from duecourse.ports import Call, Outgoing
from duecourse.testing.clock import SettableClock
from duecourse.testing.faults import around, throttled
from duecourse.testing.wheel import Held
from duecourse.usecases.worker.attempt import SENT_WITHOUT_RECORD
from duecourse.usecases.worker.work_item import WorkerRules
from duecourse_schedules import ScheduleSpec
from tests.support.jobs import NOON, job
from tests.support.one_run import the_run
from tests.support.tables import Tables
from tests.support.world import World

SOON = RetryPolicy(max_attempts=2, backoff=Backoff.FIXED, min_seconds=5, max_seconds=5)


def waiting_job(**changes: object) -> Job:
    values: dict[str, object] = {"completion": Completion.CALLBACK, "completion_seconds": 7200, "retry": SOON}
    return job("at(2026-11-21T12:02:00)", **(values | changes))


def beat(world: World, seconds: float = 60) -> None:
    run = the_run(world)
    assert world.run_store.heartbeat(run, Heartbeat(world.clock.now(), world.clock.now() + seconds, NOTHING)) is None


def test_callbacks_complete_a_waiting_run_with_its_result_hours_later(world: World) -> None:
    world.add(waiting_job())
    world.until(NOON + 3600)
    assert the_run(world).state is RunState.WAITING
    world.tell(world.about(the_run(world), MessageKind.COMPLETE, result={"rows": 3}))
    run = the_run(world)
    assert (run.state, run.result, run.attempt) == (RunState.SUCCEEDED, {"rows": 3}, 1)
    assert len(world.caller.calls) == 1


def test_callbacks_run_marked_as_succeeded_ends_and_a_later_callback_changes_nothing(world: World) -> None:
    world.add(waiting_job())
    world.until(NOON + 3600)
    waiting = the_run(world)
    world.api.commands.mark_succeeded(waiting.tenant, str(waiting.name), "the report arrived", None, "ann")
    world.until(NOON + 3700)
    run = the_run(world)
    marked = {"marked_succeeded_by": "ann", "reason": "the report arrived"}
    assert (run.state, run.result, run.attempt) == (RunState.SUCCEEDED, marked, 1)
    world.tell(world.about(waiting, MessageKind.COMPLETE, result={"rows": 3}))
    assert the_run(world) == run
    assert len(world.caller.calls) == 1


class CallbackWorld(World):
    """Messages about callbacks have their own queue, and reach workers that belong to no lane."""

    def __init__(self, tables: Tables) -> None:
        super().__init__(tables)
        self.lease_seconds = WORKER_SECONDS["long"]

    def handle(self, held: Held) -> None:
        if held.message.command.kind not in (MessageKind.COMPLETE, MessageKind.FAIL):
            return super().handle(held)
        return self.handle_callback(held)

    def handle_callback(self, held: Held) -> None:
        rules = WorkerRules(None, self.wheel.max_receive_count, self.settings.run_retention_days)
        worker = self.wiring(self.worker_clock).worker(rules, self.wheel, self.caller)
        batch = worker([self.wheel.received(held)], self.clock.now() + self.lease_seconds)
        self.note(batch.report)
        if batch.retained:
            self.wheel.put_back(held)


@pytest.mark.parametrize("lane", list(Lane))
def test_callbacks_from_their_own_queue_end_runs_and_start_attempts_in_the_lane_of_the_job(
    tables: Tables, lane: Lane
) -> None:
    world = CallbackWorld(tables)
    world.add(waiting_job(**({"timeout_seconds": 300} if lane is Lane.LONG else {"priority": lane})))
    world.until(NOON + 130)
    world.tell(world.about(the_run(world), MessageKind.FAIL, error="no"))
    assert the_run(world).state is RunState.RETRYING
    assert world.wheel.sent[-1].message.lane is lane
    world.until(NOON + 140)
    assert (the_run(world).state, the_run(world).attempt) == (RunState.WAITING, 2)
    world.tell(world.about(the_run(world), MessageKind.COMPLETE, result=3))
    assert (the_run(world).state, the_run(world).result) == (RunState.SUCCEEDED, 3)


def test_callbacks_queue_deletes_messages_that_could_start_a_run(tables: Tables) -> None:
    world = CallbackWorld(tables)
    world.add(job(""))
    world.office.run()
    held = world.wheel.receive()
    assert held is not None
    world.handle_callback(held)
    assert (world.runs("tick-tock"), world.caller.calls, len(world.wheel)) == ([], [], 0)
    assert [event.action for report in world.reports for event in report.events] == ["message_unreadable"]


@pytest.mark.parametrize("lane", list(Lane))
def test_callbacks_that_made_a_run_dead_start_it_in_its_lane_after_a_redrive_of_their_message(
    tables: Tables, lane: Lane
) -> None:
    world = CallbackWorld(tables)
    world.add(waiting_job(**({"timeout_seconds": 300} if lane is Lane.LONG else {"priority": lane})))
    world.until(NOON + 130)
    world.tell(world.about(the_run(world), MessageKind.FAIL, error="no", retryable=False))
    world.until(NOON + 200)
    assert the_run(world).state is RunState.DEAD
    assert [held.message.command.kind for held in world.wheel.dead_letters] == [MessageKind.FAIL]
    world.wheel.redrive()
    world.work()
    run = the_run(world)
    assert (run.state, run.attempt, run.lane) == (RunState.WAITING, 2, lane)
    world.tell(world.about(run, MessageKind.COMPLETE, result=3))
    assert the_run(world).state is RunState.SUCCEEDED
    assert len(world.caller.calls) == 2


def test_callbacks_use_a_token_that_is_valid_for_one_record(world: World) -> None:
    world.add(waiting_job())
    world.until(NOON + 130)
    (text,) = world.caller.tokens
    assert text is not None
    token = read_token(text)
    assert (token.tenant, token.attempt) == ("default", 1)
    assert token.opens(the_run(world).callback)
    assert not replace(token, attempt=2).opens(the_run(world).callback)
    assert token.secret not in str(the_run(world))


def test_callbacks_that_never_arrive_lead_to_a_retry_and_finally_a_dead_run(world: World) -> None:
    world.add(waiting_job())
    world.until(NOON + 5 * 3600)
    run = the_run(world)
    assert (run.state, run.attempt, run.code) == (RunState.DEAD, 2, "callback.timeout")
    first, second = world.caller.calls
    assert second[2] - first[2] == pytest.approx(7205, abs=2)
    assert len(world.notices.deaths) == 1
    assert [held.message.kind for held in world.wheel.dead_letters] == [MessageKind.DEADLINE]


def test_callbacks_of_a_dead_run_are_possible_again_after_a_console_redrive(world: World) -> None:
    world.add(waiting_job(completion_seconds=600))
    world.until(NOON + 3600)
    assert the_run(world).state is RunState.DEAD
    world.wheel.redrive()
    world.work()
    assert (the_run(world).state, the_run(world).attempt) == (RunState.WAITING, 3)
    world.tell(world.about(the_run(world), MessageKind.COMPLETE, result="done"))
    assert the_run(world).state is RunState.SUCCEEDED


def test_callbacks_with_heartbeats_keep_a_run_active_and_missing_heartbeats_end_its_attempt(world: World) -> None:
    world.add(waiting_job(heartbeat_seconds=60))
    for number in range(40):
        world.until(NOON + 150 + 50 * number)
        beat(world)
    assert (the_run(world).state, the_run(world).attempt) == (RunState.WAITING, 1)
    world.until(NOON + 150 + 50 * 42)
    run = the_run(world)
    assert (run.attempt, run.code) == (2, "callback.heartbeat")
    assert len(world.caller.calls) == 2


def deadlines(world: World) -> list[RunMessage]:
    """What lies in the lane to look at a deadline."""
    return [held.message for held in world.wheel._held if held.message.kind is MessageKind.DEADLINE]


def test_callbacks_copies_of_the_heartbeat_check_are_dropped(world: World) -> None:
    """Each copy is sent again, until one of them changes the record."""
    world.add(waiting_job(heartbeat_seconds=60))
    for number in range(10 + SENT_WITHOUT_RECORD):
        world.until(NOON + 150 + 50 * number)
        beat(world)
        if number < 10:
            twins = [replace(deadlines(world)[0], nonce=f"twin-{number}-{twin}") for twin in range(3)]
            world.wheel.send([Outgoing(twin, max(int(twin.not_before - world.clock.now()), 0)) for twin in twins])
        assert len(deadlines(world)) <= 1 + 3 * (SENT_WITHOUT_RECORD + 1)
    world.until(world.clock.now() + 59)
    assert len(deadlines(world)) == 1
    assert (the_run(world).state, the_run(world).attempt) == (RunState.WAITING, 1)
    world.until(world.clock.now() + 61)
    assert (the_run(world).attempt, the_run(world).code) == (2, "callback.heartbeat")


def test_callbacks_heartbeat_check_has_no_copy_after_its_worker_died(world: World) -> None:
    world.add(waiting_job(heartbeat_seconds=60))
    world.until(NOON + 150)
    beat(world)
    world.clock.set(deadlines(world)[0].not_before)
    held = world.wheel.receive()
    assert held is not None
    world.handle(held)
    assert len(deadlines(world)) == 1
    world.wheel.put_back(held)  # its worker died before it deleted the message
    for _ in range(4):
        world.until(world.clock.now() + 50)
        beat(world)
    world.until(world.clock.now() + 59)
    assert len(deadlines(world)) == 1
    world.until(world.clock.now() + 61)
    assert (the_run(world).attempt, the_run(world).code) == (2, "callback.heartbeat")


def is_rearmed(run: Run, previous: Run | None) -> bool:
    """Whether the write only changes which message checks the deadline."""
    return isinstance(run, Waiting) and isinstance(previous, Waiting)


def test_callbacks_deadline_is_checked_although_its_worker_died_before_storing_it(world: World) -> None:
    world.add(waiting_job(heartbeat_seconds=60))
    with world.faulty("run_store", write=(fault := throttled(times=1, when=is_rearmed))):
        for number in range(SENT_WITHOUT_RECORD + 1):
            world.until(NOON + 150 + 50 * number)
            beat(world)
        world.until(world.clock.now() + 55)
    assert fault.hits == 1
    world.until(world.clock.now() + 95)
    assert (the_run(world).attempt, the_run(world).code) == (2, "callback.heartbeat")


def test_callbacks_with_a_heartbeat_interval_of_hours_are_checked_through_the_due_index(world: World) -> None:
    world.add(waiting_job(heartbeat_seconds=3600, completion_seconds=86_400))
    world.until(NOON + 3000)
    beat(world, 3600)
    world.until(NOON + 3000 + 3599)
    assert (the_run(world).state, the_run(world).attempt) == (RunState.WAITING, 1)
    world.until(NOON + 3000 + 3700)
    assert the_run(world).attempt == 2
    assert world.count("WakesSent") >= 2


def test_callbacks_that_arrive_before_the_response_of_the_call_complete_the_run(world: World) -> None:
    def complete_during_the_call(call: Call) -> Outcome:
        held = world.wheel.put_in(world.about(call.run, MessageKind.COMPLETE, result="fast"))
        world.worker()([world.wheel.received(held)], world.clock.now() + 120)
        return Returned("accepted")

    world.caller.answer = complete_during_the_call
    world.add(waiting_job())
    world.until(NOON + 300)
    run = the_run(world)
    assert (run.state, run.result) == (RunState.SUCCEEDED, "fast")
    assert len(world.caller.calls) == 1
    assert world.count("FinishesRefused") == 0


def test_callbacks_with_the_token_of_an_abandoned_attempt_change_nothing(world: World) -> None:
    world.add(waiting_job(completion_seconds=300))
    world.until(NOON + 130)
    first = the_run(world)
    world.until(NOON + 440)
    assert (the_run(world).state, the_run(world).attempt) == (RunState.WAITING, 2)
    for kind in (MessageKind.COMPLETE, MessageKind.FAIL):
        world.tell(world.about(first, kind))
    assert (the_run(world).state, the_run(world).attempt) == (RunState.WAITING, 2)


def test_callbacks_that_report_a_failure_cause_a_retry_unless_the_target_forbids_it(world: World) -> None:
    world.add(waiting_job())
    world.until(NOON + 130)
    world.tell(world.about(the_run(world), MessageKind.FAIL, error="disk full", code="DiskFull"))
    assert (the_run(world).state, the_run(world).error) == (RunState.RETRYING, "disk full")
    world.until(NOON + 140)
    world.tell(world.about(the_run(world), MessageKind.FAIL, error="no such customer", retryable=False))
    run = the_run(world)
    assert (run.state, run.reason, run.attempt) == (RunState.DEAD, "not_retryable", 2)


def test_callbacks_of_the_last_run_complete_the_job_although_the_worker_clock_is_slow(world: World) -> None:
    spec = ScheduleSpec("* * * * *", end=int(NOON) + 125)
    world.add(waiting_job(schedule=spec, overlap=Overlap.ALLOW))
    world.until(NOON + 121)
    first, last = world.runs("tick-tock")
    world.tell(world.about(last, MessageKind.COMPLETE))
    done = world.wheel.put_in(replace(world.about(first, MessageKind.COMPLETE), not_before=NOON + 117))
    slow = SettableClock(NOON + 117)  # by its clock the last occurrence is still to come
    world.worker(clock=slow)([world.wheel.received(done)], NOON + 300)
    assert {state for _, state in world.states("tick-tock")} == {RunState.SUCCEEDED}
    assert world.office.job().state is JobState.COMPLETED


def test_callbacks_that_are_repeated_complete_a_run_once(world: World) -> None:
    world.add(waiting_job())
    world.until(NOON + 130)
    done = world.about(the_run(world), MessageKind.COMPLETE, result=1)
    world.tell(done)
    world.tell(replace(done, command=Complete(2), nonce="another"))
    assert the_run(world).result == 1


def test_callbacks_are_not_awaited_after_a_failed_call(world: World) -> None:
    world.caller.answer = lambda _: Failed("HTTP 500", code="http.500")
    world.add(waiting_job())
    world.until(NOON + 300)
    assert (the_run(world).state, len(world.caller.calls)) == (RunState.DEAD, 2)


def test_callbacks_of_an_at_most_once_run_cause_no_retry_after_a_missed_deadline(world: World) -> None:
    world.add(waiting_job(delivery=Delivery.AT_MOST_ONCE, completion_seconds=60))
    world.until(NOON + 900)
    assert (the_run(world).state, len(world.caller.calls)) == (RunState.DEAD, 1)


def test_callbacks_of_a_deleted_job_can_complete_its_waiting_run_and_a_failure_cancels_it(world: World) -> None:
    for name in ("completed", "failed"):
        world.add(waiting_job(id=name))
    world.until(NOON + 130)
    runs = {name: world.runs(name)[0] for name in ("completed", "failed")}
    for name in runs:
        found = world.jobs.get("default", name)
        assert found is not None
        assert world.jobs.delete(found, deleted_at=world.clock.now())
    world.tell(world.about(runs["completed"], MessageKind.COMPLETE, result="late but done"))
    world.tell(world.about(runs["failed"], MessageKind.FAIL, error="no"))
    assert world.runs("completed")[0].state is RunState.SUCCEEDED
    assert (world.runs("failed")[0].state, world.runs("failed")[0].reason) == (RunState.CANCELLED, "deleted")


def test_callbacks_handled_by_a_throttled_worker_are_not_lost_to_a_missed_heartbeat(world: World) -> None:
    world.add(job("at(2026-11-21T12:02:00)", completion=Completion.CALLBACK, heartbeat_seconds=30, retry=SOON))
    world.until(NOON + 125)
    done = world.about(the_run(world), MessageKind.COMPLETE, result="done")
    world.run_store = around(world.run_store, get=throttled(times=1))
    world.tell(done)
    world.until(NOON + 600)
    assert (the_run(world).state, the_run(world).result) == (RunState.SUCCEEDED, "done")
    assert len(world.caller.calls) == 1
