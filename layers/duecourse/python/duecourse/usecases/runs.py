"""One run: its record, or what waits in its lane and has none yet."""

from __future__ import annotations

from dataclasses import dataclass

from duecourse.domain.ids import RunName, parse_run_id
from duecourse.domain.run import Run
from duecourse.ports import Results, RunStore
from duecourse.usecases.history import History
from duecourse.usecases.jobs import JobUnknownError

JUST_AFTER = ".b-"
"""Sorts behind a run's plain name and before every other run's (see domain.ids: the least suffix there can be)."""


class RunUnknownError(Exception):
    """There is no such run."""


@dataclass(frozen=True, slots=True)
class Runs:
    """Reads runs by their ids."""

    store: RunStore
    history: History
    results: Results

    def get(self, tenant: str, run_id: str) -> Run:
        """The run's record, or a QUEUED run where it is enqueued and has none. Raises RunUnknownError."""
        try:
            name = parse_run_id(run_id)
        except ValueError:
            raise RunUnknownError(run_id) from None
        run = self.store.get(tenant, name.job_id, name.local)
        if run is None and not name.suffix:
            run = self._enqueued(tenant, name)
        if run is None:
            raise RunUnknownError(run_id)
        return run

    def link(self, run: Run) -> str | None:
        """An address at which a large result can be read for LINK_SECONDS; None where the record holds it."""
        return None if run.result_key is None else self.results.link(run.result_key)

    def _enqueued(self, tenant: str, name: RunName) -> Run | None:
        """What its job's history shows under that name: QUEUED, or a record that was written meanwhile."""
        try:
            page = self.history.page(tenant, name.job_id, limit=1, before=name.local + JUST_AFTER)
        except JobUnknownError:
            return None
        return next((run for run in page.items if run.name == name), None)
