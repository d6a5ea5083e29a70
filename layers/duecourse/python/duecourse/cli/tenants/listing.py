"""All tenants of a stage: their jobs, use of the quota, runs in progress, and the cost of a day."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from duecourse.checks.metrics import api_metrics, first_step, measured, queries, stage_metrics, values
from duecourse.checks.objectives import Objective
from duecourse.checks.tenants import Closed, tenant_of
from duecourse.cli.doctor.stage import Stage
from duecourse.cli.tenants.place import Item, Progress, quiet
from duecourse.cli.terminal import CliError

DOLLARS_A_MILLION = 6.11
"""The cost of a million firings (docs/operations.md, "Cost by volume": daily jobs, overlap forbidden)."""

DAY_SECONDS = 86_400

ENDED = """\
filter action = 'run_skipped' or (action = 'run_settled' and state in ['SUCCEEDED', 'DEAD', 'CANCELLED'])
| stats count() as runs by tenant
| limit 10000"""
"""Each run that ended is one such line."""

ANSWER_SECONDS, TRY_SECONDS = 120.0, 1.0

WAITS = ("QUEUED", "WAITING")
"""States in which a run waits: for its turn or for its callback."""


@dataclass(slots=True)
class Tenant:
    """A tenant. `quota_used` counts the jobs that count towards its quota. `running` and `waiting` are its runs in
    progress: of calls, those that have lasted ten seconds. `oldest_waiting_seconds` is the age of the oldest waiting
    run (None: none waits). `runs` and `dollars` are those of the last 24 hours (None: not read).
    """

    tenant: str
    state: str = "active"
    jobs: int = 0
    paused: int = 0
    quota_used: int = 0
    running: int = 0
    waiting: int = 0
    oldest_waiting_seconds: int | None = None
    runs: int | None = None
    dollars: float | None = None

    def document(self) -> dict[str, Any]:
        """Return the JSON document."""
        return asdict(self)


def tenants_of(stage: Stage, *, cost: bool, progress: Progress = quiet) -> list[Tenant]:
    """Return all tenants, those with the most jobs first. With `cost`, the logs of the workers are searched for the
    runs of the last 24 hours. Raises ClientError, and CliError if that search has no answer.
    """
    found: defaultdict[str, Tenant] = defaultdict(lambda: Tenant(""))
    for item in _scan(stage, stage.outputs["JobsTable"], progress, "items of jobs"):
        if (tenant := tenant_of(item["PK"]["S"], item["SK"]["S"])) is not None:
            _add_item(found[tenant], item)
    for item in _scan(stage, stage.outputs["RunsTable"], progress, "runs in progress", IndexName="active"):
        tenant, state, _ = item["active_key"]["S"].split("#")
        _add_run(found[tenant], state, stage.now - float(item["active_since"]["N"]))
    for tenant, runs in (_ended(stage) if cost else {}).items():
        found[tenant].runs = runs
    for tenant, one in found.items():
        one.tenant = tenant
        if cost:
            one.runs = one.runs or 0
            one.dollars = round(one.runs * DOLLARS_A_MILLION / 1e6, 4)
    return sorted(found.values(), key=lambda one: (-one.jobs, one.tenant))


def _add_item(one: Tenant, item: Item) -> None:
    match item["SK"]["S"].partition("#"):
        case "JOB", "", "" if "job_id" in item:
            one.jobs += 1
            one.paused += item["state"]["S"] == "PAUSED"
        case "LIMITS", "", "":
            one.quota_used += int(item["jobs"]["N"])
        case "LIMITS", _, _:
            one.quota_used -= int(item["free"]["N"])
        case "RATE", _, _ if (closed := Closed.of(item)) is not None:
            one.state = closed.state


def _add_run(one: Tenant, state: str, age: float) -> None:
    if state in WAITS:
        one.waiting += 1
        one.oldest_waiting_seconds = max(one.oldest_waiting_seconds or 0, int(age))
    else:
        one.running += 1


def _scan(stage: Stage, table: str, progress: Progress, step: str, **where: str) -> Iterator[Item]:
    start: dict[str, Any] = {}
    looked_at = 0
    while True:
        page = stage.clients("dynamodb").scan(TableName=table, **where, **start)
        looked_at += page["ScannedCount"]
        progress(step, looked_at, None)
        yield from page["Items"]
        if "LastEvaluatedKey" not in page:
            return
        start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}


def _ended(
    stage: Stage, now: Callable[[], float] = time.time, sleep: Callable[[float], None] = time.sleep
) -> dict[str, int]:
    """Return the runs that ended in the last 24 hours by tenant, from the logs of the functions that end runs."""
    names = [name for name in stage.functions if name.startswith("Execute") or name in ("Dispatch", "Reconcile")]
    read = stage.clients("lambda").get_function_configuration
    groups = [read(FunctionName=stage.functions[name])["LoggingConfig"]["LogGroup"] for name in names]
    logs, begun = stage.clients("logs"), now()
    asked = logs.start_query(
        logGroupNames=groups, startTime=int(stage.now) - DAY_SECONDS, endTime=int(stage.now), queryString=ENDED
    )["queryId"]
    while now() < begun + ANSWER_SECONDS:
        answer = logs.get_query_results(queryId=asked)
        if answer["status"] == "Complete":
            rows = [{field["field"]: field["value"] for field in row} for row in answer["results"]]
            return {row["tenant"]: int(row["runs"]) for row in rows if "tenant" in row}
        if answer["status"] in ("Failed", "Cancelled", "Timeout"):
            break
        sleep(TRY_SECONDS)
    raise CliError("the search of the logs failed or took too long; try again, or omit --cost")


def objectives_of(stage: Stage) -> Sequence[Objective]:
    """Return how far the objectives of the stage were met in the last 24 hours. Raises ClientError."""
    api_id = stage.outputs["ApiUrl"].partition("//")[2].partition(".")[0]
    needed = {key: each for key, each in stage_metrics(stage.name, ()).items() if key[0] == "Lateness"}
    asked = needed | api_metrics(api_id)
    request = {
        "MetricDataQueries": queries(asked.values()),
        "StartTime": datetime.fromtimestamp(first_step(stage.now), UTC),
        "EndTime": datetime.fromtimestamp(stage.now, UTC),
    }
    pages = stage.clients("cloudwatch").get_paginator("get_metric_data").paginate(**request)
    return measured(values(asked, (result for page in pages for result in page["MetricDataResults"])))
