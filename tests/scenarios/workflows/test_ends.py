"""A workflow that ends before its jobs: it is cancelled, its deadline comes, a job of it is paused."""

from duecourse.domain.jobs.job import Completion, JobState, Overlap
from duecourse.domain.runs.states import RunState
from duecourse.domain.targets.targets import Failed, Outcome
from duecourse.domain.workflows.graph import Rule
from duecourse.messages import MessageKind
from duecourse.ports import Call
from tests.support.jobs import NOON, job
from tests.support.workflow_world import CHAIN, INSTANT, WorkflowWorld
from tests.support.workflows import graph_of

S, D, K, C = RunState.SUCCEEDED, RunState.DEAD, RunState.SKIPPED, RunState.CANCELLED
LATER = {"not_before": "0 13 * * *"}


def test_workflow_end_cancelled_workflow_starts_no_further_step(world: WorkflowWorld) -> None:
    world.begin(graph_of(CHAIN, transform=LATER), NOON + 90)
    world.cancel("nightly")
    world.until(NOON + 3700)
    assert world.called() == ["extract"]
    assert world.state("nightly") == (C, "cancelled")
    assert world.state("transform") == (C, "workflow_over")
    assert world.state("load") is None


def test_workflow_end_repeated_cancellation_of_a_step_keeps_the_time_of_its_end(world: WorkflowWorld) -> None:
    world.begin(graph_of(CHAIN, transform=LATER), NOON + 90)
    world.cancel("nightly")
    world.until(NOON + 100)
    step = world.run("transform")
    assert (step.state, step.reason) == (C, "workflow_over")
    world.until(NOON + 200)
    world.tell(world.about(step, MessageKind.CANCEL, reason="workflow_over"))
    again = world.run("transform")
    assert (again.finished_at, again.fencing_token != step.fencing_token) == (step.finished_at, True)


def test_workflow_end_deadline_makes_the_workflow_dead_and_cancels_its_steps(world: WorkflowWorld) -> None:
    world.begin(graph_of(CHAIN, transform=LATER), NOON + 1000, deadline_seconds=600)
    run = world.run("nightly")
    assert (run.state, run.code) == (D, "workflow.deadline")
    assert world.state("transform") == (C, "workflow_over")
    assert [death.run.job_id for death in world.notices.deaths] == ["nightly"]


def test_workflow_end_workflow_ended_by_its_deadline_continues_after_a_redrive(world: WorkflowWorld) -> None:
    world.begin(graph_of(CHAIN, transform=LATER), NOON + 3300, deadline_seconds=600)
    world.redrive("nightly")
    world.until(NOON + 4000)
    assert world.called() == list(CHAIN)
    assert [world.state(name) for name in ("transform", "load")] == [(S, None)] * 2


def test_workflow_end_workflow_ended_by_its_deadline_stays_dead_although_its_last_step_succeeds_later(
    world: WorkflowWorld,
) -> None:
    beating = {"completion": Completion.CALLBACK, "heartbeat_seconds": 36_000, "completion_seconds": 36_000}
    world.add(job("", id="load", overlap=Overlap.ALLOW, **beating))
    world.begin(graph_of(CHAIN), NOON + 700, deadline_seconds=600)
    assert world.state("nightly") == (D, "not_retryable")
    late = world.run("load")
    assert (late.state, late.cancel_requested) == (RunState.WAITING, "workflow_over")
    world.tell(world.about(late, MessageKind.COMPLETE, result="done"))
    world.until(NOON + 800)
    assert world.state("load") == (S, None)
    assert world.state("nightly") == (D, "not_retryable")
    assert len(world.notices.deaths) == 1
    world.redrive("nightly")
    world.until(NOON + 900)
    assert world.state("nightly") == (S, None)


def test_workflow_end_includes_a_cancellation_request_to_an_active_step(world: WorkflowWorld) -> None:
    world.add(job("0 0 1 1 *", id="extract", completion=Completion.CALLBACK, overlap=Overlap.ALLOW))
    world.begin(graph_of(CHAIN), NOON + 90)
    assert world.state("extract") == (RunState.WAITING, None)
    world.cancel("nightly")
    assert world.state("extract") == (C, "workflow_over")


def test_workflow_end_error_says_that_a_failing_step_was_cancelled(world: WorkflowWorld) -> None:
    def cancelled(_: Call) -> Outcome:
        world.api.commands.cancel("default", f"extract.{INSTANT}")
        return Failed("not now", code="http.503")

    world.caller.answer = cancelled
    world.begin(graph_of(CHAIN), NOON + 90)
    assert world.state("extract") == (C, "cancelled")
    assert world.run("nightly").error == "failed: extract (cancelled)"


def test_workflow_end_cancellation_reaches_a_step_that_started_before_a_redrive(world: WorkflowWorld) -> None:
    for name in ("extract", "report"):
        world.add(job("", id=name, completion=Completion.CALLBACK, overlap=Overlap.ALLOW))
    world.answers.failing = {"extract"}
    world.begin(graph_of({"extract": (), "report": ("extract",)}, report={"when": Rule.ALL_DONE}), NOON + 90)
    assert world.state("report") == (RunState.WAITING, None)
    world.answers.failing = set()
    world.redrive("extract")
    assert world.state("extract") == (RunState.WAITING, None)
    world.cancel("nightly")
    world.until(NOON + 200)
    assert {name: world.state(name) for name in ("extract", "report")} == dict.fromkeys(
        ("extract", "report"), (RunState.CANCELLED, "workflow_over")
    )


def test_workflow_end_paused_step_holds_its_run_until_the_resume(world: WorkflowWorld) -> None:
    world.add(job("0 0 1 1 *", id="transform", overlap=Overlap.ALLOW, state=JobState.PAUSED, paused_at=NOON))
    world.begin(graph_of(CHAIN), NOON + 600)
    assert world.called() == ["extract"]
    assert world.state("nightly") == (RunState.WAITING, None)
    world.office.resume("transform")
    world.until(NOON + 1300)
    assert world.called() == list(CHAIN)
    assert world.state("nightly") == (S, None)


def test_workflow_end_paused_step_whose_start_is_a_dead_letter_starts_after_its_resume(world: WorkflowWorld) -> None:
    world.add(job("", id="transform", overlap=Overlap.ALLOW, workflow="nightly"))
    world.clock.set(NOON + 5)
    world.office.pause("transform")
    world.begin(graph_of(CHAIN), NOON + 70)
    world.wheel.dead_letters += world.wheel.hold_back(60)  # received too often: its lane was throttled
    assert [held.message.job_id for held in world.wheel.dead_letters] == ["transform"]
    world.reconcile()
    world.office.resume("transform")
    world.until(NOON + 1000)
    assert world.called() == list(CHAIN)
    assert world.state("nightly") == (S, None)


def test_workflow_end_step_that_may_not_overlap_waits_for_its_other_run_and_is_not_skipped(
    world: WorkflowWorld,
) -> None:
    world.add(job("0 0 1 1 *", id="extract", completion=Completion.CALLBACK, overlap=Overlap.SKIP))
    other = world.run_now("extract")
    world.begin(graph_of(CHAIN), NOON + 90)
    assert world.state("extract") == (RunState.QUEUED, None)
    record = world.run("extract", other.name.local)
    assert record is not None
    world.tell(world.about(record, MessageKind.COMPLETE, result="done"))
    world.until(NOON + 1200)
    assert world.state("extract") == (RunState.WAITING, None)


def test_workflow_end_step_that_misses_its_own_start_deadline_fails(world: WorkflowWorld) -> None:
    paused = {"state": JobState.PAUSED, "paused_at": NOON}
    world.add(job("0 0 1 1 *", id="extract", overlap=Overlap.ALLOW, start_deadline_seconds=60, **paused))
    world.begin(graph_of(CHAIN), NOON + 400)
    assert world.state("extract") == (K, "start_deadline")
    assert world.state("nightly") == (D, "steps_failed")


def test_workflow_end_duplicate_evaluation_changes_nothing(world: WorkflowWorld) -> None:
    world.begin(graph_of(CHAIN), NOON + 90)
    run = world.run("nightly")
    assert run is not None
    world.tell(world.about(run, MessageKind.EVALUATE))
    assert world.run("nightly") == run


def test_workflow_end_duplicate_start_after_the_end_of_the_workflow_changes_nothing(world: WorkflowWorld) -> None:
    world.begin(graph_of(CHAIN), NOON + 90)
    sent = [held.message for held in world.wheel.sent if held.message.job_id == "load"]
    world.tell(sent[0].again(nonce="again"))
    assert world.called() == list(CHAIN)
    assert [run.name.local for run in world.runs("load")] == [INSTANT]
