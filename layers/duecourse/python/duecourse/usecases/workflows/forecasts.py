"""Reads the durations from which runs are forecast. The reads are bounded (domain.workflows.forecast.MAX_RECORDS)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from duecourse.domain.jobs.job import Job
from duecourse.domain.runs.states import Final, Run
from duecourse.domain.runs.transitions import own_job
from duecourse.domain.tenants.rate import Charge, free
from duecourse.domain.workflows.forecast import (
    Duration,
    Forecast,
    alone,
    deadline_of,
    duration_of,
    forecast,
    remaining,
    samples_of,
)
from duecourse.domain.workflows.graph import step_name
from duecourse.usecases.workflows.workflows import RECORDS_A_REQUEST, WorkflowRuns

if TYPE_CHECKING:
    from duecourse.domain.workflows.view import WorkflowRunView
    from duecourse.settings import TableSettings
    from duecourse.usecases.parts import Parts

READ_RUNS = 2
"""How many runs are read for each run of a sample: some were skipped, or have not ended."""


@dataclass(frozen=True, slots=True)
class Durations:
    """Reads the durations of the steps of earlier runs."""

    parts: Parts[TableSettings]

    def view(self, run: Run) -> WorkflowRunView:
        """Return the run of a workflow with its steps, or another run as its own only step. Raises NoWorkflowRunError
        or GraphMissingError.
        """
        return WorkflowRuns(self.parts.workflows, self.parts.jobs).look(run) if run.is_workflow else alone(run)

    def forecast(self, view: WorkflowRunView, charge: Charge = free) -> Forecast:
        """Return the forecast of a workflow's run that has not ended. Raises the errors of `charge`."""
        run, now = view.run, self.parts.clock.now()
        job = own_job(self.parts.jobs.get(run.tenant, run.job_id), run)
        deadline = deadline_of(run, job, now) if isinstance(job, Job) else None
        return forecast(view, self.of(view, charge), deadline, now)

    def of(self, view: WorkflowRunView, charge: Charge = free) -> Mapping[int, Duration]:
        """Return the known durations of the remaining steps of a run, by their numbers. They are those of the last
        runs of the workflow that have ended, each with the step's run of the same name. Raises the errors of `charge`
        for the records to be read.
        """
        numbers = remaining(view)
        if not numbers:
            return {}
        samples, run = samples_of(len(numbers)), view.run
        charge(1 + samples * len(numbers) // RECORDS_A_REQUEST)
        page = self.parts.runs.page(run.tenant, run.job_id, limit=READ_RUNS * samples, before=None, strongly=False)
        ended = [each for each in page if isinstance(each, Final) and each.attempt and each.name.item is None]
        if not run.is_workflow:
            return _known({0: ended[:samples]})
        return _known(self._records(view, numbers, ended[:samples]))

    def _records(
        self, view: WorkflowRunView, numbers: Sequence[int], runs: Sequence[Run]
    ) -> Mapping[int, Sequence[Run]]:
        names = {step_name(run.name, view.graph.steps[number]): number for number in numbers for run in runs}
        found = self.parts.runs.get_many(view.run.tenant, list(names)) if names else {}
        records: dict[int, list[Run]] = {number: [] for number in numbers}
        for name, record in found.items():
            records[names[name]].append(record)
        return records


def _known(records: Mapping[int, Sequence[Run]]) -> Mapping[int, Duration]:
    found = {number: duration_of(runs) for number, runs in records.items()}
    return {number: duration for number, duration in found.items() if duration is not None}
