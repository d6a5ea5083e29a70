"""The buckets of a stage: private, TLS only, encrypted, with access logs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from aws_cdk import Duration
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3
from constructs import Construct

from infra.settings.config import StageConfig
from infra.stores.encryption import Encryption, removal_policy

PREFIX, LOGS = "results/", "logs/"


class AccessLogs(Construct):
    """A private bucket for S3's access logs. The logs expire after the same time as the functions' logs.

    The bucket always uses S3's own key, because S3 does not deliver logs to a bucket with another key (Amazon S3 User
    Guide, "Enabling Amazon S3 server access logging"). The logs contain names of objects and callers, but no content.
    """

    def __init__(self, scope: Construct, construct_id: str, *, config: StageConfig) -> None:
        super().__init__(scope, construct_id)
        self.bucket = private_bucket(
            self,
            "Bucket",
            config=config,
            encryption={"encryption": s3.BucketEncryption.S3_MANAGED},
            lifecycle_rules=[
                s3.LifecycleRule(expiration=Duration.days(config.log_retention_days)),
                s3.LifecycleRule(abort_incomplete_multipart_upload_after=Duration.days(1)),
            ],
        )


def private_bucket(
    scope: Construct,
    construct_id: str,
    *,
    config: StageConfig,
    encryption: Mapping[str, Any],
    logs: AccessLogs | None = None,
    prefix: str | None = None,
    lifecycle_rules: Sequence[s3.LifecycleRule],
    versioned: bool | None = None,
) -> s3.Bucket:
    """Return a bucket with access logs under `prefix` if the stage has access logs.

    A bucket that still contains objects is not deleted with its stack. CDK's own function could empty it, but would
    need permissions that no other function of the stack has.
    """
    return s3.Bucket(
        scope,
        construct_id,
        block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
        object_ownership=s3.ObjectOwnership.BUCKET_OWNER_ENFORCED,
        enforce_ssl=config.refuse_plain_http,
        versioned=versioned,
        lifecycle_rules=[*lifecycle_rules],
        server_access_logs_bucket=None if logs is None else logs.bucket,
        server_access_logs_prefix=None if logs is None else prefix,
        removal_policy=removal_policy(retain=config.retain_data),
        **encryption,
    )


class ResultsBucket(Construct):
    """A private bucket for results and the logs of runs. Both expire some time after the records of their runs.

    A bucket that still contains objects is not deleted with its stack: empty it first (docs/deleting.md).
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        config: StageConfig,
        encryption: Encryption,
        logs: AccessLogs | None,
    ) -> None:
        super().__init__(scope, construct_id)
        self.bucket = private_bucket(
            self,
            "Bucket",
            config=config,
            encryption=encryption.bucket,
            logs=logs,
            prefix=PREFIX,
            lifecycle_rules=[
                *(
                    s3.LifecycleRule(prefix=prefix, expiration=Duration.days(config.results_retention_days))
                    for prefix in (PREFIX, LOGS)
                ),
                s3.LifecycleRule(abort_incomplete_multipart_upload_after=Duration.days(1)),
            ],
        )

    @property
    def name(self) -> str:
        """The name of the bucket in the functions' settings."""
        return self.bucket.bucket_name

    @property
    def objects_arn(self) -> str:
        """The ARN of all results, for policies."""
        return self.bucket.arn_for_objects(f"{PREFIX}*")

    @property
    def logs_arn(self) -> str:
        """The ARN of the logs of all runs, for policies."""
        return self.bucket.arn_for_objects(f"{LOGS}*")

    @property
    def list_logs(self) -> iam.PolicyStatement:
        """The permission to list the logs of runs."""
        condition = {"StringLike": {"s3:prefix": f"{LOGS}*"}}
        return iam.PolicyStatement(actions=["s3:ListBucket"], resources=[self.bucket.bucket_arn], conditions=condition)
