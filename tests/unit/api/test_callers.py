"""Who asks and what for: read from what the gateway's authorizer found out, checked before any route runs."""

from typing import Any

import pytest

from duecourse.api.api import Route
from duecourse.api.identity import SCOPES, Principal, admitted, caller_of, tags_of
from duecourse.api.problems import Problem
from duecourse.api.request import Request
from duecourse.api.routes.table import OPEN, ROUTES
from duecourse.domain.jobs.job import MAX_PRINCIPAL
from tests.support.api import api_settings
from tests.support.api_events import iam_caller, jwt_caller

TOKENS = api_settings(auth="jwt")
SCOPES_OF = {(route.method, route.path): route.scopes for route in ROUTES}
ARN = "arn:aws:sts::123456789012:assumed-role/deployer/ann"


def request(authorizer: dict[str, Any]) -> Request:
    return Request("r-1", authorizer=authorizer)


def refusal(authorizer: Any, method: str = "GET", path: str = "/v1/jobs", settings: Any = TOKENS) -> Problem:
    with pytest.raises(Problem) as caught:
        admitted(request(authorizer), SCOPES_OF[method, path], settings)
    return caught.value


def test_authorization_token_contains_tenant_subject_and_scopes() -> None:
    found = caller_of(jwt_caller("acme", "openid", "jobs:read", "ops"), TOKENS)
    assert found == Principal("acme", "ann", frozenset({"jobs:read", "ops"}))


@pytest.mark.parametrize(
    ("name", "claim"),
    [
        ("scope", "duecourse/jobs:read duecourse/ops aws.cognito.signin.user.admin"),
        ("scp", "jobs:read ops"),
        ("scp", "[jobs:read ops]"),
        ("scp", '["jobs:read","ops"]'),
        ("scp", ["jobs:read", "ops"]),
    ],
)
def test_authorization_scopes_are_parsed_as_written_by_issuers_and_the_gateway(name: str, claim: Any) -> None:
    authorizer = jwt_caller("acme", **{"scope": "", name: claim})
    assert caller_of(authorizer, TOKENS).scopes == {"jobs:read", "ops"}


@pytest.mark.parametrize(
    "claim",
    [
        *("jobs:readers", "xjobs:read", "duecourse/duecourse/ops", "JOBS:READ", "other/ops", ""),
        *("ops:tag=a", "jobs:read:tag=", "jobs:read:tag=ä", "jobs:read:tag=" + "a" * 65, "jobs:write:owner=a"),
        *("jobs:read:tag=a,b", "jobs:read:tag=a,ops", "[jobs:read:tag=a,ops other]", '["other,ops"]', '["other ops"]'),
        *("other,ops", "other[ops]", 'other"ops', "[ops", '["ops', '["ops"] x]', ["other ops"], [["ops"]], [None]),
    ],
)
def test_authorization_ignores_scopes_that_only_resemble_known_ones(claim: Any) -> None:
    for name in ("scope", "scp"):
        authorizer = jwt_caller("acme", **{"scope": "", name: claim})
        assert caller_of(authorizer, TOKENS).scopes == frozenset(), name


def test_authorization_scope_may_be_restricted_to_a_tag() -> None:
    tagged = ("jobs:read:tag=billing", "duecourse/jobs:write:tag=team:a/b=c")
    found = caller_of(jwt_caller("acme", *tagged), TOKENS)
    assert found.scopes == {"jobs:read:tag=billing", "jobs:write:tag=team:a/b=c"}


@pytest.mark.parametrize(
    ("granted", "tags"),
    [
        ({"jobs:read"}, None),
        ({"jobs:read", "jobs:read:tag=a"}, None),
        ({"jobs:read:tag=a", "jobs:read:tag=b"}, {"a", "b"}),
        ({"jobs:read:tag=a", "jobs:write:tag=b"}, {"a"}),
        ({"jobs:write:tag=b", "ops"}, set()),
        (set(), set()),
    ],
)
def test_authorization_read_route_is_restricted_to_the_tags_of_read_scopes(
    granted: set[str], tags: set[str] | None
) -> None:
    assert tags_of(frozenset({"jobs:read"}), frozenset(granted)) == tags


@pytest.mark.parametrize(
    ("claims", "principal"),
    [
        ({"sub": "ann", "client_id": "c-1"}, "ann"),
        ({"sub": "", "client_id": "c-1"}, "c-1"),
        ({"sub": "", "azp": "c-2"}, "c-2"),
        ({"sub": "x" * 1000}, "x" * MAX_PRINCIPAL),
        ({"sub": ""}, ""),
    ],
)
def test_authorization_principal_is_the_subject_or_else_the_client_id_of_the_token(
    claims: dict[str, str], principal: str
) -> None:
    assert caller_of(jwt_caller("acme", **claims), TOKENS).principal == principal


@pytest.mark.parametrize("tenant", [None, "", "a" * 65, "a b", "acme\n", "a#b", "../x", "ä", "[acme globex]"])
def test_authorization_rejects_a_token_without_a_valid_tenant_and_names_the_claim(tenant: str | None) -> None:
    problem = refusal(jwt_caller(tenant, "jobs:read"))
    assert (problem.status, problem.kind) == (403, "bad-tenant")
    assert "claim tenant" in problem.detail


def test_authorization_tenant_is_read_from_the_claim_configured_for_the_stage() -> None:
    settings = api_settings(auth="jwt", tenant_claim="custom:tenant")
    authorizer = jwt_caller("not-this", **{"custom:tenant": "acme"})
    assert caller_of(authorizer, settings).tenant == "acme"


@pytest.mark.parametrize("authorizer", [{}, {"jwt": {}}, {"jwt": {"claims": None}}, {"jwt": "x"}, iam_caller(ARN)])
def test_authorization_rejects_an_unauthenticated_caller_even_if_the_gateway_passes_it(authorizer: Any) -> None:
    problem = refusal(authorizer)
    assert (problem.status, problem.kind) == (401, "not-authenticated")
    assert problem.headers["www-authenticate"] == "Bearer"


def test_authorization_iam_caller_has_the_default_tenant_and_all_scopes() -> None:
    settings = api_settings(auth="iam")
    assert caller_of(iam_caller(ARN), settings) == Principal("default", ARN, SCOPES)
    assert refusal(jwt_caller("acme", *SCOPES), settings=settings).status == 401
    assert refusal({}, settings=settings).status == 401


def test_authorization_local_stack_requires_no_credentials() -> None:
    assert caller_of({}, api_settings(auth="none")) == Principal("default", "local", SCOPES)


@pytest.mark.parametrize(
    ("method", "path", "needed"),
    [
        ("GET", "/v1/jobs", {"jobs:read"}),
        ("GET", "/v1/dead-letters", {"jobs:read"}),
        ("POST", "/v1/schedules/preview", {"jobs:read"}),
        ("POST", "/v1/jobs", {"jobs:write"}),
        ("PUT", "/v1/jobs/<job_id>", {"jobs:write"}),
        ("POST", "/v1/jobs/<job_id>/pause", {"jobs:write"}),
        ("POST", "/v1/runs/<run_id>/cancel", {"jobs:write"}),
        ("POST", "/v1/runs/cancel", {"jobs:write", "ops"}),
        ("POST", "/v1/jobs/pause", {"jobs:write", "ops"}),
        ("POST", "/v1/jobs/resume", {"jobs:write", "ops"}),
        ("POST", "/v1/dead-letters/redrive", {"ops"}),
        ("GET", "/v1/stats", {"jobs:read", "ops"}),
    ],
)
def test_authorization_each_route_requires_its_scope(method: str, path: str, needed: set[str]) -> None:
    assert SCOPES_OF[method, path] == needed
    for scope in SCOPES:
        if scope in needed:
            assert admitted(request(jwt_caller("acme", scope)), SCOPES_OF[method, path], TOKENS).tenant == "acme"
        else:
            problem = refusal(jwt_caller("acme", scope), method, path)
            assert (problem.status, problem.kind) == (403, "scope-missing")
            assert all(word in problem.detail for word in needed)
            assert 'error="insufficient_scope"' in problem.headers["www-authenticate"]


def test_authorization_route_without_an_explicit_scope_requires_the_default_scope() -> None:
    handler = ROUTES[0].handler
    assert Route("GET", "/v1/to-come", handler, "jobs", {}).scopes == {"jobs:read"}
    assert Route("DELETE", "/v1/to-come", handler, "jobs", {}).scopes == {"jobs:write"}


@pytest.mark.parametrize(("method", "path"), sorted(OPEN))
@pytest.mark.parametrize("authorizer", [{}, jwt_caller(None, "ops")])
def test_authorization_unauthenticated_caller_of_an_open_route_has_no_tenant_or_scopes(
    method: str, path: str, authorizer: Any
) -> None:
    found = admitted(request(authorizer), SCOPES_OF[method, path], TOKENS)
    assert (found.tenant, found.principal, found.scopes) == ("", "", frozenset())
