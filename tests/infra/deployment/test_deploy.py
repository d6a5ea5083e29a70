"""Deployments.

- `make deploy`: what is looked at before, and the two deployments that make a stage which keeps its data.
- How new code of dispatch and execute takes over: bit by bit in prod, with alarms as the brake.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from botocore.exceptions import ClientError, NoCredentialsError

from duecourse.telemetry import SYMPTOMS
from infra.settings.config import ConfigError
from infra.stages import STAGES, from_context
from scripts.deploy import deploy
from tests.infra.conftest import LANE_OUTPUTS, Stack
from tests.infra.functions.test_connectors import OFFICE
from tests.support.alarm_evaluator import ALARM, MetricAlarm
from tests.support.jobs import NOON
from tests.support.metric_data import MetricData
from tests.support.metric_data import dimensions as metric_dimensions
from tests.support.stage_alarms import watched
from tests.support.template import ROOT, template

OF_PROD = {"TickFunction": 2, "DispatchFunction": 16, "ApiFunction": 50, "CallbacksFunction": 25}
PROD = ["-c", "stage=prod"]
ISSUER = "https://issuer.example.com"
FIRST = [*PROD, "-c", "deletion_protection=off"]


@dataclass
class Account:
    """As much of an account as is looked at: CloudFormation and Lambda at once."""

    status: str | None = "UPDATE_COMPLETE"
    protected: bool = True
    quota: int = 1_000
    others: int = 0
    reserved: Mapping[str, int] = field(default_factory=lambda: OF_PROD)
    refuses: Exception | None = None
    asked: list[str] = field(default_factory=list)
    subscribed: tuple[str, ...] = ("arn:aws:sns:eu-central-1:000000000000:pages:1",)

    def get_paginator(self, operation: str) -> Account:
        assert operation == "list_subscriptions_by_topic"
        return self

    def paginate(self, TopicArn: str) -> list[dict[str, Any]]:  # noqa: N803
        here = self.subscribed if TopicArn == "PagesTopicArn" else ()
        return [{"Subscriptions": [{"SubscriptionArn": arn} for arn in here]}]

    def describe_stacks(self, StackName: str) -> dict[str, Any]:  # noqa: N803
        self.asked.append("describe_stacks")
        if self.refuses is not None:
            raise self.refuses
        if self.status is None:
            raise error("ValidationError", f"Stack with id {StackName} does not exist")
        names = (*self.reserved, "PagesTopicArn")
        outputs = [{"OutputKey": name, "OutputValue": name} for name in names]
        stack = {"StackStatus": self.status, "EnableTerminationProtection": self.protected, "Outputs": outputs}
        stack["CreationTime"] = datetime(2026, 11, 26, tzinfo=UTC)
        return {"Stacks": [stack], "ResponseMetadata": {"HTTPHeaders": {}}}

    def update_termination_protection(self, StackName: str, EnableTerminationProtection: bool) -> None:  # noqa: N803
        assert StackName == "Duecourse-prod"
        self.protected = EnableTerminationProtection

    def get_account_settings(self) -> dict[str, Any]:
        self.asked.append("get_account_settings")
        unreserved = self.quota - self.others - sum(self.reserved.values())
        return {"AccountLimit": {"ConcurrentExecutions": self.quota, "UnreservedConcurrentExecutions": unreserved}}

    def get_function_concurrency(self, FunctionName: str) -> dict[str, Any]:  # noqa: N803
        return {"ReservedConcurrentExecutions": self.reserved[FunctionName]} if self.reserved[FunctionName] else {}


def error(code: str, message: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": message}}, "DescribeStacks")


@dataclass
class Deployed:
    """The deployments that were asked for, and what became of it."""

    status: int
    deployments: list[list[str]]
    said: list[str]


def deployed(account: Account, *arguments: str, fails_at: int = 0, settings: Path | None = None) -> Deployed:
    made: list[list[str]] = []
    said: list[str] = []

    def run(given: list[str]) -> int:
        made.append(given)
        return 1 if len(made) == fails_at else 0

    nowhere = Path(__file__).parent / "no_settings"
    status = deploy([*arguments], lambda _: account, run, said.append, settings=settings or nowhere)
    return Deployed(status, made, said)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (httpx.Response(200, json={"issuer": ISSUER, "jwks_uri": f"{ISSUER}/keys"}), None),
        (httpx.Response(404), "could not be read"),
        (httpx.ConnectError("Name or service not known"), "could not be read .Name or service not known."),
        (httpx.Response(200, text="<html>"), "is not a discovery document"),
        (httpx.Response(200, json={"issuer": ISSUER}), "is not a discovery document"),
        (httpx.Response(200, json={"issuer": f"{ISSUER}/", "jwks_uri": "https://x"}), "names the issuer 'https:.*/'"),
        (httpx.Response(200, json={"issuer": ISSUER, "jwks_uri": "http://x"}), "must be an https address"),
    ],
    ids=["valid", "404", "no host", "HTML", "no keys", "another name", "keys over http"],
)
def test_deployment_issuer_is_read_before_the_stage_is_deployed(
    answer: httpx.Response | httpx.HTTPError, said: str | None
) -> None:
    read: list[str] = []

    def fetch(address: str, **_: object) -> httpx.Response:
        read.append(address)
        if isinstance(answer, httpx.HTTPError):
            raise answer
        answer.request = httpx.Request("GET", address)
        return answer

    account, lines, made = Account(), list[str](), list[list[str]]()
    arguments = [*PROD, "-c", f"issuer={ISSUER}", "-c", "audience=jobs"]

    def run(given: list[str]) -> int:
        made.append(given)
        return 0

    status = deploy(
        arguments, lambda _: account, run, lines.append, settings=Path(__file__).parent / "no_settings", fetch=fetch
    )
    assert read == [f"{ISSUER}/.well-known/openid-configuration"]
    assert (status, bool(made)) == ((0, True) if said is None else (1, False))
    assert said is None or re.search(said, lines[0])


def test_deployment_deploy_refuses_the_endpoint_of_a_local_stack() -> None:
    said: list[str] = []
    account = Account()
    status = deploy(
        PROD, lambda _: account, lambda _: 0, said.append, settings=Path(), endpoint="http://127.0.0.1:4566"
    )
    assert (status, account.asked) == (1, [])
    (line,) = said
    assert "AWS_ENDPOINT_URL is http://127.0.0.1:4566" in line


@pytest.mark.parametrize("status", [None, "REVIEW_IN_PROGRESS"])
def test_deployment_stage_that_retains_data_is_created_first_and_protected_afterwards(status: str | None) -> None:
    done = deployed(Account(status=status, reserved={}), *PROD)
    assert (done.status, done.deployments) == (0, [FIRST, PROD])


def test_deployment_failed_creation_is_not_protected_so_the_same_command_can_retry() -> None:
    done = deployed(Account(status=None, reserved={}), *PROD, fails_at=1)
    assert (done.status, done.deployments) == (1, [FIRST])
    again = deployed(Account(status="ROLLBACK_COMPLETE", protected=False, reserved={}), *PROD)
    assert (again.status, again.deployments) == (0, [FIRST, PROD])


@pytest.mark.parametrize("status", ["CREATE_FAILED", "ROLLBACK_COMPLETE", "ROLLBACK_FAILED"])
def test_deployment_protection_of_a_failed_creation_is_removed_so_it_can_be_retried(status: str) -> None:
    """`cdk deploy` by itself sets it before it makes anything, and cannot delete what is left of the failure."""
    account = Account(status=status, reserved={})
    done = deployed(account, *PROD)
    assert not account.protected
    assert done.deployments == [FIRST, PROD]
    assert any("was never created" in line for line in done.said)


@pytest.mark.parametrize("status", ["CREATE_COMPLETE", "UPDATE_COMPLETE", "UPDATE_ROLLBACK_COMPLETE"])
def test_deployment_existing_stage_is_deployed_once_and_stays_protected(status: str) -> None:
    account = Account(status=status)
    done = deployed(account, *PROD, "--require-approval", "never")
    assert (done.status, done.deployments) == (0, [[*PROD, "--require-approval", "never"]])
    assert account.protected


def test_deployment_stage_that_does_not_retain_data_is_created_in_one_deployment() -> None:
    assert deployed(Account(status=None), "-c", "stage=dev").deployments == [["-c", "stage=dev"]]


def test_deployment_stage_to_be_deleted_is_deployed_without_protection_and_left_unprotected() -> None:
    assert deployed(Account(), *FIRST).deployments == [FIRST]
    assert deployed(Account(status=None, reserved={}), *FIRST).deployments == [FIRST]


def test_deployment_insufficient_quota_is_reported_in_one_sentence_and_nothing_is_deployed() -> None:
    done = deployed(Account(status=None, reserved={}, others=850), *PROD)
    assert (done.status, done.deployments) == (1, [])
    (line,) = done.said
    assert "stage prod reserves 93 executions (tick 2, dispatch 16, api 50, callbacks 25)" in line
    assert "43 are missing" in line
    assert "reserved_concurrency=none" in line


def test_deployment_new_account_lacks_the_whole_reserved_concurrency() -> None:
    done = deployed(Account(status=None, reserved={}, quota=10), *PROD)
    assert (done.status, done.deployments) == (1, [])
    assert "183 are missing" in done.said[0]


def test_deployment_already_reserved_concurrency_is_not_required_again() -> None:
    account = Account(others=807)  # AWS's own hundred are left
    assert deployed(account, *PROD).status == 0


def test_deployment_concurrency_released_by_one_function_is_not_counted_for_another() -> None:
    """Functions are changed in any order."""
    held = {"TickFunction": 2, "DispatchFunction": 6, "ApiFunction": 60, "CallbacksFunction": 25}
    account = Account(others=807, reserved=held)
    done = deployed(account, *PROD)
    assert (done.status, done.deployments) == (1, [])
    assert "10 are missing" in done.said[0]


def test_deployment_reserved_concurrency_of_connectors_is_required_too(tmp_path: Path) -> None:
    (tmp_path / "prod.json").write_text(json.dumps({"connectors": {"office2b": OFFICE}}))
    done = deployed(Account(others=807), *PROD, settings=tmp_path)
    assert (done.status, done.deployments) == (1, [])
    assert "callbacks 25, connector office2b 50), 50 more than now" in done.said[0]
    assert 'deploy with -c reserved_concurrency=none and "concurrency": null for each connector' in done.said[0]
    held = Account(others=757, reserved={**OF_PROD, "ConnectorOffice2bFunction": 50})
    assert deployed(held, *PROD, settings=tmp_path).status == 0


def test_deployment_stage_without_reserved_concurrency_is_deployed_with_any_quota() -> None:
    account = Account(status=None, reserved={}, quota=10)
    assert deployed(account, *PROD, "-c", "reserved_concurrency=none").status == 0


def test_deployment_considers_settings_stored_for_the_stage(tmp_path: Path) -> None:
    (tmp_path / "prod.json").write_text('{"reserved_concurrency": "none"}')
    assert deployed(Account(status=None, reserved={}, quota=10), *PROD, settings=tmp_path).status == 0


def test_deployment_without_credentials_fails_before_synthesis_and_names_what_is_missing() -> None:
    done = deployed(Account(refuses=NoCredentialsError()), *PROD)
    assert (done.status, done.deployments) == (1, [])
    assert done.said == [
        "there are no AWS credentials; log in to AWS, set AWS_PROFILE and AWS_REGION, and run this again"
    ]


def test_deployment_without_read_permission_reports_what_was_not_checked_and_continues() -> None:
    refusal = error("AccessDenied", "not authorized to perform: cloudformation:DescribeStacks")
    done = deployed(Account(refuses=refusal), *PROD)
    assert (done.status, done.deployments) == (0, [PROD])
    line, afterwards = done.said
    assert line.startswith("the account and the stack could not be checked: ")
    assert "deletion_protection=off" in line
    assert afterwards.startswith("the subscribers and the quota could not be checked: ")


def test_deployment_of_an_unknown_stage_is_refused_before_any_request() -> None:
    account = Account()
    done = deployed(account, "-c", "stage=qa")
    assert (done.status, done.deployments, account.asked) == (1, [], [])
    assert done.said[0].startswith("stage must be one of")


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
    return {alarm.get("MetricName", "Failures"): alarm for alarm in alarms}


def version_of(stack: Stack, worker: str) -> dict[str, str]:
    """Where the template has the number of the version that a deployment brings."""
    found: dict[str, str] = alias_of(stack, worker)[1]["Properties"]["FunctionVersion"]
    return found


def dimensions(alarm: dict[str, Any]) -> dict[str, Any]:
    return {each["Name"]: each["Value"] for each in alarm["Dimensions"]}


@pytest.mark.parametrize("queue", QUEUES)
def test_deployment_prod_processes_every_queue_through_an_alias(prod: Stack, queue: str) -> None:
    mapping = prod.consumers()[prod.output(queue)]
    assert mapping["FunctionName"]["Fn::Join"][1][-1] == ":live"


@pytest.mark.parametrize("queue", QUEUES)
def test_deployment_switch_to_an_alias_changes_the_mapping_without_replacement(prod: Stack, queue: str) -> None:
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
def test_deployment_other_stages_replace_the_code_at_once(stage: str) -> None:
    made = Stack(stage, template(stage))
    for kind in ("AWS::Lambda::Alias", "AWS::Lambda::Version", "AWS::CodeDeploy::DeploymentGroup"):
        assert not made.resources(kind)


@pytest.mark.parametrize("worker", WORKERS)
def test_deployment_new_version_gets_a_tenth_of_the_batches_for_ten_minutes(prod: Stack, worker: str) -> None:
    group = group_of(prod, worker)
    assert group["DeploymentConfigName"] == "CodeDeployDefault.LambdaCanary10Percent10Minutes"
    assert group["DeploymentStyle"] == {"DeploymentOption": "WITH_TRAFFIC_CONTROL", "DeploymentType": "BLUE_GREEN"}


@pytest.mark.parametrize("worker", WORKERS)
def test_deployment_alarm_rolls_back_the_new_version(prod: Stack, worker: str) -> None:
    group = group_of(prod, worker)
    assert group["AlarmConfiguration"]["Enabled"]
    assert "DEPLOYMENT_STOP_ON_ALARM" in group["AutoRollbackConfiguration"]["Events"]
    assert set(brakes_of(prod, worker)) == {"Errors", "Failures"}


@pytest.mark.parametrize("worker", WORKERS)
def test_deployment_rollback_alarms_fire_within_the_canary_period_and_say_what_to_do(prod: Stack, worker: str) -> None:
    for alarm in brakes_of(prod, worker).values():
        assert (MetricAlarm(alarm).period, alarm["Threshold"]) == (60, 0)
        assert alarm["EvaluationPeriods"] <= 3
        assert alarm["ComparisonOperator"] == "GreaterThanThreshold"
        assert alarm["TreatMissingData"] == "notBreaching"  # a lane that nothing came through in that time
        assert "First step: " in alarm["AlarmDescription"]


@pytest.mark.parametrize("worker", WORKERS)
def test_deployment_only_errors_of_the_new_version_count_so_a_fix_can_replace_failing_code(
    prod: Stack, worker: str
) -> None:
    told = dimensions(brakes_of(prod, worker)["Errors"])
    function = {"Ref": prod.output(f"{worker}Function")}
    assert told == {
        "FunctionName": function,
        "Resource": {"Fn::Join": ["", [function, ":live"]]},
        "ExecutedVersion": version_of(prod, worker),
    }


def test_deployment_failures_reported_by_new_code_stop_every_deployment(prod: Stack) -> None:
    for worker in WORKERS:
        failures, batches = watched(brakes_of(prod, worker)["Failures"])
        assert dimensions(failures) == {"service": "duecourse", "symptom": "release"}
        assert (batches["MetricName"], dimensions(batches)["function"]) == ("MessagesReceived", "execute")
    assert SYMPTOMS["release"] == {"RoundsFailed", "CursorsQuarantined", "MessagesFailed", "MessagesUnreadable"}


@pytest.mark.parametrize(
    ("batches", "failures", "rolled_back"),
    [
        (600, (0, 0, 1, 0, 0, 0, 0, 1, 0, 0), False),
        (3_000, (0, 1, 0, 2, 1, 0, 1, 0, 1, 1), False),
        (600, (0, 60, 60, 60, 0, 0, 0, 0, 0, 0), True),
        (10, (0, 1, 1, 0, 0, 0, 0, 0, 0, 0), True),
        (0, (0, 0, 1, 1, 0, 0, 0, 0, 0, 0), True),
    ],
    ids=["100 runs a second", "500 runs a second or more", "a bad version", "few runs", "rounds without runs"],
)
def test_deployment_rare_faults_of_a_healthy_stage_do_not_roll_a_version_back(
    prod: Stack, batches: int, failures: tuple[int, ...], rolled_back: bool
) -> None:
    """Each failure of the canary's ten minutes."""
    alarm, data = MetricAlarm(brakes_of(prod, "Dispatch")["Failures"]), MetricData()
    of_release = metric_dimensions({"service": "duecourse", "symptom": "release"})
    of_workers = metric_dimensions({"service": "duecourse", "function": "execute"})
    for minute, count in enumerate(failures):
        at = NOON + 60 * minute
        data.put("Duecourse/prod", "MessagesReceived", of_workers, at, *[10.0] * batches)
        if count:
            data.put("Duecourse/prod", "Failures", of_release, at, float(count))
    assert (ALARM in alarm.states(data, NOON, NOON + 600)) is rolled_back


@pytest.mark.parametrize("worker", WORKERS)
def test_deployment_old_versions_are_kept_but_rolled_back_ones_are_deleted(prod: Stack, worker: str) -> None:
    """A retained one would be in the way of the next try: Lambda publishes nothing that is like the version before."""
    version = prod.resource(version_of(prod, worker)["Fn::GetAtt"][0])
    assert version["DeletionPolicy"] == "RetainExceptOnCreate"
    assert version["UpdateReplacePolicy"] == "Retain"


def test_deployment_changed_layers_create_new_versions() -> None:
    """Nearly all code is in a layer; without these the alias would go on with the old one."""
    context = json.loads((ROOT / "cdk.json").read_text())["context"]
    assert context["@aws-cdk/aws-lambda:recognizeLayerVersion"]
    assert context["@aws-cdk/aws-lambda:recognizeVersionProps"]


@pytest.mark.parametrize("worker", WORKERS)
def test_deployment_codedeploy_may_only_shift_this_alias_and_read_alarms(prod: Stack, worker: str) -> None:
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


def test_deployment_reserved_concurrency_and_queue_mappings_apply_to_both_versions(prod: Stack) -> None:
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


def test_deployment_canary_can_be_skipped_by_context() -> None:
    given = {"stage": "prod", "deployment": "all_at_once"}
    assert from_context(given.get).deployment == "all_at_once"
    assert from_context({"stage": "prod"}.get).deployment == "canary"


def test_deployment_of_an_unknown_kind_is_refused_by_name() -> None:
    with pytest.raises(ConfigError, match="deployment must be all_at_once or canary"):
        replace(STAGES["dev"], deployment="big_bang")


def test_deployment_local_stack_cannot_have_a_canary() -> None:
    with pytest.raises(ConfigError, match="deployment must be all_at_once on the local stage"):
        replace(STAGES["local"], deployment="canary")


def test_deployment_incompletely_deleted_stack_is_not_deployed() -> None:
    done = deployed(Account(status="DELETE_FAILED"), *PROD)
    assert (done.status, done.deployments) == (1, [])
    assert "delete it again (docs/deleting.md)" in done.said[0]


def test_deployment_lanes_beyond_the_account_concurrency_are_reported_and_deployed() -> None:
    done = deployed(Account(quota=10, reserved={}), "-c", "stage=dev")
    assert (done.status, len(done.deployments)) == (0, 1)
    assert any("stage dev can use 60 concurrent executions, and the account has 10" in line for line in done.said)


def test_deployment_stages_of_the_folder_share_the_account_concurrency(tmp_path: Path) -> None:
    for stage in ("staging", "load-test"):
        (tmp_path / f"{stage}.json").write_text('{"like": "dev", "reserved_concurrency": "none"}')
    done = deployed(Account(quota=150, reserved={}), "-c", "stage=staging", settings=tmp_path)
    assert not any("concurrent executions" in line for line in done.said if "can use" in line)
    done = deployed(Account(quota=100, reserved={}), "-c", "stage=staging", settings=tmp_path)
    (line,) = [each for each in done.said if "can use" in each]
    assert line.startswith("stage staging and load-test can use 120 concurrent executions, and the account has 100")


def test_deployment_invalid_settings_of_another_stage_are_reported_after_the_deployment(tmp_path: Path) -> None:
    (tmp_path / "staging.json").write_text('{"like": "dev", "shards": 0}')
    done = deployed(Account(reserved={}), "-c", "stage=dev", settings=tmp_path)
    assert (done.status, len(done.deployments)) == (0, 1)
    (line,) = [each for each in done.said if "other stages" in each]
    assert "stage 'staging': shards must be" in line


def test_deployment_mismatched_account_quota_in_settings_is_reported() -> None:
    done = deployed(Account(quota=800, reserved={}), "-c", "stage=dev")
    assert any("set account_concurrency of stage dev" in line for line in done.said)


@pytest.mark.parametrize(
    ("subscribed", "said"),
    [
        ((), "no subscription to the topic for pages is confirmed"),
        (("PendingConfirmation",), "1 wait for confirmation"),
    ],
)
def test_deployment_missing_subscription_to_pages_is_reported(subscribed: tuple[str, ...], said: str) -> None:
    assert said in deployed(Account(subscribed=subscribed), *PROD).said[-1]
    assert deployed(Account(), *PROD).said == []
