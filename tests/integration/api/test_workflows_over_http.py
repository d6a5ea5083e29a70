"""Workflows over the API: created, replaced, read, run, run again, deleted."""

from dataclasses import replace
from typing import Any

import pytest

from duecourse.domain.runs.states import RunState
from duecourse.domain.targets.targets import Failed, Outcome, Returned
from duecourse.messages import MessageKind
from duecourse.ports import Call
from tests.support.api import HTTP_TARGET, Answered, ApiClient, api_settings
from tests.support.api_events import json_event, jwt_caller
from tests.support.jobs import NOON
from tests.support.named_steps import named
from tests.support.tables import Tables
from tests.support.varied import varied
from tests.support.world import World

PATH = "/v1/workflows/nightly"
RUN = "nightly.20261121T120100Z"
INLINE = {"job": {"target": HTTP_TARGET, "retry": {"max_attempts": 1}}}
DIAMOND = named(
    {
        "extract": INLINE,
        "eu": INLINE | {"after": ["extract"]},
        "us": INLINE | {"after": ["extract"]},
        "report": INLINE | {"after": ["eu", "us"]},
    }
)
NIGHTLY: dict[str, Any] = {"schedule": "1 12 * * *", "jobs": DIAMOND}


class Desk:
    """The API beside the workers of a world."""

    def __init__(self, tables: Tables, **settings: Any) -> None:
        self.tables = tables
        self.world = World(tables)
        self.api = ApiClient.of(self.world, settings=api_settings(**settings))

    def put(self, body: Any = NIGHTLY, path: str = PATH, *, query: str = "", **headers: str) -> Answered:
        """The jobs have the names of the steps, unless the body says otherwise."""
        if isinstance(body, dict) and isinstance(body.get("jobs"), dict):
            body = body | {"jobs": named(body["jobs"])}
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        event = json_event("PUT", path, body, headers=sent)
        if query:
            event["queryStringParameters"] = dict([query.split("=")])
        return self.api.send(event)

    def patch(self, job_id: str, body: Any) -> Answered:
        return self.api.send(json_event("PATCH", f"/v1/jobs/{job_id}", body))

    def rerun(self, *names: str, run: str = RUN, key: str | None = None) -> Answered:
        headers = {} if key is None else {"idempotency-key": key}
        return self.api.send(json_event("POST", f"/v1/runs/{run}/rerun", {"from": list(names)}, headers=headers))

    def view(self, local: str = "20261121T120100Z") -> dict[str, Any]:
        answer = self.api.get(f"{PATH}/runs/{local}")
        assert answer.status == 200, answer.text
        found: dict[str, Any] = answer.json
        return found

    def items(self) -> list[str]:
        """All that is stored, but for the tokens of the caller's bucket."""
        tables = (self.tables.jobs, self.tables.runs)
        pages = [page for each in tables for page in self.tables.client.get_paginator("scan").paginate(TableName=each)]
        return sorted(repr(item) for page in pages for item in page["Items"] if item["SK"]["S"] != "RATE")


@pytest.fixture
def desk(tables: Tables) -> Desk:
    return Desk(tables)


def kind(answer: Answered) -> str:
    return str(answer.json["type"]).removeprefix("/problems/")


def failing(*names: str) -> Any:
    def answer(call: Call) -> Outcome:
        return Failed("no", retryable=False, code="http.500") if call.job.id in names else Returned("fine")

    return answer


def states(view: dict[str, Any]) -> dict[str, str]:
    return {each["id"]: each["state"] for each in view["jobs"]}


# --- created, replaced, read


def test_workflows_put_creates_a_workflow_with_its_jobs(desk: Desk) -> None:
    answer = desk.put()
    assert (answer.status, answer.headers["location"]) == (201, PATH)
    assert (answer.json["created"], answer.json["changed"]) == ([*DIAMOND, "nightly"], [])
    assert answer.json["dry_run"] is False
    assert answer.json["jobs"]["report"] == {
        "job_id": "report",
        "after": ["eu", "us"],
        "when": "all_success",
        "may_fail": False,
        "not_before": None,
        "only": None,
        "shared": False,
        "for_each": None,
        "at_once": None,
        "max_failed": None,
    }
    job = desk.api.get("/v1/jobs/extract").json
    assert (job["workflow"], job["schedule"], job["overlap"]) == ("nightly", None, "allow")


def test_workflows_steps_take_seats_and_release_them_when_they_are_removed(desk: Desk) -> None:
    desk.put()
    steps = {name: desk.world.jobs.get("default", name) for name in DIAMOND}
    assert [None if job is None else (job.seated, job.workflow) for job in steps.values()] == [(True, "nightly")] * 4
    desk.world.until(NOON + 90)
    assert len(desk.world.caller.runs) == 4
    assert not any(each.message.bulk for each in desk.world.wheel.sent)
    desk.put(NIGHTLY | {"jobs": {name: DIAMOND[name] for name in ("extract", "eu")}})
    left = desk.world.jobs.get("default", "us")
    assert (left.seated, left.workflow) == (False, None)


def test_workflows_job_of_a_workflow_is_shown_with_its_graph(desk: Desk) -> None:
    desk.put()
    job = desk.api.get("/v1/jobs/nightly").json
    assert (job["target"]["type"], job["workflow"]) == ("workflow", None)
    assert job["next_occurrence"] == "2026-11-21T12:01:00Z"


def test_workflows_get_returns_the_workflow_as_it_was_put(desk: Desk) -> None:
    put = desk.put()
    read = desk.api.get(PATH)
    assert read.status == 200
    assert read.headers["etag"] == put.headers["etag"]
    assert put.json == read.json | {"dry_run": False, "created": [*DIAMOND, "nightly"], "changed": []}


def test_workflows_repeated_put_of_the_same_body_writes_nothing(desk: Desk) -> None:
    first = desk.put()
    before = desk.items()
    desk.world.clock.advance(5)
    again = desk.put()
    assert (again.status, again.json["created"], again.json["changed"]) == (200, [], [])
    assert again.headers["etag"] == first.headers["etag"]
    assert desk.items() == before


def test_workflows_put_changes_only_what_differs(desk: Desk) -> None:
    desk.put()
    jobs = DIAMOND | {"us": {"job": INLINE["job"] | {"name": "Other"}, "after": ["extract"], "may_fail": True}}
    answer = desk.put(NIGHTLY | {"jobs": jobs})
    assert (answer.status, answer.json["created"], answer.json["changed"]) == (200, [], ["us", "nightly"])
    assert answer.json["jobs"]["us"]["may_fail"] is True


def test_workflows_put_adopts_existing_jobs_and_releases_omitted_ones(desk: Desk) -> None:
    desk.api.post({"id": "mail", "schedule": None, "target": HTTP_TARGET})
    desk.put()
    answer = desk.put(NIGHTLY | {"jobs": {"extract": {}, "mail": {"after": ["extract"]}}})
    assert answer.status == 200, answer.text
    workflows = {name: desk.api.get(f"/v1/jobs/{name}").json["workflow"] for name in ("extract", "mail", "eu")}
    assert workflows == {"extract": "nightly", "mail": "nightly", "eu": None}
    assert desk.api.delete("/v1/jobs/eu").status == 204


def test_workflows_outdated_version_is_rejected(desk: Desk) -> None:
    etag = desk.put().headers["etag"]
    assert desk.put(NIGHTLY | {"name": "Nightly"}, If_Match=etag).status == 200
    answer = desk.put(NIGHTLY, If_Match=etag)
    assert (answer.status, kind(answer)) == (412, "etag-mismatch")
    assert desk.put(NIGHTLY, If_None_Match="*").status == 412
    assert desk.put(NIGHTLY, "/v1/workflows/other", If_Match="*").status == 412


def test_workflows_unknown_workflow_is_not_found(desk: Desk) -> None:
    answer = desk.api.get(PATH)
    assert (answer.status, kind(answer)) == (404, "unknown-workflow")


def test_workflows_list_contains_workflows_and_no_other_jobs(desk: Desk) -> None:
    desk.put(path="/v1/workflows/b")
    desk.put(NIGHTLY | {"jobs": {"alone": INLINE}}, "/v1/workflows/a")
    page = desk.api.get("/v1/workflows", limit="1")
    assert [item["id"] for item in page.json["items"]] == ["a"]
    rest = desk.api.get("/v1/workflows", limit="1", cursor=page.json["next_cursor"])
    assert [item["id"] for item in rest.json["items"]] == ["b"]
    assert "jobs" not in page.json["items"][0]
    assert "last_runs" not in page.json["items"][0]
    with_runs = desk.api.get("/v1/workflows", runs="20")
    assert [item["last_runs"] for item in with_runs.json["items"]] == [[], []]


# --- a dry run


def test_workflows_dry_run_reports_the_changes_and_writes_nothing(desk: Desk) -> None:
    desk.api.post({"id": "eu", "schedule": None, "target": HTTP_TARGET})
    before = desk.items()
    answer = desk.put(query="dry_run=true")
    assert (answer.status, answer.json["dry_run"]) == (200, True)
    assert (answer.json["created"], answer.json["changed"]) == (["extract", "us", "report", "nightly"], ["eu"])
    assert answer.json["next_occurrence"] == "2026-11-21T12:01:00Z"
    assert desk.items() == before


def test_workflows_dry_run_of_an_unchanged_workflow_reports_no_changes(desk: Desk) -> None:
    desk.put()
    answer = desk.put(query="dry_run=true")
    assert (answer.json["created"], answer.json["changed"]) == ([], [])
    assert answer.headers["etag"] == desk.api.get(PATH).headers["etag"]


def test_workflows_dry_run_rejects_what_the_put_would_reject(desk: Desk) -> None:
    answer = desk.put({"schedule": None, "jobs": {"extract": {}}}, query="dry_run=true")
    assert (answer.status, kind(answer)) == (422, "invalid-workflow")


@pytest.mark.parametrize("query", ["dryrun=true", "dry_run=yes"])
def test_workflows_misspelt_dry_run_parameter_writes_nothing(desk: Desk, query: str) -> None:
    before = desk.items()
    answer = desk.put(query=query)
    assert (answer.status, kind(answer)) == (400, "bad-parameter")
    assert desk.items() == before


# --- what is wrong with a graph


@pytest.mark.parametrize(
    ("jobs", "place", "said"),
    [
        (
            {"extract": INLINE, "load-eu": INLINE | {"after": ["report"]}, "report": INLINE | {"after": ["load-eu"]}},
            "/jobs/report/after/0",
            "creates a cycle: load-eu -> report -> load-eu",
        ),
        ({"a": INLINE, "b": INLINE | {"after": ["c"]}}, "/jobs/b/after/0", "c is not a step of this workflow"),
        ({"extract": {}}, "/jobs/extract", "there is no job extract"),
        (
            {"a": INLINE | {"job_id": "x"}, "b": INLINE | {"job_id": "x"}},
            "/jobs/b",
            "has the same job as a (x); choose another job",
        ),
        ({"nightly": INLINE}, "/jobs/nightly", "is the workflow's own id"),
        ({"a": INLINE | {"when": "any_failure"}}, "/jobs/a/when", "any_failure needs after"),
        ({"a": INLINE | {"only": "0 3 * * *"}}, "/jobs/a/only", "does not match any occurrence"),
        ({"a": INLINE | {"not_before": "61 * * * *"}}, "/jobs/a/not_before", "is not valid"),
        (
            {"a": INLINE, "b": {"job": {"target": HTTP_TARGET, "payload": {"rows": "{{upstream.a.result}}"}}}},
            "/jobs/b/job/payload/rows",
            "upstream.a is not an upstream step of b",
        ),
    ],
)
def test_workflows_graph_error_names_its_place_and_nothing_is_written(
    desk: Desk, jobs: dict[str, Any], place: str, said: str
) -> None:
    before = desk.items()
    answer = desk.put(NIGHTLY | {"jobs": jobs})
    assert (answer.status, kind(answer)) == (422, "invalid-workflow")
    assert said in answer.errors[place]
    assert desk.items() == before


def test_workflows_workflow_that_would_start_itself_is_rejected_with_its_other_errors(desk: Desk) -> None:
    before = desk.items()
    jobs = {"a": INLINE, "b": INLINE | {"at_once": 2}}
    answer = desk.put(NIGHTLY | {"jobs": jobs, "then": [{"job": "report"}, {"job": "nightly"}]})
    assert (answer.status, kind(answer)) == (422, "invalid-workflow")
    said = "is this job itself; name another job, or use a schedule"
    assert answer.errors == {"/then/1/job": said, "/jobs/b/at_once": "needs for_each; add it, or remove this field"}
    assert desk.items() == before


@pytest.mark.parametrize("path", ["workflows", "jobs"])
def test_workflows_and_jobs_with_an_invalid_id_are_not_created(desk: Desk, path: str) -> None:
    answer = desk.put(path=f"/v1/{path}/a%20b")
    assert answer.status == 404
    assert answer.json["detail"].endswith('"a b"; an id has 1 to 64 letters (A-Z, a-z), digits, - or _.')


def test_workflows_path_that_is_too_long_is_rejected(desk: Desk) -> None:
    chain = {f"j{n}": INLINE | {"after": [f"j{n - 1}"] if n else []} for n in range(101)}
    answer = desk.put(NIGHTLY | {"jobs": chain})
    assert "is 101 steps long; at most 100 are allowed" in answer.errors["/jobs/j100/after"]


def test_workflows_jobs_used_elsewhere_are_a_conflict(desk: Desk) -> None:
    desk.api.post({"id": "daily", "schedule": "@daily", "target": HTTP_TARGET})
    desk.put()
    answer = desk.put({"schedule": None, "jobs": {"extract": {}, "daily": {}, "nightly": {}}}, "/v1/workflows/other")
    assert (answer.status, kind(answer)) == (409, "workflow-conflict")
    assert answer.errors == {
        "/jobs/extract": "is a step of workflow nightly; remove it from that workflow first, or add shared: true",
        "/jobs/daily": "has its own schedule (@daily); set the schedule to null first, or add shared: true",
        "/jobs/nightly": "has its own schedule (1 12 * * *); set the schedule to null first",
    }


def test_workflows_conflicts_are_reported_together_with_other_errors(desk: Desk) -> None:
    desk.put()
    answer = desk.put({"schedule": None, "jobs": {"extract": {}, "nobody": {}}}, "/v1/workflows/other")
    assert (answer.status, kind(answer)) == (422, "invalid-workflow")
    assert set(answer.errors) == {"/jobs/extract", "/jobs/nobody"}


def test_workflows_existing_job_cannot_become_a_workflow(desk: Desk) -> None:
    desk.api.post({"id": "nightly", "schedule": None, "target": HTTP_TARGET})
    answer = desk.put()
    assert (answer.status, kind(answer)) == (409, "workflow-conflict")
    assert kind(desk.api.get(PATH)) == "unknown-workflow"


def test_workflows_rate_without_an_anchor_allows_steps_with_times(desk: Desk) -> None:
    answer = desk.put({"schedule": "rate(1 hour)", "jobs": {"a": INLINE | {"only": "* * * * *"}}})
    assert answer.status == 201, answer.text


# --- its jobs


def test_workflows_job_of_a_workflow_can_only_be_changed_as_a_workflow(desk: Desk) -> None:
    desk.put()
    for answer in (
        desk.patch("nightly", {"name": "Other"}),
        desk.api.send(json_event("PUT", "/v1/jobs/nightly", {"schedule": None, "target": HTTP_TARGET})),
    ):
        assert (answer.status, kind(answer)) == (409, "is-workflow")
        assert "PUT /v1/workflows/nightly" in answer.json["detail"]


def test_workflows_posted_job_cannot_have_a_workflow_target(desk: Desk) -> None:
    answer = desk.api.post({"schedule": None, "target": {"type": "workflow", "graph": "3f2a"}})
    assert "PUT /v1/workflows/<id>" in answer.errors["/target/type"]


def test_workflows_step_can_neither_be_deleted_nor_given_a_schedule(desk: Desk) -> None:
    desk.put()
    answers = (desk.api.delete("/v1/jobs/extract"), desk.patch("extract", {"schedule": "@daily"}))
    for answer in answers:
        assert (answer.status, kind(answer)) == (409, "in-workflow")
        assert "nightly" in answer.json["detail"]


def test_workflows_step_is_changed_like_any_job(desk: Desk) -> None:
    desk.put()
    answer = desk.patch("extract", {"timeout_seconds": 60})
    assert (answer.status, answer.json["workflow"]) == (200, "nightly")


def test_workflows_step_payload_uses_only_upstream_results(desk: Desk) -> None:
    desk.put()
    assert desk.patch("report", {"payload": {"rows": "{{upstream.extract.result.rows}}"}}).status == 200
    answer = desk.patch("extract", {"payload": ["{{upstream.report.result}}"]})
    detail = "upstream.report is not an upstream step of extract; name a step that must end before it"
    assert (answer.status, answer.errors) == (422, {"/payload/0": detail})


def test_workflows_job_with_a_schedule_uses_no_upstream_results(desk: Desk) -> None:
    answer = desk.api.post({"schedule": "@daily", "target": HTTP_TARGET, "payload": "{{upstream.a.result}}"})
    assert (
        "results of upstream steps can be used only in payloads of jobs without a schedule" in answer.errors["/payload"]
    )


def test_workflows_claim_by_a_deleted_workflow_does_not_restrict_the_job(desk: Desk) -> None:
    desk.put()
    assert desk.api.delete("/v1/jobs/nightly").status == 204
    assert desk.api.get("/v1/jobs/extract").json["workflow"] is None
    assert desk.api.delete("/v1/jobs/extract").status == 204


def test_workflows_deletion_ends_the_runs_of_the_workflow(desk: Desk) -> None:
    desk.put()
    desk.world.caller.answer = lambda _: Failed("later", code="http.503")
    desk.put(NIGHTLY | {"jobs": {"slow": {"job": {"target": HTTP_TARGET}}}})
    desk.world.until(NOON + 61)
    assert desk.view()["state"] == "WAITING"
    assert desk.api.delete("/v1/jobs/nightly").status == 204
    desk.world.until(NOON + 75)
    assert [run.state for run in desk.world.runs("nightly")] == [RunState.CANCELLED]
    assert [run.state for run in desk.world.runs("slow")] == [RunState.CANCELLED]


@pytest.mark.parametrize(
    ("ended", "extract", "others"),
    [
        (("DEAD", "steps_failed"), {}, {}),
        (("SUCCEEDED", None), {"may_fail": True}, {}),
        (("DEAD", "not_retryable"), {}, {"stuck": {"job": {"target": HTTP_TARGET}}}),
    ],
)
def test_workflows_deletion_ends_a_redriven_step_of_an_ended_run(
    desk: Desk, ended: tuple[str, str | None], extract: dict[str, Any], others: dict[str, Any]
) -> None:
    """The third run ends at its deadline, after the failure of the step."""
    jobs = {"extract": INLINE | extract, "load": INLINE | {"after": ["extract"]}, **others}
    desk.put(NIGHTLY | {"deadline_seconds": 60, "jobs": jobs})
    later = Failed("later", code="http.503", retry_after=50)
    desk.world.caller.answer = lambda call: later if call.job.id == "stuck" else failing("extract")(call)
    desk.world.until(NOON + 130)
    (run,) = desk.world.runs("nightly")
    assert (run.state, run.reason) == ended
    desk.world.caller.answer = lambda _: Failed("later", code="http.503")
    desk.patch("extract", {"retry": {"max_attempts": 9}})
    desk.api.post({}, "/v1/runs/extract.20261121T120100Z/redrive")
    desk.world.work()
    assert [each.state for each in desk.world.runs("extract")] == [RunState.RETRYING]
    assert desk.api.delete("/v1/jobs/nightly").status == 204
    desk.world.until(NOON + 140)
    (step,) = desk.world.runs("extract")
    assert (step.state, step.reason) == (RunState.CANCELLED, "workflow_over")
    assert desk.world.runs("nightly") == [run]


def test_workflows_deletion_leaves_the_steps_of_a_redriven_run_that_has_ended(desk: Desk) -> None:
    jobs = {"extract": INLINE, "alert": INLINE | {"after": ["extract"], "when": "any_failure"}}
    desk.put(NIGHTLY | {"jobs": jobs})
    desk.world.caller.answer = failing("extract", "alert")
    desk.world.until(NOON + 70)
    desk.world.caller.answer = lambda _: Returned()
    for step in jobs:
        desk.api.post({}, f"/v1/runs/{step}.20261121T120100Z/redrive")
    desk.world.until(NOON + 80)
    before = {name: desk.world.runs(name) for name in ("nightly", "extract", "alert")}
    assert [runs[0].state for runs in before.values()] == [RunState.SUCCEEDED, RunState.SUCCEEDED, RunState.SKIPPED]
    assert desk.api.delete("/v1/jobs/nightly").status == 204
    desk.world.until(NOON + 100)
    assert {name: desk.world.runs(name) for name in before} == before


@pytest.mark.parametrize("overlap", ["skip", "allow"])
def test_workflows_deletion_ends_a_run_older_than_a_thousand_others(desk: Desk, overlap: str) -> None:
    desk.put(NIGHTLY | {"overlap": overlap, "jobs": {"slow": {"job": {"target": HTTP_TARGET}}}})
    desk.world.caller.answer = lambda _: Failed("later", code="http.503")
    desk.world.until(NOON + 61)
    (alive,) = desk.world.runs("nightly")
    assert alive.state is RunState.WAITING
    for n in range(1, 1001):
        later = replace(alive.identity, occurrence=alive.occurrence + n)
        skipped = varied(alive, identity=later, state=RunState.SKIPPED, reason="overlap")
        assert desk.world.run_store.write(skipped, None) is None
    assert desk.api.delete("/v1/jobs/nightly").status == 204
    desk.world.until(NOON + 75)
    assert desk.view()["state"] == "CANCELLED"


def test_workflows_repeated_deletion_ends_the_remaining_runs(desk: Desk) -> None:
    desk.put(NIGHTLY | {"jobs": {"slow": {"job": {"target": HTTP_TARGET}}}})
    desk.world.caller.answer = lambda _: Failed("later", code="http.503")
    desk.world.until(NOON + 61)
    job = desk.world.jobs.get("default", "nightly")
    assert job is not None
    assert desk.world.jobs.delete(job, deleted_at=desk.world.clock.now())  # and the process died
    assert desk.api.delete("/v1/jobs/nightly").status == 404
    desk.world.until(NOON + 75)
    assert [run.state for run in desk.world.runs("nightly")] == [RunState.CANCELLED]
    assert [run.state for run in desk.world.runs("slow")] == [RunState.CANCELLED]


def test_workflows_put_beyond_the_quota_leaves_nothing_behind(tables: Tables) -> None:
    desk = Desk(tables, job_quota=6)
    desk.put({"schedule": None, "jobs": {"old": INLINE}}, "/v1/workflows/other")
    for query in ("dry_run=true", ""):
        answer = desk.put(query=query)
        assert (answer.status, kind(answer)) == (403, "job-quota")
    assert desk.world.jobs.get("default", "extract") is None
    assert desk.put(NIGHTLY | {"jobs": {"a": INLINE, "b": INLINE, "c": INLINE}}).status == 201
    assert desk.put(NIGHTLY | {"jobs": {"a": INLINE, "b": INLINE}}).status == 200, "which creates none"


# --- its runs


def test_workflows_active_run_is_shown_with_each_job(desk: Desk) -> None:
    desk.put()
    desk.put(NIGHTLY | {"jobs": DIAMOND | {"eu": {"job": {"target": HTTP_TARGET}, "after": ["extract"]}}})
    desk.world.caller.answer = lambda call: Failed("busy", code="http.503") if call.job.id == "eu" else Returned()
    desk.world.until(NOON + 61)
    view = desk.view()
    assert (view["run"], view["state"], view["occurrence"]) == (RUN, "WAITING", "2026-11-21T12:01:00Z")
    assert view["deadline"].startswith("2026-11-22T12:01:")
    assert view["counts"] == {
        "succeeded": 2,
        "failed": 0,
        "aborted": 0,
        "skipped": 0,
        "due": 1,
        "waiting": 1,
        "left": 0,
    }
    assert states(view) == {"extract": "SUCCEEDED", "eu": "RETRYING", "us": "SUCCEEDED", "report": "WAITS"}
    jobs = {each["id"]: each for each in view["jobs"]}
    assert (jobs["eu"]["attempts"], jobs["eu"]["code"], jobs["eu"]["after"]) == (1, "http.503", ["extract"])
    assert (jobs["report"]["waits_for"], jobs["report"]["run"]) == (["eu"], None)


def test_workflows_failed_run_shows_which_jobs_failed_and_which_did_not_run(desk: Desk) -> None:
    desk.world.caller.answer = failing("eu")
    desk.put()
    desk.world.until(NOON + 90)
    view = desk.view()
    assert (view["state"], view["reason"]) == ("DEAD", "steps_failed")
    assert view["counts"] == {
        "succeeded": 2,
        "failed": 1,
        "aborted": 1,
        "skipped": 0,
        "due": 0,
        "waiting": 0,
        "left": 0,
    }
    assert states(view)["report"] == "SKIPPED"


def test_workflows_cancelled_run_counts_the_steps_that_it_did_not_start(desk: Desk) -> None:
    desk.world.caller.answer = lambda _: Failed("later", code="http.503")
    desk.put(NIGHTLY | {"jobs": {"a": {"job": {"target": HTTP_TARGET}}, "b": INLINE | {"after": ["a"]}}})
    desk.world.until(NOON + 61)
    assert desk.api.ask(f"/v1/runs/{RUN}/cancel").status == 202
    desk.world.until(NOON + 90)
    view = desk.view()
    assert view["state"] == "CANCELLED"
    assert states(view)["a"] == "CANCELLED"
    assert view["counts"]["left"] + view["counts"]["aborted"] == 2


def test_workflows_run_response_names_its_workflow(desk: Desk) -> None:
    desk.put()
    desk.world.until(NOON + 70)
    assert desk.api.get("/v1/runs/extract.20261121T120100Z").json["workflow"] == "nightly"
    assert desk.api.get(f"/v1/runs/{RUN}").json["workflow"] == "nightly"
    assert desk.api.ask("/v1/jobs/extract/run").json["workflow"] is None


def test_workflows_run_that_has_not_started_shows_no_jobs(desk: Desk) -> None:
    desk.put()
    answer = desk.api.get(f"{PATH}/runs/20261121T120100Z")
    assert (answer.status, kind(answer), answer.json["state"]) == (409, "no-workflow-run", "QUEUED")


def test_workflows_step_run_is_not_a_workflow_run(desk: Desk) -> None:
    desk.put()
    desk.world.until(NOON + 70)
    answer = desk.api.get("/v1/workflows/extract/runs/20261121T120100Z")
    assert (answer.status, kind(answer)) == (409, "no-workflow-run")


@pytest.mark.parametrize("local", ["20251121T120100Z", "yesterday"])
def test_workflows_unknown_run_is_not_found(desk: Desk, local: str) -> None:
    desk.put()
    answer = desk.api.get(f"{PATH}/runs/{local}")
    assert (answer.status, kind(answer)) == (404, "unknown-run")


# --- run again


def test_workflows_show_what_later_steps_wait_for_while_a_redriven_step_runs(desk: Desk) -> None:
    jobs = {
        "extract": {"job": {"target": HTTP_TARGET, "completion": "callback", "retry": {"max_attempts": 1}}},
        "load": INLINE | {"after": ["extract"], "not_before": "0 13 * * *"},
        "report": INLINE | {"after": ["load"]},
    }
    desk.put(NIGHTLY | {"jobs": jobs})
    desk.world.caller.answer = failing("extract")
    desk.world.until(NOON + 90)

    def shown(run: str = RUN) -> list[tuple[Any, ...]]:
        view = desk.view(run.partition(".")[2])
        names = ("state", "waits_for", "reason", "error", "finished_at")
        return [tuple(each[name] for name in names) for each in view["jobs"][1:]]

    def explained(job_id: str) -> Any:
        return desk.api.get(f"/v1/jobs/{job_id}/explain", at="2026-11-21T12:01:00Z").json

    def waits_for(job_id: str) -> Any:
        return desk.api.get(f"/v1/runs/{job_id}.20261121T120100Z").json.get("waits_for")

    assert [each[0] for each in shown()] == ["SKIPPED", "SKIPPED"]
    assert (waits_for("load"), waits_for("extract")) == (None, None)
    desk.world.caller.answer = lambda _: Returned("fine")
    desk.api.post({}, "/v1/runs/extract.20261121T120100Z/redrive")
    desk.world.work()
    assert shown() == [("WAITS", ["extract"], None, None, None), ("WAITS", ["load"], None, None, None)]
    assert desk.view()["counts"] | {"waiting": 2, "due": 1, "left": 0} == desk.view()["counts"]
    assert (waits_for("load"), waits_for("report")) == (["extract"], ["load"])
    assert (explained("load")["verdict"], explained("load")["sentence"]) == ("waits", f"It waits for extract of {RUN}.")
    assert explained("nightly")["sentence"] == (
        "It is DEAD, and continues after the redrive of a step. 0 of its 3 steps have ended; it waits for extract "
        "(WAITING)."
    )
    step = desk.world.runs("extract")[0]
    desk.world.tell(desk.world.about(step, MessageKind.COMPLETE))
    desk.world.until(NOON + 150)
    whole = desk.view()
    assert (whole["state"], whole["error"], whole["code"]) == ("WAITING", None, None)
    assert [each[0] for each in shown()] == ["DUE", "WAITS"]
    assert waits_for("load") == []
    assert explained("load")["sentence"] == f"Its start in {RUN} is at 2026-11-21T13:00:00Z."
    desk.world.until(NOON + 3700)
    assert states(desk.view()) == dict.fromkeys(jobs, "SUCCEEDED")


def test_workflows_do_not_show_steps_of_a_deleted_workflow_as_waiting(desk: Desk) -> None:
    desk.put(NIGHTLY | {"jobs": {"extract": INLINE, "load": INLINE | {"after": ["extract"]}}})
    desk.world.caller.answer = failing("extract")
    desk.world.until(NOON + 90)
    desk.world.caller.answer = lambda _: Failed("later", code="http.503")
    desk.patch("extract", {"retry": {"max_attempts": 9}})
    desk.api.post({}, "/v1/runs/extract.20261121T120100Z/redrive")
    desk.world.work()
    desk.api.delete("/v1/jobs/nightly")
    desk.world.until(NOON + 100)
    assert "waits_for" not in desk.api.get("/v1/runs/load.20261121T120100Z").json


def test_workflows_rerun_executes_part_of_a_run_and_takes_over_the_rest(desk: Desk) -> None:
    desk.world.caller.answer = failing("eu")
    desk.put()
    desk.world.until(NOON + 90)
    desk.world.caller.answer = lambda _: Returned("fine")
    answer = desk.rerun("eu")
    assert (answer.status, answer.json["state"]) == (202, "QUEUED")
    assert answer.headers["location"] == f"/v1/runs/{answer.json['id']}"
    desk.world.until(NOON + 120)
    view = desk.view(answer.json["id"].removeprefix("nightly."))
    assert (view["state"], view["rerun_of"], view["rerun_from"]) == ("SUCCEEDED", RUN, ["eu"])
    jobs = {each["id"]: each for each in view["jobs"]}
    assert [name for name in jobs if jobs[name]["carried_over"]] == ["extract", "us"]
    assert (jobs["us"]["run"], jobs["us"]["state"]) == ("us.20261121T120100Z", "SUCCEEDED")
    assert jobs["report"]["run"] == f"report.{answer.json['id'].removeprefix('nightly.')}"
    assert view["counts"]["succeeded"] == 4
    assert desk.view()["state"] == "DEAD"


def test_workflows_rerun_shows_a_carried_over_step_unchanged_after_its_redrive(desk: Desk) -> None:
    desk.world.caller.answer = failing("extract")
    tolerant = {**NIGHTLY, "jobs": {**NIGHTLY["jobs"], "extract": {**NIGHTLY["jobs"]["extract"], "may_fail": True}}}
    assert desk.put(tolerant).status == 201
    desk.world.until(NOON + 90)
    rerun = desk.rerun("report").json["id"].removeprefix("nightly.")
    desk.world.until(NOON + 120)
    before = {each["id"]: (each["state"], each["run"]) for each in desk.view(rerun)["jobs"]}
    assert before["eu"] == ("SKIPPED", "eu.20261121T120100Z")
    desk.world.caller.answer = failing("eu")
    desk.api.ask("/v1/runs/extract.20261121T120100Z/redrive")
    desk.world.until(NOON + 300)
    assert desk.api.get("/v1/runs/eu.20261121T120100Z").json["state"] == "DEAD"
    view = desk.view(rerun)
    after = {each["id"]: (each["state"], each["run"]) for each in view["jobs"]}
    assert (view["state"], after["extract"], after["eu"]) == ("SUCCEEDED", ("DEAD", None), ("LEFT", None))


def test_workflows_redrive_of_a_rerun_with_a_carried_over_failure_is_refused_and_names_its_run(desk: Desk) -> None:
    desk.world.caller.answer = failing("eu", "us")
    desk.put()
    desk.world.until(NOON + 90)
    desk.world.caller.answer = lambda _: Returned("fine")
    rerun = desk.rerun("eu").json["id"]
    desk.world.until(NOON + 120)
    calls = len(desk.world.caller.calls)
    answer = desk.api.post({}, f"/v1/runs/{rerun}/redrive")
    assert (answer.status, kind(answer), answer.json["state"]) == (409, "nothing-to-redrive", "DEAD")
    assert answer.json["detail"] == (
        f"No failed step of {rerun} is dead in this run: us (failed in {RUN}). Rerun it from these steps."
    )
    body = {"job_id": "nightly"}
    many = desk.api.post(body | {"dry_run": True}, "/v1/dead-letters/redrive").json
    assert (many["redriven"], many["refused"]) == (1, 1)
    many = desk.api.post(body, "/v1/dead-letters/redrive").json
    assert (many["redriven"], many["refused"]) == (1, 1), "the first run is redriven"
    desk.world.until(NOON + 130)
    assert len(desk.world.caller.calls) == calls + 3
    assert [desk.view(each)["state"] for each in (RUN.partition(".")[2], rerun.partition(".")[2])] == [
        "SUCCEEDED",
        "DEAD",
    ]


def test_workflows_rerun_with_the_same_key_is_the_same_rerun(desk: Desk) -> None:
    desk.world.caller.answer = failing("eu")
    desk.put()
    desk.world.until(NOON + 90)
    first, again = desk.rerun("eu", key="once"), desk.rerun("eu", key="once")
    assert first.json["id"] == again.json["id"]
    other = desk.rerun("us", key="once")
    assert (other.status, kind(other)) == (422, "idempotency-key-reused")
    desk.world.until(NOON + 120)
    after = desk.rerun("eu", key="once")
    assert (after.json["id"], after.json["state"]) == (first.json["id"], "DEAD")
    assert len(desk.world.runs("nightly")) == 2


def test_workflows_unfinished_run_cannot_be_rerun(desk: Desk) -> None:
    desk.world.caller.answer = lambda _: Failed("later", code="http.503")
    desk.put(NIGHTLY | {"jobs": {"slow": {"job": {"target": HTTP_TARGET}}}})
    desk.world.until(NOON + 61)
    answer = desk.rerun("slow")
    assert (answer.status, kind(answer), answer.json["state"]) == (409, "run-not-ended", "WAITING")


def test_workflows_rerun_error_names_an_unknown_job(desk: Desk) -> None:
    desk.put()
    desk.world.until(NOON + 90)
    answer = desk.rerun("eu", "asia")
    assert (answer.status, answer.errors) == (422, {"/from/1": "asia is not a step of this run"})


def test_workflows_job_run_cannot_be_rerun_as_a_workflow(desk: Desk) -> None:
    desk.put()
    desk.world.until(NOON + 90)
    answer = desk.rerun("eu", run="eu.20261121T120100Z")
    assert (answer.status, kind(answer)) == (409, "no-workflow-run")


# --- who may see it, and where


def test_workflows_tenants_see_only_their_own_workflows(desk: Desk, tables: Tables) -> None:
    theirs = Desk(tables, auth="jwt")
    theirs.api.caller = jwt_caller("acme", "jobs:read", "jobs:write")
    assert theirs.put().status == 201
    theirs.api.caller = jwt_caller("globex", "jobs:read", "jobs:write")
    assert theirs.api.get("/v1/workflows").json["items"] == []
    assert theirs.api.get(PATH).status == 404
    assert "there is no job extract" in theirs.put(NIGHTLY | {"jobs": {"extract": {}}}).errors["/jobs/extract"]
    assert theirs.put().status == 201
