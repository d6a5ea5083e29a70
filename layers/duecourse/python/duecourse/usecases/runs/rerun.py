"""Reruns a part of a workflow's run: some steps and all steps downstream of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from duecourse.domain.runs.decision import WORKFLOW_OVER
from duecourse.domain.runs.states import Cancelled, Run
from duecourse.domain.runs.transitions import goes_on, own_job
from duecourse.domain.targets.targets import WorkflowTarget
from duecourse.domain.workflows.graph import (
    CarriedOver,
    Graph,
    StepOutcome,
    StepOutcomes,
    numbers_in,
    read_ref,
    step_name,
)
from duecourse.domain.workflows.state import WorkflowState
from duecourse.usecases.runs.commands import JobGoneError, RunStateError
from duecourse.usecases.runs.lists import Runs
from duecourse.usecases.runs.requests import OwnPayload, RequestsOfCallers, RunRequest
from duecourse.usecases.workflows.manage import graph_expiry
from duecourse.usecases.workflows.workflows import NoWorkflowRunError


class RunNotEndedError(RunStateError):
    """The run has not ended, or continues because a step was redriven."""


class NoStepError(Exception):
    """The request names steps that the workflow's run does not have: `names`, by their index in the request."""

    def __init__(self, names: Mapping[int, str]) -> None:
        super().__init__(", ".join(names.values()))
        self.names = names


@dataclass(frozen=True, slots=True)
class Reruns(RequestsOfCallers):
    """Starts reruns. A rerun is a new run of the same occurrence, with a separate graph. In this graph, the steps that
    do not run again have already ended, and refer to the runs whose results they pass on. The request and the graph are
    written before the message is sent.
    """

    runs: Runs

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
        job = self.parts.jobs.get(tenant, run.job_id)
        if job is None or not isinstance(job.target, WorkflowTarget):
            raise JobGoneError(run)
        graph = self.parts.workflows.graph(tenant, read_ref(run.workflow))
        if unknown := {place: name for place, name in enumerate(begin) if name not in graph.numbers}:
            raise NoStepError(unknown)
        ends = self.parts.workflows.read(tenant, run.name, graph.parts, with_run=False).ends
        outcome = WorkflowState(graph, run.occurrence, run.suffix, ends).outcome
        continues = goes_on(run, outcome) and own_job(job, run) is not None
        if continues or self._runs_again(run, graph, ends):
            raise RunNotEndedError(run)
        now = self.parts.clock.now()
        given = self.parts.inputs.get(tenant, job.id, run.suffix) if run.own_payload else None
        wanted = self.wanted(
            run_request,
            job,
            ["rerun", run.run_id, sorted(begin)],
            now=now,
            last=int(now),
            occurrence=run.occurrence,
            given=None if given is None else OwnPayload(given.payload),
        )
        rerun, expires_at = (
            rerun_graph(graph, run, begin, ends),
            graph_expiry(now, self.parts.settings.run_retention_days),
        )
        ref = str(self.parts.workflows.ref_of(job.id, rerun))
        standing = self.put(run_request, job, replace(wanted, workflow=ref))
        if standing is not None and (known := self.present(job, standing, now)) is not None:
            return known
        self.parts.workflows.put_graph(tenant, job.id, rerun, expires_at=expires_at)
        asked = replace(standing or wanted, workflow=ref)
        facts = {"rerun_of": run_id}
        return self.start_noted(run_request, job, asked, now=now, repeated=standing is not None, facts=facts)

    def _runs_again(self, run: Run, graph: Graph, ends: StepOutcomes) -> bool:
        """Return whether a redriven step of an ended run may be active. A redriven step that was cancelled with the run
        never gets another outcome, and starts again only if the run itself is redriven.
        """
        names = [step_name(run.name, graph.steps[number]) for number in numbers_in(ends.withdrawn)]
        records = self.parts.workflows.records(run.tenant, names) if names else []
        return not all(isinstance(each, Cancelled) and each.reason == WORKFLOW_OVER for each in records)


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
