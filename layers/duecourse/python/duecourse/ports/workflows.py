"""Graphs of workflows, and the outcomes of the steps of their runs."""

from __future__ import annotations

from dataclasses import dataclass

from duecourse.domain.runs.states import Run
from duecourse.domain.workflows.graph import StepOutcomes


class GraphMissingError(LookupError):
    """The graph of a run has expired."""


@dataclass(frozen=True, slots=True)
class WorkflowRead:
    """The record of a workflow's run (None: there is none), and the outcomes of its steps in the requested parts."""

    run: Run | None
    ends: StepOutcomes


@dataclass(frozen=True, slots=True)
class RecordedEnd:
    """The outcomes of the steps in the part of a step whose end was recorded. `first`: this write recorded it, so
    `ends` is the state just after it; False if it was recorded before, or if that is unknown.
    """

    ends: StepOutcomes
    first: bool
