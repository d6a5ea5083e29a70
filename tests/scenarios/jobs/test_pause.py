"""Pauses, by people and by failures.

- Pausing and resuming: what a pause covers is skipped, not missed, unless the caller asks to catch up.
- A job is paused after so many deaths in a row, and that never disturbs the runs themselves.
"""

from dataclasses import replace

import pytest

from duecourse.domain.jobs.cursor import PlannedResume
from duecourse.domain.jobs.job import Backoff, JobState, MissedMode, MissedPolicy, Overlap, RetryPolicy
from duecourse.domain.runs.states import RunState
from duecourse.domain.targets.targets import Failed, Returned
from duecourse.testing.faults import around, throttled
from duecourse.usecases.jobs.pausing import JobSelection, Pausing
from duecourse_schedules import ScheduleError
from tests.support.jobs import NOON, job
from tests.support.one_run import ONCE, fail, the_run
from tests.support.world import World


@pytest.fixture
def pausing(world: World) -> Pausing:
    return world.api.pausing


def test_pause_prevents_runs_although_fourteen_minutes_of_them_are_enqueued(world: World, pausing: Pausing) -> None:
    world.add(job("* * * * *"))
    world.until(NOON + 150)
    view = pausing.pause("default", "tick-tock")
    assert (view.job.state, view.next_occurrence) == (JobState.PAUSED, None)
    world.until(NOON + 1800)
    assert [second for second, _ in world.states("tick-tock")] == [60, 120]
    assert len(world.wheel) == 0


def test_pause_is_recorded_as_one_skipped_range(world: World, pausing: Pausing) -> None:
    world.add(job("* * * * *"))
    world.until(NOON + 150)
    pausing.pause("default", "tick-tock")
    world.until(NOON + 630)
    assert pausing.resume("default", "tick-tock", catch_up=False).job.state is JobState.ACTIVE
    world.until(NOON + 780)
    *fired, covered, _, _, _ = world.runs("tick-tock")
    assert [run.occurrence - NOON for run in fired] == [60, 120]
    assert (covered.occurrence - NOON, covered.state, covered.reason, covered.count) == (
        180,
        RunState.SKIPPED,
        "paused",
        8,
    )
    assert [second for second, state in world.states("tick-tock") if state is RunState.SUCCEEDED] == [
        60, 120, 660, 720, 780,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("policy", "fired"),
    [
        (MissedPolicy(MissedMode.RUN_ONCE), [60, 120, 180, 600, 660]),
        (MissedPolicy(MissedMode.RUN_ALL, max_missed=3), [60, 120, 180, 240, 300, 600, 660]),
        (MissedPolicy(MissedMode.SKIP), [60, 120, 600, 660]),
    ],
    ids=["run_once", "run_all", "skip"],
)
def test_pause_is_treated_as_an_outage_by_a_catch_up(
    world: World, pausing: Pausing, policy: MissedPolicy, fired: list[int]
) -> None:
    world.add(job("* * * * *", missed=policy, overlap=Overlap.ALLOW))
    world.until(NOON + 150)
    pausing.pause("default", "tick-tock")
    world.until(NOON + 610)
    pausing.resume("default", "tick-tock", catch_up=True)
    world.until(NOON + 660)
    assert [second for second, state in world.states("tick-tock") if state is RunState.SUCCEEDED] == fired


def test_pause_of_many_hours_with_a_catch_up_is_followed_by_regular_runs(world: World, pausing: Pausing) -> None:
    world.add(job("*/30 * * * *", overlap=Overlap.ALLOW))
    world.until(NOON + 60)
    pausing.pause("default", "tick-tock")
    world.until(NOON + 6 * 3600 + 60)  # the watermark has passed the hour in which it was paused
    pausing.resume("default", "tick-tock", catch_up=True)
    world.until(NOON + 8 * 3600)
    done = [second for second, state in world.states("tick-tock") if state is RunState.SUCCEEDED]
    assert done == [1800, *range(6 * 3600, 8 * 3600 + 1, 1800)]


def test_pause_does_not_count_enqueued_occurrences_that_were_not_yet_due_as_run(world: World, pausing: Pausing) -> None:
    world.add(job("* * * * *", max_runs=6))
    world.until(NOON + 150)
    pausing.pause("default", "tick-tock")
    world.until(NOON + 170)
    pausing.resume("default", "tick-tock", catch_up=False)
    world.until(NOON + 1200)
    assert [second for second, _ in world.states("tick-tock")] == [60, 120, 180, 240, 300, 360]
    assert world.jobs.get("default", "tick-tock").state is JobState.COMPLETED


def test_pause_that_includes_the_last_occurrence_is_followed_by_completion(world: World, pausing: Pausing) -> None:
    world.add(job("at(2026-11-21T12:03:00)"))
    world.until(NOON + 100)
    pausing.pause("default", "tick-tock")
    world.until(NOON + 600)
    assert pausing.resume("default", "tick-tock", catch_up=False).job.state is JobState.COMPLETED
    assert [(run.state, run.reason) for run in world.runs("tick-tock")] == [(RunState.SKIPPED, "paused")]


def test_pause_and_resume_change_nothing_more_when_repeated(world: World, pausing: Pausing) -> None:
    world.add(job("* * * * *"))
    once = pausing.pause("default", "tick-tock").job
    assert pausing.pause("default", "tick-tock").job == once
    again = pausing.resume("default", "tick-tock", catch_up=False).job
    assert pausing.resume("default", "tick-tock", catch_up=True).job == again


def answered(world: World) -> list[int]:
    """Seconds after NOON of all minutes that a record stands for, each as often as one does."""
    return sorted(
        at - int(NOON)
        for run in world.runs("tick-tock")
        for at in range(run.occurrence, (run.through or run.occurrence) + 1, 60)
    )


@pytest.mark.parametrize("catch_up", [True, False], ids=["caught up", "skipped"])
def test_pause_and_resume_account_for_earlier_due_occurrences_that_were_not_enqueued(
    world: World, pausing: Pausing, *, catch_up: bool
) -> None:
    world.add(job("* * * * *", missed=MissedPolicy(MissedMode.RUN_ALL, max_missed=100), overlap=Overlap.ALLOW))
    world.until(NOON + 120)
    world.until(NOON + 3600, ticking=False)  # dispatched until 900 s
    pausing.pause("default", "tick-tock")
    world.until(NOON + 4200)
    pausing.resume("default", "tick-tock", catch_up=catch_up)
    world.until(NOON + 5400)
    assert answered(world) == list(range(60, 5400 + 1, 60))
    late = [run for run in world.runs("tick-tock") if 900 < run.occurrence - NOON <= 4200]
    if catch_up:
        assert [(run.state, run.count) for run in late] == [(RunState.SUCCEEDED, 1)] * 55
    else:
        assert [(run.state, run.reason, run.count) for run in late] == [(RunState.SKIPPED, "paused", 55)]


def test_pause_counts_earlier_due_occurrences_that_were_not_enqueued_towards_max_runs(
    world: World, pausing: Pausing
) -> None:
    world.add(job("* * * * *", max_runs=30))
    world.until(NOON + 120)
    world.until(NOON + 1500, ticking=False)
    pausing.pause("default", "tick-tock")
    world.until(NOON + 1530)
    pausing.resume("default", "tick-tock", catch_up=False)
    world.until(NOON + 3600)
    assert answered(world) == list(range(60, 1800 + 1, 60))


def test_pause_before_the_first_tick_counts_runs_sent_on_creation(world: World, pausing: Pausing) -> None:
    world.add(job("rate(10 seconds)", max_runs=6))
    world.until(NOON + 35)
    pausing.pause("default", "tick-tock")
    world.until(NOON + 55)
    pausing.resume("default", "tick-tock", catch_up=False)
    world.until(NOON + 300)
    ran, covered = RunState.SUCCEEDED, RunState.SKIPPED
    assert world.states("tick-tock") == [
        *((second, ran) for second in (10, 20, 30)), (40, covered), *((second, ran) for second in (60, 70, 80)),
    ]  # fmt: skip
    assert world.jobs.get("default", "tick-tock").state is JobState.COMPLETED


@pytest.mark.parametrize(
    ("expression", "max_runs"), [("at(2026-11-21T12:02:00)", None), ("*/2 * * * *", 1)], ids=["one-off", "max_runs"]
)
def test_pause_between_start_and_end_of_the_last_run_does_not_prevent_completion(
    world: World, pausing: Pausing, expression: str, max_runs: int | None
) -> None:
    world.caller.answer = lambda call: Failed("no") if call.run.attempt == 1 else Returned()
    ten_minutes = RetryPolicy(max_attempts=2, backoff=Backoff.FIXED, min_seconds=600, max_seconds=600)
    world.add(job(expression, max_runs=max_runs, retry=ten_minutes))
    world.until(NOON + 180)
    pausing.pause("default", "tick-tock")
    world.until(NOON + 240)
    assert pausing.resume("default", "tick-tock", catch_up=False).job.state is JobState.ACTIVE
    world.until(NOON + 900)
    assert world.states("tick-tock") == [(120, RunState.SUCCEEDED)]
    assert world.jobs.get("default", "tick-tock").state is JobState.COMPLETED


def test_pause_lasts_until_the_resume_although_the_last_run_of_the_job_ends_in_it(
    world: World, pausing: Pausing
) -> None:
    world.caller.answer = lambda call: Failed("no") if call.run.attempt == 1 else Returned()
    ten_minutes = RetryPolicy(max_attempts=2, backoff=Backoff.FIXED, min_seconds=600, max_seconds=600)
    world.add(job("at(2026-11-21T12:02:00)", retry=ten_minutes))
    world.until(NOON + 180)
    pausing.pause("default", "tick-tock")
    world.until(NOON + 900)
    assert world.states("tick-tock") == [(120, RunState.SUCCEEDED)]
    assert world.jobs.get("default", "tick-tock").state is JobState.PAUSED
    assert pausing.resume("default", "tick-tock", catch_up=False).job.state is JobState.COMPLETED


def test_pause_planned_for_all_jobs_leaves_a_job_whose_last_run_is_in_progress(world: World, pausing: Pausing) -> None:
    world.caller.answer = lambda call: Failed("no") if call.run.attempt == 1 else Returned()
    ten_minutes = RetryPolicy(max_attempts=2, backoff=Backoff.FIXED, min_seconds=600, max_seconds=600)
    world.add(job("at(2026-11-21T12:02:00)", retry=ten_minutes))
    world.add(job("* * * * *", id="other"))
    world.until(NOON + 180)
    begin = int(NOON) + 3600
    found = pausing.pause_many("default", JobSelection(), by="ada", start=begin, end=PlannedResume(begin + 3600))
    assert (found.changed, found.failed) == (1, ())
    assert pausing.resume_many("default", JobSelection(), catch_up=False).failed == ()
    world.until(NOON + 900)
    assert world.states("tick-tock") == [(120, RunState.SUCCEEDED)]
    assert world.jobs.get("default", "tick-tock").state is JobState.COMPLETED


def test_pause_planned_for_a_step_of_a_workflow_is_refused(world: World, pausing: Pausing) -> None:
    world.add(replace(job("", id="step"), workflow="nightly"))
    begin = int(NOON) + 3600
    with pytest.raises(ScheduleError, match="plan a pause of the workflow nightly"):
        pausing.pause("default", "step", start=begin, end=PlannedResume(begin + 3600))
    found = pausing.pause_many("default", JobSelection(), by="ada", start=begin, end=PlannedResume(begin + 3600))
    assert (found.changed, found.failed) == (0, ("step",))


def test_pause_on_failure_counts_dead_runs_despite_skipped_runs_between_them(world: World) -> None:
    world.caller.answer = fail
    slowly = RetryPolicy(max_attempts=2, backoff=Backoff.FIXED, min_seconds=840, max_seconds=840)
    world.add(job("* * * * *", retry=slowly, pause_on_failure=3))
    world.until(NOON + 4 * 3600)
    assert world.jobs.get("default", "tick-tock").state is JobState.PAUSED
    assert sum(run.state is RunState.DEAD for run in world.runs("tick-tock")) == 3


def test_pause_on_failure_announces_a_death_once_if_the_run_history_cannot_be_read(world: World) -> None:
    world.caller.answer = fail
    world.add(job("0 * * * *", retry=ONCE, pause_on_failure=1))
    with world.faulty("run_store", page=throttled()):
        world.until(NOON + 3600 + 1800)
    assert the_run(world).state is RunState.DEAD
    assert len(world.notices.deaths) == 1


def test_pause_on_failure_that_was_rejected_is_repeated_at_the_next_delivery_of_the_message(world: World) -> None:
    world.caller.answer = fail
    world.add(job("* * * * *", retry=ONCE, pause_on_failure=1))
    world.jobs = around(world.jobs, change=throttled(times=1))
    world.until(NOON + 300)
    assert world.jobs.get("default", "tick-tock").state is JobState.PAUSED
    assert [run.state for run in world.runs("tick-tock")] == [RunState.DEAD]
    assert (len(world.notices.deaths), world.count("JobsPaused")) == (1, 1)
