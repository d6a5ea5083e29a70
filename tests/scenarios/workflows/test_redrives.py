"""A redrive leaves a workflow's run as it would be without the failure."""

from dataclasses import replace
from typing import Any

import pytest

from duecourse.domain.jobs.job import Completion, Overlap
from duecourse.domain.runs.states import RunState
from duecourse.domain.workflows.graph import Rule, StepOutcome
from duecourse.messages import MessageKind
from tests.support.jobs import NOON, job
from tests.support.workflow_world import INSTANT, WorkflowWorld
from tests.support.workflows import graph_of

S, D, K, C, W = RunState.SUCCEEDED, RunState.DEAD, RunState.SKIPPED, RunState.CANCELLED, RunState.WAITING
NEVER: dict[str, Any] = {"only": "0 0 1 1 *"}
"""A job that takes no part in the occurrence."""


def slow(world: WorkflowWorld, job_id: str) -> None:
    """A job that waits for its callback."""
    world.add(job("", id=job_id, completion=Completion.CALLBACK, overlap=Overlap.ALLOW, workflow="nightly"))


def told(world: WorkflowWorld, job_id: str, kind: MessageKind = MessageKind.COMPLETE) -> None:
    """Its callback comes, or another message about its run."""
    run = world.run(job_id)
    assert run is not None
    said = {"error": "no", "retryable": False} if kind is MessageKind.FAIL else {}
    world.tell(world.about(run, kind, **said))
    world.work()


def test_workflow_redrive_skips_a_step_for_its_other_reason_after_the_failure_is_gone(
    world: WorkflowWorld,
) -> None:
    world.answers.failing = {"extract"}
    graph = graph_of(
        {"extract": (), "idle": (), "both": ("extract", "idle"), "also": (), "last": ("both", "also")},
        idle=NEVER,
        last={"when": Rule.NONE_FAILED},
    )
    world.begin(graph, NOON + 90)
    assert [world.state(name) for name in ("both", "last")] == [(K, "upstream_failed")] * 2
    world.answers.failing = set()
    world.redrive("extract")
    world.until(NOON + 100)
    assert world.state("both") == (K, "upstream_skipped")
    assert world.state("last") == (S, None)
    assert world.state("nightly") == (S, None)


def test_workflow_redrive_delays_a_step_that_waits_for_all_until_the_redriven_step_has_ended(
    world: WorkflowWorld,
) -> None:
    slow(world, "extract")
    slow(world, "other")
    graph = graph_of({"extract": (), "other": (), "report": ("extract", "other")}, report={"when": Rule.ALL_DONE})
    world.begin(graph, NOON + 90)
    told(world, "extract", MessageKind.FAIL)
    assert world.state("extract") == (D, "not_retryable")
    world.redrive("extract")
    assert world.state("extract") == (W, None)
    told(world, "other")
    assert world.state("report") is None, "extract runs again"
    told(world, "extract")
    assert world.state("report") == (S, None)
    assert world.state("nightly") == (S, None)


def test_workflow_redrive_delays_all_downstream_steps_of_the_redriven_step(world: WorkflowWorld) -> None:
    slow(world, "extract")
    slow(world, "other")
    graph = graph_of(
        {"extract": (), "load": ("extract",), "other": (), "report": ("load", "other")}, report={"when": Rule.ALL_DONE}
    )
    world.begin(graph, NOON + 90)
    told(world, "extract", MessageKind.FAIL)
    assert world.state("load") == (K, "upstream_failed")
    world.redrive("extract")
    told(world, "other")
    assert world.state("report") is None
    told(world, "extract")
    assert [world.state(name) for name in ("load", "report", "nightly")] == [(S, None)] * 3
    assert world.called() == ["extract", "other", "extract", "load", "report"]


def test_workflow_redrive_after_a_deadline_delays_alerts_until_the_cancelled_steps_have_ended(
    world: WorkflowWorld,
) -> None:
    slow(world, "extract")
    graph = graph_of(
        {"extract": (), "cleanup": ("extract",), "alert": ("extract",)},
        cleanup={"when": Rule.ALL_DONE},
        alert={"when": Rule.ANY_FAILURE},
    )
    world.begin(graph, NOON + 700, deadline_seconds=600)
    assert world.state("extract") == (C, "workflow_over")
    world.redrive("nightly")
    assert world.called() == ["extract", "extract"]
    told(world, "extract")
    assert world.state("cleanup") == (S, None)
    assert world.state("alert") == (K, "not_needed")
    assert world.state("nightly") == (S, None)


def test_workflow_redrive_of_a_workflow_redrives_dead_steps_that_may_fail(world: WorkflowWorld) -> None:
    world.answers.failing = {"optional", "extract"}
    world.begin(
        graph_of({"optional": (), "extract": (), "after": ("optional",)}, optional={"may_fail": True}), NOON + 90
    )
    assert world.state("nightly") == (D, "steps_failed")
    world.answers.failing = set()
    world.redrive("nightly")
    world.until(NOON + 100)
    assert [world.state(name) for name in ("optional", "extract", "after", "nightly")] == [(S, None)] * 4


def test_workflow_redrive_of_a_step_that_may_fail_delays_the_end_of_the_run(world: WorkflowWorld) -> None:
    slow(world, "optional")
    slow(world, "other")
    world.begin(graph_of({"optional": (), "after": ("optional",), "other": ()}, optional={"may_fail": True}), NOON + 90)
    told(world, "optional", MessageKind.FAIL)
    world.redrive("optional")
    told(world, "other")
    assert world.state("nightly") == (W, None)
    told(world, "optional")
    assert [world.state(name) for name in ("after", "nightly")] == [(S, None)] * 2


def test_workflow_redrive_of_a_step_that_may_fail_continues_a_successful_run(world: WorkflowWorld) -> None:
    world.answers.failing = {"optional"}
    world.begin(graph_of({"optional": (), "after": ("optional",)}, optional={"may_fail": True}), NOON + 90)
    assert world.state("nightly") == (S, None)
    assert world.state("after") == (K, "upstream_failed")
    world.answers.failing = set()
    world.redrive("optional")
    world.until(NOON + 100)
    assert [world.state(name) for name in ("optional", "after", "nightly")] == [(S, None)] * 3


def test_workflow_redrive_updates_the_dead_steps_in_the_error_of_a_dead_run(world: WorkflowWorld) -> None:
    world.answers.failing = {"eu", "us"}
    world.begin(graph_of({"eu": (), "us": ()}), NOON + 90)
    world.answers.failing = set()
    world.redrive("eu")
    world.until(NOON + 100)
    run = world.run("nightly")
    assert (run.state, run.error) == (D, "failed: us (http.500)")
    assert [death.run.job_id for death in world.notices.deaths] == ["nightly"]
    world.until(NOON + 200)
    assert {held.message.job_id for held in world.wheel.dead_letters} == {"eu", "us", "nightly"}


def test_workflow_redrive_skips_a_dead_alert_whose_failure_is_gone(world: WorkflowWorld) -> None:
    world.answers.failing = {"extract", "alert"}
    graph = graph_of({"extract": (), "alert": ("extract",)}, alert={"when": Rule.ANY_FAILURE})
    world.begin(graph, NOON + 90)
    assert [world.state(name) for name in ("extract", "alert")] == [(D, "not_retryable")] * 2
    world.answers.failing = set()
    world.redrive("nightly")
    world.until(NOON + 100)
    assert world.called() == ["extract", "alert", "extract"]
    assert world.state("alert") == (K, "not_needed")
    assert world.state("nightly") == (S, None)


def test_workflow_redrive_does_not_repeat_a_step_run_after_a_failure_and_delays_its_downstream_steps(
    world: WorkflowWorld,
) -> None:
    slow(world, "extract")
    slow(world, "other")
    graph = graph_of(
        {"extract": (), "cleanup": ("extract",), "other": (), "last": ("cleanup", "other")},
        cleanup={"when": Rule.ALL_DONE},
    )
    world.begin(graph, NOON + 90)
    told(world, "extract", MessageKind.FAIL)
    assert world.state("cleanup") == (S, None)
    world.redrive("extract")
    told(world, "other")
    assert world.state("last") is None
    told(world, "extract")
    assert world.called() == ["extract", "other", "cleanup", "extract", "last"]
    assert world.state("nightly") == (S, None)


def test_workflow_redrive_ignores_a_late_copy_of_the_first_end_while_the_step_runs_again(world: WorkflowWorld) -> None:
    slow(world, "extract")
    world.begin(graph_of({"extract": (), "report": ("extract",)}, report={"when": Rule.ALL_DONE}), NOON + 90)
    run = world.run("extract")
    assert run is not None
    late = world.about(run, MessageKind.FAIL, error="no", retryable=False)
    world.tell(late)
    assert world.state("report") == (S, None)
    world.redrive("nightly")
    assert world.state("extract") == (W, None)
    world.tell(late.again(nonce="late"))
    assert world.state("nightly") == (W, None)
    told(world, "extract")
    assert world.state("nightly") == (S, None)


def test_workflow_redrive_of_a_workflow_runs_a_redriven_step_that_was_cancelled_with_it(
    world: WorkflowWorld,
) -> None:
    slow(world, "extract")
    world.begin(graph_of({"extract": (), "load": ("extract",)}), NOON + 90, deadline_seconds=600)
    told(world, "extract", MessageKind.FAIL)
    world.redrive("nightly")
    world.until(NOON + 1000)
    assert world.state("extract") == (C, "workflow_over")
    assert world.run("extract", INSTANT) is not None
    world.redrive("nightly")
    told(world, "extract")
    assert [world.state(name) for name in ("extract", "load", "nightly")] == [(S, None)] * 3


@pytest.mark.parametrize("dies_again", [False, True])
def test_workflow_redrive_of_a_workflow_run_applies_although_a_redriven_step_continues_the_run_first(
    world: WorkflowWorld, dies_again: bool
) -> None:
    slow(world, "slow")
    world.answers.failing = {"us", "eu"}
    world.begin(graph_of({"us": (), "eu": (), "slow": ("eu",)}), NOON + 90)
    assert world.state("nightly") == (D, "steps_failed")
    dead = world.run("nightly")
    assert dead is not None
    asked = world.about(dead, MessageKind.REDRIVE)
    world.answers.failing = set()
    world.redrive("eu")
    world.until(NOON + 100)
    assert world.state("nightly") == (W, None), "it continues since eu was redriven"
    if dies_again:
        told(world, "slow", MessageKind.FAIL)
        assert world.state("nightly") == (D, "steps_failed")
    world.tell(asked)
    world.until(NOON + 110)
    assert world.state("us") == (S, None)
    told(world, "slow")
    world.until(NOON + 120)
    assert [world.state(name) for name in ("us", "eu", "slow", "nightly")] == [(S, None)] * 4
    world.tell(asked)
    assert world.state("nightly") == (S, None)


@pytest.mark.parametrize("created_again", [False, True])
def test_workflow_redrive_of_a_step_of_a_deleted_workflow_leaves_the_other_steps_as_they_ended(
    world: WorkflowWorld, created_again: bool
) -> None:
    world.answers.failing = {"extract"}
    graph = graph_of({"extract": (), "load": ("extract",), "report": ("load",)}, extract={"may_fail": True})
    world.begin(graph, NOON + 90)
    assert world.state("nightly") == (S, None)
    nightly = world.jobs.get("default", "nightly")
    assert nightly is not None
    world.jobs.delete(nightly, deleted_at=world.clock.now())
    if created_again:
        world.add(replace(nightly, generation=nightly.generation + 1, created_generation=nightly.generation + 1))
    world.answers.failing = set()
    world.redrive("extract")
    world.until(NOON + 200)
    assert world.called() == ["extract", "extract"]
    view = world.view()
    assert not view.continues
    assert {each.step.id: each.progress for each in view.steps} == {
        "extract": StepOutcome.SUCCEEDED,
        "load": StepOutcome.ABORTED,
        "report": StepOutcome.ABORTED,
    }
    assert [each.current and each.current.state for each in view.steps] == [S, K, K]
    assert world.rerun(["load"]).state is RunState.QUEUED if created_again else True
