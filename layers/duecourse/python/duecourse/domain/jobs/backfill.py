"""Backfills: the past occurrences to run, the start of each run, and the cost."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import islice

from duecourse.domain.jobs.job import Job
from duecourse.domain.targets.targets import WorkflowTarget
from duecourse_schedules.schedule import Occurrences

COUNTED = 10_000
"""Occurrences in a range are counted up to this number, or up to the limit of a new backfill if that is larger."""

ASSUMED_SECONDS = 1.0
"""The assumed duration of a call if the job has no `estimated_seconds`."""

WORKER_GB = 0.5
"""The memory of a lane's worker."""

# List prices in USD, us-east-1, on demand, without the free tier, as of 2026-11:
# aws.amazon.com/dynamodb/pricing/on-demand, aws.amazon.com/sqs/pricing (standard queues),
# aws.amazon.com/lambda/pricing (Arm, first tier).
WRITE_UNIT = 0.625 / 1e6
READ_UNIT = 0.125 / 1e6
SQS_REQUEST = 0.40 / 1e6
LAMBDA_REQUEST = 0.20 / 1e6
LAMBDA_GB_SECOND = 0.0000133334


class Standing(StrEnum):
    """The result of an occurrence so far.

    - MISSING: it has no record, or it was skipped because it was late.
    - FAILED: its run is dead.
    - SUCCEEDED: its run succeeded, or a run that covers it.
    - ACTIVE: its run is in progress, or may still start.
    - SKIPPED: it was skipped for another reason, or cancelled.
    """

    MISSING = "missing"
    FAILED = "failed"
    SUCCEEDED = "succeeded"
    ACTIVE = "active"
    SKIPPED = "skipped"


class Only(StrEnum):
    """The occurrences that a backfill runs."""

    MISSING = "missing"
    FAILED = "failed"
    ALL = "all"

    def includes(self, standing: Standing) -> bool:
        """Return whether the backfill runs an occurrence with this result."""
        return self is Only.ALL or self.value == standing.value


@dataclass(frozen=True, slots=True)
class Backfill:
    """A request for a backfill: the occurrences from `since` on and before `until` (UTC seconds).

    One run starts every `pace_seconds`, the oldest first or the newest first. `chosen` are the occurrences that it
    runs, in the order of their start; None: those of the range in the current schedule. With `force_new_key`, its runs
    have separate idempotency keys. At most `at_once` of its runs are active (None: as many as the overlap rule allows).
    """

    since: int
    until: int
    pace_seconds: int = 1
    newest_first: bool = False
    only: Only = Only.MISSING
    force_new_key: bool = False
    chosen: tuple[int, ...] | None = None
    at_once: int | None = None


@dataclass(frozen=True, slots=True)
class BackfillPlan:
    """The runs of a backfill: `occurrences` in the order of their start. The first run starts at `starts_at` (UTC
    seconds), and another run every `pace_seconds`.
    """

    occurrences: tuple[int, ...]
    starts_at: int
    pace_seconds: int

    @property
    def count(self) -> int:
        """The number of runs."""
        return len(self.occurrences)

    def due(self, index: int) -> int:
        """Return the time when the run at this index starts (UTC seconds)."""
        return self.starts_at + index * self.pace_seconds

    def narrowed(self, kept: Collection[int]) -> BackfillPlan:
        """Return the plan with only these occurrences."""
        return replace(self, occurrences=tuple(at for at in self.occurrences if at in kept))

    @property
    def ends_at(self) -> int | None:
        """When the last run starts (UTC seconds). None if there is nothing to run."""
        return self.due(self.count - 1) if self.occurrences else None

    @property
    def first(self) -> int | None:
        """The oldest occurrence."""
        return min(self.occurrences, default=None)

    @property
    def last(self) -> int | None:
        """The newest occurrence."""
        return max(self.occurrences, default=None)


class BackfillTooLargeError(Exception):
    """The range has more occurrences than one backfill may have: `count` or, with `at_least`, possibly more."""

    def __init__(self, count: int, limit: int, *, at_least: bool) -> None:
        super().__init__(f"{'more than ' if at_least else ''}{count} occurrences; at most {limit}")
        self.count = count
        self.limit = limit
        self.at_least = at_least


class AtOnceError(Exception):
    """The active runs of a backfill of this job cannot be limited; the text is the reason and the remedy."""


def limit_of(job: Job, at_once: int | None) -> int | None:
    """Return the maximum number of active runs of a backfill for which `at_once` was requested; None: no limit.

    Raises AtOnceError if the runs of the job cannot also take a place of the backfill's own concurrency key.
    """
    allowed = 1 if job.overlap.rule.alone else job.active_limit
    if at_once is None or (allowed is not None and allowed <= at_once):
        return allowed
    if allowed is not None:
        problem = f"is less than the {allowed} active runs that the job's overlap allows"
        raise AtOnceError(f"{problem}; lower the number in overlap instead")
    if job.concurrency is not None:
        problem = "cannot be combined with the job's concurrency key"
        raise AtOnceError(f"{problem}; remove at_once, or set a limit for that key")
    if isinstance(job.target, WorkflowTarget):
        raise AtOnceError('cannot limit the runs of a workflow; set its overlap to {"allow": n} instead')
    return at_once


def own_limit(job: Job, limit: int | None) -> int | None:
    """Return the limit of the backfill's own key for `limit_of`; None if the overlap rule of the job is enough."""
    return None if job.overlap.rule.alone or job.active_limit is not None else limit


def plan_backfill(occurrences: Occurrences, asked: Backfill, *, now: float, limit: int) -> BackfillPlan:
    """Return the plan of a backfill requested at `now`: the occurrences of the range that are due by then.

    Raises BackfillTooLargeError.
    """
    most = max(limit, COUNTED)
    found = list(islice(_due_by(occurrences, now, after=asked.since - 1, before=asked.until), most + 1))
    if len(found) > most:
        raise BackfillTooLargeError(most, limit, at_least=True)
    if len(found) > limit:
        raise BackfillTooLargeError(len(found), limit, at_least=False)
    ordered = found[::-1] if asked.newest_first else found
    return BackfillPlan(tuple(ordered), int(now), asked.pace_seconds)


def due_in(occurrences: Occurrences, asked: Backfill, occurrence: int, *, now: float) -> int | None:
    """Return the time when the run of one occurrence starts (UTC seconds) in a backfill requested at `now`. None if the
    backfill does not contain the occurrence.

    The preceding occurrences are counted according to the current schedule, up to COUNTED. A later run is assumed to
    start together with the last counted one.
    """
    if asked.chosen is not None:
        found = occurrence in asked.chosen
        return int(now) + asked.chosen.index(occurrence) * asked.pace_seconds if found else None
    if not asked.since <= occurrence < asked.until or occurrence not in _due_by(
        occurrences, now, after=occurrence - 1, before=occurrence + 1
    ):
        return None
    after, before = (occurrence, asked.until) if asked.newest_first else (asked.since - 1, occurrence)
    earlier = islice(_due_by(occurrences, now, after=after, before=before), COUNTED)
    return int(now) + sum(1 for _ in earlier) * asked.pace_seconds


def _due_by(occurrences: Occurrences, now: float, *, after: int, before: int) -> Iterator[int]:
    """Yield the occurrences between the two instants that are due by `now`, oldest first."""
    at = occurrences.next(after)
    while at is not None and at < before and at <= now:
        if occurrences.due(at) <= now:
            yield at
        at = occurrences.next(at)


def estimated_cost(made: BackfillPlan, job: Job, *, locked: bool, waits_after: int) -> float:
    """Return the AWS cost of these runs in USD. It includes only first attempts, without the cost of targets and
    without the free tier.

    `locked`: the runs take a lock, of the job or of the backfill. Runs that start more than `waits_after` seconds after
    the first run wait as timers.
    """
    writes = 2 + (1 if locked else 0)  # start and end; the lock
    reads = 1 + (2 if locked else 0)  # the job; the lock, and the run that holds or held it
    seconds = min(job.estimated_seconds or ASSUMED_SECONDS, job.timeout_seconds)
    run = (
        writes * WRITE_UNIT
        + reads * READ_UNIT
        + 3 * SQS_REQUEST  # sent, received, deleted; fewer in batches
        + LAMBDA_REQUEST
        + seconds * WORKER_GB * LAMBDA_GB_SECOND
    )
    waking = 4 * WRITE_UNIT  # written and removed, in the table and in its index
    at_once = min(made.count, waits_after // made.pace_seconds + 1)
    return made.count * run + (made.count - at_once) * waking + WRITE_UNIT
