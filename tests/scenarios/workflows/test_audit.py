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
from tests.support.jobs import NOON, job
from tests.support.tables import Tables
from tests.support.varied import varied
from tests.support.workflow_world import CHAIN, DIAMOND, INSTANT, WorkflowWorld
from tests.support.workflows import graph_of

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


def test_of_a_run_that_went_well_nothing_is_found(world: AuditedWorkflows) -> None:
    world.answers.failing = {"us"}
    graph = graph_of({**DIAMOND, "alert": ("us",)}, us={"may_fail": True}, alert={"when": Rule.ANY_FAILURE})
    world.begin(graph, NOON + 90)
    report = world.audit(hour=4)
    assert (report.counts["OccurrencesAudited"], report.counts["StepsLost"]) == (1, 0)
    assert (world.findings("lost"), world.findings("open")) == ([], [])


def test_a_job_that_ended_and_has_no_record_is_lost_and_told_once(world: AuditedWorkflows) -> None:
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


def test_a_job_whose_start_was_lost_is_found_while_its_workflow_waits_for_it(world: AuditedWorkflows) -> None:
    world.begin(graph_of(CHAIN, transform=SOON), NOON + 90, **LONG)
    world.wheel.empty()
    assert world.audit(hour=4).counts["StepsLost"] == 1
    assert world.findings("lost") == [world.lost("transform")]
    assert world.state("nightly") == (RunState.WAITING, None)


def test_what_may_still_wait_in_its_lane_is_open_until_the_lane_is_empty(world: AuditedWorkflows) -> None:
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


def test_what_is_open_is_lost_once_its_lane_is_empty(world: AuditedWorkflows) -> None:
    world.begin(graph_of(CHAIN, transform=SOON), NOON + 90, **LONG)
    world.wheel.empty()
    world.depths.fixed = BUSY
    world.audit(hour=4)
    world.depths.fixed = Depth(0, 0, 0)
    assert world.audit(hour=5).counts["StepsLost"] == 1
    assert (world.findings("open"), world.findings("lost")) == ([], [world.lost("transform")])


def test_jobs_at_work_in_line_paused_or_with_a_time_to_come_are_not_lost(world: AuditedWorkflows) -> None:
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


def test_an_end_that_was_recorded_and_not_noted_is_found(world: AuditedWorkflows) -> None:
    """The worker died, and its message was lost: what comes after the job would wait until the deadline."""
    world.begin(graph_of(CHAIN, transform=SOON), NOON + 90, **LONG)
    world.wheel.empty()
    found = world.run("extract")
    assert found is not None
    assert world.run_store.write(varied(found, job_id="transform"), None) is None
    assert world.audit(hour=4).counts["StepsLost"] == 1
    assert world.findings("lost") == [world.lost("transform")]


def test_jobs_that_a_cancelled_workflow_left_are_not_lost(world: AuditedWorkflows) -> None:
    world.begin(graph_of(CHAIN, transform=SOON), NOON + 90)
    world.cancel("nightly")
    world.until(NOON + 310)
    world.audit(hour=4)
    assert (world.findings("lost"), world.findings("open")) == ([], [])


def test_runs_on_request_and_parts_that_were_run_again_are_audited_each_by_itself(world: AuditedWorkflows) -> None:
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


def test_a_workflow_whose_graph_is_gone_is_told_and_holds_up_no_other(world: AuditedWorkflows) -> None:
    made = world.begin(graph_of(CHAIN), NOON + 90)
    world.add(job("rate(5 minutes)", overlap=Overlap.ALLOW))
    key = {"PK": {"S": "JOB#default#nightly"}, "SK": {"S": f"GRAPH#{made.target.graph}"}}  # type: ignore[union-attr]
    world.tables.client.delete_item(TableName=world.tables.jobs, Key=key)
    world.workflows = world.tables.workflows(world.clock)
    report = world.audit(hour=4)
    assert report.counts["AuditsFailed"] == 1
    assert report.counts["JobsAudited"] == 2
