"""The Python client, over a transport that answers by itself."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime

import httpx
import pytest

from duecourse.client import ApiError, ApiUnreachableError, Client

JOB = {
    "id": "nightly",
    "schedule": "0 3 * * *",
    "state": "ACTIVE",
    "next_occurrence": "2026-11-22T03:00:00Z",
    "error": None,
}
RUN = {
    "id": "nightly.20261121T030000Z",
    "job_id": "nightly",
    "state": "SUCCEEDED",
    "reason": None,
    "occurrence": "2026-11-21T03:00:00Z",
    "due": "2026-11-21T03:00:00Z",
    "lateness_seconds": 0.042,
    "attempts": 1,
    "max_attempts": 4,
    "error": None,
    "count": 1,
}


def client(answer: Callable[[httpx.Request], httpx.Response]) -> Client:
    return Client("http://127.0.0.1:9/base/", transport=httpx.MockTransport(answer), retries=0)


def test_a_job_is_posted_as_json_below_the_base_address() -> None:
    seen: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(201, json=JOB)

    job = client(answer).create_job({"schedule": "0 3 * * *"})

    assert (seen[0].method, seen[0].url.path) == ("POST", "/base/v1/jobs")
    assert json.loads(seen[0].content) == {"schedule": "0 3 * * *"}
    assert job.next_occurrence == datetime(2026, 11, 22, 3, tzinfo=UTC)
    assert job.document["state"] == "ACTIVE"


def test_an_id_is_quoted_in_the_path() -> None:
    seen: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(204)

    client(answer).delete_job("../health")

    assert seen[0].url.raw_path == b"/base/v1/jobs/..%2Fhealth"


def test_runs_come_in_pages() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        assert dict(request.url.params) == {"limit": "2", "cursor": "abc"}
        return httpx.Response(200, json={"items": [RUN], "next_cursor": "def"})

    page = client(answer).list_runs("nightly", limit=2, cursor="abc")

    assert page.next_cursor == "def"
    assert page.items[0].lateness_seconds == pytest.approx(0.042)
    assert page.items[0].is_final


def test_all_jobs_follow_the_cursor_to_the_end() -> None:
    pages = {None: {"items": [JOB], "next_cursor": "2"}, "2": {"items": [{**JOB, "id": "b"}], "next_cursor": None}}

    found = client(lambda request: httpx.Response(200, json=pages[request.url.params.get("cursor")])).list_jobs()

    assert [job.id for job in found] == ["nightly", "b"]


def test_a_refusal_carries_the_problem_document() -> None:
    problem = {
        "type": "/problems/invalid-job",
        "title": "Unprocessable Entity",
        "status": 422,
        "detail": "2 fields are wrong; nothing was changed.",
        "errors": [
            {"pointer": "/schedule", "detail": "61 is no minute"},
            {"pointer": "/target/url", "detail": "missing"},
        ],
    }

    with pytest.raises(ApiError) as caught:
        client(lambda _: httpx.Response(422, json=problem)).create_job({})

    assert caught.value.status == 422
    assert caught.value.problem == problem
    assert str(caught.value) == (
        "422 Unprocessable Entity - 2 fields are wrong; nothing was changed. - "
        "schedule: 61 is no minute - target/url: missing"
    )


def test_a_refusal_without_a_problem_document_is_told_in_its_own_words() -> None:
    with pytest.raises(ApiError, match="502 Bad Gateway - <html> oops </html>"):
        client(lambda _: httpx.Response(502, text="<html>\n oops </html>")).get_health()


def test_an_address_where_nobody_answers_is_named() -> None:
    def refuse(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("Connection refused", request=request)

    with pytest.raises(ApiUnreachableError, match=r"nothing answers at http://127.0.0.1:9/base \(Connection refused\)"):
        client(refuse).get_health()
