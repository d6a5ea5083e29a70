"""A job: its owner, schedule, target and policies.

Enumerated fields of a job: state, lane, precision, overlap, delivery, completion, events, missed occurrences.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Any, Final

from duecourse.domain.instants import DAY_SECONDS
from duecourse.domain.schedules import ScheduleSpec
from duecourse.domain.schedules.occurrences import Occurrences, occurrences_of
from duecourse.domain.targets.targets import Failed, Target, WorkflowTarget


class JobState(StrEnum):
    """ACTIVE jobs fire, PAUSED jobs do not. A COMPLETED job has no more occurrences, and its last run has ended."""

    ACTIVE = "ACTIVE"
    PAUSED = "PAUSED"
    COMPLETED = "COMPLETED"


class Lane(StrEnum):
    """A queue and its workers."""

    HIGH = "high"
    NORMAL = "normal"
    LOW = "low"
    LONG = "long"


class Precision(StrEnum):
    """SECOND: visible to a worker just after its second. EXACT: delivered one second early and held by the worker."""

    SECOND = "second"
    EXACT = "exact"


@dataclass(frozen=True, slots=True, kw_only=True)
class OverlapRule:
    """What happens when a run comes due while another run of the same job is active. `label` says it in the console.

    `alone`: at most one run of the job is active. Then the new run is skipped, unless it `waits` in the wait queue.
    `only_newest`: when the active run ends, only the newest waiting run starts, and the others are skipped. `preempts`:
    the cancellation of the active run is requested. `limited`: a job may limit its wait queue; a new run is skipped if
    it is full.
    """

    label: str
    alone: bool = True
    waits: bool = False
    only_newest: bool = False
    preempts: bool = False
    limited: bool = False

    @property
    def skips(self) -> bool:
        """Whether the new run is skipped."""
        return self.alone and not self.waits


class Overlap(StrEnum):
    """The rules by their words in documents; the traits of each are in OVERLAP_RULES."""

    SKIP = "skip"
    QUEUE = "queue"
    NEWEST = "newest"
    REPLACE = "replace"
    ALLOW = "allow"

    @property
    def rule(self) -> OverlapRule:
        """The traits of the rule."""
        return OVERLAP_RULES[self]


OVERLAP_RULES: Mapping[Overlap, OverlapRule] = {
    Overlap.SKIP: OverlapRule(label="Skip the new run"),
    Overlap.QUEUE: OverlapRule(label="Let the new run wait", waits=True, limited=True),
    Overlap.NEWEST: OverlapRule(label="Keep only the newest waiting run", waits=True, only_newest=True),
    Overlap.REPLACE: OverlapRule(label="Cancel the active run", waits=True, only_newest=True, preempts=True),
    Overlap.ALLOW: OverlapRule(label="Run both", alone=False),
}


class Completion(StrEnum):
    """RESPONSE: a run ends with the response to its call. CALLBACK: it waits until it is completed by its token."""

    RESPONSE = "response"
    CALLBACK = "callback"


class EventKind(StrEnum):
    """Which outcomes go to the event bus. LATE: runs that started, or were skipped, after their grace."""

    DEATHS = "deaths"
    FAILURES = "failures"
    LATE = "late"
    ALL = "all"


class Delivery(StrEnum):
    """AT_MOST_ONCE never makes a second attempt, not even after the first one's worker died."""

    AT_LEAST_ONCE = "at_least_once"
    AT_MOST_ONCE = "at_most_once"


class MissedMode(StrEnum):
    """What happens to occurrences that were not enqueued in time."""

    SKIP = "skip"
    RUN_ONCE = "run_once"
    RUN_ALL = "run_all"


@dataclass(frozen=True, slots=True)
class MissedPolicy:
    """An occurrence is missed when it is later than `grace_seconds`; `max_missed` bounds `run_all` (at most 100, so
    that one claim covers them and the enqueued runs depend only on the cursor).
    """

    mode: MissedMode = MissedMode.RUN_ONCE
    grace_seconds: int = 60
    max_missed: int = 10


class Backoff(StrEnum):
    """How the upper bound of the delay grows with the number of failed attempts."""

    EXPONENTIAL = "exponential"
    LINEAR = "linear"
    FIXED = "fixed"


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """`max_attempts` in all (1 = no retry); the delay after attempt n is between `min_seconds` and a bound b(n):

    - exponential: b(n) = min_seconds x 2^n: for 2 s: 4, 8, 16, 32 …
    - linear: b(n) = min_seconds x (n + 1): 4, 6, 8, 10 …
    - fixed: b(n) = min_seconds: 2, 2, 2 …

    b(n) never exceeds `max_seconds`. Within those bounds the delay is drawn evenly ("full jitter", AWS Architecture
    Blog, Exponential Backoff And Jitter), so that runs that failed together do not retry together; `fixed` has no
    jitter.

    `on` names the failures that are retried (None: the target's default), `never` those that are not: an HTTP status
    (`503`), a class of them (`5xx`), a code (`timeout`, `ThrottlingException`) or a pattern (`Throttling*`). No attempt
    begins later than `max_age_seconds` after the run was due, or was last redriven.
    """

    max_attempts: int = 4
    backoff: Backoff = Backoff.EXPONENTIAL
    min_seconds: float = 2
    max_seconds: float = 3600.0
    on: tuple[str, ...] | None = None
    never: tuple[str, ...] = ()
    max_age_seconds: int | None = None

    def worth(self, failed: Failed) -> bool:
        """Whether to retry after this failure; a target's rejection is final."""
        if failed.forbidden or any(_names(word, failed.code) for word in self.never):
            return False
        return failed.retryable if self.on is None else any(_names(word, failed.code) for word in self.on)

    def delay(self, attempt: int, draw: float, retry_after: float | None = None) -> float:
        """Seconds to wait after failed attempt `attempt` (1 …). `draw` is a random number in [0, 1).

        A target's `retry_after` raises the delay, up to `max_seconds`.
        """
        match self.backoff:
            case Backoff.EXPONENTIAL:
                bound = self.min_seconds * 2.0 ** min(attempt, 62)
            case Backoff.LINEAR:
                bound = self.min_seconds * (attempt + 1)
            case Backoff.FIXED:
                bound = self.min_seconds
        bound = min(bound, self.max_seconds)
        low = min(self.min_seconds, bound)
        drawn = low + (bound - low) * draw
        return drawn if retry_after is None else min(max(drawn, retry_after), max(self.max_seconds, drawn))


def _names(word: str, code: str) -> bool:
    """Whether a rule's word matches a failure's code: `5xx` and `503` match `http.503`."""
    if len(word) == 3 and word.endswith("xx"):
        return code.startswith(f"http.{word[0]}")
    return fnmatchcase(code, word) or code == f"http.{word}"


MAX_RUNS = 10_000
"""The largest `max_runs`: this many occurrences can be counted exactly if all were missed."""

MAX_QUEUE_LIMIT = 1000
"""The largest `queue_limit`: one query counts this many entries of a wait queue."""

SHORT_TIMEOUT_SECONDS = 90
"""The longest attempt of the lanes high, normal and low; longer ones go to `long`."""

COMPLETION_SECONDS = 86_400
"""How long a run waits for its callback by default."""

LONG_TIMEOUT_SECONDS = 840
"""The longest attempt: a Lambda invocation lasts at most 15 minutes, and a worker needs time to record the end."""


UNREAD: Final = object()
"""The payload of a job that was read without it, because it has an item of its own."""

ONE_OFF_KEPT_SECONDS = DAY_SECONDS
"""How long a job with a single occurrence is kept after it has ended."""


@dataclass(frozen=True, slots=True)
class AfterCompletion:
    """What happens to a job that has ended: it is removed this long after its end (None: it is not)."""

    delete_after_seconds: int | None = None


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

    `owner` and `runbook_url` name the owner and the instructions for the person who is paged for a dead run. A large
    `estimated_seconds` alone puts a job into the lane `long`. A run that has not started `start_deadline_seconds` after
    it was due is skipped. `pause_on_failure`: after this many deaths in a row the job is paused. With `completion`
    CALLBACK a run waits up to `completion_seconds` from its attempt's start, and between two heartbeats no longer than
    `heartbeat_seconds`. `events` says which outcomes go to the event bus. `max_runs` bounds the occurrences that come
    due, `exclude` and `jitter_seconds` shape them (domain.occurrences). `queue_limit` bounds how many runs wait in the
    wait queue with `overlap` QUEUE (None: any number). `after_completion`: None is the default, by which only a one-off
    is removed after its end.
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
    after_completion: AfterCompletion | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Job(JobDefinition):
    """A job as stored. Instants are UTC epoch seconds, `generation` counts from the creation time in milliseconds.

    `changed_at` is when the generation last grew; `created_generation` distinguishes a re-created job from an edited
    one. `revision` grows with every write. `seated`: whether it has a seat in its lane (domain.tenants.seats).
    `paused_at` is when it was last paused, `paused_by` the author, `paused_because` the reason; `resumed_at` is when
    that pause ended, if the schedule was changed since (None: `changed_at` was that moment). `earlier` are the
    definitions before the present one, oldest first; messages on the way may belong to them. `workflow` is the id of
    the workflow that it is a step of, `claimed_at` when it became one. `reserved`: a request is about to replace the
    definition. `expires_at`: a COMPLETED job is removed then (UTC seconds; None: it is not).
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
    seated: bool
    earlier: tuple[Definition, ...] = ()
    workflow: str | None = None
    claimed_at: float | None = None
    reserved: Reservation | None = None
    expires_at: int | None = None

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
    def counts(self) -> bool:
        """Whether it counts towards its tenant's quota: a job that has ended does not."""
        return self.state is not JobState.COMPLETED

    def removal_after(self, ended_at: float, *, died: bool = False) -> int | None:
        """When the job is removed if it ends at `ended_at` (UTC seconds), None if it is not. By default one whose run
        has `died` is not, so that the run can be redriven; and a workflow never is, since its steps refer to it.
        """
        if isinstance(self.target, WorkflowTarget):
            return None
        if self.after_completion is not None:
            after = self.after_completion.delete_after_seconds
        else:
            after = None if died or self.recurring else ONE_OFF_KEPT_SECONDS
        return None if after is None else int(ended_at) + after

    @property
    def lane(self) -> Lane:
        """The lane of its runs: by priority, or `long` if an attempt may take longer than the other lanes allow."""
        longest = max(self.timeout_seconds, self.estimated_seconds or 0)
        return Lane.LONG if longest > SHORT_TIMEOUT_SECONDS else self.priority

    @property
    def bulk(self) -> bool:
        """Whether its runs go through its lane's bulk queue."""
        return not self.seated

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
        """Whether the job has a schedule. A job without a schedule runs only on request."""
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
class Tombstone:
    """A deleted job: when it was deleted (UTC seconds), and its generation then."""

    deleted_at: float
    generation: int = 0


JobSnapshot = Job | Tombstone | None
"""A job as a worker finds it: existing, recently deleted, or unknown."""
