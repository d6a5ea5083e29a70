"""Graphs of workflows, and how the steps of their runs have ended."""

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
    """The record of a workflow's run (None: there is none), and the ends of its steps in the parts asked for."""

    run: Run | None
    ends: StepOutcomes


class WorkflowStore(Protocol):
    """Graphs never change: one that is edited is another one, with another hash."""

    def graph(self, tenant: str, ref: WorkflowRef) -> Graph:
        """Remembered once it was read. Raises GraphMissingError."""

    def put_graph(self, tenant: str, workflow: str, graph: Graph, *, expires_at: int | None = None) -> WorkflowRef:
        """Write it, if it is not there; under which name it is known. `expires_at` (UTC seconds) for one that is only
        needed for a time.
        """

    def expire_graph(self, tenant: str, ref: WorkflowRef, standing: Job | None, *, at: int) -> None:
        """Let it be removed after `at` (UTC seconds), while the workflow's own job is as it was read (None: while there
        is none) and does not name it.
        """

    def jobs(self, tenant: str, ids: Sequence[str]) -> dict[str, Job]:
        """Those of the jobs that exist, by id. A payload that has an item of its own is not read (UNREAD). Strongly
        consistent.
        """

    def claim(self, jobs: Sequence[Job], workflow: str, *, at: float) -> list[str]:
        """Make the jobs steps of a workflow, `at` now (UTC seconds). Return the ids of the jobs that have changed since
        they were read; these stay as they are.
        """

    def free(self, jobs: Sequence[Job], workflow: str, standing: Job | None, *, at: float) -> None:
        """Release the steps, `at` now (UTC seconds), as far as they are as they were read, and while the
        workflow's own job is so too (None: while there is none).
        """

    def record_end(
        self, tenant: str, run: RunName, number: int, end: StepOutcome, *, in_round: int = 0, expires_at: int
    ) -> StepOutcomes:
        """Note the end of a step in a round, unless a later round, or an end of a higher rank in this one, is known;
        all ends of its part as they are then.
        """

    def withdraw(
        self, tenant: str, run: RunName, rounds: Mapping[int, int], parts: Iterable[int], *, expires_at: int
    ) -> None:
        """Begin these rounds of steps (by number), so that their earlier ends no longer count. Before that
        `parts` are marked: a read of one of them shows that ends were withdrawn (`StepOutcomes.again`).
        """

    def read(self, tenant: str, run: RunName, parts: Iterable[int], *, with_run: bool = True) -> WorkflowRead:
        """A workflow's run, and the ends of its steps in these parts. Strongly consistent for each item."""

    def records(self, tenant: str, runs: Sequence[RunName]) -> list[Run]:
        """The records of these runs that exist. Strongly consistent."""
