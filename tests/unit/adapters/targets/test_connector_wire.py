"""The requests that workers pass to connectors, and the answers: plain JSON."""

import json
from base64 import b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duecourse.adapters.targets.http.connection import Endpoint, HttpAnswer, HttpRequest
from duecourse.adapters.targets.http.wire import (
    MAX_EVENT_BYTES,
    Asked,
    Unanswered,
    answer_document,
    answer_of,
    asked_of,
    request_document,
)
from duecourse.adapters.targets.invocation import READ_BYTES
from duecourse.domain.runs.rendering import MAX_BODY_BYTES, MAX_HEADERS_BYTES

NONE: frozenset[str] = frozenset()
REQUEST = HttpRequest(
    endpoint=Endpoint("https", "erp.corp.example", 8443, "/invoices?week=47"),
    method="POST",
    reusable=True,
    headers=(("Host", "erp.corp.example:8443"), ("X-Name", "k\xe9y"), ("X-Name", "second")),
    body=b'{"n": 1}',
    secrets=frozenset({"s3cr3t"}),
    resolved=frozenset({"s3cr3t"}),
)
LATIN_1 = st.text(st.characters(max_codepoint=0xFF), max_size=20)


def carried(document: object) -> dict[str, object]:
    """A document after its way through an invocation."""
    found: dict[str, object] = json.loads(json.dumps(document))
    return found


def test_connector_wire_request_arrives_as_it_was_built_but_for_the_list_of_secrets() -> None:
    asked = asked_of(carried(request_document(Asked(REQUEST, 29.5, READ_BYTES))))
    assert asked.request.written() == REQUEST.written()
    assert (asked.request.endpoint, asked.request.reusable) == (REQUEST.endpoint, True)
    assert (asked.seconds, asked.most_bytes) == (29.5, READ_BYTES)
    assert (asked.request.secrets, asked.request.resolved) == (NONE, NONE)


def test_connector_wire_has_the_documented_form() -> None:
    assert request_document(Asked(REQUEST, 29.5, 262_144)) == {
        "scheme": "https",
        "host": "erp.corp.example",
        "port": 8443,
        "resource": "/invoices?week=47",
        "method": "POST",
        "headers": [["Host", "erp.corp.example:8443"], ["X-Name", "k\xe9y"], ["X-Name", "second"]],
        "body": b64encode(b'{"n": 1}').decode(),
        "reusable": True,
        "seconds": 29.5,
        "most_bytes": 262_144,
    }
    assert answer_document(HttpAnswer(200, b"ok", "text/plain", None, "")) == {
        "status": 200,
        "body": "b2s=",
        "content_type": "text/plain",
        "retry_after": None,
        "retry": "",
    }
    unanswered = {"unanswered": {"code": "tls", "reason": "the TLS connection failed"}}
    assert answer_document(Unanswered("tls", "the TLS connection failed")) == unanswered


@given(st.none() | st.binary(max_size=100), st.lists(st.tuples(LATIN_1, LATIN_1), max_size=4), st.booleans())
def test_connector_wire_carries_any_body_and_headers(
    body: bytes | None, headers: list[tuple[str, str]], reusable: bool
) -> None:
    request = HttpRequest(REQUEST.endpoint, "PUT", reusable, tuple(headers), body, NONE, NONE)
    assert asked_of(carried(request_document(Asked(request, 1.0, 5)))) == Asked(request, 1.0, 5)


@given(
    st.integers(100, 599), st.binary(max_size=100), st.text(max_size=20), st.none() | st.text(max_size=20), st.text()
)
def test_connector_wire_carries_any_answer(
    status: int, body: bytes, content_type: str, retry_after: str | None, retry: str
) -> None:
    answer = HttpAnswer(status, body, content_type, retry_after, retry)
    assert answer_of(carried(answer_document(answer))) == answer


@given(st.text(), st.text())
def test_connector_wire_carries_any_failure(code: str, reason: str) -> None:
    assert answer_of(carried(answer_document(Unanswered(code, reason)))) == Unanswered(code, reason)


def test_connector_wire_ignores_fields_of_later_releases() -> None:
    assert asked_of(request_document(Asked(REQUEST, 1.0, 5)) | {"later": 1}).seconds == 1.0
    assert answer_of(answer_document(Unanswered("tls", "no")) | {"later": 1}) == Unanswered("tls", "no")


@pytest.mark.parametrize("document", [{}, {"status": 200}, {"status": "x", "body": ""}, {"status": 200, "body": "%"}])
def test_connector_wire_rejects_an_answer_that_is_none(document: dict[str, object]) -> None:
    whole = {"content_type": "", "retry_after": None, "retry": ""} | document
    with pytest.raises((KeyError, TypeError, ValueError)):
        answer_of(whole)


def test_connector_wire_the_largest_request_of_a_job_and_the_largest_answer_fit_into_an_invocation() -> None:
    url, names, escaped = 2_048 * 3, 50 * 4_096, 6  # in JSON, a character of a header takes at most six bytes
    largest = MAX_BODY_BYTES * 4 // 3 + (MAX_HEADERS_BYTES + names) * escaped + url
    assert largest < MAX_EVENT_BYTES
    answer = answer_document(HttpAnswer(200, b"x" * (READ_BYTES + 1), "", None, ""))
    assert len(json.dumps(answer)) < MAX_EVENT_BYTES
