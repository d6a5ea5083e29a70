"""The stages' configuration."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace

import pytest

from infra.config import STAGES, ConfigError, LaneConfig, ReservedConcurrency, StageConfig
from tests.support.template import ROOT


def from_context(**context: str) -> StageConfig:
    return StageConfig.from_context(context.get)


def test_a_wrong_stage_is_refused_naming_the_known_ones() -> None:
    with pytest.raises(ConfigError, match=r"stage must be one of local, dev, prod, not 'production'"):
        from_context(stage="production")


def test_the_app_says_so_in_one_line() -> None:
    done = subprocess.run(
        [sys.executable, "app.py"],
        cwd=ROOT,
        env={**os.environ, "CDK_CONTEXT_JSON": '{"stage": "qa"}'},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        "duecourse: stage must be one of local, dev, prod, not 'qa': cdk synth -c stage=prod"
    ]


def test_all_wrong_fields_are_named_at_once() -> None:
    with pytest.raises(ConfigError) as refused:
        replace(STAGES["dev"], shards=0, reach_seconds=900, private_targets="perhaps", alarm_email="me")
    for field in ("shards", "reach_seconds", "private_targets", "alarm_email"):
        assert field in str(refused.value)


@pytest.mark.parametrize(
    ("field", "lane"),
    [
        ("timeout_seconds", LaneConfig(timeout_seconds=901, batch_size=1, max_concurrency=2)),
        ("batch_size", LaneConfig(timeout_seconds=10, batch_size=11, max_concurrency=2)),
        ("max_concurrency", LaneConfig(timeout_seconds=10, batch_size=1, max_concurrency=1)),
        ("memory_mb", LaneConfig(timeout_seconds=10, batch_size=1, max_concurrency=2, memory_mb=64)),
    ],
)
def test_a_lane_that_aws_would_refuse_is_refused_here(field: str, lane: LaneConfig) -> None:
    with pytest.raises(ConfigError, match=rf"lanes\.low\.{field}"):
        replace(STAGES["dev"], lanes={**STAGES["dev"].lanes, "low": lane})


def test_a_missing_lane_is_refused() -> None:
    lanes = {name: lane for name, lane in STAGES["dev"].lanes.items() if name != "long"}
    with pytest.raises(ConfigError, match="lanes must be high, normal, low, long"):
        replace(STAGES["dev"], lanes=lanes)


def test_no_stage_may_call_every_function() -> None:
    with pytest.raises(ConfigError, match="lambda_targets"):
        replace(STAGES["dev"], lambda_targets=("*",))


def test_young_accounts_can_do_without_reserved_concurrency() -> None:
    assert from_context(stage="prod").reserved_concurrency.tick is not None
    assert from_context(stage="prod", reserved_concurrency="none").reserved_concurrency == ReservedConcurrency()
    with pytest.raises(ConfigError, match="can only be set to 'none'"):
        from_context(stage="prod", reserved_concurrency="5")


def test_an_address_can_be_subscribed_to_the_alarms() -> None:
    assert from_context(stage="prod", alarm_email="ops@example.com").alarm_email == "ops@example.com"


def test_a_late_tick_delays_nothing_in_any_stage() -> None:
    for config in STAGES.values():
        assert config.lead_seconds >= 2 * 60
        assert config.lead_seconds <= config.reach_seconds < 900
