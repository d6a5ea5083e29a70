"""The completeness audit finds what was planted, and nothing where nothing is wrong."""

from contextlib import suppress
from dataclasses import replace
from random import Random

import pytest

from duecourse.cli.tenants.suspending import suspend
from duecourse.domain.jobs.job import Backoff, Job, JobState, MissedMode, MissedPolicy, Overlap, RetryPolicy
from duecourse.domain.runs.states import RunState
from duecourse.domain.targets.targets import Failed, Outcome, Returned
from duecourse.ports import Call, Depth
from duecourse.testing.faults import around, before, failing
from duecourse.usecases.jobs.job_errors import JobChangedError
from duecourse.usecases.report import Report
from duecourse.usecases.runs.skip_next import NothingToSkipError
from duecourse_schedules import ScheduleError
from tests.support.audited import HOUR, AuditedWorld
from tests.support.jobs import NOON, job
from tests.support.runs import run
from tests.support.tables import Tables
from tests.support.tenants import place
from tests.support.world import ANNA, Killed, dying

BUSY = Depth(waiting=3, in_flight=1, delayed=20)


@pytest.fixture
def world(tables: Tables) -> AuditedWorld:
    return AuditedWorld(tables)


def alarms(report: Report) -> list[str]:
    return [event.action for event in report.events if event.alarming]


def test_audit_finds_a_deleted_record_once(world: AuditedWorld) -> None:
    world.add(job("rate(5 minutes)", overlap=Overlap.ALLOW))
    world.until(NOON + HOUR + 300)
    world.lose("tick-tock", 1500)
    report = world.audit(hour=4)
    assert (report.counts["OccurrencesAudited"], report.counts["OccurrencesLost"]) == (12, 1)
    (event,) = [event for event in report.events if event.alarming]
    assert event.action == "occurrence_lost"
    assert (event.facts["job_id"], event.facts["first"], event.facts["count"]) == (
        "tick-tock",
        "2026-11-21T12:25:00Z",
        1,
    )
    assert world.findings("lost") == [("tick-tock", 1500, 1500, 1)]
    assert world.audit().counts == {}


def test_audit_leaves_out_the_jobs_of_a_suspended_tenant(world: AuditedWorld, tables: Tables) -> None:
    """Their occurrences get their records after the resume."""
    world.add(job("rate(5 minutes)", overlap=Overlap.ALLOW))
    world.until(NOON + 600)
    suspend(place(tables, world.clock), by="olga", note=None)
    report = world.audit(hour=4)
    assert (report.counts["OccurrencesAudited"], alarms(report)) == (0, [])


def test_audit_finds_a_claim_that_skipped_occurrences_without_sending_them(world: AuditedWorld) -> None:
    world.add(job("rate(1 minute)", overlap=Overlap.ALLOW))
    world.until(NOON + 600)
    standing = world.jobs.get_cursor("default", "tick-tock")
    assert standing.occurrence is not None
    behind = standing.occurrence - int(NOON)
    world.moved_past("tick-tock", behind + 600)
    world.until(NOON + HOUR + 60)
    world.audit(hour=4)
    assert world.findings("lost") == [("tick-tock", behind, behind + 540, 10)]
    assert world.count("OccurrencesLost") == 10


def test_audit_reports_an_occurrence_with_its_own_run_and_a_catch_up_as_duplicate(world: AuditedWorld) -> None:
    made = world.add(job("rate(5 minutes)", overlap=Overlap.ALLOW))
    world.until(NOON + 2 * HOUR)
    world.lose("tick-tock", 600)
    caught_up = run(made, RunState.SUCCEEDED, after=600, count=3, through=int(NOON) + 1200)
    assert world.run_store.write(caught_up, None) is None
    report = world.audit(hour=4)
    assert (report.counts["OccurrencesDoubled"], report.counts["OccurrencesLost"]) == (2, 0)
    assert alarms(report) == ["occurrence_doubled"]
    assert world.findings("doubled") == [("tick-tock", 900, 1200, 2)]


def test_audit_compares_a_catch_up_that_extends_into_the_next_window_with_runs_there(world: AuditedWorld) -> None:
    made = world.add(job("rate(5 minutes)", overlap=Overlap.ALLOW))
    world.until(NOON + 2 * HOUR)
    world.lose("tick-tock", 3300)
    world.lose("tick-tock", 3600)
    caught_up = run(made, RunState.SUCCEEDED, after=3300, count=3, through=int(NOON) + 3900)
    assert world.run_store.write(caught_up, None) is None
    world.audit(hour=4)
    world.audit(hour=5)
    assert world.findings("doubled") == [("tick-tock", 3900, 3900, 1)]
    assert world.findings("lost") == []


def test_audit_counts_a_range_from_before_the_window_for_all_occurrences_it_covers(world: AuditedWorld) -> None:
    world.add(job("rate(1 minute)"))
    world.until(NOON + 600)
    world.until(NOON + 2 * HOUR + 600, ticking=False)
    world.until(NOON + 3 * HOUR)
    world.audit(hour=4)
    world.audit(hour=5)
    world.audit(hour=6)
    assert (world.findings("lost"), world.findings("open")) == ([], [])
    assert world.count("OccurrencesAudited") == 180


def test_audit_leaves_possibly_queued_occurrences_open_until_their_lane_has_run_later_ones(world: AuditedWorld) -> None:
    world.depths.fixed = BUSY
    world.add(job("rate(5 minutes)", id="hit", overlap=Overlap.ALLOW))
    world.add(job("rate(5 minutes)", id="fine", overlap=Overlap.ALLOW))
    world.until(NOON + 3 * HOUR)
    world.lose("hit", 1500)
    assert world.audit(hour=4).counts["OccurrencesLost"] == 0
    assert world.findings("open") == [("hit", 1500, 1500, 1)]
    assert world.audit(hour=5).counts["OccurrencesLost"] == 1
    assert (world.findings("open"), world.findings("lost")) == ([], [("hit", 1500, 1500, 1)])


def test_audit_reports_a_very_late_run_as_open_and_then_resolved(world: AuditedWorld) -> None:
    world.add(job("rate(5 minutes)", overlap=Overlap.ALLOW, missed=MissedPolicy(MissedMode.RUN_ALL)))
    world.until(NOON + 1400)
    late = world.wheel.hold_back(1500)
    assert late
    world.until(NOON + HOUR + 300)
    world.depths.fixed = BUSY
    world.audit(hour=4)
    assert world.findings("open") == [("tick-tock", 1500, 1500, 1)]
    world.wheel.give_back(late)
    world.until(NOON + 5 * HOUR)
    world.audit(hour=5)
    assert (world.findings("open"), world.findings("lost")) == ([], [])


def test_audit_reports_occurrences_not_yet_dispatched_as_late_and_not_lost(world: AuditedWorld) -> None:
    world.add(job("rate(5 minutes)", overlap=Overlap.ALLOW))
    world.depths.fixed = None  # what the wheel holds: of what was handed over nothing has started either
    world.until(NOON + 1200)
    world.clock.set(NOON + 4 * HOUR)  # and no tick since
    world.audit(hour=4)
    assert world.findings("lost") == []
    assert world.findings("open") == [("tick-tock", 1500, 3600, 8)], "one row a job"
    world.until(NOON + 4 * HOUR + 180)
    world.audit(hour=5)
    assert [each for each in world.findings("open") if each[1] <= 3600] == []
    assert world.findings("lost") == []


def test_audit_ignores_occurrences_due_before_the_last_schedule_change(world: AuditedWorld) -> None:
    world.add(job("rate(5 minutes)", overlap=Overlap.ALLOW))
    world.until(NOON + 1510)
    world.office.edit("tick-tock", "rate(7 minutes)")
    world.until(NOON + HOUR + 300)
    world.lose("tick-tock", 1200)
    report = world.audit(hour=4)
    assert alarms(report) == []
    assert report.counts["OccurrencesAudited"] == 4  # at 1930, 2350, 2770 and 3190


def test_audit_that_runs_out_of_time_continues_where_it_stopped(tables: Tables) -> None:
    world = AuditedWorld(tables, limit=4)
    for number in range(6):
        world.add(job("rate(10 minutes)", id=f"job-{number}", overlap=Overlap.ALLOW))
    world.until(NOON + HOUR + 300)
    world.lose("job-1", 600)
    world.lose("job-4", 1200)
    store, rounds = world.audits, 0
    world.audits = around(store, jobs=before(lambda: world.clock.advance(1)))
    world.clock.set(NOON + 4 * HOUR + 60)
    while not all(turn.done and turn.high == NOON + HOUR for turn in store.turns()):
        world.audit(seconds=1)
        rounds += 1
    assert rounds > 2
    assert world.count("OccurrencesAudited") == 36
    assert world.findings("lost") == [("job-1", 600, 600, 1), ("job-4", 1200, 1200, 1)]


def test_audit_that_was_missed_widens_the_window_of_the_next_one(world: AuditedWorld) -> None:
    world.add(job("rate(10 minutes)", overlap=Overlap.ALLOW))
    world.until(NOON + 3 * HOUR)
    world.lose("tick-tock", 600)
    world.audit(hour=5)
    assert world.count("OccurrencesAudited") == 12
    assert world.findings("lost") == [("tick-tock", 600, 600, 1)]


def test_audit_segments_alternate_and_together_cover_every_job(world: AuditedWorld) -> None:
    for number in range(8):
        world.add(job("rate(20 minutes)", id=f"job-{number}", overlap=Overlap.ALLOW))
    world.until(NOON + 2 * HOUR)
    for hour in range(4, 10):
        world.audit(hour=hour, segments=3)
    turns = [turn for turn in world.audits.turns() if turn.segments == 3]
    assert sorted((turn.segment, turn.high - int(NOON)) for turn in turns) == [
        (0, 6 * HOUR), (1, 4 * HOUR), (2, 5 * HOUR),
    ]  # fmt: skip
    assert world.count("OccurrencesLost") == 0
    assert world.count("JobsAudited") >= 8


def test_audit_reports_a_table_error_and_repeats_the_turn(world: AuditedWorld) -> None:
    world.add(job("rate(10 minutes)", overlap=Overlap.ALLOW))
    world.until(NOON + HOUR + 60)
    store = world.audits
    world.audits = around(store, jobs=failing(ConnectionError("no answer")))
    report = world.audit(hour=4)
    assert (report.counts["AuditsFailed"], alarms(report)) == (1, ["audit_failed"])
    world.audits = store
    assert world.audit().counts["OccurrencesAudited"] == 6


EXPRESSIONS = (
    "rate(10 seconds)",
    "rate(1 minute)",
    "rate(7 minutes)",
    "*/3 * * * *",
    "15 */10 * * * *",
    "7,40 12 * * *",
)


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.extended) for seed in range(1, 6))])
def test_audit_has_no_findings_after_an_hour_of_other_faults_until_a_record_is_deleted(
    tables: Tables, seed: int
) -> None:
    """Edits, pauses, dispatchers that are late or die, failures, manual runs, skips and deletions."""
    chance = Random(seed)
    world = AuditedWorld(tables)
    world.caller.answer = lambda call: flaky(call, chance)
    ids = [world.add(any_job(f"job-{number}", chance)).id for number in range(5)]
    steady = world.add(job("rate(4 minutes)", id="steady", overlap=Overlap.ALLOW)).id  # nobody touches it
    while world.clock.now() < NOON + HOUR:
        world.until(world.clock.now() + chance.randint(20, 300), ticking=chance.random() < 0.8)
        happen(world, chance.choice(ids), chance)
    world.until(NOON + HOUR + 1800)  # what is under way comes to its end
    report = world.audit(hour=4)
    assert [event.facts for event in report.events if event.alarming] == []
    assert [world.findings(kind) for kind in ("lost", "doubled", "open")] == [[], [], []]
    assert report.counts["OccurrencesAudited"] > 0
    planted = chance.choice(sorted(provable(world, [*ids, steady])))
    world.lose(*planted)
    (turn,) = world.audits.turns()
    again = replace(turn, low=turn.low - HOUR, high=turn.low, version=turn.version + 1)
    assert world.audits.save(again, now=world.clock.now())
    assert world.audit().counts["OccurrencesLost"] == 1
    assert world.findings("lost") == [(*planted, planted[1], 1)]


def provable(world: AuditedWorld, ids: list[str]) -> list[tuple[str, int]]:
    """Job and occurrence (seconds after NOON) of what ran by itself under the job's present schedule."""
    jobs = [job for job_id in ids if (job := world.jobs.get("default", job_id)) is not None]
    sure = [job for job in jobs if job.state is not JobState.PAUSED and job.overlap in (Overlap.SKIP, Overlap.ALLOW)]
    return [
        (job.id, run.occurrence - int(NOON))
        for job in sure
        for run in world.runs(job.id)
        if not run.suffix and run.through is None and job.changed_at < run.occurrence <= NOON + HOUR
    ]


def any_job(job_id: str, chance: Random) -> Job:
    missed = MissedPolicy(chance.choice(list(MissedMode)), chance.choice([5, 60]), chance.choice([1, 10]))
    return job(
        chance.choice(EXPRESSIONS),
        id=job_id,
        missed=missed,
        overlap=chance.choice([Overlap.SKIP, Overlap.ALLOW, Overlap.QUEUE, Overlap.REPLACE]),
        jitter_seconds=chance.choice([0, 0, 20]),
        max_runs=chance.choice([None, None, 12]),
        exclude=chance.choice([(), ("2026-11-21T12:30:00Z",)]),
        retry=RetryPolicy(max_attempts=3, backoff=Backoff.FIXED, min_seconds=20, max_seconds=20),
        start_deadline_seconds=chance.choice([None, None, 90]),
    )


def flaky(call: Call, chance: Random) -> Outcome:
    return Failed("not now", code="http.503") if chance.random() < 0.2 else Returned("fine")


def happen(world: AuditedWorld, job_id: str, chance: Random) -> None:
    """One thing that people do, or that fails."""
    hand, found = world.office, world.jobs.get("default", job_id)
    if found is None:
        return
    try:
        match chance.randrange(9):
            case 0 | 1 if found.state is JobState.ACTIVE:
                world.api.pausing.pause("default", job_id)
            case 0 | 1 | 2 if found.state is JobState.PAUSED:
                world.api.pausing.resume("default", job_id, catch_up=chance.random() < 0.5)
            case 3:
                world.office.edit(job_id, chance.choice(EXPRESSIONS))
            case 4:
                world.office.edit(job_id, payload={"n": chance.random()})
            case 5:
                hand.api.manual.run(found, ANNA, None)
            case 6:
                hand.api.skip_next.skip(found, chance.randint(1, 3), ANNA)
            case 7:
                with suppress(Killed):
                    world.dispatch(dying(world.cursors, after=chance.random() < 0.3))
            case 8 if chance.random() < 0.3:
                world.jobs.delete(found, deleted_at=world.clock.now())
    except (JobChangedError, NothingToSkipError, ScheduleError):
        return
