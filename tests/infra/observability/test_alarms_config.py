"""Thresholds that cannot be are refused, naming the field."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from infra.settings.alarms_config import AlarmsConfig
from infra.settings.config import ConfigError
from infra.stages import STAGES

EVERY = {"high": 5, "normal": 5, "low": 5, "long": 5}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("watermark_seconds", 10_800),
        ("shard_queue_seconds", 300),
        ("deaths", -1),
        ("throttled_minutes", 1),
        ("lateness_seconds", {"high": 5}),
        ("patience_seconds", EVERY),
    ],
)
def test_a_threshold_that_cannot_be_is_refused_by_its_name(field: str, value: Any) -> None:
    with pytest.raises(ConfigError, match=rf"alarms\.{field}"):
        replace(STAGES["prod"], alarms=replace(AlarmsConfig(), **{field: value}))


def test_what_the_emulator_cannot_deploy_is_refused_on_this_machine() -> None:
    with pytest.raises(ConfigError, match=r"alarms\.metric_math must be False on this machine"):
        replace(STAGES["local"], alarms=replace(STAGES["local"].alarms, metric_math=True))


def test_a_message_whose_worker_died_is_not_too_old_for_that_alone() -> None:
    patience = {**AlarmsConfig().patience_seconds, "long": 900}
    with pytest.raises(ConfigError, match=r"alarms\.patience_seconds\.long must be at least 930"):
        replace(STAGES["prod"], alarms=AlarmsConfig(patience_seconds=patience))
