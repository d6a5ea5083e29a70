"""Jobs: create, read, delete."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, fields
from typing import Any

from duecourse.domain.cursor import Cursor, cursor_for
from duecourse.domain.job import (
    COMPLETION_SECONDS,
    Completion,
    Delivery,
    EventKind,
    Job,
    JobState,
    Lane,
    MissedPolicy,
    Overlap,
    Precision,
)
from duecourse.domain.occurrences import Occurrences, occurrences_of
from duecourse.domain.plan import MAX_FIRINGS, plan
from duecourse.domain.retry import RetryPolicy
from duecourse.domain.schedule import ScheduleError, ScheduleSpec
from duecourse.domain.schedule.given import counted_from
from duecourse.domain.targets import Target
from duecourse.ports import Clock, JobStore, Lanes, Randomness, Tasks
from duecourse.usecases.enqueue import outgoing

AT_ONCE_SECONDS = 120
"""Occurrences this close to a job's creation are sent at once: the next tick may come after them."""

ID_TRIES = 3
_SLUG_CHARACTERS = 40
_NONCE_CHARACTERS = 16
_NOT_SLUG = re.compile(r"[^a-z0-9_]+")
_NOT_ID = re.compile(r"[^A-Za-z0-9_-]")


class JobExistsError(Exception):
    """The id is taken."""


class JobUnknownError(Exception):
    """There is no such job."""


class JobChangedError(Exception):
    """Somebody else changed the job again and again while it was to be changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """What a caller asks for. Without an id one is made up; without a precision the stage's own holds."""

    tenant: str
    schedule: ScheduleSpec
    target: Target
    precision: Precision
    id: str | None = None
    name: str = ""
    payload: Any = None
    priority: Lane = Lane.NORMAL
    timeout_seconds: int = 30
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    missed: MissedPolicy = field(default_factory=MissedPolicy)
    overlap: Overlap = Overlap.SKIP
    delivery: Delivery = Delivery.AT_LEAST_ONCE
    idempotency_key: str | None = None
    tags: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    jitter_seconds: int = 0
    max_runs: int | None = None
    estimated_seconds: int | None = None
    start_deadline_seconds: int | None = None
    pause_on_failure: int | None = None
    completion: Completion = Completion.RESPONSE
    completion_seconds: int = COMPLETION_SECONDS
    heartbeat_seconds: int | None = None
    events: tuple[EventKind, ...] = ()


@dataclass(frozen=True, slots=True)
class JobView:
    """A job as it is shown: `next_occurrence` is the next one to come due (UTC seconds), whoever has enqueued it."""

    job: Job
    next_occurrence: int | None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Created:
    """A new job. `sent` of its first occurrences are in their lane already; `unsent` wait for the next tick."""

    view: JobView
    sent: int
    unsent: int
    send_error: str | None = None


@dataclass(frozen=True, slots=True)
class JobViewPage:
    """Jobs ordered by id; `following` goes on after the last."""

    items: tuple[JobView, ...]
    following: str | None


@dataclass(frozen=True, slots=True)
class Jobs:
    """Every write is conditional; the API never claims. `tasks` are what jobs may name instead of a target."""

    store: JobStore
    lanes: Lanes
    clock: Clock
    randomness: Randomness
    reach_seconds: int
    tasks: Tasks

    def check(self, spec: ScheduleSpec, exclude: tuple[str, ...] = ()) -> None:
        """Raises ScheduleError or ExclusionError for what is not understood or leaves nothing to come."""
        now = self.clock.now()
        first_occurrence(anchored(spec, now), now, exclude)

    def create(self, draft: Draft) -> Created:
        """Write the job, then send what is due soon. Raises JobExistsError, ScheduleError; nothing is written then."""
        now = self.clock.now()
        for _ in range(ID_TRIES):
            job = self._new(draft, draft.id or made_up_id(draft.name, self.randomness.nonce()), now)
            cursor = cursor_for(job, now)
            if cursor.occurrence is None:
                raise nothing_left()
            if self.store.create(job, cursor):
                return self.send_soon(JobView(job, cursor.occurrence), cursor)
            if draft.id is not None:
                break
        raise JobExistsError(job.id)

    def get(self, tenant: str, job_id: str) -> JobView:
        """One job. Raises JobUnknownError."""
        job = self.store.get(tenant, job_id)
        if job is None:
            raise JobUnknownError(job_id)
        return view_of(job, self.store.get_cursor(tenant, job_id), now=self.clock.now())

    def page(self, tenant: str, *, limit: int, after: str | None) -> JobViewPage:
        """Jobs whose id sorts after `after`."""
        page = self.store.page(tenant, limit=limit, after=after)
        now = self.clock.now()
        return JobViewPage(tuple(view_of(job, cursor, now=now) for job, cursor in page.items), page.following)

    def delete(self, tenant: str, job_id: str) -> None:
        """Remove the job. Raises JobUnknownError, and JobChangedError where it is changed under our hands twice."""
        for _ in range(2):
            job = self.store.get(tenant, job_id)
            if job is None:
                raise JobUnknownError(job_id)
            if self.store.delete(job, deleted_at=self.clock.now()):
                return
        raise JobChangedError(job_id)

    def _new(self, draft: Draft, job_id: str, now: float) -> Job:
        generation = int(now * 1000)
        asked = {field.name: getattr(draft, field.name) for field in fields(Draft)}
        given = asked | {"id": job_id, "schedule": anchored(draft.schedule, now)}
        return Job(
            generation=generation,
            created_at=now,
            updated_at=now,
            changed_at=now,
            created_generation=generation,
            **given,
        )

    def send_soon(self, view: JobView, cursor: Cursor) -> Created:
        """Send without a claim: the next tick repeats it, and the workers drop the repeats."""
        now = self.clock.now()
        reach = min(AT_ONCE_SECONDS, self.reach_seconds)
        planned = plan(cursor, now=now, reach=reach)
        messages = outgoing(cursor, planned, now=now, nonce=self.randomness.nonce)
        if not messages:
            return Created(view, 0, 0)
        try:
            sent = sum(self.lanes.send(messages))
        except Exception as problem:  # noqa: BLE001  (the job is written; whatever happens here, the tick makes up for)
            return Created(view, 0, len(messages), f"{type(problem).__name__}: {problem}")
        return Created(view, sent, len(messages) - sent)


def anchored(spec: ScheduleSpec, now: float) -> ScheduleSpec:
    """The spec of a job created at `now`: a rate without anchor or start counts from that whole second.

    Raises ScheduleError for an expression that is not understood.
    """
    return counted_from(spec, int(now))


def first_occurrence(spec: ScheduleSpec, now: float, exclude: tuple[str, ...] = ()) -> int:
    """The first occurrence strictly after `now`. Raises ExclusionError, ScheduleError (on `schedule` for none)."""
    first = occurrences_of("", "", spec, exclude=exclude).next(int(now))
    if first is None:
        raise nothing_left()
    return first


def nothing_left() -> ScheduleError:
    """What is said of a job that would never fire."""
    return ScheduleError("schedule", "has no occurrence in the future; name a time that is still to come")


def at_once_until(job: Job, schedule: Occurrences, reach_seconds: int) -> int:
    """The last second of what was sent when the job was created or changed (see Jobs.create)."""
    changed = int(job.changed_at)
    until = changed + min(AT_ONCE_SECONDS, reach_seconds)
    at: int | None = changed
    for _ in range(MAX_FIRINGS + 1):
        if at is None or (at := schedule.next(at)) is None or at > until:
            return until
    return at - 1 if at is not None else until


def view_of(job: Job, cursor: Cursor | None, *, now: float) -> JobView:
    """What is shown of a job. The cursor is ahead of time by what is already enqueued, so the schedule is asked."""
    if cursor is None:
        return JobView(job, None, "its place in the schedule cannot be read")
    if cursor.error is not None or job.state is not JobState.ACTIVE:
        return JobView(job, None, cursor.error)
    try:
        following = job.following(int(now)) if cursor.remaining != 0 else None
    except ScheduleError as problem:
        return JobView(job, None, str(problem))
    # A last occurrence that nobody enqueued in time is still to come.
    return JobView(job, cursor.occurrence if following is None else following)


def made_up_id(name: str, nonce: str) -> str:
    """A readable id that nobody has used: `weekly-report-Zk3…`, or `job-Zk3…` for a job without a name."""
    slug = _NOT_SLUG.sub("-", name.lower())[:_SLUG_CHARACTERS].strip("-_")
    unique = _NOT_ID.sub("", nonce)[-_NONCE_CHARACTERS:]
    return f"{slug or 'job'}-{unique}"
