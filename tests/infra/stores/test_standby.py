"""A stage with a standby in another region: which tables each region's stack has, and which settings are refused."""

import json
from typing import Any

import pytest

from infra.application import build
from infra.settings.config import ConfigError
from tests.infra.conftest import Stack
from tests.support.template import ROOT, template

HOME, OTHER = "eu-west-1", "eu-central-1"
REGIONS = {"home": HOME, "region": OTHER}
STREAM = f"arn:aws:dynamodb:{OTHER}:123456789012:table/Runs/stream/2026-11-21T03:00:00.000"
REPLICAS = REGIONS | {"jobs_table": "Jobs", "runs_table": "Runs", "runs_stream": STREAM}
ISSUER = {"issuer": "https://login.example.com", "audience": "duecourse"}


def made_in(region: str, standby: dict[str, str], **settings: Any) -> Stack:
    """The stack of prod in a region."""
    ours = json.loads((ROOT / "cdk.json").read_text())["context"] | {"aws:cdk:bundling-stacks": []}
    context = ours | {"stage": "prod", "standby": json.dumps(standby)} | ISSUER | settings
    environ = {"CDK_DEFAULT_REGION": region, "CDK_DEFAULT_ACCOUNT": "123456789012"}
    app = build(context={name: value for name, value in context.items() if value is not None}, environ=environ)
    return Stack("prod", app.synth().get_stack_by_name("Duecourse-prod").template)


def fences(stack: Stack) -> set[str | None]:
    functions = stack.resources("AWS::Lambda::Function").values()
    return {each["Environment"]["Variables"].get("DUECOURSE_FENCE") for each in functions}


def test_standby_stage_without_it_has_no_fence_and_no_further_stream() -> None:
    stack = Stack("prod", template("prod"))
    assert fences(stack) == {None}
    assert "Regions" not in stack.template["Outputs"]
    jobs = stack.resource(stack.output("JobsTable"))["Properties"]
    assert "StreamSpecification" not in jobs


def test_standby_home_region_has_the_tables_with_streams_that_replicas_need() -> None:
    stack = made_in(HOME, REGIONS)
    tables = stack.resources("AWS::DynamoDB::Table").values()
    assert [each["StreamSpecification"]["StreamViewType"] for each in tables] == ["NEW_AND_OLD_IMAGES"] * 2
    assert fences(stack) == {HOME}
    assert stack.template["Outputs"]["Regions"]["Value"] == f"{HOME} {OTHER}"


def test_standby_other_region_uses_the_replicas_and_their_stream() -> None:
    stack = made_in(OTHER, REPLICAS)
    assert stack.resources("AWS::DynamoDB::Table") == {}
    outputs = stack.template["Outputs"]
    assert (outputs["JobsTable"]["Value"], outputs["RunsTable"]["Value"]) == ("Jobs", "Runs")
    sources = [each["EventSourceArn"] for each in stack.resources("AWS::Lambda::EventSourceMapping").values()]
    assert STREAM in sources
    assert fences(stack) == {OTHER}
    assert "table/Jobs/index/due" in json.dumps(stack.template)


def test_standby_adding_it_replaces_no_table() -> None:
    before, after = Stack("prod", template("prod")), made_in(HOME, REGIONS)
    assert set(before.resources("AWS::DynamoDB::Table")) == set(after.resources("AWS::DynamoDB::Table"))


@pytest.mark.parametrize(
    ("region", "standby", "settings", "said"),
    [
        (OTHER, REGIONS, {}, "standby.jobs_table must be set in eu-central-1"),
        ("us-east-1", REPLICAS, {}, "standby.region must be us-east-1, or the stage must be deployed to eu-west-1"),
        (HOME, {"home": HOME, "region": HOME}, {}, "standby.region must be another region than home"),
        (HOME, {"home": "Ireland", "region": HOME}, {}, "standby.home must be the name of a region"),
        (HOME, {"home": HOME}, {}, "standby.region must be set"),
        (HOME, REGIONS | {"here": OTHER}, {}, "standby.here is not a setting"),
        (HOME, REPLICAS | {"runs_stream": "Runs"}, {}, "standby.runs_stream must be an ARN"),
        (HOME, REGIONS, {"issuer": None, "audience": None}, "auth must be jwt or iam with standby"),
        (HOME, REGIONS, {"encryption_key": "own"}, "encryption_key must be none or an ARN with standby"),
    ],
)
def test_standby_settings_that_cannot_work_are_refused(
    region: str, standby: dict[str, str], settings: dict[str, Any], said: str
) -> None:
    with pytest.raises(ConfigError, match=said):
        made_in(region, standby, **settings)
