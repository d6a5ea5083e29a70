"""The bucket of results and the event bus."""

from __future__ import annotations

from typing import Any

from infra.stages import STAGES
from tests.infra.conftest import Stack


def bucket(stack: Stack) -> dict[str, Any]:
    return stack.resource(stack.output("ResultsBucket"))


def test_nobody_outside_can_be_let_into_the_results(stack: Stack) -> None:
    properties = bucket(stack)["Properties"]
    assert set(properties["PublicAccessBlockConfiguration"].values()) == {True}
    assert len(properties["PublicAccessBlockConfiguration"]) == 4
    assert properties["OwnershipControls"] == {"Rules": [{"ObjectOwnership": "BucketOwnerEnforced"}]}
    (encryption,) = properties["BucketEncryption"]["ServerSideEncryptionConfiguration"]
    assert encryption["ServerSideEncryptionByDefault"] == {"SSEAlgorithm": "AES256"}


def test_results_are_refused_over_plain_http_in_aws(aws_stack: Stack) -> None:
    (policy,) = aws_stack.resources("AWS::S3::BucketPolicy").values()
    assert policy["Bucket"] == {"Ref": aws_stack.output("ResultsBucket")}
    (statement,) = policy["PolicyDocument"]["Statement"]
    assert (statement["Effect"], statement["Action"]) == ("Deny", "s3:*")
    assert statement["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}


def test_results_outlive_the_records_that_name_them_by_a_month(stack: Stack) -> None:
    rules = bucket(stack)["Properties"]["LifecycleConfiguration"]["Rules"]
    (expiry,) = [rule for rule in rules if "ExpirationInDays" in rule]
    kept = int(stack.environment("ExecuteLongFunction")["DUECOURSE_RUN_RETENTION_DAYS"])
    assert (expiry["Prefix"], expiry["ExpirationInDays"]) == ("results/", kept + 30)
    (broken,) = [rule for rule in rules if "AbortIncompleteMultipartUpload" in rule]
    assert broken["AbortIncompleteMultipartUpload"] == {"DaysAfterInitiation": 1}


def test_the_results_are_retained_where_the_data_is(stack: Stack) -> None:
    kept = "Retain" if STAGES[stack.stage].retain_data else "Delete"
    assert bucket(stack)["DeletionPolicy"] == bucket(stack)["UpdateReplacePolicy"] == kept


def test_nothing_in_the_stack_needs_a_helper_function_to_be_deployed_or_deleted(stack: Stack) -> None:
    assert not [each for each in stack.template["Resources"].values() if each["Type"].startswith("Custom::")]


def test_events_go_to_a_bus_of_their_own(stack: Stack) -> None:
    ((name, bus),) = stack.resources("AWS::Events::EventBus").items()
    assert name == stack.output("BusName")
    assert bus["Name"].startswith("Duecourse")
