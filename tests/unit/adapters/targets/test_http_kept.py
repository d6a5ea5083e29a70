"""Connections to HTTPS targets are kept between calls."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler

import pytest

from duecourse.adapters.targets.http.connection import MAX_AGE_SECONDS, MAX_IDLE, MAX_IDLE_SECONDS
from duecourse.adapters.targets.http.http import HttpCaller
from duecourse.adapters.targets.invocation import READ_BYTES
from duecourse.domain.jobs.job import Delivery
from duecourse.domain.targets.targets import HttpTarget, Outcome, Returned
from tests.support.authority import Authority
from tests.support.calls import a_call
from tests.support.http_target import Behaviour, HttpTargetServer, answering, http_target, writing
from tests.support.secrets import InMemorySecrets

OK = Returned({"status": 200, "body": None})
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"


@dataclass
class Moved:
    """A clock that the test moves, in UTC seconds."""

    at: float = 1_795_243_620.0

    def now(self) -> float:
        return self.at

    def sleep_until(self, instant: float) -> None:
        raise AssertionError("nothing here sleeps")


@dataclass
class Calls:
    """Calls of one server by one worker."""

    server: HttpTargetServer
    http: HttpCaller
    clock: Moved

    def call(
        self,
        key: str = "key-1",
        *,
        delivery: Delivery = Delivery.AT_LEAST_ONCE,
        timeout: float = 5,
        host: str = "a.test",
    ) -> Outcome:
        target = HttpTarget(f"https://{host}:{self.server.port}/")
        call = a_call(target, idempotency_key=key, timeout_seconds=timeout)
        return self.http.call(replace(call, job=replace(call.job, delivery=delivery)), target)


@pytest.fixture
def serve(tmp_path):
    """Serve this behaviour at https://a.test."""

    @contextmanager
    def run(behaviour: Behaviour, *, keeps: bool = True) -> Iterator[Calls]:
        authority, clock = Authority(), Moved()
        http = HttpCaller(
            clock,
            private=True,
            secrets=InMemorySecrets(),
            resolve=lambda host, port: ["127.0.0.1"],
            trust=authority.trusted,
        )
        with http_target(behaviour, authority.server("a.test", tmp_path), keeps=keeps) as server:
            try:
                yield Calls(server, http, clock)
            finally:
                http.kept.close()

    return run


def in_turn(*behaviours: Behaviour) -> Behaviour:
    """Answer the first request by the first behaviour, and so on."""
    left = list(behaviours)

    def behave(handler: BaseHTTPRequestHandler) -> None:
        (left.pop(0) if len(left) > 1 else left[0])(handler)

    return behave


def hanging_up(handler: BaseHTTPRequestHandler) -> None:
    handler.close_connection = True


@pytest.mark.parametrize("behaviour", [answering(200), answering(503), writing(CHUNKED)], ids=["200", "503", "chunked"])
def test_kept_connections_serve_further_calls(serve, behaviour):
    with serve(behaviour) as calls:
        outcomes = [calls.call() for _ in range(3)]
        assert outcomes == [outcomes[0]] * 3
        assert (calls.server.connections, len(calls.server.seen)) == (1, 3)
        assert calls.server.seen[0].headers["Connection"] == "keep-alive"


def test_kept_connections_are_not_used_for_at_most_once_calls(serve):
    with serve(answering(200)) as calls:
        calls.call()
        assert calls.call(delivery=Delivery.AT_MOST_ONCE) == OK
        assert calls.server.seen[1].headers["Connection"] == "close"
        assert calls.call() == OK
        assert calls.server.connections == 2


@pytest.mark.parametrize(
    ("steps", "connections"),
    [
        ([MAX_IDLE_SECONDS] * 3, 1),
        ([MAX_IDLE_SECONDS + 1], 2),
        ([-1], 2),
        ([MAX_IDLE_SECONDS] * (MAX_AGE_SECONDS // MAX_IDLE_SECONDS), 1),
        ([MAX_IDLE_SECONDS] * (MAX_AGE_SECONDS // MAX_IDLE_SECONDS + 1), 2),
    ],
    ids=["used often", "idle", "clock set back", "as old as allowed", "too old"],
)
def test_kept_connections_have_limited_age_and_idle_time(serve, steps, connections):
    with serve(answering(200)) as calls:
        calls.call()
        for seconds in steps:
            calls.clock.at += seconds
            assert calls.call() == OK
        assert calls.server.connections == connections


def test_kept_connections_are_replaced_when_the_server_closes_them(serve):
    with serve(answering(200), keeps=False) as calls:
        assert [calls.call(), calls.call()] == [OK, OK]
        assert calls.server.connections == 2


def test_kept_connections_are_replaced_once_if_they_fail_before_the_response(serve):
    with serve(in_turn(answering(200), hanging_up, answering(200))) as calls:
        assert [calls.call("key-1"), calls.call("key-2")] == [OK, OK]
        keys = [seen.headers["Idempotency-Key"] for seen in calls.server.seen]
        assert keys == ["key-1", "key-2", "key-2"]
        assert calls.server.connections == 2


def test_kept_connections_do_not_repeat_a_call_on_a_new_connection_twice(serve):
    with serve(in_turn(answering(200), hanging_up)) as calls:
        calls.call()
        assert calls.call().code == "connection"
        assert len(calls.server.seen) == 3


@pytest.mark.parametrize(
    ("behaviour", "code"),
    [
        (writing(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab"), "connection"),
        (lambda handler: handler.server.closing.wait(2), "timeout"),
    ],
    ids=["partial response", "timeout"],
)
def test_kept_connections_do_not_repeat_a_call_that_may_have_been_received(serve, behaviour, code):
    def once(handler: BaseHTTPRequestHandler) -> None:
        behaviour(handler)
        handler.close_connection = True

    with serve(in_turn(answering(200), once)) as calls:
        calls.call()
        assert (calls.call(timeout=0.3).code, len(calls.server.seen)) == (code, 2)


@pytest.mark.parametrize(
    "behaviour",
    [
        answering(200, Connection="close"),
        writing(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nHTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n"),
        answering(200, b"x" * (2 * READ_BYTES)),
    ],
    ids=["closing", "more than a response", "too large"],
)
def test_kept_connections_have_read_exactly_one_response(serve, behaviour):
    with serve(in_turn(behaviour, answering(200))) as calls:
        calls.call()
        assert calls.call() == OK
        assert calls.server.connections == 2


def test_kept_connections_have_no_further_data_in_the_last_tls_record(serve):
    """The response fills the buffer of the reader (8 KB), and the next one is in the same TLS record."""
    head = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n"
    size = 8192 - len(head % 8000)  # as long as the final head
    forged = b"HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n"
    with serve(in_turn(writing(head % size + b"x" * size + forged), answering(200))) as calls:
        assert calls.call().result["body"] == "x" * size
        assert calls.call() == OK
        assert calls.server.connections == 2


UNCLEAR = "HTTP/1.1 200 OK\r\n{}\r\n\r\n0\r\n\r\n"


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ("Transfer-Encoding: chunked\r\nContent-Length: 5", None),
        ("Transfer-Encoding: chunked\r\nContent-Length: 5\r\nContent-Length: 9", None),
        ("Content-Length: 5\r\nContent-Length: 5", None),
        ("Content-Length: 5, 5", None),
        ("Content-Length: 5\r\nContent-Length: 9", "connection"),
        ("Content-Length: 5, 9", "connection"),
        ("Content-Length: +5", "connection"),
        ("Content-Length: 1_0", "connection"),
        ("Content-Length: -5", "connection"),
        ("Content-Length:", "connection"),
        ("Content-Length: " + "1" * 5000, "connection"),
        ("Transfer-Encoding: gzip, chunked", "connection"),
        ("Transfer-Encoding: gzip\r\nContent-Length: 5", "connection"),
        ("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", "connection"),
        ("Transfer-Encoding: \x0bchunked\r\nContent-Length: 5", "connection"),
    ],
)
def test_kept_connections_have_read_a_response_whose_length_is_certain(serve, headers, code):
    """RFC 9112, section 6.3. The body is `0` and two line breaks, by the length 5 and in chunks."""
    with serve(in_turn(writing(UNCLEAR.format(headers).encode()), answering(200))) as calls:
        outcome = calls.call()
        assert isinstance(outcome, Returned) if code is None else outcome.code == code
        assert calls.call() == OK
        certain = code is None and "chunked" not in headers and "," not in headers
        assert calls.server.connections == (1 if certain else 2)


def test_kept_connections_belong_to_one_host(serve):
    with serve(answering(200)) as calls:
        calls.call()
        assert calls.call(host="b.test").code == "tls"
        assert len(calls.server.seen) == 1


def test_kept_connections_are_bounded(serve):
    with serve(answering(200)) as calls:
        calls.call()
        kept = calls.http.kept.take(("a.test", calls.server.port), calls.clock.at)
        assert kept is not None
        for number in range(MAX_IDLE):
            calls.http.kept.keep(replace(kept, place=("other.test", number)))
        calls.http.kept.keep(kept)
        assert calls.http.kept.take(("other.test", 0), calls.clock.at) is None


def test_kept_connections_require_tls(clock, secrets):
    http = HttpCaller(clock, private=True, secrets=secrets)
    with http_target(answering(200), keeps=True) as server:
        target = HttpTarget(server.url())
        assert [http.call(a_call(target), target) for _ in range(2)] == [OK, OK]
        assert (server.connections, server.seen[0].headers["Connection"]) == (2, "close")
