"""What every queue, topic, bucket, table and log group has, whichever construct makes it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from infra.application import build
from infra.stages import STAGES
from tests.infra.conftest import Stack
from tests.support.policies import as_list
from tests.support.template import ROOT, template

PLAIN_HTTP = {"Bool": {"aws:SecureTransport": "false"}}
GUARDED = {
    "AWS::SQS::Queue": ("AWS::SQS::QueuePolicy", "Queues", "sqs:*"),
    "AWS::SNS::Topic": ("AWS::SNS::TopicPolicy", "Topics", "sns:Publish"),
    "AWS::S3::Bucket": ("AWS::S3::BucketPolicy", "Bucket", "s3:*"),
}
"""Per kind of store its policy, what that calls the store, and what a caller without TLS is refused."""

KEPT = (
    "AWS::DynamoDB::Table",
    "AWS::S3::Bucket",
    "AWS::Logs::LogGroup",
    "AWS::Cognito::UserPool",
    "AWS::KMS::Key",
)


def kinds(stack: Stack, *wanted: str) -> dict[str, dict[str, Any]]:
    """All resources of some types with their attributes."""
    return {name: each for name, each in stack.template["Resources"].items() if each["Type"] in wanted}


@pytest.mark.parametrize("kind", sorted(GUARDED))
def test_none_is_reached_without_tls_in_aws(kind: str, aws_stack: Stack) -> None:
    policy_kind, named, action = GUARDED[kind]
    refusing = set()
    for policy in aws_stack.resources(policy_kind).values():
        for statement in policy["PolicyDocument"]["Statement"]:
            everybody = statement["Principal"] in ("*", {"AWS": "*"})
            if statement["Effect"] == "Deny" and everybody and statement.get("Condition") == PLAIN_HTTP:
                assert action in as_list(statement["Action"])
                refusing |= {each["Ref"] for each in as_list(policy[named])}
    assert refusing == set(aws_stack.resources(kind))


def test_a_bucket_lets_no_outsider_in(stack: Stack) -> None:
    for name, bucket in stack.resources("AWS::S3::Bucket").items():
        assert len(bucket["PublicAccessBlockConfiguration"]) == 4, name
        assert set(bucket["PublicAccessBlockConfiguration"].values()) == {True}, name
        assert bucket["OwnershipControls"] == {"Rules": [{"ObjectOwnership": "BucketOwnerEnforced"}]}, name


def test_accesses_to_buckets_are_written_down_in_aws_each_under_a_prefix_of_its_own(aws_stack: Stack) -> None:
    buckets = aws_stack.resources("AWS::S3::Bucket")
    logged = {name: each["LoggingConfiguration"] for name, each in buckets.items() if "LoggingConfiguration" in each}
    (into,) = {each["DestinationBucketName"]["Ref"] for each in logged.values()}
    assert set(logged) == set(buckets) - {into}
    assert len({each["LogFilePrefix"] for each in logged.values()}) == len(logged)
    (expiry,) = [rule for rule in buckets[into]["LifecycleConfiguration"]["Rules"] if "ExpirationInDays" in rule]
    assert expiry["ExpirationInDays"] == STAGES[aws_stack.stage].log_retention_days


def test_every_table_can_be_restored_to_any_second(stack: Stack) -> None:
    for name, table in stack.resources("AWS::DynamoDB::Table").items():
        assert table["PointInTimeRecoverySpecification"] == {"PointInTimeRecoveryEnabled": True}, name


def test_what_holds_data_outlives_its_stack_in_prod_and_goes_with_it_elsewhere(stack: Stack) -> None:
    """But for what a deployment makes that fails: nothing is in it yet, and it would be in the way of the next try."""
    kept = ("RetainExceptOnCreate", "Retain") if STAGES[stack.stage].retain_data else ("Delete", "Delete")
    for name, store in kinds(stack, *KEPT).items():
        assert (name, store["DeletionPolicy"], store["UpdateReplacePolicy"]) == (name, *kept)


def test_nothing_outlives_a_deployment_that_failed_to_make_it(stack: Stack) -> None:
    """CloudFormation's plain `Retain` would leave it behind, and a second one beside it with every further try."""
    policies = {name: each.get("DeletionPolicy") for name, each in stack.template["Resources"].items()}
    assert [name for name, policy in policies.items() if policy == "Retain"] == []


def test_the_deployment_that_makes_a_stage_can_be_taken_back_whole() -> None:
    """What refuses deletion would stop CloudFormation's rollback: a stage is protected once it stands."""
    first = Stack("prod", template("prod", deletion_protection="off"))
    assert not any(table["DeletionProtectionEnabled"] for table in first.resources("AWS::DynamoDB::Table").values())
    assert {pool["DeletionProtection"] for pool in first.resources("AWS::Cognito::UserPool").values()} == {"INACTIVE"}
    differing = {
        each["Type"]
        for name, each in first.template["Resources"].items()
        if each != template("prod")["Resources"][name]
    }
    assert differing == {"AWS::DynamoDB::Table", "AWS::Cognito::UserPool"}


@pytest.mark.parametrize(("setting", "protected"), [({}, True), ({"deletion_protection": "off"}, False)])
def test_a_stack_that_keeps_its_data_refuses_to_be_deleted_unless_it_is_being_made(
    setting: dict[str, str], *, protected: bool
) -> None:
    ours = json.loads((ROOT / "cdk.json").read_text())["context"] | {"aws:cdk:bundling-stacks": []}
    app = build(context=ours | {"stage": "prod"} | setting)
    stack: Any = app.node.find_child("Duecourse-prod")
    assert stack.termination_protection is protected


def test_nothing_that_holds_data_can_be_deleted_by_a_slip_in_prod(stack: Stack) -> None:
    retained = STAGES[stack.stage].retain_data
    for table in stack.resources("AWS::DynamoDB::Table").values():
        assert table["DeletionProtectionEnabled"] == retained
    for pool in stack.resources("AWS::Cognito::UserPool").values():
        assert pool["DeletionProtection"] == ("ACTIVE" if retained else "INACTIVE")


def test_every_log_has_an_end(stack: Stack) -> None:
    for name, group in stack.resources("AWS::Logs::LogGroup").items():
        assert group["RetentionInDays"] == STAGES[stack.stage].log_retention_days, name


def test_every_function_writes_into_a_log_of_the_stack(stack: Stack) -> None:
    groups = set(stack.resources("AWS::Logs::LogGroup"))
    for name, function in stack.resources("AWS::Lambda::Function").items():
        assert function["LoggingConfig"]["LogGroup"]["Ref"] in groups, name


def test_every_request_to_the_api_is_written_down_in_aws(aws_stack: Stack) -> None:
    for stage in aws_stack.resources("AWS::ApiGatewayV2::Stage").values():
        settings = stage["AccessLogSettings"]
        assert settings["DestinationArn"]["Fn::GetAtt"][0] in aws_stack.resources("AWS::Logs::LogGroup")


def test_access_logs_hold_no_header_and_no_query(aws_stack: Stack) -> None:
    for stage in aws_stack.resources("AWS::ApiGatewayV2::Stage").values():
        line = stage["AccessLogSettings"]["Format"]
        assert "header" not in line.lower()
        assert "querystring" not in line.lower()
        assert "authorizer" not in line.lower()
