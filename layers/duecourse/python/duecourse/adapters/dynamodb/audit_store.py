"""What an audit reads in the jobs table, segment by segment, and what it leaves there: turns and findings."""

from __future__ import annotations

from typing import Any

from botocore.exceptions import ClientError

from duecourse.adapters.dynamodb import job_item, values
from duecourse.adapters.dynamodb.errors import condition_failed
from duecourse.adapters.dynamodb.job_pages import readable
from duecourse.adapters.dynamodb.keys import JOB, Item, key
from duecourse.domain.audit import DAY_SECONDS, Gap, Turn
from duecourse.domain.instants import to_basic
from duecourse.domain.job import Job
from duecourse.ports import Finding, JobsPage

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
        return self._put(
            key(TURNS, f"{turn.segments:04d}/{turn.segment:04d}") | values.pack(stand),
            ConditionExpression="attribute_not_exists(PK) OR #version = :before",
            ExpressionAttributeNames={"#version": "version"},
            ExpressionAttributeValues=values.pack({":before": turn.version - 1}),
        )

    def found(self, finding: Finding, *, now: float) -> bool:
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
        return self._put(_key(finding) | values.pack(stand), ConditionExpression="attribute_not_exists(PK)")

    def open(self, limit: int) -> list[Finding]:
        """See ports.AuditStore."""
        return [_finding(item) for item in self._query(OPEN, limit)]

    def settle(self, finding: Finding) -> None:
        """See ports.AuditStore."""
        self._client.delete_item(TableName=self._table, Key=_key(finding))

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

    def _put(self, item: Item, **condition: Any) -> bool:
        try:
            self._client.put_item(TableName=self._table, Item=item, **condition)
        except ClientError as error:
            if not condition_failed(error):
                raise
            return False
        return True


def _key(finding: Finding) -> Item:
    where = f"{to_basic(finding.gap.first)}-{to_basic(finding.gap.last)}#{finding.tenant}#{finding.job_id}"
    return key(OPEN, where) if finding.kind == "open" else key(FINDINGS, f"{where}#{finding.kind}")


def _finding(item: Item) -> Finding:
    gap = Gap(*(values.integer(item, name) for name in ("first", "last", "count")))
    return Finding(values.text(item, "kind"), values.text(item, "tenant"), values.text(item, "job_id"), gap)


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
