"""A deployed stage with a JWT authorizer: who gets in, and what they see. The issuer is on this machine."""

import json
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from duecourse.client import ApiError, Client, ForbiddenError, UnauthorizedError
from duecourse.client.signing import Bearer
from tests.support.browser import PATIENCE_MS
from tests.support.deployed import SOON_ONCE, Template, deploy, functions
from tests.support.emulators import client, ministack
from tests.support.http_target import answering, http_target
from tests.support.issuer import AUDIENCE, Issuer, issuing
from tests.support.pages import follow, shell
from tests.support.template import ROOT
from tests.support.waiting import PATIENCE_SECONDS, awaited

QUEUE = "duecourse-target-work"
UNKNOWN = "http://127.0.0.1:1"
"""The issuer as the template is made with it; where it listens is known only when it does."""
EVERYTHING = "jobs:read jobs:write ops"
BODY = {"schedule": "rate(1 hour)", "target": {"type": "sqs", "queue": QUEUE}}


@dataclass(frozen=True)
class Deployed:
    """The stage as strangers and tenants see it."""

    endpoint: str
    base: str
    issuer: Issuer
    http: httpx.Client
    queue_url: str

    def ask(self, method: str, path: str, token: str | None = None, body: Any = None) -> httpx.Response:
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        return self.http.request(method, f"{self.base}/v1{path}", headers=headers, json=body)

    def token(self, tenant: str = "acme", scopes: str = EVERYTHING, **claims: Any) -> str:
        return self.issuer.token(tenant, scopes, **claims)

    def received(self) -> dict[str, Any]:
        """The next event that a job sends to the queue."""
        sqs = client("sqs", self.endpoint)
        (message,) = awaited("a message", lambda: sqs.receive_message(QueueUrl=self.queue_url).get("Messages"))
        event: dict[str, Any] = json.loads(message["Body"])
        return event


@pytest.fixture(scope="module")
def deployed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployed]:

    def issued(template: Template) -> None:
        """By whose address is known only now."""
        for resource in template["Resources"].values():
            if resource["Type"] == "AWS::ApiGatewayV2::Authorizer":
                resource["Properties"]["JwtConfiguration"]["Issuer"] = issuer.url
        for variables in functions(template):
            for name, value in variables.items():
                if isinstance(value, str):
                    variables[name] = value.replace(UNKNOWN, issuer.url)
                elif isinstance(value, dict) and "Fn::Join" in value:
                    glue, parts = value["Fn::Join"]
                    texts = [part.replace(UNKNOWN, issuer.url) if isinstance(part, str) else part for part in parts]
                    variables[name] = {"Fn::Join": [glue, texts]}

    with issuing() as issuer, ministack(tmp_path_factory.mktemp("tokens")) as endpoint:
        outputs = deploy(endpoint, issued, issuer=UNKNOWN, audience=AUDIENCE, console_client="page")
        queue_url = client("sqs", endpoint).create_queue(QueueName=QUEUE)["QueueUrl"]
        base = f"{endpoint}/_aws/execute-api/{outputs['ApiId']}/$default"
        with httpx.Client(trust_env=False, timeout=PATIENCE_SECONDS) as http:
            yield Deployed(endpoint, base, issuer, http, queue_url)


def problem(answer: httpx.Response) -> str:
    """What Duecourse itself says; empty where the gateway refused before it was asked."""
    return str(answer.json().get("type", "")).removeprefix("/problems/")


def test_tokens_are_required_by_every_route(deployed: Deployed) -> None:
    for method, path in (("GET", "/jobs"), ("POST", "/jobs"), ("GET", "/stats"), ("GET", "/nothing")):
        answer = deployed.ask(method, path, body=BODY if method == "POST" else None)
        assert (answer.status_code, problem(answer)) == (401, ""), (method, path)


def test_tokens_wrongly_signed_expired_or_for_others_are_refused(deployed: Deployed) -> None:
    foreign = Issuer(deployed.issuer.url)  # says the same, with a key of its own
    now = int(time.time())
    for token in (
        foreign.token("acme", EVERYTHING),
        deployed.token(exp=now - 60),
        deployed.token(nbf=now + 600),
        deployed.token(aud="another"),
        deployed.token(iss="https://elsewhere.example"),
        deployed.token()[:-8],
        "dc1.acme.1.secret",
    ):
        answer = deployed.ask("GET", "/jobs", token)
        assert (answer.status_code, problem(answer)) == (401, "")


def test_tokens_permit_exactly_their_scopes(deployed: Deployed) -> None:
    reader = deployed.token(scopes="openid jobs:read")
    assert deployed.ask("GET", "/jobs", reader).status_code == 200
    refused = deployed.ask("POST", "/jobs", reader, BODY)
    assert (refused.status_code, problem(refused)) == (403, "scope-missing")
    assert "jobs:write" in refused.json()["detail"]
    assert refused.json()["request_id"]
    prefixed = deployed.token(scopes="duecourse/jobs:write")
    assert deployed.ask("POST", "/jobs", prefixed, BODY).status_code == 201
    listed = deployed.token(scopes="", scope=None, scp=["jobs:read"])
    assert deployed.ask("GET", "/jobs", listed).status_code == 200


@pytest.mark.parametrize("tenant", [None, "", "a#b", "a" * 65, "../default"])
def test_tokens_without_a_valid_tenant_permit_nothing(deployed: Deployed, tenant: str | None) -> None:
    answer = deployed.ask("GET", "/jobs", deployed.issuer.token(tenant, EVERYTHING))
    assert (answer.status_code, problem(answer)) == (403, "bad-tenant")


def test_tokens_jobs_of_one_tenant_are_invisible_and_unchangeable_for_another(deployed: Deployed) -> None:
    acme, globex = deployed.token("acme"), deployed.token("globex")
    created = deployed.ask("POST", "/jobs", acme, {**BODY, "id": "secret-plan"})
    assert (created.status_code, created.json()["tenant"]) == (201, "acme")
    assert deployed.ask("GET", "/jobs/secret-plan", acme).status_code == 200
    for method, path in (("GET", ""), ("DELETE", ""), ("POST", "/pause"), ("POST", "/resume"), ("GET", "/runs")):
        answer = deployed.ask(method, f"/jobs/secret-plan{path}", globex)
        assert (answer.status_code, problem(answer)) == (404, "unknown-job"), (method, path)
    assert deployed.ask("GET", "/jobs", globex).json()["items"] == []
    assert deployed.ask("POST", "/jobs", globex, {**BODY, "id": "secret-plan"}).status_code == 201, "the name is free"
    assert deployed.ask("DELETE", "/jobs/secret-plan", globex).status_code == 204
    assert deployed.ask("GET", "/jobs/secret-plan", acme).json()["state"] == "ACTIVE"


def test_tokens_two_teams_page_works_as_described(deployed: Deployed, tmp_path: Path) -> None:
    tokens = {"ACME_TOKEN": deployed.token("two-teams-a"), "GLOBEX_TOKEN": deployed.token("two-teams-b")}
    tokens["BILLING_TOKEN"] = deployed.token("two-teams-a", "jobs:read:tag=billing jobs:write:tag=billing")
    environment = shell(tmp_path / "bin", deployed.endpoint, deployed.base) | tokens
    follow(ROOT / "docs" / "howto" / "two-teams.md", tmp_path, environment, {})


def test_tokens_unauthenticated_caller_only_learns_whether_the_api_responds(deployed: Deployed) -> None:
    assert set(deployed.ask("GET", "/health").json()) == {"status"}


@pytest.mark.parametrize("callback", ["heartbeat", "complete", "fail"])
def test_tokens_callbacks_require_only_the_token_of_the_run(deployed: Deployed, callback: str) -> None:
    path = f"/runs/nightly.20261121T064700Z/{callback}"
    for token in (None, deployed.token()):
        answer = deployed.ask("POST", path, token, {"error": "no"} if callback == "fail" else {})
        assert (answer.status_code, problem(answer)) == (401, "bad-token"), "Duecourse itself refuses, not the gateway"
        assert deployed.ask("GET", path, token).status_code in (401, 405)


def test_tokens_target_ends_its_run_with_the_token_of_the_run(deployed: Deployed) -> None:
    job = {**BODY, **SOON_ONCE, "completion": "callback", "completion_seconds": 600, "heartbeat_seconds": 300}
    assert deployed.ask("POST", "/jobs", deployed.token(), {**job, "id": "handed-over"}).status_code == 201
    event = deployed.received()
    run, token = event["callback"]["run"], event["callback"]["token"]
    assert deployed.ask("POST", f"/runs/{run}/heartbeat", token).status_code == 200
    assert deployed.ask("GET", f"/runs/{run}", token).status_code == 401, "it opens nothing but callbacks"
    done = deployed.ask("POST", f"/runs/{run}/complete", token, {"result": 3})
    assert done.status_code == 202, done.text


def test_tokens_client_sends_its_token(deployed: Deployed) -> None:
    token = Bearer(deployed.token("initech"))
    with Client(deployed.base, auth=token, timeout=PATIENCE_SECONDS, trust_env=False) as duecourse:
        made = duecourse.create_job({**BODY, "id": "reports"})
        assert [job.id for job in duecourse.list_jobs()] == [made.id]
    with Client(deployed.base, trust_env=False) as duecourse, pytest.raises(ApiError, match="401"):
        duecourse.list_jobs()


@contextmanager
def console(deployed: Deployed, browser: Browser, tenant: str, scopes: str = EVERYTHING) -> Iterator[Page]:
    """The console after a login: a browser of its own, which the issuer knows as that tenant's."""
    deployed.issuer.logs_in = (tenant, scopes)
    context = browser.new_context()
    context.set_default_timeout(PATIENCE_MS)
    page = context.new_page()
    page.goto(f"{deployed.base}/console#/jobs")
    expect(page.get_by_role("heading", name="Jobs", level=1)).to_be_visible(timeout=PATIENCE_MS)
    yield page
    context.close()


def test_tokens_are_replaced_by_an_api_key_only_below_its_prefix(deployed: Deployed) -> None:
    with Client(deployed.base, auth=Bearer(deployed.token("keyed", "jobs:read jobs:write"))) as owner:
        job = owner.create_job(BODY | {"id": "hourly", "tags": ["billing"]})
        key = owner.create_key("jobs:read:tag=billing")
        with Client(deployed.base, key=key.key) as client:
            assert [each.id for each in client.list_jobs().items] == [job.id]
            with pytest.raises(ForbiddenError, match="the API key has jobs:read:tag=billing"):
                client.delete_job(job.id)
        for token in (key.key, None):
            answer = deployed.ask("GET", "/jobs", token)
            assert (answer.status_code, problem(answer)) == (401, "")
        for given in ({}, {"Authorization": f"Bearer {deployed.token('keyed')}"}):
            answer = deployed.http.get(f"{deployed.base}/key/v1/jobs", headers=given)
            assert (answer.status_code, problem(answer)) == (401, "bad-key")
        owner.delete_key(key.id)
        with Client(deployed.base, key=key.key) as client, pytest.raises(UnauthorizedError, match="was revoked"):
            client.list_jobs()
        owner.delete_job(job.id)


def test_tokens_console_shows_each_tenant_only_its_own_jobs(deployed: Deployed, browser: Browser) -> None:
    for tenant, job in (("console-a", "of-a"), ("console-b", "of-b")):
        assert deployed.ask("POST", "/jobs", deployed.token(tenant), {**BODY, "id": job}).status_code == 201
    for tenant, own, other in (("console-a", "of-a", "of-b"), ("console-b", "of-b", "of-a")):
        with console(deployed, browser, tenant) as page:
            expect(page.get_by_role("link", name=own, exact=True)).to_be_visible()
            expect(page.get_by_role("link", name=other, exact=True)).to_have_count(0)
            expect(page.get_by_role("link", name=f"Tenant {tenant}")).to_be_visible()
            page.goto(f"{deployed.base}/console#/jobs/{other}")
            expect(page.get_by_role("heading", name="Job not found")).to_be_visible()


def test_tokens_expired_login_is_reported_and_a_new_one_returns_to_the_same_place(
    deployed: Deployed, browser: Browser
) -> None:
    with console(deployed, browser, "console-c") as page:
        # What becomes of a token that is no longer taken, whatever the browser's clock says of it.
        page.route("**/v1/**", lambda route: route.continue_(headers={**route.request.headers, "authorization": "x"}))
        expect(page.get_by_text("Your login has expired").first).to_be_visible()
        page.unroute("**/v1/**")
        page.get_by_role("button", name="Log in again").click()
        expect(page.get_by_role("heading", name="Jobs", level=1)).to_be_visible()
        expect(page.get_by_text("Your login has expired")).to_have_count(0)
        assert page.url.endswith("/console#/jobs")


def test_tokens_read_only_user_sees_the_reason_at_the_buttons(deployed: Deployed, browser: Browser) -> None:
    with console(deployed, browser, "console-d", "jobs:read") as page:
        create = page.get_by_role("link", name="Create job")
        create.hover()
        expect(create).to_have_attribute("aria-disabled", "true")
        expect(page.get_by_text("Your login lacks the jobs:write scope.").first).to_be_attached()


def test_tokens_job_created_with_the_form_fires_dies_and_is_redriven_manually(
    deployed: Deployed, browser: Browser
) -> None:
    status = 500

    def behave(handler: BaseHTTPRequestHandler) -> None:
        answering(status)(handler)

    with console(deployed, browser, "console-e") as page, http_target(behave) as target:
        page.get_by_role("link", name="Create job").first.click()
        for name, text in (("Id", "by-hand"), ("URL", target.url("/work")), ("Attempts", "1")):
            page.get_by_role("textbox", name=name, exact=True).fill(text)
        page.get_by_role("button", name="Every", exact=True).click()
        page.get_by_role("textbox", name="Number", exact=True).fill("5")
        page.get_by_role("button", name="Unit").click()
        page.get_by_role("option", name="seconds").click()
        page.get_by_role("button", name="Create job").click()
        expect(page).to_have_url(re.compile("#/jobs/by-hand$"))
        page.get_by_role("tab", name="Runs").click()
        dead = page.get_by_role("row").filter(has_text="DEAD")
        expect(dead.first).to_be_visible()
        page.get_by_role("button", name="Pause").click()
        page.get_by_role("dialog").get_by_role("button", name="Pause").click()
        expect(page.get_by_text("PAUSED")).to_be_visible()
        status = 200
        dead.first.get_by_role("link").first.click()
        page.get_by_role("button", name="Redrive").click()
        page.get_by_role("dialog").get_by_role("button", name="Redrive").click()
        expect(page.get_by_text("SUCCEEDED", exact=True)).to_be_visible()
        assert {seen.path for seen in target.seen} == {"/work"}
