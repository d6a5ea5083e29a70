"""What callbacks, deadlines and cancellation make of a run."""

from dataclasses import replace

import pytest

from duecourse.domain.jobs.job import Completion, Delivery, Job, JobSnapshot, JobState, Lane, RetryPolicy, Tombstone
from duecourse.domain.runs.decision import (
    LEASE_MARGIN_SECONDS,
    AttemptContext,
    CancelAsked,
    Completed,
    DeadlineCame,
    Decision,
    Drop,
    Ended,
    FollowUp,
    GivenUp,
    Reschedule,
    RetryLater,
    Start,
    StartRequest,
    Transition,
)
from duecourse.domain.runs.states import Run, Running, RunState
from duecourse.domain.runs.transitions import ARMED_SECONDS, Command
from duecourse.domain.runs.transitions import decide as decide_event
from duecourse.domain.targets.targets import Failed, Returned
from duecourse.domain.workflows.check import OWN_FAULTS
from tests.support.jobs import job
from tests.support.start_requests import DUE, EXPIRES, GENERATION, WAITS_UNTIL, context, run, start_request, waiting_run
from tests.support.varied import varied

NOW = DUE + 30.0
BELIEVED = DUE + 120.0 + LEASE_MARGIN_SECONDS
RETRY = RetryPolicy(max_attempts=4, min_seconds=2, max_seconds=60)
OF = job(retry=RETRY, completion=Completion.CALLBACK)
GONE = Tombstone(deleted_at=DUE + 5.0)
ANEW = job(at=DUE + 20.0)
"""A re-created job, created after the run's job was deleted."""

OFFER = start_request(nonce="nonce-c")
BY = replace(context("message-c"), expires_at=EXPIRES + 86_400)
FAILED = Failed("the disk is full", code="disk_full")


def completed(offered: StartRequest = OFFER, result: object = None) -> Completed:
    return Completed(offered, result)


def given_up(offered: StartRequest = OFFER, failed: Failed = FAILED, draw: float = 0.0) -> GivenUp:
    return GivenUp(offered, failed, draw)


def deadline(offered: StartRequest = OFFER, lease_until: float | None = None) -> DeadlineCame:
    return DeadlineCame(offered, 0.0, lease_until=lease_until)


def cancelled(offered: StartRequest = OFFER) -> CancelAsked:
    return CancelAsked(offered, "cancelled")


CALLBACKS = pytest.mark.parametrize(
    "event", [completed(), given_up(), deadline()], ids=["complete", "fail", "deadline"]
)
EVERY = pytest.mark.parametrize(
    "event", [completed(), given_up(), deadline(), cancelled()], ids=["complete", "fail", "deadline", "cancel"]
)


def decide(
    event: Command, record: Run | None, of: JobSnapshot = OF, *, by: AttemptContext = BY, now: float = NOW
) -> Decision:
    return decide_event(event, of, record, by, now=now)


def settled(
    event: Command, record: Run | None, of: JobSnapshot = OF, *, by: AttemptContext = BY, now: float = NOW
) -> Run:
    """The record that the event leads to: over what was there, and carried by its message."""
    decision = decide(event, record, of, by=by, now=now)
    assert isinstance(decision, Transition)
    assert decision.previous == record
    assert decision.reason
    assert decision.run.fencing_token == by.fencing_token
    return decision.run


def in_hand(record: Run) -> tuple[str, str, str, int | None]:
    return record.fencing_token, record.message_id, record.nonce, record.expires_at


# Fencing.


@CALLBACKS
@pytest.mark.parametrize("state", [state for state in RunState if state is not RunState.QUEUED])
def test_commands_for_an_attempt_that_is_over_change_nothing(event: Command, state: RunState) -> None:
    assert decide(event, waiting_run(state, attempt=2), by=context()) == Drop("attempt 1 is over")


@CALLBACKS
def test_commands_for_an_attempt_that_has_not_begun_change_nothing(event: Command) -> None:
    ahead = replace(event, request=start_request(attempt=2, nonce="nonce-c"))
    assert decide(ahead, waiting_run()) == Drop("attempt 2 is over")


@pytest.mark.parametrize("state", [RunState.RUNNING, RunState.RETRYING, RunState.QUEUED])
def test_commands_deadline_of_an_attempt_about_to_begin_is_retried_later(state: RunState) -> None:
    """It is armed before the record is written; that of a workflow's run which is taken over may have passed."""
    before = waiting_run(state)
    ahead = deadline(start_request(attempt=before.attempt + 1, nonce="nonce-c"))
    assert decide(ahead, before) == RetryLater(NOW + ARMED_SECONDS, "its attempt is about to begin")


@pytest.mark.parametrize("state", [RunState.RUNNING, RunState.RETRYING, RunState.QUEUED])
def test_commands_deadline_of_a_start_that_was_not_written_is_dropped_after_the_lease(state: RunState) -> None:
    before = waiting_run(state)
    request = start_request(attempt=before.attempt + 1, nonce="nonce-c")
    begins = deadline(request, lease_until=NOW - LEASE_MARGIN_SECONDS + 1)
    assert isinstance(decide(begins, before), RetryLater)
    never = deadline(request, lease_until=NOW - LEASE_MARGIN_SECONDS)
    assert decide(never, before) == Drop("the start that it belongs to was not written")


@pytest.mark.parametrize("state", [state for state in RunState if state.final])
def test_commands_deadline_of_an_attempt_that_never_begins_is_dropped(state: RunState) -> None:
    assert decide(deadline(start_request(attempt=2, nonce="nonce-c")), waiting_run(state)) == Drop("attempt 2 is over")


@CALLBACKS
def test_commands_callback_for_a_run_without_a_record_is_dropped(event: Command) -> None:
    assert decide(event, None) == Drop("the run has no record")


@CALLBACKS
def test_commands_callback_for_a_run_that_never_began_is_dropped(event: Command) -> None:
    late = replace(event, request=replace(event.request, attempt=2))
    assert decide(late, run(RunState.QUEUED)) == Drop("attempt 2 is over")


# Completed.


@pytest.mark.parametrize("state", [RunState.WAITING, RunState.RUNNING])
def test_commands_completed_run_has_succeeded_even_before_its_call_returns(state: RunState) -> None:
    ended = settled(completed(result={"rows": 3}), waiting_run(state, error="HTTP 500", code="http.500"))
    assert (ended.state, ended.result, ended.finished_at) == (RunState.SUCCEEDED, {"rows": 3}, NOW)
    assert (ended.error, ended.code) == (None, None)
    assert in_hand(ended) == (BY.fencing_token, "message-c", "nonce-c", BY.expires_at)


@pytest.mark.parametrize("event", [completed(), given_up()], ids=["completed", "given up"])
def test_commands_run_ended_by_its_callback_records_that_its_call_may_still_be_active(event: Command) -> None:
    calling = waiting_run(RunState.RUNNING)
    assert settled(event, calling).called_until == calling.started_at is not None
    assert settled(event, waiting_run()).called_until is None


@pytest.mark.parametrize("of", [GONE, None, ANEW], ids=["deleted", "unknown", "anew"])
def test_commands_completion_counts_even_if_its_job_is_deleted(of: JobSnapshot) -> None:
    assert settled(completed(), waiting_run(), of).state is RunState.SUCCEEDED


def test_commands_completion_counts_even_after_the_deadline_or_a_cancellation_request() -> None:
    late = waiting_run(cancel_requested="cancelled", heartbeat_until=DUE + 1.0)
    assert settled(completed(), late, now=WAITS_UNTIL + 9).state is RunState.SUCCEEDED


# Given up.


def test_commands_attempt_failed_by_its_callback_is_retried() -> None:
    waiting = settled(given_up(), waiting_run(heartbeat_until=DUE + 60.0))
    assert (waiting.state, waiting.error, waiting.code) == (RunState.RETRYING, "the disk is full", "disk_full")
    assert (waiting.not_before, waiting.finished_at) == (NOW + 2, NOW)
    assert in_hand(waiting) == (BY.fencing_token, "message-c", "nonce-c", BY.expires_at)


def test_commands_retry_delay_is_drawn_and_respects_retry_after() -> None:
    assert settled(given_up(draw=0.5), waiting_run()).not_before == NOW + 3
    assert settled(given_up(failed=Failed("busy", retry_after=40.0)), waiting_run()).not_before == NOW + 40


@pytest.mark.parametrize("state", [RunState.WAITING, RunState.RUNNING])
def test_commands_last_attempt_failed_by_its_callback_makes_the_run_dead_under_that_message(state: RunState) -> None:
    dead = settled(given_up(start_request(attempt=4, nonce="nonce-c")), waiting_run(state, attempt=4))
    assert (dead.state, dead.reason, dead.notified) == (RunState.DEAD, "attempts_exhausted", False)
    assert in_hand(dead) == (BY.fencing_token, "message-c", "nonce-c", BY.expires_at)


def test_commands_failure_callback_can_forbid_another_attempt() -> None:
    dead = settled(given_up(failed=Failed("no such invoice", forbidden=True)), waiting_run())
    assert (dead.state, dead.reason) == (RunState.DEAD, "not_retryable")


def test_commands_failed_run_with_a_cancellation_request_is_not_retried() -> None:
    ended = settled(given_up(), waiting_run(cancel_requested="replaced"))
    assert (ended.state, ended.reason, ended.error) == (RunState.CANCELLED, "replaced", "the disk is full")


@pytest.mark.parametrize("of", [GONE, None, ANEW], ids=["deleted", "unknown", "anew"])
def test_commands_failed_attempt_of_a_deleted_job_is_not_retried(of: JobSnapshot) -> None:
    ended = settled(given_up(), waiting_run(), of)
    assert (ended.state, ended.reason) == (RunState.CANCELLED, "deleted")


# The deadline.


def test_commands_run_not_completed_before_its_deadline_fails() -> None:
    waiting = settled(deadline(), waiting_run(), now=WAITS_UNTIL)
    assert (waiting.state, waiting.code) == (RunState.RETRYING, "callback.timeout")
    assert waiting.error == "it was not completed before its deadline"
    assert in_hand(waiting) == (BY.fencing_token, "message-c", "nonce-c", BY.expires_at)


def test_commands_run_without_a_timely_heartbeat_fails() -> None:
    waiting = settled(deadline(), waiting_run(heartbeat_until=NOW))
    assert (waiting.state, waiting.code) == (RunState.RETRYING, "callback.heartbeat")
    assert waiting.error == "its heartbeat did not arrive in time"


def test_commands_run_that_missed_both_deadlines_fails_by_the_completion_deadline() -> None:
    assert settled(deadline(), waiting_run(heartbeat_until=NOW), now=WAITS_UNTIL).code == "callback.timeout"


def test_commands_missed_deadline_is_handled_like_any_other_failure() -> None:
    once = replace(OF, delivery=Delivery.AT_MOST_ONCE)
    assert settled(deadline(), waiting_run(), once, now=WAITS_UNTIL).reason == "at_most_once"
    never = replace(OF, retry=replace(RETRY, never=("callback.timeout",)))
    assert settled(deadline(), waiting_run(), never, now=WAITS_UNTIL).reason == "not_retryable"
    assert settled(deadline(), waiting_run(), GONE, now=WAITS_UNTIL).state is RunState.CANCELLED


def test_commands_deadline_that_has_moved_is_rescheduled_to_the_next_one() -> None:
    beating = waiting_run(heartbeat_until=NOW + 0.5)
    assert decide(deadline(), beating) == Reschedule(NOW + 0.5, "it sent a heartbeat in the meantime")
    completion = waiting_run(heartbeat_until=WAITS_UNTIL + 60)
    assert decide(deadline(), completion) == Reschedule(WAITS_UNTIL, "it sent a heartbeat in the meantime")


def test_commands_deadline_that_arrives_during_the_call_is_rescheduled_to_its_end() -> None:
    calling = waiting_run(RunState.RUNNING, heartbeat_until=DUE + 1.0)
    assert decide(deadline(), calling) == Reschedule(BELIEVED, "its call has not returned yet")
    assert isinstance(decide(deadline(), calling, now=BELIEVED - 0.001), Reschedule)


def test_commands_deadline_ends_a_workflow_run_while_its_jobs_are_being_started() -> None:
    """Its worker only sends starts, and may be dead: the run would last until the end of its lease."""
    starting = waiting_run(RunState.RUNNING, workflow="tick-tock@graph")
    assert starting.is_workflow
    workflow = replace(OF, retry=RetryPolicy(on=OWN_FAULTS))
    ended = settled(deadline(), starting, workflow, now=WAITS_UNTIL)
    assert (ended.state, ended.code) == (RunState.DEAD, "workflow.deadline")
    assert decide(deadline(), starting) == Reschedule(WAITS_UNTIL, "it sent a heartbeat in the meantime")


def test_commands_only_the_deadline_message_named_in_the_record_is_sent_again() -> None:
    beating = waiting_run(heartbeat_until=NOW + 0.5, deadline_message_id="this")
    again = Reschedule(NOW + 0.5, "it sent a heartbeat in the meantime")
    assert decide(replace(deadline(), deadline_message_id="this"), beating) == again
    assert decide(replace(deadline(), deadline_message_id="that"), beating) == Drop(
        "another message monitors its deadline"
    )
    assert decide(replace(deadline(), deadline_message_id=None), beating) == again
    assert decide(replace(deadline(), deadline_message_id="that"), varied(beating, deadline_message_id=None)) == again
    overdue = varied(beating, heartbeat_until=NOW)
    assert settled(replace(deadline(), deadline_message_id="that"), overdue).code == "callback.heartbeat"


def test_commands_deadline_of_a_call_that_never_returned_is_left_to_the_message_of_the_call() -> None:
    calling = waiting_run(RunState.RUNNING)
    assert decide(deadline(), calling, now=BELIEVED) == Drop("its worker vanished; its own message takes it over")


# Repeated.


@CALLBACKS
@pytest.mark.parametrize("state", [RunState.SUCCEEDED, RunState.CANCELLED, RunState.SKIPPED])
def test_commands_redelivery_repeats_the_follow_up_of_the_end_that_it_caused(event: Command, state: RunState) -> None:
    ended = run(state, message_id="message-c", nonce="nonce-c")
    assert decide(event, ended) == FollowUp(ended, f"already {state}")


@CALLBACKS
@pytest.mark.parametrize("attempt", [1, 2])
def test_commands_redelivery_sends_the_next_attempt_that_it_caused_again(event: Command, attempt: int) -> None:
    waiting = run(RunState.RETRYING, message_id="message-c", nonce="nonce-c", attempt=attempt)
    assert decide(event, waiting) == FollowUp(waiting, "the next attempt is already decided")


@CALLBACKS
@pytest.mark.parametrize("state", [state for state in RunState if state.final or state is RunState.RETRYING])
def test_commands_after_the_end_of_the_run_are_dropped(event: Command, state: RunState) -> None:
    assert decide(event, run(state)) == Drop(f"the run is already {state}")


@EVERY
def test_commands_message_that_made_its_run_dead_continues_to_the_dead_letter_queue(event: Command) -> None:
    dead = run(RunState.DEAD, message_id="message-c", nonce="nonce-c")
    assert decide(event, dead) == FollowUp(dead, "dead")


@EVERY
def test_commands_same_message_returned_from_the_dead_letter_queue_is_a_redrive(event: Command) -> None:
    dead = run(RunState.DEAD, message_id="message-c", nonce="nonce-c", attempt=4)
    decision = decide(event, dead, by=context("message-d"))
    assert isinstance(decision, Start)
    assert (decision.run.attempt, decision.run.attempts_allowed, decision.reason) == (5, 8, "redriven")


@CALLBACKS
@pytest.mark.parametrize("message", ["message-d", "message-e"])
def test_commands_message_of_a_redrive_is_handled_like_any_other_message_of_its_attempt(
    event: Command, message: str
) -> None:
    begun = run(message_id="message-d", nonce="nonce-c", attempt=5, attempts_allowed=8)
    by = context(message)
    assert decide(event, begun, by=by) == RetryLater(BELIEVED, "its attempt may still be active")
    taken_over = decide(event, begun, by=by, now=BELIEVED)
    assert isinstance(taken_over, Start)
    assert (taken_over.run.attempt, taken_over.reason) == (6, "taken over")
    waiting = waiting_run(message_id="message-d", nonce="nonce-c", attempt=5)
    assert decide(event, waiting, by=by) == Drop("it waits for its callback")


# Cancelled.


def test_commands_cancellation_of_a_queued_run_writes_a_record_that_prevents_its_start() -> None:
    of = replace(OF, timeout_seconds=600)
    event = cancelled(start_request(nonce="nonce-c", suffix=".m1", count=3, through=DUE + 20))
    record = settled(event, None, of)
    assert (record.state, record.reason, record.finished_at) == (RunState.CANCELLED, "cancelled", NOW)
    assert (record.attempt, record.first_started_at) == (0, None)
    assert (record.suffix, record.count, record.through, record.lane) == (".m1", 3, DUE + 20, Lane.LONG)
    assert (record.occurrence, record.due, record.generation) == (DUE, DUE, GENERATION)
    assert record.expires_at == BY.expires_at
    assert decide_event(start_request(), OF, record, context(), now=NOW + 1) == FollowUp(record, "already CANCELLED")


@pytest.mark.parametrize("state", list(JobState))
def test_commands_cancellation_of_a_queued_run_works_in_every_state_of_its_job(state: JobState) -> None:
    assert settled(cancelled(), None, job(state=state)).state is RunState.CANCELLED


@pytest.mark.parametrize("of", [GONE, None], ids=["deleted", "unknown"])
def test_commands_cancellation_of_a_queued_run_of_a_deleted_job_is_dropped(of: JobSnapshot) -> None:
    assert decide(cancelled(), None, of) == Drop("the job does not exist")


def test_commands_cancellation_of_a_queued_run_of_a_recreated_job_is_dropped() -> None:
    assert decide(cancelled(), None, ANEW) == Drop("the job was deleted and created again")


@pytest.mark.parametrize("attempt", [1, 2, 9])
@pytest.mark.parametrize("state", [RunState.RETRYING, RunState.QUEUED])
def test_commands_cancellation_between_two_attempts_ends_the_run_immediately(state: RunState, attempt: int) -> None:
    before = run(state, attempt=2, error="HTTP 500")
    ended = settled(cancelled(start_request(attempt=attempt, nonce="nonce-c")), before)
    assert (ended.state, ended.reason, ended.error) == (RunState.CANCELLED, "cancelled", before.error)
    assert (ended.attempt, ended.finished_at) == (before.attempt, NOW)
    assert in_hand(ended) == (BY.fencing_token, "message-c", "nonce-c", BY.expires_at)


def test_commands_cancellation_of_a_waiting_run_without_heartbeats_ends_it_immediately() -> None:
    ended = settled(cancelled(), waiting_run())
    assert (ended.state, ended.reason) == (RunState.CANCELLED, "cancelled")
    assert in_hand(ended) == (BY.fencing_token, "message-c", "nonce-c", BY.expires_at)


@pytest.mark.parametrize(
    "record",
    [run(), waiting_run(RunState.RUNNING), waiting_run(heartbeat_until=DUE + 60.0)],
    ids=["running", "calling", "beating"],
)
def test_commands_cancellation_of_an_active_run_only_marks_and_lists_it(record: Run) -> None:
    listed = replace(record, listed=True) if isinstance(record, Running) else record
    assert decide(cancelled(), record) == Transition(
        replace(listed, cancel_requested="cancelled", fencing_token=BY.fencing_token),
        record,
        "its next heartbeat reports the cancellation",
    )


def test_commands_end_of_a_marked_attempt_must_read_the_mark_first() -> None:
    marked = settled(cancelled(), run())
    assert marked.fencing_token != run().fencing_token  # so a write over the record as it was is refused


@pytest.mark.parametrize("record", [run(), waiting_run(heartbeat_until=DUE + 60.0)], ids=["running", "beating"])
def test_commands_repeated_cancellation_changes_nothing(record: Run) -> None:
    marked = replace(record, cancel_requested="replaced")
    assert decide(cancelled(), marked) == Drop("its cancellation is already requested")


def test_commands_cancellation_ends_a_marked_run_that_no_longer_sends_heartbeats() -> None:
    marked = waiting_run(cancel_requested="replaced")
    assert settled(cancelled(), marked).reason == "cancelled"


def test_commands_cancelled_run_is_followed_up() -> None:
    ended = run(RunState.CANCELLED)
    assert decide(cancelled(), ended) == FollowUp(ended, "already CANCELLED")


@pytest.mark.parametrize("state", [RunState.SUCCEEDED, RunState.DEAD, RunState.SKIPPED])
def test_commands_cancellation_of_a_run_with_another_final_state_is_dropped(state: RunState) -> None:
    assert decide(cancelled(), run(state)) == Drop(f"the run is already {state}")


def test_commands_marked_run_whose_worker_vanished_is_cancelled_instead_of_taken_over() -> None:
    marked = run(cancel_requested="replaced", attempt=4)
    decision = decide_event(start_request(), OF, marked, context(), now=BELIEVED)
    assert isinstance(decision, Transition)
    assert (decision.run.state, decision.run.reason, decision.reason) == (
        RunState.CANCELLED,
        "replaced",
        "cancelled in the meantime",
    )
    assert decision.run.finished_at == BELIEVED


# The one function.


def test_commands_end_of_an_attempt_requires_a_record() -> None:
    with pytest.raises(TypeError, match="with the record of its start"):
        decide_event(Ended(Returned(), 0.5), OF, None, BY, now=NOW)


def test_commands_end_of_a_call_is_decided_from_its_record() -> None:
    of: Job = job(retry=RETRY)
    decision = decide_event(Ended(FAILED, 0.5), of, run(), BY, now=NOW)
    assert isinstance(decision, Transition)
    assert (decision.run.state, decision.run.not_before) == (RunState.RETRYING, NOW + 3)
    assert (decision.run.fencing_token, decision.run.message_id) == (run().fencing_token, "message-1")
