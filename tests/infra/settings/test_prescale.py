"""Capacity that the tick raises before a peak: nothing of it without the setting, and only what it needs with it."""

import json
import re
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from aws_cdk import App

from duecourse.domain.maintenance.peaks import QueueRules, rules_of
from infra.settings.auth_config import AuthConfig
from infra.settings.config import ConfigError, StageConfig
from infra.settings.lanes_config import lanes
from infra.settings.places import missing_in_china
from infra.settings.prescale_config import PrescaleConfig
from infra.settings.stores_config import StandbyConfig
from infra.settings.throughput_config import Pollers
from infra.stack import DuecourseStack
from infra.stages import STAGES, from_context
from tests.infra.conftest import Stack
from tests.infra.role_rights import role_of
from tests.support.policies import as_list, written
from tests.support.template import ROOT

BUDGET = PrescaleConfig(dollars_per_day=15)
UPDATES = ("lambda:UpdateEventSourceMapping", "dynamodb:UpdateTable", "dynamodb:DescribeTable")


def configured(**changes: Any) -> StageConfig:
    return replace(STAGES["prod"], **{"prescale": BUDGET, **changes})


@cache
def prescaling() -> Stack:
    ours = json.loads((ROOT / "cdk.json").read_text())["context"]
    app = App(context=ours | {"aws:cdk:bundling-stacks": []}, analytics_reporting=False)
    config = configured(account_concurrency=3_000)
    DuecourseStack(app, config)
    return Stack(config.stage, app.synth().get_stack_by_name(config.stack_name).template)


def tick_statements(stack: Stack) -> list[dict[str, Any]]:
    return stack.statements(role_of(stack.function("TickFunction")))


def test_prescale_is_off_by_default_without_variable_permission_or_output(stack: Stack) -> None:
    assert STAGES[stack.stage].prescale is None
    actions = {action for each in tick_statements(stack) for action in as_list(each["Action"])}
    assert not actions & set(UPDATES)
    assert "DUECOURSE_PRESCALE" not in stack.environment("TickFunction")
    assert "PrescaleDollars" not in stack.template["Outputs"]


def test_prescale_tick_may_only_change_the_lanes_event_sources_and_both_tables() -> None:
    stack = prescaling()
    granted = {
        action: {written(resource) for resource in as_list(each["Resource"])}
        for each in tick_statements(stack)
        for action in as_list(each["Action"])
        if action in UPDATES
    }
    sources = stack.resources("AWS::Lambda::EventSourceMapping")
    read = {name for name, each in sources.items() if "Lanes" in str(each["EventSourceArn"])}
    callbacks = {name for name, each in sources.items() if "Callback" in str(each["EventSourceArn"])}
    tables = {f"{{{stack.output(name)}.Arn}}" for name in ("JobsTable", "RunsTable")}
    ids = {re.sub(r".*event-source-mapping:\{(\w+)\}", r"\1", arn) for arn in granted[UPDATES[0]]}
    assert ids == read - callbacks
    assert len(ids) == 8
    assert granted[UPDATES[1]] == granted[UPDATES[2]] == tables


def test_prescale_no_other_function_gets_a_permission() -> None:
    stack = prescaling()
    others = {name: each for name, each in stack.functions().items() if name != "Tick"}
    for function in others.values():
        actions = {action for each in stack.statements(role_of(function)) for action in as_list(each["Action"])}
        assert not actions & set(UPDATES)


def test_prescale_tick_gets_the_queues_with_the_limits_that_it_restores() -> None:
    stack = prescaling()
    joined = stack.function("TickFunction")["Environment"]["Variables"]["DUECOURSE_PRESCALE"]["Fn::Join"][1]
    rules = rules_of("".join(part if isinstance(part, str) else next(iter(part.values())) for part in joined))
    assert (rules.dollars_per_day, rules.table_quota, rules.list_successes) == (15, 40_000, True)
    assert rules.spare == 3_000 - configured().most_concurrent - 10
    assert rules.runs_table == stack.output("RunsTable")
    assert {name: (each.concurrent, each.batch) for name, each in rules.queues.items()} == {
        **dict.fromkeys(("high", "high bulk", "normal", "normal bulk"), (100, 10)),
        **dict.fromkeys(("low", "low bulk"), (20, 10)),
        **dict.fromkeys(("long", "long bulk"), (50, 1)),
    }
    queues = stack.resources("AWS::Lambda::EventSourceMapping")
    for name, each in rules.queues.items():
        assert isinstance(each, QueueRules)
        output = f"Lane{name.title().replace(' ', '')}Url"
        assert queues[each.source]["EventSourceArn"]["Fn::GetAtt"][0] == stack.output(output)


def test_prescale_changes_no_event_source_and_no_table_of_the_template(prod: Stack) -> None:
    for kind in ("AWS::Lambda::EventSourceMapping", "AWS::DynamoDB::Table"):
        assert prescaling().resources(kind) == prod.resources(kind)


def test_prescale_doctor_finds_the_budget_in_an_output() -> None:
    assert prescaling().template["Outputs"]["PrescaleDollars"]["Value"] == "15"


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"prescale": PrescaleConfig(dollars_per_day=-1)}, r"prescale\.dollars_per_day must be between 0 and 1,000"),
        ({"prescale": PrescaleConfig(dollars_per_day=1_001)}, r"prescale\.dollars_per_day must be between 0 and"),
        (
            {"prescale": PrescaleConfig(dollars_per_day=1, table_quota=4_000)},
            r"prescale\.table_quota must be at least 12000",
        ),
        (
            {
                "lanes": lanes(high=Pollers(minimum=2, maximum=9), normal=9, low=9, long=9),
                "account_concurrency": 9_000,
            },
            r"lanes\.high\.pollers must be null with prescale, which sets the pollers of all queues",
        ),
        (
            {
                "lanes": lanes(high=9, normal=9, low=9, long=9, bulk={"low": Pollers(minimum=2, maximum=9)}),
                "account_concurrency": 9_000,
            },
            r"lanes\.low\.bulk_pollers must be null with prescale",
        ),
        (
            {
                "standby": StandbyConfig(home="eu-west-1", region="eu-central-1"),
                "auth": AuthConfig(kind="jwt", issuer="https://issuer.example.com", audience=("duecourse",)),
            },
            "prescale must be null with standby, because warm throughput is charged in both regions",
        ),
    ],
)
def test_prescale_settings_that_cannot_work_are_refused(changes: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        configured(**changes)


def test_prescale_is_refused_on_the_local_stage_and_in_china() -> None:
    with pytest.raises(ConfigError, match="prescale must be null on the local stage"):
        replace(STAGES["local"], prescale=BUDGET)
    found = list(missing_in_china(configured()))
    assert "prescale must be null, because there is no provisioned mode" in found


def test_prescale_is_set_in_the_file_of_a_stage() -> None:
    def prod(prescale: str) -> StageConfig:
        return from_context({"stage": "prod", "prescale": prescale}.get)

    assert prod('{"dollars_per_day": 15}').prescale == BUDGET
    assert prod('{"dollars_per_day": 2.5, "table_quota": 120000}').prescale == PrescaleConfig(
        dollars_per_day=2.5, table_quota=120_000
    )
    with pytest.raises(ConfigError, match=r"prescale\.dollars_per_day must be set"):
        prod("{}")
    with pytest.raises(ConfigError, match=r"prescale\.dollars_per_day must be a number"):
        prod('{"dollars_per_day": "15"}')
    with pytest.raises(ConfigError, match=r"prescale\.dollars is not a setting"):
        prod('{"dollars": 15}')
