"""Chooses the minutes of jobs with `spread` from the forecast of the tenant's load."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from duecourse.domain.jobs.cursor import cursor_for
from duecourse.domain.jobs.job import Job, Spread
from duecourse.domain.jobs.spread import (
    STEPS,
    Minutes,
    Place,
    TooManyRuns,
    Wanted,
    check_offset,
    minutes_of,
    place_all,
    windows_of,
)
from duecourse.domain.jobs.upcoming import Window
from duecourse.domain.tenants.rate import Budget, Charge
from duecourse.ports import Clock
from duecourse.usecases.jobs.change import Draft, Jobs
from duecourse.usecases.jobs.upcoming import JOBS_READ, firing, read_cursors, tokens_of
from duecourse_schedules import ScheduleError
from duecourse_schedules.exclusions import ExclusionError

PAGES = 5
"""The maximum number of pages of jobs that a forecast reads, so that a request ends within seconds. If a tenant has
more jobs, a hash of the job's id chooses the minute.
"""

SEARCHES_A_REQUEST = 20_000
"""Searching this many windows for the runs of a job counts as one request."""

STEPS_A_REQUEST = 5_000
"""This many steps of a forecast count as one request."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """A draft with its offset. `place` is set if the offset was just chosen."""

    draft: Draft
    place: Place | None = None


Choice = Chosen | Exception


@dataclass(frozen=True, slots=True)
class Spreading:
    """Chooses the offsets of jobs. Reads only, and only for jobs with a spread whose offset is not known."""

    jobs: Jobs
    clock: Clock
    jobs_read: int = JOBS_READ

    def chosen(self, draft: Draft, job: Job | None, charge: Charge) -> Chosen:
        """Return the draft with its offset. `job` is the stored job (None: a new job); it keeps its offset if neither
        its schedule nor the number of minutes changes. Raises ScheduleError, ExclusionError, and the errors of
        `charge` for the forecast.
        """
        (outcome,) = self.all_chosen([(draft, job)], charge)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def all_chosen(self, drafts: Sequence[tuple[Draft, Job | None]], charge: Charge) -> list[Choice]:
        """Return the draft or the error of `chosen` for each draft, with one forecast. Each choice takes the previous
        ones into account.
        """
        now = self.clock.now()
        outcomes: list[Choice] = [Chosen(draft) for draft, _ in drafts]
        wanted: dict[int, Wanted] = {}
        for index, (draft, job) in enumerate(drafts):
            if draft.spread is None:
                continue
            try:
                found = self._wanted(draft, draft.spread, job, now)
                if isinstance(found, Wanted):
                    wanted[index] = found
                else:
                    outcomes[index] = Chosen(replace(draft, spread=found))
            except (ScheduleError, ExclusionError) as error:
                outcomes[index] = error
        if wanted:
            places = self._places(drafts[0][0].tenant, list(wanted.values()), charge, now)
            for index, place in zip(wanted, places, strict=True):
                draft = drafts[index][0]
                if draft.spread is not None:
                    spread = replace(draft.spread, offset_minutes=place.offset_minutes)
                    outcomes[index] = Chosen(replace(draft, spread=spread), place)
        return outcomes

    def plan(
        self, tenant: str, jobs: Sequence[Job], within: int, charge: Charge
    ) -> Mapping[str, Place | ScheduleError | ExclusionError]:
        """Return the place of each stored job if it gets this spread, with one forecast, or why it cannot have one."""
        now, found = self.clock.now(), dict[str, Place | ScheduleError | ExclusionError]()
        wanted: list[Wanted] = []
        for job in jobs:
            try:
                wanted.append(Wanted.of(cursor_for(job, now), within, now))
            except (ScheduleError, ExclusionError) as error:
                found[job.id] = error
        if wanted:
            places = self._places(tenant, wanted, charge, now)
            found |= {each.cursor.job_id: place for each, place in zip(wanted, places, strict=True)}
        return {job.id: found[job.id] for job in jobs}

    def _wanted(self, draft: Draft, spread: Spread, job: Job | None, now: float) -> Spread | Wanted:
        """Return the spread with its offset, or the job to place. Raises ScheduleError or ExclusionError."""
        dated = self.jobs.with_calendars(draft, job)
        new = dated.new(draft.id or self.jobs.parts.randomness.nonce(), now) if job is None else dated.over(job, now)
        present = None if job is None else job.offset_seconds
        cursor = replace(cursor_for(new, now), offset_seconds=present or None)
        if spread.offset_minutes is not None:
            if job is None or spread != job.spread or new.schedule != job.schedule:
                check_offset(cursor, spread.within_minutes, spread.offset_minutes, now)
            return spread
        if job is not None and job.spread is not None and new.schedule == job.schedule:
            kept = replace(spread, offset_minutes=job.spread.offset_minutes)
            if kept == job.spread and kept.offset_minutes is not None:
                return kept
        return Wanted.of(cursor, spread.within_minutes, now)

    def _places(self, tenant: str, wanted: Sequence[Wanted], charge: Charge, now: float) -> list[Place]:
        windows, own = windows_of(wanted, now), {each.cursor.job_id for each in wanted}
        budget = Budget(STEPS)
        try:
            return place_all(wanted, self._forecast(tenant, windows, own, charge, budget), windows, budget)
        except TooManyRuns:
            return place_all(wanted, None, windows, budget)

    def _forecast(
        self, tenant: str, windows: Sequence[Window], apart: Collection[str], charge: Charge, budget: Budget
    ) -> Minutes:
        """Return the load of all jobs except those `apart`. Raises TooManyRuns if there are too many jobs or runs."""
        found, after = Counter[int](), None
        for _ in range(PAGES):
            store = self.jobs.parts.jobs
            page = read_cursors(store, tenant, store.page_planned(tenant, limit=self.jobs_read, after=after))
            charge(1 + tokens_of(page.items) + len(page.items) * len(windows) // SEARCHES_A_REQUEST)
            before = budget.steps
            try:
                for entry in page.items:
                    cursor = firing(entry)
                    if cursor is None or entry.job_id in apart:
                        continue
                    with suppress(ScheduleError, ExclusionError):  # the upcoming load reports it
                        found.update(minutes_of(cursor, windows, budget))
            finally:
                charge(1 + (before - budget.steps) // STEPS_A_REQUEST)
            if (after := page.following) is None:
                return found
        raise TooManyRuns
