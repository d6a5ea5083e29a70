"""How far the work on a run is, as its heartbeats say it and as the run shows it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from benchmarks.wire.metered import Metered
from duecourse.domain.jobs.job import Job
from duecourse.domain.runs.states import RunState
from tests.support.api import Answered, ApiClient
from tests.support.callbacks import NAME, callback_job, recorded, stored
from tests.support.jobs import NOON
from tests.support.runs import TOKEN, waiting_run
from tests.support.tables import Tables


@pytest.fixture
def job(api: ApiClient) -> Job:
    return callback_job(api)


def beat(api: ApiClient, body: Any) -> Answered:
    return api.post(body, f"/v1/runs/{NAME}/heartbeat", token=str(TOKEN))


def shown(api: ApiClient) -> tuple[Any, ...]:
    run = api.get(f"/v1/runs/{NAME}").json
    return run["progress"], run["note"], run["heartbeat_at"]


def test_a_run_shows_what_its_last_heartbeat_said(api: ApiClient, job: Job) -> None:
    recorded(api, waiting_run(job))
    assert shown(api) == (None, None, None)
    assert beat(api, {"progress": 0.4, "note": "45 of 112"}).status == 200
    assert shown(api) == (0.4, "45 of 112", "2026-11-21T12:00:00.000Z")
    api.clock.advance(20)
    assert beat(api, {"progress": 1}).status == 200
    assert shown(api) == (1, "45 of 112", "2026-11-21T12:00:20.000Z")
    api.clock.advance(20)
    assert api.ask(f"/v1/runs/{NAME}/heartbeat", token=str(TOKEN)).status == 200
    assert beat(api, {}).status == 200
    assert shown(api) == (1, "45 of 112", "2026-11-21T12:00:40.000Z")
    api.clock.advance(20)
    assert beat(api, {"note": "", "progress": None}).status == 200
    assert shown(api) == (1, None, "2026-11-21T12:01:00.000Z")


def test_progress_is_kept_though_the_deadline_need_not_move_once_in_five_seconds(api: ApiClient, job: Job) -> None:
    recorded(api, waiting_run(job, RunState.RUNNING, heartbeat_until=NOON + 900))
    seen = []
    for number in range(11):
        assert beat(api, {"progress": number / 10}).status == 200
        seen.append(shown(api)[0])
        api.clock.advance(1)
    assert seen == [0, 0, 0, 0, 0, 0.5, 0.5, 0.5, 0.5, 0.5, 1]
    assert stored(api).deadlines.heartbeat_until == NOON + 900


def test_progress_of_a_job_that_wants_no_heartbeats_is_kept_and_asks_for_none(api: ApiClient, job: Job) -> None:
    recorded(api, waiting_run(job, heartbeat_until=None))
    assert beat(api, {"progress": 0.5}).json["heartbeat_until"] is None
    assert shown(api) == (0.5, None, "2026-11-21T12:00:00.000Z")
    assert stored(api).deadlines.heartbeat_until is None


def test_a_heartbeat_is_one_write_of_one_unit_with_progress_or_without(tables: Tables, job: Job) -> None:
    metered = Metered(tables.client)
    api = ApiClient.over(replace(tables, client=metered))
    recorded(api, waiting_run(job))
    metered.clear()
    assert beat(api, {"progress": 0.5, "note": "n" * 200}).status == 200
    assert (metered.requests["update_item"], metered.written) == (1, 1)


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"progress": 1.01}, "/progress"),
        ({"progress": -0.1}, "/progress"),
        ({"progress": "0.5"}, "/progress"),
        ({"progress": True}, "/progress"),
        ({"note": "n" * 201}, "/note"),
        ({"note": "two\nlines"}, "/note"),
        ({"note": 5}, "/note"),
        ({"percent": 50}, "/percent"),
        ([], ""),
    ],
)
def test_a_report_that_is_not_understood_names_the_place_and_changes_nothing(
    api: ApiClient, job: Job, body: Any, pointer: str
) -> None:
    record = recorded(api, waiting_run(job))
    answer = beat(api, body)
    assert (answer.status, answer.json["type"], list(answer.errors)) == (422, "/problems/invalid-command", [pointer])
    assert stored(api) == record
