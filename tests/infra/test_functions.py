"""The functions: what they run on and what they are told."""

from __future__ import annotations

import sys

import pytest

from duecourse.settings import ApiSettings, DispatchSettings, ExecuteSettings, TickSettings
from infra.config import STAGES
from tests.infra.conftest import Stack
from tests.support.template import synthesise

SETTINGS = {
    "TickFunction": TickSettings,
    "DispatchFunction": DispatchSettings,
    "ExecuteHighFunction": ExecuteSettings,
    "ExecuteNormalFunction": ExecuteSettings,
    "ExecuteLowFunction": ExecuteSettings,
    "ExecuteLongFunction": ExecuteSettings,
    "ApiFunction": ApiSettings,
}


@pytest.mark.parametrize("output", SETTINGS)
def test_each_functions_environment_satisfies_its_settings(stack: Stack, output: str) -> None:
    settings = SETTINGS[output].from_env(stack.environment(output))
    assert settings.stage == stack.stage


@pytest.mark.parametrize("output", SETTINGS)
def test_no_function_is_told_what_it_does_not_read(stack: Stack, output: str) -> None:
    told = {name for name in stack.environment(output) if name.startswith("DUECOURSE_")}
    for name in told:
        without = {key: value for key, value in stack.environment(output).items() if key != name}
        with pytest.raises(ValueError, match=name):
            SETTINGS[output].from_env(without)


def test_every_function_logs_and_measures_under_one_name(stack: Stack) -> None:
    for output in SETTINGS:
        environment = stack.environment(output)
        assert environment["POWERTOOLS_SERVICE_NAME"] == "duecourse"
        assert environment["POWERTOOLS_METRICS_NAMESPACE"] == "Duecourse"


def test_functions_run_on_graviton_in_aws(aws_stack: Stack) -> None:
    for function in aws_stack.functions().values():
        assert (function["Runtime"], function["Architectures"]) == ("python3.14", ["arm64"])


def test_functions_run_on_this_machines_python_in_the_local_stack(local: Stack) -> None:
    for function in local.functions().values():
        assert function["Runtime"] == f"python3.{sys.version_info.minor}"


def test_all_functions_share_the_same_two_layers(stack: Stack) -> None:
    layers = {tuple(layer["Ref"] for layer in function["Layers"]) for function in stack.functions().values()}
    assert len(layers) == 1
    assert set(layers.pop()) == set(stack.resources("AWS::Lambda::LayerVersion"))


def test_every_function_has_a_log_group_with_an_end(stack: Stack) -> None:
    groups = stack.resources("AWS::Logs::LogGroup")
    assert all(group["RetentionInDays"] == STAGES[stack.stage].log_retention_days for group in groups.values())
    own = [function["LoggingConfig"]["LogGroup"]["Ref"] for function in stack.functions().values()]
    assert len(own) == len(set(own))
    assert set(own) <= set(groups)


def test_the_clock_and_the_api_keep_their_concurrency_in_prod(prod: Stack) -> None:
    reserved = {name: function.get("ReservedConcurrentExecutions") for name, function in prod.functions().items()}
    assert {name for name, count in reserved.items() if count} == {"Tick", "Dispatch", "Api"}


@pytest.mark.long
def test_nothing_is_reserved_where_the_account_cannot() -> None:
    made = synthesise("prod", reserved_concurrency="none")["Resources"].values()
    functions = [each["Properties"] for each in made if each["Type"] == "AWS::Lambda::Function"]
    assert functions
    assert not [each for each in functions if "ReservedConcurrentExecutions" in each]


def test_tick_runs_once_a_minute_and_an_old_tick_is_forgotten(stack: Stack) -> None:
    (rule,) = stack.resources("AWS::Events::Rule").values()
    assert rule["ScheduleExpression"] == "rate(1 minute)"
    (target,) = rule["Targets"]
    assert target["Arn"] == {"Fn::GetAtt": [stack.output("TickFunction"), "Arn"]}
    assert target["RetryPolicy"]["MaximumEventAgeInSeconds"] <= 120
    (invoke,) = stack.resources("AWS::Lambda::EventInvokeConfig").values()
    assert invoke["MaximumEventAgeInSeconds"] <= 120
