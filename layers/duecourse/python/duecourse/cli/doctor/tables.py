"""Facts from the jobs table and its `due` index, and from the items that audit and index repair write to it.

docs/data.md lists the attributes of these items.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

from duecourse.checks.facts import Shards, Watermarks
from duecourse.checks.jobs import LAST_RUNS, LEFT_OUT, PastRun
from duecourse.checks.tenants import SUSPENDED
from duecourse.cli.doctor.facts import (
    AuditState,
    Cursors,
    Due,
    Found,
    LastRuns,
    LastTick,
    QuarantinedCursor,
    RepairState,
    SkippedRuns,
    Slot,
)
from duecourse.cli.doctor.queues import rule_of
from duecourse.cli.doctor.stage import Stage

HOUR = 3600
LAG_SECONDS = 2 * HOUR
"""The minimum lag of a watermark behind the current time."""

LOOKAHEAD_SECONDS = 300
BATCH = 100
"""The maximum number of keys of a BatchGetItem (Amazon DynamoDB API Reference)."""

MAX_ENTRIES = 100
"""The maximum number of entries of a slot that are read. A larger number is shown as "at least"."""

MAX_SHARDS, MAX_OLD_BUCKETS, SIDE_BY_SIDE = 256, 6, 8
MAX_PAGES = 8
"""The maximum number of pages of 1 MB of the jobs table that are searched for quarantined cursors. They cost 1,000 read
units, which is a hundredth of a cent.
"""


def bucket_of(instant: float) -> str:
    """Return the hour of an instant: `2026-11-21T06`."""
    return datetime.fromtimestamp(instant, UTC).strftime("%Y-%m-%dT%H")


def bucket_start(bucket: str) -> int:
    """Return the first second (UTC) of an hour."""
    return int(datetime.strptime(f"{bucket}+0000", "%Y-%m-%dT%H%z").timestamp())


def tick(stage: Stage) -> LastTick:
    """Return the item TICK/LAST and the rule that starts the tick."""
    item = item_of(stage, "TICK", "LAST")
    age = None if item is None else stage.now - float(item["at"]["N"])
    return LastTick(age, rule_of(stage, stage.outputs["TickFunction"]), stage.age)


def shards(stage: Stage) -> Shards:
    """Return the item SHARDS/HIGHEST and the configured shard counts of the functions that write slots."""
    configured = {}
    for name, function in stage.functions.items():
        found = stage.clients("lambda").get_function_configuration(FunctionName=function)
        count = found.get("Environment", {}).get("Variables", {}).get("DUECOURSE_SHARDS")
        if count is not None:
            configured[name] = int(count)
    return Shards(highest(stage), configured, stage.age)


def highest(stage: Stage) -> int | None:
    """Return the largest shard count ever used, or None if none is recorded."""
    item = item_of(stage, "SHARDS", "HIGHEST")
    return None if item is None else int(item["shards"]["N"])


def watermarks(stage: Stage) -> Watermarks:
    """Return the items SHARD#<n>/WATERMARK of every shard ever used."""
    could = bucket_start(bucket_of(stage.now - LAG_SECONDS))
    found = _watermarks(stage)
    behind = {n: None if bucket is None else max(could - bucket_start(bucket), 0) for n, bucket in found.items()}
    return Watermarks(behind, stage.age)


def due(stage: Stage) -> Due:
    """Return the overdue entries of the index from each shard's watermark, and the number of entries due within the
    lookahead.
    """
    marks = _watermarks(stage)
    looked_at = sorted(marks)[:MAX_SHARDS]
    slots = [f"{bucket}/{shard:04d}" for shard in looked_at for bucket in _buckets(marks[shard], stage.now)]
    database, table = stage.clients("dynamodb"), stage.outputs["JobsTable"]

    def read(slot: str) -> tuple[str, list[int], bool, int]:
        overdue, more = _entries(database, table, slot, 0, int(stage.now))
        coming, _ = _entries(database, table, slot, int(stage.now) + 1, int(stage.now) + LOOKAHEAD_SECONDS)
        return slot, overdue, more, len(coming)

    with ThreadPoolExecutor(SIDE_BY_SIDE) as threads:
        read_slots = list(threads.map(read, slots))
    late = [Slot(slot, len(when), more, stage.now - min(when)) for slot, when, more, _ in read_slots if when]
    late.sort(key=lambda each: each.oldest, reverse=True)
    soon = [count for *_, count in read_slots]
    return Due(late, sum(soon), max(soon, default=0) >= MAX_ENTRIES, len(marks) - len(looked_at))


SET_ASIDE = "attribute_exists(#error) AND #error <> :out AND attribute_not_exists(#slot) AND SK <> :job"


def cursors(stage: Stage) -> Cursors:
    """Return the cursors and timers with an `error` and no `slot` in the first pages of the table. Cursors of jobs that
    are not ACTIVE or whose tenant is suspended are excluded: these jobs do not fire anyway, and keep the error until
    they are resumed.
    """
    database, table = stage.clients("dynamodb"), stage.outputs["JobsTable"]
    found: list[dict[str, Any]] = []
    looked_at, complete = 0, False
    start: dict[str, Any] = {}
    for _ in range(MAX_PAGES):
        page = database.scan(
            TableName=table,
            FilterExpression=SET_ASIDE,
            ProjectionExpression="PK, SK, #error",
            ExpressionAttributeNames={"#error": "error", "#slot": "slot"},
            ExpressionAttributeValues={":job": {"S": "JOB"}, ":out": {"S": SUSPENDED}},
            **start,
        )
        looked_at += page["ScannedCount"]
        found += page["Items"]
        complete = "LastEvaluatedKey" not in page
        if complete:
            break
        start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}
    jobs = _items(stage, {item["PK"]["S"] for item in found if item["SK"]["S"] == "CURSOR"}, "JOB")
    idle = {name for name, job in jobs.items() if job["state"]["S"] != "ACTIVE"}
    aside = [item for item in found if item["SK"]["S"] != "CURSOR" or item["PK"]["S"] not in idle]
    return Cursors([QuarantinedCursor(_job(item), item["error"]["S"]) for item in aside], looked_at, complete)


SKIPPING_JOBS = 10
"""The number of jobs with skipped runs whose last runs are read."""


def skipping(stage: Stage) -> SkippedRuns:
    """Return the last runs of the jobs with the most runs that were skipped within a day, according to the first pages
    of the index of ended runs.
    """
    database, table = stage.clients("dynamodb"), stage.outputs["RunsTable"]
    counts: Counter[str] = Counter()
    looked_at, complete = 0, False
    start: dict[str, Any] = {}
    for _ in range(MAX_PAGES):
        page = database.scan(
            TableName=table,
            IndexName="ended",
            FilterExpression="ended_at > :since AND contains(ended_key, :skipped)",
            ExpressionAttributeValues={
                ":since": {"N": str(int(stage.now - 24 * HOUR))},
                ":skipped": {"S": "#SKIPPED#"},
            },
            **start,
        )
        counts.update(item["PK"]["S"] for item in page["Items"])
        looked_at += page["ScannedCount"]
        complete = "LastEvaluatedKey" not in page
        if complete:
            break
        start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}
    most = [partition for partition, count in counts.most_common(SKIPPING_JOBS) if count >= LEFT_OUT]
    return SkippedRuns([_last_runs(database, table, partition) for partition in most], looked_at, complete)


def _last_runs(database: Any, table: str, partition: str) -> LastRuns:
    """Return the last runs of a job, without manual runs."""
    answer = database.query(
        TableName=table,
        KeyConditionExpression="PK = :partition AND begins_with(SK, :run)",
        ExpressionAttributeValues={":partition": {"S": partition}, ":run": {"S": "RUN#"}},
        ScanIndexForward=False,
        Limit=2 * LAST_RUNS,
    )
    items = [item for item in answer["Items"] if item["SK"]["S"].endswith("Z")][:LAST_RUNS]
    runs = [PastRun(item.get("reason", {}).get("S"), int(item.get("count", {"N": "1"})["N"])) for item in items]
    return LastRuns(_job({"PK": {"S": partition}}), sum(run.left_out for run in runs), len(runs))


def _job(item: Mapping[str, Any]) -> str:
    return "/".join(item["PK"]["S"].split("#")[1:]) or str(item["PK"]["S"])


def _entries(database: Any, table: str, slot: str, since: int, until: int) -> tuple[list[int], bool]:
    """Return the due times (UTC seconds) of the first entries of a slot between two instants, and whether there are
    more.
    """
    answer = database.query(
        TableName=table,
        IndexName="due",
        KeyConditionExpression="#slot = :slot AND #due BETWEEN :since AND :until",
        ProjectionExpression="#due",
        ExpressionAttributeNames={"#slot": "slot", "#due": "due"},
        ExpressionAttributeValues={":slot": {"S": slot}, ":since": {"N": str(since)}, ":until": {"N": str(until)}},
        Limit=MAX_ENTRIES,
    )
    return [int(item["due"]["N"]) for item in answer["Items"]], "LastEvaluatedKey" in answer


def _buckets(watermark: str | None, now: float) -> Iterator[str]:
    """Yield the oldest hours from the watermark, and the hours around the current time."""
    recent = {bucket_of(now - HOUR), bucket_of(now), bucket_of(now + LOOKAHEAD_SECONDS)}
    first = bucket_start(watermark or bucket_of(now - LAG_SECONDS))
    old = {bucket_of(first + hour * HOUR) for hour in range(MAX_OLD_BUCKETS)}
    yield from sorted(bucket for bucket in old | recent if bucket <= bucket_of(now + LOOKAHEAD_SECONDS))


def _watermarks(stage: Stage) -> dict[int, str | None]:
    names = {f"SHARD#{number}": number for number in range(highest(stage) or 0)}
    found: dict[int, str | None] = dict.fromkeys(names.values())
    return found | {names[name]: item["bucket"]["S"] for name, item in _items(stage, names, "WATERMARK").items()}


def _items(stage: Stage, partitions: Iterable[str], sort: str) -> dict[str, dict[str, Any]]:
    """Return the item with this sort key of each partition of the jobs table, by partition, without missing items."""
    database, table = stage.clients("dynamodb"), stage.outputs["JobsTable"]
    keys = [{"PK": {"S": name}, "SK": {"S": sort}} for name in partitions]
    found: dict[str, dict[str, Any]] = {}
    for begin in range(0, len(keys), BATCH):
        answer = database.batch_get_item(RequestItems={table: {"Keys": keys[begin : begin + BATCH]}})
        found |= {each["PK"]["S"]: each for each in answer["Responses"].get(table, ())}
        for put_off in (answer.get("UnprocessedKeys") or {}).get(table, {}).get("Keys", ()):
            # Read them one by one: botocore retries single reads with backoff and a maximum number of attempts.
            if (item := item_of(stage, put_off["PK"]["S"], sort)) is not None:
                found[put_off["PK"]["S"]] = item
    return found


def item_of(stage: Stage, partition: str, sort: str) -> dict[str, Any] | None:
    """Return one item of the jobs table from a consistent read, or None if it does not exist."""
    item: dict[str, Any] | None = (
        stage.clients("dynamodb")
        .get_item(
            TableName=stage.outputs["JobsTable"], Key={"PK": {"S": partition}, "SK": {"S": sort}}, ConsistentRead=True
        )
        .get("Item")
    )
    return item


def audit(stage: Stage) -> AuditState:
    """Return the items AUDIT#TURNS and AUDIT#FINDINGS, one page of each."""
    turns, _ = _partition(stage, "AUDIT#TURNS")
    last = max((float(turn["saved_at"]["N"]) for turn in turns), default=None)
    items, more = _partition(stage, "AUDIT#FINDINGS")
    found = sorted((_found(item, stage.now) for item in items), key=lambda each: each.age)
    return AuditState(None if last is None else stage.now - last, found, more, stage.age)


def repair(stage: Stage) -> RepairState:
    """Return the item REPAIR/LAST."""
    item = item_of(stage, "REPAIR", "LAST")
    if item is None:
        return RepairState(None, False, {}, stage.age)
    counts = {name: int(count) for name, count in json.loads(item["counts"]["S"]).items()}
    return RepairState(stage.now - float(item["begun_at"]["N"]), "finished_at" in item, counts, stage.age)


def _partition(stage: Stage, name: str) -> tuple[list[dict[str, Any]], bool]:
    """Return the items of a partition in one request, last ones first, and whether there are more."""
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
