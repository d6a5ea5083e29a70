"""A workflow's run whose worker dies, or whose workflow is deleted: no further start, one deadline, one dead letter."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from duecourse.domain.jobs.job import Completion, Overlap
from duecourse.domain.runs.states import RunState
from duecourse.messages import MessageKind
from duecourse.ports import Outgoing
from duecourse.testing.faults import around, before
from duecourse.testing.wheel import Held
from tests.support.jobs import NOON, job
from tests.support.workflow_world import CHAIN, WorkflowWorld
from tests.support.workflows import graph_of

S, D, C, R = RunState.SUCCEEDED, RunState.DEAD, RunState.CANCELLED, RunState.RUNNING


class WorkerDied(BaseException):
    """The process of a worker ends."""


def dies_after_the_starts(world: WorkflowWorld, **fields: Any) -> None:
    """The worker of the workflow's run dies once it has sent the starts of the steps."""
    dies_once_sent(world, lambda: world.begin(graph_of(CHAIN), NOON + 61, **fields))


def dies_once_sent(world: WorkflowWorld, begin: Callable[[], object]) -> None:
    """The worker that begins the workflow's run dies once it has sent the starts of the steps."""
    send = world.wheel.send

    def dying(messages: Sequence[Outgoing]) -> list[bool]:
        sent = send(messages)
        if any(each.message.is_step and each.message.kind is MessageKind.START for each in messages):
            world.wheel.send = send  # type: ignore[method-assign]
            raise WorkerDied
        return sent

    receive, received = world.wheel.receive, list[Held]()

    def noted() -> Held | None:
        held = receive()
        received.extend([] if held is None else [held])
        return held

    world.wheel.send = dying  # type: ignore[method-assign]
    world.wheel.receive = noted  # type: ignore[method-assign]
    with pytest.raises(WorkerDied):
        begin()
    world.wheel.receive = receive  # type: ignore[method-assign]
    world.wheel.put_back(received[-1])


def slow(world: WorkflowWorld, job_id: str) -> None:
    world.add(job("", id=job_id, completion=Completion.CALLBACK, overlap=Overlap.ALLOW, workflow="nightly"))


def test_workflow_failover_cancellation_applies_immediately_although_the_worker_is_dead(world: WorkflowWorld) -> None:
    slow(world, "extract")
    dies_after_the_starts(world)
    world.until(NOON + 65)
    assert world.state("nightly") == (R, None)
    world.cancel("nightly")
    assert world.state("nightly") == (C, "cancelled")
    world.until(NOON + 1500)
    assert world.called() == ["extract"]
    assert world.state("extract") == (C, "workflow_over")
    assert world.state("nightly") == (C, "cancelled")


def test_workflow_failover_does_not_move_the_deadline_of_the_workflow(world: WorkflowWorld) -> None:
    slow(world, "extract")
    dies_after_the_starts(world)
    first = world.run("nightly")
    world.until(NOON + 1500)
    second = world.run("nightly")
    assert first is not None
    assert (second.attempt, second.state) == (2, RunState.WAITING)
    assert second.deadlines.waiting_until == first.deadlines.waiting_until


def test_workflow_failover_workflow_with_a_dead_worker_ends_at_its_deadline(world: WorkflowWorld) -> None:
    slow(world, "extract")
    dies_after_the_starts(world, deadline_seconds=60)
    world.until(NOON + 115)
    assert world.state("nightly") == (R, None)
    world.until(NOON + 125)
    run = world.run("nightly")
    assert (run.state, run.code, run.attempt) == (D, "workflow.deadline", 1)
    assert world.state("extract") == (C, "workflow_over")
    (letter,) = [held for held in world.wheel.dead_letters if held.message.job_id == "nightly"]
    assert letter.message.kind is MessageKind.DEADLINE
    world.until(NOON + 1500)
    assert world.called() == ["extract"]
    assert world.run("nightly") == run
    world.wheel.redrive()
    world.until(NOON + 1510)
    assert world.state("nightly") == (RunState.WAITING, None)


def test_workflow_failover_workflow_deleted_before_the_first_write_of_its_run_starts_nothing(
    world: WorkflowWorld,
) -> None:
    def delete() -> None:
        workflow = world.jobs.get("default", "nightly")
        assert workflow is not None
        assert world.jobs.delete(workflow, deleted_at=world.clock.now())

    deleted = before(delete, times=1, when=lambda run, previous: run.job_id == "nightly" and previous is None)
    world.run_store = around(world.run_store, write=deleted)
    world.begin(graph_of(CHAIN), NOON + 400)
    assert world.called() == []
    assert world.state("nightly") == (C, "deleted")


def test_workflow_failover_dead_letter_of_a_workflow_is_not_deleted_as_a_duplicate_evaluation(
    world: WorkflowWorld,
) -> None:
    world.answers.failing = {"extract"}
    world.begin(graph_of({"extract": ()}), NOON + 400)
    (letter,) = [held for held in world.wheel.dead_letters if held.message.job_id == "nightly"]
    first = next(sent.message for sent in world.wheel.sent if sent.message.kind is MessageKind.EVALUATE)
    assert letter.message.nonce != first.nonce
    assert len([death for death in world.notices.deaths if death.run.job_id == "nightly"]) == 1
    world.answers.failing = set()
    world.wheel.redrive()
    world.until(NOON + 500)
    assert [world.state(name) for name in ("extract", "nightly")] == [(S, None)] * 2


def test_workflow_failover_redriven_waiting_run_leaves_the_wait_queue_when_another_message_starts_it(
    world: WorkflowWorld,
) -> None:
    slow(world, "extract")
    world.begin(graph_of({"extract": ()}), NOON + 90)
    dead = world.run("extract")
    assert dead is not None
    world.tell(world.about(dead, MessageKind.FAIL, error="no", retryable=False))
    world.work()
    assert world.state("nightly") == (D, "steps_failed")
    holder = world.run_now("nightly")
    world.until(NOON + 95)
    world.redrive("nightly")
    assert len(world.wait_queues.waiting("default", "nightly", limit=10)) == 1
    step = world.run("extract", holder.name.local)
    assert step is not None
    world.wheel.refuse = lambda message: message.waited
    world.tell(world.about(step, MessageKind.COMPLETE))
    world.work()
    assert world.state("nightly", holder.name.local) == (S, None)
    world.redrive("nightly")
    assert world.state("nightly") == (RunState.WAITING, None)
    assert world.wait_queues.waiting("default", "nightly", limit=10) == []


def test_workflow_failover_redriven_run_redrives_each_step_once_although_its_worker_dies(
    world: WorkflowWorld,
) -> None:
    world.answers.failing = {"extract"}
    world.begin(graph_of({"extract": (), "check": ()}), NOON + 90)
    assert world.state("nightly") == (D, "steps_failed")
    dies_once_sent(world, lambda: world.redrive("nightly"))
    world.until(NOON + 2000)
    assert [world.called().count(name) for name in ("extract", "check")] == [2, 1]
    assert world.state("nightly") == (D, "steps_failed")
