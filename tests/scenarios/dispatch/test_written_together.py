"""What a claim, an edit or a resume skips is written together with it, and a schedule that is over ends its job.

Nothing that must happen afterwards depends on whoever wrote.
"""

import contextlib
from dataclasses import replace

import pytest

from duecourse.domain.jobs.job import JobState, MissedMode, MissedPolicy, Overlap
from duecourse.domain.runs.states import Run, RunState
from duecourse.domain.targets.targets import Outcome, Returned
from duecourse.ports import Call
from duecourse.testing.faults import around, throttled
from tests.support.client_faults import READS, Fault, FaultyClient, Request
from tests.support.jobs import NOON, job
from tests.support.tables import Tables
from tests.support.world import Killed, World

pytestmark = pytest.mark.tables

SKIP = MissedPolicy(MissedMode.SKIP)


def ranges(runs: list[Run]) -> list[tuple[int, int, str | None]]:
    """From which second after NOON to which what was skipped reaches, and why."""
    return [
        (run.occurrence - int(NOON), (run.through or run.occurrence) - int(NOON), run.reason)
        for run in runs
        if run.state is RunState.SKIPPED
    ]


def dies_after_its_claim(request: Request) -> Fault | None:
    claims = request.operation in ("batch_execute_statement", "transact_write_items")
    return Fault.DIES_AFTER if claims else None


@pytest.fixture
def client(tables: Tables) -> FaultyClient:
    return FaultyClient(tables.client)


@pytest.fixture
def world(tables: Tables, client: FaultyClient) -> World:
    return World(replace(tables, client=client))


def test_atomic_write_of_a_claim_records_the_skipped_range_even_if_the_dispatcher_then_dies(
    world: World, client: FaultyClient
) -> None:
    world.add(job("* * * * *", missed=SKIP, overlap=Overlap.ALLOW))
    world.until(NOON + 1830, ticking=False)
    client.fault_of = dies_after_its_claim
    with pytest.raises(Killed):
        world.dispatch()
    client.fault_of = lambda _: None
    world.until(NOON + 1980)
    assert ranges(world.runs("tick-tock")) == [(180, 1740, "missed")]


def test_atomic_write_completes_a_job_that_ends_with_a_skipped_range_even_if_the_dispatcher_dies(
    world: World, client: FaultyClient
) -> None:
    world.add(job("at(2026-11-21T12:05:00)", missed=SKIP))
    world.until(NOON + 900, ticking=False)
    client.fault_of = dies_after_its_claim
    with pytest.raises(Killed):
        world.dispatch()
    client.fault_of = lambda _: None
    world.until(NOON + 1030)
    assert world.office.job().state is JobState.COMPLETED
    assert ranges(world.runs("tick-tock")) == [(300, 300, "missed")]


def test_atomic_write_of_a_skipped_range_excludes_unclaimed_runs_that_wait_or_have_run(world: World) -> None:
    world.add(job("* * * * *", missed=SKIP, overlap=Overlap.ALLOW))
    world.cursors = around(world.cursors, claim=throttled(times=1))
    world.until(NOON + 70)  # sent for fourteen minutes, and not claimed
    lost = [world.wheel.hold_back(second) for second in (240, 300, 480)]
    assert all(lost)
    world.until(NOON + 1210, ticking=False)
    world.until(NOON + 1330)
    found = world.runs("tick-tock")
    assert ranges(found) == [(240, 300, "missed"), (480, 480, "missed"), (960, 1140, "missed")]
    assert len(found) == len({run.occurrence for run in found})


def dies_with_the_change(request: Request) -> Fault | None:
    return Fault.DIES_AFTER if request.operation == "transact_write_items" else None


@pytest.mark.parametrize(("act", "reason"), [("edit", "edited"), ("resume", "paused")])
def test_atomic_write_of_a_change_records_the_skipped_range_even_if_the_api_then_dies(
    world: World, client: FaultyClient, act: str, reason: str
) -> None:
    office = world.office
    world.add(job("* * * * *", overlap=Overlap.ALLOW))
    world.until(NOON + 121)
    if act == "resume":
        office.pause()
    world.until(NOON + 1830, ticking=False)
    client.fault_of = dies_with_the_change
    with pytest.raises(Killed):
        office.edit(expression="0 0 1 1 *") if act == "edit" else office.resume()
    client.fault_of = lambda _: None
    begin = {"edit": 960, "resume": 180}[act]
    assert ranges(world.runs("tick-tock")) == [(begin, 1800, reason)]


def test_atomic_write_of_a_change_excludes_a_run_that_starts_concurrently_from_the_skipped_range(
    world: World, client: FaultyClient
) -> None:
    office = world.office
    world.add(job("* * * * *", overlap=Overlap.ALLOW))
    world.until(NOON + 121, ticking=False)
    world.cursors = around(world.cursors, claim=throttled(times=1))
    world.dispatch()
    world.clock.set(NOON + 320)  # messages are late, nobody has claimed
    late = world.wheel.hold_back(240)
    started: list[bool] = []

    def start_in_between(request: Request) -> Fault | None:
        if request.operation == "transact_write_items" and not started:
            started.append(True)
            world.wheel.give_back(late[:1])
            world.work()
        return None

    client.fault_of = start_in_between
    world.clock.set(NOON + 299)
    office.edit(expression="0 0 1 1 *")
    client.fault_of = lambda _: None
    world.until(NOON + 400)
    found = world.runs("tick-tock")
    assert (240, RunState.SUCCEEDED) in [(run.occurrence - NOON, run.state) for run in found]
    assert all(not first <= 240 <= last for first, last, _ in ranges(found))


def short(world: World, **changes: object) -> None:
    """A one-off that is due before the first tick comes."""
    world.clock.set(NOON + 5)
    world.add(job("at(2026-11-21T12:00:30)", at=NOON + 5, **changes))


@pytest.mark.parametrize("refused", range(8))
def test_atomic_write_completes_a_short_job_whichever_read_fails_during_the_claim_of_its_last_occurrence(
    world: World, client: FaultyClient, refused: int
) -> None:
    short(world)
    world.until(NOON + 59)
    client.kinds = READS
    seen = 0

    def refuse(_: Request) -> Fault | None:
        nonlocal seen
        seen += 1
        return Fault.REFUSED if seen - 1 == refused else None

    client.fault_of = refuse
    world.until(NOON + 60)
    client.fault_of = lambda _: None
    world.until(NOON + 190)
    assert world.office.job().state is JobState.COMPLETED
    assert world.jobs.get_cursor("default", "tick-tock").ending is False  # type: ignore[union-attr]


def test_atomic_write_completes_a_short_job_whose_run_ends_during_the_claim_of_its_last_occurrence(
    world: World, client: FaultyClient
) -> None:
    ends: list[bool] = []

    def end_in_between(request: Request) -> Fault | None:
        if request.operation == "batch_execute_statement" and not ends:
            ends.append(True)
            world.work()  # the run starts and ends between the dispatcher's look and its claim
        return None

    short(world)
    client.fault_of = end_in_between
    world.clock.set(NOON + 60)
    world.dispatch()
    world.until(NOON + 190)
    assert ends
    assert world.office.job().state is JobState.COMPLETED


def test_atomic_write_lets_the_worker_complete_a_short_job_whose_run_is_active_at_the_claim(
    world: World, client: FaultyClient
) -> None:
    def claim_meanwhile(_: Call) -> Outcome:
        world.clock.set(NOON + 60)
        world.dispatch()
        return Returned()

    world.caller.answer = claim_meanwhile
    short(world)
    world.until(NOON + 40)
    assert world.office.job().state is JobState.COMPLETED
    cursor = world.jobs.get_cursor("default", "tick-tock")
    assert (cursor.occurrence, cursor.due, cursor.ending) == (None, None, False)


def test_atomic_write_completes_a_job_that_ends_while_the_dispatcher_clock_is_slow(world: World) -> None:
    short(world)
    world.until(NOON + 30)
    world.clock.set(NOON + 26)  # by the dispatcher's clock the run is still to come
    world.dispatch()
    world.until(NOON + 130)
    assert world.office.job().state is JobState.COMPLETED


def test_atomic_write_completes_a_job_that_ended_during_its_pause_even_if_the_api_dies_after_the_resume(
    world: World, client: FaultyClient
) -> None:
    office = world.office
    world.add(job("at(2026-11-21T12:03:00)"))
    world.until(NOON + 100)
    office.pause()
    world.until(NOON + 600)
    client.fault_of = dies_with_the_change
    with contextlib.suppress(Killed):
        office.resume()
    client.fault_of = lambda _: None
    assert office.job().state is JobState.ACTIVE
    world.until(NOON + 730)
    assert office.job().state is JobState.COMPLETED


def test_atomic_write_does_not_count_unclaimed_runs_that_ran_on_time_as_caught_up(world: World) -> None:
    policy = MissedPolicy(MissedMode.RUN_ALL, max_missed=3)
    world.add(job("* * * * *", missed=policy, overlap=Overlap.ALLOW))
    world.cursors = around(world.cursors, claim=throttled(times=1))
    world.until(NOON + 70)  # sent for fourteen minutes, and not claimed
    world.until(NOON + 1810, ticking=False)
    world.until(NOON + 1930)
    ran = [run.occurrence - NOON for run in world.runs("tick-tock") if run.state is RunState.SUCCEEDED]
    assert ran == [*range(60, 901, 60), 960, 1020, 1080, 1800, 1860, 1920]
    assert ranges(world.runs("tick-tock")) == [(1140, 1740, "missed")]


def test_atomic_write_of_a_repeated_round_catches_up_on_no_more_than_allowed(world: World) -> None:
    policy = MissedPolicy(MissedMode.RUN_ALL, max_missed=3)
    world.add(job("* * * * *", missed=policy, overlap=Overlap.ALLOW))
    world.until(NOON + 1810, ticking=False)
    for minute in (31, 32, 33):  # each sends, and dies before it has claimed
        world.cursors = around(world.cursors, claim=throttled(times=1))
        world.until(NOON + 60 * minute)
    world.until(NOON + 2050)
    ran = [run.occurrence - NOON for run in world.runs("tick-tock") if run.state is RunState.SUCCEEDED]
    assert ran == [60, 120, 180, 240, 300, *range(1800, 2041, 60)]
