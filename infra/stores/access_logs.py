"""Who asked for what in the buckets: S3's own access logs, in a bucket of their own."""

from aws_cdk import Duration
from aws_cdk import aws_s3 as s3
from constructs import Construct

from infra.settings.config import StageConfig
from infra.stores.removal import removal_policy


class AccessLogs(Construct):
    """A private bucket that only S3 writes into; its lines go when the functions' logs go.

    Under S3's own key whatever the stage's: S3 delivers to no bucket with another one (Amazon S3 User Guide, "Enabling
    Amazon S3 server access logging"). The lines name objects and callers and hold nothing of the objects.
    """

    def __init__(self, scope: Construct, construct_id: str, *, config: StageConfig) -> None:
        super().__init__(scope, construct_id)
        self.bucket = s3.Bucket(
            self,
            "Bucket",
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            object_ownership=s3.ObjectOwnership.BUCKET_OWNER_ENFORCED,
            encryption=s3.BucketEncryption.S3_MANAGED,
            enforce_ssl=config.refuse_plain_http,
            lifecycle_rules=[
                s3.LifecycleRule(expiration=Duration.days(config.log_retention_days)),
                s3.LifecycleRule(abort_incomplete_multipart_upload_after=Duration.days(1)),
            ],
            removal_policy=removal_policy(retain=config.retain_data),
        )
