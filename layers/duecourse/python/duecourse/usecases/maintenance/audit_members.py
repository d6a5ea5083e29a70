"""Audits the members of a workflow's runs. Writes nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from duecourse.domain.ids import RunName
from duecourse.domain.instants import DAY_SECONDS
from duecourse.domain.jobs.policies import JobState, Lane
from duecourse.domain.maintenance.audit import has_members, held_back, stalled
from duecourse.domain.runs.coverage import OccurrenceRange
from duecourse.domain.runs.explain import Verdict
from duecourse.domain.runs.states import Run
from duecourse.domain.targets.targets import WorkflowTarget
from duecourse.limits import MESSAGE_RETENTION_DAYS
from duecourse.ports import Clock, Depths, JobStore, RunStore
from duecourse.usecases.workflows.view import WorkflowRuns

PAGE = 100


@dataclass(frozen=True, slots=True)
class StalledMember:
    """A member's run in the run of its workflow: LOST, or QUEUED where a message of it may still be under way."""

    name: RunName
    workflow_run: RunName
    verdict: Verdict

    @property
    def range(self) -> OccurrenceRange:
        """The instant of both runs."""
        return OccurrenceRange(self.name.occurrence, self.name.occurrence, 1)


@dataclass(frozen=True, slots=True)
class AuditMembers:
    """Reads the records of all members of each run of a workflow in a window, strongly."""

    jobs: JobStore
    runs: RunStore
    workflow_runs: WorkflowRuns
    depths: Depths
    clock: Clock

    def __call__(
        self, tenant: str, job_id: str, ranges: Sequence[OccurrenceRange], served: Mapping[Lane, int]
    ) -> list[StalledMember]:
        """The stalled members of a workflow's runs with instants in these ranges, on request or not; none of another
        job. `served`: see `held_back`. Raises GraphMissingError, and KeyError or ValueError for an item that this
        version cannot read.
        """
        job = self.jobs.get(tenant, job_id)
        if job is None or not isinstance(job.target, WorkflowTarget):
            return []
        runs = (run for each in ranges for run in self._runs(tenant, job_id, each) if has_members(run))
        return [member for run in runs for member in self._stalled(run, served)]

    def _runs(self, tenant: str, job_id: str, window: OccurrenceRange) -> Iterator[Run]:
        before = RunName(job_id, window.last + 1).local
        while True:
            page = self.runs.page(tenant, job_id, limit=PAGE, before=before)
            yield from (run for run in page if run.occurrence >= window.first)
            if len(page) < PAGE or page[-1].occurrence < window.first:
                return
            before = page[-1].name.local

    def _stalled(self, run: Run, served: Mapping[Lane, int]) -> Iterator[StalledMember]:
        """The lanes are read before the records, so that what goes on meanwhile is seen."""
        now = self.clock.now()
        if not stalled(self.workflow_runs.look(run), now=now):
            return
        depths = {lane: self.depths.depth(lane) for lane in Lane}
        again = self.runs.get(run.tenant, run.job_id, run.name.local)
        if again is None or not has_members(again):
            return
        view = self.workflow_runs.look(again)
        for member, since in stalled(view, now=now):
            job = self.jobs.get(run.tenant, member.id)
            if job is not None and job.state is JobState.PAUSED:
                continue  # it holds its workflow's run until it is resumed
            lanes = {member.lane, view.graph.lane, *([] if job is None else [job.lane])}  # its start may have moved on
            drained = all(
                (depth := depths[lane]) is not None and (depth.empty or not held_back(since, served, lane))
                for lane in lanes
            )
            lost = drained or since + MESSAGE_RETENTION_DAYS * DAY_SECONDS <= now
            name = RunName(member.id, run.occurrence, run.suffix)
            yield StalledMember(name, run.name, Verdict.LOST if lost else Verdict.QUEUED)
