"""The console as the template has it: who logs in to it where, what its page is told, and where there is none."""

import json
from typing import Any

from duecourse.api.identity import SCOPES
from duecourse.version import VERSION
from tests.infra.conftest import Stack
from tests.support.policies import written
from tests.support.template import template

ISSUER = {"issuer": "https://issuer.example/", "audience": "duecourse, reports"}
SETTINGS = "DUECOURSE_CONSOLE_SETTINGS"
CONSOLE = {"GET /console", "GET /console/{file+}"}


def made(stage: str, **context: str) -> Stack:
    return Stack(stage, template(stage, **context))


def browser_client(stack: Stack) -> tuple[str, dict[str, Any]]:
    """The client by which people log in to the console: its logical id and properties."""
    clients = stack.resources("AWS::Cognito::UserPoolClient").items()
    ((name, found),) = [(name, each) for name, each in clients if name != stack.output("UserPoolClientId")]
    return name, found


def told(stack: Stack) -> dict[str, Any]:
    """What the console's page is told, with `{...}` for what the deployment knows."""
    found: dict[str, Any] = json.loads(written(stack.function("ConsoleFunction")["Environment"]["Variables"][SETTINGS]))
    return found


def test_console_stack_user_pool_login_uses_a_code_and_returns_to_the_console(aws_stack: Stack) -> None:
    name, client = browser_client(aws_stack)
    api, users = aws_stack.output("ApiId"), aws_stack.output("UserPoolId")
    assert client["AllowedOAuthFlows"] == ["code"]
    assert {written(scope).rpartition("/")[2] for scope in client["AllowedOAuthScopes"]} == {"openid", *SCOPES}
    assert [written(url) for url in client["CallbackURLs"]] == [f"{{{api}.ApiEndpoint}}/console"]
    assert client["LogoutURLs"] == client["CallbackURLs"]
    assert client["SupportedIdentityProviders"] == ["COGNITO"]
    assert told(aws_stack) == {
        "stage": aws_stack.stage, "version": VERSION, "region": "{Region}", "auth": "oidc",
        "issuer": f"{{{users}.ProviderURL}}", "client_id": f"{{{name}}}",
        "scope": "openid duecourse/jobs:read duecourse/jobs:write duecourse/ops",
        "docs_url": None, "traces": True, "operator_view": False,
        "logs": {
            "api": [logs_of(aws_stack, f"{name}Function") for name in ("Api", "Callbacks")],
            "execute": [logs_of(aws_stack, f"Execute{lane}Function") for lane in ("High", "Normal", "Low", "Long")],
        },
    }  # fmt: skip


def logs_of(stack: Stack, output: str) -> str:
    return f"{{{stack.function(output)['LoggingConfig']['LogGroup']['Ref']}}}"


def test_console_stack_copied_refresh_token_expires_when_the_page_rotates_its_own(aws_stack: Stack) -> None:
    _, client = browser_client(aws_stack)
    assert client["RefreshTokenRotation"] == {"Feature": "ENABLED", "RetryGracePeriodSeconds": 10}
    assert "ALLOW_REFRESH_TOKEN_AUTH" not in client["ExplicitAuthFlows"], "with it, Cognito refuses the rotation"


def test_console_stack_login_page_has_a_stage_domain_and_the_required_branding(aws_stack: Stack) -> None:
    (domain,) = aws_stack.resources("AWS::Cognito::UserPoolDomain").values()
    assert written(domain["Domain"]) == f"duecourse-{aws_stack.stage}-{{AccountId}}"
    assert domain["ManagedLoginVersion"] == 2
    (branding,) = aws_stack.resources("AWS::Cognito::ManagedLoginBranding").values()
    assert branding["ClientId"] == {"Ref": browser_client(aws_stack)[0]}


def test_console_stack_allows_connections_to_the_user_pool_and_its_login_page(aws_stack: Stack) -> None:
    connect = aws_stack.function("ConsoleFunction")["Environment"]["Variables"]["DUECOURSE_CONSOLE_CONNECT"]
    (domain,) = aws_stack.resources("AWS::Cognito::UserPoolDomain")
    issuer = {"Fn::GetAtt": [aws_stack.output("UserPoolId"), "ProviderURL"]}
    host = {"Fn::Select": [2, {"Fn::Split": ["/", issuer]}]}
    page = [".auth.", {"Ref": "AWS::Region"}, ".amazoncognito.com"]
    assert connect == {"Fn::Join": ["", ["https://", host, " https://", {"Ref": domain}, *page]]}


def test_console_stack_login_at_another_issuer_uses_its_configured_client() -> None:
    stack = made("prod", console_client="web", console_scope="openid api", **ISSUER)
    page = told(stack)
    assert (page["auth"], page["issuer"], page["client_id"]) == ("oidc", ISSUER["issuer"], "web")
    assert page["scope"] == "openid api"
    assert stack.environment("ConsoleFunction")["DUECOURSE_CONSOLE_CONNECT"] == "https://issuer.example"
    open_routes = [each for each in stack.resources("AWS::ApiGatewayV2::Route").values() if each["RouteKey"] in CONSOLE]
    assert [route["AuthorizationType"] for route in open_routes] == ["NONE", "NONE"]


def test_console_stack_requires_no_login_locally(local: Stack) -> None:
    page = told(local)
    assert (page["auth"], page["issuer"], page["client_id"], page["scope"]) == ("none", None, None, None)
    assert local.environment("ConsoleFunction")["DUECOURSE_CONSOLE_CONNECT"] == ""


def test_console_stack_is_omitted_where_browsers_cannot_call_the_api() -> None:
    for stack in (made("prod", tenant_claim="org", **ISSUER), made("dev", auth="iam")):
        assert {"ConsoleUrl", "ConsoleFunction"}.isdisjoint(stack.template["Outputs"])
        routes = stack.resources("AWS::ApiGatewayV2::Route").values()
        assert "NONE" not in {route["AuthorizationType"] for route in routes if route["RouteKey"] in CONSOLE}
