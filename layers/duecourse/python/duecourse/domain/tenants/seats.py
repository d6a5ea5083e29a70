"""Seats: the number of workers of a lane that one tenant can occupy.

Each lane has two queues with separate workers: one for jobs that have a seat, and the bulk queue for all others. A
tenant has a bounded number of seats in each lane. They are assigned when a job is created or edited. At any time, at
most one run of a job with a seat calls its target on the workers for seats. So a tenant cannot occupy more of these
workers than it has seats, regardless of how slow its targets are. The start of a run reads and writes nothing for
seats. The rule that separates the runs depends on the job (`Apart`). A run that might call its target at the same time
as another run goes through the bulk queue.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from itertools import pairwise

from duecourse.domain.jobs.job import Completion, Job, JobSnapshot, JobState, Lane, Tombstone
from duecourse.domain.jobs.pause import PauseChange
from duecourse.domain.schedules import ScheduleError
from duecourse.domain.schedules.exclusions import ExclusionError
from duecourse.limits import WORKER_SECONDS

CLOCK_MARGIN_SECONDS = 10
"""The maximum difference between the clocks of an API function and a worker (seconds)."""

LATE_SECONDS = 5
"""The usual maximum delay of a run's start, in seconds."""

LOOKED_AHEAD = 4
"""The number of future occurrences by which the distance between a schedule's occurrences is estimated."""

LOOK_SECONDS = 60
"""How often a full set of seats is checked for holders that no longer need them, in seconds."""


@dataclass(frozen=True, slots=True)
class Seats:
    """The jobs of a tenant that have a seat in a lane. `looked_at` is when the holders were last checked (UTC seconds).
    `version` grows with every write.
    """

    tenant: str
    lane: Lane
    holders: tuple[str, ...] = ()
    looked_at: float = 0.0
    version: int = 0

    def without_leavers(self, found: Mapping[str, JobSnapshot], *, now: float) -> Seats:
        """Return the seats without the holders that no longer need them. `found` are the current states of the holders
        that can be read.
        """
        left = {each for each, snapshot in found.items() if has_left(self.lane, snapshot, now=now)}
        return replace(self, holders=tuple(each for each in self.holders if each not in left), looked_at=now)

    def must_look(self, asking: Sequence[str], most: int, *, now: float) -> bool:
        """Return whether the holders must be checked before jobs with these ids get a seat. Either all `most` seats are
        taken, or one of the ids has a seat: it belonged to this job, or to a deleted job with the same id whose run may
        still be active.
        """
        looks = len(self.holders) >= most and now >= self.looked_at + LOOK_SECONDS
        return looks or not set(self.holders).isdisjoint(asking)

    def free_for(self, asking: Sequence[str], most: int) -> list[str]:
        """Return which of the jobs with these ids can get a free seat, of `most` in total. Earlier ids have
        precedence.
        """
        return [each for each in asking if each not in self.holders][: max(most - len(self.holders), 0)]

    def given_to(self, *job_ids: str) -> Seats:
        """Return the seats with these jobs added."""
        return replace(self, holders=(*self.holders, *job_ids))


def has_left(lane: Lane, snapshot: JobSnapshot, *, now: float) -> bool:
    """Return whether the holder of a seat in `lane` no longer needs it, and none of its runs can be active there. A job
    that is not found (None) was deleted more than a day ago.
    """
    gone_at = now - WORKER_SECONDS[lane] - CLOCK_MARGIN_SECONDS
    match snapshot:
        case None:
            return True
        case Tombstone(deleted_at=at):
            return at < gone_at
        case Job(state=JobState.COMPLETED):
            return True  # its last run has ended, and later manual runs have no seat
        case Job():
            sits = snapshot.seated and snapshot.lane is lane
            return not sits and snapshot.updated_at < gone_at


class Apart(Enum):
    """The rule that prevents two runs of a job from calling its target at the same time.

    LOCK: the job forbids overlap (or runs only once). SCHEDULE: each run ends before the next one is due. WORKFLOW: the
    lock of the workflow, for a step.
    """

    LOCK = auto()
    SCHEDULE = auto()
    WORKFLOW = auto()


def kept_apart(job: Job) -> Apart:
    """Return the rule that must separate the runs of the job."""
    if job.overlap.rule.alone:
        return Apart.LOCK
    return Apart.SCHEDULE if job.scheduled else Apart.WORKFLOW


def may_have_seat(job: Job, *, step: bool = False) -> bool:
    """Return whether the job can use a seat. `step`: it is a step of a workflow, or is about to become one.

    The distance between its occurrences is estimated from the next few of them. Each run is checked again at its start.
    """
    match kept_apart(job):
        case Apart.LOCK:
            return True
        case Apart.WORKFLOW:
            # A callback may end a run whose call is in progress. The workflow's next run would not detect this call.
            return step and job.completion is Completion.RESPONSE
        case Apart.SCHEDULE:
            apart = job.timeout_seconds + CLOCK_MARGIN_SECONDS + LATE_SECONDS + job.jitter_seconds
            return job.recurring and all(later - earlier >= apart for earlier, later in pairwise(_coming(job)))


def _coming(job: Job) -> Iterator[int]:
    """Yield the next few occurrences of the job."""
    occurrences, at = job.occurrences(), job.following(int(job.updated_at))
    for _ in range(LOOKED_AHEAD):
        if at is None:
            return
        yield at
        at = occurrences.next(at)


def placed(change: PauseChange, *, seated: bool) -> PauseChange:
    """Return the job and its cursor, with or without a seat."""
    return replace(change, job=replace(change.job, seated=seated), cursor=replace(change.cursor, bulk=not seated))


def keeps_seat(job: Job, changed: Job) -> bool:
    """Return whether the job keeps its seat after an edit."""
    return job.seated and job.state is not JobState.COMPLETED and job.lane is changed.lane


def moved(job: Job, workflow: str | None, at: float) -> Job:
    """Return the job after it joins a workflow, or leaves one (None), at the time `at` (UTC seconds). If its workflow
    separated its runs, it gives up its seat, since that workflow's run may be active.
    """
    gives_up = job.workflow is not None and job.seated and kept_apart(job) is Apart.WORKFLOW
    stays = replace(job, seated=False, updated_at=at) if gives_up else job
    return replace(stays, workflow=workflow, claimed_at=None if workflow is None else at, revision=job.revision + 1)


def loses_seat(job: Job, changed: Job, due: int | None, *, now: float, step: bool = False) -> bool:
    """Return whether an edit could let a run of `changed` start at the same time as a run of `job`.

    This is possible if overlap is allowed, if another rule separates the runs now, or if a one-off job is rescheduled
    after it came due (a one-off job does not take a lock). `due` is when the next occurrence of `job` is due.
    """
    if not may_have_seat(changed, step=step):
        return True
    apart = kept_apart(changed)
    if job.seated and kept_apart(job) is not apart:
        return True
    if apart is not Apart.LOCK or changed.generation == job.generation or job.state is JobState.COMPLETED:
        return False
    try:
        was_recurring = job.recurring
    except (ScheduleError, ExclusionError):
        return True
    if was_recurring and changed.recurring:
        return False
    return was_recurring or due is None or due <= now


@dataclass(frozen=True, slots=True)
class Starting:
    """A run that is about to start at `now` (UTC seconds), with the `generation` of its definition.

    - `manual`: it is a manual run.
    - `first`: it has no final record and no earlier attempt.
    - `following`: when the next occurrence is due.
    - `last`: there is no next occurrence.
    - `called_until`: the latest start of calls of the same job that may still be in progress.
    - `in_workflow`: the same, according to the record of its workflow's run. None if other runs of the workflow may be
      active.
    """

    generation: int
    now: float
    manual: bool = False
    first: bool = False
    following: int | None = None
    last: bool = False
    called_until: float | None = None
    in_workflow: float | None = None


def has_seat(job: Job, lane: Lane, start: Starting) -> bool:
    """Return whether a run may start on the workers of `lane` that are reserved for seats."""
    if not calls_are_over(start.called_until, lane, start.now):
        return False
    apart = kept_apart(job)
    if not job.seated or job.lane is not lane or job.state is JobState.COMPLETED:
        return False
    match apart:
        case Apart.LOCK:
            return job.recurring or (not start.manual and start.generation == job.generation)
        case Apart.SCHEDULE:
            if start.manual or start.generation != job.generation:
                return False
            edited_at = None if job.updated_at == job.created_at else job.updated_at
            over_at = start.now + job.timeout_seconds + CLOCK_MARGIN_SECONDS
            fits = start.last if start.following is None else over_at <= start.following
            return fits and calls_are_over(edited_at, lane, start.now)
        case Apart.WORKFLOW:
            alone = start.in_workflow is not None and calls_are_over(start.in_workflow, lane, start.now)
            return start.first and alone


def calls_are_over(called_until: float | None, lane: Lane, now: float) -> bool:
    """Return whether all calls in `lane` that started until `called_until` have ended at `now` (UTC seconds)."""
    return called_until is None or now >= called_until + WORKER_SECONDS[lane] + CLOCK_MARGIN_SECONDS
