"""What a stage keeps ready for its fullest second: off unless it is set, and refused where AWS would refuse it."""

import json
from dataclasses import replace
from typing import Any

import botocore.session
import pytest
from aws_cdk import App

from duecourse.limits import MAX_MINIMUM_POLLERS, MAX_POLLERS
from infra.settings.config import ConfigError, ReservedConcurrency, StageConfig
from infra.settings.lanes_config import MAX_MAX_CONCURRENCY, MIN_MAX_CONCURRENCY, NO_MAXIMUM, LaneConfig, lanes
from infra.settings.throughput_config import (
    NO_POLLERS,
    Pollers,
    ThroughputConfig,
    WarmThroughput,
)
from infra.stack import DuecourseStack
from infra.stages import STAGES
from tests.infra.conftest import Stack
from tests.support.template import ROOT

BURST = ThroughputConfig(
    jobs=WarmThroughput(reads=20_000, writes=40_000),
    due=WarmThroughput(writes=80_000),
    runs=WarmThroughput(writes=60_000),
)
POLLERS = Pollers(minimum=20, maximum=150)


def configured(**changes: Any) -> StageConfig:
    return replace(STAGES["prod"], **changes)


def made(config: StageConfig) -> Stack:
    ours = json.loads((ROOT / "cdk.json").read_text())["context"]
    app = App(context=ours | {"aws:cdk:bundling-stacks": []}, analytics_reporting=False)
    DuecourseStack(app, config)
    return Stack(config.stage, app.synth().get_stack_by_name(config.stack_name).template)


def mappings(config: StageConfig, stack: Stack | None = None) -> dict[str, dict[str, Any]]:
    """How each lane's queue is read."""
    stack = made(config) if stack is None else stack
    return {lane: stack.consumers()[stack.output(f"Lane{lane}Url")] for lane in ("High", "Normal", "Low", "Long")}


def warmed(made: dict[str, Any]) -> dict[str, Any]:
    """The warm throughput of all tables and indexes of a template that have one."""
    found = {}
    for name, output in (("jobs", "JobsTable"), ("runs", "RunsTable")):
        table = made["Resources"][made["Outputs"][output]["Value"]["Ref"]]["Properties"]
        found[name] = table.get("WarmThroughput")
        found |= {index["IndexName"]: index.get("WarmThroughput") for index in table["GlobalSecondaryIndexes"]}
    return {name: warm for name, warm in found.items() if warm is not None}


def test_throughput_bulk_queue_scales_as_its_lane_or_by_its_own_size() -> None:
    sized = lanes(high=POLLERS, normal=60, low=20, long=50, bulk={"low": POLLERS, "long": 70})
    found = {name: (lane.bulk_max_concurrency, lane.bulk_pollers, lane.seats) for name, lane in sized.items()}
    assert found == {
        "high": (100, None, 100),
        "normal": (60, None, 14),
        "low": (None, POLLERS, 4),
        "long": (70, None, 12),
    }
    wrong = replace(sized["normal"], bulk_max_concurrency=1)
    with pytest.raises(ConfigError, match=r"lanes\.normal\.bulk_max_concurrency must be between"):
        configured(lanes={**STAGES["prod"].lanes, "normal": wrong}, account_concurrency=100_000)


def test_throughput_default_reserves_no_warm_capacity(stack: Stack) -> None:
    assert warmed(stack.template) == {}
    assert not [each for each in stack.consumers().values() if "ProvisionedPollerConfig" in each]


def test_throughput_stage_can_configure_warm_tables_and_pollers() -> None:
    sized = lanes(high=POLLERS, normal=100, low=20, long=50)
    config = configured(throughput=BURST, lanes=sized, account_concurrency=3_000)
    prod = made(config)
    assert warmed(prod.template) == {
        "jobs": {"ReadUnitsPerSecond": 20_000, "WriteUnitsPerSecond": 40_000},
        "due": {"WriteUnitsPerSecond": 80_000},
        "runs": {"WriteUnitsPerSecond": 60_000},
    }
    found = mappings(config, prod)
    high, normal = found["High"], found["Normal"]
    assert high["ProvisionedPollerConfig"] == {"MinimumPollers": 20, "MaximumPollers": 150}
    assert "ScalingConfig" not in high
    assert normal["ScalingConfig"] == {"MaximumConcurrency": 100}
    assert "ProvisionedPollerConfig" not in normal


@pytest.mark.parametrize(
    ("throughput", "problem"),
    [
        (ThroughputConfig(runs=WarmThroughput()), r"throughput\.runs\.reads or writes must be set"),
        (
            ThroughputConfig(runs=WarmThroughput(reads=11_999)),
            r"throughput\.runs\.reads must be null or at least 12000",
        ),
        (ThroughputConfig(ended=WarmThroughput(writes=0)), r"throughput\.ended\.writes must be null or at least 4000"),
        (ThroughputConfig(jobs=WarmThroughput(writes=9_000)), r"throughput\.due\.writes must be at least jobs\.writes"),
        (
            ThroughputConfig(jobs=WarmThroughput(writes=9_000), due=WarmThroughput(writes=8_999)),
            r"throughput\.due\.writes must be at least jobs\.writes",
        ),
    ],
)
def test_throughput_values_that_aws_would_refuse_or_that_have_no_use_are_refused(
    throughput: ThroughputConfig, problem: str
) -> None:
    with pytest.raises(ConfigError, match=problem):
        configured(throughput=throughput)


@pytest.mark.parametrize(
    ("pollers", "problem"),
    [
        (Pollers(minimum=1, maximum=10), r"lanes\.low\.pollers\.minimum must be between 2 and 200"),
        (Pollers(minimum=201, maximum=300), r"lanes\.low\.pollers\.minimum must be between 2 and 200"),
        (Pollers(minimum=2, maximum=10_001), r"lanes\.low\.pollers\.maximum must be between 2 and 10000"),
        (Pollers(minimum=0, maximum=8), r"lanes\.low\.pollers\.minimum must be between 2 and 200"),
        (Pollers(minimum=9, maximum=8), r"lanes\.low\.pollers\.maximum must be at least minimum"),
    ],
)
def test_throughput_pollers_that_aws_would_refuse_are_refused(pollers: Pollers, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        configured(lanes=lanes(high=10, normal=10, low=pollers, long=10), account_concurrency=100_000)


def test_throughput_limits_match_those_of_lambda() -> None:
    shapes = botocore.session.get_session().get_service_model("lambda")
    ranges = {
        name: (shapes.shape_for(name).metadata["min"], shapes.shape_for(name).metadata["max"])
        for name in ("MinimumNumberOfPollers", "MaximumNumberOfPollers", "MaximumConcurrency")
    }
    assert ranges["MaximumNumberOfPollers"][1] == MAX_POLLERS
    assert ranges["MinimumNumberOfPollers"][1] == MAX_MINIMUM_POLLERS
    assert ranges["MaximumConcurrency"] == (MIN_MAX_CONCURRENCY, MAX_MAX_CONCURRENCY)


def test_throughput_lane_switches_between_concurrency_and_pollers_with_an_intermediate_deployment() -> None:
    """AWS takes one of the two, and what a template leaves out stays in Lambda: it is taken away by an empty value."""
    sized = lanes(high=NO_MAXIMUM, normal=NO_POLLERS, low=Pollers(minimum=200, maximum=10_000), long=50)
    consumers = {
        lane: {kind: mapping.get(kind) for kind in ("ScalingConfig", "ProvisionedPollerConfig")}
        for lane, mapping in mappings(configured(lanes=sized, account_concurrency=200_000)).items()
    }
    assert consumers == {
        "High": {"ScalingConfig": {}, "ProvisionedPollerConfig": None},
        "Normal": {"ScalingConfig": None, "ProvisionedPollerConfig": {}},
        "Low": {"ScalingConfig": None, "ProvisionedPollerConfig": {"MinimumPollers": 200, "MaximumPollers": 10_000}},
        "Long": {"ScalingConfig": {"MaximumConcurrency": 50}, "ProvisionedPollerConfig": None},
    }


@pytest.mark.parametrize("between", [NO_MAXIMUM, NO_POLLERS])
def test_throughput_intermediate_lane_counts_with_the_maximum_of_default_pollers(between: int | Pollers) -> None:
    reserved = ReservedConcurrency(tick=2, dispatch=16, api=50)
    sized = lanes(high=between, normal=100, low=20, long=50)
    with pytest.raises(ConfigError, match="account_concurrency must be at least 1758"):
        configured(lanes=sized, reserved_concurrency=reserved)
    configured(lanes=sized, reserved_concurrency=reserved, account_concurrency=1_758)


@pytest.mark.parametrize(("most", "pollers"), [(100, POLLERS), (0, POLLERS), (None, None), (1_001, None), (1, None)])
def test_throughput_lane_requires_either_concurrency_or_pollers(most: int | None, pollers: Pollers | None) -> None:
    both = LaneConfig(timeout_seconds=120, batch_size=10, max_concurrency=most, pollers=pollers)
    with pytest.raises(ConfigError, match=r"lanes\.low\.max_concurrency must"):
        configured(lanes={**STAGES["prod"].lanes, "low": both}, account_concurrency=100_000)


def test_throughput_local_stage_refuses_all_its_settings() -> None:
    with pytest.raises(ConfigError) as refused:
        replace(STAGES["local"], throughput=BURST, lanes=lanes(high=4, normal=POLLERS, low=2, long=2))
    for field in ("throughput.jobs", "throughput.due", "throughput.runs", "lanes.normal.pollers"):
        assert f"{field} must be null on the local stage" in str(refused.value)


def test_throughput_lanes_and_reserved_concurrency_must_fit_the_account() -> None:
    reserved = ReservedConcurrency(tick=2, dispatch=64, api=50)
    sized = lanes(high=Pollers(minimum=2, maximum=50), normal=300, low=50, long=50)
    with pytest.raises(ConfigError, match="account_concurrency must be at least 1516"):
        configured(lanes=sized, reserved_concurrency=reserved)
    configured(lanes=sized, reserved_concurrency=reserved, account_concurrency=1_516)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"shards": 10_000}, "shards must be between 1 and 9999"),
        (
            {"reserved_concurrency": ReservedConcurrency(dispatch=1_001), "account_concurrency": 5_000},
            r"reserved_concurrency\.dispatch must not be more than 1000",
        ),
    ],
)
def test_throughput_counts_that_functions_or_aws_do_not_support_are_refused(
    changes: dict[str, Any], problem: str
) -> None:
    with pytest.raises(ConfigError, match=problem):
        configured(**changes)
