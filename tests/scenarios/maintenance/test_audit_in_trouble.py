"""The completeness audit where much is lost, time is short, something cannot be read, or somebody is killed."""

from contextlib import suppress

import pytest

from duecourse.domain.jobs.job import JobState, Lane, Overlap
from duecourse.domain.runs.coverage import OccurrenceRange
from duecourse.domain.runs.states import RunState
from duecourse.ports import Undecided
from duecourse.testing.faults import answering, around, before
from duecourse.usecases.maintenance.audit import MAX_OPEN
from duecourse.usecases.report import Report
from duecourse.usecases.runs.skip_next import SKIPPED
from tests.support.audited import HOUR, AuditedWorld
from tests.support.jobs import NOON, job
from tests.support.runs import run
from tests.support.tables import Tables
from tests.support.world import Killed


@pytest.fixture
def world(tables: Tables) -> AuditedWorld:
    return AuditedWorld(tables)


def alarms(report: Report) -> list[str]:
    return [event.action for event in report.events if event.alarming]


def test_audit_finds_a_range_behind_occurrences_skipped_in_advance(world: AuditedWorld) -> None:
    made = world.add(job("rate(1 minute)", overlap=Overlap.ALLOW))
    until = int(NOON) + 4 * HOUR
    assert world.run_store.write(run(made, RunState.SUCCEEDED, after=600, count=231, through=until), None) is None
    for second in (2 * HOUR, 3 * HOUR):
        skipped = run(made, RunState.SKIPPED, after=second, attempt=0, reason=SKIPPED)
        assert world.run_store.write(skipped, None) is None
    assert world.auditor().classify.reaching_over(made, until - 60) == (until, True)


def test_audit_does_not_repeat_the_finished_part_of_a_slow_page(world: AuditedWorld) -> None:
    for number in range(20):
        world.add(job("rate(30 minutes)", id=f"job-{number:02}", overlap=Overlap.ALLOW))
    world.until(NOON + HOUR + 300)
    for number in range(20):
        world.lose(f"job-{number:02}", 1800)
    world.audits = around(world.audits, jobs=before(lambda: world.clock.advance(1)))
    first = world.audit(hour=4, seconds=1)
    assert (first.counts["JobsAudited"], first.counts["OccurrencesLost"]) == (16, 16)
    assert world.audit().counts["OccurrencesLost"] == 4
    assert len(world.findings("lost")) == 20


def test_audit_that_is_killed_after_its_report_reports_again_and_stores_the_finding_once(
    world: AuditedWorld,
) -> None:
    world.add(job("rate(5 minutes)", overlap=Overlap.ALLOW))
    world.until(NOON + HOUR + 300)
    world.lose("tick-tock", 1500)
    world.clock.set(NOON + 4 * HOUR + 60)
    told: list[Report] = []

    def killed(report: Report) -> None:
        told.append(report)
        raise Killed

    with suppress(Killed):
        world.auditor()(world.clock.now() + 600, killed)
    assert world.findings("lost") == []
    rest = world.auditor()(world.clock.now() + 600, told.append)
    assert [report.counts["OccurrencesLost"] for report in (*told, rest)] == [1, 1, 0]
    assert world.findings("lost") == [("tick-tock", 1500, 1500, 1)]
    assert world.audit().counts == {}


def test_audit_reports_many_ranges_of_one_job_together(world: AuditedWorld) -> None:
    world.add(job("rate(1 minute)", overlap=Overlap.ALLOW))
    world.until(NOON + HOUR + 300)
    for minute in range(2, 60, 2):
        world.lose("tick-tock", 60 * minute)
    report = world.audit(hour=4)
    assert report.counts["OccurrencesLost"] == 29
    assert alarms(report) == ["occurrence_lost"]
    assert world.findings("lost") == [("tick-tock", 120, 58 * 60, 29)]


def test_audit_with_too_many_open_occurrences_waits_and_reports_it(world: AuditedWorld) -> None:
    made = world.add(job("rate(5 minutes)", overlap=Overlap.ALLOW))
    open_of = [Undecided("default", f"{made.id}-{number}", (OccurrenceRange(1, 1, 1),)) for number in range(MAX_OPEN)]
    world.audits = around(world.audits, open=answering(open_of))
    report = world.audit(hour=4)
    assert (report.counts["AuditsWaiting"], report.counts["JobsAudited"]) == (1, 0)
    assert alarms(report) == ["audit_waits"]


def test_audit_reports_a_job_with_an_unreadable_record_and_audits_the_others(world: AuditedWorld) -> None:
    for job_id in ("fine", "newer"):
        world.add(job("rate(5 minutes)", id=job_id, overlap=Overlap.ALLOW))
    world.until(NOON + HOUR + 300)
    world.lose("fine", 1500)
    world.tables.client.update_item(
        TableName=world.tables.runs,
        Key={"PK": {"S": "JOB#default#newer"}, "SK": {"S": "RUN#20261121T121000Z"}},
        UpdateExpression="SET lane = :lane",
        ExpressionAttributeValues={":lane": {"S": "express"}},
    )
    assert world.audits.undecided("default", "newer", [OccurrenceRange(int(NOON) + 300, int(NOON) + 1200, 4)], now=NOON)
    report = world.audit(hour=4)
    assert (report.counts["AuditsFailed"], report.counts["OccurrencesLost"]) == (2, 1)
    assert sorted(alarms(report)) == ["job_not_audited", "job_not_audited", "occurrence_lost"]
    assert all(turn.done for turn in world.audits.turns())


def test_audit_does_not_audit_a_job_with_max_runs_beyond_its_end(world: AuditedWorld) -> None:
    world.add(job("rate(5 minutes)", max_runs=3, overlap=Overlap.ALLOW))
    world.until(NOON + 2 * HOUR)
    assert world.jobs.get("default", "tick-tock").state is JobState.COMPLETED
    world.audit(hour=4)
    assert world.audit(hour=5).counts["OccurrencesAudited"] == 0
    assert (world.count("OccurrencesAudited"), world.findings("lost")) == (3, [])


def test_audit_after_an_edit_reports_a_loss_only_when_every_lane_is_empty(world: AuditedWorld) -> None:
    world.add(job("rate(5 minutes)", overlap=Overlap.ALLOW))
    world.until(NOON + HOUR + 300)
    world.office.edit("tick-tock", priority=Lane.HIGH)
    world.lose("tick-tock", 1500)
    world.until(NOON + 2 * HOUR + 300)
    world.depths.full.add(Lane.NORMAL)
    world.audit(hour=4)
    assert (world.findings("open"), world.findings("lost")) == ([("tick-tock", 1500, 1500, 1)], [])
    world.depths.full.clear()
    world.audit(hour=5)
    assert (world.findings("open"), world.findings("lost")) == ([], [("tick-tock", 1500, 1500, 1)])


def test_audit_reports_unrecorded_runs_as_lost_if_runs_queue_since_waiting_runs_have_records(
    world: AuditedWorld,
) -> None:
    world.add(job("rate(5 minutes)", overlap=Overlap.QUEUE))
    world.until(NOON + 2 * HOUR)
    for second in range(1500, 6000, 300):
        world.lose("tick-tock", second)
    world.audit(hour=4)
    world.audit(hour=5)
    assert world.findings("open") == []
    assert world.findings("lost") == [("tick-tock", 1500, 3600, 8), ("tick-tock", 3900, 5700, 7)]
