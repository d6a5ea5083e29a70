"""Workflows as steps of workflows, and jobs that are steps of several workflows, over the API."""

from collections import Counter
from typing import Any

import pytest

from duecourse.domain.runs.rendering import render_document
from duecourse.domain.targets.targets import Failed, Outcome, Returned
from duecourse.messages import MessageKind
from duecourse.ports import Call
from tests.integration.api.test_workflows_over_http import RUN, Desk, kind
from tests.support.api import HTTP_TARGET, Answered
from tests.support.api_events import json_event, jwt_caller
from tests.support.jobs import NOON
from tests.support.named_steps import named
from tests.support.tables import Tables

LOCAL = RUN.partition(".")[2]
END = NOON + 120


def job(payload: Any = None, **fields: Any) -> dict[str, Any]:
    return {"job": {"target": HTTP_TARGET, "payload": payload, "retry": {"max_attempts": 1}, **fields}}


INNER: dict[str, Any] = {
    "schedule": None,
    "payload": {"rows": "{{upstream.extract.result.rows}}", "text": "n={{upstream.extract.result.rows}}"},
    "jobs": {
        "copy": job({"rows": "{{workflow.payload.rows}}", "text": "{{workflow.payload.text}}"}),
        "index": job() | {"after": ["copy"]},
    },
}
OUTER: dict[str, Any] = {
    "schedule": "1 12 * * *",
    "jobs": {
        "extract": job(),
        "load": {"after": ["extract"]},
        "report": job("{{upstream.load.result}}") | {"after": ["load"]},
    },
}
OTHER = "/v1/workflows/other"
ALL = ("extract", "copy", "index", "load", "report", "nightly")


class Answers:
    """Jobs in `failing` fail for good. `calls` counts the calls by run, `payloads` has the last payload by run."""

    def __init__(self) -> None:
        self.failing: set[str] = set()
        self.calls: Counter[str] = Counter()
        self.payloads: dict[str, Any] = {}
        self.keys: dict[str, str] = {}

    def __call__(self, call: Call) -> Outcome:
        run = call.run.name
        self.calls[run.id] += 1
        self.keys[run.id] = call.idempotency_key
        self.payloads[run.id] = render_document(call.job.payload, call.values)
        if run.job_id in self.failing:
            return Failed("no", retryable=False, code="http.500")
        return Returned({"rows": 7} if run.job_id == "extract" else {"of": run.job_id})


class Nested(Desk):
    """The workflow `nightly` has the workflow `load` as a step."""

    def __init__(self, tables: Tables, **settings: Any) -> None:
        super().__init__(tables, **settings)
        self.answers = Answers()
        self.world.caller.answer = self.answers

    def put_both(self) -> None:
        assert self.put(INNER, "/v1/workflows/load").status == 201
        answer = self.put(OUTER)
        assert answer.status == 201, answer.text

    def states(self, *names: str, local: str = LOCAL) -> dict[str, str | None]:
        runs = {name: self.api.get(f"/v1/runs/{name}.{local}") for name in names}
        return {name: run.json["state"] if run.status == 200 else None for name, run in runs.items()}

    def post(self, path: str, body: Any = None) -> Answered:
        answer = self.api.send(json_event("POST", path, {} if body is None else body))
        self.world.work()
        return answer


@pytest.fixture
def desk(tables: Tables) -> Nested:
    return Nested(tables)


def test_nested_workflow_runs_as_a_step_and_its_steps_run_once_each(desk: Nested) -> None:
    desk.put_both()
    desk.world.until(END)
    assert desk.states(*ALL) == dict.fromkeys(ALL, "SUCCEEDED")
    assert desk.answers.calls == dict.fromkeys(
        [f"{each}.{LOCAL}" for each in ("extract", "copy", "index", "report")], 1
    )
    outer, inner = desk.view(), desk.api.get(f"/v1/workflows/load/runs/{LOCAL}").json
    assert [(each["id"], each["is_workflow"]) for each in outer["jobs"]] == [
        ("extract", False),
        ("load", True),
        ("report", False),
    ]
    assert [(each["id"], each["state"]) for each in inner["jobs"]] == [("copy", "SUCCEEDED"), ("index", "SUCCEEDED")]
    runs = {name: desk.api.get(f"/v1/runs/{name}.{LOCAL}").json["workflow"] for name in ("copy", "load", "nightly")}
    assert runs == {"copy": "load", "load": "nightly", "nightly": "nightly"}


def test_nested_workflow_takes_its_payload_from_upstream_and_hands_its_results_on(desk: Nested) -> None:
    desk.put_both()
    desk.world.until(END)
    assert desk.answers.payloads[f"copy.{LOCAL}"] == {"rows": 7, "text": "n=7"}
    steps = {
        name: {"run_id": f"{name}.{LOCAL}", "state": "SUCCEEDED", "result": {"of": name}} for name in ("copy", "index")
    }
    assert desk.answers.payloads[f"report.{LOCAL}"] == {"steps": steps}


def test_nested_workflow_that_runs_alone_keeps_its_placeholders(desk: Nested) -> None:
    desk.put_both()
    run = desk.post("/v1/jobs/load/run").json
    desk.world.work()
    local = run["id"].partition(".")[2]
    assert desk.states("load", "copy", "index", local=local) == dict.fromkeys(("load", "copy", "index"), "SUCCEEDED")
    assert desk.answers.payloads[f"copy.{local}"]["rows"] == "{{upstream.extract.result.rows}}"
    assert desk.states("nightly") == {"nightly": "QUEUED"}


def test_nested_workflow_with_a_dead_step_fails_the_outer_run_with_one_notice(desk: Nested) -> None:
    desk.answers.failing = {"copy"}
    desk.put_both()
    desk.world.until(END)
    assert desk.states(*ALL) == {
        "extract": "SUCCEEDED",
        "copy": "DEAD",
        "index": "SKIPPED",
        "load": "DEAD",
        "report": "SKIPPED",
        "nightly": "DEAD",
    }
    assert desk.api.get(f"/v1/runs/{RUN}").json["error"] == "failed: load (workflow.failed)"
    assert [each.run.run_id for each in desk.world.notices.deaths] == [RUN]


@pytest.mark.parametrize("redriven", ["copy", "load", "nightly"])
def test_nested_workflow_redrive_at_any_level_continues_all_levels(desk: Nested, redriven: str) -> None:
    desk.answers.failing = {"copy"}
    desk.put_both()
    desk.world.until(END)
    desk.answers.failing = set()
    assert desk.post(f"/v1/runs/{redriven}.{LOCAL}/redrive").status == 202
    desk.world.until(END + 60)
    assert desk.states(*ALL) == dict.fromkeys(ALL, "SUCCEEDED")
    assert desk.answers.calls[f"extract.{LOCAL}"] == 1
    assert desk.answers.calls[f"copy.{LOCAL}"] == 2


def test_nested_workflow_is_cancelled_with_the_outer_run(desk: Nested) -> None:
    desk.put(INNER | {"jobs": {"copy": job(completion="callback", completion_seconds=600)}}, "/v1/workflows/load")
    desk.put(OUTER)
    desk.world.until(END)
    assert desk.states("copy", "load", "nightly") == {"copy": "WAITING", "load": "WAITING", "nightly": "WAITING"}
    assert desk.post(f"/v1/runs/{RUN}/cancel").status == 202
    desk.world.until(END + 60)
    assert desk.states("copy", "load", "nightly", "report") == {
        "copy": "CANCELLED",
        "load": "CANCELLED",
        "nightly": "CANCELLED",
        "report": None,
    }


def test_nested_workflow_ends_by_the_deadline_of_the_outer_run(desk: Nested) -> None:
    waits = job(completion="callback", completion_seconds=6000)
    desk.put(INNER | {"jobs": {"copy": waits}}, "/v1/workflows/load")
    desk.put(OUTER | {"deadline_seconds": 60})
    desk.world.until(NOON + 300)
    assert desk.states("copy", "load", "nightly") == {"copy": "CANCELLED", "load": "CANCELLED", "nightly": "DEAD"}
    assert desk.api.get(f"/v1/runs/{RUN}").json["code"] == "workflow.deadline"


def test_nested_workflow_rerun_of_the_outer_run_repeats_or_carries_over_the_nested_run(desk: Nested) -> None:
    desk.put_both()
    desk.world.until(END)
    for begin, copies in (("report", 1), ("load", 2)):
        run = desk.rerun(begin).json["id"]
        desk.world.work()
        desk.world.until(desk.world.clock.now() + 10)
        assert desk.api.get(f"/v1/runs/{run}").json["state"] == "SUCCEEDED"
        assert sum(count for name, count in desk.answers.calls.items() if name.startswith("copy.")) == copies
    answer = desk.rerun("copy", run=f"load.{LOCAL}")
    assert (answer.status, kind(answer)) == (409, "no-workflow-run")


def test_nested_workflow_items_of_its_steps_run_once_each(desk: Nested) -> None:
    each = job("{{item}}") | {"for_each": "{{workflow.payload.list}}"}
    inner = {"schedule": None, "payload": {"list": ["a", "b"]}, "jobs": {"copy": each}}
    desk.put(inner, "/v1/workflows/load")
    desk.put(OUTER)
    desk.world.until(END)
    assert desk.states("copy", "load", "report", "nightly") == dict.fromkeys(
        ("copy", "load", "report", "nightly"), "SUCCEEDED"
    )
    assert [desk.answers.payloads[f"copy.{LOCAL}.i{index}"] for index in range(2)] == ["a", "b"]


# --- what is refused


def refused(desk: Nested, body: Any, path: str) -> dict[str, str]:
    before = desk.items()
    answer = desk.put(body, path)
    assert (answer.status, kind(answer)) == (409, "workflow-conflict"), answer.text
    assert desk.items() == before
    return answer.errors


def test_nested_workflows_cannot_contain_each_other(desk: Nested) -> None:
    desk.put_both()
    desk.put(OUTER | {"schedule": None})
    found = refused(desk, INNER | {"jobs": INNER["jobs"] | {"all": {"job_id": "nightly"}}}, "/v1/workflows/load")
    assert found == {"/jobs/all": "creates a cycle of workflows: nightly -> load -> nightly; remove one of these steps"}


def test_nested_workflows_have_at_most_four_levels(desk: Nested) -> None:
    desk.put({"schedule": None, "jobs": {"a": job()}}, "/v1/workflows/w1")
    for level in (2, 3, 4):
        answer = desk.put({"schedule": None, "jobs": {"down": {"job_id": f"w{level - 1}"}}}, f"/v1/workflows/w{level}")
        assert answer.status == 201, answer.text
    body = {"schedule": None, "jobs": {"down": {"job_id": "w4"}}}
    assert refused(desk, body, "/v1/workflows/w5") == {
        "/jobs/down": "makes 5 levels of workflows; at most 4 are allowed, so remove a level"
    }
    desk.put({"schedule": None, "jobs": {"b": job()}}, "/v1/workflows/w0")
    body = {"schedule": None, "jobs": {"down": {"job_id": "w0"}}}
    assert refused(desk, body, "/v1/workflows/w1") == {
        "/jobs/down": "makes 5 levels of workflows; at most 4 are allowed, so remove a level"
    }
    run = desk.post("/v1/jobs/w4/run").json["id"]
    desk.world.until(desk.world.clock.now() + 10)
    assert desk.api.get(f"/v1/runs/{run}").json["state"] == "SUCCEEDED"


@pytest.mark.parametrize(
    ("step", "place", "said"),
    [
        ({"shared": True}, "/jobs/load/shared", "load is a workflow, which can be a step of one workflow only"),
        ({"for_each": "{{upstream.extract.result}}"}, "/jobs/load/for_each", "cannot run for each item"),
        (job() | {"job_id": "load"}, "/jobs/load", "load is a workflow; remove job"),
    ],
)
def test_nested_workflow_faults_name_the_field_and_the_remedy(
    desk: Nested, step: dict[str, Any], place: str, said: str
) -> None:
    desk.put(INNER, "/v1/workflows/load")
    body = {"schedule": None, "jobs": {"extract": job(), "load": {"after": ["extract"]} | step}}
    assert said in refused(desk, body, "/v1/workflows/nightly")[place]


def test_nested_workflow_belongs_to_one_workflow_and_keeps_no_schedule(desk: Nested) -> None:
    desk.put_both()
    before = desk.items()
    answers = [
        desk.put(
            {"schedule": None, "jobs": {"extract": job() | {"job_id": "x"}, "load": {"after": ["extract"]}}}, OTHER
        ),
        desk.put(INNER | {"schedule": "@daily"}, "/v1/workflows/load"),
        desk.api.delete("/v1/jobs/load"),
    ]
    assert [(each.status, kind(each)) for each in answers] == [
        (409, "workflow-conflict"),
        (409, "in-workflow"),
        (409, "in-workflow"),
    ]
    assert desk.items() == before
    desk.put(OUTER | {"jobs": {"extract": job()}})
    assert desk.api.delete("/v1/jobs/load").status == 204


def test_nested_workflow_is_paused_like_any_step(desk: Nested) -> None:
    desk.put_both()
    desk.post("/v1/jobs/load/pause")
    desk.world.until(END)
    assert desk.states("extract", "load", "copy") == {"extract": "SUCCEEDED", "load": None, "copy": None}
    desk.post("/v1/jobs/load/resume")
    desk.world.until(END + 300)
    assert desk.states(*ALL) == dict.fromkeys(ALL, "SUCCEEDED")


def test_nested_workflow_requires_the_tags_of_all_levels(tables: Tables) -> None:
    desk = Nested(tables, auth="jwt", tenant_claim="tenant")
    desk.api.caller = jwt_caller("default", "jobs:read", "jobs:write")
    inner = INNER | {"tags": ["etl"], "jobs": {"copy": job(tags=["other"])}}
    desk.put(inner, "/v1/workflows/load")
    etl = {
        name: {**step, "job": {**step["job"], "tags": ["etl"]}} if "job" in step else step
        for name, step in OUTER["jobs"].items()
    }
    body = OUTER | {"tags": ["etl"], "jobs": etl}
    whole, scoped = desk.api.caller, jwt_caller("default", "jobs:read:tag=etl", "jobs:write:tag=etl")

    def put() -> Answered:
        event = json_event("PUT", "/v1/workflows/nightly", body | {"jobs": named(body["jobs"])})
        desk.api.caller = scoped
        answer = desk.api.send(event)
        desk.api.caller = whole
        return answer

    before = desk.items()
    assert put().status == 403
    assert desk.items() == before
    desk.put(body)
    desk.answers.failing = {"copy"}
    desk.world.until(END)
    for name in ("nightly", "load", "copy"):
        event = json_event("POST", f"/v1/runs/{name}.{LOCAL}/redrive", {})
        desk.api.caller = scoped
        assert desk.api.send(event).status == 403, name


# --- shared jobs


SHARED = {"after": [], "job_id": "common", "shared": True}


def with_shared(desk: Nested, **fields: Any) -> None:
    made = {"id": "common", "schedule": "1 12 * * *", "target": HTTP_TARGET, "retry": {"max_attempts": 1}}
    assert desk.api.post(made | fields).status == 201
    for name in ("nightly", "weekly"):
        body = {
            "schedule": "1 12 * * *",
            "jobs": {"first": job() | {"job_id": f"{name}-first"}, "use": SHARED | {"after": ["first"]}},
        }
        answer = desk.put(body, f"/v1/workflows/{name}")
        assert answer.status == 201, answer.text


def test_shared_job_runs_in_several_workflows_and_by_its_own_schedule(desk: Nested) -> None:
    with_shared(desk)
    desk.world.until(END)
    ids = [f"common.{LOCAL}", f"common.{LOCAL}.wnightly", f"common.{LOCAL}.wweekly"]
    assert {name: desk.answers.calls[name] for name in ids} == dict.fromkeys(ids, 1)
    for name in ("nightly", "weekly"):
        view = desk.api.get(f"/v1/workflows/{name}/runs/{LOCAL}").json
        assert (view["state"], [each["run"] for each in view["jobs"]]) == (
            "SUCCEEDED",
            [f"{name}-first.{LOCAL}", f"common.{LOCAL}.w{name}"],
        )
    shown = desk.api.get(f"/v1/runs/common.{LOCAL}.wnightly").json
    assert (shown["workflow"], shown["state"]) == ("nightly", "SUCCEEDED")
    assert desk.api.get("/v1/jobs/common").json["workflow"] is None
    again = desk.api.get("/v1/workflows/nightly").json
    assert again["jobs"]["use"]["shared"] is True
    assert desk.put({name: again[name] for name in ("schedule", "jobs")}).json["changed"] == []


def test_shared_job_is_redriven_and_rerun_in_its_workflow(desk: Nested) -> None:
    with_shared(desk)
    desk.answers.failing = {"common"}
    desk.world.until(END)
    assert desk.states("nightly", "weekly") == {"nightly": "DEAD", "weekly": "DEAD"}
    desk.answers.failing = set()
    assert desk.post(f"/v1/runs/common.{LOCAL}.wnightly/redrive").status == 202
    desk.world.until(END + 60)
    assert desk.states("nightly", "weekly") == {"nightly": "SUCCEEDED", "weekly": "DEAD"}
    run = desk.rerun("first").json["id"]
    desk.world.until(END + 120)
    local = run.partition(".")[2]
    assert desk.states("common", local=f"{local}.wnightly") == {"common": "SUCCEEDED"}
    assert desk.api.get(f"/v1/runs/{run}").json["state"] == "SUCCEEDED"


def test_shared_job_that_was_deleted_fails_its_step(desk: Nested) -> None:
    with_shared(desk)
    assert desk.api.delete("/v1/jobs/common").status == 204
    desk.world.until(END)
    view = desk.view()
    assert [(each["state"], each["reason"]) for each in view["jobs"]] == [("SUCCEEDED", None), ("SKIPPED", "deleted")]
    assert view["state"] == "DEAD"


def test_shared_job_with_items_and_results_of_other_steps(desk: Nested) -> None:
    made = {"id": "common", "schedule": None, "target": HTTP_TARGET, "payload": "{{item}}"}
    assert desk.api.post(made).status == 201
    step = {"job_id": "common", "shared": True, "for_each": "{{workflow.payload}}"}
    last = job("{{upstream.use.result.count}}") | {"after": ["use"], "job_id": "last"}
    answer = desk.put({"schedule": "1 12 * * *", "payload": ["a", "b"], "jobs": {"use": step, "last": last}})
    assert answer.status == 201, answer.text
    desk.world.until(END)
    assert [desk.answers.payloads[f"common.{LOCAL}.wnightly.i{index}"] for index in range(2)] == ["a", "b"]
    assert desk.answers.payloads[f"last.{LOCAL}"] == 2


def test_shared_step_needs_an_existing_job(desk: Nested) -> None:
    answer = desk.put({"schedule": None, "jobs": {"use": job() | {"shared": True}, "gone": {"shared": True}}})
    assert answer.status == 422
    assert answer.errors == {
        "/jobs/use/shared": "needs an existing job; remove job, and name the existing job in job_id",
        "/jobs/gone": "there is no job gone; create it, name another in job_id, or define it here in job",
    }


def test_shared_job_is_claimed_and_released_when_its_step_changes(desk: Nested) -> None:
    desk.api.post({"id": "common", "schedule": None, "target": HTTP_TARGET})
    workflow = lambda **step: {"schedule": None, "jobs": {"use": {"job_id": "common", **step}}}  # noqa: E731
    for shared in (False, True, False):
        assert desk.put(workflow(shared=shared)).status in (200, 201)
        assert desk.api.get("/v1/jobs/common").json["workflow"] == (None if shared else "nightly")


PAST = {"from": "2026-11-20T12:00:00Z", "to": "2026-11-20T13:00:00Z", "dry_run": False}
"""A backfill of one occurrence of the day before."""


def test_shared_job_has_its_own_keys_and_results_in_the_backfills_of_its_workflows(desk: Nested) -> None:
    """The receiver of a call would otherwise take the second run for a repetition of the first one."""
    with_shared(desk)
    for name in ("nightly", "weekly"):
        assert desk.post(f"/v1/jobs/{name}/backfill", PAST).status == 202
    desk.world.until(desk.world.clock.now() + 10)
    keys = [key for run, key in desk.answers.keys.items() if run.startswith("common.20261120")]
    assert sorted(keys) == [f"default/common.20261120T120100Z.w{name}" for name in ("nightly", "weekly")]
    plan = desk.post("/v1/jobs/common/backfill", PAST | {"dry_run": True}).json
    assert (plan["count"], plan["results"]["succeeded"]) == (1, 0)


def test_shared_job_of_which_another_workflow_is_the_owner_has_no_seat_in_this_one(desk: Nested) -> None:
    """The locks of both workflows are independent, so two of its runs may be active at the same time."""
    assert desk.put({"schedule": None, "overlap": "skip", "jobs": {"common": job()}}, OTHER).status == 201
    stored = desk.world.jobs.get("default", "common")
    assert stored is not None
    assert stored.seated
    assert desk.put({"schedule": "1 12 * * *", "overlap": "skip", "jobs": {"use": SHARED}}).status == 201
    desk.world.until(END)
    sent = [each.message for each in desk.world.wheel.sent if each.message.job_id == "common"]
    assert [each.bulk for each in sent][-1:] == [True]
    assert desk.states("common", local=f"{LOCAL}.wnightly") == {"common": "SUCCEEDED"}


def test_shared_job_that_became_a_workflow_fails_its_step(desk: Nested) -> None:
    with_shared(desk)
    assert desk.api.delete("/v1/jobs/common").status == 204
    inner = {"schedule": None, "jobs": {"deep": job(), "use": SHARED | {"job_id": "shared-too"}}}
    assert desk.api.post({"id": "shared-too", "schedule": None, "target": HTTP_TARGET}).status == 201
    assert desk.put(inner, "/v1/workflows/common").status == 201
    desk.world.until(END)
    view = desk.view()
    assert [(each["state"], each["reason"]) for each in view["jobs"]] == [("SUCCEEDED", None), ("SKIPPED", "deleted")]
    assert view["state"] == "DEAD"
    assert desk.states("deep", local=f"{LOCAL}.wnightly") == {"deep": None}


@pytest.mark.parametrize("scheduled", [True, False])
def test_nested_workflow_rerun_applies_the_times_of_the_repeated_run(desk: Nested, scheduled: bool) -> None:
    """`only` and `not_before` apply at all levels of the rerun of a scheduled run, and of no other manual run."""
    inner = {"schedule": None, "jobs": {"copy": job(), "monthly": job() | {"only": "0 0 1 * *"}}}
    assert desk.put(inner, "/v1/workflows/load").status == 201
    desk.put(OUTER)
    run = RUN if scheduled else desk.post("/v1/jobs/nightly/run").json["id"]
    desk.world.until(END)
    again = desk.rerun("load", run=run).json["id"]
    desk.world.until(desk.world.clock.now() + 10)
    for each in (run, again):
        local = each.partition(".")[2]
        assert desk.states("copy", "monthly", local=local) == {
            "copy": "SUCCEEDED",
            "monthly": "SKIPPED" if scheduled else "SUCCEEDED",
        }


def test_nested_workflow_that_left_the_outer_one_ends_its_runs_when_it_is_deleted(desk: Nested) -> None:
    desk.put(INNER | {"jobs": {"copy": job(completion="callback", completion_seconds=600)}}, "/v1/workflows/load")
    desk.put(OUTER)
    desk.world.until(END)
    assert desk.states("copy", "load") == {"copy": "WAITING", "load": "WAITING"}
    desk.put(OUTER | {"jobs": {"extract": job()}})
    assert desk.api.delete("/v1/jobs/load").status == 204
    desk.world.until(END + 60)
    assert desk.states("copy", "load", "nightly") == {"copy": "CANCELLED", "load": "CANCELLED", "nightly": "DEAD"}


def test_nested_workflow_payload_names_upstream_steps_of_the_outer_one(desk: Nested) -> None:
    desk.put_both()
    wrong = INNER | {"payload": "{{upstream.gone.result}}"}
    answer = desk.put(wrong, "/v1/workflows/load")
    said = "upstream.gone is not an upstream step of load; name a step that must end before it"
    assert (answer.status, answer.errors) == (422, {"/payload": said})
    assert desk.put(INNER | {"payload": 1}, "/v1/workflows/load").status == 200


def test_nested_workflow_explains_its_steps_at_all_levels(desk: Nested) -> None:
    waits = job(completion="callback", completion_seconds=600)
    desk.put(INNER | {"jobs": INNER["jobs"] | {"copy": waits}}, "/v1/workflows/load")
    desk.put(OUTER)
    desk.world.until(END)
    said = {
        name: desk.api.get(f"/v1/jobs/{name}/explain", at="2026-11-21T12:01:00Z").json["sentence"]
        for name in ("nightly", "load", "index", "report")
    }
    assert said == {
        "nightly": "1 of its 3 steps have ended; it waits for load (WAITING), until 2026-11-22T12:01:00Z.",
        "load": "0 of its 2 steps have ended; it waits for copy (WAITING), until 2026-11-22T12:01:00Z.",
        "index": f"It waits for copy of load.{LOCAL}.",
        "report": f"It waits for load of nightly.{LOCAL}.",
    }


def test_nested_workflow_requires_the_tags_of_the_jobs_that_its_run_has(tables: Tables) -> None:
    """The nested run keeps its graph, whatever its workflow contains by now."""
    desk = Nested(tables, auth="jwt", tenant_claim="tenant")
    whole, scoped = jwt_caller("default", "jobs:read", "jobs:write"), jwt_caller("default", "jobs:write:tag=etl")
    desk.api.caller = whole
    desk.put({"schedule": None, "tags": ["etl"], "jobs": {"copy": job(tags=["other"])}}, "/v1/workflows/load")
    desk.put({"schedule": "1 12 * * *", "tags": ["etl"], "jobs": {"load": {}}})
    desk.answers.failing = {"copy"}
    desk.world.until(END)
    desk.put({"schedule": None, "tags": ["etl"], "jobs": {"new": job(tags=["etl"])}}, "/v1/workflows/load")
    desk.answers.failing = set()
    desk.api.caller = scoped
    for name in ("nightly", "load"):
        answer = desk.post(f"/v1/runs/{name}.{LOCAL}/redrive")
        assert answer.status == 403, name
    desk.world.until(END + 60)
    assert desk.answers.calls[f"copy.{LOCAL}"] == 1
    desk.api.caller = whole
    assert desk.states("copy") == {"copy": "DEAD"}


def test_nested_workflow_is_released_only_with_the_tags_of_its_jobs(tables: Tables) -> None:
    desk = Nested(tables, auth="jwt", tenant_claim="tenant")
    desk.api.caller = jwt_caller("default", "jobs:read", "jobs:write")
    desk.put({"schedule": None, "tags": ["etl"], "jobs": {"copy": job(tags=["other"])}}, "/v1/workflows/load")
    body = {"schedule": None, "tags": ["etl"], "jobs": {"one": job(tags=["etl"])}}
    desk.put(body | {"jobs": body["jobs"] | {"load": {}}})
    before = desk.items()
    desk.api.caller = jwt_caller("default", "jobs:read:tag=etl", "jobs:write:tag=etl")
    assert desk.put(body).status == 403
    assert desk.items() == before


def test_nested_workflow_explains_only_workflows_with_the_tags_of_the_caller(tables: Tables) -> None:
    desk = Nested(tables, auth="jwt", tenant_claim="tenant")
    desk.api.caller = jwt_caller("default", "jobs:read", "jobs:write")
    desk.put({"schedule": None, "tags": ["etl"], "jobs": {"copy": job(tags=["etl"])}}, "/v1/workflows/load")
    desk.put({"schedule": "1 12 * * *", "tags": ["secret"], "jobs": {"load": {}}})
    desk.api.caller = jwt_caller("default", "jobs:read:tag=etl")
    for name in ("load", "copy"):
        found = desk.api.get(f"/v1/jobs/{name}/explain", at="2026-11-21T12:01:00Z").json
        assert "which the caller's scopes do not include" in found["sentence"], name
        assert "enqueued" not in found["sentence"]


@pytest.mark.parametrize("more", [{}, {"at_once": 1}, {"force_new_key": True, "at_once": 2}])
def test_nested_workflow_is_backfilled_with_the_outer_one(desk: Nested, more: dict[str, Any]) -> None:
    desk.put_both()
    asked = {"from": "2026-11-18T12:00:00Z", "to": "2026-11-21T12:00:00Z", "only": "all", "dry_run": False} | more
    answer = desk.post("/v1/jobs/nightly/backfill", asked)
    assert (answer.status, answer.json["count"]) == (202, 3)
    desk.world.until(END)
    for day in (18, 19, 20):
        local = f"202611{day}T120100Z{answer.json['suffix']}"
        assert desk.states(*ALL, local=local) == dict.fromkeys(ALL, "SUCCEEDED")
        assert desk.answers.calls[f"copy.{local}"] == 1
        run = f"copy.{local}" if more.get("force_new_key") else f"copy.202611{day}T120100Z"
        assert desk.answers.keys[f"copy.{local}"] == f"default/{run}"


def test_nested_workflow_that_is_run_by_hand_at_the_same_time_waits_for_its_turn(desk: Nested) -> None:
    waits = job(completion="callback", completion_seconds=30)
    desk.put(INNER | {"payload": None, "overlap": "skip", "jobs": {"copy": waits}}, "/v1/workflows/load")
    desk.put(OUTER)
    desk.world.until(NOON + 50)
    by_hand = desk.post("/v1/jobs/load/run").json["id"].partition(".")[2]
    desk.world.until(NOON + 70)
    assert desk.states("load", "copy", local=by_hand) == {"load": "WAITING", "copy": "WAITING"}
    assert desk.states("load", "copy") == {"load": "QUEUED", "copy": None}
    desk.world.until(NOON + 100)
    assert desk.states("load", local=by_hand) == {"load": "DEAD"}
    assert desk.states("load", "copy") == {"load": "WAITING", "copy": "WAITING"}
    desk.world.until(NOON + 300)
    assert desk.states("load", "copy", "nightly") == {"load": "DEAD", "copy": "DEAD", "nightly": "DEAD"}


def test_nested_workflow_that_was_edited_is_redriven_with_the_graph_of_its_run(desk: Nested) -> None:
    """The nested run keeps its graph; the outer run, its result."""
    desk.answers.failing = {"copy"}
    desk.put_both()
    desk.world.until(END)
    desk.put(INNER | {"jobs": INNER["jobs"] | {"more": job()}}, "/v1/workflows/load")
    desk.answers.failing = set()
    assert desk.post(f"/v1/runs/{RUN}/redrive").status == 202
    desk.world.until(END + 60)
    assert desk.states(*ALL, "more") == dict.fromkeys(ALL, "SUCCEEDED") | {"more": None}


def test_nested_workflow_messages_that_arrive_again_change_nothing(desk: Nested) -> None:
    """Each message of all levels, in the form in which it was sent, after everything has ended."""
    desk.put_both()
    desk.world.until(END)
    before, calls = desk.items(), dict(desk.answers.calls)
    for each in list(desk.world.wheel.sent):
        desk.world.handle(desk.world.wheel.put_in(each.message))
    desk.world.until(END + 120)
    assert desk.answers.calls == calls
    assert desk.states(*ALL) == dict.fromkeys(ALL, "SUCCEEDED")
    assert len(desk.items()) == len(before)


def test_nested_workflows_are_charged_by_their_number_before_they_are_read(tables: Tables) -> None:
    """The own token of a request pays for one of them."""
    desk = Nested(tables, requests_per_second=1, burst=1000)
    put = lambda name, jobs: desk.put({"schedule": None, "jobs": jobs}, f"/v1/workflows/{name}").status  # noqa: E731
    for number in range(5):
        assert put(f"low-{number}", {f"copy-{number}": job()}) == 201
        assert put(f"mid-{number}", {f"low-{number}": {}}) == 201
    before = desk.api.get("/v1/stats").json["requests"]["left"]
    assert put("top", {f"mid-{number}": {} for number in range(5)}) == 201
    spent = before - desk.api.get("/v1/stats").json["requests"]["left"]
    assert spent >= 15, "five workflows with five workflows in them, and their jobs"


def test_nested_workflow_that_has_succeeded_does_not_continue_after_a_redrive(desk: Nested) -> None:
    desk.answers.failing = {"copy"}
    copy, index = INNER["jobs"]["copy"], INNER["jobs"]["index"]
    desk.put(INNER | {"jobs": {"copy": copy | {"may_fail": True}, "index": index}}, "/v1/workflows/load")
    desk.put(OUTER)
    desk.world.until(END)
    assert desk.states("copy", "index", "load") == {"copy": "DEAD", "index": "SKIPPED", "load": "SUCCEEDED"}
    desk.answers.failing = set()
    assert desk.post(f"/v1/runs/copy.{LOCAL}/redrive").status == 202
    desk.world.until(END + 60)
    assert desk.states("copy", "index", "load") == {"copy": "SUCCEEDED", "index": "SKIPPED", "load": "SUCCEEDED"}
    view = desk.api.get(f"/v1/workflows/load/runs/{LOCAL}").json
    assert [each["state"] for each in view["jobs"]] == ["SUCCEEDED", "SKIPPED"]
    assert (view["counts"]["due"], view["counts"]["waiting"]) == (0, 0)


INSIDE = ["load", "copy", "load/copy"]


def redriven_inside(desk: Nested, inside: str, *, ended: bool = False, **outer: Any) -> tuple[str, str]:
    """A step of the dead workflow `load`, an item of the dead step `copy`, or an item of a dead step of `load` is
    redriven and waits for its callback. The outer run waits for another step, `slow`, or has `ended`. Return the step
    of the outer run, and the id of the redriven run.
    """
    of, waits = inside.partition("/")[0], {"completion": "callback", "completion_seconds": 6000}
    item = "" if inside == "load" else ".i0"
    jobs: dict[str, Any] = {"copy": job(**waits) | ({"for_each": "{{workflow.payload.list}}"} if item else {})}
    if of == "load":
        inner = {"payload": {"list": [1]}, "jobs": INNER["jobs"] | jobs}
        assert desk.put(INNER | inner, "/v1/workflows/load").status == 201
        jobs = {"load": {}}
    jobs["slow"] = job(**waits)
    answer = desk.put({"schedule": "1 12 * * *", "payload": {"list": [1]}, "jobs": jobs, **outer})
    assert answer.status == 201, answer.text
    desk.answers.failing = {"copy"}
    desk.world.until(END)
    if ended:
        end(desk, f"slow.{LOCAL}")
    assert desk.states(of, "nightly") == {of: "DEAD", "nightly": "DEAD" if ended else "WAITING"}
    desk.answers.failing = set()
    redriven = f"copy.{LOCAL}{item}"
    assert desk.post(f"/v1/runs/{redriven}/redrive").status == 202
    assert desk.api.get(f"/v1/runs/{redriven}").json["state"] == "WAITING"
    return of, redriven


def end(desk: Nested, run: str, *, succeeds: bool = True) -> None:
    """End a run that waits for its callback."""
    record = desk.world.run_store.get("default", *run.split(".", 1))
    assert record is not None
    if succeeds:
        desk.world.tell(desk.world.about(record, MessageKind.COMPLETE))
    else:
        desk.world.tell(desk.world.about(record, MessageKind.FAIL, error="no", code="no", retryable=False))
    desk.world.until(desk.world.clock.now() + 60)


@pytest.mark.parametrize("inside", INSIDE)
@pytest.mark.parametrize("over", ["CANCELLED", "DEAD", "deleted", "deleted later"])
def test_nested_workflow_redriven_step_ends_with_the_outer_run(desk: Nested, inside: str, over: str) -> None:
    of, redriven = redriven_inside(desk, inside, ended=over == "deleted later", deadline_seconds=300)
    if over == "CANCELLED":
        assert desk.post(f"/v1/runs/{RUN}/cancel").status == 202
    if over.startswith("deleted"):
        assert desk.api.delete("/v1/jobs/nightly").status == 204
    desk.world.until(END + 400)
    assert desk.api.get(f"/v1/runs/{redriven}").json["state"] == "CANCELLED"
    assert desk.states(of, "nightly") == {
        of: "CANCELLED",
        "nightly": "DEAD" if over in ("DEAD", "deleted later") else "CANCELLED",
    }
    assert desk.answers.calls[f"index.{LOCAL}"] == 0
    if over == "DEAD":
        assert desk.post(f"/v1/runs/{RUN}/redrive").status == 202
        for run in (redriven, f"slow.{LOCAL}"):
            end(desk, run)
        assert desk.states(of, "nightly") == {of: "SUCCEEDED", "nightly": "SUCCEEDED"}
        assert (desk.answers.calls[redriven], desk.answers.calls[f"slow.{LOCAL}"]) == (3, 2)


@pytest.mark.parametrize("inside", INSIDE)
@pytest.mark.parametrize("succeeds", [True, False])
@pytest.mark.parametrize("ended", [True, False])
def test_nested_workflow_outer_run_ends_only_after_the_redriven_step(
    desk: Nested, inside: str, succeeds: bool, ended: bool
) -> None:
    of, redriven = redriven_inside(desk, inside, ended=ended)
    if ended:
        answer = desk.rerun(of)
        assert (answer.status, kind(answer)) == (409, "run-not-ended")
    else:
        end(desk, f"slow.{LOCAL}")
        assert desk.states(of, "slow", "nightly") == {of: "DEAD", "slow": "SUCCEEDED", "nightly": "WAITING"}
        assert desk.world.notices.deaths == []
    end(desk, redriven, succeeds=succeeds)
    expected = "SUCCEEDED" if succeeds else "DEAD"
    assert desk.states(of, "nightly") == {of: expected, "nightly": expected}
    assert [each.run.run_id for each in desk.world.notices.deaths] == [RUN] * (ended or not succeeds)
    if not succeeds:
        assert desk.post(f"/v1/runs/{redriven}/redrive").status == 202
        assert desk.rerun(of).status == 409
        end(desk, redriven)
        assert desk.states(of, "nightly") == {of: "SUCCEEDED", "nightly": "SUCCEEDED"}
    assert desk.rerun(of).status == 202
