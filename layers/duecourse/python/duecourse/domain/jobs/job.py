"""A job: its owner, schedule, target and policies.

The module also defines the enumerated fields of a job: state, lane, precision, overlap, delivery, completion, events
and missed occurrences.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import StrEnum
from fnmatch import fnmatchcase
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, Final, Protocol, Self

from duecourse.domain.ids import ID_ERROR, ID_PATTERN
from duecourse.domain.instants import DAY_SECONDS
from duecourse.domain.jobs.calendars import Window, copies_of
from duecourse.domain.targets.targets import Failed, Target, WorkflowTarget
from duecourse.limits import MAX_COMPLETION_SECONDS, RESULT_BUCKET, RESULT_PREFIX
from duecourse_schedules import ScheduleError, ScheduleSpec, compile_schedule
from duecourse_schedules.exclusions import ExclusionError
from duecourse_schedules.schedule import MAX_JITTER_SECONDS, Occurrences, occurrences_of

if TYPE_CHECKING:
    from annotated_types import Ge, Le, Lt, MaxLen, MinLen

    from duecourse.domain.declared import (
        Default,
        Doc,
        Each,
        Form,
        Key,
        Like,
        Line,
        Name,
        Needed,
        Numbers,
        Rule,
        Without,
    )
    from duecourse.domain.jobs import rules

DUECOURSE = "duecourse"
"""The author of changes without a request: a pause after failures, or the deletion of a completed job."""

MAX_PRINCIPAL = 256


def author(by: str | None) -> str:
    """Return the author in a record of a request by this principal (None: Duecourse itself)."""
    return DUECOURSE if by is None else by[:MAX_PRINCIPAL]


MAX_NAME, MAX_OWNER, MAX_DESCRIPTION = 256, 128, 500
"""The maximum numbers of characters. Responses about a job, calls ({{job_name}}) and notices contain these texts."""

MAX_FIRINGS = 100
"""The maximum number of runs that one claim enqueues."""

TAG_PATTERN = r"[A-Za-z0-9_.:/=+@-]{1,64}"
TAG_ERROR = "must be 1 to 64 letters (A-Z, a-z), digits or _ . : / = + @ -"

MAX_RUNS = 10_000
"""The maximum of `max_runs`. Up to this number, missed occurrences are counted exactly."""

MAX_PRIORITY = 9
"""The highest priority of runs that wait for a concurrency key."""

MAX_ACTIVE_LIMIT = 100
"""The maximum `active_limit`, the maximum limit of a key, and the maximum burst of a rate. A start reads the records of
up to this many runs in one request (Amazon DynamoDB API Reference, "BatchGetItem": at most 100 items).
"""


class JobState(StrEnum):
    """ACTIVE jobs fire; PAUSED jobs do not. A COMPLETED job has no more occurrences, and its last run has ended."""

    ACTIVE = "ACTIVE"
    PAUSED = "PAUSED"
    COMPLETED = "COMPLETED"


class Lane(StrEnum):
    """A priority with its own queues and workers."""

    HIGH = "high"
    NORMAL = "normal"
    LOW = "low"
    LONG = "long"


class Precision(StrEnum):
    """SECOND: a worker receives the run just after its due second. EXACT: a worker receives the run one second early
    and holds it until it is due.
    """

    SECOND = "second"
    EXACT = "exact"


@dataclass(frozen=True, slots=True, kw_only=True)
class OverlapRule:
    """What happens when a run comes due while another run of the same job is active.

    - `label`: the text that the console shows for the rule.
    - `alone`: at most one run of the job is active. The new run is skipped, unless it `waits` in the wait queue.
    - `only_newest`: when the active run ends, only the newest waiting run starts. The others are skipped.
    - `preempts`: the active run receives a cancellation request.
    - `limits`: the field of a job that may limit its runs: `queue_limit` or `active_limit`.
    - `limit_label`: the text that the console shows for this field.
    """

    label: str
    alone: bool = True
    waits: bool = False
    only_newest: bool = False
    preempts: bool = False
    limits: str | None = None
    limit_label: str | None = None

    @property
    def skips(self) -> bool:
        """Whether the new run is skipped."""
        return self.alone and not self.waits


class Overlap(StrEnum):
    """The overlap rules, by their names in documents, each with its properties (`rule`)."""

    rule: OverlapRule

    def __new__(cls, name: str, *rule: OverlapRule) -> Self:
        """Return the rule of this name."""
        member = str.__new__(cls, name)
        member._value_, (member.rule,) = name, rule
        return member

    SKIP = "skip", OverlapRule(label="Skip the new run")
    QUEUE = (
        "queue",
        OverlapRule(label="Queue the new run", waits=True, limits="queue_limit", limit_label="Maximum waiting runs"),
    )
    NEWEST = "newest", OverlapRule(label="Keep only the newest waiting run", waits=True, only_newest=True)
    REPLACE = "replace", OverlapRule(label="Cancel the active run", waits=True, only_newest=True, preempts=True)
    ALLOW = (
        "allow",
        OverlapRule(label="Run both", alone=False, limits="active_limit", limit_label="Maximum active runs"),
    )


_LIMITED = replace(Overlap.ALLOW.rule, waits=True)


@dataclass(frozen=True, slots=True)
class Concurrency:
    """A limit that runs of several jobs share. Further runs wait for a place.

    A limit that is stored for the key replaces `limit`.
    """

    key: Annotated[
        str,
        Doc("Runs with the same key share the limit. A template, such as crm-{{payload.region}}."),
        Needed("write the key that the runs share, such as crm-{{payload.region}}"),
        Key(),
    ]
    limit: Annotated[
        int,
        Ge(1),
        Le(MAX_ACTIVE_LIMIT),
        Doc("The maximum number of active runs with the key. PUT /v1/limits/{key} replaces it."),
        Needed("write how many runs with the key may be active"),
    ]
    priority: Annotated[int, Ge(0), Le(MAX_PRIORITY), Doc("Waiting runs with a higher number start first.")] = 0


@dataclass(frozen=True, slots=True)
class ResultLocation:
    """The bucket that receives the results. The stage must allow it."""

    bucket: Annotated[
        str,
        Form(RESULT_BUCKET, "must be the name of a bucket: 3 to 63 lowercase letters, digits, . and -"),
        Needed("write the name of the bucket"),
        Rule(rules.bucket_allowed),
    ]
    prefix: Annotated[
        str,
        Form(RESULT_PREFIX, "must be folders of letters, digits and _ . = -, each followed by a slash: reports/daily/"),
        Doc(
            "The prefix of the objects' keys: folders, such as reports/daily/. It must start with your prefix in this "
            "bucket, which is the default."
        ),
        Default(rules.own_prefix),
        Rule(rules.prefix_allowed),
    ]


@dataclass(frozen=True, slots=True)
class Rate:
    """A rate that attempts of several jobs share. Further runs wait.

    A rate that is stored for the key replaces these values.
    """

    key: Annotated[
        str,
        Doc("Attempts with the same key share the rate. A template, such as crm-{{payload.region}}."),
        Needed("write the key that the runs share, such as crm-{{payload.region}}"),
        Key(),
    ]
    per_minute: Annotated[
        int,
        Ge(1),
        Le(30_000),  # 500 starts per second, half of the writes that an item can take
        Doc("The number of attempts that start per minute."),
        Needed("write how many attempts with the key may start per minute"),
    ]
    burst: Annotated[
        int, Ge(1), Le(MAX_ACTIVE_LIMIT), Doc("The maximum number of attempts that start at once."), Default(1)
    ]


MAX_OPEN_SECONDS = 900
"""The longest time for which a circuit breaker opens (seconds)."""


@dataclass(frozen=True, slots=True)
class Breaker:
    """A circuit breaker that attempts of several jobs share. While the target fails, runs wait.

    Settings that are stored for the key replace these values.
    """

    key: Annotated[
        str | None,
        Doc(
            "Attempts with the same key share the breaker. A template. Default: the host of an HTTP target, and its "
            "connector."
        ),
        Key(),
        Default(None),
    ]
    failures: Annotated[
        int,
        Ge(1),
        Le(100),
        Doc("The number of failed attempts in a row that open the circuit breaker."),
        Needed("write after how many failed attempts in a row it opens"),
    ]
    open_seconds: Annotated[
        int,
        Ge(1),
        Le(MAX_OPEN_SECONDS),
        Doc("How long the circuit breaker is open. If the first attempt after that fails, it opens for twice as long."),
        Default(60),
    ]


class SharedLimit(Protocol):
    """A limit that the runs with the same key share. `key` is a template as in Concurrency (None: a default)."""

    @property
    def key(self) -> str | None:
        """The template, or the key of a stored limit."""


TIMED_GATES: Mapping[str, str] = MappingProxyType({"rate": "rate", "breaker": "circuit breaker"})
"""The fields of a job that can make its runs wait until a known instant, each with the words for it. Each sets
the limit of a gate.
"""


class Completion(StrEnum):
    """How a run ends. RESPONSE: with the response to its call. CALLBACK: the run waits until a callback with its token
    completes it. END: it waits until the work that its call has started in an AWS service ends.
    """

    RESPONSE = "response"
    CALLBACK = "callback"
    END = "end"


class EventKind(StrEnum):
    """The outcomes that a job can publish to the event bus. LATE: runs that started, or were skipped, after their grace
    period. DEADLINES: runs that missed a deadline that is announced.
    """

    DEATHS = "deaths"
    FAILURES = "failures"
    LATE = "late"
    DEADLINES = "deadlines"
    ALL = "all"


class DeadlineEvent(StrEnum):
    """The event that must happen by a deadline: the start or the end of a run."""

    START = "start"
    FINISH = "finish"


class OnDeadline(StrEnum):
    """What happens to a run that misses a deadline. In both cases, the missed deadline is announced."""

    NOTIFY = "notify"
    CANCEL = "cancel"


@dataclass(frozen=True, slots=True)
class Deadline:
    """A run must have reached `event` by `at`: this many seconds after it was due, or the first such time of day
    (`06:00`, in the job's time zone) after it was due. Otherwise `then` happens.
    """

    event: DeadlineEvent
    at: int | str
    then: OnDeadline = OnDeadline.NOTIFY

    def instant(self, due: int, timezone: str) -> int | None:
        """Return the instant (UTC seconds) of the deadline of the run that is due at `due`. None: there is no such time
        of day again. Raises ScheduleError for a time zone that no longer exists.
        """
        if isinstance(self.at, int):
            return due + self.at
        hour, _, minute = self.at.partition(":")
        return compile_schedule(ScheduleSpec(f"{int(minute)} {int(hour)} * * *", timezone)).next(due)


class NoticeCause(StrEnum):
    """The cause of a notice. LATE: a run started after its grace period. MISSED: a run was skipped because it was too
    late. RECOVERED: the first success after a dead run. PAUSED: Duecourse paused the job. DEADLINE: a run missed a
    deadline. AT_RISK: a run is predicted to miss the deadline for its end. REPORT: the report of a run (ReportTarget).
    TEST: only on demand.
    """

    DEAD = "dead"
    LATE = "late"
    MISSED = "missed"
    RECOVERED = "recovered"
    PAUSED = "paused"
    DEADLINE = "deadline"
    AT_RISK = "at_risk"
    REPORT = "report"
    TEST = "test"

    @property
    def digested(self) -> bool:
        """Whether a digest replaces further notices of this cause. A report is a message of its own, and its job
        determines how often it comes.
        """
        return self is not NoticeCause.REPORT


class NoticeFormat(StrEnum):
    """The format of a notice as a payload."""

    JSON = "json"
    SLACK = "slack"
    TEAMS = "teams"


@dataclass(frozen=True, slots=True)
class NotifyTarget:
    """The job whose run delivers a notice as its payload."""

    job: Annotated[str, Form(ID_PATTERN, ID_ERROR)]
    format: Annotated[NoticeFormat, Doc("The format of the payload.")] = NoticeFormat.JSON


@dataclass(frozen=True, slots=True)
class NotifyRule:
    """Notices that are delivered to one target."""

    on: Annotated[tuple[NoticeCause, ...], MinLen(1), MaxLen(len(NoticeCause) - 1), Each(Without("test"))]
    to: NotifyTarget


class ThenOn(StrEnum):
    """The end of a run after which another job runs. ANY: whether it succeeded, died or was cancelled."""

    SUCCEEDED = "succeeded"
    DEAD = "dead"
    ANY = "any"


@dataclass(frozen=True, slots=True)
class Then:
    """Another job, which runs after the runs of this one."""

    job: Annotated[str, Form(ID_PATTERN, ID_ERROR)]
    on: Annotated[ThenOn, Doc("After which end. any: succeeded, dead or cancelled.")] = ThenOn.SUCCEEDED


class Delivery(StrEnum):
    """The delivery guarantee of a job. With AT_MOST_ONCE, only a redrive makes a second attempt, even if the worker of
    the first attempt died.
    """

    AT_LEAST_ONCE = "at_least_once"
    AT_MOST_ONCE = "at_most_once"


class MissedMode(StrEnum):
    """The policy for occurrences that were not enqueued in time."""

    SKIP = "skip"
    RUN_ONCE = "run_once"
    RUN_ALL = "run_all"


@dataclass(frozen=True, slots=True)
class MissedPolicy:
    """The policy for occurrences that were not enqueued in time.

    An occurrence is missed if it is not enqueued within `grace_seconds` after it was due. A normal start is up to two
    seconds late and must not count as missed. `max_missed` bounds `run_all`, so that one claim covers all missed
    occurrences, and the enqueued runs depend only on the cursor.
    """

    mode: Annotated[MissedMode, Name("policy")] = MissedMode.RUN_ONCE
    grace_seconds: Annotated[int, Ge(5), Le(DAY_SECONDS)] = 60
    max_missed: Annotated[int, Ge(1), Le(MAX_FIRINGS)] = 10


class Backoff(StrEnum):
    """The growth of the delay's upper bound with the number of failed attempts."""

    EXPONENTIAL = "exponential"
    LINEAR = "linear"
    FIXED = "fixed"


def _above_minimum(longest: float, given: Mapping[str, Any], _stage: object) -> str | None:
    """Compare the bounds of the wait between two attempts."""
    low = given.get("min_seconds")
    if low is None or longest >= low:
        return None
    return f"must not be less than min_seconds ({low:g}); the default is 3600"


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """The number of attempts, the wait between them, and the failures that are retried.

    The delay after attempt n is between `min_seconds` and a bound b(n). Examples for `min_seconds` = 2:

    - exponential: b(n) = min_seconds x 2^n: 4, 8, 16, 32 …
    - linear: b(n) = min_seconds x (n + 1): 4, 6, 8, 10 …
    - fixed: b(n) = min_seconds: 2, 2, 2 …

    b(n) never exceeds `max_seconds`. The delay is drawn at random between the two bounds ("full jitter", AWS
    Architecture Blog, Exponential Backoff And Jitter), so that runs that failed together do not retry together. `fixed`
    has no jitter.

    `on` lists the failures that are retried (None: the target's default). `never` lists the failures that are not
    retried. No retry is planned later than `max_age_seconds` after the run was due or was last redriven.
    """

    max_attempts: Annotated[int, Ge(1), Le(100)] = 4  # after 100 failures, another attempt is unlikely to succeed
    backoff: Backoff = Backoff.EXPONENTIAL
    min_seconds: Annotated[float, Ge(0), Le(DAY_SECONDS)] = 2
    max_seconds: Annotated[float, Ge(0), Le(DAY_SECONDS), Rule(_above_minimum)] = 3600
    on: Annotated[
        tuple[str, ...] | None,
        MaxLen(20),  # each entry is compared with each failure; a pattern covers many codes
        Doc("Statuses (503), classes of statuses (5xx), error codes (timeout) or patterns (Throttling*)."),
        Each(
            Form(
                r"[A-Za-z0-9_.*-]{1,64}",
                "must be a status (503), a class of them (5xx), a code (timeout) or a pattern (Throttling*)",
            ),
            Numbers(0),
        ),
    ] = None
    never: Annotated[tuple[str, ...], Like("on")] = ()
    max_age_seconds: Annotated[int | None, Ge(1), Le(30 * DAY_SECONDS)] = None

    def worth(self, failed: Failed) -> bool:
        """Return whether this failure is retried. It never is if the target forbids it."""
        if failed.forbidden or any(_names(word, failed.code) for word in self.never):
            return False
        return failed.retryable if self.on is None else any(_names(word, failed.code) for word in self.on)

    def delay(self, attempt: int, draw: float, retry_after: float | None = None) -> float:
        """Return the seconds to wait after the failed attempt `attempt` (1 …). `draw` is a random number in [0, 1).

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
    """Return whether an entry of a policy matches a failure's code: `5xx` and `503` match `http.503`."""
    if len(word) == 3 and word.endswith("xx"):
        return code.startswith(f"http.{word[0]}")
    return fnmatchcase(code, word) or code == f"http.{word}"


SHORT_TIMEOUT_SECONDS = 90
"""The longest attempt in the lanes high, normal and low. Longer attempts run in the `long` lane."""

COMPLETION_SECONDS = 86_400
"""The default time that a run waits for its callback."""

LONG_TIMEOUT_SECONDS = 840
"""The longest attempt. A Lambda invocation lasts at most 15 minutes, and a worker needs time to record the end."""


UNREAD: Final = object()
"""A placeholder for the payload of a job that was read without it, because the payload is a separate item."""

ONE_OFF_KEPT_SECONDS = DAY_SECONDS
"""How long a job with a single occurrence is kept after its end."""


@dataclass(frozen=True, slots=True)
class AfterCompletion:
    """What happens to a job that has ended.

    The minimum allows for clocks that differ, and for clients that read how the job ended. The clean-up removes ended
    jobs after the maximum in any case.
    """

    delete_after_seconds: Annotated[
        int | None,
        Ge(60),
        Le(90 * DAY_SECONDS),
        Doc("The time from the end of the job to its removal; null: the job is not removed."),
        Needed("write a number of seconds, or null for never"),
        Default(...),
    ] = None


REMEMBERED_DEFINITIONS = 20
REMEMBERED_SECONDS = 15 * DAY_SECONDS
"""How many earlier definitions of a schedule are kept, and for how long (seconds). A lane keeps a message for 14 days.
"""


@dataclass(frozen=True, slots=True)
class Definition:
    """One version of a job's schedule: its generation, and the start of its validity (UTC seconds). It is valid until
    the next definition.
    """

    generation: int
    since: float


@dataclass(frozen=True, slots=True)
class Reservation:
    """A request's reservation of a job that it replaces in several writes.

    No other request changes the job's definition until `until` (UTC seconds). `by` is the digest of the request; a
    repetition of the request has the same digest.
    """

    by: str
    until: float


MAX_SPREAD_MINUTES = 60


@dataclass(frozen=True, slots=True)
class Spread:
    """The range of minutes after each occurrence from which a quiet minute is chosen, and the chosen minute.

    In a stored job, `offset_minutes` is always set.
    """

    within_minutes: Annotated[
        int, Ge(2), Le(MAX_SPREAD_MINUTES), Doc("The number of minutes, including that of the occurrence.")
    ]
    offset_minutes: Annotated[
        int | None,
        Ge(0),
        Lt(MAX_SPREAD_MINUTES),
        Doc(
            "The delay of each run. If it is missing, it is chosen when the job is created, and again when its "
            "schedule or `within_minutes` changes."
        ),
        Rule(rules.is_within),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CommonDefinition:
    """The fields that a job and a workflow share.

    - `exclude` also contains copies of calendars, and a planned pause.
    - `queue_limit`: with `overlap` QUEUE, the maximum number of runs in the wait queue (None: no limit).
    - `active_limit`: with `overlap` ALLOW, the maximum number of active runs (None: no limit). Further runs wait.
    """

    name: Annotated[str, MaxLen(MAX_NAME), Line()] = ""
    owner: Annotated[str, MaxLen(MAX_OWNER), Doc("The team or person responsible for the job."), Line()] = ""
    description: Annotated[str, MaxLen(MAX_DESCRIPTION), Doc("The purpose of the job, in one line."), Line()] = ""
    runbook_url: Annotated[
        str | None,
        Doc("The address of the instructions for failures."),
    ] = None
    schedule: ScheduleSpec
    exclude: tuple[Window, ...] = ()
    jitter_seconds: Annotated[int, Ge(0), Le(MAX_JITTER_SECONDS)] = 0
    spread: Annotated[
        Spread | None,
        Doc("Runs the job at a quiet minute after each occurrence, according to the upcoming load."),
        Rule(rules.fits_into_an_hour),
    ] = None
    max_runs: Annotated[int | None, Ge(1), Le(MAX_RUNS)] = None
    ping_url: Annotated[
        str | None,
        Doc(
            "The address of an external monitor, which is requested (GET) after each successful run.",
            "https://hc.example.com/ping/3f1c",
        ),
    ] = None
    payload: Annotated[
        Any, Doc("Any JSON up to 200 KB, sent to the target; its strings are templates ({{due_at}}).")
    ] = None
    priority: Annotated[Lane, Without("long")] = Lane.NORMAL
    # a run is skipped if it has not started within this time: half of the 14 days for which a lane keeps a message
    start_deadline_seconds: Annotated[int | None, Ge(1), Le(7 * DAY_SECONDS)] = None
    start_within_seconds: Annotated[
        int | None,
        Like("start_deadline_seconds"),
        Doc("A notice is sent if a run has not started within this time after it was due."),
    ] = None
    finish_by: Annotated[
        int | str | None,
        Doc(
            "A notice is sent if a run has not finished by then: this many seconds after it was due, or at the next "
            "such time of day (06:00, in the time zone)."
        ),
    ] = None
    on_deadline: Annotated[
        OnDeadline,
        Doc("Whether a run that misses one of these deadlines is also cancelled."),
        Rule(rules.has_deadline),
    ] = OnDeadline.NOTIFY
    # after each dead run, twice this number of records are read, to check whether the runs died in a row
    pause_on_failure: Annotated[int | None, Ge(1), Le(100)] = None
    missed: MissedPolicy = field(default_factory=MissedPolicy)
    overlap: Overlap = Overlap.SKIP
    queue_limit: int | None = None
    active_limit: int | None = None
    events: Annotated[tuple[EventKind, ...], MaxLen(5), Doc("The outcomes that are sent to the event bus.")] = ()
    notify: Annotated[
        tuple[NotifyRule, ...],
        MaxLen(10),  # each rule causes another run for each notice
        Doc("The notices about the job, and the jobs that deliver them."),
    ] = ()
    then: Annotated[
        tuple[Then, ...],
        MaxLen(10),  # each rule causes another run for each run
        Doc("The jobs that run when a run of this job has ended. Their payload has its result."),
    ] = ()
    # each tag is an item: an edit of all tags writes 40 of the 100 items that a transaction may have
    tags: Annotated[
        tuple[str, ...],
        MaxLen(20),
        Each(Form(TAG_PATTERN, TAG_ERROR)),
    ] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class JobDefinition(CommonDefinition):
    """The fields that a job's owner sets.

    A field added here is stored and returned under its name, and can be posted (api/bodies/posted.py).

    - `completion_seconds`, `heartbeat_seconds`: with `completion` CALLBACK or END, the longest wait from the start of
      the attempt, and the longest interval between two heartbeats.
    - `expect_every`: the schedule of the job is the rate of this interval, whose anchor is the last ping.
    """

    target: Target
    expect_every: Annotated[
        int | None,
        Ge(60),
        Le(31 * DAY_SECONDS),
        Doc(
            "The longest time between two pings (POST /v1/jobs/{id}/ping). The job runs if no ping arrives within it. "
            "Its schedule must be null."
        ),
        Rule(rules.sets_the_schedule),
    ] = None
    timeout_seconds: Annotated[int, Ge(1), Le(LONG_TIMEOUT_SECONDS)] = 30
    # determines the lane and the estimated cost of a backfill
    estimated_seconds: Annotated[int | None, Ge(1), Le(DAY_SECONDS)] = None
    completion: Completion = Completion.RESPONSE
    # the called program needs time to start; a month is sufficient for work by people
    completion_seconds: Annotated[
        int, Ge(10), Le(MAX_COMPLETION_SECONDS), Rule(rules.needs_a_wait), Rule(rules.above_timeout), Default(None)
    ] = COMPLETION_SECONDS
    # each heartbeat costs a request and a write, and a slow request must not end the run
    heartbeat_seconds: Annotated[int | None, Ge(5), Le(DAY_SECONDS), Rule(rules.needs_a_wait)] = None
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    precision: Annotated[Precision, Default(lambda _given, stage: stage.default_precision.value)] = Precision.SECOND
    concurrency: Annotated[
        Concurrency | None,
        Doc("The limit that the runs share with those of other jobs."),
        Rule(rules.may_wait_for_a_place),
    ] = None
    results: Annotated[ResultLocation | None, Doc("The bucket for the results; null: the stage keeps them.")] = None
    rate: Annotated[
        Rate | None, Doc("The rate that the attempts share with those of other jobs."), Rule(rules.may_wait_for_a_call)
    ] = None
    breaker: Annotated[
        Breaker | None,
        Doc("The circuit breaker that the attempts share with those of other jobs."),
        Rule(rules.may_wait_for_a_call),
        Rule(rules.has_a_key),
    ] = None
    delivery: Delivery = Delivery.AT_LEAST_ONCE
    after_completion: Annotated[
        AfterCompletion | None,
        Doc(
            "For a job that ends: its schedule is at(...), or it has end or max_runs. Default: a job with the schedule "
            "at(...) is removed after one day unless its run is DEAD; others are not removed."
        ),
        Rule(rules.ends),
    ] = None
    idempotency_key: Annotated[str | None, Doc("A template; the same for every attempt of a run.")] = None

    @property
    def notified_jobs(self) -> frozenset[str]:
        """The ids of the jobs that deliver the notices."""
        return frozenset(rule.to.job for rule in self.notify)

    @property
    def offset_seconds(self) -> int:
        """The time from each occurrence to the minute that `spread` chose (seconds)."""
        return 0 if self.spread is None else 60 * (self.spread.offset_minutes or 0)

    @property
    def calendars(self) -> tuple[str, ...]:
        """The ids of the calendars that the job uses."""
        return tuple(each.id for each in copies_of(self.exclude))


@dataclass(frozen=True, slots=True, kw_only=True)
class Job(JobDefinition):
    """A job as stored. Instants are UTC epoch seconds. `generation` starts at the creation time in milliseconds.

    - `changed_at`: when the generation last increased.
    - `created_generation`: distinguishes a re-created job from an edited one.
    - `revision`: increases with every write.
    - `seated`: whether the job has a seat in its lane (domain.tenants.seats).
    - `paused_at`, `paused_by`, `paused_because`: the time, author and reason of the last pause. `paused_with`: the tag
      of a pause of many jobs, or ALL_JOBS; None for a pause of this job alone.
    - `paused_until`: when that pause ends automatically (UTC seconds; None: it has no planned end). Dispatch makes the
      job ACTIVE shortly after (1.0.0: before), so `is_paused` also compares the time.
    - `resumed_at`: the end of that pause, if the schedule has changed since (None: the pause ended at `changed_at`).
    - `earlier`: the previous definitions, oldest first. Messages in the queues may belong to them.
    - `workflow`, `claimed_at`: the id of the workflow that has this job as a step, and when the job became a step.
    - `reserved`: set while a request replaces the definition.
    - `expires_at`: when a COMPLETED job is deleted (UTC seconds; None: never).
    - `created_by`: the author of its creation, as long as the job itself is the record of it (None: the creation has a
      change record).
    - `failing`: the run with which the job began to fail (None: it succeeded since). Set if `notify` has RECOVERED.
    - `shadow_since`: when the job became a shadow of another scheduler (None: it is not one). A shadow job is PAUSED
      until it is promoted (domain.jobs.shadow).
    - `waits`: runs of a backfill may be in a wait queue from which no scheduled run would start them.
    - `suspended_at`: when the job's tenant was suspended (None: it is not suspended). Its runs do not start during the
      suspension.
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
    paused_with: str | None = None
    paused_until: int | None = None
    resumed_at: float | None = None
    revision: int = 1
    seated: bool
    earlier: tuple[Definition, ...] = ()
    workflow: str | None = None
    claimed_at: float | None = None
    reserved: Reservation | None = None
    expires_at: int | None = None
    created_by: str | None = field(default=None, compare=False)
    suspended_at: float | None = None
    failing: str | None = None
    shadow_since: float | None = None
    waits: bool = False

    def redefined(self, now: float) -> Job:
        """Return the job with a new generation, valid from `now` on (UTC seconds).

        Called after a change of the schedule or of the job's state. The times of generations never decrease, even if
        clocks differ.
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
        """Return the time when a definition was replaced (UTC seconds), or None for the current one. Runs that it had
        enqueued for later were withdrawn at that time.
        """
        later = (*self.earlier, Definition(self.generation, self.changed_at))
        return min((each.since for each in later if each.generation > generation), default=None)

    @property
    def version(self) -> str:
        """A value that changes with every write. Two reads with the same version returned the same job."""
        return f"{self.generation}-{self.revision}"

    def is_paused(self, now: float) -> bool:
        """Return whether a pause of the job covers `now` (UTC seconds)."""
        if self.paused_until is None or now >= self.paused_until:
            return self.state is JobState.PAUSED and self.paused_until is None
        return self.state is not JobState.COMPLETED

    @property
    def pause_ends_at(self) -> int | None:
        """The time at which the current pause ends automatically (UTC seconds); None if the job is not paused, or if
        its pause has no planned end.
        """
        return self.paused_until if self.state is JobState.PAUSED else None

    @property
    def counts(self) -> bool:
        """Whether the job counts towards its tenant's quota. A COMPLETED job does not."""
        return self.state is not JobState.COMPLETED

    def removal_after(self, ended_at: float, *, died: bool = False) -> int | None:
        """Return the time when a job that ends at `ended_at` (UTC seconds) is deleted, or None if it is kept.

        By default a job whose run `died` is kept, so that the run can be redriven. A workflow is always kept, since its
        steps refer to it.
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
        """The lane of the job's runs: its priority, or `long` if an attempt may take longer than the other
        lanes allow.
        """
        longest = max(self.timeout_seconds, self.estimated_seconds or 0)
        return Lane.LONG if longest > SHORT_TIMEOUT_SECONDS else self.priority

    @property
    def bulk(self) -> bool:
        """Whether the job's runs go through the bulk queue of its lane."""
        return not self.seated

    @property
    def deadlines(self) -> tuple[Deadline, ...]:
        """The deadlines of the job's runs that messages check. Runs of a workflow step and runs of a backfill have
        none.
        """
        given = ((DeadlineEvent.START, self.start_within_seconds), (DeadlineEvent.FINISH, self.finish_by))
        return tuple(Deadline(event, at, self.on_deadline) for event, at in given if at is not None)

    @property
    def notices_wanted(self) -> frozenset[NoticeCause]:
        """The causes of the notices that the rules in `notify` deliver."""
        return frozenset(cause for rule in self.notify for cause in rule.on)

    def notified_of(self, cause: NoticeCause) -> tuple[NotifyTarget, ...]:
        """Return the targets of notices with this cause, each once."""
        return tuple(dict.fromkeys(rule.to for rule in self.notify if cause in rule.on))

    @property
    def attempts_allowed(self) -> int:
        """The maximum number of attempts of a run."""
        return 1 if self.delivery is Delivery.AT_MOST_ONCE else self.retry.max_attempts

    @property
    def recurring(self) -> bool:
        """Whether the job may run more than once. This is false only for one-off jobs."""
        return self.occurrences().schedule.recurring

    @property
    def rule(self) -> OverlapRule:
        """The rule for a run that comes due while others are active. If the number of active runs is limited, further
        runs wait.
        """
        return self.overlap.rule if self.active_limit is None else _LIMITED

    @property
    def needs_lock(self) -> bool:
        """Whether the job's runs take a lock: only recurring jobs that forbid or limit overlap do."""
        return (self.overlap.rule.alone or self.active_limit is not None) and self.recurring

    @property
    def scheduled(self) -> bool:
        """Whether the job has a schedule. A job without a schedule runs only on demand."""
        return bool(self.schedule.expression)

    def occurrences(self) -> Occurrences:
        """Return the job's compiled occurrences (from a cache). Raises ScheduleError or ExclusionError."""
        return occurrences_of(
            self.tenant,
            self.id,
            self.schedule,
            exclude=self.exclude,
            jitter_seconds=self.jitter_seconds,
            offset_seconds=self.offset_seconds,
        )

    def ends_by(self, instant: int) -> bool:
        """Return whether the job's schedule may have no occurrence after `instant` (UTC seconds). A schedule whose next
        occurrence cannot be found has not ended.
        """
        with suppress(ScheduleError, ExclusionError):
            return self.scheduled and (self.max_runs is not None or self.following(instant) is None)
        return False

    def following(self, after: int) -> int | None:
        """Return the first occurrence strictly after `after` (UTC seconds). The schedule is compiled only here, since
        most starts do not need it.
        """
        return self.occurrences().next(after)


@dataclass(frozen=True, slots=True)
class Tombstone:
    """A deleted job: the time of its deletion (UTC seconds), and its generation at that time."""

    deleted_at: float
    generation: int = 0


JobSnapshot = Job | Tombstone | None
"""A job as a worker reads it: present, recently deleted, or unknown."""
