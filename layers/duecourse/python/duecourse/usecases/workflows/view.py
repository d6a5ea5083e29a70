"""Reads the run of a workflow for display."""

from __future__ import annotations

from dataclasses import dataclass

from duecourse.domain.runs.states import Run
from duecourse.domain.tenants.rate import Charge, free
from duecourse.domain.workflows.graph import read_ref
from duecourse.domain.workflows.view import WorkflowRunView, viewed
from duecourse.ports import WorkflowStore
from duecourse.usecases.workflows.workflows import name_in

RECORDS_A_REQUEST = 200
"""The number of steps whose records together count as one request."""


class NoWorkflowRunError(Exception):
    """`run` is not a run of a workflow, or has not started and has no graph yet."""

    def __init__(self, run: Run) -> None:
        super().__init__(f"{run.name} is {run.state}")
        self.run = run


@dataclass(frozen=True, slots=True)
class WorkflowRuns:
    """Reads the runs of a workflow's steps. Each item is read strongly consistently, but not all at the same time."""

    workflows: WorkflowStore

    def look(self, run: Run, charge: Charge = free) -> WorkflowRunView:
        """Return the steps of a run as it was read. Raises NoWorkflowRunError, GraphMissingError, and the errors of
        `charge` for the records to be read.
        """
        if run.workflow is None or run.is_step:
            raise NoWorkflowRunError(run)
        graph = self.workflows.graph(run.tenant, read_ref(run.workflow))
        charge(1 + len(graph.steps) // RECORDS_A_REQUEST)
        ends = self.workflows.read(run.tenant, run.name, graph.parts, with_run=False).ends
        records = self.workflows.records(run.tenant, [name_in(run, step) for step in graph.steps])
        return viewed(run, graph, ends, records)
