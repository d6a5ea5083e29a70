"""The archiver's handler: a batch of the stream in, objects in the bucket; nothing lost and nothing twice."""

import gzip
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import pytest

from duecourse.domain.ids import RunName
from duecourse.domain.maintenance.archive import row_of
from duecourse.domain.runs.states import RunState
from duecourse.domain.workflows.graph import StepOutcome
from duecourse.stores.keys import ends_key
from duecourse.testing.clock import SettableClock
from tests.integration.handlers.conftest import Handler
from tests.support.emulators import client
from tests.support.expiry import batch_info, expire, stream_of
from tests.support.jobs import NOON, job
from tests.support.lambda_events import Context
from tests.support.runs import run
from tests.support.stream_events import FIRST_NUMBER, event, expired, failure, removed

JOB = job(id="nightly")
DAY = 86_400
RUNS = [run(JOB, RunState.SUCCEEDED, after=after) for after in (0, 10, DAY)]


@dataclass(frozen=True)
class Bucket:
    """What lies in the archive."""

    s3: Any
    name: str

    def create(self) -> None:
        self.s3.create_bucket(Bucket=self.name)

    def names(self) -> list[str]:
        return [each["Key"] for each in self.s3.list_objects_v2(Bucket=self.name).get("Contents", [])]

    def rows(self) -> list[dict[str, Any]]:
        bodies = [self.s3.get_object(Bucket=self.name, Key=key)["Body"].read() for key in self.names()]
        return [json.loads(line) for body in bodies for line in gzip.decompress(body).splitlines()]


@pytest.fixture
def bucket(ministack: str) -> Bucket:
    """Not created yet: until a test does, the archiver is refused."""
    return Bucket(client("s3", ministack), f"archive-{uuid4().hex}")


@pytest.fixture
def archive(function: Callable[..., Handler], bucket: Bucket) -> Handler:
    return function("archive", ARCHIVE_BUCKET=bucket.name)


def lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_archive_stores_a_batch_of_expired_runs_by_day(
    archive: Handler, bucket: Bucket, capsys: pytest.CaptureFixture[str]
) -> None:
    bucket.create()
    assert archive(expired(*RUNS), Context()) == {"batchItemFailures": []}
    assert [key.split("/")[1] for key in bucket.names()] == ["day=2026-11-21", "day=2026-11-22"]
    assert bucket.rows() == [row_of(each) for each in RUNS]
    written = lines(capsys)
    assert [line["rows"] for line in written if line.get("action") == "archived"] == [2, 1]
    (metrics,) = [line for line in written if "_aws" in line]
    assert (metrics["function"], metrics["RecordsArchived"], metrics["ObjectsWritten"]) == ("archive", [3.0], [2.0])


def test_archive_returns_a_failed_batch_and_then_neither_loses_nor_duplicates_it(
    archive: Handler, bucket: Bucket
) -> None:
    batch = expired(*RUNS)
    assert archive(batch, Context()) == {"batchItemFailures": [{"itemIdentifier": str(FIRST_NUMBER)}]}
    bucket.create()
    for _ in range(3):  # the event source may give a batch that was done once more
        assert archive(batch, Context()) == {"batchItemFailures": []}
    assert bucket.rows() == [row_of(each) for each in RUNS]


def test_archive_logs_and_counts_a_failure(archive: Handler, capsys: pytest.CaptureFixture[str]) -> None:
    archive(expired(RUNS[0]), Context())
    written = lines(capsys)
    (line,) = [each for each in written if each.get("action") == "archive_failed"]
    assert line["level"] == "ERROR"
    assert "NoSuchBucket" in line["error"]
    (metrics,) = [each for each in written if "ArchivesFailed" in each]
    assert metrics["ArchivesFailed"] == [1.0]
    (failures,) = [each for each in written if "Failures" in each]
    assert (failures["symptom"], failures["Failures"]) == ("maintenance", [1.0])


def test_archive_ignores_records_that_did_not_expire(archive: Handler, bucket: Bucket) -> None:
    bucket.create()
    record = expired(RUNS[0])["Records"][0]
    del record["userIdentity"]
    assert archive(event(record), Context()) == {"batchItemFailures": []}
    assert bucket.names() == []


def test_archive_ignores_expired_step_outcomes_of_a_workflow_run(archive: Handler, bucket: Bucket, stage: Any) -> None:
    bucket.create()
    of, tables = RunName("nightly", int(NOON)), stage.tables
    tables.workflows(SettableClock(NOON)).record_end("default", of, 0, StepOutcome.SUCCEEDED, expires_at=int(NOON))
    ends = tables.client.get_item(TableName=tables.runs, Key=ends_key("default", of, 0))["Item"]
    assert archive(event(removed(ends, FIRST_NUMBER)), Context()) == {"batchItemFailures": []}
    assert bucket.names() == []


def test_archive_stores_an_unreadable_record_separately_without_blocking_others(
    archive: Handler, bucket: Bucket
) -> None:
    bucket.create()
    strange = {"PK": {"S": "JOB#default#nightly"}, "SK": {"S": "RUN#20261121T120000Z"}, "state": {"S": "LATER"}}
    batch = event(*expired(RUNS[0])["Records"], removed(strange, FIRST_NUMBER + 1))
    assert archive(batch, Context()) == {"batchItemFailures": []}
    runs, unreadable = bucket.names()
    assert (runs.split("/")[0], unreadable.split("/")[0]) == ("runs", "unreadable")
    assert bucket.rows()[1]["image"] == strange


def test_archive_processes_the_batch_of_a_failure_queue_message(
    archive: Handler, bucket: Bucket, stage: Any, ministack: str
) -> None:
    """The emulator's stream names no author, so nothing of it counts as expired; what is read again and kept is
    tested with the author in tests/contract/runs/test_run_changes.py.
    """
    bucket.create()
    expire(stage.tables, RUNS[0])
    info = batch_info(client("dynamodbstreams", ministack), stream_of(stage.tables))
    told = failure(1, 2) | {"DDBStreamBatchInfo": info}
    assert archive(told, Context()) == {"RecordsArchived": 0, "RecordsUnreadable": 0, "ObjectsWritten": 0}


def test_archive_raises_an_error_for_a_failed_batch_no_longer_in_the_stream(
    archive: Handler, bucket: Bucket, capsys: pytest.CaptureFixture[str], stage: Any, ministack: str
) -> None:
    bucket.create()
    expire(stage.tables, RUNS[0])
    info = batch_info(client("dynamodbstreams", ministack), stream_of(stage.tables))
    told = failure(1, 2) | {"DDBStreamBatchInfo": {**info, "startSequenceNumber": "1"}}
    with pytest.raises(RuntimeError, match="some records could not be archived"):
        archive(told, Context())
    assert [line["found"] for line in lines(capsys) if line.get("action") == "archive_records_gone"] == [2]
