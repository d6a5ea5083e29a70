"""Archive: the runs table's stream delivers expired records, which are stored in a bucket as compressed rows by day."""

import json

from aws_cdk import Duration
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from infra.functions.python_function import PythonFunction
from infra.nag import acknowledge, acknowledge_wildcards
from infra.parts import SharedResources
from infra.settings.stores_config import ArchiveConfig
from infra.stores.archive_table import PREFIX, ArchiveTable
from infra.stores.buckets import AccessLogs, private_bucket
from infra.stores.encryption import Encryption

TIMEOUT_SECONDS = 120
REPLACED_DAYS = 30

EXPIRED_RUNS = {
    "eventName": ["REMOVE"],
    "userIdentity": {"type": ["Service"], "principalId": ["dynamodb.amazonaws.com"]},
    "dynamodb": {"Keys": {"SK": {"S": [{"prefix": "RUN#"}]}}},
}
"""The filter of the function's events: a run writes its record at least twice and expires once."""


class ArchiveStore(Construct):
    """A bucket, a function on the runs table's stream, a queue of records that could not be archived, and a table for
    queries.

    A bucket that still contains history is not deleted with its stack (see infra/stores/buckets.py).
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        parts: SharedResources,
        *,
        encryption: Encryption,
        logs: AccessLogs | None,
    ) -> None:
        super().__init__(scope, construct_id)
        config, runs = parts.config, parts.runs
        # Versioned: objects that are overwritten or deleted by mistake can be restored for a month.
        self.bucket = private_bucket(
            self,
            "Bucket",
            config=config,
            encryption=encryption.bucket,
            logs=logs,
            prefix="archive/",
            versioned=True,
            lifecycle_rules=_lifecycle(config.archive),
        )
        # The event source sends the position of a failed batch in the stream to this queue. The records themselves
        # remain in the stream.
        self.failures = sqs.Queue(
            self,
            "Failures",
            retention_period=Duration.days(14),
            enforce_ssl=config.refuse_plain_http,
            **encryption.queue,
        )
        self.function = PythonFunction(
            self,
            "Worker",
            runtime=parts.runtime,
            source="archive",
            description="Duecourse: archives the records of expired runs",
            timeout_seconds=TIMEOUT_SECONDS,
            memory_mb=256,
            environment={"DUECOURSE_ARCHIVE_BUCKET": self.bucket.bucket_name},
        )
        stream = runs.table.table_stream_arn
        if stream is None:
            raise ValueError("the runs table has no stream, so nothing would be archived")
        allow = self.function.allow
        # The event source reads the stream, and the function reads a batch that has failed permanently. ListStreams is
        # required to create the event source. A table that is restored under the same name gets a stream with another
        # label. A deployment would not update the role then, because the template does not change.
        reading = ("DescribeStream", "GetRecords", "GetShardIterator", "ListStreams")
        streams = f"{runs.arn}/stream/*"
        allow([f"dynamodb:{action}" for action in reading], [streams])
        objects = self.bucket.arn_for_objects("*")
        allow(["s3:PutObject"], [objects])
        allow(["sqs:SendMessage"], [self.failures.queue_arn])
        acknowledge_wildcards(
            self.function,
            "The names of the archive's objects are made from day and content when they are written. The bucket "
            "contains no other objects.",
            [objects],
        )
        acknowledge_wildcards(
            self.function,
            "The name of a stream contains its creation time, so a table that is restored under the same name "
            "has another stream.",
            [streams],
        )
        acknowledge(
            self.failures,
            "This queue is the on-failure destination of the event source, which the "
            "rule does not recognize. It has no consumer that could fail.",
            "SQS3",
        )
        self.source = self._attach(config.archive, stream)
        self.table = ArchiveTable(self, "Catalogue", config=config, bucket=self.bucket)

    def _attach(self, archive: ArchiveConfig, stream: str) -> str:
        """Let the stream invoke the function. Return the event source's id. A batch that was not archived is retried
        unchanged until it is too old. If the function fails, the batch is split, so that one record cannot block the
        others.
        """
        return lambda_.CfnEventSourceMapping(
            self,
            "Stream",
            event_source_arn=stream,
            function_name=self.function.name,
            starting_position="TRIM_HORIZON",
            batch_size=archive.batch_size,
            maximum_batching_window_in_seconds=archive.window_seconds,
            filter_criteria=lambda_.CfnEventSourceMapping.FilterCriteriaProperty(
                filters=[lambda_.CfnEventSourceMapping.FilterProperty(pattern=json.dumps(EXPIRED_RUNS))]
            ),
            function_response_types=["ReportBatchItemFailures"],
            bisect_batch_on_function_error=True,
            maximum_retry_attempts=-1,
            maximum_record_age_in_seconds=archive.give_up_after_hours * 3600,
            destination_config=lambda_.CfnEventSourceMapping.DestinationConfigProperty(
                on_failure=lambda_.CfnEventSourceMapping.OnFailureProperty(destination=self.failures.queue_arn)
            ),
        ).ref


def _lifecycle(archive: ArchiveConfig) -> list[s3.LifecycleRule]:
    """Return the lifecycle rules of the objects."""
    rules = [
        s3.LifecycleRule(noncurrent_version_expiration=Duration.days(REPLACED_DAYS)),
        s3.LifecycleRule(abort_incomplete_multipart_upload_after=Duration.days(1)),
    ]
    if archive.glacier_after_days is not None:
        instant = s3.StorageClass.GLACIER_INSTANT_RETRIEVAL
        after = Duration.days(archive.glacier_after_days)
        transition = s3.Transition(storage_class=instant, transition_after=after)
        rules.append(s3.LifecycleRule(prefix=PREFIX, transitions=[transition]))
    if archive.retention_days is not None:
        rules.append(s3.LifecycleRule(expiration=Duration.days(archive.retention_days)))
    return rules
