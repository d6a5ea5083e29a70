"""Templates and secrets in what an HTTP target is sent, and what of them is never told."""

from __future__ import annotations

from dataclasses import replace
from threading import Event

import orjson
import pytest

from duecourse.adapters.targets.http.connection import Deadline
from duecourse.adapters.targets.http.http import HttpCaller, request_of
from duecourse.adapters.targets.invocation import READ_BYTES
from duecourse.domain.targets.targets import Failed, HttpTarget, Returned
from tests.support.calls import a_call, a_run
from tests.support.http_target import Behaviour, answering, http_target

SECRET = 's3c/r3t "kéy"'
TOKEN = "dc1.acme.1.AbCdEfGhIjKlMnOp"
HEADERS = (("Authorization", "Bearer {{secret:api-key}}"),)


@pytest.fixture
def api_key(secrets):
    """A tenant's secret."""
    secrets.known["acme", "api-key"] = SECRET
    return SECRET


@pytest.fixture
def outcome_of(http, api_key):
    """Call a server that behaves like this, with the secret and a callback token."""

    def call(behaviour: Behaviour, headers=HEADERS, **fields):
        with http_target(behaviour) as server:
            target = HttpTarget(server.url(), headers=headers)
            return http.call(replace(a_call(target, **fields), token=TOKEN), target)

    return call


def test_headers_and_payload_are_templates(http):
    with http_target(answering(200)) as server:
        target = HttpTarget(server.url(), headers=(("X-Report", "{{job_id}}/{{ date }}"),))
        payload = {"week": "{{week}}", "{{week}}": ["{{run_id}}#{{attempt}}", 7, r"\{{week\}}"]}
        http.call(a_call(target, payload=payload, attempt=2), target)
    (seen,) = server.seen
    assert seen.headers["X-Report"] == "nightly/2026-11-21"
    run = "nightly.20261121T064700Z#2"
    assert orjson.loads(seen.body) == {"week": "2026-W47", "{{week}}": [run, 7, "{{week}}"]}


def test_a_payload_of_text_is_a_template_too(http):
    with http_target(answering(200)) as server:
        target = HttpTarget(server.url(), headers=(("Content-Type", "text/plain"),))
        http.call(a_call(target, payload="week={{week}}&key={{idempotency_key}}"), target)
    assert server.seen[0].body == b"week=2026-W47&key=key-1"


def test_the_url_is_no_template(http):
    with http_target(answering(200)) as server:
        target = HttpTarget(server.url("/{{week}}"))
        http.call(a_call(target), target)
    assert server.seen[0].path == "/%7B%7Bweek%7D%7D"


def test_a_run_that_waits_for_its_callback_hands_its_token_over(http):
    with http_target(answering(202)) as server:
        target = HttpTarget(server.url(), headers=(("X-Token", "{{callback_token}}"),))
        http.call(replace(a_call(target, payload=["{{callback_token}}"]), token=TOKEN), target)
    (seen,) = server.seen
    assert (seen.headers["X-Duecourse-Token"], seen.headers["X-Token"]) == (TOKEN, TOKEN)
    assert orjson.loads(seen.body) == [TOKEN]


def test_a_run_that_does_not_wait_has_no_token(http):
    with http_target(answering(200)) as server:
        target = HttpTarget(server.url())
        http.call(a_call(target), target)
    assert "X-Duecourse-Token" not in server.seen[0].headers


@pytest.mark.parametrize(
    ("target", "payload", "words"),
    [
        (HttpTarget("http://127.0.0.1:9/"), {"a": ["{{weak}}"]}, "payload: {{weak}} is unknown"),
        (HttpTarget("http://127.0.0.1:9/"), "{{callback_token}}", "payload: {{callback_token}} may not be used"),
        (HttpTarget("http://127.0.0.1:9/"), "{{secret:api-key}}", "payload: {{secret:api-key}} may not be used"),
        (HttpTarget("http://127.0.0.1:9/", headers=(("X-A", "}}"),)), None, "header X-A: }} at character 1"),
    ],
)
def test_a_template_that_cannot_be_rendered_is_refused_for_good(http, target, payload, words):
    outcome = http.call(a_call(target, payload=payload), target)
    assert isinstance(outcome, Failed)
    assert (outcome.retryable, outcome.code) == (False, "bad_template")
    assert words in outcome.error


def test_a_secret_is_fetched_for_the_runs_own_tenant_and_once_a_call(http, secrets, api_key):
    with http_target(answering(200)) as server:
        target = HttpTarget(server.url(), headers=(*HEADERS, ("X-Key", "{{secret:api-key}}")))
        assert isinstance(http.call(a_call(target), target), Returned)
    seen = server.seen[0].headers
    assert (seen["Authorization"], seen["X-Key"]) == (f"Bearer {SECRET}", SECRET)
    assert secrets.asked == [("acme", "api-key")]


def test_a_secret_in_a_header_that_is_not_the_jobs_is_not_even_fetched(http, secrets):
    with http_target(answering(200)) as server:
        target = HttpTarget(server.url(), headers=(("Idempotency-Key", "{{secret:api-key}}"),))
        assert isinstance(http.call(a_call(target), target), Returned)
    assert secrets.asked == []


def test_a_secret_that_nobody_knows_is_a_failure_for_good_and_nothing_is_sent(http):
    with http_target(answering(200)) as server:
        target = HttpTarget(server.url(), headers=HEADERS)
        outcome = http.call(a_call(target), target)
    assert outcome == Failed("there is no secret named api-key", retryable=False, code="secret_unknown")
    assert server.seen == []


def test_a_store_of_secrets_that_is_down_is_worth_a_retry(http, secrets):
    secrets.down = "ThrottlingException"
    with http_target(answering(200)) as server:
        target = HttpTarget(server.url(), headers=HEADERS)
        outcome = http.call(a_call(target), target)
    text = "secret api-key could not be fetched (ThrottlingException)"
    assert outcome == Failed(text, retryable=True, code="secrets_unavailable")
    assert server.seen == []


def test_a_store_of_secrets_that_hangs_is_not_waited_for_beyond_the_deadline(clock):
    released = Event()

    class Hanging:
        def get(self, tenant: str, name: str) -> str:
            released.wait()
            return ""

    target = HttpTarget("http://127.0.0.1:9/", headers=HEADERS)
    outcome = HttpCaller(clock, private=True, secrets=Hanging()).call(a_call(target, timeout_seconds=0.1), target)
    released.set()
    assert outcome == Failed("secret api-key was not fetched in time", retryable=True, code="secrets_unavailable")


@pytest.mark.parametrize(
    "smuggled", ["abc\r\nX-Admin: yes", "abc\nX-Admin: yes", "abc\r\n\r\nGET / HTTP/1.1", "a\x00b"]
)
def test_a_secret_cannot_bring_a_header_of_its_own(http, secrets, smuggled):
    secrets.known["acme", "api-key"] = smuggled
    with http_target(answering(200)) as server:
        target = HttpTarget(server.url(), headers=HEADERS)
        outcome = http.call(a_call(target), target)
    assert isinstance(outcome, Failed)
    assert (outcome.retryable, outcome.code) == (False, "bad_request")
    assert "header Authorization: line breaks" in outcome.error
    assert "abc" not in outcome.error
    assert server.seen == []


@pytest.mark.parametrize("name", ["a\r\nX-Admin: yes", "a\nb", "\u2028", "€"])
def test_a_jobs_name_cannot_bring_a_header_of_its_own(http, name):
    with http_target(answering(200)) as server:
        target = HttpTarget(server.url(), headers=(("X-Job", "{{job_name}}"),))
        call = a_call(target)
        outcome = http.call(replace(call, job=replace(call.job, name=name)), target)
    assert isinstance(outcome, Failed)
    assert not outcome.retryable
    assert server.seen == []


def test_what_a_value_contains_is_not_read_as_a_template(http, secrets, api_key):
    with http_target(answering(200)) as server:
        target = HttpTarget(server.url(), headers=(("X-Job", "{{job_name}}"),))
        call = a_call(target)
        http.call(replace(call, job=replace(call.job, name="{{secret:api-key}}")), target)
    assert server.seen[0].headers["X-Job"] == "{{secret:api-key}}"
    assert secrets.asked == []


ECHOES = [
    SECRET,
    f"key={SECRET}!",
    "s3c%2Fr3t%20%22k%C3%A9y%22",
    "s3c/r3t+%22k%C3%A9y%22".replace("/", "%2F"),
    r"s3c\/r3t \"k\u00e9y\"",
    r"s3c/r3t \"kéy\"",
    "s3c/r3t &quot;kéy&quot;",
    TOKEN,
]


@pytest.mark.parametrize("echo", ECHOES)
@pytest.mark.parametrize("status", [200, 422])
def test_a_target_that_echoes_secret_or_token_does_not_get_them_into_the_record(outcome_of, echo, status):
    outcome = outcome_of(answering(status, f"you sent {echo} here".encode(), Content_Type="text/html"))
    assert "you sent " in str(outcome)
    assert "***" in str(outcome)
    assert not any(part in str(outcome) for part in ("s3c", "r3t", "AbCdEf"))


def test_an_echo_in_latin_1_as_headers_travel_is_found_too(outcome_of):
    outcome = outcome_of(answering(200, SECRET.encode("latin-1")))
    assert outcome == Returned({"status": 200, "body": "***"})


def test_in_a_json_answer_secrets_vanish_wherever_they_stand_and_the_rest_stays(outcome_of, secrets):
    secrets.known["acme", "pin"] = "73219"
    headers = (*HEADERS, ("X-Pin", "{{secret:pin}}"))
    said = {SECRET: [f"<{SECRET}>", {"token": TOKEN, "pin": 73219, "n": 7, "on": True, "no": None, "x": 1.5}]}
    outcome = outcome_of(answering(200, orjson.dumps(said), Content_Type="application/json"), headers)
    shown = {"***": ["<***>", {"token": "***", "pin": "***", "n": 7, "on": True, "no": None, "x": 1.5}]}
    assert outcome == Returned({"status": 200, "body": shown})


def test_escapes_do_not_hide_a_secret_in_a_json_answer(outcome_of):
    escaped = "".join(f"\\u{ord(char):04X}" for char in SECRET)
    outcome = outcome_of(answering(200, f'["{escaped}"]'.encode(), Content_Type="application/json"))
    assert outcome == Returned({"status": 200, "body": ["***"]})


def test_an_echo_at_the_edge_of_what_is_read_is_not_kept_in_part(outcome_of):
    start = READ_BYTES - 5
    outcome = outcome_of(answering(200, b"x" * start + SECRET.encode() * 2))
    assert outcome == Returned({"status": 200, "body": "x" * start, "truncated": True})


def test_a_secret_of_several_words_is_hidden_word_by_word(outcome_of, secrets):
    secrets.known["acme", "api-key"] = "Basic dXNlcjpwYXNz"
    outcome = outcome_of(answering(200, b"got dXNlcjpwYXNz"), (("Authorization", "{{secret:api-key}}"),))
    assert outcome == Returned({"status": 200, "body": "got ***"})


def test_what_the_run_is_called_is_no_secret_even_in_a_header(outcome_of):
    headers = (("X-Run", "{{run_id}}"), ("X-Key", "literal-key"))
    outcome = outcome_of(answering(422, b"run nightly.20261121T064700Z has no literal-key"), headers)
    assert isinstance(outcome, Failed)
    assert outcome.error.endswith("run nightly.20261121T064700Z has no ***")


def test_a_request_does_not_show_its_secrets_when_it_is_printed(secrets, api_key):
    target = HttpTarget("https://example.test/hook", headers=HEADERS)
    call = replace(a_call(target, payload={"pass": "word"}), run=a_run(), token=TOKEN)
    request = request_of(call, target, secrets, Deadline(5), now=0)
    assert SECRET in request.secrets
    assert SECRET not in repr(request)
    assert "s3c" not in repr(request)
    assert TOKEN not in repr(request)
    assert "word" not in repr(request)
