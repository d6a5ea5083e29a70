"""Occurrences of the past, run once more at a pace."""

from collections import Counter
from dataclasses import replace

import pytest

from duecourse.domain.instants import to_iso
from duecourse.domain.jobs.backfill import Backfill, BackfillTooLargeError, Only, Standing
from duecourse.domain.jobs.job import JobState, MissedMode, MissedPolicy, Overlap
from duecourse.domain.runs.states import RunState
from duecourse.domain.targets.targets import Failed, Outcome, Returned
from duecourse.messages import MessageKind
from duecourse.ports import Call
from duecourse.usecases.jobs.job_errors import KeyReusedError
from duecourse.usecases.runs.lists import RunUnknownError
from tests.support.jobs import NOON, job
from tests.support.world import Office, World

N = int(NOON)
S = RunState.SUCCEEDED


def test_backfill_of_a_thousand_runs_over_hours_runs_each_once_and_never_early(world: World, office: Office) -> None:
    world.add(job("* * * * *", overlap=Overlap.ALLOW))
    office.pause()
    started = office.backfill(Backfill(N - 1000 * 60, N, pace_seconds=10))
    made = started.look.plan
    assert made.count == 1000
    assert made.ends_at == N + 999 * 10
    world.until(NOON + 1000 * 10 + 60)
    assert set(Counter(world.caller.runs).values()) == {1}
    assert len(world.caller.calls) == 1000
    records = world.runs("tick-tock")
    assert {run.state for run in records} == {S}
    assert {run.requested_by for run in records} == {"anna"}
    assert [run.occurrence for run in records] == list(range(N - 1000 * 60, N, 60))
    assert [run.due for run in records] == [N + 10 * index for index in range(1000)]
    assert all(0 <= (run.lateness or 0.0) < 1 for run in records)


def test_backfill_runs_are_shown_as_queued_until_they_start(world: World, office: Office) -> None:
    world.add(job("0 * * * *"))
    started = office.backfill(Backfill(N - 7200, N, pace_seconds=3600))
    second = office.api.runs.get("default", f"tick-tock.20261121T110000Z{started.suffix}")
    assert (second.state, second.due, second.requested_by) == (RunState.QUEUED, N + 3600, "anna")
    with pytest.raises(RunUnknownError):
        office.api.runs.get("default", f"tick-tock.20261121T120000Z{started.suffix}")
    world.until(NOON + 3600)
    assert office.api.runs.get("default", str(second.name)).state is S


def test_backfill_run_can_be_cancelled_before_it_starts(world: World, office: Office) -> None:
    world.add(job("0 * * * *", overlap=Overlap.ALLOW, max_runs=1))
    started = office.backfill(Backfill(N - 7200, N, pace_seconds=3600))
    second = office.api.runs.get("default", f"tick-tock.20261121T110000Z{started.suffix}")
    world.tell(world.about(second, MessageKind.CANCEL, reason="cancelled"))
    world.until(NOON + 3700)
    assert office.api.runs.get("default", str(second.name)).state is RunState.CANCELLED
    assert f"tick-tock.20261121T110000Z{started.suffix}" not in world.caller.runs


def test_backfill_works_for_paused_and_completed_jobs(world: World, office: Office) -> None:
    world.add(job("* * * * *", max_runs=1))
    world.until(NOON + 120)
    assert office.job().state is JobState.COMPLETED
    world.caller.calls.clear()
    office.backfill(Backfill(N - 180, N, newest_first=True))
    world.until(NOON + 130)
    assert [run.rpartition(".")[0] for run in world.caller.runs] == [
        "tick-tock.20261121T115900Z", "tick-tock.20261121T115800Z", "tick-tock.20261121T115700Z",
    ]  # fmt: skip
    assert office.job().state is JobState.COMPLETED


def test_backfill_with_the_same_key_starts_nothing_again(world: World, office: Office) -> None:
    world.add(job("* * * * *", overlap=Overlap.ALLOW, max_runs=1))
    first = office.backfill(Backfill(N - 1800, N, pace_seconds=60), key="k-1")
    sent = len(world.wheel.sent)
    world.clock.advance(30)
    again = office.backfill(Backfill(N - 1800, N, pace_seconds=60), key="k-1")
    assert (again.suffix, again.look.plan, again.repeated) == (first.suffix, first.look.plan, True)
    assert len(world.wheel.sent) == sent
    with pytest.raises(KeyReusedError):
        office.backfill(Backfill(N - 1800, N, pace_seconds=61), key="k-1")


def test_backfill_that_was_interrupted_is_finished_by_its_repetition_and_runs_each_once(
    world: World, office: Office
) -> None:
    world.add(job("* * * * *", overlap=Overlap.ALLOW, max_runs=1))
    asked = Backfill(N - 1800, N, pace_seconds=60)

    class Cut(Exception):
        pass

    def cut(_: object) -> bool:
        raise Cut

    world.wheel.refuse = cut
    with pytest.raises(Cut):
        office.backfill(asked, key="k-1")
    world.wheel.refuse = lambda _: False
    world.clock.advance(10)
    started = office.backfill(asked, key="k-1")
    assert (started.look.plan.starts_at, started.repeated) == (N, False)
    world.until(NOON + 2000)
    backfilled = [name for name in world.caller.runs if name.endswith(started.suffix)]
    assert len(backfilled) == len(set(backfilled)) == 30


def test_backfill_runs_rejected_by_their_lane_wait_in_the_due_index(world: World, office: Office) -> None:
    world.add(job("* * * * *", overlap=Overlap.ALLOW, max_runs=1))
    world.until(NOON + 70)
    world.caller.calls.clear()
    world.wheel.refuse = lambda message: message.occurrence % 120 == 0
    office.backfill(Backfill(N - 600, N))
    world.wheel.refuse = lambda _: False
    world.until(NOON + 80)
    assert len(world.caller.calls) == 5
    world.until(NOON + 200)
    assert len(set(world.caller.runs)) == len(world.caller.runs) == 10


def test_backfill_of_a_range_that_is_too_large_starts_nothing(world: World, office: Office) -> None:
    world.add(job("0 0 1 1 *"))
    world.settings = replace(world.settings, backfill_limit=3)
    with pytest.raises(BackfillTooLargeError):
        office.backfill(Backfill(N - 10 * 365 * 86_400, N))
    assert world.wheel.sent == []


HOURLY = "0 * * * *"


def backfilled(world: World, office: Office, asked: Backfill, **more: str) -> list[str]:
    """The hours that the backfill runs, in order."""
    world.caller.calls.clear()
    office.backfill(asked, **more)
    world.until(world.clock.now() + 60)
    return [name.partition(".")[2][9:11] for name in world.caller.runs]


def hours(world: World, office: Office, failing: tuple[str, ...] = ()) -> None:
    """Let the runs of 13:00 to 17:00 happen; those of `failing` die. The time is then 17:30."""
    world.caller.answer = lambda call: (
        Failed("500", retryable=False) if to_iso(call.run.occurrence)[11:13] in failing else Returned("fine")
    )
    world.add(job(HOURLY, overlap=Overlap.ALLOW))
    world.until(NOON + 5 * 3600 + 1800)
    world.caller.answer = lambda _: Returned("fine")


FIVE = Backfill(N + 3600, N + 6 * 3600)


def test_backfill_does_not_repeat_completed_work(world: World, office: Office) -> None:
    hours(world, office)
    assert backfilled(world, office, FIVE) == []
    assert backfilled(world, office, replace(FIVE, since=N - 3600)) == ["11", "12"]
    assert backfilled(world, office, replace(FIVE, since=N - 3600)) == [], "the first backfill counts, too"
    assert len(backfilled(world, office, replace(FIVE, only=Only.ALL))) == 5


def test_backfill_of_failed_runs_repeats_dead_runs_until_they_have_succeeded(world: World, office: Office) -> None:
    hours(world, office, failing=("14", "16"))
    look = office.api.backfills.look(office.job(), FIVE)
    assert (look.plan.count, look.counts) == (0, {Standing.SUCCEEDED: 3, Standing.FAILED: 2})
    assert backfilled(world, office, replace(FIVE, only=Only.FAILED, newest_first=True)) == ["16", "14"]
    assert backfilled(world, office, replace(FIVE, only=Only.FAILED)) == []


def test_backfill_treats_occurrences_skipped_by_an_outage_as_missing_but_not_those_skipped_by_a_pause(
    world: World, office: Office
) -> None:
    world.add(job(HOURLY, overlap=Overlap.ALLOW, missed=MissedPolicy(MissedMode.SKIP)))
    world.until(NOON + 60)
    world.until(NOON + 3 * 3600 + 1800, ticking=False)
    world.until(NOON + 3 * 3600 + 1900)
    office.pause()
    world.until(NOON + 5 * 3600 + 1800)
    office.resume()
    assert office.api.backfills.look(office.job(), FIVE).counts == {Standing.MISSING: 3, Standing.SKIPPED: 2}
    assert backfilled(world, office, FIVE) == ["13", "14", "15"]


def test_backfill_counts_occurrences_covered_by_a_catch_up_run_as_run(world: World, office: Office) -> None:
    world.add(job(HOURLY, overlap=Overlap.ALLOW, missed=MissedPolicy(MissedMode.RUN_ONCE)))
    world.until(NOON + 60)
    world.until(NOON + 5 * 3600 + 1800, ticking=False)
    world.until(NOON + 5 * 3600 + 1900)
    assert backfilled(world, office, FIVE) == []
    assert backfilled(world, office, replace(FIVE, since=N + 2 * 3600)) == [], "the run began before the range"


def test_backfill_treats_a_recently_due_occurrence_as_active(world: World, office: Office) -> None:
    world.add(job(HOURLY, overlap=Overlap.ALLOW))
    world.clock.set(NOON + 3600 + 59)
    assert office.api.backfills.look(office.job(), FIVE).counts == {Standing.ACTIVE: 1}
    world.clock.set(NOON + 3600 + 61)
    assert office.api.backfills.look(office.job(), FIVE).counts == {Standing.MISSING: 1}


def test_backfill_request_that_is_repeated_runs_its_original_selection(world: World, office: Office) -> None:
    hours(world, office, failing=("13", "15", "17"))
    asked = replace(FIVE, only=Only.FAILED, pace_seconds=3600)
    first = office.backfill(asked, key="k-1")
    assert first.look.plan.occurrences == (N + 3600, N + 3 * 3600, N + 5 * 3600)
    third = office.api.runs.get("default", f"tick-tock.20261121T170000Z{first.suffix}")
    assert (third.state, third.due) == (RunState.QUEUED, first.look.plan.starts_at + 2 * 3600)
    world.until(NOON + 7 * 3600)
    again = office.backfill(asked, key="k-1")
    assert (again.look.plan, again.repeated) == (first.look.plan, True)


@pytest.mark.parametrize("schedule", ["0 * * * *", ""])
def test_backfill_of_all_runs_that_is_repeated_is_the_same_after_a_change_of_the_schedule(
    world: World, office: Office, schedule: str
) -> None:
    world.add(job("*/5 * * * *", overlap=Overlap.ALLOW))
    asked = Backfill(N - 7200, N, pace_seconds=3600, only=Only.ALL)
    first = office.backfill(asked, key="k-1")
    assert first.look.plan.count == 24
    office.edit(expression=schedule)
    again = office.backfill(asked, key="k-1")
    assert (again.look.plan, again.look.at_once, again.repeated) == (first.look.plan, None, True)
    second = office.api.runs.get("default", f"tick-tock.20261121T100500Z{first.suffix}")
    assert (second.state, second.due) == (RunState.QUEUED, N + 3600)


def keys_of(world: World) -> list[str]:
    """Collect the idempotency keys of all calls from now on."""
    found: list[str] = []

    def call(made: Call) -> Outcome:
        found.append(made.idempotency_key)
        return Failed("500", retryable=False)

    world.caller.answer = call
    return found


@pytest.mark.parametrize("template", [None, "{{run_id}}", "report-{{occurrence}}"])
def test_backfill_of_an_occurrence_uses_its_original_idempotency_key(
    world: World, office: Office, template: str | None
) -> None:
    world.add(job("at(2026-11-21T12:02:00)", idempotency_key=template))
    keys = keys_of(world)
    world.until(NOON + 600)
    asked = Backfill(N, N + 300, only=Only.FAILED)
    office.backfill(asked)
    world.until(NOON + 660)
    assert len(keys) == 2
    assert len(set(keys)) == 1


def test_backfill_can_force_new_keys(world: World, office: Office) -> None:
    world.add(job("at(2026-11-21T12:02:00)"))
    keys = keys_of(world)
    world.until(NOON + 600)
    started = office.backfill(Backfill(N, N + 300, only=Only.FAILED, force_new_key=True))
    world.until(NOON + 660)
    assert started.suffix.startswith(".f")
    assert keys == [f"default/{run}" for run in world.caller.runs]
    assert world.caller.runs[1].endswith(started.suffix)
