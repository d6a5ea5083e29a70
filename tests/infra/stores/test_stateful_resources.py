"""No deployment takes away what holds jobs, runs, messages, users or keys without somebody having meant it."""

import gzip
import json
from copy import deepcopy
from typing import Any

import pytest

from tests.infra.conftest import Stack
from tests.support.release_code import releases
from tests.support.release_stage import template_of_release
from tests.support.stateful import HELD, RECORD, REPLACING, STAGES, index_updates, losses, stateful
from tests.support.template import ROOT, template

CLOUDFORMATION = ROOT / "node_modules" / "aws-cdk" / "db.json.gz"
"""CloudFormation's own resource schemas, by which `cdk diff` knows what is replaced."""

STATELESS = {
    "AWS::ApiGatewayV2::Authorizer", "AWS::ApiGatewayV2::Integration", "AWS::ApiGatewayV2::Route",
    "AWS::ApiGatewayV2::Stage", "AWS::Athena::WorkGroup", "AWS::CDK::Metadata", "AWS::CloudWatch::Alarm",
    "AWS::CloudWatch::CompositeAlarm", "AWS::CloudWatch::Dashboard", "AWS::CodeDeploy::Application",
    "AWS::CodeDeploy::DeploymentGroup", "AWS::Cognito::ManagedLoginBranding",
    "AWS::Events::Rule", "AWS::IAM::Policy", "AWS::IAM::Role", "AWS::KMS::Alias",
    "AWS::Lambda::Alias", "AWS::Lambda::EventInvokeConfig", "AWS::Lambda::EventSourceMapping",
    "AWS::Lambda::Function", "AWS::Lambda::LayerVersion",
    "AWS::Lambda::Permission", "AWS::Lambda::Version", "AWS::S3::BucketPolicy", "AWS::SNS::Subscription",
    "AWS::SNS::TopicPolicy", "AWS::SQS::QueuePolicy",
}  # fmt: skip
"""Types that hold nothing: what is replaced is made again from the template."""


def recorded(stage: str) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = json.loads(RECORD.read_text())[stage]
    return found


@pytest.mark.parametrize("stage", STAGES)
def test_stateful_resources_are_not_replaced(stage: str) -> None:
    assert losses(recorded(stage), stateful(template(stage))) == []


@pytest.mark.parametrize("stage", STAGES)
def test_stateful_resources_are_recorded_when_added(stage: str) -> None:
    new = set(stateful(template(stage))) - set(recorded(stage))
    assert not new, f"recorded by python -m tests.support.stateful: {sorted(new)}"


def test_stateful_resources_include_or_exclude_every_resource_type_explicitly(stack: Stack) -> None:
    kinds = {each["Type"] for each in stack.template["Resources"].values()}
    assert kinds <= STATELESS | set(HELD)


def test_stateful_resources_replacing_properties_match_the_cloudformation_schema() -> None:
    if not CLOUDFORMATION.exists():
        pytest.skip("the node modules are not installed (make setup)")
    with gzip.open(CLOUDFORMATION) as packed:
        entities = json.load(packed)["schema"]["resource"]["entities"]
    replacing = {
        entity["cloudFormationType"]: {
            name for name, each in entity["properties"].items() if each.get("causesReplacement") == "yes"
        }
        for entity in entities
        if entity["cloudFormationType"] in HELD
    }
    assert {kind: set(names) for kind, names in REPLACING.items()} == replacing


def changed(**properties: Any) -> dict[str, Any]:
    """The template of prod with other properties of the table of jobs."""
    made = deepcopy(template("prod"))
    table = made["Resources"][made["Outputs"]["JobsTable"]["Value"]["Ref"]]["Properties"]
    table.update(properties)
    return made


def test_stateful_resources_changed_logical_id_of_a_table_is_reported_with_the_loss() -> None:
    made = deepcopy(template("prod"))
    table = made["Outputs"]["JobsTable"]["Value"]["Ref"]
    made["Resources"]["Renamed"] = made["Resources"].pop(table)
    (sentence,) = losses(recorded("prod"), stateful(made))
    assert sentence.startswith(f"AWS::DynamoDB::Table {table} is gone")
    assert "every job" in sentence
    assert "docs/upgrading.md#replacing" in sentence


def test_stateful_resources_replacing_change_of_a_table_property_is_reported() -> None:
    (sentence,) = losses(recorded("prod"), stateful(changed(TableName="jobs")))
    assert "TableName was not set and is" in sentence
    assert "which makes CloudFormation replace it" in sentence


def test_stateful_resources_index_with_other_keys_is_reported() -> None:
    table = changed()["Resources"][template("prod")["Outputs"]["JobsTable"]["Value"]["Ref"]]["Properties"]
    indexes = deepcopy(table["GlobalSecondaryIndexes"])
    indexes[0]["KeySchema"][1]["AttributeName"] = "other"
    (sentence,) = losses(recorded("prod"), stateful(changed(GlobalSecondaryIndexes=indexes)))
    assert "GlobalSecondaryIndexes was" in sentence
    assert "which spoils what is there" in sentence


def test_stateful_resources_changed_expiry_attribute_is_reported() -> None:
    expiry = {"AttributeName": "gone_at", "Enabled": True}
    (sentence,) = losses(recorded("prod"), stateful(changed(TimeToLiveSpecification=expiry)))
    assert "TimeToLiveSpecification was" in sentence


def test_stateful_resources_additional_index_and_changed_throughput_are_no_loss() -> None:
    table = changed()["Resources"][template("prod")["Outputs"]["JobsTable"]["Value"]["Ref"]]["Properties"]
    indexes = deepcopy(table["GlobalSecondaryIndexes"])
    indexes[0]["WarmThroughput"] = {"ReadUnitsPerSecond": 20_000}
    indexes.append({**indexes[0], "IndexName": "another"})
    assert losses(recorded("prod"), stateful(changed(GlobalSecondaryIndexes=indexes))) == []


def test_stateful_resources_that_are_new_are_no_loss() -> None:
    made = deepcopy(template("prod"))
    made["Resources"]["NewBucket"] = {"Type": "AWS::S3::Bucket"}
    assert losses(recorded("prod"), stateful(made)) == []


def jobs_table(made: dict[str, Any]) -> dict[str, Any]:
    properties: dict[str, Any] = made["Resources"][made["Outputs"]["JobsTable"]["Value"]["Ref"]]["Properties"]
    return properties


def with_indexes(*names: str) -> dict[str, Any]:
    """The template of the last release with further indexes of the table of jobs."""
    made = template_of_release(releases()[-1])
    indexes = jobs_table(made)["GlobalSecondaryIndexes"]
    indexes += [{**indexes[0], "IndexName": name} for name in names]
    return made


def test_stateful_resources_of_the_last_release_are_updated_by_one_index_of_a_table_at_most() -> None:
    assert index_updates(template_of_release(releases()[-1]), template("local")) == []


def test_stateful_resources_may_get_one_index_in_a_release_but_not_two() -> None:
    released = template_of_release(releases()[-1])
    assert index_updates(released, with_indexes("another")) == []
    assert index_updates(with_indexes("another"), released) == []
    for before, after in ((released, with_indexes("one", "two")), (with_indexes("one", "two"), released)):
        (sentence,) = index_updates(before, after)
        assert "['one', 'two']" in sentence
        assert "docs/releases.md" in sentence


def test_stateful_resources_replaced_index_counts_as_one_deleted_and_one_created() -> None:
    released, renamed = template_of_release(releases()[-1]), template_of_release(releases()[-1])
    jobs_table(renamed)["GlobalSecondaryIndexes"][0]["IndexName"] = "other"
    changed_keys = template_of_release(releases()[-1])
    jobs_table(changed_keys)["GlobalSecondaryIndexes"][0]["Projection"] = {"ProjectionType": "KEYS_ONLY"}
    for after in (renamed, changed_keys):
        assert len(index_updates(released, after)) == 1


def test_stateful_resources_of_two_tables_may_get_one_index_each() -> None:
    made = with_indexes("another")
    runs = made["Resources"][made["Outputs"]["RunsTable"]["Value"]["Ref"]]["Properties"]
    runs["GlobalSecondaryIndexes"].append({**runs["GlobalSecondaryIndexes"][0], "IndexName": "another"})
    assert index_updates(template_of_release(releases()[-1]), made) == []
