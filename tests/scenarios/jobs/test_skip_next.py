"""Skipping what comes next, though it is enqueued already."""

import pytest

from duecourse.domain.jobs.cursor import PlannedResume
from duecourse.domain.jobs.job import JobState, MissedMode, MissedPolicy, Overlap
from duecourse.domain.runs.states import RunState
from duecourse.testing.faults import around, lost
from duecourse.usecases.jobs.job_errors import JobChangedError, KeyReusedError
from duecourse.usecases.runs.requests import RunRequest
from duecourse.usecases.runs.skip_next import SKIPPED, NothingToSkipError
from tests.support.jobs import NOON, job
from tests.support.parts import with_parts
from tests.support.tables import Tables
from tests.support.world import Killed, Office, World

N = int(NOON)
S, K = RunState.SUCCEEDED, RunState.SKIPPED


def test_skip_next_prevents_runs_although_fourteen_minutes_of_them_are_enqueued(world: World, office: Office) -> None:
    world.add(job("* * * * *"))
    world.until(NOON + 130)
    (skipped,) = office.skip()
    assert (skipped.occurrence, skipped.state, skipped.reason, skipped.requested_by) == (N + 180, K, SKIPPED, "anna")
    world.until(NOON + 300)
    assert world.states("tick-tock") == [(60, S), (120, S), (180, K), (240, S), (300, S)]


def test_skip_next_skips_consecutive_occurrences_in_order(world: World, office: Office) -> None:
    world.add(job("* * * * *"))
    world.until(NOON + 130)
    assert [run.occurrence - N for run in office.skip(2)] == [180, 240]
    assert [run.occurrence - N for run in office.skip(1)] == [300]
    world.until(NOON + 360)
    assert world.states("tick-tock") == [(60, S), (120, S), (180, K), (240, K), (300, K), (360, S)]


def test_skip_next_also_skips_occurrences_that_are_not_yet_enqueued(world: World, office: Office) -> None:
    world.add(job("0 * * * *"))
    assert [run.occurrence - N for run in office.skip(2)] == [3600, 7200]
    world.until(NOON + 3 * 3600)
    assert world.states("tick-tock") == [(3600, K), (7200, K), (10_800, S)]


@pytest.mark.parametrize(("catch_up", "skipped"), [(False, [360, 420]), (True, [180, 240])])
def test_skip_next_of_a_paused_job_skips_occurrences_that_would_run(
    world: World, office: Office, catch_up: bool, skipped: list[int]
) -> None:
    policy = MissedPolicy(MissedMode.RUN_ALL)
    world.add(job("* * * * *", missed=policy, overlap=Overlap.ALLOW))
    world.until(NOON + 130)
    world.office.api.pausing.pause("default", "tick-tock", end=PlannedResume(N + 330, catch_up))
    assert [run.occurrence - N for run in office.skip(2)] == skipped
    world.until(NOON + 480)
    ran = [at for at, state in world.states("tick-tock") if state is S]
    assert ran == ([60, 120, 300, 360, 420, 480] if catch_up else [60, 120, 480])


def test_skip_next_skips_no_more_occurrences_than_come_due(world: World, office: Office) -> None:
    world.add(job("* * * * *", max_runs=3, overlap=Overlap.ALLOW))
    world.until(NOON + 70)
    assert [run.occurrence - N for run in office.skip(100)] == [120, 180]
    with pytest.raises(NothingToSkipError):
        office.skip()
    world.until(NOON + 300)
    assert office.job().state is JobState.COMPLETED
    assert world.states("tick-tock") == [(60, S), (120, K), (180, K)]


def test_skip_next_is_rejected_for_a_completed_job(world: World, office: Office) -> None:
    world.add(job("* * * * *", max_runs=1))
    world.until(NOON + 120)
    with pytest.raises(NothingToSkipError):
        office.skip()


def test_skip_next_skips_an_occurrence_that_is_delayed_by_jitter(world: World, office: Office) -> None:
    jittery = world.add(job("* * * * *", jitter_seconds=50))
    due = jittery.occurrences().due(N + 60)
    world.until(due - 1)
    assert [run.occurrence - N for run in office.skip()] == [60]
    world.until(NOON + 180)
    assert world.states("tick-tock")[0] == (60, K)


def test_skip_next_is_kept_until_its_occurrence_and_the_retention_have_passed(world: World, office: Office) -> None:
    world.add(job("0 0 1 1 *"))
    (skipped,) = office.skip()
    assert skipped.expires_at == skipped.due + 90 * 86_400


@pytest.fixture
def anywhere(any_tables: Tables) -> Office:
    """On each emulator of the tables."""
    return Office(World(any_tables))


def test_skip_next_repeated_with_its_key_skips_nothing_more(anywhere: Office) -> None:
    world = anywhere.world
    world.add(job("* * * * *"))
    assert [run.occurrence - N for run in anywhere.skip(2, key="order-7")] == [60, 120]
    assert [run.occurrence - N for run in anywhere.skip(2, key="order-7")] == [60, 120]
    world.until(NOON + 130)
    assert [run.occurrence - N for run in anywhere.skip(2, key="order-7")] == [60, 120]
    assert [run.occurrence - N for run in anywhere.skip(2, key="order-8")] == [180, 240]
    with pytest.raises(KeyReusedError):
        anywhere.skip(3, key="order-7")


def test_skip_next_that_was_interrupted_is_completed_by_its_repetition(anywhere: Office) -> None:
    world = anywhere.world
    world.add(job("* * * * *", max_runs=5))
    dies = lost(Killed(), when=lambda run, _: run.occurrence == N + 120)
    interrupted = around(world.run_store, write=dies)
    dying = with_parts(anywhere.api.skip_next, runs=interrupted)
    with pytest.raises(Killed):
        dying.skip(anywhere.job(), 3, RunRequest("anna", "order-7"))
    world.until(NOON + 130)
    assert [run.occurrence - N for run in anywhere.skip(3, key="order-7")] == [60, 120, 180]
    world.until(NOON + 400)
    assert world.states("tick-tock") == [(60, K), (120, K), (180, K), (240, S), (300, S)]


def test_skip_next_is_not_repeated_for_another_schedule(world: World, office: Office) -> None:
    world.add(job("0 * * * *"))
    office.skip(key="order-7")
    office.pause()
    with pytest.raises(JobChangedError):
        office.skip(key="order-7")
