"""Single runs over the API: shown, cancelled and redriven by their ids."""

from typing import Any
from urllib.parse import quote

import pytest

from duecourse.domain.jobs.job import Job
from duecourse.domain.runs.states import Run, RunState
from duecourse.messages import MessageKind
from tests.support.api import BODY, ApiClient
from tests.support.callbacks import recorded
from tests.support.jobs import NOON, cursor
from tests.support.jobs import job as made_job
from tests.support.runs import run, waiting_run

NAME = "steady.20261121T120000Z"
FINAL = [RunState.SUCCEEDED, RunState.DEAD, RunState.CANCELLED, RunState.SKIPPED]
ALIVE = [RunState.RUNNING, RunState.WAITING, RunState.RETRYING]


@pytest.fixture
def job(api: ApiClient) -> Job:
    """A job of which nothing is enqueued."""
    made = made_job("0 0 1 1 *", id="steady")
    assert api.jobs.create(made, cursor(made))
    return made


def stored(api: ApiClient, record: Run) -> Run | None:
    return api.runs.get("default", record.job_id, record.name.local)


def test_runs_by_id_run_is_shown_as_in_the_list_of_its_job(api: ApiClient, job: Job) -> None:
    recorded(api, run(job, RunState.SUCCEEDED, result={"status": 200}))
    answer = api.get(f"/v1/runs/{NAME}")
    assert answer.status == 200
    assert (answer.json["id"], answer.json["state"], answer.json["result"]) == (NAME, "SUCCEEDED", {"status": 200})
    (listed,) = api.get("/v1/jobs/steady/runs").json["items"]
    assert answer.json == listed | {"attempt_list": answer.json["attempt_list"]}


def test_runs_by_id_large_result_is_a_temporary_link(api: ApiClient, job: Job) -> None:
    key = "results/default/steady/20261121T120000Z/2.json"
    recorded(api, run(job, RunState.SUCCEEDED, result_key=key, result_bytes=70_000))
    shown = api.get(f"/v1/runs/{NAME}").json
    assert (shown["result"], shown["result_bytes"]) == (None, 70_000)
    assert shown["result_url"] == f"https://results.example/{key}?signature=secret"
    assert shown["result_url_seconds"] == 300
    assert "signature" not in api.log.getvalue()


def test_runs_by_id_run_waiting_in_its_lane_is_shown_as_queued(api: ApiClient) -> None:
    assert api.post(BODY | {"id": "steady", "schedule": "rate(1 minute)"}).status == 201
    listed = api.get("/v1/jobs/steady/runs").json["items"]
    assert [one["state"] for one in listed] == ["QUEUED", "QUEUED"]
    for one in listed:
        assert api.get(f"/v1/runs/{one['id']}").json.items() >= one.items()


def test_runs_by_id_run_covered_by_another_record_is_not_shown_as_queued(api: ApiClient) -> None:
    assert api.post(BODY | {"id": "steady", "schedule": "rate(1 minute)"}).status == 201
    created = api.jobs.get("default", "steady")
    assert created is not None
    recorded(api, run(created, RunState.SUCCEEDED, after=60, count=2, through=int(NOON) + 120))
    assert api.get("/v1/runs/steady.20261121T120200Z").status == 404


@pytest.mark.parametrize(
    "run_id",
    [
        "steady.20261121T120000Z",  # no record, and nothing of that time on the schedule
        "steady.20270101T000000Z",  # on the schedule, and nobody has enqueued it
        "steady.20261121T120000Z.m1",
        "nobody.20261121T120000Z",
        "steady.20261121T120000",
        "steady",
        "00010101T000000Z",
        "steady.00010101T000000Z",
        "steady.99991231T235959Z",
        "steady.20261131T120000Z",
        "steady\u2603",
        "a" * 500,
    ],
)
@pytest.mark.parametrize("action", ["", "/cancel", "/redrive"])
def test_runs_by_id_unknown_run_is_not_found(api: ApiClient, job: Job, run_id: str, action: str) -> None:
    path = f"/v1/runs/{quote(run_id)}{action}"
    answer = api.ask(path) if action else api.get(path)
    assert (answer.status, answer.json["type"]) == (404, "/problems/unknown-run")
    assert len(answer.json["detail"]) < 300
    assert api.wheel.sent == []


def test_runs_by_id_run_of_another_tenant_is_not_found(api: ApiClient, job: Job) -> None:
    recorded(api, run(made_job(id="steady", tenant="other"), RunState.DEAD))
    assert api.get(f"/v1/runs/{NAME}").status == 404
    assert api.ask(f"/v1/runs/{NAME}/cancel").status == 404
    assert api.ask(f"/v1/runs/{NAME}/redrive").status == 404
    assert api.wheel.sent == []


@pytest.mark.parametrize("state", ALIVE)
def test_runs_by_id_active_run_is_cancelled_by_its_worker(api: ApiClient, job: Job, state: RunState) -> None:
    record = recorded(api, waiting_run(job, state))
    answer = api.ask(f"/v1/runs/{NAME}/cancel")
    assert (answer.status, answer.json["accepted"]) == (202, "cancel")
    assert answer.json["run"].items() <= api.get(f"/v1/runs/{NAME}").json.items()
    (sent,) = api.wheel.sent
    assert (sent.message.kind, sent.message.command.reason, sent.delay_seconds) == (MessageKind.CANCEL, "cancelled", 0)
    assert (sent.message.name, sent.message.attempt, sent.message.lane) == (record.name, 2, record.lane)
    assert (sent.message.generation, sent.message.not_before) == (record.generation, NOON)
    assert stored(api, record) == record


def test_runs_by_id_waiting_run_is_marked_as_succeeded_by_its_worker(api: ApiClient, job: Job) -> None:
    record = recorded(api, waiting_run(job))
    answer = api.post({"reason": "the report arrived"}, f"/v1/runs/{NAME}/mark-succeeded")
    assert (answer.status, answer.json["accepted"]) == (202, "complete")
    (sent,) = api.wheel.sent
    marked = {"marked_succeeded_by": "local", "reason": "the report arrived"}
    assert (sent.message.kind, sent.message.command.result) == (MessageKind.COMPLETE, marked)
    assert stored(api, record) == record
    (entry, *_) = api.get("/v1/jobs/steady/history").json["items"]
    assert (entry["action"], entry["principal"]) == ("marked_succeeded", "local")
    assert entry["facts"] == {"runs": 1, "run_ids": [NAME], "reason": "the report arrived"}


def test_runs_by_id_waiting_run_is_marked_as_succeeded_with_a_result(api: ApiClient, job: Job) -> None:
    recorded(api, waiting_run(job))
    body = {"reason": "the report arrived", "result": {"rows": 3}}
    assert api.post(body, f"/v1/runs/{NAME}/mark-succeeded").status == 202
    assert api.wheel.sent[0].message.command.result == {"rows": 3}


@pytest.mark.parametrize(
    ("state", "kind"),
    [
        (RunState.RUNNING, "not-waiting"),
        (RunState.RETRYING, "not-waiting"),
        (RunState.DEAD, "run-ended"),
        (RunState.SUCCEEDED, "run-ended"),
    ],
)
def test_runs_by_id_run_that_does_not_wait_is_not_marked_as_succeeded(
    api: ApiClient, job: Job, state: RunState, kind: str
) -> None:
    recorded(api, waiting_run(job, state))
    answer = api.post({"reason": "done"}, f"/v1/runs/{NAME}/mark-succeeded")
    assert (answer.status, answer.json["type"]) == (409, f"/problems/{kind}")
    assert api.wheel.sent == []
    assert api.get("/v1/jobs/steady/history").json["items"] == []


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "/reason"),
        ({"reason": ""}, "/reason"),
        ({"reason": "x" * 501}, "/reason"),
        ({"reason": "two\nlines"}, "/reason"),
        ({"reason": "\uffff"}, "/reason"),
        ({"reason": "done", "result": "x" * 204_800}, "/result"),
        ({"reason": "done", "result": "\ufffe"}, "/result"),
    ],
)
def test_runs_by_id_mark_as_succeeded_rejects_what_a_message_cannot_have(
    api: ApiClient, job: Job, body: dict[str, str], field: str
) -> None:
    recorded(api, waiting_run(job))
    answer = api.post(body, f"/v1/runs/{NAME}/mark-succeeded")
    assert (answer.status, list(answer.errors)) == (422, [field])
    assert api.wheel.sent == []
    assert api.get("/v1/jobs/steady/history").json["items"] == []


def test_runs_by_id_queued_run_is_cancelled_before_it_is_due(api: ApiClient) -> None:
    assert api.post(BODY | {"id": "steady", "schedule": "rate(1 minute)", "priority": "high"}).status == 201
    enqueued = api.wheel.sent[0].message
    answer = api.ask(f"/v1/runs/{enqueued.name}/cancel")
    assert (answer.status, answer.json["run"]["state"]) == (202, "QUEUED")
    sent = api.wheel.sent[-1].message
    assert (sent.kind, sent.attempt, sent.not_before) == (MessageKind.CANCEL, 1, NOON)
    same = ("tenant", "job_id", "occurrence", "due", "generation", "lane", "suffix", "count", "through")
    assert [getattr(sent, name) for name in same] == [getattr(enqueued, name) for name in same]


@pytest.mark.parametrize("state", FINAL)
def test_runs_by_id_finished_run_cannot_be_cancelled(api: ApiClient, job: Job, state: RunState) -> None:
    record = recorded(api, run(job, state))
    answer = api.ask(f"/v1/runs/{NAME}/cancel")
    assert (answer.status, answer.json["type"]) == (409, "/problems/run-ended")
    assert answer.json["state"] == state
    assert (stored(api, record), api.wheel.sent) == (record, [])


def test_runs_by_id_dead_run_is_redriven_by_its_worker(api: ApiClient, job: Job) -> None:
    record = recorded(api, run(job, RunState.DEAD))
    answer = api.ask(f"/v1/runs/{NAME}/redrive")
    assert (answer.status, answer.json["accepted"], answer.json["run"]["state"]) == (202, "redrive", "DEAD")
    (sent,) = api.wheel.sent
    assert (sent.message.kind, sent.message.name, sent.message.attempt) == (MessageKind.REDRIVE, record.name, 2)
    assert sent.message.nonce != record.nonce
    assert stored(api, record) == record


@pytest.mark.parametrize("state", [state for state in [*ALIVE, *FINAL] if state is not RunState.DEAD])
def test_runs_by_id_only_dead_runs_can_be_redriven(api: ApiClient, job: Job, state: RunState) -> None:
    record = recorded(api, run(job, state))
    answer = api.ask(f"/v1/runs/{NAME}/redrive")
    assert (answer.status, answer.json["type"], answer.json["state"]) == (409, "/problems/not-dead", state)
    assert (stored(api, record), api.wheel.sent) == (record, [])


def test_runs_by_id_queued_run_cannot_be_redriven(api: ApiClient) -> None:
    assert api.post(BODY | {"id": "steady", "schedule": "rate(1 minute)"}).status == 201
    sent = list(api.wheel.sent)
    answer = api.ask("/v1/runs/steady.20261121T120100Z/redrive")
    assert (answer.status, answer.json["state"]) == (409, "QUEUED")
    assert api.wheel.sent == sent


@pytest.mark.parametrize("recreated", [False, True])
def test_runs_by_id_dead_run_of_a_deleted_job_cannot_be_redriven(api: ApiClient, job: Job, recreated: bool) -> None:
    record = recorded(api, run(job, RunState.DEAD))
    assert api.jobs.delete(job, deleted_at=NOON + 1)
    if recreated:
        again = made_job("0 0 1 1 *", id="steady", at=NOON + 2)
        assert api.jobs.create(again, cursor(again))
    answer = api.ask(f"/v1/runs/{NAME}/redrive")
    assert (answer.status, answer.json["type"], answer.json["state"]) == (409, "/problems/job-deleted", "DEAD")
    assert (stored(api, record), api.wheel.sent) == (record, [])


@pytest.mark.parametrize(("action", "state"), [("cancel", RunState.WAITING), ("redrive", RunState.DEAD)])
def test_runs_by_id_unavailable_lane_is_reported(api: ApiClient, job: Job, action: str, state: RunState) -> None:
    record = recorded(api, run(job, state))
    api.wheel.refuse = lambda _: True
    answer = api.ask(f"/v1/runs/{NAME}/{action}")
    assert (answer.status, answer.json["type"]) == (503, "/problems/lane-unavailable")
    assert int(answer.headers["retry-after"]) > 0
    assert stored(api, record) == record


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("DELETE", f"/v1/runs/{NAME}", "GET, PATCH"),
        ("GET", f"/v1/runs/{NAME}/cancel", "POST"),
        ("GET", "/v1/dead-letters/redrive", "POST"),
    ],
)
def test_runs_by_id_other_methods_are_rejected(api: ApiClient, method: str, path: str, allowed: str) -> None:
    calls: dict[str, Any] = {"GET": api.get, "DELETE": api.delete}
    answer = calls[method](path)
    assert (answer.status, answer.headers["allow"]) == (405, allowed)
