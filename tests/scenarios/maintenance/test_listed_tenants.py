"""What the operator of a stage sees of all its tenants."""

import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from duecourse.checks.tenants import DOLLARS_A_MILLION
from duecourse.cli.tenants.listing import objectives_of, tenants_of
from duecourse.cli.tenants.suspending import suspend
from duecourse.cli.terminal import CliError
from duecourse.domain.jobs.job import Completion
from tests.support.jobs import NOON, job
from tests.support.tables import Tables
from tests.support.tenants import place
from tests.support.world import World

pytestmark = pytest.mark.tables

WORKER = {"ExecuteHighFunction": "worker", "ApiId": "abc123"}


class Logs:
    """CloudWatch Logs Insights: these runs by tenant, after one request for the answer."""

    def __init__(self, status: str = "Complete", **runs: int) -> None:
        self.states, self.runs = ["Running", status], runs

    def start_query(self, **asked: Any) -> Any:
        assert asked["logGroupNames"] == ["/worker"]
        return {"queryId": "q"}

    def get_query_results(self, **_: Any) -> Any:
        rows = [
            [{"field": "tenant", "value": tenant}, {"field": "runs", "value": str(runs)}]
            for tenant, runs in self.runs.items()
        ]
        return {"status": self.states.pop(0) if len(self.states) > 1 else self.states[0], "results": rows}


def clients(logs: Logs) -> dict[str, Any]:
    configured = {"LoggingConfig": {"LogGroup": "/worker"}}
    return {"logs": logs, "lambda": SimpleNamespace(get_function_configuration=lambda **_: configured)}


@pytest.fixture
def full(world: World, tables: Tables) -> World:
    """Tenants default, with a run that waits for its callback since two minutes, and acme."""
    world.add(job("2026-11-21T12:01:00", id="waits", completion=Completion.CALLBACK, completion_seconds=3600))
    world.add(job("0 * * * *", id="hourly"))
    world.add(replace(job("0 * * * *", id="hourly"), tenant="acme"))
    world.office.pause("hourly")
    world.until(NOON + 180)
    suspend(place(tables, world.clock, "acme"), by="olga", note=None)
    world.clock.set(NOON + 180)
    return world


def test_listed_tenants_every_tenant_is_listed_with_its_jobs_and_runs(full: World, tables: Tables) -> None:
    first, second = tenants_of(place(tables, full.clock).stage, cost=False)
    assert (first.tenant, first.state, first.jobs, first.paused) == ("default", "active", 2, 1)
    assert (first.quota_used, first.running, first.waiting, first.oldest_waiting_seconds) == (2, 0, 1, 120)
    assert (second.tenant, second.state, second.jobs, second.waiting) == ("acme", "suspended", 1, 0)
    assert (first.runs, first.dollars) == (None, None)


def test_listed_tenants_days_cost_comes_from_the_logs(full: World, tables: Tables) -> None:
    logs = Logs(default=1_000_000, gone=10)
    stage = place(tables, full.clock, clients=clients(logs), **WORKER).stage
    found = {each.tenant: (each.runs, each.dollars) for each in tenants_of(stage, cost=True)}
    assert found == {"default": (1_000_000, DOLLARS_A_MILLION), "acme": (0, 0.0), "gone": (10, 0.0001)}


def test_listed_tenants_search_without_an_answer_says_what_to_do(full: World, tables: Tables) -> None:
    stage = place(tables, full.clock, clients=clients(Logs("Failed")), **WORKER).stage
    with pytest.raises(CliError, match="the search of the logs failed or took too long; try again, or omit --cost"):
        tenants_of(stage, cost=True)


def test_listed_tenants_price_is_within_two_percent_of_the_published_one() -> None:
    page = (Path(__file__).parents[3] / "docs/operations.md").read_text()
    published = re.search(r"n:million\.distinct\.skip -->([\d.]+)<", page)
    assert published is not None
    assert pytest.approx(float(published[1]), rel=0.02) == DOLLARS_A_MILLION


def test_listed_tenants_objectives_come_from_the_metrics_of_the_stage_and_of_its_api(
    full: World, tables: Tables
) -> None:
    asked: list[Any] = []

    def pages(**request: Any) -> list[Any]:
        asked.extend(request["MetricDataQueries"])
        given = {"PR(:5000)": 98.0, "SampleCount": 100.0, "5xx": 1.0, "Count": 1000.0}
        names = [
            (each["Id"], each["MetricStat"]["Stat"], each["MetricStat"]["Metric"]["MetricName"])
            for each in request["MetricDataQueries"]
        ]
        found = [(number, given.get(statistic) or given.get(name, 0.0)) for number, statistic, name in names]
        at = request["StartTime"]
        return [
            {"MetricDataResults": [{"Id": number, "Timestamps": [at], "Values": [value]} for number, value in found]}
        ]

    cloudwatch = SimpleNamespace(get_paginator=lambda _: SimpleNamespace(paginate=pages))
    stage = place(tables, full.clock, clients={"cloudwatch": cloudwatch}, **WORKER).stage
    late, available = objectives_of(stage)
    assert (late.share, available.share) == (pytest.approx(0.98), pytest.approx(0.999))
    dimensions = [each["MetricStat"]["Metric"]["Dimensions"] for each in asked]
    assert [{"Name": "ApiId", "Value": "abc123"}] in dimensions
