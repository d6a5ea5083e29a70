"""The key of the stores (AWS's own, the stack's, or the account's), and whether stores are removed with the stack."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from aws_cdk import ArnFormat, Aws, Duration, RemovalPolicy, Stack
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from infra.settings.stores_config import OWN

ROTATION_DAYS = 365

DATA_KEY_REUSE = Duration.hours(1)
"""The time for which SQS reuses a data key before it requests another from KMS. With the default of five minutes, the
requests would cost several times as much. A disabled key still stops the queues within an hour (Amazon SQS Developer
Guide, "Amazon SQS Key management").
"""

_READ, _WRITE = frozenset({"kms:Decrypt"}), frozenset({"kms:Decrypt", "kms:GenerateDataKey"})

KEY_USES: Mapping[str, frozenset[str]] = {
    "dynamodb:": _READ,
    "sqs:SendMessage": _WRITE,
    "sqs:ReceiveMessage": _READ,
    "sns:Publish": _WRITE,
    "s3:PutObject": _WRITE,
    "s3:GetObject": _READ,
}
"""The KMS actions that a caller needs for an action on a store; `dynamodb:` is the prefix of all its actions. Sources:
Amazon DynamoDB Developer Guide, "DynamoDB encryption at rest: How it works" (the table's key is decrypted for each
caller and created only with the table); Amazon SQS and Amazon SNS Developer Guides, "Key management"; Amazon S3 User
Guide, "Using server-side encryption with AWS KMS keys". EventBridge and CloudWatch Logs use the key as service
principals.
"""


def removal_policy(*, retain: bool) -> RemovalPolicy:
    """Return the policy to retain or delete a resource. A resource that a failed deployment has just created is deleted
    in both cases. It is empty, and the next try would create another one (AWS CloudFormation Template Reference,
    "DeletionPolicy attribute": `RetainExceptOnCreate`).
    """
    return RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE if retain else RemovalPolicy.DESTROY


def key_uses(actions: Collection[str]) -> Mapping[str, frozenset[str]]:
    """Return the KMS actions that a policy's actions require, each with the services that use the key for it."""
    found: dict[str, set[str]] = {}
    for action in actions:
        for beginning, needed in KEY_USES.items():
            if action == beginning or (beginning.endswith(":") and action.startswith(beginning)):
                for use in needed:
                    found.setdefault(use, set()).add(action.partition(":")[0])
    return {use: frozenset(services) for use, services in found.items()}


class Encryption(Construct):
    """The key, and the settings of each kind of store for it.

    Without a key of the account, each store uses its service's default. Tables, queues, buckets and logs are encrypted
    with AWS's keys. SNS stores messages only until they are delivered.
    """

    def __init__(self, scope: Construct, construct_id: str, *, key: str | None, name: str, retain: bool) -> None:
        """`key` is `StageConfig.encryption_key`, `name` the stack's name. With `retain`, the stack's own key outlives
        the stack.
        """
        super().__init__(scope, construct_id)
        self.key: kms.IKey | None = None
        if key == OWN:
            own = kms.Key(
                self,
                "Key",
                description=f"{name}: tables, queues, topics, buckets, logs and events",
                enable_key_rotation=True,
                rotation_period=Duration.days(ROTATION_DAYS),
                pending_window=Duration.days(30),
                removal_policy=removal_policy(retain=retain),
            )
            own.add_to_resource_policy(_log_groups(Stack.of(self), name))
            own.add_to_resource_policy(_event_rules(Stack.of(self), name))
            self.key = own
        elif key is not None:
            self.key = kms.Key.from_key_arn(self, "Key", key)

    @property
    def table(self) -> dict[str, Any]:
        """The settings of a DynamoDB table, its indexes, its stream and its backups."""
        if self.key is None:
            return {}
        return {"encryption": dynamodb.TableEncryption.CUSTOMER_MANAGED, "encryption_key": self.key}

    @property
    def queue(self) -> dict[str, Any]:
        """The settings of an SQS queue."""
        if self.key is None:
            return {"encryption": sqs.QueueEncryption.SQS_MANAGED}
        encrypted = {"encryption": sqs.QueueEncryption.KMS, "encryption_master_key": self.key}
        return {**encrypted, "data_key_reuse": DATA_KEY_REUSE}

    @property
    def topic(self) -> dict[str, Any]:
        """The settings of an SNS topic."""
        return {} if self.key is None else {"master_key": self.key}

    @property
    def bucket(self) -> dict[str, Any]:
        """The settings of an S3 bucket. A bucket key avoids a request to KMS for each object."""
        if self.key is None:
            return {"encryption": s3.BucketEncryption.S3_MANAGED}
        return {"encryption": s3.BucketEncryption.KMS, "encryption_key": self.key, "bucket_key_enabled": True}

    @property
    def logs(self) -> dict[str, Any]:
        """The settings of a log group."""
        return {} if self.key is None else {"encryption_key": self.key}

    @property
    def bus(self) -> dict[str, Any]:
        """The settings of an event bus."""
        return {} if self.key is None else {"kms_key": self.key}

    def let_policies_use_it(self) -> None:
        """Add to each policy of the stack the permissions for the key that its other statements require.

        Call it after all constructs are created. Functions that can use a store can then also use its key, without a
        grant in each construct.
        """
        if self.key is None:
            return
        stack = Stack.of(self)
        for policy in [each for each in stack.node.find_all() if isinstance(each, iam.Policy)]:
            for use, services in sorted(key_uses([*_actions(policy)]).items()):
                via = [f"{service}.{Aws.REGION}.{Aws.URL_SUFFIX}" for service in sorted(services)]
                policy.add_statements(
                    iam.PolicyStatement(
                        actions=[use],
                        resources=[self.key.key_arn],
                        conditions={"StringEquals": {"kms:ViaService": via}},
                    )
                )


def _actions(policy: iam.Policy) -> Iterator[str]:
    """Yield all actions that a policy allows."""
    for statement in policy.document.to_json()["Statement"]:
        actions = statement["Action"]
        yield from [actions] if isinstance(actions, str) else actions


def _log_groups(stack: Stack, name: str) -> iam.PolicyStatement:
    """Allow the service principal of CloudWatch Logs to use the key. In a key policy, `*` means only this key.

    The bus construct adds the statement for EventBridge's bus. docs/security.md shows all statements, for a key of the
    account.
    """
    groups = [
        stack.format_arn(
            service="logs",
            resource="log-group",
            resource_name=f"{folder}{name}-*",
            arn_format=ArnFormat.COLON_RESOURCE_NAME,
        )
        for folder in ("", "/aws/vendedlogs/")
    ]
    return iam.PolicyStatement(
        sid="LogGroups",
        principals=[iam.ServicePrincipal(f"logs.{Aws.REGION}.{Aws.URL_SUFFIX}")],
        actions=["kms:Encrypt", "kms:Decrypt", "kms:ReEncrypt*", "kms:GenerateDataKey*", "kms:Describe*"],
        resources=["*"],
        conditions={"ArnLike": {"kms:EncryptionContext:aws:logs:arn": groups}},
    )


def _event_rules(stack: Stack, name: str) -> iam.PolicyStatement:
    """Allow the rules of the stack to send events to its encrypted queues (Amazon EventBridge User Guide, "Using
    resource-based policies for Amazon EventBridge").
    """
    rules = stack.format_arn(service="events", resource="rule", resource_name=f"{name}-*")
    return iam.PolicyStatement(
        sid="EventRules",
        principals=[iam.ServicePrincipal("events.amazonaws.com")],
        actions=["kms:Decrypt", "kms:GenerateDataKey"],
        resources=["*"],
        conditions={"StringEquals": {"aws:SourceAccount": Aws.ACCOUNT_ID}, "ArnLike": {"aws:SourceArn": rules}},
    )
