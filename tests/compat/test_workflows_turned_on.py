"""A stage whose workflows are off is upgraded until they are on, and turned off again while one runs.

That is how a stage gets them: `workflows` stays off until every function runs a release that knows them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from duecourse.client import ApiError, Client
from tests.support.deployed import deploy, send
from tests.support.emulators import ministack
from tests.support.http_target import HttpTargetServer, answering, http_target
from tests.support.template import template
from tests.support.waiting import PATIENCE_SECONDS, awaited


@pytest.fixture
def endpoint(tmp_path: Path) -> Iterator[str]:
    with ministack(tmp_path) as endpoint:
        yield endpoint


@pytest.fixture
def target() -> Iterator[HttpTargetServer]:
    with http_target(answering(200)) as target:
        yield target


def turn(endpoint: str, setting: str) -> None:
    send(endpoint, template("local", workflows=setting), "update")


def begun(api: Client, job_id: str) -> str:
    run_id = api.run_job(job_id).id
    return awaited(f"a record of {run_id}", lambda: run_id if api.get_run(run_id).state != "QUEUED" else None)


def calls(target: HttpTargetServer, job_id: str) -> list[dict[str, str]]:
    return [dict(seen.headers) for seen in target.seen if seen.headers["X-Duecourse-Job-Id"] == job_id]


def test_a_stage_refuses_workflows_until_they_are_on_and_ends_what_runs_when_they_are_off_again(
    endpoint: str, target: HttpTargetServer
) -> None:
    outputs = deploy(endpoint, workflows="off")
    called = {"type": "http", "url": target.url("/")}
    with_token = {"target": called | {"headers": {"X-Token": "{{callback_token}}"}}, "completion": "callback"}
    document = {"schedule": None, "jobs": {"extract": {}, "load": {"after": ["extract"]}}}
    with Client(f"{endpoint}/_aws/execute-api/{outputs['ApiId']}", timeout=PATIENCE_SECONDS, trust_env=False) as api:
        api.create_job({"id": "extract", "schedule": None, "completion_seconds": 600, **with_token})
        api.create_job({"id": "load", "schedule": None, "target": called})
        with pytest.raises(ApiError) as refused:
            api.put_workflow("nightly", document)
        assert refused.value.status == 404
        assert "workflows-off" in str(refused.value.problem)
        alone = begun(api, "load")
        awaited("the job that is no member yet", lambda: api.get_run(alone).state == "SUCCEEDED")

        turn(endpoint, "on")
        awaited("the routes of workflows", lambda: _put(api, document))
        whole = begun(api, "nightly")
        (first,) = awaited("the first member's call", lambda: calls(target, "extract"))

        turn(endpoint, "off")
        api.complete_run(first["X-Duecourse-Run-Id"], first["X-Token"], result={"rows": 3})
        awaited("the workflow's end", lambda: api.get_run(whole).state == "SUCCEEDED")
        assert [each["X-Duecourse-Run-Id"] for each in calls(target, "load")] == [
            alone,
            f"load.{whole.partition('.')[2]}",
        ]


def _put(api: Client, document: dict[str, Any]) -> bool:
    """Whether the workflow is put: a function of the former template may still answer for a moment."""
    try:
        api.put_workflow("nightly", document)
    except ApiError as error:
        if error.status == 404:
            return False
        raise
    return True
