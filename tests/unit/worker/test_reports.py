"""What the end of a task says of its run, and what the API's answers mean."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duecourse.client import ApiError
from duecourse.worker.report import (
    Completion,
    DoNotRetry,
    Failure,
    ReportOutcome,
    Retry,
    report_of,
    report_of_raised,
    verdict_of,
)


class PaperError(Exception):
    """A task's own."""


@pytest.mark.parametrize("result", [None, 0, "", [], {"a": [1.5, "ä", None]}])
def test_reports_complete_the_run_with_a_json_result(result):
    assert report_of(result) == Completion(result)


@pytest.mark.parametrize("result", [b"x", object(), {1, 2}, float("nan"), "\ud800", {(1, 2): 3}])
def test_reports_of_a_result_that_is_not_json_forbid_a_retry(result):
    report = report_of(result)
    assert isinstance(report, Failure)
    assert (report.code, report.retryable) == ("callback.bad_result", False)


def test_reports_of_a_result_that_contains_itself_fail():
    endless: list[object] = []
    endless.append(endless)
    assert isinstance(report_of(endless), Failure)


def test_reports_identify_an_exception_by_its_type():
    assert report_of_raised(PaperError("empty tray")) == Failure("PaperError: empty tray", "PaperError")
    assert report_of_raised(PaperError()) == Failure("PaperError", "PaperError")


def test_reports_limit_a_requested_retry_delay_to_one_day():
    assert report_of_raised(Retry(after=1e9)).retry_after == 86_400
    assert report_of_raised(Retry(after=-3)).retry_after == 0
    assert report_of_raised(Retry()).retry_after is None


def test_reports_replace_characters_that_the_api_rejects():
    assert report_of_raised(PaperError("a\0b\ufffec")).error == "PaperError: a?b?c"


@given(st.text(max_size=5000), st.none() | st.text(max_size=100))
def test_reports_always_fit_the_limits_of_the_api(error, code):
    for raised in (DoNotRetry(error, code=code), Retry(error, code=code), PaperError(error)):
        failure = report_of_raised(raised)
        assert 1 <= len(failure.error) <= 2000
        assert failure.code is None or re.fullmatch(r"[A-Za-z0-9_.-]{1,64}", failure.code)
        json.dumps(failure.error, ensure_ascii=False).encode()


@pytest.mark.parametrize(
    ("status", "ours", "verdict"),
    [
        (409, True, ReportOutcome.OVER),
        (401, True, ReportOutcome.OVER),
        (401, False, ReportOutcome.REFUSED),
        (409, False, ReportOutcome.REFUSED),
        (403, False, ReportOutcome.REFUSED),
        (404, True, ReportOutcome.REFUSED),
        (413, False, ReportOutcome.BAD_RESULT),
        (422, True, ReportOutcome.BAD_RESULT),
        (429, False, ReportOutcome.LATER),
        (500, True, ReportOutcome.LATER),
        (503, True, ReportOutcome.LATER),
    ],
)
def test_reports_accept_the_end_of_an_attempt_only_from_duecourse(status, ours, verdict):
    assert verdict_of(ApiError(status, {"type": "/problems/x"} if ours else {"message": "x"})) is verdict
