"""Certificates are checked against the host's name although the connection goes to a pinned address."""

from __future__ import annotations

import ssl

import pytest

from duecourse.adapters.targets.http.http import HttpCaller, system_trust
from duecourse.domain.targets.targets import Failed, HttpTarget, Returned
from tests.support.authority import Authority
from tests.support.calls import a_call
from tests.support.http_target import answering, http_target


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority()


@pytest.fixture
def https(clock, secrets, authority):
    """Every name stands at 127.0.0.1, and the test's authority is trusted."""
    return HttpCaller(
        clock, private=True, secrets=secrets, resolve=lambda host, port: ["127.0.0.1"], trust=authority.trusted
    )


def test_the_right_name_is_accepted_and_indicated(https, authority, tmp_path):
    indicated = []
    tls = authority.server("customer.test", tmp_path)
    tls.sni_callback = lambda sock, name, context: indicated.append(name)
    with http_target(answering(200), tls) as server:
        target = HttpTarget(f"https://customer.test:{server.port}/")
        assert https.call(a_call(target), target) == Returned({"status": 200, "body": None})
    assert indicated == ["customer.test"]


def test_a_certificate_of_another_name_is_refused(https, authority, tmp_path):
    with http_target(answering(200), authority.server("somebody-else.test", tmp_path)) as server:
        target = HttpTarget(f"https://customer.test:{server.port}/")
        outcome = https.call(a_call(target), target)
    assert isinstance(outcome, Failed)
    assert "certificate was not accepted" in outcome.error
    assert outcome.code == "tls"
    assert server.seen == []


def test_a_certificate_for_the_name_does_not_do_for_the_address(https, authority, tmp_path):
    with http_target(answering(200), authority.server("customer.test", tmp_path)) as server:
        target = HttpTarget(f"https://127.0.0.1:{server.port}/")
        outcome = https.call(a_call(target), target)
    assert isinstance(outcome, Failed)
    assert server.seen == []


def test_an_expired_certificate_is_refused(https, authority, tmp_path):
    with http_target(answering(200), authority.server("customer.test", tmp_path, days=-1)) as server:
        target = HttpTarget(f"https://customer.test:{server.port}/")
        outcome = https.call(a_call(target), target)
    assert isinstance(outcome, Failed)
    assert "expired" in outcome.error


def test_an_authority_that_nobody_knows_is_refused(clock, secrets, authority, tmp_path):
    stranger = HttpCaller(clock, private=True, secrets=secrets, resolve=lambda host, port: ["127.0.0.1"])
    with http_target(answering(200), authority.server("customer.test", tmp_path)) as server:
        target = HttpTarget(f"https://customer.test:{server.port}/")
        outcome = stranger.call(a_call(target), target)
    assert isinstance(outcome, Failed)
    assert "certificate was not accepted" in outcome.error
    assert outcome.code == "tls"
    assert server.seen == []


def test_a_server_without_tls_is_a_failed_connection(https):
    with http_target(answering(200)) as server:
        target = HttpTarget(f"https://customer.test:{server.port}/")
        outcome = https.call(a_call(target, timeout_seconds=0.3), target)
    assert isinstance(outcome, Failed)
    assert outcome.retryable


def test_the_systems_authorities_are_found():
    context = system_trust()
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname
