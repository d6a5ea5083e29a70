"""What a stack must not replace: each resource that holds something, with what makes CloudFormation replace it.

    python -m tests.support.stateful

writes tests/fixtures/stateful.json anew, which test_stateful_resources.py holds the templates against.
"""

import json
from typing import Any

from tests.support.template import ROOT, template

RECORD = ROOT / "tests" / "fixtures" / "stateful.json"
STAGES = ("dev", "prod")
"""Stages of an account: what lies on a developer's machine may go."""

HELD = {
    "AWS::DynamoDB::Table": "every job or every run of the stage",
    "AWS::SQS::Queue": "the messages that wait in it: up to 15 minutes of runs in a lane, 14 days of dead letters",
    "AWS::S3::Bucket": "the objects in it",
    "AWS::Cognito::UserPool": "every user and password, and the issuer that clients know",
    "AWS::Cognito::UserPoolClient": "the client id that programs sign in with",
    "AWS::Cognito::UserPoolDomain": "the address of the login page, that clients and other issuers know",
    "AWS::Cognito::UserPoolResourceServer": "the scopes that clients were given",
    "AWS::Cognito::UserPoolGroup": "who is in that group: the users' scopes",
    "AWS::SNS::Topic": "its subscriptions: whoever hears of deaths or alarms",
    "AWS::Events::EventBus": "the rules that others put on it",
    "AWS::KMS::Key": "the key: what it encrypted can no longer be read once it is deleted",
    "AWS::Logs::LogGroup": "the logs (a retained group stays, under a name that nobody writes to any more)",
    "AWS::SSM::Parameter": "the parameter's value until it is written again",
    "AWS::ApiGatewayV2::Api": "the address that every client calls",
    "AWS::Glue::Database": "the tables in it, until they are made again",
    "AWS::Glue::Table": "partitions that were added by hand, until they are made again",
}
"""What is lost, or left behind, with a resource of a type."""

REPLACING = {
    "AWS::DynamoDB::Table": ("ImportSourceSpecification", "KeySchema", "TableName"),
    "AWS::SQS::Queue": ("FifoQueue", "QueueName"),
    "AWS::S3::Bucket": ("BucketName", "BucketNamePrefix", "BucketNamespace", "ObjectLockEnabled"),
    "AWS::Cognito::UserPool": (),
    "AWS::Cognito::UserPoolClient": ("GenerateSecret", "UserPoolId"),
    "AWS::Cognito::UserPoolDomain": ("Domain", "UserPoolId"),
    "AWS::Cognito::UserPoolResourceServer": ("Identifier", "UserPoolId"),
    "AWS::Cognito::UserPoolGroup": ("GroupName", "UserPoolId"),
    "AWS::SNS::Topic": ("FifoTopic", "TopicName"),
    "AWS::Events::EventBus": ("EventSourceName", "Name"),
    "AWS::KMS::Key": (),
    "AWS::Logs::LogGroup": ("LogGroupName",),
    "AWS::SSM::Parameter": ("Name",),
    "AWS::ApiGatewayV2::Api": ("ProtocolType",),
    "AWS::Glue::Database": ("CatalogId", "DatabaseName"),
    "AWS::Glue::Table": ("CatalogId", "DatabaseName", "Name"),
}
"""Properties whose update requires replacement, as the AWS CloudFormation Template Reference says of each."""

AS_GOOD_AS_REPLACING = {
    "AWS::DynamoDB::Table": ("GlobalSecondaryIndexes", "TimeToLiveSpecification", "AttributeDefinitions"),
    # CloudFormation cannot change them in a pool that exists: the deployment fails, and a new pool is the way out.
    "AWS::Cognito::UserPool": ("UsernameAttributes", "AliasAttributes", "UsernameConfiguration", "Schema"),
}
"""What takes no resource away and yet breaks what is there: an index whose keys change is deleted and built anew (no
job fires without `due` meanwhile), and another TTL attribute expires what was to stay, or nothing ever again.
"""

INDEX_PARTS = ("IndexName", "KeySchema", "Projection")


def stateful(made: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """By logical id: the type of each resource that holds something, and the properties that must stay."""
    return {
        name: {"Type": each["Type"], **_kept(each["Type"], each.get("Properties", {}))}
        for name, each in sorted(made["Resources"].items())
        if each["Type"] in HELD
    }


def _kept(kind: str, properties: dict[str, Any]) -> dict[str, Any]:
    names = (*REPLACING[kind], *AS_GOOD_AS_REPLACING.get(kind, ()))
    kept = {name: properties[name] for name in names if name in properties}
    if "GlobalSecondaryIndexes" in kept:  # throughput may change
        indexes = kept["GlobalSecondaryIndexes"]
        kept["GlobalSecondaryIndexes"] = {
            index["IndexName"]: {part: index[part] for part in INDEX_PARTS if part in index} for index in indexes
        }
    if "AttributeDefinitions" in kept:
        kept["AttributeDefinitions"] = {
            each["AttributeName"]: each["AttributeType"] for each in kept["AttributeDefinitions"]
        }
    return kept


def losses(recorded: dict[str, dict[str, Any]], now: dict[str, dict[str, Any]]) -> list[str]:
    """A sentence for each resource that a deployment would replace, or spoil. What is new is no loss."""
    return [sentence for name, before in recorded.items() for sentence in _losses_of(name, before, now.get(name))]


def index_updates(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """A sentence for each table of two templates whose update CloudFormation refuses: it creates or deletes only one
    global secondary index of a table in one update. An index with other keys or another projection is deleted and
    created.
    """
    sentences = []
    for name, new in after["Resources"].items():
        old = before["Resources"].get(name)
        if old is None or (old["Type"], new["Type"]) != ("AWS::DynamoDB::Table", "AWS::DynamoDB::Table"):
            continue
        one, other = _indexes(old), _indexes(new)
        deleted = sorted(each for each in one if one[each] != other.get(each))
        created = sorted(each for each in other if other[each] != one.get(each))
        if len(deleted) + len(created) > 1:
            sentences.append(
                f"{name} deletes the indexes {deleted} and creates {created} since the last release; CloudFormation "
                "allows one of these changes in an update: release them one after the other (docs/releases.md)"
            )
    return sentences


def _indexes(table: dict[str, Any]) -> dict[str, Any]:
    indexes: dict[str, Any] = _kept(table["Type"], table["Properties"]).get("GlobalSecondaryIndexes", {})
    return indexes


def _losses_of(name: str, before: dict[str, Any], after: dict[str, Any] | None) -> list[str]:
    kind = before["Type"]
    on_purpose = (
        "Where that is meant: docs/upgrading.md#replacing says how, then write the record anew "
        "(python -m tests.support.stateful)."
    )
    if after is None or after["Type"] != kind:
        why = "is gone: CloudFormation deletes it (or, retained, forgets it) and makes its successor empty"
        return [f"{kind} {name} {why}. Lost to the stage: {HELD[kind]}. {on_purpose}"]
    return [
        f"{kind} {name}: {part} was {_short(before.get(part))} and is {_short(after.get(part))}, "
        f"{_effect(kind, part)}. Lost to the stage: {HELD[kind]}. {on_purpose}"
        for part in (*REPLACING[kind], *AS_GOOD_AS_REPLACING.get(kind, ()))
        if not _stays(part, before.get(part), after.get(part))
    ]


def _stays(part: str, before: Any, after: Any) -> bool:
    """Whether all that was there is there as it was; indexes, their attributes and users' attributes may be added."""
    if part in {"GlobalSecondaryIndexes", "AttributeDefinitions"} and before and after:
        return all(after.get(name) == each for name, each in before.items())
    if part == "Schema" and before and after:
        return all(each in after for each in before)
    return bool(before == after)


def _effect(kind: str, part: str) -> str:
    if part in REPLACING[kind]:
        return "which makes CloudFormation replace it"
    return "which spoils what is there"


def _short(value: Any) -> str:
    text = "not set" if value is None else json.dumps(value)
    return text if len(text) <= 120 else f"{text[:117]}..."


def main() -> None:
    """Write the record anew."""
    record = {stage: stateful(template(stage)) for stage in STAGES}
    RECORD.write_text(json.dumps(record, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
