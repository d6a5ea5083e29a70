"""Whatever a caller sends.

- Half a character or a NUL in any text of any request: an answer that names the place, never a 5xx, nothing done.
- Whatever is posted: never a 5xx, and never a job written by a request that was refused.
"""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from duecourse.api.routes.table import ROUTES
from duecourse.domain.instants import DAY_SECONDS
from duecourse.domain.runs.api_keys import ApiKey, key_text
from duecourse.domain.runs.states import RunState
from duecourse.domain.targets.targets import SqsTarget
from duecourse.ports import RegisteredTask
from duecourse.testing.clock import SettableClock
from tests.support.api import BODY, HTTP_TARGET, Answered, ApiClient
from tests.support.api_events import api_event, json_event
from tests.support.callbacks import NAME, callback_job, recorded
from tests.support.jobs import NOON
from tests.support.openapi import operation_at, resolved
from tests.support.runs import TOKEN, run, waiting_run
from tests.support.tables import Tables

HALF, NUL = "2026-11-21T12:00:00Z\ud800", "2026-11-21T12:00:00Z\x00"
TARGETS: dict[str, dict[str, Any]] = {
    "http": {"url": "https://example.com/hook", "method": "POST", "headers": {"x-a": "b"}, "expect": {"status": [200]}},
    "lambda": {"function": "duecourse-target-x"},
    "sqs": {"queue": "duecourse-target-x.fifo", "group": "a"},
    "sns": {"topic": "duecourse-target-x", "subject": "a"},
    "eventbridge": {"bus": "duecourse-target-x", "source": "a", "detail_type": "b"},
    "aws": {
        "service": "sqs",
        "action": "SendMessage",
        "role": "duecourse-target-x",
        "parameters": {"MessageBody": "a"},
    },
}
BODY_IN_WORKFLOW = {"target": HTTP_TARGET, "tags": ["a"]}
JOB = {
    **BODY,
    "id": "new",
    "exclude": ["2026-12-25"],
    "tags": ["a"],
    "retry": {"on": ["5xx"], "never": ["404"]},
    "events": ["deaths"],
}
HANDED_ON = ("/payload", "/result")
"""Where the caller's own JSON is handed on, in which NUL is a character like any other."""

VALID: dict[str, Any] = {
    "/v1/jobs/<job_id>/backfill": {"from": "2026-11-21T10:00:00Z", "to": "2026-11-21T10:10:00Z"},
    "/v1/calendars/<calendar_id>": {"exclude": ["2026-12-25"]},
    "/v1/jobs/pause": {"tag": "a"},
    "/v1/jobs/resume": {"tag": "a"},
    "/v1/runs/<run_id>/complete": {"result": {"a": ["b"]}},
    "/v1/runs/<run_id>/fail": {"error": "a", "code": "b"},
    "/v1/schedules/preview": {"schedule": "rate(1 hour)"},
    "/v1/jobs/<job_id>/run": {"payload": {"a": ["b"]}},
    "/v1/workflows/<workflow_id>": {
        "schedule": "@daily",
        "jobs": {"a": {"job": BODY_IN_WORKFLOW, "only": "@daily"}, "b": {"after": ["a"], "not_before": "@daily"}},
    },
    "/v1/runs/<run_id>/rerun": {"from": ["a"]},
}
ALL = sorted({(method, path) for method, path, *_ in ROUTES})
API_KEY = key_text("default", "n" * 32)
SIGNED_KEY = key_text("default", "s" * 32)
BY_KEY = {"/v1/hooks": {"authorization": f"Bearer {API_KEY.text}"}}


@pytest.fixture
def text_api(tables: Tables) -> ApiClient:
    api = ApiClient.over(tables)
    job = callback_job(api)
    recorded(api, waiting_run(job))
    recorded(api, run(job, RunState.DEAD, after=60))
    for count, (text, salt) in enumerate(((API_KEY, None), (SIGNED_KEY, "salt"))):
        name, until = ("default", text.id, text.hash, job.id, job.created_generation), int(NOON) + DAY_SECONDS
        assert api.jobs.api_keys.add(ApiKey(*name, "", NOON, "", until, salt=salt), count)
    return api


def real(path: str, job_id: str = "steady", run_id: str = NAME, key: str = API_KEY.text, limit_key: str = "crm") -> str:
    found = (
        path.replace("<job_id>", job_id)
        .replace("<run_id>", run_id)
        .replace("<workflow_id>", job_id.replace("steady", "chain"))
        .replace("<limit_key>", limit_key)
        .replace("<key>", key)
    )
    return found.replace("<instant>", run_id.partition(".")[2])


def send(api: ApiClient, method: str, path: str, body: Any) -> Answered:
    headers = {"authorization": f"Bearer {TOKEN}"} if "<run_id>" in path else BY_KEY.get(path, {})
    return api.send(json_event(method, real(path), body, headers=headers))


def schema_of(method: str, path: str) -> dict[str, Any] | None:
    """What the body may have; None for a route that takes none."""
    operation = operation_at(method, real(path))
    content = resolved(operation["requestBody"])["content"] if operation and "requestBody" in operation else {}
    for media in content.values():
        return resolved(media["schema"])
    return None


def with_text(value: Any, text: str, path: str = "") -> Iterator[tuple[str, Any]]:
    """The value with this text in each place of one, as a name among all others too, and where that is."""
    if isinstance(value, dict):
        yield path, {**value, text: 1}
        for name, each in value.items():
            yield from ((place, {**value, name: one}) for place, one in with_text(each, text, f"{path}/{name}"))
    elif isinstance(value, list):
        for index, each in enumerate(value):
            for place, one in with_text(each, text, f"{path}/{index}"):
                yield place, [*value[:index], one, *value[index + 1 :]]
    else:
        yield path, text


def bodies(method: str, path: str, text: str) -> Iterator[tuple[str, Any]]:
    """Bodies with that text in one place each."""
    schema = schema_of(method, path)
    if schema is None or path == "/v1/jobs/batch":
        return
    if "properties" not in schema:  # the caller's own JSON
        yield from with_text({"a": ["b"]}, text)
        return
    valid = VALID.get(path) or (JOB if "schedule" in schema["properties"] else {})
    if method == "PATCH":
        valid = {}
    for name in schema["properties"]:
        yield f"/{name}", {**valid, name: text}
    yield from with_text(valid, text)
    if valid is JOB:
        for kind, target in TARGETS.items():
            yield from with_text({**JOB, "target": {"type": kind, **target}}, text)


def names(place: str, answer: Answered) -> bool:
    """Whether the answer says that something is wrong there, or within or around it."""
    return any(place.startswith(each) or each.startswith(place) for each in answer.errors)


@pytest.mark.parametrize("text", [HALF, NUL], ids=["half", "NUL"])
@pytest.mark.parametrize(("method", "path"), ALL, ids=[" ".join(route) for route in ALL])
def test_arbitrary_text_surrogate_or_nul_in_a_body_is_refused_with_the_location(
    text_api: ApiClient, method: str, path: str, text: str
) -> None:
    for place, body in bodies(method, path, text):
        if text is NUL and (place.startswith(HANDED_ON) or path.startswith("/v1/hooks")):
            continue
        answer = send(text_api, method, path, body)
        assert answer.status in (400, 422), (place, answer.text)
        assert names(place, answer), (place, answer.text)
    assert text_api.jobs.get("default", "new") is None


@pytest.mark.parametrize("text", [HALF, NUL], ids=["half", "NUL"])
def test_arbitrary_text_surrogate_or_nul_in_a_batch_fails_only_its_own_job(text_api: ApiClient, text: str) -> None:
    bad = {**JOB, "id": "bad", "name": text}
    answer = text_api.post({"jobs": [bad, JOB]}, "/v1/jobs/batch")
    assert [item["status"] for item in answer.json["items"]] == [422, 201]
    assert [error["pointer"] for error in answer.json["items"][0]["problem"]["errors"]] == ["/jobs/0/name"]
    assert text_api.post({"jobs": [], text: 1}, "/v1/jobs/batch").status == 422
    assert text_api.post({"jobs": text}, "/v1/jobs/batch").status == 422


@pytest.mark.parametrize("text", [HALF, NUL, "\ud800", "\x00"], ids=["late half", "late NUL", "half", "NUL"])
@pytest.mark.parametrize(("method", "path"), ALL, ids=[" ".join(route) for route in ALL])
def test_arbitrary_text_surrogate_or_nul_in_path_query_or_header_causes_no_server_error(
    text_api: ApiClient, method: str, path: str, text: str
) -> None:
    body = {"PUT": BODY, "PATCH": {}}.get(method, {**VALID, "/v1/jobs": JOB}.get(path))
    if (method, path) == ("PUT", "/v1/calendars/<calendar_id>"):
        body = VALID[path]
    operation = operation_at(method, real(path))
    assert operation is not None
    for parameter in map(resolved, operation["parameters"]):
        name, where = parameter["name"], parameter["in"]
        header = {"authorization": f"Bearer {TOKEN}"} if path in VALID and "<run_id>" in path else BY_KEY.get(path, {})
        at = (
            real(path, *(f"{name}{text}" for name in ("steady", NAME, "key", "crm"))) if where == "path" else real(path)
        )
        event = api_event(
            method,
            at,
            query={name: "x"} if where == "query" else None,
            headers=header | ({name.lower(): text} if where == "header" else {}),
        )
        if where == "query":
            event["queryStringParameters"] = {name: text}
        if body is not None:
            event["body"] = json_event(method, at, body)["body"]
        answer = text_api.send(event)
        assert answer.status < 500, (where, name, answer.text)
        if where == "query":
            assert (answer.status, list(answer.errors)) == (400, [name]), answer.text
        elif where == "path":
            # 422: the id of a new calendar
            assert answer.status in (400, 404, 422) or (answer.status, name) == (401, "key"), answer.text
        elif name != "X-Correlation-Id":
            assert (answer.status, list(answer.errors)) == (400, [name.lower()]), answer.text
        else:  # one that does not fit is passed over
            assert answer.headers["x-correlation-id"] == answer.headers["x-request-id"]


@pytest.mark.parametrize("text", [HALF, "\ud800", "\x00", "sha256=\ud800"])
@pytest.mark.parametrize(("method", "path"), ALL, ids=[" ".join(route) for route in ALL])
def test_arbitrary_text_surrogate_or_nul_in_any_header_causes_no_server_error(
    text_api: ApiClient, method: str, path: str, text: str
) -> None:
    added = ("x-hub-signature-256", "webhook-id", "webhook-signature", "x-github-delivery", "x-github-event")
    for name in (*added, *api_event("GET", "/")["headers"]):
        for key in (API_KEY, SIGNED_KEY) if path.startswith("/v1/hooks") else (API_KEY,):
            headers = {"authorization": f"Bearer {key.text}", name: text}
            answer = text_api.send(api_event(method, real(path, key=key.text), headers=headers, body="{}"))
            assert answer.status < 500, (name, answer.text)


@pytest.mark.parametrize("token", ["\ud800", "\x00", "a.b\ud800.c"])
def test_arbitrary_text_surrogate_or_nul_in_a_token_makes_it_invalid(text_api: ApiClient, token: str) -> None:
    for action in ("heartbeat", "complete", "fail"):
        answer = text_api.post({}, f"/v1/runs/{NAME}/{action}", token=token)
        assert (answer.status, answer.json["type"]) == (401, "/problems/bad-token")


def test_arbitrary_text_forwarded_json_may_contain_nul_but_no_surrogate(text_api: ApiClient) -> None:
    for path, field in (("/v1/jobs/<job_id>/run", "payload"), ("/v1/runs/<run_id>/complete", "result")):
        assert send(text_api, "POST", path, {field: {NUL: [NUL]}}).status == 202
        refused = send(text_api, "POST", path, {field: {HALF: [HALF]}})
        assert refused.status == 422
        assert f"/{field}" in refused.errors


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
body_bodies = st.one_of(
    st.fixed_dictionaries({}, optional=fields),
    st.fixed_dictionaries(good, optional={name: each for name, each in fields.items() if name not in good}),
    st.sampled_from(sorted(fields)).flatmap(lambda name: anything.map(lambda value: BODY | {name: value})),
    anything,
)
several = settings(max_examples=100, suppress_health_check=list(HealthCheck))


@pytest.fixture
def body_api(tables: Tables) -> ApiClient:
    clock = SettableClock(NOON)
    tasks = {"send-mail": RegisteredTask(SqsTarget("duecourse-target-mail"), {"timeout_seconds": 45})}
    return ApiClient.over(tables, clock, tasks=tasks)


def test_arbitrary_text_any_json_creates_a_job_or_returns_4xx_without_writing(
    body_api: ApiClient, tables: Tables
) -> None:
    @several
    @given(body_bodies)
    def post(body: Any) -> None:
        before = job_ids(tables)
        answer = body_api.post_text(json.dumps(body))
        assert answer.status in (201, 400, 409, 422), answer.text
        made = {answer.json["id"]} if answer.status == 201 else set()
        assert job_ids(tables) == before | made

    post()


def test_arbitrary_text_any_valid_job_is_created_and_read_as_posted(body_api: ApiClient) -> None:
    @several
    @given(st.fixed_dictionaries(good, optional={name: each for name, each in fine.items() if name not in good}))
    def post(body: dict[str, Any]) -> None:
        answer = body_api.post(body)
        assert answer.status == 201, answer.text
        job = answer.json
        for name, value in body.items():
            if isinstance(value, dict) and name != "payload":  # defaults are filled in
                assert job[name].items() >= value.items(), name
            else:
                assert job[name] == value
        path = f"/v1/jobs/{job['id']}"
        assert body_api.get(path).json == job
        assert body_api.get(f"{path}/runs").status == 200
        assert body_api.delete(path).status == 204

    post()


def job_ids(tables: Tables) -> set[str]:
    items = tables.client.scan(TableName=tables.jobs)["Items"]
    return {item["job_id"]["S"] for item in items if item["SK"]["S"] == "JOB"}
