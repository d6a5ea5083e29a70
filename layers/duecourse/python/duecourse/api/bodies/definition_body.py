"""What a job and a workflow have in common when they are posted: when they are due, and how their runs are treated."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, ConfigDict, Discriminator, Field, ValidationInfo, field_validator
from pydantic import Tag as Variant

from duecourse.api.bodies.models import LINE, UNIQUE, Body, Whole, each_once, no_controls, refuse
from duecourse.api.bodies.schedule_body import ScheduleBody
from duecourse.domain.jobs.job import MAX_QUEUE_LIMIT, MAX_RUNS
from duecourse.domain.jobs.job_limits import (
    MAX_DEATHS_IN_A_ROW,
    MAX_DESCRIPTION,
    MAX_GRACE_SECONDS,
    MAX_NAME,
    MAX_OWNER,
    MAX_RUNBOOK_URL,
    MAX_START_DEADLINE_SECONDS,
    MAX_TAGS,
    MIN_GRACE_SECONDS,
)
from duecourse.domain.jobs.plan import MAX_FIRINGS
from duecourse.domain.jobs.policies import EventKind, Overlap
from duecourse.domain.schedules.exclusions import MAX_EXCLUSIONS
from duecourse.domain.schedules.occurrences import MAX_JITTER_SECONDS

Line = Annotated[str, Field(max_length=MAX_NAME, json_schema_extra=LINE), AfterValidator(no_controls)]
TAG_PATTERN = r"[A-Za-z0-9_.:/=+@-]{1,64}"
Tag = Annotated[str, Field(pattern=f"^{TAG_PATTERN}$")]
Excluded = Annotated[str, Field(min_length=1, max_length=40)]


def _runbook_url(text: str) -> str:
    if re.fullmatch(RUNBOOK_URL, text) is None:
        raise refuse("must be an address that begins with https:// or http://, without blanks")
    return text


RUNBOOK_URL = r"https?://[!-~]+"
RunbookUrl = Annotated[
    str,
    Field(max_length=MAX_RUNBOOK_URL, json_schema_extra={"pattern": f"^{RUNBOOK_URL}$"}),
    AfterValidator(_runbook_url),
]


class MissedBody(Body):
    """What becomes of occurrences that nobody enqueued in time."""

    policy: Literal["skip", "run_once", "run_all"] = "run_once"
    grace_seconds: Annotated[Whole, Field(ge=MIN_GRACE_SECONDS, le=MAX_GRACE_SECONDS)] = 60
    max_missed: Annotated[Whole, Field(ge=1, le=MAX_FIRINGS)] = 10


class QueueBody(Body):
    """Runs wait in line, up to so many."""

    queue: Annotated[Whole, Field(ge=1, le=MAX_QUEUE_LIMIT)]


if TYPE_CHECKING:
    OverlapWord = str
else:
    OverlapWord = Literal[tuple(each.value for each in Overlap)]

OverlapBody = Annotated[
    Annotated[OverlapWord, Variant("rule")] | Annotated[QueueBody, Variant("queue")],
    Discriminator(lambda value: "rule" if isinstance(value, str) else "queue"),
]


OF_SCHEDULES = ("dst_gap", "dst_fold", "anchor", "start", "end", "exclude", "jitter_seconds", "max_runs", "missed")
"""The fields that shape a schedule's occurrences. Not the time zone: dates in templates are read on its calendar."""


class DefinitionBody(ScheduleBody):
    """A job or a workflow, but for what it does."""

    model_config = ConfigDict(defer_build=True)  # never validated itself

    name: Line = ""
    owner: Annotated[
        str,
        Field(max_length=MAX_OWNER, description="Who answers for it: a team, a person.", json_schema_extra=LINE),
        AfterValidator(no_controls),
    ] = ""
    description: Annotated[
        str,
        Field(max_length=MAX_DESCRIPTION, description="What it is for, in a line.", json_schema_extra=LINE),
        AfterValidator(no_controls),
    ] = ""
    runbook_url: Annotated[RunbookUrl | None, Field(description="What to do when it fails.")] = None
    exclude: Annotated[
        list[Excluded],
        Field(
            max_length=MAX_EXCLUSIONS,
            description="Instants, dates and ranges of dates (2026-12-24/2027-01-06) without runs.",
        ),
    ] = Field(default_factory=list)
    jitter_seconds: Annotated[Whole, Field(ge=0, le=MAX_JITTER_SECONDS)] = 0
    max_runs: Annotated[Whole | None, Field(ge=1, le=MAX_RUNS)] = None
    payload: Annotated[
        Any,
        Field(description="Any JSON up to 200 KB that the target gets; its strings are templates ({{due_at}})."),
    ] = None
    priority: Literal["high", "normal", "low"] = "normal"
    start_deadline_seconds: Annotated[Whole | None, Field(ge=1, le=MAX_START_DEADLINE_SECONDS)] = None
    pause_on_failure: Annotated[Whole | None, Field(ge=1, le=MAX_DEATHS_IN_A_ROW)] = None
    missed: MissedBody = Field(default_factory=MissedBody)
    overlap: OverlapBody = "skip"
    events: Annotated[
        list[Literal["deaths", "failures", "late", "all"]],
        Field(max_length=len(EventKind), description="Which outcomes go to the event bus.", json_schema_extra=UNIQUE),
        AfterValidator(each_once),
    ] = Field(default_factory=list)
    tags: Annotated[list[Tag], Field(max_length=MAX_TAGS, json_schema_extra=UNIQUE), AfterValidator(each_once)] = Field(
        default_factory=list
    )

    @field_validator(*OF_SCHEDULES)
    @classmethod
    def _of_schedule(cls, value: object, info: ValidationInfo) -> object:
        default = cls.model_fields[str(info.field_name)].get_default(call_default_factory=True)
        if info.data.get("schedule", "") is None and value != default:
            raise refuse("belongs to a schedule; name a schedule, or leave it out")
        return value
