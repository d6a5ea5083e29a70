"""Seats for jobs that are created or edited; jobs without a seat use the bulk queue."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from duecourse.domain.jobs.cursor import Cursor
from duecourse.domain.jobs.job import Job
from duecourse.domain.jobs.pause import PauseChange
from duecourse.domain.jobs.policies import Lane
from duecourse.domain.jobs.seats import LOOK_SECONDS, Seats, keeps_seat, loses_seat, may_have_seat
from duecourse.ports import Clock, CreationTerms, JobStore, SeatsChangedError, SeatStore

TRIES = 4
"""Tries of a creation whose seat other jobs take at the same moment; the last try asks for no seat."""


@dataclass(frozen=True, slots=True)
class Seating:
    """`most` is the number of seats of a tenant in each lane. Seats are read here and written only in the job's own
    transaction.
    """

    store: SeatStore
    clock: Clock
    most: Mapping[Lane, int]

    def create(
        self, store: JobStore, job: Job, cursor: Cursor, terms: CreationTerms, *, member: bool = False
    ) -> PauseChange | None:
        """Write a new job, with a seat if one is free; None if its id is taken. `member`: it will be one of a workflow.
        Raises as JobStore.create.
        """
        for left in reversed(range(TRIES)):
            seats = self._with(job) if left and may_have_seat(job, member=member) else None
            made = _placed(PauseChange(job, cursor), seated=seats is not None)
            try:
                written = store.create(made.job, made.cursor, replace(terms, seats=seats))
            except SeatsChangedError:
                continue
            return made if written else None
        raise AssertionError("the last try takes no seat")

    def of_changed(
        self, job: Job, change: PauseChange, due: int | None, *, member: bool = False
    ) -> tuple[PauseChange, Seats | None]:
        """The change to write for an edit, and the seats to write with it; `due` is when the next occurrence was
        due. `member`: as in `create`.
        """
        if loses_seat(job, change.job, due, now=self.clock.now(), member=member or job.workflow is not None):
            return _placed(change, seated=False), None
        if keeps_seat(job, change.job):
            return change, None
        seats = self._with(change.job)
        return _placed(change, seated=seats is not None), seats

    def _with(self, job: Job) -> Seats | None:
        """The seats with one for the job; None if none is free."""
        seats, now = self.store.seats(job.tenant, job.lane), self.clock.now()
        # Its own id has a seat: it belonged to this job or a deleted one of that id, whose run may still be at work.
        if job.id in seats.holders or len(seats.holders) >= self.most[job.lane]:
            if now < seats.looked_at + LOOK_SECONDS and job.id not in seats.holders:
                return None
            looked = seats.without_leavers(self.store.holders(seats), now=now)
            if job.id in looked.holders or len(looked.holders) >= self.most[job.lane]:
                self.store.note(looked)
                return None
            seats = looked
        return seats.given_to(job.id)


def _placed(change: PauseChange, *, seated: bool) -> PauseChange:
    return replace(change, job=replace(change.job, seated=seated), cursor=replace(change.cursor, bulk=not seated))
