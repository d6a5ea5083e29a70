"""Logins, tokens and signatures.

- Tokens of an issuer: shown, renewed before they expire, asked for with a secret, and kept where nobody else reads.
- Which API a client calls, and as whom.
- How calls say who makes them: tokens, and signatures for stages behind the IAM authorizer.
"""

import asyncio
import json
import stat
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any
from urllib.parse import parse_qs

import click
import httpx
import pytest
from botocore.credentials import Credentials
from click.testing import CliRunner

from duecourse.cli.commands.options import TOKEN, connected
from duecourse.cli.main import main
from duecourse.client import AsyncClient, Client, UnauthorizedError
from duecourse.client.access import Access, access, access_to
from duecourse.client.login import IssuedAuth, Issuer, TokenFile, TokenMemory, Tokens, TokenStore
from duecourse.client.signing import Bearer, SigV4, needs_signature, region_of
from tests.support.http_target import answering, http_target
from tests.unit.client.test_client import JOB

NOW = 1_800_000_000.0
ISSUER = Issuer("https://login.example.com/", "cli")


class World:
    """The issuer and the API, at one transport."""

    def __init__(self, **answer: Any) -> None:
        self.answer = {"access_token": "fresh", "expires_in": 600} | answer
        self.status = 200
        self.asked: list[dict[str, str]] = []
        self.shown: list[str] = []
        self.meanwhile: Callable[[], object] = lambda: None
        self.pool = "cognito-idp."

    def __call__(self, request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("openid-configuration"):
            return httpx.Response(200, json={"token_endpoint": "https://login.example.com/token"})
        if request.url.path == "/token":
            self.asked.append({name: values[0] for name, values in parse_qs(request.content.decode()).items()})
            self.meanwhile()
            return httpx.Response(self.status, json=self.answer)
        if request.url.host.startswith(self.pool):
            self.asked.append(json.loads(request.content) | {"target": request.headers["X-Amz-Target"]})
            return httpx.Response(200, json={"AuthenticationResult": {"AccessToken": "pooled", "ExpiresIn": 3600}})
        self.shown.append(request.headers["Authorization"])
        return httpx.Response(200, json=JOB)

    def client(self, store: TokenStore, issuer: Issuer = ISSUER) -> Client:
        auth = IssuedAuth(issuer, store, clock=lambda: NOW)
        return Client("https://api.example.com", auth=auth, transport=httpx.MockTransport(self), wait=lambda _: None)


def test_login_valid_token_is_sent_unchanged() -> None:
    world = World()
    world.client(TokenMemory(Tokens("kept", NOW + 61))).get_job("nightly")
    assert (world.shown, world.asked) == (["Bearer kept"], [])


def test_login_token_is_renewed_a_minute_before_it_expires_and_the_new_one_is_stored() -> None:
    world, store = World(refresh_token="next"), TokenMemory(Tokens("old", NOW + 59, "again"))
    client = world.client(store)
    client.get_job("nightly")
    client.get_job("nightly")
    assert world.shown == ["Bearer fresh"] * 2
    assert world.asked == [{"client_id": "cli", "grant_type": "refresh_token", "refresh_token": "again"}]
    assert store.tokens == Tokens("fresh", NOW + 600, "next")


def test_login_old_refresh_token_remains_valid_if_the_issuer_returns_no_new_one() -> None:
    store = TokenMemory(Tokens("old", NOW, "again"))
    World().client(store).get_job("nightly")
    assert store.tokens == Tokens("fresh", NOW + 600, "again")


THREADS = 8


def test_login_threads_that_share_a_client_renew_its_tokens_once() -> None:
    world, store = World(refresh_token="next"), TokenMemory(Tokens("old", NOW, "again"))
    world.meanwhile = lambda: [time.sleep(0) for _ in range(1000)]  # lets the other threads run
    client, start = world.client(store), Barrier(THREADS)

    def ask() -> None:
        start.wait()
        client.get_job("nightly")

    with ThreadPoolExecutor(THREADS) as pool:
        for asked in [pool.submit(ask) for _ in range(THREADS)]:
            asked.result()
    assert [form["refresh_token"] for form in world.asked] == ["again"]
    assert world.shown == ["Bearer fresh"] * THREADS


def test_login_tasks_that_share_a_client_renew_its_tokens_once() -> None:
    world = World(refresh_token="next")

    async def answer(request: httpx.Request) -> httpx.Response:
        await asyncio.sleep(0)  # lets the other tasks run
        return world(request)

    async def play() -> None:
        auth = IssuedAuth(ISSUER, TokenMemory(Tokens("old", NOW, "again")), clock=lambda: NOW)
        async with AsyncClient("https://api", auth=auth, transport=httpx.MockTransport(answer)) as client:
            await asyncio.gather(*(client.get_job("nightly") for _ in range(THREADS)))

    asyncio.run(play())
    assert [form["refresh_token"] for form in world.asked] == ["again"]
    assert world.shown == ["Bearer fresh"] * THREADS


def test_login_uses_tokens_renewed_by_another_process_if_the_issuer_rejects_a_second_renewal(
    tmp_path: Path,
) -> None:
    world, other, file = World(), World(refresh_token="next"), TokenFile(tmp_path / "prod.json")
    file.write(Tokens("old", NOW, "again"))
    world.status, world.answer = 400, {"error": "invalid_grant"}
    world.meanwhile = lambda: other.client(file).get_job("nightly")
    world.client(file).get_job("nightly")
    assert (len(world.asked), world.shown, other.shown) == (1, ["Bearer fresh"], ["Bearer fresh"])
    assert list(tmp_path.iterdir()) == [file.path]


def test_login_next_request_renews_the_tokens_after_an_interrupted_renewal() -> None:
    world = World()
    client = world.client(TokenMemory(Tokens("old", NOW, "again")))

    def broken() -> None:
        world.meanwhile = lambda: None
        raise httpx.ReadError("connection reset")

    world.meanwhile = broken
    client.get_job("nightly")
    assert (len(world.asked), world.shown) == (2, ["Bearer fresh"])


def test_login_service_account_requests_a_token_with_its_secret() -> None:
    world = World()
    issuer = Issuer("https://login.example.com", "robot", scope="duecourse/jobs:write", secret="s3cret")
    world.client(TokenMemory(), issuer).get_job("nightly")
    assert world.asked == [
        {
            "client_id": "robot",
            "client_secret": "s3cret",
            "grant_type": "client_credentials",
            "scope": "duecourse/jobs:write",
        }
    ]


def test_login_token_of_a_stack_user_pool_is_renewed_by_the_api_of_the_pool() -> None:
    world = World()
    pool = Issuer("https://cognito-idp.eu-central-1.amazonaws.com/eu-central-1_x", "app")
    world.client(TokenMemory(Tokens("old", NOW, "again")), pool).get_job("nightly")
    assert world.shown == ["Bearer pooled"]
    (asked,) = world.asked
    assert asked["AuthFlow"] == "REFRESH_TOKEN_AUTH"
    assert asked["AuthParameters"] == {"REFRESH_TOKEN": "again"}
    assert asked["target"] == "AWSCognitoIdentityProviderService.InitiateAuth"


def test_login_service_account_of_the_pool_sends_its_secret_each_time() -> None:
    world = World()
    pool = Issuer("http://127.0.0.1:4566/eu-central-1_x", "app", account="reports", secret="s3cret")
    store = TokenMemory(Tokens("old", NOW, "again"))
    auth = IssuedAuth(pool, store, clock=lambda: NOW)
    world.pool = "127.0.0.1"
    with Client("https://api.example.com", auth=auth, transport=httpx.MockTransport(world)) as client:
        client.get_job("nightly")
    assert world.shown == ["Bearer pooled"]
    (asked,) = world.asked
    assert (asked["AuthFlow"], asked["ClientId"]) == ("USER_PASSWORD_AUTH", "app")
    assert asked["AuthParameters"] == {"USERNAME": "reports", "PASSWORD": "s3cret"}, "whatever else would renew it"


def test_login_missing_or_expired_login_is_reported() -> None:
    world = World()
    with pytest.raises(UnauthorizedError, match="you are not logged in; log in: duecourse login"):
        world.client(TokenMemory()).get_job("nightly")
    world.status, world.answer = 400, {"error": "invalid_grant"}
    with pytest.raises(UnauthorizedError, match=r"the issuer responded with 400: .*invalid_grant.*; log in"):
        world.client(TokenMemory(Tokens("old", NOW, "again"))).get_job("nightly")


def test_login_invalid_token_response_is_not_quoted_since_it_may_contain_a_token() -> None:
    world = World(access_token="s3cret", expires_in="soon")
    with pytest.raises(UnauthorizedError, match="the issuer's response is not valid") as caught:
        world.client(TokenMemory(Tokens("old", NOW, "again"))).get_job("nightly")
    assert "s3cret" not in str(caught.value)


def test_login_secrets_and_tokens_are_not_printed_with_their_objects() -> None:
    tokens = Tokens("s3cret", NOW, "s3cret")
    issuer = Issuer("https://login", "app", account="reports", secret="s3cret")
    held = (tokens, TokenMemory(tokens), issuer, Access("https://api", token="s3cret", issuer=issuer))
    assert not [each for each in held if "s3cret" in repr(each)]


def test_login_stored_tokens_are_readable_only_by_their_owner(tmp_path: Path) -> None:
    kept = TokenFile.of("prod", {"XDG_STATE_HOME": str(tmp_path)})
    assert kept.read() is None
    kept.write(Tokens("secret", NOW, "again"))
    assert kept.read() == Tokens("secret", NOW, "again")
    assert stat.S_IMODE(kept.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(kept.path.parent.stat().st_mode) == 0o700
    kept.path.write_text("nonsense")
    assert kept.read() is None
    assert [kept.remove(), kept.remove()] == [True, False]


def profiles_in(folder: Path, *more: str) -> dict[str, str]:
    """An environment whose one profile is `prod`."""
    (folder / "duecourse").mkdir()
    lines = ["[prod]", 'api = "https://api"', 'issuer = "https://login"', 'client_id = "cli"', *more]
    (folder / "duecourse" / "profiles.toml").write_text("\n".join(lines))
    return {"XDG_CONFIG_HOME": str(folder)}


SECRET = {"DUECOURSE_CLIENT_SECRET": "s", "DUECOURSE_ISSUER": "https://login"}


def test_login_profile_contains_its_issuer_and_the_environment_the_secret(tmp_path: Path) -> None:
    home = profiles_in(tmp_path, 'audience = "duecourse"')
    assert access("prod", home).issuer == Issuer("https://login", "cli", audience="duecourse")
    robot = access("prod", home | SECRET)
    assert robot.issuer == Issuer("https://login", "cli", audience="duecourse", secret="s")


@pytest.mark.parametrize(
    "other",
    [
        {"DUECOURSE_ISSUER": "https://other"},
        {"DUECOURSE_ISSUER": "https://login.example.com"},
        {"DUECOURSE_CLIENT_ID": "other"},
        {"DUECOURSE_ACCOUNT": "other"},
    ],
)
def test_login_secret_of_the_environment_is_not_sent_to_another_issuer_or_client(
    tmp_path: Path, other: dict[str, str]
) -> None:
    assert access("prod", profiles_in(tmp_path) | SECRET | other).issuer == Issuer("https://login", "cli")


def test_login_secret_without_its_issuer_is_rejected_for_a_profile(tmp_path: Path) -> None:
    home = profiles_in(tmp_path) | {"DUECOURSE_CLIENT_SECRET": "s"}
    with pytest.raises(ValueError, match="without its issuer; set DUECOURSE_ISSUER to https://login if it belongs to"):
        access("prod", home)
    shown = access("prod", home | {"DUECOURSE_TOKEN": "t", "DUECOURSE_API": "https://api"})
    assert (shown.token, shown.issuer) == ("t", Issuer("https://login", "cli"))


def test_login_profile_of_a_service_account_requires_its_secret(tmp_path: Path) -> None:
    home = profiles_in(tmp_path, 'account = "reports"')
    assert access("prod", home | SECRET).issuer == Issuer("https://login", "cli", account="reports", secret="s")
    for environment in (home, home | SECRET | {"DUECOURSE_ACCOUNT": "other"}):
        with pytest.raises(ValueError, match="of the service account reports; set DUECOURSE_CLIENT_SECRET, and"):
            access("prod", environment)


def test_login_service_account_requires_no_profile() -> None:
    environment = {
        "DUECOURSE_API": "https://api",
        "DUECOURSE_ISSUER": "https://login",
        "DUECOURSE_CLIENT_ID": "app",
        "DUECOURSE_ACCOUNT": "reports",
        "DUECOURSE_CLIENT_SECRET": "s",
    }
    found = access(environment=environment)
    assert found.issuer == Issuer("https://login", "app", account="reports", secret="s")
    assert isinstance(found.auth(), IssuedAuth)
    del environment["DUECOURSE_CLIENT_SECRET"]
    with pytest.raises(ValueError, match="is set without DUECOURSE_CLIENT_SECRET"):
        access(environment=environment)


KEY = "dck_acme.SECRET"
PROFILES = """\
default = "prod"

[prod]
api = "https://prod.example.com"

[staging]
api = "https://staging.example.com"
"""


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "duecourse").mkdir()
    (tmp_path / "duecourse" / "profiles.toml").write_text(PROFILES)
    return {"XDG_CONFIG_HOME": str(tmp_path)}


def test_login_environment_takes_precedence_over_the_default_profile(home: dict[str, str]) -> None:
    assert access(environment=home) == Access("https://prod.example.com", profile="prod")
    named = home | {"DUECOURSE_API": "https://other.example.com", "DUECOURSE_TOKEN": "t"}
    assert access(environment=named) == Access("https://other.example.com", "t")


def test_login_requested_profile_takes_precedence_over_everything(home: dict[str, str]) -> None:
    named = home | {"DUECOURSE_API": "https://other.example.com"}
    assert access("staging", named).api == "https://staging.example.com"
    assert access(environment=named | {"DUECOURSE_PROFILE": "staging"}).api == "https://staging.example.com"


@pytest.mark.parametrize("profile", ["staging", None])
def test_login_token_of_the_environment_is_sent_only_to_its_api(home: dict[str, str], profile: str | None) -> None:
    token = home | {"DUECOURSE_TOKEN": "t"}
    wanted = profile or "prod"
    remedy = f"set DUECOURSE_API to https://{wanted}.example.com if it belongs to the profile {wanted}, or unset"
    with pytest.raises(ValueError, match=remedy):
        access(profile, token)
    own, other = {"DUECOURSE_API": f"https://{wanted}.example.com/"}, {"DUECOURSE_API": "https://test.example.com"}
    assert access(wanted, token | own).token == "t"
    assert access(wanted, token | other).token is None
    named = token | other | {"DUECOURSE_PROFILE": "staging"}
    assert (access(environment=named).api, access(environment=named).token) == ("https://staging.example.com", None)


def test_login_token_of_the_environment_is_sent_to_an_api_that_the_caller_names(home: dict[str, str]) -> None:
    token = home | {"DUECOURSE_TOKEN": "t"}
    assert access_to("https://a.example.com", token) == Access("https://a.example.com", "t")
    assert access_to("https://a.example.com/", token | {"DUECOURSE_API": "https://a.example.com"}).token == "t"
    with pytest.raises(
        ValueError, match=r"belongs to DUECOURSE_API \(https://b\.example\.com\), not to https://a\.example"
    ):
        access_to("https://a.example.com", token | {"DUECOURSE_API": "https://b.example.com"})


def test_login_api_key_of_the_environment_is_sent_only_to_its_api(home: dict[str, str]) -> None:
    key = home | {"DUECOURSE_API_KEY": KEY}
    with pytest.raises(ValueError, match="DUECOURSE_API_KEY is set without its API; set DUECOURSE_API to https://prod"):
        access(environment=key)
    own, other = {"DUECOURSE_API": "https://prod.example.com/"}, {"DUECOURSE_API": "https://test.example.com"}
    found = access("prod", key | own)
    assert (found.key, found.token, found.auth()) == (KEY, None, None)
    assert access("prod", key | other).key is None
    assert access(environment=key | other).key == KEY
    assert access_to("https://a.example.com", key).key == KEY
    with pytest.raises(ValueError, match=r"DUECOURSE_API_KEY belongs to DUECOURSE_API \(https://test"):
        access_to("https://a.example.com", key | other)
    with pytest.raises(ValueError, match="DUECOURSE_TOKEN and DUECOURSE_API_KEY are both set; unset one of them"):
        access("prod", key | own | {"DUECOURSE_TOKEN": "t"})
    assert "SECRET" not in repr(found)


def test_login_empty_api_key_of_the_environment_counts_as_not_set(home: dict[str, str]) -> None:
    given = home | {"DUECOURSE_API": "https://prod.example.com", "DUECOURSE_TOKEN": "t.t.t", "DUECOURSE_API_KEY": ""}
    for found in (access(environment=given), access("prod", given), access_to("https://prod.example.com", given)):
        assert (found.token, found.key) == ("t.t.t", None)


def test_login_api_key_replaces_signatures_and_logins(tmp_path: Path) -> None:
    environment = {"DUECOURSE_API": API, "DUECOURSE_API_KEY": KEY}
    assert access(environment=environment).auth() is None
    environment |= profiles_in(tmp_path) | {"DUECOURSE_API": "https://api"}
    found = access("prod", environment)
    assert (found.key, found.auth()) == (KEY, None)


def test_login_api_key_is_sent_below_its_prefix_by_both_clients() -> None:
    requests: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        requests.append(request)
        return httpx.Response(200, json={})

    async def asynchronously() -> None:
        async with AsyncClient("https://api/base/", key=KEY, transport=httpx.MockTransport(answer)) as client:
            await client.call("GET", "stats")
            await client.call("POST", "runs/x/heartbeat", token="t")

    with Client("https://api/base/", key=KEY, transport=httpx.MockTransport(answer)) as client:
        client.call("GET", "stats")
        client.call("POST", "runs/x/heartbeat", token="t")
    asyncio.run(asynchronously())
    assert [(each.url.path, each.headers["authorization"]) for each in requests] == 2 * [
        ("/base/key/v1/stats", f"Bearer {KEY}"),
        ("/base/v1/runs/x/heartbeat", "Bearer t"),
    ]
    assert "SECRET" not in str(vars(client))


@pytest.mark.parametrize(("given", "problem"), [
    ({"key": "eyJhbGciOi"}, "does not begin with dck_; check that it is not a token"),
    ({"key": "dck_a.b c"}, "contains a space"),
    ({"key": "dck_a.b", "auth": Bearer("t")}, "not both"),
])  # fmt: skip
def test_login_invalid_api_key_is_rejected_without_being_quoted(given: dict[str, Any], problem: str) -> None:
    for kind in (Client, AsyncClient):
        with pytest.raises(ValueError, match=problem) as refused:
            kind("https://api", **given)
        assert given["key"] not in str(refused.value)


def test_login_api_key_is_not_sent_without_encryption() -> None:
    with Client("http://api.example.com", key=KEY) as client, pytest.raises(ValueError, match="use https"):
        client.get_stats()


def test_login_client_from_the_environment_has_its_api_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DUECOURSE_API", "https://api")
    monkeypatch.setenv("DUECOURSE_API_KEY", KEY)
    sent: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(f"{request.url.path} {request.headers['authorization']}")
        return httpx.Response(200, json={})

    for more in ({}, {"key": "dck_b.other"}, {"auth": Bearer("t")}):
        with Client.from_env(transport=httpx.MockTransport(answer), **more) as client:
            client.call("GET", "stats")
    assert sent == [f"/key/v1/stats Bearer {KEY}", "/key/v1/stats Bearer dck_b.other", "/v1/stats Bearer t"]


@pytest.mark.parametrize("address", ["http://api.example.com", "http://10.0.0.1:8080", "http://127.0.0.1.example.com"])
def test_login_credentials_are_not_sent_without_encryption(address: str) -> None:
    requests: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        requests.append(request)
        return httpx.Response(200, json={})

    transport, stored = httpx.MockTransport(answer), TokenMemory(Tokens("t", 1e12))
    signature = SigV4(Credentials("key", "secret", "session"), "eu-central-1")
    for auth in (Bearer("t"), IssuedAuth(Issuer("https://login", "cli"), stored), signature):
        with (
            Client(address, auth=auth, transport=transport) as client,
            pytest.raises(ValueError, match="without encryption; use https"),
        ):
            client.get_stats()
    with (
        Client(address, transport=transport) as client,
        pytest.raises(ValueError, match="the run's token is not sent to http://"),
    ):
        client.call("POST", "runs/x/heartbeat", token="t")
    with pytest.raises(ValueError, match="the login is not sent to http://"):
        Issuer(address, "cli")
    assert requests == []
    for local in ("http://127.0.0.1:1", "http://localhost:1", "http://[::1]:1"):
        with Client(local, auth=Bearer("t"), transport=transport) as client:
            client.call("GET", "health")
    assert len(requests) == 3


def test_login_secret_is_not_sent_to_a_token_endpoint_without_encryption() -> None:
    requests: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        requests.append(request.method)
        return httpx.Response(200, json={"token_endpoint": "http://login.example.com/token"})

    auth = IssuedAuth(Issuer("https://login.example.com", "cli", secret="s"), TokenMemory())
    with (
        Client("https://api", auth=auth, transport=httpx.MockTransport(answer)) as client,
        pytest.raises(ValueError, match="the login is not sent to http://login"),
    ):
        client.call("GET", "health")
    assert requests == ["GET"]


def test_login_missing_settings_are_reported(home: dict[str, str], tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no profile test with an api"):
        access("test", home)
    with pytest.raises(ValueError, match="set DUECOURSE_API, write a profile"):
        access(environment={"XDG_CONFIG_HOME": str(tmp_path / "nowhere")})


def test_login_invalid_profile_file_is_named(home: dict[str, str]) -> None:
    Path(home["XDG_CONFIG_HOME"], "duecourse", "profiles.toml").write_text("[prod")
    with pytest.raises(ValueError, match=r"profiles\.toml cannot be read"):
        access(environment=home)


API = "https://abc123.execute-api.eu-central-1.amazonaws.com"
CHINA = "https://abc123.execute-api.cn-north-1.amazonaws.com.cn"


@pytest.mark.parametrize(
    ("api", "needed"),
    [
        (API, True),
        (CHINA, True),
        ("https://abc.execute-api.amazonaws.com.evil.example", False),
        ("http://127.0.0.1:4599/_aws/execute-api/abc", False),
        ("https://jobs.example", False),
    ],
)
def test_login_only_api_gateway_addresses_are_signed_automatically(api: str, needed: bool) -> None:
    assert needs_signature(api) is needed


def test_login_region_is_read_from_the_address() -> None:
    assert region_of(API) == "eu-central-1"
    assert region_of(CHINA) == "cn-north-1"
    assert region_of("https://jobs.example") is None


def test_login_every_call_is_signed_for_the_api_and_its_region() -> None:
    seen: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(200, json={"items": [], "next_cursor": None})

    auth = SigV4(Credentials("AKIDEXAMPLE", "secret", "token"), "eu-central-1")
    Client(API, auth=auth, transport=httpx.MockTransport(answer)).list_jobs(limit=5, cursor="a b")
    authorization = seen[0].headers["authorization"]
    assert authorization.startswith("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/")
    assert "/eu-central-1/execute-api/aws4_request" in authorization
    assert "SignedHeaders=host;x-amz-date;x-amz-security-token" in authorization
    assert seen[0].headers["x-amz-security-token"] == "token"


def seen_headers(**environment: str) -> list[httpx.Headers]:
    """What a command sends, with a transport in the place of the network."""
    with http_target(answering(200, b'{"items": [], "next_cursor": null}')) as server:
        runner = CliRunner(env={"DUECOURSE_API": server.url("").rstrip("/"), **environment})
        done = runner.invoke(main, ["jobs", "list"])
        assert done.exit_code == 0, done.output
        return [httpx.Headers(seen.headers) for seen in server.seen]


def test_login_token_is_sent_with_each_call() -> None:
    (headers,) = seen_headers(DUECOURSE_TOKEN="aaa.bbb.ccc")
    assert headers["authorization"] == "Bearer aaa.bbb.ccc"


def test_login_custom_address_gets_no_authorization_without_a_token() -> None:
    (headers,) = seen_headers()
    assert "authorization" not in headers


def test_login_api_gateway_address_is_not_signed_if_a_token_is_sent() -> None:
    with click.Context(click.Command("list")) as context:
        context.meta[TOKEN] = "aaa.bbb.ccc"
        with connected(API, None) as client:
            assert isinstance(client, Client)  # no AWS credentials were looked for


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--sign", "--token", "aaa.bbb.ccc"], "remove --sign, or --token"),
        (["--token", "dck_acme.SECRET"], "the token is an API key; set DUECOURSE_API_KEY instead"),
        (["--token", "two words"], "the token is empty, or contains a space"),
        (["--token", "line\nbreak"], "the token is empty, or contains a space"),
    ],
)
def test_login_unusable_token_is_rejected_without_being_quoted(arguments: list[str], said: str) -> None:
    done = CliRunner().invoke(main, ["jobs", "list", "--api", API, *arguments])
    assert done.exit_code == 2
    assert said in done.output
    assert arguments[-1] not in done.output


def test_login_token_is_not_shown_when_the_client_is_printed() -> None:
    assert "secret" not in repr(Bearer("secret")) + str(vars(Client(API, auth=Bearer("secret"))))


def test_login_command_sends_the_token_of_the_environment_only_to_its_api(tmp_path: Path) -> None:
    (tmp_path / "duecourse").mkdir()
    file = tmp_path / "duecourse" / "profiles.toml"
    with http_target(answering(200, b'{"items": [], "next_cursor": null}')) as server:
        address = server.url("").rstrip("/")
        file.write_text(f'default = "local"\n[local]\napi = "{address}"\n')

        def listed(*arguments: str, **environment: str) -> tuple[int, str]:
            given = {"XDG_CONFIG_HOME": str(tmp_path), "DUECOURSE_TOKEN": "t", **environment}
            done = CliRunner(env=given).invoke(main, ["jobs", "list", *arguments])
            return done.exit_code, done.output

        status, output = listed()
        assert (status, f"set DUECOURSE_API to {address} if it belongs to the profile local" in output) == (2, True)
        status, output = listed("--api", address, DUECOURSE_API="https://other.example.com")
        assert (status, "DUECOURSE_TOKEN belongs to DUECOURSE_API (https://other" in output) == (2, True)
        status, output = listed("--api", "http://jobs.example.com")
        assert (status, "the token is not sent to http://jobs.example.com" in output) == (2, True)
        assert server.seen == []
        assert listed("--token", "mine")[0] == 0
        assert listed("--api", address)[0] == 0
        assert listed(DUECOURSE_API=address)[0] == 0
        sent = [httpx.Headers(seen.headers).get("authorization") for seen in server.seen]
    assert sent == ["Bearer mine", "Bearer t", "Bearer t"]


def test_login_command_sends_the_api_key_of_the_environment() -> None:
    with http_target(answering(200, b'{"items": [], "next_cursor": null}')) as server:
        given = {"DUECOURSE_API": server.url("").rstrip("/"), "DUECOURSE_API_KEY": KEY}
        for arguments in ([], ["--token", "mine"]):
            assert CliRunner(env=given).invoke(main, ["jobs", "list", *arguments]).exit_code == 0
        refused = CliRunner(env=given).invoke(main, ["jobs", "list", "--sign"])
        assert (refused.exit_code, "unset DUECOURSE_API_KEY" in refused.output) == (2, True)
        sent = [(seen.path, httpx.Headers(seen.headers).get("authorization")) for seen in server.seen]
    assert [(path.partition("?")[0], text) for path, text in sent] == [
        ("/key/v1/jobs", f"Bearer {KEY}"),
        ("/v1/jobs", "Bearer mine"),
    ]
    body = b'{"type": "/problems/bad-key", "title": "Unauthorized", "detail": "It was revoked."}'
    with http_target(answering(401, body)) as server:
        done = CliRunner(env=given | {"DUECOURSE_API": server.url("").rstrip("/")}).invoke(main, ["jobs", "list"])
    assert "It was revoked; check DUECOURSE_API_KEY" in done.output
