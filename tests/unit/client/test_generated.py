"""The client has every operation of the API's document, and its code is what the document makes."""

import inspect
import json
from typing import Any

import pytest

from duecourse.api.bodies.validation import OF_THE_WORKFLOW
from duecourse.api.openapi.served import FILE
from duecourse.client import AsyncClient, Client
from duecourse.client.bodies import JobPatch, JobRequest, StepJob, WorkflowRequest
from scripts.client_code.document import NOT_METHODS
from scripts.client_code.names import snake
from scripts.client_code.written import written
from scripts.generated import ROOT

WRITTEN = written(json.loads(FILE.read_bytes()))


@pytest.mark.parametrize("file", WRITTEN)
def test_generated_client_matches_openapi_json(file: str) -> None:
    assert (ROOT / file).read_text() == WRITTEN[file]


def test_generated_client_has_every_operation_as_a_method_of_both_clients_with_the_same_arguments() -> None:
    paths: dict[str, dict[str, Any]] = json.loads(FILE.read_bytes())["paths"]
    operations = {each["operationId"] for path in paths.values() for each in path.values() if "operationId" in each}
    for name in map(snake, sorted(operations - NOT_METHODS)):
        plain, asynchronous = (inspect.signature(getattr(kind, name)) for kind in (Client, AsyncClient))
        assert list(plain.parameters.items()) == list(asynchronous.parameters.items()), name


def test_generated_client_types_the_job_of_a_step() -> None:
    right: WorkflowRequest = {
        "schedule": None,
        "jobs": {"load": {"job": {"target": {"type": "http", "url": "https://example.com"}}}},
    }
    wrong: StepJob = {"tarket": 1}  # type: ignore[typeddict-unknown-key]
    assert StepJob.__annotations__.keys() == JobRequest.__annotations__.keys() - {"id", *OF_THE_WORKFLOW}
    assert (len(right), len(wrong)) == (2, 1)


def test_generated_client_types_the_merged_fields_of_a_patch() -> None:
    url: JobPatch = {"target": {"url": "https://example.com", "headers": {"x-old": None}, "auth": {"secret": "s"}}}
    reset: JobPatch = {"target": {"type": "sqs", "group": None}, "retry": {"max_attempts": None}, "missed": None}
    target: JobPatch = {"target": {"ulr": "https://example.com"}}  # type: ignore[typeddict-item]
    retry: JobPatch = {"retry": {"max_attempt": 3}}  # type: ignore[typeddict-item]
    missed: JobPatch = {"missed": {"policy": "run_ones"}}  # type: ignore[typeddict-item]
    assert [len(each) for each in (url, reset, target, retry, missed)] == [1, 3, 1, 1, 1]
    loose = {name: str(kind) for name, kind in JobPatch.__annotations__.items() if "Mapping[str, Any]" in str(kind)}
    assert loose == {}
