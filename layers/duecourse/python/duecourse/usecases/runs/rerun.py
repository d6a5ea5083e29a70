"""Reruns a part of a workflow's run: some steps and all steps downstream of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from duecourse.domain.instants import DAY_SECONDS
from duecourse.domain.jobs.document import ChangeAction
from duecourse.domain.jobs.job import Job
from duecourse.domain.runs.decision import WORKFLOW_OVER
from duecourse.domain.runs.states import Cancelled, Run
from duecourse.domain.runs.transitions import goes_on, own_job
from duecourse.domain.targets.targets import WorkflowTarget
from duecourse.domain.workflows.graph import CarriedOver, Graph, StepOutcome, StepOutcomes, numbers_in, read_ref
from duecourse.domain.workflows.state import WorkflowState
from duecourse.ports import Clock, Input, Lanes, Outgoing, Randomness
from duecourse.usecases.runs.commands import JobGoneError, RunStateError
from duecourse.usecases.runs.lists import Runs
from duecourse.usecases.runs.requests import KEPT_LONGER_DAYS, RunRequest, message_of, requested_run
from duecourse.usecases.workflows.manage import graph_expiry
from duecourse.usecases.workflows.workflows import NoWorkflowRunError, name_in

if TYPE_CHECKING:
    from duecourse.stores.inputs import Inputs
    from duecourse.stores.jobs import JobStore
    from duecourse.stores.runs import RunStore
    from duecourse.stores.workflows import WorkflowStore


class RunNotEndedError(RunStateError):
    """The run has not ended, or continues because a step was redriven."""


class NoStepError(Exception):
    """The request names steps that the workflow's run does not have: `names`, by their index in the request."""

    def __init__(self, names: Mapping[int, str]) -> None:
        super().__init__(", ".join(names.values()))
        self.names = names


@dataclass(frozen=True, slots=True)
class Reruns:
    """Starts reruns. A rerun is a new run of the same occurrence, with a separate graph. In this graph, the steps that
    do not run again have already ended, and refer to the runs whose results they pass on. The request and the graph are
    written before the message is sent.
    """

    runs: Runs
    records: RunStore
    jobs: JobStore
    workflows: WorkflowStore
    inputs: Inputs
    lanes: Lanes
    clock: Clock
    randomness: Randomness
    run_retention_days: int

    def rerun(self, tenant: str, run_id: str, begin: Sequence[str], run_request: RunRequest) -> Run:
        """Return the new run, QUEUED. For a repeated request, return the current state of its run.

        Raises RunUnknownError, NoWorkflowRunError, RunNotEndedError, JobGoneError, NoStepError, GraphMissingError,
        KeyReusedError or LaneUnavailableError.
        """
        run = self.runs.get(tenant, run_id)
        if run.workflow is None or run.is_step:
            raise NoWorkflowRunError(run)
        if not run.state.final:
            raise RunNotEndedError(run)
        job = self.jobs.get(tenant, run.job_id)
        if job is None or not isinstance(job.target, WorkflowTarget):
            raise JobGoneError(run)
        graph = self.workflows.graph(tenant, read_ref(run.workflow))
        if unknown := {place: name for place, name in enumerate(begin) if name not in graph.numbers}:
            raise NoStepError(unknown)
        ends = self.workflows.read(tenant, run.name, graph.parts, with_run=False).ends
        outcome = WorkflowState(graph, run.occurrence, run.suffix, ends).outcome
        continues = goes_on(run, outcome) and own_job(job, run) is not None
        if continues or self._runs_again(run, graph, ends):
            raise RunNotEndedError(run)
        now = self.clock.now()
        asked = self._asked(job, run, run_request, sorted(begin), now)
        standing = run_request.put(self.inputs, job, asked)
        rerun, expires_at = rerun_graph(graph, run, begin, ends), graph_expiry(now, self.run_retention_days)
        ref = self.workflows.put_graph(tenant, job.id, rerun, expires_at=expires_at)
        asked = asked if standing is None else standing
        new = requested_run(job, asked, run.occurrence, int(asked.requested_at))
        new = replace(new, identity=replace(new.identity, workflow=str(ref)))
        if standing is not None:
            record = self.records.get(tenant, job.id, new.name.local)
            if record is not None or standing.sent:
                return record or new
        noted = run_request.record(ChangeAction.RUN_NOW, job, asked, run_id=new.run_id, rerun_of=run_id)
        self.jobs.note([noted])
        start = Outgoing(message_of(job, new, self.randomness.nonce()), 0)
        run_request.send(self.lanes, self.inputs, job, asked, [start])
        return new

    def _runs_again(self, run: Run, graph: Graph, ends: StepOutcomes) -> bool:
        """Return whether a redriven step of an ended run may be active. A redriven step that was cancelled with the run
        never gets another outcome, and starts again only if the run itself is redriven.
        """
        names = [name_in(run, graph.steps[number]) for number in numbers_in(ends.withdrawn)]
        records = self.workflows.records(run.tenant, names) if names else []
        return not all(isinstance(each, Cancelled) and each.reason == WORKFLOW_OVER for each in records)

    def _asked(self, job: Job, run: Run, run_request: RunRequest, begin: list[str], now: float) -> Input:
        """Return the request, with the payload of the first run's request."""
        given = self.inputs.get(job.tenant, job.id, run.suffix) if run.own_payload else None
        return run_request.wanted(
            "m",
            job,
            self.randomness.nonce(),
            ["rerun", run.run_id, begin],
            now=now,
            until=int(now) + (self.run_retention_days + KEPT_LONGER_DAYS) * DAY_SECONDS,
            occurrence=run.occurrence,
            own_payload=given is not None,
            payload=None if given is None else given.payload,
        )


def rerun_graph(graph: Graph, run: Run, begin: Sequence[str], ends: StepOutcomes) -> Graph:
    """Return the graph for the rerun of a run whose steps have these outcomes (`ends`). The steps in `begin` and all
    steps downstream of them run again. A step that never ended, because the run was over before, counts as aborted.
    """
    again = graph.after(sum(1 << graph.numbers[name] for name in set(begin)))
    known = ends.joined(graph.carried_over)
    steps = tuple(
        replace(step, carried_over=None)
        if again >> number & 1
        else step
        if step.carried_over is not None
        else replace(step, carried_over=CarriedOver(known.of(number) or StepOutcome.ABORTED, run.name.local))
        for number, step in enumerate(graph.steps)
    )
    return replace(
        graph,
        steps=steps,
        rerun_of=run.run_id,
        rerun_from=tuple(sorted(set(begin))),
        timed=graph.is_timed(run.suffix),
    )
