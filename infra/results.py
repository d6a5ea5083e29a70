"""The store of results: what a run's target answered, where that is too large for the run's record."""

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_s3 as s3
from constructs import Construct

from infra.config import StageConfig

PREFIX = "results/"


class Results(Construct):
    """A private bucket; what lies in it goes some time after the record that names it.

    A bucket that still holds results is not deleted with its stack: empty it first (`aws s3 rm --recursive`). A
    function of CDK's could do that, with rights that nothing else here has.
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
                s3.LifecycleRule(prefix=PREFIX, expiration=Duration.days(config.results_retention_days)),
                s3.LifecycleRule(abort_incomplete_multipart_upload_after=Duration.days(1)),
            ],
            removal_policy=RemovalPolicy.RETAIN if config.retain_data else RemovalPolicy.DESTROY,
        )

    @property
    def name(self) -> str:
        """What the functions call it by."""
        return self.bucket.bucket_name

    @property
    def objects_arn(self) -> str:
        """The results in it, for policies."""
        return self.bucket.arn_for_objects(f"{PREFIX}*")
