"""Polls the runs of some jobs and reports each new or changed run."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol

from duecourse.client import ApiError, ApiUnreachableError, Client, Page
from duecourse.client.models import Run

NOT_FOUND = 404
PAGE_SIZE = 100
MAX_PAGES = 5


class RunSource(Protocol):
    """The source of runs: the client."""

    def list_runs(self, job_id: str, *, limit: int | None = None, cursor: str | None = None) -> Page[Run]:
        """Return one page of a job's runs, newest first."""


State = Literal["QUEUED", "RUNNING", "WAITING", "RETRYING", "SUCCEEDED", "DEAD", "CANCELLED", "SKIPPED"]


@dataclass(frozen=True, slots=True)
class ListedRuns:
    """The runs that the API lists across jobs and that have entered their state (of `states`, if set) since a time, in
    one request whatever the number of jobs.
    """

    client: Client
    since: datetime
    states: Sequence[State] | None = None

    def list_runs(self, job_id: str, *, limit: int | None = None, cursor: str | None = None) -> Page[Run]:
        """Return a page of these runs. The job is ignored."""
        del job_id
        return self.client.find_runs(state=self.states, since=self.since, limit=limit, cursor=cursor)


@dataclass(frozen=True, slots=True)
class RunStateChange:
    """A run in a state that was not seen before."""

    run: Run
    is_new: bool


class RunWatcher:
    """Polls the runs of jobs, and stores the latest state of each.

    A deleted job is removed. A failed request is reported and retried at the next poll.
    """

    def __init__(
        self, source: RunSource, trouble: Callable[[str, Exception], None], job_ids: Iterable[str] = ()
    ) -> None:
        """`trouble` receives the job and its error, once until the error changes."""
        self._source = source
        self._trouble = trouble
        self._told: dict[str, str] = {}
        self._job_ids = list(job_ids)
        self._seen: dict[str, Run] = {}
        self._polled: set[str] = set()

    @property
    def runs(self) -> tuple[Run, ...]:
        """Every seen run in its latest state."""
        return tuple(self._seen.values())

    @property
    def job_ids(self) -> tuple[str, ...]:
        """The followed jobs that exist."""
        return tuple(self._job_ids)

    def follow(self, job_ids: Iterable[str]) -> None:
        """Also follow these jobs."""
        self._job_ids += [job_id for job_id in job_ids if job_id not in self._job_ids]

    def pending(self, now: datetime) -> frozenset[str]:
        """Return the jobs with a run that is due and not final. Poll these jobs often."""
        return frozenset(run.job_id for run in self._seen.values() if run.due <= now and not run.is_final)

    def poll(self, job_ids: Collection[str] | None = None) -> tuple[RunStateChange, ...]:
        """Poll each job (or only these) once. Return the changes in the order in which the runs were due."""
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
        """Remove a job. The ends of its active runs are not reported."""
        self._job_ids.remove(job_id)
        self._polled.discard(job_id)
        self._told.pop(job_id, None)
        self._seen = {run.id: run for run in self._seen.values() if run.job_id != job_id or run.is_final}

    def _tell(self, job_id: str, error: Exception) -> None:
        if self._told.get(job_id) != str(error):
            self._told[job_id] = str(error)
            self._trouble(job_id, error)

    def _poll_job(self, job_id: str, changes: list[RunStateChange]) -> None:
        """Add the changes page by page. Pages that were read before an error are not reported again."""
        cursor: str | None = None
        first = job_id not in self._polled
        for _ in range(MAX_PAGES):
            page = self._source.list_runs(job_id, limit=PAGE_SIZE, cursor=cursor)
            before = [self._seen.get(run.id, run if first else None) for run in page.items]
            changes += [change for run in page.items if (change := self._change(run))]
            self._polled.add(job_id)
            cursor = page.next_cursor
            if cursor is None or any(run is not None and run.is_final for run in before):
                break  # older runs were already final when they were last read, or at the first poll

    def _change(self, run: Run) -> RunStateChange | None:
        before = self._seen.get(run.id)
        self._seen[run.id] = run
        if before is None:
            return RunStateChange(run, is_new=True)
        return (
            RunStateChange(run, is_new=False) if (before.state, before.attempts) != (run.state, run.attempts) else None
        )
