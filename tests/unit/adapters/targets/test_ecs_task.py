"""Fargate tasks as targets, on moto and, for what moto does not do, a stub."""

from __future__ import annotations

from functools import partial

import orjson
import pytest

from duecourse.adapters.targets.aws.ecs_task import EcsCaller
from duecourse.domain.targets.targets import EcsTarget, Failed, Returned
from tests.support.aws_targets import Service, refusal
from tests.support.calls import a_call

TARGET = EcsTarget("duecourse-target-c", "duecourse-target-report", "main", ("subnet-1", "subnet-2"), ("sg-1",))
STARTED = {"tasks": [{"taskArn": "arn:aws:ecs:eu-west-1:123456789012:task/c/1"}], "failures": []}


def outcome_of(clock, service, target=TARGET, **fields):
    return EcsCaller(clock, service.client_for).call(a_call(target, **fields), target)


def test_a_task_is_run_on_fargate_with_the_event_in_its_environment(clock):
    service = Service(STARTED)
    assert outcome_of(clock, service, payload={"n": 1}) == Returned(
        {"task_arn": "arn:aws:ecs:eu-west-1:123456789012:task/c/1"}
    )
    (asked,) = service.asked
    (container,) = asked.pop("overrides")["containerOverrides"]
    (variable,) = container["environment"]
    event = orjson.loads(variable["value"])
    assert (container["name"], variable["name"]) == ("main", "DUECOURSE_EVENT")
    assert (event["run_id"], event["payload"]) == ("nightly.20261121T064700Z", {"n": 1})
    token = asked.pop("clientToken")
    assert token.startswith("nightly-20261121T064700Z-1-")
    assert len(token) <= 64
    network = {"subnets": ["subnet-1", "subnet-2"], "securityGroups": ["sg-1"], "assignPublicIp": "DISABLED"}
    assert asked == {
        "cluster": "duecourse-target-c",
        "taskDefinition": "duecourse-target-report",
        "launchType": "FARGATE",
        "count": 1,
        "networkConfiguration": {"awsvpcConfiguration": network},
        "startedBy": "duecourse/acme/nightly",
    }


def test_a_public_address_is_given_where_the_target_asks_for_it(clock):
    service = Service(STARTED)
    outcome_of(clock, service, EcsTarget("c", "t", "main", ("subnet-1",), public_ip=True))
    network = service.asked[0]["networkConfiguration"]["awsvpcConfiguration"]
    assert network == {"subnets": ["subnet-1"], "securityGroups": [], "assignPublicIp": "ENABLED"}


def test_the_request_is_one_that_ecs_understands(mocked, clock):
    ecs, ec2 = mocked.get("ecs"), mocked.get("ec2")
    subnet = ec2.describe_subnets()["Subnets"][0]["SubnetId"]
    ecs.create_cluster(clusterName=TARGET.cluster)
    container = {"name": "main", "image": "scratch", "cpu": 256, "memory": 512}
    ecs.register_task_definition(
        family=TARGET.task_definition,
        containerDefinitions=[container],
        networkMode="awsvpc",
        requiresCompatibilities=["FARGATE"],
        cpu="256",
        memory="512",
    )
    target = EcsTarget(TARGET.cluster, TARGET.task_definition, "main", (subnet,))
    outcome = EcsCaller(clock, partial(mocked.calling, "ecs")).call(a_call(target), target)
    assert isinstance(outcome, Returned)
    assert ecs.list_tasks(cluster=TARGET.cluster, startedBy="duecourse/acme/nightly")["taskArns"] == [
        outcome.result["task_arn"]
    ]


def test_an_event_too_large_for_ecs_is_refused_before_ecs_is_asked(clock):
    service = Service(STARTED)
    outcome = outcome_of(clock, service, payload="x" * 8_000)
    assert isinstance(outcome, Failed)
    assert (outcome.code, outcome.retryable) == ("event_too_large", False)
    assert "8192" in outcome.error
    assert service.asked == []


def test_a_task_that_found_no_place_is_worth_a_retry_and_says_why(clock):
    failure = {"arn": "arn", "reason": "RESOURCE:CPU", "detail": "no capacity"}
    assert outcome_of(clock, Service({"tasks": [], "failures": [failure]})) == Failed(
        "task duecourse-target-report on cluster duecourse-target-c was not run: RESOURCE:CPU",
        code="RESOURCE:CPU",
        detail="no capacity",
    )


def test_an_answer_without_task_and_without_reason_is_a_failure(clock):
    outcome = outcome_of(clock, Service({}))
    assert isinstance(outcome, Failed)
    assert outcome.retryable


@pytest.mark.parametrize(
    ("code", "status", "retryable"),
    [("ServerException", 500, True), ("ClusterNotFoundException", 400, False), ("AccessDeniedException", 400, False)],
)
def test_what_ecs_refuses_is_judged_as_everywhere(clock, code, status, retryable):
    outcome = outcome_of(clock, Service(refusal(code, status)))
    assert isinstance(outcome, Failed)
    assert (outcome.code, outcome.retryable) == (code, retryable)
