"""Many runs cancelled with one request: chosen by state, job, time, tag and error."""

from typing import Any

import pytest

from duecourse.domain.jobs.job import Job
from duecourse.domain.runs.states import Run, RunState
from duecourse.testing.clock import SettableClock
from duecourse.testing.stores import MemoryStores
from tests.support.api import BODY, ApiClient, api_settings
from tests.support.api_events import jwt_caller
from tests.support.callbacks import recorded
from tests.support.jobs import NOON, cursor
from tests.support.jobs import job as made_job
from tests.support.runs import run
from tests.support.world import World

CANCEL = "/v1/runs/cancel"
UNENDED = ["QUEUED", "RETRYING", "WAITING", "RUNNING"]
ERROR = "503: no upstream"


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock(NOON + 3600)


@pytest.fixture
def retrying(api: ApiClient) -> list[Run]:
    """Four runs of two jobs that wait for their next attempt, a minute apart, beside some that have ended."""
    alpha, beta = created(api, "alpha", tags=("billing",)), created(api, "beta")
    for job in (alpha, beta):
        recorded(api, run(job, RunState.SUCCEEDED, after=-60))
        recorded(api, run(job, RunState.DEAD, after=-30))
    return [
        recorded(
            api,
            run(
                (alpha, beta)[number % 2],
                RunState.RETRYING,
                after=60 * number,
                finished_at=NOON + 60 * number,
                error=ERROR if number < 2 else "timeout",
            ),
        )
        for number in range(4)
    ]


def created(api: ApiClient, name: str, **changes: Any) -> Job:
    made = made_job("0 0 1 1 *", id=name, **changes)
    assert api.jobs.create(made, cursor(made))
    return made


def cancelled(api: ApiClient, **body: Any) -> Any:
    answer = api.post({"state": UNENDED, **body}, CANCEL)
    assert answer.status == 200, answer.text
    return answer.json


CHOICES = [
    ({}, [3, 2, 1, 0]),
    ({"job_id": "alpha"}, [2, 0]),
    ({"tag": "billing"}, [2, 0]),
    ({"tag": "billing", "job_id": "alpha"}, [2, 0]),
    ({"error": "no UPSTREAM"}, [1, 0]),
    ({"error": "timeout", "job_id": "beta"}, [3]),
    ({"state": ["QUEUED", "WAITING"]}, []),
    ({"state": ["RETRYING", "RETRYING"], "tag": "billing"}, [2, 0]),
    ({"tag": "unused"}, []),
]


@pytest.mark.parametrize(("choice", "expected"), CHOICES)
def test_cancel_runs_same_filter_lists_counts_and_cancels_the_same_runs(
    api: ApiClient, retrying: list[Run], choice: dict[str, Any], expected: list[int]
) -> None:
    names = [str(retrying[number].name) for number in expected]
    body = {"state": UNENDED, **choice}
    query = {"job" if name == "job_id" else name: value for name, value in body.items()}
    listed = api.get("/v1/runs", **query | {"state": ",".join(body["state"])}).json
    assert ([one["id"] for one in listed["items"]], listed["next_cursor"]) == (names, None)
    looked = cancelled(api, **choice, dry_run=True)
    assert looked == {"dry_run": True, "cancelled": len(names), "refused": 0, "more": False, "next_cursor": None}
    assert api.wheel.sent == []
    assert cancelled(api, **choice) == looked | {"dry_run": False}
    assert [str(one.message.name) for one in api.wheel.sent] == names


@pytest.mark.parametrize("choice", [{}, {"job_id": "alpha"}])
def test_cancel_runs_continues_after_the_cursor(api: ApiClient, retrying: list[Run], choice: dict[str, Any]) -> None:
    first = cancelled(api, **choice, limit=1)
    assert (first["cancelled"], first["more"]) == (1, True)
    rest = cancelled(api, **choice, cursor=first["next_cursor"])
    assert (rest["cancelled"], rest["more"], rest["next_cursor"]) == (1 if choice else 3, False, None)
    assert len({str(one.message.name) for one in api.wheel.sent}) == len(api.wheel.sent)


def test_cancel_runs_author_is_in_the_history_of_each_job(api: ApiClient, retrying: list[Run]) -> None:
    cancelled(api, dry_run=True)
    assert api.get("/v1/jobs/alpha/history").json["items"] == []
    cancelled(api)
    (noted,) = api.get("/v1/jobs/alpha/history").json["items"]
    assert (noted["action"], noted["facts"]["runs"]) == ("cancelled", 2)


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({}, "/state"),
        ({"state": []}, "/state"),
        ({"state": ["DEAD"]}, "/state/0"),
        ({"state": UNENDED, "limit": 1001}, "/limit"),
        ({"state": UNENDED, "since": "2026-11-21T12:00:00Z", "until": "2026-11-21T12:00:00Z"}, "/until"),
        ({"state": UNENDED, "cursor": "no cursor"}, "/cursor"),
        ({"state": UNENDED, "cursor": "MXI6YWxwaGEuMjAyNjExMjFUMTIwMDAwWg", "job_id": "beta"}, "/cursor"),
    ],
)
def test_cancel_runs_invalid_request_names_the_field_and_cancels_nothing(
    api: ApiClient, retrying: list[Run], body: dict[str, Any], pointer: str
) -> None:
    answer = api.post(body, CANCEL)
    assert (answer.status, answer.json["errors"][0]["pointer"]) == (422, pointer)
    assert api.wheel.sent == []


def test_cancel_runs_of_an_unknown_job_is_an_error(api: ApiClient) -> None:
    assert api.post({"state": UNENDED, "job_id": "unknown"}, CANCEL).status == 404


def test_cancel_runs_of_all_jobs_requires_the_scope_ops() -> None:
    api = ApiClient.over(MemoryStores(), settings=api_settings(auth="jwt"))
    recorded(api, run(created(api, "alpha"), RunState.RETRYING))
    api.caller = jwt_caller("default", "jobs:write")
    refused = api.post({"state": UNENDED}, CANCEL)
    assert (refused.status, refused.json["type"]) == (403, "/problems/scope-missing")
    assert cancelled(api, job_id="alpha")["cancelled"] == 1
    api.caller = jwt_caller("default", "ops")
    assert cancelled(api)["cancelled"] == 1


def test_cancel_runs_unavailable_lane_is_an_error_and_nothing_is_lost(api: ApiClient, retrying: list[Run]) -> None:
    api.wheel.refuse = lambda _: True
    assert api.post({"state": UNENDED}, CANCEL).json["type"] == "/problems/lane-unavailable"
    api.wheel.refuse = lambda message: message.job_id == "beta"
    answer = cancelled(api)
    assert (answer["cancelled"], answer["refused"]) == (2, 2)


def test_cancel_runs_waiting_and_delayed_runs_of_a_job_end(world: World) -> None:
    api = ApiClient.of(world)
    body = BODY | {"id": "steady", "schedule": "* * * * *", "overlap": "queue", "completion": "callback"}
    assert api.post(body).status == 201
    world.until(NOON + 185)
    assert api.post({"delay_seconds": 7200}, "/v1/jobs/steady/run").status == 202
    states = [one["state"] for one in api.get("/v1/jobs/steady/runs", state="QUEUED,WAITING").json["items"]]
    queued = states.count("QUEUED")
    assert (states.count("WAITING"), queued > 3) == (1, True)
    assert api.post({"state": ["QUEUED"], "job_id": "steady"}, CANCEL).json["cancelled"] == queued
    world.work()
    assert api.post({"state": ["WAITING"], "job_id": "steady"}, CANCEL).json["cancelled"] == 1
    world.work()
    runs = api.get("/v1/jobs/steady/runs", state="QUEUED,RUNNING,WAITING,RETRYING,CANCELLED").json["items"]
    ended = [one for one in runs if one["state"] == "CANCELLED"]
    assert len(ended) == queued + 1
