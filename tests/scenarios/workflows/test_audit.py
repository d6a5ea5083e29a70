"""The audit of a workflow's runs: which of its jobs should have gone on, and did not."""

from typing import Any

import pytest

from duecourse.domain.jobs.job import Backoff, Completion, JobState, Overlap, RetryPolicy
from duecourse.domain.runs.states import RunState
from duecourse.domain.targets.targets import Failed, Outcome
from duecourse.domain.workflows.graph import Rule
from duecourse.ports import Call, Depth
from duecourse.usecases.report import Report
from tests.support.audited import AuditedWorld
from tests.support.for_each import listed_graph, with_items
from tests.support.jobs import NOON, job
from tests.support.tables import Tables
from tests.support.varied import varied
from tests.support.workflow_world import CHAIN, DIAMOND, INSTANT, WorkflowWorld
from tests.support.workflows import graph_of

pytestmark = pytest.mark.tables

HOUR = 3600
DAY = 24 * HOUR
LONG = {"deadline_seconds": 12 * HOUR}
SOON = {"not_before": "5 12 * * *"}
"""Four minutes after its workflow: its start waits in its lane."""

BUSY = Depth(waiting=3, in_flight=1, delayed=20)


class AuditedWorkflows(WorkflowWorld, AuditedWorld):
    """A world with a workflow, which is audited."""

    def lost(self, job_id: str) -> tuple[str, int, int, int]:
        """The finding of a lost run of the job, at the instant of the workflow."""
        return (job_id, 60, 60, 1)


@pytest.fixture
def world(tables: Tables) -> AuditedWorkflows:
    return AuditedWorkflows(tables)


def lost(report: Report) -> list[dict[str, Any]]:
    return [dict(event.facts) for event in report.events if event.action == "occurrence_lost"]


def test_workflow_audit_finds_nothing_in_a_successful_run(world: AuditedWorkflows) -> None:
    world.answers.failing = {"us"}
    graph = graph_of({**DIAMOND, "alert": ("us",)}, us={"may_fail": True}, alert={"when": Rule.ANY_FAILURE})
    world.begin(graph, NOON + 90)
    report = world.audit(hour=4)
    assert (report.counts["OccurrencesAudited"], report.counts["StepsLost"]) == (1, 0)
    assert (world.findings("lost"), world.findings("open")) == ([], [])


def test_workflow_audit_reports_an_ended_step_without_a_record_as_lost_once(world: AuditedWorkflows) -> None:
    world.begin(graph_of(CHAIN), NOON + 90)
    world.delete_record("transform")
    report = world.audit(hour=4)
    assert (report.counts["StepsLost"], report.counts["OccurrencesLost"]) == (1, 0)
    (facts,) = lost(report)
    assert (facts["job_id"], facts["run_id"], facts["workflow_run"]) == (
        "transform",
        f"transform.{INSTANT}",
        f"nightly.{INSTANT}",
    )
    assert world.findings("lost") == [world.lost("transform")]
    world.audit(hour=5)
    assert world.count("StepsLost") == 1


def test_workflow_audit_finds_the_items_that_a_waiting_step_has_lost(world: AuditedWorkflows) -> None:
    answers = with_items(world, ["a", "b", "c"])

    def answer(call: Call) -> Outcome:
        if call.run.name.item == 1:
            return Failed("not now", retry_after=11 * HOUR, code="http.503")
        return answers(call)

    world.caller.answer = answer
    world.begin(listed_graph(within_seconds=12 * HOUR), NOON + 90, **LONG)
    world.delete_record("load", f"{INSTANT}.i2")
    report = world.audit(hour=4)
    assert report.counts["StepsLost"] == 1
    (facts,) = lost(report)
    assert (facts["run_id"], facts["workflow_run"]) == (f"load.{INSTANT}.i2", f"load.{INSTANT}")


def test_workflow_audit_finds_a_step_with_a_lost_start_while_its_workflow_waits_for_it(world: AuditedWorkflows) -> None:
    world.begin(graph_of(CHAIN, transform=SOON), NOON + 90, **LONG)
    world.wheel.empty()
    assert world.audit(hour=4).counts["StepsLost"] == 1
    assert world.findings("lost") == [world.lost("transform")]
    assert world.state("nightly") == (RunState.WAITING, None)


def test_workflow_audit_leaves_possibly_queued_steps_open_until_their_lane_is_empty(world: AuditedWorkflows) -> None:
    world.begin(graph_of(CHAIN, transform=SOON), NOON + 90, **LONG)
    held = world.wheel.hold_back(60)
    world.depths.fixed = BUSY
    assert world.audit(hour=4).counts["StepsLost"] == 0
    assert world.findings("open") == [world.lost("nightly")]
    world.audit(hour=5)
    assert world.findings("open") == [world.lost("nightly")]
    world.wheel.give_back(held)
    world.work()
    assert world.state("load") == (RunState.SUCCEEDED, None)
    world.audit(hour=6)
    assert (world.findings("open"), world.findings("lost")) == ([], [])


def test_workflow_audit_reports_open_steps_as_lost_once_their_lane_is_empty(world: AuditedWorkflows) -> None:
    world.begin(graph_of(CHAIN, transform=SOON), NOON + 90, **LONG)
    world.wheel.empty()
    world.depths.fixed = BUSY
    world.audit(hour=4)
    world.depths.fixed = Depth(0, 0, 0)
    assert world.audit(hour=5).counts["StepsLost"] == 1
    assert (world.findings("open"), world.findings("lost")) == ([], [world.lost("transform")])


def test_workflow_audit_does_not_report_active_waiting_paused_or_future_steps_as_lost(world: AuditedWorkflows) -> None:
    retrying = RetryPolicy(backoff=Backoff.FIXED, min_seconds=6 * HOUR, max_seconds=6 * HOUR)
    fields: dict[str, Any] = {"workflow": "nightly", "overlap": Overlap.ALLOW}
    world.add(job("", id="at-work", completion=Completion.CALLBACK, completion_seconds=DAY, **fields))
    world.add(job("", id="retrying", retry=retrying, **fields))
    world.add(job("", id="paused", state=JobState.PAUSED, paused_at=NOON, **fields))

    def answer(call: Call) -> Outcome:
        return Failed("busy", code="http.503") if call.job.id == "retrying" else world.answers(call)

    world.caller.answer = answer
    graph = graph_of(
        {"at-work": (), "retrying": (), "paused": (), "later": (), "last": ("at-work", "later")},
        later={"not_before": "0 20 * * *"},
    )
    world.begin(graph, NOON + 90, **LONG)
    report = world.audit(hour=4)
    assert [report.counts[name] for name in ("OccurrencesAudited", "StepsLost", "AuditsFailed")] == [1, 0, 0]
    assert (world.findings("lost"), world.findings("open")) == ([], [])


def test_workflow_audit_finds_a_recorded_end_that_was_not_noted(world: AuditedWorkflows) -> None:
    """The worker died, and its message was lost: what comes after the job would wait until the deadline."""
    world.begin(graph_of(CHAIN, transform=SOON), NOON + 90, **LONG)
    world.wheel.empty()
    found = world.run("extract")
    assert found is not None
    assert world.run_store.write(varied(found, job_id="transform"), None) is None
    assert world.audit(hour=4).counts["StepsLost"] == 1
    assert world.findings("lost") == [world.lost("transform")]


def test_workflow_audit_does_not_report_steps_left_by_a_cancelled_workflow_as_lost(world: AuditedWorkflows) -> None:
    world.begin(graph_of(CHAIN, transform=SOON), NOON + 90)
    world.cancel("nightly")
    world.until(NOON + 310)
    world.audit(hour=4)
    assert (world.findings("lost"), world.findings("open")) == ([], [])


def test_workflow_audit_covers_step_runs_on_request_and_reruns_separately(world: AuditedWorkflows) -> None:
    world.answers.failing = {"transform"}
    world.begin(graph_of(CHAIN), NOON + 90)
    world.answers.failing = set()
    again = world.rerun(["transform"])
    world.until(NOON + 120)
    world.delete_record("load")
    world.delete_record("load", again.name.local)
    world.delete_record("extract")
    report = world.audit(hour=4)
    assert [facts["run_id"] for facts in lost(report)] == [f"load.{again.name.local}", f"extract.{INSTANT}"]


def test_workflow_audit_reports_a_workflow_with_a_missing_graph_and_audits_the_others(world: AuditedWorkflows) -> None:
    made = world.begin(graph_of(CHAIN), NOON + 90)
    world.add(job("rate(5 minutes)", overlap=Overlap.ALLOW))
    key = {"PK": {"S": "JOB#default#nightly"}, "SK": {"S": f"GRAPH#{made.target.graph}"}}  # type: ignore[union-attr]
    world.tables.client.delete_item(TableName=world.tables.jobs, Key=key)
    world.workflows = world.tables.workflows(world.clock)
    report = world.audit(hour=4)
    assert report.counts["AuditsFailed"] == 1
    assert report.counts["JobsAudited"] == 2
