"""Regions of China: what they do not offer is refused before anything is deployed, with the setting and the reason."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from aws_cdk import App

from infra.application import build, missing_in_china
from infra.settings.alarms_config import AlarmsConfig
from infra.settings.auth_config import AuthConfig
from infra.settings.config import ConfigError
from infra.settings.lanes_config import LaneConfig
from infra.settings.throughput_config import Pollers
from infra.stack import DuecourseStack
from infra.stages import STAGES
from tests.infra.conftest import Stack
from tests.support.template import ROOT

FITTING = replace(
    STAGES["prod"],
    auth=AuthConfig(kind="iam"),
    tracing=False,
    loop_detection=False,
    alarms=AlarmsConfig(metric_math=False),
)
"""Prod without what those regions do not have."""


@pytest.mark.parametrize("region", ["cn-north-1", "cn-northwest-1"])
def test_what_a_region_does_not_have_is_refused_at_once_with_the_reason(region: str) -> None:
    with pytest.raises(ConfigError) as refused:
        build(context={"stage": "prod"}, environ={"CDK_DEFAULT_REGION": region})
    first, *others = str(refused.value).split("; ")
    assert first.startswith(
        f"stage 'prod' in {region}: auth.kind must be jwt or iam, as Cognito has no user pools there"
    )
    assert [each.split()[0] for each in others] == ["tracing", "loop_detection", "alarms.metric_math"]


@pytest.mark.parametrize("region", ["eu-central-1", "us-gov-west-1", None])
def test_elsewhere_nothing_of_it_is_refused(region: str | None) -> None:
    ours = json.loads((ROOT / "cdk.json").read_text())["context"] | {"aws:cdk:bundling-stacks": [], "stage": "dev"}
    build(context=ours, environ={} if region is None else {"CDK_DEFAULT_REGION": region})


def test_a_stage_can_be_made_to_fit() -> None:
    assert not list(missing_in_china(FITTING))
    polled = {**FITTING.lanes, "low": LaneConfig(120, 10, None, pollers=Pollers(minimum=2, maximum=3))}
    (problem,) = missing_in_china(replace(FITTING, lanes=polled))
    assert problem.startswith("lanes.low.pollers must be None")


def test_a_stage_that_fits_asks_for_none_of_it() -> None:
    ours = json.loads((ROOT / "cdk.json").read_text())["context"] | {"aws:cdk:bundling-stacks": []}
    app = App(context=ours, analytics_reporting=False)
    DuecourseStack(app, FITTING)
    prod = Stack("prod", app.synth().get_stack_by_name(FITTING.stack_name).template)
    functions = prod.resources("AWS::Lambda::Function").values()
    assert not [each for each in functions if {"RecursiveLoop", "TracingConfig"} & each.keys()]
    mappings = prod.resources("AWS::Lambda::EventSourceMapping").values()
    assert not [each for each in mappings if {"MetricsConfig", "ProvisionedPollerConfig"} & each.keys()]
    assert not prod.resources("AWS::Cognito::UserPool")


def test_the_address_of_the_api_is_the_gateways_own_word(stack: Stack) -> None:
    """Whatever the host's ending in the partition."""
    assert list(stack.template["Outputs"]["ApiUrl"]["Value"]["Fn::GetAtt"])[1] == "ApiEndpoint"
