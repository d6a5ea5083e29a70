"""The runs table's stream: as its event source hands it over (AWS's documents), and read again on MiniStack."""

from __future__ import annotations

from typing import Any

import pytest

from duecourse.adapters.aws.clients import AwsClients
from duecourse.adapters.dynamodb.run_changes import DynamoRunChanges
from duecourse.domain.maintenance.archive import EXPIRY, Unreadable, is_archived, sheets
from duecourse.domain.runs.states import RunState
from duecourse.ports import ServiceError
from duecourse.stores.keys import job_key
from duecourse.stores.run_item import to_item
from tests.support.expiry import SignedStream, batch_info, expire, stream_of
from tests.support.jobs import job
from tests.support.runs import run
from tests.support.stream_events import TTL, event, expired, removed
from tests.support.tables import Tables
from tests.support.varied import varied

JOB = job(id="nightly")
RUNS = [run(JOB, RunState.SUCCEEDED, after=after, result={"row": after}) for after in (0, 10, 20)]


@pytest.fixture
def streams(clients: AwsClients) -> SignedStream:
    return SignedStream(clients.get("dynamodbstreams"))


class Nobody:
    """Nothing is asked of the stream to read an event."""


def handed(records: dict[str, Any]) -> Any:
    return DynamoRunChanges(Nobody()).handed(records["Records"])


def test_run_changes_return_expired_runs_as_stored() -> None:
    changes = handed(expired(*RUNS))
    assert [change.content for change in changes] == RUNS
    assert all(is_archived(change) for change in changes)
    assert {change.by for change in changes} == {EXPIRY}


def test_run_changes_removal_by_request_names_no_principal() -> None:
    (change,) = handed(event(removed(to_item(RUNS[0]), 1, by=None)))
    assert change.by is None
    assert not is_archived(change)


def test_run_changes_other_expired_items_have_no_content() -> None:
    asked = job_key("default", "nightly", "INPUT#.mabc") | {"expires_at": {"N": "1"}}
    waits = job_key("default", "nightly", "QUEUE#01795262400#20261121T120000Z") | {"expires_at": {"N": "1"}}
    assert [change.content for change in handed(event(removed(asked, 1), removed(waits, 2)))] == [None, None]


@pytest.mark.parametrize(
    "wrong",
    [{"state": {"S": "LATER"}}, {"due": {"S": "noon"}}, {"attempt": {"NULL": True}}, {"PK": {"S": "RUN"}}],
    ids=str,
)
def test_run_changes_report_runs_unreadable_by_this_version_with_their_image(wrong: dict[str, Any]) -> None:
    image = to_item(RUNS[0]) | wrong
    (change,) = handed(event(removed(image, 1)))
    assert isinstance(change.content, Unreadable)
    assert change.content.image == image
    assert change.content.error


def test_run_changes_report_removals_without_image_with_their_key() -> None:
    record = removed(to_item(RUNS[0]), 1, by=TTL)
    del record["dynamodb"]["OldImage"]
    (change,) = handed(event(record))
    assert isinstance(change.content, Unreadable)
    assert change.content.image == record["dynamodb"]["Keys"]


def test_run_changes_failed_batch_is_read_again_into_the_same_objects(
    served_tables: Tables, streams: SignedStream
) -> None:
    expire(served_tables, *RUNS)
    failed = batch_info(streams, stream_of(served_tables))
    stretch = DynamoRunChanges(streams).again(failed)
    assert stretch.whole
    archived = [change for change in stretch.changes if is_archived(change)]
    assert [change.content for change in archived] == RUNS
    # The event source hands over what its filter lets through: the same objects come of it.
    assert sheets(archived) == sheets(stretch.changes)


def test_run_changes_only_changes_of_the_batch_are_read_again(served_tables: Tables, streams: SignedStream) -> None:
    expire(served_tables, RUNS[0])
    first = batch_info(streams, stream_of(served_tables))
    expire(served_tables, RUNS[1])
    both = batch_info(streams, stream_of(served_tables))
    changes = DynamoRunChanges(streams).again(first).changes
    assert [change.content for change in changes if is_archived(change)] == [RUNS[0]]
    rest = {**both, "startSequenceNumber": first["endSequenceNumber"]}
    later = DynamoRunChanges(streams).again(rest).changes
    assert [change.content for change in later if is_archived(change)] == [RUNS[0], RUNS[1]]


def test_run_changes_trimmed_stream_records_are_reported_and_the_rest_is_read(
    served_tables: Tables, streams: SignedStream
) -> None:
    expire(served_tables, *RUNS)
    failed = batch_info(streams, stream_of(served_tables))
    stretch = DynamoRunChanges(streams).again({**failed, "startSequenceNumber": "1"})
    assert not stretch.whole
    assert [change.content for change in stretch.changes if is_archived(change)] == RUNS


def test_run_changes_missing_shard_is_reported_as_incomplete(served_tables: Tables, streams: SignedStream) -> None:
    expire(served_tables, RUNS[0])
    failed = batch_info(streams, stream_of(served_tables))
    stretch = DynamoRunChanges(streams).again({**failed, "shardId": "shardId-00000000000000000001-00000001"})
    assert (stretch.changes, stretch.whole) == ((), False)


def test_run_changes_stretch_with_unreachable_end_is_incomplete(served_tables: Tables, streams: SignedStream) -> None:
    expire(served_tables, RUNS[0])
    failed = batch_info(streams, stream_of(served_tables))
    stretch = DynamoRunChanges(streams).again({**failed, "endSequenceNumber": "9" * 40})
    assert not stretch.whole
    assert [change.content for change in stretch.changes if is_archived(change)] == [RUNS[0]]


class Refusing:
    """A stream that may not be read."""

    def get_shard_iterator(self, **_: Any) -> dict[str, Any]:
        raise ServiceError("AccessDeniedException", "no")


def test_run_changes_raise_other_refusals() -> None:
    with pytest.raises(ServiceError, match="AccessDenied"):
        DynamoRunChanges(Refusing()).again(
            {"streamArn": "arn", "shardId": "s", "startSequenceNumber": "1", "endSequenceNumber": "2"}
        )


def test_run_changes_records_of_one_batch_may_belong_to_several_jobs_and_tenants() -> None:
    other = varied(RUNS[0], tenant="acme", job_id="hourly")
    assert [change.content for change in handed(expired(RUNS[0], other))] == [RUNS[0], other]
