"""The bodies of POST /v1/jobs and PUT /v1/workflows/<id>.

The fields that jobs and workflows share are in `ScheduleBody` and `DefinitionBody`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    ConfigDict,
    Discriminator,
    Field,
    ValidationInfo,
    field_validator,
)
from pydantic import Tag as Variant

from duecourse.api.bodies.models import UNIQUE, Body, Instant, Whole, each_once, refuse
from duecourse.api.bodies.posted import posted
from duecourse.api.bodies.target_bodies import (
    TARGET_FORM,
    TargetBody,
    Url,
    makes_reports,
    rules_of,
    url_problem,
    wants_reports,
)
from duecourse.domain.declared import Error, Needed
from duecourse.domain.ids import ID_ERROR, ID_PATTERN, is_id
from duecourse.domain.instants import DAY_SECONDS
from duecourse.domain.jobs.calendars import MAX_CALENDARS
from duecourse.domain.jobs.job import MAX_ACTIVE_LIMIT, TAG_ERROR, TAG_PATTERN, CommonDefinition, JobDefinition, Overlap
from duecourse.domain.runs.rendering import MAX_KEY_CHARACTERS
from duecourse.domain.targets.template import IDEMPOTENCY_NAMES, check_template
from duecourse.domain.tenants.quota import MAX_EXPRESSION
from duecourse.domain.workflows.check import DEADLINE_SECONDS, MAX_DIRECT, MAX_STEPS
from duecourse.domain.workflows.graph import DEFAULT_AT_ONCE, MAX_ITEMS
from duecourse_schedules.exclusions import MAX_EXCLUSION_CHARACTERS, MAX_EXCLUSIONS
from duecourse_schedules.schedule import MAX_SCHEDULES

MAX_LIST_CHARACTERS = 1000
"""The maximum length of `for_each`. The longest placeholder has about 700 characters."""

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
    if text.startswith("calendar:"):
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
        Needed(
            "write cron such as 0 9 * * 1, rate(5 minutes) or at(2026-01-31T09:00:00), or null for a job that runs "
            "only on demand"
        ),
    ]
    timezone: Annotated[
        str,
        Field(min_length=1, max_length=64, description="An IANA zone.", examples=["UTC", "Europe/Berlin"]),
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


Tag = Annotated[str, Field(pattern=f"^{TAG_PATTERN}$"), Error(TAG_ERROR)]


def _runbook_url(text: str) -> str:
    if re.fullmatch(RUNBOOK_URL, text) is None:
        raise refuse("must be an address that starts with https:// or http:// and has no spaces")
    return text


RUNBOOK_URL = r"https?://[!-~]+"
RunbookUrl = Annotated[
    str,
    Field(max_length=2048, json_schema_extra={"pattern": f"^{RUNBOOK_URL}$"}),
    AfterValidator(_runbook_url),
]


class QueueBody(Body):
    """Runs wait in the wait queue, up to this number."""

    queue: Annotated[Whole, Field(ge=1, le=1000), Needed('write how many runs may wait, such as {"queue": 10}')]
    # one query can count this many entries of a wait queue


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


MAX_FINISH_SECONDS = 30 * DAY_SECONDS
"""The longest wait for a callback. No run is active long enough to miss a later deadline."""

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


if TYPE_CHECKING:

    class _Common(ScheduleBody):
        payload: Any
else:
    _Common = posted(
        CommonDefinition,
        ScheduleBody,
        **dict.fromkeys(("schedule", "exclude", "queue_limit", "active_limit")),
        runbook_url=RunbookUrl,
        ping_url=Url,
        finish_by=FinishBy,
        overlap=OverlapBody,
    )


class DefinitionBody(_Common):
    """The fields that a job and a workflow share."""

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


def _key(key: str) -> str:
    if not (key.isascii() and key.isprintable()):
        raise refuse("must be printable ASCII, because it is sent as a header")
    if problems := check_template(key, IDEMPOTENCY_NAMES):
        raise refuse("; ".join(problems[:5]))
    return key


IdempotencyKey = Annotated[
    str,
    Field(min_length=1, max_length=MAX_KEY_CHARACTERS, json_schema_extra={"pattern": "^[ -~]*$"}),
    AfterValidator(_key),
]

SILENCE = r"rate\([0-9]+ seconds\)"
"""The form of the schedule of a job that expects pings."""


class _Target(DefinitionBody):
    """The identity and the target of a job."""

    id: Annotated[str, Field(pattern=f"^{ID_PATTERN}$"), Error(ID_ERROR)] | None = None
    target: Annotated[
        TargetBody,
        AfterValidator(makes_reports),
        Needed(f'{TARGET_FORM}, or "task" with the name of a registered task'),
    ]
    task: Annotated[str | None, Field(description="The short form of a target of type task.")] = None


def _target_or_task(schema: dict[str, Any]) -> None:
    schema["required"].remove("target")
    schema["anyOf"] = [{"required": ["target"]}, {"required": ["task"], "properties": {"task": {"type": "string"}}}]


if TYPE_CHECKING:
    _Job = _Target
else:
    _Job = posted(JobDefinition, _Target, target=None, idempotency_key=IdempotencyKey)


class JobBody(_Job):
    """A job as posted. `task` is an abbreviation for a target of type task, and is expanded before validation."""

    model_config = ConfigDict(defer_build=False, json_schema_extra=_target_or_task)

    @field_validator("notify", check_fields=False)
    @classmethod
    def _has_what_is_at_risk(cls, notify: list[Any], info: ValidationInfo) -> list[Any]:
        if info.data.get("finish_by", "") is None and any("at_risk" in rule.on for rule in notify):
            raise refuse("contains at_risk, but the job has no deadline for its end; set finish_by, or remove at_risk")
        return notify

    @field_validator("completion", check_fields=False)
    @classmethod
    def _ends_with_its_report(cls, completion: str, info: ValidationInfo) -> str:
        target = info.data.get("target")
        if completion == "callback" and target is not None and target.type == "report":
            raise refuse("cannot be callback, because nothing would complete a report; remove this field")
        return completion


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
            "exist and have no schedule, unless the step is `shared`. It can be another workflow."
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
    shared: Annotated[
        bool,
        Field(
            description="Whether the job stays independent of the workflow: it may have a schedule, and may be a step "
            "of other workflows. The id of the step's run contains the id of the workflow "
            "(extract.20261121T010000Z.wnightly)."
        ),
    ] = False
    for_each: Annotated[
        str | None,
        Field(
            min_length=1,
            max_length=MAX_LIST_CHARACTERS,
            description="One placeholder for a list, such as {{upstream.list.result.body.items}}: the step runs once "
            f"for each item (at most {MAX_ITEMS:,}), and its payload can use {{{{item.PATH}}}} and {{{{index}}}}.",
            examples=["{{upstream.list.result.body.items}}", "{{workflow.payload.files}}"],
        ),
    ] = None
    at_once: Annotated[
        Whole | None,
        Field(
            ge=1,
            le=MAX_ITEMS,
            description=f"With `for_each`: the maximum number of active items (default: {DEFAULT_AT_ONCE}).",
        ),
    ] = None
    max_failed: Annotated[
        Whole | None,
        Field(
            ge=0,
            le=MAX_ITEMS,
            description="With `for_each`: the step succeeds if at most so many items failed (default: 0).",
        ),
    ] = None


class WorkflowBody(DefinitionBody):
    """A workflow as posted: its schedule and its steps."""

    model_config = ConfigDict(defer_build=False)

    payload: Annotated[
        Any,
        Field(
            description=(
                "Any JSON up to 200 KB, not a template. The payloads of its steps can use it "
                "({{workflow.payload.PATH}}). If the workflow is a step, it can contain results of upstream steps."
            )
        ),
    ] = None
    deadline_seconds: Annotated[
        Whole,
        Field(
            ge=60,
            le=30 * DAY_SECONDS,
            description="The maximum time from the start of a run to the end of all its steps.",
        ),
    ] = DEADLINE_SECONDS
    jobs: Annotated[
        dict[JobName, StepBody],
        Field(min_length=1, max_length=MAX_STEPS, description="The steps, by their names."),
        Needed('list the steps by the ids of their jobs, such as {"extract": {}, "load": {"after": ["extract"]}}'),
    ]

    @field_validator("notify", check_fields=False)
    @classmethod
    def _no_reports(cls, notify: list[Any]) -> list[Any]:
        if wants_reports(notify):
            raise refuse(
                "contains report, but a workflow makes no reports; remove it, or use it in a job with a report"
            )
        return notify
