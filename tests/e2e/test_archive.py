"""A run's way into the archive on the real stack: its record as it was, in the shape in which AWS tells its expiry.

MiniStack has streams, event sources and their filters, but removes what has expired without telling the stream; so the
deployed function is given the event that AWS would give it.
"""

import gzip
import json
from dataclasses import dataclass
from typing import Any

import pytest

from duecourse.cli.local.demo.receiver import OK_PATH
from duecourse.cli.local.emulator.environment import STACK_NAME
from duecourse.client.models import Run
from tests.support.deployed import SOON_ONCE, invoke
from tests.support.emulators import client
from tests.support.stream_events import event, removed
from tests.support.waiting import awaited

from .conftest import System, run_in


@dataclass(frozen=True)
class Archived:
    """The deployed archive."""

    endpoint: str
    outputs: dict[str, str]

    def invoke(self, given: dict[str, Any]) -> dict[str, Any]:
        told: dict[str, Any] = invoke(self.endpoint, self.outputs["ArchiveFunction"], given)
        return told

    def rows(self) -> list[dict[str, Any]]:
        s3, bucket = client("s3", self.endpoint), self.outputs["ArchiveBucket"]
        keys = [each["Key"] for each in s3.list_objects_v2(Bucket=bucket).get("Contents", [])]
        bodies = [s3.get_object(Bucket=bucket, Key=key)["Body"].read() for key in keys]
        return [json.loads(line) for body in bodies for line in gzip.decompress(body).splitlines()]

    def record(self, run: Run) -> dict[str, Any]:
        """The run's item as it stands in the table."""
        key = {"PK": {"S": f"JOB#default#{run.job_id}"}, "SK": {"S": f"RUN#{run.id.partition('.')[2]}"}}
        table = self.outputs["RunsTable"]
        item: dict[str, Any] = client("dynamodb", self.endpoint).get_item(TableName=table, Key=key)["Item"]
        return item


@pytest.fixture
def archived(system: System) -> Archived:
    (stack,) = client("cloudformation", system.stack.endpoint).describe_stacks(StackName=STACK_NAME)["Stacks"]
    outputs = {each["OutputKey"]: each["OutputValue"] for each in stack["Outputs"]}
    return Archived(system.stack.endpoint, outputs)


@pytest.fixture
def ended(system: System) -> Run:
    target = {"type": "http", "url": system.receiver.url + OK_PATH}
    system.client.create_job({"id": "archived", **SOON_ONCE, "target": target})
    return awaited("the run's end", run_in(system, "archived", "SUCCEEDED"))


def test_archive_expired_run_is_archived_once_as_the_api_showed_it_despite_a_failure(
    system: System, archived: Archived, ended: Run
) -> None:
    batch = event(removed(archived.record(ended), 1))
    s3, bucket = client("s3", archived.endpoint), archived.outputs["ArchiveBucket"]
    s3.delete_bucket(Bucket=bucket)
    assert archived.invoke(batch) == {"batchItemFailures": [{"itemIdentifier": "1"}]}
    s3.create_bucket(Bucket=bucket)
    for _ in range(2):
        assert archived.invoke(batch) == {"batchItemFailures": []}
    (row,) = archived.rows()
    shown = {name: value for name, value in ended.document.items() if name in row}
    assert row == {"schema_version": 1, "tenant": "default", "result_key": None} | shown


def test_archive_is_described_by_the_catalogue(archived: Archived) -> None:
    glue = client("glue", archived.endpoint)
    table = glue.get_table(DatabaseName=archived.outputs["ArchiveDatabase"], Name="runs")["Table"]
    assert table["StorageDescriptor"]["Location"] == f"s3://{archived.outputs['ArchiveBucket']}/runs/"
    assert table["Parameters"]["projection.day.range"] == "2020-01-01,NOW"


def test_archive_event_source_reads_the_runs_stream_with_a_failure_queue(archived: Archived) -> None:
    function = archived.outputs["ArchiveFunction"]
    found = client("lambda", archived.endpoint).list_event_source_mappings(FunctionName=function)
    (mapping,) = found["EventSourceMappings"]
    assert mapping["State"] == "Enabled"
    table = client("dynamodb", archived.endpoint).describe_table(TableName=archived.outputs["RunsTable"])
    assert mapping["EventSourceArn"] == table["Table"]["LatestStreamArn"]
    queue = archived.outputs["ArchiveFailuresQueueUrl"]
    attributes = client("sqs", archived.endpoint).get_queue_attributes(QueueUrl=queue, AttributeNames=["QueueArn"])
    assert mapping["DestinationConfig"]["OnFailure"]["Destination"] == attributes["Attributes"]["QueueArn"]
