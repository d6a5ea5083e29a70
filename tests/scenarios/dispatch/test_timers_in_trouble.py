"""Timers that the table does not let be cleared."""

from __future__ import annotations

from duecourse.domain.jobs.job import Backoff, RetryPolicy
from duecourse.domain.runs.states import RunState
from duecourse.domain.targets.targets import Failed, Returned
from duecourse.ports import Claimed, ClaimResult
from duecourse.testing.faults import around
from tests.support.jobs import NOON, cursor, job
from tests.support.world import World


def test_a_timer_that_the_table_refuses_to_clear_is_told_and_delays_nobody(world: World) -> None:
    hours = RetryPolicy(max_attempts=2, backoff=Backoff.FIXED, min_seconds=7200, max_seconds=7200)
    world.caller.answer = lambda call: Failed("no") if (call.job.id, call.run.attempt) == ("waits", 1) else Returned()
    world.add(job("at(2026-11-21T12:01:00)", id="waits", retry=hours))
    world.until(NOON + 120)
    of = job("0 14 * * *", id="others")
    world.jobs.create(of, cursor(of))
    refused = Claimed(ClaimResult.REFUSED, "ValidationError: no")
    world.cursors = around(world.cursors, clear=lambda _, timers: [refused for _ in timers])
    world.until(NOON + 7500)
    assert [(run.state, run.attempt) for run in world.runs("waits")] == [(RunState.SUCCEEDED, 2)]
    assert [(run.occurrence - NOON, run.attempt) for run in world.runs("others")] == [(7200, 1)]
    assert world.count("ClaimsFailed") == 0
    assert world.count("ClaimsRefused") > 1
    told = [event for report in world.reports for event in report.events if event.action == "claims_refused"]
    assert {(event.alarming, event.facts["error"]) for event in told} == {(True, "ValidationError: no")}
