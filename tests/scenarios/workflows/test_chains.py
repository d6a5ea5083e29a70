"""Chains, lanes and seats.

- Jobs of a workflow run one after the other, each once, in names that bear the workflow's instant.
- Steps start in the lane that their job has now, whichever it had when the workflow was put.
- Steps of a workflow have seats, as long as no call of an earlier run of the workflow can be at work.
"""

from typing import Any

from duecourse.domain.jobs.job import Backoff, Lane, Overlap, RetryPolicy
from duecourse.domain.runs.overlap import Lock
from duecourse.domain.runs.states import RunState
from duecourse.domain.targets.targets import Failed, Returned
from duecourse.domain.workflows.check import workflow_fields
from duecourse.domain.workflows.graph import PART_STEPS, Graph, Rule
from duecourse.testing.faults import around, throttled
from duecourse.usecases.runs.requests import Later
from tests.support.jobs import NOON, job
from tests.support.one_run import ONCE
from tests.support.workflow_world import CHAIN, DIAMOND, INSTANT, WorkflowWorld
from tests.support.workflows import graph_of

S, D, K = RunState.SUCCEEDED, RunState.DEAD, RunState.SKIPPED


def test_workflow_chain_runs_in_order_and_its_workflow_succeeds(world: WorkflowWorld) -> None:
    world.begin(graph_of(CHAIN), NOON + 70)
    assert world.caller.runs == [f"{name}.{INSTANT}" for name in CHAIN]
    assert world.state("nightly") == (S, None)


def test_workflow_chain_join_waits_for_all_upstream_steps_and_runs_once(world: WorkflowWorld) -> None:
    world.begin(graph_of(DIAMOND), NOON + 70)
    assert world.called()[0] == "extract"
    assert sorted(world.called()[1:3]) == ["eu", "us"]
    assert world.called()[3:] == ["report"]
    assert world.state("nightly") == (S, None)


def test_workflow_chain_joins_150_steps_although_their_ends_fill_two_items(world: WorkflowWorld) -> None:
    wide = {f"part-{number:03d}": ("extract",) for number in range(PART_STEPS + 22)}
    world.begin(graph_of({"extract": (), **wide, "report": tuple(wide)}), NOON + 70)
    assert world.called()[0] == "extract"
    assert sorted(world.called()[1:-1]) == sorted(wide)
    assert world.called()[-1] == "report"
    assert world.state("nightly") == (S, None)


def test_workflow_chain_steps_after_a_failure_do_not_run_and_show_the_reason(world: WorkflowWorld) -> None:
    world.answers.failing = {"extract"}
    world.begin(graph_of(CHAIN), NOON + 90)
    assert [world.state(name) for name in ("transform", "load")] == [(K, "upstream_failed")] * 2
    assert world.state("nightly") == (D, "steps_failed")
    run = world.run("nightly")
    assert (run.code, run.error) == ("workflow.failed", "failed: extract (http.500)")


def test_workflow_chain_failure_is_announced_once_by_the_workflow(world: WorkflowWorld) -> None:
    world.answers.failing = {"eu"}
    world.begin(graph_of(DIAMOND), NOON + 90)
    assert [death.run.job_id for death in world.notices.deaths] == ["nightly"]


def test_workflow_chain_step_that_may_fail_does_not_fail_its_workflow(world: WorkflowWorld) -> None:
    world.answers.failing = {"us"}
    world.begin(graph_of(DIAMOND, us={"may_fail": True}, report={"when": Rule.ALL_DONE}), NOON + 90)
    assert world.state("report") == (S, None)
    assert world.state("nightly") == (S, None)


def test_workflow_chain_clean_up_after_a_failure_does_not_hide_it(world: WorkflowWorld) -> None:
    world.answers.failing = {"extract"}
    graph = graph_of(
        {"extract": (), "load": ("extract",), "alert": ("extract",), "tidy": ("load", "alert")},
        alert={"when": Rule.ANY_FAILURE},
        tidy={"when": Rule.ALL_DONE},
    )
    world.begin(graph, NOON + 90)
    assert world.called() == ["extract", "alert", "tidy"]
    assert world.state("nightly") == (D, "steps_failed")


def test_workflow_chain_step_for_failures_is_skipped_without_a_failure(world: WorkflowWorld) -> None:
    graph = graph_of({"extract": (), "alert": ("extract",)}, alert={"when": Rule.ANY_FAILURE})
    world.begin(graph, NOON + 90)
    assert world.state("alert") == (K, "not_needed")
    assert world.state("nightly") == (S, None)


def test_workflow_chain_step_outside_its_days_is_skipped_with_its_downstream_steps(world: WorkflowWorld) -> None:
    graph = graph_of({"report": (), "weekly": ("report",), "mail": ("weekly",)}, weekly={"only": "1 12 * * 1"})
    world.begin(graph, NOON + 90)  # a Saturday
    assert world.state("weekly") == (K, "not_its_time")
    assert world.state("mail") == (K, "upstream_skipped")
    assert world.state("nightly") == (S, None)


def test_workflow_chain_step_with_its_own_time_starts_at_that_time_and_not_before(world: WorkflowWorld) -> None:
    graph = graph_of({"extract": (), "report": ("extract",)}, report={"not_before": "0 13 * * *"})
    world.begin(graph, NOON + 3599)
    assert world.called() == ["extract"]
    world.until(NOON + 3605)
    assert world.caller.calls[-1] == (f"report.{INSTANT}", 1, NOON + 3600)


def test_workflow_chain_immediate_run_of_a_step_runs_only_that_step(world: WorkflowWorld) -> None:
    world.begin(graph_of(CHAIN), NOON + 90)
    made = world.run_now("extract")
    world.until(NOON + 100)
    assert world.caller.runs[3:] == [str(made.name)]


def test_workflow_chain_delayed_run_of_a_job_that_became_a_step_runs_only_that_step_at_its_time(
    world: WorkflowWorld,
) -> None:
    world.add(job("", id="extract"))
    made = world.office.run(job_id="extract", later=Later(delay_seconds=7200))
    world.begin(graph_of(CHAIN), NOON + 7199)
    assert world.called() == list(CHAIN)
    world.until(NOON + 7205)
    assert world.caller.calls[3:] == [(str(made.name), 1, NOON + 7200)]
    assert world.state("nightly") == (S, None)


def test_workflow_chain_needs_no_index_repair(world: WorkflowWorld) -> None:
    world.begin(graph_of(CHAIN), NOON + 90)
    report = world.repair()
    assert [event.action for event in report.events] == ["index_checked"]
    assert {name: count for name, count in report.counts.items() if count and name != "EntriesChecked"} == {}


def test_workflow_chain_starts_in_its_first_attempt_although_its_store_is_throttled(world: WorkflowWorld) -> None:
    refused = throttled(times=5)
    world.workflows = around(world.workflows, read=refused)
    world.begin(graph_of(CHAIN), NOON + 180, retry=ONCE)
    assert refused.hits == 5
    run = world.run("nightly")
    assert (run.state, run.attempt) == (S, 1)


def test_workflow_chain_step_moved_to_another_lane_starts_there(world: WorkflowWorld) -> None:
    world.add(job("", id="transform", overlap=Overlap.ALLOW, priority=Lane.HIGH, workflow="nightly", seated=False))
    graph = graph_of(CHAIN, transform={"lane": Lane.LOW, "bulk": True})
    world.begin(graph, NOON + 90)
    assert world.called() == list(CHAIN)
    starts = [(each.message.lane, each.message.bulk) for each in world.wheel.sent if each.message.job_id == "transform"]
    assert starts == [(Lane.LOW, True), (Lane.HIGH, True)]
    assert [run.name.local for run in world.runs("transform")] == [INSTANT]


def test_workflow_chain_step_in_its_lane_costs_no_further_message(world: WorkflowWorld) -> None:
    world.begin(graph_of(CHAIN), NOON + 90)
    assert [each.message.job_id for each in world.wheel.sent] == ["nightly", "nightly", *CHAIN, "nightly"]


EVERY_MINUTE = "* 12 21 11 *"
LATER = {"not_before": "0 13 * * *"}


def begin(world: WorkflowWorld, graph: Graph, until: float, **fields: Any) -> None:
    """Begin a workflow whose steps have seats, and a second attempt."""
    twice = RetryPolicy(max_attempts=2, backoff=Backoff.FIXED, min_seconds=600, max_seconds=600)
    for step in graph.steps:
        world.add(job("", id=step.id, overlap=Overlap.ALLOW, workflow="nightly", seated=True, retry=twice))
    world.begin(graph, until, **fields)


def in_bulk(world: WorkflowWorld, job_id: str) -> list[int]:
    """The minutes after NOON whose runs of a job went through the bulk queue."""
    due = {each.message.due for each in world.wheel.sent if each.message.job_id == job_id and each.message.bulk}
    return sorted((at - int(NOON)) // 60 for at in due)


def cancel(world: WorkflowWorld, minute: int) -> None:
    """Cancel the workflow's run of that minute after NOON."""
    world.api.commands.cancel("default", f"nightly.20261121T120{minute}00Z")
    world.work()


def test_workflow_chain_steps_use_their_seats_and_cost_no_further_message(world: WorkflowWorld) -> None:
    begin(world, graph_of(CHAIN), NOON + 90)
    assert world.called() == list(CHAIN)
    assert [each.message.job_id for each in world.wheel.sent] == ["nightly", "nightly", *CHAIN, "nightly"]
    assert not any(each.message.bulk for each in world.wheel.sent)


def test_workflow_chain_steps_of_every_run_use_their_seats_if_each_run_ends_by_its_steps(world: WorkflowWorld) -> None:
    world.answers.failing.add("transform")
    begin(world, graph_of(CHAIN), NOON + 330, schedule=EVERY_MINUTE)
    assert world.called().count("extract") == 5
    assert not any(each.message.bulk for each in world.wheel.sent)


def test_workflow_chain_steps_use_the_bulk_queue_while_a_call_of_a_cancelled_run_may_be_active(
    world: WorkflowWorld,
) -> None:
    begin(world, graph_of(CHAIN, transform=LATER), NOON + 90, schedule=EVERY_MINUTE)
    for minute in range(1, 6):
        cancel(world, minute)
        world.until(NOON + 60 * minute + 90)
    assert world.called() == ["extract"] * 6
    assert in_bulk(world, "extract") == [2, 3, 4, 5, 6], "the run before was cancelled less than 130 s ago"


def test_workflow_chain_steps_use_their_seats_again_once_the_calls_of_a_cancelled_run_have_ended(
    world: WorkflowWorld,
) -> None:
    graph = graph_of(CHAIN, transform=LATER)
    begin(world, graph, NOON + 90, schedule="1,2,4 12 21 11 *")
    cancel(world, 1)
    world.until(NOON + 150)
    cancel(world, 2)
    world.clock.set(NOON + 290)
    world.until(NOON + 330)
    assert in_bulk(world, "extract") == [2]


def test_workflow_chain_runs_after_a_cancelled_one_use_the_bulk_queue_until_its_calls_have_ended(
    world: WorkflowWorld,
) -> None:
    outcomes = [Failed("busy")]
    world.caller.answer = lambda call: outcomes.pop() if call.job.id == "load" and outcomes else Returned()
    begin(world, graph_of(CHAIN), NOON + 90, schedule="1,2,3,4 12 21 11 *")
    cancel(world, 1)
    world.until(NOON + 270)
    ends = [world.state("nightly", f"20261121T120{minute}00Z") for minute in (1, 2, 3, 4)]
    assert ends == [(RunState.CANCELLED, "cancelled"), *[(RunState.SUCCEEDED, None)] * 3]
    assert [in_bulk(world, step) for step in CHAIN] == [[2, 3]] * 3, "until 130 s after the cancellation"


def test_workflow_chain_steps_use_the_bulk_queue_if_the_lock_of_a_cancelled_run_was_not_released(
    world: WorkflowWorld,
) -> None:
    begin(world, graph_of(CHAIN, transform=LATER), NOON + 90, schedule="1,2 12 21 11 *")
    cancel(world, 1)
    held, free = Lock(INSTANT, NOON + 91, rank=2), world.run_store.lock("default", "nightly", Lock("x", NOON), None)
    assert free is not None
    assert world.run_store.lock("default", "nightly", held, free) is None
    world.until(NOON + 150)
    assert world.called() == ["extract"] * 2
    assert in_bulk(world, "extract") == [2]


def test_workflow_chain_redriven_steps_use_the_bulk_queue(world: WorkflowWorld) -> None:
    world.answers.failing.add("transform")
    begin(world, graph_of(CHAIN), NOON + 90)
    assert not any(each.message.bulk for each in world.wheel.sent)
    world.answers.failing.clear()
    world.redrive("transform")
    assert world.called() == ["extract", "transform", "transform", "load"]
    assert in_bulk(world, "transform") == [1]


def test_workflow_chain_steps_use_the_bulk_queue_if_the_runs_of_their_workflow_may_overlap(
    world: WorkflowWorld,
) -> None:
    graph = graph_of(CHAIN)
    for step in graph.steps:
        world.add(job("", id=step.id, overlap=Overlap.ALLOW, workflow="nightly", seated=True))
    ref = world.workflows.put_graph("default", "nightly", graph)
    world.add(job("1 12 21 11 *", id="nightly", overlap=Overlap.ALLOW, **workflow_fields(ref.graph)))
    world.until(NOON + 90)
    assert world.called() == list(CHAIN)
    assert all(in_bulk(world, step) == [1] for step in CHAIN)
