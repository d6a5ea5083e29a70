"""Connectors in the template: their functions, networks and permissions."""

import json
from typing import Any

import pytest

from duecourse.adapters.targets.http.relay import Relay
from duecourse.domain.targets.connectors import connector_refusal
from duecourse.limits import WORKER_SECONDS
from duecourse.settings import ApiSettings, ExecuteSettings
from infra.functions.connector import NETWORK_ACTIONS
from infra.sizes import size_problems
from infra.stages import STAGES
from tests.infra.conftest import Stack
from tests.infra.role_rights import LOGS, role_of
from tests.support.policies import as_list, written
from tests.support.template import template

OFFICE = {
    "subnets": ["subnet-0123456789abcdef0", "subnet-0123456789abcdef1"],
    "security_groups": ["sg-0123456789abcdef0"],
    "tenants": ["erp"],
    "hosts": ["*.corp.example"],
    "cidrs": ["10.0.0.0/8"],
}
TWO = {"office": OFFICE, "plant": OFFICE | {"tenants": ["*"], "hosts": ["*"], "cidrs": ["192.168.7.0/24"]}}


@pytest.fixture
def connected() -> Stack:
    """Stage prod with two connectors."""
    return Stack("prod", template("prod", connectors=json.dumps(TWO)))


def own(stack: Stack) -> dict[str, dict[str, Any]]:
    """The functions of connectors, by the names of their outputs."""
    return {name: each for name, each in stack.functions().items() if name.startswith("Connector")}


def without(value: Any, *logical_ids: str) -> Any:
    """A part of a template without these resources, all that refers to them, and the connectors in settings."""
    match value:
        case dict():
            return {name: without(each, *logical_ids) for name, each in value.items() if name not in logical_ids}
        case list():
            kept = [each for each in value if not any(name in json.dumps(each) for name in logical_ids)]
            return [without(each, *logical_ids) for each in kept]
        case str() if "via-office" in value:
            whole = json.loads(value)
            return json.dumps({name: whole[name] for name in whole if name != "connectors"}, separators=(",", ":"))
        case _:
            return value


def test_connectors_setting_without_entries_leaves_the_template_as_it_was() -> None:
    assert json.dumps(template("prod", connectors="{}")) == json.dumps(template("prod"))
    assert "onnector" not in json.dumps(template("prod"))


def invoked(stack: Stack, name: str) -> list[Any]:
    """The resources that a function's role may invoke. CDK merges the statements of an action."""
    statements = stack.statements(role_of(stack.functions()[name]))
    found = [each for each in statements if as_list(each["Action"]) == ["lambda:InvokeFunction"]]
    return [arn for each in found for arn in as_list(each["Resource"])]


def test_connectors_add_only_their_functions_and_the_permission_to_invoke_them() -> None:
    plain, connected = template("dev"), Stack("dev", template("dev", connectors=json.dumps(TWO)))
    more = sorted(connected.template["Resources"].keys() - plain["Resources"].keys())
    kinds = sorted(connected.resource(name)["Type"] for name in more)
    each = ["AWS::IAM::Policy", "AWS::IAM::Role", "AWS::Lambda::Function", "AWS::Logs::LogGroup"]
    assert kinds == sorted(each * 2)
    changed = {
        connected.resource(name)["Type"]: name
        for name, resource in plain["Resources"].items()
        if json.dumps(without(connected.resource(name), *more)) != json.dumps(resource)
    }
    assert changed.pop("AWS::CloudWatch::Dashboard")
    assert changed == {"AWS::IAM::Policy": "ExecuteRights6AF351E8"}


def test_connectors_run_in_the_subnets_and_security_groups_of_the_setting(connected: Stack) -> None:
    assert own(connected).keys() == {"ConnectorOffice", "ConnectorPlant"}
    for name, function in own(connected).items():
        assert function["VpcConfig"] == {"SubnetIds": OFFICE["subnets"], "SecurityGroupIds": OFFICE["security_groups"]}
        assert function["FunctionName"] == f"Duecourse-prod-via-{name.removeprefix('Connector').lower()}"
    others = [each for name, each in connected.functions().items() if name not in own(connected)]
    assert not [each for each in others if "VpcConfig" in each]
    assert not connected.resources("AWS::EC2::NatGateway")


def test_connectors_have_a_maximum_of_concurrent_calls_which_slow_hosts_cannot_exceed() -> None:
    given = {"office": OFFICE, "plant": OFFICE | {"concurrency": 5}, "lab": OFFICE | {"concurrency": None}}
    functions = own(Stack("prod", template("prod", connectors=json.dumps(given))))
    found = {name: each.get("ReservedConcurrentExecutions") for name, each in functions.items()}
    assert found == {"ConnectorOffice": 50, "ConnectorPlant": 5, "ConnectorLab": None}


def test_connectors_have_more_time_than_any_target(connected: Stack) -> None:
    for function in own(connected).values():
        assert function["Timeout"] >= max(WORKER_SECONDS.values())


def test_connectors_have_only_permissions_for_network_interfaces_and_logs(connected: Stack) -> None:
    for function in own(connected).values():
        statements = connected.statements(role_of(function))
        allowed = {action for each in statements if each["Effect"] == "Allow" for action in as_list(each["Action"])}
        assert allowed == LOGS | set(NETWORK_ACTIONS)
        assert "ManagedPolicyArns" not in connected.resource(role_of(function))["Properties"]


def test_connectors_code_is_denied_the_permissions_that_lambda_uses_for_their_network(
    connected: Stack,
) -> None:
    for function in own(connected).values():
        (deny,) = [each for each in connected.statements(role_of(function)) if each["Effect"] == "Deny"]
        assert set(deny["Action"]) >= set(NETWORK_ACTIONS)
        assert deny["Resource"] == "*"
        arn = deny["Condition"]["ArnEquals"]["lambda:SourceFunctionArn"]
        assert written(arn).endswith(f":function:{function['FunctionName']}")


def test_connectors_are_invoked_only_by_workers_who_may_invoke_nothing_else_of_the_stage(connected: Stack) -> None:
    arns = [{"Fn::GetAtt": [connected.output(f"{name}Function"), "Arn"]} for name in own(connected)]
    plain = Stack("prod", template("prod"))
    for name in plain.functions():
        more = [each for each in invoked(connected, name) if each not in invoked(plain, name)]
        assert more == (arns if name.startswith("Execute") else []), name
    (permissions, before) = ({*each.resources("AWS::Lambda::Permission")} for each in (connected, plain))
    assert permissions == before


def test_connectors_are_known_to_the_api_and_to_workers_with_their_tenants(connected: Stack) -> None:
    for output, settings in (("ApiFunction", ApiSettings), ("ExecuteNormalFunction", ExecuteSettings)):
        known = settings.from_env(connected.environment(output)).allowed_targets.connectors
        assert {each.function for each in known.values()} == {each["FunctionName"] for each in own(connected).values()}
        assert connector_refusal("erp", "office", known) is None
        assert connector_refusal("crm", "office", known) is not None
        assert connector_refusal("crm", "plant", known) is None


def test_connectors_know_only_their_own_hosts_and_networks(connected: Stack) -> None:
    relays = {name: Relay.from_env(connected.environment(f"{name}Function")).client for name in own(connected)}
    found = {name: (each.connector.hosts, each.connector.cidrs, each.private) for name, each in relays.items()}
    assert found == {
        "ConnectorOffice": (("*.corp.example",), ("10.0.0.0/8",), False),
        "ConnectorPlant": (("*",), ("192.168.7.0/24",), False),
    }


def test_connectors_of_the_local_stage_need_no_network_and_call_receivers_on_this_machine() -> None:
    local = Stack("local", template("local"))
    (function,) = own(local).values()
    assert not {"VpcConfig", "ReservedConcurrentExecutions"} & function.keys()
    assert not [each for each in local.statements(role_of(function)) if set(as_list(each["Action"])) - LOGS]
    assert Relay.from_env(local.environment("ConnectorOfficeFunction")).client.private
    assert STAGES["local"].runs_on_this_machine


def test_connectors_of_another_stage_never_call_their_own_machine() -> None:
    environment = Stack("local", template("local")).environment("ConnectorOfficeFunction")
    assert not Relay.from_env(environment | {"DUECOURSE_STAGE": "prod"}).client.private


def test_connectors_fit_into_the_limits_of_environments_and_policies(connected: Stack) -> None:
    assert list(size_problems(connected.template)) == []


def test_connectors_logs_are_kept_as_long_as_those_of_other_functions(connected: Stack) -> None:
    groups = connected.resources("AWS::Logs::LogGroup")
    for function in own(connected).values():
        assert groups[function["LoggingConfig"]["LogGroup"]["Ref"]]["RetentionInDays"] == 90
