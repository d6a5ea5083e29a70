"""Half a character or a NUL in any text of any request: an answer that names the place, never a 5xx, nothing done."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from duecourse.api.routes.table import ROUTES
from duecourse.domain.runs.states import RunState
from tests.support.api import BODY, HTTP_TARGET, Answered, ApiClient
from tests.support.api_events import api_event, json_event
from tests.support.callbacks import NAME, callback_job, recorded
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


@pytest.fixture
def api(tables: Tables) -> ApiClient:
    api = ApiClient.over(tables)
    job = callback_job(api)
    recorded(api, waiting_run(job))
    recorded(api, run(job, RunState.DEAD, after=60))
    return api


def real(path: str, job_id: str = "steady", run_id: str = NAME) -> str:
    found = (
        path.replace("<job_id>", job_id)
        .replace("<run_id>", run_id)
        .replace("<workflow_id>", job_id.replace("steady", "chain"))
    )
    return found.replace("<instant>", run_id.partition(".")[2])


def send(api: ApiClient, method: str, path: str, body: Any) -> Answered:
    headers = {"authorization": f"Bearer {TOKEN}"} if "<run_id>" in path else {}
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
def test_a_body_with_it_is_refused_with_the_place(api: ApiClient, method: str, path: str, text: str) -> None:
    for place, body in bodies(method, path, text):
        if text is NUL and place.startswith(HANDED_ON):
            continue
        answer = send(api, method, path, body)
        assert answer.status in (400, 422), (place, answer.text)
        assert names(place, answer), (place, answer.text)
    assert api.jobs.get("default", "new") is None


@pytest.mark.parametrize("text", [HALF, NUL], ids=["half", "NUL"])
def test_in_a_batch_it_costs_its_own_job_alone(api: ApiClient, text: str) -> None:
    bad = {**JOB, "id": "bad", "name": text}
    answer = api.post({"jobs": [bad, JOB]}, "/v1/jobs/batch")
    assert [item["status"] for item in answer.json["items"]] == [422, 201]
    assert [error["pointer"] for error in answer.json["items"][0]["problem"]["errors"]] == ["/jobs/0/name"]
    assert api.post({"jobs": [], text: 1}, "/v1/jobs/batch").status == 422
    assert api.post({"jobs": text}, "/v1/jobs/batch").status == 422


@pytest.mark.parametrize("text", [HALF, NUL, "\ud800", "\x00"], ids=["late half", "late NUL", "half", "NUL"])
@pytest.mark.parametrize(("method", "path"), ALL, ids=[" ".join(route) for route in ALL])
def test_in_a_path_a_query_or_a_header_it_is_no_fault_of_ours(
    api: ApiClient, method: str, path: str, text: str
) -> None:
    body = {"PUT": BODY, "PATCH": {}}.get(method, {**VALID, "/v1/jobs": JOB}.get(path))
    operation = operation_at(method, real(path))
    assert operation is not None
    for parameter in map(resolved, operation["parameters"]):
        name, where = parameter["name"], parameter["in"]
        header = {"authorization": f"Bearer {TOKEN}"} if path in VALID and "<run_id>" in path else {}
        at = real(path, f"steady{text}", f"{NAME}{text}") if where == "path" else real(path)
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
        answer = api.send(event)
        assert answer.status < 500, (where, name, answer.text)
        if where == "query":
            assert (answer.status, list(answer.errors)) == (400, [name]), answer.text
        elif where == "path":
            assert answer.status in (400, 404), answer.text
        elif name != "X-Correlation-Id":
            assert (answer.status, list(answer.errors)) == (400, [name.lower()]), answer.text
        else:  # one that does not fit is passed over
            assert answer.headers["x-correlation-id"] == answer.headers["x-request-id"]


@pytest.mark.parametrize("token", ["\ud800", "\x00", "a.b\ud800.c"])
def test_a_token_with_it_is_none(api: ApiClient, token: str) -> None:
    for action in ("heartbeat", "complete", "fail"):
        answer = api.post({}, f"/v1/runs/{NAME}/{action}", token=token)
        assert (answer.status, answer.json["type"]) == (401, "/problems/bad-token")


def test_json_that_is_handed_on_may_have_a_nul_and_no_half(api: ApiClient) -> None:
    for path, field in (("/v1/jobs/<job_id>/run", "payload"), ("/v1/runs/<run_id>/complete", "result")):
        assert send(api, "POST", path, {field: {NUL: [NUL]}}).status == 202
        refused = send(api, "POST", path, {field: {HALF: [HALF]}})
        assert refused.status == 422
        assert f"/{field}" in refused.errors
