"""A workflow whose jobs failed goes on: a job is redriven, the workflow is, or a part of it is run again."""

import pytest

from duecourse.domain.jobs.job import Completion, Overlap
from duecourse.domain.runs.states import RunState
from duecourse.domain.targets.targets import Failed, Outcome, Returned
from duecourse.domain.workflows.check import workflow_fields
from duecourse.domain.workflows.graph import Rule
from duecourse.messages import MessageKind
from duecourse.ports import Call
from duecourse.usecases.jobs.job_errors import KeyReusedError
from duecourse.usecases.runs.commands import NothingToRedriveError
from duecourse.usecases.runs.rerun import NoStepError, NoWorkflowRunError, RunNotEndedError
from tests.support.jobs import NOON, job
from tests.support.workflow_world import CHAIN, DIAMOND, INSTANT, WorkflowWorld
from tests.support.workflows import graph_of
from tests.support.world import ANNA

S, D, K, W = RunState.SUCCEEDED, RunState.DEAD, RunState.SKIPPED, RunState.WAITING


def failed(world: WorkflowWorld, *failing: str) -> None:
    """A diamond in which these jobs failed permanently; they would succeed now."""
    world.answers.failing = set(failing)
    world.begin(graph_of(DIAMOND), NOON + 90)
    assert world.state("nightly") == (D, "steps_failed")
    world.answers.failing = set()


def test_workflow_recovery_by_redrive_of_a_dead_step_continues_the_workflow_to_its_end(world: WorkflowWorld) -> None:
    failed(world, "eu")
    world.redrive("eu")
    world.until(NOON + 100)
    assert world.called() == ["extract", "eu", "us", "eu", "report"]
    assert [world.state(name) for name in ("eu", "report", "nightly")] == [(S, None)] * 3


def test_workflow_recovery_by_redrive_of_one_of_two_dead_steps_leaves_the_workflow_dead(world: WorkflowWorld) -> None:
    failed(world, "eu", "us")
    world.redrive("eu")
    world.until(NOON + 100)
    assert world.state("report") == (K, "upstream_failed")
    assert world.state("nightly") == (D, "steps_failed")
    world.redrive("us")
    world.until(NOON + 110)
    assert [world.state(name) for name in ("report", "nightly")] == [(S, None)] * 2


def test_workflow_recovery_by_redrive_of_a_dead_workflow_redrives_its_dead_steps(world: WorkflowWorld) -> None:
    failed(world, "eu", "us")
    world.redrive("nightly")
    world.until(NOON + 100)
    assert world.called()[3:] == ["eu", "us", "report"]
    assert world.state("nightly") == (S, None)


def test_workflow_recovery_by_console_redrive_restarts_steps_and_workflow(world: WorkflowWorld) -> None:
    failed(world, "eu")
    world.until(NOON + 200)
    assert {held.message.job_id for held in world.wheel.dead_letters} == {"eu", "nightly"}
    world.wheel.redrive()
    world.until(NOON + 300)
    assert [world.state(name) for name in ("eu", "report", "nightly")] == [(S, None)] * 3
    assert world.called().count("report") == 1


def test_workflow_recovery_step_that_dies_again_ends_its_workflow_again(world: WorkflowWorld) -> None:
    failed(world, "eu")
    world.answers.failing = {"eu"}
    world.redrive("nightly")
    world.until(NOON + 200)
    assert world.called().count("eu") == 2
    assert world.state("nightly") == (D, "steps_failed")
    assert [death.run.job_id for death in world.notices.deaths] == ["nightly"] * 2


def test_workflow_recovery_rerun_runs_the_named_steps_and_their_downstream_steps(world: WorkflowWorld) -> None:
    failed(world, "eu")
    new = world.rerun(["eu"])
    world.until(NOON + 110)
    local = new.name.local
    assert local.startswith(f"{INSTANT}.m")
    assert world.caller.runs[3:] == [f"eu.{local}", f"report.{local}"]
    assert world.state("nightly", local) == (S, None)
    assert world.state("nightly") == (D, "steps_failed"), "history stays"


def test_workflow_recovery_rerun_of_a_rerun_takes_over_the_results_of_both_runs(world: WorkflowWorld) -> None:
    failed(world, "eu", "us")
    world.answers.failing = {"us"}
    first = world.rerun(["eu"])
    world.until(NOON + 110)
    assert world.state("report", first.name.local) == (K, "upstream_failed"), "us counts as it ended"
    dead = world.run("nightly", first.name.local)
    assert (dead.state, dead.error) == (D, f"failed: us (failed in nightly.{INSTANT})")
    world.answers.failing = set()
    second = world.rerun(["us"], first.name.local)
    world.until(NOON + 120)
    assert [each for each in world.caller.runs if second.name.local in each] == [
        f"us.{second.name.local}",
        f"report.{second.name.local}",
    ]


def test_workflow_recovery_rerun_starts_the_named_steps_whatever_the_state_of_their_upstream_steps(
    world: WorkflowWorld,
) -> None:
    world.answers.failing = {"extract"}
    world.begin(graph_of(CHAIN), NOON + 90)
    new = world.rerun(["load"])
    world.until(NOON + 100)
    assert world.caller.runs[1:] == [f"load.{new.name.local}"]
    assert world.state("load", new.name.local) == (S, None)
    assert world.state("nightly", new.name.local) == (D, "steps_failed"), "extract is dead"


@pytest.mark.parametrize("ended_by", ["its failure", "its cancellation"])
def test_workflow_recovery_rerun_is_rejected_while_a_redriven_step_of_the_run_is_active(
    world: WorkflowWorld, ended_by: str
) -> None:
    if ended_by == "its failure":
        failed(world, "eu")
    else:
        world.answers.failing = {"extract"}
        world.begin(graph_of(CHAIN, transform={"when": Rule.ALL_DONE, "not_before": "0 13 * * *"}), NOON + 90)
        world.cancel("nightly")
        assert world.state("nightly") == (RunState.CANCELLED, "cancelled")
    again = "eu" if ended_by == "its failure" else "extract"
    refused: list[RunNotEndedError] = []

    def tried(call: Call) -> Outcome:
        if call.job.id == again:
            with pytest.raises(RunNotEndedError) as error:
                world.rerun(["us" if again == "eu" else "load"])
            refused.append(error.value)
        return Returned(None)

    world.caller.answer = tried
    world.redrive(again)
    world.until(NOON + 100)
    assert len(refused) == 1
    assert world.state(again) == (S, None)
    assert world.rerun(["us" if again == "eu" else "load"]).state is RunState.QUEUED, "it has ended"


@pytest.mark.parametrize("named", ["eu", "us"])
def test_workflow_recovery_rerun_is_possible_after_a_redrive_was_cancelled(world: WorkflowWorld, named: str) -> None:
    failed(world, "eu")

    def cancelled(call: Call) -> Outcome:
        if call.job.id == "eu":
            world.api.commands.cancel("default", f"nightly.{INSTANT}")
        return Failed("not now")

    world.caller.answer = cancelled
    world.redrive("nightly")
    world.until(NOON + 200)
    stopped = (RunState.CANCELLED, "workflow_over")
    assert [world.state(name) for name in ("nightly", "eu", "report")] == [
        (RunState.CANCELLED, "cancelled"),
        stopped,
        stopped,
    ]
    world.caller.answer = world.answers
    new = world.rerun([named])
    world.until(NOON + 300)
    assert world.state(named, new.name.local) == (S, None)
    ran = [each for each in world.caller.runs if new.name.local in each]
    assert len(ran) == (2 if named == "eu" else 1), "eu counts as stopped by a failure in a rerun of us"


def test_workflow_recovery_rerun_ends_while_a_carried_over_step_runs_again_in_the_first_run(
    world: WorkflowWorld,
) -> None:
    world.add(job("", id="us", completion=Completion.CALLBACK, overlap=Overlap.ALLOW, workflow="nightly"))
    world.begin(graph_of(DIAMOND), NOON + 90)
    world.tell(world.about(world.run("us"), MessageKind.FAIL, error="no", retryable=False))
    world.work()
    assert world.state("nightly") == (D, "steps_failed")
    new = world.rerun(["eu"])
    world.redrive("us")
    world.until(NOON + 110)
    assert world.state("us") == (W, None)
    ended = world.run("nightly", new.name.local)
    assert ended is not None
    assert (ended.state, ended.error) == (D, f"failed: us (failed in nightly.{INSTANT})")


def test_workflow_recovery_redrive_without_a_dead_step_is_rejected(world: WorkflowWorld) -> None:
    failed(world, "eu", "us")
    world.answers.failing = set()
    local = world.rerun(["eu"]).name.local
    world.until(NOON + 110)
    assert world.state("nightly", local) == (D, "steps_failed")
    with pytest.raises(NothingToRedriveError) as refused:
        world.api.commands.redrive("default", f"nightly.{local}")
    assert refused.value.failed == [f"us (failed in nightly.{INSTANT})"]
    world.redrive("us")
    world.until(NOON + 120)
    assert world.state("us") == (S, None)
    with pytest.raises(NothingToRedriveError):  # the rerun keeps the earlier outcome of us
        world.api.commands.redrive("default", f"nightly.{local}")


def test_workflow_recovery_redrive_with_a_dead_step_beside_a_carried_over_failure_redrives_the_step(
    world: WorkflowWorld,
) -> None:
    failed(world, "eu", "us")
    world.answers.failing = {"eu"}
    local = world.rerun(["eu"]).name.local
    world.until(NOON + 110)
    world.answers.failing = set()
    world.api.commands.redrive("default", f"nightly.{local}")
    world.until(NOON + 120)
    assert world.state("eu", local) == (S, None)
    ended = world.run("nightly", local)
    assert ended is not None
    assert (ended.state, ended.error) == (D, f"failed: us (failed in nightly.{INSTANT})")


def test_workflow_recovery_redrive_of_a_run_with_a_cancelled_step_is_rejected(world: WorkflowWorld) -> None:
    world.add(job("", id="extract", completion=Completion.CALLBACK, overlap=Overlap.ALLOW, workflow="nightly"))
    world.begin(graph_of(CHAIN), NOON + 90)
    world.cancel("extract")
    assert world.state("nightly") == (D, "steps_failed")
    with pytest.raises(NothingToRedriveError) as refused:
        world.redrive("nightly")
    assert refused.value.failed == ["extract (cancelled)"]


def test_workflow_recovery_rerun_applies_every_rule_to_failures_that_it_takes_over(world: WorkflowWorld) -> None:
    graph = graph_of(
        {
            "extract": (),
            "again": (),
            "alert": ("extract", "again"),
            "quiet": ("extract", "again"),
            "left": ("extract",),
        },
        extract={"may_fail": True},
        alert={"when": Rule.ANY_FAILURE},
        quiet={"when": Rule.NONE_FAILED},
    )
    world.answers.failing = {"extract", "again"}
    world.begin(graph, NOON + 90)
    world.answers.failing = set()
    local = world.rerun(["again"]).name.local
    world.until(NOON + 100)
    assert world.state("alert", local) == (S, None)
    assert world.state("quiet", local) == (K, "upstream_failed")
    assert world.state("nightly", local) == (S, None), "extract may fail"


def test_workflow_recovery_rerun_with_the_same_key_is_one_run(world: WorkflowWorld) -> None:
    failed(world, "eu")
    once, again = world.rerun(["eu"], key="k"), world.rerun(["eu"], key="k")
    assert once.name == again.name
    world.until(NOON + 110)
    assert world.called()[3:] == ["eu", "report"]
    with pytest.raises(KeyReusedError):
        world.rerun(["us"], key="k")


def test_workflow_recovery_rerun_that_has_not_finished_is_announced_at_its_deadline(world: WorkflowWorld) -> None:
    world.answers.failing = {"extract"}
    world.add(job("", id="load", workflow="nightly", completion=Completion.CALLBACK))
    world.begin(graph_of({"extract": (), "load": ("extract",)}), NOON + 90, finish_by=300)
    world.answers.failing = set()
    new = world.rerun(["extract"])
    world.until(NOON + 389)
    assert world.notices.deadlines == []
    world.until(NOON + 391)
    assert [each.run.name for each in world.notices.deadlines] == [new.name]


def test_workflow_recovery_queued_rerun_of_an_old_run_is_found(world: WorkflowWorld) -> None:
    failed(world, "eu")
    world.clock.advance(20 * 86_400)
    new = world.rerun(["eu"])
    found = world.api.runs.get("default", new.run_id)
    assert (found.state, found.due, found.workflow) == (RunState.QUEUED, new.due, new.workflow)
    assert found.due == int(NOON + 90) + 20 * 86_400


def test_workflow_recovery_rerun_that_is_repeated_after_its_record_has_expired_does_not_start_again(
    world: WorkflowWorld,
) -> None:
    failed(world, "eu")
    world.rerun(["eu"], key="k")
    world.until(NOON + 110)
    new = world.rerun(["eu"], key="k")
    assert new.state is S
    world.delete_record("nightly", new.name.local)
    world.clock.advance(15 * 86_400)
    sent = len(world.wheel.sent)
    assert world.rerun(["eu"], key="k").name == new.name
    assert len(world.wheel.sent) == sent


def test_workflow_recovery_rerun_error_names_the_reason(world: WorkflowWorld) -> None:
    world.begin(graph_of(CHAIN, load={"not_before": "0 13 * * *"}), NOON + 90)
    with pytest.raises(RunNotEndedError):
        world.rerun(["load"])
    world.until(NOON + 3610)
    with pytest.raises(NoStepError) as unknown:
        world.rerun(["load", "lode"])
    assert unknown.value.names == {1: "lode"}
    with pytest.raises(NoWorkflowRunError):
        world.api.reruns.rerun("default", f"load.{INSTANT}", ["load"], ANNA)


def test_workflow_recovery_rerun_applies_the_day_restrictions_of_the_first_run(world: WorkflowWorld) -> None:
    graph = graph_of({"report": (), "weekly": ("report",)}, weekly={"only": "1 12 * * 1", "when": Rule.ALL_DONE})
    world.begin(graph, NOON + 90)
    new = world.rerun(["report"])
    world.until(NOON + 100)
    assert world.state("weekly", new.name.local) == (K, "not_its_time")


def test_workflow_recovery_redrive_with_initially_rejected_messages_still_redrives_the_dead_steps(
    world: WorkflowWorld,
) -> None:
    failed(world, "eu")
    refusing = [True]
    world.wheel.refuse = lambda message: message.job_id == "eu" and refusing[0]
    world.redrive("nightly")
    assert world.state("nightly") == (RunState.RETRYING, None)
    refusing.clear()
    refusing.append(False)
    world.until(NOON + 300)
    assert [world.state(name) for name in ("eu", "report", "nightly")] == [(S, None)] * 3


def test_workflow_recovery_redrive_with_initially_rejected_messages_redrives_each_step_once(
    world: WorkflowWorld,
) -> None:
    failed(world, "us", "eu")
    world.answers.failing = {"us"}
    refusing = [True]
    world.wheel.refuse = lambda message: message.job_id == "eu" and refusing[0]
    world.redrive("nightly")
    assert world.state("nightly") == (RunState.RETRYING, None)
    assert world.called().count("us") == 2
    refusing[0] = False
    world.until(NOON + 300)
    assert [world.called().count(name) for name in ("us", "eu")] == [2, 2]
    assert world.state("nightly") == (D, "steps_failed")
    world.redrive("nightly")
    world.until(NOON + 600)
    assert [world.called().count(name) for name in ("us", "eu")] == [3, 2]


def test_workflow_recovery_redrive_of_one_step_restarts_no_other_dead_step(world: WorkflowWorld) -> None:
    failed(world, "eu", "us")
    world.answers.failing = {"eu", "us"}
    world.redrive("nightly")
    world.until(NOON + 200)
    assert [world.called().count(name) for name in ("eu", "us")] == [2, 2]
    world.answers.failing = set()
    world.redrive("eu")
    world.until(NOON + 300)
    assert [world.called().count(name) for name in ("eu", "us")] == [3, 2]
    assert world.state("nightly") == (D, "steps_failed")


def test_workflow_recovery_late_evaluation_does_not_end_a_redrive_with_initially_rejected_messages(
    world: WorkflowWorld,
) -> None:
    failed(world, "eu")
    refusing = [True]
    world.wheel.refuse = lambda message: message.job_id == "eu" and refusing[0]
    world.redrive("nightly")
    run = world.run("nightly")
    assert run.state is RunState.RETRYING
    world.tell(world.about(run, MessageKind.EVALUATE))
    assert world.state("nightly") == (RunState.RETRYING, None)
    refusing[0] = False
    world.until(NOON + 300)
    assert [world.state(name) for name in ("eu", "report", "nightly")] == [(S, None)] * 3


def test_workflow_recovery_redriven_step_continues_its_workflow_once_the_next_run_has_ended(
    world: WorkflowWorld,
) -> None:
    world.answers.failing = {"eu"}
    world.begin(graph_of({"extract": (), "eu": ("extract",), "report": ("eu",)}), NOON + 90)
    assert world.state("nightly") == (D, "steps_failed")
    world.answers.failing = set()
    holder = world.run_now("nightly")
    world.wheel.refuse = lambda message: message.suffix == holder.suffix and message.job_id == "report"
    world.until(NOON + 100)
    assert world.state("nightly", holder.name.local) == (RunState.WAITING, None), "it has the lock"
    world.redrive("eu")
    world.until(NOON + 110)
    assert world.state("eu") == (S, None)
    assert world.state("nightly") == (D, "steps_failed"), "it waits for the other run"
    world.wheel.refuse = lambda _: False
    world.until(NOON + 1200)
    assert world.state("nightly", holder.name.local) == (S, None)
    assert [world.state(name) for name in ("report", "nightly")] == [(S, None)] * 2


def test_workflow_recovery_rerun_of_a_step_that_has_become_a_workflow_fails_immediately(world: WorkflowWorld) -> None:
    world.answers.failing = {"load"}
    world.begin(graph_of(CHAIN), NOON + 90)
    load = world.jobs.get("default", "load")
    assert load is not None
    assert world.jobs.delete(load, deleted_at=world.clock.now())
    world.clock.set(NOON + 100)
    ref = world.workflows.put_graph("default", "load", graph_of({"extract": ()}))
    world.add(job("", id="load", at=world.clock.now(), **workflow_fields(ref.graph)))
    again = world.rerun(["load"]).name.local
    world.until(NOON + 130)
    assert world.state("load", again) == (K, "deleted")
    assert world.state("nightly", again) == (D, "steps_failed")


def test_workflow_recovery_rerun_that_uses_an_expired_result_fails(world: WorkflowWorld) -> None:
    world.answers.results = {"extract": {"rows": 3}}
    payload = "{{upstream.extract.result.rows}}"
    world.add(job("", id="transform", overlap=Overlap.ALLOW, payload=payload, workflow="nightly"))
    world.begin(graph_of(CHAIN), NOON + 90)
    world.delete_record("extract")
    again = world.rerun(["transform"]).name.local
    world.until(NOON + 130)
    run = world.run("transform", again)
    assert (run.state, run.code) == (D, "upstream_result")
    assert run.error == f"the record of extract.{INSTANT} has expired"


def test_workflow_recovery_step_that_starts_after_a_result_has_expired_fails(world: WorkflowWorld) -> None:
    world.answers.results = {"extract": {"rows": 3}}
    payload = "{{upstream.extract.result.rows}}"
    world.add(job("", id="transform", overlap=Overlap.ALLOW, payload=payload, workflow="nightly"))
    world.begin(graph_of(CHAIN, transform={"not_before": "5 12 * * *"}), NOON + 90)
    world.delete_record("extract")
    world.until(NOON + 400)
    run = world.run("transform")
    assert (run.state, run.code) == (D, "upstream_result")
    assert run.error == f"the record of extract.{INSTANT} has expired"
