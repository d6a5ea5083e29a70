"""The decisions about an attempt of a run: its start, the end of its call, callbacks, deadlines and cancellation.

A worker decides from the message, the record of its run (if any) and the current job. It trusts the tables, not the
message. A token belongs to one attempt, so an event of an attempt that has ended has no effect (fencing).
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import assert_never

from duecourse.domain.instants import DAY_SECONDS
from duecourse.domain.jobs.job import Deadline, Delivery, Job, JobSnapshot, JobState, MissedMode, OnDeadline, Tombstone
from duecourse.domain.runs.decision import (
    PAUSED,
    WORKFLOW_OVER,
    AttemptContext,
    CancelAsked,
    Completed,
    DeadlineCame,
    DeadlineChecked,
    Decision,
    Drop,
    FollowUp,
    GivenUp,
    Hold,
    MissedDeadline,
    PutBack,
    RemainingCatchUp,
    Reschedule,
    RetryLater,
    StartRequest,
    Transition,
    cancelled,
    dead,
    first_record,
    instead_of,
    not_run,
    of_predecessor,
    own_job,
    retrying,
    skipped,
    skipped_by_pause,
    started,
    stopped_by_workflow,
    succeeded,
    waiting,
)
from duecourse.domain.runs.states import (
    LOST,
    LOST_ERROR,
    Alive,
    Attempt,
    AttemptOutcome,
    Cancelled,
    Dead,
    Deadlines,
    Final,
    Queued,
    Retrying,
    Run,
    Running,
    Skipped,
    Succeeded,
    Waiting,
    earlier_than_next,
    rewritten,
)
from duecourse.domain.schedules import ScheduleError
from duecourse.domain.targets.targets import Failed, Outcome, Returned
from duecourse.limits import MESSAGE_RETENTION_DAYS

LEASE_MARGIN_SECONDS = 10
"""How much longer than its lease an attempt counts as active, in seconds. The clocks of workers may differ by
seconds.
"""

MIN_PAUSE_SECONDS = 2
MAX_PAUSE_SECONDS = 300
"""The bounds (seconds) of the interval after which a run that is held by a pause is checked again. The interval is half
of the time that the run has already waited.
"""

KEPT_SECONDS = MESSAGE_RETENTION_DAYS * DAY_SECONDS
"""The minimum time for which a record is kept after its next attempt is due, in seconds. The attempt's message may wait
in its lane for this long.
"""

LATE_CALLBACK = Failed("it was not completed before its deadline", code="callback.timeout")
LATE_WORKFLOW = Failed("its steps had not ended by its deadline", code="workflow.deadline")

ARMED_SECONDS = 5
"""The delay after which a deadline is checked again if its message arrived before the record of its attempt, in
seconds.
"""

CONTINUES_SECONDS = 5
"""The delay (seconds) after which a redrive that arrived while a worker continued the workflow's run is decided again.
"""

_MAY_BEGIN = (Running, Retrying, Queued)
"""The states in which the deadline message of the next attempt may exist although its start is not written yet: after a
retry, a wait in the wait queue, or a lost worker.
"""

Command = Completed | GivenUp | DeadlineCame | CancelAsked


def decide_start(
    request: StartRequest, job: JobSnapshot, run: Run | None, context: AttemptContext, *, now: float
) -> Decision:
    """Decide on a message that is due. `run` and `job` are strongly consistent reads."""
    if run is not None and (of_predecessor(request, job, run) or skipped_by_pause(request, run)):
        return instead_of(run, decide_start(request, job, None, context, now=now))
    if run is not None:
        rest = None if _follows(request, run, context) else _remaining(request, job, run)
        return rest or go_on(request, own_job(job, run), run, context, now)
    if request.attempt > 1 or request.redrive:
        return Drop("the record of an earlier attempt no longer exists")
    if not isinstance(job, Job):
        return without_job(request, job, context)
    if refusal := outdated(request, job, context, now):
        return refusal
    if late := _lateness(request, job, context, now):
        return late
    if held := held_by_pause(request, job, now):
        return held
    return started(None, request, job, context, now, "due")


def held_by_pause(request: StartRequest, job: Job, now: float) -> Hold | None:
    """Return the decision for a run of a paused job if the run belongs to a workflow, as a step or on request. Returns
    None if it may start.
    """
    of_workflow = request.is_step or (request.manual and job.workflow is not None)
    if not of_workflow or not job.is_paused(now):
        return None
    again = now + min(max((now - request.due) / 2, MIN_PAUSE_SECONDS), MAX_PAUSE_SECONDS)
    if job.paused_until is not None and now < job.paused_until:
        again = min(again, job.paused_until)
    return Hold(again, "its job is paused")


def without_job(request: StartRequest, job: Tombstone | None, context: AttemptContext) -> Decision:
    """Return the decision for a run without a record whose job is deleted."""
    if job is not None and request.due <= job.deleted_at:
        return not_run(request, job, context, "deleted")
    return Drop("the job does not exist")


def outdated(request: StartRequest, job: Job, context: AttemptContext, now: float) -> Decision | None:
    """Return the decision if the job has changed since this occurrence was enqueued. Returns None if the run
    may start.
    """
    if request.generation > job.generation:
        return Drop("the message is newer than the job")
    if request.generation < job.created_generation:
        return Drop("the job was deleted and created again")
    if request.manual:
        return None  # a manual run does not depend on the schedule or the job's state
    known = [each.generation for each in job.earlier]
    if known and known[0] < request.generation not in (*known, job.generation):
        return Drop("it was sent for the end of a pause that was changed")
    current = request.generation == job.generation
    if current or (held_until := job.superseded_at(request.generation)) is None:
        return _ended_job(request, job, context, now)
    if request.due > held_until:
        return Drop("the schedule changed before this occurrence was due")
    return _before_pause(request, job, not_run(request, job, context, PAUSED), now) if job.is_paused(now) else None


def _before_pause(request: StartRequest, job: Job, skipped: Transition, now: float) -> Decision:
    """Return the decision for a run that was due before its job was paused, and has not started. `skipped` is its
    record until the resume. A run without a record needs none if the paused job still has the definition of its
    occurrence: then the resume finds the occurrence in the schedule. A resume has enqueued occurrences of earlier
    definitions again.
    """
    if job.state is not JobState.PAUSED:
        return RetryLater(job.paused_until or now, "its job is resumed, but not yet by this clock")
    latest = job.earlier[-1] if job.earlier else None
    again = latest is not None and request.caught_up_at is None and request.due <= latest.since
    if latest is None or latest.generation != request.generation or again:
        return PutBack("the job was changed, then paused, before it started", skipped, earlier=True)
    return PutBack("the job was paused before it started", None if skipped.previous is None else skipped)


def _ended_job(request: StartRequest, job: Job, context: AttemptContext, now: float) -> Decision | None:
    """Return the decision for an unchanged job. Returns None if the run may start.

    Runs of an ACTIVE job may start. The last run of a COMPLETED job has ended, but possibly before an earlier run has
    started, because lanes do not keep the order. The earlier run may start, unless it is so old that its record may
    have expired.
    """
    kept = context.expires_at - now
    if job.state is JobState.ACTIVE or (job.state is JobState.COMPLETED and now < late_since(request) + kept):
        return None
    return Drop(f"the job is {job.state}")


def late_since(request: StartRequest) -> float:
    """Return the instant from which lateness in the lane counts. A caught-up run was already late when it was
    enqueued.
    """
    return request.due if request.caught_up_at is None else max(request.due, request.caught_up_at)


def _lateness(request: StartRequest, job: Job, context: AttemptContext, now: float) -> Decision | None:
    """Apply the job's policy for missed occurrences to a run that waited in its queue beyond the grace period."""
    if job.start_deadline_seconds is not None and now > newest_due(request, job) + job.start_deadline_seconds:
        return not_run(request, job, context, "start_deadline")
    if request.manual or now - late_since(request) <= job.missed.grace_seconds:
        return None
    match job.missed.mode:
        case MissedMode.RUN_ALL:
            return None
        case MissedMode.SKIP:
            return not_run(request, job, context, "missed")
        case MissedMode.RUN_ONCE:
            later = _following(request, job)
            held_until = job.superseded_at(request.generation)
            come_due = later is not None and later <= now and (held_until is None or later <= held_until)
            return not_run(request, job, context, "superseded") if come_due else None


def newest_due(request: StartRequest, job: Job) -> int:
    """Return the time when the newest occurrence that the run covers came due."""
    if request.through is None:
        return request.due
    occurrences = request.occurrences(job)
    return request.through if occurrences is None else occurrences.due(request.through)


def _following(request: StartRequest, job: Job) -> int | None:
    """Return the time when the next occurrence is due, according to the definition that enqueued this one.

    None if there is no next occurrence. Also None if the message does not contain it and its definition is no longer
    known, or if it cannot be found.
    """
    if request.following is not None or request.final:
        return request.following
    occurrences = request.occurrences(job)
    if occurrences is None:
        return None
    with suppress(ScheduleError):
        return occurrences.next_due(request.through or request.occurrence)[1]
    return None


def _follows(request: StartRequest, run: Run, context: AttemptContext) -> bool:
    """Return whether the message wrote the run's record, or was sent because of it. If it is the message of a
    catch-up, the occurrences that the record does not cover were then sent before the record was written.
    """
    wrote = request.carries(run, context.message_id) or request.is_known_to(run)
    return wrote or request.attempt > 1 or request.redrive


def _remaining(request: StartRequest, job: JobSnapshot, run: Run) -> RemainingCatchUp | None:
    """Return the occurrences of a catch-up that the record of its first occurrence does not cover.

    Occurrences may have been enqueued and run without a claim (by the API, or by a dispatcher that died). A catch-up
    after a long outage still has the name of the first of them, since names are derived only from the cursor.
    """
    covered = run.occurrence if run.through is None else run.through
    if request.through is None or request.through <= covered:
        return None
    occurrences = request.occurrences(job)
    uncovered = None if occurrences is None else occurrences.next(covered)
    if occurrences is None or uncovered is None or uncovered > request.through:
        return None
    left = max(request.count - run.count, 1)
    return RemainingCatchUp(uncovered, occurrences.due(uncovered), left, "the first missed occurrence has already run")


def go_on(request: StartRequest, job: JobSnapshot, run: Run, context: AttemptContext, now: float) -> Decision:
    """Continue a run according to its record, regardless of the generation. Only the deletion of its job stops it."""
    match run:
        case Succeeded() | Cancelled() | Skipped():
            return FollowUp(run, f"already {run.state}")
        case Dead() if redriven(request, run, context) and isinstance(job, Job):
            if held := held_by_pause(request, job, now):
                return held
            # A new set of attempts, even with at_most_once: a person decided to redrive.
            allowed = replace(run, attempts_allowed=run.attempt + job.attempts_allowed, redriven_at=now)
            return started(run, request, job, context, now, "redriven", allowed)
        case Running() if _continued_first(request, run):
            return RetryLater(now + CONTINUES_SECONDS, "a redriven step continues it at this moment")
        case Dead() | Waiting() | Retrying() if _continued_first(request, run) and isinstance(job, Job):
            if held := held_by_pause(request, job, now):
                return held
            ended = Attempt(run.attempt, run.started_at, now, AttemptOutcome.CANCELLED)
            earlier = (*run.earlier, ended) if isinstance(run, Waiting) else run.earlier
            attempts = run.attempt + job.attempts_allowed
            again = replace(run, attempts_allowed=attempts, redriven_at=now, earlier=earlier)
            reason = "redriven, after a redriven step continued it"
            return started(run, request, job, context, now, reason, again)
        case Dead() if run.message_id == context.message_id:
            return FollowUp(run, "dead")
        case Dead() if request.carries(run, context.message_id):
            return adopted(run, request, context)
        case Dead():
            return Drop("a duplicate message of a dead run")
        case Waiting():
            return Drop("it waits for its callback")
        case Retrying():
            return _retry(request, job, run, context, now)
        case Queued():
            return _in_wait_queue(request, job, run, context, now)
        case Running():
            return _take_over(request, job, run, context, now)


def adopted(run: Dead, request: StartRequest, context: AttemptContext) -> Transition:
    """Return the dead run with this message as its message, the dead letter that can be redriven."""
    taken = replace(run, fencing_token=context.fencing_token, message_id=context.message_id, nonce=request.nonce)
    return Transition(taken, run, "its message was sent again as this one")


def redriven(request: StartRequest, run: Run, context: AttemptContext) -> bool:
    """Return whether the message is a redrive of this dead run: from the API, or its dead letter under a new id. A late
    second delivery of a message that was redriven before is not a redrive.
    """
    returned = request.is_known_to(run) and not request.carries(run, context.message_id)
    doubled = context.message_id in run.redriven_from.split()
    return isinstance(run, Dead) and ((returned and not doubled) or asked_again(request, run))


def asked_again(request: StartRequest, run: Run) -> bool:
    """Return whether the API's redrive was requested after this death of the run. False if the run died at another
    attempt, or if it died again after this redrive had started it.
    """
    return request.redrive and run.nonce != request.nonce and run.attempt == request.attempt - 1


def _continued_first(request: StartRequest, run: Run) -> bool:
    """Return whether this redrive of a workflow's run was requested before a redriven step continued the run. The
    redrive still applies, since only that step was redriven.
    """
    continued = run.is_workflow and run.redriven_at is None and 1 < run.attempt == request.attempt
    return request.redrive and continued and run.nonce != request.nonce


def _retry(request: StartRequest, job: JobSnapshot, run: Retrying, context: AttemptContext, now: float) -> Decision:
    if request.attempt <= run.attempt:
        return FollowUp(run, "the next attempt is already decided")
    if request.attempt > run.attempt + 1:
        return Drop("the message is not for the next attempt")
    if not isinstance(job, Job):
        return Transition(cancelled(run, "deleted", now, context), run, "the job was deleted")
    if now < run.not_before and not run.breaker:  # a breaker may have been closed before that instant
        return FollowUp(run, "the next attempt is not due yet")
    return started(run, request, job, context, now, "retry")


def _in_wait_queue(
    request: StartRequest, job: JobSnapshot, run: Queued, context: AttemptContext, now: float
) -> Decision:
    """Decide on a run in the wait queue that may start now. It does not count as late: only a start deadline, a pause
    or the deletion of its job ends its wait.
    """

    def never(reason: str) -> Transition:
        return Transition(skipped(run, reason, context), run, reason)

    if not isinstance(job, Job):
        return never("deleted")
    if job.is_paused(now) and not request.manual:
        return _before_pause(request, job, never(PAUSED), now)
    if job.start_deadline_seconds is not None and now > newest_due(request, job) + job.start_deadline_seconds:
        return never("start_deadline")
    if held := held_by_pause(request, job, now):
        return held
    return started(run, request, job, context, now, "it is ready to start")


def _take_over(request: StartRequest, job: JobSnapshot, run: Running, context: AttemptContext, now: float) -> Decision:
    believed_until = run.lease_until + LEASE_MARGIN_SECONDS
    if now < believed_until:
        # A message with the same nonce under another id was redriven from the dead-letter queue: no other message
        # carries the run.
        if request.carries(run, context.message_id) or request.is_known_to(run):
            return RetryLater(believed_until, "its attempt may still be active")
        return Drop("another message has started it")
    if not isinstance(job, Job):
        return Transition(cancelled(run, "deleted", now, context), run, "the job was deleted")
    if run.cancel_requested is not None:
        return Transition(cancelled(run, run.cancel_requested, now, context), run, "cancelled in the meantime")
    once = job.delivery is Delivery.AT_MOST_ONCE
    if once or run.attempt >= run.attempts_allowed:
        lost = replace(run, error=run.error or LOST_ERROR, code=LOST, nonce=request.nonce)
        return Transition(dead(lost, "lost", now, context), run, "the last attempt's worker vanished")
    start = started(run, request, job, context, now, "taken over")
    # The deadline of a workflow counts from its start, not from that of the worker that continues it.
    return replace(start, run=replace(start.run, deadlines=run.deadlines)) if run.is_workflow else start


def decide_finish(run: Running | Waiting, job: JobSnapshot, outcome: Outcome, *, now: float, draw: float) -> Transition:
    """Decide on the end of an attempt. `run` is the attempt's record (RUNNING, or WAITING for its callback). `draw` is
    a random number in [0, 1) for the backoff's jitter.
    """
    match outcome:
        case Returned(result):
            if isinstance(run, Running) and run.deadlines is not None and isinstance(job, Job):
                return _wait(run, run.deadlines, job, now)
            return succeed(run, result, now)
        case Failed():
            return _fail(run, job, outcome, now, draw)


def succeed(run: Run, result: object, now: float) -> Transition:
    """Return the transition to success, even if a cancellation was requested in the meantime."""
    return Transition(succeeded(run, result, now), run, "succeeded")


def cancel(run: Run, reason: str, now: float) -> Transition:
    """Return the transition to cancelled."""
    return Transition(cancelled(run, reason, now), run, reason)


def _wait(run: Running, deadlines: Deadlines, job: Job, now: float) -> Transition:
    """Return the transition after a call that was accepted: the run waits for its callback. A cancelled run without
    heartbeats ends instead, since no heartbeat could report the cancellation.
    """
    if run.cancel_requested is not None and job.heartbeat_seconds is None:
        return cancel(run, run.cancel_requested, now)
    heartbeat_until = None if job.heartbeat_seconds is None else now + job.heartbeat_seconds
    return Transition(waiting(run, replace(deadlines, heartbeat_until=heartbeat_until)), run, "waits for its callback")


def _fail(run: Running | Waiting, job: JobSnapshot, failed: Failed, now: float, draw: float) -> Transition:
    failing = replace(run, error=failed.error, code=failed.code)

    def end(reason: str, because: str) -> Transition:
        return Transition(dead(failing, reason, now), run, because)

    if run.cancel_requested is not None:
        return Transition(cancelled(failing, run.cancel_requested, now), run, run.cancel_requested)
    if not isinstance(job, Job):
        return Transition(cancelled(failing, "deleted", now), run, "the job was deleted")
    if job.delivery is Delivery.AT_MOST_ONCE:
        return end("at_most_once", "at most once")
    if not job.retry.worth(failed):
        return end("not_retryable", "the error is not retryable")
    if run.attempt >= run.attempts_allowed:
        return end("attempts_exhausted", "no attempts left")
    not_before = now + job.retry.delay(run.attempt, draw, failed.retry_after)
    oldest = job.retry.max_age_seconds
    if oldest is not None and not_before > run.age_from + oldest:
        return end("too_old", "the next attempt would start too late")
    kept = None if run.expires_at is None else max(run.expires_at, int(not_before) + KEPT_SECONDS)
    again = retrying(replace(failing, expires_at=kept), now, not_before)
    return Transition(again, run, "will be tried again")


def decide_deadline(
    event: DeadlineChecked, job: JobSnapshot, run: Run | None, context: AttemptContext, *, now: float
) -> Decision:
    """Decide whether a run missed a deadline of its job (by the job's current definition). Other notices announce runs
    that died, were skipped or were cancelled.
    """
    request = event.request
    if not isinstance(job, Job) or request.generation < job.created_generation:
        return Drop("its job does not exist")
    at = job.deadlines.at(event.deadline, request.due, job.schedule.timezone)
    if at is None:
        return Drop("its job no longer has this deadline")
    if now < at:
        return Reschedule(at, "the deadline was moved")
    if run is None or of_predecessor(request, job, run):
        changed = outdated(request, job, context, now)
        if changed is not None or job.suspended_at is not None or (job.is_paused(now) and not request.manual):
            return Drop("its job was paused or changed, or its tenant is suspended")
        return MissedDeadline(
            first_record(request, job, context), event.deadline, at, _cancels(job), "it has not started"
        )
    match event.deadline, run:
        case _, Dead() | Cancelled() | Skipped():
            return Drop(f"the run is {run.state}")
        case Deadline.START, _ if run.first_started_at is not None and run.first_started_at <= at:
            return Drop("it had started")
        case Deadline.FINISH, Succeeded() if run.finished_at <= at:
            return Drop("it had finished")
        case Deadline.START, _:
            cancels = _cancels(job) and isinstance(run, Queued)
            return MissedDeadline(run, event.deadline, at, cancels, "it had not started")
        case Deadline.FINISH, _:
            cancels = _cancels(job) and not isinstance(run, Final)
            return MissedDeadline(run, event.deadline, at, cancels, "it had not finished")


def is_met(deadline: Deadline, run: Run | None) -> bool:
    """Return whether a run has met a deadline, or has ended in a way that is announced otherwise."""
    if run is None:
        return False
    return isinstance(run, Final) or (deadline is Deadline.START and run.first_started_at is not None)


def _cancels(job: Job) -> bool:
    return job.on_deadline is OnDeadline.CANCEL


def decide_command(
    event: Command, job: JobSnapshot, run: Run | None, context: AttemptContext, *, now: float
) -> Decision:
    """Decide on a message that does not request a start."""
    if run is None:
        return _without_record(event, job, context, now)
    if of_predecessor(event.request, job, run):
        return instead_of(run, _without_record(event, job, context, now))
    if event.request.is_known_to(run):
        # This message carries the run, so its command was executed. If the run died, the message is in the dead-letter
        # queue, or was redriven from there and carries the following attempts like any other message.
        return decide_start(event.request, job, run, context, now=now)
    if isinstance(event, CancelAsked):
        return _cancel(event, run, context, now)
    attempt = event.request.attempt
    if run.attempt != attempt:
        if isinstance(event, DeadlineCame) and run.attempt == attempt - 1 and isinstance(run, _MAY_BEGIN):
            if event.lease_until is not None and now >= event.lease_until + LEASE_MARGIN_SECONDS:
                return Drop("the start that it belongs to was not written")
            return RetryLater(now + ARMED_SECONDS, "its attempt is about to begin")
        return Drop(f"attempt {attempt} is over")
    if isinstance(run, Alive):
        return _alive(event, own_job(job, run), run, context, now)
    return _late(run)


def _late(run: Run) -> Decision:
    return Drop(f"the run is already {run.state}")


def _alive(
    event: Completed | GivenUp | DeadlineCame,
    job: JobSnapshot,
    run: Running | Waiting,
    context: AttemptContext,
    now: float,
) -> Decision:
    """Decide on an attempt that is RUNNING (its call has not returned yet) or WAITING."""
    match event:
        case Completed(request, result):
            return carried(_during_call(succeed(run, result, now)), request, context)
        case GivenUp(request, failed, draw):
            return carried(_during_call(decide_finish(run, job, failed, now=now, draw=draw)), request, context)
        case DeadlineCame():
            return _deadline(event, job, run, context, now)
        case other:
            assert_never(other)


def _during_call(transition: Transition) -> Transition:
    """Return the transition with `called_until` set if the call has not returned, since the call may continue
    after it.
    """
    before = transition.previous
    if not isinstance(before, Running):
        return transition
    return replace(transition, run=replace(transition.run, called_until=before.started_at))


def _deadline(
    event: DeadlineCame, job: JobSnapshot, run: Running | Waiting, context: AttemptContext, now: float
) -> Decision:
    if isinstance(run, Running) and not run.is_workflow:  # of a workflow: handled like a cancellation
        believed_until = run.lease_until + LEASE_MARGIN_SECONDS
        if now < believed_until:
            return _rescheduled(event, run, believed_until, "its call has not returned yet")
        return Drop("its worker vanished; its own message takes it over")
    if run.deadlines is None:
        return Drop("it has no deadline")
    if now < run.deadlines.next:
        return _rescheduled(event, run, run.deadlines.next, "it sent a heartbeat in the meantime")
    if now >= run.deadlines.waiting_until:
        failed = LATE_WORKFLOW if run.is_workflow else LATE_CALLBACK
    else:
        failed = Failed("its heartbeat did not arrive in time", code="callback.heartbeat")
    return carried(decide_finish(run, job, failed, now=now, draw=event.draw), event.request, context)


def _rescheduled(event: DeadlineCame, run: Running | Waiting, until: float, reason: str) -> Decision:
    """Decide to reschedule only one of several copies of the message. Otherwise each copy would send a successor at
    every heartbeat.
    """
    armed = None if run.deadlines is None else run.deadlines.deadline_message_id
    if event.deadline_message_id is not None and armed is not None and event.deadline_message_id != armed:
        return Drop("another message monitors its deadline")
    return Reschedule(until, reason)


def _cancel(event: CancelAsked, run: Run, context: AttemptContext, now: float) -> Decision:
    match run:
        case Cancelled() | Skipped() if event.reason == WORKFLOW_OVER and stopped_by_workflow(run):
            # Written again, since a start that is about to overwrite it has read that the workflow's run was active.
            ended = run.finished_at if isinstance(run, Cancelled) else now
            return carried(cancel(run, event.reason, ended), event.request, context)
        case Dead() if event.reason == WORKFLOW_OVER and _is_to_run_again(event.request, run):
            over = replace(cancelled(run, event.reason, now), earlier=earlier_than_next(run))
            return carried(Transition(over, run, event.reason), event.request, context)
        case Cancelled():
            return FollowUp(run, "already CANCELLED")
        case Succeeded() | Dead() | Skipped():
            return _late(run)
        case Retrying() | Queued():
            return carried(cancel(run, event.reason, now), event.request, context)
        case Waiting() if run.deadlines.heartbeat_until is None:
            return carried(cancel(run, event.reason, now), event.request, context)
        case Running() if run.is_workflow:
            # Immediately: its worker only sends starts and may be dead. The receiver of a start finds that the run has
            # ended.
            return carried(cancel(run, event.reason, now), event.request, context)
        case Running() | Waiting():
            if run.cancel_requested is not None:
                return Drop("its cancellation is already requested")
            # Only the token changes, so that the writer that ends the attempt must read the record again.
            asked = rewritten(replace(run, cancel_requested=event.reason), context.fencing_token)
            return Transition(asked, run, "its next heartbeat reports the cancellation")
        case other:
            assert_never(other)


def _is_to_run_again(request: StartRequest, run: Run) -> bool:
    """Return whether the end of a dead step was withdrawn, so that its start may be in a queue."""
    return request.turn is not None and request.turn.round > run.round


def _without_record(event: Command, job: JobSnapshot, context: AttemptContext, now: float) -> Decision:
    """Decide on a run without a record. It can only be cancelled while it waits in its queue: the new record prevents
    its start.
    """
    if not isinstance(event, CancelAsked):
        return Drop("the run has no record")
    if not isinstance(job, Job):
        return Drop("the job does not exist")
    if event.request.generation < job.created_generation:
        return Drop("the job was deleted and created again")
    record = cancelled(first_record(event.request, job, context), event.reason, now, context)
    return Transition(record, None, event.reason)


def carried(transition: Transition, request: StartRequest, context: AttemptContext) -> Transition:
    """Return the transition with this message carrying the run. If the run dies, the message becomes its dead
    letter.
    """
    run = replace(
        transition.run, fencing_token=context.fencing_token, message_id=context.message_id, nonce=request.nonce
    )
    return replace(transition, run=replace(run, expires_at=context.expires_at))
