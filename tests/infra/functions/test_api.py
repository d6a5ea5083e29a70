"""The API and who may call it.

- The HTTP API but for who may call it, the alarm and the outputs.
- Who may call the API: each kind of authentication, as the template has it and as the configuration allows it.
"""

import importlib.util
import json
import re
from dataclasses import replace
from typing import Any

import pytest

from duecourse.api.identity import SCOPES
from duecourse.api.routes.keys import BY_KEY
from duecourse.api.routes.table import OPEN, ROUTES
from duecourse.cli.accounts import ENDING
from infra.application import build
from infra.settings.auth_config import OPEN_TO_READ, WELL_KNOWN, AuthConfig, LimitsConfig
from infra.settings.config import ConfigError, StageConfig
from infra.stages import STAGES, from_context
from tests.infra.conftest import LANE_OUTPUTS, Stack
from tests.support.template import ROOT, template

OUTPUTS = {
    "PagesTopicArn", "TicketsTopicArn",
    "ApiFunction", "ApiId", "ApiUrl", "BusName", "CallbacksFunction", "DeadLetterQueueUrl", "DeathsTopicArn",
    "DispatchFunction", "ExecuteHighFunction", "ExecuteLongFunction", "ExecuteLowFunction", "ExecuteNormalFunction",
    "JobsTable", *LANE_OUTPUTS, "LaneCallbacksUrl", "ResultsBucket", "RunsTable",
    "ShardQueueUrl", "ReconcileFunction", "TickFunction",
    "ArchiveBucket",
    "ArchiveDatabase",
    "ArchiveFailuresQueueUrl",
    "ArchiveFunction",
    "AuditFunction",
    "RepairFunction",
    "ConsoleFunction",
    "ConsoleUrl",
}  # fmt: skip
OF_USERS = {"ClaimsFunction", "UserPoolClientId", "UserPoolDomain", "UserPoolId"}
OF_HOOKS = {"POST /v1/hooks", "POST /v1/hooks/{key}"}
OF_KEYS = {"ANY /key/v1/{proxy+}"}
OF_CONSOLE = {"GET /console", "GET /console/{file+}"}
OF_CALLBACKS = {f"POST /v1/runs/{{run_id}}/{name}" for name in ("heartbeat", "log", "complete", "fail")}


def test_api_all_routes_except_callbacks_and_console_lead_to_the_api_function(stack: Stack) -> None:
    integrations = stack.resources("AWS::ApiGatewayV2::Integration")
    assert {each["PayloadFormatVersion"] for each in integrations.values()} == {"2.0"}
    behind = {
        json.dumps({"Fn::Join": ["", ["integrations/", {"Ref": name}]]}): each["IntegrationUri"]["Fn::GetAtt"][0]
        for name, each in integrations.items()
    }
    routes = stack.resources("AWS::ApiGatewayV2::Route").values()
    leads = {route["RouteKey"]: behind[json.dumps(route["Target"])] for route in routes}
    assert {key for key, function in leads.items() if function == stack.output("ConsoleFunction")} == OF_CONSOLE
    assert {key for key, function in leads.items() if function == stack.output("CallbacksFunction")} == OF_CALLBACKS
    others = {key for key, function in leads.items() if function == stack.output("ApiFunction")}
    assert others == set(leads) - OF_CONSOLE - OF_CALLBACKS


def test_api_functions_can_be_invoked_only_by_routes_of_this_api(stack: Stack) -> None:
    permissions = stack.resources("AWS::Lambda::Permission").values()
    sources = [each["SourceArn"] for each in permissions if each["Principal"] == "apigateway.amazonaws.com"]
    assert len(sources) == 3
    for source in sources:
        *_, api, rest = source["Fn::Join"][1]
        assert (api, rest) == ({"Ref": stack.output("ApiId")}, "/*/*/*")


def test_api_aws_stages_have_throttling_and_access_logs(aws_stack: Stack) -> None:
    (stage,) = aws_stack.resources("AWS::ApiGatewayV2::Stage").values()
    assert stage["StageName"] == "$default"
    assert stage["DefaultRouteSettings"]["ThrottlingRateLimit"] > 0
    line = json.loads(stage["AccessLogSettings"]["Format"])
    assert {"requestId", "status", "routeKey"} <= set(line)
    assert "path" not in line, "the path of a trigger URL contains an API key"


def test_api_public_routes_have_their_own_throttle_to_limit_cost_and_protect_other_routes(
    aws_stack: Stack,
) -> None:
    (stage,) = [each for each in aws_stack.template["Resources"].values() if each["Type"] == "AWS::ApiGatewayV2::Stage"]
    config = STAGES[aws_stack.stage].api
    limits = {"ThrottlingRateLimit": config.open_requests_per_second, "ThrottlingBurstLimit": config.open_burst}
    callbacks = {
        "ThrottlingRateLimit": config.callback_requests_per_second,
        "ThrottlingBurstLimit": config.callback_burst,
    }
    logs = {"ThrottlingRateLimit": config.log_requests_per_second, "ThrottlingBurstLimit": config.log_burst}
    hooks = {"ThrottlingRateLimit": config.hook_requests_per_second, "ThrottlingBurstLimit": config.hook_burst}
    console = {"ThrottlingRateLimit": config.console_requests_per_second, "ThrottlingBurstLimit": config.console_burst}
    assert stage["Properties"]["RouteSettings"] == {
        **{f"GET {path}": limits for path in (*OPEN_TO_READ, *WELL_KNOWN)},
        **dict.fromkeys(OF_CALLBACKS, callbacks),
        "POST /v1/runs/{run_id}/log": logs,
        **dict.fromkeys(OF_HOOKS | OF_KEYS, hooks),
        **dict.fromkeys(OF_CONSOLE, console),
    }
    assert config.open_requests_per_second <= config.requests_per_second / 10
    assert config.log_requests_per_second < config.callback_requests_per_second
    # A stage that names a route before it is there cannot be made: "Unable to find Route by key".
    routes = aws_stack.resources("AWS::ApiGatewayV2::Route")
    named = {name for name, route in routes.items() if route["RouteKey"] in stage["Properties"]["RouteSettings"]}
    assert len(named) == 13
    assert named <= set(stage["DependsOn"])


def test_api_documents_of_oidc_have_a_higher_limit_in_a_stage_with_keys() -> None:
    stack = Stack("dev", template("dev", oidc_keys=json.dumps(["2026"])))
    (stage,) = stack.resources("AWS::ApiGatewayV2::Stage").values()
    config = STAGES["dev"].api
    for path in WELL_KNOWN:
        assert stage["RouteSettings"][f"GET {path}"] == {
            "ThrottlingRateLimit": config.well_known_requests_per_second,
            "ThrottlingBurstLimit": config.well_known_burst,
        }
    assert config.well_known_requests_per_second >= 100, "a caller alone must not keep receivers from the keys"


@pytest.mark.parametrize("told", ["-", "Forbidden", "200"])
def test_api_access_log_entry_is_json_with_set_and_unset_values(aws_stack: Stack, told: str) -> None:
    """What is not set is a bare hyphen. `error.messageString` brings quotes of its own, but only where it is set, so
    that it is JSON neither with ours nor without.
    """
    (stage,) = aws_stack.resources("AWS::ApiGatewayV2::Stage").values()
    line = re.sub(r"\$context[.\w]*\w", told, stage["AccessLogSettings"]["Format"])
    assert "$" not in line
    assert set(json.loads(line).values()) == {told}
    assert "messageString" not in stage["AccessLogSettings"]["Format"]


def test_api_dead_letter_raises_an_alarm(stack: Stack) -> None:
    """The alarm counts dead runs in the logs (tests/support/alarm_cases), on the local stack the queue's messages."""
    (alarm,) = [
        each
        for each in stack.resources("AWS::CloudWatch::Alarm").values()
        if each["AlarmName"] == f"Duecourse/{stack.stage}/jobs-need-attention"
    ]
    assert (alarm["ComparisonOperator"], alarm["Threshold"]) == ("GreaterThanThreshold", 0)
    assert alarm["AlarmActions"] == [{"Ref": stack.output("TicketsTopicArn")}]


def test_api_outputs_are_those_that_clients_read(stack: Stack) -> None:
    users = OF_USERS if STAGES[stack.stage].auth.kind == "cognito" else set()
    under_a_key = {"EventFailuresQueueUrl"} if STAGES[stack.stage].encryption_key else set()
    connectors = {f"Connector{name.title()}Function" for name in STAGES[stack.stage].connectors}
    assert set(stack.template["Outputs"]) == OUTPUTS | users | under_a_key | connectors


def test_api_resources_have_no_fixed_names_so_two_stacks_can_coexist(stack: Stack) -> None:
    """A connector's role denies its own code some actions, so its name is known before it. It has the stack's name."""
    named = [
        name
        for name, each in stack.template["Resources"].items()
        if {"TableName", "QueueName", "FunctionName", "TopicName"} & each.get("Properties", {}).keys()
        and each["Type"]
        not in {
            "AWS::Lambda::Alias",
            "AWS::Lambda::EventInvokeConfig",
            "AWS::Lambda::EventSourceMapping",
            "AWS::Lambda::Permission",
            "AWS::Lambda::Version",
        }
        and not str(each["Properties"].get("FunctionName")).startswith(f"Duecourse-{stack.stage}-via-")
    ]
    assert named == []


def test_api_template_fits_within_the_cloudformation_limits(stack: Stack) -> None:
    """1 MB and 500 resources; well below, so that one notices in time."""
    assert len(json.dumps(stack.template)) < 500_000
    assert len(stack.template["Resources"]) < 300


EVERYTHING_ELSE = "ANY /v1/{proxy+}"
ISSUER = {"issuer": "https://issuer.example/", "audience": "duecourse, reports"}
WITHOUT_AUTHORIZER = {
    "GET /v1/health", "GET /v1/openapi.json", "POST /v1/runs/{run_id}/heartbeat", "POST /v1/runs/{run_id}/log",
    "POST /v1/runs/{run_id}/complete", "POST /v1/runs/{run_id}/fail", "POST /v1/hooks", "POST /v1/hooks/{key}",
    "GET /.well-known/openid-configuration", "GET /.well-known/jwks.json", *OF_KEYS,
}  # fmt: skip
CONSOLE = {"GET /console", "GET /console/{file+}"}


def configured(**context: str) -> StageConfig:
    return from_context(context.get)


def authorization(stack: Stack) -> dict[str, str]:
    """How each route knows its callers."""
    return {
        route["RouteKey"]: route["AuthorizationType"] for route in stack.resources("AWS::ApiGatewayV2::Route").values()
    }


def made(stage: str, **context: str) -> Stack:
    return Stack(stage, template(stage, **context))


def pool(stack: Stack) -> dict[str, Any]:
    (found,) = stack.resources("AWS::Cognito::UserPool").values()
    return found


def test_api_aws_routes_require_a_token_except_callbacks_triggers_health_and_description(aws_stack: Stack) -> None:
    assert authorization(aws_stack) == {EVERYTHING_ELSE: "JWT", **dict.fromkeys(WITHOUT_AUTHORIZER | CONSOLE, "NONE")}


def test_api_local_stage_requires_no_token(local: Stack) -> None:
    assert set(authorization(local).values()) == {"NONE"}
    assert local.environment("ApiFunction")["DUECOURSE_AUTH"] == "none"


def test_api_function_and_gateway_have_the_same_open_routes() -> None:
    """Below the prefix of API keys, the function itself requires a key for every path (test_keys_with_scopes.py)."""
    opened = {f"{method} {path.replace('<', '{').replace('>', '}')}" for method, path in OPEN}
    assert opened | OF_KEYS == WITHOUT_AUTHORIZER
    assert {f"ANY {BY_KEY}/v1/{{proxy+}}"} == OF_KEYS


def test_api_open_routes_are_existing_routes_or_the_planned_description() -> None:
    """None of them is open under a name that something else may get one day."""
    assert OPEN - {(method, path) for method, path, *_ in ROUTES} <= {("GET", "/v1/openapi.json")}


def test_api_any_token_issuer_can_replace_the_user_pool() -> None:
    stack = made("prod", tenant_claim="org", **ISSUER)
    (authorizer,) = stack.resources("AWS::ApiGatewayV2::Authorizer").values()
    assert authorizer["AuthorizerType"] == "JWT"
    assert authorizer["IdentitySource"] == ["$request.header.Authorization"]
    assert authorizer["JwtConfiguration"] == {"Issuer": ISSUER["issuer"], "Audience": ["duecourse", "reports"]}
    without_console = dict.fromkeys((EVERYTHING_ELSE, *CONSOLE), "JWT")
    assert authorization(stack) == {**without_console, **dict.fromkeys(WITHOUT_AUTHORIZER, "NONE")}
    told = stack.environment("ApiFunction")
    assert (told["DUECOURSE_AUTH"], told["DUECOURSE_TENANT_CLAIM"]) == ("jwt", "org")
    assert stack.resources("AWS::Cognito::UserPool") == {}


def test_api_iam_signatures_can_replace_tokens() -> None:
    stack = made("dev", auth="iam")
    without_console = dict.fromkeys((EVERYTHING_ELSE, *CONSOLE), "AWS_IAM")
    assert authorization(stack) == {**without_console, **dict.fromkeys(WITHOUT_AUTHORIZER, "NONE")}
    assert stack.environment("ApiFunction")["DUECOURSE_AUTH"] == "iam"
    assert stack.resources("AWS::Cognito::UserPool") == {}


def test_api_another_kind_of_authorization_removes_no_route_that_has_settings(aws_stack: Stack) -> None:
    """API Gateway keeps the settings of a removed route, and rejects the next update of the stage for them."""
    for other in (made(aws_stack.stage, auth="iam"), made(aws_stack.stage, **ISSUER)):
        (before,) = aws_stack.resources("AWS::ApiGatewayV2::Stage").values()
        (after,) = other.resources("AWS::ApiGatewayV2::Stage").values()
        assert after["RouteSettings"] == before["RouteSettings"]
        assert set(after["RouteSettings"]) <= set(authorization(other))


def test_api_another_kind_of_authorization_replaces_no_route(aws_stack: Stack) -> None:
    """A new route with the key of an old one would be rejected. So only the type of the authorization changes."""
    before, after = (
        {name: each["RouteKey"] for name, each in stack.resources("AWS::ApiGatewayV2::Route").items()}
        for stack in (aws_stack, made(aws_stack.stage, auth="iam"))
    )
    assert after == before


def test_api_user_pool_is_the_default_issuer(aws_stack: Stack) -> None:
    (authorizer,) = aws_stack.resources("AWS::ApiGatewayV2::Authorizer").values()
    users, client = aws_stack.output("UserPoolId"), aws_stack.output("UserPoolClientId")
    (consoles,) = set(aws_stack.resources("AWS::Cognito::UserPoolClient")) - {client}
    assert authorizer["JwtConfiguration"] == {
        "Issuer": {"Fn::GetAtt": [users, "ProviderURL"]},
        "Audience": [{"Ref": client}, {"Ref": consoles}],
    }
    told = aws_stack.environment("ApiFunction")
    assert (told["DUECOURSE_AUTH"], told["DUECOURSE_TENANT_CLAIM"]) == ("jwt", "tenant")


def test_api_users_cannot_sign_up_themselves(aws_stack: Stack) -> None:
    assert pool(aws_stack)["AdminCreateUserConfig"] == {"AllowAdminCreateUserOnly": True}


def test_api_users_cannot_choose_their_tenant(aws_stack: Stack) -> None:
    assert [attribute["Name"] for attribute in pool(aws_stack)["Schema"]] == ["tenant"]
    for client in aws_stack.resources("AWS::Cognito::UserPoolClient").values():
        assert client["WriteAttributes"] == ["email"], "left out, every attribute could be written"
        assert "custom:tenant" in client["ReadAttributes"]
        assert client["GenerateSecret"] is False
        assert client["PreventUserExistenceErrors"] == "ENABLED"
    commands = aws_stack.resource(aws_stack.output("UserPoolClientId"))["Properties"]
    assert commands["AllowedOAuthFlowsUserPoolClient"] is False


def test_api_user_pool_has_the_api_scopes_and_a_group_for_each(aws_stack: Stack) -> None:
    (server,) = aws_stack.resources("AWS::Cognito::UserPoolResourceServer").values()
    assert server["Identifier"] == "duecourse"
    assert {scope["ScopeName"] for scope in server["Scopes"]} == SCOPES
    groups = aws_stack.resources("AWS::Cognito::UserPoolGroup").values()
    assert {group["GroupName"] for group in groups} == SCOPES


def test_api_user_pool_customizes_access_tokens(aws_stack: Stack) -> None:
    assert pool(aws_stack)["LambdaConfig"]["PreTokenGenerationConfig"] == {
        "LambdaArn": {"Fn::GetAtt": [aws_stack.output("ClaimsFunction"), "Arn"]},
        "LambdaVersion": "V2_0",
    }
    assert pool(aws_stack)["UserPoolTier"] == "ESSENTIALS", "in a smaller one, access tokens cannot be shaped"


def test_api_users_are_retained_where_data_is_retained(aws_stack: Stack) -> None:
    kept = STAGES[aws_stack.stage].retain_data
    resource = aws_stack.resource(aws_stack.output("UserPoolId"))
    assert (resource["DeletionPolicy"], resource["UpdateReplacePolicy"]) == (
        ("RetainExceptOnCreate", "Retain") if kept else ("Delete", "Delete")
    )
    assert pool(aws_stack)["DeletionProtection"] == ("ACTIVE" if kept else "INACTIVE")


@pytest.mark.parametrize("stage", sorted(set(STAGES) - {"local"}))
def test_api_deployed_stage_always_requires_authentication(stage: str) -> None:
    with pytest.raises(ConfigError, match=r"auth\.kind must not be none outside the local stage"):
        replace(STAGES[stage], auth=AuthConfig(kind="none"))
    with pytest.raises(ConfigError, match=r"auth\.kind must not be none outside the local stage"):
        configured(stage=stage, auth="none")
    assert STAGES[stage].auth.kind == "cognito"


def test_api_open_local_stage_cannot_be_deployed_to_an_aws_account() -> None:
    with pytest.raises(ConfigError, match="every caller could run jobs in account 123456789012"):
        build(context={"stage": "local"}, environ={"CDK_DEFAULT_ACCOUNT": "123456789012"})


@pytest.mark.parametrize(
    ("context", "problem"),
    [
        ({"issuer": "https://issuer.example"}, "auth.audience must be the audience of the tokens"),
        ({"issuer": "https://issuer.example", "audience": " , "}, "auth.audience must be the audience"),
        ({"audience": "duecourse"}, "auth.issuer must be the issuer of the tokens"),
        ({"issuer": "", "audience": "duecourse"}, "auth.issuer must be the issuer of the tokens"),
        ({"auth": "jwt"}, "auth.issuer must be the issuer of the tokens"),
        ({"issuer": "http://issuer.example", "audience": "duecourse"}, "auth.issuer must be an https address"),
        ({"auth": "iam", **ISSUER}, "issuer and audience are for auth=jwt, not auth=iam"),
        ({"auth": "basic"}, "auth.kind must be one of cognito, jwt, iam, none"),
        ({"console_client": "web"}, "auth.console_client must be the id of a public client of auth.issuer"),
        ({"console_client": "", **ISSUER}, "auth.console_client must be the id of a public client of auth.issuer"),
        ({"console_client": "web", "auth": "iam"}, "auth.console_client must be the id of a public client"),
        ({"tenant_claim": ""}, "auth.claim must have 1 to 64 characters"),
        ({"tenant_claim": "c" * 65}, "auth.claim must have 1 to 64 characters"),
    ],
)
def test_api_incomplete_configuration_is_refused_with_the_field(context: dict[str, str], problem: str) -> None:
    with pytest.raises(ConfigError) as refused:
        configured(stage="prod", **context)
    assert problem in str(refused.value)


def test_api_issuer_with_another_auth_kind_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"auth\.issuer and audience are for the kind jwt, not cognito"):
        replace(STAGES["dev"], auth=AuthConfig(kind="cognito", issuer="https://issuer.example"))


def test_api_local_stage_may_use_an_issuer_on_this_machine() -> None:
    auth = configured(stage="local", issuer="http://127.0.0.1:8080", audience="duecourse").auth
    assert (auth.kind, auth.issuer, auth.tenant_claim) == ("jwt", "http://127.0.0.1:8080", "tenant")


@pytest.mark.parametrize(
    "limit",
    [
        "job_quota",
        "requests_per_second",
        "burst",
        "smallest_interval_seconds",
        "backfill_limit",
        "delayed_runs_per_hour",
    ],
)
def test_api_zero_limit_is_refused(limit: str) -> None:
    fine = {
        "job_quota": 5, "requests_per_second": 5, "burst": 5, "smallest_interval_seconds": 5, "backfill_limit": 5,
        "delayed_runs_per_hour": 5,
    }  # fmt: skip
    with pytest.raises(ConfigError, match=rf"limits\.{limit} must be a whole number from 1"):
        replace(STAGES["dev"], limits=LimitsConfig(**(fine | {limit: 0})))


def test_api_one_tenant_cannot_use_up_the_gateway_rate() -> None:
    for stage in set(STAGES) - {"local"}:
        config = STAGES[stage]
        assert config.limits.requests_per_second * 2 <= config.api.requests_per_second
        assert config.limits.burst * 2 <= config.api.burst


# --- the function that shapes access tokens


def claims(
    groups: list[str] | None, attributes: dict[str, str], trigger: str = "TokenGeneration_Authentication"
) -> dict[str, Any]:
    """What it answers for a user (the event after AWS's example of V2_0, its parts that matter)."""
    spec = importlib.util.spec_from_file_location("claims_handler", ROOT / "functions" / "token_claims" / "handler.py")
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    event = {
        "version": "2",
        "triggerSource": trigger,
        "request": {
            "userAttributes": {"sub": "8f7c", "email": "ann@example.com", **attributes},
            "groupConfiguration": {"groupsToOverride": groups, "iamRolesToOverride": [], "preferredRole": None},
            "scopes": ["openid", "duecourse/ops"],
        },
        "response": {"claimsAndScopeOverrideDetails": None},
    }
    answered: dict[str, Any] = module.handler(event, None)
    assert answered["request"] == event["request"]
    shaped: dict[str, Any] = answered["response"]["claimsAndScopeOverrideDetails"]["accessTokenGeneration"]
    return shaped


@pytest.mark.parametrize(
    "trigger", ["TokenGeneration_Authentication", "TokenGeneration_HostedAuth", "TokenGeneration_RefreshTokens"]
)
def test_api_user_token_has_tenant_and_group_scopes_and_loses_all_others(trigger: str) -> None:
    """By password, at the console's login page, where all scopes are asked for, and when it is renewed."""
    assert claims(["jobs:read", "jobs:write", "accountants"], {"custom:tenant": "acme"}, trigger) == {
        "claimsToAddOrOverride": {"tenant": "acme"},
        "scopesToAdd": ["duecourse/jobs:read", "duecourse/jobs:write"],
        "scopesToSuppress": ["duecourse/ops"],
    }


def test_api_group_may_be_a_scope_narrowed_to_a_tag() -> None:
    shaped = claims(["jobs:read:tag=billing", "jobs:write:tag=a/b", "ops:tag=x"], {"custom:tenant": "acme"})
    assert shaped["scopesToAdd"] == ["duecourse/jobs:read:tag=billing", "duecourse/jobs:write:tag=a/b"]
    assert len(shaped["scopesToSuppress"]) == len(SCOPES)


def test_api_service_account_cannot_change_itself() -> None:
    address = {"email": f"reports{ENDING}", "custom:tenant": "acme"}
    assert claims(["ops"], address)["scopesToSuppress"][-1] == "aws.cognito.signin.user.admin"
    assert "aws.cognito.signin.user.admin" not in claims(["ops"], {"custom:tenant": "acme"})["scopesToSuppress"]


@pytest.mark.parametrize("groups", [None, []])
def test_api_user_without_tenant_or_groups_gets_a_token_without_them(groups: list[str] | None) -> None:
    shaped = claims(groups, {})
    assert (shaped["claimsToAddOrOverride"], shaped["scopesToAdd"]) == ({}, [])
    assert len(shaped["scopesToSuppress"]) == len(SCOPES)
