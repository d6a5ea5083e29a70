"""The bodies of POST /v1/jobs and PUT /v1/workflows/<id>.

The fields that jobs and workflows share are in `ScheduleBody` and `DefinitionBody`.
"""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
)
from pydantic import Tag as Variant

from duecourse.api.bodies.models import LINE, UNIQUE, Body, Instant, Whole, each_once, no_controls, refuse
from duecourse.api.bodies.target_bodies import HttpTargetBody, TargetBody, Url, rules_of, url_problem
from duecourse.domain.ids import ID_PATTERN, is_id
from duecourse.domain.instants import DAY_SECONDS
from duecourse.domain.jobs.calendars import MAX_CALENDARS
from duecourse.domain.jobs.cursor import MAX_FIRINGS
from duecourse.domain.jobs.job import (
    COMPLETION_SECONDS,
    LONG_TIMEOUT_SECONDS,
    MAX_ACTIVE_LIMIT,
    MAX_OPEN_SECONDS,
    MAX_PER_MINUTE,
    MAX_PRIORITY,
    MAX_QUEUE_LIMIT,
    MAX_RUNS,
    MAX_SPREAD_MINUTES,
    EventKind,
    Overlap,
    ResultLocation,
)
from duecourse.domain.jobs.result_buckets import bucket_refusal, prefix_of, prefix_refusal
from duecourse.domain.runs.rendering import (
    DOT_SEGMENTS,
    MAX_CONCURRENCY_KEY,
    MAX_KEY_CHARACTERS,
    check_concurrency_key,
)
from duecourse.domain.targets.template import (
    IDEMPOTENCY_NAMES,
    check_template,
)
from duecourse.domain.tenants.quota import (
    MAX_AGE_SECONDS,
    MAX_ATTEMPTS,
    MAX_BACKOFF_SECONDS,
    MAX_COMPLETION_SECONDS,
    MAX_DEATHS_IN_A_ROW,
    MAX_DELETE_AFTER_SECONDS,
    MAX_DESCRIPTION,
    MAX_ESTIMATED_SECONDS,
    MAX_EXPRESSION,
    MAX_FINISH_SECONDS,
    MAX_GRACE_SECONDS,
    MAX_HEARTBEAT_SECONDS,
    MAX_NAME,
    MAX_NOTIFY,
    MAX_OWNER,
    MAX_RETRY_WORDS,
    MAX_RUNBOOK_URL,
    MAX_START_DEADLINE_SECONDS,
    MAX_TAGS,
    MAX_ZONE_NAME,
    MIN_COMPLETION_SECONDS,
    MIN_DELETE_AFTER_SECONDS,
    MIN_GRACE_SECONDS,
    MIN_HEARTBEAT_SECONDS,
)
from duecourse.domain.workflows.check import DEADLINE_SECONDS, MAX_DIRECT, MAX_STEPS
from duecourse.limits import RESULT_BUCKET, RESULT_PREFIX
from duecourse_schedules import ScheduleError, ScheduleSpec, compile_schedule
from duecourse_schedules.exclusions import MAX_EXCLUSION_CHARACTERS, MAX_EXCLUSIONS
from duecourse_schedules.packed import PREFIX
from duecourse_schedules.schedule import MAX_JITTER_SECONDS, MAX_SCHEDULES, joined

_FORMS = (
    "Cron with five fields, or six with seconds first; names such as @daily; rate(5 minutes); at(2026-12-31T09:00:00); "
    "EventBridge's cron(...); an ISO-8601 instant; R/start/period."
)

Expression = Annotated[
    str,
    Field(
        min_length=1,
        max_length=MAX_EXPRESSION,
        description=_FORMS,
        examples=["0 9 * * 1-5", "rate(5 minutes)", "at(2026-12-31T09:00:00)"],
    ),
]


SCHEDULES_TEXT = (
    f"{_FORMS} A list: up to {MAX_SCHEDULES} of these; an instant that several of them produce is one occurrence."
)


def _form(value: Any) -> str:
    return "list" if isinstance(value, list) else "text"


Schedules = Annotated[
    Annotated[Expression, Variant("text")]
    | Annotated[
        list[Expression],
        Field(min_length=1, max_length=MAX_SCHEDULES, json_schema_extra=UNIQUE),
        Variant("list"),
    ],
    Discriminator(_form),
]
"""One schedule, or several."""


def _no_calendar(text: str) -> str:
    if text.startswith(PREFIX):
        raise refuse("is not a time; to exclude the days of a calendar, set the field calendar to its id")
    return text


Excluded = Annotated[str, Field(min_length=1, max_length=64), AfterValidator(_no_calendar)]


def _short_exclude(entries: list[str]) -> list[str]:
    count = sum(map(len, entries))
    if count > MAX_EXCLUSION_CHARACTERS:
        remedy = f"at most {MAX_EXCLUSION_CHARACTERS} are allowed; put the entries into a calendar"
        raise refuse(f"has {count} characters in total; {remedy}")
    return entries


def _calendar_id(text: str) -> str:
    if not is_id(text):
        raise refuse("must be a calendar's id: 1 to 64 letters (A-Z, a-z), digits, - or _")
    return text


CalendarId = Annotated[
    str, Field(json_schema_extra={"pattern": f"^{ID_PATTERN}$"}, examples=["de-bank"]), AfterValidator(_calendar_id)
]

CalendarIds = Annotated[
    Annotated[CalendarId, Variant("text")]
    | Annotated[
        list[CalendarId],
        Field(min_length=1, max_length=MAX_CALENDARS, json_schema_extra=UNIQUE),
        AfterValidator(each_once),
        Variant("list"),
    ],
    Discriminator(_form),
]
"""One calendar, or several."""


class ScheduleBody(Body):
    """The schedule of a job or workflow: when its occurrences are due."""

    model_config = ConfigDict(defer_build=True)  # only its subclasses validate values

    schedule: Annotated[
        Schedules | None,
        Field(description=f"{SCHEDULES_TEXT} Null: the job runs only on demand."),
    ]
    timezone: Annotated[
        str,
        Field(min_length=1, max_length=MAX_ZONE_NAME, description="An IANA zone.", examples=["UTC", "Europe/Berlin"]),
    ] = "UTC"
    dst_gap: Literal["next", "skip"] = "next"
    dst_fold: Literal["first", "second", "both"] = "first"
    anchor: Instant | None = None
    start: Instant | None = None
    end: Instant | None = None
    exclude: Annotated[
        list[Excluded],
        Field(
            max_length=MAX_EXCLUSIONS,
            description="Times without runs: instants, dates, ranges of dates (2026-12-24/2027-01-06), windows between "
            "two instants, and cron expressions (* * * * SAT,SUN). If a window is written with /catch_up, one "
            f"occurrence at its end replaces those in it. At most {MAX_EXCLUSION_CHARACTERS} characters.",
        ),
        AfterValidator(_short_exclude),
    ] = Field(default_factory=list)
    calendar: Annotated[
        CalendarIds | None,
        Field(
            description="The id of a calendar whose days are also excluded, or a list of up to "
            f"{MAX_CALENDARS} ids. A day that one of the calendars excludes is excluded."
        ),
    ] = None
    on_excluded: Annotated[
        Literal["skip", "previous", "next"],
        Field(
            description="On an excluded day: skip the occurrence, or move it to the previous or next day that is not "
            "excluded."
        ),
    ] = "skip"


Line = Annotated[str, Field(max_length=MAX_NAME, json_schema_extra=LINE), AfterValidator(no_controls)]
TAG_PATTERN = r"[A-Za-z0-9_.:/=+@-]{1,64}"
Tag = Annotated[str, Field(pattern=f"^{TAG_PATTERN}$")]


def _runbook_url(text: str) -> str:
    if re.fullmatch(RUNBOOK_URL, text) is None:
        raise refuse("must be an address that starts with https:// or http:// and has no spaces")
    return text


RUNBOOK_URL = r"https?://[!-~]+"
RunbookUrl = Annotated[
    str,
    Field(max_length=MAX_RUNBOOK_URL, json_schema_extra={"pattern": f"^{RUNBOOK_URL}$"}),
    AfterValidator(_runbook_url),
]


class MissedBody(Body):
    """The policy for occurrences that were not enqueued in time."""

    policy: Literal["skip", "run_once", "run_all"] = "run_once"
    grace_seconds: Annotated[Whole, Field(ge=MIN_GRACE_SECONDS, le=MAX_GRACE_SECONDS)] = 60
    max_missed: Annotated[Whole, Field(ge=1, le=MAX_FIRINGS)] = 10


class QueueBody(Body):
    """Runs wait in the wait queue, up to this number."""

    queue: Annotated[Whole, Field(ge=1, le=MAX_QUEUE_LIMIT)]


class AllowBody(Body):
    """Up to this number of runs are active at a time. Further runs wait in the wait queue."""

    allow: Annotated[Whole, Field(ge=1, le=MAX_ACTIVE_LIMIT)]


OVERLAP_BODIES: dict[str, type[Body]] = {"queue": QueueBody, "allow": AllowBody}


def _overlap_form(value: Any) -> str:
    if isinstance(value, str):
        return "rule"
    return "allow" if isinstance(value, AllowBody) or (isinstance(value, dict) and "allow" in value) else "queue"


if TYPE_CHECKING:
    OverlapWord = str
else:
    OverlapWord = Literal[tuple(each.value for each in Overlap)]

OverlapBody = Annotated[
    Annotated[OverlapWord, Variant("rule")]
    | Annotated[QueueBody, Variant("queue")]
    | Annotated[AllowBody, Variant("allow")],
    Discriminator(_overlap_form),
]


def _template_key(key: str) -> str:
    if not (key.isascii() and key.isprintable()):
        raise refuse("must be printable ASCII")
    if key in DOT_SEGMENTS:
        raise refuse("must not be only one or two dots, because the path of a limit cannot contain it; choose a name")
    if problems := check_concurrency_key(key):
        raise refuse("; ".join(problems[:5]))
    return key


TemplateKey = Annotated[
    str,
    Field(min_length=1, max_length=MAX_CONCURRENCY_KEY, json_schema_extra={"pattern": "^[ -~]*$"}),
    AfterValidator(_template_key),
]
"""A template that names a group of runs by their payloads."""


class ConcurrencyBody(Body):
    """A limit that runs of several jobs share. Further runs wait for a place."""

    key: Annotated[
        TemplateKey,
        Field(description="Runs with the same key share the limit. A template, such as crm-{{payload.region}}."),
    ]
    limit: Annotated[
        Whole,
        Field(
            ge=1,
            le=MAX_ACTIVE_LIMIT,
            description="The maximum number of active runs with the key. PUT /v1/limits/{key} replaces it.",
        ),
    ]
    priority: Annotated[
        Whole, Field(ge=0, le=MAX_PRIORITY, description="Waiting runs with a higher number start first.")
    ] = 0


class SpreadBody(Body):
    """The range of minutes after each occurrence from which a quiet minute is chosen, and the chosen minute."""

    within_minutes: Annotated[
        Whole,
        Field(ge=2, le=MAX_SPREAD_MINUTES, description="The number of minutes, including that of the occurrence."),
    ]
    offset_minutes: Annotated[
        Whole | None,
        Field(
            ge=0,
            lt=MAX_SPREAD_MINUTES,
            description="The delay of each run. If it is missing, it is chosen when the job is created, and again "
            "when its schedule or `within_minutes` changes.",
        ),
    ] = None

    @field_validator("offset_minutes")
    @classmethod
    def _within(cls, value: int | None, info: ValidationInfo) -> int | None:
        within = info.data.get("within_minutes")
        if value is not None and within is not None and value >= within:
            raise refuse(f"must be less than within_minutes ({within}); choose a smaller number, or remove this field")
        return value


PerMinute = Annotated[
    Whole, Field(ge=1, le=MAX_PER_MINUTE, description="The number of attempts that start per minute.")
]
Burst = Annotated[
    Whole, Field(ge=1, le=MAX_ACTIVE_LIMIT, description="The maximum number of attempts that start at once.")
]


class RateBody(Body):
    """A rate that attempts of several jobs share. Further runs wait."""

    key: Annotated[
        TemplateKey,
        Field(description="Attempts with the same key share the rate. A template, such as crm-{{payload.region}}."),
    ]
    per_minute: PerMinute
    burst: Burst = 1


MAX_FAILURES = 100

Failures = Annotated[
    Whole, Field(ge=1, le=MAX_FAILURES, description="The number of failed attempts in a row after which it opens.")
]
OpenSeconds = Annotated[
    Whole,
    Field(
        ge=1,
        le=MAX_OPEN_SECONDS,
        description="How long it stays open. If the first attempt after that fails, it opens for twice as long.",
    ),
]


class BreakerBody(Body):
    """A circuit breaker that attempts of several jobs share. While the target fails, runs wait."""

    key: Annotated[
        TemplateKey | None,
        Field(
            description="Attempts with the same key share the breaker. A template. Default: the host of an HTTP target."
        ),
    ] = None
    failures: Failures
    open_seconds: OpenSeconds = 60


class ResultLocationBody(Body):
    """The bucket that receives the results. The stage must allow it."""

    bucket: Annotated[str, Field(pattern=f"^{RESULT_BUCKET}$")]
    prefix: Annotated[
        str | None,
        Field(
            pattern=f"^{RESULT_PREFIX}$",
            validate_default=True,
            description="The prefix of the objects' keys: folders, such as reports/daily/. It must start with your "
            "prefix in this bucket, which is the default.",
        ),
    ] = None

    @field_validator("bucket")
    @classmethod
    def _bucket(cls, bucket: str, info: ValidationInfo) -> str:
        rules = rules_of(info)
        if problem := bucket_refusal(rules.tenant, bucket, rules.result_buckets):
            raise refuse(problem)
        return bucket

    @field_validator("prefix")
    @classmethod
    def _prefix(cls, prefix: str | None, info: ValidationInfo) -> str | None:
        rules, bucket = rules_of(info), info.data.get("bucket")
        if bucket is None:
            return prefix
        if prefix is None:
            return prefix_of(rules.tenant, bucket, rules.result_buckets)
        if problem := prefix_refusal(rules.tenant, ResultLocation(bucket, prefix), rules.result_buckets):
            raise refuse(problem)
        return prefix


class NotifyTargetBody(Body):
    """The job whose run delivers a notice as its payload."""

    job: Annotated[str, Field(pattern=f"^{ID_PATTERN}$")]
    format: Annotated[Literal["json", "slack", "teams"], Field(description="The format of the payload.")] = "json"


NotifyOn = Literal["dead", "late", "missed", "recovered", "paused", "deadline"]


class NotifyBody(Body):
    """Notices that are delivered to one target."""

    on: Annotated[
        list[NotifyOn],
        Field(min_length=1, max_length=len(get_args(NotifyOn)), json_schema_extra=UNIQUE),
        AfterValidator(each_once),
    ]
    to: NotifyTargetBody


FinishBy = Annotated[
    Annotated[Annotated[Whole, Field(ge=1, le=MAX_FINISH_SECONDS)], Variant("seconds")]
    | Annotated[Annotated[str, Field(pattern=r"^([01][0-9]|2[0-3]):[0-5][0-9]$")], Variant("time")],
    Discriminator(lambda value: "time" if isinstance(value, str) else "seconds"),
]

OF_SCHEDULES = (
    *("dst_gap", "dst_fold", "anchor", "start", "end", "exclude", "calendar", "on_excluded"),
    *("jitter_seconds", "spread", "max_runs", "missed"),
)
"""The fields that require a schedule. The time zone is not included, because dates in templates use it."""


class DefinitionBody(ScheduleBody):
    """The fields that a job and a workflow share."""

    model_config = ConfigDict(defer_build=True)  # only its subclasses validate values

    name: Line = ""
    owner: Annotated[
        str,
        Field(max_length=MAX_OWNER, description="The team or person responsible for the job.", json_schema_extra=LINE),
        AfterValidator(no_controls),
    ] = ""
    description: Annotated[
        str,
        Field(max_length=MAX_DESCRIPTION, description="The purpose of the job, in one line.", json_schema_extra=LINE),
        AfterValidator(no_controls),
    ] = ""
    runbook_url: Annotated[RunbookUrl | None, Field(description="The address of the instructions for failures.")] = None
    jitter_seconds: Annotated[Whole, Field(ge=0, le=MAX_JITTER_SECONDS)] = 0
    spread: Annotated[
        SpreadBody | None,
        Field(description="Runs the job at a quiet minute after each occurrence, according to the upcoming load."),
    ] = None
    max_runs: Annotated[Whole | None, Field(ge=1, le=MAX_RUNS)] = None
    ping_url: Annotated[
        Url | None,
        Field(
            description="The address of an external monitor, which is requested (GET) after each successful run.",
            examples=["https://hc.example.com/ping/3f1c"],
        ),
    ] = None
    payload: Annotated[
        Any,
        Field(description="Any JSON up to 200 KB, sent to the target; its strings are templates ({{due_at}})."),
    ] = None
    priority: Literal["high", "normal", "low"] = "normal"
    start_deadline_seconds: Annotated[Whole | None, Field(ge=1, le=MAX_START_DEADLINE_SECONDS)] = None
    start_within_seconds: Annotated[
        Whole | None,
        Field(
            ge=1,
            le=MAX_START_DEADLINE_SECONDS,
            description="A notice is sent if a run has not started within this time after it was due.",
        ),
    ] = None
    finish_by: Annotated[
        FinishBy | None,
        Field(
            description="A notice is sent if a run has not finished by then: this many seconds after it was due, or "
            "at the next such time of day (06:00, in the time zone)."
        ),
    ] = None
    on_deadline: Annotated[
        Literal["notify", "cancel"],
        Field(description="Whether a run that misses one of these deadlines is also cancelled."),
    ] = "notify"
    pause_on_failure: Annotated[Whole | None, Field(ge=1, le=MAX_DEATHS_IN_A_ROW)] = None
    missed: MissedBody = Field(default_factory=MissedBody)
    overlap: OverlapBody = "skip"
    events: Annotated[
        list[Literal["deaths", "failures", "late", "deadlines", "all"]],
        Field(
            max_length=len(EventKind),
            description="The outcomes that are sent to the event bus.",
            json_schema_extra=UNIQUE,
        ),
        AfterValidator(each_once),
    ] = Field(default_factory=list)
    notify: Annotated[
        list[NotifyBody],
        Field(max_length=MAX_NOTIFY, description="The notices about the job, and the jobs that deliver them."),
    ] = Field(default_factory=list)
    tags: Annotated[list[Tag], Field(max_length=MAX_TAGS, json_schema_extra=UNIQUE), AfterValidator(each_once)] = Field(
        default_factory=list
    )

    @field_validator("spread")
    @classmethod
    def _spread(cls, spread: SpreadBody | None, info: ValidationInfo) -> SpreadBody | None:
        longest = (MAX_JITTER_SECONDS - info.data.get("jitter_seconds", 0)) // 60
        if spread is not None and spread.within_minutes > longest:
            reason = "because its sum with jitter_seconds must not exceed one hour"
            remedy = "reduce within_minutes or jitter_seconds"
            raise refuse(f"within_minutes must be at most {longest}, {reason}; {remedy}")
        return spread

    @field_validator("on_deadline")
    @classmethod
    def _has_deadline(cls, value: str, info: ValidationInfo) -> str:
        given = info.data
        if value != "notify" and not (given.get("start_within_seconds") or given.get("finish_by")):
            raise refuse("requires a deadline; set start_within_seconds or finish_by, or remove this field")
        return value

    @field_validator("ping_url")
    @classmethod
    def _ping_url(cls, url: str | None, info: ValidationInfo) -> str | None:
        if url is not None and (problem := url_problem(url, private_allowed=rules_of(info).private_targets)):
            raise refuse(problem)
        return url

    @field_validator(*OF_SCHEDULES)
    @classmethod
    def _of_schedule(cls, value: object, info: ValidationInfo) -> object:
        default = cls.model_fields[str(info.field_name)].get_default(call_default_factory=True)
        if info.data.get("schedule", "") is None and value != default:
            raise refuse("requires a schedule; set schedule, or remove this field")
        return value


RETRY_WORD = r"^[A-Za-z0-9_.*-]{1,64}$"


def _status(value: object) -> object:
    """Convert a status that is written as a number to text. A negative number is not valid."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value) if value >= 0 else ""
    return value


RetryWord = Annotated[
    str,
    BeforeValidator(_status),
    Field(pattern=RETRY_WORD),
    WithJsonSchema(
        {"anyOf": [{"type": "string", "pattern": RETRY_WORD}, {"type": "integer", "minimum": 0}]}, "validation"
    ),
]
RetryWords = Annotated[
    list[RetryWord],
    Field(
        max_length=MAX_RETRY_WORDS,
        description="Statuses (503), classes of statuses (5xx), error codes (timeout) or patterns (Throttling*).",
        json_schema_extra=UNIQUE,
    ),
    AfterValidator(each_once),
]


IdempotencyKey = Annotated[
    str, Field(min_length=1, max_length=MAX_KEY_CHARACTERS, json_schema_extra={"pattern": "^[ -~]*$"})
]


def _short(value: float) -> float:
    """Return a whole number as an integer, so that documents always show 2, never 2.0."""
    return int(value) if value.is_integer() else value


class RetryBody(Body):
    """The number of attempts, the wait between them, and the failures that are retried."""

    max_attempts: Annotated[Whole, Field(ge=1, le=MAX_ATTEMPTS)] = 4
    backoff: Literal["exponential", "linear", "fixed"] = "exponential"
    min_seconds: Annotated[float, Field(ge=0, le=MAX_BACKOFF_SECONDS), AfterValidator(_short)] = 2
    max_seconds: Annotated[
        float, Field(ge=0, le=MAX_BACKOFF_SECONDS, validate_default=True), AfterValidator(_short)
    ] = 3600
    on: RetryWords | None = None
    never: RetryWords = Field(default_factory=list)
    max_age_seconds: Annotated[Whole | None, Field(ge=1, le=MAX_AGE_SECONDS)] = None

    @field_validator("max_seconds")
    @classmethod
    def _bounds(cls, value: float, info: ValidationInfo) -> float:
        low = info.data.get("min_seconds")
        if low is not None and value < low:
            raise refuse(f"must not be less than min_seconds ({low:g}); the default is 3600")
        return value


class AfterCompletionBody(Body):
    """What happens to a job that has ended."""

    delete_after_seconds: Annotated[
        Whole | None,
        Field(
            ge=MIN_DELETE_AFTER_SECONDS,
            le=MAX_DELETE_AFTER_SECONDS,
            description="The time from the end of the job to its removal; null: the job is not removed.",
        ),
    ]


SILENCE = r"rate\([0-9]+ seconds\)"
"""The form of the schedule of a job that expects pings."""

MIN_EXPECTED_SECONDS, MAX_EXPECTED_SECONDS = 60, 31 * DAY_SECONDS
"""The limits of the interval between two expected pings (seconds)."""


def silence(every: int) -> str:
    """Return the schedule of a job that expects a ping every `every` seconds."""
    return f"rate({every} seconds)"


NO_END = 4_102_444_800
"""2100-01-01T00:00:00Z. A schedule with a later occurrence counts as a schedule without an end."""


def _target_or_task(schema: dict[str, Any]) -> None:
    schema["required"].remove("target")
    schema["anyOf"] = [{"required": ["target"]}, {"required": ["task"], "properties": {"task": {"type": "string"}}}]


class JobBody(DefinitionBody):
    """A job as posted. `task` is an abbreviation for a target of type task, and is expanded before validation."""

    model_config = ConfigDict(defer_build=False, json_schema_extra=_target_or_task)

    id: Annotated[str, Field(pattern=f"^{ID_PATTERN}$")] | None = None
    target: TargetBody
    task: Annotated[str | None, Field(description="The short form of a target of type task.")] = None
    expect_every: Annotated[
        Whole | None,
        Field(
            ge=MIN_EXPECTED_SECONDS,
            le=MAX_EXPECTED_SECONDS,
            description="The longest time between two pings (POST /v1/jobs/{id}/ping). The job runs if no ping arrives "
            "within it. Its schedule must be null.",
        ),
    ] = None
    timeout_seconds: Annotated[Whole, Field(ge=1, le=LONG_TIMEOUT_SECONDS)] = 30
    estimated_seconds: Annotated[Whole | None, Field(ge=1, le=MAX_ESTIMATED_SECONDS)] = None
    completion: Literal["response", "callback"] = "response"
    completion_seconds: Annotated[Whole | None, Field(ge=MIN_COMPLETION_SECONDS, le=MAX_COMPLETION_SECONDS)] = None
    heartbeat_seconds: Annotated[Whole | None, Field(ge=MIN_HEARTBEAT_SECONDS, le=MAX_HEARTBEAT_SECONDS)] = None
    retry: RetryBody = Field(default_factory=RetryBody)
    precision: Literal["second", "exact"] | None = None
    concurrency: Annotated[
        ConcurrencyBody | None, Field(description="The limit that the runs share with those of other jobs.")
    ] = None
    results: Annotated[
        ResultLocationBody | None, Field(description="The bucket for the results; null: the stage keeps them.")
    ] = None
    rate: Annotated[
        RateBody | None, Field(description="The rate that the attempts share with those of other jobs.")
    ] = None
    breaker: Annotated[
        BreakerBody | None,
        Field(description="The circuit breaker that the attempts share with those of other jobs."),
    ] = None
    delivery: Literal["at_least_once", "at_most_once"] = "at_least_once"
    after_completion: Annotated[
        AfterCompletionBody | None,
        Field(
            description="For a job that ends: its schedule is at(...), or it has end or max_runs. Default: a job with "
            "the schedule at(...) is removed after one day unless its run is DEAD; others are not removed."
        ),
    ] = None
    idempotency_key: Annotated[
        IdempotencyKey | None, Field(description="A template; the same for every attempt of a run.")
    ] = None

    @field_validator("completion_seconds", "heartbeat_seconds")
    @classmethod
    def _callback(cls, value: int | None, info: ValidationInfo) -> int | None:
        if value is None:
            return None
        if info.data.get("completion") == "response":
            raise refuse(
                "applies only to jobs that wait for a callback; add completion: callback, or remove this field"
            )
        timeout = info.data.get("timeout_seconds")
        if info.field_name == "completion_seconds" and timeout is not None and value < timeout:
            default = f"the default is {COMPLETION_SECONDS}"
            raise refuse(f"must not be less than timeout_seconds ({timeout}), which limits only the call; {default}")
        return value

    @field_validator("expect_every")
    @classmethod
    def _expected(cls, value: int | None, info: ValidationInfo) -> int | None:
        if value is not None and info.data.get("schedule", silence(value)) != silence(value):
            raise refuse("determines when the job is due; set schedule to null, or remove this field")
        return value

    @field_validator("concurrency")
    @classmethod
    def _shared(cls, value: ConcurrencyBody | None, info: ValidationInfo) -> ConcurrencyBody | None:
        if value is not None and info.data.get("overlap") in (Overlap.NEWEST, Overlap.REPLACE):
            raise refuse("cannot be used with overlap newest or replace; choose skip, queue or allow")
        return value

    @field_validator("rate")
    @classmethod
    def _rated(cls, value: RateBody | None, info: ValidationInfo) -> RateBody | None:
        if value is not None and info.data.get("overlap") == Overlap.REPLACE:
            raise refuse("cannot be used with overlap replace; choose newest, skip, queue or allow")
        return value

    @field_validator("breaker")
    @classmethod
    def _guarded(cls, value: BreakerBody | None, info: ValidationInfo) -> BreakerBody | None:
        if value is None:
            return None
        if info.data.get("overlap") == Overlap.REPLACE:
            raise refuse("cannot be used with overlap replace; choose newest, skip, queue or allow")
        target = info.data.get("target")
        if value.key is None and target is not None and not isinstance(target, HttpTargetBody):
            raise refuse("requires a key, because the target has no host; add key, such as crm-{{payload.region}}")
        return value

    @field_validator("idempotency_key")
    @classmethod
    def _key(cls, key: str | None) -> str | None:
        if key is None:
            return None
        if not (key.isascii() and key.isprintable()):
            raise refuse("must be printable ASCII, because it is sent as a header")
        if problems := check_template(key, IDEMPOTENCY_NAMES):
            raise refuse("; ".join(problems[:5]))
        return key

    @field_validator("after_completion")
    @classmethod
    def _ends(cls, value: AfterCompletionBody | None, info: ValidationInfo) -> AfterCompletionBody | None:
        given = info.data
        if value is None or not {"schedule", "timezone", "end", "max_runs"} <= given.keys():
            return value
        if given["schedule"] is None:
            raise refuse("requires a schedule that ends; remove this field, or set schedule")
        if value.delete_after_seconds is not None and given["end"] is None and given["max_runs"] is None:
            with suppress(ScheduleError):
                spec = ScheduleSpec(joined(given["schedule"]), given["timezone"], anchor=0)
                if compile_schedule(spec).next(NO_END) is not None:
                    raise refuse("applies only to jobs that end; add end or max_runs, or remove this field")
        return value


MIN_DEADLINE_SECONDS = 60


def read_job_id(text: str) -> str:
    """Return a job's id unchanged. Raises an error if it is not valid."""
    if not is_id(text):
        raise refuse("must be a job's id: 1 to 64 letters (A-Z, a-z), digits, - or _")
    return text


JobName = Annotated[str, AfterValidator(read_job_id), Field(json_schema_extra={"pattern": f"^{ID_PATTERN}$"})]


class StepBody(Body):
    """A step of a workflow, and the conditions of its start."""

    job: Annotated[
        dict[str, Any] | None,
        Field(
            description="Creates or replaces the job. The fields are those of POST /v1/jobs without the id and "
            "the fields of the schedule; the default of `overlap` is `allow`. If this field is missing, the job must "
            "exist and have no schedule."
        ),
    ] = None
    job_id: Annotated[
        JobName | None,
        Field(
            description="The id of the job. By default, a job that is defined here belongs to the workflow "
            "(nightly--extract), and any other job has the name of the step as its id."
        ),
    ] = None
    after: Annotated[
        list[JobName],
        Field(
            max_length=MAX_DIRECT,
            description="The upstream steps: the step starts after they have ended.",
            json_schema_extra=UNIQUE,
        ),
    ] = Field(default_factory=list)
    when: Annotated[
        Literal["all_success", "all_done", "any_success", "any_failure", "none_failed"],
        Field(description="The outcomes of the upstream steps that let the step start."),
    ] = "all_success"
    may_fail: Annotated[bool, Field(description="Whether the workflow can succeed if this step fails.")] = False
    not_before: Annotated[
        Expression | None,
        Field(
            description=(
                "A cron expression: the step starts no earlier than the first match at or after the occurrence."
            )
        ),
    ] = None
    only: Annotated[
        Expression | None,
        Field(description="A cron expression: the step runs only in occurrences of the workflow that match it."),
    ] = None


class WorkflowBody(DefinitionBody):
    """A workflow as posted: its schedule and its steps."""

    model_config = ConfigDict(defer_build=False)

    payload: Annotated[
        Any,
        Field(
            description=(
                "Any JSON up to 200 KB, not a template. The payloads of its steps can use it "
                "({{workflow.payload.PATH}})."
            )
        ),
    ] = None
    deadline_seconds: Annotated[
        Whole,
        Field(
            ge=MIN_DEADLINE_SECONDS,
            le=MAX_COMPLETION_SECONDS,
            description="The maximum time from the start of a run to the end of all its steps.",
        ),
    ] = DEADLINE_SECONDS
    jobs: Annotated[
        dict[JobName, StepBody],
        Field(min_length=1, max_length=MAX_STEPS, description="The steps, by their names."),
    ]
