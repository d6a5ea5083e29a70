"""The functions.

- The functions: what they run on and what they are told.
- Index repair and the audit: when they come, and for how long.
"""

import sys
from dataclasses import fields, replace
from typing import Any

import pytest

from duecourse.domain.targets.connectors import connectors_of
from duecourse.settings import (
    AllowedTargets,
    ApiSettings,
    ArchiveSettings,
    AuditSettings,
    CallbackSettings,
    DispatchSettings,
    ExecuteSettings,
    ReconcilerSettings,
    RepairSettings,
    TickSettings,
)
from infra.settings.config import ConfigError
from infra.settings.connectors_config import connector_settings
from infra.stages import STAGES
from tests.infra.conftest import Stack
from tests.infra.role_rights import ON_THE_CLOCK, kind_of
from tests.support.template import template

SETTINGS = {
    "TickFunction": TickSettings,
    "DispatchFunction": DispatchSettings,
    "ExecuteHighFunction": ExecuteSettings,
    "ExecuteNormalFunction": ExecuteSettings,
    "ExecuteLowFunction": ExecuteSettings,
    "ExecuteLongFunction": ExecuteSettings,
    "ReconcileFunction": ReconcilerSettings,
    "RepairFunction": RepairSettings,
    "AuditFunction": AuditSettings,
    "ArchiveFunction": ArchiveSettings,
    "ApiFunction": ApiSettings,
    "CallbacksFunction": CallbackSettings,
}


WITHOUT_SETTINGS = {"ClaimsFunction", "ConsoleFunction", "ConnectorOfficeFunction"}
"""Cognito's trigger, where the stack makes a user pool, knows all by the event; the console's function has no layer; a
connector has no class of settings (test_connectors.py).
"""


def clockwork(stack: Stack, output: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The rule that starts a function, and how it is invoked."""
    function = {"Fn::GetAtt": [stack.output(output), "Arn"]}
    rules = stack.resources("AWS::Events::Rule").values()
    (rule,) = [rule for rule in rules if [target["Arn"] for target in rule["Targets"]] == [function]]
    invokes = stack.resources("AWS::Lambda::EventInvokeConfig").values()
    (invoke,) = [invoke for invoke in invokes if invoke["FunctionName"] == {"Ref": stack.output(output)}]
    return rule, invoke


@pytest.mark.parametrize("output", SETTINGS)
def test_functions_have_environments_that_satisfy_their_settings(stack: Stack, output: str) -> None:
    settings = SETTINGS[output].from_env(stack.environment(output))
    assert settings.stage == stack.stage


@pytest.mark.parametrize("output", SETTINGS)
def test_functions_have_only_environment_variables_that_they_read(stack: Stack, output: str) -> None:
    told = {name for name in stack.environment(output) if name.startswith("DUECOURSE_")}
    for name in told:
        without = {key: value for key, value in stack.environment(output).items() if key != name}
        with pytest.raises(ValueError, match=name):
            SETTINGS[output].from_env(without)


def test_functions_are_all_covered_by_these_tests(stack: Stack) -> None:
    assert {f"{name}Function" for name in stack.functions()} - WITHOUT_SETTINGS == set(SETTINGS)


def test_functions_api_has_limits_and_tenant_claim_of_its_stage(stack: Stack) -> None:
    read = ApiSettings.from_env(stack.environment("ApiFunction"))
    config = STAGES[stack.stage]
    assert (read.auth, read.tenant_claim) == (config.auth.setting, config.auth.tenant_claim)
    assert all(getattr(read, field.name) == getattr(config.limits, field.name) for field in fields(config.limits))


def test_functions_api_and_workers_allow_the_targets_of_their_stage(stack: Stack) -> None:
    allowed = STAGES[stack.stage].allowed_targets
    given: dict[str, Any] = {field.name: getattr(allowed, field.name) for field in fields(AllowedTargets)}
    settings = connector_settings(f"Duecourse-{stack.stage}", STAGES[stack.stage].connectors)
    wanted = AllowedTargets(**given | {"connectors": connectors_of(settings)})
    assert ApiSettings.from_env(stack.environment("ApiFunction")).allowed_targets == wanted
    for name in ("High", "Normal", "Low", "Long"):
        assert ExecuteSettings.from_env(stack.environment(f"Execute{name}Function")).allowed_targets == wanted


def test_functions_workers_store_results_and_send_events_to_the_stack_resources(stack: Stack) -> None:
    bucket, (bus,) = stack.output("ResultsBucket"), stack.resources("AWS::Events::EventBus")
    for name in ("High", "Normal", "Low", "Long"):
        variables = stack.function(f"Execute{name}Function")["Environment"]["Variables"]
        assert variables["DUECOURSE_RESULTS_BUCKET"] == {"Ref": bucket}
        assert variables["DUECOURSE_BUS_NAME"] == {"Ref": bus}
    assert stack.function("ApiFunction")["Environment"]["Variables"]["DUECOURSE_RESULTS_BUCKET"] == {"Ref": bucket}


def test_functions_all_log_and_measure_under_one_name(stack: Stack) -> None:
    for output in SETTINGS:
        environment = stack.environment(output)
        assert environment["POWERTOOLS_SERVICE_NAME"] == "duecourse"
        assert environment["POWERTOOLS_METRICS_NAMESPACE"] == f"Duecourse/{stack.stage}"


def test_functions_aws_stages_use_graviton(aws_stack: Stack) -> None:
    for function in aws_stack.functions().values():
        assert (function["Runtime"], function["Architectures"]) == ("python3.14", ["arm64"])


def test_functions_local_stack_uses_the_python_of_this_machine(local: Stack) -> None:
    for function in local.functions().values():
        assert function["Runtime"] == f"python3.{sys.version_info.minor}"


def test_functions_all_share_the_same_two_layers_except_the_console_which_has_none(stack: Stack) -> None:
    layers = {name: [layer["Ref"] for layer in each.get("Layers", ())] for name, each in stack.functions().items()}
    assert layers.pop("Console") == []
    (shared,) = {tuple(each) for each in layers.values()}
    assert set(shared) == set(stack.resources("AWS::Lambda::LayerVersion"))


def test_functions_every_log_group_has_a_retention_time(stack: Stack) -> None:
    groups = stack.resources("AWS::Logs::LogGroup")
    assert all(group["RetentionInDays"] == STAGES[stack.stage].log_retention_days for group in groups.values())
    own = [function["LoggingConfig"]["LogGroup"]["Ref"] for function in stack.functions().values()]
    assert len(own) == len(set(own))
    assert set(own) <= set(groups)


def test_functions_clock_and_api_have_reserved_concurrency_in_prod(prod: Stack) -> None:
    reserved = {name: function.get("ReservedConcurrentExecutions") for name, function in prod.functions().items()}
    assert {name for name, count in reserved.items() if count} == {"Tick", "Dispatch", "Api", "Callbacks"}


def test_functions_reserve_no_concurrency_where_the_account_cannot() -> None:
    made = template("prod", reserved_concurrency="none")["Resources"].values()
    functions = [each["Properties"] for each in made if each["Type"] == "AWS::Lambda::Function"]
    assert functions
    assert not [each for each in functions if "ReservedConcurrentExecutions" in each]


def test_functions_tick_runs_once_a_minute_and_old_ticks_are_discarded(stack: Stack) -> None:
    rule, invoke = clockwork(stack, "TickFunction")
    assert rule["ScheduleExpression"] == "rate(1 minute)"
    assert rule["Targets"][0]["RetryPolicy"]["MaximumEventAgeInSeconds"] <= 120
    assert invoke["MaximumEventAgeInSeconds"] <= 120


def test_functions_dead_letters_are_reconciled_every_few_minutes(stack: Stack) -> None:
    rule, invoke = clockwork(stack, "ReconcileFunction")
    assert rule["ScheduleExpression"] == "rate(5 minutes)"
    assert stack.function("ReconcileFunction")["Timeout"] < 300, "a call ends before the next begins"
    assert (invoke["MaximumEventAgeInSeconds"], invoke["MaximumRetryAttempts"]) == (300, 0)


def traced(stack: Stack) -> set[str]:
    """The functions that X-Ray follows, by the name of their output without its ending."""
    modes = {name: function.get("TracingConfig", {}).get("Mode") for name, function in stack.functions().items()}
    assert set(modes.values()) <= {"Active", None}
    return {name for name, mode in modes.items() if mode == "Active"}


def test_functions_requests_and_runs_are_traced_as_configured_and_the_clock_is_not(stack: Stack) -> None:
    others = {name for name in stack.functions() if kind_of(name) not in ON_THE_CLOCK}
    assert {"Api", "ExecuteNormal"} <= others
    assert traced(stack) == (others if STAGES[stack.stage].tracing else set())


def test_functions_aws_stages_are_traced_and_the_local_stage_is_not() -> None:
    assert {name: config.tracing for name, config in STAGES.items()} == {"local": False, "dev": True, "prod": True}


def test_functions_only_workers_allow_recursive_loops_since_runs_retry_through_messages(stack: Stack) -> None:
    functions = stack.resources("AWS::Lambda::Function")
    allowed = {name for name, function in functions.items() if function.get("RecursiveLoop") == "Allow"}
    assert allowed == {stack.output(output) for output, of in SETTINGS.items() if of is ExecuteSettings}


BOTH = pytest.mark.parametrize("name", ["Repair", "Audit"])


@BOTH
def test_functions_index_repair_and_audit_run_every_15_minutes_and_end_before_the_next_run(
    stack: Stack, name: str
) -> None:
    function = {"Fn::GetAtt": [stack.output(f"{name}Function"), "Arn"]}
    rules = stack.resources("AWS::Events::Rule").values()
    (rule,) = [rule for rule in rules if [target["Arn"] for target in rule["Targets"]] == [function]]
    assert (rule["ScheduleExpression"], rule["State"]) == ("rate(15 minutes)", "ENABLED")
    assert stack.function(f"{name}Function")["Timeout"] < 900
    (policy,) = [target["RetryPolicy"] for target in rule["Targets"]]
    assert policy["MaximumEventAgeInSeconds"] <= 900


@BOTH
def test_functions_failed_index_repair_is_not_retried_since_the_next_run_continues(stack: Stack, name: str) -> None:
    invokes = stack.resources("AWS::Lambda::EventInvokeConfig").values()
    (invoke,) = [each for each in invokes if each["FunctionName"] == {"Ref": stack.output(f"{name}Function")}]
    assert (invoke["MaximumEventAgeInSeconds"], invoke["MaximumRetryAttempts"]) == (900, 0)


def test_functions_index_repair_and_audit_use_the_intervals_of_their_stage(stack: Stack) -> None:
    config = STAGES[stack.stage]
    repair = RepairSettings.from_env(stack.environment("RepairFunction"))
    audit = AuditSettings.from_env(stack.environment("AuditFunction"))
    assert (repair.repair_hours, audit.audit_segments) == (config.repair_hours, config.audit_segments)
    assert (audit.lookahead_seconds, audit.horizon_seconds) == (config.lookahead_seconds, config.horizon_seconds)


@pytest.mark.parametrize("field", ["repair_hours", "audit_segments"])
@pytest.mark.parametrize("hours", [0, 169])
def test_functions_index_repair_and_audit_intervals_are_limited_to_a_week(field: str, hours: int) -> None:
    with pytest.raises(ConfigError, match=f"{field} must be between 1 and 168"):
        replace(STAGES["dev"], **{field: hours})
