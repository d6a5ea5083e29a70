"""The answers as types: what the routes build, and what the document says of it. Each field is always there, as null
where it has no value, unless it is marked NotRequired. `Answer` is no part of a schema's name in the document.
"""

from __future__ import annotations

from typing import Annotated, Any, Generic, Literal, NotRequired, TypeVar, cast

from pydantic import Field
from typing_extensions import TypedDict

from duecourse.domain.ids import ID_PATTERN
from duecourse.domain.instants import to_iso
from duecourse.domain.jobs.job_document import definition_document
from duecourse.domain.runs import document as documents
from duecourse.domain.runs.states import MAX_ATTEMPTS, MAX_ERROR, AttemptOutcome, Run, RunState
from duecourse.domain.schedules import ScheduleError, ScheduleSpec, compile_schedule
from duecourse.usecases.jobs.job_view import JobView

Document = dict[str, Any]
Item = TypeVar("Item")

LOCAL = r"[0-9]{8}T[0-9]{6}Z(\.[mb][A-Za-z0-9_-]{1,32})?$"
RUN_ID = rf"^{ID_PATTERN}\.{LOCAL}"
"""A run's id, as ECMA has patterns."""

_INSTANT: Document = {"format": "date-time"}
Second = Annotated[str, Field(json_schema_extra=_INSTANT, description="UTC, to the second where it has no fraction.")]
Millisecond = Annotated[str, Field(json_schema_extra=_INSTANT, description="UTC, to the millisecond.")]
JobId = Annotated[str, Field(pattern=f"^{ID_PATTERN}$")]
RunId = Annotated[str, Field(pattern=RUN_ID)]
Count = Annotated[int, Field(ge=0)]


class PageAnswer(TypedDict, Generic[Item]):
    """A page of a list."""

    items: list[Item]
    next_cursor: str | None


class RunAnswer(TypedDict):
    """A run: the execution of one occurrence."""

    id: RunId
    job_id: JobId
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
    heartbeat_at: Annotated[Millisecond | None, Field(description="When its last attempt was last heard of.")]
    progress: Annotated[float | None, Field(ge=0, le=1, description="How far its last attempt said to be.")]
    note: Annotated[str | None, Field(description="What its last attempt said of its work.")]
    cancel_requested: Annotated[str | None, Field(description="Why it is to end, once its worker hears of it.")]
    result: Annotated[Any, Field(description="What its target answered; null where it lies elsewhere (result_url).")]
    result_bytes: int | None
    error: str | None
    code: Annotated[str | None, Field(description="The kind of its last failure, such as http.503 or timeout.")]
    count: Annotated[int, Field(ge=1, description="How many occurrences it stands for.")]
    requested_by: Annotated[str | None, Field(description="Who asked for it, or for its being skipped, by hand.")]
    correlation_id: Annotated[str | None, Field(description="What its log lines and its target's calls bear, too.")]
    workflow: Annotated[JobId | None, Field(description="The workflow that ran it, or whose run it is.")]


class AttemptAnswer(TypedDict):
    """One attempt of a run."""

    number: Annotated[int, Field(ge=1)]
    started_at: Millisecond | None
    ended_at: Annotated[Millisecond | None, Field(description="Null while it lasts, and if nobody saw its end.")]
    outcome: Annotated[AttemptOutcome | None, Field(description="Null while it lasts.")]
    error: Annotated[str | None, Field(description=f"Its first {MAX_ERROR} characters.")]
    code: str | None


class SingleRunAnswer(RunAnswer):
    """A run with its attempts, and where its large result can be read for a while."""

    attempt_list: Annotated[
        list[AttemptAnswer],
        Field(max_length=MAX_ATTEMPTS, description="The last attempts, oldest first, as far as its record has them."),
    ]
    result_url: NotRequired[str]
    result_url_seconds: NotRequired[Count]


class AcceptedAnswer(TypedDict):
    """The worker will decide; the run is shown as it is now."""

    run: RunAnswer
    accepted: Literal["complete", "fail", "cancel", "redrive"]


class ErrorAnswer(TypedDict):
    """One thing that is wrong: a pointer (RFC 6901) into the body, or the name of a query parameter or header."""

    detail: str
    pointer: NotRequired[str]
    parameter: NotRequired[str]
    header: NotRequired[str]


class ProblemAnswer(TypedDict):
    """A refusal (RFC 9457). Compare the last part of `type`, show `detail`."""

    type: Annotated[str, Field(pattern=r"^/problems/[a-z-]+$")]
    title: str
    status: Annotated[int, Field(ge=400, le=599)]
    detail: str
    errors: list[ErrorAnswer]
    request_id: str


class StateProblemAnswer(ProblemAnswer):
    """A refusal that says in which state the run is."""

    state: RunState


class GatewayMessage(TypedDict):
    """What API Gateway itself answers, before the request reaches Duecourse."""

    message: str | None


class OpenApiDocument(TypedDict):
    """This document."""

    openapi: str
    info: dict[str, Any]
    paths: dict[str, Any]


def job_document(view: JobView) -> Document:
    """The fields of the posted body, defaults filled in, and what became of them: `JobAnswer` in the document."""
    job = view.job
    following = view.next_occurrence
    return {
        "id": job.id,
        "tenant": job.tenant,
        "state": job.state.value,
        **definition_document(job),
        **_understood(job.schedule),
        "next_occurrence": None if following is None else to_iso(following),
        "paused_by": job.paused_by,
        "paused_because": job.paused_because,
        "created_at": documents.millisecond(job.created_at),
        "updated_at": documents.millisecond(job.updated_at),
        "error": view.error,
        "workflow": job.workflow,
    }


def run_document(run: Run) -> RunAnswer:
    """The run as the archive has it, too."""
    return cast(RunAnswer, documents.run_document(run))


def single_run_document(run: Run) -> SingleRunAnswer:
    """The run with its attempts."""
    return cast(SingleRunAnswer, documents.run_document(run) | {"attempt_list": documents.attempt_documents(run)})


def _understood(spec: ScheduleSpec) -> Document:
    """The schedule in words and in canonical form; neither where it is understood no more (`error` says why)."""
    try:
        schedule = compile_schedule(spec)
    except ScheduleError:
        return {"understood_as": None, "schedule_canonical": None}
    return {"understood_as": schedule.words, "schedule_canonical": schedule.canonical or None}
