"""HTTP calls that are signed."""

from __future__ import annotations

import pytest

from duecourse.domain.targets.targets import Failed, HttpTarget, Returned
from duecourse.webhooks import WebhookError, verify
from tests.support.calls import a_call
from tests.support.http_target import answering, http_target

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


@pytest.fixture
def known(secrets):
    """The tenant's secrets, with the one to sign with."""
    secrets.known["acme", "hook"] = SECRET
    return secrets


@pytest.mark.parametrize(("method", "payload"), [("POST", {"n": "{{job_id}}"}), ("GET", None), ("DELETE", None)])
def test_a_receiver_can_tell_that_a_call_is_ours_as_it_was_sent_and_recent(http, clock, known, method, payload):
    with http_target(answering(200)) as server:
        target = HttpTarget(server.url(), method, sign="hook")
        outcome = http.call(a_call(target, payload=payload, idempotency_key="acme/nightly.1"), target)
    assert isinstance(outcome, Returned)
    (seen,) = server.seen
    assert verify(seen.headers, seen.body, SECRET, now=clock.now()) == "acme/nightly%2E1"
    with pytest.raises(WebhookError):
        verify(seen.headers, seen.body + b" ", SECRET, now=clock.now())


def test_the_id_is_the_same_on_every_attempt(http, known):
    with http_target(answering(500)) as server:
        target = HttpTarget(server.url(), sign="hook")
        for attempt in (1, 2):
            http.call(a_call(target, attempt=attempt), target)
    first, second = server.seen
    assert first.headers["webhook-id"] == second.headers["webhook-id"] == "key-1"


def test_a_job_cannot_put_headers_of_a_signature_in_the_place_of_ours(http, clock, known):
    with http_target(answering(200)) as server:
        target = HttpTarget(server.url(), headers=(("Webhook-Id", "mine"), ("webhook-more", "mine")), sign="hook")
        http.call(a_call(target), target)
        unsigned = HttpTarget(server.url(), headers=(("Webhook-Id", "mine"),))
        http.call(a_call(unsigned), unsigned)
    signed, plain = server.seen
    assert "mine" not in signed.headers.values()
    assert verify(signed.headers, signed.body, SECRET, now=clock.now()) == "key-1"
    assert plain.headers["Webhook-Id"] == "mine"
    assert "webhook-signature" not in plain.headers


@pytest.mark.parametrize(
    ("secret", "code"), [(None, "secret_unknown"), ("s3cr3t", "bad_signing_secret"), ("", "bad_signing_secret")]
)
def test_a_call_that_cannot_be_signed_is_not_made(http, secrets, secret, code):
    if secret is not None:
        secrets.known["acme", "hook"] = secret
    with http_target(answering(200)) as server:
        target = HttpTarget(server.url(), sign="hook")
        outcome = http.call(a_call(target), target)
    assert server.seen == []
    assert isinstance(outcome, Failed)
    assert (outcome.code, outcome.retryable) == (code, False)
    assert "hook" in outcome.error
    assert "s3cr3t" not in outcome.error


def test_an_echo_of_the_signing_secret_is_not_kept(http, known):
    with http_target(answering(200, f"you sign with {SECRET}".encode())) as server:
        target = HttpTarget(server.url(), sign="hook")
        assert http.call(a_call(target), target) == Returned({"status": 200, "body": "you sign with ***"})
