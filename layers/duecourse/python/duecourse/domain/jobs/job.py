"""A job: its owner, schedule, target and policies."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Final

from duecourse.domain.instants import DAY_SECONDS
from duecourse.domain.jobs.policies import (
    Completion,
    Delivery,
    EventKind,
    JobState,
    Lane,
    MissedPolicy,
    Overlap,
    Precision,
)
from duecourse.domain.jobs.retry import RetryPolicy
from duecourse.domain.schedules import ScheduleSpec
from duecourse.domain.schedules.occurrences import Occurrences, occurrences_of
from duecourse.domain.targets.targets import Target

MAX_RUNS = 10_000
"""The largest `max_runs`: this many occurrences can be counted exactly if all were missed."""

MAX_QUEUE_LIMIT = 1000
"""The largest `queue_limit`: one query counts this many entries of a line."""

SHORT_TIMEOUT_SECONDS = 90
"""The longest attempt of the lanes high, normal and low; longer ones go to `long`."""

COMPLETION_SECONDS = 86_400
"""How long a run waits for its callback by default."""

LONG_TIMEOUT_SECONDS = 840
"""The longest attempt: a Lambda invocation lasts at most 15 minutes, and a worker needs time to record the end."""


UNREAD: Final = object()
"""The payload of a job that was read without it, because it has an item of its own."""

REMEMBERED_DEFINITIONS = 20
REMEMBERED_SECONDS = 15 * DAY_SECONDS
"""How many earlier definitions of a schedule are remembered, and for how long: a lane keeps a message for 14 days."""


@dataclass(frozen=True, slots=True)
class Definition:
    """A schedule that a job had: its generation, and since when it was valid (UTC seconds), until the next one."""

    generation: int
    since: float


@dataclass(frozen=True, slots=True)
class Reservation:
    """Of a job by a request that replaces it in several writes, `until` then (UTC seconds) at most: no other request
    changes its definition meanwhile. The same request has the same digest (`by`).
    """

    by: str
    until: float


@dataclass(frozen=True, slots=True, kw_only=True)
class JobDefinition:
    """The fields that a job's owner sets. A field added here is stored and returned under its name; the API's model of
    the same name validates it.

    `owner` and `runbook_url` tell who is paged for a dead run whom to ask and what to do. A large `estimated_seconds`
    alone puts a job into the lane `long`. A run that has not started `start_deadline_seconds` after it was due is
    skipped. `pause_on_failure`: after this many deaths in a row the job is paused. With `completion` CALLBACK a run
    waits up to `completion_seconds` from its attempt's start, and between two heartbeats no longer than
    `heartbeat_seconds`. `events` says which outcomes go to the event bus. `max_runs` bounds the occurrences that come
    due, `exclude` and `jitter_seconds` shape them (domain.occurrences). `queue_limit` bounds how many runs wait in line
    with `overlap` QUEUE (None: any number).
    """

    name: str = ""
    owner: str = ""
    description: str = ""
    runbook_url: str | None = None
    schedule: ScheduleSpec
    exclude: tuple[str, ...] = ()
    jitter_seconds: int = 0
    max_runs: int | None = None
    target: Target
    payload: Any = None
    priority: Lane = Lane.NORMAL
    timeout_seconds: int = 30
    estimated_seconds: int | None = None
    start_deadline_seconds: int | None = None
    completion: Completion = Completion.RESPONSE
    completion_seconds: int = COMPLETION_SECONDS
    heartbeat_seconds: int | None = None
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    pause_on_failure: int | None = None
    missed: MissedPolicy = field(default_factory=MissedPolicy)
    overlap: Overlap = Overlap.SKIP
    queue_limit: int | None = None
    precision: Precision = Precision.SECOND
    delivery: Delivery = Delivery.AT_LEAST_ONCE
    idempotency_key: str | None = None
    events: tuple[EventKind, ...] = ()
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Job(JobDefinition):
    """A job as stored. Instants are UTC epoch seconds, `generation` counts from the creation time in milliseconds.

    `changed_at` is when the generation last grew; `created_generation` distinguishes a re-created job from an edited
    one. `revision` grows with every write. `paused_at` is when it
    was last paused, `paused_by` by whom, `paused_because` why; `resumed_at` is when that pause ended, if the schedule
    was changed since (None: `changed_at` was that moment). `seated`: whether it has a seat in its lane
    (domain.jobs.seats); None for a job of a release without seats. `earlier` are the definitions before the present
    one, oldest first; messages under way may belong to them. `workflow` is the id of the workflow that it is a member
    of, `claimed_at` when it became one. `reserved`: a request is about to replace the definition.
    """

    tenant: str
    id: str
    generation: int
    created_at: float
    updated_at: float
    changed_at: float
    created_generation: int
    state: JobState = JobState.ACTIVE
    paused_at: float | None = None
    paused_because: str | None = None
    paused_by: str | None = None
    resumed_at: float | None = None
    revision: int = 1
    seated: bool | None = None
    earlier: tuple[Definition, ...] = ()
    workflow: str | None = None
    claimed_at: float | None = None
    reserved: Reservation | None = None

    def redefined(self, now: float) -> Job:
        """The job with a new generation, valid from `now` on (UTC seconds), after its schedule or its firing changed.
        The times of generations never go back, whatever the clocks say.
        """
        since = max(now, self.changed_at)
        known = (*self.earlier, Definition(self.generation, self.changed_at))
        return replace(
            self,
            generation=max(int(since * 1000), self.generation + 1),
            changed_at=since,
            earlier=tuple(each for each in known if each.since > since - REMEMBERED_SECONDS)[-REMEMBERED_DEFINITIONS:],
        )

    def superseded_at(self, generation: int) -> float | None:
        """Until when (UTC seconds) a definition held; None for the present one. What it had enqueued for later was
        taken back then.
        """
        later = (*self.earlier, Definition(self.generation, self.changed_at))
        return min((each.since for each in later if each.generation > generation), default=None)

    @property
    def version(self) -> str:
        """A value that changes with every write: two reads with the same version saw the same job."""
        return f"{self.generation}-{self.revision}"

    @property
    def lane(self) -> Lane:
        """The lane of its runs: by priority, or `long` if an attempt may take longer than the other lanes allow."""
        longest = max(self.timeout_seconds, self.estimated_seconds or 0)
        return Lane.LONG if longest > SHORT_TIMEOUT_SECONDS else self.priority

    @property
    def bulk(self) -> bool:
        """Whether its runs go through its lane's bulk queue."""
        return self.seated is False

    @property
    def attempts_allowed(self) -> int:
        """How many attempts a run has."""
        return 1 if self.delivery is Delivery.AT_MOST_ONCE else self.retry.max_attempts

    @property
    def recurring(self) -> bool:
        """Whether it may run more than once: all jobs but one-offs."""
        return self.occurrences().schedule.recurring

    @property
    def scheduled(self) -> bool:
        """Whether it has a schedule; without one it runs only when it is asked to."""
        return bool(self.schedule.expression)

    def occurrences(self) -> Occurrences:
        """Its occurrences, compiled (from a cache). Raises ScheduleError or ExclusionError."""
        return occurrences_of(
            self.tenant, self.id, self.schedule, exclude=self.exclude, jitter_seconds=self.jitter_seconds
        )

    def following(self, after: int) -> int | None:
        """The first occurrence strictly after `after` (UTC seconds). Compiled only when called: most starts do not need
        it.
        """
        return self.occurrences().next(after)


@dataclass(frozen=True, slots=True)
class Gone:
    """A deleted job: when it was deleted (UTC seconds), and its generation then."""

    deleted_at: float
    generation: int = 0


JobSnapshot = Job | Gone | None
"""A job as a worker finds it: existing, recently deleted, or unknown."""
