"""A schedule of so many runs: each of them runs, and the job is completed when the last one has ended."""

import pytest

from duecourse.domain.jobs.cursor import PlannedResume
from duecourse.domain.jobs.job import JobState, MissedMode, MissedPolicy, Overlap
from duecourse.domain.runs.states import RunState
from duecourse.domain.targets.targets import Failed, Outcome, Returned
from duecourse.messages import read_run_message
from duecourse.ports import Call
from tests.support.jobs import NOON, job
from tests.support.world import World


def test_max_runs_final_catch_up_behind_runs_sent_on_creation_is_not_lost(world: World) -> None:
    world.add(job("* * * * *", max_runs=5))
    world.until(NOON + 600, ticking=False)
    world.until(NOON + 720)
    assert [(run.occurrence - NOON, run.count, run.state) for run in world.runs("tick-tock")] == [
        (60, 1, RunState.SUCCEEDED),
        (120, 1, RunState.SUCCEEDED),
        (180, 3, RunState.SUCCEEDED),
    ]
    assert world.jobs.get("default", "tick-tock").state is JobState.COMPLETED


def test_max_runs_last_run_may_end_before_an_earlier_one_has_started(world: World) -> None:
    world.add(job("rate(100 seconds)", max_runs=3, overlap=Overlap.ALLOW))
    world.until(NOON + 100)
    late = world.wheel.hold_back(200)
    world.until(NOON + 330)
    world.wheel.give_back(late)
    world.until(NOON + 400)
    assert [second for second, _ in world.states("tick-tock")] == [100, 200, 300]


def test_max_runs_last_run_is_not_superseded_by_an_occurrence_beyond_the_limit(world: World) -> None:
    world.add(job("* * * * *", max_runs=2))
    world.until(NOON + 110)
    late = world.wheel.hold_back(120)
    world.until(NOON + 300)
    world.wheel.give_back(late)
    world.until(NOON + 400)
    assert world.states("tick-tock") == [(60, RunState.SUCCEEDED), (120, RunState.SUCCEEDED)]


def test_max_runs_last_message_is_marked_as_final_and_others_are_not(world: World) -> None:
    world.add(job("* * * * *", max_runs=2))
    assert [sent.message.final for sent in world.wheel.sent] == [False, True]
    first, last = (sent.message for sent in world.wheel.sent)
    assert read_run_message(last.to_json()) == last
    assert "final" not in first.to_json()


def test_max_runs_many_manual_runs_do_not_hide_the_last_scheduled_run(world: World) -> None:
    world.add(job("* * * * *", max_runs=1, overlap=Overlap.ALLOW))
    outcomes: list[Outcome] = [Failed("not yet", retryable=True, retry_after=200.0)]

    def answer(call: Call) -> Outcome:
        return outcomes.pop() if outcomes and not call.run.suffix else Returned("fine")

    world.caller.answer = answer
    world.until(NOON + 65)
    for _ in range(51):
        world.clock.advance(1)
        world.office.run()
        world.work()
    assert world.office.job().state is JobState.ACTIVE
    world.until(NOON + 600)
    assert {run.state for run in world.runs("tick-tock")} == {RunState.SUCCEEDED}
    assert world.office.job().state is JobState.COMPLETED


def ran(world: World) -> list[int]:
    """Seconds after NOON of the occurrences that ran."""
    return [second for second, state in world.states("tick-tock") if state is RunState.SUCCEEDED]


@pytest.mark.parametrize("how", ["resume", "end", "planned", "edit"])
def test_max_runs_does_not_count_occurrences_during_a_pause(world: World, how: str) -> None:
    world.add(job("* * * * *", max_runs=5))
    world.until(NOON + 70)
    if how == "planned":
        start = int(NOON) + 100
        world.api.pausing.pause("default", "tick-tock", start=start, end=PlannedResume(start + 110))
    world.until(NOON + 130)
    if how != "planned":
        world.office.pause(until=int(NOON) + 250 if how == "end" else None)
    world.until(NOON + 250)
    if how == "edit":
        world.office.edit(expression="* * * * *", jitter_seconds=1)
    if how in ("resume", "edit"):
        world.office.resume()
    world.until(NOON + 1200)
    assert ran(world) == ([60, 240, 300, 360, 420] if how == "planned" else [60, 120, 300, 360, 420])
    assert world.office.job().state is JobState.COMPLETED


@pytest.mark.parametrize("max_runs", [1, 3])
def test_max_runs_are_all_left_after_a_pause_that_covers_more_occurrences(world: World, max_runs: int) -> None:
    world.add(job("* * * * *", max_runs=max_runs))
    world.until(NOON + 10)
    world.office.pause(until=int(NOON) + 3605)
    shown = world.api.jobs.get("default", "tick-tock").next_occurrence
    assert shown == int(NOON) + 3660
    world.until(NOON + 4200)
    assert ran(world) == [3600 + 60 * each for each in range(1, max_runs + 1)]
    assert world.office.job().state is JobState.COMPLETED


def test_max_runs_does_not_count_occurrences_during_a_pause_of_a_job_with_several_schedules(world: World) -> None:
    world.add(job("0,2 12 * * *|4,6,8 12 * * *", max_runs=3))
    world.until(NOON + 130)
    world.office.pause()
    world.until(NOON + 370)
    world.office.resume()
    world.until(NOON + 86_400 + 600)
    assert ran(world) == [120, 480, 86_400]


def test_max_runs_counts_occurrences_during_a_pause_that_the_resume_catches_up(world: World) -> None:
    world.add(job("* * * * *", max_runs=4, missed=MissedPolicy(MissedMode.RUN_ALL), overlap=Overlap.ALLOW))
    world.until(NOON + 70)
    world.office.pause()
    world.until(NOON + 190)
    world.office.resume(catch_up=True)
    world.until(NOON + 600)
    assert ran(world) == [60, 120, 180, 240]


def test_max_runs_of_an_edit_during_a_pause_counts_only_what_came_due_before_it(world: World) -> None:
    world.add(job("* * * * *", max_runs=5))
    world.until(NOON + 130)
    world.office.pause()
    world.until(NOON + 400)
    world.office.edit(max_runs=3)
    world.office.resume()
    world.until(NOON + 900)
    assert ran(world) == [60, 120, 420]


def test_max_runs_occurrences_beyond_it_are_not_listed_as_queued(world: World) -> None:
    world.add(job("rate(10 seconds)", max_runs=2))
    world.until(NOON + 5)
    assert [run.occurrence - int(NOON) for run in world.office.listed()] == [20, 10]
    world.until(NOON + 60)
    assert {run.state for run in world.office.listed()} == {RunState.SUCCEEDED}


def test_max_runs_bounds_what_is_sent_in_advance_of_the_end_of_a_pause_with_catch_up(world: World) -> None:
    policy = MissedPolicy(MissedMode.RUN_ALL, grace_seconds=5, max_missed=100)
    world.add(job("rate(10 seconds)", max_runs=6, missed=policy, overlap=Overlap.ALLOW))
    world.until(NOON + 35)
    world.office.api.pausing.pause("default", "tick-tock", end=PlannedResume(int(NOON) + 65, catch_up=True))
    assert world.office.api.jobs.get("default", "tick-tock").next_occurrence is None
    world.until(NOON + 200)
    assert ran(world) == [10, 20, 30, 40, 50, 60]
    assert world.office.job().state is JobState.COMPLETED
