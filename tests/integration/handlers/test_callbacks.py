"""The callbacks' handler, in its process: API Gateway's events in, answers out."""

import json
from collections.abc import Callable
from typing import Any

from duecourse.domain.jobs.job import Completion
from duecourse.testing.clock import SettableClock
from tests.integration.handlers.conftest import Handler, Stage
from tests.support.api_events import json_event
from tests.support.jobs import NOON, cursor, job
from tests.support.lambda_events import Context
from tests.support.queues import create_queue
from tests.support.runs import TOKEN, waiting_run

RUN = "/v1/runs/steady.20261121T120000Z"


def test_callbacks_of_a_run_are_answered_and_other_routes_are_unknown(
    function: Callable[..., Handler], stage: Stage
) -> None:
    made = job(id="steady", completion=Completion.CALLBACK, heartbeat_seconds=60)
    assert stage.tables.job_store(SettableClock(NOON)).create(made, cursor(made))
    assert stage.tables.run_store().write(waiting_run(made), None) is None
    queue = create_queue(stage.sqs)
    handler = function("callbacks", CALLBACK_URL=queue)

    def post(path: str, body: Any, token: object = TOKEN) -> dict[str, Any]:
        return handler(json_event("POST", path, body, headers={"authorization": f"Bearer {token}"}), Context())

    beat = post(f"{RUN}/heartbeat", {"note": "half of it"})
    assert (beat["statusCode"], json.loads(beat["body"])["state"]) == (200, "WAITING")
    assert post(f"{RUN}/complete", {"result": 3})["statusCode"] == 202
    (message,) = stage.sqs.receive_message(QueueUrl=queue, WaitTimeSeconds=5)["Messages"]
    assert json.loads(message["Body"])["result"] == 3
    assert post(f"{RUN}/fail", "no object", token="dc1.default.2.never-given-out")["statusCode"] == 401
    assert post(f"{RUN}/cancel", {})["statusCode"] == 404
    assert post("/v1/jobs", {})["statusCode"] == 404
