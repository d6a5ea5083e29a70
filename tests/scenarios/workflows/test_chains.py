"""Jobs of a workflow run one after the other, each once, in names that bear the workflow's instant."""

from __future__ import annotations

from duecourse.domain.runs.states import RunState
from duecourse.domain.workflows.graph import PART_MEMBERS, Rule
from tests.support.faulty import ThrottledStore
from tests.support.jobs import NOON
from tests.support.one_run import ONCE
from tests.support.workflow_world import CHAIN, DIAMOND, INSTANT, WorkflowWorld
from tests.support.workflows import graph_of

S, D, K = RunState.SUCCEEDED, RunState.DEAD, RunState.SKIPPED


def test_a_chain_runs_in_its_order_and_its_workflow_succeeds(world: WorkflowWorld) -> None:
    world.begin(graph_of(CHAIN), NOON + 70)
    assert world.caller.runs == [f"{name}.{INSTANT}" for name in CHAIN]
    assert world.state("nightly") == (S, None)


def test_a_join_waits_for_all_before_it_and_runs_once(world: WorkflowWorld) -> None:
    world.begin(graph_of(DIAMOND), NOON + 70)
    assert world.called()[0] == "extract"
    assert sorted(world.called()[1:3]) == ["eu", "us"]
    assert world.called()[3:] == ["report"]
    assert world.state("nightly") == (S, None)


def test_a_hundred_and_fifty_jobs_join_in_one_though_their_ends_fill_two_items(world: WorkflowWorld) -> None:
    wide = {f"part-{number:03d}": ("extract",) for number in range(PART_MEMBERS + 22)}
    world.begin(graph_of({"extract": (), **wide, "report": tuple(wide)}), NOON + 70)
    assert world.called()[0] == "extract"
    assert sorted(world.called()[1:-1]) == sorted(wide)
    assert world.called()[-1] == "report"
    assert world.state("nightly") == (S, None)


def test_what_comes_after_a_failure_does_not_run_and_says_why(world: WorkflowWorld) -> None:
    world.answers.failing = {"extract"}
    world.begin(graph_of(CHAIN), NOON + 90)
    assert [world.state(name) for name in ("transform", "load")] == [(K, "upstream_failed")] * 2
    assert world.state("nightly") == (D, "members_failed")
    run = world.run("nightly")
    assert run is not None
    assert (run.code, run.error) == ("workflow.failed", "failed: extract (http.500)")


def test_a_failure_is_announced_once_by_the_workflow(world: WorkflowWorld) -> None:
    world.answers.failing = {"eu"}
    world.begin(graph_of(DIAMOND), NOON + 90)
    assert [death.run.job_id for death in world.notices.deaths] == ["nightly"]


def test_a_job_that_may_fail_does_not_fail_its_workflow(world: WorkflowWorld) -> None:
    world.answers.failing = {"us"}
    world.begin(graph_of(DIAMOND, us={"may_fail": True}, report={"when": Rule.ALL_DONE}), NOON + 90)
    assert world.state("report") == (S, None)
    assert world.state("nightly") == (S, None)


def test_a_clean_up_after_a_failure_does_not_hide_it(world: WorkflowWorld) -> None:
    world.answers.failing = {"extract"}
    graph = graph_of(
        {"extract": (), "load": ("extract",), "alert": ("extract",), "tidy": ("load", "alert")},
        alert={"when": Rule.ANY_FAILURE},
        tidy={"when": Rule.ALL_DONE},
    )
    world.begin(graph, NOON + 90)
    assert world.called() == ["extract", "alert", "tidy"]
    assert world.state("nightly") == (D, "members_failed")


def test_a_job_for_failures_is_skipped_where_nothing_failed(world: WorkflowWorld) -> None:
    graph = graph_of({"extract": (), "alert": ("extract",)}, alert={"when": Rule.ANY_FAILURE})
    world.begin(graph, NOON + 90)
    assert world.state("alert") == (K, "not_needed")
    assert world.state("nightly") == (S, None)


def test_a_job_whose_day_it_is_not_is_skipped_and_what_comes_after_it_too(world: WorkflowWorld) -> None:
    graph = graph_of({"report": (), "weekly": ("report",), "mail": ("weekly",)}, weekly={"only": "1 12 * * 1"})
    world.begin(graph, NOON + 90)  # a Saturday
    assert world.state("weekly") == (K, "not_its_time")
    assert world.state("mail") == (K, "upstream_skipped")
    assert world.state("nightly") == (S, None)


def test_a_job_with_a_time_of_its_own_starts_then_and_not_before(world: WorkflowWorld) -> None:
    graph = graph_of({"extract": (), "report": ("extract",)}, report={"not_before": "0 13 * * *"})
    world.begin(graph, NOON + 3599)
    assert world.called() == ["extract"]
    world.until(NOON + 3605)
    assert world.caller.calls[-1] == (f"report.{INSTANT}", 1, NOON + 3600)


def test_a_run_now_of_a_member_runs_it_alone(world: WorkflowWorld) -> None:
    world.begin(graph_of(CHAIN), NOON + 90)
    made = world.run_now("extract")
    world.until(NOON + 100)
    assert world.caller.runs[3:] == [str(made.name)]


def test_index_repair_finds_nothing_to_do_where_there_are_workflows(world: WorkflowWorld) -> None:
    world.begin(graph_of(CHAIN), NOON + 90)
    report = world.repair()
    assert [event.action for event in report.events] == ["patrolled"]
    assert {name: count for name, count in report.counts.items() if count and name != "EntriesPatrolled"} == {}


def test_a_workflow_begins_in_its_first_attempt_though_its_store_is_throttled(world: WorkflowWorld) -> None:
    throttled = ThrottledStore(world.workflows, "read", times=5)
    world.workflows = throttled  # type: ignore[assignment]
    world.begin(graph_of(CHAIN), NOON + 180, retry=ONCE)
    assert throttled.refused == 5
    run = world.run("nightly")
    assert run is not None
    assert (run.state, run.attempt) == (S, 1)
