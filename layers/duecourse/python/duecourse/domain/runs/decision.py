"""What a worker knows when it decides about a run, what can happen to a run, and what can be decided."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from duecourse.domain.jobs.job import Job, JobSnapshot
from duecourse.domain.runs.run import Run
from duecourse.domain.runs.run_identity import OfRun, RunIdentity
from duecourse.domain.schedules.occurrences import OccurrenceRules, Occurrences, occurrences_of
from duecourse.domain.targets.targets import Failed, Outcome


@dataclass(frozen=True, slots=True)
class AttemptContext:
    """What an attempt brings that is started now. `token` names this delivery of the message `message_id`;
    `lease_until` is when Lambda kills the invocation, `expires_at` when a record written now expires (UTC seconds).
    `secret` is drawn for the attempt's callback token.
    """

    message_id: str
    token: str
    lease_until: float
    expires_at: int
    secret: str = ""


class Readiness(StrEnum):
    """What a workflow's run says about the start of one of its jobs: it may start; it waits for others; the workflow's
    run has ended; or why it will not run, as its record says it.
    """

    READY = "ready"
    WAITS = "waits"
    OVER = "over"
    UPSTREAM_FAILED = "upstream_failed"
    UPSTREAM_SKIPPED = "upstream_skipped"
    NOT_NEEDED = "not_needed"
    NOT_ITS_TIME = "not_its_time"

    @property
    def skips(self) -> bool:
        """Whether the job will not run."""
        return self not in (Readiness.READY, Readiness.WAITS, Readiness.OVER)


class WorkflowOutcome(StrEnum):
    """What has become of a workflow's run by the ends of its jobs: some are outstanding; all is done; one failed."""

    OPEN = "open"
    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class StartRequest(OfRun):
    """What a message asks for (`messages.RunMessage`, which the domain does not import). As an event: an attempt may
    start. `redrive`: somebody asks for another allowance of attempts for a dead run. `following` is when the occurrence
    after it is due by the definition that enqueued it; `rules` are that definition's, which a catch-up brings.
    `replaces` are ids and nonces of the messages that it was sent instead of. `readiness`: what a workflow's run says
    of its member's first attempt.
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
    readiness: Readiness | None = None

    def occurrences(self, job: JobSnapshot) -> Occurrences | None:
        """What the definition names that enqueued it; None where that is not known any more. Raises ScheduleError or
        ExclusionError.
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
        """Whether this message, received as `message_id`, carries the run, or one that it was sent instead of."""
        return run.message_id == message_id or any(run.message_id == replaced for replaced, _ in self.replaces)

    def is_known_to(self, run: Run) -> bool:
        """Whether this message wrote the run's record, whatever id it had then, or one that it was sent instead of."""
        return any(run.nonce == nonce for nonce in (self.nonce, *(nonce for _, nonce in self.replaces)))

    @property
    def manual(self) -> bool:
        """Whether this run was asked for by itself (run now, backfill, by a workflow): no change of its schedule
        is about it.
        """
        return bool(self.suffix) or self.is_member


@dataclass(frozen=True, slots=True)
class Ended:
    """The call of the run's attempt has ended. `draw` is a random number in [0, 1) for the backoff's jitter."""

    outcome: Outcome
    draw: float


@dataclass(frozen=True, slots=True)
class Completed:
    """Whoever works on the named attempt has completed it."""

    request: StartRequest
    result: object


@dataclass(frozen=True, slots=True)
class GivenUp:
    """Whoever works on the named attempt has failed."""

    request: StartRequest
    failed: Failed
    draw: float


@dataclass(frozen=True, slots=True)
class DeadlineCame:
    """The deadline of the named attempt, as it was when it was armed, has come. `armed` names the message that says
    so; None in those of versions that gave them no names, and where it waited in the due index, which holds one.
    """

    request: StartRequest
    draw: float
    armed: str | None = None


@dataclass(frozen=True, slots=True)
class CancelAsked:
    """Somebody wants the run to end; `reason` is what its record will say (`cancelled`, `replaced`)."""

    request: StartRequest
    reason: str


@dataclass(frozen=True, slots=True)
class Evaluated:
    """Somebody asked what has become of a workflow's run by the ends of its jobs: `outcome`, with the `error` that its
    record will have where one failed.
    """

    request: StartRequest
    outcome: WorkflowOutcome
    error: str | None = None


@dataclass(frozen=True, slots=True)
class DeadLettered:
    """The message of the named attempt was found among the dead letters. `starts`: it asks for an attempt's start."""

    request: StartRequest
    starts: bool


Event = DeadLettered | StartRequest | Ended | Completed | GivenUp | DeadlineCame | CancelAsked | Evaluated
"""What happens to a run."""


@dataclass(frozen=True, slots=True)
class Start:
    """Write `run` (RUNNING) over `previous` (None: nothing may be there) and call the target."""

    run: Run
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
class RetryLater:
    """This message's own attempt may still be alive: look again at `until` (UTC seconds)."""

    until: float
    reason: str


@dataclass(frozen=True, slots=True)
class Reschedule:
    """The deadline has moved: ask again at `until` (UTC seconds), and note who does."""

    until: float
    reason: str


@dataclass(frozen=True, slots=True)
class RemainingCatchUp:
    """The message stands for more missed occurrences than the run of its name, which is there already: what is left
    of them, from `occurrence` (due at `due`) on, is `count` and needs a run of its own.
    """

    occurrence: int
    due: int
    count: int
    reason: str


Decision = Start | Transition | Drop | FollowUp | RetryLater | Reschedule | RemainingCatchUp
"""What a worker does about a run, and why."""
