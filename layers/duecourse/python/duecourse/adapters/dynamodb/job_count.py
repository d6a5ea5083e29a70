"""How many jobs a tenant has: counted with each of their writes."""

from __future__ import annotations

from typing import Any

from duecourse.adapters.dynamodb import values
from duecourse.adapters.dynamodb.keys import LIMITS, tenant_key
from duecourse.domain.job import Job


def counted(job: Job, more: int, table: str, quota: int | None = None) -> dict[str, Any]:
    """The write that counts a tenant's jobs, refused at the quota."""
    update = {
        "TableName": table,
        "Key": tenant_key(job.tenant, LIMITS),
        "UpdateExpression": "ADD #jobs :more",
        "ExpressionAttributeNames": {"#jobs": "jobs"},
        "ExpressionAttributeValues": values.pack({":more": more, ":quota": quota}),
    }
    bound = {} if quota is None else {"ConditionExpression": "attribute_not_exists(#jobs) OR #jobs < :quota"}
    return {"Update": update | bound}
