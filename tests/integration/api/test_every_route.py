"""Every route there is, called by another tenant, without the scope it asks for, and by nobody: never an answer about
what belongs to someone else, never a change. Each call is shown to work for the owner, so that none of them is refused
for another reason.
"""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from duecourse.api.identity import SCOPES
from duecourse.api.routes.table import OPEN, ROUTES
from duecourse.domain.ids import key_queue
from duecourse.domain.instants import DAY_SECONDS
from duecourse.domain.jobs.calendars import Calendar
from duecourse.domain.runs.api_keys import ApiKey, key_text, no_job
from duecourse.domain.runs.operations import Operation, OperationKind
from duecourse.domain.runs.overlap import KeyLimit, Lock
from duecourse.domain.runs.states import RunState
from duecourse.domain.runs.workers import Sighting, WorkerGroup
from duecourse.domain.targets.targets import HttpTarget
from duecourse.testing.clock import SettableClock
from tests.support import in_process
from tests.support.api import HTTP_TARGET, Answered, ApiClient, api_settings
from tests.support.api_events import api_event, jwt_caller
from tests.support.every_route import CALENDAR, INSTANT, JOB, KEY, TAG, WORKFLOW, asked
from tests.support.jobs import NOON, cursor
from tests.support.jobs import job as made_job
from tests.support.openapi import resolved, strict_document
from tests.support.runs import run, waiting_run
from tests.support.tables import Tables, create_tables
from tests.support.workflows import add_ended_workflow

OWNER, STRANGER = "acme", "globex"
OPERATION = "op-1"
SETTINGS = api_settings(auth="jwt", operator_tenant=OWNER)
OF_THE_OPERATOR = ("GET", "/v1/tenants")
SECRET = "the owner's words"
RUNS = {
    "workflow": f"{WORKFLOW}.{INSTANT}",
    "waiting": "plan.20261121T120000Z",
    "dead": "plan.20261121T120100Z",
    "held": "plan.20261121T120200Z",
}
ALL = [(method, path) for method, path, *_ in ROUTES]
CLOSED = [route for route in ALL if route not in OPEN]
CALLBACKS = sorted(route for route in OPEN if "<run_id>" in route[1])
HOOKS = sorted(route for route in OPEN if "/hooks" in route[1])
API_KEY = key_text(OWNER, "n" * 32)
each_closed = pytest.mark.parametrize(("method", "path"), CLOSED, ids=[" ".join(route) for route in CLOSED])


SCOPES_OF = {(route.method, route.path): route.scopes for route in ROUTES}


class Tenants:
    """The API with jobs and runs of one tenant, and what is stored of it."""

    def __init__(self, tables: Tables) -> None:
        clock = SettableClock(NOON)
        self._tables = tables
        self.tags: tuple[str, ...] = ()
        """Of the jobs in requests' bodies."""
        self.key: str | None = None
        """Of requests below the prefix of API keys, without the prefix if it is None."""
        self.api = ApiClient.over(tables, clock, settings=SETTINGS, workflows=tables.workflows(clock))
        # It also has the mark of a shadow, so that the routes about shadows accept it.
        job = made_job("rate(60 seconds)", id=JOB, at=NOON - 7200, expect_every=60, shadow_since=NOON - 7200)
        target = HttpTarget(HTTP_TARGET["url"])
        job = replace(job, tenant=OWNER, tags=(TAG,), payload={"text": SECRET}, target=target)
        assert self.api.jobs.create(job, cursor(job))
        add_ended_workflow(self.api, OWNER, WORKFLOW, payload={"text": SECRET}, tags=(TAG,))
        assert self.api.jobs.calendars.put(Calendar(OWNER, CALENDAR, "fcz", SECRET), None)
        assert self.api.jobs.key_limits.put(KeyLimit(OWNER, KEY, {"concurrency": 5}, NOON, SECRET))
        operation = Operation(OWNER, OPERATION, OperationKind.REDRIVE, NOON, SECRET, states=(RunState.DEAD,))
        operation = replace(operation, tags=frozenset({TAG}), continues_at=NOON)
        assert self.api.jobs.operations.create(operation, 0, None)
        generation, until = job.created_generation, int(NOON) + DAY_SECONDS
        of_job = ApiKey(OWNER, API_KEY.id, API_KEY.hash, JOB, generation, SECRET, NOON, SECRET, until)
        assert self.api.jobs.api_keys.add(of_job, 0)
        starting = Lock(f"{JOB}.20261121T115900Z", NOON + 60, 2)
        assert self.api.runs.lock(OWNER, key_queue(KEY), starting, None) is None
        record = self.api.runs.write
        waiting = waiting_run(job)
        assert record(waiting, None) is None
        noted = WorkerGroup((Sighting("host-7", NOON, waiting.run_id, waiting.attempt),), 1)
        assert self.api.runs.workers.replace(OWNER, 0, noted)
        assert record(run(job, RunState.DEAD, after=60, error=SECRET), None) is None
        assert record(run(job, RunState.RETRYING, after=120), None) is None
        self.api.caller = jwt_caller(OWNER, *SCOPES)
        delayed = self.api.post({"delay_seconds": 3600}, f"/v1/jobs/{JOB}/run")
        self.delayed: str = delayed.json["id"]
        self.api.log.seek(0)
        self.api.log.truncate()

    def call(self, method: str, path: str, caller: Mapping[str, Any] | None, **given: str) -> Answered:
        """The route's call about the owner's job or run, or about what is given."""
        query, body = asked(method, path, self.tags)
        name = {"redrive": "dead", "discard": "dead", "cancel": "held", "rerun": "workflow"}.get(
            path.rpartition("/")[2], "waiting"
        )
        run_id = self.delayed if method == "PATCH" else RUNS[name]
        values = {"job_id": JOB, "run_id": run_id, "workflow_id": WORKFLOW, "instant": INSTANT}
        values |= {"calendar_id": CALENDAR, "limit_key": KEY, "key_id": API_KEY.id}
        values |= {"operation_id": OPERATION, **given}
        real = path
        for each, value in values.items():
            real = real.replace(f"<{each}>", value)
        query = query | {name: value for name, value in given.items() if f"<{name}>" not in path}
        self.api.caller = caller
        text = None if body is None else json.dumps(body)
        if self.key is None:
            return self.api.send(api_event(method, real, query=query, body=text))
        headers = {"authorization": f"Bearer {self.key}"}
        return self.api.send(api_event(method, f"/key{real}", query=query, body=text, headers=headers))

    def with_key(self, tenant: str, *scopes: str) -> None:
        """Send the requests with a new key of this tenant."""
        text, until = key_text(tenant, "s" * 32), int(NOON) + DAY_SECONDS
        permits, keys = frozenset(scopes), self.api.jobs.api_keys
        key = ApiKey(tenant, text.id, text.hash, no_job(permits), 0, "", NOON, "ann", until, scopes=permits)
        assert keys.add(key, keys.all(tenant).version)
        keys.note_use(key, NOON)
        self.key = text.text

    def of_the_owner(self) -> list[Any]:
        """All items with the owner's name in their keys, and what was sent in its name."""
        tables, items = (self._tables.jobs, self._tables.runs), []
        for table in tables:
            pages = self._tables.client.get_paginator("scan").paginate(TableName=table)
            items += [item for page in pages for item in page["Items"] if f"#{OWNER}" in item["PK"]["S"]]
        sent = [outgoing.message for outgoing in self.api.wheel.sent if outgoing.message.tenant == OWNER]
        return sorted(map(repr, items)) + sent


OF_ANY_KEY = {"/v1/limits/<limit_key>/hold", "/v1/limits/<limit_key>/close"}
"""A tenant may hold and close a key that none of its runs has used yet."""

NAMES_A_JOB = (
    ("POST", "/v1/keys"),
    ("POST", "/v1/runs/cancel"),
    ("POST", "/v1/operations"),
    ("POST", "/v1/operations/estimate"),
)
"""The requests whose body names a job."""


@pytest.fixture
def tenants(tables: Tables) -> Tenants:
    return Tenants(tables)


@pytest.fixture(scope="module")
def untouched() -> Tenants:
    """For calls that are refused: those before left nothing, as each of them has found."""
    return Tenants(create_tables(in_process.dynamodb()))


def kind(answer: Answered) -> str:
    return str(answer.json["type"]).removeprefix("/problems/")


@each_closed
def test_every_route_answers_the_owner(tenants: Tenants, method: str, path: str) -> None:
    answer = tenants.call(method, path, jwt_caller(OWNER, *SCOPES))
    assert answer.status in (200, 201, 202, 204), answer.text


@each_closed
def test_every_route_reveals_nothing_and_changes_nothing_for_another_tenant(
    tenants: Tenants, method: str, path: str
) -> None:
    before = tenants.of_the_owner()
    answer = tenants.call(method, path, jwt_caller(STRANGER, *SCOPES))
    assert tenants.of_the_owner() == before
    assert SECRET not in answer.text
    assert OWNER not in answer.text
    if ("<" in path and method != "PUT" and path not in OF_ANY_KEY) or (method, path) in NAMES_A_JOB:
        assert (answer.status, kind(answer)) in [
            (404, f"unknown-{what}") for what in ("job", "run", "workflow", "calendar", "limit", "key", "operation")
        ]
        return
    if (method, path) == OF_THE_OPERATOR:
        assert (answer.status, kind(answer)) == (403, "not-operator")
        return
    assert answer.status in (200, 201, 202), answer.text
    if "items" in answer.json and path != "/v1/jobs/batch":
        assert answer.json["items"] == []
    assert answer.json.get("changed", 0) in (0, [])
    assert answer.json.get("redriven", 0) in (0, [])
    if path == "/v1/stats":
        assert (answer.json["jobs"]["count"], answer.json["dead_runs"]["count"]) == (0, 0)


@each_closed
def test_every_route_answers_foreign_ids_like_nonexistent_ids(tenants: Tenants, method: str, path: str) -> None:
    """Or strangers could ask which jobs there are."""
    caller = jwt_caller(STRANGER, *SCOPES)
    elsewhere = tenants.call(method, path, caller)
    nowhere = tenants.call(method, path, jwt_caller("initech", *SCOPES))
    assert elsewhere.status == nowhere.status
    if elsewhere.status >= 400:
        assert elsewhere.json == nowhere.json


@each_closed
def test_every_route_refuses_callers_without_the_scope_and_changes_nothing(
    untouched: Tenants, method: str, path: str
) -> None:
    before = untouched.of_the_owner()
    for caller in (jwt_caller(OWNER, *SCOPES - SCOPES_OF[method, path]), jwt_caller(OWNER)):
        answer = untouched.call(method, path, caller)
        assert (answer.status, kind(answer)) == (403, "scope-missing")
        assert any(scope in answer.json["detail"] for scope in SCOPES_OF[method, path])
        assert SECRET not in answer.text
    assert untouched.of_the_owner() == before


OF_KEYS = {"jobs:read", "jobs:write"}
"""The scopes that API keys can have."""


@each_closed
def test_every_route_accepts_an_api_key_with_its_scope_but_no_route_of_keys_does(
    tenants: Tenants, method: str, path: str
) -> None:
    tenants.with_key(OWNER, *OF_KEYS)
    answer = tenants.call(method, path, None)
    if path.startswith("/v1/keys") or not SCOPES_OF[method, path] & OF_KEYS:
        assert (answer.status, kind(answer)) == (403, "scope-missing")
        return
    assert answer.status in (200, 201, 202, 204), answer.text


@each_closed
def test_every_route_refuses_api_keys_without_the_scope_and_changes_nothing(
    tenants: Tenants, method: str, path: str
) -> None:
    others = OF_KEYS - SCOPES_OF[method, path]
    tenants.with_key(OWNER, *others)
    tenants.call("GET", "/v1/health", None)  # the bucket of the key's requests
    before = tenants.of_the_owner()
    assert (answer := tenants.call(method, path, None)).status == 403
    assert (kind(answer), SECRET in answer.text) == ("scope-missing", False)
    assert [each for each in tenants.of_the_owner() if "RATE" not in each] == [
        each for each in before if "RATE" not in each
    ]


@each_closed
def test_every_route_refuses_requests_below_the_prefix_without_an_api_key(
    untouched: Tenants, method: str, path: str
) -> None:
    before, untouched.key = untouched.of_the_owner(), "no key"
    try:
        answer = untouched.call(method, path, jwt_caller(OWNER, *SCOPES))
    finally:
        untouched.key = None
    assert (answer.status, kind(answer)) == (401, "bad-key")
    assert untouched.of_the_owner() == before


@each_closed
def test_every_route_reveals_nothing_and_changes_nothing_for_an_api_key_of_another_tenant(
    tenants: Tenants, method: str, path: str
) -> None:
    before = tenants.of_the_owner()
    tenants.with_key(STRANGER, *OF_KEYS)
    answer = tenants.call(method, path, None)
    assert tenants.of_the_owner() == before
    assert SECRET not in answer.text
    assert OWNER not in answer.text


@each_closed
def test_every_route_accepts_a_single_required_scope(tenants: Tenants, method: str, path: str) -> None:
    (scope, *_) = sorted(SCOPES_OF[method, path])
    answer = tenants.call(method, path, jwt_caller(OWNER, scope))
    assert answer.status in (200, 201, 202, 204), answer.text


@each_closed
@pytest.mark.parametrize(
    ("caller", "refused"),
    [(None, (401, "not-authenticated")), (jwt_caller(None, *SCOPES), (403, "bad-tenant"))],
    ids=["nobody", "no tenant"],
)
def test_every_route_refuses_unauthenticated_callers_that_the_gateway_let_through(
    untouched: Tenants, method: str, path: str, caller: Any, refused: tuple[int, str]
) -> None:
    before = untouched.of_the_owner()
    answer = untouched.call(method, path, caller)
    assert (answer.status, kind(answer)) == refused
    assert untouched.of_the_owner() == before


@each_closed
def test_every_route_links_of_a_response_resolve(tenants: Tenants, method: str, path: str) -> None:
    owner = jwt_caller(OWNER, *SCOPES)
    first = tenants.call(method, path, owner)
    reply = resolved(operation(method, path)["responses"][str(first.status)])
    for link in sorted(reply.get("links", {}).values(), key=lambda link: link["operationId"] == "deleteJob"):
        (target,) = [route for route in ALL if operation(*route)["operationId"] == link["operationId"]]
        values = {name: pointed(expression, first.json) for name, expression in link["parameters"].items()}
        if None not in values.values():  # as where there is no next page
            answer = tenants.call(*target, owner, **values)
            assert answer.status < 400 or answer.status == 409 or target in CALLBACKS, (link, answer.text)


def operation(method: str, path: str) -> dict[str, Any]:
    found: dict[str, Any] = strict_document()["paths"][path.replace("<", "{").replace(">", "}")][method.lower()]
    return found


def pointed(expression: str, answer: Any) -> Any:
    """What a link's expression points to in an answer."""
    for step in expression.removeprefix("$response.body#/").split("/"):
        answer = answer[int(step) if isinstance(answer, list) else step]
    return answer


@pytest.mark.parametrize(("method", "path"), CALLBACKS)
@pytest.mark.parametrize("caller", [None, jwt_caller(OWNER, *SCOPES), jwt_caller(STRANGER, *SCOPES)])
def test_every_route_callbacks_require_the_run_token_regardless_of_scopes(
    untouched: Tenants, method: str, path: str, caller: Any
) -> None:
    before = untouched.of_the_owner()
    answer = untouched.call(method, path, caller)
    assert (answer.status, kind(answer)) == (401, "bad-token")
    assert untouched.of_the_owner() == before


@pytest.mark.parametrize(("method", "path"), HOOKS)
@pytest.mark.parametrize("caller", [None, jwt_caller(OWNER, *SCOPES), jwt_caller(STRANGER, *SCOPES)])
def test_every_route_triggers_require_an_api_key_regardless_of_scopes(
    untouched: Tenants, method: str, path: str, caller: Any
) -> None:
    before = untouched.of_the_owner()
    answer = untouched.call(method, path, caller, key=str(key_text(OWNER, "x" * 32).text))
    assert (answer.status, kind(answer)) == (401, "bad-key")
    assert untouched.of_the_owner() == before


@pytest.mark.parametrize("path", sorted(path for verb, path in OPEN if "<" not in path and verb == "GET"))
def test_every_route_public_responses_reveal_no_tenant_data(tenants: Tenants, path: str) -> None:
    answer = tenants.call("GET", path, None)
    assert answer.status in (200, 503)  # no tick was ever seen here
    assert SECRET not in answer.text
    assert OWNER not in answer.text
    if path == "/v1/health":
        assert set(answer.json) == {"status"}


def test_every_route_log_names_the_caller_without_the_token(tenants: Tenants) -> None:
    tenants.call("GET", "/v1/jobs", jwt_caller(OWNER, "jobs:read"))
    (line,) = tenants.api.log_lines
    assert line["tenant"] == OWNER
    assert "claims" not in json.dumps(line)
