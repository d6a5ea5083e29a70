"""A message is found among the dead letters."""

from dataclasses import replace

import pytest

from duecourse.domain.jobs.job import Definition, JobSnapshot, JobState, MissedMode, MissedPolicy, Tombstone
from duecourse.domain.runs.decision import (
    LEASE_MARGIN_SECONDS,
    AttemptContext,
    DeadLettered,
    Decision,
    Drop,
    FollowUp,
    Reschedule,
    RetryLater,
    Start,
    StartRequest,
    Transition,
)
from duecourse.domain.runs.overlap import LOST_SECONDS
from duecourse.domain.runs.states import Discard, Run, RunState
from duecourse.domain.runs.transitions import decide as decide_event
from tests.support.jobs import job
from tests.support.start_requests import DUE, EXPIRES, GENERATION, context, expect, run, start_request, waiting_run

NOW = DUE + 30.0
BELIEVED = DUE + 120.0 + LEASE_MARGIN_SECONDS
ERROR = (
    "its message was received too often without a result, because of crashes or throttling; see the log of the workers"
)
GONE = Tombstone(deleted_at=DUE + 5.0)
LATER = context("message-2")
ENDED = [RunState.SUCCEEDED, RunState.CANCELLED, RunState.SKIPPED]


def decide(
    record: Run | None,
    offered: StartRequest | None = None,
    of: JobSnapshot = None,
    *,
    starts: bool = True,
    by: AttemptContext | None = None,
    now: float = NOW,
) -> Decision:
    """`of` is the unchanged job unless given."""
    snapshot = job() if of is None else of
    event = DeadLettered(start_request() if offered is None else offered, starts)
    return decide_event(event, snapshot, record, context() if by is None else by, now=now)


def buried(decision: Decision, over: Run | None) -> Run:
    """The dead run of a decision; the message that was found carries it."""
    assert isinstance(decision, Transition)
    assert decision.previous == over
    assert (decision.run.state, decision.run.reason, decision.reason) == (
        RunState.DEAD,
        "dead_lettered",
        "dead_lettered",
    )
    assert (decision.run.notified, decision.run.expires_at) == (False, EXPIRES)
    return decision.run


# Where it belongs, or left over.


@pytest.mark.parametrize("message", ["message-1", "message-2"])
def test_dead_lettered_message_of_a_dead_run_is_kept(message: str) -> None:
    assert decide(run(RunState.DEAD, notified=True), by=context(message)) == RetryLater(NOW, "its run is dead")


@pytest.mark.parametrize("of", [None, GONE])
def test_dead_lettered_message_of_a_discarded_run_is_removed(of: JobSnapshot) -> None:
    dead = replace(run(RunState.DEAD, notified=True), discard=Discard(NOW, "ann", "sent again"))
    assert decide(dead, of=of) == Drop("its run was discarded")


@pytest.mark.parametrize("of", [GONE, job(at=DUE + 20.0)])
def test_dead_lettered_message_of_a_dead_run_of_a_deleted_job_discards_the_run(of: JobSnapshot) -> None:
    dead = run(RunState.DEAD, notified=True)
    decision = decide(dead, of=of)
    assert isinstance(decision, Transition)
    assert decision.previous == dead
    assert decision.run == replace(dead, discard=Discard(NOW), fencing_token=context().fencing_token)


def test_dead_lettered_message_of_a_dead_run_of_an_unknown_job_is_kept() -> None:
    dead = run(RunState.DEAD, notified=True)
    event = DeadLettered(start_request(), starts=True)
    assert decide_event(event, None, dead, context(), now=NOW) == RetryLater(NOW, "its run is dead")


def test_dead_lettered_callback_message_that_made_its_run_dead_is_kept() -> None:
    assert decide(run(RunState.DEAD, notified=True), starts=False) == RetryLater(NOW, "its run is dead")


@pytest.mark.parametrize("starts", [True, False])
def test_dead_lettered_message_publishes_a_missing_failure_notification(starts: bool) -> None:
    dead = run(RunState.DEAD)
    assert decide(dead, starts=starts) == FollowUp(dead, "its failure notification was not published")


@pytest.mark.parametrize("starts", [True, False])
def test_dead_lettered_message_of_a_run_made_dead_by_another_message_is_dropped(starts: bool) -> None:
    assert decide(run(RunState.DEAD, nonce="nonce-9"), starts=starts) == Drop("its run is DEAD by another message")


@pytest.mark.parametrize("starts", [True, False])
@pytest.mark.parametrize("state", ENDED)
def test_dead_lettered_message_of_a_run_ended_by_another_message_is_dropped(state: RunState, starts: bool) -> None:
    assert decide(run(state, nonce="nonce-9"), starts=starts) == Drop(f"its run is {state} by another message")


@pytest.mark.parametrize("starts", [True, False])
@pytest.mark.parametrize("state", ENDED)
def test_dead_lettered_message_that_ended_its_run_repeats_the_follow_up(state: RunState, starts: bool) -> None:
    ended = run(state)
    assert decide(ended, starts=starts) == FollowUp(ended, "the actions after its end may not have been completed")


# Between two attempts.


def test_dead_lettered_message_of_the_next_attempt_makes_its_run_dead() -> None:
    waiting = run(RunState.RETRYING, error="HTTP 500", code="http.500")
    dead = buried(decide(waiting, start_request(attempt=2, nonce="nonce-2"), by=LATER), waiting)
    assert (dead.error, dead.code, dead.attempt, dead.finished_at) == ("HTTP 500", "http.500", 1, NOW)
    assert (dead.fencing_token, dead.message_id, dead.nonce) == (LATER.fencing_token, "message-2", "nonce-2")


@pytest.mark.parametrize("of", [GONE, job(at=DUE + 20.0)], ids=["deleted", "anew"])
def test_dead_lettered_message_of_the_next_attempt_cancels_the_run_of_a_deleted_job(of: JobSnapshot) -> None:
    decision = decide(run(RunState.RETRYING), start_request(attempt=2, nonce="nonce-2"), of, by=LATER)
    assert isinstance(decision, Transition)
    assert (decision.run.state, decision.run.reason, decision.run.fencing_token) == (
        RunState.CANCELLED,
        "deleted",
        LATER.fencing_token,
    )


@pytest.mark.parametrize("starts", [True, False])
def test_dead_lettered_message_of_a_failed_attempt_sends_the_next_one_again(starts: bool) -> None:
    waiting = run(RunState.RETRYING, attempt=2)
    again = FollowUp(waiting, "the next attempt's message may never have been sent")
    assert decide(waiting, start_request(attempt=2), starts=starts) == again
    assert decide(waiting, start_request(attempt=1), starts=starts) == again  # it took the attempt of another one over
    assert decide(waiting, start_request(attempt=2, nonce="nonce-9"), by=LATER) == again


@pytest.mark.parametrize("attempt", [1, 4])
def test_dead_lettered_message_of_another_attempt_is_dropped_while_the_run_waits_for_its_next_one(attempt: int) -> None:
    decision = decide(run(RunState.RETRYING, attempt=2), start_request(attempt=attempt, nonce="nonce-2"), by=LATER)
    assert decision == Drop("another message continues its run")


@pytest.mark.parametrize("starts", [True, False])
def test_dead_lettered_message_of_a_run_in_the_wait_queue_is_sent_again(starts: bool) -> None:
    assert isinstance(decide(run(RunState.QUEUED, attempt=0), start_request(), by=LATER, starts=starts), Reschedule)


# Something was asked of a run that is alive.


@pytest.mark.parametrize(
    "state", [state for state in RunState if not state.final], ids=lambda state: str(state.value).lower()
)
@pytest.mark.parametrize("attempt", [1, 2])
def test_dead_lettered_request_for_an_active_run_is_sent_again(state: RunState, attempt: int) -> None:
    asked = decide(run(state), start_request(attempt=attempt, nonce="nonce-c"), starts=False, by=LATER)
    assert asked == Reschedule(NOW, "its run is active")


def test_dead_lettered_request_that_redrove_its_run_is_handled_like_any_message_of_its_attempt() -> None:
    begun = run(attempt=2)
    assert decide(begun, starts=False) == RetryLater(BELIEVED, "its worker may still be active")
    buried(decide(begun, starts=False, now=BELIEVED), begun)
    assert decide(waiting_run(attempt=2), starts=False) == Drop("its run waits for its callback")


def test_dead_lettered_request_for_a_run_without_a_record_is_sent_again() -> None:
    assert decide(None, starts=False) == Reschedule(NOW, "its run may be about to start")


def test_dead_lettered_message_of_a_run_that_waits_for_its_callback_is_dropped() -> None:
    assert decide(waiting_run()) == Drop("its run waits for its callback")


# Running.


@pytest.mark.parametrize("message", ["message-1", "message-2"])
def test_dead_lettered_message_waits_while_the_worker_may_be_active(message: str) -> None:
    decision = decide(run(), by=context(message), now=BELIEVED - 0.001)
    assert decision == RetryLater(BELIEVED, "its worker may still be active")


def test_dead_lettered_message_of_a_started_run_makes_it_dead_once_its_worker_has_vanished() -> None:
    dead = buried(decide(run(), now=BELIEVED), run())
    assert (dead.error, dead.code, dead.finished_at) == (ERROR, "dead_lettered", BELIEVED)
    assert (dead.fencing_token, dead.message_id, dead.nonce) == (context().fencing_token, "message-1", "nonce-1")


def test_dead_lettered_message_waits_one_hour_for_another_one_to_take_over_the_run() -> None:
    copy = start_request(nonce="nonce-9")
    decision = decide(run(), copy, by=LATER, now=BELIEVED + LOST_SECONDS - 0.001)
    assert decision == RetryLater(BELIEVED + LOST_SECONDS, "another message may take over the run")
    dead = buried(decide(run(), copy, by=LATER, now=BELIEVED + LOST_SECONDS), run())
    assert (dead.message_id, dead.nonce) == ("message-2", "nonce-9")


@pytest.mark.parametrize(
    ("of", "asked", "reason"),
    [
        (GONE, None, "deleted"),
        (job(at=DUE + 20.0), None, "deleted"),
        (job(), "replaced", "replaced"),
        (GONE, "replaced", "replaced"),
    ],
    ids=["deleted", "anew", "asked", "both"],
)
def test_dead_lettered_message_cancels_a_run_that_was_to_end_instead_of_making_it_dead(
    of: JobSnapshot, asked: str | None, reason: str
) -> None:
    begun = run(cancel_requested=asked)
    decision = expect(Transition, decide(begun, None, of, now=BELIEVED))
    assert decision.previous == begun
    assert (decision.run.state, decision.run.reason, decision.reason) == (RunState.CANCELLED, reason, reason)
    assert (decision.run.fencing_token, decision.run.finished_at) == (context().fencing_token, BELIEVED)


# Without a record.


def test_dead_lettered_run_that_never_began_is_dead_with_an_error() -> None:
    dead = buried(decide(None, start_request(count=3, through=DUE + 20)), None)
    assert (dead.attempt, dead.attempts_allowed, dead.count, dead.through) == (0, 4, 3, DUE + 20)
    assert (dead.error, dead.code, dead.first_started_at) == (ERROR, "dead_lettered", None)
    assert (dead.fencing_token, dead.message_id, dead.nonce) == (context().fencing_token, "message-1", "nonce-1")


def test_dead_lettered_run_that_never_began_is_dead_however_late_it_is_found() -> None:
    of = job("* * * * *", missed=MissedPolicy(MissedMode.SKIP), start_deadline_seconds=60)
    buried(decide(None, None, of, now=DUE + 86_400.0), None)


def test_dead_lettered_run_can_be_redriven_from_the_console() -> None:
    for over in (None, run(), run(RunState.RETRYING)):
        retrying = over is not None and over.state is RunState.RETRYING
        offered = start_request(attempt=2 if retrying else 1, nonce="nonce-9")
        dead = buried(decide(over, offered, by=LATER, now=BELIEVED + LOST_SECONDS), over)
        redriven = decide_event(offered, job(), dead, context("message-3"), now=BELIEVED + 2 * LOST_SECONDS)
        assert isinstance(redriven, Start)
        assert (redriven.run.attempt, redriven.reason) == (dead.attempt + 1, "redriven")


def test_dead_lettered_later_attempt_without_a_record_is_dropped() -> None:
    assert decide(None, start_request(attempt=2)) == Drop("its run no longer has a record")


def test_dead_lettered_run_that_its_job_no_longer_wants_is_skipped_or_dropped() -> None:
    edited = job(generation=GENERATION + 30_000, changed_at=DUE - 1.0)
    assert decide(None, None, edited) == Drop("the schedule changed before this occurrence was due")
    assert decide(None, None, job(at=DUE + 20.0)) == Drop("the job was deleted and created again")
    assert decide(None, None, Tombstone(DUE - 1.0)) == Drop("the job does not exist")
    assert decide_event(DeadLettered(start_request(), True), None, None, context(), now=NOW) == Drop(
        "the job does not exist"
    )
    paused = replace(edited, state=JobState.PAUSED, changed_at=DUE + 1.0)
    before = replace(paused, earlier=(Definition(GENERATION, DUE - 60.0),))
    assert isinstance(decide(None, None, paused), Reschedule)
    assert decide(None, None, before) == Reschedule(NOW, "the job was paused before it started")
    decision = expect(Transition, decide(None, None, GONE))
    assert (decision.run.state, decision.run.reason) == (RunState.SKIPPED, "deleted")


def test_dead_lettered_redrive_without_a_record_is_dropped() -> None:
    assert decide(None, start_request(redrive=True)) == Drop("its run no longer has a record")


@pytest.mark.parametrize("state", [RunState.SKIPPED, RunState.CANCELLED])
def test_dead_lettered_run_that_never_began_is_dead_despite_the_cancelled_run_of_a_deleted_job(state: RunState) -> None:
    called_off = run(state, attempt=0, generation=GENERATION - 1, nonce="nonce-9")
    dead = buried(decide(called_off), called_off)
    assert (dead.generation, dead.attempt) == (GENERATION, 0)
