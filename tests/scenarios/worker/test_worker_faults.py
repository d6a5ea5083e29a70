"""Workers that die, write twice, or are called in vain.

- Workers die, answers get lost, clocks differ: nothing is lost, and nothing is executed twice at once.
- What is received again and again is carried on or ends among the dead letters; it never circles.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier, Thread, current_thread

import pytest

from duecourse.domain.ids import RunIdentity
from duecourse.domain.jobs.cursor import cursor_for
from duecourse.domain.jobs.job import Job, Lane
from duecourse.domain.runs.states import Run, RunState
from duecourse.domain.targets.targets import Failed, Returned
from duecourse.ports import FailureNotification
from duecourse.testing.faults import around, failing, twice
from tests.support.faulty import Skewed, ThrottledClient
from tests.support.jobs import NOON, job
from tests.support.one_run import AT, ONCE, begins, dies_after, dies_before, ends, hand_over, killed, receive, the_run
from tests.support.varied import record
from tests.support.waiting import PATIENCE_SECONDS
from tests.support.wheel import Held
from tests.support.world import FUNCTION_SECONDS, World


def received(world: World, second: float = 120) -> Held:
    """The job's message, at a second after NOON."""
    world.until(NOON + second - 1, ticking=False)
    world.clock.set(NOON + second)
    return receive(world)


def test_worker_faults_worker_killed_between_call_and_record_calls_again_only_after_its_lease(world: World) -> None:
    world.add(job(AT))
    held = received(world)
    killed(world, held, dies_before(ends))
    world.wheel.put_back(held)
    world.until(NOON + 900)
    (run,) = world.runs("tick-tock")
    assert (run.state, run.attempt) == (RunState.SUCCEEDED, 2)
    first, second = world.caller.calls
    assert second[2] - first[2] > FUNCTION_SECONDS


def test_worker_faults_worker_killed_between_record_and_message_deletion_makes_no_further_call(world: World) -> None:
    world.add(job(AT))
    held = received(world)
    killed(world, held, dies_after(ends))
    world.wheel.put_back(held)
    world.until(NOON + 900)
    assert [run.state for run in world.runs("tick-tock")] == [RunState.SUCCEEDED]
    assert len(world.caller.calls) == 1
    assert len(world.wheel) == 0


def test_worker_faults_run_of_a_worker_killed_between_start_and_call_is_taken_over(world: World) -> None:
    world.add(job(AT))
    held = received(world)
    killed(world, held, dies_after(begins))
    world.wheel.put_back(held)
    world.until(NOON + 900)
    assert [attempt for _, attempt, _ in world.caller.calls] == [2]
    assert [run.state for run in world.runs("tick-tock")] == [RunState.SUCCEEDED]


@pytest.mark.parametrize("which", [begins, ends], ids=["start", "finish"])
def test_worker_faults_applied_write_with_a_lost_response_counts_as_written(
    world: World, which: Callable[..., bool]
) -> None:
    world.add(job(AT))
    sent_again = twice(times=1, when=which)
    world.run_store = around(world.run_store, write=sent_again)
    world.until(NOON + 900)
    assert sent_again.hits == 1
    (run,) = world.runs("tick-tock")
    assert (run.state, run.attempt, len(world.caller.calls)) == (RunState.SUCCEEDED, 1, 1)
    assert world.count("FinishesRefused") == 0


def test_worker_faults_message_in_several_workers_at_the_same_time_causes_one_call(world: World) -> None:
    world.add(job(AT))
    held = received(world)
    copies = [replace(held, receives=number) for number in range(1, 9)]
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda copy: hand_over(world, copy), copies))
    assert len(world.caller.calls) == 1
    assert [run.state for run in world.runs("tick-tock")] == [RunState.SUCCEEDED]


def test_worker_faults_message_redelivered_after_success_is_deleted(world: World) -> None:
    world.add(job(AT))
    held = received(world)
    assert hand_over(world, held) == ()
    assert hand_over(world, replace(held, receives=2)) == ()
    assert len(world.caller.calls) == 1


@pytest.mark.parametrize("skew", [5.0, -5.0], ids=["ahead", "behind"])
def test_worker_faults_clock_five_seconds_off_runs_each_occurrence_once_and_none_too_early(
    world: World, skew: float
) -> None:
    truth = world.clock
    world.add(job("rate(20 seconds)", max_runs=10))
    world.worker_clock = Skewed(truth, skew)
    world.until(NOON + 900)
    assert len(world.caller.runs) == len(set(world.caller.runs)) == 10
    for run, _, at in world.caller.calls:
        due = next(one.due for one in world.runs("tick-tock") if str(one.name) == run)
        assert due <= at <= due + 6


def test_worker_faults_fast_clock_does_not_take_over_an_active_run(world: World) -> None:
    world.add(job(AT))
    held = received(world)
    killed(world, held, dies_after(begins))
    world.clock.set(NOON + 120 + FUNCTION_SECONDS - 1)  # its lease ends in a second by the first worker's clock
    world.worker_clock = Skewed(world.clock, 5)
    assert hand_over(world, replace(held, receives=2)) == ("message-0",)
    assert world.caller.calls == []


def test_worker_faults_throttled_deliveries_alone_never_make_a_run_a_dead_letter(world: World) -> None:
    world.add(job(AT))
    held = received(world)
    held.receives = 4  # received three times and never handled: a lane at the limit of its concurrency
    assert hand_over(world, held) == ()
    world.until(NOON + 300)
    assert [run.state for run in world.runs("tick-tock")] == [RunState.SUCCEEDED]
    assert (len(world.caller.calls), world.wheel.dead_letters) == (1, [])


@pytest.mark.tables
def test_worker_faults_statements_throttled_within_a_batch_are_claimed_individually_and_nothing_is_lost(
    world: World,
) -> None:
    for number in range(60):
        world.add(job("rate(300 seconds)", id=f"job-{number:02}"))
    client = ThrottledClient(world.tables.client, fails=lambda number: number % 7 == 3)
    world.cursors = replace(world.tables, client=client).cursor_store(world.clock)
    world.until(NOON + 610)
    expected = [f"job-{number:02}.20261121T12{minute:02}00Z" for minute in (5, 10) for number in range(60)]
    assert sorted(world.caller.runs) == sorted(expected)
    assert client.batches > 3


@pytest.mark.tables
def test_worker_faults_batch_with_statements_throttled_for_longer_is_continued_by_the_next_tick(world: World) -> None:
    for number in range(30):
        world.add(job("rate(300 seconds)", id=f"job-{number:02}"))
    client = ThrottledClient(world.tables.client, fails=lambda _: world.clock.now() < NOON + 110)
    world.cursors = replace(world.tables, client=client).cursor_store(world.clock)
    world.until(NOON + 310)
    assert sorted(world.caller.runs) == [f"job-{number:02}.20261121T120500Z" for number in range(30)]
    assert world.count("ClaimsFailed") > 0


def edited(world: World, expression: str) -> Job:
    """The job with another schedule, changed as a whole (as an edit will)."""
    found = world.jobs.get("default", "tick-tock")
    standing = world.jobs.get_cursor("default", "tick-tock")
    assert found is not None
    assert standing is not None
    now = world.clock.now()
    spec = replace(found.schedule, expression=expression)
    changed = replace(found, schedule=spec, generation=int(now * 1000), changed_at=now, updated_at=now)
    assert world.jobs.change(found, standing, changed, cursor_for(changed, now))
    return changed


def test_worker_faults_edit_drops_later_enqueued_runs_and_keeps_runs_due_before(world: World) -> None:
    world.add(job("rate(60 seconds)"))
    world.until(NOON + 200)
    late = world.wheel.hold_back(180) or world.wheel.hold_back(240)
    edited(world, "rate(7 minutes)")
    world.wheel.give_back(late)
    world.until(NOON + 1300)
    seconds = [int(second) for second, _ in world.states("tick-tock")]
    assert seconds == [60, 120, 180, 420, 840, 1260]
    assert len(world.caller.runs) == len(set(world.caller.runs))


def test_worker_faults_recreated_job_with_fourteen_minutes_enqueued_runs_only_by_its_new_schedule(
    world: World,
) -> None:
    world.add(job("rate(60 seconds)"))
    world.until(NOON + 200)
    found = world.jobs.get("default", "tick-tock")
    assert found is not None
    assert world.jobs.delete(found, deleted_at=world.clock.now())
    world.clock.set(NOON + 201)
    world.add(job("rate(300 seconds)", at=NOON + 201))
    world.until(NOON + 900)
    assert sorted(set(world.caller.runs)) == [
        "tick-tock.20261121T120100Z",
        "tick-tock.20261121T120200Z",
        "tick-tock.20261121T120300Z",
        "tick-tock.20261121T120821Z",
        "tick-tock.20261121T121321Z",
    ]


def test_worker_faults_ten_runs_of_a_batch_are_executed_concurrently_in_one_worker(world: World) -> None:
    together = Barrier(10, timeout=PATIENCE_SECONDS)

    def meet(_: object) -> Returned:
        together.wait()  # ends only when all ten calls are under way at once
        return Returned()

    world.caller.answer = meet
    for number in range(10):
        world.add(job(AT, id=f"job-{number}"))
    world.until(NOON + 119, ticking=False)
    world.clock.set(NOON + 120)
    batch = [held for _ in range(10) if (held := world.wheel.receive()) is not None]
    received = [world.wheel.received(held) for held in batch]
    assert world.worker()(received, world.clock.now() + FUNCTION_SECONDS).retained == ()
    assert len(world.caller.calls) == 10


def test_worker_faults_threads_of_a_worker_are_kept_for_its_next_invocations(world: World) -> None:
    threads: set[Thread] = set()

    def noted(_: object) -> Returned:
        threads.add(current_thread())
        return Returned()

    world.caller.answer = noted
    for number in range(10):
        world.add(job(AT, id=f"job-{number}"))
    world.until(NOON + 119, ticking=False)
    world.clock.set(NOON + 120)
    worker = world.worker()
    for number in range(1, 11):
        worker([world.wheel.received(receive(world))], world.clock.now() + FUNCTION_SECONDS)
        assert len(world.caller.calls) == number, "the message was handled when the worker returned"
    assert len(threads) < 10


def test_worker_faults_run_of_a_job_with_a_longer_timeout_moves_to_the_long_lane(world: World) -> None:
    world.add(job("rate(300 seconds)"))
    world.until(NOON + 200)
    found, standing = world.jobs.get("default", "tick-tock"), world.jobs.get_cursor("default", "tick-tock")
    assert found is not None
    assert standing is not None
    assert world.jobs.change(found, standing, replace(found, timeout_seconds=600), standing)
    world.clock.set(NOON + 300)
    held = world.wheel.receive()
    assert held is not None
    assert hand_over(world, held) == ()
    assert world.caller.calls == []
    assert world.wheel.sent[-1].message.lane is Lane.LONG
    moved = world.wheel.receive()
    assert moved is not None
    world.worker(Lane.LONG)([world.wheel.received(moved)], world.clock.now() + 900)
    assert len(world.caller.calls) == 1


def _running(serial: int) -> Run:
    return record(
        RunState.RUNNING,
        RunIdentity(
            tenant="default",
            job_id="tick-tock",
            occurrence=int(NOON) + 10,
            due=int(NOON) + 10,
            generation=int(NOON * 1000),
        ),
        job().lane,
        attempt=1,
        attempts_allowed=4,
        fencing_token="gone",
        message_id=f"message-{serial}",
        nonce="nonce-1",
    )


def test_worker_faults_long_lease_near_the_receive_limit_is_waited_for_beyond_the_maximum_sqs_delay(
    world: World,
) -> None:
    made = world.add(job("at(2026-11-21T12:00:10)"))
    world.until(NOON + 9)
    (held,) = world.wheel.hold_back(10)
    world.clock.set(NOON + 11)
    lease = NOON + 11 + 900
    lost = replace(_running(held.serial), lease_until=lease)
    assert world.run_store.write(lost, None) is None
    held.receives = 3
    world.wheel.give_back([held])
    world.until(NOON + 2400)
    assert world.states(made.id) == [(10, RunState.SUCCEEDED)]


def test_worker_faults_runs_of_an_unreadable_job_do_not_loop_forever(world: World) -> None:
    world.add(job(AT))
    with world.faulty("jobs", snapshot=failing(ValueError("it cannot be read"))):
        world.until(NOON + 3 * 86_400, ticking=False)
        assert len(world.wheel) == 0
        (letter,) = world.wheel.dead_letters
        world.reconcile()
        assert world.wheel.dead_letters == [letter]
    world.reconcile()
    assert (the_run(world).state, len(world.notices.deaths)) == (RunState.DEAD, 1)


def test_worker_faults_dead_run_with_repeatedly_rejected_notices_still_becomes_a_dead_letter(world: World) -> None:
    class Refusing:
        def death(self, death: FailureNotification) -> None:
            raise OSError(f"no notice of {death.run.name}")

    world.caller.answer = lambda _: Failed("HTTP 500")
    world.notices = Refusing()  # type: ignore[assignment]
    world.add(job("at(2026-11-21T12:02:00)", retry=ONCE))
    world.until(NOON + 3600)
    assert [held.message.name.local for held in world.wheel.dead_letters] == ["20261121T120200Z"]
