"""What an HTTP target's answer makes of an attempt."""

from __future__ import annotations

import orjson
import pytest

from duecourse.adapters.targets.invocation import READ_BYTES
from duecourse.domain.jobs.job import RetryPolicy
from duecourse.domain.targets.targets import Failed, HttpTarget, Returned
from tests.support.calls import a_call
from tests.support.http_target import Behaviour, answering, http_target, writing


@pytest.fixture
def outcome_of(http):
    """Call a server that behaves like this."""

    def call(behaviour: Behaviour, *, timeout_seconds: float = 5, path: str = "/", **fields):
        with http_target(behaviour) as server:
            target = HttpTarget(server.url(path), **fields)
            return http.call(a_call(target, timeout_seconds=timeout_seconds), target)

    return call


@pytest.mark.parametrize("status", [200, 201, 202, 204, 299])
def test_every_2xx_succeeds(outcome_of, status):
    assert outcome_of(answering(status)) == Returned({"status": status, "body": None})


def test_a_json_answer_is_kept_as_what_it_says(outcome_of):
    outcome = outcome_of(answering(200, b'{"rows": [1, 2]}', Content_Type="application/problem+json"))
    assert outcome == Returned({"status": 200, "body": {"rows": [1, 2]}})


def test_another_answer_is_kept_as_text(outcome_of):
    assert outcome_of(answering(200, b"123", Content_Type="text/plain")) == Returned({"status": 200, "body": "123"})


@pytest.mark.parametrize("body", [b"{broken", b"[" * 600 + b"]" * 600, b'"\\ud800"'])
def test_json_that_cannot_be_kept_as_such_is_kept_as_text(outcome_of, body):
    outcome = outcome_of(answering(200, body, Content_Type="application/json"))
    assert outcome == Returned({"status": 200, "body": body.decode()})


def test_a_large_answer_is_kept_whole(outcome_of):
    rows = list(range(20_000))
    outcome = outcome_of(answering(200, orjson.dumps(rows), Content_Type="application/json"))
    assert outcome == Returned({"status": 200, "body": rows})


@pytest.mark.parametrize("content_type", ["text/plain", "application/json"])
def test_an_answer_of_256_kb_is_kept_whole_and_a_larger_one_is_cut_there(outcome_of, content_type):
    whole = b'"' + b"x" * (READ_BYTES - 2) + b'"'
    outcome = outcome_of(answering(200, whole, Content_Type="text/plain"))
    assert outcome == Returned({"status": 200, "body": whole.decode()})
    outcome = outcome_of(answering(200, b" " + whole, Content_Type=content_type))
    assert outcome == Returned({"status": 200, "body": " " + whole[:-1].decode(), "truncated": True})


def test_of_an_endless_answer_only_the_beginning_is_read(outcome_of):
    endless = writing(b"HTTP/1.1 200 OK\r\n\r\n", drip=b"x" * 200_000)
    assert outcome_of(endless) == Returned({"status": 200, "body": "x" * READ_BYTES, "truncated": True})


def test_binary_answers_stay_bounded_and_printable_as_json(outcome_of):
    outcome = outcome_of(answering(200, b"\xff\xfe\x00" * 60_000))
    assert isinstance(outcome, Returned)
    assert orjson.dumps(outcome.result)
    assert len(outcome.result["body"].encode()) <= READ_BYTES


@pytest.mark.parametrize(
    ("expect", "status"),
    [(("404",), 404), (("2xx", "404"), 204), (("3xx",), 302), (("200", "304"), 304), (("4xx",), 429), (("5xx",), 503)],
)
def test_what_the_job_expects_succeeds_whatever_it_is(outcome_of, expect, status):
    behaviour = answering(status, Location="http://127.0.0.1:1/")
    assert outcome_of(behaviour, expect=expect) == Returned({"status": status, "body": None})


@pytest.mark.parametrize(("expect", "status"), [(("404",), 200), (("201", "202"), 200), (("4xx",), 204)])
def test_a_2xx_that_the_job_does_not_expect_is_a_failure_that_says_so(outcome_of, expect, status):
    outcome = outcome_of(answering(status), expect=expect)
    assert isinstance(outcome, Failed)
    assert not outcome.retryable
    assert outcome.code == f"http.{status}"
    assert f"the job expects {', '.join(expect)}" in outcome.error


@pytest.mark.parametrize(("expect", "status"), [(("404",), 503), (("2xx",), 429), (("409",), 408)])
def test_what_is_worth_a_retry_stays_so_whatever_the_job_expects(outcome_of, expect, status):
    outcome = outcome_of(answering(status), expect=expect)
    assert isinstance(outcome, Failed)
    assert outcome.retryable


@pytest.mark.parametrize("word", ["never", " Never ", "NEVER"])
@pytest.mark.parametrize("status", [400, 503])
def test_a_target_can_forbid_further_attempts(outcome_of, word, status):
    outcome = outcome_of(answering(status, X_Duecourse_Retry=word))
    assert isinstance(outcome, Failed)
    assert outcome.forbidden
    assert not RetryPolicy(on=("5xx", "4xx")).worth(outcome)


def test_another_word_in_that_header_means_nothing(outcome_of):
    outcome = outcome_of(answering(503, X_Duecourse_Retry="no"))
    assert isinstance(outcome, Failed)
    assert not outcome.forbidden


def test_a_success_is_a_success_even_if_it_forbids_further_attempts(outcome_of):
    assert isinstance(outcome_of(answering(200, X_Duecourse_Retry="never")), Returned)


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504, 599])
def test_statuses_that_may_pass_are_worth_a_retry(outcome_of, status):
    outcome = outcome_of(answering(status))
    assert isinstance(outcome, Failed)
    assert outcome.retryable
    assert outcome.code == f"http.{status}"


@pytest.mark.parametrize("status", [400, 401, 403, 404, 405, 409, 410, 422])
def test_client_errors_of_other_kinds_are_not_retried(outcome_of, status):
    outcome = outcome_of(answering(status))
    assert isinstance(outcome, Failed)
    assert not outcome.retryable
    assert outcome.code == f"http.{status}"
    assert f" answered {status} " in outcome.error


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("120", 120),
        (" 3 ", 3),
        ("Sat, 21 Nov 2026 06:48:00 GMT", 60),
        ("Sat, 21 Nov 2026 06:46:00 GMT", 0),
        ("soon", None),
        ("-5", None),
        ("1" * 400, None),
        ("٣", None),
        ("Sat, 99 Nov 2026 06:48:00 GMT", None),
    ],
)
def test_retry_after_is_honoured_as_seconds_or_date(outcome_of, value, seconds):
    raw = f"HTTP/1.1 503 No\r\nRetry-After: {value}\r\nContent-Length: 0\r\n\r\n".encode()
    outcome = outcome_of(writing(raw))
    assert isinstance(outcome, Failed)
    assert outcome.retry_after == seconds


def test_a_redirect_that_is_expected_is_a_success_and_not_followed_either(http):
    with http_target(answering(200)) as inner, http_target(answering(302, Location=inner.url("/secret"))) as outer:
        target = HttpTarget(outer.url(), expect=("302",))
        assert http.call(a_call(target), target) == Returned({"status": 302, "body": None})
    assert inner.seen == []


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_are_failures_and_never_followed(http, status):
    with http_target(answering(200)) as inner:
        redirect = answering(status, Location=inner.url("/latest/meta-data/"))
        with http_target(redirect) as outer:
            target = HttpTarget(outer.url())
            outcome = http.call(a_call(target), target)
    assert isinstance(outcome, Failed)
    assert not outcome.retryable
    assert "redirects are not followed" in outcome.error
    assert outcome.code == f"http.{status}"
    assert len(outer.seen) == 1
    assert inner.seen == []


def test_a_failure_quotes_the_beginning_of_the_answer_on_one_line(outcome_of):
    outcome = outcome_of(answering(409, b'{"error":\n\t"no such\x07 customer"}' + b" " * 50 + b"y" * 500))
    assert isinstance(outcome, Failed)
    assert '409 Conflict: {"error": "no such customer"} yyy' in outcome.error
    assert len(outcome.error) < 300


def test_a_failure_repeats_no_secrets_of_the_job(outcome_of):
    echo = answering(401, b"bad token s3cr3t-token for key=abcd query in POST /hook/T0KEN?key=abcd%20query")
    outcome = outcome_of(echo, path="/hook/T0KEN?key=abcd%20query", headers=(("Authorization", "Bearer s3cr3t-token"),))
    assert isinstance(outcome, Failed)
    for secret in ("s3cr3t-token", "abcd query", "abcd%20query", "T0KEN"):
        assert secret not in outcome.error


def test_an_answer_that_drips_is_cut_off_at_the_deadline(outcome_of):
    outcome = outcome_of(writing(b"HTTP/1.1 200 OK\r\n\r\n", drip=b"."), timeout_seconds=0.15)
    assert outcome == Failed(error=outcome.error, retryable=True, code="timeout")
    assert "within 0.15 s" in outcome.error


def test_headers_that_drip_are_cut_off_at_the_deadline(outcome_of):
    outcome = outcome_of(writing(b"HTTP/1.1 200 OK\r\nX-Slow: ", drip=b"."), timeout_seconds=0.15)
    assert isinstance(outcome, Failed)
    assert "within 0.15 s" in outcome.error


def test_chunks_that_drip_are_cut_off_at_the_deadline(outcome_of):
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    outcome = outcome_of(writing(head, drip=b"1\r\n.\r\n"), timeout_seconds=0.15)
    assert isinstance(outcome, Failed)
    assert "within 0.15 s" in outcome.error


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"", "broke"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort", "broke"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab", "broke"),
        (b"SSH-2.0-OpenSSH_9.6\r\n", "not valid HTTP"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "broke"),
        (b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 200 + b"\r\n", "not valid HTTP"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"y" * 70_000 + b"\r\n\r\n", "not valid HTTP"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\nabc\r\n0\r\n\r\n", "not valid HTTP"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\nabc\r\n0\r\n\r\n", "broke"),
        (b"HTTP/1.1 200 OK\r\nContent-Type: multipart/mixed; boundary*=a; boundary*0=b\r\n\r\n", "not valid HTTP"),
        (b"HTTP/1.1 103 Early Hints\r\n\r\n", "broke"),
        (b"HTTP/1.1 103 Early Hints\r\n\r\n" * 200, "not valid HTTP"),
    ],
)
def test_a_broken_answer_is_worth_a_retry(outcome_of, raw, words):
    outcome = outcome_of(writing(raw))
    assert isinstance(outcome, Failed)
    assert outcome.retryable
    assert outcome.code == "connection"
    assert words in outcome.error


def test_a_head_request_takes_an_answer_without_its_body(outcome_of):
    outcome = outcome_of(answering(200, b"12345"), method="HEAD")
    assert outcome == Returned({"status": 200, "body": None})


@pytest.mark.parametrize("interim", ["100 Continue", "102 Processing", "103 Early Hints", "199 Soon"])
@pytest.mark.parametrize("times", [1, 3])
def test_interim_answers_are_read_past(outcome_of, interim, times):
    early = f"HTTP/1.1 {interim}\r\nLink: </style.css>\r\nRetry-After: 9\r\nContent-Length: 7\r\n\r\n".encode()
    final = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ndone"
    assert outcome_of(writing(early * times + final)) == Returned({"status": 200, "body": "done"})
    outcome = outcome_of(writing(early * times, b"HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n"))
    assert isinstance(outcome, Failed)
    assert (outcome.code, outcome.retryable, outcome.retry_after) == ("http.503", True, None)


def test_a_change_of_protocol_that_nobody_asked_for_is_a_failure(outcome_of):
    outcome = outcome_of(writing(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: chat\r\n\r\n", drip=b"hello"))
    assert isinstance(outcome, Failed)
    assert (outcome.code, outcome.retryable) == ("http.101", False)


@pytest.mark.parametrize(
    ("head", "drip"),
    [
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n", b"x" * 3_000_000),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", b"X: y\r\n" * 500_000),
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 120_000),
    ],
)
def test_an_answer_that_does_not_come_to_its_end_is_not_read_for_ever(outcome_of, head, drip):
    outcome = outcome_of(writing(head, drip=drip), timeout_seconds=60)
    assert isinstance(outcome, Failed)
    assert (outcome.code, outcome.retryable) == ("connection", True)
    assert "does not come to its end" in outcome.error
