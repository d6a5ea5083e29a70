"""The HTTP API but for who may call it, the alarm and the outputs."""

from __future__ import annotations

import json
import re

import pytest

from infra.stages import STAGES
from tests.infra.conftest import LANE_OUTPUTS, Stack

OUTPUTS = {
    "AlarmsTopicArn", "PagesTopicArn", "TicketsTopicArn",
    "ApiFunction", "ApiId", "ApiUrl", "BusName", "CallbacksFunction", "DeadLetterQueueUrl", "DeathsTopicArn",
    "DispatchFunction", "ExecuteHighFunction", "ExecuteLongFunction", "ExecuteLowFunction", "ExecuteNormalFunction",
    "JobsTable", *LANE_OUTPUTS, "ResultsBucket", "RunsTable",
    "ShardQueueUrl", "SweepFunction", "TickFunction",
    "ArchiveBucket",
    "ArchiveDatabase",
    "ArchiveFailuresQueueUrl",
    "ArchiveFunction",
    "AuditFunction",
    "PatrolFunction",
    "ConsoleFunction",
    "ConsoleUrl",
}  # fmt: skip
OF_USERS = {"ClaimsFunction", "UserPoolClientId", "UserPoolDomain", "UserPoolId"}
OF_CONSOLE = {"GET /console", "GET /console/{file+}"}
OF_CALLBACKS = {f"POST /v1/runs/{{run_id}}/{name}" for name in ("heartbeat", "complete", "fail")}


def test_all_routes_lead_to_the_api_function_except_those_of_callbacks_and_of_the_console(stack: Stack) -> None:
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


def test_the_functions_can_be_invoked_by_every_route_of_this_api_alone(stack: Stack) -> None:
    permissions = stack.resources("AWS::Lambda::Permission").values()
    sources = [each["SourceArn"] for each in permissions if each["Principal"] == "apigateway.amazonaws.com"]
    assert len(sources) == 3
    for source in sources:
        *_, api, rest = source["Fn::Join"][1]
        assert (api, rest) == ({"Ref": stack.output("ApiId")}, "/*/*/*")


def test_the_api_is_throttled_and_writes_access_logs_in_aws(aws_stack: Stack) -> None:
    (stage,) = aws_stack.resources("AWS::ApiGatewayV2::Stage").values()
    assert stage["StageName"] == "$default"
    assert stage["DefaultRouteSettings"]["ThrottlingRateLimit"] > 0
    line = json.loads(stage["AccessLogSettings"]["Format"])
    assert {"requestId", "status", "path"} <= set(line)


def test_what_anybody_may_read_is_throttled_by_itself_so_that_strangers_can_neither_run_up_costs_nor_use_up_the_rest(
    aws_stack: Stack,
) -> None:
    (stage,) = [each for each in aws_stack.template["Resources"].values() if each["Type"] == "AWS::ApiGatewayV2::Stage"]
    config = STAGES[aws_stack.stage].api
    limits = {
        "ThrottlingRateLimit": config.open_requests_per_second,
        "ThrottlingBurstLimit": config.open_burst,
    }
    callbacks = {
        "ThrottlingRateLimit": config.callback_requests_per_second,
        "ThrottlingBurstLimit": config.callback_burst,
    }
    console = {
        "ThrottlingRateLimit": config.console_requests_per_second,
        "ThrottlingBurstLimit": config.console_burst,
    }
    assert stage["Properties"]["RouteSettings"] == {
        **{f"GET /v1/{name}": limits for name in ("health", "openapi.json")},
        **dict.fromkeys(OF_CALLBACKS, callbacks),
        **dict.fromkeys(OF_CONSOLE, console),
    }
    assert config.open_requests_per_second <= config.requests_per_second / 10
    # A stage that names a route before it is there cannot be made: "Unable to find Route by key".
    routes = aws_stack.resources("AWS::ApiGatewayV2::Route")
    named = {name for name, route in routes.items() if route["RouteKey"] in stage["Properties"]["RouteSettings"]}
    assert len(named) == 7
    assert named <= set(stage["DependsOn"])


@pytest.mark.parametrize("told", ["-", "Forbidden", "200"])
def test_a_line_of_the_access_log_is_json_whether_something_is_set_or_not(aws_stack: Stack, told: str) -> None:
    """What is not set is a bare hyphen. `error.messageString` brings quotes of its own, but only where it is set, so
    that it is JSON neither with ours nor without.
    """
    (stage,) = aws_stack.resources("AWS::ApiGatewayV2::Stage").values()
    line = re.sub(r"\$context[.\w]*\w", told, stage["AccessLogSettings"]["Format"])
    assert "$" not in line
    assert set(json.loads(line).values()) == {told}
    assert "messageString" not in stage["AccessLogSettings"]["Format"]


def test_a_dead_letter_raises_an_alarm(stack: Stack) -> None:
    queue = {"Fn::GetAtt": [stack.output("DeadLetterQueueUrl"), "QueueName"]}
    (alarm,) = [
        each
        for each in stack.resources("AWS::CloudWatch::Alarm").values()
        if each.get("MetricName") == "ApproximateNumberOfMessagesVisible" and each["Dimensions"][0]["Value"] == queue
    ]
    assert (alarm["ComparisonOperator"], alarm["Threshold"]) == ("GreaterThanThreshold", 0)
    assert alarm["AlarmActions"] == [{"Ref": stack.output("TicketsTopicArn")}, {"Ref": stack.output("AlarmsTopicArn")}]


def test_the_outputs_are_those_that_clients_read(stack: Stack) -> None:
    users = OF_USERS if STAGES[stack.stage].auth.kind == "cognito" else set()
    under_a_key = {"EventFailuresQueueUrl"} if STAGES[stack.stage].encryption_key else set()
    assert set(stack.template["Outputs"]) == OUTPUTS | users | under_a_key


def test_no_resource_has_a_name_that_keeps_two_stacks_apart(stack: Stack) -> None:
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
    ]
    assert named == []


def test_a_template_fits_into_what_cloudformation_takes(stack: Stack) -> None:
    """1 MB and 500 resources; well below, so that one notices in time."""
    assert len(json.dumps(stack.template)) < 500_000
    assert len(stack.template["Resources"]) < 300
