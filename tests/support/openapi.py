"""Answers held against the API's own document, strictly: what is not written down is not answered."""

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

import jsonschema_rs

from duecourse.api.routes.table import ROUTES
from scripts.openapi.document import assemble

Document = dict[str, Any]

FOR_NO_ROUTE = {404: "/problems/unknown-path", 405: "/problems/unknown-method"}


@cache
def strict_document() -> Document:
    """The document as it is now, closed: an answer's field that it does not know is an error."""
    return assemble(closed=True)


def resolved(part: Document) -> Document:
    """A part of the document, or what it refers to."""
    while "$ref" in part:
        found: Any = strict_document()
        for step in part["$ref"].removeprefix("#/").split("/"):
            found = found[step]
        part = found
    return part


def operation_at(method: str, path: str) -> Document | None:
    """The operation that answers at a real path; None where none does."""
    segments = path.split("/")
    found = [pattern for verb, pattern, *_ in ROUTES if verb == method and _fits(pattern.split("/"), segments)]
    if not found:
        return None
    best = min(found, key=lambda pattern: pattern.count("<"))  # what is spelt out goes before what is a parameter
    operations = strict_document()["paths"].get(best.replace("<", "{").replace(">", "}"), {})
    operation: Document | None = operations.get(method.lower())
    return operation


def check_answer(event: Mapping[str, Any], answer: Mapping[str, Any]) -> None:
    """Raises AssertionError for an answer, as API Gateway gets it, that the document does not allow."""
    asked, headers, text = event["requestContext"], answer["headers"], answer["body"]
    method, path, status = asked["http"]["method"], asked["http"]["path"], answer["statusCode"]
    label = f"{method} {path} -> {status}"
    assert headers["x-request-id"] is not None, label
    path = path.removeprefix(f"/{asked['stage']}")
    if path.startswith("/key/"):
        path = path.removeprefix("/key")
        if status == 401:  # of any path
            assert json.loads(text)["type"] == "/problems/bad-key", f"{label}: {text[:500]}"
            return
    operation = operation_at(method, path)
    if operation is None:
        assert json.loads(text)["type"] == FOR_NO_ROUTE[status], f"{label}: {text[:500]}"
        return
    if status == 404 and json.loads(text)["type"] == FOR_NO_ROUTE[404]:
        return  # a segment of characters that no route takes
    assert str(status) in operation["responses"], f"{label} is not in the document: {text[:500]}"
    response = resolved(operation["responses"][str(status)])
    for name in response["headers"]:
        assert headers.get(name), f"{label} lacks the header {name}"
    content = response.get("content")
    if content is None:
        assert text == "", f"{label} has a body: {text[:500]}"
        return
    kind = headers["Content-Type"]
    assert kind in content, f"{label} is of type {kind}"
    errors = [
        f"{'/'.join(map(str, error.instance_path))}: {error.message[:500]}"
        for error in validator(json.dumps(content[kind]["schema"])).iter_errors(json.loads(text))
    ]
    assert not errors, f"{label} breaks its schema (scripts/openapi): {errors[:3]}"


@cache
def validator(schema: str) -> Any:
    """The validator of a schema that may refer to the document's components."""
    whole = json.loads(schema) | {"components": strict_document()["components"]}
    return jsonschema_rs.Draft202012Validator(whole, validate_formats=True)


def _fits(pattern: list[str], segments: list[str]) -> bool:
    return len(pattern) == len(segments) and all(
        want == given or (want.startswith("<") and given) for want, given in zip(pattern, segments, strict=True)
    )
