"""Signs of life of runs that wait for their callback, by token, over the API."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from duecourse.domain.jobs.job import Job
from duecourse.domain.runs.callbacks import CallbackToken
from duecourse.domain.runs.states import RunState
from duecourse.ports import Conflict
from duecourse.testing.faults import answering, around, before
from tests.support.api import ApiClient
from tests.support.callbacks import NAME, call, callback_job, recorded, stored
from tests.support.faulty import CountedStore
from tests.support.jobs import NOON
from tests.support.runs import TOKEN, waiting_run
from tests.support.varied import varied


@pytest.fixture
def job(api: ApiClient) -> Job:
    return callback_job(api)


def test_a_heartbeat_moves_the_deadline_by_the_jobs_own_measure(api: ApiClient, job: Job) -> None:
    record = recorded(api, waiting_run(job))
    api.clock.advance(20)
    answer = call(api, "heartbeat")
    assert (answer.status, answer.json) == (
        200,
        {
            "state": "WAITING",
            "cancel_requested": False,
            "reason": None,
            "heartbeat_until": "2026-11-21T12:01:25.000Z",
            "waiting_until": "2026-11-21T13:00:00.000Z",
        },
    )
    assert stored(api) == varied(record, heartbeat_at=NOON + 20, heartbeat_until=NOON + 85)
    assert api.wheel.sent == []


def test_heartbeats_of_one_run_are_written_once_in_five_seconds_and_each_leaves_a_whole_heartbeat(
    api: ApiClient, job: Job
) -> None:
    recorded(api, waiting_run(job))
    beats: list[str] = []
    client = ApiClient(api.jobs, CountedStore(api.runs, beats), api.clock)
    for _ in range(100):
        answer = call(client, "heartbeat").json
        left = datetime.fromisoformat(answer["heartbeat_until"]).timestamp() - api.clock.now()
        assert 60 <= left <= 65
        api.clock.advance(0.2)

    assert beats.count("heartbeat") == 4


def test_a_heartbeat_needs_no_body(api: ApiClient, job: Job) -> None:
    recorded(api, waiting_run(job))
    assert api.ask(f"/v1/runs/{NAME}/heartbeat", token=str(TOKEN)).status == 200


def test_a_heartbeat_never_brings_the_deadline_nearer(api: ApiClient, job: Job) -> None:
    record = recorded(api, waiting_run(job, RunState.RUNNING, heartbeat_until=NOON + 90))
    assert call(api, "heartbeat").json["heartbeat_until"] == "2026-11-21T12:01:30.000Z"
    assert stored(api) == record


def test_a_heartbeat_where_none_is_wanted_changes_nothing(api: ApiClient, job: Job) -> None:
    record = recorded(api, waiting_run(job, heartbeat_until=None))
    answer = call(api, "heartbeat")
    assert (answer.status, answer.json["heartbeat_until"]) == (200, None)
    assert stored(api) == record


def test_a_heartbeat_learns_of_a_cancellation(api: ApiClient, job: Job) -> None:
    recorded(api, waiting_run(job, cancel_requested="replaced"))
    answer = call(api, "heartbeat").json
    assert (answer["state"], answer["cancel_requested"], answer["reason"]) == ("WAITING", True, "replaced")


def test_a_heartbeat_for_a_deleted_job_learns_of_it_and_gains_no_time(api: ApiClient, job: Job) -> None:
    record = recorded(api, waiting_run(job))
    api.jobs.delete(job, deleted_at=NOON)
    answer = call(api, "heartbeat").json
    assert (answer["cancel_requested"], answer["reason"]) == (True, "deleted")
    assert answer["heartbeat_until"] == "2026-11-21T12:00:30.000Z"
    assert stored(api) == record


@pytest.mark.parametrize(
    ("became", "status", "kind"),
    [
        ({"state": RunState.CANCELLED}, 409, "run-ended"),
        ({"state": RunState.RETRYING}, 409, "attempt-over"),
        ({"attempt": 3, "callback_hash": CallbackToken("default", 3, "n" * 16).hash}, 401, "bad-token"),
        ({"callback_hash": None}, 401, "bad-token"),
    ],
)
def test_a_heartbeat_that_was_overtaken_hears_of_it(
    api: ApiClient, job: Job, became: dict[str, Any], status: int, kind: str
) -> None:
    record = recorded(api, waiting_run(job))
    meanwhile = varied(record, token="another", **became)
    between = around(api.runs, heartbeat=before(lambda: api.runs.write(meanwhile, record)))
    overtaken = ApiClient(api.jobs, between, api.clock)
    answer = call(overtaken, "heartbeat")
    assert (answer.status, answer.json["type"]) == (status, f"/problems/{kind}")
    assert stored(api) == meanwhile


def test_a_heartbeat_for_a_record_that_expires_at_that_moment_opens_nothing(api: ApiClient, job: Job) -> None:
    recorded(api, waiting_run(job))
    gone = around(api.runs, heartbeat=answering(Conflict(None)))
    assert call(ApiClient(api.jobs, gone, api.clock), "heartbeat").status == 401
