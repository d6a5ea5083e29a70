"""Whatever is cut short is repeated, and what is repeated changes nothing."""

import contextlib
from dataclasses import replace

import pytest

from duecourse.domain.jobs.job import Backoff, JobState, Overlap, RetryPolicy
from duecourse.domain.runs.states import RunState
from duecourse.domain.targets.targets import Failed, Outcome, Returned
from duecourse.ports import Call
from tests.support.jobs import NOON, job
from tests.support.world import Killed, World, dying

TWICE = RetryPolicy(max_attempts=2, backoff=Backoff.FIXED, min_seconds=5, max_seconds=5)


@pytest.mark.parametrize("after", [False, True], ids=["before the claim", "after the claim"])
def test_fault_recovery_after_a_dispatcher_crash_between_enqueue_and_claim_loses_and_repeats_no_run(
    world: World, after: bool
) -> None:
    for number in range(8):
        world.add(job("* * * * *", id=f"job-{number:02}"))
    world.clock.set(NOON + 20)
    with pytest.raises(Killed):
        world.dispatch(dying(world.cursors, after=after))
    assert len(world.wheel) > 0
    world.until(NOON + 900)
    expected = [f"job-{number:02}.20261121T12{minute:02}00Z" for minute in range(1, 16) for number in range(8)]
    assert sorted(world.caller.runs) == sorted(expected)


def test_fault_recovery_after_a_dispatcher_crash_in_every_round_runs_everything_once_and_on_time(world: World) -> None:
    world.add(job("rate(20 seconds)"))
    for minute in range(1, 8):
        world.until(NOON + 60 * minute, ticking=False)
        with contextlib.suppress(Killed):
            world.dispatch(dying(world.cursors))
    world.until(NOON + 600)
    assert len(world.caller.runs) == len(set(world.caller.runs))
    assert [second for second, _ in world.states("tick-tock")] == list(range(20, 601, 20))


def test_fault_recovery_repeats_only_rejected_sends_in_the_next_round(world: World) -> None:
    for name in ("lucky", "unlucky"):
        world.add(job("rate(300 seconds)", id=name))
    world.wheel.refuse = lambda message: message.job_id == "unlucky"
    world.until(NOON + 70)
    assert world.count("ClaimsWon") == 1
    assert world.count("SendsRefused") > 0
    world.wheel.refuse = lambda _: False
    world.until(NOON + 310)
    assert sorted(world.caller.runs) == ["lucky.20261121T120500Z", "unlucky.20261121T120500Z"]


def test_fault_recovery_runs_a_message_that_is_delivered_twice_only_once(world: World) -> None:
    world.add(job("at(2026-11-21T12:02:00)"))
    world.until(NOON + 60)
    world.wheel.send(list(world.wheel.sent))
    world.until(NOON + 900)
    assert world.caller.runs == ["tick-tock.20261121T120200Z"]


def test_fault_recovery_repeats_a_failed_attempt_after_its_backoff(world: World) -> None:
    outcomes = iter([Failed("HTTP 500"), Returned("fine")])
    world.caller.answer = lambda _: next(outcomes)
    world.add(job("at(2026-11-21T12:02:00)", retry=TWICE))
    world.until(NOON + 900)
    (run,) = world.runs("tick-tock")
    assert (run.state, run.attempt, run.lateness) == (RunState.SUCCEEDED, 2, 0.0)
    assert [(attempt, at - NOON) for _, attempt, at in world.caller.calls] == [(1, 120.0), (2, 125.0)]


def test_fault_recovery_ends_after_all_attempts_with_one_notice_and_a_dead_letter_moved_by_the_queue(
    world: World,
) -> None:
    world.caller.answer = lambda _: Failed("HTTP 500: no")
    world.add(job("at(2026-11-21T12:02:00)", retry=TWICE))
    world.until(NOON + 900)
    (run,) = world.runs("tick-tock")
    assert (run.state, run.reason, run.error, run.attempt) == (RunState.DEAD, "attempts_exhausted", "HTTP 500: no", 2)
    assert [death.run.name for death in world.notices.deaths] == [run.name]
    assert [held.message.name for held in world.wheel.dead_letters] == [run.name]
    assert len(world.caller.calls) == 2
    assert world.jobs.get("default", "tick-tock").state is JobState.COMPLETED


def test_fault_recovery_does_not_retry_non_retryable_failures(world: World) -> None:
    world.caller.answer = lambda _: Failed("HTTP 404", retryable=False)
    world.add(job("at(2026-11-21T12:02:00)", retry=TWICE))
    world.until(NOON + 300)
    assert [(run.state, run.reason) for run in world.runs("tick-tock")] == [(RunState.DEAD, "not_retryable")]


def test_fault_recovery_drops_a_copy_of_the_message_of_a_dead_run_but_runs_a_redriven_one(world: World) -> None:
    world.caller.answer = lambda _: Failed("HTTP 500")
    world.add(job("at(2026-11-21T12:02:00)", retry=TWICE))
    world.until(NOON + 900)
    (dead,) = world.wheel.dead_letters
    copy = replace(world.wheel.sent[0], delay_seconds=0)
    world.wheel.send([copy])
    world.work()
    assert len(world.caller.calls) == 2
    world.caller.answer = lambda _: Returned("at last")
    world.wheel.send([replace(copy, message=dead.message)])
    world.work()
    (run,) = world.runs("tick-tock")
    assert (run.state, run.attempt) == (RunState.SUCCEEDED, 3)


def test_fault_recovery_takes_over_a_run_after_the_lease_of_a_worker_killed_during_the_call(world: World) -> None:
    def kill_the_first(call: Call) -> Outcome:
        if call.run.attempt == 1:
            raise Killed
        return Returned("second")

    world.caller.answer = kill_the_first
    world.add(job("at(2026-11-21T12:02:00)"))
    world.until(NOON + 119)
    world.clock.set(NOON + 120)
    held = world.wheel.receive()
    assert held is not None
    with pytest.raises(Killed):
        world.worker()([world.wheel.received(held)], world.clock.now() + 120)
    world.wheel.put_back(held)
    world.until(NOON + 600)
    (run,) = world.runs("tick-tock")
    assert (run.state, run.attempt) == (RunState.SUCCEEDED, 2)
    first, second = world.caller.calls
    assert second[2] - first[2] > 120  # never while the first might be alive


def test_fault_recovery_skips_overlapping_runs_unless_the_job_allows_them(world: World) -> None:
    def retry_the_first(call: Call) -> Outcome:
        return Failed("later") if call.run.attempt == 1 and call.run.occurrence == int(NOON) + 60 else Returned()

    patient = RetryPolicy(max_attempts=2, backoff=Backoff.FIXED, min_seconds=130, max_seconds=130)
    world.caller.answer = retry_the_first
    world.add(job("* * * * *", id="alone", retry=patient))
    world.add(job("* * * * *", id="crowd", retry=patient, overlap=Overlap.ALLOW))
    world.until(NOON + 305)
    assert world.states("alone") == [
        (60, RunState.SUCCEEDED),
        (120, RunState.SKIPPED),
        (180, RunState.SKIPPED),
        (240, RunState.SUCCEEDED),
        (300, RunState.SUCCEEDED),
    ]
    assert {state for _, state in world.states("crowd")} == {RunState.SUCCEEDED}
