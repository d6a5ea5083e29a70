"""Pauses and own times of steps: they delay a start, and nothing else."""

import pytest

from duecourse.domain.jobs.job import Completion, JobState, Overlap, RetryPolicy
from duecourse.domain.runs.states import RunState
from duecourse.domain.workflows.graph import Rule
from duecourse.messages import MessageKind
from duecourse.testing.faults import around, before, throttled
from tests.support.jobs import NOON, job
from tests.support.workflow_world import CHAIN, WorkflowWorld
from tests.support.workflows import add_workflow, graph_of

S, D, K, W = RunState.SUCCEEDED, RunState.DEAD, RunState.SKIPPED, RunState.WAITING
LATER = {"not_before": "0 13 * * *"}


def never(world: WorkflowWorld, step: str) -> None:
    """Write a workflow of this step, without a run."""
    add_workflow(world, graph_of({step: ()}), schedule="0 0 1 1 *")


def test_workflow_timing_failure_is_detected_immediately_although_the_downstream_step_has_its_own_time(
    world: WorkflowWorld,
) -> None:
    world.answers.failing = {"extract"}
    world.begin(graph_of({"extract": (), "report": ("extract",)}, report=LATER), NOON + 90)
    assert world.state("report") == (K, "upstream_failed")
    assert world.state("nightly") == (D, "steps_failed")


def test_workflow_timing_unneeded_alert_with_its_own_time_does_not_delay_the_end_of_the_workflow(
    world: WorkflowWorld,
) -> None:
    graph = graph_of({"extract": (), "alert": ("extract",)}, alert={"when": Rule.ANY_FAILURE, **LATER})
    world.begin(graph, NOON + 90, deadline_seconds=600)
    assert world.state("alert") == (K, "not_needed")
    assert world.state("nightly") == (S, None)


def test_workflow_timing_step_that_may_start_after_a_redrive_waits_for_its_own_time(world: WorkflowWorld) -> None:
    world.answers.failing = {"extract"}
    world.begin(graph_of({"extract": (), "report": ("extract",)}, report=LATER), NOON + 90, deadline_seconds=7200)
    world.answers.failing = set()
    world.redrive("extract")
    world.until(NOON + 3590)
    assert world.called() == ["extract", "extract"]
    world.until(NOON + 3602)
    assert world.state("report") == (S, None)


def test_workflow_timing_step_starts_within_a_second_of_its_resume(world: WorkflowWorld) -> None:
    world.add(job("", id="transform", overlap=Overlap.ALLOW, workflow="nightly"))
    world.clock.set(NOON + 5)
    world.office.pause("transform")
    world.begin(graph_of(CHAIN), NOON + 2000)
    assert world.called() == ["extract"]
    world.office.resume("transform")
    world.until(NOON + 2001)
    assert world.called() == list(CHAIN)
    world.until(NOON + 2400)
    assert world.called() == list(CHAIN), "the copy that looks again changes nothing"


def test_workflow_timing_paused_step_does_not_start_from_the_wait_queue(world: WorkflowWorld) -> None:
    world.add(job("", id="extract", completion=Completion.CALLBACK, overlap=Overlap.QUEUE, workflow="nightly"))
    other = world.run_now("extract")
    world.begin(graph_of(CHAIN), NOON + 90)
    assert world.state("extract") == (RunState.QUEUED, None)
    world.office.pause("extract")
    record = world.run("extract", other.name.local)
    assert record is not None
    world.tell(world.about(record, MessageKind.COMPLETE))
    world.until(NOON + 400)
    assert world.state("extract") == (RunState.QUEUED, None)
    world.office.resume("extract")
    world.until(NOON + 402)
    assert world.state("extract") == (W, None)


def test_workflow_timing_redriven_run_of_a_paused_job_in_the_wait_queue_has_few_messages(world: WorkflowWorld) -> None:
    waits = {"completion": Completion.CALLBACK, "completion_seconds": 5000, "retry": RetryPolicy(max_attempts=1)}
    world.add(job("", id="extract", overlap=Overlap.QUEUE, workflow="nightly", **waits))
    never(world, "extract")
    dead, active = world.run_now("extract"), world.run_now("extract")
    world.until(NOON + 5)
    record = world.run("extract", dead.name.local)
    assert record is not None
    world.tell(world.about(record, MessageKind.FAIL, error="no", code="no", retryable=False))
    record = world.run("extract", dead.name.local)
    assert record is not None
    assert record.state is D
    world.tell(world.about(record, MessageKind.REDRIVE))
    world.office.pause("extract")
    world.until(NOON + 3600)
    assert len(world.wheel) <= 6, "its copy, the watch, and deadlines"
    record = world.run("extract", active.name.local)
    assert record is not None
    world.tell(world.about(record, MessageKind.COMPLETE))
    world.until(NOON + 3700)
    assert world.state("extract", dead.name.local) == (D, "not_retryable")
    world.office.resume("extract")
    world.until(NOON + 3702)
    assert world.state("extract", dead.name.local) == (W, None)


def test_workflow_timing_step_with_a_planned_end_of_its_pause_starts_at_that_end(world: WorkflowWorld) -> None:
    world.add(job("", id="extract", workflow="nightly"))
    world.office.pause("extract", until=int(NOON) + 725)
    world.begin(graph_of(CHAIN), NOON + 90)
    world.until(NOON + 724)
    found = world.jobs.get("default", "extract")
    assert (found and found.state, world.called()) == (JobState.PAUSED, [])
    world.until(NOON + 726)
    assert world.called()[:1] == ["extract"]


def test_workflow_timing_next_run_in_the_wait_queue_starts_immediately_after_one_held_by_a_pause(
    world: WorkflowWorld,
) -> None:
    """The held run was called. That call is not on its way any more, so the end of the run sends the next one."""
    world.add(job("", id="extract", completion=Completion.CALLBACK, overlap=Overlap.QUEUE, workflow="nightly"))
    first = world.run_now("extract")
    world.begin(graph_of(CHAIN), NOON + 90)
    last = world.run_now("extract")
    world.until(NOON + 92)
    world.office.pause("extract")
    record = world.run("extract", first.name.local)
    assert record is not None
    world.tell(world.about(record, MessageKind.COMPLETE))
    world.until(NOON + 94)
    world.office.resume("extract")
    world.until(NOON + 96)
    assert world.state("extract") == (W, None)
    record = world.run("extract")
    assert record is not None
    world.tell(world.about(record, MessageKind.COMPLETE))
    world.until(NOON + 98)
    third = world.run("extract", last.name.local)
    assert third.state is W


def test_workflow_timing_paused_dead_step_is_redriven_after_its_resume(world: WorkflowWorld) -> None:
    world.answers.failing = {"extract", "transform"}
    world.begin(graph_of({"extract": (), "transform": ()}), NOON + 90)
    world.answers.failing = set()
    world.office.pause("extract")
    world.office.pause("transform")
    world.redrive("nightly")
    assert world.called() == ["extract", "transform"]
    assert world.state("nightly") == (W, None)
    world.office.resume("extract")
    world.office.resume("transform")
    world.until(world.clock.now() + 1)
    assert [world.state(name) for name in ("extract", "transform", "nightly")] == [(S, None)] * 3


def test_workflow_timing_paused_dead_step_redriven_separately_waits_for_its_resume(world: WorkflowWorld) -> None:
    world.answers.failing = {"extract"}
    world.begin(graph_of(CHAIN), NOON + 90)
    world.answers.failing = set()
    world.office.pause("extract")
    world.redrive("extract")
    assert world.called() == ["extract"]
    world.office.resume("extract")
    world.until(world.clock.now() + 2)
    assert world.called() == ["extract", *CHAIN]
    assert world.state("nightly") == (S, None)


@pytest.mark.parametrize("overlap", [Overlap.ALLOW, Overlap.QUEUE])
def test_workflow_timing_separate_run_of_a_paused_step_waits_for_the_resume(
    world: WorkflowWorld, overlap: Overlap
) -> None:
    world.add(job("", id="extract", overlap=overlap, workflow="nightly"))
    never(world, "extract")
    world.office.pause("extract")
    asked = world.run_now("extract")
    world.until(NOON + 900)
    assert world.called() == []
    world.office.resume("extract")
    world.until(NOON + 901)
    assert world.called() == ["extract"]
    world.until(NOON + 1300)
    record = world.run("extract", asked.name.local)
    assert (record is not None and record.state, world.called()) == (S, ["extract"])


def test_workflow_timing_separate_run_in_the_wait_queue_of_a_paused_step_stays_there(world: WorkflowWorld) -> None:
    world.add(job("", id="extract", completion=Completion.CALLBACK, overlap=Overlap.QUEUE, workflow="nightly"))
    never(world, "extract")
    first = world.run_now("extract")
    world.until(NOON + 10)
    second = world.run_now("extract")
    world.until(NOON + 20)
    world.office.pause("extract")
    record = world.run("extract", first.name.local)
    assert record is not None
    world.tell(world.about(record, MessageKind.COMPLETE))
    world.until(NOON + 400)
    assert world.called() == ["extract"]
    world.office.resume("extract")
    world.until(NOON + 402)
    waited = world.run("extract", second.name.local)
    assert waited.state is W


@pytest.mark.parametrize("until", [None, int(NOON) + 300])
def test_workflow_timing_run_that_a_pause_kept_from_the_wait_queue_starts_after_the_pause(
    world: WorkflowWorld, until: int | None
) -> None:
    """Its worker recorded that it waits, and failed before it put it in the wait queue."""
    world.add(job("", id="extract", completion=Completion.CALLBACK, overlap=Overlap.QUEUE, workflow="nightly"))
    never(world, "extract")
    first = world.run_now("extract")
    world.until(NOON + 10)
    world.wait_queues = around(world.wait_queues, enter=throttled(times=1))
    second = world.run_now("extract")
    world.work()
    assert world.state("extract", second.name.local) == (RunState.QUEUED, None)
    world.office.pause("extract", until=until)
    record = world.run("extract", first.name.local)
    assert record is not None
    world.tell(world.about(record, MessageKind.COMPLETE))
    world.until(NOON + 290)
    assert world.state("extract", second.name.local) == (RunState.QUEUED, None)
    if until is None:
        world.wheel.refuse = lambda message: message.job_id == "extract"
        world.office.resume("extract")
        world.wheel.refuse = lambda _: False
    world.until(NOON + 600)
    assert world.state("extract", second.name.local) == (W, None)


def test_workflow_timing_separate_run_of_a_paused_job_that_only_has_the_name_of_a_workflow_starts(
    world: WorkflowWorld,
) -> None:
    """The request that claimed the job has failed: until a minute after that, the job may still become a step."""
    world.add(job("", id="extract", overlap=Overlap.ALLOW, workflow="nightly", claimed_at=NOON - 30))
    never(world, "load")
    world.office.pause("extract")
    world.run_now("extract")
    world.until(NOON + 20)
    assert world.called() == []
    world.until(NOON + 60)
    assert world.called() == ["extract"]


def test_workflow_timing_separate_dead_run_of_a_paused_step_is_redriven_after_the_resume(world: WorkflowWorld) -> None:
    world.add(job("", id="extract", overlap=Overlap.ALLOW, workflow="nightly", retry=RetryPolicy(max_attempts=1)))
    never(world, "extract")
    world.answers.failing = {"extract"}
    asked = world.run_now("extract")
    world.until(NOON + 10)
    world.answers.failing = set()
    world.office.pause("extract")
    dead = world.run("extract", asked.name.local)
    assert dead.state is D
    world.tell(world.about(dead, MessageKind.REDRIVE))
    world.until(NOON + 600)
    assert world.called() == ["extract"]
    world.office.resume("extract")
    world.until(NOON + 601)
    assert world.called() == ["extract", "extract"]


def test_workflow_timing_resume_just_after_the_job_was_read_is_not_missed(world: WorkflowWorld) -> None:
    paused = {"state": JobState.PAUSED, "paused_at": NOON}
    world.add(job("", id="extract", overlap=Overlap.ALLOW, workflow="nightly", **paused))
    resumed = before(lambda: world.office.resume("extract"), times=1)  # just before its message is kept
    world.wait_queues = around(world.wait_queues, hold=resumed)
    world.begin(graph_of(CHAIN), NOON + 62)
    assert world.called() == list(CHAIN)
