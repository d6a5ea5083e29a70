"""Seats: how many workers of a lane one tenant can occupy.

Each lane has two queues, each with its own workers: one for jobs that have a seat, and the bulk queue for all others. A
tenant has a bounded number of seats in each lane, assigned when a job is created or edited, and of a job with a seat at
most one run calls its target on the seats' workers. So a tenant cannot occupy more of them than it has seats, however
slow its targets are. The start of a run reads and writes nothing for seats. What keeps its runs apart depends on the
job (`Apart`); a run that might call beside another one goes through the bulk queue.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum, auto
from itertools import pairwise

from duecourse.domain.jobs.job import Completion, Job, JobSnapshot, JobState, Lane, Tombstone
from duecourse.domain.schedules import ScheduleError
from duecourse.domain.schedules.occurrences import ExclusionError
from duecourse.limits import WORKER_SECONDS

CLOCK_MARGIN_SECONDS = 10
"""Clocks of an API function and a worker may differ by seconds."""

LATE_SECONDS = 5
"""How late a run usually starts at most."""

LOOKED_AHEAD = 4
"""By how many coming occurrences it is judged how far a schedule's are apart."""

LOOK_SECONDS = 60
"""How often a full set of seats is checked for holders that have left."""


@dataclass(frozen=True, slots=True)
class Seats:
    """The jobs of a tenant that have a seat in a lane. `looked_at` is when holders were last checked (UTC seconds),
    `version` grows with every write.
    """

    tenant: str
    lane: Lane
    holders: tuple[str, ...] = ()
    looked_at: float = 0.0
    version: int = 0

    def without_leavers(self, found: Mapping[str, JobSnapshot], *, now: float) -> Seats:
        """The seats without holders that have left; `found` are the holders as they are now, if they can be read."""
        left = {each for each, snapshot in found.items() if has_left(self.lane, snapshot, now=now)}
        return replace(self, holders=tuple(each for each in self.holders if each not in left), looked_at=now)

    def given_to(self, job_id: str) -> Seats:
        """The seats with this job added."""
        return replace(self, holders=(*self.holders, job_id))


def has_left(lane: Lane, snapshot: JobSnapshot, *, now: float) -> bool:
    """Whether the holder of a seat in `lane` no longer needs it, and no run of it can be active there. A deletion is
    remembered for a day.
    """
    gone_at = now - WORKER_SECONDS[lane] - CLOCK_MARGIN_SECONDS
    match snapshot:
        case None:
            return True
        case Tombstone(deleted_at=at):
            return at < gone_at
        case Job(state=JobState.COMPLETED):
            return True  # its last run has ended, and runs on request then have no seat
        case Job():
            sits = snapshot.seated and snapshot.lane is lane
            return not sits and snapshot.updated_at < gone_at


class Apart(Enum):
    """What keeps two runs of a job from calling its target at once: the LOCK of a job that forbids overlap (or that it
    runs once); the SCHEDULE, if each run ends before the next one is due; or, for a step, the lock of its WORKFLOW.
    """

    LOCK = auto()
    SCHEDULE = auto()
    WORKFLOW = auto()


def kept_apart(job: Job) -> Apart:
    """What would have to keep the runs of the job apart."""
    if job.overlap.rule.alone:
        return Apart.LOCK
    return Apart.SCHEDULE if job.scheduled else Apart.WORKFLOW


def may_have_seat(job: Job, *, step: bool = False) -> bool:
    """Whether a seat is of use to the job. `step`: it is one of a workflow, or is about to be.

    Whether its occurrences are far enough apart is judged by the next few; each run is checked again when it starts.
    """
    match kept_apart(job):
        case Apart.LOCK:
            return True
        case Apart.WORKFLOW:
            # A callback may end a run whose call is in progress, and the workflow's next run would not know.
            return step and job.completion is Completion.RESPONSE
        case Apart.SCHEDULE:
            apart = job.timeout_seconds + CLOCK_MARGIN_SECONDS + LATE_SECONDS + job.jitter_seconds
            return job.recurring and all(later - earlier >= apart for earlier, later in pairwise(_coming(job)))


def _coming(job: Job) -> Iterator[int]:
    """Its next few occurrences."""
    occurrences, at = job.occurrences(), job.following(int(job.updated_at))
    for _ in range(LOOKED_AHEAD):
        if at is None:
            return
        yield at
        at = occurrences.next(at)


def keeps_seat(job: Job, changed: Job) -> bool:
    """Whether the job keeps its seat after an edit."""
    return job.seated and job.state is not JobState.COMPLETED and job.lane is changed.lane


def moved(job: Job, workflow: str | None, at: float) -> Job:
    """The job as it joins a workflow, or leaves one (None), `at` this time (UTC seconds). If its workflow kept its runs
    apart, it gives up its seat: that workflow's run may be active.
    """
    gives_up = job.workflow is not None and job.seated and kept_apart(job) is Apart.WORKFLOW
    stays = replace(job, seated=False, updated_at=at) if gives_up else job
    return replace(stays, workflow=workflow, claimed_at=None if workflow is None else at, revision=job.revision + 1)


def loses_seat(job: Job, changed: Job, due: int | None, *, now: float, step: bool = False) -> bool:
    """Whether an edit could let a run of `changed` start beside one of `job`: overlap is allowed, other rules keep its
    runs apart now, or a one-off is rescheduled after it came due (a one-off takes no lock). `due` is when the next
    occurrence of `job` is due.
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
    """A run that is about to start at `now` (UTC seconds), by a definition of its job.

    `manual`: it is a run on request. `first`: it has no record that is final, and no earlier attempt. `following`: when
    the next occurrence is due, `last`: there is none. `called_until`: until when calls of the same job began that may
    be active; `in_workflow`: the same as its workflow's run knows it, None if that run may have others beside it.
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
    """Whether a run may start on the workers of `lane` that are for seats."""
    if not calls_are_over(start.called_until, lane, start.now):
        return False
    if not job.seated or job.lane is not lane or job.state is JobState.COMPLETED:
        return False
    match kept_apart(job):
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
    """Whether calls in `lane` that began until then have ended at `now` (UTC seconds)."""
    return called_until is None or now >= called_until + WORKER_SECONDS[lane] + CLOCK_MARGIN_SECONDS
