"""The route of the pull workers."""

from __future__ import annotations

from collections.abc import Mapping, Set
from http import HTTPStatus
from typing import Annotated

from pydantic import Field
from typing_extensions import TypedDict

from duecourse.api.answers import JobId, Millisecond, RunId
from duecourse.api.api import Answer, Api, route
from duecourse.api.request import Request
from duecourse.domain.ids import parse_run_id
from duecourse.domain.instants import millisecond
from duecourse.domain.runs.states import RunState
from duecourse.domain.runs.workers import WORKER_PATTERN, ListedWorker, WorkerStatus
from duecourse.usecases.workflows.manage import steps_cost


class WorkerAnswer(TypedDict):
    """A pull worker, and a run for which it reported."""

    name: Annotated[str, Field(pattern=f"^{WORKER_PATTERN}$")]
    status: Annotated[
        WorkerStatus,
        Field(
            description="`working`: its attempt of the run is in progress. `silent`: a heartbeat or the completion of "
            "this attempt is overdue or did not arrive in time, and the worker was not noted afterwards; it may have "
            "reported for another run. `seen`: neither."
        ),
    ]
    seen_at: Annotated[
        Millisecond,
        Field(description="Its last known report. The actual last report may be up to ten minutes later."),
    ]
    run_id: Annotated[RunId, Field(description="The run for which it reported when it was last noted.")]
    job_id: JobId
    attempt: Annotated[int, Field(ge=1, description="The attempt to which `status` refers.")]
    run_state: Annotated[RunState | None, Field(description="The state of the run; null if its record has expired.")]


class WorkersAnswer(TypedDict):
    """The pull workers of the tenant that reported in the last hour, the last one first."""

    items: list[WorkerAnswer]
    complete: Annotated[
        bool,
        Field(
            description="False if workers may be missing: there were too many names in the last hour, or the noted run "
            "of a worker belongs to a job that the caller may not read."
        ),
    ]


@route("GET", "/v1/workers", "runs", {200: WorkersAnswer}, checks_tags=True)
def list_workers(api: Api, request: Request, _parameters: Mapping[str, str]) -> Answer:
    """List pull workers.

    Lists the workers that named themselves in a heartbeat, completion or failure in the last hour, the last one first.
    A worker that has received no run in the last hour is not listed. A worker is noted once in ten minutes, so `run_id`
    is not always its last run, and `status` refers to this run only. Tag-scoped permissions show the workers whose
    noted run belongs to a job with one of the tags.
    """
    tags = request.tags

    def within(ids: Set[str]) -> Set[str]:
        if tags is None:
            return ids
        request.budget.charge(steps_cost(len(ids)))
        jobs = api.workflows.parts.workflows.jobs(request.tenant, sorted(ids))
        return {job_id for job_id, job in jobs.items() if not tags.isdisjoint(job.tags)}

    found, complete = api.workers.all(request.tenant, within, request.budget.charge)
    body = {"items": [_document(each) for each in found], "complete": complete}
    return Answer(HTTPStatus.OK, "workers_listed", body, facts={"items": len(found), "complete": complete})


def _document(worker: ListedWorker) -> dict[str, object]:
    noted = worker.sighting
    return {
        "name": noted.name,
        "status": worker.status.value,
        "seen_at": millisecond(worker.seen_at),
        "run_id": noted.run_id,
        "job_id": parse_run_id(noted.run_id).job_id,
        "attempt": worker.attempt,
        "run_state": None if worker.state is None else worker.state.value,
    }
