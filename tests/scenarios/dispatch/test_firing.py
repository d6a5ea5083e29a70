"""Jobs fire, from posting to the record, on a settable clock with real tables."""

import pytest

from duecourse.domain.jobs.job import JobState, MissedMode, MissedPolicy, Overlap, Spread
from duecourse.domain.runs.states import RunState
from duecourse_schedules import ScheduleSpec
from tests.support.jobs import NOON, job
from tests.support.world import World


def test_firing_job_every_ten_seconds_fires_each_occurrence_once_and_on_its_second(world: World) -> None:
    world.add(job("rate(10 seconds)"))
    world.until(NOON + 1200)
    assert world.states("tick-tock") == [(second, RunState.SUCCEEDED) for second in range(10, 1201, 10)]
    assert [at - run.due for run, (_, _, at) in zip(world.runs("tick-tock"), world.caller.calls, strict=True)] == [
        0.0
    ] * len(world.caller.calls)


def test_firing_few_runs_do_not_make_their_round_wait_and_start_on_their_second(world: World) -> None:
    for job_id in ("first", "second"):
        world.office.create("0 13 * * *", job_id)
    world.clock.set(NOON + 3600 - 200 + 0.3)
    world.dispatch()
    assert world.clock.now() == NOON + 3600 - 200 + 0.3
    world.until(NOON + 3600 + 10)
    assert sorted(world.caller.calls) == [
        (f"{job_id}.20261121T130000Z", 1, NOON + 3600) for job_id in ("first", "second")
    ]


def test_firing_round_with_more_runs_waits_for_the_start_of_a_second(world: World) -> None:
    for job_id in ("first", "second", "third"):
        world.office.create("0 13 * * *", job_id)
    world.clock.set(NOON + 3600 - 200 + 0.3)
    world.dispatch()
    assert world.clock.now() == NOON + 3600 - 199
    world.until(NOON + 3600 + 10)
    assert [at for _, _, at in world.caller.calls] == [NOON + 3600] * 3


def test_firing_rare_runs_are_enqueued_ten_minutes_before_they_are_due(world: World) -> None:
    world.add(job("0 13 * * *", id="daily"))
    world.add(job("at(2026-11-21T13:00:00)", id="once"))
    world.add(job("0,1,2,3 13 * * *", id="often"))
    world.clock.set(NOON + 3600 - 601)
    world.dispatch()
    assert len(world.wheel) == 0
    world.clock.set(NOON + 3600 - 600)
    world.dispatch()
    assert len(world.wheel) == 2
    world.clock.set(NOON + 3600 - 300)
    world.dispatch()
    assert len(world.wheel) == 6
    world.until(NOON + 3600 + 10)
    assert sorted(world.caller.calls) == [
        (f"{job_id}.20261121T130000Z", 1, NOON + 3600) for job_id in ("daily", "often", "once")
    ]


def test_firing_one_claim_covers_many_occurrences(world: World) -> None:
    world.add(job("rate(10 seconds)", overlap=Overlap.ALLOW))
    world.until(NOON + 1800)
    assert world.count("ClaimsWon") <= 4
    assert world.count("Enqueued") >= 180


def test_firing_one_off_job_fires_once_and_is_completed(world: World) -> None:
    world.add(job("at(2026-11-21T12:03:20)"))
    world.until(NOON + 600)
    assert world.caller.calls == [("tick-tock.20261121T120320Z", 1, NOON + 200)]
    assert world.jobs.get("default", "tick-tock").state is JobState.COMPLETED


def test_firing_job_far_in_the_future_waits_outside_every_queue(world: World) -> None:
    world.add(job("at(2026-11-21T15:00:00)"))
    world.until(NOON + 3 * 3600 - 700)
    assert len(world.wheel) == 0
    world.until(NOON + 3 * 3600)
    assert world.caller.runs == ["tick-tock.20261121T150000Z"]


def test_firing_missed_tick_delays_nothing(world: World) -> None:
    world.add(job("* * * * *"))
    world.until(NOON + 120)
    world.until(NOON + 360, ticking=False)
    world.until(NOON + 900)
    assert [second for second, _ in world.states("tick-tock")] == list(range(60, 901, 60))
    assert {at % 60 for _, _, at in world.caller.calls} == {0.0}


def test_firing_after_a_long_outage_runs_a_job_once_for_all_missed_occurrences_and_then_normally(world: World) -> None:
    world.add(job("* * * * *"))
    world.until(NOON + 7 * 3600 + 30, ticking=False)
    world.until(NOON + 7 * 3600 + 180)
    one, two, rest, *others = world.runs("tick-tock")
    assert [one.occurrence - NOON, two.occurrence - NOON] == [60, 120]  # those that the API had sent at once
    assert (rest.occurrence - NOON, rest.count, rest.state) == (180, 417, RunState.SUCCEEDED)
    assert [run.occurrence - NOON for run in others] == [25200, 25260, 25320, 25380]
    assert len(world.caller.calls) == 3 + 4


def test_firing_after_an_outage_leaves_one_record_of_all_missed_occurrences_of_a_skipping_job(world: World) -> None:
    world.add(job("* * * * *", missed=MissedPolicy(MissedMode.SKIP)))
    world.until(NOON + 7 * 3600 + 30, ticking=False)
    world.until(NOON + 7 * 3600 + 180)
    _, _, rest, *others = world.runs("tick-tock")
    assert (rest.occurrence - NOON, rest.count, rest.state) == (180, 417, RunState.SKIPPED)
    assert (rest.reason, rest.through) == ("missed", NOON + 7 * 3600 - 60)
    assert [run.occurrence - NOON for run in others] == [25200, 25260, 25320, 25380]


def test_firing_after_an_outage_with_run_all_runs_the_oldest_allowed_occurrences_and_records_the_rest(
    world: World,
) -> None:
    world.add(job("* * * * *", missed=MissedPolicy(MissedMode.RUN_ALL, max_missed=5), overlap=Overlap.ALLOW))
    world.until(NOON + 7 * 3600 + 30, ticking=False)
    world.until(NOON + 7 * 3600 + 70)
    states = world.states("tick-tock")
    on_time, caught_up = [60, 120], [180, 240, 300, 360, 420]  # the API sent the first two at once: they ran
    assert [second for second, state in states if state is RunState.SUCCEEDED] == [*on_time, *caught_up, 25200, 25260]
    assert [(second, state) for second, state in states if state is not RunState.SUCCEEDED] == [(480, RunState.SKIPPED)]


def test_firing_after_an_outage_of_many_hours_advances_the_watermark_to_two_hours_behind_now(world: World) -> None:
    world.until(NOON + 60)
    assert world.cursors.watermark(0) == "2026-11-21T10"
    world.clock.set(NOON + 9 * 3600)
    world.dispatch()
    assert world.cursors.watermark(0) == "2026-11-21T19"


@pytest.mark.tables
def test_firing_first_round_of_a_shard_finds_jobs_that_waited_for_days(world: World) -> None:
    world.add(job("at(2026-11-21T13:00:00)"))
    world.tables.client.delete_item(TableName=world.tables.jobs, Key={"PK": {"S": "SHARD#0"}, "SK": {"S": "WATERMARK"}})
    world.clock.set(NOON + 3 * 86_400)
    world.dispatch()
    world.work()
    assert world.caller.runs == ["tick-tock.20261121T130000Z"]
    world.dispatch()
    assert world.cursors.watermark(0) == "2026-11-24T10"


def test_firing_watermark_stays_at_a_bucket_that_was_not_empty(world: World) -> None:
    world.until(NOON + 60)
    world.add(job("0 13 * * *"))
    world.clock.set(NOON + 9 * 3600)
    world.dispatch()
    assert world.cursors.watermark(0) == "2026-11-21T13"
    world.dispatch()
    assert world.cursors.watermark(0) == "2026-11-21T19"


@pytest.mark.tables
def test_firing_invalid_cursor_is_quarantined_and_does_not_block_other_jobs(world: World) -> None:
    world.add(job("rate(10 seconds)", id="good"))
    bad = world.add(job("rate(10 seconds)", id="bad"))
    rules = {":rules": {"S": '{"expression":"61 * * * *","missed":{"mode":"skip","grace_seconds":60,"max_missed":1}}'}}
    world.tables.client.update_item(
        TableName=world.tables.jobs,
        Key={"PK": {"S": "JOB#default#bad"}, "SK": {"S": "CURSOR"}},
        UpdateExpression="SET #rules = :rules",
        ExpressionAttributeNames={"#rules": "rules"},
        ExpressionAttributeValues=rules,
    )
    world.until(NOON + 300)
    assert [second for second, _ in world.states("good")] == list(range(10, 301, 10))
    left = world.jobs.get_cursor("default", bad.id)
    assert left.error is not None
    assert "61" in left.error
    assert world.count("CursorsQuarantined") == 1


def test_firing_enqueued_occurrences_of_a_deleted_job_do_not_run(world: World) -> None:
    made = world.add(job("* * * * *"))
    world.until(NOON + 150)
    assert world.jobs.delete(made, deleted_at=world.clock.now())
    world.until(NOON + 1200)
    assert [second for second, _ in world.states("tick-tock")] == [60, 120]
    assert len(world.wheel) == 0


def test_firing_recreated_job_does_not_run_messages_of_the_old_job(world: World) -> None:
    old = world.add(job("* * * * *"))
    world.until(NOON + 150)
    world.jobs.delete(old, deleted_at=world.clock.now())
    world.add(job("*/5 * * * *", at=world.clock.now()))
    world.until(NOON + 900)
    assert [second for second, _ in world.states("tick-tock")] == [60, 120, 300, 600, 900]


def test_firing_jitter_delays_the_start_up_to_the_next_occurrence_without_changing_the_name(world: World) -> None:
    world.add(job("*/5 * * * *", jitter_seconds=200))
    world.until(NOON + 3600)
    runs = world.runs("tick-tock")
    assert [run.occurrence - NOON for run in runs] == list(range(300, 3600, 300))[: len(runs)]
    assert len(runs) >= 11
    assert all(0 <= run.due - run.occurrence <= 200 for run in runs)
    assert len({run.due - run.occurrence for run in runs}) > 5
    assert {run.lateness for run in runs} == {0.0}


def test_firing_spread_delays_each_start_by_the_same_time_without_changing_the_name(world: World) -> None:
    world.add(job("*/5 * * * *", spread=Spread(5, 3), max_runs=10))
    world.until(NOON + 3600)
    runs = world.runs("tick-tock")
    assert [run.occurrence - NOON for run in runs] == list(range(300, 3001, 300))
    assert {run.due - run.occurrence for run in runs} == {180}
    assert {run.lateness for run in runs} == {0.0}
    assert world.jobs.get("default", "tick-tock").state is JobState.COMPLETED


def test_firing_catch_up_of_a_spread_job_has_the_rules_of_its_offset(world: World) -> None:
    world.add(job("*/10 * * * *", spread=Spread(10, 7)))
    world.until(NOON + 3600 + 8 * 60, ticking=False)
    world.until(NOON + 3600 + 10 * 60)
    (run,) = world.runs("tick-tock")
    assert (run.occurrence, run.through, run.count) == (NOON + 600, NOON + 3600, 6)


def test_firing_job_with_max_runs_comes_due_that_often_and_is_completed(world: World) -> None:
    world.add(job("* * * * *", max_runs=5))
    world.until(NOON + 1200)
    assert [second for second, _ in world.states("tick-tock")] == [60, 120, 180, 240, 300]
    assert world.jobs.get("default", "tick-tock").state is JobState.COMPLETED


def test_firing_missed_occurrences_count_towards_max_runs(world: World) -> None:
    world.add(job("* * * * *", max_runs=100, missed=MissedPolicy(MissedMode.SKIP)))
    world.until(NOON + 7 * 3600, ticking=False)
    world.until(NOON + 8 * 3600)
    *_, skipped = world.runs("tick-tock")
    assert (skipped.state, skipped.count, skipped.through) == (RunState.SKIPPED, 98, NOON + 6000)
    assert world.jobs.get("default", "tick-tock").state is JobState.COMPLETED


def test_firing_excluded_times_do_not_fire_and_leave_no_record(world: World) -> None:
    world.add(job("*/10 * * * *", exclude=("2026-11-21T12:20:00Z", "2026-11-22")))
    world.until(NOON + 2400)
    assert [second for second, _ in world.states("tick-tock")] == [600, 1200 + 600, 2400]


def test_firing_occurrence_of_an_excluded_day_fires_on_the_day_before_it(world: World) -> None:
    spec = ScheduleSpec("0 13 22 * *", on_excluded="previous")
    world.add(job(schedule=spec, exclude=("* * * * SUN",)))
    world.until(NOON + 2 * 3600)
    assert [second for second, _ in world.states("tick-tock")] == [3600]


def test_firing_job_fires_between_its_start_and_end_and_is_then_completed(world: World) -> None:
    spec = ScheduleSpec("* * * * *", start=int(NOON) + 600, end=int(NOON) + 780)
    world.add(job(schedule=spec))
    world.until(NOON + 1800)
    assert [second for second, _ in world.states("tick-tock")] == [600, 660, 720]
    assert world.jobs.get("default", "tick-tock").state is JobState.COMPLETED


@pytest.mark.tables
def test_firing_cursor_computed_with_other_zone_data_is_recomputed(world: World) -> None:
    made = world.add(job("0 15 * * *"))
    world.tables.client.update_item(
        TableName=world.tables.jobs,
        Key={"PK": {"S": f"JOB#default#{made.id}"}, "SK": {"S": "CURSOR"}},
        UpdateExpression="SET #t = :old, #o = :wrong, #d = :wrong, #s = :slot",
        ExpressionAttributeNames={"#t": "tzdata", "#o": "occurrence", "#d": "due", "#s": "slot"},
        ExpressionAttributeValues={
            ":old": {"S": "1999a"},
            ":wrong": {"N": str(int(NOON) + 2 * 3600)},
            ":slot": {"S": "2026-11-21T14/0000"},
        },
    )
    world.until(NOON + 4 * 3600)
    assert world.caller.runs == [f"{made.id}.20261121T150000Z"]
