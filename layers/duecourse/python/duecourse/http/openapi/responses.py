"""The answers of routes. Only the document and the tests need them: the API itself writes plain dictionaries."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from duecourse.domain.run import RunState
from duecourse.domain.verdict import Verdict
from duecourse.http.openapi.shapes import (
    ChangePage,
    Count,
    GatewayMessage,
    Id,
    Job,
    Millisecond,
    Problem,
    Run,
    Second,
    Shape,
    SingleRun,
    StateProblem,
)


class JobPage(Shape):
    """A page of jobs, ordered by id."""

    items: list[Job]
    next_cursor: str | None


class RunPage(Shape):
    """A page of runs, newest first."""

    items: list[Run]
    next_cursor: str | None


class Accepted(Shape):
    """The worker will decide; the run is shown as it is now."""

    run: Run
    accepted: Literal["complete", "fail", "cancel", "redrive"]


class Heartbeat(Shape):
    """How the run stands, and whether to stop working on it."""

    state: RunState
    cancel_requested: bool
    reason: str | None
    heartbeat_until: Millisecond | None
    waiting_until: Millisecond | None


class Redriven(Shape):
    """How many dead runs were sent again, and where to go on."""

    redriven: Count
    refused: Count
    more: bool
    next_cursor: str | None


class Nearest(Shape):
    """The occurrences next to an instant, by the job's present schedule."""

    before: Second | None
    after: Second | None


class Explained(Shape):
    """Why a job ran at an instant, or did not."""

    at: Second
    verdict: Verdict
    sentence: str
    facts: Annotated[dict[str, Any], Field(description="What the sentence is made of.")]
    run: Annotated[Run | None, Field(description="The record that says so.")]
    nearest: Nearest


class BatchItem(Shape):
    """What became of one job: `job` and `etag`, or `problem`."""

    status: int
    job: Job | None = None
    etag: str = ""
    problem: Problem | None = None


class Batch(Shape):
    """What became of each, in their order."""

    items: list[BatchItem]


class Swept(Shape):
    """What became of many jobs; `next_cursor` goes on."""

    changed: Count
    failed: Annotated[list[Id], Field(description="Those that others changed at the same moment, again and again.")]
    next_cursor: str | None


class Backfill(Shape):
    """What a backfill is, or would be."""

    dry_run: bool
    count: Count
    first: Annotated[Second | None, Field(description="The oldest occurrence.")]
    last: Annotated[Second | None, Field(description="The newest occurrence.")]
    newest_first: bool
    pace_seconds: Annotated[int, Field(ge=1)]
    starts_at: Second
    ends_at: Annotated[Second | None, Field(description="When the last one starts.")]
    estimated_cost_usd: Annotated[float, Field(ge=0)]
    suffix: Annotated[str | None, Field(description="What the ids of its runs end in; null where none were started.")]


class Skipped(Shape):
    """What will not run."""

    items: list[Run]


class Occurrence(Shape):
    """One occurrence, or the times of one gap that were dropped (`at` is null then)."""

    at: Second | None
    wall: Annotated[str, Field(description="What the zone's clock shows then, with its offset.")]
    mark: Literal["moved", "dropped", "repeated"] | None
    named: Annotated[str | None, Field(description="The time in the gap that the schedule names; only when moved.")]
    count: Annotated[int, Field(ge=1)]


class Outlook(Shape):
    """What a schedule means and what comes next."""

    understood_as: str
    canonical: str
    occurrences: list[Occurrence]
    tzdata: Annotated[str, Field(description="The version of the time zones it was computed with.")]


class Tick(Shape):
    """The last tick of the clock; null before the first."""

    last: Second | None
    age_seconds: float | None


class Dispatch(Shape):
    """How far the shards are."""

    shards: Count
    watermarks_behind_seconds: dict[str, Count | None]


class Health(Shape):
    """Whether the clock ticks. `tick` and `dispatch` are for callers with the scope ops."""

    status: Literal["ok", "late"]
    tick: Tick | None = None
    dispatch: Dispatch | None = None


class JobFigures(Shape):
    """How many jobs there are and may be."""

    count: Count
    quota: Count
    left: Count


class DeadFigures(Shape):
    """How many dead runs there are, or at least."""

    count: Count
    at_least: bool


class RequestFigures(Shape):
    """How often the tenant may ask."""

    per_second: Count
    burst: Count
    left: Count


class LimitFigures(Shape):
    """What else is limited."""

    smallest_interval_seconds: Count
    backfill: Count


class LaneFigures(Shape):
    """How full a lane is, all tenants together (SQS counts approximately)."""

    waiting: Count
    in_flight: Count
    delayed: Count


class Stats(Shape):
    """What the tenant has and may still do, and how busy the stage is. `dispatch` is for callers with the scope ops."""

    jobs: JobFigures
    dead_runs: DeadFigures
    requests: RequestFigures
    limits: LimitFigures
    lanes: dict[str, LaneFigures | None]
    status: Literal["ok", "late"]
    tick: Tick
    dispatch: Dispatch | None = None


class OpenApiDocument(BaseModel):
    """This document."""

    openapi: str
    info: dict[str, Any]
    paths: dict[str, Any]


ANSWERS: tuple[type[BaseModel], ...] = (
    Job,
    JobPage,
    SingleRun,
    RunPage,
    ChangePage,
    Run,
    Swept,
    Backfill,
    Skipped,
    Accepted,
    Heartbeat,
    Redriven,
    Outlook,
    Explained,
    Batch,
    Health,
    Stats,
    OpenApiDocument,
    Problem,
    StateProblem,
    GatewayMessage,
)
"""The answers that operations name. What they are made of comes along."""
