"""API keys over HTTP, and the trigger URLs that run jobs with them."""

import hmac
import json
from base64 import b64encode
from typing import Any

import pytest

from duecourse.domain.ids import parse_run_id
from duecourse.domain.instants import DAY_SECONDS
from duecourse.domain.runs.api_keys import MAX_KEYS, ApiKey, KeyText, key_text, read_key_text
from duecourse.domain.runs.rendering import render_document
from duecourse.testing.clock import SettableClock
from duecourse.testing.faults import around, before
from tests.support.api import BODY, Answered, ApiClient, api_settings
from tests.support.api_events import api_event, json_event, jwt_caller
from tests.support.jobs import NOON
from tests.support.tables import Tables

JOB = BODY | {"id": "report", "payload": {"from": "the job"}}
OWNER = jwt_caller("acme", "jobs:write", "jobs:read")


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock(NOON)


@pytest.fixture
def api(tables: Tables, clock: SettableClock) -> ApiClient:
    """The API of a stage with tokens, with a job of the tenant acme."""
    api = ApiClient.over(tables, clock, settings=api_settings(auth="jwt"), workflows=tables.workflows(clock))
    api.caller = OWNER
    assert api.post(JOB).status == 201
    return api


def create(api: ApiClient, **fields: Any) -> Any:
    api.caller = OWNER
    answer = api.send(json_event("POST", "/v1/keys", {"scope": "run:report"} | fields))
    assert answer.status == 201, answer.text
    api.caller = None
    return answer.json


def trigger(api: ApiClient, key: str, body: Any = None, **headers: str) -> Answered:
    text = None if body is None else json.dumps(body)
    return api.send(api_event("POST", f"/v1/hooks/{key}", body=text, headers=headers))


def as_owner(api: ApiClient, method: str, path: str) -> Answered:
    api.caller = OWNER
    answer = api.send(api_event(method, path, content_type=None))
    api.caller = None
    return answer


def refusal(answer: Answered) -> tuple[int, str]:
    return answer.status, answer.json["type"].removeprefix("/problems/")


def payload(api: ApiClient, run_id: str) -> Any:
    """What the run's target receives."""
    name = parse_run_id(run_id)
    asked = api.inputs.get("acme", name.job_id, name.suffix)
    assert asked is not None
    return render_document(asked.payload, {"run_id": run_id})


def test_keys_key_is_created_listed_and_revoked(api: ApiClient, tables: Tables) -> None:
    made = create(api, description="GitHub")
    text = made.pop("key")
    assert made.pop("secret") is None
    assert made.pop("path") == f"/v1/hooks/{text}"
    assert text.startswith("dck_acme.")
    assert made == {
        "id": made["id"],
        "scope": "run:report",
        "description": "GitHub",
        "created_at": "2026-11-21T12:00:00.000Z",
        "created_by": "ann",
        "expires_at": "2027-02-19T12:00:00Z",
        "last_used_at": None,
        "requests_per_minute": 60,
        "debounce_seconds": None,
        "debounce_key": None,
        "deduplicate_key": None,
        "signed": False,
        "events": [],
    }
    assert as_owner(api, "GET", "/v1/keys").json == {"items": [made]}
    assert text not in repr(tables.client.scan(TableName=tables.jobs)["Items"])
    assert trigger(api, text).status == 202
    assert as_owner(api, "DELETE", f"/v1/keys/{made['id']}").status == 204
    assert refusal(trigger(api, text)) == (401, "bad-key")
    assert as_owner(api, "GET", "/v1/keys").json == {"items": []}
    assert refusal(as_owner(api, "DELETE", f"/v1/keys/{made['id']}")) == (404, "unknown-key")
    changes = as_owner(api, "GET", "/v1/jobs/report/history").json["items"]
    assert [(each["action"], each["principal"]) for each in changes if each["action"].startswith("key")] == [
        ("key_revoked", "ann"),
        ("key_created", "ann"),
    ]


def test_keys_trigger_url_runs_the_job_with_the_body_as_its_payload(api: ApiClient) -> None:
    made = create(api)
    answer = trigger(api, made["key"], {"day": "2026-11-20"})
    run = answer.json
    assert (answer.status, run["job_id"], run["requested_by"]) == (202, "report", f"key:{made['id']}")
    assert answer.headers["location"] == f"/v1/runs/{run['id']}"
    (sent,) = [each.message for each in api.wheel.sent if str(each.message.name) == run["id"]]
    assert (sent.tenant, sent.identity.own_payload) == ("acme", True)
    without = trigger(api, made["key"]).json
    (sent,) = [each.message for each in api.wheel.sent if str(each.message.name) == without["id"]]
    assert not sent.identity.own_payload


def test_keys_key_can_be_in_a_header_instead_of_the_url(api: ApiClient) -> None:
    key = create(api)["key"]
    answer = api.send(api_event("POST", "/v1/hooks", headers={"authorization": f"Bearer {key}"}))
    assert (answer.status, answer.json["job_id"]) == (202, "report")
    for wrong in ({}, {"authorization": key}, {"authorization": "Bearer dck_acme.no"}):
        assert refusal(api.send(api_event("POST", "/v1/hooks", headers=wrong))) == (401, "bad-key")


@pytest.mark.parametrize("mode", ["none", "iam", "jwt", "cognito"])
def test_keys_key_opens_no_other_route_and_works_with_every_kind_of_authentication(
    tables: Tables, clock: SettableClock, api: ApiClient, mode: str
) -> None:
    key = create(api)["key"]
    other = ApiClient.over(tables, clock, settings=api_settings(auth=mode), workflows=tables.workflows(clock))
    assert (answer := trigger(other, key)).status == 202, answer.text
    if mode != "none":
        read = other.send(api_event("GET", "/v1/jobs/report", headers={"authorization": f"Bearer {key}"}))
        assert refusal(read) == (401, "not-authenticated")


@pytest.mark.parametrize("text", [
    "", "x", "dck_", "dck_acme.", "dck_acme.nonce-1", "dck_acme.AAAAAAAAAAAAAAAAAAAAAAAA", "dck_globex.nonce-1nonce-2",
    "..", "%00", "dck_acme%23x.AAAAAAAAAAAAAAAAAAAAAAAA", "dck_" + "a" * 300 + ".b",
])  # fmt: skip
def test_keys_wrong_key_is_refused_without_a_word_about_what_exists(api: ApiClient, text: str) -> None:
    create(api)
    answer = api.send(api_event("POST", "/v1/hooks", headers={"authorization": f"Bearer {text}"}))
    assert refusal(answer) == (401, "bad-key")
    assert "acme" not in answer.text
    assert "report" not in answer.text


def test_keys_expired_key_starts_no_run_and_is_listed_for_a_while(api: ApiClient, clock: SettableClock) -> None:
    key = create(api, expires_in_days=1)["key"]
    clock.set(NOON + DAY_SECONDS - 1)
    assert trigger(api, key).status == 202
    clock.set(NOON + DAY_SECONDS)
    assert refusal(trigger(api, key)) == (401, "bad-key")
    assert len(as_owner(api, "GET", "/v1/keys").json["items"]) == 1


def test_keys_last_use_is_written_once_an_hour(api: ApiClient, clock: SettableClock) -> None:
    key = create(api)["key"]
    uses = []
    for seconds in (10, 3600, 3700):
        clock.set(NOON + seconds)
        trigger(api, key)
        uses.append(as_owner(api, "GET", "/v1/keys").json["items"][0]["last_used_at"][11:19])
    assert uses == ["12:00:10", "12:00:10", "13:01:40"]


def test_keys_limit_of_a_key_answers_429_before_any_work(api: ApiClient, clock: SettableClock) -> None:
    key, other = create(api, requests_per_minute=2)["key"], create(api)["key"]
    assert [trigger(api, key).status for _ in range(3)] == [202, 202, 429]
    answer = trigger(api, key)
    assert refusal(answer) == (429, "too-many-requests")
    assert "2 requests per minute" in answer.json["detail"]
    assert trigger(api, other).status == 202
    clock.set(NOON + int(answer.headers["retry-after"]))
    assert trigger(api, key).status == 202


def test_keys_requests_count_for_the_tenant(tables: Tables, clock: SettableClock) -> None:
    settings = api_settings(auth="jwt", requests_per_second=1, burst=4)
    api = ApiClient.over(tables, clock, settings=settings, workflows=tables.workflows(clock))
    api.caller = OWNER
    assert api.post(JOB).status == 201
    key = create(api)["key"]
    answers = [trigger(api, key) for _ in range(4)]
    assert [each.status for each in answers] == [202, 202, 429, 429]
    assert "1 per second are allowed" in answers[-1].json["detail"]


def signed(secret: str, body: Any) -> dict[str, str]:
    """The header of a request with this body."""
    text = "" if body is None else json.dumps(body)
    return {"x-hub-signature-256": f"sha256={hmac.digest(secret.encode(), text.encode(), 'sha256').hex()}"}


@pytest.mark.parametrize("body", [{"branch": "東京"}, None])
def test_keys_signed_key_runs_the_job_only_with_a_signature_of_the_body(api: ApiClient, body: Any) -> None:
    made, other = create(api, signed=True), create(api, signed=True)
    key, secret = made["key"], made["secret"]
    assert made["signed"]
    assert trigger(api, key, body, **signed(secret, body)).status == 202
    for headers in ({}, signed(other["secret"], body), signed(secret, {"branch": "x"}), {"x-hub-signature-256": "é"}):
        answer = trigger(api, key, body, **headers)
        assert refusal(answer) == (401, "bad-signature")
        assert answer.headers["www-authenticate"] == "Bearer"
    listed = as_owner(api, "GET", "/v1/keys").text
    assert secret not in listed
    assert secret not in json.dumps(api.log_lines)


def test_keys_signature_is_of_the_bytes_that_were_sent(api: ApiClient) -> None:
    made, text = create(api, signed=True), b'{"branch":\t"main"}'
    headers = {"x-hub-signature-256": f"sha256={hmac.digest(made['secret'].encode(), text, 'sha256').hex()}"}
    event = api_event("POST", f"/v1/hooks/{made['key']}", body=b64encode(text).decode(), headers=headers)
    assert api.send({**event, "isBase64Encoded": True}).status == 202
    assert refusal(trigger(api, made["key"], {"branch": "main"}, **headers)) == (401, "bad-signature")


def test_keys_request_without_a_signature_takes_nothing_from_the_limit(api: ApiClient) -> None:
    made = create(api, signed=True, requests_per_minute=1)
    assert [trigger(api, made["key"]).status for _ in range(3)] == [401] * 3
    assert trigger(api, made["key"], **signed(made["secret"], None)).status == 202


def test_keys_secret_is_neither_stored_nor_derived_from_the_url_alone(api: ApiClient, tables: Tables) -> None:
    made = create(api, signed=True)
    stored = repr(tables.client.scan(TableName=tables.jobs)["Items"])
    assert made["secret"] not in stored
    assert made["key"] not in stored
    key = api.jobs.api_keys.get("acme", made["id"])
    assert key is not None
    assert key.salt is not None
    assert len(key.salt) >= 12
    assert read_key_text(made["key"]).secret(key.salt) == made["secret"]


def test_keys_repeated_request_replaces_the_key_whose_text_was_lost(api: ApiClient, clock: SettableClock) -> None:
    def asked(description: str = "GitHub") -> Answered:
        api.caller = OWNER
        body, headers = {"scope": "run:report", "description": description}, {"idempotency-key": "mine"}
        answer = api.send(api_event("POST", "/v1/keys", body=json.dumps(body), headers=headers))
        api.caller = None
        return answer

    lost, made = asked().json, asked().json
    assert [each["id"] for each in as_owner(api, "GET", "/v1/keys").json["items"]] == [made["id"]]
    assert refusal(trigger(api, lost["key"])) == (401, "bad-key")
    assert trigger(api, made["key"]).status == 202
    assert refusal(asked("GitLab")) == (422, "idempotency-key-reused")
    changes = as_owner(api, "GET", "/v1/jobs/report/history").json["items"]
    assert sorted(each["action"] for each in changes if each["action"].startswith("key")) == [
        "key_created", "key_created", "key_revoked",
    ]  # fmt: skip
    clock.set(NOON + DAY_SECONDS)
    assert asked("GitLab").status == 201
    assert trigger(api, made["key"]).status == 202


def asked(api: ApiClient, name: str) -> Answered:
    """Request a key with this idempotency key."""
    api.caller = OWNER
    answer = api.send(api_event("POST", "/v1/keys", body='{"scope": "run:report"}', headers={"idempotency-key": name}))
    api.caller = None
    return answer


@pytest.mark.parametrize("earlier", [0, 1])
def test_keys_slow_request_does_not_replace_the_key_of_its_repetition(api: ApiClient, earlier: int) -> None:
    assert [asked(api, "mine").status for _ in range(earlier)] == [201] * earlier
    repeated = list[Answered]()
    overtake = before(lambda: repeated.append(asked(api, "mine")), times=1)
    api.jobs.api_keys = around(api.jobs.api_keys, add=overtake)
    assert refusal(asked(api, "mine")) == (503, "busy")
    assert [trigger(api, each.json["key"]).status for each in repeated] == [202]


def test_keys_repeated_request_overtaken_by_another_replaces_its_own_key(api: ApiClient) -> None:
    lost, others = asked(api, "mine"), list[Answered]()
    overtake = before(lambda: others.append(asked(api, "other")), times=1)
    api.jobs.api_keys = around(api.jobs.api_keys, add=overtake)
    made = asked(api, "mine")
    assert [trigger(api, each.json["key"]).status for each in (lost, *others, made)] == [401, 202, 202]


def test_keys_repeated_request_is_possible_with_the_last_key(api: ApiClient) -> None:
    for _ in range(MAX_KEYS - 1):
        create(api)
    api.caller = OWNER
    event = api_event("POST", "/v1/keys", body='{"scope": "run:report"}', headers={"idempotency-key": "mine"})
    assert [api.send(event).status for _ in range(2)] == [201, 201]


@pytest.mark.parametrize("header", ["idempotency-key", "webhook-id", "x-github-delivery"])
def test_keys_request_that_the_sender_repeats_starts_one_run(api: ApiClient, header: str) -> None:
    made = create(api)
    answers = [trigger(api, made["key"], {"n": 1}, **{header: name}) for name in ("a", "a", "b")]
    assert [each.status for each in answers] == [202, 202, 202]
    first, second, third = (each.json["id"] for each in answers)
    assert first == second != third
    assert refusal(trigger(api, made["key"], {"n": 2}, **{header: "a"})) == (422, "idempotency-key-reused")
    other = trigger(api, create(api)["key"], {"n": 1}, **{header: "a"}).json["id"]
    assert other not in (first, third)


def test_keys_text_of_a_body_is_no_template(api: ApiClient) -> None:
    body = {"title": "use {{ run_id }} and {{secret:db}} or \\{{x}} }}", "list": ["{{{a}}}", 1, None]}
    run_id = trigger(api, create(api)["key"], body).json["id"]
    assert payload(api, run_id) == body


@pytest.mark.parametrize(("text", "status", "kind"), [
    ("{", 400, "malformed-body"),
    ('{"a": NaN}', 400, "malformed-body"),
    ('{"a": "\\ud800"}', 422, "invalid-command"),
    (json.dumps({"a": "x" * 210_000}), 422, "invalid-command"),
    (json.dumps("x" * 300_000), 413, "body-too-large"),
    ("[" * 60 + "]" * 60, 422, "invalid-command"),
])  # fmt: skip
def test_keys_body_that_cannot_be_a_payload_is_refused(api: ApiClient, text: str, status: int, kind: str) -> None:
    key = create(api)["key"]
    answer = api.send(api_event("POST", f"/v1/hooks/{key}", body=text))
    assert refusal(answer) == (status, kind)
    assert key not in answer.text
    assert "/payload" not in answer.text


def test_keys_burst_of_requests_is_debounced(api: ApiClient, clock: SettableClock) -> None:
    key = create(api, debounce_seconds=60, debounce_key="{{payload.branch}}")["key"]
    clock.set(NOON + 5)
    first = trigger(api, key, {"branch": "main", "n": 1})
    clock.set(NOON + 64)
    second = trigger(api, key, {"branch": "main", "n": 2})
    other = trigger(api, key, {"branch": "next"})
    clock.set(NOON + 65)
    third = trigger(api, key, {"branch": "main", "n": 3})
    assert {each.status for each in (first, second, other, third)} == {202}
    assert first.json["id"] == second.json["id"]
    assert first.json["due"] == "2026-11-21T12:01:15Z"
    assert other.json["due"] == "2026-11-21T12:02:14Z"
    assert third.json["due"] == "2026-11-21T12:02:15Z"
    assert len({each.json["id"] for each in (first, other, third)}) == 3
    assert payload(api, first.json["id"]) == {"branch": "main", "n": 2}
    missing = trigger(api, key, {"n": 4})
    assert refusal(missing) == (422, "invalid-command")
    assert "no string or number at branch" in missing.errors[""]


def test_keys_requests_with_the_same_value_start_one_run(api: ApiClient, clock: SettableClock) -> None:
    key = create(api, deduplicate_key="{{payload.order}}")["key"]
    first = trigger(api, key, {"order": 17, "n": 1})
    clock.set(NOON + 3_600)
    again = trigger(api, key, {"order": 17, "n": 2})
    other = trigger(api, key, {"order": 18, "n": 3})
    assert {each.status for each in (first, again, other)} == {202}
    assert first.json == again.json
    assert other.json["id"] != first.json["id"]
    assert payload(api, first.json["id"]) == {"order": 17, "n": 1}
    missing = trigger(api, key, {"n": 4})
    assert refusal(missing) == (422, "invalid-command")
    assert "no string or number at order" in missing.errors[""]


def test_keys_request_with_the_same_value_starts_a_run_when_the_record_of_the_first_one_has_expired(
    api: ApiClient, clock: SettableClock
) -> None:
    key = create(api, deduplicate_key="{{payload.order}}", expires_in_days=366)["key"]
    days = api.settings.run_retention_days
    ids = []
    for day in (0, days - 1, days + 1, days + 2, 2 * days, 2 * days + 2):
        clock.set(NOON + day * DAY_SECONDS)
        ids.append(trigger(api, key, {"order": 17, "day": day}).json["id"])
        assert ids[-1] in [str(each.message.name) for each in api.wheel.sent]
    assert [ids.index(each) for each in ids] == [0, 0, 2, 2, 2, 5]
    assert payload(api, ids[-1]) == {"order": 17, "day": 2 * days + 2}


def test_keys_answer_of_a_trigger_has_nothing_of_the_run_in_progress(api: ApiClient) -> None:
    answer = trigger(api, create(api)["key"], {"n": 1})
    assert sorted(answer.json) == ["due", "id", "job_id", "requested_by"]


def test_keys_job_that_is_created_again_has_no_keys(api: ApiClient) -> None:
    key = create(api)["key"]
    assert as_owner(api, "DELETE", "/v1/jobs/report").status == 204
    api.caller = OWNER
    assert api.post(JOB).status == 201
    api.caller = None
    assert refusal(trigger(api, key)) == (404, "unknown-job")


def test_keys_burst_without_a_body_is_debounced_by_the_payload_of_the_job(api: ApiClient) -> None:
    key = create(api, debounce_seconds=60, debounce_key="{{payload.from}}")["key"]
    assert trigger(api, key).json["id"] == trigger(api, key).json["id"]


@pytest.mark.parametrize("key_id", ["x", "0" * 2_000, "%00"])
def test_keys_unknown_id_is_answered_with_404(api: ApiClient, key_id: str) -> None:
    assert refusal(as_owner(api, "DELETE", f"/v1/keys/{key_id}")) == (404, "unknown-key")


@pytest.mark.parametrize(("fields", "pointer", "detail"), [
    ({"scope": "report"}, "/scope", 'must be "run:" and the id of a job'),
    ({"scope": "jobs:delete"}, "/scope", 'must be "run:" and the id of a job'),
    ({"expires_in_days": 0}, "/expires_in_days", "from 1 to 366"),
    ({"expires_in_days": 367}, "/expires_in_days", "from 1 to 366"),
    ({"requests_per_minute": 0}, "/requests_per_minute", "from 1 to 6000"),
    ({"debounce_seconds": 3601}, "/debounce_seconds", "from 1 to 3600"),
    ({"debounce_key": "{{payload.a}}"}, "/debounce_key", "set it"),
    ({"debounce_seconds": 9, "deduplicate_key": "{{payload.a}}"}, "/deduplicate_key", "remove one of them"),
    ({"deduplicate_key": "{{week}}"}, "/deduplicate_key", "known names"),
    ({"debounce_seconds": 60, "debounce_key": "{{week}}"}, "/debounce_key", "known names"),
    ({"description": "a\nb"}, "/description", "control"),
    ({"key": "mine"}, "/key", "is not a known field"),
])  # fmt: skip
def test_keys_invalid_key_is_refused(api: ApiClient, fields: Any, pointer: str, detail: str) -> None:
    answer = api.send(json_event("POST", "/v1/keys", {"scope": "run:report"} | fields))
    assert refusal(answer) == (422, "invalid-key")
    assert detail in answer.errors[pointer]


def test_keys_job_of_a_new_key_must_exist(api: ApiClient) -> None:
    assert refusal(api.send(json_event("POST", "/v1/keys", {"scope": "run:nothing"}))) == (404, "unknown-job")


def test_keys_tenant_has_a_limited_number_of_keys(api: ApiClient) -> None:
    made = [create(api) for _ in range(MAX_KEYS)]
    api.caller = OWNER
    answer = api.send(json_event("POST", "/v1/keys", {"scope": "run:report"}))
    assert refusal(answer) == (403, "key-quota")
    assert as_owner(api, "DELETE", f"/v1/keys/{made[0]['id']}").status == 204
    create(api)


def test_keys_key_is_in_no_log_line_or_answer(api: ApiClient) -> None:
    made = create(api)
    key, secret = made["key"], made["key"].partition(".")[2]
    trigger(api, key, {"a": 1})
    trigger(api, key, {"a": "{{"}, **{"x-correlation-id": "c-1"})
    for path in (f"/v1/hooks/{key}", f"/v1/hooks/{key}/more"):
        for method in ("GET", "POST", "DELETE"):
            answer = api.send(api_event(method, path, body="{"))
            assert secret not in answer.text
            assert secret not in repr(answer.headers)
    lines = json.dumps(api.log_lines)
    assert secret not in lines
    assert f"key:{made['id']}" in lines


def test_keys_a_ping_of_github_starts_no_run(api: ApiClient) -> None:
    key = create(api)["key"]
    ping = trigger(api, key, {"zen": "Keep it logically awesome."}, **{"X-GitHub-Event": "ping"})
    assert (ping.status, ping.text) == (204, "")
    assert runs_of(api) == []
    assert trigger(api, key, {}, **{"X-GitHub-Event": "push"}).status == 202


def test_keys_a_ping_with_an_invalid_key_or_signature_is_refused(api: ApiClient) -> None:
    made = create(api, signed=True)
    assert trigger(api, made["key"], {}, **{"X-GitHub-Event": "ping"}).status == 401
    assert trigger(api, made["key"] + "x", {}, **{"X-GitHub-Event": "ping"}).status == 401


def test_keys_for_some_events_ignore_the_others(api: ApiClient) -> None:
    made = create(api, events=["push", "release"])
    assert made["events"] == ["push", "release"]
    for event, status in (("push", 202), ("release", 202), ("issues", 204), ("ping", 204), ("Push", 204)):
        assert trigger(api, made["key"], {"event": event}, **{"X-GitHub-Event": event}).status == status
    missing = trigger(api, made["key"], {})
    assert refusal(missing) == (422, "invalid-command")
    assert "X-GitHub-Event" in missing.text
    assert len(runs_of(api)) == 2
    assert as_owner(api, "GET", "/v1/keys").json["items"][0]["events"] == ["push", "release"]


@pytest.mark.parametrize("events", [[""], ["a" * 65], ["push\n"], ["e"] * 21, "push"])
def test_keys_with_invalid_events_are_refused(api: ApiClient, events: Any) -> None:
    answer = api.send(json_event("POST", "/v1/keys", {"scope": "run:report", "events": events}))
    assert refusal(answer) == (422, "invalid-key")


def runs_of(api: ApiClient) -> list[Any]:
    """The runs that the API has sent to a lane."""
    return [each for each in api.wheel.sent if each.message.suffix]


def test_keys_invented_key_is_refused_without_a_read(api: ApiClient) -> None:
    reads: list[None] = []
    known = key_text("acme", "s" * 32).text
    typo = known[:-1] + ("0" if known[-1] != "0" else "1")
    other_tenant = known.replace("acme", "acne")
    api.jobs.api_keys = around(api.jobs.api_keys, get=before(lambda: reads.append(None)))
    api.caller = None
    for text in ("nonsense", "dck_acme." + "A" * 40, "dck_acme." + "A" * 64, typo, other_tenant):
        assert refusal(trigger(api, text)) == (401, "bad-key")
    assert reads == []
    assert refusal(trigger(api, known)) == (401, "bad-key")
    assert refusal(trigger(api, "dck_acme." + "A" * 32)) == (401, "bad-key")  # may be of an earlier release
    assert len(reads) == 2


def test_keys_of_an_earlier_release_keep_working(api: ApiClient) -> None:
    old = KeyText("acme", "dck_acme." + "s" * 32)
    job = api.jobs.get("acme", "report")
    assert job is not None
    stored = ApiKey(
        "acme", old.id, old.hash, "report", job.created_generation, "", NOON, "ann", int(NOON) + DAY_SECONDS
    )
    assert api.jobs.api_keys.add(stored, 0)
    api.caller = None
    assert trigger(api, old.text).status == 202
