"""Single runs: their records, or queued runs without one."""

from __future__ import annotations

from dataclasses import dataclass, replace

from duecourse.domain.ids import RunName, parse_run_id
from duecourse.domain.instants import DAY_SECONDS
from duecourse.domain.jobs.backfill import due_in
from duecourse.domain.jobs.job import Job
from duecourse.domain.runs.recreated import binds_nobody
from duecourse.domain.runs.run import Run, Succeeded
from duecourse.domain.schedules import ScheduleError
from duecourse.domain.schedules.exclusions import ExclusionError
from duecourse.limits import MESSAGE_RETENTION_DAYS
from duecourse.ports import Input, Inputs, Results, RunStore
from duecourse.usecases.jobs.job_errors import JobUnknownError
from duecourse.usecases.runs.history import History
from duecourse.usecases.runs.run_request import requested_run

JUST_AFTER = ".b-"
"""Sorts after a run's plain name and before all other names (see domain.ids: the smallest possible suffix)."""


class RunUnknownError(Exception):
    """There is no such run."""


@dataclass(frozen=True, slots=True)
class Runs:
    """Reads runs by their ids."""

    store: RunStore
    history: History
    results: Results
    inputs: Inputs

    def get(self, tenant: str, run_id: str) -> Run:
        """The run's record, or a QUEUED run where it is enqueued and has none. Raises RunUnknownError."""
        try:
            name = parse_run_id(run_id)
        except ValueError:
            raise RunUnknownError(run_id) from None
        run = self.store.get(tenant, name.job_id, name.local)
        if run is None or self._binds_nobody(run):
            run = (self._asked(tenant, name) if name.suffix else self._enqueued(tenant, name)) or run
        if run is None:
            raise RunUnknownError(run_id)
        return run

    def link(self, run: Run) -> str | None:
        """An address at which a large result can be read for LINK_SECONDS; None if the record has the result."""
        return self.results.link(run.result_key) if isinstance(run, Succeeded) and run.result_key is not None else None

    def _binds_nobody(self, run: Run) -> bool:
        """Whether the record belongs to a deleted job, so that a run of the re-created job may be queued under its
        name. Only for runs that never began.
        """
        job = self.history.jobs.get(run.tenant, run.job_id) if run.attempt == 0 else None
        return job is not None and binds_nobody(job, run)

    def _enqueued(self, tenant: str, name: RunName) -> Run | None:
        """The run under that name in its job's history: QUEUED, or a record that was written meanwhile."""
        try:
            page = self.history.page(tenant, name.job_id, limit=1, before=name.local + JUST_AFTER)
        except JobUnknownError:
            return None
        return next((run for run in page.items if run.name == name), None)

    def _asked(self, tenant: str, name: RunName) -> Run | None:
        """A QUEUED run if it was requested and its message can still be under way."""
        asked = self.inputs.get(tenant, name.job_id, name.suffix)
        job = None if asked is None else self.history.jobs.get(tenant, name.job_id)
        if asked is None or job is None or asked.generation < job.created_generation:
            return None
        due = _due(job, asked, name.occurrence)
        if due is None or self.history.clock.now() > due + MESSAGE_RETENTION_DAYS * DAY_SECONDS:
            return None
        run = requested_run(job, asked, name.occurrence, due)
        return replace(run, identity=replace(run.identity, generation=asked.generation))


def _due(job: Job, asked: Input, occurrence: int) -> int | None:
    """When the requested run of an occurrence starts; None if it was not requested. A backfill is computed again by the
    job's present schedule, since its runs have no items before they start.
    """
    if asked.backfill is None:
        return occurrence if occurrence == asked.occurrence else None
    try:
        return due_in(job.occurrences(), asked.backfill, occurrence, now=asked.requested_at)
    except (ScheduleError, ExclusionError):
        return None
