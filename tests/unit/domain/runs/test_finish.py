"""How an attempt ends, and what follows for its job.

- What the end of an attempt makes of its run.
- How many deaths in a row a job has seen.
- Whose pause an occurrence was skipped by.
"""

from dataclasses import fields, replace
from itertools import permutations
from typing import Any

import pytest

from duecourse.domain.jobs.document import ChangeAction, ChangeRecord
from duecourse.domain.jobs.job import Backoff, Completion, Delivery, Job, JobSnapshot, RetryPolicy, Tombstone
from duecourse.domain.runs.decision import Transition
from duecourse.domain.runs.explain import Explanation, Verdict, pause_over, with_pause
from duecourse.domain.runs.states import STATES, Record, Run, RunState, deaths_in_a_row
from duecourse.domain.runs.transitions import decide_finish
from duecourse.domain.targets.targets import Failed, Outcome, Returned
from tests.support.jobs import job
from tests.support.start_requests import DUE, WAITS_UNTIL, run, waiting_run
from tests.support.varied import varied

NOW = DUE + 5.5
RETRY = RetryPolicy(max_attempts=4, backoff=Backoff.EXPONENTIAL, min_seconds=2, max_seconds=60)
PATIENT = job(retry=RETRY)
CALLBACK = job(retry=RETRY, completion=Completion.CALLBACK)
BEATING = replace(CALLBACK, heartbeat_seconds=20)


def decide(outcome: Outcome, *, draw: float = 0.5, of: Job = PATIENT, **record: Any) -> Transition:
    return decide_finish(run(**record), of, outcome, now=NOW, draw=draw)


def returned(outcome: Outcome, of: JobSnapshot = CALLBACK, **record: Any) -> Transition:
    """The end of a call whose run is to wait for its callback."""
    return decide_finish(waiting_run(RunState.RUNNING, **record), of, outcome, now=NOW, draw=0.5)


def test_finish_success_stores_the_result_and_releases_the_lease() -> None:
    assert decide(Returned({"rows": 3})) == Transition(
        varied(run(), state=RunState.SUCCEEDED, result={"rows": 3}, finished_at=NOW), run(), "succeeded"
    )


def test_finish_success_after_failures_clears_their_error() -> None:
    finish = decide(Returned(), attempt=3, error="HTTP 500", code="http.500")
    assert (finish.run.state, finish.run.attempt) == (RunState.SUCCEEDED, 3)
    assert (finish.run.error, finish.run.code) == (None, None)


def test_finish_success_of_the_last_attempt_succeeds() -> None:
    assert decide(Returned(), attempt=4).run.state is RunState.SUCCEEDED
    assert decide(Returned(), of=job(delivery=Delivery.AT_MOST_ONCE)).run.state is RunState.SUCCEEDED


def test_finish_failure_waits_for_its_backoff_and_stores_error_and_code() -> None:
    assert decide(Failed("HTTP 500", code="http.500"), attempt=2, draw=0.0) == Transition(
        varied(
            run(attempt=2),
            state=RunState.RETRYING,
            error="HTTP 500",
            code="http.500",
            finished_at=NOW,
            not_before=NOW + 2,
        ),
        run(attempt=2),
        "will be tried again",
    )


def test_finish_retry_delay_follows_the_policy_for_the_attempt_and_draw() -> None:
    assert decide(Failed("HTTP 500"), attempt=3, draw=0.25).run.not_before == NOW + PATIENT.retry.delay(3, 0.25)


def test_finish_target_can_set_the_retry_delay() -> None:
    assert decide(Failed("HTTP 429", retry_after=30.0)).run.not_before == NOW + 30


def test_finish_target_can_forbid_a_retry() -> None:
    finish = decide(Failed("HTTP 404", retryable=False, retry_after=30.0))
    assert (finish.run.state, finish.run.reason) == (RunState.DEAD, "not_retryable")
    assert (finish.run.error, finish.reason) == ("HTTP 404", "the error is not retryable")


@pytest.mark.parametrize(("attempt", "state"), [(3, RunState.RETRYING), (4, RunState.DEAD), (5, RunState.DEAD)])
def test_finish_failure_of_the_last_attempt_makes_the_run_dead(attempt: int, state: RunState) -> None:
    assert decide(Failed("HTTP 500"), attempt=attempt).run.state is state


def test_finish_run_without_remaining_attempts_is_dead_with_that_reason() -> None:
    finish = decide(Failed("HTTP 500"), attempt=4)
    assert (finish.run.state, finish.run.reason) == (RunState.DEAD, "attempts_exhausted")
    assert (finish.run.error, finish.run.finished_at) == ("HTTP 500", NOW)


def test_finish_redriven_run_uses_the_attempts_of_its_record_not_of_its_job() -> None:
    assert decide(Failed("HTTP 500"), attempt=5, attempts_allowed=8).run.state is RunState.RETRYING
    assert decide(Failed("HTTP 500"), attempt=8, attempts_allowed=8).run.state is RunState.DEAD


def test_finish_at_most_once_job_is_dead_at_its_first_failure() -> None:
    finish = decide(Failed("HTTP 500"), of=job(delivery=Delivery.AT_MOST_ONCE))
    assert (finish.run.state, finish.run.reason, finish.reason) == (RunState.DEAD, "at_most_once", "at most once")


def test_finish_end_of_a_run_does_not_change_its_origin() -> None:
    before = run(attempt=2, count=3, through=DUE + 120)
    names = {field.name for field in fields(before)} - {"failure"}
    for outcome in (Returned(), Failed("no"), Failed("no", retryable=False)):
        after = decide_finish(before, PATIENT, outcome, now=NOW, draw=0.5).run
        shared = names & {field.name for field in fields(after)}
        assert {field.name for field in fields(Record)} | {"attempts"} <= shared
        assert all(getattr(after, name) == getattr(before, name) for name in shared)


def test_finish_retry_rules_of_the_job_decide_which_failures_are_retried() -> None:
    picky = job(retry=replace(RETRY, never=("4xx",)))
    assert decide(Failed("HTTP 409", code="http.409"), of=picky).run.reason == "not_retryable"
    assert decide(Failed("HTTP 503", code="http.503"), of=picky).run.state is RunState.RETRYING


@pytest.mark.parametrize(("age", "state"), [(8, RunState.RETRYING), (7, RunState.DEAD)])
def test_finish_next_attempt_does_not_begin_after_the_maximum_age_of_the_run(age: int, state: RunState) -> None:
    # It would begin two seconds from now: 7.5 s after it was due.
    finish = decide(Failed("HTTP 500"), of=job(retry=replace(RETRY, max_age_seconds=age)), draw=0.0)
    assert finish.run.state is state
    if state is RunState.DEAD:
        assert (finish.run.reason, finish.reason) == ("too_old", "the next attempt would start too late")


def test_finish_next_attempt_may_begin_exactly_at_the_maximum_age() -> None:
    tight = job(retry=replace(RETRY, max_age_seconds=7))
    finish = decide_finish(run(), tight, Failed("HTTP 500"), now=DUE + 5.0, draw=0.0)
    assert (finish.run.state, finish.run.not_before) == (RunState.RETRYING, DUE + 7.0)


@pytest.mark.parametrize(("at", "state"), [(DUE + 2.0, RunState.RETRYING), (DUE + 0.4, RunState.DEAD)])
def test_finish_maximum_age_restarts_at_a_redrive(at: float, state: RunState) -> None:
    finish = decide(Failed("HTTP 500"), of=job(retry=replace(RETRY, max_age_seconds=7)), draw=0.0, redriven_at=at)
    assert finish.run.state is state


@pytest.mark.parametrize("of", [Tombstone(deleted_at=DUE + 1.0), None], ids=["deleted", "unknown"])
def test_finish_failure_of_a_deleted_job_is_cancelled_without_a_retry(of: JobSnapshot) -> None:
    finish = decide_finish(run(), of, Failed("HTTP 500", code="http.500"), now=NOW, draw=0.5)
    assert (finish.run.state, finish.run.reason) == (RunState.CANCELLED, "deleted")
    assert (finish.run.error, finish.run.code, finish.run.finished_at) == ("HTTP 500", "http.500", NOW)


# Somebody wants it to end.


def test_finish_success_counts_despite_a_cancellation_request() -> None:
    assert decide(Returned("done"), cancel_requested="cancelled").run.state is RunState.SUCCEEDED


@pytest.mark.parametrize("of", [PATIENT, job(delivery=Delivery.AT_MOST_ONCE)], ids=["patient", "once"])
def test_finish_failure_with_a_cancellation_request_cancels_the_run(of: Job) -> None:
    finish = decide(Failed("HTTP 500", code="http.500"), of=of, cancel_requested="replaced")
    assert (finish.run.state, finish.run.reason, finish.reason) == (RunState.CANCELLED, "replaced", "replaced")
    assert (finish.run.error, finish.run.code) == ("HTTP 500", "http.500")
    assert finish.run.finished_at == NOW
    assert finish.previous == run(cancel_requested="replaced")


# Runs with a callback.


def test_finish_accepted_call_waits_for_its_callback_until_the_deadline_and_releases_the_lease() -> None:
    before = waiting_run(RunState.RUNNING)
    finish = returned(Returned("queued"))
    assert finish == Transition(varied(before, state=RunState.WAITING), before, "waits for its callback")
    assert finish.run.deadlines.next == WAITS_UNTIL


def test_finish_first_heartbeat_is_due_relative_to_the_end_of_the_call() -> None:
    finish = returned(Returned(), BEATING, heartbeat_until=DUE + 50.0)
    assert (finish.run.deadlines.heartbeat_until, finish.run.deadlines.next) == (NOW + 20, NOW + 20)


def test_finish_heartbeat_no_longer_required_by_the_job_is_not_awaited() -> None:
    assert returned(Returned(), CALLBACK, heartbeat_until=DUE + 50.0).run.deadlines.heartbeat_until is None


def test_finish_rejected_call_is_retried_without_waiting_for_a_callback() -> None:
    assert returned(Failed("HTTP 503"), BEATING, heartbeat_until=DUE + 50.0).run.state is RunState.RETRYING


def test_finish_call_cancels_a_run_without_heartbeats_that_has_a_cancellation_request() -> None:
    finish = returned(Returned(), cancel_requested="cancelled")
    assert (finish.run.state, finish.run.reason, finish.run.finished_at) == (RunState.CANCELLED, "cancelled", NOW)


def test_finish_run_with_heartbeats_gets_its_cancellation_at_the_next_heartbeat() -> None:
    finish = returned(Returned(), BEATING, cancel_requested="cancelled")
    assert (finish.run.state, finish.run.cancel_requested) == (RunState.WAITING, "cancelled")


def test_finish_outcome_of_a_waiting_run_ends_it_although_its_job_uses_callbacks() -> None:
    done = decide_finish(waiting_run(), CALLBACK, Returned({"rows": 3}), now=NOW, draw=0.5).run
    assert (done.state, done.result, done.finished_at) == (RunState.SUCCEEDED, {"rows": 3}, NOW)


@pytest.mark.parametrize("of", [Tombstone(deleted_at=DUE + 1.0), None], ids=["deleted", "unknown"])
def test_finish_callback_of_a_deleted_job_is_not_awaited(of: JobSnapshot) -> None:
    assert returned(Returned(), of).run.state is RunState.SUCCEEDED


CHANGED = float(DUE)


def ended(state: RunState, at: float) -> Run:
    """A run that ended so many seconds after the job's last change, if its state has an end."""
    has_end = any(field.name == "finished_at" for field in fields(STATES[state]))
    return run(state, finished_at=CHANGED + at if has_end else None)


def count(*runs: Run) -> int:
    return deaths_in_a_row(runs, since=CHANGED)


def test_finish_job_without_runs_has_no_consecutive_dead_runs() -> None:
    assert count() == 0


def test_finish_consecutive_dead_runs_count_back_to_the_last_success() -> None:
    runs = [ended(RunState.DEAD, 1), ended(RunState.SUCCEEDED, 2), ended(RunState.DEAD, 3), ended(RunState.DEAD, 4)]
    for order in permutations(runs):
        assert count(*order) == 2


def test_finish_success_resets_consecutive_dead_runs() -> None:
    assert count(ended(RunState.DEAD, 1), ended(RunState.DEAD, 2), ended(RunState.SUCCEEDED, 3)) == 0


def test_finish_skipped_cancelled_and_active_runs_do_not_affect_consecutive_dead_runs() -> None:
    others = [state for state in RunState if state not in (RunState.DEAD, RunState.SUCCEEDED)]
    between = [ended(state, 2) for state in others]
    assert count(ended(RunState.DEAD, 1), *between, ended(RunState.DEAD, 3)) == 2


def test_finish_runs_that_ended_before_the_last_change_of_the_job_are_not_counted() -> None:
    assert count(ended(RunState.DEAD, -1), ended(RunState.DEAD, 0), ended(RunState.DEAD, 0.001)) == 1


def change(at: int, action: ChangeAction, note: str | None = None) -> ChangeRecord:
    changes: tuple[dict[str, Any], ...] = ({"field": "state", "before": "ACTIVE", "after": "PAUSED"},)
    if note is not None:
        changes += ({"field": "paused_because", "before": None, "after": note},)
    return ChangeRecord("default", "steady", at, "ann", action, "key", changes=changes)


PAUSED_TWICE = [
    change(80, ChangeAction.PAUSED, "again"),
    change(60, ChangeAction.RESUMED),
    change(40, ChangeAction.PAUSED, "first"),
    change(10, ChangeAction.CREATED),
]


@pytest.mark.parametrize(
    ("at", "since"),
    [(90, 80), (80, 80), (70, 80), (50, 40), (40, 40), (30, 40)],
    ids=["in it", "at its second", "due before it, not enqueued", "in the first", "at its second", "due before it"],
)
def test_finish_explaining_pause_is_the_last_one_before_or_the_first_one_after_the_instant(at: int, since: int) -> None:
    assert pause_over(PAUSED_TWICE, at).at == since


def test_finish_incomplete_changes_give_no_explaining_pause() -> None:
    assert pause_over(PAUSED_TWICE[:2], 50) is None
    assert pause_over([], 50) is None


def test_finish_explaining_pause_adds_principal_and_reason() -> None:
    found = Explanation(Verdict.PAUSED, "It did not run: the job was paused.", {"reason": "paused"})
    told = with_pause(found, change(40, ChangeAction.PAUSED, "the data are wrong"))
    assert told.sentence == (
        "It did not run: the job was paused. It had been paused since 1970-01-01T00:00:40Z by ann (the data are wrong)."
    )
    assert told.facts == {
        "reason": "paused",
        "since": "1970-01-01T00:00:40Z",
        "by": "ann",
        "note": "the data are wrong",
    }
    assert with_pause(found, change(40, ChangeAction.PAUSED)).sentence.endswith("by ann.")
