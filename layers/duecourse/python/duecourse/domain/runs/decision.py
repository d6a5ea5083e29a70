"""Events of runs, the inputs of decisions about them, the decisions, and the records that decisions write: at a run's
start, at its end, and for occurrences that do not run.

A job may be deleted and re-created under the same id. The last functions of this module decide to which of the two jobs
a record or message belongs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, assert_never

from duecourse.domain.ids import OfRun, RunIdentity
from duecourse.domain.jobs.job import Completion, Deadline, Job, JobSnapshot, Lane
from duecourse.domain.runs.callbacks import CallbackToken
from duecourse.domain.runs.states import (
    Cancelled,
    Dead,
    Deadlines,
    Queued,
    Retrying,
    Run,
    Running,
    Skipped,
    Succeeded,
    Waiting,
    cancel_requested,
    earlier_than_next,
)
from duecourse.domain.schedules.schedule import OccurrenceRules, Occurrences, occurrences_of
from duecourse.domain.targets.targets import Failed, Outcome, WorkflowTarget


@dataclass(frozen=True, slots=True)
class AttemptContext:
    """The context of an attempt that starts now.

    `fencing_token` identifies this delivery of the message `message_id`. `lease_until` is when Lambda ends the
    invocation, and `expires_at` is when a record written now expires (UTC seconds). `secret` is the random part of the
    attempt's callback token.
    """

    message_id: str
    fencing_token: str
    lease_until: float
    expires_at: int
    secret: str = ""


class Readiness(StrEnum):
    """Whether a step of a workflow may start, according to the ends of its upstream steps: it is ready, it waits, or it
    will not run, for the reason in its record.
    """

    READY = "ready"
    WAITS = "waits"
    UPSTREAM_FAILED = "upstream_failed"
    UPSTREAM_SKIPPED = "upstream_skipped"
    NOT_NEEDED = "not_needed"
    NOT_ITS_TIME = "not_its_time"

    @property
    def skips(self) -> bool:
        """Whether the step will not run."""
        return self not in (Readiness.READY, Readiness.WAITS)


@dataclass(frozen=True, slots=True)
class StepTurn:
    """The state of a workflow's run with regard to the start of one of its steps.

    - `over`: the workflow's run has ended.
    - `round`: the last recorded round of the step (domain.workflows.graph). If it is one above the round of the step's
      final record, the end in this record was withdrawn and the step runs again.
    - `not_before`: the step does not start before this instant (UTC seconds).
    - `called_until`: the latest start of calls by earlier runs of the workflow that may still be in progress
      (domain.runs.overlap.called_in_workflow).
    """

    readiness: Readiness
    over: bool = False
    round: int = 0
    not_before: float = 0.0
    called_until: float | None = None


class WorkflowOutcome(StrEnum):
    """The outcome of a workflow's run according to the ends of its steps: some have not ended, all are done, or one
    failed.
    """

    OPEN = "open"
    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class StartRequest(OfRun):
    """The content of a message (`messages.RunMessage`, which the domain does not import). As an event: an attempt may
    start.

    - `redrive`: a new set of attempts is requested for a dead run.
    - `following`: when the next occurrence is due, according to the definition that enqueued this one.
    - `rules`: the occurrence rules of that definition, in a catch-up.
    - `replaces`: the ids and nonces of the messages that this message replaces.
    - `turn`: for a step, the state of its workflow's run.
    """

    identity: RunIdentity
    nonce: str
    attempt: int
    caught_up_at: float | None = None
    final: bool = False
    redrive: bool = False
    following: int | None = None
    rules: OccurrenceRules | None = None
    replaces: tuple[tuple[str, str], ...] = ()
    turn: StepTurn | None = None

    def occurrences(self, job: JobSnapshot) -> Occurrences | None:
        """Return the occurrences of the definition that enqueued the run, or None if the definition is no longer known.
        Raises ScheduleError or ExclusionError.
        """
        if self.rules is not None:
            return occurrences_of(
                self.tenant,
                self.job_id,
                self.rules.schedule,
                exclude=self.rules.exclude,
                jitter_seconds=self.rules.jitter_seconds,
                offset_seconds=self.rules.offset_seconds,
            )
        return job.occurrences() if isinstance(job, Job) and job.generation == self.generation else None

    def carries(self, run: Run, message_id: str) -> bool:
        """Return whether the run is carried by this message, received as `message_id`, or by a message that it
        replaces.
        """
        return run.message_id == message_id or any(run.message_id == replaced for replaced, _ in self.replaces)

    def is_known_to(self, run: Run) -> bool:
        """Return whether this message (under any id), or a message that it replaces, wrote the run's record."""
        return any(run.nonce == nonce for nonce in (self.nonce, *(nonce for _, nonce in self.replaces)))


@dataclass(frozen=True, slots=True)
class Ended:
    """The call of the run's attempt has ended. `draw` is a random number in [0, 1) for the backoff's jitter."""

    outcome: Outcome
    draw: float


@dataclass(frozen=True, slots=True)
class Completed:
    """A callback completed this attempt."""

    request: StartRequest
    result: object


@dataclass(frozen=True, slots=True)
class GivenUp:
    """A callback reported the failure of this attempt."""

    request: StartRequest
    failed: Failed
    draw: float


@dataclass(frozen=True, slots=True)
class DeadlineCame:
    """The attempt's deadline, as it was when the message was sent, has passed.

    `deadline_message_id` is the id of the message. It is None for a timer, since a run has only one timer. The worker
    that sent the message starts the attempt before `lease_until` (UTC seconds), or never. It is None if the attempt has
    started, or if a release before 1.0.0 sent the message.
    """

    request: StartRequest
    draw: float
    deadline_message_id: str | None = None
    lease_until: float | None = None


@dataclass(frozen=True, slots=True)
class CancelAsked:
    """The run's cancellation was requested. `reason` goes into its record (`cancelled`, `replaced`)."""

    request: StartRequest
    reason: str


@dataclass(frozen=True, slots=True)
class Evaluated:
    """A request to evaluate a workflow's run according to the ends of its steps. If a step failed, `error` is the error
    for the run's record.
    """

    request: StartRequest
    outcome: WorkflowOutcome
    error: str | None = None


@dataclass(frozen=True, slots=True)
class DeadLettered:
    """The message of this attempt was found in the dead-letter queue. `starts`: it requests the start of an attempt."""

    request: StartRequest
    starts: bool


@dataclass(frozen=True, slots=True)
class DeadlineChecked:
    """A deadline of the job (`Job.deadlines`) may have passed for the run."""

    request: StartRequest
    deadline: Deadline


Event = (
    DeadLettered | StartRequest | Ended | Completed | GivenUp | DeadlineCame | CancelAsked | Evaluated | DeadlineChecked
)
"""An event of a run."""


@dataclass(frozen=True, slots=True)
class Start:
    """Write `run` over `previous` (None: no record may exist) and call the target. `continued` is the record of this
    run before the start. It is None if there is none, or if `previous` is the record of another run: that of a deleted
    job with the same id.
    """

    run: Running
    previous: Run | None
    reason: str
    continued: Run | None = None


@dataclass(frozen=True, slots=True)
class Transition:
    """Write `run` over `previous` (None: no record may exist), then execute the side effects of the new record."""

    run: Run
    previous: Run | None
    reason: str


@dataclass(frozen=True, slots=True)
class Drop:
    """Delete the message. Nothing is written."""

    reason: str


@dataclass(frozen=True, slots=True)
class FollowUp:
    """The record already includes the effect of this message. Repeat its side effects, all of which are idempotent."""

    run: Run
    reason: str


@dataclass(frozen=True, slots=True)
class Withdraw:
    """A step of a workflow is to run again. Record that its end, which is this record, no longer counts and that this
    round starts. Then decide again.
    """

    run: Run
    round: int
    reason: str


@dataclass(frozen=True, slots=True)
class Hold:
    """The job is paused. Keep the message until the job is resumed, and check again at `until` (UTC seconds) in any
    case.
    """

    until: float
    reason: str


@dataclass(frozen=True, slots=True)
class PutBack:
    """The occurrence came due before the pause of its job, and its run has not started. The resume decides about it:
    move the job's cursor back to before the occurrence, or list the run in the cursor if the `earlier` definition that
    enqueued it is not the one that was paused. Then write `skipped`, the end of a run that was in a wait queue or is
    listed (None: the run gets no record).
    """

    reason: str
    skipped: Transition | None = None
    earlier: bool = False


@dataclass(frozen=True, slots=True)
class Suspend:
    """The job's tenant is suspended. Replace the message by a copy that is decided again at `until` (UTC seconds)."""

    until: float
    reason: str


@dataclass(frozen=True, slots=True)
class RetryLater:
    """Decide again at `until` (UTC seconds). Either this message's own attempt may still be active, or the run that
    holds the lock has no record yet.
    """

    until: float
    reason: str


@dataclass(frozen=True, slots=True)
class Reschedule:
    """The deadline has moved. Send a message for `until` (UTC seconds) and record its id."""

    until: float
    reason: str


@dataclass(frozen=True, slots=True)
class RemainingCatchUp:
    """The message covers more missed occurrences than the existing run of the same name. The remaining `count`
    occurrences, from `occurrence` (due at `due`) on, need a separate run.
    """

    occurrence: int
    due: int
    count: int
    reason: str


@dataclass(frozen=True, slots=True)
class MissedDeadline:
    """The run missed a deadline, which was `at` (UTC seconds). Announce this, then cancel the run if `cancels`. `run`
    is its record, or the record that it would get.
    """

    run: Run
    deadline: Deadline
    at: int
    cancels: bool
    reason: str


Decision = (
    Start
    | Transition
    | Drop
    | FollowUp
    | RetryLater
    | Reschedule
    | RemainingCatchUp
    | Withdraw
    | Hold
    | PutBack
    | Suspend
    | MissedDeadline
)
"""The decision of a worker about a run, with its reason."""


STEPS_FAILED = "steps_failed"
"""The reason for which a workflow's run is dead after all its steps have ended."""

WORKFLOW_OVER = "workflow_over"
"""The reason for which a step is cancelled if its workflow's run ended first: its deadline passed, or it was cancelled.
"""


PAUSED = "paused"
"""The reason for which an occurrence of a paused job is skipped."""


PAST_DEADLINE = "deadline"
"""The reason for which a run that missed a deadline is cancelled."""


def first_record(request: StartRequest, job: JobSnapshot, context: AttemptContext) -> Queued:
    """Return the first record of a run, before its first attempt."""
    identity = request.identity
    if isinstance(job, Job) and isinstance(job.target, WorkflowTarget) and identity.workflow is None:
        identity = replace(identity, workflow=f"{job.id}@{job.target.graph}")
    return Queued(
        identity,
        job.lane if isinstance(job, Job) else Lane.NORMAL,
        attempts_allowed=job.attempts_allowed if isinstance(job, Job) else 1,
        caught_up=request.caught_up_at is not None,
        expires_at=context.expires_at,
    )


MAX_REDRIVEN_FROM = 10
"""The maximum number of messages that a record lists. SQS redelivers a deleted message within days at most."""


def _redriven_from(run: Run, context: AttemptContext) -> str:
    """Return the messages that carried the run before, so that a late second delivery of such a message does not count
    as a redrive.
    """
    if not isinstance(run, Dead) or run.message_id in ("", context.message_id):
        return run.redriven_from
    return " ".join([*run.redriven_from.split(), run.message_id][-MAX_REDRIVEN_FROM:])


def started(
    record: Run | None,
    request: StartRequest,
    job: Job,
    context: AttemptContext,
    now: float,
    reason: str,
    changed: Run | None = None,
) -> Start:
    """Return the start of the next attempt of a run with this record (None: it has none). `changed` is the record as
    the attempt finds it, if it differs.
    """
    run = changed or record or first_record(request, job, context)
    return Start(_begun(run, request, job, context, now), record, reason, continued=record)


def _begun(run: Run, request: StartRequest, job: Job, context: AttemptContext, now: float) -> Running:
    """Return the run after the start of its next attempt, with this message as its message.

    The callback's token and deadlines are stored before the call, since the callback may arrive before the call
    returns. Until then the first heartbeat's deadline includes the timeout of the call.
    """
    attempt, expires_at, callback_hash, deadlines = run.attempt + 1, context.expires_at, None, None
    match job.completion:
        case Completion.RESPONSE:
            pass
        case Completion.CALLBACK:
            beat = None if job.heartbeat_seconds is None else now + job.timeout_seconds + job.heartbeat_seconds
            deadlines = Deadlines(now + job.completion_seconds, beat)
            callback_hash = CallbackToken(run.tenant, attempt, context.secret).hash
            expires_at += job.completion_seconds
        case other:
            assert_never(other)
    return Running(
        **run.common(
            attempt=attempt,
            fencing_token=context.fencing_token,
            message_id=context.message_id,
            nonce=request.nonce,
            first_started_at=run.first_started_at if run.first_started_at is not None else now,
            started_at=now,
            expires_at=expires_at,
            callback_hash=callback_hash,
            key=None,  # set by the worker once the run has a place of its key
            rate_key=None,
            in_turn=False,
            breaker=False,
            heartbeat_at=None,
            progress=None,
            note=None,
            redriven_from=_redriven_from(run, context),
            earlier=earlier_than_next(run),
            # A workflow's run reports how its steps ended, which its next attempt can change.
            **({"error": None, "code": None} if run.is_workflow else {}),
        ),
        lease_until=context.lease_until,
        deadlines=deadlines,
    )


def queued(run: Running, now: float, key: str | None = None) -> Queued:
    """Return the record of a run that must enter the wait queue of its job, or of its key, before its first attempt."""
    return Queued(**run.common(**_NOT_BEGUN, waiting_since=now, key=key))


def rated(
    start: Start, rate_key: str, not_before: float, now: float, *, in_turn: bool, breaker: bool = False
) -> Run | None:
    """Return the record of a run that waits for a rate, or for a circuit breaker, until `not_before`. None if its
    record does not show the wait, because the run was redriven or its worker was lost.
    """
    since = _waiting_since(start.continued, rate_key, now)
    waits: dict[str, Any] = {"rate_key": rate_key, "in_turn": in_turn, "breaker": breaker, "waiting_since": since}
    match start.continued:
        case None | Queued():
            return Queued(**start.run.common(**_NOT_BEGUN, **waits), not_before=not_before)
        case Retrying() as before:
            waits |= {"key": start.run.key, "fencing_token": start.run.fencing_token}
            return replace(before, not_before=not_before, **waits)
        case _:
            return None


def has_turn(previous: Run | None, rate_key: str, now: float, *, waited: bool) -> bool:
    """Return whether the run has waited for the instant that its rate gave it. If its record does not show such a wait
    (see `rated`), any wait counts (`waited`).
    """
    match previous:
        case None:
            return False
        case Queued() | Retrying():
            due = previous.not_before is not None and previous.not_before <= now
            return previous.rate_key == rate_key and previous.in_turn and due
        case _:
            return waited


def _waiting_since(previous: Run | None, rate_key: str, now: float) -> float | None:
    """Return when the run began to wait for this rate: now, unless it already waits and tries again."""
    return now if previous is None or previous.rate_key != rate_key else previous.waiting_since


_NOT_BEGUN: Mapping[str, object] = {
    "attempt": 0,
    "first_started_at": None,
    "started_at": None,
    "callback_hash": None,
}


def waiting(run: Running, deadlines: Deadlines) -> Waiting:
    """Return the run after its call has returned."""
    return Waiting(**run.common(), deadlines=deadlines, cancel_requested=run.cancel_requested)


def retrying(run: Run, now: float, not_before: float) -> Retrying:
    """Return the run after a failed attempt. The next attempt starts at `not_before` (UTC seconds)."""
    return Retrying(**run.common(), finished_at=now, not_before=not_before)


def succeeded(run: Run, result: object, now: float) -> Succeeded:
    """Return the run as succeeded, even if its cancellation was requested in the meantime."""
    over = _over(run, None) | {"error": None, "code": None}
    return Succeeded(**over, finished_at=now, result=result, cancel_requested=cancel_requested(run))


def dead(run: Run, reason: str, now: float, by: AttemptContext | None = None) -> Dead:
    """Return the run as dead. `by` is the message that writes the record; by default the message that carries the
    attempt.
    """
    return Dead(**_over(run, by), reason=reason, finished_at=now, cancel_requested=cancel_requested(run))


def cancelled(run: Run, reason: str, now: float, by: AttemptContext | None = None) -> Cancelled:
    """Return the run as cancelled. `by` is the same as in `dead`."""
    return Cancelled(**_over(run, by), reason=reason, finished_at=now, cancel_requested=cancel_requested(run))


def skipped(run: Run, reason: str, by: AttemptContext | None = None) -> Skipped:
    """Return the run as skipped. `by` is the same as in `dead`."""
    return Skipped(**_over(run, by), reason=reason, cancel_requested=cancel_requested(run))


def _over(run: Run, by: AttemptContext | None) -> dict[str, Any]:
    # A retrying run ends after the end of its last attempt, so that attempt is moved to `earlier`.
    earlier = earlier_than_next(run) if isinstance(run, Retrying) else run.earlier
    carried = {} if by is None else {"fencing_token": by.fencing_token, "message_id": by.message_id}
    return run.common(earlier=earlier, **carried)


def not_run(request: StartRequest, job: JobSnapshot, context: AttemptContext, reason: str) -> Transition:
    """Return the record of an occurrence that will not run."""
    return Transition(skipped(first_record(request, job, context), reason, context), None, reason)


def refused(start: Start, reason: str, because: str) -> Transition:
    """Return the record of a run that may not start because of another run."""
    never = replace(skipped(start.run, reason), attempt=0, first_started_at=None, started_at=None, callback_hash=None)
    return Transition(never, start.previous, because)


def may_run_again(run: Run) -> bool:
    """Return whether a step's record may be overwritten: the step is dead, or its workflow stopped it."""
    return isinstance(run, Dead) or stopped_by_workflow(run)


def stopped_by_workflow(run: Run) -> bool:
    """Return whether a step was skipped or cancelled because of other steps or the end of its workflow's run. If these
    are redriven, the step can still run.
    """
    match run:
        case Skipped(reason=reason):
            return reason in {each.value for each in Readiness if each.skips}
        case Cancelled(reason=reason):
            return reason == WORKFLOW_OVER
        case _:
            return False


def of_predecessor(request: StartRequest, job: JobSnapshot, run: Run) -> bool:
    """Return whether the record belongs to a deleted job with the same id, and the request to the current job. False if
    the run of the record has started.
    """
    return isinstance(job, Job) and binds_nobody(job, run) and job.created_generation <= request.generation


def skipped_by_pause(request: StartRequest, run: Run) -> bool:
    """Return whether a pause skipped the run, and its occurrence was enqueued again: a resume catches it up. (The
    resume did not enqueue it otherwise.)
    """
    never = isinstance(run, Skipped) and run.reason == PAUSED and run.attempt == 0
    return never and not request.manual and run.generation < request.generation


def binds_nobody(job: Job, run: Run) -> bool:
    """Return whether the record does not apply to a re-created job. It belongs to a deleted job with the same id, and
    its run never started (it was skipped or cancelled).
    """
    return run.attempt == 0 and run.generation < job.created_generation


def instead_of(run: Run, decision: Decision) -> Decision:
    """Return a decision for a run without a record, changed so that it overwrites this record."""
    match decision:
        case Start() | Transition():
            return replace(decision, previous=run)
        case PutBack(skipped=Transition() as skipped):
            return replace(decision, skipped=replace(skipped, previous=run))
        case _:
            return decision


def own_job(job: JobSnapshot, run: Run) -> JobSnapshot:
    """Return the job if the run belongs to it. Returns None if the job was created again and the run belongs to its
    predecessor.
    """
    anew = isinstance(job, Job) and run.generation < job.created_generation
    return None if anew else job
