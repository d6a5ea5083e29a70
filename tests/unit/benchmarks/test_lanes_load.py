"""The jobs of the lanes' benchmark, as they are posted."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import httpx
import pytest

from benchmarks.lanes_load import LaneJob, Load
from duecourse.client import ApiError, Client

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
RECEIVER = "http://127.0.0.1:9"


def an_api(posted: list[str], *, refused: str = "") -> Client:
    """An API that takes all jobs but one, and knows one run of each."""

    def answer(request: httpx.Request) -> httpx.Response:
        if request.method == "POST":
            job_id = json.loads(request.content)["id"]
            posted.append(job_id)
            if job_id == refused:
                return httpx.Response(422, json={"title": "One field is wrong"})
            return httpx.Response(201, json={"id": job_id, "schedule": "at(2026-11-21T12:00:00)", "state": "ACTIVE"})
        job_id = request.url.path.split("/")[-2]
        run = {
            "id": f"{job_id}.20261121T120000Z",
            "job_id": job_id,
            "state": "SUCCEEDED",
            "occurrence": "2026-11-21T12:00:00Z",
            "lateness_seconds": 0.5,
        }
        return httpx.Response(200, json={"items": [run]})

    return Client("http://api", transport=httpx.MockTransport(answer))


def test_a_job_is_due_once_in_the_lane_that_its_priority_names() -> None:
    document = LaneJob("low", 7, NOON, 0.2).document(RECEIVER)
    assert (document["id"], document["priority"]) == ("low-00007", "low")
    assert document["schedule"] == "at(2026-11-21T12:00:00)"
    assert document["target"]["url"] == "http://127.0.0.1:9/ok?seconds=0.2"
    assert document["timeout_seconds"] <= 90


def test_a_job_gets_into_long_by_its_time_out() -> None:
    document = LaneJob("long", 0, NOON, 20).document(RECEIVER)
    assert (document["priority"], document["timeout_seconds"]) == ("normal", 120)


def test_every_job_is_posted_once_and_its_runs_are_read() -> None:
    posted: list[str] = []
    said: list[int] = []
    with an_api(posted) as client:
        load = Load(client, RECEIVER)
        load.post([LaneJob("low", number, NOON) for number in range(20)], said.append)
        starts = load.starts()

    assert sorted(posted) == [f"low-{number:05d}" for number in range(20)]
    assert said == list(range(1, 21))
    assert [start.run_id for start in starts] == [f"low-{number:05d}.20261121T120000Z" for number in range(20)]
    assert {(start.lane, start.lateness) for start in starts} == {("low", 0.5)}


def test_what_was_only_posted_to_warm_up_is_not_read() -> None:
    with an_api([]) as client:
        load = Load(client, RECEIVER)
        load.post([LaneJob("low", 80_000, NOON)])
        load.forget()
        load.post([LaneJob("high", 0, NOON)])
        assert [start.lane for start in load.starts()] == ["high"]


def test_a_job_that_is_refused_ends_the_posting() -> None:
    posted: list[str] = []
    with an_api(posted, refused="low-00003") as client, pytest.raises(ApiError):
        Load(client, RECEIVER).post([LaneJob("low", number, NOON) for number in range(500)])
    assert len(posted) < 500
