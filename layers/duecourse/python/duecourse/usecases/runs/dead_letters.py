"""Redrives many dead runs with one request."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from duecourse.domain.jobs.document import ChangeAction
from duecourse.domain.jobs.job import Job
from duecourse.domain.runs.document import RunFilter
from duecourse.domain.runs.states import Run
from duecourse.domain.runs.transitions import own_job
from duecourse.domain.tenants.rate import Charge, free
from duecourse.messages import Redrive
from duecourse.ports import StateMark
from duecourse.usecases.runs.commands import Commands
from duecourse.usecases.runs.lists import RunSearch, mark_of

if TYPE_CHECKING:
    from duecourse.stores.jobs import JobStore


@dataclass(frozen=True, slots=True)
class RedriveResult:
    """The number of runs whose redrive was sent, was `refused` by their lane, or was not sent because their job is
    deleted or a redrive would start none of their steps (`orphaned`). `following` continues after the last run that was
    read (None: there are no more).
    """

    sent: int
    refused: int
    orphaned: int
    following: StateMark | None


@dataclass(frozen=True, slots=True)
class DeadLetters:
    """Redrives dead runs. The list of dead runs may be slightly stale: it shows a redriven run until a worker has
    started it. A second redrive message for such a run is dropped.
    """

    search: RunSearch
    jobs: JobStore
    commands: Commands

    def redrive(
        self,
        tenant: str,
        wanted: RunFilter,
        *,
        limit: int,
        job_id: str | None = None,
        tag: str | None = None,
        before: StateMark | None = None,
        by: str | None = None,
        charge: Charge = free,
        dry_run: bool = False,
    ) -> RedriveResult:
        """Redrive up to `limit` dead runs after the mark, for the caller `by`. The runs and their order are those of
        `RunSearch.page`. It ends early when its time is up, or when no message of a portion was accepted. A dry run
        reads the same and sends nothing; it counts the runs that would be redriven.

        Raises LaneUnavailableError if no message was accepted, and the errors of `charge` for the number of runs to be
        read.
        """
        page = self.search.page(tenant, wanted, limit=limit, before=before, job_id=job_id, tag=tag)
        charge(len(page.items))
        jobs: dict[str, Job | None] = {}

        def owned(portion: Sequence[Run]) -> list[Run]:
            self._read(tenant, portion, jobs)
            known = [run for run in portion if own_job(jobs[run.job_id], run) is not None]  # else there is no target
            return [run for run in known if not self.commands.workflow_runs.lasting_failures(run)]

        result = self.commands.send_many(
            Redrive(), ChangeAction.REDRIVEN, page.items, by=by, dry_run=dry_run, chosen=owned
        )
        following = mark_of(page.items[result.done - 1]) if result.done < len(page.items) else page.following
        return RedriveResult(result.sent, result.refused, result.omitted, following)

    def _read(self, tenant: str, runs: Iterable[Run], jobs: dict[str, Job | None]) -> None:
        """Add the jobs of the runs to `jobs`, except those already in it."""
        for job_id in {run.job_id for run in runs} - jobs.keys():
            jobs[job_id] = self.jobs.get(tenant, job_id)
