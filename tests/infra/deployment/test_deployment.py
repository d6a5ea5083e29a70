"""How new code of dispatch and execute takes over: bit by bit in prod, with alarms as the brake."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from duecourse.telemetry import SYMPTOMS
from infra.settings.config import ConfigError
from infra.stages import STAGES, from_context
from tests.infra.conftest import LANE_OUTPUTS, Stack
from tests.support.template import ROOT, template

QUEUES = ("ShardQueueUrl", *LANE_OUTPUTS)
WORKERS = ("Dispatch", "ExecuteHigh", "ExecuteNormal", "ExecuteLow", "ExecuteLong")


def alias_of(stack: Stack, worker: str) -> tuple[str, dict[str, Any]]:
    """The alias of a worker's function: its logical id, and the resource with its attributes."""
    function = {"Ref": stack.output(f"{worker}Function")}
    (name,) = [name for name, each in stack.resources("AWS::Lambda::Alias").items() if each["FunctionName"] == function]
    return name, stack.resource(name)


def group_of(stack: Stack, worker: str) -> dict[str, Any]:
    """The deployment group that shifts a worker's alias."""
    policy = alias_of(stack, worker)[1]["UpdatePolicy"]["CodeDeployLambdaAliasUpdate"]
    group: dict[str, Any] = stack.resource(policy["DeploymentGroupName"]["Ref"])["Properties"]
    assert group["ApplicationName"] == policy["ApplicationName"]
    return group


def brakes_of(stack: Stack, worker: str) -> dict[str, dict[str, Any]]:
    """The alarms that take a worker's deployment back, by metric."""
    named = [alarm["Name"]["Ref"] for alarm in group_of(stack, worker)["AlarmConfiguration"]["Alarms"]]
    alarms = [stack.resource(name)["Properties"] for name in named]
    return {alarm["MetricName"]: alarm for alarm in alarms}


def version_of(stack: Stack, worker: str) -> dict[str, str]:
    """Where the template has the number of the version that a deployment brings."""
    found: dict[str, str] = alias_of(stack, worker)[1]["Properties"]["FunctionVersion"]
    return found


def dimensions(alarm: dict[str, Any]) -> dict[str, Any]:
    return {each["Name"]: each["Value"] for each in alarm["Dimensions"]}


@pytest.mark.parametrize("queue", QUEUES)
def test_in_prod_every_queue_is_worked_on_by_an_alias(prod: Stack, queue: str) -> None:
    mapping = prod.consumers()[prod.output(queue)]
    assert mapping["FunctionName"]["Fn::Join"][1][-1] == ":live"


@pytest.mark.parametrize("queue", QUEUES)
def test_going_over_to_an_alias_changes_the_mapping_and_replaces_nothing(prod: Stack, queue: str) -> None:
    """With another logical id, CloudFormation would make a second mapping before it takes the first one away."""
    names = {
        stage: [
            name
            for name, each in stack.resources("AWS::Lambda::EventSourceMapping").items()
            if each["EventSourceArn"]["Fn::GetAtt"][0] == stack.output(queue)
        ]
        for stage, stack in (("prod", prod), ("dev", Stack("dev", template("dev"))))
    }
    assert names["prod"] == names["dev"]


@pytest.mark.parametrize("stage", ["local", "dev"])
def test_deployments_of_other_stages_put_new_code_in_place_at_once(stage: str) -> None:
    made = Stack(stage, template(stage))
    for kind in ("AWS::Lambda::Alias", "AWS::Lambda::Version", "AWS::CodeDeploy::DeploymentGroup"):
        assert not made.resources(kind)


@pytest.mark.parametrize("worker", WORKERS)
def test_a_new_version_gets_a_tenth_of_the_batches_for_ten_minutes(prod: Stack, worker: str) -> None:
    group = group_of(prod, worker)
    assert group["DeploymentConfigName"] == "CodeDeployDefault.LambdaCanary10Percent10Minutes"
    assert group["DeploymentStyle"] == {"DeploymentOption": "WITH_TRAFFIC_CONTROL", "DeploymentType": "BLUE_GREEN"}


@pytest.mark.parametrize("worker", WORKERS)
def test_an_alarm_takes_the_deployment_back(prod: Stack, worker: str) -> None:
    group = group_of(prod, worker)
    assert group["AlarmConfiguration"]["Enabled"]
    assert "DEPLOYMENT_STOP_ON_ALARM" in group["AutoRollbackConfiguration"]["Events"]
    assert set(brakes_of(prod, worker)) == {"Errors", "Failures"}


@pytest.mark.parametrize("worker", WORKERS)
def test_a_brake_goes_off_within_the_canarys_time_and_says_what_to_do(prod: Stack, worker: str) -> None:
    for alarm in brakes_of(prod, worker).values():
        assert (alarm["Period"], alarm["EvaluationPeriods"], alarm["Threshold"]) == (60, 1, 0)
        assert alarm["ComparisonOperator"] == "GreaterThanThreshold"
        assert alarm["TreatMissingData"] == "notBreaching"  # a lane that nothing came through in that time
        assert "First: " in alarm["AlarmDescription"]


@pytest.mark.parametrize("worker", WORKERS)
def test_only_errors_of_the_new_version_count_so_that_a_fix_can_replace_what_fails(prod: Stack, worker: str) -> None:
    told = dimensions(brakes_of(prod, worker)["Errors"])
    function = {"Ref": prod.output(f"{worker}Function")}
    assert told == {
        "FunctionName": function,
        "Resource": {"Fn::Join": ["", [function, ":live"]]},
        "ExecutedVersion": version_of(prod, worker),
    }


def test_what_new_code_reports_as_failed_stops_every_deployment(prod: Stack) -> None:
    for worker in WORKERS:
        assert dimensions(brakes_of(prod, worker)["Failures"]) == {"service": "duecourse", "symptom": "release"}
    assert SYMPTOMS["release"] == {"RoundsFailed", "CursorsSetAside", "MessagesFailed", "MessagesUnreadable"}


@pytest.mark.parametrize("worker", WORKERS)
def test_old_versions_stay_but_one_that_was_taken_back_goes(prod: Stack, worker: str) -> None:
    """A retained one would be in the way of the next try: Lambda publishes nothing that is like the version before."""
    version = prod.resource(version_of(prod, worker)["Fn::GetAtt"][0])
    assert version["DeletionPolicy"] == "RetainExceptOnCreate"
    assert version["UpdateReplacePolicy"] == "Retain"


def test_a_change_of_the_layers_makes_new_versions() -> None:
    """Nearly all code is in a layer; without these the alias would go on with the old one."""
    context = json.loads((ROOT / "cdk.json").read_text())["context"]
    assert context["@aws-cdk/aws-lambda:recognizeLayerVersion"]
    assert context["@aws-cdk/aws-lambda:recognizeVersionProps"]


@pytest.mark.parametrize("worker", WORKERS)
def test_codedeploy_may_shift_this_alias_and_read_alarms_and_no_more(prod: Stack, worker: str) -> None:
    group = group_of(prod, worker)
    role = prod.resource(group["ServiceRoleArn"]["Fn::GetAtt"][0])["Properties"]
    assert "ManagedPolicyArns" not in role
    (policy,) = role["Policies"]
    statements = policy["PolicyDocument"]["Statement"]
    watching, shifting = sorted(statements, key=lambda each: isinstance(each["Action"], list))
    function = {"Fn::GetAtt": [prod.output(f"{worker}Function"), "Arn"]}
    assert shifting["Resource"] == [function, {"Fn::Join": ["", [function, ":live"]]}]
    assert set(shifting["Action"]) == {
        "lambda:GetAlias",
        "lambda:UpdateAlias",
        "lambda:GetProvisionedConcurrencyConfig",
    }
    # As AWS's own policy has it: a role that may not read them all could leave a deployment without its brakes.
    assert (watching["Action"], watching["Resource"]) == ("cloudwatch:DescribeAlarms", "*")


def test_what_is_reserved_and_how_the_queues_are_read_stays_with_both_versions(prod: Stack) -> None:
    assert prod.function("DispatchFunction")["ReservedConcurrentExecutions"] == 16
    mapping = prod.consumers()[prod.output("ShardQueueUrl")]
    assert (mapping["BatchSize"], mapping["ScalingConfig"]) == (1, {"MaximumConcurrency": 16})
    for worker in WORKERS[1:]:
        lane = worker.removeprefix("Execute")
        expected = STAGES["prod"].lanes[lane.lower()]
        for output in (f"Lane{lane}Url", f"Lane{lane}BulkUrl"):
            mapping = prod.consumers()[prod.output(output)]
            assert mapping["ScalingConfig"] == {"MaximumConcurrency": expected.max_concurrency}
            assert mapping["FunctionResponseTypes"] == ["ReportBatchItemFailures"]


def test_a_deployment_can_do_without_the_canary_by_its_context() -> None:
    given = {"stage": "prod", "deployment": "all_at_once"}
    assert from_context(given.get).deployment == "all_at_once"
    assert from_context({"stage": "prod"}.get).deployment == "canary"


def test_an_unknown_deployment_is_refused_by_its_name() -> None:
    with pytest.raises(ConfigError, match="deployment must be all_at_once or canary"):
        replace(STAGES["dev"], deployment="big_bang")


def test_the_local_stack_cannot_have_a_canary() -> None:
    with pytest.raises(ConfigError, match="deployment must be all_at_once on this machine"):
        replace(STAGES["local"], deployment="canary")
