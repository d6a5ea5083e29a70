"""The models with a stage's own settings: what they recommend is valid, and is enough by the models themselves."""

from dataclasses import replace
from typing import Any

import pytest

from benchmarks.advice import Load, Rates, advise, setting_of
from benchmarks.burst.settings import SHIPPED_LOCKED, Assumptions
from benchmarks.cost.counts import Counts
from benchmarks.cost.idle import IdleRound
from infra.settings.changes import changed
from infra.stages import STAGES

PROD = STAGES["prod"]
RATES = Rates(
    given=Assumptions(),
    counts=Counts.from_results(None, None),
    rounds={name: IdleRound(1.0, 1.0, 3.0, 0.0, 500) for name in ("round", "tick")},
    alarm_metrics=25,
    dashboards=2,
)


def advised(runs: int, within: float = 10, **changes: Any) -> dict[str, Any]:
    load = Load(runs=runs, hours=24, busiest=runs)
    return advise(replace(PROD, **changes), load, lane="normal", within=within, rates=RATES)


def test_advice_model_of_a_stage_as_it_comes_is_that_of_the_benchmark() -> None:
    named = {"name": SHIPPED_LOCKED.name, "says": SHIPPED_LOCKED.says}
    assert replace(setting_of(PROD, "normal"), **named) == SHIPPED_LOCKED


def test_advice_stage_without_runs_needs_nothing_and_costs_its_idle_month() -> None:
    found = advised(0)
    assert (found["settings"], found["recommended"], found["met"]) == (None, None, True)
    assert found["now"]["p99_seconds"] is None
    month = found["now"]["month_usd"]
    assert month["runs"] == month["pollers"] == 0
    assert month["total"] == month["idle"] > 0


def test_advice_settings_that_suffice_are_not_changed() -> None:
    found = advised(200)
    assert (found["settings"], found["met"]) == (None, True)
    assert found["now"]["p99_seconds"] <= 10
    assert found["runs_of_month"] == 6_000


def test_advice_pollers_are_recommended_where_the_growth_of_lambdas_own_is_too_slow() -> None:
    found = advised(2_000, within=3)
    assert found["now"]["p99_seconds"] > 3 >= found["recommended"]["p99_seconds"]
    lane = found["settings"]["lanes"]["normal"]
    assert lane["bulk_max_concurrency"] is None
    assert lane["bulk_pollers"]["minimum"] >= 2
    assert found["recommended"]["month_usd"]["pollers"] > 0
    again = changed(PROD, found["settings"])
    load = Load(runs=2_000, hours=24, busiest=2_000)
    assert advise(again, load, lane="normal", within=3, rates=RATES)["settings"] is None


def test_advice_larger_quota_of_the_account_comes_with_what_needs_it() -> None:
    found = advised(2_000, within=3, account_concurrency=640)
    assert found["settings"]["account_concurrency"] > 640
    changed(PROD, found["settings"])


def test_advice_what_no_setting_can_reach_is_said() -> None:
    found = advised(200, within=1)
    assert (found["met"], found["now"]["starts_limited_by"]) == (False, "cold starts and invocation")


@pytest.mark.parametrize("lane", ["high", "long"])
def test_advice_each_lane_is_simulated_with_its_own_settings(lane: str) -> None:
    setting = setting_of(PROD, lane)
    assert setting.batch == PROD.lanes[lane].batch_size
    assert setting.lane_concurrency == PROD.lanes[lane].bulk_max_concurrency
