"""Requests to HTTP targets, their secrets and signatures.

- What an HTTP target is sent.
- Templates and secrets in what an HTTP target is sent, and what of them is never told.
- HTTP calls that are signed.
- Secrets are struck out in time that is bounded, whatever they are and whatever a target answers.
"""

from itertools import pairwise
from threading import Event

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from duecourse.adapters.targets.http.connection import Deadline
from duecourse.adapters.targets.http.http import HttpCaller, request_of
from duecourse.adapters.targets.invocation import MAX_FORMS_BYTES, READ_BYTES, Automaton, Redaction, excerpt
from duecourse.domain.targets.targets import Failed, HttpTarget, Returned
from duecourse.version import VERSION
from duecourse.webhooks import WebhookError, verify
from tests.support.calls import a_call, a_run, revised
from tests.support.http_target import answering
from tests.support.steps import steps


def test_http_request_post_sends_payload_as_json_and_identifies_the_run(call):
    fields = {"payload": {"n": 1}, "attempt": 2, "idempotency_key": "report-2026-W47"}
    _, (seen,) = call(path="/hook?x=1", **fields)
    assert (seen.method, seen.path, orjson.loads(seen.body)) == ("POST", "/hook?x=1", {"n": 1})
    assert seen.headers["X-Duecourse-Run-Id"] == "nightly.20261121T064700Z"
    assert seen.headers["X-Duecourse-Job-Id"] == "nightly"
    assert seen.headers["X-Duecourse-Tenant"] == "acme"
    assert seen.headers["X-Duecourse-Scheduled-At"] == "2026-11-21T06:47:00Z"
    assert seen.headers["X-Duecourse-Attempt"] == "2"
    assert seen.headers["Idempotency-Key"] == "report-2026-W47"
    assert seen.headers["Content-Type"] == "application/json"
    assert seen.headers["User-Agent"] == f"duecourse/{VERSION}"
    assert seen.headers["Host"] == f"127.0.0.1:{seen.port}"


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_http_request_get_and_head_have_no_body(call, method):
    outcome, (seen,) = call(method=method, payload={"n": 1})
    assert outcome == Returned({"status": 200, "body": None})
    assert seen.body == b""
    assert "Content-Length" not in seen.headers
    assert "Content-Type" not in seen.headers


def test_http_request_post_without_payload_has_content_length_zero(call):
    assert call()[1][0].headers["Content-Length"] == "0"


def test_http_request_payload_may_be_falsy(call):
    assert call(payload=0)[1][0].body == b"0"


def test_http_request_text_with_another_content_type_is_sent_unchanged(call):
    headers = (("content-type", "application/x-www-form-urlencoded"),)
    _, (seen,) = call(headers=headers, payload="a=1&b=2")
    assert seen.body == b"a=1&b=2"
    assert seen.headers["content-type"] == "application/x-www-form-urlencoded"


def test_http_request_sends_headers_of_the_job_which_cannot_replace_reserved_ones(call):
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
    outcome, (request,) = call(headers=headers, payload={})
    assert isinstance(outcome, Returned)
    seen = request.headers
    assert seen["Authorization"] == "Bearer abc"
    assert seen["user-agent"] == "mine"
    assert seen["Host"] == f"127.0.0.1:{request.port}"
    assert seen["Connection"] == "close"
    assert (seen["X-Duecourse-Attempt"], seen["Idempotency-Key"]) == ("1", "key-1")
    assert "Transfer-Encoding" not in seen
    assert "x-duecourse-new" not in seen


def test_http_request_escapes_paths_and_queries_only_once(call):
    assert call(path="/é/a%20b?q=é&r=%26#part")[1][0].path == "/%C3%A9/a%20b?q=%C3%A9&r=%26"


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
def test_http_request_that_cannot_be_sent_is_rejected_permanently_and_the_message_names_the_part(http, target, word):
    outcome = http.call(a_call(target), target)
    assert not outcome.retryable
    assert word in outcome.error
    assert "hunter2" not in outcome.error


TRACE = "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1"


def test_http_request_carries_the_correlation_id_of_the_run_and_the_trace_of_the_invocation(call, monkeypatch):
    monkeypatch.setenv("_X_AMZN_TRACE_ID", TRACE)
    _, (seen,) = call(run={"correlation_id": "order-4711"})
    assert (seen.headers["X-Correlation-Id"], seen.headers["X-Amzn-Trace-Id"]) == ("order-4711", TRACE)
    assert seen.headers["traceparent"] == "00-5759e988bd862e3fe1be46a994272793-53995c3f42cd8ad8-01"


NOT_RECORDED = TRACE.replace("Sampled=1", "Sampled=0")
"""The receiver of a trace that is not recorded would not record its own."""


@pytest.mark.parametrize("header", [NOT_RECORDED, "Sampled=1", None], ids=["not recorded", "no trace", "none"])
def test_http_request_carries_only_a_recorded_trace_and_a_known_correlation_id(call, monkeypatch, header):
    monkeypatch.delenv("_X_AMZN_TRACE_ID", raising=False)
    if header is not None:
        monkeypatch.setenv("_X_AMZN_TRACE_ID", header)
    _, (seen,) = call()
    assert not {"X-Correlation-Id", "X-Amzn-Trace-Id", "traceparent"} & set(seen.headers)


def test_http_request_carries_correlation_headers_set_by_the_job(call):
    _, (seen,) = call(headers=(("x-correlation-id", "{{run_id}}"),), run={"correlation_id": "order-4711"})
    named = {name: value for name, value in seen.headers.items() if name.lower() == "x-correlation-id"}
    assert named == {"x-correlation-id": "nightly.20261121T064700Z"}


def test_http_request_that_is_too_large_is_neither_sent_nor_retried(call):
    large, loud = ["{{job_id}}{{idempotency_key}}" * 6_000], (("X-A", "{{idempotency_key}}" * 40),)
    for fields, where in (({"payload": large}, "payload"), ({"headers": loud}, "header X-A")):
        outcome, seen = call(idempotency_key="k" * 255, **fields)
        assert (seen, outcome.code, outcome.retryable) == ([], "template_too_large", False)
        assert where in outcome.error


SECRET = 's3c/r3t "kéy"'
TOKEN = "dc1.acme.1.AbCdEfGhIjKlMnOp"
HEADERS = (("Authorization", "Bearer {{secret:api-key}}"),)


@pytest.fixture
def api_key(secrets):
    """A tenant's secret."""
    secrets.known["acme", "api-key"] = SECRET
    return SECRET


@pytest.fixture
def outcome_of(call, api_key):
    """Call a server that behaves like this, with the secret and a callback token."""
    return lambda behaviour, headers=HEADERS: call(behaviour, headers=headers, token=TOKEN)[0]


def test_http_request_headers_and_payload_are_templates(call):
    payload = {"week": "{{week}}", "{{week}}": ["{{run_id}}#{{attempt}}", 7, r"\{{week\}}"]}
    _, (seen,) = call(headers=(("X-Report", "{{job_id}}/{{ date }}"),), payload=payload, attempt=2)
    assert seen.headers["X-Report"] == "nightly/2026-11-21"
    run = "nightly.20261121T064700Z#2"
    assert orjson.loads(seen.body) == {"week": "2026-W47", "{{week}}": [run, 7, "{{week}}"]}


def test_http_request_text_payload_is_a_template(call):
    _, (seen,) = call(headers=(("Content-Type", "text/plain"),), payload="week={{week}}&key={{idempotency_key}}")
    assert seen.body == b"week=2026-W47&key=key-1"


def test_http_request_url_is_not_a_template(call):
    assert call(path="/{{week}}")[1][0].path == "/%7B%7Bweek%7D%7D"


def test_http_request_of_run_waiting_for_callback_contains_the_token(call):
    fields = {"headers": (("X-Token", "{{callback_token}}"),), "payload": ["{{callback_token}}"]}
    _, (seen,) = call(answering(202), token=TOKEN, **fields)
    assert (seen.headers["X-Duecourse-Token"], seen.headers["X-Token"]) == (TOKEN, TOKEN)
    assert orjson.loads(seen.body) == [TOKEN]


def test_http_request_of_run_without_callback_has_no_token(call):
    assert "X-Duecourse-Token" not in call()[1][0].headers


@pytest.mark.parametrize(
    ("target", "payload", "words"),
    [
        (HttpTarget("http://127.0.0.1:9/"), {"a": ["{{weak}}"]}, "payload: {{weak}} is unknown"),
        (HttpTarget("http://127.0.0.1:9/"), "{{callback_token}}", "payload: {{callback_token}} is not allowed"),
        (HttpTarget("http://127.0.0.1:9/"), "{{secret:api-key}}", "payload: {{secret:api-key}} is not allowed"),
        (HttpTarget("http://127.0.0.1:9/", headers=(("X-A", "}}"),)), None, "header X-A: }} at character 1"),
    ],
)
def test_http_request_template_that_cannot_be_rendered_fails_permanently(http, target, payload, words):
    outcome = http.call(a_call(target, payload=payload), target)
    assert (outcome.retryable, outcome.code) == (False, "bad_template")
    assert words in outcome.error


def test_http_request_secret_is_fetched_for_the_tenant_of_the_run_and_once_per_call(call, secrets, api_key):
    outcome, (seen,) = call(headers=(*HEADERS, ("X-Key", "{{secret:api-key}}")))
    assert isinstance(outcome, Returned)
    assert (seen.headers["Authorization"], seen.headers["X-Key"]) == (f"Bearer {SECRET}", SECRET)
    assert secrets.asked == [("acme", "api-key")]


def test_http_request_secret_in_a_reserved_header_is_not_fetched(call, secrets):
    assert isinstance(call(headers=(("Idempotency-Key", "{{secret:api-key}}"),))[0], Returned)
    assert secrets.asked == []


def test_http_request_unknown_secret_fails_permanently_and_sends_nothing(call):
    failed = Failed("there is no secret named api-key", retryable=False, code="secret_unknown")
    assert call(headers=HEADERS) == (failed, [])


def test_http_request_unavailable_secret_store_is_retryable(call, secrets):
    secrets.down = "ThrottlingException"
    text = "secret api-key could not be fetched (ThrottlingException)"
    assert call(headers=HEADERS) == (Failed(text, retryable=True, code="secrets_unavailable"), [])


def test_http_request_does_not_wait_for_a_hanging_secret_store_beyond_the_deadline(clock):
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
def test_http_request_secret_cannot_inject_a_header(call, secrets, smuggled):
    secrets.known["acme", "api-key"] = smuggled
    outcome, seen = call(headers=HEADERS)
    assert (seen, outcome.retryable, outcome.code) == ([], False, "bad_request")
    assert "header Authorization: line breaks" in outcome.error
    assert "abc" not in outcome.error


@pytest.mark.parametrize("name", ["a\r\nX-Admin: yes", "a\nb", "\u2028", "€"])
def test_http_request_job_name_cannot_inject_a_header(call, name):
    outcome, seen = call(headers=(("X-Job", "{{job_name}}"),), job={"name": name})
    assert (outcome.retryable, seen) == (False, [])


def test_http_request_values_are_not_evaluated_as_templates(call, secrets, api_key):
    _, (seen,) = call(headers=(("X-Job", "{{job_name}}"),), job={"name": "{{secret:api-key}}"})
    assert seen.headers["X-Job"] == "{{secret:api-key}}"
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
def test_http_request_record_does_not_contain_an_echoed_secret_or_token(outcome_of, echo, status):
    outcome = outcome_of(answering(status, f"you sent {echo} here".encode(), Content_Type="text/html"))
    assert "you sent " in str(outcome)
    assert "***" in str(outcome)
    assert not any(part in str(outcome) for part in ("s3c", "r3t", "AbCdEf"))


def test_http_request_redacts_a_secret_echoed_in_latin_1(outcome_of):
    assert outcome_of(answering(200, SECRET.encode("latin-1"))) == Returned({"status": 200, "body": "***"})


def test_http_request_redacts_secrets_anywhere_in_a_json_response_and_retains_the_rest(outcome_of, secrets):
    secrets.known["acme", "pin"] = "73219"
    headers = (*HEADERS, ("X-Pin", "{{secret:pin}}"))
    said = {SECRET: [f"<{SECRET}>", {"token": TOKEN, "pin": 73219, "n": 7, "on": True, "no": None, "x": 1.5}]}
    outcome = outcome_of(answering(200, orjson.dumps(said), Content_Type="application/json"), headers)
    shown = {"***": ["<***>", {"token": "***", "pin": "***", "n": 7, "on": True, "no": None, "x": 1.5}]}
    assert outcome == Returned({"status": 200, "body": shown})


def test_http_request_redacts_an_escaped_secret_in_a_json_response(outcome_of):
    escaped = "".join(f"\\u{ord(char):04X}" for char in SECRET)
    outcome = outcome_of(answering(200, f'["{escaped}"]'.encode(), Content_Type="application/json"))
    assert outcome == Returned({"status": 200, "body": ["***"]})


def test_http_request_redacts_a_partial_echo_at_the_read_limit(outcome_of):
    start = READ_BYTES - 5
    outcome = outcome_of(answering(200, b"x" * start + SECRET.encode() * 2))
    assert outcome == Returned({"status": 200, "body": "x" * start, "truncated": True})


def test_http_request_redacts_each_word_of_a_secret_of_several_words(outcome_of, secrets):
    secrets.known["acme", "api-key"] = "Basic dXNlcjpwYXNz"
    outcome = outcome_of(answering(200, b"got dXNlcjpwYXNz"), (("Authorization", "{{secret:api-key}}"),))
    assert outcome == Returned({"status": 200, "body": "got ***"})


def test_http_request_does_not_redact_the_run_id_in_a_header(outcome_of):
    headers = (("X-Run", "{{run_id}}"), ("X-Key", "literal-key"))
    outcome = outcome_of(answering(422, b"run nightly.20261121T064700Z has no literal-key"), headers)
    assert outcome.error.endswith("run nightly.20261121T064700Z has no ***")


def test_http_request_does_not_show_its_secrets_when_printed(secrets, api_key):
    target = HttpTarget("https://example.test/hook", headers=HEADERS)
    call = revised(a_call(target, payload={"pass": "word"}), run=a_run(), callback_token=TOKEN)
    request = request_of(call, target, secrets, Deadline(5), now=0)
    assert SECRET in request.secrets
    assert SECRET not in repr(request)
    assert "s3c" not in repr(request)
    assert TOKEN not in repr(request)
    assert "word" not in repr(request)


SIGNED_SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


@pytest.fixture
def known(secrets):
    """The tenant's secrets, with the one to sign with."""
    secrets.known["acme", "hook"] = SIGNED_SECRET
    return secrets


@pytest.mark.parametrize(("method", "payload"), [("POST", {"n": "{{job_id}}"}), ("GET", None), ("DELETE", None)])
def test_http_request_signature_proves_origin_integrity_and_age_to_the_receiver(call, clock, known, method, payload):
    outcome, (seen,) = call(method=method, sign="hook", payload=payload, idempotency_key="acme/nightly.1")
    assert isinstance(outcome, Returned)
    assert verify(seen.headers, seen.body, SIGNED_SECRET, now=clock.now()) == "acme/nightly%2E1"
    with pytest.raises(WebhookError):
        verify(seen.headers, seen.body + b" ", SIGNED_SECRET, now=clock.now())


def test_http_request_id_is_the_same_on_every_attempt(call, known):
    requests = [call(answering(500), sign="hook", attempt=attempt)[1] for attempt in (1, 2)]
    assert [seen.headers["webhook-id"] for (seen,) in requests] == ["key-1"] * 2


def test_http_request_job_cannot_replace_signature_headers(call, clock, known):
    _, (signed,) = call(headers=(("Webhook-Id", "mine"), ("webhook-more", "mine")), sign="hook")
    _, (plain,) = call(headers=(("Webhook-Id", "mine"),))
    assert "mine" not in signed.headers.values()
    assert verify(signed.headers, signed.body, SIGNED_SECRET, now=clock.now()) == "key-1"
    assert plain.headers["Webhook-Id"] == "mine"
    assert "webhook-signature" not in plain.headers


@pytest.mark.parametrize(
    ("secret", "code"), [(None, "secret_unknown"), ("s3cr3t", "bad_signing_secret"), ("", "bad_signing_secret")]
)
def test_http_request_that_cannot_be_signed_is_not_sent(call, secrets, secret, code):
    if secret is not None:
        secrets.known["acme", "hook"] = secret
    outcome, seen = call(sign="hook")
    assert (seen, outcome.code, outcome.retryable) == ([], code, False)
    assert "hook" in outcome.error
    assert "s3cr3t" not in outcome.error


def test_http_request_redacts_an_echoed_signing_secret(call, known):
    outcome, _ = call(answering(200, f"you sign with {SIGNED_SECRET}".encode()), sign="hook")
    assert outcome == Returned({"status": 200, "body": "you sign with ***"})


WORDS = st.lists(st.text(alphabet="ab", min_size=1, max_size=6), min_size=1, max_size=8)


@given(WORDS, st.text(alphabet="abc", max_size=60))
def test_http_request_redacts_every_occurrence_and_nothing_else(words: list[str], text: str) -> None:
    hidden = {
        at for word in words for start in range(len(text)) if text.startswith(word, start)
        for at in range(start, start + len(word))
    }  # fmt: skip
    spans, _ = Automaton(word.encode() for word in words).spans(text.encode())
    assert {at for start, end in spans for at in range(start, end)} == hidden
    assert all(before[1] <= after[0] for before, after in pairwise(spans))


@given(WORDS, st.text(alphabet="abc", max_size=40))
def test_http_request_redaction_finds_the_longest_suffix_that_begins_a_secret(words: list[str], text: str) -> None:
    _, begun = Automaton(word.encode() for word in words).spans(text.encode())
    lengths = [n for n in range(len(text) + 1) if any(word.startswith(text[len(text) - n :]) for word in words)]
    assert begun == max(lengths)


def test_http_request_redacts_adjacent_and_nested_secrets_whole() -> None:
    redaction = Redaction(["secret", "secret-of-mine", "other"])
    assert redaction.text("a secret-of-mine, a secret, secretother.") == "a ***, a ***, ******."


def test_http_request_redaction_preserves_non_unicode_text_around_the_secret() -> None:
    assert Redaction(["kéy"]).data(b"\xff k\xe9y \xe9 k\xc3\xa9y") == b"\xff *** \xe9 ***"


HOSTILE = {
    "nested": (["a" * length for length in range(4, 100)], b"a"),
    "late difference": (["a" * length + "b" for length in range(4, 100)], b"a"),
    "many": ([f"{number:04x}" for number in range(1_000)], b"0123456789abcdef"),
}


@pytest.mark.parametrize(("words", "pattern"), HOSTILE.values(), ids=HOSTILE)
def test_http_request_redaction_time_depends_on_response_size_and_not_on_the_number_of_secrets(
    words: list[str], pattern: bytes
) -> None:
    data = pattern * (20_000 // len(pattern))
    redaction = Redaction(words)
    assert steps(lambda: redaction.data(data, broken_off=True)) < 12 * len(data)


def test_http_request_redacts_the_whole_response_if_headers_are_too_large_to_search_for() -> None:
    redaction = Redaction(f"{number:08}" for number in range(MAX_FORMS_BYTES))
    assert redaction.data(b"anything") == b"***"
    assert redaction.text("anything") == "***"
    assert redaction.value({"a": 1}) == "***"


def test_http_request_redaction_searches_only_the_part_of_a_response_that_can_be_shown() -> None:
    secret = "x" * 40
    body = b" " * 16_380 + secret.encode() + b"end" * READ_BYTES
    assert "x" not in excerpt(body, Redaction([secret]))
    assert excerpt(b"why not: " + body, Redaction([secret])) == "why not:"
