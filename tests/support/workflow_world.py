"""A world with a workflow `nightly`, and what people ask of its runs over the API."""

from collections.abc import Sequence
from typing import Any

from duecourse.domain.jobs.job import Job
from duecourse.domain.runs.rendering import render_document
from duecourse.domain.runs.states import Run, RunState
from duecourse.domain.targets.targets import Failed, Outcome, Returned
from duecourse.domain.workflows.graph import Graph
from duecourse.domain.workflows.view import WorkflowRunView
from duecourse.ports import Call
from duecourse.stores.keys import RUN_PREFIX, job_key
from duecourse.stores.table import Delete, Table
from duecourse.usecases.runs.requests import RunRequest
from tests.support.tables import Tables
from tests.support.workflows import add_workflow
from tests.support.world import ANNA, World

INSTANT = "20261121T120100Z"
"""Of the run that `add_workflow` makes due."""

CHAIN: dict[str, tuple[str, ...]] = {"extract": (), "transform": ("extract",), "load": ("transform",)}
DIAMOND: dict[str, tuple[str, ...]] = {"extract": (), "eu": ("extract",), "us": ("extract",), "report": ("eu", "us")}

State = tuple[RunState, str | None]


class Answers:
    """What targets answer: the jobs named in `failing` fail for good, all others succeed, with `results` by job."""

    def __init__(self) -> None:
        self.failing: set[str] = set()
        self.results: dict[str, Any] = {}
        self.payloads: dict[str, Any] = {}

    def __call__(self, call: Call) -> Outcome:
        self.payloads[call.job.id] = render_document(call.job.payload, call.values)
        if call.job.id in self.failing:
            return Failed("no", retryable=False, code="http.500")
        return Returned(self.results.get(call.job.id))


class WorkflowWorld(World):
    """The workflow is due a minute after NOON."""

    def __init__(self, tables: Tables) -> None:
        super().__init__(tables)
        self.answers = Answers()
        self.caller.answer = self.answers

    def begin(self, graph: Graph, until: float, **fields: Any) -> Job:
        """Write the workflow, and let time pass until that instant (UTC seconds)."""
        made = add_workflow(self, graph, **fields)
        self.until(until)
        return made

    def run(self, job_id: str, local: str = INSTANT) -> Run | None:
        return self.run_store.get("default", job_id, local)

    def state(self, job_id: str, local: str = INSTANT) -> State | None:
        """State and reason of a job's run; None where it has no record."""
        run = self.run(job_id, local)
        return None if run is None else (run.state, run.reason)

    def delete_record(self, job_id: str, local: str = INSTANT) -> None:
        """Delete the record of a run."""
        key = job_key("default", job_id, RUN_PREFIX + local)
        self.tables.both().write(Delete(Table.RUNS, key))

    def called(self) -> list[str]:
        """The jobs that were called, in order."""
        return [run.partition(".")[0] for run in self.caller.runs]

    def redrive(self, job_id: str) -> None:
        self.api.commands.redrive("default", f"{job_id}.{INSTANT}")
        self.work()

    def cancel(self, job_id: str) -> None:
        self.api.commands.cancel("default", f"{job_id}.{INSTANT}")
        self.work()

    def run_now(self, job_id: str) -> Run:
        return self.office.run(job_id=job_id)

    def rerun(self, begin: Sequence[str], local: str = INSTANT, key: str | None = None) -> Run:
        return self.api.reruns.rerun("default", f"nightly.{local}", begin, RunRequest(ANNA.by, key))

    def view(self, local: str = INSTANT) -> WorkflowRunView:
        return self.api.workflow_runs.look(self.api.runs.get("default", f"nightly.{local}"))
