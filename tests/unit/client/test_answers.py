"""What the client makes of answers and refusals, of its own release and of others."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import httpx
import pytest

from duecourse.client import (
    ApiError,
    Client,
    ConflictError,
    Fault,
    ForbiddenError,
    InvalidError,
    NotFoundError,
    PreconditionError,
    UnauthorizedError,
    UnavailableError,
)
from tests.unit.client.test_client import JOB, RUN


def client(status: int, document: Any, headers: dict[str, str] | None = None) -> Client:
    answer = httpx.Response(status, json=document, headers=headers)
    return Client("http://api", transport=httpx.MockTransport(lambda _: answer), retries=0)


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, InvalidError),
        (401, UnauthorizedError),
        (403, ForbiddenError),
        (404, NotFoundError),
        (409, ConflictError),
        (412, PreconditionError),
        (422, InvalidError),
        (500, UnavailableError),
    ],
)
def test_a_refusal_is_an_exception_of_its_own_kind(status: int, kind: type[ApiError]) -> None:
    with pytest.raises(kind) as refused:
        client(status, {"type": "/problems/some-kind", "title": "No"}).get_job("nightly")
    assert (refused.value.status, refused.value.type) == (status, "some-kind")


def test_an_invalid_job_names_each_wrong_field() -> None:
    errors = [{"pointer": "/schedule", "detail": "61 is no minute"}, {"header": "If-Match", "detail": "is no ETag"}]
    with pytest.raises(InvalidError) as refused:
        client(422, {"type": "/problems/invalid-job", "errors": errors}).create_job({"schedule": "61 * * * *"})
    assert refused.value.faults == (Fault("schedule", "61 is no minute"), Fault("If-Match", "is no ETag"))


def test_an_answer_has_its_etag_for_the_next_edit() -> None:
    assert client(200, JOB, {"ETag": '"7"'}).get_job("nightly").etag == '"7"'


def test_fields_of_a_newer_stage_stay_in_the_document() -> None:
    assert client(200, JOB | {"mood": "fine"}).get_job("nightly").document["mood"] == "fine"


def test_fields_that_an_older_stage_does_not_know_are_none_or_empty() -> None:
    job = client(200, JOB).get_job("nightly")
    assert (job.workflow, job.retry, job.tags) == (None, None, ())


def test_an_answer_that_is_no_job_is_an_error() -> None:
    with pytest.raises(ApiError, match="no answer of Duecourse's"):
        client(200, {"hello": "world"}).get_job("nightly")


def test_a_batch_has_a_job_or_a_problem_for_each() -> None:
    items = [{"status": 201, "job": JOB, "etag": '"1"'}, {"status": 422, "problem": {"type": "/problems/invalid-job"}}]
    first, second = client(200, {"items": items}).create_jobs([]).items
    assert first.job is not None
    assert (first.job.id, first.etag, first.problem, second.job) == ("nightly", '"1"', None, None)


def test_instants_are_sent_in_utc_and_naive_ones_refused() -> None:
    seen: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(200, json={"items": [RUN], "redriven": 0})

    duecourse = Client("http://api", transport=httpx.MockTransport(answer))
    berlin = timezone(timedelta(hours=1))
    duecourse.redrive_dead_runs(since=datetime(2026, 11, 21, 3, tzinfo=berlin))
    duecourse.explain_job("nightly", at=datetime(2026, 11, 21, 3, tzinfo=UTC))

    assert seen[0].content == b'{"since":"2026-11-21T02:00:00+00:00"}'
    assert seen[1].url.params["at"] == "2026-11-21T03:00:00+00:00"
    with pytest.raises(ValueError, match="no time zone"):
        duecourse.redrive_dead_runs(since=datetime(2026, 11, 21, 3))
