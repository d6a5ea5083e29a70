"""The stream of the runs table: the records of an event, and records that are read again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from duecourse.domain.maintenance.archive import REMOVE, RunChange, Unreadable
from duecourse.domain.runs.states import Run
from duecourse.ports import ServiceError
from duecourse.ports.archive import Stretch
from duecourse.stores.keys import RUN_PREFIX, Item
from duecourse.stores.run_item import from_item

TRIMMED = "TrimmedDataAccessException"
GONE = "ResourceNotFoundException"

EMPTY_PAGES = 100
"""The number of empty pages after which reading stops. An open shard returns empty pages indefinitely."""


class DynamoRunChanges:
    """Implementation of ports.archive.RunChanges. `client` is the client of `dynamodbstreams`."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def handed(self, records: Sequence[Mapping[str, Any]]) -> tuple[RunChange, ...]:
        return tuple(_change(record) for record in records)

    def again(self, failed: Mapping[str, Any]) -> Stretch:
        """Read failed records again. Records that have left the stream are skipped, and the others are returned."""
        first, last = failed["startSequenceNumber"], failed["endSequenceNumber"]
        shard = {"StreamArn": failed["streamArn"], "ShardId": failed["shardId"]}
        try:
            answer = self._client.get_shard_iterator(
                **shard, ShardIteratorType="AT_SEQUENCE_NUMBER", SequenceNumber=first
            )
            return self._through(answer["ShardIterator"], last, whole=True)
        except ServiceError as error:
            code = error.code
            if code == GONE:
                return Stretch((), whole=False)
            if code != TRIMMED:
                raise
        answer = self._client.get_shard_iterator(**shard, ShardIteratorType="TRIM_HORIZON")
        return self._through(answer["ShardIterator"], last, whole=False)

    def _through(self, iterator: str | None, last: str, *, whole: bool) -> Stretch:
        """Read all records up to the sequence number `last`. The result is not whole if `last` was not found."""
        found: list[RunChange] = []
        empty = 0
        while iterator is not None and empty < EMPTY_PAGES:
            page = self._client.get_records(ShardIterator=iterator)
            for record in page["Records"]:
                number = record["dynamodb"]["SequenceNumber"]
                if int(number) <= int(last):
                    found.append(_change(record))
                if int(number) >= int(last):
                    return Stretch(tuple(found), whole=whole)
            empty = 0 if page["Records"] else empty + 1
            iterator = page.get("NextShardIterator")
        return Stretch(tuple(found), whole=False)


def _change(record: Mapping[str, Any]) -> RunChange:
    """Return the change of a stream record. The service that made the change is in `principalId` in Lambda's events,
    and in `PrincipalId` in the stream itself.
    """
    change, kind = record["dynamodb"], record["eventName"]
    identity = record.get("userIdentity") or {}
    is_run = change["Keys"]["SK"].get("S", "").startswith(RUN_PREFIX)
    return RunChange(
        sequence=change["SequenceNumber"],
        kind=kind,
        by=identity.get("principalId") or identity.get("PrincipalId"),
        content=_content(change.get("OldImage"), change["Keys"]) if kind == REMOVE and is_run else None,
    )


def _content(image: Item | None, keys: Item) -> Run | Unreadable:
    """Return the run of a removed item. A run that cannot be read is returned as Unreadable, so that it reaches the
    archive too and does not block the others.
    """
    try:
        return from_item(image or {})
    except (KeyError, TypeError, ValueError, AttributeError) as problem:
        return Unreadable(image or keys, repr(problem))
