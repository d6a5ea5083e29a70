"""The events of a run, which are the inputs of decisions about it (`transitions`), and the decisions."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from duecourse.domain.ids import OfRun, RunIdentity
from duecourse.domain.jobs.job import DeadlineEvent
from duecourse.domain.runs.states import Run, Running
from duecourse.domain.targets.targets import Failed, Outcome
from duecourse_schedules.schedule import OccurrenceRules


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
    - `workflow_redriven_at`: the last redrive of the workflow's run.
    - `nested`: the step is a workflow.
    """

    readiness: Readiness
    over: bool = False
    round: int = 0
    not_before: float = 0.0
    called_until: float | None = None
    workflow_redriven_at: float | None = None
    nested: bool = False


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


@dataclass(frozen=True, slots=True)
class Ended:
    """The call of the run's attempt has ended. `draw` is a random number in [0, 1) for the backoff's jitter."""

    outcome: Outcome
    draw: float


@dataclass(frozen=True, slots=True)
class Completed:
    """A callback completed this attempt. `worker` is the name of the program."""

    request: StartRequest
    result: object
    worker: str | None = None


@dataclass(frozen=True, slots=True)
class GivenUp:
    """A callback reported the failure of this attempt. `worker` is the name of the program."""

    request: StartRequest
    failed: Failed
    draw: float
    worker: str | None = None


@dataclass(frozen=True, slots=True)
class DeadlineCame:
    """The attempt's deadline, as it was when the message was sent, has passed.

    `deadline_message_id` is the id of the message. It is None for a timer, since a run has only one timer. The worker
    that sent the message starts the attempt before `lease_until` (UTC seconds), or never. It is None if the attempt has
    started.
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
    for the run's record. If all are done, `result` is its result. For the ended run of a step with items, the request
    has its turn.
    """

    request: StartRequest
    outcome: WorkflowOutcome
    error: str | None = None
    result: object = None


@dataclass(frozen=True, slots=True)
class DeadLettered:
    """The message of this attempt was found in the dead-letter queue. `starts`: it requests the start of an attempt."""

    request: StartRequest
    starts: bool


@dataclass(frozen=True, slots=True)
class DeadlineChecked:
    """A deadline of the job (`Job.deadlines`) may have passed for the run."""

    request: StartRequest
    deadline: DeadlineEvent


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
    deadline: DeadlineEvent
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


LEASE_MARGIN_SECONDS = 10
"""How much longer than its lease an attempt counts as active, in seconds. The clocks of workers may differ by
seconds.
"""
