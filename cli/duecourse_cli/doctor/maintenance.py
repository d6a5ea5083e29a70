"""Facts from what audit and index repair leave in the jobs table.

Items are read by their attributes, which docs/operations.md lists under "Where the data lies".
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from duecourse_cli.doctor.facts import AuditState, Found, RepairState
from duecourse_cli.doctor.stage import Stage
from duecourse_cli.doctor.tables import item_of


def audit(stage: Stage) -> AuditState:
    """The items AUDIT#TURNS and AUDIT#FINDINGS, a page of each."""
    turns, _ = _partition(stage, "AUDIT#TURNS")
    last = max((float(turn["saved_at"]["N"]) for turn in turns), default=None)
    items, more = _partition(stage, "AUDIT#FINDINGS")
    found = sorted((_found(item, stage.now) for item in items), key=lambda each: each.age)
    return AuditState(None if last is None else stage.now - last, found, more, stage.age)


def patrol(stage: Stage) -> RepairState:
    """The item PATROL/LAST."""
    item = item_of(stage, "PATROL", "LAST")
    if item is None:
        return RepairState(None, False, {}, stage.age)
    counts = {name: int(count) for name, count in json.loads(item["counts"]["S"]).items()}
    return RepairState(stage.now - float(item["begun_at"]["N"]), "finished_at" in item, counts, stage.age)


def _partition(stage: Stage, name: str) -> tuple[list[dict[str, Any]], bool]:
    """The items of a partition, the last ones first, as far as one request gives them."""
    answer = stage.clients("dynamodb").query(
        TableName=stage.outputs["JobsTable"],
        KeyConditionExpression="PK = :partition",
        ExpressionAttributeValues={":partition": {"S": name}},
        ScanIndexForward=False,
    )
    return answer["Items"], "LastEvaluatedKey" in answer


def _found(item: dict[str, Any], now: float) -> Found:
    first = datetime.fromtimestamp(int(item["first"]["N"]), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    job = f"{item['tenant']['S']}/{item['job_id']['S']}"
    return Found(item["kind"]["S"], job, first, int(item["count"]["N"]), now - float(item["found_at"]["N"]))
