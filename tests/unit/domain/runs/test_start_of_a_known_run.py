"""A message for a run that has a record: the record decides, not the message."""

from dataclasses import replace

import pytest

from duecourse.domain.jobs.job import Delivery, JobSnapshot, JobState, RetryPolicy, Tombstone
from duecourse.domain.runs.decision import (
    LEASE_MARGIN_SECONDS,
    AttemptContext,
    Decision,
    Drop,
    FollowUp,
    RemainingCatchUp,
    RetryLater,
    Start,
    StartRequest,
    Transition,
)
from duecourse.domain.runs.states import Attempt, AttemptOutcome, Run, RunState
from duecourse.domain.runs.transitions import decide_start
from duecourse_schedules.schedule import OccurrenceRules
from tests.support.jobs import job
from tests.support.start_requests import DUE, EXPIRES, GENERATION, context, expect, run, start_request, waiting_run
from tests.support.varied import varied

LEASE = DUE + 120.0
BELIEVED = LEASE + LEASE_MARGIN_SECONDS
GONE = Tombstone(deleted_at=DUE + 5.0)
EVERY_MINUTE = "* * * * *"


def decide(
    record: Run,
    offered: StartRequest | None = None,
    of: JobSnapshot = None,
    *,
    by: AttemptContext | None = None,
    now: float = DUE + 30.0,
) -> Decision:
    """`of` is the unchanged job unless given."""
    snapshot = job() if of is None else of
    return decide_start(
        start_request() if offered is None else offered, snapshot, record, context() if by is None else by, now=now
    )


# Ended.


@pytest.mark.parametrize("state", [RunState.SUCCEEDED, RunState.CANCELLED, RunState.SKIPPED])
@pytest.mark.parametrize("message", ["message-1", "message-2"])
def test_existing_run_that_ended_only_repeats_its_follow_up(state: RunState, message: str) -> None:
    assert decide(run(state), by=context(message)) == FollowUp(run(state), f"already {state}")


@pytest.mark.parametrize("of", [GONE, None], ids=["deleted", "unknown"])
def test_existing_run_that_ended_repeats_its_follow_up_even_if_its_job_is_deleted(of: JobSnapshot) -> None:
    ended = run(RunState.SUCCEEDED)
    assert decide_start(start_request(), of, ended, context(), now=DUE + 30) == FollowUp(ended, "already SUCCEEDED")


def test_existing_run_message_of_a_dead_run_continues_to_the_dead_letter_queue() -> None:
    dead = run(RunState.DEAD, attempt=4)
    assert decide(dead, start_request(attempt=4)) == FollowUp(dead, "dead")


def test_existing_run_other_message_of_a_dead_run_is_dropped() -> None:
    dead = run(RunState.DEAD, attempt=4)
    copy = start_request(nonce="nonce-of-a-copy", attempt=4)
    assert decide(dead, copy, by=context("message-2")) == Drop("a duplicate message of a dead run")


def test_existing_run_nonce_of_a_dead_run_under_a_new_message_id_is_a_redrive_with_new_attempts() -> None:
    dead = run(RunState.DEAD, attempt=4, error="HTTP 500", reason="attempts_exhausted", notified=True)
    by = context("message-2", lease_until=DUE + 3700)
    decision = decide(dead, start_request(attempt=4), job(retry=RetryPolicy(max_attempts=3)), by=by, now=DUE + 3600.0)
    assert isinstance(decision, Start)
    assert decision.previous == dead
    assert decision.reason == "redriven"
    begun = decision.run
    assert (begun.state, begun.attempt, begun.attempts_allowed) == (RunState.RUNNING, 5, 4 + 3)
    assert (begun.message_id, begun.fencing_token, begun.lease_until) == (
        "message-2",
        "request-1/message-2",
        DUE + 3700,
    )
    assert (begun.first_started_at, begun.started_at) == (float(DUE), DUE + 3600.0)


@pytest.mark.parametrize("of", [GONE, None], ids=["deleted", "unknown"])
def test_existing_run_redrive_of_a_deleted_job_is_dropped(of: JobSnapshot) -> None:
    dead = run(RunState.DEAD, attempt=4)
    decision = decide_start(start_request(attempt=4), of, dead, context("message-2"), now=DUE + 30)
    assert decision == Drop("a duplicate message of a dead run")


# Somebody asks for another allowance.


@pytest.mark.parametrize(("delivery", "more"), [(Delivery.AT_LEAST_ONCE, 4), (Delivery.AT_MOST_ONCE, 1)])
def test_existing_run_redrive_requests_the_next_attempt_of_a_dead_run(delivery: Delivery, more: int) -> None:
    dead = run(RunState.DEAD, attempt=4)
    asked = start_request(nonce="nonce-r", attempt=5, redrive=True)
    decision = expect(Start, decide(dead, asked, job(delivery=delivery), by=context("message-r")))
    assert (decision.reason, decision.previous) == ("redriven", dead)
    begun = decision.run
    assert (begun.attempt, begun.attempts_allowed, begun.nonce, begun.message_id) == (
        5,
        4 + more,
        "nonce-r",
        "message-r",
    )


@pytest.mark.parametrize("attempt", [4, 6])
def test_existing_run_redrive_for_another_than_the_next_attempt_is_dropped(attempt: int) -> None:
    asked = start_request(nonce="nonce-r", attempt=attempt, redrive=True)
    decision = decide(run(RunState.DEAD, attempt=4), asked, by=context("message-r"))
    assert decision == Drop("a duplicate message of a dead run")


def test_existing_run_redrive_that_died_and_is_redelivered_continues_to_the_dead_letter_queue() -> None:
    dead = run(RunState.DEAD, attempt=5, nonce="nonce-r", message_id="message-r")
    asked = start_request(nonce="nonce-r", attempt=5, redrive=True)
    assert decide(dead, asked, by=context("message-r")) == FollowUp(dead, "dead")
    assert isinstance(decide(dead, asked, by=context("message-s")), Start)  # brought back from there


def test_existing_run_redrive_is_not_repeated_by_a_late_delivery_of_the_earlier_message() -> None:
    first, brought_back = context("message-1"), context("message-2")
    redriven = expect(Start, decide(run(RunState.DEAD, attempt=4), start_request(attempt=4), by=brought_back))
    died_again = varied(redriven.run, state=RunState.DEAD)
    assert decide(died_again, start_request(attempt=4), by=first) == Drop("a duplicate message of a dead run")
    again = decide(died_again, start_request(attempt=4), by=context("message-3"))
    assert isinstance(again, Start), "it was brought back once more"
    assert again.run.attempts.redriven_from == "message-1 message-2"


def test_existing_run_redrive_applies_only_to_the_death_before_it_not_to_the_one_it_led_to() -> None:
    never_begun = run(RunState.DEAD, attempt=0, nonce="nonce-1")
    asked = start_request(nonce="nonce-r", attempt=1, redrive=True)
    begun = expect(Start, decide(never_begun, asked, by=context("message-r")))
    assert (begun.run.attempt, begun.run.nonce) == (1, "nonce-r")
    died_again = varied(begun.run, state=RunState.DEAD)
    assert decide(died_again, asked, by=context("message-r")) == FollowUp(died_again, "dead")
    another = replace(asked, nonce="nonce-s")
    assert decide(died_again, another, by=context("message-s")) == Drop("a duplicate message of a dead run")


def test_existing_run_redrive_restarts_the_age_of_the_run() -> None:
    dead = run(RunState.DEAD, attempt=4)
    assert dead.age_from == DUE
    decision = expect(Start, decide(dead, start_request(attempt=4), by=context("message-2"), now=DUE + 3600.0))
    assert decision.run.age_from == DUE + 3600.0
    again = decide(run(RunState.RETRYING, redriven_at=DUE + 5.0), start_request(attempt=2), now=DUE + 3600.0)
    assert isinstance(again, Start)
    assert again.run.age_from == DUE + 5.0


def test_existing_run_ordinary_message_for_the_attempt_after_a_dead_one_is_not_a_redrive() -> None:
    decision = decide(run(RunState.DEAD, attempt=4), start_request(nonce="nonce-r", attempt=5), by=context("message-r"))
    assert decision == Drop("a duplicate message of a dead run")


def test_existing_run_redrive_of_an_active_run_changes_nothing() -> None:
    asked = start_request(nonce="nonce-r", attempt=2, redrive=True)
    assert decide(run(), asked, by=context("message-r")) == Drop("another message has started it")
    assert decide(run(RunState.SUCCEEDED), asked) == FollowUp(run(RunState.SUCCEEDED), "already SUCCEEDED")


# Waiting for its callback.


@pytest.mark.parametrize("attempt", [1, 2])
@pytest.mark.parametrize("message", ["message-1", "message-2"])
def test_existing_run_that_waits_for_its_callback_is_dropped(message: str, attempt: int) -> None:
    decision = decide(waiting_run(), start_request(attempt=attempt), by=context(message), now=DUE + 1e6)
    assert decision == Drop("it waits for its callback")


# Waiting for its next attempt.


def test_existing_run_next_attempt_starts_and_keeps_the_run_history() -> None:
    waiting = run(RunState.RETRYING, error="HTTP 500")
    by = context("message-2", lease_until=DUE + 200)
    assert decide(waiting, start_request(attempt=2, nonce="nonce-2"), by=by, now=DUE + 12.0) == Start(
        varied(
            waiting,
            state=RunState.RUNNING,
            attempt=2,
            fencing_token="request-1/message-2",
            message_id="message-2",
            nonce="nonce-2",
            lease_until=DUE + 200,
            started_at=DUE + 12.0,
            expires_at=EXPIRES,
            earlier=(Attempt(1, DUE, DUE + 1.0, AttemptOutcome.FAILED, "HTTP 500", None),),
        ),
        waiting,
        "retry",
        continued=waiting,
    )


def test_existing_run_next_attempt_may_start_exactly_at_its_earliest_time() -> None:
    assert isinstance(decide(run(RunState.RETRYING), start_request(attempt=2), now=DUE + 10.0), Start)


def test_existing_run_next_attempt_does_not_start_before_the_time_in_its_record() -> None:
    waiting = run(RunState.RETRYING)
    assert decide(waiting, start_request(attempt=2), now=DUE + 9.9) == FollowUp(
        waiting, "the next attempt is not due yet"
    )


@pytest.mark.parametrize("attempt", [1, 2])
def test_existing_run_redelivery_of_a_failed_attempt_sends_the_next_one_again(attempt: int) -> None:
    waiting = run(RunState.RETRYING, attempt=2)
    assert decide(waiting, start_request(attempt=attempt)) == FollowUp(waiting, "the next attempt is already decided")


def test_existing_run_message_for_an_attempt_after_the_next_one_is_dropped() -> None:
    assert decide(run(RunState.RETRYING), start_request(attempt=3)) == Drop("the message is not for the next attempt")


@pytest.mark.parametrize("of", [GONE, None], ids=["deleted", "unknown"])
def test_existing_run_retrying_run_of_a_deleted_job_is_cancelled(of: JobSnapshot) -> None:
    waiting = run(RunState.RETRYING)
    decision = decide_start(start_request(attempt=2), of, waiting, context("message-2"), now=DUE + 12.0)
    assert isinstance(decision, Transition)
    assert decision.previous == waiting
    assert (decision.run.state, decision.run.reason) == (RunState.CANCELLED, "deleted")
    assert (decision.run.attempt, decision.run.finished_at, decision.run.fencing_token) == (
        1,
        DUE + 12.0,
        "request-1/message-2",
    )


@pytest.mark.parametrize("state", [JobState.PAUSED, JobState.COMPLETED, JobState.ACTIVE])
def test_existing_run_continues_despite_changes_of_its_job(state: JobState) -> None:
    changed = job(state=state, generation=GENERATION + 30_000, changed_at=DUE - 1.0)
    assert isinstance(decide(run(RunState.RETRYING), start_request(attempt=2), changed), Start)


# Running.


def test_existing_run_same_message_waits_while_its_attempt_may_be_active() -> None:
    assert decide(run(), now=LEASE - 1) == RetryLater(BELIEVED, "its attempt may still be active")


def test_existing_run_same_message_waits_even_under_the_message_id_of_a_redrive() -> None:
    decision = decide(run(), by=context("message-2"), now=LEASE - 1)
    assert decision == RetryLater(BELIEVED, "its attempt may still be active")
    sent_afresh = decide(run(), start_request(nonce="nonce-9"), now=LEASE - 1)
    assert sent_afresh == RetryLater(BELIEVED, "its attempt may still be active")


def test_existing_run_other_message_is_dropped_while_the_attempt_may_be_active() -> None:
    decision = decide(run(), start_request(nonce="nonce-9"), by=context("message-2"), now=LEASE - 1)
    assert decision == Drop("another message has started it")


def test_existing_run_attempt_counts_as_active_slightly_beyond_its_lease_to_allow_for_clock_differences() -> None:
    assert isinstance(decide(run(), now=BELIEVED - 0.001), RetryLater)
    assert isinstance(
        decide(run(), start_request(nonce="nonce-9"), by=context("message-2"), now=BELIEVED - 0.001), Drop
    )
    assert isinstance(decide(run(), now=BELIEVED), Start)


@pytest.mark.parametrize("message", ["message-1", "message-2"])
def test_existing_run_any_message_after_the_lease_takes_over_the_run(message: str) -> None:
    begun = run()
    decision = decide(begun, start_request(nonce="nonce-9"), by=context(message, lease_until=DUE + 400), now=BELIEVED)
    assert isinstance(decision, Start)
    assert (decision.previous, decision.reason) == (begun, "taken over")
    assert (decision.run.attempt, decision.run.lease_until) == (2, DUE + 400)
    assert (decision.run.message_id, decision.run.nonce) == (message, "nonce-9")
    assert (decision.run.first_started_at, decision.run.started_at) == (float(DUE), BELIEVED)


def test_existing_run_at_most_once_run_whose_worker_vanished_is_dead() -> None:
    decision = decide(run(), start_request(nonce="nonce-9"), job(delivery=Delivery.AT_MOST_ONCE), now=BELIEVED)
    assert isinstance(decision, Transition)
    assert (decision.run.state, decision.run.reason, decision.run.attempt) == (RunState.DEAD, "lost", 1)


def test_existing_run_with_a_vanished_worker_in_its_last_attempt_is_dead_by_the_message_that_found_it() -> None:
    begun = run(attempt=4)
    decision = decide(begun, start_request(attempt=4, nonce="nonce-9"), by=context("message-2"), now=BELIEVED)
    assert isinstance(decision, Transition)
    ended = decision.run
    assert decision.previous == begun
    assert (ended.state, ended.reason, ended.attempt) == (RunState.DEAD, "lost", 4)
    assert (ended.error, ended.code) == ("the worker stopped during the attempt", "lost")
    assert (ended.finished_at, ended.notified) == (BELIEVED, False)
    # This message goes to the dead-letter queue: its nonce under a new id is the redrive.
    assert (ended.nonce, ended.message_id) == ("nonce-9", "message-2")
    redriven = decide(ended, start_request(attempt=4, nonce="nonce-9"), by=context("message-3"), now=BELIEVED + 60)
    assert isinstance(redriven, Start)


def test_existing_run_vanished_worker_of_a_callback_run_ends_the_wait_for_the_callback() -> None:
    calling = waiting_run(RunState.RUNNING, attempt=4, heartbeat_until=DUE + 60.0)
    assert expect(Transition, decide(calling, start_request(attempt=4), now=BELIEVED)).run.state is RunState.DEAD


def test_existing_run_vanished_worker_of_the_last_attempt_keeps_the_error_of_an_earlier_one() -> None:
    decision = expect(Transition, decide(run(attempt=4, error="HTTP 500"), start_request(attempt=4), now=BELIEVED))
    assert (decision.run.error, decision.run.code) == ("HTTP 500", "lost")


@pytest.mark.parametrize("of", [GONE, None], ids=["deleted", "unknown"])
def test_existing_run_attempt_of_a_deleted_job_is_awaited_and_then_cancelled(of: JobSnapshot) -> None:
    assert isinstance(decide_start(start_request(), of, run(), context(), now=LEASE), RetryLater)
    decision = expect(Transition, decide_start(start_request(), of, run(), context(), now=BELIEVED))
    assert (decision.run.state, decision.run.reason) == (RunState.CANCELLED, "deleted")


# Of a job that was deleted and created anew under the same id.

ANEW = job(at=DUE + 20.0)


def test_existing_run_retrying_run_of_a_deleted_job_is_cancelled_even_if_its_id_is_reused() -> None:
    decision = expect(Transition, decide(run(RunState.RETRYING), start_request(attempt=2), ANEW))
    assert (decision.run.state, decision.run.reason) == (RunState.CANCELLED, "deleted")


def test_existing_run_vanished_run_of_a_deleted_job_is_cancelled_even_if_its_id_is_reused() -> None:
    decision = expect(Transition, decide(run(), of=ANEW, now=BELIEVED))
    assert (decision.run.state, decision.run.reason) == (RunState.CANCELLED, "deleted")


def test_existing_run_redrive_for_a_deleted_job_does_not_call_the_target_of_a_recreated_one() -> None:
    assert decide(run(RunState.DEAD, attempt=4), start_request(attempt=4), ANEW, by=context("message-2")) == Drop(
        "a duplicate message of a dead run"
    )


# One message for many missed occurrences.


def caught_up(through: int, count: int, **changes: object) -> StartRequest:
    named: dict[str, object] = {"nonce": "nonce-of-a-catch-up"}
    return start_request(through=through, count=count, caught_up_at=float(through), **(named | changes))


def test_existing_run_remaining_catch_up_beyond_the_run_gets_its_own_run() -> None:
    offered = caught_up(DUE + 600, 11)
    decision = decide(run(RunState.SUCCEEDED), offered, job(EVERY_MINUTE), by=context("message-2"), now=DUE + 660.0)
    assert isinstance(decision, RemainingCatchUp)
    assert (decision.occurrence, decision.count) == (DUE + 60, 10)


def test_existing_run_remaining_catch_up_begins_after_all_occurrences_covered_by_the_run() -> None:
    offered = caught_up(DUE + 600, 11)
    there = run(RunState.RUNNING, count=4, through=DUE + 180)
    decision = decide(there, offered, job(EVERY_MINUTE), by=context("message-2"), now=DUE + 20.0)
    assert isinstance(decision, RemainingCatchUp)
    assert (decision.occurrence, decision.count) == (DUE + 240, 7)


def test_existing_run_catch_up_fully_covered_by_its_run_has_no_remainder() -> None:
    there = run(RunState.SUCCEEDED, count=11, through=DUE + 600)
    assert isinstance(decide(there, caught_up(DUE + 600, 11), job(EVERY_MINUTE)), FollowUp)


def test_existing_run_catch_up_without_a_further_occurrence_in_its_rest_has_no_remainder() -> None:
    there, by = run(RunState.SUCCEEDED), context("message-2")
    assert isinstance(decide(there, caught_up(DUE + 59, 2), job(EVERY_MINUTE), by=by), FollowUp)
    assert isinstance(decide(there, caught_up(DUE + 60, 2), job(EVERY_MINUTE), by=by), RemainingCatchUp)
    assert isinstance(decide(there, caught_up(DUE + 600, 2), job("at(2026-11-21T12:01:00)"), by=by), FollowUp)


def test_existing_run_remaining_catch_up_of_a_limited_count_is_at_least_one() -> None:
    there = run(RunState.SUCCEEDED, count=12, through=DUE + 60)
    decision = decide(there, caught_up(DUE + 600, 11), job(EVERY_MINUTE), by=context("message-2"))
    assert isinstance(decision, RemainingCatchUp)
    assert decision.count == 1


def test_existing_run_catch_up_message_of_its_own_run_leaves_no_second_remainder() -> None:
    there = run(RunState.SUCCEEDED, count=4, through=DUE + 180)
    assert isinstance(decide(there, caught_up(DUE + 600, 11), job(EVERY_MINUTE)), FollowUp)


def test_existing_run_shortened_catch_up_is_retried() -> None:
    shortened = run(RunState.RETRYING, count=4, through=DUE + 180)
    retry = caught_up(DUE + 600, 11, attempt=2)
    decision = expect(Start, decide(shortened, retry, job(EVERY_MINUTE), by=context("message-2"), now=DUE + 1000.0))
    assert (decision.run.attempt, decision.run.through) == (2, DUE + 180)


def test_existing_run_shortened_catch_up_is_redriven_from_the_console() -> None:
    dead = run(RunState.DEAD, attempt=4, count=4, through=DUE + 180)
    returned = caught_up(DUE + 600, 11, nonce=dead.nonce)
    decision = expect(Start, decide(dead, returned, job(EVERY_MINUTE), by=context("message-2"), now=DUE + 1000.0))
    assert (decision.reason, decision.run.through) == ("redriven", DUE + 180)


CHANGED = job("0 0 1 1 *", generation=GENERATION + 1)


@pytest.mark.parametrize("of", [GONE, CHANGED], ids=["deleted", "edited"])
def test_existing_run_remaining_catch_up_uses_the_rules_of_its_message_even_if_its_job_changed(
    of: JobSnapshot,
) -> None:
    offered = replace(caught_up(DUE + 600, 11), rules=OccurrenceRules(job(EVERY_MINUTE).schedule))
    decision = expect(RemainingCatchUp, decide(run(RunState.SUCCEEDED), offered, of, by=context("message-2")))
    assert (decision.occurrence, decision.count) == (DUE + 60, 10)


@pytest.mark.parametrize("of", [GONE, CHANGED], ids=["deleted", "edited"])
def test_existing_run_old_catch_up_without_rules_has_no_remainder_if_its_job_is_deleted_or_changed(
    of: JobSnapshot,
) -> None:
    assert isinstance(decide(run(RunState.SUCCEEDED), caught_up(DUE + 600, 11), of, by=context("message-2")), FollowUp)


def test_existing_run_single_occurrence_has_no_remainder() -> None:
    assert isinstance(decide(run(RunState.SUCCEEDED), of=job(EVERY_MINUTE)), FollowUp)
