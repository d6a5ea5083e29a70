"""Limits of AWS that several settings use up together."""

from typing import Any

import pytest

from infra.sizes import MAX_ENVIRONMENT_BYTES, MAX_POLICY_CHARACTERS, REFERENCE, size_problems
from tests.support.template import template

TABLE = {"Ref": "JobsTable"}


def function(**variables: Any) -> dict[str, Any]:
    return {"Type": "AWS::Lambda::Function", "Properties": {"Environment": {"Variables": variables}}}


def policy(role: str, *resources: Any) -> dict[str, Any]:
    document = {"Statement": [{"Effect": "Allow", "Action": "sqs:SendMessage", "Resource": list(resources)}]}
    return {"Type": "AWS::IAM::Policy", "Properties": {"PolicyDocument": document, "Roles": [{"Ref": role}]}}


def problems(**resources: Any) -> list[str]:
    return list(size_problems({"Resources": resources}))


@pytest.mark.parametrize("stage", ["dev", "prod"])
def test_sizes_of_the_stages_are_within_the_limits(stage: str) -> None:
    assert list(size_problems(template(stage))) == []


def test_sizes_environment_above_4096_bytes_is_refused_with_the_settings_that_fill_it() -> None:
    name, known = "A", {"Fn::Join": ["", ["https://", TABLE]]}
    fitting = MAX_ENVIRONMENT_BYTES - 2 * len(name) - len("https://") - len(REFERENCE)
    assert problems(Worker=function(A="x" * fitting, B=known)) == []
    (found,) = problems(Worker=function(A="x" * (fitting + 1), B=known))
    assert found == (
        "the environment of Worker has 4097 bytes, and Lambda allows 4096: shorten allowed_targets (patterns with *), "
        "connectors or result_buckets"
    )


def test_sizes_inline_policies_of_a_role_count_together() -> None:
    arns = [
        f"arn:aws:sqs:eu-central-1:000000000000:a-queue-with-a-rather-long-name-{number:03}" for number in range(70)
    ]
    first, second = policy("Worker", *arns), policy("Worker", *arns)
    assert problems(One=first, Other=policy("Another", *arns)) == []
    (found,) = problems(One=first, Two=second)
    assert found.startswith("the inline policies of the role Worker have ")
    assert f"IAM allows {MAX_POLICY_CHARACTERS}" in found
