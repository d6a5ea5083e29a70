"""The store of results: what a run's target answered, where that is too large for the run's record."""

from aws_cdk import Duration
from aws_cdk import aws_s3 as s3
from constructs import Construct

from infra.settings.config import StageConfig
from infra.stores.access_logs import AccessLogs
from infra.stores.encryption import Encryption
from infra.stores.private_bucket import private_bucket

PREFIX = "results/"


class ResultsBucket(Construct):
    """A private bucket; what lies in it goes some time after the record that names it.

    A bucket that still holds results is not deleted with its stack: empty it first (docs/deleting.md).
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
            encryption=encryption,
            logs=logs,
            prefix=PREFIX,
            lifecycle_rules=[
                s3.LifecycleRule(prefix=PREFIX, expiration=Duration.days(config.results_retention_days)),
                s3.LifecycleRule(abort_incomplete_multipart_upload_after=Duration.days(1)),
            ],
        )

    @property
    def name(self) -> str:
        """What the functions call it by."""
        return self.bucket.bucket_name

    @property
    def objects_arn(self) -> str:
        """The results in it, for policies."""
        return self.bucket.arn_for_objects(f"{PREFIX}*")
