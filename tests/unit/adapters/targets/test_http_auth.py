"""Authentication of calls to HTTP targets: basic, and access tokens for client credentials."""

from __future__ import annotations

from base64 import b64decode, b64encode
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Event
from urllib.parse import parse_qs, quote_plus

import orjson
import pytest

from duecourse.adapters.targets.http.auth import TokenProblemError, error_of, read_token
from duecourse.adapters.targets.http.http import HttpCaller
from duecourse.domain.jobs.job import Delivery
from duecourse.domain.targets.oidc import SKEW_SECONDS, TOKEN_SECONDS
from duecourse.domain.targets.targets import BasicAuth, Credentials, Failed, HttpTarget, OAuth, OidcAuth, Returned
from duecourse.ports import TokensUnavailableError
from duecourse.testing.clock import SettableClock
from tests.support.calls import a_call
from tests.support.http_target import HttpTargetServer, Seen, documents, http_target
from tests.support.secrets import InMemorySecrets
from tests.support.varied import varied
from tests.support.waiting import PATIENCE_SECONDS

SECRET = "client secret/+:"
TOKENS = ["first-token", "second-token", "third-token"]


class Site:
    """An authorization server and a target. It accepts the tokens in `valid`."""

    def __init__(self) -> None:
        self.issued = 0
        self.token: tuple[int, object] | None = None
        self.expires_in: object = 600
        self.valid = set(TOKENS)
        self.echo = False

    def answer(self, seen: Seen) -> tuple[int, object]:
        """Respond to a request for a token, or to a call."""
        if seen.path == "/token":
            return self.token if self.token is not None else (200, self._new_token())
        given = seen.headers.get("Authorization", "")
        if given.removeprefix("Bearer ") not in self.valid:
            return 401, {"error": "invalid_token"}
        return 200, {"given": given} if self.echo else None

    def _new_token(self) -> dict[str, object]:
        token = TOKENS[self.issued]
        self.issued += 1
        return {"access_token": token, "token_type": "bearer", "expires_in": self.expires_in}


@pytest.fixture
def clock():
    return SettableClock(1_795_243_620.0)


@pytest.fixture
def http(clock):
    return HttpCaller(clock, private=True, secrets=InMemorySecrets({("acme", "crm"): SECRET}))


@pytest.fixture
def site():
    return Site()


@pytest.fixture
def server(site):
    with http_target(documents(site.answer)) as server:
        yield server


def oauth(server: HttpTargetServer, **fields) -> HttpTarget:
    return HttpTarget(server.url(), auth=OAuth(server.url("/token"), "jobs", "crm", **fields))


def requests(server: HttpTargetServer, path: str) -> list[Seen]:
    return [seen for seen in server.seen if seen.path == path]


def form(seen: Seen) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(seen.body.decode()).items()}


def test_http_auth_basic_sends_user_and_password(http, server):
    target = HttpTarget(server.url(), auth=BasicAuth("duecourse", "crm"))
    http.call(a_call(target), target)
    scheme, encoded = server.seen[0].headers["Authorization"].split()
    assert (scheme, b64decode(encoded).decode()) == ("Basic", f"duecourse:{SECRET}")


def test_http_auth_replaces_header_set_by_registered_task(http, server):
    target = HttpTarget(server.url(), headers=(("authorization", "old"),), auth=BasicAuth("duecourse", "crm"))
    http.call(a_call(target), target)
    sent = [value for name, value in server.seen[0].headers.items() if name.lower() == "authorization"]
    assert len(sent) == 1
    assert sent[0].startswith("Basic ")


def test_http_auth_oauth_requests_token_with_credentials_in_header(http, server):
    target = oauth(server, scope="reports.write", audience="https://crm.example.com")
    assert isinstance(http.call(a_call(target), target), Returned)
    asked, called = requests(server, "/token")[0], requests(server, "/")[0]
    assert asked.method == "POST"
    assert form(asked) == {
        "grant_type": "client_credentials",
        "scope": "reports.write",
        "audience": "https://crm.example.com",
    }
    assert b64decode(asked.headers["Authorization"].removeprefix("Basic ")).decode() == "jobs:client+secret%2F%2B%3A"
    assert called.headers["Authorization"] == "Bearer first-token"


def test_http_auth_oauth_sends_credentials_in_body_if_job_requires_it(http, server):
    target = oauth(server, credentials=Credentials.BODY)
    assert isinstance(http.call(a_call(target), target), Returned)
    asked = requests(server, "/token")[0]
    assert form(asked) == {"grant_type": "client_credentials", "client_id": "jobs", "client_secret": SECRET}
    assert "Authorization" not in asked.headers


@pytest.mark.parametrize(
    ("expires_in", "cached"),
    [
        (600, 540),
        ("600", 540),
        (100, 50),
        (86_400, 3_600),
        (None, 300),
        (-1, 300),
        (True, 300),
        ("²", 300),
        ("٣", 300),
        ("9" * 5000, 3_600),
    ],
)
def test_http_auth_oauth_reuses_token_until_shortly_before_it_expires(http, server, site, clock, expires_in, cached):
    target = oauth(server)
    site.expires_in = expires_in
    http.call(a_call(target), target)
    clock.advance(cached - 0.1)
    http.call(a_call(target), target)
    assert site.issued == 1
    clock.advance(0.1)
    http.call(a_call(target), target)
    assert site.issued == 2


def test_http_auth_oauth_does_not_share_tokens_between_tenants(http, server, site):
    http.secrets.known["other", "crm"] = "another secret"
    target = oauth(server)
    http.call(a_call(target), target)
    call = a_call(target)
    http.call(replace(call, run=varied(call.run, tenant="other")), target)
    assert [seen.headers["Authorization"] for seen in requests(server, "/")] == [
        "Bearer first-token",
        "Bearer second-token",
    ]


def test_http_auth_oauth_renews_token_that_target_no_longer_accepts(http, server, site, clock):
    target = oauth(server)
    http.call(a_call(target), target)
    clock.advance(1)
    site.valid = {"second-token"}
    assert isinstance(http.call(a_call(target), target), Returned)
    assert len(requests(server, "/")) == 3


def test_http_auth_oauth_does_not_renew_new_token(http, server, site):
    site.valid = set()
    target = oauth(server)
    outcome = http.call(a_call(target), target)
    assert isinstance(outcome, Failed)
    assert (outcome.code, site.issued, len(requests(server, "/"))) == ("http.401", 1, 1)


def test_http_auth_oauth_never_repeats_at_most_once_call(http, server, site, clock):
    target = oauth(server)
    http.call(a_call(target), target)
    clock.advance(1)
    site.valid = {"second-token"}
    call = a_call(target)
    outcome = http.call(replace(call, job=replace(call.job, delivery=Delivery.AT_MOST_ONCE)), target)
    assert isinstance(outcome, Failed)
    assert len(requests(server, "/")) == 2


@pytest.mark.parametrize(
    ("token", "code", "retryable", "said"),
    [
        ((401, {"error": "invalid_client"}), "token_refused", False, "answered 401: invalid_client"),
        (
            (400, {"error": "invalid_scope", "error_description": f"no {SECRET}"}),
            "token_refused",
            False,
            "answered 400: invalid_scope: no ***",
        ),
        ((403, b"<html>"), "token_refused", False, "answered 403: Forbidden"),
        ((503, None), "token_unavailable", True, "answered 503: Service Unavailable"),
        ((429, None), "token_unavailable", True, "answered 429: Too Many Requests"),
        ((200, b"OK"), "token_refused", False, "without a valid access_token"),
        ((200, {"access_token": "a\r\nb", "token_type": "Bearer"}), "token_refused", False, "a valid access_token"),
        ((200, {"access_token": "abc", "token_type": "mac"}), "token_refused", False, "other than Bearer"),
        ((200, {"access_token": "a" * 8_001, "token_type": "Bearer"}), "token_refused", False, "more than 8000"),
        ((302, None), "token_refused", False, "answered 302: Found"),
    ],
)
def test_http_auth_oauth_reports_rejected_token_request_and_calls_nothing(
    http, server, site, token, code, retryable, said
):
    site.token = token
    target = oauth(server)
    outcome = http.call(a_call(target), target)
    assert isinstance(outcome, Failed)
    assert (outcome.code, outcome.retryable) == (code, retryable)
    assert f"POST {server.url('/token')}" in outcome.error
    assert said in outcome.error
    assert requests(server, "/") == []


@pytest.mark.parametrize("status", [400, 503])
def test_http_auth_oauth_redacts_header_credentials_that_the_authorization_server_returns(http, server, site, status):
    encoded = b64encode(f"jobs:{quote_plus(SECRET)}".encode()).decode()
    site.token = (status, {"error": "invalid_client", "error_description": f"the header was Basic {encoded}"})
    target = oauth(server, credentials=Credentials.HEADER)
    outcome = http.call(a_call(target), target)
    assert isinstance(outcome, Failed)
    assert outcome.error.endswith(f"answered {status}: invalid_client: the header was Basic ***")


def test_http_auth_oauth_reports_unavailable_authorization_server(http, server):
    target = HttpTarget(server.url(), auth=OAuth("http://127.0.0.1:9/token", "jobs", "crm"))
    outcome = http.call(a_call(target), target)
    assert isinstance(outcome, Failed)
    assert (outcome.code, outcome.retryable) == ("token_unavailable", True)
    assert requests(server, "/") == []


def test_http_auth_oauth_rejects_authorization_server_at_private_address(clock, server):
    http = HttpCaller(clock, private=False, secrets=InMemorySecrets({("acme", "crm"): SECRET}))
    target = oauth(server)
    outcome = http.call(a_call(target), target)
    assert isinstance(outcome, Failed)
    assert (outcome.code, outcome.retryable) == ("token_refused", False)
    assert server.seen == []


def test_http_auth_oauth_deadline_of_a_call_does_not_end_the_token_request_for_others(http, site, server):
    issue, going = Event(), Event()

    def slow(seen: Seen) -> tuple[int, object]:
        if seen.path == "/token":
            going.set()
            issue.wait(PATIENCE_SECONDS)
        return site.answer(seen)

    server.behaviour = documents(slow)
    target = oauth(server)
    with ThreadPoolExecutor(2) as pool:
        short = pool.submit(http.call, a_call(target, timeout_seconds=0.3), target)
        assert going.wait(PATIENCE_SECONDS)
        long = pool.submit(http.call, a_call(target, timeout_seconds=PATIENCE_SECONDS), target)
        late = short.result()
        issue.set()
        outcome = long.result()
    assert isinstance(late, Failed)
    assert (late.code, late.retryable) == ("token_unavailable", True)
    assert isinstance(outcome, Returned)
    assert site.issued == 1


def test_http_auth_reports_missing_secret(http, server):
    http.secrets.known.clear()
    target = oauth(server)
    assert http.call(a_call(target), target) == Failed(
        "there is no secret named crm", retryable=False, code="secret_unknown"
    )
    assert server.seen == []


def test_http_auth_never_stores_token_from_response(http, server, site):
    site.echo = True
    target = oauth(server)
    assert http.call(a_call(target), target) == Returned({"status": 200, "body": '{"given": "Bearer ***"}'})


def test_http_auth_does_not_show_tokens_when_caller_is_printed(http, server):
    target = oauth(server)
    http.call(a_call(target), target)
    assert "first-token" not in repr(http)
    assert "first-token" not in repr([getattr(http.tokens, name) for name in type(http.tokens).__slots__])


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b'{"access_token": 1}', orjson.dumps({"access_token": "x y"})])
def test_http_auth_accepts_only_valid_tokens(body):
    with pytest.raises(TokenProblemError):
        read_token(body)


@pytest.mark.parametrize("body", [b"", b"[]", b'{"error": 1}', b'{"error": "a\\nb"}'])
def test_http_auth_accepts_only_errors_in_standard_form(body):
    assert error_of(body) is None


class Signing:
    """ports.TokenSigner. It counts its tokens; `problem` is raised instead."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []
        self.problem: str | None = None

    def token(self, subject: str, audience: str) -> str:
        if self.problem is not None:
            raise TokensUnavailableError(self.problem)
        self.asked.append((subject, audience))
        return f"token-{len(self.asked)}"


def oidc(server: HttpTargetServer, audience: str = "https://shop.example") -> HttpTarget:
    return HttpTarget(server.url(), auth=OidcAuth(audience))


@pytest.fixture
def signing():
    return Signing()


@pytest.fixture
def signed(clock, signing):
    return HttpCaller(clock, private=True, secrets=InMemorySecrets({}), signer=signing)


def test_http_auth_oidc_sends_one_token_for_each_job_and_audience_until_ten_minutes_before_its_end(
    signed, signing, server, clock
):
    first = a_call(oidc(server))
    other_job = a_call(oidc(server))
    other_job = replace(other_job, run=varied(other_job.run, identity=replace(other_job.run.identity, job_id="other")))
    for call in (first, first, other_job, a_call(oidc(server, "https://crm.example"))):
        signed.call(call, call.job.target)
    subject = f"acme/{first.run.job_id}"
    assert signing.asked == [
        (subject, "https://shop.example"),
        ("acme/other", "https://shop.example"),
        (subject, "https://crm.example"),
    ]
    clock.advance(TOKEN_SECONDS - SKEW_SECONDS - 601)
    signed.call(first, first.job.target)
    assert len(signing.asked) == 3
    clock.advance(1)
    signed.call(first, first.job.target)
    sent = [seen.headers["Authorization"].removeprefix("Bearer token-") for seen in server.seen]
    assert sent == ["1", "1", "2", "3", "1", "4"]


def test_http_auth_oidc_tokens_of_many_jobs_leave_access_tokens_cached(clock, signing, server):
    caller = HttpCaller(clock, private=True, secrets=InMemorySecrets({("acme", "crm"): SECRET}), signer=signing)
    access, call = a_call(oauth(server)), a_call(oidc(server))
    caller.call(access, access.job.target)
    for number in [*range(257), *range(257)]:
        of_job = varied(call.run, identity=replace(call.run.identity, job_id=f"job-{number}"))
        caller.call(replace(call, run=of_job), call.job.target)
    caller.call(access, access.job.target)
    assert (len(signing.asked), len(requests(server, "/token"))) == (257, 1)


def test_http_auth_oidc_token_is_removed_from_results(signed, site, server):
    site.valid.add("token-1")
    site.echo = True
    target = oidc(server)
    outcome = signed.call(a_call(target), target)
    assert isinstance(outcome, Returned)
    assert "token-1" not in orjson.dumps(outcome.result).decode()


def test_http_auth_oidc_without_a_signature_is_retried_and_names_the_reason(signed, signing, server):
    signing.problem = "KMS: ThrottlingException"
    target = oidc(server)
    outcome = signed.call(a_call(target), target)
    assert isinstance(outcome, Failed)
    assert (outcome.code, outcome.retryable, server.seen) == ("token_unavailable", True, [])
    assert outcome.error == "the token for https://shop.example was not signed: KMS: ThrottlingException"


def test_http_auth_oidc_of_a_stage_without_keys_fails_at_once(http, server):
    target = oidc(server)
    outcome = http.call(a_call(target), target)
    assert isinstance(outcome, Failed)
    assert (outcome.code, outcome.retryable, server.seen) == ("token_refused", False, [])
    assert "oidc_keys" in outcome.error
