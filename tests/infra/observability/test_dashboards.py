"""Dashboards, and settings of alarms.

- The dashboards show metrics that there are, of everything that there is, and say what they show.
- Thresholds that cannot be are refused, naming the field.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any, get_args

import pytest

from duecourse.domain.targets.kinds import type_of
from duecourse.domain.targets.targets import CallableTarget, TaskTarget
from infra.settings.alarms_config import AlarmsConfig
from infra.settings.config import ConfigError
from infra.stages import STAGES as CONFIG_STAGES
from tests.support.metric_contract import OURS, problem_of
from tests.support.source import deployed
from tests.support.stage_alarms import alarms
from tests.support.template import ROOT, resources, template

STAGES = ("local", "dev", "prod")
DASHBOARDS = ("business", "technical")


def dashboard(stage: str, which: str) -> dict[str, Any]:
    """Its body, with references as texts."""
    (found,) = [
        each["Properties"]["DashboardBody"]
        for each in resources(stage, "AWS::CloudWatch::Dashboard").values()
        if joined(each["Properties"]["DashboardName"]).endswith(f"-{which}")
    ]
    body: dict[str, Any] = json.loads(joined(found))
    return body


def joined(value: str | Mapping[str, Any]) -> str:
    """A text of the template, with a logical id in the place of each name that a deployment gives."""
    parts = value["Fn::Join"][1] if isinstance(value, Mapping) else [value]
    return "".join(part if isinstance(part, str) else str(part.get("Ref") or part["Fn::GetAtt"][0]) for part in parts)


@pytest.mark.parametrize("stage", STAGES)
def test_dashboards_second_region_has_its_own(stage: str) -> None:
    """Dashboards are global: a name that is taken in one region is taken in all (Amazon CloudWatch User Guide)."""
    names = {
        joined(each["Properties"]["DashboardName"]) for each in resources(stage, "AWS::CloudWatch::Dashboard").values()
    }
    assert names == {f"Duecourse-{stage}-AWS::Region-{which}" for which in DASHBOARDS}


def metrics(body: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, str]]]:
    """Namespace, name and dimensions of everything that is drawn; a row may repeat the one before it by dots."""
    for widget in body["widgets"]:
        before: list[Any] = []
        for row in widget["properties"].get("metrics", []):
            words = [word for word in row if not isinstance(word, dict)]
            if not words:
                continue  # an expression over others
            assert "..." not in words
            words = [before[place] if word == "." else word for place, word in enumerate(words)]
            before = words
            yield words[0], words[1], dict(zip(words[2::2], words[3::2], strict=True))


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("which", DASHBOARDS)
def test_dashboards_every_charted_metric_exists(stage: str, which: str) -> None:
    drawn = list(metrics(dashboard(stage, which)))
    assert len(drawn) > 20
    assert [problem for one in drawn if (problem := problem_of(*one))] == []


@pytest.mark.parametrize("stage", STAGES)
def test_dashboards_every_metric_watched_by_an_alarm_exists(stage: str) -> None:
    for name, alarm in alarms(stage).items():
        watched = (
            [alarm]
            if "MetricName" in alarm
            else [one["MetricStat"]["Metric"] for one in alarm["Metrics"] if "MetricStat" in one]
        )
        for one in watched:
            given = {each["Name"]: each["Value"] for each in one.get("Dimensions", [])}
            assert problem_of(one["Namespace"], one["MetricName"], given) is None, name


def test_dashboards_every_metric_of_the_contract_is_emitted_in_the_code() -> None:
    code = "".join(path.read_text() for path in (*deployed(), *(ROOT / "functions").rglob("*.py")))
    missing = [name for names in OURS.values() for name in names if f'"{name}"' not in code]
    assert missing == []


@pytest.mark.parametrize("stage", STAGES)
def test_dashboards_technical_one_shows_every_function_queue_and_table(stage: str) -> None:
    shown = {value for _, _, given in metrics(dashboard(stage, "technical")) for value in given.values()}
    outputs = template(stage)["Outputs"]
    ours = [name for name in outputs if name.endswith(("Function", "QueueUrl", "Table")) or name.startswith("Lane")]
    assert len(ours) > 12
    for name in ours:
        assert outputs[name]["Value"]["Ref"] in shown, name


@pytest.mark.parametrize("which", DASHBOARDS)
def test_dashboards_each_explains_itself_and_titles_every_widget(which: str) -> None:
    widgets = dashboard("prod", which)["widgets"]
    texts = [widget["properties"]["markdown"] for widget in widgets if widget["type"] == "text"]
    assert texts[0].startswith("# Duecourse")
    assert all(len(text.splitlines()) >= 2 for text in texts)
    assert all(widget["properties"]["title"] for widget in widgets if widget["type"] == "metric")


@pytest.mark.parametrize("which", DASHBOARDS)
def test_dashboards_widgets_neither_overlap_nor_exceed_the_grid(which: str) -> None:
    widgets = dashboard("prod", which)["widgets"]
    assert all(widget["x"] + widget["width"] <= 24 for widget in widgets)
    for one, following in pairwise(widgets):
        beside = following["y"] == one["y"] and following["x"] >= one["x"] + one["width"]
        assert beside or following["y"] >= one["y"] + one["height"]


def test_dashboards_widgets_do_not_exceed_the_cloudwatch_limits_on_metrics_and_alarms() -> None:
    """Amazon CloudWatch User Guide, "CloudWatch service quotas" and "Dashboard Body Structure and Syntax"."""
    for which in DASHBOARDS:
        for widget in dashboard("prod", which)["widgets"]:
            assert len(widget["properties"].get("metrics", [])) <= 500
            assert len(widget["properties"].get("alarms", [])) <= 100


@pytest.mark.parametrize("stage", STAGES)
def test_dashboards_state_of_every_alarm_is_shown(stage: str) -> None:
    (shown,) = [each["properties"] for each in dashboard(stage, "technical")["widgets"] if each["type"] == "alarm"]
    made = resources(stage, "AWS::CloudWatch::Alarm")
    ours = {name for name in made if name.startswith("Observability")}
    assert set(shown["alarms"]) == ours


def test_dashboards_every_target_type_is_charted() -> None:
    types = {type_of(object.__new__(each)) for each in (*get_args(CallableTarget), TaskTarget)}
    shown = [each["properties"].get("metrics", []) for each in dashboard("prod", "business")["widgets"]]
    words = json.dumps(shown)
    assert {each for each in types if f'"{each}"' in words} == types


@pytest.mark.parametrize("value", [{"high": 5}, {"high": 5, "normal": 0, "low": 5, "long": 5}])
def test_dashboards_invalid_threshold_is_refused_by_name(value: dict[str, int]) -> None:
    with pytest.raises(ConfigError, match=r"alarms\.lateness_seconds"):
        replace(CONFIG_STAGES["prod"], alarms=AlarmsConfig(lateness_seconds=value))


def test_dashboards_metric_math_is_refused_on_the_local_stage() -> None:
    with pytest.raises(ConfigError, match=r"alarms\.metric_math must be false on the local stage"):
        replace(CONFIG_STAGES["local"], alarms=replace(CONFIG_STAGES["local"].alarms, metric_math=True))
