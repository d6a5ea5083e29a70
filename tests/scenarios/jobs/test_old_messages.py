"""A message is judged by the definition that enqueued it, however the job was changed while it was under way."""

import pytest

from duecourse.domain.jobs.job import MissedMode, MissedPolicy, Overlap
from duecourse.domain.runs.states import Run, RunState
from tests.support.faulty import Skewed
from tests.support.jobs import NOON, job
from tests.support.world import Office, World

SUCCEEDED, SKIPPED = RunState.SUCCEEDED, RunState.SKIPPED


def covered(runs: list[Run]) -> list[tuple[int, int, RunState]]:
    """From which second after NOON to which each record reaches, and its state."""
    return [(run.occurrence - int(NOON), (run.through or run.occurrence) - int(NOON), run.state) for run in runs]


def test_enqueued_messages_catch_up_after_a_pause_runs_despite_a_schedule_change_before_its_start(
    world: World, office: Office
) -> None:
    world.add(job("* * * * *", overlap=Overlap.ALLOW))
    world.until(NOON + 150)
    office.pause()
    world.until(NOON + 610)
    office.resume(catch_up=True)
    world.dispatch()
    late = world.wheel.hold_back(180)
    assert late
    office.edit(expression="*/30 * * * *")
    world.wheel.give_back(late)
    world.until(NOON + 900)
    assert covered(world.runs("tick-tock"))[2] == (180, 540, SUCCEEDED)


def test_enqueued_messages_remainder_of_a_catch_up_whose_first_run_has_started_survives_an_edit(
    world: World, office: Office
) -> None:
    world.add(job("* * * * *", overlap=Overlap.ALLOW))  # the API sends the first two at once
    world.until(NOON + 800, ticking=False)
    world.dispatch()
    late = world.wheel.hold_back(60)
    assert late[0].message.through == NOON + 720
    office.edit(expression="*/30 * * * *")
    world.wheel.give_back(late)
    world.until(NOON + 900, ticking=False)
    assert covered(world.runs("tick-tock"))[:3] == [(60, 60, SUCCEEDED), (120, 120, SUCCEEDED), (180, 720, SUCCEEDED)]


def test_enqueued_messages_late_run_is_not_superseded_by_an_occurrence_of_only_the_new_schedule(
    world: World, office: Office
) -> None:
    world.add(job("5 12 * * *", id="daily"))
    world.dispatch()
    world.clock.set(NOON + 305)
    office.edit("daily", expression="*/5 * * * *")
    world.clock.set(NOON + 700)  # the run of 12:05 has waited for a worker, and 12:10 is over
    world.work()
    assert covered(world.runs("daily"))[0] == (300, 300, SUCCEEDED)


def test_enqueued_messages_late_run_is_not_superseded_by_an_occurrence_withdrawn_by_a_pause(
    world: World, office: Office
) -> None:
    world.add(job("*/5 * * * *"))
    world.dispatch()
    late = world.wheel.hold_back(300)
    assert late
    world.until(NOON + 360)
    office.pause()
    world.until(NOON + 720)
    office.resume()
    world.wheel.give_back(late)
    world.work()
    assert (300, 300, SUCCEEDED) in covered(world.runs("tick-tock"))


def test_enqueued_messages_late_run_is_superseded_by_the_next_one_of_its_own_replaced_schedule(
    world: World, office: Office
) -> None:
    world.add(job("* * * * *"))
    world.until(NOON + 70)
    late = world.wheel.hold_back(120)
    world.until(NOON + 200)
    office.edit(expression="0 0 1 1 *")
    world.wheel.give_back(late)
    world.work()
    assert (120, 120, SKIPPED) in covered(world.runs("tick-tock"))


def test_enqueued_messages_run_withdrawn_by_an_edit_stays_withdrawn_after_another_edit(
    world: World, office: Office
) -> None:
    world.add(job("* * * * *"))
    world.until(NOON + 70)
    late = world.wheel.hold_back(120)
    world.clock.set(NOON + 100)
    office.edit(expression="0 0 1 1 *")
    world.clock.set(NOON + 130)
    office.edit(expression="0 0 2 1 *")
    world.wheel.give_back(late)
    world.work()
    assert covered(world.runs("tick-tock")) == [(60, 60, SUCCEEDED)]


def test_enqueued_messages_run_withdrawn_by_a_pause_stays_withdrawn_after_another_pause(
    world: World, office: Office
) -> None:
    world.add(job("* * * * *"))
    world.until(NOON + 70)
    late = world.wheel.hold_back(120)
    world.clock.set(NOON + 100)
    office.pause()
    world.clock.set(NOON + 130)
    office.resume()
    world.clock.set(NOON + 140)
    office.pause()
    world.clock.set(NOON + 150)
    office.resume()
    world.wheel.give_back(late)
    world.until(NOON + 170)
    assert covered(world.runs("tick-tock")) == [(60, 60, SUCCEEDED), (120, 120, SKIPPED)]


def test_enqueued_messages_pause_by_a_fast_clock_and_resume_by_a_slow_clock_lose_nothing(world: World) -> None:
    world.add(job("rate(2 seconds)", overlap=Overlap.ALLOW))
    world.until(NOON + 80)
    Office(world, Skewed(world.clock, 5)).pause()
    world.clock.set(NOON + 81)
    Office(world, Skewed(world.clock, -5)).resume()
    world.until(NOON + 130)
    assert [run.occurrence - NOON for run in world.runs("tick-tock")] == list(range(2, 131, 2))
    assert len(world.caller.runs) == 65


def test_enqueued_messages_job_recreated_by_a_slow_clock_differs_from_the_one_deleted_by_a_fast_clock(
    world: World, office: Office
) -> None:
    fast = Office(world, Skewed(world.clock, 5))
    world.add(job("* * * * *"))
    world.until(NOON + 70)
    fast.edit(expression="*/2 * * * *")
    deleted = office.job()
    fast.delete()
    assert office.create("* * * * *").generation > deleted.generation
    world.until(NOON + 310)
    assert [run.occurrence - NOON for run in world.runs("tick-tock")] == [60, 120, 180, 240, 300]


@pytest.mark.parametrize("mode", [MissedMode.RUN_ONCE, MissedMode.RUN_ALL])
def test_enqueued_messages_start_deadline_of_a_catch_up_is_counted_from_its_newest_occurrence(
    world: World, mode: MissedMode
) -> None:
    world.add(job("* * * * *", missed=MissedPolicy(mode), start_deadline_seconds=600, overlap=Overlap.ALLOW))
    world.until(NOON + 1860, ticking=False)
    world.until(NOON + 1950)
    ran = covered([run for run in world.runs("tick-tock") if run.state is SUCCEEDED])
    if mode is MissedMode.RUN_ONCE:
        assert ran[2] == (180, 1800, SUCCEEDED)
    else:
        assert [first for first, _, _ in ran[:2]] == [60, 120]
        assert all(first >= 1860 - 600 for first, _, _ in ran[2:])
