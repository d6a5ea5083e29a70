"""Reservations of jobs that a request is about to replace in several writes."""

from __future__ import annotations

from duecourse.domain.jobs.job import Job, Reservation
from duecourse.ports import Clock, JobStore
from duecourse.usecases.jobs.job_errors import JobChangedError

RESERVED_SECONDS = 60
"""How long a reservation is valid: the API ends a request after 29 s, and clocks differ by seconds."""

WAITS = 20
RESERVED_WAIT_SECONDS = 0.25
"""How many times, and how long each time, another request waits for the request that has reserved the job: 5 s in
total.
"""


def unreserved(store: JobStore, clock: Clock, tenant: str, job_id: str, own: Reservation | None = None) -> Job | None:
    """Return the job (None: there is no job) once no other request has reserved it. Raises JobChangedError."""
    for _ in range(WAITS):
        job = store.get(tenant, job_id)
        if job is None or not is_reserved(job, clock.now(), own):
            return job
        clock.sleep_until(clock.now() + RESERVED_WAIT_SECONDS)
    raise JobChangedError(job_id)


def is_reserved(job: Job, now: float, own: Reservation | None = None) -> bool:
    """Return whether a request other than the owner of the reservation `own` may be about to replace the job."""
    if job.reserved is None or job.reserved.until <= now:
        return False
    return own is None or job.reserved.by != own.by
