"""Under whose key everything is kept, and who may use that key."""

import json
import os
import re
import subprocess
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from infra.settings.config import ConfigError
from infra.settings.stores_config import OWN
from infra.stages import STAGES, from_context
from tests.infra.conftest import Stack
from tests.support.policies import as_list, written
from tests.support.template import ROOT, template

THEIRS = "arn:aws:kms:eu-central-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab"
"""A key that the account made."""


def key_of(kind: str, store: dict[str, Any]) -> Any:
    """The key that a store names, None where it names none."""
    match kind:
        case "AWS::DynamoDB::Table":
            return store.get("SSESpecification", {}).get("KMSMasterKeyId")
        case "AWS::SQS::Queue":
            return store.get("KmsMasterKeyId")
        case "AWS::SNS::Topic":
            return store.get("KmsMasterKeyId")
        case "AWS::S3::Bucket":
            (rule,) = store["BucketEncryption"]["ServerSideEncryptionConfiguration"]
            return rule["ServerSideEncryptionByDefault"].get("KMSMasterKeyID")
        case "AWS::Logs::LogGroup":
            return store.get("KmsKeyId")
        case "AWS::Events::EventBus":
            return store.get("KmsKeyIdentifier")
    raise ValueError(f"{kind} is not known")


KINDS = (
    "AWS::DynamoDB::Table",
    "AWS::SQS::Queue",
    "AWS::SNS::Topic",
    "AWS::S3::Bucket",
    "AWS::Logs::LogGroup",
    "AWS::Events::EventBus",
)


def keys(stack: Stack) -> dict[str, Any]:
    """The key of each store, without the bucket of S3's access logs, which S3 fills under its own key only, the queue
    of events for which the key could not be used, and the topics of alarms, which must report a disabled key.
    """
    buckets = stack.resources("AWS::S3::Bucket").values()
    apart = {
        each["LoggingConfiguration"]["DestinationBucketName"]["Ref"]
        for each in buckets
        if "LoggingConfiguration" in each
    } | failures_of_the_bus(stack)
    apart |= alarm_topics(stack)
    return {
        name: key_of(kind, store)
        for kind in KINDS
        for name, store in stack.resources(kind).items()
        if name not in apart
    }


def failures_of_the_bus(stack: Stack) -> set[str]:
    """The queue that takes what the bus could not work on, where there is one."""
    (bus,) = stack.resources("AWS::Events::EventBus").values()
    return {bus["DeadLetterConfig"]["Arn"]["Fn::GetAtt"][0]} if "DeadLetterConfig" in bus else set()


def alarm_topics(stack: Stack) -> set[str]:
    """The topics that alarms are sent to."""
    alarms = stack.resources("AWS::CloudWatch::Alarm").values()
    return {action["Ref"] for alarm in alarms for action in alarm.get("AlarmActions", ())}


@cache
def with_their_key() -> Stack:
    return Stack("dev", template("dev", encryption_key=THEIRS))


def test_encryption_one_stack_key_encrypts_everything(keyed: Stack) -> None:
    (key,) = keyed.resources("AWS::KMS::Key")
    for name, used in keys(keyed).items():
        assert used in ({"Fn::GetAtt": [key, "Arn"]}, {"Ref": key}), name


def test_encryption_stack_key_rotates_yearly_and_is_deleted_after_a_month(keyed: Stack) -> None:
    (key,) = keyed.resources("AWS::KMS::Key").values()
    assert (key["EnableKeyRotation"], key["RotationPeriodInDays"], key["PendingWindowInDays"]) == (True, 365, 30)


@pytest.mark.parametrize("stage", sorted(STAGES))
def test_encryption_stores_use_aws_keys_by_default(stage: str) -> None:
    stack = Stack(stage, template(stage))
    made = [key["KeyUsage"] for key in stack.resources("AWS::KMS::Key").values()]
    assert made == ["SIGN_VERIFY"] * len(STAGES[stage].oidc_keys)
    assert set(keys(stack).values()) == {None}
    assert all(queue["SqsManagedSseEnabled"] for queue in stack.resources("AWS::SQS::Queue").values())


def test_encryption_account_key_is_used_for_everything_and_no_key_is_created() -> None:
    assert set(keys(with_their_key()).values()) == {THEIRS}
    assert not with_their_key().resources("AWS::KMS::Key")


def test_encryption_alarm_topics_use_no_key_so_a_disabled_key_is_reported(keyed: Stack) -> None:
    topics = alarm_topics(keyed)
    assert len(topics) == 2
    assert {keyed.resource(topic)["Properties"].get("KmsMasterKeyId") for topic in topics} == {None}


def test_encryption_bucket_does_not_request_its_key_for_each_object(keyed: Stack) -> None:
    for name, bucket in keyed.resources("AWS::S3::Bucket").items():
        (rule,) = bucket["BucketEncryption"]["ServerSideEncryptionConfiguration"]
        if rule["ServerSideEncryptionByDefault"]["SSEAlgorithm"] == "aws:kms":
            assert rule["BucketKeyEnabled"], name


def test_encryption_queue_requests_a_data_key_once_an_hour_at_most(keyed: Stack) -> None:
    for name, queue in keyed.resources("AWS::SQS::Queue").items():
        assert name in failures_of_the_bus(keyed) or queue["KmsDataKeyReusePeriodSeconds"] == 3600


def test_encryption_events_that_fail_because_of_the_key_go_to_a_queue_without_it(keyed: Stack) -> None:
    """EventBridge drops them otherwise (Amazon EventBridge User Guide, "Using dead-letter queues to capture encrypted
    event errors").
    """
    (queue,) = failures_of_the_bus(keyed)
    assert queue == keyed.output("EventFailuresQueueUrl")
    kept = keyed.resource(queue)["Properties"]
    assert kept["SqsManagedSseEnabled"]
    assert "KmsMasterKeyId" not in kept
    assert kept["MessageRetentionPeriod"] == 14 * 24 * 3600
    ((bus, _),) = keyed.resources("AWS::Events::EventBus").items()
    (policy,) = [
        each for each in keyed.resources("AWS::SQS::QueuePolicy").values() if each["Queues"] == [{"Ref": queue}]
    ]
    (allowed,) = [each for each in policy["PolicyDocument"]["Statement"] if each["Effect"] == "Allow"]
    assert allowed["Principal"] == {"Service": "events.amazonaws.com"}
    assert allowed["Action"] == "sqs:SendMessage"
    assert allowed["Condition"] == {"ArnEquals": {"aws:SourceArn": {"Fn::GetAtt": [bus, "Arn"]}}}


@pytest.mark.parametrize("stage", sorted(STAGES))
def test_encryption_event_bus_with_aws_key_has_no_failure_queue(stage: str) -> None:
    stack = Stack(stage, template(stage))
    assert failures_of_the_bus(stack) == set()
    assert "EventFailuresQueueUrl" not in stack.template["Outputs"]


def test_encryption_event_bus_with_account_key_has_a_failure_queue() -> None:
    assert failures_of_the_bus(with_their_key())


def statements(stack: Stack) -> list[dict[str, Any]]:
    """The statements of the key's policy that let services use it."""
    (key,) = stack.resources("AWS::KMS::Key").values()
    return [each for each in key["KeyPolicy"]["Statement"] if "Service" in each["Principal"]]


def service_of(statement: dict[str, Any]) -> str:
    return written(statement["Principal"]["Service"]).partition(".")[0]


def test_encryption_key_is_open_only_to_the_account_and_two_services_acting_for_the_stack(keyed: Stack) -> None:
    (key,) = keyed.resources("AWS::KMS::Key").values()
    others = [each["Principal"] for each in key["KeyPolicy"]["Statement"] if "Service" not in each["Principal"]]
    assert [written(each["AWS"]) for each in others] == ["arn:{Partition}:iam::{AccountId}:root"]
    assert {service_of(each) for each in statements(keyed)} == {"logs", "events"}
    for statement in statements(keyed):
        assert statement["Condition"], "anybody's resources could use the key by way of the service"


def test_encryption_only_rules_of_the_stack_may_use_the_key(keyed: Stack) -> None:
    (statement,) = [each for each in statements(keyed) if each.get("Sid") == "EventRules"]
    like = written(statement["Condition"]["ArnLike"]["aws:SourceArn"])
    assert like.partition(":rule/")[2] == "Duecourse-prod-*"
    # CloudFormation names what has no name after the stack.
    assert not [each for each in keyed.resources("AWS::Events::Rule").values() if "Name" in each]


def test_encryption_only_log_groups_of_the_stack_may_use_the_key(keyed: Stack) -> None:
    (statement,) = [each for each in statements(keyed) if service_of(each) == "logs"]
    condition = statement["Condition"]["ArnLike"]["kms:EncryptionContext:aws:logs:arn"]
    groups = [written(each).partition(":log-group:")[2] for each in condition]
    assert groups == ["Duecourse-prod-*", "/aws/vendedlogs/Duecourse-prod-*"]
    # CloudFormation names what has no name after the stack.
    named = [each["LogGroupName"] for each in keyed.resources("AWS::Logs::LogGroup").values() if "LogGroupName" in each]
    assert [each["Fn::Join"][1][0] for each in named] == ["/aws/vendedlogs/Duecourse-prod-"]


def test_encryption_account_key_policy_must_allow_what_the_stack_key_allows(keyed: Stack) -> None:
    """The statements that docs/security.md gives for it."""
    (block,) = re.findall(r"```json\n(\[.*?\])\n```", (ROOT / "docs" / "security.md").read_text(), re.DOTALL)
    told, needed = json.loads(block), statements(keyed)
    assert [as_needed(each) for each in told] == [as_needed(each) for each in sorted(needed, key=order_of)]


def order_of(statement: dict[str, Any]) -> int:
    """The place of a statement on the page."""
    (block,) = re.findall(r"```json\n(\[.*?\])\n```", (ROOT / "docs" / "security.md").read_text(), re.DOTALL)
    return [as_needed(each) for each in json.loads(block)].index(as_needed(statement))


def as_needed(statement: dict[str, Any]) -> tuple[str, str, set[str], set[tuple[str, str]]]:
    """The service of a statement, its effect, its actions, and its conditions without their values."""
    conditions = {(test, key) for test, each in statement["Condition"].items() for key in each}
    return service_of(statement), statement["Effect"], set(as_list(statement["Action"])), conditions


def test_encryption_event_bus_name_is_known_before_the_first_deployment(tmp_path: Path) -> None:
    """A key of the account's must name it in its policy, or the first deployment fails. By the page's very command."""
    page = (ROOT / "docs" / "security.md").read_text()
    (command,) = re.findall(r"^```bash\n(node_modules/.bin/cdk synth.+?)^```", page, re.MULTILINE | re.DOTALL)
    cdk = tmp_path / "node_modules" / ".bin" / "cdk"
    cdk.parent.mkdir(parents=True)
    cdk.write_text("#!/bin/sh\n")
    cdk.chmod(0o755)
    (tmp_path / "cdk.out").mkdir()
    (tmp_path / "cdk.out" / "Duecourse-prod.template.json").write_text(json.dumps(template("prod", encryption_key=OWN)))
    environment = {"PATH": os.environ["PATH"], "STAGE": "prod"}
    done = subprocess.run(
        ["bash", "-euc", command], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    (bus,) = Stack("prod", template("prod", encryption_key=OWN)).resources("AWS::Events::EventBus").values()
    assert isinstance(bus["Name"], str), "the deployment would choose it"
    assert done.stdout.split() == [bus["Name"]]


def test_encryption_event_bus_name_does_not_depend_on_the_key() -> None:
    (theirs,) = with_their_key().resources("AWS::Events::EventBus").values()
    (awss,) = Stack("dev", template("dev")).resources("AWS::Events::EventBus").values()
    assert theirs["Name"] == awss["Name"]


@pytest.mark.parametrize("key", ["alias/mine", "mine", "arn:aws:kms:eu-central-1:123456789012:alias/mine", ""])
def test_encryption_invalid_key_is_refused(key: str) -> None:
    with pytest.raises(ConfigError, match="encryption_key must be none, own or the ARN of a KMS key"):
        replace(STAGES["dev"], encryption_key=key)


@pytest.mark.parametrize(("asked", "key"), [("own", "own"), ("none", None), (THEIRS, THEIRS)])
def test_encryption_deployment_chooses_its_key(asked: str, key: str | None) -> None:
    assert from_context({"stage": "prod", "encryption_key": asked}.get).encryption_key == key
    assert from_context({"stage": "dev"}.get).encryption_key is None
