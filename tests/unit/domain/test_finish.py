"""What the end of an attempt makes of its run."""

from __future__ import annotations

from dataclasses import replace

import pytest

from duecourse.domain.finish import Finish, decide_finish
from duecourse.domain.job import Delivery
from duecourse.domain.retry import Backoff, RetryPolicy
from duecourse.domain.run import RunState
from duecourse.domain.targets import Failed, Outcome, Succeeded
from tests.support.jobs import job
from tests.support.offers import DUE, run

NOW = DUE + 5.5
PATIENT = job(retry=RetryPolicy(max_attempts=4, backoff=Backoff.EXPONENTIAL, min_seconds=2, max_seconds=60))


def decide(outcome: Outcome, *, draw: float = 0.5, of: object = None, **record: object) -> Finish:
    return decide_finish(run(**record), PATIENT if of is None else of, outcome, now=NOW, draw=draw)  # type: ignore[arg-type]


def test_a_success_is_recorded_with_its_result_and_gives_the_lease_back() -> None:
    finish = decide(Succeeded({"rows": 3}))
    assert finish == Finish(
        replace(run(), state=RunState.SUCCEEDED, result={"rows": 3}, finished_at=NOW, lease_until=None), "succeeded"
    )


def test_a_success_after_failures_forgets_their_error() -> None:
    finish = decide(Succeeded(), attempt=3, error="HTTP 500")
    assert (finish.run.state, finish.run.error, finish.run.attempt) == (RunState.SUCCEEDED, None, 3)


def test_a_success_of_the_last_attempt_is_a_success() -> None:
    assert decide(Succeeded(), attempt=4).run.state is RunState.SUCCEEDED
    assert decide(Succeeded(), of=job(delivery=Delivery.AT_MOST_ONCE)).run.state is RunState.SUCCEEDED


def test_a_failure_waits_out_its_backoff_and_keeps_its_error() -> None:
    finish = decide(Failed("HTTP 500"), attempt=2, draw=0.0)
    assert finish == Finish(
        replace(
            run(attempt=2),
            state=RunState.RETRYING,
            error="HTTP 500",
            finished_at=NOW,
            lease_until=None,
            not_before=NOW + 2,
        ),
        "will be tried again",
    )


def test_the_wait_is_that_of_the_policy_for_this_attempt_and_this_draw() -> None:
    finish = decide(Failed("HTTP 500"), attempt=3, draw=0.25)
    assert finish.run.not_before == NOW + PATIENT.retry.delay(3, 0.25)


def test_a_target_may_say_when_to_come_back() -> None:
    assert decide(Failed("HTTP 429", retry_after=30.0)).run.not_before == NOW + 30


def test_a_target_may_say_not_to_come_back() -> None:
    finish = decide(Failed("HTTP 404", retryable=False, retry_after=30.0))
    assert (finish.run.state, finish.run.reason) == (RunState.DEAD, "not_retryable")
    assert (finish.run.error, finish.run.not_before, finish.reason) == ("HTTP 404", None, "not worth a retry")


@pytest.mark.parametrize(("attempt", "state"), [(3, RunState.RETRYING), (4, RunState.DEAD), (5, RunState.DEAD)])
def test_a_failure_of_the_last_attempt_is_the_end(attempt: int, state: RunState) -> None:
    assert decide(Failed("HTTP 500"), attempt=attempt).run.state is state


def test_a_run_that_used_up_its_attempts_says_so() -> None:
    finish = decide(Failed("HTTP 500"), attempt=4)
    assert (finish.run.reason, finish.run.error, finish.run.finished_at) == ("attempts_exhausted", "HTTP 500", NOW)
    assert finish.run.lease_until is None


def test_a_redriven_run_has_the_attempts_its_record_allows_not_those_of_its_job() -> None:
    assert decide(Failed("HTTP 500"), attempt=5, attempts_allowed=8).run.state is RunState.RETRYING
    assert decide(Failed("HTTP 500"), attempt=8, attempts_allowed=8).run.state is RunState.DEAD


def test_a_job_that_runs_at_most_once_is_dead_at_its_first_failure() -> None:
    finish = decide(Failed("HTTP 500"), of=job(delivery=Delivery.AT_MOST_ONCE))
    assert (finish.run.state, finish.run.reason, finish.reason) == (RunState.DEAD, "at_most_once", "at most once")


def test_nothing_of_how_the_run_came_about_is_changed_by_its_end() -> None:
    before = run(attempt=2, count=3, through=DUE + 120)
    for outcome in (Succeeded(), Failed("no"), Failed("no", retryable=False)):
        after = decide_finish(before, PATIENT, outcome, now=NOW, draw=0.5).run
        kept = {"state", "reason", "error", "result", "finished_at", "lease_until", "not_before"}
        assert all(
            getattr(after, name) == getattr(before, name) for name in before.__dataclass_fields__ if name not in kept
        )
