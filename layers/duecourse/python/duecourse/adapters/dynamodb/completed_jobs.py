"""Finds jobs that were completed long ago, and what is left of their runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from duecourse.adapters.dynamodb import values
from duecourse.adapters.dynamodb.keys import ACTIVE, JOB, job_partition
from duecourse.domain.clean_up import PARTS


class DynamoCompletedJobs:
    """ports.clean_up.CompletedJobs: a scan of the table, which reads all of a part (half a unit for each 4 KB) to find
    the few; an index of completed jobs would cost a write for each of them. The tenant index, which is smaller, cannot
    be divided: parts are made of partition keys, and there a tenant is one.
    """

    def __init__(self, client: Any, table: str) -> None:
        self._client = client
        self._table = table

    def pages(self, part: int, *, before: float) -> Iterator[list[tuple[str, str]]]:
        """See ports.clean_up.CompletedJobs."""
        wanted = {
            "TableName": self._table,
            "Segment": part,
            "TotalSegments": PARTS,
            "FilterExpression": "SK = :job AND #state = :completed AND #updated <= :before",
            "ProjectionExpression": "#tenant, #job",
            "ExpressionAttributeNames": {
                "#state": "state",
                "#updated": "updated_at",
                "#tenant": "tenant",
                "#job": "job_id",
            },
            "ExpressionAttributeValues": values.pack({":job": JOB, ":completed": "COMPLETED", ":before": before}),
        }
        last: dict[str, Any] = {}
        while True:
            answer = self._client.scan(**wanted, **last)
            yield [(values.text(item, "tenant"), values.text(item, "job_id")) for item in answer["Items"]]
            if "LastEvaluatedKey" not in answer:
                return
            last = {"ExclusiveStartKey": answer["LastEvaluatedKey"]}


class DynamoTraces:
    """ports.clean_up.Traces: anything in the job's partition of the runs table that has an end. The overlap lock has
    none; one that a killed worker has left behind must not keep its job.
    """

    def __init__(self, client: Any, table: str) -> None:
        self._client = client
        self._table = table

    def any(self, tenant: str, job_id: str) -> bool:
        """See ports.clean_up.Traces. What has expired and is not removed yet still counts."""
        answer = self._client.query(
            TableName=self._table,
            KeyConditionExpression="PK = :job AND SK > :lock",  # which sorts before all the others
            ExpressionAttributeValues=values.pack({":job": job_partition(tenant, job_id), ":lock": ACTIVE}),
            ConsistentRead=True,
            ProjectionExpression="SK",
            Limit=1,
        )
        return bool(answer["Items"])
