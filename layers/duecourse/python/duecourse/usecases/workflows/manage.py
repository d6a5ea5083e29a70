"""Creates, replaces and deletes the definitions of workflows."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import blake2b
from itertools import islice
from typing import TYPE_CHECKING

from duecourse.domain.instants import DAY_SECONDS
from duecourse.domain.jobs.cursor import cursor_for
from duecourse.domain.jobs.edit import same
from duecourse.domain.jobs.job import UNREAD, Job, Reservation
from duecourse.domain.runs.decision import WorkflowOutcome
from duecourse.domain.runs.states import Run, RunState
from duecourse.domain.targets.targets import WorkflowTarget
from duecourse.domain.tenants.rate import Budget, Charge, free
from duecourse.domain.workflows.check import (
    MAX_LEVELS,
    MAX_NESTED,
    WorkflowFault,
    graph_faults,
    level_faults,
    step_faults,
    time_faults,
)
from duecourse.domain.workflows.graph import Graph, Step, WorkflowRef, read_ref, ref_within
from duecourse.domain.workflows.results import list_faults, result_faults
from duecourse.limits import LOST_RACES
from duecourse.messages import Cancel, RunMessage, message_about
from duecourse.ports import Clock, GraphMissingError, Outgoing
from duecourse.usecases.jobs.change import Draft, Edited, EditJobs, counted_more
from duecourse.usecases.jobs.job_errors import (
    ANYTHING,
    JobChangedError,
    JobUnknownError,
    JobUnreadableError,
    Precondition,
)
from duecourse.usecases.jobs.membership import (
    RESERVED_SECONDS,
    RESERVED_WAIT_SECONDS,
    WAITS,
    Membership,
    is_fresh,
    is_reserved,
    unreserved,
)
from duecourse.usecases.jobs.view import JobView, view_of
from duecourse.usecases.workflows.workflows import WorkflowMessages, graph_run, jobs_of, state_of
from duecourse_schedules import ScheduleError
from duecourse_schedules.exclusions import ExclusionError

if TYPE_CHECKING:
    from duecourse.settings import LaneSettings
    from duecourse.stores.workflows import WorkflowStore
    from duecourse.usecases.parts import Parts


class WorkflowInvalidError(Exception):
    """All faults of the request. Nothing was written."""

    def __init__(self, faults: list[WorkflowFault]) -> None:
        super().__init__("; ".join(fault.detail for fault in faults[:3]))
        self.faults = faults


STEPS_A_REQUEST = 20
"""The number of a workflow's jobs whose reads together count as one request."""


def steps_cost(steps: int) -> int:
    """Return the cost of reading this many jobs, in requests (domain.tenants.rate)."""
    return 1 + steps // STEPS_A_REQUEST


class NoWorkflowError(Exception):
    """The job (its id is the argument) exists but is not a workflow."""


@dataclass(frozen=True, slots=True)
class WorkflowDraft:
    """A requested workflow: its `steps` without their lanes, the jobs that are defined with it (`inline`, by id), and
    `definition`, which returns the draft of the workflow's own job for the hash of its graph. `reach` raises for a
    stored or future job that the caller may not access. `budget` limits the cost of the checks.
    """

    steps: tuple[Step, ...]
    definition: Callable[[str], Draft]
    inline: Mapping[str, Draft]
    reach: Callable[[Job | Draft], None] = lambda _: None
    budget: Budget = field(default_factory=Budget)

    def digest(self) -> str:
        """Return a fingerprint that distinguishes the request from other definitions of the workflow."""
        return blake2b(repr((self.steps, self.definition(""), self.inline)).encode(), digest_size=16).hexdigest()

    def inline_over(self, name: str, job: Job | None) -> Draft:
        """Return the draft of a job that is defined with the workflow and replaces the stored job. Raises the errors of
        `reach`.
        """
        if job is not None:
            self.reach(job)
        return self.inline[name]


@dataclass(frozen=True, slots=True)
class WorkflowPut:
    """The result of `put`, or of `look`: the workflow's own job, its graph, and the ids of the jobs that are created or
    changed, including the workflow's own.
    """

    view: JobView
    graph: Graph
    created: tuple[str, ...]
    changed: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Workflow:
    """A stored workflow."""

    view: JobView
    graph: Graph

    @property
    def job(self) -> Job:
        """The workflow's own job."""
        return self.view.job


@dataclass(frozen=True, slots=True)
class Claims:
    """The claims of a request that puts `workflow`. `made` has the jobs that the request has claimed, and when (UTC
    seconds). The time is None if the job already had the workflow's name: another request may need this claim.
    `steps` are the steps in the request. `reach` raises for a job that the caller may not access.
    """

    editing: EditJobs
    workflows: WorkflowStore
    clock: Clock
    tenant: str
    workflow: str
    steps: Sequence[Step]
    reach: Callable[[Job | Draft], None]
    made: dict[str, float | None] = field(default_factory=dict)

    def make(self, jobs: Mapping[str, Job], named: frozenset[str]) -> None:
        """Make all of these jobs steps, except those that the workflow's graph contains (`named`) and those that this
        request has just claimed. Raises JobChangedError, WorkflowInvalidError, and the errors of `reach`.
        """
        wanted = dict(jobs)
        for _ in range(LOST_RACES):
            now = self.clock.now()
            strangers = {name: job for name, job in wanted.items() if not self._is_ours(job, named, now)}
            for job in strangers.values():
                self.reach(job)
            steps = self._steps(strangers)
            faults = step_faults(self.workflow, steps, {}, strangers)
            faults += claimed_by_others(self.editing.jobs.membership, self.workflow, steps, strangers, now)
            if faults:
                raise WorkflowInvalidError(faults)
            refused = self.workflows.claim(list(strangers.values()), self.workflow, at=now) if strangers else []
            for name in strangers.keys() - set(refused):
                self.made[name] = None if strangers[name].workflow == self.workflow else now
            if not refused:
                return
            wanted = self.workflows.jobs(self.tenant, refused)
            if missing := [name for name in refused if name not in wanted]:
                raise WorkflowInvalidError(step_faults(self.workflow, self._steps(missing), {}, {}))
        raise JobChangedError(self.workflow)

    def release(self) -> None:
        """Release the jobs that a rejected request has claimed, unless they are steps of the workflow, or another
        request has claimed them too.
        """
        standing = self.editing.parts.jobs.get(self.tenant, self.workflow)
        is_workflow = standing is not None and isinstance(standing.target, WorkflowTarget)
        named = self.named(ref_of(standing) if standing is not None and is_workflow else None)
        left = self.workflows.jobs(self.tenant, [name for name in self.made if name not in named])
        mine = [job for job in left.values() if job.workflow == self.workflow and job.claimed_at == self.made[job.id]]
        self.workflows.free(mine, self.workflow, standing, at=self.clock.now())

    def named(self, ref: WorkflowRef | None) -> frozenset[str]:
        """Return the ids of the steps in a graph."""
        try:
            return frozenset() if ref is None else self.workflows.graph(self.tenant, ref).owned
        except GraphMissingError:
            return frozenset()

    def _steps(self, jobs: Collection[str]) -> list[Step]:
        """Return the steps of these jobs."""
        return [step for step in self.steps if step.job_id in jobs]

    def _is_ours(self, job: Job, named: frozenset[str], now: float) -> bool:
        return job.workflow == self.workflow and (job.id in named or (job.id in self.made and is_fresh(job, now)))


def claimed_by_others(
    membership: Membership, workflow: str, steps: Sequence[Step], found: Mapping[str, Job], now: float
) -> list[WorkflowFault]:
    """Return the faults of the steps whose jobs are steps of another workflow at `now` (UTC seconds)."""
    return [
        WorkflowFault(
            ("jobs", step.id),
            f"is a step of workflow {job.workflow}; remove it from that workflow first{_or_shared(job)}",
            conflict=True,
        )
        for step in steps
        if not step.shared
        and (job := found.get(step.job_id)) is not None
        and job.workflow not in (None, workflow)
        and membership.holds(job, now)
    ]


def _or_shared(job: Job) -> str:
    return "" if isinstance(job.target, WorkflowTarget) else ", or add shared: true"


def ref_of(job: Job) -> WorkflowRef:
    """Return the reference to the graph of a workflow's own job. Raises NoWorkflowError."""
    if not isinstance(job.target, WorkflowTarget):
        raise NoWorkflowError(job.id)
    return WorkflowRef(job.id, job.target.graph)


LOOKED_AT = 1000
"""The number of newest runs that are read to cancel those that have not ended."""


@dataclass(frozen=True, slots=True)
class CancelRuns:
    """Cancels the runs of a workflow, and the redriven steps of its ended runs. In addition to the newest runs, it
    reads those that wait for their steps and those that are dead, which may be older than all others. This list may be
    stale, but only for new ones.
    """

    parts: Parts[LaneSettings]

    def __call__(self, tenant: str, workflow_id: str, generation: int) -> int:
        """Cancel the runs of the workflow's definitions up to this generation. Return the number of cancellations that
        their lanes did not accept.
        """
        found = {run.name: run for run in self.parts.runs.page(tenant, workflow_id, limit=LOOKED_AT, before=None)}
        states = RunState.WAITING, RunState.DEAD
        listed = self.parts.runs.by_state(tenant, states, limit=LOOKED_AT, job_id=workflow_id)
        found = {run.name: run for run in listed} | found
        own = {
            name: run
            for name, run in found.items()
            if ref_within(run) is not None and not run.has_items and run.generation <= generation
        }
        now = self.parts.clock.now()
        orders = [
            message_about(run, Cancel("deleted"), now=now, nonce=self.parts.randomness.nonce())
            for run in own.values()
            if not run.state.final
        ]
        if over := [name for name, run in own.items() if run.state.final]:
            for name in self.parts.workflows.redriven(tenant, over):
                orders += self._steps(own[name], now)
        return self.parts.lanes.send([Outgoing(order, 0) for order in orders]).count(False)

    def _steps(self, run: Run, now: float) -> list[RunMessage]:
        """Return the cancellations of the steps of an ended run that may be active or start, because of a redrive."""
        try:
            inside = graph_run(self.parts.workflows, run.tenant, read_ref(run.workflow or ""), run)
        except GraphMissingError:
            return []
        ends = self.parts.workflows.read(run.tenant, run.name, inside.graph.parts, with_run=False).ends
        state = state_of(inside, ends)
        if state.outcome is not WorkflowOutcome.OPEN:
            return []  # the steps that ran again have ended, too
        return WorkflowMessages(run.identity, inside, now, self.parts.randomness).cancellations(state.to_cancel())


PAYLOAD_REQUESTS = 2
"""The cost of checking a large payload, in requests."""

GRAPH_KEPT_LONGER_DAYS = 60
"""How many days longer than the records of runs a graph is kept after the last definition that uses it. A run may last
for 30 days.
"""


def graph_expiry(now: float, run_retention_days: int) -> int:
    """Return when a graph that no definition uses any longer may be removed (UTC seconds)."""
    return int(now) + (run_retention_days + GRAPH_KEPT_LONGER_DAYS) * DAY_SECONDS


@dataclass(frozen=True, slots=True)
class ManageWorkflows:
    """Reads and writes workflows. The writes have this order: the claims of existing jobs; the jobs that are defined in
    the document, each as a separate edit; the claims of all steps; the graph; the workflow's own job, which switches to
    the graph. Until the switch, everything runs as before, and a repeated request continues where the first one
    stopped. Jobs that remain after a failed request have no schedule.
    """

    parts: Parts[LaneSettings]
    editing: EditJobs
    cancel_runs: CancelRuns

    def get(self, tenant: str, workflow_id: str) -> Workflow:
        """Return the workflow. Raises JobUnknownError, also for a job that is not a workflow, or GraphMissingError."""
        view = self.editing.jobs.get(tenant, workflow_id)
        if not isinstance(view.job.target, WorkflowTarget):
            raise JobUnknownError(workflow_id)
        return Workflow(view, self.parts.workflows.graph(tenant, ref_of(view.job)))

    def standing(self, tenant: str, workflow_id: str, expected: Precondition = ANYTHING) -> Workflow | None:
        """Return the workflow to be replaced; None if there is no such job. Raises NoWorkflowError or
        JobVersionError.
        """
        try:
            view = self.editing.jobs.get(tenant, workflow_id)
        except JobUnknownError:
            expected.check(None)
            return None
        expected.check(view.job)
        ref = ref_of(view.job)
        try:
            return Workflow(view, self.parts.workflows.graph(tenant, ref))
        except GraphMissingError:
            return Workflow(view, Graph(()))  # differs from every other graph, so it is written again

    def look(self, tenant: str, workflow_id: str, draft: WorkflowDraft, before: Workflow | None) -> WorkflowPut:
        """Return what `put` would return, without writing. `before` is the workflow as read, or None. Raises
        WorkflowInvalidError with all faults, or JobQuotaError.
        """
        found, now = self._checked(tenant, workflow_id, draft, before), self.parts.clock.now()
        whole = {name: self._whole(found[name]) for name in draft.inline if name in found}
        found |= {name: job for name, job in whole.items() if job is not None}
        jobs = found | {name: _made(each, found.get(name), name, now) for name, each in draft.inline.items()}
        graph, standing = self._graph(draft, jobs), None if before is None else before.job
        own = draft.definition("" if before is None or before.graph != graph else ref_of(before.job).graph)
        own_job = _made(own, standing, workflow_id, now)
        wanted = {name: jobs[name] for name in draft.inline} | {workflow_id: own_job}
        known = found if standing is None else found | {workflow_id: standing}
        return WorkflowPut(
            view_of(own_job, cursor_for(own_job, now), now=now),
            graph,
            tuple(name for name in wanted if name not in known),
            tuple(name for name, job in wanted.items() if name in known and not same(job, known[name])),
        )

    def put(
        self,
        tenant: str,
        workflow_id: str,
        draft: WorkflowDraft,
        before: Workflow | None,
        expected: Precondition = ANYTHING,
        correlation_id: str | None = None,
        *,
        by: str | None = None,
        written: Callable[[str], None] = lambda _: None,
    ) -> WorkflowPut:
        """Create the workflow, or replace the version that was read `before`. `written` receives the id of each job
        after it was created or changed. Raises WorkflowInvalidError, JobQuotaError, NoWorkflowError, and the errors of
        EditJobs.put. With one of these errors nothing is written, unless another request changed a job during this one.
        """
        parts = self.parts
        claims = Claims(self.editing, parts.workflows, parts.clock, tenant, workflow_id, draft.steps, draft.reach)
        try:
            return self._put(claims, draft, before, expected, correlation_id, by, written)
        except Exception:
            claims.release()
            raise

    def _put(
        self,
        claims: Claims,
        draft: WorkflowDraft,
        before: Workflow | None,
        expected: Precondition,
        correlation_id: str | None,
        by: str | None,
        written: Callable[[str], None],
    ) -> WorkflowPut:
        tenant, workflow_id = claims.tenant, claims.workflow
        found = self._checked(tenant, workflow_id, draft, before)
        if expected == ANYTHING or not draft.inline:
            return self._written(
                claims=claims,
                draft=draft,
                before=before,
                expected=expected,
                reserved=None,
                found=found,
                correlation_id=correlation_id,
                by=by,
                written=written,
            )
        reserved = self._reserve(tenant, workflow_id, draft, before, expected)
        try:
            return self._written(
                claims=claims,
                draft=draft,
                before=before,
                expected=expected,
                reserved=reserved,
                found=found,
                correlation_id=correlation_id,
                by=by,
                written=written,
            )
        finally:
            self.parts.jobs.release(tenant, workflow_id, reserved)

    def _reserve(
        self, tenant: str, workflow_id: str, draft: WorkflowDraft, before: Workflow | None, expected: Precondition
    ) -> Reservation:
        """Reserve the workflow's own job as it was read `before`, so that a request with a precondition is rejected
        before its first write or not at all. Raises JobVersionError, JobChangedError or NoWorkflowError.
        """
        store, job = self.parts.jobs, None if before is None else before.job
        reserved = Reservation(draft.digest(), self.parts.clock.now() + RESERVED_SECONDS)
        for _ in range(WAITS):
            free = job is None or not is_reserved(job, self.parts.clock.now(), reserved)
            if free and store.reserve(tenant, workflow_id, job, reserved):
                return reserved
            standing = unreserved(store, self.parts.clock, tenant, workflow_id, reserved)
            expected.check(standing)
            if standing is not None:
                ref_of(standing)
            if job == standing:
                self.parts.clock.sleep_until(self.parts.clock.now() + RESERVED_WAIT_SECONDS)  # the id is reserved
            job = standing
        raise JobChangedError(workflow_id)

    def _written(
        self,
        *,
        claims: Claims,
        draft: WorkflowDraft,
        before: Workflow | None,
        expected: Precondition,
        reserved: Reservation | None,
        found: dict[str, Job],
        correlation_id: str | None,
        by: str | None,
        written: Callable[[str], None],
    ) -> WorkflowPut:
        tenant, workflow_id = claims.tenant, claims.workflow
        # Before any other write: if another workflow has one of the jobs, nothing is written.
        owned = {step.job_id for step in draft.steps if not step.shared}
        existing = {name: job for name, job in found.items() if name in owned}
        claims.make(existing, frozenset() if before is None else before.graph.owned)

        def write(name: str) -> Edited:
            over = partial(draft.inline_over, name)
            edited = self.editing.put(tenant, name, over, correlation_id=correlation_id, by=by, step=True)
            if edited.changed:
                written(name)
            return edited

        edits = dict(zip(draft.inline, self.parts.executor.map(write, list(draft.inline)), strict=True))
        jobs = found | {name: edited.view.job for name, edited in edits.items()}
        graph, replaced = self._graph(draft, jobs), None

        def own(job: Job | None) -> Draft:
            """Return the draft of the workflow's own job, after checking that all jobs in the graph are its steps. Each
            job must have this workflow's name. In addition, this workflow's graph, which was just read, must contain
            it, or this request must have just claimed it. No other request can claim the job until this request has
            switched the graph. The switch requires that the workflow's own job has not changed since it was read.
            """
            nonlocal replaced
            replaced = job
            if job is None or job.reserved is None or reserved is None or job.reserved.by != reserved.by:
                expected.check(job)
            kept = None if job is None else ref_of(job)  # raises for an ordinary job that was just created
            present = self.parts.workflows.jobs(tenant, list(graph.of_jobs))
            faults = step_faults(workflow_id, graph.steps, {}, present)
            # Read after the claims: if two workflows are becoming steps of each other, at least one request finds it.
            faults += self._level_faults(tenant, workflow_id, job, graph.steps, present, free)
            if faults:
                raise WorkflowInvalidError(faults)
            claims.make({name: each for name, each in present.items() if name in graph.owned}, claims.named(kept))
            if kept is None or before is None or kept != ref_of(before.job) or before.graph != graph:
                kept = self.parts.workflows.put_graph(tenant, workflow_id, graph)
            return draft.definition(kept.graph)

        edits[workflow_id] = edited = self.editing.put(
            tenant, workflow_id, own, correlation_id=correlation_id, by=by, reserved=reserved
        )
        if edited.changed:
            written(workflow_id)
        # Another request may have set the graph to expire before the switch. After the switch none can.
        if replaced is None or replaced.target != edited.view.job.target:
            self.parts.workflows.put_graph(tenant, workflow_id, graph)
            if replaced is not None:
                self._retire(replaced, graph, edited.view.job)
        return WorkflowPut(
            edited.view,
            graph,
            tuple(name for name, edit in edits.items() if edit.created),
            tuple(name for name, edit in edits.items() if edit.changed and not edit.created),
        )

    def pay_deletion(self, job: Job, charge: Charge) -> None:
        """Charge for the steps that are released if the deleted job is a workflow."""
        if not isinstance(job.target, WorkflowTarget):
            return
        with suppress(GraphMissingError):
            charge(steps_cost(len(self.parts.workflows.graph(job.tenant, ref_of(job)).numbers)))

    def deleted(self, job: Job) -> int:
        """Complete the deletion of `job` (as it was before) if it was a workflow: cancel its runs and release its
        steps. Return the number of cancellations that their lanes did not accept.
        """
        if not isinstance(job.target, WorkflowTarget):
            return 0
        unsent = self.cancel_runs(job.tenant, job.id, job.generation)
        self._retire(job, Graph(()), None)
        return unsent

    def deleted_before(self, tenant: str, job_id: str) -> None:
        """Cancel the runs of a workflow that no longer exists. The request that deleted it may have ended before
        cancelling them.
        """
        gone = self.parts.jobs.gone(tenant, job_id)
        if gone is not None:
            self.cancel_runs(tenant, job_id, gone.generation)

    def _checked(self, tenant: str, workflow_id: str, draft: WorkflowDraft, before: Workflow | None) -> dict[str, Job]:
        """Return the existing steps. Raises WorkflowInvalidError, JobQuotaError, and the errors of the draft's
        `reach`.
        """
        budget = draft.budget
        if faults := graph_faults(draft.steps, budget):
            raise WorkflowInvalidError(faults)
        found = self.parts.workflows.jobs(tenant, list(dict.fromkeys(step.job_id for step in draft.steps)))
        standing, definition, now = None if before is None else before.job, draft.definition(""), self.parts.clock.now()
        wanted: list[Job | Draft] = [definition, *draft.inline.values(), *found.values()]
        for each in wanted:
            draft.reach(each)
        own, own_faults = self._checked_own(tenant, workflow_id, draft, before)
        graph = Graph(draft.steps, own.schedule.timezone)
        faults = [
            *own_faults,
            *time_faults(draft.steps, own.schedule, own.exclude, int(now), budget),
            *step_faults(workflow_id, draft.steps, draft.inline, found),
            *claimed_by_others(self.editing.jobs.membership, workflow_id, draft.steps, found, now),
            *self._level_faults(tenant, workflow_id, standing, draft.steps, found, budget.charge),
            *self._payload_faults(standing, own.payload, budget.charge),
        ]
        for each in _nested(draft.steps, found).values():
            for within in jobs_of(
                self.parts.workflows,
                tenant,
                ref_of(each),
                lambda jobs, graphs: budget.charge(1 + steps_cost(jobs) + graphs),
            ):
                draft.reach(within)
        large = sum(found[name].payload is UNREAD for name in found.keys() - draft.inline.keys())
        left = 0 if before is None else len(before.graph.owned - graph.owned)
        budget.charge(steps_cost(left) + PAYLOAD_REQUESTS * large)
        for step in draft.steps:
            job = draft.inline.get(step.job_id) or self._whole(found.get(step.job_id))
            inline: tuple[str | int, ...] = ("job",) if step.job_id in draft.inline else ()
            faults += [
                WorkflowFault(("jobs", step.id, "for_each", *path), detail)
                for path, detail in list_faults(step.id, graph)
            ]
            faults += [
                WorkflowFault(("jobs", step.id, *inline, "payload", *path), detail)
                for path, detail in (() if job is None else result_faults(job.payload, step.id, graph))
            ]
        if faults:
            raise WorkflowInvalidError(faults)
        self._check_inline(tenant, draft, found)
        created = len(draft.inline.keys() - found.keys()) + counted_more(standing, own)
        self.editing.jobs.limits.check_quota(self.parts.tenant_limits, tenant, created)
        return found

    def _payload_faults(self, standing: Job | None, payload: object, charge: Charge) -> list[WorkflowFault]:
        """Return the faults of the workflow's new payload if its own job, `standing`, is a step of another workflow."""
        if standing is None or standing.workflow is None:
            return []
        charge(1)
        graph = self.editing.jobs.membership.graph(standing)
        step = None if graph is None else graph.steps[graph.of_jobs[standing.id]].id
        found = [] if graph is None or step is None else result_faults(payload, step, graph)
        return [WorkflowFault(("payload", *path), detail) for path, detail in found]

    def _level_faults(
        self,
        tenant: str,
        workflow_id: str,
        own: Job | None,
        steps: Sequence[Step],
        found: Mapping[str, Job],
        charge: Charge,
    ) -> list[WorkflowFault]:
        """Return the faults of the steps that are workflows. `own` is the workflow's own job, and `found` are the
        existing jobs of the steps. Each workflow that is read costs a request, except for the first one.
        """
        nested = _nested(steps, found)
        if not nested:
            return []
        above, around, membership = list[str](), own, self.editing.jobs.membership
        while around is not None and around.workflow is not None and len(above) < MAX_LEVELS:
            charge(2)
            if around.workflow in above or not membership.holds(around, self.parts.clock.now()):
                break
            above.append(around.workflow)
            around = self.parts.jobs.get(tenant, around.workflow)
        few = dict(islice(nested.items(), MAX_NESTED + 1))
        charge(len(few))
        levels = {name: self._levels(tenant, job, charge) for name, job in few.items()}
        return level_faults(workflow_id, steps, above, levels)

    def _levels(self, tenant: str, job: Job, charge: Charge) -> int:
        """Return how many workflows are within each other, from this one on; at most MAX_LEVELS. Each workflow within
        this one costs a request.
        """
        store, level, found = self.parts.workflows, [job], 1
        while found < MAX_LEVELS:
            names = list[str]()
            for each in level:
                with suppress(GraphMissingError):
                    names += [step.job_id for step in store.graph(tenant, ref_of(each)).steps if step.nested]
            if not names:
                break
            charge(1 + len(names))
            read = store.jobs(tenant, names).values()
            level = [each for each in read if isinstance(each.target, WorkflowTarget)]
            found += 1 if level else 0
        return found

    def _checked_own(
        self, tenant: str, workflow_id: str, draft: WorkflowDraft, before: Workflow | None
    ) -> tuple[Job, list[WorkflowFault]]:
        """Return the workflow's own job as it would be written, and the faults that its store would find. Raises
        JobUnreadableError or StepError.
        """
        editing, standing = self.editing, None if before is None else before.job
        own = draft.definition("" if before is None else ref_of(before.job).graph)
        cursor = None
        try:
            own = editing.jobs.with_calendars(own, standing)
            if standing is not None:
                if same(own.over(standing, self.parts.clock.now()), standing):
                    return standing, []
                cursor = self.parts.jobs.get_cursor(tenant, workflow_id)
            return editing.checked(workflow_id, standing, cursor, own).job, []
        except ScheduleError as error:
            faults = [WorkflowFault((error.field, *(() if error.index is None else (error.index,))), error.detail)]
        except ExclusionError as error:
            faults = [WorkflowFault(("exclude", error.index), error.detail)]
        return _made(own, standing, workflow_id, self.parts.clock.now()), faults

    def _check_inline(self, tenant: str, draft: WorkflowDraft, found: Mapping[str, Job]) -> None:
        """Raise JobUnreadableError if a job that the document replaces has no readable cursor."""
        now = self.parts.clock.now()
        changed = [
            name
            for name, each in draft.inline.items()
            if name in found and not same(each.over(found[name], now), found[name])
        ]
        get_cursor = partial(self.parts.jobs.get_cursor, tenant)
        cursors = self.parts.executor.map(get_cursor, changed) if changed else []
        for name, cursor in zip(changed, cursors, strict=True):
            if cursor is None:
                raise JobUnreadableError(name)

    def _whole(self, job: Job | None) -> Job | None:
        """Return the job with its payload. The payload is read separately, so that only one large payload is in memory
        at a time.
        """
        return job if job is None or job.payload is not UNREAD else self.parts.jobs.get(job.tenant, job.id)

    def _graph(self, draft: WorkflowDraft, jobs: Mapping[str, Job]) -> Graph:
        """Return the graph with the current lanes of its steps."""
        own = draft.definition("")
        nested = _nested(draft.steps, jobs)
        steps = [
            replace(each, lane=jobs[each.job_id].lane, bulk=jobs[each.job_id].bulk, nested=each.job_id in nested)
            for each in draft.steps
        ]
        return Graph(tuple(steps), own.schedule.timezone, own.priority)

    def _retire(self, job: Job, graph: Graph, standing: Job | None) -> None:
        """Let the previous graph of the workflow expire. Release its steps that are not in `graph`, the current graph
        of the workflow's own job `standing` (None: there is no such job).
        """
        try:
            before = self.parts.workflows.graph(job.tenant, ref_of(job))
        except GraphMissingError:
            return
        now = self.parts.clock.now()
        expires_at = graph_expiry(now, self.parts.settings.run_retention_days)
        self.parts.workflows.expire_graph(job.tenant, ref_of(job), standing, at=expires_at)
        left = sorted(before.owned - graph.owned)
        steps = [each for each in self.parts.workflows.jobs(job.tenant, left).values() if _is_step(each, job)]
        # A job that was changed in the meantime is not released; its claim is void.
        self.parts.workflows.free(steps, job.id, standing, at=now)


def _nested(steps: Sequence[Step], found: Mapping[str, Job]) -> dict[str, Job]:
    """Return the jobs of the steps that are workflows, by id."""
    jobs = {step.job_id: found[step.job_id] for step in steps if step.job_id in found}
    return {name: job for name, job in jobs.items() if isinstance(job.target, WorkflowTarget)}


def _is_step(step: Job, workflow: Job) -> bool:
    """Return whether a job in the graph of a workflow has the claim with which it came into that graph. A later claim
    belongs to a request that has not switched the graph yet.
    """
    return step.workflow == workflow.id and (step.claimed_at or 0) <= workflow.updated_at


def _made(draft: Draft, job: Job | None, job_id: str, now: float) -> Job:
    """Return the job that a draft would produce, without a write. `job` is the current job (None: there is no job)."""
    return draft.new(job_id, now) if job is None else draft.over(job, now)
