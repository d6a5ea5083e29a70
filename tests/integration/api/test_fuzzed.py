"""The whole API against its own document, by requests that are made up from its schemas.

Never a 5xx, no answer that is not in the document, nobody let in without a token, nothing taken that a schema forbids.
In `make test` the requests are always the same; `make test-all` tries every bound; `make fuzz` draws them by chance,
and chains them.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from aws_lambda_powertools.utilities.typing import LambdaContext
from jsonschema_rs import Draft202012Validator

from duecourse.domain.jobs.job import Completion, JobState
from duecourse.domain.runs.states import RunState
from duecourse.domain.targets.targets import SqsTarget
from duecourse.ports import RegisteredTask
from duecourse.testing.clock import SettableClock
from tests.support.api import ApiClient, Context, api_settings
from tests.support.api_events import json_event, jwt_caller
from tests.support.apt_requests import UNCHECKED, apt
from tests.support.fuzz import DRAWN, THE_SAME, fuzz
from tests.support.gateway import gateway
from tests.support.jobs import NOON, cursor
from tests.support.jobs import job as made_job
from tests.support.openapi import strict_document
from tests.support.runs import TOKEN, run, waiting_run
from tests.support.tables import Tables
from tests.support.varied import varied
from tests.support.workflows import add_ended_workflow

HOW = [
    pytest.param(("--phases", "examples,fuzzing", *THE_SAME), id="some"),
    pytest.param(("--phases", "fuzzing", *THE_SAME, "--max-examples", "20"), id="more", marks=pytest.mark.extended),
    pytest.param(("--phases", "coverage", *THE_SAME), id="every bound", marks=pytest.mark.extended),
    pytest.param(DRAWN, id="drawn", marks=pytest.mark.fuzz),
]
TARGET = "https://example.com/hook"
CLAIMS = {"sub": "fuzz", "tenant": "default", "scope": "jobs:read jobs:write ops"}


@pytest.fixture
def api(tables: Tables) -> ApiClient:
    """One with jobs and with runs in every state; `schemathesis.toml` knows their names."""
    clock = SettableClock(NOON)
    settings = api_settings(auth="jwt", job_quota=100_000, requests_per_second=100_000, burst=100_000)
    tasks = {"send-mail": RegisteredTask(SqsTarget("duecourse-target-mail"), {"timeout_seconds": 45})}
    workflows = tables.workflows(clock)
    client = ApiClient.over(tables, clock, settings=settings, tasks=tasks, workflows=workflows)
    add_ended_workflow(client, "default", "chain")
    nightly = made_job("0 3 * * *", id="nightly", tags=("billing",), completion=Completion.CALLBACK)
    resting = made_job("rate(1 minute)", id="resting", state=JobState.PAUSED, paused_because="tired")
    for job in (nightly, resting):
        assert client.jobs.create(job, cursor(job))
    gone = replace(nightly, id="gone")
    for record in (
        run(nightly, RunState.SUCCEEDED, result={"status": 200}),
        run(nightly, RunState.DEAD, after=10, error="it broke", code="http.500"),
        varied(waiting_run(nightly), occurrence=int(NOON) + 20),
        run(nightly, RunState.RUNNING, after=30),
        run(nightly, RunState.SUCCEEDED, after=40, result_key="results/default/nightly/x/2.json", result_bytes=70_000),
        run(gone, RunState.DEAD, error="it broke too"),
    ):
        assert client.runs.write(record, None) is None
    return client


@pytest.fixture
def url(api: ApiClient, tables: Tables) -> Iterator[str]:
    """Where it is served; its clock goes on by a hundredth of a second a request."""

    def handle(event: dict[str, Any]) -> Mapping[str, Any]:
        api.clock.advance(0.01)
        answer: Mapping[str, Any] = api.application(event, cast(LambdaContext, Context()))
        return answer

    with gateway(handle, {"operator": CLAIMS}) as address:
        yield address


@pytest.fixture
def document(tmp_path: Path) -> Path:
    """The document, closed: a field that is not in it is found."""
    file = tmp_path / "openapi.json"
    file.write_text(json.dumps(strict_document()))
    return file


@pytest.mark.parametrize("how", HOW)
def test_api_fuzzing_any_request_conforms_to_the_document(
    api: ApiClient, url: str, document: Path, how: tuple[str, ...]
) -> None:
    fuzz(document, url, *how, target=TARGET, run_token=str(TOKEN))
    assert '"request_failed"' not in api.log.getvalue()


@pytest.mark.parametrize("how", HOW)
def test_api_fuzzing_mostly_executed_requests_conform_to_the_document(
    api: ApiClient, url: str, document: Path, how: tuple[str, ...]
) -> None:
    document.write_text(json.dumps(apt(strict_document(), TARGET)))
    fuzz(document, url, *how, "--mode", "positive", target=TARGET, run_token=str(TOKEN), unchecked=UNCHECKED)
    assert '"request_failed"' not in api.log.getvalue()
    assert api.log.getvalue().count('"job_created"') >= 5


def test_api_fuzzing_put_accepts_a_target_from_a_response_that_the_narrowed_document_excludes(api: ApiClient) -> None:
    """What schemathesis once took for a schema that is not enforced."""
    api.caller = jwt_caller("default", "jobs:write")
    target = {"type": "http", "url": TARGET, "expect": ["201", 200]}
    answered = api.post({"schedule": "*/7 * * * * *", "target": target}).json
    body = {"schedule": answered["schedule"], "target": answered["target"]}
    job = {"$ref": "#/components/schemas/JobRequest"}
    whole, narrowed = strict_document(), apt(strict_document(), TARGET)
    fits = [Draft202012Validator(job | {"components": each["components"]}).is_valid(body) for each in (whole, narrowed)]
    assert fits == [True, False]
    headers = {"x-correlation-id": "nightly"}
    put = api.send(json_event("PUT", f"/v1/jobs/{answered['id']}", body, headers=headers))
    assert (put.status, put.json["target"]) == (200, answered["target"])
