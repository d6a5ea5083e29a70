"""A job whose runs wait for their callback, and what whoever works on them sends."""

from typing import Any

from duecourse.domain.jobs.job import Completion, Job
from duecourse.domain.runs.states import Run
from tests.support.api import Answered, ApiClient
from tests.support.jobs import cursor, job
from tests.support.runs import TOKEN

NAME = "steady.20261121T120000Z"
BODIES: dict[str, Any] = {"heartbeat": {}, "complete": {"result": {"sent": 3}}, "fail": {"error": "no paper"}}
ACTIONS = list(BODIES)
ENDS = ["complete", "fail"]


def callback_job(api: ApiClient) -> Job:
    """The job `steady`; it wants a heartbeat a minute."""
    made = job(id="steady", completion=Completion.CALLBACK, heartbeat_seconds=60)
    assert api.jobs.create(made, cursor(made))
    return made


def recorded(api: ApiClient, record: Run) -> Run:
    """The record, written."""
    assert api.runs.write(record, None) is None
    return record


def stored(api: ApiClient) -> Run | None:
    """The record of the run NAME as it is."""
    return api.runs.get("default", "steady", "20261121T120000Z")


def call(api: ApiClient, action: str, body: Any = None, *, token: object = TOKEN, run_id: str = NAME) -> Answered:
    """One of ACTIONS, with a body that does unless another one is given."""
    return api.post(BODIES[action] if body is None else body, f"/v1/runs/{run_id}/{action}", token=str(token))
