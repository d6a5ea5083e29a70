"""The list of a run's attempts: what the record keeps of those that are over."""

from __future__ import annotations

from dataclasses import replace

from duecourse.domain.jobs.job import Backoff, RetryPolicy
from duecourse.domain.runs.decision import CancelAsked, Ended, Event, Start, Transition
from duecourse.domain.runs.lifecycle import decide
from duecourse.domain.runs.states import (
    LOST,
    LOST_ERROR,
    MAX_ATTEMPTS,
    MAX_ERROR,
    Attempt,
    AttemptOutcome,
    Run,
    RunState,
    attempts_of,
)
from duecourse.domain.targets.targets import Failed, Outcome, Returned
from tests.support.jobs import job
from tests.support.start_requests import DUE, context, start_request
from tests.support.varied import varied

JOB = job(retry=RetryPolicy(3, Backoff.FIXED, 10, 10))


def after(event: Event, run: Run | None, at: float, *, by: str = "message-1") -> Run:
    """The record that a decision at DUE + `at` writes."""
    decided = decide(event, JOB, run, context(by, lease_until=DUE + at + 60), now=DUE + at)
    assert isinstance(decided, (Start, Transition)), decided
    return decided.run


def started(run: Run | None, at: float, **changes: object) -> Run:
    attempt = 1 if run is None else run.attempt + 1
    offered = start_request(attempt=attempt, nonce=f"nonce-{attempt}", **changes)
    return after(offered, run, at, by=f"message-{attempt}")


def ended(run: Run, at: float, outcome: Outcome | None = None) -> Run:
    failed = Failed(f"no, {run.attempt}", code="http.503")
    return after(Ended(outcome or failed, 0.0), run, at)


def failed(number: int, begun: float, over: float) -> Attempt:
    return Attempt(number, DUE + begun, DUE + over, AttemptOutcome.FAILED, f"no, {number}", "http.503")


def test_a_run_that_succeeds_at_its_first_attempt_keeps_no_list() -> None:
    running = started(None, 0.5)
    assert attempts_of(running) == (Attempt(1, DUE + 0.5, None, None),)
    done = ended(running, 2, Returned("fine"))
    assert (running.earlier, done.earlier) == ((), ())
    assert attempts_of(done) == (Attempt(1, DUE + 0.5, DUE + 2, AttemptOutcome.SUCCEEDED),)


def test_a_run_that_has_not_begun_has_no_attempts() -> None:
    never = varied(started(None, 0), state=RunState.QUEUED, attempt=0)
    assert attempts_of(never) == ()


def test_each_attempt_that_failed_is_kept_once_the_next_one_begins() -> None:
    retrying = ended(started(None, 0), 1)
    assert (retrying.earlier, attempts_of(retrying)) == ((), (failed(1, 0, 1),))
    again = ended(started(retrying, 11), 12)
    assert again.earlier == (failed(1, 0, 1),)
    done = ended(started(again, 22), 25, Returned("fine"))
    assert attempts_of(done) == (
        failed(1, 0, 1),
        failed(2, 11, 12),
        Attempt(3, DUE + 22, DUE + 25, AttemptOutcome.SUCCEEDED),
    )


def test_a_dead_run_shows_all_attempts_and_goes_on_counting_when_it_is_redriven() -> None:
    dead = ended(started(ended(started(ended(started(None, 0), 1), 11), 12), 22), 23)
    assert dead.state is RunState.DEAD
    told = (failed(1, 0, 1), failed(2, 11, 12), failed(3, 22, 23))
    assert attempts_of(dead) == told
    redriven = started(dead, 100, redrive=True)
    assert attempts_of(redriven) == (*told, Attempt(4, DUE + 100, None, None))


def test_an_attempt_whose_worker_vanished_is_lost() -> None:
    first = started(None, 0)
    taken_over = after(start_request(), first, 200)
    lost = Attempt(1, DUE + 0.0, None, AttemptOutcome.LOST, LOST_ERROR, LOST)
    assert attempts_of(taken_over) == (lost, Attempt(2, DUE + 200, None, None))
    last = replace(taken_over, attempts_allowed=2)
    dead = after(start_request(), last, 400)
    assert (dead.state, dead.code) == (RunState.DEAD, LOST)
    assert attempts_of(dead)[-1].outcome is AttemptOutcome.LOST


def test_a_run_cancelled_before_its_next_attempt_keeps_the_end_of_the_last_one() -> None:
    retrying = ended(started(None, 0), 1)
    cancel = CancelAsked(start_request(nonce="cancel", attempt=1), "cancelled")
    cancelled = after(cancel, retrying, 5)
    assert (cancelled.state, cancelled.finished_at) == (RunState.CANCELLED, DUE + 5)
    assert attempts_of(cancelled) == (failed(1, 0, 1),)


def test_an_attempt_that_was_cancelled_is_no_failure() -> None:
    told = replace(started(None, 0), cancel_requested="cancelled")
    cancelled = ended(told, 1)
    assert cancelled.state is RunState.CANCELLED
    assert attempts_of(cancelled) == (Attempt(1, DUE + 0.0, DUE + 1, AttemptOutcome.CANCELLED),)


def test_the_last_twenty_are_kept_with_the_beginning_of_their_errors() -> None:
    run = started(None, 0)
    for number in range(1, 31):
        run = ended(replace(run, attempts_allowed=99), number * 20, Failed("x" * 500, code="http.500"))
        run = started(run, number * 20 + 10)
    assert [each.number for each in run.earlier] == list(range(11, 31))
    assert [each.number for each in attempts_of(run)] == list(range(12, 32))
    assert len(attempts_of(run)) == MAX_ATTEMPTS
    assert {len(each.error or "") for each in run.earlier} == {MAX_ERROR}
