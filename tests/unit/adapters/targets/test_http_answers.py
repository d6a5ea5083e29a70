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

from duecourse.adapters.targets.http.http import HttpCaller, system_trust
from duecourse.adapters.targets.invocation import READ_BYTES
from duecourse.domain.jobs.job import RetryPolicy
from duecourse.domain.targets.targets import Failed, HttpTarget, Returned
from tests.support.authority import Authority
from tests.support.calls import a_call
from tests.support.http_target import answering, http_target, writing


@pytest.fixture
def outcome_of(call):
    """Call a server that behaves like this."""
    return lambda behaviour, timeout_seconds=5, **fields: call(behaviour, timeout_seconds=timeout_seconds, **fields)[0]


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
    assert (outcome.code, outcome.retryable) == (f"http.{status}", False)
    assert f"the job expects {', '.join(expect)}" in outcome.error


@pytest.mark.parametrize(("expect", "status"), [(("404",), 503), (("2xx",), 429), (("409",), 408)])
def test_what_is_worth_a_retry_stays_so_whatever_the_job_expects(outcome_of, expect, status):
    assert outcome_of(answering(status), expect=expect).retryable


@pytest.mark.parametrize("word", ["never", " Never ", "NEVER"])
@pytest.mark.parametrize("status", [400, 503])
def test_a_target_can_forbid_further_attempts(outcome_of, word, status):
    outcome = outcome_of(answering(status, X_Duecourse_Retry=word))
    assert outcome.forbidden
    assert not RetryPolicy(on=("5xx", "4xx")).worth(outcome)


def test_another_word_in_that_header_means_nothing(outcome_of):
    assert outcome_of(answering(503, X_Duecourse_Retry="no")).forbidden is False


def test_a_success_is_a_success_even_if_it_forbids_further_attempts(outcome_of):
    assert isinstance(outcome_of(answering(200, X_Duecourse_Retry="never")), Returned)


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504, 599])
def test_statuses_that_may_pass_are_worth_a_retry(outcome_of, status):
    outcome = outcome_of(answering(status))
    assert (outcome.code, outcome.retryable) == (f"http.{status}", True)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 405, 409, 410, 422])
def test_client_errors_of_other_kinds_are_not_retried(outcome_of, status):
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
        ("1" * 400, None),
        ("٣", None),
        ("Sat, 99 Nov 2026 06:48:00 GMT", None),
    ],
)
def test_retry_after_is_honoured_as_seconds_or_date(outcome_of, value, seconds):
    raw = f"HTTP/1.1 503 No\r\nRetry-After: {value}\r\nContent-Length: 0\r\n\r\n".encode()
    assert outcome_of(writing(raw)).retry_after == seconds


def test_a_redirect_that_is_expected_is_a_success_and_not_followed_either(outcome_of):
    with http_target(answering(200)) as inner:
        outcome = outcome_of(answering(302, Location=inner.url("/secret")), expect=("302",))
    assert outcome == Returned({"status": 302, "body": None})
    assert inner.seen == []


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_are_failures_and_never_followed(call, status):
    with http_target(answering(200)) as inner:
        outcome, seen = call(answering(status, Location=inner.url("/latest/meta-data/")))
    assert (outcome.code, outcome.retryable) == (f"http.{status}", False)
    assert "redirects are not followed" in outcome.error
    assert (len(seen), inner.seen) == (1, [])


def test_a_failure_quotes_the_beginning_of_the_answer_on_one_line(outcome_of):
    outcome = outcome_of(answering(409, b'{"error":\n\t"no such\x07 customer"}' + b" " * 50 + b"y" * 500))
    assert '409 Conflict: {"error": "no such customer"} yyy' in outcome.error
    assert len(outcome.error) < 300


def test_a_failure_repeats_no_secrets_of_the_job(outcome_of):
    echo = answering(401, b"bad token s3cr3t-token for key=abcd query in POST /hook/T0KEN?key=abcd%20query")
    outcome = outcome_of(echo, path="/hook/T0KEN?key=abcd%20query", headers=(("Authorization", "Bearer s3cr3t-token"),))
    for secret in ("s3cr3t-token", "abcd query", "abcd%20query", "T0KEN"):
        assert secret not in outcome.error


@pytest.mark.parametrize(
    ("head", "drip"),
    [(b"\r\n", b"."), (b"X-Slow: ", b"."), (b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\n.\r\n")],
    ids=["body", "headers", "chunks"],
)
def test_an_answer_that_drips_is_cut_off_at_the_deadline(outcome_of, head, drip):
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
def test_a_broken_answer_is_worth_a_retry(outcome_of, raw, words):
    outcome = outcome_of(writing(raw))
    assert (outcome.code, outcome.retryable) == ("connection", True)
    assert words in outcome.error


def test_a_head_request_takes_an_answer_without_its_body(outcome_of):
    assert outcome_of(answering(200, b"12345"), method="HEAD") == Returned({"status": 200, "body": None})


@pytest.mark.parametrize("interim", ["100 Continue", "102 Processing", "103 Early Hints", "199 Soon"])
@pytest.mark.parametrize("times", [1, 3])
def test_interim_answers_are_read_past(outcome_of, interim, times):
    early = f"HTTP/1.1 {interim}\r\nLink: </style.css>\r\nRetry-After: 9\r\nContent-Length: 7\r\n\r\n".encode()
    final = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ndone"
    assert outcome_of(writing(early * times + final)) == Returned({"status": 200, "body": "done"})
    outcome = outcome_of(writing(early * times, b"HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n"))
    assert (outcome.code, outcome.retryable, outcome.retry_after) == ("http.503", True, None)


def test_a_change_of_protocol_that_nobody_asked_for_is_a_failure(outcome_of):
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
def test_an_answer_that_does_not_come_to_its_end_is_not_read_for_ever(outcome_of, head, drip):
    outcome = outcome_of(writing(head, drip=drip), timeout_seconds=60)
    assert (outcome.code, outcome.retryable) == ("connection", True)
    assert "did not end" in outcome.error


class Names:
    """A resolver that knows these addresses for every name, and counts."""

    def __init__(self, *addresses: str) -> None:
        self.addresses = list(addresses)
        self.asked: list[str] = []

    def __call__(self, host: str, port: int) -> list[str]:
        self.asked.append(host)
        return self.addresses


def test_a_name_is_resolved_once_and_the_call_goes_to_that_address(call, clock, secrets):
    names = Names("127.0.0.1")
    caller = HttpCaller(clock, private=True, secrets=secrets, resolve=names)
    outcome, (seen,) = call(by=caller, host="Customer.Test")
    assert isinstance(outcome, Returned)
    assert names.asked == ["customer.test"]
    assert seen.headers["Host"] == f"customer.test:{seen.port}"


def test_a_name_beyond_ascii_is_asked_for_in_its_encoded_form(call, clock, secrets):
    names = Names("127.0.0.1")
    call(by=HttpCaller(clock, private=True, secrets=secrets, resolve=names), host="bücher.test")
    assert names.asked == ["xn--bcher-kva.test"]


def test_an_address_that_refuses_is_followed_by_the_next(call, clock, secrets):
    names = Names("127.0.0.2", "127.0.0.1")  # nobody listens on the first
    caller = HttpCaller(clock, private=True, secrets=secrets, resolve=names)
    assert isinstance(call(by=caller, host="customer.test")[0], Returned)


@pytest.mark.parametrize(
    "addresses",
    [
        ["127.0.0.1"],
        ["10.0.0.7"],
        ["169.254.169.254"],
        ["fd00:ec2::254"],
        ["::1"],
        ["::ffff:127.0.0.1"],
        ["::ffff:169.254.169.254"],
        ["64:ff9b::a9fe:a9fe"],
        ["93.184.216.34", "10.0.0.7"],
    ],
)
def test_a_name_with_any_address_that_is_not_public_is_not_called(call, clock, secrets, addresses):
    caller = HttpCaller(clock, private=False, secrets=secrets, resolve=Names(*addresses))
    outcome, seen = call(by=caller, host="rebinding.test")
    assert (seen, outcome.code, outcome.retryable) == ([], "address_refused", False)
    assert "not public" in outcome.error


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "localhost", "127.1", "0x7f000001", "0"])
def test_the_own_machine_is_not_called_however_it_is_written(call, clock, secrets, host):
    outcome, seen = call(by=HttpCaller(clock, private=False, secrets=secrets), host=host)
    assert (outcome.retryable, seen) == (False, [])


def test_a_proxy_of_the_environment_is_not_used(call, monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    assert isinstance(call()[0], Returned)


def test_a_refused_connection_is_worth_a_retry(http):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, but nobody listens
        target = HttpTarget(f"http://127.0.0.1:{taken.getsockname()[1]}/secret?key=abc")
        outcome = http.call(a_call(target), target)
    assert (outcome.code, outcome.retryable) == ("connection", True)
    assert "connection refused" in outcome.error
    assert "secret" not in outcome.error
    assert "abc" not in outcome.error


def test_a_name_that_nobody_knows_is_worth_a_retry(clock, secrets):
    def unknown(host: str, port: int) -> list[str]:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    target = HttpTarget("https://nowhere.test/")
    outcome = HttpCaller(clock, private=False, secrets=secrets, resolve=unknown).call(a_call(target), target)
    assert outcome == Failed("POST https://nowhere.test: the name of its host could not be resolved", code="connection")


def test_a_resolver_that_hangs_is_not_waited_for_beyond_the_deadline(clock, secrets):
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


def test_a_server_that_does_not_read_is_not_waited_for_beyond_the_deadline(http):
    with socket.create_server(("127.0.0.1", 0)) as listening:
        target = HttpTarget(f"http://127.0.0.1:{listening.getsockname()[1]}/")
        outcome = http.call(a_call(target, payload="x" * 20_000_000, timeout_seconds=0.2), target)
    assert "within 0.2 s" in outcome.error


def test_without_time_left_nothing_is_sent(call):
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


def test_the_right_name_is_accepted_and_indicated(https, authority, tmp_path):
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
def test_a_certificate_that_is_not_the_hosts_is_refused(https, authority, tmp_path, name, host, days, said):
    outcome, seen = called(https, authority.server(name, tmp_path, days=days), host)
    assert (outcome.code, seen) == ("tls", [])
    assert said in outcome.error


def test_an_authority_that_nobody_knows_is_refused(clock, secrets, authority, tmp_path):
    stranger = HttpCaller(clock, private=True, secrets=secrets, resolve=lambda host, port: ["127.0.0.1"])
    outcome, seen = called(stranger, authority.server("customer.test", tmp_path))
    assert (outcome.code, seen) == ("tls", [])
    assert "certificate was not accepted" in outcome.error


def test_a_server_without_tls_is_a_failed_connection(https):
    assert called(https, None, timeout_seconds=0.3)[0].retryable


def test_the_systems_authorities_are_found():
    context = system_trust()
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname
