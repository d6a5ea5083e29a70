"""Seats: how many workers of a lane one tenant can occupy.

Each lane has two queues, each with its own workers: one for jobs that have a seat, and the bulk queue for all others. A
tenant has a bounded number of seats in each lane, assigned when a job is created or edited, and a job with a seat has
at most one run that calls its target. So a tenant cannot occupy more of the seats' workers than it has seats, however
slow its targets are. The start of a run reads and writes nothing for seats.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from duecourse.domain.jobs.job import Gone, Job, JobSnapshot
from duecourse.domain.jobs.policies import JobState, Lane, Overlap
from duecourse.domain.schedules import ScheduleError
from duecourse.domain.schedules.exclusions import ExclusionError
from duecourse.limits import WORKER_SECONDS

CLOCK_MARGIN_SECONDS = 10
"""Clocks of an API function and a worker may differ by seconds."""

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
    """Whether the holder of a seat in `lane` no longer needs it, and no run of it can be at work there. A deletion is
    remembered for a day.
    """
    gone_at = now - WORKER_SECONDS[lane] - CLOCK_MARGIN_SECONDS
    match snapshot:
        case None:
            return True
        case Gone(deleted_at=at):
            return at < gone_at
        case Job(state=JobState.COMPLETED):
            return True  # its last run has ended, and runs on request then have no seat
        case Job():
            sits = snapshot.seated is not False and snapshot.lane is lane
            return not sits and snapshot.updated_at < gone_at


def may_have_seat(job: Job) -> bool:
    """Whether at most one run of the job can be at work at once."""
    return job.overlap is not Overlap.ALLOW


def keeps_seat(job: Job, changed: Job) -> bool:
    """Whether the job keeps its seat after an edit."""
    return job.seated is True and job.state is not JobState.COMPLETED and job.lane is changed.lane


def loses_seat(job: Job, changed: Job, due: int | None, *, now: float) -> bool:
    """Whether an edit could let a run of `changed` start beside one of `job`: overlap is allowed, or a one-off is
    rescheduled after it came due (a one-off takes no lock). `due` is when the next occurrence of `job` is due.
    """
    if not may_have_seat(changed):
        return True
    if changed.generation == job.generation or job.state is JobState.COMPLETED:
        return False
    try:
        was_recurring = job.recurring
    except (ScheduleError, ExclusionError):
        return True
    if was_recurring and changed.recurring:
        return False
    return was_recurring or due is None or due <= now


def has_seat(job: Job, lane: Lane, generation: int, *, manual: bool) -> bool:
    """Whether a run may start on the workers of `lane` that are for seats. `generation` is that of the definition that
    enqueued it; `manual`: it is a run on request. Jobs of releases without seats may, until an edit.
    """
    if job.seated is None:
        return True
    if not job.seated or job.lane is not lane or job.state is JobState.COMPLETED:
        return False
    return job.recurring or (not manual and generation == job.generation)
