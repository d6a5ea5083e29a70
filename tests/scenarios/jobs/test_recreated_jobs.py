"""A job created under the id of a deleted one is another job: what that one left binds it to nothing."""

from typing import Any

import pytest

from duecourse.domain.jobs.job import Breaker, Completion, Concurrency, JobState, Overlap, Rate, RetryPolicy
from duecourse.domain.runs.states import RunState
from duecourse.messages import MessageKind
from duecourse.usecases.runs.requests import RunRequest
from duecourse.usecases.runs.skip_next import SKIPPED
from tests.support.jobs import NOON, job
from tests.support.one_run import AT
from tests.support.world import Office, World

S, K = RunState.SUCCEEDED, RunState.SKIPPED


def test_recreated_job_runs_occurrences_skipped_for_the_deleted_job(office: Office) -> None:
    office.world.add(job("* * * * *"))
    assert len(office.skip(3)) == 3
    office.delete()
    office.world.clock.advance(1)
    office.world.add(job("* * * * *", at=NOON + 1))
    office.world.until(NOON + 300)
    assert office.world.states("tick-tock") == [(second, S) for second in (60, 120, 180, 240, 300)]


def test_recreated_job_can_skip_the_same_occurrence_again(office: Office) -> None:
    office.world.add(job("* * * * *"))
    office.skip()
    office.delete()
    office.world.clock.advance(1)
    office.world.add(job("* * * * *", at=NOON + 1))
    (skipped,) = office.skip()
    assert (skipped.occurrence, skipped.reason) == (int(NOON) + 60, SKIPPED)
    office.world.until(NOON + 120)
    assert office.world.states("tick-tock") == [(60, K), (120, S)]


@pytest.mark.parametrize("by", ["cancelled", "skipped"])
def test_recreated_job_runs_occurrences_cancelled_or_skipped_for_the_deleted_job(
    world: World, office: Office, by: str
) -> None:
    made = world.add(job(AT))
    world.until(NOON + 1)
    if by == "cancelled":
        world.tell(world.queued_about("tick-tock", 120, MessageKind.CANCEL))
    else:
        world.office.skip()
    office.delete(made.id)
    world.clock.advance(1)
    world.add(job(AT, at=NOON + 2))
    world.until(NOON + 300)
    assert world.states("tick-tock") == [(120, S)]
    assert office.job().state is JobState.COMPLETED


@pytest.mark.parametrize(
    "limited", [{"overlap": Overlap.QUEUE}, {"concurrency": Concurrency("crm", 1)}, {"rate": Rate("crm", 1, 1)}]
)
def test_recreated_job_run_under_a_cancelled_name_waits_and_then_starts(
    world: World, office: Office, limited: dict[str, Any]
) -> None:
    made: dict[str, Any] = {"overlap": Overlap.ALLOW} | limited
    world.add(job(AT, **made))
    world.tell(world.queued_about("tick-tock", 120, MessageKind.CANCEL))
    office.delete()
    world.clock.advance(1)
    made |= {"completion": Completion.CALLBACK, "completion_seconds": 40}
    world.add(job("*/2 * * * *", at=NOON + 1, max_runs=1, **made, retry=RetryPolicy(max_attempts=1)))
    world.until(NOON + 115)
    office.run()
    world.until(NOON + 125)
    waits = next(run for run in world.runs("tick-tock") if not run.suffix)
    assert (waits.state, waits.occurrence) == (RunState.QUEUED, int(NOON) + 120)
    world.until(NOON + 400)
    assert sorted(run.state for run in world.runs("tick-tock")) == [RunState.DEAD] * 2, "no callback comes"
    assert len(world.caller.calls) == 2


def test_recreated_job_run_under_a_cancelled_name_is_skipped_while_another_run_is_active(
    world: World, office: Office
) -> None:
    called_off_before(world, "*/2 * * * *", completion=Completion.CALLBACK)
    world.until(NOON + 115)
    office.run()
    world.until(NOON + 125)
    skipped = next(run for run in world.runs("tick-tock") if not run.suffix)
    assert (skipped.state, skipped.reason) == (K, "overlap")


def called_off_before(world: World, anew: str = AT, **changes: Any) -> None:
    """A one-off was cancelled and deleted; the job re-created after it's run of the same name waits in the lane."""
    made = world.add(job(AT))
    world.tell(world.queued_about("tick-tock", 120, MessageKind.CANCEL))
    world.office.delete(made.id)
    world.clock.advance(1)
    world.add(job(anew, at=NOON + 1, **changes))


def test_recreated_job_run_can_be_cancelled_again_under_a_cancelled_name(world: World, office: Office) -> None:
    called_off_before(world)
    world.tell(world.queued_about("tick-tock", 120, MessageKind.CANCEL))
    world.until(NOON + 300)
    assert (world.states("tick-tock"), world.caller.calls) == ([(120, RunState.CANCELLED)], [])
    assert world.count("RunsCancelled") == 2
    assert office.job().state is JobState.COMPLETED


def test_recreated_job_run_under_a_cancelled_name_is_shown_as_queued_and_can_be_cancelled(world: World) -> None:
    called_off_before(world)
    runs = world.api.runs
    (shown,) = runs.history.page("default", "tick-tock", limit=10, before=None).items
    asked = world.api.commands.cancel("default", str(shown.name))
    assert (shown.state, asked.state) == (RunState.QUEUED, RunState.QUEUED)
    world.until(NOON + 300)
    assert (runs.get("default", str(shown.name)).state, world.caller.calls) == (RunState.CANCELLED, [])


def test_recreated_job_without_such_a_run_still_shows_the_cancelled_run_of_the_deleted_job(
    world: World, office: Office
) -> None:
    made = world.add(job(AT))
    world.tell(world.queued_about("tick-tock", 120, MessageKind.CANCEL))
    office.delete(made.id)
    world.clock.advance(1)
    world.add(job("0 * * * *", at=NOON + 1))
    runs = world.office.api.runs
    (shown,) = runs.history.page("default", "tick-tock", limit=10, before=None).items
    assert (shown.state, runs.get("default", str(shown.name)).state) == (RunState.CANCELLED, RunState.CANCELLED)


def test_recreated_job_run_that_never_started_is_found_dead_although_its_name_was_cancelled_before(
    world: World, office: Office
) -> None:
    made = world.add(job(AT))
    world.tell(world.queued_about("tick-tock", 120, MessageKind.CANCEL))
    office.delete(made.id)
    world.clock.advance(1)
    world.add(job(AT, at=NOON + 1))
    world.wheel.dead_letters += world.wheel.hold_back(120)
    world.until(NOON + 600, ticking=False)
    world.reconcile()
    (run,) = world.runs("tick-tock")
    assert (run.state, run.reason) == (RunState.DEAD, "dead_lettered")
    assert len(world.notices.deaths) == 1


def test_recreated_job_is_not_blocked_by_a_run_of_the_deleted_job(world: World) -> None:
    world.add(job("* * * * *", completion=Completion.CALLBACK))
    world.until(NOON + 70)
    found = world.jobs.get("default", "tick-tock")
    assert found is not None
    assert world.jobs.delete(found, deleted_at=world.clock.now())
    world.clock.set(NOON + 75)
    world.add(job("* * * * *", at=NOON + 75))
    world.until(NOON + 200)
    assert world.states("tick-tock") == [(60, RunState.WAITING), (120, RunState.SUCCEEDED), (180, RunState.SUCCEEDED)]


@pytest.mark.parametrize(
    "limited",
    [
        {"overlap": Overlap.SKIP},
        {"overlap": Overlap.QUEUE},
        {"overlap": Overlap.NEWEST},
        {"overlap": Overlap.REPLACE},
        {"overlap": Overlap.ALLOW, "active_limit": 1},
        {"overlap": Overlap.ALLOW, "concurrency": Concurrency("crm", 1)},
        {"overlap": Overlap.QUEUE, "concurrency": Concurrency("crm", 1)},
        {"overlap": Overlap.ALLOW, "rate": Rate("crm", 6, 1)},
        {"overlap": Overlap.ALLOW, "breaker": Breaker("crm", 1, 60)},
    ],
)
def test_recreated_job_leaves_no_run_behind_where_runs_of_the_deleted_job_were_active_or_waited(
    world: World, office: Office, limited: dict[str, Any]
) -> None:
    made: dict[str, Any] = limited | {"retry": RetryPolicy(max_attempts=1)}
    slow = {"completion": Completion.CALLBACK, "completion_seconds": 900}
    world.add(job("", **made, **slow))
    for _ in range(3):
        office.run()
    world.until(NOON + 30)
    office.delete()
    world.clock.advance(1)
    world.add(job("* * * * *", at=NOON + 31, max_runs=3, **made))
    office.run()
    world.until(NOON + 3600)
    new = [run for run in world.runs("tick-tock") if run.due >= NOON + 31]
    assert [run.state for run in world.runs("tick-tock") if not run.state.final] == []
    assert {run.state for run in new} <= {S, K}
    assert S in {run.state for run in new}
    assert world.wait_queues.length("default", "tick-tock", limit=10) == 0


def test_recreated_job_starts_a_run_for_a_key_that_a_request_for_the_deleted_job_had_used(office: Office) -> None:
    office.world.add(job(""))
    asked = RunRequest("anna", "once")
    office.api.manual.run(office.job(), asked)
    office.world.until(NOON + 5)
    office.delete()
    office.world.clock.advance(1)
    office.world.add(job("", at=NOON + 6))
    office.api.manual.run(office.job(), asked)
    office.world.until(NOON + 20)
    assert len(office.world.caller.calls) == 2
