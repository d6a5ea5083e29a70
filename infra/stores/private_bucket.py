"""What every bucket of the stack has: nobody from outside, TLS only, encrypted, each access written down."""

from __future__ import annotations

from collections.abc import Sequence

from aws_cdk import aws_s3 as s3
from constructs import Construct

from infra.settings.config import StageConfig
from infra.stores.access_logs import AccessLogs
from infra.stores.encryption import Encryption
from infra.stores.removal import removal_policy


def private_bucket(
    scope: Construct,
    construct_id: str,
    *,
    config: StageConfig,
    encryption: Encryption,
    logs: AccessLogs | None,
    prefix: str,
    lifecycle_rules: Sequence[s3.LifecycleRule],
    versioned: bool | None = None,
) -> s3.Bucket:
    """A bucket whose accesses are logged under `prefix`, where the stage keeps such logs.

    One that still holds objects is not deleted with its stack. A function of CDK's could empty it, with rights that
    nothing else here has.
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
        **encryption.bucket,
    )
