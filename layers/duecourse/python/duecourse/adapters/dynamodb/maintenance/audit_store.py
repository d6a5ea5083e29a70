"""The audit's access to the jobs table: jobs by segment, and the audit's turns and findings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from duecourse.adapters.dynamodb import values
from duecourse.adapters.dynamodb.conditions import ABSENT, holds
from duecourse.adapters.dynamodb.jobs import job_item
from duecourse.adapters.dynamodb.jobs.job_pages import readable
from duecourse.adapters.dynamodb.keys import JOB, Item, job_key, key
from duecourse.adapters.dynamodb.maintenance.scan import position_of, save_position, scan_page
from duecourse.adapters.dynamodb.writing import conditional, read_item, read_items
from duecourse.domain.ids import to_basic
from duecourse.domain.instants import DAY_SECONDS
from duecourse.domain.jobs.job import Job
from duecourse.domain.maintenance.audit import Turn, joined
from duecourse.domain.runs.coverage import OccurrenceRange
from duecourse.ports import Finding, JobsPage, Undecided

TURNS = "AUDIT#TURNS"
FINDINGS = "AUDIT#FINDINGS"
OPEN = "AUDIT#OPEN"

KEPT_SECONDS = 30 * DAY_SECONDS
"""How long findings and turns are kept, in seconds."""

_WITHOUT_PAYLOAD = (
    "PK", "SK", "tenant", "job_id", "state", "generation", "created_generation", "created_at", "updated_at",
    "changed_at", "paused_at", "resumed_at", "revision", "seated", "definition",
)  # fmt: skip


class DynamoAuditStore:
    """Implementation of ports.AuditStore. One scan request evaluates `limit` items, or one megabyte (the maximum of
    DynamoDB) if `limit` is None.
    """

    def __init__(self, client: Any, table: str, *, limit: int | None = None) -> None:
        self._client = client
        self._table = table
        self._bound = {} if limit is None else {"Limit": limit}

    def jobs(self, segment: int, segments: int, start: str | None) -> JobsPage:
        items, following = scan_page(
            self._client,
            self._table,
            start,
            read=_WITHOUT_PAYLOAD,
            where="#SK = :job",
            stand={":job": JOB},
            Segment=segment,
            TotalSegments=segments,
            **self._bound,
        )
        found: list[Job | None] = [readable(job_item.from_item, item) for item in items]
        return JobsPage([job for job in found if job is not None], following)

    def after(self, job: Job) -> str:
        return values.document(job_key(job.tenant, job.id, JOB))

    def turns(self) -> list[Turn]:
        return [_turn(item) for item in self._query(TURNS)]

    def save(self, turn: Turn, *, now: float) -> bool:
        stand = {
            "segment": turn.segment,
            "segments": turn.segments,
            "low": turn.low,
            "high": turn.high,
            "done": turn.done,
            "saved_at": now,
            "expires_at": int(now) + KEPT_SECONDS,
        }
        where = key(TURNS, f"{turn.segments:04d}/{turn.segment:04d}")
        return save_position(self._client, self._table, where, turn, stand)

    def known(self, finding: Finding) -> bool:
        return read_item(self._client, self._table, _key(finding)) is not None

    def keep(self, finding: Finding, *, now: float) -> None:
        stand = _found(finding.kind, finding.tenant, finding.job_id, [finding.range], now) | {"run_id": finding.run_id}
        self._client.put_item(TableName=self._table, Item=_key(finding) | values.pack(stand))

    def open(self, limit: int) -> list[Undecided]:
        read = [readable(_undecided, item) for item in self._query(OPEN, limit)]
        return sorted((each for each in read if each is not None), key=lambda each: each.ranges[0].first)

    def undecided(self, tenant: str, job_id: str, ranges: Sequence[OccurrenceRange], *, now: float) -> bool:
        while True:  # until no other write happens between the read and the write
            item = read_item(self._client, self._table, _open_key(tenant, job_id))
            standing = None if item is None else _undecided(item)
            before = Undecided(tenant, job_id, (), version=0) if standing is None else standing
            if self._write(before, joined(before.ranges, ranges), now):
                return standing is None

    def settle(self, standing: Undecided, left: Sequence[OccurrenceRange], *, now: float) -> bool:
        if left:
            return self._write(standing, joined((), left), now)
        where = _open_key(standing.tenant, standing.job_id)
        return conditional(self._client.delete_item, TableName=self._table, Key=where, **_standing(standing))

    def _write(self, before: Undecided, ranges: Sequence[OccurrenceRange], now: float) -> bool:
        stand = _found("open", before.tenant, before.job_id, ranges, now) | {
            "gaps": values.document([[each.first, each.last, each.count] for each in ranges]),
            "version": before.version + 1,
        }
        item = _open_key(before.tenant, before.job_id) | values.pack(stand)
        return conditional(self._client.put_item, TableName=self._table, Item=item, **_standing(before))

    def _query(self, partition: str, limit: int | None = None) -> Iterator[Item]:
        return read_items(
            self._client,
            TableName=self._table,
            KeyConditionExpression="PK = :partition",
            ExpressionAttributeValues=values.pack({":partition": partition}),
            ConsistentRead=True,
            limit=limit,
        )


def _found(kind: str, tenant: str, job_id: str, ranges: Sequence[OccurrenceRange], now: float) -> dict[str, object]:
    return {
        "kind": kind,
        "tenant": tenant,
        "job_id": job_id,
        "first": ranges[0].first,
        "last": max(each.last for each in ranges),
        "count": sum(each.count for each in ranges),
        "found_at": now,
        "expires_at": int(now) + KEPT_SECONDS,
    }


def _key(finding: Finding) -> Item:
    where = f"{to_basic(finding.range.first)}-{to_basic(finding.range.last)}#{finding.tenant}#{finding.job_id}"
    return key(FINDINGS, "#".join(filter(None, (where, finding.kind, finding.run_id))))


def _open_key(tenant: str, job_id: str) -> Item:
    return key(OPEN, f"{tenant}#{job_id}")


def _standing(before: Undecided) -> dict[str, Any]:
    """Return the condition that the item is unchanged since it was read. Version 0 means that there is no item."""
    return ABSENT if before.version == 0 else holds({"version": before.version})


def _undecided(item: Item) -> Undecided:
    stored = values.parse(values.text(item, "gaps"))
    ranges = tuple(OccurrenceRange(first, last, count) for first, last, count in stored)
    if not ranges:
        raise ValueError("the item has no open occurrences")
    return Undecided(
        values.text(item, "tenant"), values.text(item, "job_id"), ranges, version=values.integer(item, "version")
    )


def _turn(item: Item) -> Turn:
    return Turn(
        segment=values.integer(item, "segment"),
        segments=values.integer(item, "segments"),
        low=values.integer(item, "low"),
        high=values.integer(item, "high"),
        done=bool(item["done"]["BOOL"]),
        **position_of(item),
    )
