"""Every route there is, called with scopes that are narrowed to a tag: what has the tag is reached, nothing else is."""

# ruff: noqa: F811 - a fixture of another file is named like the argument that it fills

from dataclasses import replace
from typing import Any

import pytest

from duecourse.api.identity import SCOPES
from duecourse.domain.instants import to_iso
from duecourse.domain.runs.states import RunState
from duecourse.domain.targets.targets import WorkflowTarget
from duecourse.domain.workflows.graph import WorkflowRef
from duecourse.testing.faults import after, around
from tests.integration.api.test_every_route import (
    CLOSED,
    OWNER,
    SCOPES_OF,
    SECRET,
    Tenants,
    each_closed,
    kind,
    tenants,  # noqa: F401 - the fixture
)
from tests.support.api import BODY, HTTP_TARGET, Answered
from tests.support.api_events import api_event, json_event, jwt_caller
from tests.support.every_route import JOB, TAG, WORKFLOW
from tests.support.jobs import NOON, cursor
from tests.support.jobs import job as made_job
from tests.support.runs import run

OTHER = "reports"
"""A tag that nothing has."""

OF_A_JOB = "the job of the path decides"
LIST = "shows what has the tag"
WRITTEN = "the job that is written decides"
NO_JOB = "concerns no job"
REFUSED = "needs the whole scope"
OF_THE_CREATOR = "the tags of its creator decide"

MEANING = {
    ("POST", "/v1/jobs"): WRITTEN,
    ("GET", "/v1/jobs"): LIST,
    ("GET", "/v1/job-summaries"): LIST,
    ("POST", "/v1/jobs/batch"): WRITTEN,
    ("POST", "/v1/jobs/spread"): WRITTEN,
    ("POST", "/v1/jobs/pause"): REFUSED,
    ("POST", "/v1/jobs/resume"): REFUSED,
    ("GET", "/v1/jobs/<job_id>"): OF_A_JOB,
    ("PUT", "/v1/jobs/<job_id>"): WRITTEN,
    ("PATCH", "/v1/jobs/<job_id>"): OF_A_JOB,
    ("DELETE", "/v1/jobs/<job_id>"): OF_A_JOB,
    ("POST", "/v1/jobs/<job_id>/pause"): OF_A_JOB,
    ("POST", "/v1/jobs/<job_id>/resume"): OF_A_JOB,
    ("POST", "/v1/jobs/<job_id>/run"): OF_A_JOB,
    ("POST", "/v1/jobs/<job_id>/run/batch"): OF_A_JOB,
    ("POST", "/v1/jobs/<job_id>/backfill"): OF_A_JOB,
    ("POST", "/v1/jobs/<job_id>/skip-next"): OF_A_JOB,
    ("GET", "/v1/jobs/<job_id>/warnings"): OF_A_JOB,
    ("POST", "/v1/jobs/<job_id>/test-notice"): OF_A_JOB,
    ("POST", "/v1/jobs/<job_id>/ping"): OF_A_JOB,
    ("GET", "/v1/jobs/<job_id>/shadow"): OF_A_JOB,
    ("POST", "/v1/jobs/<job_id>/promote"): OF_A_JOB,
    ("GET", "/v1/jobs/<job_id>/explain"): OF_A_JOB,
    ("GET", "/v1/jobs/<job_id>/history"): OF_A_JOB,
    ("GET", "/v1/jobs/<job_id>/runs"): OF_A_JOB,
    ("GET", "/v1/runs"): LIST,
    ("GET", "/v1/workers"): LIST,
    ("GET", "/v1/runs/<run_id>"): OF_A_JOB,
    ("PATCH", "/v1/runs/<run_id>"): OF_A_JOB,
    ("GET", "/v1/runs/<run_id>/log"): OF_A_JOB,
    ("GET", "/v1/runs/<run_id>/payload"): OF_A_JOB,
    ("POST", "/v1/runs/<run_id>/cancel"): OF_A_JOB,
    ("POST", "/v1/runs/<run_id>/redrive"): OF_A_JOB,
    ("POST", "/v1/runs/<run_id>/discard"): OF_A_JOB,
    ("POST", "/v1/runs/<run_id>/mark-succeeded"): OF_A_JOB,
    ("POST", "/v1/runs/cancel"): REFUSED,
    ("POST", "/v1/runs/<run_id>/rerun"): OF_A_JOB,
    ("GET", "/v1/dead-letters"): LIST,
    ("POST", "/v1/dead-letters/redrive"): REFUSED,
    ("POST", "/v1/operations"): OF_A_JOB,
    ("POST", "/v1/operations/estimate"): OF_A_JOB,
    ("GET", "/v1/operations"): LIST,
    ("GET", "/v1/operations/<operation_id>"): OF_THE_CREATOR,
    ("POST", "/v1/operations/<operation_id>/cancel"): OF_THE_CREATOR,
    ("GET", "/v1/workflows"): LIST,
    ("GET", "/v1/workflows/<workflow_id>"): OF_A_JOB,
    ("PUT", "/v1/workflows/<workflow_id>"): WRITTEN,
    ("GET", "/v1/workflows/<workflow_id>/runs/<instant>"): OF_A_JOB,
    ("POST", "/v1/schedules/preview"): NO_JOB,
    ("GET", "/v1/calendars"): REFUSED,
    ("GET", "/v1/calendars/<calendar_id>"): REFUSED,
    ("PUT", "/v1/calendars/<calendar_id>"): REFUSED,
    ("DELETE", "/v1/calendars/<calendar_id>"): REFUSED,
    ("GET", "/v1/limits"): REFUSED,
    ("GET", "/v1/limits/<limit_key>"): REFUSED,
    ("PUT", "/v1/limits/<limit_key>"): REFUSED,
    ("DELETE", "/v1/limits/<limit_key>"): REFUSED,
    ("POST", "/v1/limits/<limit_key>/release"): REFUSED,
    ("POST", "/v1/limits/<limit_key>/hold"): REFUSED,
    ("POST", "/v1/limits/<limit_key>/close"): REFUSED,
    ("POST", "/v1/keys"): REFUSED,
    ("GET", "/v1/keys"): REFUSED,
    ("DELETE", "/v1/keys/<key_id>"): REFUSED,
    ("GET", "/v1/upcoming"): REFUSED,
    ("GET", "/v1/stats"): REFUSED,
    ("GET", "/v1/stage"): REFUSED,
    ("GET", "/v1/stage/metrics"): REFUSED,
    ("GET", "/v1/tenants"): REFUSED,
}


def caller(*tags: str, tenant: str = OWNER) -> dict[str, Any]:
    """One whose scopes are all narrowed to these tags, as far as they can be."""
    return jwt_caller(tenant, *(f"{scope}:tag={tag}" for scope in SCOPES for tag in tags))


def refused(answer: Answered) -> bool:
    return answer.status == 403 and kind(answer) == "scope-missing"


def found(answer: Answered) -> set[str]:
    """The ids of the jobs that a list concerns."""
    return {item.get("job_id") or item["id"] for item in answer.json["items"]}


@each_closed
def test_tag_scopes_of_api_keys_are_those_of_tokens(tenants: Tenants, method: str, path: str) -> None:
    limited = [scope for scope in ("jobs:read", "jobs:write") if scope in SCOPES_OF[method, path]]
    tenants.with_key(OWNER, *(f"{scope}:tag={OTHER}" for scope in ("jobs:read", "jobs:write")))
    by_key, tenants.key = tenants.call(method, path, None), None
    by_token = tenants.call(method, path, jwt_caller(OWNER, *(f"{scope}:tag={OTHER}" for scope in limited)))
    assert by_key.status == by_token.status
    if by_key.status == 403:
        assert refused(by_key)


def test_tag_scopes_every_route_has_a_defined_meaning_for_a_tag_scope() -> None:
    assert set(MEANING) == set(CLOSED)


@each_closed
def test_tag_scopes_give_access_to_resources_with_the_tag(tenants: Tenants, method: str, path: str) -> None:
    tenants.tags = (TAG,)
    answer = tenants.call(method, path, caller(TAG, OTHER) if MEANING[method, path] is OF_A_JOB else caller(TAG))
    if MEANING[method, path] is REFUSED:
        assert refused(answer), answer.text
        return
    assert answer.status in (200, 201, 202, 204), answer.text
    if MEANING[method, path] is LIST:
        assert found(answer)
    if path == "/v1/jobs/batch":
        assert [item["status"] for item in answer.json["items"]] == [201]


@each_closed
def test_tag_scopes_neither_show_nor_change_resources_without_the_tag(tenants: Tenants, method: str, path: str) -> None:
    before = tenants.of_the_owner()
    tenants.tags = (TAG,)
    answer = tenants.call(method, path, caller(OTHER))
    if MEANING[method, path] is LIST:
        assert answer.json["items"] == []
    elif path == "/v1/jobs/batch":
        (item,) = answer.json["items"]
        assert (item["status"], item["problem"]["errors"][0]["pointer"]) == (403, "/jobs/0/tags")
    elif MEANING[method, path] is OF_THE_CREATOR:
        assert (answer.status, kind(answer)) == (404, "unknown-operation")
    elif MEANING[method, path] is not NO_JOB:
        assert refused(answer), answer.text
        assert OTHER in answer.json["detail"] or "without a tag" in answer.json["detail"]
        assert 'error="insufficient_scope"' in answer.headers["www-authenticate"]
    assert SECRET not in answer.text
    assert tenants.of_the_owner() == before


@each_closed
def test_tag_scopes_give_no_access_to_other_tenants(tenants: Tenants, method: str, path: str) -> None:
    before = tenants.of_the_owner()
    assert SECRET not in tenants.call(method, path, caller(TAG, tenant="globex")).text
    assert tenants.of_the_owner() == before


@pytest.mark.parametrize(("method", "path"), [route for route in CLOSED if SCOPES_OF[route] == {"jobs:write"}])
def test_tag_scopes_with_read_access_change_nothing(tenants: Tenants, method: str, path: str) -> None:
    before = tenants.of_the_owner()
    tenants.tags = (TAG,)
    assert refused(tenants.call(method, path, jwt_caller(OWNER, f"jobs:read:tag={TAG}")))
    assert tenants.of_the_owner() == before


def test_tag_scopes_unrestricted_scope_applies_beside_a_tag_scope(tenants: Tenants) -> None:
    both = jwt_caller(OWNER, "jobs:read", f"jobs:read:tag={OTHER}", f"jobs:write:tag={OTHER}")
    assert found(tenants.call("GET", "/v1/jobs", both)) == {JOB, WORKFLOW}
    assert refused(tenants.call("DELETE", "/v1/jobs/<job_id>", both))


@pytest.mark.parametrize("near", ["bill", "billing2", "Billing", "billing:", "billing=", "duecourse/billing"])
def test_tag_scopes_similar_tag_gives_no_access(tenants: Tenants, near: str) -> None:
    before = tenants.of_the_owner()
    assert refused(tenants.call("GET", "/v1/jobs/<job_id>", caller(near)))
    assert refused(tenants.call("DELETE", "/v1/jobs/<job_id>", caller(near)))
    tenants.api.caller = caller(near)
    for path in ("/v1/jobs", "/v1/workflows", "/v1/runs", "/v1/dead-letters"):
        assert tenants.api.get(path).json["items"] == []
        assert refused(tenants.api.get(path, tag=TAG))
    assert tenants.of_the_owner() == before


@pytest.mark.parametrize("wild", ["*", "", "billing*", "%62illing", "billing,", "b" * 65])
def test_tag_scopes_have_no_wildcards(tenants: Tenants, wild: str) -> None:
    for path in ("/v1/jobs/<job_id>", "/v1/jobs", "/v1/runs"):
        assert refused(tenants.call("GET", path, caller(wild)))


@pytest.mark.parametrize("header", ["if-match", "if-none-match"])
@pytest.mark.parametrize("path", [f"/v1/jobs/{JOB}", f"/v1/workflows/{WORKFLOW}", f"/v1/workflows/{JOB}"])
def test_tag_scopes_caller_without_access_to_a_job_does_not_learn_its_version(
    tenants: Tenants, path: str, header: str
) -> None:
    tenants.api.caller = caller(OTHER)
    expected = '"1-1"' if header == "if-match" else "*"
    answer = tenants.api.send(json_event("PUT", path, {}, headers={header: expected}))
    assert refused(answer), answer.text


def test_tag_scopes_job_keeps_the_tag_that_gives_access(tenants: Tenants) -> None:
    api = tenants.api
    api.caller = caller(TAG)
    assert api.post(BODY | {"id": "mine", "tags": [TAG, "monthly"]}).status == 201
    for body in (BODY, BODY | {"tags": ["monthly"]}):
        answer = tenants.call("PUT", "/v1/jobs/<job_id>", caller(TAG), job_id="mine")
        assert refused(answer), body
        assert answer.errors == {"/tags": f"must have one of the tags of the caller's scopes: {TAG}"}
    assert api.get("/v1/jobs/mine").json["tags"] == [TAG, "monthly"]


def test_tag_scopes_do_not_show_the_load_of_other_tags(tenants: Tenants) -> None:
    api, body = tenants.api, BODY | {"id": "mine", "schedule": "0 2 * * *", "tags": [TAG]}
    spread = json_event("PUT", "/v1/jobs/mine", body | {"spread": {"within_minutes": 30}}, query={"dry_run": "true"})
    for own, shown in ((jwt_caller(OWNER, *SCOPES), True), (caller(TAG), False)):
        api.caller = own
        assert api.send(json_event("PUT", "/v1/jobs/mine", body)).status in (200, 201)
        assert ("spread_load" in api.send(spread).json) == shown
        (planned,) = api.post({"ids": ["mine"], "within_minutes": 30}, "/v1/jobs/spread").json["jobs"]
        assert planned["offset_minutes"] is not None
        assert (planned["before"] is not None, planned["after"] is not None) == (shown, shown)


def workflow(*steps: str, **more: Any) -> dict[str, Any]:
    """One of jobs that stand, and of one that is defined with it."""
    made = {"job_id": "made", "job": {"target": HTTP_TARGET, **more}}
    return {"schedule": None, "tags": [TAG], "jobs": {**{name: {} for name in steps}, "made": made}}


@pytest.mark.parametrize("query", [{}, {"dry_run": "true"}])
@pytest.mark.parametrize(
    ("body", "named"),
    [
        (workflow("another", tags=[TAG]), "another"),
        (workflow("plan"), "made"),
        (workflow("plan", tags=[OTHER]), "made"),
        (workflow(tags=[TAG]) | {"tags": []}, "fresh"),
    ],
)
def test_tag_scopes_workflow_without_the_tag_on_each_job_is_rejected_and_nothing_is_written(
    tenants: Tenants, query: dict[str, str], body: Any, named: str
) -> None:
    tenants.api.caller = jwt_caller(OWNER, *SCOPES)
    assert tenants.api.post(BODY | {"id": "another"}).status == 201
    before = tenants.of_the_owner()
    tenants.api.caller = caller(TAG)
    answer = tenants.api.send(json_event("PUT", "/v1/workflows/fresh", body, query=query))
    assert refused(answer)
    assert answer.json["detail"] == f"The job {named} must have one of the tags of the caller's scopes: {TAG}."
    assert tenants.of_the_owner() == before


def test_tag_scopes_tagged_workflow_document_with_a_job_of_another_tag_is_rejected(tenants: Tenants) -> None:
    tenants.api.caller = jwt_caller(OWNER, *SCOPES)
    assert tenants.api.post(BODY | {"id": "made", "schedule": None, "tags": [OTHER]}).status == 201
    before = tenants.of_the_owner()
    tenants.api.caller = caller(TAG)
    assert refused(tenants.api.send(json_event("PUT", "/v1/workflows/fresh", workflow(tags=[TAG]))))
    assert tenants.of_the_owner() == before


@pytest.mark.parametrize("query", [{}, {"dry_run": "true"}])
def test_tag_scopes_errors_of_a_workflow_put_are_shown_only_to_callers_with_access(
    tenants: Tenants, query: dict[str, str]
) -> None:
    tenants.api.caller = jwt_caller(OWNER, *SCOPES)
    assert tenants.api.send(json_event("POST", f"/v1/jobs/{WORKFLOW}/pause", {"note": SECRET})).status == 200
    put = json_event("PUT", f"/v1/workflows/{WORKFLOW}", workflow() | {"paused_because": "a guess"}, query=query)
    tenants.api.caller = caller(TAG)
    assert SECRET in tenants.api.send(put).errors["/paused_because"]
    tenants.api.caller = caller(OTHER)
    answer = tenants.api.send(put)
    assert refused(answer), answer.text
    assert SECRET not in answer.text


def test_tag_scopes_explanation_of_a_job_hides_runs_of_inaccessible_workflows(tenants: Tenants) -> None:
    step = replace(made_job("", id="extract", at=NOON - 7200, workflow=WORKFLOW), tenant=OWNER, tags=(OTHER,))
    assert tenants.api.jobs.create(step, cursor(step))
    tenants.api.caller = caller(OTHER)
    answer = tenants.api.get("/v1/jobs/extract/explain", at=to_iso(int(NOON)))
    assert (answer.status, answer.json["verdict"], answer.json["run"]) == (200, "not_an_occurrence", None)
    assert answer.json["sentence"] == f"It runs in the workflow {WORKFLOW}, which the caller's scopes do not include."
    assert "http.500" not in answer.text
    tenants.api.caller = caller(OTHER, TAG)
    assert tenants.api.get("/v1/jobs/extract/explain", at=to_iso(int(NOON))).json["run"]["job_id"] == WORKFLOW


def test_tag_scopes_caller_with_several_tags_selects_the_tag_to_list(tenants: Tenants) -> None:
    tenants.api.caller = caller(TAG, OTHER)
    for path in ("/v1/jobs", "/v1/workflows", "/v1/runs", "/v1/dead-letters"):
        unnamed = tenants.api.get(path)
        assert refused(unnamed)
        assert unnamed.errors == {"tag": f"must be one of the tags of the caller's scopes: {TAG}, {OTHER}"}
        assert refused(tenants.api.get(path, tag="another"))
        assert found(tenants.api.get(path, tag=TAG))
        assert tenants.api.get(path, tag=OTHER).json["items"] == []


def test_tag_scopes_list_of_named_jobs_omits_jobs_without_the_tag(tenants: Tenants) -> None:
    tenants.api.caller = caller(TAG)
    named = ",".join(found(tenants.api.get("/v1/jobs")))
    assert found(tenants.api.get("/v1/jobs", ids=named)) == set(named.split(","))
    tenants.api.caller = caller(OTHER)
    assert tenants.api.get("/v1/jobs", ids=named).json["items"] == []


def test_tag_scopes_give_no_access_to_runs_of_a_removed_job(tenants: Tenants) -> None:
    assert tenants.call("DELETE", "/v1/jobs/<job_id>", caller(TAG)).status == 204
    answer = tenants.call("GET", "/v1/runs/<run_id>", caller(TAG))
    assert (answer.status, kind(answer)) == (404, "unknown-run")


def test_tag_scopes_repeated_request_does_not_show_a_job_that_has_lost_the_tag(tenants: Tenants) -> None:
    request = json_event("POST", "/v1/jobs", BODY | {"id": "mine", "tags": [TAG]}, headers={"idempotency-key": "k"})
    tenants.api.caller = caller(TAG)
    assert tenants.api.send(request).status == 201
    assert tenants.api.send(request).status == 200
    tenants.api.caller = jwt_caller(OWNER, *SCOPES)
    assert tenants.api.send(json_event("PATCH", "/v1/jobs/mine", {"tags": [OTHER]})).status == 200
    tenants.api.caller = caller(TAG)
    assert refused(tenants.api.send(request))


FULL = jwt_caller(OWNER, *SCOPES)


def notifying(*names: str) -> dict[str, Any]:
    return {"tags": [TAG], "notify": [{"on": ["dead"], "to": {"job": name}} for name in names]}


def starting(*names: str) -> dict[str, Any]:
    return {"tags": [TAG], "then": [{"job": name} for name in names]}


@pytest.mark.parametrize(
    ("method", "path", "body", "pointer"),
    [
        ("POST", "/v1/jobs", BODY | {"id": "new"} | notifying("ours", "theirs"), "/notify/1/to/job"),
        ("POST", "/v1/jobs", BODY | {"id": "new"} | notifying("nobody"), "/notify/0/to/job"),
        ("PUT", "/v1/jobs/new", BODY | notifying("theirs"), "/notify/0/to/job"),
        ("PUT", "/v1/jobs/ours", BODY | notifying("theirs"), "/notify/0/to/job"),
        ("PATCH", "/v1/jobs/ours", notifying("theirs"), "/notify/0/to/job"),
        ("PUT", "/v1/workflows/fresh", workflow(tags=[TAG]) | notifying("theirs"), "/notify/0/to/job"),
        ("PUT", "/v1/workflows/fresh", workflow(**notifying("theirs")), "/jobs/made/job/notify/0/to/job"),
        ("POST", "/v1/jobs", BODY | {"id": "new"} | starting("ours", "theirs"), "/then/1/job"),
        ("PUT", "/v1/jobs/ours", BODY | starting("nobody"), "/then/0/job"),
        ("PATCH", "/v1/jobs/ours", starting("theirs"), "/then/0/job"),
        ("PUT", "/v1/workflows/fresh", workflow(tags=[TAG]) | starting("theirs"), "/then/0/job"),
        ("PUT", "/v1/workflows/fresh", workflow(**starting("theirs")), "/jobs/made/job/then/0/job"),
    ],
)
@pytest.mark.parametrize("dry", [False, True])
def test_tag_scopes_do_not_start_jobs_without_the_tag_by_notices_or_after_other_jobs(
    tenants: Tenants, method: str, path: str, body: Any, pointer: str, dry: bool
) -> None:
    tenants.api.caller = FULL
    for name, tags in (("ours", [TAG]), ("theirs", [OTHER])):
        assert tenants.api.post(BODY | {"id": name, "tags": tags}).status == 201
    before = tenants.of_the_owner()
    tenants.api.caller = caller(TAG)
    query = {"dry_run": "true"} if dry and method != "POST" else {}
    answer = tenants.api.send(json_event(method, path, body, query=query))
    assert refused(answer), answer.text
    name = "nobody" if "nobody" in str(body) else "theirs"
    remedy = f"{name} must be an existing job with one of the tags of the caller's scopes: {TAG}"
    assert answer.errors == {pointer: remedy}
    assert tenants.of_the_owner() == before


def reporting(*tags: str) -> dict[str, Any]:
    return {"tags": [TAG], "target": {"type": "report", "tags": list(tags)}}


@pytest.mark.parametrize(
    ("method", "path", "body", "pointer"),
    [
        ("POST", "/v1/jobs", BODY | {"id": "new"} | reporting(TAG, OTHER), "/target/tags/1"),
        ("PUT", "/v1/jobs/new", BODY | reporting(OTHER), "/target/tags/0"),
        ("PUT", "/v1/jobs/ours", BODY | reporting(OTHER), "/target/tags/0"),
        ("PATCH", "/v1/jobs/ours", reporting(TAG, OTHER), "/target/tags/1"),
        ("PUT", "/v1/workflows/fresh", workflow(**reporting(OTHER)), "/jobs/made/job/target/tags/0"),
    ],
)
def test_tag_scopes_do_not_report_jobs_without_the_tag(
    tenants: Tenants, method: str, path: str, body: Any, pointer: str
) -> None:
    tenants.api.caller = FULL
    assert tenants.api.post(BODY | {"id": "ours", "tags": [TAG]}).status == 201
    before = tenants.of_the_owner()
    tenants.api.caller = caller(TAG)
    answer = tenants.api.send(json_event(method, path, body))
    assert refused(answer), answer.text
    assert answer.errors == {pointer: f"{OTHER} must be one of the tags of the caller's scopes: {TAG}"}
    assert tenants.of_the_owner() == before


def test_tag_scopes_report_jobs_with_the_tag_and_keep_the_tags_that_a_report_has(tenants: Tenants) -> None:
    tenants.api.caller = FULL
    assert tenants.api.post(BODY | {"id": "ours"} | reporting(TAG, OTHER)).status == 201
    tenants.api.caller = caller(TAG)
    assert tenants.api.post(BODY | {"id": "mine"} | reporting(TAG)).status == 201
    kept = {"target": {"type": "report", "tags": [OTHER, TAG], "hours": 5}}
    assert tenants.api.send(json_event("PATCH", "/v1/jobs/ours", kept)).status == 200


def test_tag_scopes_batch_does_not_start_jobs_without_the_tag_by_notices(tenants: Tenants) -> None:
    tenants.api.caller = caller(TAG)
    answer = tenants.api.send(json_event("POST", "/v1/jobs/batch", {"jobs": [BODY | notifying("theirs")]}))
    (item,) = answer.json["items"]
    assert (item["status"], item["problem"]["errors"][0]["pointer"]) == (403, "/jobs/0/notify/0/to/job")


def test_tag_scopes_notices_that_another_caller_has_set_are_kept_but_not_tested(tenants: Tenants) -> None:
    tenants.api.caller = FULL
    assert tenants.api.post(BODY | {"id": "theirs", "tags": [OTHER]}).status == 201
    assert tenants.api.post(BODY | {"id": "ours"} | notifying("theirs", "nobody", "ours")).status == 201
    tenants.api.caller = caller(TAG)
    assert tenants.api.send(json_event("PATCH", "/v1/jobs/ours", {"name": "New"})).status == 200
    before = tenants.of_the_owner()
    assert refused(tenants.api.send(json_event("POST", "/v1/jobs/ours/test-notice", {})))
    assert tenants.of_the_owner() == before
    assert tenants.api.send(json_event("PATCH", "/v1/jobs/ours", notifying("nobody", "ours"))).status == 200
    assert tenants.api.send(json_event("POST", "/v1/jobs/ours/test-notice", {})).json["missing"] == ["nobody"]


def test_tag_scopes_notices_that_another_caller_has_set_get_no_more_events(tenants: Tenants) -> None:
    tenants.api.caller = FULL
    assert tenants.api.post(BODY | {"id": "theirs", "tags": [OTHER]}).status == 201
    rule = {"on": ["dead", "late"], "to": {"job": "theirs", "format": "json"}}
    assert tenants.api.post(BODY | {"id": "ours", "tags": [TAG], "notify": [rule]}).status == 201
    tenants.api.caller = caller(TAG)
    for more in (
        [rule | {"on": ["dead", "late", "paused"]}],
        [rule, rule | {"on": ["paused"]}],
        [rule | {"to": {"job": "theirs", "format": "slack"}}],
    ):
        assert refused(tenants.api.send(json_event("PATCH", "/v1/jobs/ours", {"notify": more})))
    assert tenants.api.send(json_event("PATCH", "/v1/jobs/ours", {"notify": [rule | {"on": ["late"]}]})).status == 200


def test_tag_scopes_workflow_may_notify_through_a_job_that_it_defines(tenants: Tenants) -> None:
    tenants.api.caller = caller(TAG)
    body = workflow(**notifying("made", "fresh"))
    assert tenants.api.send(json_event("PUT", "/v1/workflows/fresh", body)).status == 201


MINE, THEIRS, BOTH = "mine", "theirs", "both"


def both(*steps: str, tags: tuple[str, ...] = (TAG,)) -> dict[str, Any]:
    """A workflow of jobs that exist: each comes after the one before it."""
    jobs = {name: {"after": [before] if before else []} for before, name in zip(("", *steps), steps, strict=False)}
    return {"schedule": "0 * * * *", "tags": list(tags), "jobs": jobs}


def put_both(tenants: Tenants, *tags: str) -> None:
    """A workflow with these tags of a job with the caller's tag and, after it, one of another tag."""
    tenants.api.caller = FULL
    for name, tag in ((MINE, TAG), (THEIRS, OTHER)):
        assert tenants.api.post(BODY | {"id": name, "schedule": None, "tags": [tag]}).status == 201
    put = json_event("PUT", f"/v1/workflows/{BOTH}", both(MINE, THEIRS, tags=tags))
    assert tenants.api.send(put).status == 201


def add_run(tenants: Tenants, job_id: str, state: RunState, workflow: str | None = BOTH) -> str:
    """A run of that job at NOON, of the workflow's present graph; its id."""
    job = tenants.api.jobs.get(OWNER, job_id)
    assert job is not None
    record = run(job, state)
    if workflow is not None:
        own = tenants.api.jobs.get(OWNER, workflow)
        assert isinstance(own.target, WorkflowTarget)
        record = replace(record, identity=replace(record.identity, workflow=f"{workflow}@{own.target.graph}"))
    assert tenants.api.runs.write(record, None) is None
    return str(record.name)


OF_A_WORKFLOW = [
    ("POST", "/v1/jobs/<job_id>/run"),
    ("POST", "/v1/jobs/<job_id>/run/batch"),
    ("POST", "/v1/jobs/<job_id>/backfill"),
    ("POST", "/v1/jobs/<job_id>/skip-next"),
    ("POST", "/v1/jobs/<job_id>/pause"),
    ("POST", "/v1/jobs/<job_id>/resume"),
    ("DELETE", "/v1/jobs/<job_id>"),
]


@pytest.mark.parametrize(("method", "path"), OF_A_WORKFLOW, ids=[" ".join(route) for route in OF_A_WORKFLOW])
def test_tag_scopes_workflow_action_requires_the_tag_on_each_job_of_the_workflow(
    tenants: Tenants, method: str, path: str
) -> None:
    put_both(tenants, TAG)
    before = tenants.of_the_owner()
    answer = tenants.call(method, path, caller(TAG), job_id=BOTH)
    assert refused(answer), answer.text
    assert THEIRS not in answer.text
    assert tenants.of_the_owner() == before
    answer = tenants.call(method, path, caller(TAG, OTHER), job_id=BOTH)
    assert answer.status in (200, 202, 204), answer.text


@pytest.mark.parametrize(
    ("command", "state"), [("cancel", RunState.WAITING), ("redrive", RunState.DEAD), ("rerun", RunState.DEAD)]
)
@pytest.mark.parametrize("begun", [True, False])
def test_tag_scopes_workflow_run_action_requires_the_tag_on_each_job_of_the_run(
    tenants: Tenants, command: str, state: RunState, begun: bool
) -> None:
    put_both(tenants, TAG)
    run_id = add_run(tenants, BOTH, state, BOTH if begun else None)
    tenants.api.caller = FULL
    if begun:  # the run keeps the graph with which it began
        put = json_event("PUT", f"/v1/workflows/{BOTH}", both(MINE))
        assert tenants.api.send(put).status == 200
    body = {"from": [MINE]} if command == "rerun" else {}
    before = tenants.of_the_owner()
    tenants.api.caller = caller(TAG)
    answer = tenants.api.post(body, f"/v1/runs/{run_id}/{command}")
    assert refused(answer), answer.text
    assert tenants.of_the_owner() == before
    tenants.api.caller = caller(TAG, OTHER)
    answer = tenants.api.post(body, f"/v1/runs/{run_id}/{command}")
    assert answer.status == (202 if begun or command != "rerun" else 409), answer.text


@pytest.mark.parametrize(("command", "state"), [("cancel", RunState.RETRYING), ("redrive", RunState.DEAD)])
@pytest.mark.parametrize("tags", [(OTHER,), (TAG,), (TAG, OTHER)])
def test_tag_scopes_action_on_a_step_run_starts_no_job_of_another_tag(
    tenants: Tenants, command: str, state: RunState, tags: tuple[str, ...]
) -> None:
    put_both(tenants, *tags)
    run_id = add_run(tenants, MINE, state)
    before = tenants.of_the_owner()
    tenants.api.caller = caller(TAG)
    answer = tenants.api.post({}, f"/v1/runs/{run_id}/{command}")
    assert refused(answer), answer.text
    assert THEIRS not in answer.text
    assert tenants.of_the_owner() == before
    tenants.api.caller = caller(TAG, OTHER)
    assert tenants.api.post({}, f"/v1/runs/{run_id}/{command}").status == 202


@pytest.mark.parametrize("tags", [(OTHER,), (TAG,), (TAG, OTHER)])
def test_tag_scopes_operation_skips_runs_of_workflows_with_a_job_of_another_tag(
    tenants: Tenants, tags: tuple[str, ...]
) -> None:
    put_both(tenants, *tags)
    add_run(tenants, MINE, RunState.DEAD)
    tenants.api.clock.advance(60)
    body = {"kind": "redrive", "job_id": MINE}
    tenants.api.caller = caller(TAG)
    answer = tenants.api.post(body, "/v1/operations/estimate")
    assert answer.json == {"runs": 0, "skipped": {"out_of_scope": 1}, "more": False}
    tenants.api.caller = caller(TAG, OTHER)
    assert tenants.api.post(body, "/v1/operations/estimate").json["runs"] == 1


def test_tag_scopes_cannot_change_a_workflow_run_with_an_unknown_graph(tenants: Tenants) -> None:
    put_both(tenants, TAG)
    job = tenants.api.jobs.get(OWNER, MINE)
    assert job is not None
    record = run(job, RunState.DEAD)
    record = replace(record, identity=replace(record.identity, workflow=f"{BOTH}@gone"))
    assert tenants.api.runs.write(record, None) is None
    tenants.api.caller = caller(TAG, OTHER)
    answer = tenants.api.post({}, f"/v1/runs/{record.name}/redrive")
    assert refused(answer), answer.text
    assert "without a tag" in answer.json["detail"]


@pytest.mark.parametrize("query", [{}, {"dry_run": "true"}])
def test_tag_scopes_workflow_put_releases_no_job_of_another_tag(tenants: Tenants, query: dict[str, str]) -> None:
    put_both(tenants, TAG)
    before = tenants.of_the_owner()
    put = json_event("PUT", f"/v1/workflows/{BOTH}", both(MINE), query=query)
    tenants.api.caller = caller(TAG)
    answer = tenants.api.send(put)
    assert refused(answer), answer.text
    assert answer.json["detail"] == f"The job {THEIRS} must have one of the tags of the caller's scopes: {TAG}."
    assert tenants.of_the_owner() == before
    tenants.api.caller = caller(TAG, OTHER)
    assert tenants.api.send(put).status == 200


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("DELETE", f"/v1/jobs/{BOTH}", None),
        ("POST", f"/v1/jobs/{BOTH}/pause", {}),
        ("POST", f"/v1/jobs/{BOTH}/run", {}),
        ("PUT", f"/v1/workflows/{BOTH}", both("more")),
    ],
)
def test_tag_scopes_workflow_changed_after_the_check_is_not_overwritten(
    tenants: Tenants, method: str, path: str, body: Any
) -> None:
    put_both(tenants, TAG)
    api = tenants.api
    assert api.post(BODY | {"id": "more", "schedule": None, "tags": [TAG]}).status == 201
    assert api.send(json_event("PUT", f"/v1/workflows/{BOTH}", both(MINE))).status == 200
    api.caller = None
    between = replace(api, caller=FULL)

    def other() -> None:
        put = json_event("PUT", f"/v1/workflows/{BOTH}", both(MINE, THEIRS))
        assert between.send(put).status == 200

    narrowed = replace(api, workflows=around(api.workflows, jobs=after(other, times=1)), caller=caller(TAG))
    answer = narrowed.send(
        api_event(method, path, content_type=None) if body is None else json_event(method, path, body)
    )
    assert (answer.status, kind(answer)) == (409, "job-changed"), answer.text
    job = api.jobs.get(OWNER, BOTH)
    assert isinstance(job.target, WorkflowTarget)
    assert set(api.workflows.graph(OWNER, WorkflowRef(BOTH, job.target.graph)).numbers) == {MINE, THEIRS}
    theirs = api.jobs.get(OWNER, THEIRS)
    assert theirs.workflow == BOTH
