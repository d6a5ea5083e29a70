"""What an audit reads in the jobs table, segment by segment, and what it leaves there: turns and findings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from botocore.exceptions import ClientError

from duecourse.adapters.dynamodb import job_item, values
from duecourse.adapters.dynamodb.errors import condition_failed
from duecourse.adapters.dynamodb.job_pages import readable
from duecourse.adapters.dynamodb.keys import JOB, Item, job_key, key
from duecourse.domain.audit import Gap, Turn, joined
from duecourse.domain.instants import DAY_SECONDS, to_basic
from duecourse.domain.job import Job
from duecourse.ports import Finding, JobsPage, Undecided

TURNS = "AUDIT#TURNS"
FINDINGS = "AUDIT#FINDINGS"
OPEN = "AUDIT#OPEN"

KEPT_SECONDS = 30 * DAY_SECONDS
"""How long findings and turns are kept."""

_WITHOUT_PAYLOAD = (
    "PK", "SK", "tenant", "job_id", "state", "generation", "created_generation", "created_at", "updated_at",
    "changed_at", "paused_at", "resumed_at", "revision", "definition",
)  # fmt: skip


class DynamoAuditStore:
    """ports.AuditStore. `limit` items are scanned at once, a megabyte (DynamoDB's own measure) unless it is given."""

    def __init__(self, client: Any, table: str, *, limit: int | None = None) -> None:
        self._client = client
        self._table = table
        self._bound = {} if limit is None else {"Limit": limit}

    def jobs(self, segment: int, segments: int, start: str | None) -> JobsPage:
        """See ports.AuditStore."""
        answer = self._client.scan(
            TableName=self._table,
            Segment=segment,
            TotalSegments=segments,
            FilterExpression="#SK = :job",
            ProjectionExpression=", ".join(f"#{name}" for name in _WITHOUT_PAYLOAD),
            ExpressionAttributeNames={f"#{name}": name for name in _WITHOUT_PAYLOAD},
            ExpressionAttributeValues=values.pack({":job": JOB}),
            **self._bound,
            **({} if start is None else {"ExclusiveStartKey": values.parse(start)}),
        )
        found: list[Job | None] = [readable(job_item.from_item, item) for item in answer["Items"]]
        last = answer.get("LastEvaluatedKey")
        return JobsPage([job for job in found if job is not None], None if last is None else values.document(last))

    def after(self, job: Job) -> str:
        """See ports.AuditStore."""
        return values.document(job_key(job.tenant, job.id, JOB))

    def turns(self) -> list[Turn]:
        """See ports.AuditStore."""
        return [_turn(item) for item in self._query(TURNS)]

    def save(self, turn: Turn, *, now: float) -> bool:
        """See ports.AuditStore."""
        stand = {
            "segment": turn.segment,
            "segments": turn.segments,
            "low": turn.low,
            "high": turn.high,
            "start": turn.start,
            "done": turn.done,
            "counts": values.document(dict(turn.counts)),
            "version": turn.version,
            "saved_at": now,
            "expires_at": int(now) + KEPT_SECONDS,
        }
        return self._done(
            self._client.put_item,
            Item=key(TURNS, f"{turn.segments:04d}/{turn.segment:04d}") | values.pack(stand),
            ConditionExpression="attribute_not_exists(PK) OR #version = :before",
            ExpressionAttributeNames={"#version": "version"},
            ExpressionAttributeValues=values.pack({":before": turn.version - 1}),
        )

    def known(self, finding: Finding) -> bool:
        """See ports.AuditStore."""
        return self._get(_key(finding)) is not None

    def keep(self, finding: Finding, *, now: float) -> None:
        """See ports.AuditStore."""
        stand = {
            "kind": finding.kind,
            "tenant": finding.tenant,
            "job_id": finding.job_id,
            "first": finding.gap.first,
            "last": finding.gap.last,
            "count": finding.gap.count,
            "found_at": now,
            "expires_at": int(now) + KEPT_SECONDS,
        }
        self._client.put_item(TableName=self._table, Item=_key(finding) | values.pack(stand))

    def open(self, limit: int) -> list[Undecided]:
        """See ports.AuditStore."""
        read = [readable(_undecided, item) for item in self._query(OPEN, limit)]
        return sorted((each for each in read if each is not None), key=lambda each: each.gaps[0].first)

    def undecided(self, tenant: str, job_id: str, gaps: Sequence[Gap], *, now: float) -> bool:
        """See ports.AuditStore."""
        while True:  # until nobody writes between the two
            item = self._get(_open_key(tenant, job_id))
            standing = None if item is None else _undecided(item)
            before = Undecided(tenant, job_id, (), version=0) if standing is None else standing
            if self._write(before, joined(before.gaps, gaps), now):
                return standing is None

    def settle(self, standing: Undecided, left: Sequence[Gap], *, now: float) -> bool:
        """See ports.AuditStore."""
        if left:
            return self._write(standing, joined((), left), now)
        return self._done(
            self._client.delete_item, Key=_open_key(standing.tenant, standing.job_id), **_standing(standing)
        )

    def _write(self, before: Undecided, gaps: Sequence[Gap], now: float) -> bool:
        stand = {
            "kind": "open",
            "tenant": before.tenant,
            "job_id": before.job_id,
            "first": gaps[0].first,
            "last": max(gap.last for gap in gaps),
            "count": sum(gap.count for gap in gaps),
            "gaps": values.document([[gap.first, gap.last, gap.count] for gap in gaps]),
            "version": before.version + 1,
            "found_at": now,
            "expires_at": int(now) + KEPT_SECONDS,
        }
        item = _open_key(before.tenant, before.job_id) | values.pack(stand)
        return self._done(self._client.put_item, Item=item, **_standing(before))

    def _get(self, where: Item) -> Item | None:
        found: Item | None = self._client.get_item(TableName=self._table, Key=where, ConsistentRead=True).get("Item")
        return found

    def _query(self, partition: str, most: int | None = None) -> list[Item]:
        items: list[Item] = []
        request: dict[str, Any] = {} if most is None else {"Limit": most}
        while True:
            answer = self._client.query(
                TableName=self._table,
                KeyConditionExpression="PK = :partition",
                ExpressionAttributeValues=values.pack({":partition": partition}),
                ConsistentRead=True,
                **request,
            )
            items += answer["Items"]
            last = answer.get("LastEvaluatedKey")
            if last is None or (most is not None and len(items) >= most):
                return items[:most]
            request["ExclusiveStartKey"] = last

    def _done(self, write: Callable[..., Any], **request: Any) -> bool:
        """Whether its condition held."""
        try:
            write(TableName=self._table, **request)
        except ClientError as error:
            if not condition_failed(error):
                raise
            return False
        return True


def _key(finding: Finding) -> Item:
    where = f"{to_basic(finding.gap.first)}-{to_basic(finding.gap.last)}#{finding.tenant}#{finding.job_id}"
    return key(FINDINGS, f"{where}#{finding.kind}")


def _open_key(tenant: str, job_id: str) -> Item:
    return key(OPEN, f"{tenant}#{job_id}")


def _standing(before: Undecided) -> dict[str, Any]:
    """The condition that it stands as it was read; version 0 is none."""
    if before.version == 0:
        return {"ConditionExpression": "attribute_not_exists(PK)"}
    return {
        "ConditionExpression": "#version = :before",
        "ExpressionAttributeNames": {"#version": "version"},
        "ExpressionAttributeValues": values.pack({":before": before.version}),
    }


def _undecided(item: Item) -> Undecided:
    gaps = tuple(Gap(first, last, count) for first, last, count in values.parse(values.text(item, "gaps")))
    if not gaps:
        raise ValueError("nothing is open of it")
    return Undecided(
        values.text(item, "tenant"), values.text(item, "job_id"), gaps, version=values.integer(item, "version")
    )


def _turn(item: Item) -> Turn:
    return Turn(
        segment=values.integer(item, "segment"),
        segments=values.integer(item, "segments"),
        low=values.integer(item, "low"),
        high=values.integer(item, "high"),
        start=values.optional_text(item, "start"),
        done=bool(item["done"]["BOOL"]),
        counts=values.parse(values.text(item, "counts")),
        version=values.integer(item, "version"),
    )
