"""Who may do what."""

from __future__ import annotations

from typing import Any

import pytest

from infra.bundling import SERVICES
from tests.infra.conftest import Stack

LOGS = {"logs:CreateLogStream", "logs:PutLogEvents"}
CONSUME = {"sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:ChangeMessageVisibility"}
EXECUTE = {
    "jobs": {"dynamodb:GetItem", "dynamodb:UpdateItem"},
    "runs": {"dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:DeleteItem", "dynamodb:Query"},
    "lane": {"sqs:SendMessage", *CONSUME},
    "deaths": {"sns:Publish"},
    "targets": {"lambda:InvokeFunction"},
    "logs": LOGS,
}
ALLOWED = {
    "Tick": {
        "jobs": {"dynamodb:GetItem", "dynamodb:UpdateItem"},
        "shards": {"sqs:SendMessage"},
        "logs": LOGS,
    },
    "Dispatch": {
        "jobs": {"dynamodb:GetItem", "dynamodb:UpdateItem", "dynamodb:PartiQLUpdate"},
        "jobs/index/due": {"dynamodb:Query"},
        "runs": {"dynamodb:PutItem", "dynamodb:Query"},
        "lanes": {"sqs:SendMessage"},
        "shards": CONSUME,
        "logs": LOGS,
    },
    "ExecuteHigh": EXECUTE,
    "ExecuteNormal": EXECUTE,
    "ExecuteLow": EXECUTE,
    "ExecuteLong": EXECUTE,
    "Api": {
        "jobs": {
            "dynamodb:GetItem",
            "dynamodb:BatchGetItem",
            "dynamodb:PutItem",
            "dynamodb:UpdateItem",
            "dynamodb:DeleteItem",
        },
        "jobs/index/tenant": {"dynamodb:Query"},
        "runs": {"dynamodb:Query", "dynamodb:PutItem"},
        "lanes": {"sqs:SendMessage"},
        "logs": LOGS,
    },
}


def role_of(function: dict[str, Any]) -> str:
    return str(function["Role"]["Fn::GetAtt"][0])


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def word_for(stack: Stack, resource: Any, function: dict[str, Any]) -> str:
    """What a policy's resource is called in the table above."""
    if "Fn::Join" in resource:
        parts = resource["Fn::Join"][1]
        if "duecourse-target-*" in parts[-1]:
            return "targets"
        return word_for(stack, parts[0], function) + parts[1]
    logical_id = resource.get("Ref") or resource["Fn::GetAtt"][0]
    own_lane = function["Environment"]["Variables"].get("DUECOURSE_QUEUE_URL", {}).get("Ref")
    lanes = [stack.output(f"Lane{name}Url") for name in ("High", "Normal", "Low", "Long")]
    words = {
        **dict.fromkeys(lanes, "lanes"),
        own_lane: "lane",
        stack.output("JobsTable"): "jobs",
        stack.output("RunsTable"): "runs",
        stack.output("ShardQueueUrl"): "shards",
        stack.output("DeathsTopicArn"): "deaths",
        function["LoggingConfig"]["LogGroup"]["Ref"]: "logs",
    }
    return words[logical_id]


@pytest.mark.parametrize("name", ALLOWED)
def test_each_function_may_do_exactly_what_it_does(stack: Stack, name: str) -> None:
    function = stack.functions()[name]
    allowed: dict[str, set[str]] = {}
    for statement in stack.statements(role_of(function)):
        assert statement["Effect"] == "Allow"
        for resource in as_list(statement["Resource"]):
            word = word_for(stack, resource, function)
            allowed.setdefault(word, set()).update(as_list(statement["Action"]))
    assert allowed == ALLOWED[name]


def test_no_statement_has_a_wildcard_resource_or_action(stack: Stack) -> None:
    for policy in stack.resources("AWS::IAM::Policy").values():
        for statement in policy["PolicyDocument"]["Statement"]:
            assert "*" not in as_list(statement["Resource"])
            assert not [action for action in as_list(statement["Action"]) if "*" in action]


def test_each_function_has_a_role_of_its_own_without_managed_policies(stack: Stack) -> None:
    roles = [role_of(function) for function in stack.functions().values()]
    assert len(roles) == len(set(roles))
    assert set(roles) == set(stack.resources("AWS::IAM::Role"))
    for role in stack.resources("AWS::IAM::Role").values():
        assert "ManagedPolicyArns" not in role


def test_the_layer_knows_every_service_that_a_role_may_use(stack: Stack) -> None:
    used = {
        action.split(":")[0]
        for policy in stack.resources("AWS::IAM::Policy").values()
        for statement in policy["PolicyDocument"]["Statement"]
        for action in as_list(statement["Action"])
    }
    assert used - {"logs"} <= SERVICES, "infra/bundling.py leaves this service's description out of the layer"


def test_this_accounts_alarms_may_publish(aws_stack: Stack) -> None:
    topic = {"Ref": aws_stack.output("AlarmsTopicArn")}
    policies = aws_stack.resources("AWS::SNS::TopicPolicy").values()
    (policy,) = [policy for policy in policies if policy["Topics"] == [topic]]
    (allow,) = [each for each in policy["PolicyDocument"]["Statement"] if each["Effect"] == "Allow"]
    assert allow["Principal"] == {"Service": "cloudwatch.amazonaws.com"}
    assert allow["Condition"] == {"StringEquals": {"aws:SourceAccount": {"Ref": "AWS::AccountId"}}}
