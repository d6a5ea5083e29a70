"""The API's document: up to date, complete, valid, and true to the examples it gives."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import schemathesis

from duecourse.api.openapi.served import FILE, document
from duecourse.api.routes.table import ROUTES
from scripts.openapi.components import TAGS
from scripts.openapi.document import as_text, assemble, braces, with_table
from tests.support.api import untouchable_client
from tests.support.openapi import resolved, validator

ROOT = Path(__file__).resolve().parents[3]
REMEDY = "run make openapi"
DOCUMENT = assemble()


def operations() -> Iterator[tuple[str, dict[str, Any]]]:
    for path, methods in DOCUMENT["paths"].items():
        for method, operation in methods.items():
            yield f"{method.upper()} {path}", operation


OPERATIONS_BY_LABEL = dict(operations())
every_operation = pytest.mark.parametrize("label", OPERATIONS_BY_LABEL)


def test_openapi_document_is_the_one_generated_from_the_code() -> None:
    assert FILE.read_text() == as_text(DOCUMENT), REMEDY


def test_openapi_document_is_served() -> None:
    answer = untouchable_client().get("/v1/openapi.json")
    assert (answer.status, answer.json) == (200, document())
    assert answer.headers["cache-control"] == "public, max-age=300"


def test_openapi_route_table_in_the_docs_is_up_to_date() -> None:
    page = (ROOT / "docs" / "api.md").read_text()
    assert page == with_table(page), REMEDY


def test_openapi_document_contains_every_route_and_no_other() -> None:
    documented = {(method.upper(), path) for path, methods in DOCUMENT["paths"].items() for method in methods}
    assert documented == {(method, braces(path)) for method, path, *_ in ROUTES}
    assert len(documented) == len(ROUTES)


def test_openapi_document_is_valid() -> None:
    assert DOCUMENT["openapi"].startswith("3.1.")
    schemathesis.openapi.from_dict(deepcopy(DOCUMENT)).validate()
    with pytest.raises(jsonschema_rs.ValidationError):
        schemathesis.openapi.from_dict({key: part for key, part in DOCUMENT.items() if key != "info"}).validate()


def test_openapi_references_all_resolve_and_all_components_are_referenced() -> None:
    text = json.dumps(DOCUMENT)
    referred = set(re.findall(r'"#/components/(\w+/[^"]+)"', text))
    there = {
        f"{kind}/{name}"
        for kind in ("schemas", "parameters", "headers", "responses")
        for name in DOCUMENT["components"][kind]
    }
    assert referred == there


def test_openapi_operations_have_unique_ids() -> None:
    names = [operation["operationId"] for _, operation in operations()]
    assert len(set(names)) == len(names)


@every_operation
def test_openapi_operations_describe_their_effect_and_required_scope(label: str) -> None:
    operation = OPERATIONS_BY_LABEL[label]
    assert operation["summary"]
    assert operation["description"]
    assert set(operation["tags"]) <= TAGS.keys()
    assert isinstance(operation["security"], list)


@every_operation
def test_openapi_path_parameters_are_all_described(label: str) -> None:
    described = [resolved(each) for each in OPERATIONS_BY_LABEL[label].get("parameters", [])]
    assert {each["name"] for each in described if each["in"] == "path"} == set(re.findall(r"{(\w+)}", label))
    for each in described:
        assert validator(json.dumps(each["schema"])).is_valid(each["example"]), each["name"]


@every_operation
def test_openapi_examples_match_their_schemas(label: str) -> None:
    operation = OPERATIONS_BY_LABEL[label]
    contents = [*operation.get("requestBody", {}).get("content", {}).values()]
    for response in operation["responses"].values():
        contents += resolved(response).get("content", {}).values()
    for content in contents:
        examples = [each["value"] for each in content.get("examples", {}).values()]
        examples += [content["example"]] if "example" in content else []
        for example in examples:
            validator(json.dumps(content["schema"])).validate(example)


@every_operation
def test_openapi_request_bodies_and_responses_all_have_examples(label: str) -> None:
    operation = OPERATIONS_BY_LABEL[label]
    if "requestBody" in operation:
        assert all(content["examples"] for content in operation["requestBody"]["content"].values())
    good = [response for status, response in operation["responses"].items() if status < "300"]
    for response in good:
        assert "content" not in response or operation["operationId"] == "getDocument" or example_of(response)


def example_of(response: dict[str, Any]) -> object:
    return response["content"]["application/json"].get("example")


@every_operation
def test_openapi_links_lead_to_operations_with_matching_parameters(label: str) -> None:
    by_name = {operation["operationId"]: operation for _, operation in operations()}
    for response in OPERATIONS_BY_LABEL[label]["responses"].values():
        for link in response.get("links", {}).values():
            target = by_name[link["operationId"]]
            known = {resolved(each)["name"] for each in target.get("parameters", [])}
            assert link["parameters"].keys() <= known


def test_openapi_optional_parameters_do_not_break_the_link_from_a_job_to_its_runs() -> None:
    links = OPERATIONS_BY_LABEL["GET /v1/jobs/{job_id}"]["responses"]["200"]["links"]
    assert links["listRuns"]["parameters"] == {"job_id": "$response.body#/id"}
    assert links["explainJob"]["parameters"].keys() == {"job_id"}


def test_openapi_generator_is_not_imported_when_the_api_starts() -> None:
    code = "import sys, duecourse.api.app; print(*(name for name in sys.modules if 'api.openapi' in name))"
    imported = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert sorted(imported) == ["duecourse.api.openapi", "duecourse.api.openapi.served"]
