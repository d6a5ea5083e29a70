"""The inputs of a decision about a run, the events, and the decisions."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from duecourse.domain.jobs.job import Job, JobSnapshot
from duecourse.domain.runs.identity import OfRun, RunIdentity
from duecourse.domain.runs.states import Run, Running
from duecourse.domain.schedules.occurrences import OccurrenceRules, Occurrences, occurrences_of
from duecourse.domain.targets.targets import Failed, Outcome


@dataclass(frozen=True, slots=True)
class AttemptContext:
    """The context of an attempt that starts now. `fencing_token` names this delivery of the message `message_id`;
    `lease_until` is when Lambda kills the invocation, `expires_at` when a record written now expires (UTC seconds).
    `secret` is the random part of the attempt's callback token.
    """

    message_id: str
    fencing_token: str
    lease_until: float
    expires_at: int
    secret: str = ""


class Readiness(StrEnum):
    """What the ends of the other jobs mean for the start of a workflow's job: it may start; it waits for others; or why
    it will not run, as its record says it.
    """

    READY = "ready"
    WAITS = "waits"
    UPSTREAM_FAILED = "upstream_failed"
    UPSTREAM_SKIPPED = "upstream_skipped"
    NOT_NEEDED = "not_needed"
    NOT_ITS_TIME = "not_its_time"

    @property
    def skips(self) -> bool:
        """Whether the job will not run."""
        return self not in (Readiness.READY, Readiness.WAITS)


@dataclass(frozen=True, slots=True)
class StepTurn:
    """What a workflow's run says about the start of one of its jobs. `over`: that run has ended. `round` is the last
    round of the step that is noted (domain.workflows.graph): one above that of its final record means that its end
    was withdrawn, and it is to run again. It does not start before `not_before` (UTC seconds). `called_until`: until
    when calls of earlier runs of the workflow began (domain.runs.overlap.called_in_workflow).
    """

    readiness: Readiness
    over: bool = False
    round: int = 0
    not_before: float = 0.0
    called_until: float | None = None


class WorkflowOutcome(StrEnum):
    """What has become of a workflow's run by the ends of its jobs: some are outstanding; all is done; one failed."""

    OPEN = "open"
    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class StartRequest(OfRun):
    """The content of a message (`messages.RunMessage`, which the domain does not import). As an event: an attempt may
    start. `redrive`: another allowance of attempts is requested for a dead run. `following` is when the next occurrence
    is due by the definition that enqueued this one; `rules` are that definition's, in a catch-up. `replaces` are ids
    and nonces of the messages that it replaces. `turn`: what a workflow's run says of its step's start.
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
        """The occurrences of the definition that enqueued it; None if it is no longer known. Raises ScheduleError
        or ExclusionError.
        """
        if self.rules is not None:
            return occurrences_of(
                self.tenant,
                self.job_id,
                self.rules.schedule,
                exclude=self.rules.exclude,
                jitter_seconds=self.rules.jitter_seconds,
            )
        return job.occurrences() if isinstance(job, Job) and job.generation == self.generation else None

    def carries(self, run: Run, message_id: str) -> bool:
        """Whether this message, received as `message_id`, or one that it replaces carries the run."""
        return run.message_id == message_id or any(run.message_id == replaced for replaced, _ in self.replaces)

    def is_known_to(self, run: Run) -> bool:
        """Whether this message, under any id, or one that it replaces wrote the run's record."""
        return any(run.nonce == nonce for nonce in (self.nonce, *(nonce for _, nonce in self.replaces)))

    @property
    def manual(self) -> bool:
        """Whether this is a run on request (run now, backfill, by a workflow), which changes of the schedule do not
        affect.
        """
        return bool(self.suffix) or self.is_step


@dataclass(frozen=True, slots=True)
class Ended:
    """The call of the run's attempt has ended. `draw` is a random number in [0, 1) for the backoff's jitter."""

    outcome: Outcome
    draw: float


@dataclass(frozen=True, slots=True)
class Completed:
    """The named attempt was completed by its callback."""

    request: StartRequest
    result: object


@dataclass(frozen=True, slots=True)
class GivenUp:
    """The named attempt was failed by its callback."""

    request: StartRequest
    failed: Failed
    draw: float


@dataclass(frozen=True, slots=True)
class DeadlineCame:
    """The deadline of the named attempt has come, as it was when the message was sent. `deadline_message_id` names the
    message; None in timers, of which there is one.
    """

    request: StartRequest
    draw: float
    deadline_message_id: str | None = None


@dataclass(frozen=True, slots=True)
class CancelAsked:
    """The run's cancellation was requested; `reason` goes into its record (`cancelled`, `replaced`)."""

    request: StartRequest
    reason: str


@dataclass(frozen=True, slots=True)
class Evaluated:
    """A request to evaluate a workflow's run by the ends of its steps: `outcome`, with the `error` that its record will
    have where one failed.
    """

    request: StartRequest
    outcome: WorkflowOutcome
    error: str | None = None


@dataclass(frozen=True, slots=True)
class DeadLettered:
    """The message of the named attempt was found in the dead-letter queue. `starts`: it asks for an attempt's start."""

    request: StartRequest
    starts: bool


Event = DeadLettered | StartRequest | Ended | Completed | GivenUp | DeadlineCame | CancelAsked | Evaluated
"""What happens to a run."""


@dataclass(frozen=True, slots=True)
class Start:
    """Write `run` over `previous` (None: nothing may be there) and call the target."""

    run: Running
    previous: Run | None
    reason: str


@dataclass(frozen=True, slots=True)
class Transition:
    """Write `run` over `previous` (None: nothing may be there), then do the side effects of that record."""

    run: Run
    previous: Run | None
    reason: str


@dataclass(frozen=True, slots=True)
class Drop:
    """Delete the message; nothing is written."""

    reason: str


@dataclass(frozen=True, slots=True)
class FollowUp:
    """The record is already past this message: repeat its side effects (all of them are idempotent)."""

    run: Run
    reason: str


@dataclass(frozen=True, slots=True)
class Withdraw:
    """A step of a workflow is to run again: note that its end, which is this record, no longer counts, and
    that this round begins. Then decide again.
    """

    run: Run
    round: int
    reason: str


@dataclass(frozen=True, slots=True)
class Hold:
    """The job is paused: keep the message for its resumption, and look again at `until` (UTC seconds) in any case."""

    until: float
    reason: str


@dataclass(frozen=True, slots=True)
class RetryLater:
    """Decide again at `until` (UTC seconds): this message's own attempt may still be active, or the run that has the
    lock has no record yet.
    """

    until: float
    reason: str


@dataclass(frozen=True, slots=True)
class Reschedule:
    """The deadline has moved: send a message for `until` (UTC seconds), and record its name."""

    until: float
    reason: str


@dataclass(frozen=True, slots=True)
class RemainingCatchUp:
    """The message covers more missed occurrences than the existing run of its name: the remaining `count`, from
    `occurrence` (due at `due`) on, need their own run.
    """

    occurrence: int
    due: int
    count: int
    reason: str


Decision = Start | Transition | Drop | FollowUp | RetryLater | Reschedule | RemainingCatchUp | Withdraw | Hold
"""What a worker does with a run, and why."""
