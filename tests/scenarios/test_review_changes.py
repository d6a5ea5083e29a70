"""What an adversarial reading of changing and asking found."""

from __future__ import annotations

import pytest

from duecourse.domain.job import JobState, Overlap
from duecourse.domain.run import RunState
from duecourse.domain.targets import Failed, Outcome, Succeeded
from duecourse.ports import Call
from duecourse.usecases.skip_next import SKIPPED
from tests.scenarios.test_edit import Office
from tests.support.by_hand import ByHand
from tests.support.jobs import NOON, job
from tests.support.tables import Tables
from tests.support.world import World

pytestmark = pytest.mark.emulator

S, K = RunState.SUCCEEDED, RunState.SKIPPED


@pytest.fixture
def office(tables: Tables) -> Office:
    return Office(World(tables))


def test_more_jitter_does_not_count_an_occurrence_twice(office: Office) -> None:
    office.world.add(job("* * * * *", max_runs=5))
    office.world.until(NOON + 130)
    office.edit(jitter_seconds=120)
    office.world.until(NOON + 3600)
    assert office.world.states("tick-tock") == [(60, S), (120, S), (180, S), (240, S), (300, S)]
    assert office.job().state is JobState.COMPLETED


def test_what_was_skipped_of_a_job_that_was_deleted_runs_for_its_namesake(office: Office) -> None:
    office.world.add(job("* * * * *"))
    assert len(ByHand(office.world).skip(3)) == 3
    office.jobs.delete("default", "tick-tock")
    office.world.clock.advance(1)
    office.world.add(job("* * * * *", at=NOON + 1))
    office.world.until(NOON + 300)
    assert office.world.states("tick-tock") == [(second, S) for second in (60, 120, 180, 240, 300)]


def test_a_namesake_can_be_asked_to_skip_the_same_occurrence(office: Office) -> None:
    office.world.add(job("* * * * *"))
    ByHand(office.world).skip()
    office.jobs.delete("default", "tick-tock")
    office.world.clock.advance(1)
    office.world.add(job("* * * * *", at=NOON + 1))
    (skipped,) = ByHand(office.world).skip()
    assert (skipped.occurrence, skipped.reason) == (int(NOON) + 60, SKIPPED)
    office.world.until(NOON + 120)
    assert office.world.states("tick-tock") == [(60, K), (120, S)]


def test_what_came_due_in_a_pause_is_recorded_once_though_the_schedule_was_changed_in_it(office: Office) -> None:
    office.world.add(job("* * * * *", overlap=Overlap.ALLOW))
    office.world.until(NOON + 90)
    office.pausing.pause("default", "tick-tock")
    office.world.clock.set(NOON + 400)  # no worker has looked at what was enqueued since
    assert office.edit(expression="*/2 * * * *").skipped == 5
    office.world.until(NOON + 500)
    records = [(run.occurrence - int(NOON), run.state, run.count) for run in office.world.runs("tick-tock")]
    assert records == [(60, S, 1), (120, K, 5)]


def test_many_runs_by_hand_do_not_hide_the_last_of_the_schedule(office: Office) -> None:
    world = office.world
    world.add(job("* * * * *", max_runs=1, overlap=Overlap.ALLOW))
    outcomes: list[Outcome] = [Failed("not yet", retryable=True, retry_after=200.0)]

    def answer(call: Call) -> Outcome:
        return outcomes.pop() if outcomes and not call.run.suffix else Succeeded("fine")

    world.caller.answer = answer
    world.until(NOON + 65)
    for _ in range(51):
        world.clock.advance(1)
        ByHand(world).run()
        world.work()
    assert office.job().state is JobState.ACTIVE
    world.until(NOON + 600)
    assert {run.state for run in world.runs("tick-tock")} == {S}
    assert office.job().state is JobState.COMPLETED
