"""What operators read of all tenants over the API."""

from dataclasses import replace

import pytest

from duecourse.api.identity import SCOPES
from duecourse.checks.tenants import DOLLARS_A_MILLION, TenantFigures
from duecourse.domain.maintenance.tenants import OTHERS, TenantReport
from duecourse.domain.runs.states import RunState
from duecourse.testing.clock import SettableClock
from duecourse.testing.metrics import MemoryMetrics
from duecourse.testing.stores import MemoryStores
from tests.support.api import Answered, ApiClient, api_settings
from tests.support.api_events import jwt_caller
from tests.support.jobs import NOON, job
from tests.support.limits import FixedMetrics
from tests.support.runs import run

OPERATOR, TENANT = "platform", "acme"
REPORT = TenantReport(
    NOON - 3600,
    {
        TENANT: TenantFigures(120, 3, 118, 2_000_000),
        OTHERS: TenantFigures(7, 0, 7, 0),
        "old": TenantFigures(state="erased"),
    },
)


@pytest.fixture
def tables() -> MemoryStores:
    return MemoryStores()


@pytest.fixture
def api(tables: MemoryStores) -> ApiClient:
    settings = api_settings(auth="jwt", operator_tenant=OPERATOR)
    clock = SettableClock(NOON)
    api = ApiClient.over(tables, clock, settings=settings, metrics=MemoryMetrics(clock))
    api.caller = jwt_caller(OPERATOR, "ops")
    return api


def refusal(answer: Answered) -> tuple[int, str]:
    return answer.status, str(answer.json["type"]).removeprefix("/problems/")


def test_tenants_over_http_operators_read_the_figures_and_the_runs_of_all_tenants(
    api: ApiClient, tables: MemoryStores
) -> None:
    tables.tenant_reports().keep(REPORT)
    waits = run(replace(job(), tenant=TENANT), RunState.WAITING)
    assert tables.run_store().write(waits, None) is None
    answer = api.get("/v1/tenants")
    assert answer.status == 200, answer.text
    first, erased, others = answer.json["tenants"]
    assert (answer.json["as_of"], answer.json["quota"]) == ("2026-11-21T11:00:00Z", 1000)
    assert answer.json["all_runs_counted"]
    assert {each["name"] for each in answer.json["objectives"]} == {"lateness", "availability"}
    assert first | {"oldest_waiting_seconds": None} == {
        "tenant": TENANT,
        "state": "active",
        "jobs": 120,
        "paused": 3,
        "quota_used": 118,
        "running": 0,
        "waiting": 1,
        "oldest_waiting_seconds": None,
        "runs_per_day": 2_000_000,
        "dollars_per_day": 2 * DOLLARS_A_MILLION,
    }
    assert first["oldest_waiting_seconds"] is not None
    assert (erased["tenant"], erased["state"]) == ("old", "erased")
    assert (others["tenant"], others["jobs"]) == (None, 7)


def test_tenants_over_http_stage_without_a_pass_lists_runs_in_progress_only(
    api: ApiClient, tables: MemoryStores
) -> None:
    assert api.get("/v1/tenants").json["tenants"] == []
    tables.run_store().write(run(job(), RunState.QUEUED), None)
    api.clock.advance(61)
    answer = api.get("/v1/tenants")
    assert answer.json["as_of"] is None
    assert [(each["tenant"], each["jobs"], each["waiting"]) for each in answer.json["tenants"]] == [("default", 0, 1)]


def test_tenants_over_http_response_is_reused_for_a_minute(api: ApiClient, tables: MemoryStores) -> None:
    api.get("/v1/tenants")
    tables.tenant_reports().keep(REPORT)
    api.clock.advance(59)
    assert api.get("/v1/tenants").json["as_of"] is None
    api.clock.advance(1)
    assert api.get("/v1/tenants").json["as_of"] is not None


def test_tenants_over_http_only_the_operator_tenant_may_read_them(api: ApiClient, tables: MemoryStores) -> None:
    tables.tenant_reports().keep(REPORT)
    api.caller = jwt_caller(TENANT, *SCOPES)
    answer = api.get("/v1/tenants")
    assert refusal(answer) == (403, "not-operator")
    assert "use a token of that tenant" in answer.json["detail"]
    assert OPERATOR not in answer.text


def test_tenants_over_http_operator_tenant_needs_the_scope_ops(api: ApiClient) -> None:
    api.caller = jwt_caller(OPERATOR, "jobs:read", "jobs:write")
    assert refusal(api.get("/v1/tenants")) == (403, "scope-missing")


def test_tenants_over_http_stage_without_an_operator_tenant_has_no_list() -> None:
    api = ApiClient.over(MemoryStores(), SettableClock(NOON), settings=api_settings(auth="jwt"))
    api.caller = jwt_caller(OPERATOR, *SCOPES)
    answer = api.get("/v1/tenants")
    assert refusal(answer) == (404, "unknown-path")
    assert "operator_tenant" in answer.json["detail"]


def test_tenants_over_http_objectives_are_null_without_cloudwatch(tables: MemoryStores) -> None:
    api = ApiClient.over(tables, settings=api_settings(operator_tenant="default"), metrics=FixedMetrics("throttled"))
    answer = api.get("/v1/tenants")
    assert (answer.status, answer.json["objectives"]) == (200, None)
