"""A table that refuses for a while costs a run time, and nothing else."""

from itertools import pairwise

import pytest

from duecourse.domain.jobs.job import Backoff, Completion, Delivery, MissedMode, MissedPolicy, RetryPolicy
from duecourse.domain.runs.states import Run, RunState
from duecourse.domain.targets.targets import Failed, Returned
from duecourse.messages import MessageKind
from duecourse.testing.faults import Fault, around, before, failing, lost, throttled
from tests.support.jobs import NOON, job
from tests.support.one_run import the_run
from tests.support.world import FUNCTION_SECONDS, World

AT = "at(2026-11-21T12:02:00)"
LATER = "at(2026-11-21T12:05:00)"
"""Not sent at once by the API, so there is but one message."""

LEASE_ENDS = NOON + 120 + FUNCTION_SECONDS


def jobs_refused(world: World, times: int) -> Fault:
    refused = throttled(times=times)
    world.jobs = around(world.jobs, snapshot=refused)
    return refused


def writes_refused(world: World, times: int, state: RunState = RunState.SUCCEEDED) -> Fault:
    """Writes of a run in such a state are refused so often."""
    refused = throttled(times=times, when=lambda run, _: run.state is state)
    world.run_store = around(world.run_store, write=refused)
    return refused


# Before an attempt.


def test_throttling_read_rejected_before_a_start_costs_seconds_and_no_run_its_grace_period(world: World) -> None:
    world.add(job("* * * * *", max_runs=12))
    world.until(NOON + 599)
    jobs_refused(world, 1)
    world.until(NOON + 720)
    assert {run.state for run in world.runs("tick-tock")} == {RunState.SUCCEEDED}
    at = {run: at for run, _, at in world.caller.calls}
    assert at["tick-tock.20261121T121000Z"] <= NOON + 605


@pytest.mark.parametrize("delivery", Delivery)
def test_throttling_rejected_start_is_retried_within_seconds(world: World, delivery: Delivery) -> None:
    begins = writes_refused(world, 1, RunState.RUNNING)
    world.add(job(LATER, delivery=delivery))
    world.until(NOON + 305)
    assert (begins.hits, the_run(world).state, the_run(world).attempt) == (1, RunState.SUCCEEDED, 1)


def test_throttling_table_receives_requests_at_growing_intervals(world: World) -> None:
    world.add(job(LATER))
    asked: list[float] = []

    def refuse() -> None:
        asked.append(world.clock.now())
        raise OSError("ThrottlingException")

    world.jobs = around(world.jobs, snapshot=before(refuse, times=9))
    world.until(NOON + 1200)
    assert the_run(world).state is RunState.SUCCEEDED
    waits = [int(later - earlier) for earlier, later in pairwise(asked)]
    assert waits == [4, 8, 15, 60, 4, 8, 15, 60]


def test_throttling_for_an_hour_causes_a_request_every_few_minutes_and_then_a_prompt_start(world: World) -> None:
    world.add(job(LATER))
    world.until(NOON + 299)
    refused = jobs_refused(world, 10_000)
    world.until(NOON + 3900)
    assert world.count("MessagesFailed") < 80
    refused.times = 0
    world.until(NOON + 3900 + 300)
    assert the_run(world).state is RunState.SUCCEEDED


@pytest.mark.parametrize("lease", [FUNCTION_SECONDS, 900], ids=["two minutes", "the longest lease"])
@pytest.mark.parametrize("delivery", Delivery)
def test_throttling_stored_start_without_a_response_continues_when_its_lease_has_ended(
    world: World, delivery: Delivery, lease: int
) -> None:
    world.lease_seconds = lease
    error = OSError("InternalServerError")
    stored = lost(error, times=1, when=lambda run, _: run.state is RunState.RUNNING)
    unread = failing(error, times=4, when=lambda *_: stored.hits > 0)
    world.run_store = around(world.run_store, write=stored, get=unread)
    world.add(job(LATER, delivery=delivery))
    world.until(NOON + 300 + 2 * lease)
    assert unread.hits == 4
    if delivery is Delivery.AT_LEAST_ONCE:
        assert (the_run(world).state, the_run(world).attempt) == (RunState.SUCCEEDED, 2)
    else:
        assert (the_run(world).state, the_run(world).reason) == (RunState.DEAD, "lost")
        assert len(world.notices.deaths) == 1


def test_throttling_start_of_a_retry_is_repeated_every_minute_whatever_the_age_of_its_run(world: World) -> None:
    hourly = RetryPolicy(max_attempts=2, backoff=Backoff.FIXED, min_seconds=7200, max_seconds=7200)
    world.caller.answer = lambda call: Failed("no") if call.run.attempt == 1 else Returned()
    world.add(job(LATER, retry=hourly))
    world.until(NOON + 300 + 7199)
    jobs_refused(world, 4)
    world.until(NOON + 300 + 7200 + 100)
    assert (the_run(world).state, the_run(world).attempt) == (RunState.SUCCEEDED, 2)


# After its call.


@pytest.mark.parametrize("delivery", Delivery)
def test_throttling_final_write_of_a_call_is_repeated_later_by_the_same_worker(
    world: World, delivery: Delivery
) -> None:
    ends = writes_refused(world, 2)
    world.add(job(AT, delivery=delivery))
    world.until(NOON + 130)
    assert (ends.hits, the_run(world).state, the_run(world).attempt) == (2, RunState.SUCCEEDED, 1)
    world.until(NOON + 900)
    assert len(world.caller.calls) == 1
    assert world.count("MessagesFailed") == 0


@pytest.mark.parametrize(
    ("state", "changes"),
    [
        (RunState.RETRYING, {}),
        (RunState.DEAD, {"delivery": Delivery.AT_MOST_ONCE}),
        (RunState.WAITING, {"completion": Completion.CALLBACK}),
    ],
)
def test_throttling_write_of_a_failure_or_a_wait_is_repeated_by_the_same_worker(
    world: World, state: RunState, changes: dict[str, object]
) -> None:
    world.caller.answer = lambda _: Returned() if state is RunState.WAITING else Failed("no")
    ends = writes_refused(world, 3, state)
    world.add(job(AT, **changes))
    world.until(NOON + 120)
    assert (ends.hits, the_run(world).state, the_run(world).attempt) == (3, state, 1)


def test_throttling_run_cancelled_while_its_success_cannot_be_written_has_succeeded(world: World) -> None:
    def ask_for_its_end() -> None:
        world.tell(world.about(the_run(world), MessageKind.CANCEL, reason="cancelled"))
        raise OSError("ThrottlingException")

    ends = before(ask_for_its_end, times=1, when=lambda run, _: run.state is RunState.SUCCEEDED)
    world.run_store = around(world.run_store, write=ends)
    world.add(job(AT))
    world.until(NOON + 130)
    assert (ends.hits, the_run(world).state) == (1, RunState.SUCCEEDED)


def test_throttling_worker_with_hanging_writes_starts_none_that_would_outlast_its_invocation(world: World) -> None:
    def hangs(run: Run, _: object) -> bool:
        if run.state is RunState.SUCCEEDED:
            world.clock.advance(27)  # four tries of five seconds each, and the pauses between them
        return run.state is RunState.SUCCEEDED

    world.run_store = around(world.run_store, write=throttled(when=hangs))
    world.add(job(AT))
    world.until(NOON + 121)
    assert LEASE_ENDS - 30 < world.clock.now() < LEASE_ENDS
    assert world.count("MessagesFailed") == 1


def test_throttling_worker_stops_repeating_a_final_write_before_its_invocation_is_killed(world: World) -> None:
    ends = writes_refused(world, 10_000)
    world.add(job(AT, missed=MissedPolicy(MissedMode.RUN_ALL)))
    world.until(NOON + 121)
    assert LEASE_ENDS - 10 < world.clock.now() < LEASE_ENDS - 5
    assert (the_run(world).state, world.count("MessagesFailed")) == (RunState.RUNNING, 1)
    ends.times = 0
    world.until(NOON + 900)
    assert (the_run(world).state, the_run(world).attempt) == (RunState.SUCCEEDED, 2)
    assert world.caller.calls[1][2] > LEASE_ENDS
