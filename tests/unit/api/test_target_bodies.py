"""Targets in bodies, and which of them a stage allows.

- Targets as posted: what becomes of them, and why they are refused.
- Which targets a job may have.
"""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duecourse.api.bodies.target_bodies import name_problem, url_problem
from duecourse.api.bodies.validation import read_job
from duecourse.api.problems import Problem
from duecourse.domain.targets.allowed_targets import ALLOW_LISTS, name_refusal
from duecourse.domain.targets.kinds import target_document, type_of
from duecourse.domain.targets.targets import (
    AwsTarget,
    EcsTarget,
    EventBridgeTarget,
    HttpTarget,
    LambdaTarget,
    OidcAuth,
    SnsTarget,
    SqsTarget,
    StepFunctionsTarget,
    Target,
    TaskTarget,
)
from duecourse.settings import AllowedTargets
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
FIFO = SQS | {"queue": "duecourse-target-q.fifo"}
FIFO_TOPIC = SNS | {"topic": "duecourse-target-t.fifo"}
BUS = {"type": "eventbridge", "bus": "duecourse-target-b"}


BASIC = {"type": "basic", "username": "duecourse", "secret": "crm-password"}
OIDC = {"type": "oidc", "audience": "https://shop.example"}
OAUTH = {"type": "oauth", "token_url": "https://login.example.com/token", "client_id": "jobs", "secret": "crm-client"}


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
def test_target_validation_requires_only_fields_without_defaults(body: dict[str, Any], target: Target) -> None:
    assert read(posted(target=body)).target == target


@pytest.mark.parametrize("target", EVERY_TARGET, ids=type_of)
def test_target_validation_accepts_every_target_as_it_is_shown(target: Target) -> None:
    assert read(posted(target=json.loads(json.dumps(target_document(target))))).target == target


@pytest.mark.parametrize(
    ("expect", "statuses"),
    [([200], ("200",)), (["2xx", 404, "409"], ("2xx", "404", "409")), (["3xx", "5xx", 599], ("3xx", "5xx", "599"))],
)
def test_target_validation_accepts_expected_statuses_as_numbers_or_classes(
    expect: list[Any], statuses: tuple[str, ...]
) -> None:
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
        (HTTP_TARGET | {"expect": [200, "200"]}, "/target/expect", "contains 200 more than once"),
        (HTTP_TARGET | {"expect": list(range(200, 221))}, "/target/expect", "at most 20 entries"),
        (HTTP_TARGET | {"sign": "hook"}, "/target/sign", "must be an object"),
        (HTTP_TARGET | {"sign": {}}, "/target/sign/secret", "the secret to sign with"),
        (HTTP_TARGET | {"sign": {"secret": "a b"}}, "/target/sign/secret", "1 to 64 letters"),
        (HTTP_TARGET | {"sign": {"secret": "a", "secrets": "b"}}, "/target/sign/secrets", "did you mean secret?"),
        (HTTP_TARGET | {"headers": {"Webhook-Id": "1"}, "sign": {"secret": "a"}}, "/target/sign", "Webhook-Id itself"),
        (HTTP_TARGET | {"auth": "basic"}, "/target/auth", '"type": "basic"'),
        (HTTP_TARGET | {"auth": {}}, "/target/auth/type", '"type": "oauth"'),
        (HTTP_TARGET | {"auth": {"type": "digest"}}, "/target/auth/type", '"type": "oauth"'),
        (HTTP_TARGET | {"auth": BASIC | {"secret": "a b"}}, "/target/auth/secret", "1 to 64 letters"),
        (HTTP_TARGET | {"auth": BASIC | {"username": "a:b"}}, "/target/auth/username", "not contain a colon"),
        (HTTP_TARGET | {"auth": BASIC | {"user": "a"}}, "/target/auth/user", "did you mean username?"),
        (HTTP_TARGET | {"auth": {"type": "basic", "secret": "a"}}, "/target/auth/username", "write the user name"),
        (HTTP_TARGET | {"auth": {**OAUTH, "token_url": ""}}, "/target/auth/token_url", "must not be empty"),
        (HTTP_TARGET | {"auth": OAUTH | {"token_url": "http://a.io"}}, "/target/auth/token_url", "begin with https"),
        (HTTP_TARGET | {"auth": OAUTH | {"token_url": "https://10.0.0.1"}}, "/target/auth/token_url", "a public host"),
        (HTTP_TARGET | {"auth": OAUTH | {"credentials": "query"}}, "/target/auth/credentials", "one of header, body"),
        (HTTP_TARGET | {"auth": OAUTH | {"client_id": ""}}, "/target/auth/client_id", "must not be empty"),
        (HTTP_TARGET | {"auth": {"type": "oidc"}}, "/target/auth/audience", "write the audience of the token"),
        (HTTP_TARGET | {"auth": OIDC | {"audienc": "x"}}, "/target/auth/audienc", "did you mean audience?"),
        (HTTP_TARGET | {"headers": {"authorization": "x"}, "auth": BASIC}, "/target/auth", "header Authorization"),
        ({"type": "lambda", "function": "duecourse-target-f", "mode": "fire"}, "/target/mode", "one of sync, async"),
        ({"type": "sqs"}, "/target/queue", "write the name of the queue"),
        ({"type": "sqs", "queue": "billing"}, "/target/queue", "allows queues named duecourse-target-*"),
        ({"type": "sqs", "queue": "a b"}, "/target/queue", "1 to 80 letters"),
        ({"type": "sqs", "queue": "duecourse-target-" + "q" * 64}, "/target/queue", "1 to 80 letters"),
        ({"type": "sqs", "queue": "https://sqs.us-east-1.amazonaws.com/1/q"}, "/target/queue", "not an ARN"),
        (SQS | {"group": "a"}, "/target/group", "only for FIFO queues"),
        (SQS | {"queue": "duecourse-target-q.fifo", "group": ""}, "/target/group", "must not be empty"),
        (SQS | {"queue": "duecourse-target-q.fifo", "group": "{{week"}, "/target/group", "no matching pair"),
        (SQS | {"queue": "duecourse-target-q.fifo", "group": "{{secret:x}}"}, "/target/group", "secret:x"),
        ({"type": "sns"}, "/target/topic", "write the name of the topic"),
        ({"type": "sns", "topic": "arn:aws:sns:us-east-1:1:t"}, "/target/topic", "not an ARN"),
        (SNS | {"group": "a"}, "/target/group", "use a topic with a name that ends in .fifo"),
        (SNS | {"subject": "a\nb"}, "/target/subject", "control characters"),
        (SNS | {"subject": " \u200b"}, "/target/subject", "is empty"),
        (FIFO | {"group": "two words"}, "/target/group", "1 to 128 ASCII letters"),
        (FIFO | {"group": "gr\xfc\xdfe"}, "/target/group", "1 to 128 ASCII letters"),
        (FIFO | {"group": "x" * 129}, "/target/group", "1 to 128 ASCII letters"),
        (FIFO | {"group": "x" * 118 + "-{{date}}"}, "/target/group", "1 to 128 ASCII letters"),
        (FIFO_TOPIC | {"group": "a b"}, "/target/group", "1 to 128 ASCII letters"),
        (HTTP_TARGET | {"headers": {"X-A": " {{secret:a}}"}}, "/target/headers", "begin or end with blanks"),
        (HTTP_TARGET | {"headers": {"X-A": "a\t"}}, "/target/headers", "begin or end with blanks"),
        (BUS | {"bus": "a/b"}, "/target/bus", "1 to 256 letters"),
        (SNS | {"subject": "{{wek}}"}, "/target/subject", "{{wek}} is unknown"),
        ({"type": "eventbridge"}, "/target/bus", "write the name of the event bus"),
        (BUS | {"bus": "default"}, "/target/bus", "allows event buses named duecourse-target-*"),
        (BUS | {"source": "aws.ec2"}, "/target/source", "must not start with aws."),
        (BUS | {"source": "AWS.s3"}, "/target/source", "must not start with aws."),
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
        (AWS | {"role": "Admin"}, "/target/role", "allows roles named duecourse-target-*"),
        (AWS | {"role": "arn:aws:iam::1:role/x"}, "/target/role", "not an ARN"),
        (AWS | {"parameters": []}, "/target/parameters", "must be an object of names"),
        (AWS | {"parameters": {"a": ["x", "{{wek}}"]}}, "/target/parameters/a/1", "{{wek}} is unknown"),
        (AWS | {"parameters": {"a": "{{secret:x}}"}}, "/target/parameters/a", "secret:x"),
        (AWS | {"parameters": {"a": 2**64}}, "/target/parameters/a", "does not fit in 64 bits"),
        (AWS | {"parameters": {"a": "x" * 16_384}}, "/target/parameters", "at most 16384 are allowed"),
        ({"type": "task"}, "/target/name", "write the name of the registered task"),
        ({"type": "task", "name": "send-invoise"}, "/target/name", "send-invoise is not registered"),
        ({"type": "task", "name": "../x"}, "/target/name", "1 to 64 letters"),
        ({"type": "task", "name": 5}, "/target/name", "must be text"),
    ],
)
def test_target_validation_names_the_bad_field_of_a_target(target: dict[str, Any], place: str, said: str) -> None:
    found = errors(posted(target=target))
    assert list(found) == [place]
    assert said in found[place]


def test_target_validation_reports_all_faults_of_a_target_at_once() -> None:
    assert set(errors(posted(target={"type": "ecs", "cluster": "x", "subnets": [], "colour": "red"}))) == {
        "/target/cluster",
        "/target/task_definition",
        "/target/container",
        "/target/subnets",
        "/target/colour",
    }


@pytest.mark.parametrize("name", ["duecourse-target-q.fifo", "duecourse-target-q_1"])
def test_target_validation_accepts_fifo_and_standard_queue_names(name: str) -> None:
    assert read(posted(target={"type": "sqs", "queue": name})).target == SqsTarget(name)


def test_target_validation_allows_a_task_definition_by_its_family_whatever_its_revision() -> None:
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
def test_target_validation_rejects_ecs_settings_that_the_stage_does_not_allow(
    target: dict[str, Any], narrower: dict[str, Any], place: str
) -> None:
    rules = replace(RULES, allowed=replace(ALLOWED, **narrower))
    with pytest.raises(Problem) as refused:
        read_job(posted(target=target), "default", rules, check)
    (fault,) = refused.value.faults
    assert fault.pointer == place
    assert "ask the operator to add it to the stage's setting allowed_targets." in fault.detail


@pytest.mark.parametrize(
    "url",
    [
        "https://example.com",
        "https://example.com/hook?a=b&c=%20",
        "https://EXAMPLE.com:8443/a/b;c=d",
        "https://example.com./",
        "https://xn--mnchen-3ya.example/",
        "https://8.8.8.8/x",
        "https://[2606:4700:4700::1111]:443/x",
        "https://a_b.example.com/",
    ],
)
def test_target_validation_accepts_a_public_https_address(url: str) -> None:
    assert url_problem(url, private_allowed=False) is None


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("http://example.com/", "must begin with https://"),
        ("ftp://example.com/", "must begin with https://"),
        ("HTTP://example.com/", "must begin with https://"),
        ("//example.com/", "must begin with https://"),
        ("example.com", "must begin with https://"),
        ("https:/example.com", "no valid host"),
        ("https://", "no valid host"),
        ("https:///path", "no valid host"),
        ("https://user:secret@example.com/", "credentials"),
        ("https://user@example.com/", "credentials"),
        ("https://example.com/#part", "fragment"),
        ("https://example.com/#", "fragment"),
        ("https://example.com:0/", "port"),
        ("https://example.com:/", "port"),
        ("https://example.com:65536/", "port"),
        ("https://example.com:8x/", "port"),
        ("https://example.com:-1/", "port"),
        ("https://[::1/", "host"),
        ("https://[fe80::1%25eth0]/", "not (link-local)"),
        ("https://a..b/", "no valid host name"),
        ("https://-a.example/", "no valid host name"),
        ("https://" + "a" * 64 + ".example/", "no valid host name"),
        ("https://" + "a." * 130 + "example/", "no valid host name"),
        ("https://exa mple.com/", "printable ASCII"),
        ("https://münchen.example/", "punycode"),
        ("https://example.com/\r\nHost: x", "printable ASCII"),
        ("https://example.com/\x00", "printable ASCII"),
        ("https://example.com\\@evil.example/", "percent-encoded"),
        ("https://exa{mple}.com/", "percent-encoded"),
        ("https://127.0.0.1/", "not (loopback)"),
        ("https://10.1.2.3/", "private network"),
        ("https://169.254.169.254/latest/meta-data", "cloud metadata"),
        ("https://[::1]/", "loopback"),
        ("https://[::ffff:127.0.0.1]/", "loopback"),
        ("https://[fd00:ec2::254]/", "cloud metadata"),
        ("https://[fe80::1]/", "link-local"),
        ("https://0.0.0.0/", "this network"),
        ("https://localhost/", "the local machine"),
        ("https://api.LOCALHOST./", "the local machine"),
        ("https://2130706433/", "neither a name nor an IP address"),
        ("https://0x7f000001/", "neither a name nor an IP address"),
        ("https://127.1/", "neither a name nor an IP address"),
        ("https://0177.0.0.1/", "neither a name nor an IP address"),
        ("https://127.0.0.1./", "neither a name nor an IP address"),
        ("https://example.0x7f/", "neither a name nor an IP address"),
    ],
)
def test_target_validation_rejects_other_addresses_with_the_reason(url: str, said: str) -> None:
    problem = url_problem(url, private_allowed=False)
    assert problem is not None
    assert said in problem


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:8080/hook", "http://localhost/", "https://10.0.0.1/", "http://[::1]:9/", "http://intern/"]
)
def test_target_validation_accepts_http_and_loopback_if_the_stage_allows_private_targets(url: str) -> None:
    assert url_problem(url, private_allowed=True) is None


@pytest.mark.parametrize("url", ["http://2130706433/", "http://127.1/", "gopher://x/", "http://u@x/"])
def test_target_validation_rejects_malformed_addresses_even_if_the_stage_allows_private_targets(url: str) -> None:
    assert url_problem(url, private_allowed=True) is not None


@given(st.text(max_size=60).map(lambda text: f"https://{text}"), st.booleans())
def test_target_validation_accepts_or_rejects_any_text_as_an_address(url: str, private: bool) -> None:
    problem = url_problem(url, private_allowed=private)
    assert problem is None or problem


def allowed(*names: str) -> AllowedTargets:
    return AllowedTargets(functions=names)


def test_target_validation_accepts_a_name_that_matches_a_pattern_of_the_stage() -> None:
    assert name_problem("functions", "duecourse-target-echo", allowed("other", "duecourse-target-*")) is None


@pytest.mark.parametrize(
    ("name", "patterns", "said"),
    [
        ("billing", ("duecourse-target-*", "x"), "duecourse-target-*, x"),
        ("billing", (), "allowed_targets.functions is empty"),
        ("DUECOURSE-target-x", ("duecourse-target-*",), "not allowed"),
        ("arn:aws:lambda:us-east-1:123456789012:function:x", ("*",), "not an ARN"),
        ("x:PROD", ("*",), "not an ARN"),
        ("", ("*",), "1 to 64"),
        ("a" * 65, ("*",), "1 to 64"),
        ("a\n", ("*",), "1 to 64"),
    ],
)
def test_target_validation_rejects_other_names_with_the_reason(name: str, patterns: tuple[str, ...], said: str) -> None:
    problem = name_problem("functions", name, allowed(*patterns))
    assert problem is not None
    assert said in problem


@pytest.mark.parametrize("kind", [kind for kind, known in ALLOW_LISTS.items() if known.form])
def test_target_validation_reports_an_empty_allow_list_of_every_kind(kind: str) -> None:
    problem = name_problem(kind, "duecourse-target-x", AllowedTargets())
    assert problem is not None
    assert f"allowed_targets.{kind} is empty" in problem


def test_target_validation_allows_an_action_only_by_its_exact_name() -> None:
    stage = AllowedTargets(actions=("ecs:UpdateService", "s3:*"))
    assert name_refusal("actions", "ecs:UpdateService", stage) is None
    assert "which calls ecs:UpdateService" in (name_refusal("actions", "s3:PutObject", stage) or "")
    assert "actions is empty" in (name_refusal("actions", "ecs:UpdateService", AllowedTargets()) or "")


def test_target_validation_rejects_oidc_tokens_on_a_stage_without_keys() -> None:
    body = posted(target=HTTP_TARGET | {"auth": OIDC})
    assert read(body).target == HttpTarget(HTTP_TARGET["url"], auth=OidcAuth("https://shop.example"))
    with pytest.raises(Problem) as refused:
        read_job(body, "default", replace(RULES, oidc=False), check)
    (fault,) = refused.value.faults
    assert fault.pointer == "/target/auth/type"
    assert "the stage does not sign tokens; ask the operator to set oidc_keys" in fault.detail


@pytest.mark.parametrize(
    ("fields", "place", "said"),
    [
        ({"name": "Отчёт", "target": HTTP_TARGET | {"headers": {"X-A": "{{job_name}}"}}}, "/target/headers", "Latin-1"),
        ({"name": "two words", "target": FIFO | {"group": "{{job_name}}"}}, "/target/group", "1 to 128 ASCII letters"),
        ({"name": "Отчёт", "target": {"type": "task", "name": "loud"}}, "/target/name", "cannot be sent (headers)"),
        ({"idempotency_key": "{{run_id}} "}, "/idempotency_key", "must not begin or end with blanks"),
    ],
)
def test_target_validation_rejects_templates_whose_known_values_cannot_be_sent(
    fields: dict[str, Any], place: str, said: str
) -> None:
    (found,) = errors(posted(**fields)).items()
    assert found[0] == place
    assert said in found[1]


def test_target_validation_accepts_subjects_and_groups_that_aws_accepts() -> None:
    target = FIFO_TOPIC | {"subject": "gr\xfc\xdfe {{job_name}}", "group": "a!{{date}}~"}
    assert read(posted(name="März", target=target)).target == SnsTarget(
        "duecourse-target-t.fifo", "gr\xfc\xdfe {{job_name}}", "a!{{date}}~"
    )
