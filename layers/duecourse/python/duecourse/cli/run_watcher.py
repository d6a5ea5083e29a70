"""Follows the runs of some jobs and reports each that is new or has changed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from duecourse.client import ApiError, ApiUnreachableError, Page
from duecourse.client.models import Run

NOT_FOUND = 404
PAGE_SIZE = 100
MAX_PAGES = 5


class RunSource(Protocol):
    """Where runs are read: the client."""

    def list_runs(self, job_id: str, *, limit: int | None = None, cursor: str | None = None) -> Page[Run]:
        """One page of a job's runs, newest first."""


@dataclass(frozen=True, slots=True)
class RunStateChange:
    """A run that was not seen in this state before."""

    run: Run
    is_new: bool


class RunWatcher:
    """Polls the runs of the given jobs; keeps the latest state of each.

    A job that is gone is forgotten. One that cannot be asked for is reported and asked for again at the next poll.
    """

    def __init__(
        self, source: RunSource, trouble: Callable[[str, Exception], None], job_ids: Iterable[str] = ()
    ) -> None:
        """`trouble` gets the job and what is wrong, once for as long as that stays the same."""
        self._source = source
        self._trouble = trouble
        self._told: dict[str, str] = {}
        self._job_ids = list(job_ids)
        self._seen: dict[str, Run] = {}

    @property
    def runs(self) -> tuple[Run, ...]:
        """Every run seen so far, in its latest state."""
        return tuple(self._seen.values())

    def follow(self, job_ids: Iterable[str]) -> None:
        """Follow these jobs as well."""
        self._job_ids += [job_id for job_id in job_ids if job_id not in self._job_ids]

    def pending(self, now: datetime) -> frozenset[str]:
        """The jobs with a run that is due and not final: what is worth asking for often."""
        return frozenset(run.job_id for run in self._seen.values() if run.due <= now and not run.is_final)

    def poll(self, job_ids: Collection[str] | None = None) -> tuple[RunStateChange, ...]:
        """Ask once for each job (or for these only); the changes come in the order in which the runs were due."""
        asked = [job_id for job_id in self._job_ids if job_ids is None or job_id in job_ids]
        changes: list[RunStateChange] = []
        for job_id in asked:
            try:
                self._poll_job(job_id, changes)
            except ApiError as error:
                if error.status == NOT_FOUND:
                    self._forget(job_id)
                else:
                    self._tell(job_id, error)
            except ApiUnreachableError as error:
                self._tell(job_id, error)
            else:
                self._told.pop(job_id, None)
        return tuple(sorted(changes, key=lambda change: (change.run.due, change.run.id)))

    def _forget(self, job_id: str) -> None:
        """The ends of its unfinished runs will not be reported."""
        self._job_ids.remove(job_id)
        self._told.pop(job_id, None)
        self._seen = {run.id: run for run in self._seen.values() if run.job_id != job_id or run.is_final}

    def _tell(self, job_id: str, error: Exception) -> None:
        if self._told.get(job_id) != str(error):
            self._told[job_id] = str(error)
            self._trouble(job_id, error)

    def _poll_job(self, job_id: str, changes: list[RunStateChange]) -> None:
        """Add what has changed, page by page: what was read before an error is not read as a change again."""
        cursor: str | None = None
        for _ in range(MAX_PAGES):
            page = self._source.list_runs(job_id, limit=PAGE_SIZE, cursor=cursor)
            changes += [change for run in page.items if (change := self._change(run))]
            cursor = page.next_cursor
            if cursor is None or any(run.is_final for run in page.items):
                break  # what is older was final already when it was last read

    def _change(self, run: Run) -> RunStateChange | None:
        before = self._seen.get(run.id)
        self._seen[run.id] = run
        if before is None:
            return RunStateChange(run, is_new=True)
        return (
            RunStateChange(run, is_new=False) if (before.state, before.attempts) != (run.state, run.attempts) else None
        )
