"""Jobs that end are removed some time later; their runs stay."""

import pytest

from duecourse.domain.instants import DAY_SECONDS
from duecourse.domain.jobs.job import AfterCompletion, JobState
from duecourse.domain.runs.states import RunState
from duecourse.domain.targets.targets import Failed
from duecourse.testing.clock import SettableClock
from duecourse.testing.faults import around, before
from duecourse.usecases.jobs.job_errors import JobUnknownError
from duecourse.usecases.runs.requests import Later
from duecourse_schedules import ScheduleSpec
from tests.support.jobs import NOON
from tests.support.world import Office, World

AT = "at(2026-11-21T12:10:00)"
DUE = int(NOON) + 600
ENDED = DUE + 120
HOUR = AfterCompletion(3600)


def ended(world: World) -> None:
    """Let the runs end."""
    world.until(ENDED)
    assert world.office.job().state is JobState.COMPLETED


def go_to(world: World, instant: float) -> None:
    assert isinstance(world.clock, SettableClock)
    world.clock.set(instant)


def is_there(world: World) -> bool:
    try:
        world.office.job()
    except JobUnknownError:
        return False
    return True


def removed_after(world: World) -> float | None:
    """How long after its occurrence the job is removed."""
    expires_at = world.office.job().expires_at
    return None if expires_at is None else expires_at - DUE


def test_removal_of_a_one_off_job_happens_a_day_after_its_end_and_keeps_its_run(office: Office) -> None:
    world = office.world
    office.create(AT)
    ended(world)
    go_to(world, DUE + DAY_SECONDS - 10)
    assert is_there(world)
    go_to(world, ENDED + DAY_SECONDS)
    assert not is_there(world)
    (run,) = office.listed()
    assert run.state is RunState.SUCCEEDED
    assert office.record(run) == run
    with pytest.raises(JobUnknownError):
        office.edit(description="late")
    with pytest.raises(JobUnknownError):
        office.delete()


def test_removal_allows_a_new_job_under_the_same_id_to_run(office: Office) -> None:
    world = office.world
    old = office.create(AT)
    ended(world)
    go_to(world, ENDED + DAY_SECONDS)
    assert office.create("at(2026-11-22T13:00:00)").generation > old.generation
    world.until(NOON + 25 * 3600 + 60)
    assert world.states("tick-tock") == [(600, RunState.SUCCEEDED), (25 * 3600, RunState.SUCCEEDED)]
    assert office.job().state is JobState.COMPLETED


def test_removal_is_prevented_by_an_earlier_new_schedule(office: Office) -> None:
    world = office.world
    office.create(AT)
    ended(world)
    office.edit(expression="0 13 * * *")
    go_to(world, ENDED + 2 * DAY_SECONDS)
    assert office.job().state is JobState.ACTIVE
    assert office.job().expires_at is None


@pytest.mark.parametrize("asked", [None, HOUR])
def test_removal_of_a_one_off_job_with_a_dead_run_does_not_happen_by_default(
    office: Office, asked: AfterCompletion | None
) -> None:
    office.world.caller.answer = lambda _: Failed("http.400", "no", retryable=False)
    office.create(AT, after_completion=asked)
    ended(office.world)
    assert (removed_after(office.world) is None) is (asked is None)


def test_removal_of_a_one_off_job_can_be_disabled(office: Office) -> None:
    office.create(AT, after_completion=AfterCompletion(None))
    ended(office.world)
    assert removed_after(office.world) is None


@pytest.mark.parametrize("bound", ["max_runs", "end"])
def test_removal_of_a_job_with_several_runs_happens_only_if_requested(office: Office, bound: str) -> None:
    limit = {"max_runs": 2} if bound == "max_runs" else {}
    for job_id, after in (("kept", None), ("removed", HOUR)):
        office.create("*/5 * * * *", job_id, after_completion=after, **limit)
        if bound == "end":
            schedule = ScheduleSpec("*/5 * * * *", end=DUE + 1)
            office.edit(job_id, schedule=schedule)
    office.world.until(ENDED)
    kept, removed = office.job("kept"), office.job("removed")
    assert (kept.state, removed.state) == (JobState.COMPLETED, JobState.COMPLETED)
    assert kept.expires_at is None
    assert removed.expires_at is not None
    assert 3600 <= removed.expires_at - DUE < 3660


def test_removal_rule_changed_in_an_ended_job_counts_from_the_change(office: Office) -> None:
    world = office.world
    office.create(AT)
    ended(world)
    office.edit(after_completion=HOUR)
    assert removed_after(world) == ENDED - DUE + 3600
    office.edit(description="the same")
    assert removed_after(world) == ENDED - DUE + 3600
    office.edit(after_completion=AfterCompletion(None))
    assert removed_after(world) is None


def test_removal_is_not_prevented_by_an_edit_while_the_job_ends(office: Office) -> None:
    world = office.world
    office.create(AT)
    world.until(DUE - 60)
    plain = world.jobs
    world.jobs = around(plain, complete=before(lambda: office.edit(tags=("late",)), times=1))
    ended(world)
    assert office.job().tags == ("late",)
    assert removed_after(world) is not None


def test_removal_lets_later_delayed_runs_be_skipped_as_runs_of_a_deleted_job(office: Office) -> None:
    world = office.world
    office.create(AT, after_completion=HOUR)
    ended(world)
    office.run(later=Later(delay_seconds=7200))
    world.until(ENDED + 7200 + 120)
    assert not is_there(world)
    assert [run.state for run in world.runs("tick-tock")][:1] == [RunState.SUCCEEDED]
    assert len(world.caller.calls) == 1
