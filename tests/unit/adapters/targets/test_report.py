"""Reports as targets: the request to the audit function, and what its answer makes of the attempt."""

import io
from typing import Any

import orjson
import pytest
from botocore.exceptions import ReadTimeoutError
from botocore.response import StreamingBody

from duecourse.adapters.targets.aws.report import ReportCaller
from duecourse.domain.maintenance.report import ReportRequest, refusal_of
from duecourse.domain.targets.targets import Failed, ReportTarget, Returned
from tests.support.aws_targets import ARNS, Service, refusal
from tests.support.calls import a_call

TARGET = ReportTarget(("billing",), 24)
MADE = {"text": "billing: 3 due, 3 ran", "due": 3}


def answer_of(document: Any, **fields: Any) -> dict[str, Any]:
    body = document if isinstance(document, bytes) else orjson.dumps(document)
    return {"StatusCode": 200, "Payload": StreamingBody(io.BytesIO(body), len(body)), **fields}


def called(clock: Any, answer: Any, **fields: Any) -> tuple[Any, Service]:
    service = Service(answer)
    caller = ReportCaller(clock, service.client_for, ARNS, "Duecourse-audit")
    return caller.call(a_call(TARGET, **fields), TARGET), service


def test_report_target_asks_the_audit_function_for_the_window_before_the_occurrence(clock) -> None:
    outcome, service = called(clock, answer_of({"report": MADE}), timeout_seconds=30)
    assert outcome == Returned(MADE)
    (asked,) = service.asked
    assert (asked["FunctionName"], asked["InvocationType"]) == ("Duecourse-audit", "RequestResponse")
    request = ReportRequest.parse(orjson.loads(asked["Payload"])["report"])
    assert (request.tenant, request.tags, request.job_id, request.run) == (
        "acme",
        ("billing",),
        "nightly",
        "20261121T064700Z",
    )
    assert (request.end, request.end - request.begin) == (1_795_243_620, 86_400)
    assert 26 < request.seconds < 27.1, "the answer must arrive before the worker stops waiting"


def test_report_target_waits_as_long_as_the_audit_function_says(clock) -> None:
    refused = refusal_of("too many requests", "too_many_requests", retry_after=7.5)
    outcome, _ = called(clock, answer_of(refused))
    assert outcome == Failed("too many requests", retry_after=7.5, code="too_many_requests")


@pytest.mark.parametrize(
    "answer",
    [
        {},  # an audit function of an earlier release, or of a region that does not work
        b"null",
        b"<html>",
        {"report": {}},
        {"report": {"text": 3}},
        {"refused": {"error": "x"}},
        {"refused": {"error": "x", "code": "y", "retryable": True, "retry_after": "soon"}},
    ],
)
def test_report_target_fails_without_a_report_and_is_tried_again(clock, answer: Any) -> None:
    outcome, _ = called(clock, answer_of(answer))
    assert (outcome.code, outcome.retryable) == ("report_failed", True)
    assert outcome.error == "the report failed: the audit function returned no report"


def test_report_target_fails_with_its_function_and_keeps_the_details_from_tenants(clock) -> None:
    outcome, _ = called(clock, answer_of({"errorMessage": "table jobs-7"}, FunctionError="Unhandled"))
    assert (outcome.error, outcome.code) == ("the report failed (Unhandled)", "report_failed")
    assert "jobs-7" in outcome.detail


@pytest.mark.parametrize(
    ("error", "code", "retryable"),
    [
        (refusal("TooManyRequestsException", 429), "TooManyRequestsException", True),
        (refusal("AccessDeniedException", 403), "AccessDeniedException", False),
        (ReadTimeoutError(endpoint_url="x"), "timeout", True),
    ],
)
def test_report_target_that_lambda_refuses_fails(clock, error: Exception, code: str, retryable: bool) -> None:
    outcome, _ = called(clock, error)
    assert (outcome.code, outcome.retryable) == (code, retryable)
