"""Members of a workflow have seats, as long as no call of an earlier run of the workflow can be at work."""

from __future__ import annotations

from typing import Any

from duecourse.domain.jobs.job import Backoff, Overlap, RetryPolicy
from duecourse.domain.runs.overlap import Lock
from duecourse.domain.runs.states import RunState
from duecourse.domain.targets.targets import Failed, Returned
from duecourse.domain.workflows.definition import workflow_fields
from duecourse.domain.workflows.graph import Graph
from tests.support.jobs import NOON, job
from tests.support.workflow_world import CHAIN, INSTANT, WorkflowWorld
from tests.support.workflows import graph_of

EVERY_MINUTE = "* 12 21 11 *"
LATER = {"not_before": "0 13 * * *"}


def begin(world: WorkflowWorld, graph: Graph, until: float, **fields: Any) -> None:
    """Begin a workflow whose members have seats, and a second attempt."""
    twice = RetryPolicy(max_attempts=2, backoff=Backoff.FIXED, min_seconds=600, max_seconds=600)
    for member in graph.members:
        world.add(job("", id=member.id, overlap=Overlap.ALLOW, workflow="nightly", seated=True, retry=twice))
    world.begin(graph, until, **fields)


def in_bulk(world: WorkflowWorld, job_id: str) -> list[int]:
    """The minutes after NOON whose runs of a job went through the bulk queue."""
    due = {each.message.due for each in world.wheel.sent if each.message.job_id == job_id and each.message.bulk}
    return sorted((at - int(NOON)) // 60 for at in due)


def cancel(world: WorkflowWorld, minute: int) -> None:
    """Cancel the workflow's run of that minute after NOON."""
    world.api.commands.cancel("default", f"nightly.20261121T120{minute}00Z")
    world.work()


def test_members_start_among_the_seats_and_cost_no_further_message(world: WorkflowWorld) -> None:
    begin(world, graph_of(CHAIN), NOON + 90)
    assert world.called() == list(CHAIN)
    assert [each.message.job_id for each in world.wheel.sent] == ["nightly", "nightly", *CHAIN, "nightly"]
    assert not any(each.message.bulk for each in world.wheel.sent)


def test_members_of_every_run_start_among_the_seats_if_each_run_ends_by_its_members(world: WorkflowWorld) -> None:
    world.answers.failing.add("transform")
    begin(world, graph_of(CHAIN), NOON + 330, schedule=EVERY_MINUTE)
    assert world.called().count("extract") == 5
    assert not any(each.message.bulk for each in world.wheel.sent)


def test_members_use_the_bulk_queue_while_a_call_of_a_cancelled_run_may_be_at_work(world: WorkflowWorld) -> None:
    begin(world, graph_of(CHAIN, transform=LATER), NOON + 90, schedule=EVERY_MINUTE)
    for minute in range(1, 6):
        cancel(world, minute)
        world.until(NOON + 60 * minute + 90)
    assert world.called() == ["extract"] * 6
    assert in_bulk(world, "extract") == [2, 3, 4, 5, 6], "the run before was cancelled less than 130 s ago"


def test_members_have_their_seats_again_once_the_calls_of_a_cancelled_run_have_ended(world: WorkflowWorld) -> None:
    graph = graph_of(CHAIN, transform=LATER)
    begin(world, graph, NOON + 90, schedule="1,2,4 12 21 11 *")
    cancel(world, 1)
    world.until(NOON + 150)
    cancel(world, 2)
    world.clock.set(NOON + 290)
    world.until(NOON + 330)
    assert in_bulk(world, "extract") == [2]


def test_the_runs_after_a_cancelled_one_pass_on_until_when_its_calls_began(world: WorkflowWorld) -> None:
    outcomes = [Failed("busy")]
    world.caller.answer = lambda call: outcomes.pop() if call.job.id == "load" and outcomes else Returned()
    begin(world, graph_of(CHAIN), NOON + 90, schedule="1,2,3,4 12 21 11 *")
    cancel(world, 1)
    world.until(NOON + 270)
    ends = [world.state("nightly", f"20261121T120{minute}00Z") for minute in (1, 2, 3, 4)]
    assert ends == [(RunState.CANCELLED, "cancelled"), *[(RunState.SUCCEEDED, None)] * 3]
    assert [in_bulk(world, member) for member in CHAIN] == [[2, 3]] * 3, "until 130 s after the cancellation"


def test_members_use_the_bulk_queue_when_the_lock_of_a_cancelled_run_was_not_released(world: WorkflowWorld) -> None:
    begin(world, graph_of(CHAIN, transform=LATER), NOON + 90, schedule="1,2 12 21 11 *")
    cancel(world, 1)
    held, free = Lock(INSTANT, NOON + 91, rank=2), world.run_store.lock("default", "nightly", Lock("x", NOON), None)
    assert free is not None
    assert world.run_store.lock("default", "nightly", held, free) is None
    world.until(NOON + 150)
    assert world.called() == ["extract"] * 2
    assert in_bulk(world, "extract") == [2]


def test_redriven_members_use_the_bulk_queue(world: WorkflowWorld) -> None:
    world.answers.failing.add("transform")
    begin(world, graph_of(CHAIN), NOON + 90)
    assert not any(each.message.bulk for each in world.wheel.sent)
    world.answers.failing.clear()
    world.redrive("transform")
    assert world.called() == ["extract", "transform", "transform", "load"]
    assert in_bulk(world, "transform") == [1]


def test_members_of_a_workflow_whose_runs_may_overlap_use_the_bulk_queue(world: WorkflowWorld) -> None:
    graph = graph_of(CHAIN)
    for member in graph.members:
        world.add(job("", id=member.id, overlap=Overlap.ALLOW, workflow="nightly", seated=True))
    ref = world.workflows.put_graph("default", "nightly", graph)
    world.add(job("1 12 21 11 *", id="nightly", overlap=Overlap.ALLOW, **workflow_fields(ref.graph)))
    world.until(NOON + 90)
    assert world.called() == list(CHAIN)
    assert all(in_bulk(world, member) == [1] for member in CHAIN)
