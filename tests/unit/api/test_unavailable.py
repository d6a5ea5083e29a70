"""AWS that is too busy or out of reach: 503 with `retry-after`, and nothing that it said; its other faults stay 500."""

from __future__ import annotations

from typing import Any, cast

import pytest
from botocore.exceptions import (
    ClientError,
    ConnectTimeoutError,
    EndpointConnectionError,
    NoCredentialsError,
    ReadTimeoutError,
)

from duecourse.ports import JobStore, RunStore, TenantLimits, TickMark
from tests.support.api import BODY, Answered, ApiClient, Untouchable, untouchable_client

ENDPOINT = "https://dynamodb.internal"
JOB = "/v1/jobs/nightly"


def said(code: str, status: int = 400) -> ClientError:
    return ClientError(
        {"Error": {"Code": code, "Message": "secret-table"}, "ResponseMetadata": {"HTTPStatusCode": status}},  # type: ignore[typeddict-item]
        "GetItem",
    )


class Failing:
    """A store of any kind that fails at whatever it is asked."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def __getattr__(self, name: str) -> Any:
        return self

    def __call__(self, *_: object, **__: object) -> None:
        raise self._error


def asked(error: Exception) -> Answered:
    return ApiClient(cast(JobStore, Failing(error)), cast(RunStore, Untouchable())).get(JOB)


def assert_told_to_come_again(answer: Answered) -> None:
    assert (answer.status, answer.json["type"]) == (503, "/problems/unavailable")
    assert int(answer.headers["retry-after"]) >= 1
    assert "secret" not in answer.text
    assert "internal" not in answer.text


@pytest.mark.parametrize(
    "error",
    [
        said("ProvisionedThroughputExceededException"),
        said("ThrottlingException"),
        said("RequestLimitExceeded"),
        said("TransactionConflictException"),
        said("InternalServerError", 500),
        said("ServiceUnavailable", 503),
        EndpointConnectionError(endpoint_url=ENDPOINT),
        ConnectTimeoutError(endpoint_url=ENDPOINT),
        ReadTimeoutError(endpoint_url=ENDPOINT),
    ],
    ids=lambda error: type(error).__name__,
)
def test_what_passes_by_itself_is_a_503(error: Exception) -> None:
    assert_told_to_come_again(asked(error))


@pytest.mark.parametrize(
    "error", [said("AccessDeniedException"), said("ResourceNotFoundException"), NoCredentialsError()]
)
def test_what_does_not_is_a_500(error: Exception) -> None:
    answer = asked(error)
    assert (answer.status, answer.json["type"]) == (500, "/problems/internal")
    assert "retry-after" not in answer.headers


def test_in_a_batch_it_is_the_answer_of_each_job_that_met_it() -> None:
    api = ApiClient(cast(JobStore, Failing(said("ThrottlingException"))), cast(RunStore, Untouchable()))
    answer = api.post({"jobs": [BODY, BODY | {"schedule": "never"}]}, "/v1/jobs/batch")
    assert answer.status == 200
    assert [item["status"] for item in answer.json["items"]] == [503, 422]
    assert "secret" not in answer.text


def test_a_bucket_that_cannot_be_written_refuses_and_lets_nobody_in_for_nothing() -> None:
    api = untouchable_client(counters=cast(TenantLimits, Failing(said("ThrottlingException"))))
    assert_told_to_come_again(api.get(JOB))


def test_a_health_that_cannot_be_read_is_a_503() -> None:
    api = untouchable_client(mark=cast(TickMark, Failing(said("ThrottlingException"))))
    assert_told_to_come_again(api.get("/v1/health"))


def test_an_unavailable_store_is_logged_and_counted_as_such(capsys: pytest.CaptureFixture[str]) -> None:
    api = untouchable_client(counters=cast(TenantLimits, Failing(said("ThrottlingException"))))
    api.get(JOB)
    failed, line = api.lines
    assert "secret-table" in failed["exception"]
    assert (line["action"], line["status"]) == ("request_failed", 503)
    assert "InternalErrors" in capsys.readouterr().out
