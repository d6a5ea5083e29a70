"""Dead runs: lists them, and redrives many with one request."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from duecourse.domain.jobs.document import ChangeAction
from duecourse.domain.jobs.job import Job
from duecourse.domain.runs.decision import own_job
from duecourse.domain.runs.document import RunFilter
from duecourse.domain.runs.states import Run, RunState
from duecourse.domain.tenants.rate import Charge, free
from duecourse.messages import Redrive
from duecourse.ports import JobStore, StateMark
from duecourse.usecases.runs.commands import CommandSender
from duecourse.usecases.runs.lists import RunSearch, StatePage, mark_of
from duecourse.usecases.runs.requests import LaneUnavailableError

REDRIVE_SECONDS = 15.0
"""After this time a redrive of many runs stops and returns a position to continue from: an HTTP API times out after 30
s.
"""

PORTION = 20
"""The number of runs read and sent between two checks of the clock."""


@dataclass(frozen=True, slots=True)
class DeadRuns:
    """Selects dead runs by job (None: all jobs), time of death (from `since` until before `until`, UTC seconds),
    current `tag` of the job, and text in the error.
    """

    job_id: str | None = None
    since: int | None = None
    until: int | None = None
    tag: str | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class RedriveResult:
    """The number of runs whose redrive was sent, was `refused` by their lane, or was not sent because their job is
    deleted (`orphaned`). `following` continues after the last run that was read (None: there are no more).
    """

    sent: int
    refused: int
    orphaned: int
    following: StateMark | None


@dataclass(frozen=True, slots=True)
class DeadLetters:
    """Lists and redrives dead runs. The list may be slightly stale: it shows a redriven run until a worker has started
    it. A second redrive message for such a run is dropped.
    """

    search: RunSearch
    jobs: JobStore
    orders: CommandSender

    def page(self, tenant: str, choice: DeadRuns, *, limit: int, before: StateMark | None) -> StatePage:
        """Return a page of the selected runs after the mark. The runs that died last come first."""
        wanted = RunFilter((RunState.DEAD,), choice.since, choice.until, choice.error)
        return self.search.page(tenant, wanted, limit=limit, before=before, job_id=choice.job_id, tag=choice.tag)

    def redrive(
        self,
        tenant: str,
        choice: DeadRuns,
        *,
        limit: int,
        before: StateMark | None = None,
        by: str | None = None,
        charge: Charge = free,
        dry_run: bool = False,
    ) -> RedriveResult:
        """Redrive up to `limit` of the selected runs after the mark, for the caller `by`. The runs that died last come
        first. It ends early when its time is up, or when no message of a portion was accepted. A dry run reads the same
        and sends nothing; it counts the runs that would be redriven.

        Raises LaneUnavailableError if no message was accepted, and the errors of `charge` for the number of runs to be
        read.
        """
        until = self.orders.clock.now() + REDRIVE_SECONDS
        page = self.page(tenant, choice, limit=limit, before=before)
        charge(len(page.items))
        jobs: dict[str, Job | None] = {}
        looked_at = sent = refused = orphaned = 0
        while looked_at < len(page.items):
            portion = page.items[looked_at : looked_at + PORTION]
            looked_at += len(portion)
            self._read(tenant, portion, jobs)
            # A run without its job has no target to call.
            owned = [run for run in portion if own_job(jobs[run.job_id], run) is not None]
            if dry_run:
                accepted = [True] * len(owned)
            else:
                self.jobs.note(self.orders.records(ChangeAction.REDRIVEN, owned, by))
                accepted = self.orders.send(Redrive(), owned)
            sent, refused = sent + sum(accepted), refused + accepted.count(False)
            orphaned += len(portion) - len(owned)
            if owned and not any(accepted):
                if not sent:
                    raise LaneUnavailableError(f"{refused} dead runs")
                break
            if self.orders.clock.now() > until:
                break
        following = mark_of(page.items[looked_at - 1]) if looked_at < len(page.items) else page.following
        return RedriveResult(sent, refused, orphaned, following)

    def _read(self, tenant: str, runs: Iterable[Run], jobs: dict[str, Job | None]) -> None:
        """Add the jobs of the runs to `jobs`, except those already in it."""
        for job_id in {run.job_id for run in runs} - jobs.keys():
            jobs[job_id] = self.jobs.current(tenant, job_id)
