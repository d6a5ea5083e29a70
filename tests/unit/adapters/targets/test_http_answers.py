"""Calls of HTTP targets: connections and answers.

- What an HTTP target's answer makes of an attempt.
- Where an HTTP call goes, and where it does not.
- Certificates are checked against the host's name although the connection goes to a pinned address.
"""

import socket
import ssl
from threading import Event

import orjson
import pytest

from duecourse.adapters.system import system_trust
from duecourse.adapters.targets.http.http import HttpCaller
from duecourse.adapters.targets.invocation import READ_BYTES
from duecourse.domain.jobs.job import RetryPolicy
from duecourse.domain.targets.targets import Failed, HttpTarget, Returned
from tests.support.authority import Authority
from tests.support.calls import a_call
from tests.support.connectors import LOCAL_NOTATIONS, REBOUND
from tests.support.http_target import answering, http_target, writing


@pytest.fixture
def outcome_of(call):
    """Call a server that behaves like this."""
    return lambda behaviour, timeout_seconds=5, **fields: call(behaviour, timeout_seconds=timeout_seconds, **fields)[0]


@pytest.mark.parametrize("status", [200, 201, 202, 204, 299])
def test_http_target_succeeds_on_every_2xx(outcome_of, status):
    assert outcome_of(answering(status)) == Returned({"status": status, "body": None})


def test_http_target_stores_a_json_response_as_json(outcome_of):
    outcome = outcome_of(answering(200, b'{"rows": [1, 2]}', Content_Type="application/problem+json"))
    assert outcome == Returned({"status": 200, "body": {"rows": [1, 2]}})


def test_http_target_stores_a_response_of_another_type_as_text(outcome_of):
    assert outcome_of(answering(200, b"123", Content_Type="text/plain")) == Returned({"status": 200, "body": "123"})


@pytest.mark.parametrize("body", [b"{broken", b"[" * 600 + b"]" * 600, b'"\\ud800"'])
def test_http_target_stores_invalid_json_as_text(outcome_of, body):
    outcome = outcome_of(answering(200, body, Content_Type="application/json"))
    assert outcome == Returned({"status": 200, "body": body.decode()})


def test_http_target_stores_a_large_response_whole(outcome_of):
    rows = list(range(20_000))
    outcome = outcome_of(answering(200, orjson.dumps(rows), Content_Type="application/json"))
    assert outcome == Returned({"status": 200, "body": rows})


@pytest.mark.parametrize("content_type", ["text/plain", "application/json"])
def test_http_target_stores_256_kb_of_a_response_and_truncates_a_larger_one(outcome_of, content_type):
    whole = b'"' + b"x" * (READ_BYTES - 2) + b'"'
    outcome = outcome_of(answering(200, whole, Content_Type="text/plain"))
    assert outcome == Returned({"status": 200, "body": whole.decode()})
    outcome = outcome_of(answering(200, b" " + whole, Content_Type=content_type))
    assert outcome == Returned({"status": 200, "body": " " + whole[:-1].decode(), "truncated": True})


def test_http_target_reads_only_the_beginning_of_an_endless_response(outcome_of):
    endless = writing(b"HTTP/1.1 200 OK\r\n\r\n", drip=b"x" * 200_000)
    assert outcome_of(endless) == Returned({"status": 200, "body": "x" * READ_BYTES, "truncated": True})


def test_http_target_stores_a_binary_response_bounded_and_json_serializable(outcome_of):
    outcome = outcome_of(answering(200, b"\xff\xfe\x00" * 60_000))
    assert isinstance(outcome, Returned)
    assert orjson.dumps(outcome.result)
    assert len(outcome.result["body"].encode()) <= READ_BYTES


@pytest.mark.parametrize(
    ("expect", "status"),
    [(("404",), 404), (("2xx", "404"), 204), (("3xx",), 302), (("200", "304"), 304), (("4xx",), 429), (("5xx",), 503)],
)
def test_http_target_succeeds_on_any_status_the_job_expects(outcome_of, expect, status):
    behaviour = answering(status, Location="http://127.0.0.1:1/")
    assert outcome_of(behaviour, expect=expect) == Returned({"status": status, "body": None})


@pytest.mark.parametrize(("expect", "status"), [(("404",), 200), (("201", "202"), 200), (("4xx",), 204)])
def test_http_target_fails_on_an_unexpected_2xx_and_reports_the_expected_statuses(outcome_of, expect, status):
    outcome = outcome_of(answering(status), expect=expect)
    assert (outcome.code, outcome.retryable) == (f"http.{status}", False)
    assert f"the job expects {', '.join(expect)}" in outcome.error


@pytest.mark.parametrize(("expect", "status"), [(("404",), 503), (("2xx",), 429), (("409",), 408)])
def test_http_target_retries_a_retryable_status_whatever_the_job_expects(outcome_of, expect, status):
    assert outcome_of(answering(status), expect=expect).retryable


@pytest.mark.parametrize("word", ["never", " Never ", "NEVER"])
@pytest.mark.parametrize("status", [400, 503])
def test_http_target_can_forbid_further_attempts(outcome_of, word, status):
    outcome = outcome_of(answering(status, X_Duecourse_Retry=word))
    assert outcome.forbidden
    assert not RetryPolicy(on=("5xx", "4xx")).worth(outcome)


def test_http_target_ignores_other_values_of_the_retry_header(outcome_of):
    assert outcome_of(answering(503, X_Duecourse_Retry="no")).forbidden is False


def test_http_target_success_remains_a_success_if_it_forbids_further_attempts(outcome_of):
    assert isinstance(outcome_of(answering(200, X_Duecourse_Retry="never")), Returned)


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504, 599])
def test_http_target_transient_statuses_are_retryable(outcome_of, status):
    outcome = outcome_of(answering(status))
    assert (outcome.code, outcome.retryable) == (f"http.{status}", True)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 405, 409, 410, 422])
def test_http_target_other_client_errors_are_not_retryable(outcome_of, status):
    outcome = outcome_of(answering(status))
    assert (outcome.code, outcome.retryable) == (f"http.{status}", False)
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
        ("0", 0),
        ("9999999999", 86_400),
        ("1" * 4000, 86_400),
        ("Tue, 01 Jan 2199 00:00:00 GMT", 86_400),
        ("Sat Nov 21 06:48:00 2026", 60),
        ("Saturday, 21-Nov-26 06:48:00 GMT", 60),
        ("Sat, 21 Nov 2026 06:48:00 +99999999999999999999", None),
        ("²", None),
        ("٣", None),
        ("Sat, 99 Nov 2026 06:48:00 GMT", None),
    ],
)
def test_http_target_honours_retry_after_as_seconds_or_date(outcome_of, value, seconds):
    raw = f"HTTP/1.1 503 No\r\nRetry-After: {value}\r\nContent-Length: 0\r\n\r\n".encode()
    assert outcome_of(writing(raw)).retry_after == seconds


def test_http_target_succeeds_on_an_expected_redirect_without_following_it(outcome_of):
    with http_target(answering(200)) as inner:
        outcome = outcome_of(answering(302, Location=inner.url("/secret")), expect=("302",))
    assert outcome == Returned({"status": 302, "body": None})
    assert inner.seen == []


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_http_target_fails_on_a_redirect_without_following_it(call, status):
    with http_target(answering(200)) as inner:
        outcome, seen = call(answering(status, Location=inner.url("/latest/meta-data/")))
    assert (outcome.code, outcome.retryable) == (f"http.{status}", False)
    assert "redirects are not followed" in outcome.error
    assert (len(seen), inner.seen) == (1, [])


def test_http_target_failure_quotes_the_beginning_of_the_response_on_one_line(outcome_of):
    outcome = outcome_of(answering(409, b'{"error":\n\t"no such\x07 customer"}' + b" " * 50 + b"y" * 500))
    assert '409 Conflict: {"error": "no such customer"} yyy' in outcome.error
    assert len(outcome.error) < 300


def test_http_target_failure_does_not_contain_secrets_of_the_job(outcome_of):
    echo = answering(401, b"bad token s3cr3t-token for key=abcd query in POST /hook/T0KEN?key=abcd%20query")
    outcome = outcome_of(echo, path="/hook/T0KEN?key=abcd%20query", headers=(("Authorization", "Bearer s3cr3t-token"),))
    for secret in ("s3cr3t-token", "abcd query", "abcd%20query", "T0KEN"):
        assert secret not in outcome.error


@pytest.mark.parametrize(
    ("head", "drip"),
    [(b"\r\n", b"."), (b"X-Slow: ", b"."), (b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\n.\r\n")],
    ids=["body", "headers", "chunks"],
)
def test_http_target_slow_response_is_cut_off_at_the_deadline(outcome_of, head, drip):
    outcome = outcome_of(writing(b"HTTP/1.1 200 OK\r\n" + head, drip=drip), timeout_seconds=0.15)
    assert outcome == Failed(error=outcome.error, retryable=True, code="timeout")
    assert "within 0.15 s" in outcome.error


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"", "ended before"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort", "ended before"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab", "ended before"),
        (b"SSH-2.0-OpenSSH_9.6\r\n", "not valid HTTP"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "ended before"),
        (b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 200 + b"\r\n", "not valid HTTP"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"y" * 70_000 + b"\r\n\r\n", "not valid HTTP"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\nabc\r\n0\r\n\r\n", "not valid HTTP"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\nabc\r\n0\r\n\r\n", "ended before"),
        (b"HTTP/1.1 200 OK\r\nContent-Type: multipart/mixed; boundary*=a; boundary*0=b\r\n\r\n", "not valid HTTP"),
        (b"HTTP/1.1 103 Early Hints\r\n\r\n", "ended before"),
        (b"HTTP/1.1 103 Early Hints\r\n\r\n" * 200, "not valid HTTP"),
    ],
)
def test_http_target_broken_response_is_retryable(outcome_of, raw, words):
    outcome = outcome_of(writing(raw))
    assert (outcome.code, outcome.retryable) == ("connection", True)
    assert words in outcome.error


def test_http_target_head_request_accepts_a_response_without_a_body(outcome_of):
    assert outcome_of(answering(200, b"12345"), method="HEAD") == Returned({"status": 200, "body": None})


@pytest.mark.parametrize("interim", ["100 Continue", "102 Processing", "103 Early Hints", "199 Soon"])
@pytest.mark.parametrize("times", [1, 3])
def test_http_target_interim_responses_are_skipped(outcome_of, interim, times):
    early = f"HTTP/1.1 {interim}\r\nLink: </style.css>\r\nRetry-After: 9\r\nContent-Length: 7\r\n\r\n".encode()
    final = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ndone"
    assert outcome_of(writing(early * times + final)) == Returned({"status": 200, "body": "done"})
    outcome = outcome_of(writing(early * times, b"HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n"))
    assert (outcome.code, outcome.retryable, outcome.retry_after) == ("http.503", True, None)


def test_http_target_fails_on_an_unrequested_protocol_switch(outcome_of):
    outcome = outcome_of(writing(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: chat\r\n\r\n", drip=b"hello"))
    assert (outcome.code, outcome.retryable) == ("http.101", False)


@pytest.mark.parametrize(
    ("head", "drip"),
    [
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n", b"x" * 3_000_000),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", b"X: y\r\n" * 500_000),
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 120_000),
    ],
)
def test_http_target_does_not_read_a_response_without_end_forever(outcome_of, head, drip):
    outcome = outcome_of(writing(head, drip=drip), timeout_seconds=60)
    assert (outcome.code, outcome.retryable) == ("connection", True)
    assert "is larger than" in outcome.error


class Names:
    """A resolver that knows these addresses for every name, and counts."""

    def __init__(self, *addresses: str) -> None:
        self.addresses = list(addresses)
        self.asked: list[str] = []

    def __call__(self, host: str, port: int) -> list[str]:
        self.asked.append(host)
        return self.addresses


def test_http_target_resolves_a_name_once_and_calls_that_address(call, clock, secrets):
    names = Names("127.0.0.1")
    caller = HttpCaller(clock, private=True, secrets=secrets, resolve=names)
    outcome, (seen,) = call(by=caller, host="Customer.Test")
    assert isinstance(outcome, Returned)
    assert names.asked == ["customer.test"]
    assert seen.headers["Host"] == f"customer.test:{seen.port}"


def test_http_target_resolves_a_non_ascii_name_in_its_encoded_form(call, clock, secrets):
    names = Names("127.0.0.1")
    call(by=HttpCaller(clock, private=True, secrets=secrets, resolve=names), host="bücher.test")
    assert names.asked == ["xn--bcher-kva.test"]


def test_http_target_tries_the_next_address_after_a_refused_connection(call, clock, secrets):
    names = Names("127.0.0.2", "127.0.0.1")  # nobody listens on the first
    caller = HttpCaller(clock, private=True, secrets=secrets, resolve=names)
    assert isinstance(call(by=caller, host="customer.test")[0], Returned)


@pytest.mark.parametrize("addresses", REBOUND)
def test_http_target_does_not_call_a_name_with_any_non_public_address(call, clock, secrets, addresses):
    caller = HttpCaller(clock, private=False, secrets=secrets, resolve=Names(*addresses))
    outcome, seen = call(by=caller, host="rebinding.test")
    assert (seen, outcome.code, outcome.retryable) == ([], "address_refused", False)
    assert "not public" in outcome.error


@pytest.mark.parametrize("host", LOCAL_NOTATIONS)
def test_http_target_does_not_call_the_local_machine_in_any_notation(call, clock, secrets, host):
    outcome, seen = call(by=HttpCaller(clock, private=False, secrets=secrets), host=host)
    assert (outcome.retryable, seen) == (False, [])


def test_http_target_ignores_the_proxy_of_the_environment(call, monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    assert isinstance(call()[0], Returned)


def test_http_target_refused_connection_is_retryable(http):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, but nobody listens
        target = HttpTarget(f"http://127.0.0.1:{taken.getsockname()[1]}/secret?key=abc")
        outcome = http.call(a_call(target), target)
    assert (outcome.code, outcome.retryable) == ("connection", True)
    assert "connection refused" in outcome.error
    assert "secret" not in outcome.error
    assert "abc" not in outcome.error


def test_http_target_unknown_name_is_retryable(clock, secrets):
    def unknown(host: str, port: int) -> list[str]:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    target = HttpTarget("https://nowhere.test/")
    outcome = HttpCaller(clock, private=False, secrets=secrets, resolve=unknown).call(a_call(target), target)
    assert outcome == Failed("POST https://nowhere.test: the name of its host could not be resolved", code="connection")


def test_http_target_does_not_wait_for_a_hanging_resolver_beyond_the_deadline(clock, secrets):
    released = Event()

    def hanging(host: str, port: int) -> list[str]:
        released.wait()
        return []

    target = HttpTarget("https://slow.test/")
    outcome = HttpCaller(clock, private=False, secrets=secrets, resolve=hanging).call(
        a_call(target, timeout_seconds=0.1), target
    )
    released.set()
    assert outcome == Failed("POST https://slow.test sent no complete response within 0.1 s", code="timeout")


def test_http_target_does_not_wait_for_a_server_that_does_not_read_beyond_the_deadline(http, request):
    direct = request.node.callspec.params["http"] == "directly"  # a connector takes 6 MB
    with socket.create_server(("127.0.0.1", 0)) as listening:
        target = HttpTarget(f"http://127.0.0.1:{listening.getsockname()[1]}/")
        outcome = http.call(
            a_call(target, payload="x" * (20_000_000 if direct else 4_000_000), timeout_seconds=0.2), target
        )
    assert "within 0.2 s" in outcome.error


def test_http_target_sends_nothing_without_time_left(call):
    outcome, seen = call(timeout_seconds=0)
    assert (outcome.retryable, seen) == (True, [])


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority()


@pytest.fixture
def https(clock, secrets, authority):
    """Every name stands at 127.0.0.1, and the test's authority is trusted."""
    return HttpCaller(
        clock, private=True, secrets=secrets, resolve=lambda host, port: ["127.0.0.1"], trust=authority.trusted
    )


def called(caller, tls, host="customer.test", **fields):
    """Call a server with this certificate: the outcome, and the requests that the server saw."""
    with http_target(answering(200), tls) as server:
        target = HttpTarget(f"https://{host}:{server.port}/")
        return caller.call(a_call(target, **fields), target), server.seen


def test_http_target_accepts_a_certificate_of_the_requested_name_and_sends_the_name_by_sni(https, authority, tmp_path):
    indicated = []
    tls = authority.server("customer.test", tmp_path)
    tls.sni_callback = lambda sock, name, context: indicated.append(name)
    assert called(https, tls)[0] == Returned({"status": 200, "body": None})
    assert indicated == ["customer.test"]


@pytest.mark.parametrize(
    ("name", "host", "days", "said"),
    [
        ("somebody-else.test", "customer.test", 1, "certificate was not accepted"),
        ("customer.test", "127.0.0.1", 1, "certificate was not accepted"),
        ("customer.test", "customer.test", -1, "expired"),
    ],
    ids=["another name", "the name for the address", "expired"],
)
def test_http_target_rejects_an_expired_certificate_or_one_of_another_host(
    https, authority, tmp_path, name, host, days, said
):
    outcome, seen = called(https, authority.server(name, tmp_path, days=days), host)
    assert (outcome.code, seen) == ("tls", [])
    assert said in outcome.error


def test_http_target_rejects_an_unknown_certificate_authority(clock, secrets, authority, tmp_path):
    stranger = HttpCaller(clock, private=True, secrets=secrets, resolve=lambda host, port: ["127.0.0.1"])
    outcome, seen = called(stranger, authority.server("customer.test", tmp_path))
    assert (outcome.code, seen) == ("tls", [])
    assert "certificate was not accepted" in outcome.error


def test_http_target_server_without_tls_is_a_retryable_connection_failure(https):
    assert called(https, None, timeout_seconds=0.3)[0].retryable


def test_http_target_verifies_certificates_with_the_system_authorities():
    context = system_trust()
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname
