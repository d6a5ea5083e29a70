"""Graphs of workflows, and the outcomes of the steps of their runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from duecourse.domain.ids import RunName
from duecourse.domain.jobs.job import Job
from duecourse.domain.runs.states import Run
from duecourse.domain.workflows.graph import Graph, StepOutcome, StepOutcomes, WorkflowRef


class GraphMissingError(LookupError):
    """The graph of a run has expired."""


@dataclass(frozen=True, slots=True)
class WorkflowRead:
    """The record of a workflow's run (None: there is none), and the outcomes of its steps in the requested parts."""

    run: Run | None
    ends: StepOutcomes


class WorkflowStore(Protocol):
    """Stores graphs and step outcomes. Graphs never change: an edited graph is a new graph with a different hash."""

    def graph(self, tenant: str, ref: WorkflowRef) -> Graph:
        """Return the graph, which is cached after the first read. Raises GraphMissingError."""

    def put_graph(self, tenant: str, workflow: str, graph: Graph, *, expires_at: int | None = None) -> WorkflowRef:
        """Write the graph unless it exists, and return its reference. `expires_at` (UTC seconds) is for a graph that is
        only needed for a limited time.
        """

    def expire_graph(self, tenant: str, ref: WorkflowRef, standing: Job | None, *, at: int) -> None:
        """Set the expiry of the graph to `at` (UTC seconds). `standing` is the workflow's own job as it was read, or
        None if it did not exist. If the job has changed since then or uses this graph, nothing is written.
        """

    def jobs(self, tenant: str, ids: Sequence[str]) -> dict[str, Job]:
        """Return the existing jobs, by id. A payload stored in a separate item is not read (UNREAD). Strongly
        consistent.
        """

    def claim(self, jobs: Sequence[Job], workflow: str, *, at: float) -> list[str]:
        """Make the jobs steps of a workflow. `at` is the current time (UTC seconds). Return the ids of the jobs that
        have changed since they were read; these are not written.
        """

    def free(self, jobs: Sequence[Job], workflow: str, standing: Job | None, *, at: float) -> None:
        """Release the steps that have not changed since they were read. `at` is the current time (UTC seconds).
        `standing` is the workflow's own job as it was read (None: there was none); nothing is released if it has
        changed since.
        """

    def record_end(
        self, tenant: str, run: RunName, number: int, end: StepOutcome, *, in_round: int = 0, expires_at: int
    ) -> StepOutcomes:
        """Record the outcome of a step in a round, unless a later round, or an outcome of a higher rank in this round,
        is recorded. Return all outcomes of the step's part after the write.
        """

    def withdraw(
        self, tenant: str, run: RunName, rounds: Mapping[int, int], parts: Iterable[int], *, expires_at: int
    ) -> None:
        """Begin these rounds of steps (by number), so that their earlier outcomes no longer count. `parts` are marked
        first: a read of one of them shows that outcomes were withdrawn (`StepOutcomes.again`).
        """

    def read(self, tenant: str, run: RunName, parts: Iterable[int], *, with_run: bool = True) -> WorkflowRead:
        """Return a workflow's run and the outcomes of its steps in these parts. Strongly consistent for each item."""

    def redriven(self, tenant: str, runs: Sequence[RunName]) -> list[RunName]:
        """Return those of these workflow runs in which outcomes were withdrawn. Strongly consistent."""

    def records(self, tenant: str, runs: Sequence[RunName]) -> list[Run]:
        """Return the existing records of these runs. Strongly consistent."""
