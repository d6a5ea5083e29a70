"""A job whose runs wait for their callback, and the requests of the program that works on them."""

from typing import Any

from duecourse.domain.jobs.job import Completion, Job
from duecourse.domain.runs.states import Run
from tests.support.api import Answered, ApiClient
from tests.support.jobs import cursor, job
from tests.support.runs import TOKEN

NAME = "steady.20261121T120000Z"
BODIES: dict[str, Any] = {
    "heartbeat": {},
    "log": {"text": "3 of 7 sent"},
    "complete": {"result": {"sent": 3}},
    "fail": {"error": "no paper"},
}
ACTIONS = list(BODIES)
ENDS = ["complete", "fail"]


def callback_job(api: ApiClient) -> Job:
    """Create the job `steady`, which requires a heartbeat every minute."""
    made = job(id="steady", completion=Completion.CALLBACK, heartbeat_seconds=60)
    assert api.jobs.create(made, cursor(made))
    return made


def recorded(api: ApiClient, record: Run) -> Run:
    """Write the record and return it."""
    assert api.runs.write(record, None) is None
    return record


def stored(api: ApiClient) -> Run | None:
    """Return the current record of the run NAME."""
    return api.runs.get("default", "steady", "20261121T120000Z")


def call(api: ApiClient, action: str, body: Any = None, *, token: object = TOKEN, run_id: str = NAME) -> Answered:
    """Send one of ACTIONS, with a valid body by default."""
    return api.post(BODIES[action] if body is None else body, f"/v1/runs/{run_id}/{action}", token=str(token))
