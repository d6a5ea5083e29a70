"""Templates in what a job hands on are checked when it is created."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.api import HTTP_TARGET
from tests.support.posting import errors, posted, read

ECS = {
    "type": "ecs",
    "cluster": "duecourse-target-c",
    "task_definition": "duecourse-target-t",
    "container": "main",
    "subnets": ["subnet-0123456789abcdef0"],
}

AWS = {"type": "aws", "service": "sqs", "action": "SendMessage", "role": "duecourse-target-sender"}
AWS_PLACE = "/target/parameters"


@pytest.mark.parametrize(
    "payload",
    [
        "{{job_id}}",
        {"a": ["{{ week }}", {"b": "{{attempt}}-{{due_at}}"}], "n": 5, "x": None},
        "{{idempotency_key}}",
        r"a literal \{{ stays",
        {"{{anything}}": "names are no templates"},
    ],
)
def test_a_payload_may_hold_templates(payload: Any) -> None:
    assert read(posted(payload=payload)).payload == payload


@pytest.mark.parametrize(
    ("payload", "place", "said"),
    [
        ("{{weak}}", "/payload", "{{weak}} is unknown"),
        ({"a": ["{{weak}}"]}, "/payload/a/0", "{{weak}} is unknown"),
        ({"a/b": {"~": "x {{"}}, "/payload/a~1b/~0", "no partner"),
        ("{{secret:key}}", "/payload", "secret:key"),
        ("{{callback_token}}", "/payload", "needs completion: callback"),
    ],
)
def test_a_bad_template_in_a_payload_is_named_by_its_place(payload: Any, place: str, said: str) -> None:
    found = errors(posted(payload=payload))
    assert list(found) == [place]
    assert said in found[place]


def test_every_bad_template_is_told_at_once() -> None:
    found = errors(posted(payload=["{{a}}", "ok", "{{b}}"], target=HTTP_TARGET | {"headers": {"X-A": "{{c}}"}}))
    assert set(found) == {"/payload/0", "/payload/2", "/target/headers"}
    assert "header X-A: {{c}} is unknown" in found["/target/headers"]


def test_headers_may_name_secrets_and_a_callback_its_token() -> None:
    headers = {"Authorization": "Bearer {{secret:api-key}}", "X-Run": "{{run_id}}", "X-Token": "{{callback_token}}"}
    draft = read(
        posted(target=HTTP_TARGET | {"headers": headers}, completion="callback", payload=["{{callback_token}}"])
    )
    assert draft.payload == ["{{callback_token}}"]


@pytest.mark.parametrize(
    "value", ["{{secret:}}", "{{secret:a b}}", "{{secret:" + "x" * 65 + "}}", "{{callback_token}}"]
)
def test_a_bad_template_in_a_header_is_refused(value: str) -> None:
    assert list(errors(posted(target=HTTP_TARGET | {"headers": {"X-A": value}}))) == ["/target/headers"]


def test_a_payload_that_no_ecs_task_could_be_handed_is_refused() -> None:
    assert "7000" in errors(posted(target=ECS, payload="x" * 7000))["/payload"]
    assert read(posted(target=ECS, payload="x" * 6000)).payload == "x" * 6000


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ({"payload": ["{{job_name}}" * 1_200], "name": "n" * 256}, "/payload"),
        ({"target": HTTP_TARGET | {"headers": {"X-A": "{{job_name}}" * 40}}, "name": "n" * 256}, "/target/headers"),
        ({"target": HTTP_TARGET | {"headers": {f"X-{n}": "x" * 4_000 for n in range(9)}}}, "/target/headers"),
        ({"idempotency_key": "{{run_id}}" * 4, "id": "j" * 64}, "/idempotency_key"),
        ({"target": AWS | {"parameters": {"MessageBody": "{{job_name}}" * 1_200}}, "name": "n" * 256}, AWS_PLACE),
    ],
    ids=["payload", "one header", "all headers", "key", "parameters"],
)
def test_what_would_be_too_large_once_it_is_filled_in_is_refused_with_its_place(
    changes: dict[str, Any], place: str
) -> None:
    found = errors(posted(**changes))
    assert list(found) == [place]
    assert "at most" in found[place]


def test_what_fits_at_the_run_with_the_longest_values_is_taken() -> None:
    assert read(posted(payload=["{{job_name}}" * 1_000], name="n" * 256)).payload == ["{{job_name}}" * 1_000]
    assert read(posted(payload=["x" * 200_000])).payload == ["x" * 200_000]
    assert read(posted(idempotency_key="{{run_id}}" * 4, id="short")).idempotency_key == "{{run_id}}" * 4


def test_what_a_registered_task_would_send_with_the_jobs_own_name_is_judged_too() -> None:
    found = errors(posted(target={"type": "task", "name": "loud"}, name="n" * 256))
    assert list(found) == ["/target/name"]
    assert read(posted(target={"type": "task", "name": "loud"}, name="short")).name == "short"
