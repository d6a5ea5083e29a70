"""API keys with scopes: which requests they permit, and what they show of the caller."""

import json
from typing import Any

import pytest

from duecourse.domain.instants import DAY_SECONDS
from duecourse.domain.runs.api_keys import key_text
from duecourse.testing.clock import SettableClock
from duecourse.testing.faults import around, before
from tests.support.api import BODY, Answered, ApiClient, api_settings
from tests.support.api_events import api_event, json_event, jwt_caller
from tests.support.jobs import NOON
from tests.support.tables import Tables

OWNER = jwt_caller("acme", "jobs:write", "jobs:read", "ops")
TAGGED = BODY | {"id": "report", "tags": ["team-a"]}
OTHER = BODY | {"id": "other", "tags": ["team-b"]}


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock(NOON)


@pytest.fixture
def api(tables: Tables, clock: SettableClock) -> ApiClient:
    """The API of a stage with tokens, with two jobs of the tenant acme."""
    api = stage(tables, clock)
    api.caller = OWNER
    assert [api.post(body).status for body in (TAGGED, OTHER)] == [201, 201]
    return api


def stage(tables: Tables, clock: SettableClock, **settings: Any) -> ApiClient:
    settings = {"auth": "jwt"} | settings
    return ApiClient.over(tables, clock, settings=api_settings(**settings), workflows=tables.workflows(clock))


def asked(api: ApiClient, scope: str, caller: Any = OWNER, **fields: Any) -> Answered:
    """Request a key as this caller."""
    api.caller = caller
    answer = api.send(json_event("POST", "/v1/keys", {"scope": scope} | fields))
    api.caller = None
    return answer


def create(api: ApiClient, scope: str, **fields: Any) -> Any:
    answer = asked(api, scope, **fields)
    assert answer.status == 201, answer.text
    return answer.json


def call(api: ApiClient, key: str | None, method: str, path: str, body: Any = None, **query: str) -> Answered:
    """Send a request below the prefix of keys."""
    headers = {} if key is None else {"authorization": f"Bearer {key}"}
    text = None if body is None else json.dumps(body)
    return api.send(api_event(method, f"/key{path}", body=text, headers=headers, query=query))


def refusal(answer: Answered) -> tuple[int, str]:
    return answer.status, answer.json["type"].removeprefix("/problems/")


def ids(answer: Answered) -> list[str]:
    assert answer.status == 200, answer.text
    return sorted(each["id"] for each in answer.json["items"])


def test_scoped_key_is_created_listed_and_revoked(api: ApiClient, tables: Tables) -> None:
    made = create(api, "jobs:write:tag=team-a jobs:read", description="Grafana")
    text = made.pop("key")
    assert (made["scope"], made["created_by"], made["path"]) == ("jobs:read jobs:write:tag=team-a", "ann", "/key")
    assert text not in repr(tables.client.scan(TableName=tables.jobs)["Items"])
    assert ids(call(api, text, "GET", "/v1/jobs")) == ["other", "report"]
    api.caller = OWNER
    (listed,) = api.get("/v1/keys").json["items"]
    assert (listed["id"], listed["scope"]) == (made["id"], made["scope"])
    assert listed["last_used_at"] == "2026-11-21T12:00:00.000Z"
    assert api.delete(f"/v1/keys/{made['id']}").status == 204
    api.caller = None
    assert refusal(call(api, text, "GET", "/v1/jobs")) == (401, "bad-key")
    created, revoked = [line for line in api.log_lines if line["action"] in ("key_created", "key_revoked")]
    assert {(line["principal"], line["key_id"], line["scope"]) for line in (created, revoked)} == {
        ("ann", made["id"], made["scope"])
    }


def test_scoped_key_permits_what_its_scopes_do(api: ApiClient) -> None:
    reads, writes = create(api, "jobs:read")["key"], create(api, "jobs:write")["key"]
    assert call(api, reads, "GET", "/v1/jobs/report").status == 200
    refused = call(api, reads, "POST", "/v1/jobs", BODY | {"id": "new"})
    assert refusal(refused) == (403, "scope-missing")
    assert refused.json["detail"] == "This request needs the scope jobs:write; the API key has jobs:read."
    assert call(api, writes, "POST", "/v1/jobs", BODY | {"id": "new"}).status == 201
    assert refusal(call(api, writes, "GET", "/v1/jobs/new")) == (403, "scope-missing")
    for key in (reads, writes):
        assert refusal(call(api, key, "GET", "/v1/tenants")) == (403, "scope-missing")
        assert refusal(call(api, key, "GET", "/v1/stage")) == (403, "scope-missing")
    assert call(api, reads, "GET", "/v1/health").status in (200, 503)


def test_scoped_key_with_a_tag_reaches_only_the_jobs_with_the_tag(api: ApiClient) -> None:
    key = create(api, "jobs:read:tag=team-a jobs:write:tag=team-a")["key"]
    assert ids(call(api, key, "GET", "/v1/jobs")) == ["report"]
    assert call(api, key, "GET", "/v1/jobs/report").status == 200
    assert refusal(call(api, key, "GET", "/v1/jobs/other")) == (403, "scope-missing")
    assert refusal(call(api, key, "POST", "/v1/jobs/other/pause")) == (403, "scope-missing")
    assert refusal(call(api, key, "POST", "/v1/jobs", BODY | {"id": "new"})) == (403, "scope-missing")
    assert call(api, key, "POST", "/v1/jobs", BODY | {"id": "new", "tags": ["team-a"]}).status == 201


def test_scoped_key_is_the_author_of_what_it_changes(api: ApiClient) -> None:
    made = create(api, "jobs:read jobs:write")
    author = f"key:{made['id']}"
    assert call(api, made["key"], "POST", "/v1/jobs/report/pause", {"note": "x"}).json["paused_by"] == author
    run = call(api, made["key"], "POST", "/v1/jobs/other/run")
    assert run.json["requested_by"] == author
    changes = call(api, made["key"], "GET", "/v1/jobs/report/history").json["items"]
    assert (changes[0]["action"], changes[0]["principal"]) == ("paused", author)
    paused = [line for line in api.log_lines if line["action"] == "job_paused"]
    assert [(line["tenant"], line["principal"]) for line in paused] == [("acme", author)]
    assert made["key"].partition(".")[2] not in json.dumps(api.log_lines)


@pytest.mark.parametrize("mode", ["none", "iam", "jwt", "cognito"])
def test_scoped_key_works_with_every_kind_of_authentication(
    tables: Tables, clock: SettableClock, api: ApiClient, mode: str
) -> None:
    key = create(api, "jobs:read")["key"]
    other = stage(tables, clock, auth=mode)
    assert ids(call(other, key, "GET", "/v1/jobs")) == ["other", "report"]
    assert refusal(call(other, None, "GET", "/v1/jobs")) == (401, "bad-key")


def test_scoped_key_is_not_accepted_in_place_of_a_token(api: ApiClient) -> None:
    key = create(api, "jobs:read")["key"]
    answer = api.get("/v1/jobs", headers={"authorization": f"Bearer {key}"})
    assert refusal(answer) == (401, "not-authenticated")


def test_scoped_key_is_required_below_the_prefix_even_with_a_token(api: ApiClient) -> None:
    api.caller = OWNER
    assert refusal(call(api, None, "GET", "/v1/jobs")) == (401, "bad-key")


@pytest.mark.parametrize(("method", "path"), [
    ("GET", "/v1/jobs"), ("POST", "/v1/jobs"), ("GET", "/v1/health"), ("GET", "/v1/openapi.json"),
    ("GET", "/v1/nothing"), ("DELETE", "/v1/jobs"), ("POST", "/v1/keys"), ("POST", "/v1/hooks"), ("GET", "/"),
    ("GET", "/key/v1/jobs"),
])  # fmt: skip
def test_scoped_key_is_required_at_every_path_before_any_read(api: ApiClient, method: str, path: str) -> None:
    known = key_text("acme", "s" * 32).text
    typo = known[:-1] + ("0" if known[-1] != "0" else "1")
    api.caller = None
    reads: list[None] = []
    api.jobs.api_keys = around(api.jobs.api_keys, get=before(lambda: reads.append(None)))
    for text in (None, "", "nonsense", "dck_acme." + "A" * 40, typo, known.replace("acme", "acne")):
        assert refusal(call(api, text, method, path)) == (401, "bad-key")
    assert reads == []
    assert refusal(call(api, known, method, path)) == (401, "bad-key")
    assert len(reads) == 1


def test_scoped_key_gets_404_and_405_like_a_token(api: ApiClient) -> None:
    key = create(api, "jobs:read")["key"]
    assert refusal(call(api, key, "GET", "/v1/nothing")) == (404, "unknown-path")
    assert refusal(call(api, key, "DELETE", "/v1/jobs")) == (405, "unknown-method")
    assert refusal(call(api, key, "GET", "/key/v1/jobs")) == (404, "unknown-path")


def test_scoped_key_expires(api: ApiClient, clock: SettableClock) -> None:
    key = create(api, "jobs:read", expires_in_days=1)["key"]
    clock.set(NOON + DAY_SECONDS - 1)
    assert call(api, key, "GET", "/v1/jobs").status == 200
    clock.set(NOON + DAY_SECONDS)
    assert refusal(call(api, key, "GET", "/v1/jobs")) == (401, "bad-key")


def test_scoped_key_has_its_own_limit_before_any_work(api: ApiClient, clock: SettableClock) -> None:
    key, other = create(api, "jobs:read", requests_per_minute=2)["key"], create(api, "jobs:read")["key"]
    assert [call(api, key, "GET", "/v1/jobs").status for _ in range(3)] == [200, 200, 429]
    answer = call(api, key, "GET", "/v1/jobs")
    assert "2 requests per minute" in answer.json["detail"]
    assert call(api, other, "GET", "/v1/jobs").status == 200
    clock.set(NOON + int(answer.headers["retry-after"]))
    assert call(api, key, "GET", "/v1/jobs").status == 200


def test_scoped_key_counts_for_the_tenant(tables: Tables, clock: SettableClock) -> None:
    api = stage(tables, clock, requests_per_second=1, burst=4)
    key = create(api, "jobs:read")["key"]
    answers = [call(api, key, "GET", "/v1/jobs") for _ in range(5)]
    assert [each.status for each in answers] == [200, 200, 200, 429, 429]
    assert "1 per second are allowed" in answers[-1].json["detail"]


@pytest.mark.parametrize(("method", "path", "body"), [
    ("POST", "/v1/keys", {"scope": "jobs:read"}), ("POST", "/v1/keys", {"scope": "run:report"}),
    ("GET", "/v1/keys", None), ("DELETE", "/v1/keys/{id}", None),
])  # fmt: skip
def test_scoped_key_can_neither_create_list_nor_revoke_keys(api: ApiClient, method: str, path: str, body: Any) -> None:
    made = create(api, "jobs:read jobs:write")
    answer = call(api, made["key"], method, path.format(**made), body)
    assert refusal(answer) == (403, "scope-missing")
    assert answer.json["detail"] == "An API key cannot create, list or revoke API keys; use a token."
    assert call(api, made["key"], "GET", "/v1/jobs").status == 200


@pytest.mark.parametrize("signed", [False, True])
def test_scoped_key_is_told_apart_from_a_key_that_starts_runs(api: ApiClient, signed: bool) -> None:
    runs, reads = create(api, "run:report", signed=signed)["key"], create(api, "jobs:read jobs:write")["key"]
    refused = call(api, runs, "GET", "/v1/jobs")
    assert refusal(refused) == (403, "scope-missing")
    assert "scope run:JOB, and is only for POST /v1/hooks" in refused.json["detail"]
    assert "report" not in refused.text
    hooks = [
        api.send(api_event("POST", f"/v1/hooks/{reads}")),
        api.send(api_event("POST", "/v1/hooks", headers={"authorization": f"Bearer {reads}"})),
        call(api, reads, "POST", "/v1/hooks"),
    ]
    for answer in hooks:
        assert refusal(answer) == (403, "scope-missing")
        assert "needs an API key with the scope run:JOB; this key has jobs:read jobs:write" in answer.json["detail"]
    assert [each for each in api.wheel.sent if each.message.suffix] == []


@pytest.mark.parametrize(("granted", "scope", "beyond"), [
    (("jobs:write",), "jobs:read", "jobs:read"),
    (("jobs:write",), "jobs:write:tag=team-a jobs:read:tag=team-a", "jobs:read:tag=team-a"),
    (("jobs:write", "jobs:read:tag=team-a"), "jobs:read", "jobs:read"),
    (("jobs:write", "jobs:read:tag=team-a"), "jobs:read:tag=team-b", "jobs:read:tag=team-b"),
    (("jobs:write", "jobs:read:tag=team-a"), "jobs:write:tag=team-b jobs:read:tag=team-a", None),
    (("jobs:write", "jobs:read"), "jobs:write jobs:read:tag=team-b", None),
])  # fmt: skip
def test_scoped_key_cannot_have_a_scope_that_its_creator_does_not_have(
    api: ApiClient, granted: tuple[str, ...], scope: str, beyond: str | None
) -> None:
    answer = asked(api, scope, jwt_caller("acme", *granted))
    if beyond is None:
        assert answer.status == 201, answer.text
        return
    assert refusal(answer) == (403, "scope-missing")
    assert answer.errors["/scope"] == f"must have only scopes that you have; you do not have {beyond}"
    api.caller = OWNER
    assert api.get("/v1/keys").json["items"] == []


def test_scoped_key_cannot_be_created_with_tag_scoped_permissions_alone(api: ApiClient) -> None:
    caller = jwt_caller("acme", "jobs:write:tag=team-a", "jobs:read:tag=team-a")
    for scope in ("jobs:read", "jobs:read:tag=team-a", "jobs:write:tag=team-b"):
        assert refusal(asked(api, scope, caller)) == (403, "scope-missing")


@pytest.mark.parametrize("scope", [
    "jobs", "ops", "jobs:delete", "jobs:read,jobs:write", "jobs:read  jobs:write", "jobs:read ", "jobs:read ops",
    "jobs:read:tag=", "jobs:read:tag=a b", "jobs:read run:report", "run:report jobs:read", "jobs:read\n",
    " ".join(f"jobs:read:tag={number}" for number in range(21)),
])  # fmt: skip
def test_scoped_key_with_invalid_scopes_is_refused(api: ApiClient, scope: str) -> None:
    answer = asked(api, scope)
    assert refusal(answer) == (422, "invalid-key")
    assert "jobs:read jobs:write:tag=billing" in answer.errors["/scope"]


@pytest.mark.parametrize("fields", [
    {"debounce_seconds": 60}, {"debounce_seconds": 60, "debounce_key": "{{payload.a}}"},
    {"deduplicate_key": "{{payload.a}}"}, {"signed": True}, {"events": ["push"]},
])  # fmt: skip
def test_scoped_key_has_no_fields_of_triggers(api: ApiClient, fields: dict[str, Any]) -> None:
    answer = asked(api, "jobs:read", **fields)
    assert refusal(answer) == (422, "invalid-key")
    assert set(answer.errors) == {f"/{name}" for name in fields}
    assert all("requires a key with the scope run:JOB" in each for each in answer.errors.values())


def test_scoped_key_of_a_repeated_request_replaces_the_first(api: ApiClient) -> None:
    def repeated(scope: str) -> Answered:
        api.caller = OWNER
        body, headers = json.dumps({"scope": scope}), {"idempotency-key": "mine"}
        answer = api.send(api_event("POST", "/v1/keys", body=body, headers=headers))
        api.caller = None
        return answer

    lost, made = repeated("jobs:read jobs:write").json["key"], repeated("jobs:write jobs:read").json["key"]
    assert refusal(call(api, lost, "GET", "/v1/jobs")) == (401, "bad-key")
    assert call(api, made, "GET", "/v1/jobs").status == 200
    assert refusal(repeated("jobs:read")) == (422, "idempotency-key-reused")
