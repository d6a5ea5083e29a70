"""The HTTP API and the alarm."""

from __future__ import annotations

import json

from tests.infra.conftest import Stack

OUTPUTS = {
    "AlarmsTopicArn", "ApiFunction", "ApiId", "ApiUrl", "DeadLetterQueueUrl", "DeathsTopicArn", "DispatchFunction",
    "ExecuteHighFunction", "ExecuteLongFunction", "ExecuteLowFunction", "ExecuteNormalFunction", "JobsTable",
    "LaneHighUrl", "LaneLongUrl", "LaneLowUrl", "LaneNormalUrl", "RunsTable", "ShardQueueUrl", "TickFunction",
}  # fmt: skip


def test_the_api_is_behind_iam_outside_local(aws_stack: Stack) -> None:
    routes = aws_stack.resources("AWS::ApiGatewayV2::Route").values()
    assert [route["AuthorizationType"] for route in routes] == ["AWS_IAM"]


def test_the_local_api_is_open(local: Stack) -> None:
    (route,) = local.resources("AWS::ApiGatewayV2::Route").values()
    assert route["AuthorizationType"] == "NONE"


def test_one_route_leads_to_the_api_function(stack: Stack) -> None:
    (route,) = stack.resources("AWS::ApiGatewayV2::Route").values()
    assert route["RouteKey"] == "ANY /v1/{proxy+}"
    (integration,) = stack.resources("AWS::ApiGatewayV2::Integration").values()
    assert integration["IntegrationUri"] == {"Fn::GetAtt": [stack.output("ApiFunction"), "Arn"]}
    assert integration["PayloadFormatVersion"] == "2.0"


def test_the_api_is_throttled_and_writes_access_logs_in_aws(aws_stack: Stack) -> None:
    (stage,) = aws_stack.resources("AWS::ApiGatewayV2::Stage").values()
    assert stage["StageName"] == "$default"
    assert stage["DefaultRouteSettings"]["ThrottlingRateLimit"] > 0
    line = json.loads(stage["AccessLogSettings"]["Format"])
    assert {"requestId", "status", "path"} <= set(line)


def test_a_dead_letter_raises_an_alarm(stack: Stack) -> None:
    alarms = {alarm["MetricName"]: alarm for alarm in stack.resources("AWS::CloudWatch::Alarm").values()}
    alarm = alarms["ApproximateNumberOfMessagesVisible"]
    assert alarm["Dimensions"][0]["Value"] == {"Fn::GetAtt": [stack.output("DeadLetterQueueUrl"), "QueueName"]}
    assert (alarm["ComparisonOperator"], alarm["Threshold"]) == ("GreaterThanThreshold", 0)
    assert alarm["AlarmActions"] == [{"Ref": stack.output("AlarmsTopicArn")}]


def test_the_outputs_are_those_that_clients_read(stack: Stack) -> None:
    assert set(stack.template["Outputs"]) == OUTPUTS


def test_no_resource_has_a_name_that_keeps_two_stacks_apart(stack: Stack) -> None:
    named = [
        name
        for name, each in stack.template["Resources"].items()
        if {"TableName", "QueueName", "FunctionName", "TopicName"} & each.get("Properties", {}).keys()
        and each["Type"]
        not in {"AWS::Lambda::Permission", "AWS::Lambda::EventSourceMapping", "AWS::Lambda::EventInvokeConfig"}
    ]
    assert named == []


def test_the_template_can_be_sent_inline(stack: Stack) -> None:
    assert len(json.dumps(stack.template, separators=(",", ":"))) < 51_200
