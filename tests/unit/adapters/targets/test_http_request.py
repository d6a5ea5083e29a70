"""What an HTTP target is sent."""

from __future__ import annotations

from dataclasses import replace

import orjson
import pytest

from duecourse.domain.targets.targets import Failed, HttpTarget, Returned
from duecourse.version import VERSION
from tests.support.calls import a_call
from tests.support.http_target import answering, http_target
from tests.support.varied import varied


def test_a_post_carries_the_payload_as_json_and_says_which_run_it_is(http):
    with http_target(answering(200)) as server:
        target = HttpTarget(server.url("/hook?x=1"))
        http.call(a_call(target, payload={"n": 1}, attempt=2, idempotency_key="report-2026-W47"), target)
    (seen,) = server.seen
    assert (seen.method, seen.path, orjson.loads(seen.body)) == ("POST", "/hook?x=1", {"n": 1})
    assert seen.headers["X-Duecourse-Run-Id"] == "nightly.20261121T064700Z"
    assert seen.headers["X-Duecourse-Job-Id"] == "nightly"
    assert seen.headers["X-Duecourse-Tenant"] == "acme"
    assert seen.headers["X-Duecourse-Scheduled-At"] == "2026-11-21T06:47:00Z"
    assert seen.headers["X-Duecourse-Attempt"] == "2"
    assert seen.headers["Idempotency-Key"] == "report-2026-W47"
    assert seen.headers["Content-Type"] == "application/json"
    assert seen.headers["User-Agent"] == f"duecourse/{VERSION}"
    assert seen.headers["Host"] == f"127.0.0.1:{server.port}"


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_get_and_head_carry_no_body(http, method):
    with http_target(answering(200)) as server:
        target = HttpTarget(server.url(), method=method)
        assert http.call(a_call(target, payload={"n": 1}), target) == Returned({"status": 200, "body": None})
    (seen,) = server.seen
    assert seen.body == b""
    assert "Content-Length" not in seen.headers
    assert "Content-Type" not in seen.headers


def test_a_post_without_a_payload_says_that_it_is_empty(http):
    with http_target(answering(200)) as server:
        target = HttpTarget(server.url())
        http.call(a_call(target), target)
    assert server.seen[0].headers["Content-Length"] == "0"


def test_a_payload_may_be_falsy(http):
    with http_target(answering(200)) as server:
        target = HttpTarget(server.url())
        http.call(a_call(target, payload=0), target)
    assert server.seen[0].body == b"0"


def test_text_of_another_content_type_goes_out_as_it_is(http):
    with http_target(answering(200)) as server:
        target = HttpTarget(server.url(), headers=(("content-type", "application/x-www-form-urlencoded"),))
        http.call(a_call(target, payload="a=1&b=2"), target)
    assert server.seen[0].body == b"a=1&b=2"
    assert server.seen[0].headers["content-type"] == "application/x-www-form-urlencoded"


def test_the_jobs_own_headers_are_sent_but_cannot_replace_ours(http):
    headers = (
        ("Authorization", "Bearer abc"),
        ("user-agent", "mine"),
        ("Host", "elsewhere.test"),
        ("content-length", "9999"),
        ("Transfer-Encoding", "chunked"),
        ("Connection", "upgrade"),
        ("X-Duecourse-Attempt", "99"),
        ("x-duecourse-new", "1"),
        ("Idempotency-Key", "constant"),
    )
    with http_target(answering(200)) as server:
        target = HttpTarget(server.url(), headers=headers)
        outcome = http.call(a_call(target, payload={}), target)
    assert isinstance(outcome, Returned)
    seen = server.seen[0].headers
    assert seen["Authorization"] == "Bearer abc"
    assert seen["user-agent"] == "mine"
    assert seen["Host"] == f"127.0.0.1:{server.port}"
    assert seen["Connection"] == "close"
    assert (seen["X-Duecourse-Attempt"], seen["Idempotency-Key"]) == ("1", "key-1")
    assert "Transfer-Encoding" not in seen
    assert "x-duecourse-new" not in seen


def test_paths_and_queries_are_escaped_but_not_twice(http):
    with http_target(answering(200)) as server:
        target = HttpTarget(server.url("/é/a%20b?q=é&r=%26#part"))
        http.call(a_call(target), target)
    assert server.seen[0].path == "/%C3%A9/a%20b?q=%C3%A9&r=%26"


@pytest.mark.parametrize(
    ("target", "word"),
    [
        (HttpTarget("ftp://example.test/"), "https://"),
        (HttpTarget("https://"), "host"),
        (HttpTarget("https://user:hunter2@example.test/"), "user name"),
        (HttpTarget("https://exa mple.test/"), "spaces"),
        (HttpTarget("https://example.test/\r\nHost: b"), "control"),
        (HttpTarget("https://example.test:99999/"), "port"),
        (HttpTarget("https://example.test:0/"), "port"),
        (HttpTarget("https://[::1/"), "brackets"),
        (HttpTarget("https://[v1.x]/"), "host"),
        (HttpTarget("https://a..b/"), "host"),
        (HttpTarget("https://example.test/", method="GET /x"), "method"),
        (HttpTarget("https://example.test/", headers=(("X-A", "1\r\nX-B: 2"),)), "header X-A"),
    ],
)
def test_what_cannot_be_sent_is_refused_for_good_and_the_message_says_which_part(http, target, word):
    outcome = http.call(a_call(target), target)
    assert isinstance(outcome, Failed)
    assert not outcome.retryable
    assert word in outcome.error
    assert "hunter2" not in outcome.error


TRACE = "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1"


def test_a_call_bears_what_its_run_is_part_of_and_the_trace_of_its_invocation(http, monkeypatch):
    monkeypatch.setenv("_X_AMZN_TRACE_ID", TRACE)
    with http_target(answering(200)) as server:
        target = HttpTarget(server.url())
        call = a_call(target)
        http.call(replace(call, run=varied(call.run, correlation_id="order-4711")), target)
    (seen,) = server.seen
    assert (seen.headers["X-Correlation-Id"], seen.headers["X-Amzn-Trace-Id"]) == ("order-4711", TRACE)


def test_a_call_of_a_run_of_before_and_without_a_trace_bears_neither(http, monkeypatch):
    monkeypatch.delenv("_X_AMZN_TRACE_ID", raising=False)
    with http_target(answering(200)) as server:
        target = HttpTarget(server.url())
        http.call(a_call(target), target)
    assert not {"X-Correlation-Id", "X-Amzn-Trace-Id"} & set(server.seen[0].headers)


def test_a_job_may_say_itself_what_its_calls_are_part_of(http):
    with http_target(answering(200)) as server:
        target = HttpTarget(server.url(), headers=(("x-correlation-id", "{{run_id}}"),))
        call = a_call(target)
        http.call(replace(call, run=varied(call.run, correlation_id="order-4711")), target)
    named = {name: value for name, value in server.seen[0].headers.items() if name.lower() == "x-correlation-id"}
    assert named == {"x-correlation-id": "nightly.20261121T064700Z"}


def test_a_request_that_would_be_too_large_is_not_made_and_not_tried_again(http):
    with http_target(answering(200)) as server:
        target = HttpTarget(server.url())
        body = http.call(
            a_call(target, payload=["{{job_id}}{{idempotency_key}}" * 6_000], idempotency_key="k" * 255), target
        )
        loud = HttpTarget(server.url(), headers=(("X-A", "{{idempotency_key}}" * 40),))
        header = http.call(a_call(loud, idempotency_key="k" * 255), loud)
    assert server.seen == []
    for outcome, arns in ((body, "payload"), (header, "header X-A")):
        assert isinstance(outcome, Failed)
        assert (outcome.code, outcome.retryable) == ("template_too_large", False)
        assert arns in outcome.error
