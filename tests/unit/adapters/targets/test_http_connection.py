"""Where an HTTP call goes, and where it does not."""

from __future__ import annotations

import socket
from threading import Event

import pytest

from duecourse.adapters.targets.http.http import HttpCaller
from duecourse.domain.targets.targets import Failed, HttpTarget, Returned
from tests.support.calls import a_call
from tests.support.http_target import answering, http_target


class Names:
    """A resolver that knows these addresses for every name, and counts."""

    def __init__(self, *addresses: str) -> None:
        self.addresses = list(addresses)
        self.asked: list[str] = []

    def __call__(self, host: str, port: int) -> list[str]:
        self.asked.append(host)
        return self.addresses


def test_a_name_is_resolved_once_and_the_call_goes_to_that_address(clock, secrets):
    names = Names("127.0.0.1")
    with http_target(answering(200)) as server:
        target = HttpTarget(server.url(host="Customer.Test"))
        outcome = HttpCaller(clock, private=True, secrets=secrets, resolve=names).call(a_call(target), target)
    assert isinstance(outcome, Returned)
    assert names.asked == ["customer.test"]
    assert server.seen[0].headers["Host"] == f"customer.test:{server.port}"


def test_a_name_beyond_ascii_is_asked_for_in_its_encoded_form(clock, secrets):
    names = Names("127.0.0.1")
    with http_target(answering(200)) as server:
        target = HttpTarget(server.url(host="bücher.test"))
        HttpCaller(clock, private=True, secrets=secrets, resolve=names).call(a_call(target), target)
    assert names.asked == ["xn--bcher-kva.test"]


def test_an_address_that_refuses_is_followed_by_the_next(clock, secrets):
    with http_target(answering(200)) as server:
        target = HttpTarget(server.url(host="customer.test"))
        names = Names("127.0.0.2", "127.0.0.1")  # nobody listens on the first
        outcome = HttpCaller(clock, private=True, secrets=secrets, resolve=names).call(a_call(target), target)
    assert isinstance(outcome, Returned)


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
def test_a_name_with_any_address_that_is_not_public_is_not_called(clock, secrets, addresses):
    with http_target(answering(200)) as server:
        target = HttpTarget(server.url(host="rebinding.test"))
        outcome = HttpCaller(clock, private=False, secrets=secrets, resolve=Names(*addresses)).call(
            a_call(target), target
        )
    assert isinstance(outcome, Failed)
    assert not outcome.retryable
    assert "not public" in outcome.error
    assert outcome.code == "address_refused"
    assert server.seen == []


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "localhost", "127.1", "0x7f000001", "0"])
def test_the_own_machine_is_not_called_however_it_is_written(clock, secrets, host):
    with http_target(answering(200)) as server:
        target = HttpTarget(server.url(host=host))
        outcome = HttpCaller(clock, private=False, secrets=secrets).call(a_call(target), target)
    assert isinstance(outcome, Failed)
    assert not outcome.retryable
    assert server.seen == []


def test_a_proxy_of_the_environment_is_not_used(http, monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    with http_target(answering(200)) as server:
        target = HttpTarget(server.url())
        assert isinstance(http.call(a_call(target), target), Returned)


def test_a_refused_connection_is_worth_a_retry(http):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, but nobody listens
        target = HttpTarget(f"http://127.0.0.1:{taken.getsockname()[1]}/secret?key=abc")
        outcome = http.call(a_call(target), target)
    assert isinstance(outcome, Failed)
    assert outcome.retryable
    assert "connection refused" in outcome.error
    assert outcome.code == "connection"
    assert "secret" not in outcome.error
    assert "abc" not in outcome.error


def test_a_name_that_nobody_knows_is_worth_a_retry(clock, secrets):
    def unknown(host: str, port: int) -> list[str]:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    target = HttpTarget("https://nowhere.test/")
    outcome = HttpCaller(clock, private=False, secrets=secrets, resolve=unknown).call(a_call(target), target)
    assert outcome == Failed("POST https://nowhere.test: its host's name could not be resolved", code="connection")


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
    assert outcome == Failed("POST https://slow.test gave no full answer within 0.1 s", code="timeout")


def test_a_server_that_does_not_read_is_not_waited_for_beyond_the_deadline(http):
    with socket.create_server(("127.0.0.1", 0)) as listening:
        target = HttpTarget(f"http://127.0.0.1:{listening.getsockname()[1]}/")
        outcome = http.call(a_call(target, payload="x" * 20_000_000, timeout_seconds=0.2), target)
    assert isinstance(outcome, Failed)
    assert "within 0.2 s" in outcome.error


def test_without_time_left_nothing_is_sent(http):
    with http_target(answering(200)) as server:
        target = HttpTarget(server.url())
        outcome = http.call(a_call(target, timeout_seconds=0), target)
    assert isinstance(outcome, Failed)
    assert outcome.retryable
    assert server.seen == []
