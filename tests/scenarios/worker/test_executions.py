"""Runs that end when the work that their call has started in an AWS service ends."""

from dataclasses import replace
from itertools import pairwise

import pytest

from duecourse.domain.jobs.job import Backoff, Completion, Delivery, Overlap, RetryPolicy
from duecourse.domain.runs.executions import CHECK_SECONDS, execution_of
from duecourse.domain.runs.states import Run, RunState
from duecourse.domain.targets.targets import Execution, Failed, Outcome, Returned, StepFunctionsTarget
from duecourse.messages import MessageKind
from duecourse.ports import Call, ExecutionUnavailableError
from duecourse.testing import executions
from duecourse.testing.faults import around, failing
from duecourse.usecases.worker.executions import AGAIN_SECONDS, MAX_TRIES
from duecourse.usecases.worker.work_item import Disposition, ReceivedMessage, WorkerRules
from tests.support.jobs import NOON, job
from tests.support.one_run import the_run
from tests.support.tables import Tables
from tests.support.world import Killed, Mortal, World

SOON = RetryPolicy(max_attempts=2, backoff=Backoff.FIXED, min_seconds=5, max_seconds=5)
STARTED = NOON + 125


def started(call: Call) -> Outcome:
    return Returned({"started": True}, executions.execution_of(call))


def following(world: World, **changes: object) -> Run:
    """The run of a job whose execution has started, and is active."""
    values: dict[str, object] = {
        "completion": Completion.END,
        "completion_seconds": 7 * 3600,
        "retry": SOON,
        "target": StepFunctionsTarget("flow"),
    }
    world.caller.answer = started
    world.add(job("at(2026-11-21T12:02:00)", **(values | changes)))
    world.until(STARTED)
    return the_run(world)


def execution(run: Run) -> Execution:
    found = execution_of(run)
    assert found is not None
    return found


def end(world: World, run: Run, outcome: Outcome) -> Disposition:
    """The execution of a run ends, and the event bus reports it."""
    world.executions.outcomes[execution(run).id] = outcome
    settled = world.report_end(execution(run))
    world.work()
    return settled


def actions(world: World) -> list[str]:
    return [event.action for report in world.reports for event in report.events]


def test_execution_run_waits_for_its_end_and_has_its_result(world: World) -> None:
    waiting = following(world)
    assert waiting.state is RunState.WAITING
    world.until(NOON + 1800)
    assert the_run(world) == waiting
    assert end(world, waiting, Returned({"output": {"rows": 3}})) is Disposition.ACK
    run = the_run(world)
    assert (run.state, run.result, run.attempt) == (RunState.SUCCEEDED, {"output": {"rows": 3}}, 1)
    assert run.finished_at == NOON + 1800
    assert world.executions.stopped == []


def test_execution_that_fails_is_retried_and_the_next_attempt_has_another_execution(world: World) -> None:
    first = following(world)
    end(world, first, Failed("States.TaskFailed: no rows", code="States.TaskFailed"))
    assert (the_run(world).state, the_run(world).code) == (RunState.RETRYING, "States.TaskFailed")
    world.until(world.clock.now() + 10)
    second = the_run(world)
    assert (second.state, second.attempt) == (RunState.WAITING, 2)
    assert execution(second) != execution(first)
    assert end(world, first, Returned()) is Disposition.ACK  # reported again, and late
    assert the_run(world) == second
    end(world, second, Failed("no", code="States.Timeout"))
    assert the_run(world).state is RunState.DEAD


def test_execution_whose_result_is_unknown_is_not_retried(world: World) -> None:
    end(world, following(world), Failed("its result is unknown", retryable=False, code="execution_unknown"))
    assert (the_run(world).state, the_run(world).code) == (RunState.DEAD, "execution_unknown")


def test_execution_end_is_reported_twice_without_effect(world: World) -> None:
    run = following(world)
    end(world, run, Returned({"n": 1}))
    succeeded = the_run(world)
    assert end(world, run, Failed("no")) is Disposition.ACK
    assert the_run(world) == succeeded


def test_execution_end_that_arrives_before_its_run_is_known_is_handled_again(world: World) -> None:
    run = following(world)
    unknown = replace(execution(run), id="another")
    assert world.report_end(unknown) is Disposition.RETAIN
    assert world.report_end(unknown, tries=MAX_TRIES) is Disposition.ACK
    assert actions(world)[-1] == "execution_ignored"
    assert AGAIN_SECONDS * MAX_TRIES < CHECK_SECONDS


def test_execution_whose_event_is_lost_is_noticed_within_an_hour(world: World) -> None:
    run = following(world)
    world.until(NOON + 1800)
    world.executions.outcomes[execution(run).id] = Returned({"n": 1})
    world.until(STARTED + CHECK_SECONDS + 60)
    assert (the_run(world).state, the_run(world).result) == (RunState.SUCCEEDED, {"n": 1})


def test_execution_that_is_still_active_is_read_once_an_hour(world: World) -> None:
    run = following(world)
    read: list[float] = []
    world.executions = around(world.executions, end_of=lambda real, *given: (read.append(world.clock.now()), None)[1])
    world.until(STARTED + 4 * CHECK_SECONDS)
    assert the_run(world) == run
    assert len(read) == 4
    assert all(later - earlier >= CHECK_SECONDS for earlier, later in pairwise(read))


def test_execution_whose_item_was_not_written_is_noticed_within_an_hour(world: World) -> None:
    with world.faulty("execution_store", put=failing(RuntimeError("throttled"))):
        run = following(world)
    assert run.state is RunState.WAITING
    assert "execution_not_recorded" in actions(world)
    world.executions.outcomes[execution(run).id] = Returned({"n": 1})
    world.until(world.clock.now() + CHECK_SECONDS + 60)
    assert the_run(world).state is RunState.SUCCEEDED


def test_execution_of_a_cancelled_run_is_stopped(world: World) -> None:
    run = following(world)
    world.tell(world.about(run, MessageKind.CANCEL, reason="cancelled"))
    assert the_run(world).state is RunState.CANCELLED
    assert world.executions.stopped == [execution(run).id]


def test_execution_of_a_cancelled_run_with_heartbeats_is_stopped_at_once(world: World) -> None:
    run = following(world, heartbeat_seconds=3600)
    world.tell(world.about(run, MessageKind.CANCEL, reason="cancelled"))
    assert (the_run(world).state, world.executions.stopped) == (RunState.CANCELLED, [execution(run).id])


def test_execution_started_by_a_call_whose_run_was_cancelled_meanwhile_is_stopped(world: World) -> None:
    def cancelled_during(call: Call) -> Outcome:
        world.tell(world.about(the_run(world), MessageKind.CANCEL, reason="cancelled"))
        return started(call)

    world.caller.answer = cancelled_during
    values = {"completion": Completion.END, "target": StepFunctionsTarget("flow")}
    world.add(job("at(2026-11-21T12:02:00)", **values))
    world.until(STARTED)
    run = the_run(world)
    assert (run.state, world.executions.stopped) == (RunState.CANCELLED, [execution(run).id])


def test_execution_that_misses_its_deadline_is_stopped_before_the_next_attempt(world: World) -> None:
    run = following(world, completion_seconds=1800)
    world.until(NOON + 120 + 1800 + 3)
    late = the_run(world)
    assert (late.state, late.code) == (RunState.RETRYING, "callback.timeout")
    assert world.executions.stopped == [execution(run).id]
    world.until(world.clock.now() + 60)
    assert (the_run(world).state, the_run(world).attempt) == (RunState.WAITING, 2)


def test_execution_that_has_ended_by_its_deadline_without_an_event_succeeds(world: World) -> None:
    run = following(world, completion_seconds=1800)
    world.executions.outcomes[execution(run).id] = Returned({"n": 1})
    world.until(NOON + 120 + 1800 + 60)
    assert (the_run(world).state, world.executions.stopped) == (RunState.SUCCEEDED, [])


def test_execution_forbids_overlap_until_its_end(world: World) -> None:
    world.caller.answer = started
    values = {"completion": Completion.END, "completion_seconds": 7200, "overlap": Overlap.SKIP}
    world.add(job("* * * * *", target=StepFunctionsTarget("flow"), **values))
    world.until(NOON + 65)
    (first,) = world.runs("tick-tock")
    world.until(NOON + 125)
    assert [run.state for run in world.runs("tick-tock")] == [RunState.WAITING, RunState.SKIPPED]
    end(world, first, Returned())
    world.until(NOON + 185)
    assert [run.state for run in world.runs("tick-tock")] == [RunState.SUCCEEDED, RunState.SKIPPED, RunState.WAITING]


def test_execution_that_cannot_be_read_is_handled_again_and_then_noticed_by_its_run(world: World) -> None:
    run = following(world)
    with world.faulty("executions", end_of=failing(ExecutionUnavailableError("AccessDenied"))):
        assert world.report_end(execution(run)) is Disposition.RETAIN
        assert world.report_end(execution(run), tries=MAX_TRIES) is Disposition.ACK
    assert "execution_not_read" in actions(world)
    assert sum(report.counts["ExecutionsUnread"] for report in world.reports) == 2
    world.executions.outcomes[execution(run).id] = Returned()
    world.until(STARTED + CHECK_SECONDS + 60)
    assert the_run(world).state is RunState.SUCCEEDED


def test_execution_that_cannot_be_stopped_is_reported_and_its_run_is_cancelled(world: World) -> None:
    run = following(world)
    with world.faulty("executions", stop=failing(ExecutionUnavailableError("AccessDenied"))):
        world.tell(world.about(run, MessageKind.CANCEL, reason="cancelled"))
    assert the_run(world).state is RunState.CANCELLED
    assert sum(report.counts["ExecutionsNotStopped"] for report in world.reports) == 1


def test_execution_run_can_also_be_completed_by_its_program(world: World) -> None:
    run = following(world)
    world.tell(world.about(run, MessageKind.COMPLETE, result={"rows": 3}))
    assert (the_run(world).state, the_run(world).result) == (RunState.SUCCEEDED, {"rows": 3})


@pytest.mark.parametrize("completion", [Completion.RESPONSE, Completion.CALLBACK])
def test_execution_of_other_jobs_is_not_followed(world: World, completion: Completion) -> None:
    run = following(world, completion=completion)
    assert run.state is (RunState.SUCCEEDED if completion is Completion.RESPONSE else RunState.WAITING)
    assert execution_of(run) is None


def test_execution_is_stopped_if_another_worker_has_ended_the_run_during_its_start(world: World) -> None:
    """The call returns after the lease. Meanwhile another worker has found the run lost, in its last attempt."""
    late = iter([True])

    def slow(call: Call) -> Outcome:
        if next(late, False):
            world.clock.set(world.clock.now() + 200)
            while (held := world.wheel.receive()) is not None:
                world.handle(held)
        return started(call)

    world.caller.answer = slow
    once = {"delivery": Delivery.AT_MOST_ONCE, "retry": RetryPolicy(max_attempts=1)}
    values = {"completion": Completion.END, "completion_seconds": 7200, "target": StepFunctionsTarget("flow")}
    world.add(job("at(2026-11-21T12:02:00)", **once, **values))
    world.until(NOON + 900)
    assert the_run(world).state is RunState.DEAD
    assert world.executions.stopped == [f"{the_run(world).run_id}/1"]


def test_execution_is_stopped_if_its_program_fails_the_run(world: World) -> None:
    run = following(world)
    world.tell(world.about(run, MessageKind.FAIL, error="no", code="callback.failed"))
    assert world.executions.stopped == [execution(run).id]
    world.until(world.clock.now() + 10)
    assert (the_run(world).state, the_run(world).attempt) == (RunState.WAITING, 2)


def test_execution_that_has_failed_is_not_stopped(world: World) -> None:
    end(world, following(world), Failed("no", code="States.TaskFailed"))
    assert (the_run(world).state, world.executions.stopped) == (RunState.RETRYING, [])


def test_execution_that_a_call_has_not_started_fails_the_run_with_the_remedy(world: World) -> None:
    world.caller.answer = lambda _: Returned({"status": 200})
    values = {"completion": Completion.END, "retry": SOON, "target": StepFunctionsTarget("flow")}
    world.add(job("at(2026-11-21T12:02:00)", **values))
    world.until(NOON + 900)
    run = the_run(world)
    assert (run.state, run.code, len(world.caller.calls)) == (RunState.DEAD, "not_followable", 1)


def test_execution_that_cannot_be_read_for_any_reason_does_not_outlive_its_deadline(world: World) -> None:
    following(world, completion_seconds=1800)
    with world.faulty("executions", end_of=failing(TypeError("Recursion limit reached"))):
        world.until(NOON + 120 + 1800 + 60)
        assert (the_run(world).state, the_run(world).attempt) == (RunState.WAITING, 2)
    assert actions(world).count("execution_not_stopped") == 1
    assert world.count("ExecutionsNotStopped") == 1


def test_execution_that_cannot_be_recorded_is_counted(world: World) -> None:
    with world.faulty("execution_store", put=failing(OSError("throttled"))):
        following(world)
    assert "execution_not_recorded" in actions(world)
    assert world.count("ExecutionsUnread") == 1


def test_execution_event_of_an_unknown_form_is_an_unreadable_message(world: World) -> None:
    rules = WorkerRules(None, world.wheel.max_receive_count, world.settings.run_retention_days)
    worker = world.wiring().worker(rules, world.wheel, world.caller)
    body = '{"detail-type": "Object Created", "source": "aws.s3", "detail": {}}'
    disposition, report = worker.handle(ReceivedMessage("e", "", 1, "ends", body), world.clock.now() + 100)
    assert (disposition, report.counts["MessagesUnreadable"]) == (Disposition.RETAIN, 1)


def test_execution_of_a_run_that_the_reconciler_ends_is_reported(tables: Tables) -> None:
    world = Mortal(tables)
    run = following(world)
    with world.faulty("executions", stop=failing(Killed())):
        world.tell(world.about(run, MessageKind.CANCEL, reason="cancelled"))
        world.until(world.clock.now() + 1800)
    found = world.reconcile()
    assert the_run(world).state is RunState.CANCELLED
    assert "execution_not_stopped" in [event.action for event in found.events]


@pytest.mark.parametrize("result", [{"ok": 1}, {"event": {"detail-type": "Object Created", "source": "aws.s3"}}])
def test_execution_events_are_not_confused_with_results_of_programs(world: World, result: object) -> None:
    run = following(world, completion=Completion.CALLBACK)
    body = world.about(run, MessageKind.COMPLETE, result=result).to_json()
    rules = WorkerRules(None, world.wheel.max_receive_count, world.settings.run_retention_days)
    worker = world.wiring().worker(rules, world.wheel, world.caller)
    worker.handle(ReceivedMessage("callback-1", "", 1, "callbacks", body), world.clock.now() + 100)
    assert (the_run(world).state, the_run(world).result) == (RunState.SUCCEEDED, result)
