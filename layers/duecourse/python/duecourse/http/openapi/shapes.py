"""What answers are made of: jobs, runs and problems. The API itself writes plain dictionaries."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from duecourse.domain.change_record import ChangeAction
from duecourse.domain.ids import ID_PATTERN
from duecourse.domain.job import Completion, Delivery, EventKind, JobState, Lane, MissedMode, Precision
from duecourse.domain.retry import Backoff
from duecourse.domain.run import RunState
from duecourse.http.job_body import OverlapBody
from duecourse.http.openapi.parameters import RUN_ID
from duecourse.http.target_bodies import TargetBody

_INSTANT = {"format": "date-time"}

Second = Annotated[str, Field(json_schema_extra=_INSTANT, description="UTC, to the second where it has no fraction.")]
Millisecond = Annotated[str, Field(json_schema_extra=_INSTANT, description="UTC, to the millisecond.")]
Id = Annotated[str, Field(pattern=f"^{ID_PATTERN}$")]
RunId = Annotated[str, Field(pattern=RUN_ID)]
Count = Annotated[int, Field(ge=0)]


class Shape(BaseModel):
    """An answer. Each field is always there, as null where it has no value, unless it has a default here."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Retry(Shape):
    """How often, how long to wait in between, and which failures are worth it."""

    max_attempts: int
    backoff: Backoff
    min_seconds: float
    max_seconds: float
    on: list[str] | None
    never: list[str]
    max_age_seconds: int | None


class Missed(Shape):
    """What becomes of occurrences that nobody enqueued in time."""

    policy: MissedMode
    grace_seconds: int
    max_missed: int


class Job(Shape):
    """A job as it is kept: what was posted with the defaults filled in, and what became of it."""

    id: Id
    tenant: Id
    name: str
    state: JobState
    schedule: str
    timezone: str
    dst_gap: Literal["next", "skip"]
    dst_fold: Literal["first", "second", "both"]
    understood_as: Annotated[str | None, Field(description="The schedule in words.")]
    schedule_canonical: Annotated[str | None, Field(description="One spelling for each meaning.")]
    anchor: Second | None
    start: Second | None
    end: Second | None
    exclude: list[str]
    jitter_seconds: int
    max_runs: int | None
    next_occurrence: Annotated[Second | None, Field(description="The next one to come due, whoever has enqueued it.")]
    target: TargetBody
    payload: Any
    priority: Lane
    timeout_seconds: int
    estimated_seconds: int | None
    start_deadline_seconds: int | None
    completion: Completion
    completion_seconds: int | None
    heartbeat_seconds: int | None
    retry: Retry
    pause_on_failure: int | None
    paused_by: Annotated[str | None, Field(description="Who paused it; null where Duecourse did it by itself.")]
    paused_because: Annotated[str | None, Field(description="Why it is paused: the note, or what Duecourse found.")]
    missed: Missed
    overlap: OverlapBody
    precision: Precision
    delivery: Delivery
    idempotency_key: str | None
    events: list[EventKind]
    tags: list[str]
    created_at: Millisecond
    updated_at: Millisecond
    error: Annotated[str | None, Field(description="Why it does not run, where its schedule is understood no more.")]


class Run(Shape):
    """A run: the execution of one occurrence."""

    id: RunId
    job_id: Id
    state: RunState
    reason: Annotated[str | None, Field(description="Why it is in this state, where that is not plain.")]
    occurrence: Annotated[Second, Field(description="The instant that the schedule names.")]
    due: Annotated[Second, Field(description="The occurrence and its jitter.")]
    started_at: Annotated[Millisecond | None, Field(description="When its first attempt started.")]
    finished_at: Millisecond | None
    lateness_seconds: Annotated[float | None, Field(description="From the due second to the first start.")]
    attempts: Annotated[Count, Field(description="How many have begun.")]
    max_attempts: Count
    waiting_for: Annotated[Literal["overlap"] | None, Field(description="What it waits in line for.")]
    waiting_since: Annotated[Millisecond | None, Field(description="When it began to wait in line, or had.")]
    waiting_until: Annotated[Millisecond | None, Field(description="By when its callback must come.")]
    heartbeat_until: Annotated[Millisecond | None, Field(description="By when the next sign of life must come.")]
    cancel_requested: Annotated[str | None, Field(description="Why it is to end, once its worker hears of it.")]
    result: Annotated[Any, Field(description="What its target answered; null where it lies elsewhere (result_url).")]
    result_bytes: int | None
    error: str | None
    code: Annotated[str | None, Field(description="The kind of its last failure, such as http.503 or timeout.")]
    count: Annotated[int, Field(ge=1, description="How many occurrences it stands for.")]
    requested_by: Annotated[str | None, Field(description="Who asked for it, or for its being skipped, by hand.")]
    correlation_id: Annotated[str | None, Field(description="What its log lines and its target's calls bear, too.")]


class ChangedField(Shape):
    """A field that changed: without values where they are long or not shown (payload, headers, parameters)."""

    field: str
    before: Any = None
    after: Any = None


class JobChange(Shape):
    """Who did what to a job."""

    at: Millisecond
    principal: Annotated[str, Field(description="The token's subject, an IAM ARN, `local`; `duecourse`: nobody asked.")]
    action: Annotated[str, Field(examples=[action.value for action in ChangeAction])]
    revision: Annotated[int | None, Field(description="The job's after it; null for what is asked of single runs.")]
    changes: list[ChangedField]
    facts: Annotated[dict[str, Any], Field(description="What was asked of its runs: how many, which.")]


class ChangePage(Shape):
    """A page of a job's history, newest first."""

    items: list[JobChange]
    next_cursor: str | None


class SingleRun(Run):
    """A run, and where its large result can be read for a while."""

    result_url: str = ""
    result_url_seconds: Count = 0


class ProblemError(BaseModel):
    """One thing that is wrong: a pointer (RFC 6901) into the body, or the name of a query parameter or header."""

    model_config = ConfigDict(extra="forbid")

    detail: str
    pointer: str = ""
    parameter: str = ""
    header: str = ""


class Problem(BaseModel):
    """A refusal (RFC 9457). Compare the last part of `type`, show `detail`."""

    type: Annotated[str, Field(pattern=r"^/problems/[a-z-]+$")]
    title: str
    status: Annotated[int, Field(ge=400, le=599)]
    detail: str
    errors: list[ProblemError]
    request_id: str


class StateProblem(Problem):
    """A refusal that says in which state the run is."""

    state: RunState


class GatewayMessage(BaseModel):
    """What API Gateway itself answers, before the request reaches Duecourse."""

    model_config = ConfigDict(extra="forbid")

    message: str | None
