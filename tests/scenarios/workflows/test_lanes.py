"""Members start in the lane that their job has now, whichever it had when the workflow was put."""

from __future__ import annotations

from duecourse.domain.jobs.job import Lane, Overlap
from tests.support.jobs import NOON, job
from tests.support.workflow_world import CHAIN, INSTANT, WorkflowWorld
from tests.support.workflows import graph_of


def test_a_job_that_was_moved_to_another_lane_starts_there(world: WorkflowWorld) -> None:
    world.add(job("", id="transform", overlap=Overlap.ALLOW, priority=Lane.HIGH, workflow="nightly", seated=False))
    graph = graph_of(CHAIN, transform={"lane": Lane.LOW, "bulk": True})
    world.begin(graph, NOON + 90)
    assert world.called() == list(CHAIN)
    starts = [(each.message.lane, each.message.bulk) for each in world.wheel.sent if each.message.job_id == "transform"]
    assert starts == [(Lane.LOW, True), (Lane.HIGH, True)]
    assert [run.name.local for run in world.runs("transform")] == [INSTANT]


def test_a_job_in_its_lane_costs_no_further_message(world: WorkflowWorld) -> None:
    world.begin(graph_of(CHAIN), NOON + 90)
    assert [each.message.job_id for each in world.wheel.sent] == ["nightly", "nightly", *CHAIN, "nightly"]
