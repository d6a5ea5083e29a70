"""The whole API against its own document: requests made up by the schemas, and chained by the links.

Never a 5xx, no answer that is not in the document, nobody let in without a token, nothing taken that a schema forbids.
`make fuzz` does the same for longer.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from aws_lambda_powertools.utilities.typing import LambdaContext

from duecourse.domain.job import Completion, JobState
from duecourse.domain.run import RunState
from duecourse.domain.targets import SqsTarget
from duecourse.ports import RegisteredTask
from tests.support.api import ApiClient, Context, api_settings
from tests.support.apt_requests import apt
from tests.support.clock import SettableClock
from tests.support.fuzz import fuzz
from tests.support.gateway import gateway
from tests.support.jobs import NOON, cursor
from tests.support.jobs import job as made_job
from tests.support.openapi import strict_document
from tests.support.runs import TOKEN, run, waiting_run
from tests.support.tables import Tables

pytestmark = [pytest.mark.long, pytest.mark.emulator]

SECONDS = os.environ.get("DUECOURSE_FUZZ_SECONDS")
SHORT = ("--max-examples", "10", "--seed", "5", "--generation-deterministic")
LONG = ("--max-time", SECONDS or "0", "--max-examples", "1000")
CHAINED = ("--phases", "fuzzing,stateful", "--mode", "positive")
TARGET = "https://example.com/hook"
CLAIMS = {"sub": "fuzz", "tenant": "default", "scope": "jobs:read jobs:write ops"}


@pytest.fixture
def api(tables: Tables) -> ApiClient:
    """One with jobs and with runs in every state; `schemathesis.toml` knows their names."""
    clock = SettableClock(NOON)
    settings = api_settings(auth="jwt", job_quota=100_000, requests_per_second=100_000, burst=100_000)
    tasks = {"send-mail": RegisteredTask(SqsTarget("duecourse-target-mail"), {"timeout_seconds": 45})}
    client = ApiClient(tables.job_store(clock), tables.run_store(), clock, settings, tasks=tasks)
    nightly = made_job("0 3 * * *", id="nightly", tags=("billing",), completion=Completion.CALLBACK)
    resting = made_job("rate(1 minute)", id="resting", state=JobState.PAUSED, paused_because="tired")
    for job in (nightly, resting):
        assert client.jobs.create(job, cursor(job))
    gone = replace(nightly, id="gone")
    for record in (
        run(nightly, RunState.SUCCEEDED, result={"status": 200}),
        run(nightly, RunState.DEAD, after=10, error="it broke", code="http.500"),
        replace(waiting_run(nightly), occurrence=int(NOON) + 20),
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


def test_the_api_keeps_to_its_document_whatever_is_sent(api: ApiClient, url: str, document: Path) -> None:
    fuzz(document, url, *(LONG if SECONDS else SHORT), target=TARGET, run_token=str(TOKEN))

    assert '"request_failed"' not in api.log.getvalue()


def test_it_keeps_to_it_when_most_of_what_is_asked_is_done(api: ApiClient, url: str, document: Path) -> None:
    document.write_text(json.dumps(apt(strict_document(), TARGET)))

    fuzz(document, url, *(LONG if SECONDS else SHORT), *CHAINED, target=TARGET, run_token=str(TOKEN))

    assert '"request_failed"' not in api.log.getvalue()
    assert api.log.getvalue().count('"job_created"') >= 5
