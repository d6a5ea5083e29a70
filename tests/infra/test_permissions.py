"""Who may do what."""

from __future__ import annotations

from typing import Any

import pytest

from infra.bundling import SERVICES
from infra.stages import STAGES
from tests.infra.conftest import Stack

LOGS = {"logs:CreateLogStream", "logs:PutLogEvents"}
CONSUME = {"sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:ChangeMessageVisibility"}
END_RUNS = {
    "jobs": {"dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:UpdateItem"},
    "runs": {"dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:DeleteItem", "dynamodb:Query"},
    "deaths": {"sns:Publish"},
    "bus": {"events:PutEvents"},
    "logs": LOGS,
}
TARGET = "duecourse-target-*"
EXECUTE = {
    **END_RUNS,
    "lane": {"sqs:SendMessage", *CONSUME},
    "lanes": {"sqs:SendMessage"},
    "results/results/*": {"s3:PutObject"},
    "ssm:parameter/duecourse/{stage}/tasks/*": {"ssm:GetParameter"},
    "ssm:parameter/duecourse/{stage}/secrets/*": {"ssm:GetParameter"},
    f"lambda:function:{TARGET}": {"lambda:InvokeFunction"},
    f"sqs:{TARGET}": {"sqs:SendMessage", "sqs:GetQueueUrl"},
    f"sns:{TARGET}": {"sns:Publish"},
    f"events:event-bus/{TARGET}": {"events:PutEvents"},
    f"states:stateMachine:{TARGET}": {"states:StartExecution"},
    f"ecs:task-definition/{TARGET}:*": {"ecs:RunTask"},
    f"iam:role/{TARGET}": {"iam:PassRole"},
}
ALLOWED = {
    "Tick": {
        "jobs": {"dynamodb:GetItem", "dynamodb:UpdateItem"},
        "shards": {"sqs:SendMessage"},
        "logs": LOGS,
    },
    "Dispatch": {
        "jobs": {"dynamodb:GetItem", "dynamodb:UpdateItem", "dynamodb:PartiQLUpdate", "dynamodb:PartiQLDelete"},
        "jobs/index/due": {"dynamodb:Query"},
        "runs": {"dynamodb:PutItem", "dynamodb:Query"},
        "lanes": {"sqs:SendMessage"},
        "bus": {"events:PutEvents"},
        "shards": CONSUME,
        "logs": LOGS,
    },
    "ExecuteHigh": EXECUTE,
    "ExecuteNormal": EXECUTE,
    "ExecuteLow": EXECUTE,
    "ExecuteLong": EXECUTE,
    "Sweep": {
        **END_RUNS,
        "dead letters": {"sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:ChangeMessageVisibility"},
        "lanes": {"sqs:SendMessage"},
    },
    "Api": {
        "jobs": {
            "dynamodb:GetItem",
            "dynamodb:BatchGetItem",
            "dynamodb:BatchWriteItem",
            "dynamodb:PutItem",
            "dynamodb:UpdateItem",
            "dynamodb:DeleteItem",
            "dynamodb:Query",
        },
        "jobs/index/tenant": {"dynamodb:Query"},
        "runs": {"dynamodb:GetItem", "dynamodb:Query", "dynamodb:PutItem", "dynamodb:UpdateItem"},
        "runs/index/dead": {"dynamodb:Query"},
        "lanes": {"sqs:SendMessage", "sqs:GetQueueAttributes"},
        "results/results/*": {"s3:GetObject"},
        "ssm:parameter/duecourse/{stage}/tasks/*": {"ssm:GetParameter"},
        "logs": LOGS,
    },
    "Claims": {"logs": LOGS},
}


CLAIMS = "Claims"
"""Cognito's trigger: only where the stack makes a user pool."""


def role_of(function: dict[str, Any]) -> str:
    return str(function["Role"]["Fn::GetAtt"][0])


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def arn_of(parts: list[Any]) -> str:
    """An ARN in words: pseudo parameters by their names."""
    return "".join(part if isinstance(part, str) else str(part["Ref"]).removeprefix("AWS::") for part in parts)


def word_for(stack: Stack, resource: Any, function: dict[str, Any]) -> str:
    """What a policy's resource is called in the table above."""
    if "Fn::Join" in resource:
        parts = resource["Fn::Join"][1]
        if parts[0] == "arn:":
            _, partition, service, region, account, name = arn_of(parts).split(":", 5)
            assert (partition, account) == ("Partition", "AccountId")
            assert region == ("" if service == "iam" else "Region")
            return f"{service}:{name}"
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
        stack.output("DeadLetterQueueUrl"): "dead letters",
        stack.output("DeathsTopicArn"): "deaths",
        stack.output("BusName"): "bus",
        stack.output("ResultsBucket"): "results",
        function["LoggingConfig"]["LogGroup"]["Ref"]: "logs",
    }
    return words[logical_id]


@pytest.mark.parametrize("name", sorted(set(ALLOWED) - {CLAIMS}))
def test_each_function_may_do_exactly_what_it_does(stack: Stack, name: str) -> None:
    function = stack.functions()[name]
    allowed: dict[str, set[str]] = {}
    for statement in stack.statements(role_of(function)):
        assert statement["Effect"] == "Allow"
        for resource in as_list(statement["Resource"]):
            word = word_for(stack, resource, function)
            allowed.setdefault(word, set()).update(as_list(statement["Action"]))
    expected = {word.format(stage=stack.stage): actions for word, actions in ALLOWED[name].items()}
    if STAGES[stack.stage].allowed_targets.actions and "Execute" in name:
        expected[f"iam:role/{TARGET}"] = {"iam:PassRole", "sts:AssumeRole"}
    assert allowed == expected


def test_every_function_stands_in_the_table(stack: Stack) -> None:
    users = {CLAIMS} if STAGES[stack.stage].auth.kind == "cognito" else set()
    assert set(stack.functions()) == (set(ALLOWED) - {CLAIMS}) | users


def test_the_function_that_shapes_tokens_may_only_write_its_log(aws_stack: Stack) -> None:
    (statement,) = aws_stack.statements(role_of(aws_stack.functions()[CLAIMS]))
    assert set(statement["Action"]) == ALLOWED[CLAIMS]["logs"]


def test_no_worker_takes_a_message_before_it_has_its_rights(stack: Stack) -> None:
    for name, function in stack.functions().items():
        policies = stack.resources("AWS::IAM::Policy").items()
        own = {policy for policy, each in policies if {"Ref": role_of(function)} in each["Roles"]}
        assert own <= set(stack.resource(stack.output(f"{name}Function"))["DependsOn"])


def test_tasks_run_in_allowed_clusters_only_and_roles_are_passed_to_them_alone(stack: Stack) -> None:
    statements = stack.statements(role_of(stack.functions()["ExecuteLong"]))
    conditions = {each["Action"]: each["Condition"] for each in statements if "Condition" in each}
    clusters = conditions["ecs:RunTask"]["ArnLike"]["ecs:cluster"]
    assert [arn_of(cluster["Fn::Join"][1]).split(":", 5)[-1] for cluster in clusters] == [f"cluster/{TARGET}"]
    assert conditions["iam:PassRole"] == {"StringEquals": {"iam:PassedToService": "ecs-tasks.amazonaws.com"}}


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
    named_by_boto3 = {"stepfunctions" if service == "states" else service for service in used}
    # Logs are written by Lambda itself, roles are passed by ecs:RunTask.
    assert named_by_boto3 - {"logs", "iam"} <= SERVICES, (
        "infra/bundling.py leaves this service's description out of the layer"
    )


def test_this_accounts_alarms_may_publish(aws_stack: Stack) -> None:
    topic = {"Ref": aws_stack.output("AlarmsTopicArn")}
    policies = aws_stack.resources("AWS::SNS::TopicPolicy").values()
    (policy,) = [policy for policy in policies if policy["Topics"] == [topic]]
    (allow,) = [each for each in policy["PolicyDocument"]["Statement"] if each["Effect"] == "Allow"]
    assert allow["Principal"] == {"Service": "cloudwatch.amazonaws.com"}
    assert allow["Condition"] == {"StringEquals": {"aws:SourceAccount": {"Ref": "AWS::AccountId"}}}
