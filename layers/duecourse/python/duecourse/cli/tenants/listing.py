"""All tenants of a stage: their jobs, use of the quota, runs in progress, and the cost of a day."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from duecourse.checks.metrics import api_metrics, first_step, measured, queries, stage_metrics, values
from duecourse.checks.objectives import Objective
from duecourse.checks.tenants import InProgress, TenantFigures, dollars, figures_of, tenant_of
from duecourse.cli.doctor.stage import Stage
from duecourse.cli.output.documents import Tenant
from duecourse.cli.tenants.place import Item, Progress, quiet
from duecourse.cli.terminal import CliError

DAY_SECONDS = 86_400

ENDED = """\
filter action = 'run_skipped' or (action = 'run_settled' and state in ['SUCCEEDED', 'DEAD', 'CANCELLED'])
| stats count() as runs by tenant
| limit 10000"""
"""The query of the log, in which each line is a run that ended."""

ANSWER_SECONDS, TRY_SECONDS = 120.0, 1.0


def tenants_of(stage: Stage, *, cost: bool, progress: Progress = quiet) -> list[Tenant]:
    """Return all tenants, those with the most jobs first. With `cost`, the logs of the workers are searched for the
    runs of the last 24 hours. Raises ClientError, and CliError if that search returns no result.
    """
    figures: defaultdict[str, TenantFigures] = defaultdict(TenantFigures)
    for item in _scan(stage, stage.outputs["JobsTable"], progress, "items of jobs"):
        if (tenant := tenant_of(item["PK"]["S"], item["SK"]["S"])) is not None:
            figures[tenant] += figures_of(item) or TenantFigures()
    runs: defaultdict[str, InProgress] = defaultdict(InProgress)
    for item in _scan(stage, stage.outputs["RunsTable"], progress, "runs in progress", IndexName="active"):
        tenant, state, _ = item["active_key"]["S"].split("#")
        runs[tenant] = runs[tenant].with_run(state, float(item["active_since"]["N"]))
    ended = _ended(stage) if cost else None
    found = [
        _tenant(name, figures[name], runs[name], None if ended is None else ended.get(name, 0), stage.now)
        for name in {*figures, *runs, *(ended or {})}
    ]
    return sorted(found, key=lambda one: (-one.jobs, one.tenant))


def _tenant(name: str, figures: TenantFigures, runs: InProgress, ended: int | None, now: float) -> Tenant:
    return Tenant(
        name,
        figures.state,
        figures.jobs,
        figures.paused,
        figures.quota_used,
        runs.running,
        runs.waiting,
        runs.oldest_waiting_seconds(now),
        ended,
        None if ended is None else dollars(ended),
    )


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
    needed = {key: each for key, each in stage_metrics(stage.name, ()).items() if key[0] == "Lateness"}
    asked = needed | api_metrics(stage.outputs["ApiId"])
    request = {
        "MetricDataQueries": queries(asked.values()),
        "StartTime": datetime.fromtimestamp(first_step(stage.now), UTC),
        "EndTime": datetime.fromtimestamp(stage.now, UTC),
    }
    pages = stage.clients("cloudwatch").get_paginator("get_metric_data").paginate(**request)
    return measured(values(asked, (result for page in pages for result in page["MetricDataResults"])))
