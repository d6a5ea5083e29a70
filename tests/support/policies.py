"""From requests to IAM actions, and from the template's policies back to words for stores."""

from collections.abc import Mapping
from typing import Any

from tests.support.needed_calls import Call, requests

PARTS = {
    "transact:Put": "dynamodb:PutItem",
    "transact:Update": "dynamodb:UpdateItem",
    "transact:Delete": "dynamodb:DeleteItem",
    "transact:ConditionCheck": "dynamodb:ConditionCheckItem",
    "partiql:INSERT": "dynamodb:PartiQLInsert",
    "partiql:UPDATE": "dynamodb:PartiQLUpdate",
    "partiql:DELETE": "dynamodb:PartiQLDelete",
    "partiql:SELECT": "dynamodb:PartiQLSelect",
}
"""Batches and transactions have no action of their own: their parts have (Amazon DynamoDB Developer Guide, "Actions,
resources, and condition keys"; "IAM security policies with PartiQL for DynamoDB").
"""

NAMED_OTHERWISE: Mapping[str, tuple[str, ...]] = {
    "transact_write_items": (),
    "batch_execute_statement": (),
    "execute_statement": (),
    "presigned": (),  # a link can do what its signer may: the request that it is for is named beside it
    "send_message_batch": ("sqs:SendMessage",),
    "change_message_visibility_batch": ("sqs:ChangeMessageVisibility",),
    "delete_message_batch": ("sqs:DeleteMessage",),
    "invoke": ("lambda:InvokeFunction",),
    "run_task": ("ecs:RunTask", "iam:PassRole"),
    "list_objects_v2": ("s3:ListBucket",),
}
PREFIXES = {"stepfunctions": "states", "dynamodbstreams": "dynamodb"}

KEYS = {
    "dynamodb": {"kms:Decrypt"},
    "sqs:SendMessage": {"kms:Decrypt", "kms:GenerateDataKey"},
    "sqs:ReceiveMessage": {"kms:Decrypt"},
    "sns:Publish": {"kms:Decrypt", "kms:GenerateDataKey"},
    "s3:PutObject": {"kms:Decrypt", "kms:GenerateDataKey"},
    "s3:GetObject": {"kms:Decrypt"},
}
"""What a caller does to a key, by what it does to the store that lies under it."""


def actions_of(call: Call) -> set[str]:
    """The IAM actions of a request. Raises KeyError for one of a service that is unknown here."""
    if call.method.startswith("index:"):
        return set()
    if call.method in PARTS:
        return {PARTS[call.method]}
    if call.method in NAMED_OTHERWISE:
        return set(NAMED_OTHERWISE[call.method])
    service, operation = requests()[call.method]
    return {f"{PREFIXES.get(service, service)}:{operation}"}


def key_uses(actions: set[str]) -> set[tuple[str, str]]:
    """The (KMS action, service) pairs that go with actions on stores under a key."""
    return {
        (use, action.partition(":")[0])
        for action in actions
        for use in KEYS.get(action, KEYS.get(action.partition(":")[0], set()))
    }


def as_list(value: Any) -> list[Any]:
    """What IAM writes as one or many."""
    return value if isinstance(value, list) else [value]


def written(value: Any) -> str:
    """A resource of a policy as one text, references by their names in braces."""
    if isinstance(value, str):
        return value
    ((kind, what),) = value.items()
    if kind == "Fn::Join":
        return str(what[0]).join(written(part) for part in what[1])
    return "{" + (what.removeprefix("AWS::") if kind == "Ref" else ".".join(what)) + "}"
