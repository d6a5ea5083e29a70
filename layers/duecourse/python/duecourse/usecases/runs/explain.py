"""Explains why a job ran, or did not run, at an instant. This module reads the data; the domain decides."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from duecourse.domain.ids import RunName, key_queue
from duecourse.domain.instants import DAY_SECONDS
from duecourse.domain.jobs.cursor import Cursor
from duecourse.domain.jobs.job import Job, JobSnapshot
from duecourse.domain.runs.explain import (
    SETTLED_SECONDS,
    ExplainContext,
    Explanation,
    Said,
    Verdict,
    explain,
    pause_over,
    with_pause,
)
from duecourse.domain.runs.overlap import PAUSE_PLACE, wait_queue_of
from duecourse.domain.runs.states import Dead, Queued, Retrying, Run, RunState
from duecourse.domain.tenants.rate import Charge, free
from duecourse.domain.workflows.check import MAX_LEVELS
from duecourse.domain.workflows.explain import instead_of, step_in, waiting_for
from duecourse.domain.workflows.view import WorkflowRunView
from duecourse.gates.gate import said_of_pause
from duecourse.gates.order import BY_NAME
from duecourse.limits import MESSAGE_RETENTION_DAYS
from duecourse.ports import GraphMissingError
from duecourse.usecases.jobs.job_errors import JobUnknownError
from duecourse.usecases.jobs.view import at_once_until
from duecourse.usecases.runs.requests import queued_run
from duecourse.usecases.workflows.workflows import NoWorkflowRunError, WorkflowRuns
from duecourse_schedules import ScheduleError
from duecourse_schedules.exclusions import ExclusionError

if TYPE_CHECKING:
    from duecourse.settings import RoundSettings
    from duecourse.usecases.jobs.membership import Membership
    from duecourse.usecases.parts import Parts

PAGE = 100
MAX_READ = 400
"""The maximum number of records read before an instant. The record of a range may come after the records of occurrences
that the API sent immediately (100) and of manual runs.
"""


CHANGES = 100
"""The number of a job's last changes that are searched for its pause, 100 KB at most."""

MAX_WAITING = 100
"""The maximum number of runs read from a wait queue, 100 KB at most. The response has no position for runs behind
them.
"""

OCCURRENCES_A_REQUEST = 5_000
"""This many occurrences until the end of a job with `max_runs`, which are counted one by one, count as one request."""


@dataclass(frozen=True, slots=True)
class Explained:
    """The explanation and its run, which is a record or a queued run without one."""

    found: Explanation
    run: Run | None


@dataclass(frozen=True, slots=True)
class Explain:
    """Explains with a few reads. For a workflow's run, it reads the records of all steps."""

    parts: Parts[RoundSettings]
    workflow_runs: WorkflowRuns
    membership: Membership

    def __call__(
        self, tenant: str, job_id: str, at: int, tags: Set[str] | None = None, charge: Charge = free
    ) -> Explained:
        """Explain why the job ran, or did not run, at `at` (UTC seconds). `tags` are the tags of the caller's
        tag-scoped permissions. Raises JobUnknownError if there is neither a job nor a record, and the errors of
        `charge` for counting occurrences and for reading a workflow's run.
        """
        return self._explained(tenant, job_id, at, tags, charge)[0]

    def _explained(
        self, tenant: str, job_id: str, at: int, tags: Set[str] | None, charge: Charge, levels: int = MAX_LEVELS
    ) -> tuple[Explained, WorkflowRunView | None]:
        """Return the explanation, and the run of a workflow that was read for it. At most so many `levels` of outer
        workflows are read.
        """
        # The cursor is read before the records, so that a run that starts between them is found as started.
        job = self.parts.jobs.snapshot(tenant, job_id)
        cursor = self.parts.jobs.get_cursor(tenant, job_id) if isinstance(job, Job) else None
        by_hand = isinstance(job, Job) and not job.scheduled
        record, searched = self._record(tenant, job_id, at, by_hand=by_hand)
        if job is None and record is None:
            raise JobUnknownError(job_id)
        if cursor is not None and cursor.remaining is not None:
            charge(cursor.remaining // OCCURRENCES_A_REQUEST)
        now = self.parts.clock.now()
        found = explain(at, job, cursor, record, self._around(at, job, cursor, record, searched, now), now=now)
        if found.verdict is Verdict.PAUSED and found.run is not None:
            changes = self.parts.jobs.history(tenant, job_id, limit=CHANGES, before=None).items
            pause = pause_over(changes, at)
            return Explained(found if pause is None else with_pause(found, pause), found.run), None
        alone = found.verdict is Verdict.NOT_AN_OCCURRENCE and levels > 0
        if alone and isinstance(job, Job) and job.workflow is not None and self.membership.graph(job) is not None:
            if self._reached(tenant, job.workflow, tags):
                return self._as_step(job, job.workflow, at, found, tags, charge, levels - 1), None
            sentence = f"It runs in the workflow {job.workflow}, which the caller's scopes do not include."
            return Explained(replace(found, sentence=sentence), None), None
        if found.verdict is Verdict.QUEUED and found.run is None and isinstance(job, Job):
            return Explained(found, queued_run(job, at, job.occurrences().due(at))), None
        if found.run is not None and found.run.is_step:
            items = self._view(found.run, charge) if found.run.state is RunState.WAITING else None
            if items is not None:  # a step that waits for its items or its own steps
                return Explained(waiting_for(found, items, now=now), found.run), None
            return self._redriven_step(job, found.run, found, tags, charge), None
        view = None if found.run is None else self._pending(found.run, charge)
        return Explained(found if view is None else waiting_for(found, view, now=now), found.run), view

    def _redriven_step(
        self, job: JobSnapshot, run: Run, found: Explanation, tags: Set[str] | None, charge: Charge
    ) -> Explained:
        """Explain a step with a record. After a redrive of an upstream step, it may wait although it had ended."""
        view = self.redriven(run, tags, charge) if isinstance(job, Job) else None
        if view is None or not isinstance(job, Job):
            return Explained(found, run)
        return Explained(replace(step_in(found, view, job, now=self.parts.clock.now()), run=run), run)

    def redriven(self, run: Run, tags: Set[str] | None, charge: Charge) -> WorkflowRunView | None:
        """Return the run of a step's workflow if the end in the step's record no longer counts because of a redrive.
        Return None for other runs, and if the caller's `tags` do not include the workflow.
        """
        view = self.workflow_runs.look_again(run, charge) if run.is_step else None
        if view is None or not view.of(run).again:
            return None
        return view if self._reached(run.tenant, view.run.job_id, tags) else None

    def _pending(self, run: Run, charge: Charge) -> WorkflowRunView | None:
        """Return the steps of a workflow's run that waits for them or continues after a redriven step, else None."""
        if run.state is RunState.WAITING:
            return self._view(run, charge)
        view = self.workflow_runs.look_again(run, charge)
        return view if view is not None and view.continues else None

    def _reached(self, tenant: str, workflow: str, tags: Set[str] | None) -> bool:
        """Return whether a caller with these tags may see the workflow's runs. Nothing is read for a caller without
        tag-scoped permissions.
        """
        job = None if tags is None else self.parts.jobs.get(tenant, workflow)
        return tags is None or (job is not None and not tags.isdisjoint(job.tags))

    def _as_step(
        self, job: Job, workflow: str, at: int, alone: Explanation, tags: Set[str] | None, charge: Charge, levels: int
    ) -> Explained:
        """Explain a step without a record at that instant by the run of its workflow, or explain why its workflow did
        not run.
        """
        try:
            whole, view = self._explained(job.tenant, workflow, at, tags, charge, levels)
        except JobUnknownError:
            return Explained(alone, None)
        if view is None and whole.found.run is not None:
            view = self._view(whole.found.run, charge)
        if view is None:
            return Explained(instead_of(whole.found, workflow), whole.run)
        if job.id not in view.graph.of_jobs:
            return Explained(alone, None)
        found = step_in(whole.found, view, job, now=self.parts.clock.now())
        return Explained(found, found.run)

    def _view(self, run: Run, charge: Charge) -> WorkflowRunView | None:
        """Return the steps of a workflow's run; None if it is not a workflow's run or its graph has expired."""
        try:
            return self.workflow_runs.look(run, charge)
        except (NoWorkflowRunError, GraphMissingError):
            return None

    def _record(self, tenant: str, job_id: str, at: int, *, by_hand: bool) -> tuple[Run | None, bool]:
        """Return the record of this occurrence, or of the newest earlier run that covers it, and whether the search was
        complete. Manual runs are considered only for a job that has no other runs (`by_hand`).
        """
        before = RunName(job_id, at + 1).local
        for _ in range(0, MAX_READ, PAGE):
            page = self.parts.runs.page(tenant, job_id, limit=PAGE, before=before)
            for run in page:
                if (by_hand or not run.suffix) and at <= (run.occurrence if run.through is None else run.through):
                    whole = None if run.name.item is None else run.name.whole  # the run of its step
                    return (run if whole is None else self.parts.runs.get(tenant, job_id, whole.local)), True
            if len(page) < PAGE:
                return None, True
            before = page[-1].name.local
        return None, False

    def _around(
        self, at: int, job: JobSnapshot, cursor: Cursor | None, record: Run | None, searched: bool, now: float
    ) -> ExplainContext:
        """Return the context. The lane's depth is read only for an occurrence that was due some time ago and has no
        record.
        """
        overdue = record is None and at + SETTLED_SECONDS < now
        depth = self.parts.depths.depth(job.lane) if overdue and isinstance(job, Job) else None
        return ExplainContext(
            lookahead=self.parts.settings.lookahead_seconds,
            horizon=self.parts.settings.horizon_seconds,
            retention=self.parts.settings.run_retention_days * DAY_SECONDS,
            lane_kept=MESSAGE_RETENTION_DAYS * DAY_SECONDS,
            sent_until=self._sent_until(job, cursor),
            lane_empty=None if depth is None else depth.empty,
            searched=searched,
            wait_queue=() if record is None else self._wait_queue(record, now),
            said=() if record is None else self._said(record, now),
        )

    def _said(self, run: Run, now: float) -> Sequence[Said]:
        """Return what the gates say for which a run waits. This takes at most two reads."""
        if not isinstance(run, Queued | Retrying):
            return ()
        if run.wait is not None:
            gate, key = BY_NAME[run.wait.gate], run.wait.key
            paused_until = 0.0 if gate.pauses else self._paused_until(run.tenant, key)
            return gate.said(self.parts.wait_queues.state(run.tenant, key, gate), key, paused_until, now)
        if run.key is None:
            return ()
        pause = said_of_pause(run.key, self._paused_until(run.tenant, run.key), now)
        if not self._closed(run):
            return pause
        return (f"The limit of the key {run.key} is 0: no run with it starts.", {}), *pause

    def _paused_until(self, tenant: str, key: str) -> float:
        """Return the end of the pause of a key (UTC seconds). 0: no pause."""
        pause = self.parts.runs.locks(tenant, key_queue(key)).get(PAUSE_PLACE)
        return 0.0 if pause is None else pause.until

    def _wait_queue(self, run: Run, now: float) -> tuple[str, ...]:
        """Return the wait queue that contains the run, if it may wait. This takes one query."""
        waits = isinstance(run, Queued | Dead) or (isinstance(run, Retrying) and run.not_before <= now)
        if not waits or run.wait is not None:
            return ()
        waiting = self.parts.wait_queues.waiting(run.tenant, wait_queue_of(run), limit=MAX_WAITING)
        return tuple(each.run_id for each in waiting)

    def _closed(self, run: Run) -> bool:
        """Return whether the key for which the run waits has the stored limit 0. This takes one read."""
        if not isinstance(run, Queued) or run.key is None or run.wait is not None:
            return False
        stored = self.parts.jobs.key_limits.get(run.tenant, run.key)
        return stored is not None and stored.concurrency == 0

    def _sent_until(self, job: JobSnapshot, cursor: Cursor | None) -> int | None:
        if not isinstance(job, Job):
            return None
        try:
            return at_once_until(job, job.occurrences(), self.parts.settings.horizon_seconds, cursor)
        except (ScheduleError, ExclusionError):
            return None
