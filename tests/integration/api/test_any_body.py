"""Whatever is posted: never a 5xx, and never a job written by a request that was refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from duecourse.domain.targets.targets import SqsTarget
from duecourse.ports import RegisteredTask
from duecourse.testing.clock import SettableClock
from tests.support.api import BODY, HTTP_TARGET, ApiClient
from tests.support.jobs import NOON
from tests.support.tables import Tables

texts = st.text(st.characters(codec=None), max_size=30)
numbers = st.integers() | st.floats()
anything = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
schedules = st.sampled_from(
    ["* * * * *", "rate(1 second)", "rate(3 days)", "0 0 29 2 *", "at(2026-11-21T12:00:01)", "at(9999-12-31T23:59:59)",
     "@daily", "*/7 * * * * *", "R5/2026-11-21T12:00:00Z/PT1M", "cron(0 12 * * ? *)", "at(1969-01-01T00:00:00)"]
)  # fmt: skip
targets = st.fixed_dictionaries(
    {"type": st.just("http"), "url": st.sampled_from(["https://example.com/", "https://8.8.8.8/"]) | texts},
    optional={"method": st.sampled_from(["GET", "HEAD", "get"]), "headers": st.dictionaries(texts, texts, max_size=2)},
)
others = st.fixed_dictionaries(
    {"type": st.sampled_from(["lambda", "sqs", "sns", "eventbridge", "stepfunctions", "ecs", "aws", "task"]) | texts},
    optional=dict.fromkeys(
        ("function", "queue", "topic", "bus", "machine", "cluster", "group", "subject", "parameters", "role", "name"),
        st.sampled_from(["duecourse-target-x", "duecourse-target-x.fifo", "{{week}}", "{{", "send-mail"]) | anything,
    ),
)
fields: dict[str, st.SearchStrategy[Any]] = {
    "id": st.text("ab-_", min_size=1, max_size=3) | texts,
    "name": texts,
    "schedule": schedules | texts,
    "timezone": st.sampled_from(["UTC", "Europe/Berlin", "Pacific/Apia", "utc"]) | texts,
    "dst_gap": st.sampled_from(["next", "skip", "first"]),
    "dst_fold": st.sampled_from(["first", "second", "both", ""]),
    "target": targets | others | st.just({"type": "lambda", "function": "duecourse-target-x"}),
    "task": texts | st.just("send-mail"),
    "payload": anything,
    "priority": st.sampled_from(["high", "low", "long"]),
    "timeout_seconds": numbers | st.sampled_from([1, 840, 30.0]),
    "estimated_seconds": numbers | st.just(900),
    "start_deadline_seconds": numbers | st.just(900),
    "pause_on_failure": numbers | st.just(3),
    "completion": st.sampled_from(["response", "callback", "x"]),
    "completion_seconds": numbers | st.just(900),
    "heartbeat_seconds": numbers | st.just(60),
    "events": st.lists(st.sampled_from(["deaths", "failures", "late", "all", "x"]), max_size=3),
    "retry": st.dictionaries(st.sampled_from(["max_attempts", "min_seconds", "max_seconds"]), numbers | st.just(9)),
    "missed": st.dictionaries(st.sampled_from(["grace_seconds", "max_missed"]), numbers | st.just(9)),
    "overlap": st.sampled_from(["skip", "allow", "queue", "replace", "x"]),
    "precision": st.sampled_from(["second", "exact", None]),
    "delivery": st.sampled_from(["at_least_once", "at_most_once"]),
    "idempotency_key": texts | st.just("{{week}}"),
    "tags": st.lists(st.text("abc", max_size=3) | texts, max_size=3),
}
plain = st.text(max_size=20).filter(lambda text: "{{" not in text and "}}" not in text)
good = {
    "schedule": st.sampled_from(["* * * * *", "rate(1 second)", "0 0 29 2 *", "at(9998-12-31T23:59:59)", "@daily"]),
    "target": st.sampled_from(
        [
            HTTP_TARGET,
            {"type": "lambda", "function": "duecourse-target-x", "mode": "async"},
            {"type": "sqs", "queue": "duecourse-target-x.fifo", "group": "{{job_id}}"},
            {"type": "task", "name": "send-mail"},
        ]
    ),
}
fine = good | {
    "name": st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), max_size=256),
    "timezone": st.sampled_from(["UTC", "Europe/Berlin", "Pacific/Apia"]),
    "payload": st.recursive(
        st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(-1e308, 1e308) | plain,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
        max_leaves=8,
    ),
    "timeout_seconds": st.integers(1, 840),
    "estimated_seconds": st.none() | st.integers(1, 86_400),
    "pause_on_failure": st.none() | st.integers(1, 100),
    "completion": st.sampled_from(["response", "callback"]),
    "events": st.lists(st.sampled_from(["deaths", "failures", "late", "all"]), unique=True),
    "overlap": st.sampled_from(["skip", "queue", "replace", "allow"]),
    "retry": st.fixed_dictionaries({"min_seconds": st.floats(0, 10)}, optional={"max_attempts": st.integers(1, 100)}),
    "missed": st.fixed_dictionaries({"grace_seconds": st.integers(5, 86_400), "max_missed": st.integers(1, 100)}),
    "idempotency_key": st.sampled_from(["{{week}}", "fixed", "{{ run_id }}-{{date}}"]),
    "tags": st.lists(st.text("abc:/", min_size=1, max_size=64), max_size=20, unique=True),
}
bodies = st.one_of(
    st.fixed_dictionaries({}, optional=fields),
    st.fixed_dictionaries(good, optional={name: each for name, each in fields.items() if name not in good}),
    st.sampled_from(sorted(fields)).flatmap(lambda name: anything.map(lambda value: BODY | {name: value})),
    anything,
)
several = settings(max_examples=100, suppress_health_check=list(HealthCheck))


@pytest.fixture
def api(tables: Tables) -> ApiClient:
    clock = SettableClock(NOON)
    tasks = {"send-mail": RegisteredTask(SqsTarget("duecourse-target-mail"), {"timeout_seconds": 45})}
    return ApiClient.over(tables, clock, tasks=tasks)


def test_any_json_is_a_job_or_a_4xx_that_wrote_nothing(api: ApiClient, tables: Tables) -> None:
    @several
    @given(bodies)
    def post(body: Any) -> None:
        before = job_ids(tables)
        answer = api.post_text(json.dumps(body))
        assert answer.status in (201, 400, 409, 422), answer.text
        made = {answer.json["id"]} if answer.status == 201 else set()
        assert job_ids(tables) == before | made

    post()


def test_any_good_job_is_created_and_reads_back_as_it_was_posted(api: ApiClient) -> None:
    @several
    @given(st.fixed_dictionaries(good, optional={name: each for name, each in fine.items() if name not in good}))
    def post(body: dict[str, Any]) -> None:
        answer = api.post(body)
        assert answer.status == 201, answer.text
        job = answer.json
        for name, value in body.items():
            if isinstance(value, dict) and name != "payload":  # defaults are filled in
                assert job[name].items() >= value.items(), name
            else:
                assert job[name] == value
        path = f"/v1/jobs/{job['id']}"
        assert api.get(path).json == job
        assert api.get(f"{path}/runs").status == 200
        assert api.delete(path).status == 204

    post()


def job_ids(tables: Tables) -> set[str]:
    items = tables.client.scan(TableName=tables.jobs)["Items"]
    return {item["job_id"]["S"] for item in items if item["SK"]["S"] == "JOB"}
