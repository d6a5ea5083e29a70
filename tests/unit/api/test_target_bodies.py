"""Targets as posted: what becomes of them, and why they are refused."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from duecourse.api.bodies.validation import read_job
from duecourse.api.problems import Problem
from duecourse.domain.targets.kinds import target_document, type_of
from duecourse.domain.targets.targets import (
    AwsTarget,
    EcsTarget,
    EventBridgeTarget,
    HttpTarget,
    LambdaTarget,
    SnsTarget,
    SqsTarget,
    StepFunctionsTarget,
    Target,
    TaskTarget,
)
from tests.support.api import ALLOWED, HTTP_TARGET
from tests.support.every_target import EVERY_TARGET
from tests.support.posting import RULES, check, errors, posted, read

SUBNET = "subnet-0123456789abcdef0"
ECS = {
    "type": "ecs",
    "cluster": "duecourse-target-c",
    "task_definition": "duecourse-target-t",
    "container": "main",
    "subnets": [SUBNET],
}
TASK = "/target/task_definition"
AWS = {"type": "aws", "service": "sqs", "action": "SendMessage", "role": "duecourse-target-r"}
SQS = {"type": "sqs", "queue": "duecourse-target-q"}
SNS = {"type": "sns", "topic": "duecourse-target-t"}
BUS = {"type": "eventbridge", "bus": "duecourse-target-b"}


@pytest.mark.parametrize(
    ("body", "target"),
    [
        (HTTP_TARGET, HttpTarget("https://example.com/hook")),
        ({"type": "lambda", "function": "duecourse-target-f"}, LambdaTarget("duecourse-target-f")),
        (SQS, SqsTarget("duecourse-target-q")),
        (SNS, SnsTarget("duecourse-target-t")),
        (BUS, EventBridgeTarget("duecourse-target-b", "duecourse.jobs", "Scheduled Run")),
        ({"type": "stepfunctions", "machine": "duecourse-target-m"}, StepFunctionsTarget("duecourse-target-m")),
        (ECS, EcsTarget("duecourse-target-c", "duecourse-target-t", "main", (SUBNET,))),
        (AWS, AwsTarget("sqs", "SendMessage", {}, "duecourse-target-r")),
        ({"type": "task", "name": "plain"}, TaskTarget("plain")),
    ],
)
def test_a_target_needs_only_what_has_no_default(body: dict[str, Any], target: Target) -> None:
    assert read(posted(target=body)).target == target


@pytest.mark.parametrize("target", EVERY_TARGET, ids=type_of)
def test_a_target_is_posted_as_it_is_shown(target: Target) -> None:
    document = json.loads(json.dumps(target_document(target)))
    assert read(posted(target=document)).target == target


@pytest.mark.parametrize(
    ("expect", "statuses"),
    [([200], ("200",)), (["2xx", 404, "409"], ("2xx", "404", "409")), (["3xx", "5xx", 599], ("3xx", "5xx", "599"))],
)
def test_expected_statuses_are_numbers_or_classes(expect: list[Any], statuses: tuple[str, ...]) -> None:
    assert read(posted(target=HTTP_TARGET | {"expect": expect})).target == HttpTarget(
        "https://example.com/hook", expect=statuses
    )


@pytest.mark.parametrize(
    ("target", "place", "said"),
    [
        (HTTP_TARGET | {"expect": []}, "/target/expect", "at least 1 entry"),
        (HTTP_TARGET | {"expect": "2xx"}, "/target/expect", "must be a list"),
        (HTTP_TARGET | {"expect": ["2xx", "1xx"]}, "/target/expect/1", "a status from 200 to 599"),
        (HTTP_TARGET | {"expect": [199]}, "/target/expect/0", "a status from 200 to 599"),
        (HTTP_TARGET | {"expect": [600]}, "/target/expect/0", "a status from 200 to 599"),
        (HTTP_TARGET | {"expect": [True]}, "/target/expect/0", "a status from 200 to 599"),
        (HTTP_TARGET | {"expect": ["2XX"]}, "/target/expect/0", "a status from 200 to 599"),
        (HTTP_TARGET | {"expect": [200, "200"]}, "/target/expect", "names 200 more than once"),
        (HTTP_TARGET | {"expect": list(range(200, 221))}, "/target/expect", "at most 20 entries"),
        (HTTP_TARGET | {"sign": "hook"}, "/target/sign", "must be an object"),
        (HTTP_TARGET | {"sign": {}}, "/target/sign/secret", "the secret to sign with"),
        (HTTP_TARGET | {"sign": {"secret": "a b"}}, "/target/sign/secret", "1 to 64 letters"),
        (HTTP_TARGET | {"sign": {"secret": "a", "secrets": "b"}}, "/target/sign/secrets", "did you mean secret?"),
        (HTTP_TARGET | {"headers": {"Webhook-Id": "1"}, "sign": {"secret": "a"}}, "/target/sign", "Webhook-Id itself"),
        ({"type": "lambda", "function": "duecourse-target-f", "mode": "fire"}, "/target/mode", "one of sync, async"),
        ({"type": "sqs"}, "/target/queue", "write the name of the queue"),
        ({"type": "sqs", "queue": "billing"}, "/target/queue", "sends to queues named duecourse-target-*"),
        ({"type": "sqs", "queue": "a b"}, "/target/queue", "1 to 80 letters"),
        ({"type": "sqs", "queue": "duecourse-target-" + "q" * 64}, "/target/queue", "1 to 80 letters"),
        ({"type": "sqs", "queue": "https://sqs.us-east-1.amazonaws.com/1/q"}, "/target/queue", "no ARN"),
        (SQS | {"group": "a"}, "/target/group", "for FIFO queues only"),
        (SQS | {"queue": "duecourse-target-q.fifo", "group": ""}, "/target/group", "must not be empty"),
        (SQS | {"queue": "duecourse-target-q.fifo", "group": "{{week"}, "/target/group", "no partner"),
        (SQS | {"queue": "duecourse-target-q.fifo", "group": "{{secret:x}}"}, "/target/group", "secret:x"),
        ({"type": "sns"}, "/target/topic", "write the name of the topic"),
        ({"type": "sns", "topic": "arn:aws:sns:us-east-1:1:t"}, "/target/topic", "no ARN"),
        (SNS | {"group": "a"}, "/target/group", "name a topic that ends in .fifo"),
        (SNS | {"subject": "a\nb"}, "/target/subject", "control characters"),
        (SNS | {"subject": "gr\xfc\xdfe"}, "/target/subject", "must be ASCII"),
        (SNS | {"subject": "{{wek}}"}, "/target/subject", "{{wek}} is unknown"),
        ({"type": "eventbridge"}, "/target/bus", "write the name of the event bus"),
        (BUS | {"bus": "default"}, "/target/bus", "puts events on buses named duecourse-target-*"),
        (BUS | {"source": "aws.ec2"}, "/target/source", "must not begin with aws."),
        (BUS | {"source": "AWS.s3"}, "/target/source", "must not begin with aws."),
        (BUS | {"source": "duecourse"}, "/target/source", "must not be duecourse"),
        (BUS | {"source": "DueCourse"}, "/target/source", "must not be duecourse"),
        (BUS | {"detail_type": "x" * 129}, "/target/detail_type", "at most 128 characters"),
        ({"type": "stepfunctions", "machine": "billing"}, "/target/machine", "allowed_targets.machines"),
        (ECS | {"cluster": "other"}, "/target/cluster", "allowed_targets.clusters"),
        (ECS | {"task_definition": "other:3"}, "/target/task_definition", "allowed_targets.task_definitions"),
        (ECS | {"task_definition": "duecourse-target-t:0"}, "/target/task_definition", ":<revision>"),
        (ECS | {"subnets": []}, "/target/subnets", "at least 1 entry"),
        (ECS | {"subnets": ["subnet-1"]}, "/target/subnets/0", "such as subnet-"),
        (ECS | {"subnets": [SUBNET, SUBNET]}, "/target/subnets", "more than once"),
        (ECS | {"security_groups": ["default"]}, "/target/security_groups/0", "such as sg-"),
        (ECS | {"public_ip": "yes"}, "/target/public_ip", "must be true or false"),
        (ECS | {"container": "a b"}, "/target/container", "1 to 255 letters"),
        (ECS | {"subnet": SUBNET}, "/target/subnet", "did you mean subnets?"),
        (AWS | {"action": "DeleteQueue"}, "/target/action", "which calls sqs:SendMessage, ecs:UpdateService"),
        (AWS | {"service": "SQS"}, "/target/service", "such as ecs"),
        (AWS | {"action": "send_message"}, "/target/action", "such as UpdateService"),
        (AWS | {"role": "Admin"}, "/target/role", "in the name of roles named duecourse-target-*"),
        (AWS | {"role": "arn:aws:iam::1:role/x"}, "/target/role", "no ARN"),
        (AWS | {"parameters": []}, "/target/parameters", "must be an object of names"),
        (AWS | {"parameters": {"a": ["x", "{{wek}}"]}}, "/target/parameters/a/1", "{{wek}} is unknown"),
        (AWS | {"parameters": {"a": "{{secret:x}}"}}, "/target/parameters/a", "secret:x"),
        (AWS | {"parameters": {"a": 2**64}}, "/target/parameters/a", "beyond 64 bits"),
        (AWS | {"parameters": {"a": "x" * 16_384}}, "/target/parameters", "at most 16384 are allowed"),
        ({"type": "task"}, "/target/name", "write the name of the registered task"),
        ({"type": "task", "name": "send-invoise"}, "/target/name", "send-invoise is not registered"),
        ({"type": "task", "name": "../x"}, "/target/name", "1 to 64 letters"),
        ({"type": "task", "name": 5}, "/target/name", "must be text"),
    ],
)
def test_a_bad_target_is_refused_at_its_field(target: dict[str, Any], place: str, said: str) -> None:
    found = errors(posted(target=target))
    assert list(found) == [place]
    assert said in found[place]


def test_all_that_is_wrong_with_a_target_is_told_at_once() -> None:
    found = errors(posted(target={"type": "ecs", "cluster": "x", "subnets": [], "colour": "red"}))
    assert set(found) == {
        "/target/cluster",
        "/target/task_definition",
        "/target/container",
        "/target/subnets",
        "/target/colour",
    }


@pytest.mark.parametrize("name", ["duecourse-target-q.fifo", "duecourse-target-q_1"])
def test_a_queues_name_may_end_in_fifo(name: str) -> None:
    assert read(posted(target={"type": "sqs", "queue": name})).target == SqsTarget(name)


def test_a_task_definition_is_allowed_by_its_family_whatever_its_revision() -> None:
    assert read(posted(target=ECS | {"task_definition": "duecourse-target-t:12"})).target == EcsTarget(
        "duecourse-target-c", "duecourse-target-t:12", "main", (SUBNET,)
    )


@pytest.mark.parametrize(
    ("target", "narrower", "place"),
    [
        (ECS, {"subnets": ("subnet-00000000",)}, "/target/subnets"),
        (ECS, {"security_groups": ("sg-00000000",)}, "/target/security_groups"),
        (ECS | {"public_ip": True}, {"public_ip": False}, "/target/public_ip"),
        (ECS | {"task_definition": "duecourse-target-t:3"}, {"task_definitions": ("duecourse-target-t",)}, TASK),
    ],
)
def test_where_and_as_what_a_task_runs_is_the_stages_to_allow(
    target: dict[str, Any], narrower: dict[str, Any], place: str
) -> None:
    rules = replace(RULES, allowed=replace(ALLOWED, **narrower))
    with pytest.raises(Problem) as refused:
        read_job(posted(target=target), "default", rules, check)
    (fault,) = refused.value.faults
    assert fault.pointer == place
    assert "the operator allows more in the stage's setting allowed_targets." in fault.detail
