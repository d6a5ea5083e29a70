"""The runs of a job as the API shows them while a whole scheduler works on the same tables."""

from base64 import urlsafe_b64encode
from typing import Any

import pytest

from duecourse.domain.ids import RunIdentity
from duecourse.domain.instants import from_iso
from duecourse.domain.jobs.job import Lane
from duecourse.domain.runs.states import Run, RunState
from duecourse.domain.targets.targets import Failed
from duecourse.ports import Claim
from tests.support.api import BODY, ApiClient
from tests.support.jobs import NOON, moved
from tests.support.varied import record as recorded
from tests.support.varied import varied
from tests.support.world import World

States = list[tuple[int, str]]


@pytest.fixture
def api(world: World) -> ApiClient:
    return ApiClient.of(world)


def create(api: ApiClient, schedule: str, **changes: Any) -> None:
    answer = api.post(BODY | {"id": "steady", "schedule": schedule, **changes})
    assert answer.status == 201, answer.text


def page(api: ApiClient, **query: str) -> Any:
    answer = api.get("/v1/jobs/steady/runs", **query)
    assert answer.status == 200, answer.text
    return answer.json


def states(api: ApiClient, **query: str) -> States:
    """Seconds after NOON and state of each run on a page."""
    return [(second(run["occurrence"]), run["state"]) for run in page(api, **query)["items"]]


def all_states(api: ApiClient, limit: int) -> States:
    """The same over all pages."""
    pages = list(api.pages("/v1/jobs/steady/runs", limit=str(limit)))
    assert all(len(page.json["items"]) <= limit for page in pages)
    return [(second(run["occurrence"]), run["state"]) for page in pages for run in page.json["items"]]


def second(instant: str) -> int:
    return int(from_iso(instant) - NOON)


def record(at: int, state: RunState = RunState.SUCCEEDED, **changes: Any) -> Run:
    made = recorded(
        state,
        RunIdentity(tenant="default", job_id="steady", occurrence=int(NOON) + at, due=int(NOON) + at, generation=1),
        Lane.NORMAL,
        attempt=1,
        attempts_allowed=4,
    )
    return varied(made, **changes)


def test_runs_occurrences_sent_on_creation_are_queued(api: ApiClient) -> None:
    create(api, "rate(1 minute)")
    assert states(api) == [(120, "QUEUED"), (60, "QUEUED")]
    (run, _) = page(api)["items"]
    assert run == {
        "id": "steady.20261121T120200Z",
        "job_id": "steady",
        "state": "QUEUED",
        "reason": None,
        "occurrence": "2026-11-21T12:02:00Z",
        "due": "2026-11-21T12:02:00Z",
        "started_at": None,
        "finished_at": None,
        "attempt_started_at": None,
        "next_attempt_at": None,
        "duration_seconds": None,
        "lateness_seconds": None,
        "attempts": 0,
        "max_attempts": 4,
        "waiting_for": None,
        "concurrency_key": None,
        "rate_key": None,
        "breaker_key": None,
        "waiting_since": None,
        "waiting_until": None,
        "heartbeat_until": None,
        "heartbeat_at": None,
        "progress": None,
        "note": None,
        "delays": None,
        "execution": None,
        "worker": None,
        "cancel_requested": None,
        "result": None,
        "result_bytes": None,
        "result_location": None,
        "result_error": None,
        "error": None,
        "code": None,
        "discarded": None,
        "count": 1,
        "requested_by": None,
        "correlation_id": None,
        "workflow": None,
    }


def test_runs_occurrences_not_yet_enqueued_are_not_listed(api: ApiClient) -> None:
    create(api, "rate(1 hour)")
    assert page(api) == {"items": [], "next_cursor": None}


def test_runs_occurrences_behind_the_cursor_are_queued_until_they_start(api: ApiClient, world: World) -> None:
    create(api, "rate(5 minutes)")
    world.dispatch()
    assert states(api) == [(600, "QUEUED"), (300, "QUEUED")]
    world.until(NOON + 300)
    assert states(api) == [(600, "QUEUED"), (300, "SUCCEEDED")]


def test_runs_list_shows_times_and_result_of_a_run(api: ApiClient, world: World) -> None:
    create(api, "at(2026-11-21T12:01:00)")
    world.until(NOON + 60)
    (run,) = page(api)["items"]
    assert run["state"] == "SUCCEEDED"
    assert run["started_at"] == run["finished_at"] == "2026-11-21T12:01:00.000Z"
    assert (run["lateness_seconds"], run["duration_seconds"]) == (0, 0)
    assert (run["attempts"], run["max_attempts"], run["result"]) == (1, 4, "fine")


def test_runs_list_shows_the_error_of_a_run_that_will_be_retried(api: ApiClient, world: World) -> None:
    world.caller.answer = lambda _: Failed("no, 503")
    create(api, "at(2026-11-21T12:01:00)", retry={"max_attempts": 2, "min_seconds": 30})
    world.until(NOON + 61)
    (run,) = page(api)["items"]
    assert (run["state"], run["attempts"], run["error"]) == ("RETRYING", 1, "no, 503")


def test_runs_exhausted_schedule_keeps_its_last_run_queued(api: ApiClient, world: World) -> None:
    create(api, "at(2026-11-21T12:04:00)")
    world.dispatch()
    assert states(api) == [(240, "QUEUED")]
    world.until(NOON + 240)
    assert states(api) == [(240, "SUCCEEDED")]
    assert api.get("/v1/jobs/steady").json["state"] == "COMPLETED"


def test_runs_pages_of_queued_and_finished_runs_contain_each_run_once(api: ApiClient, world: World) -> None:
    create(api, "rate(30 seconds)")
    world.until(NOON + 300)
    whole = states(api, limit="100")
    assert [at for at, _ in whole] == sorted((at for at, _ in whole), reverse=True)
    assert whole[-10:] == [(at, "SUCCEEDED") for at in range(300, 0, -30)]
    assert {state for _, state in whole[:-10]} == {"QUEUED"}
    for limit in (1, 3, 7, len(whole)):
        assert all_states(api, limit) == whole


def test_runs_page_read_later_continues_after_the_previous_one(api: ApiClient, world: World) -> None:
    create(api, "rate(30 seconds)")
    world.until(NOON + 300)
    first = page(api, limit="5")
    rest = [run["id"] for run in page(api, cursor=first["next_cursor"])["items"]]
    world.until(NOON + 600)
    assert [run["id"] for run in page(api, cursor=first["next_cursor"])["items"]] == rest


def test_runs_record_of_many_occurrences_covers_all_of_them(api: ApiClient, world: World) -> None:
    create(api, "rate(1 minute)")
    world.clock.set(NOON + 600)
    world.dispatch()
    world.run_store.write(record(60, count=9, through=int(NOON) + 540), None)
    shown = states(api)
    assert shown[-1] == (60, "SUCCEEDED")
    assert all(at > 540 for at, _ in shown[:-1])


def test_runs_manual_runs_are_listed_beside_the_scheduled_run_of_the_same_occurrence(
    api: ApiClient, world: World
) -> None:
    create(api, "rate(1 minute)")
    world.run_store.write(record(60, suffix=".m1"), None)
    assert [run["id"] for run in page(api)["items"]] == [
        "steady.20261121T120200Z",
        "steady.20261121T120100Z.m1",
        "steady.20261121T120100Z",
    ]
    assert len(all_states(api, 1)) == 3


def test_runs_schedule_in_seconds_with_an_advanced_cursor_is_listed_newest_first(api: ApiClient, world: World) -> None:
    create(api, "rate(1 second)")
    cursor = world.jobs.get_cursor("default", "steady")
    assert cursor is not None
    world.clock.set(NOON + 86_000)
    world.cursors.claim([Claim(cursor, moved(cursor, int(NOON) + 86_001))], shards=1)
    assert states(api, limit="3") == [(86_000, "QUEUED"), (85_999, "QUEUED"), (85_998, "QUEUED")]


def test_runs_occurrences_beyond_the_lane_retention_are_not_queued(api: ApiClient, world: World) -> None:
    create(api, "rate(1 minute)")
    world.clock.advance(15 * 86_400)
    assert page(api)["items"] == []


def test_runs_of_a_deleted_job_can_still_be_read(api: ApiClient, world: World) -> None:
    create(api, "rate(1 minute)")
    world.until(NOON + 60)
    api.delete("/v1/jobs/steady")
    assert states(api) == [(60, "SUCCEEDED")]


def test_runs_of_a_deleted_job_are_not_attributed_to_its_recreated_job(api: ApiClient, world: World) -> None:
    create(api, "rate(1 minute)")
    world.until(NOON + 70)
    api.delete("/v1/jobs/steady")
    create(api, "rate(1 hour)")
    assert states(api) == [(60, "SUCCEEDED")]


@pytest.mark.parametrize("moment", ["00010101T000000Z", "99991231T235959Z", "20261121T120030Z.m1"])
def test_runs_page_cursor_can_be_any_instant(api: ApiClient, moment: str) -> None:
    create(api, "rate(1 minute)")
    cursor = urlsafe_b64encode(f"1r:steady.{moment}".encode()).decode().rstrip("=")
    later = [60, 120] if moment.startswith("9") else []
    assert sorted(at for at, _ in states(api, cursor=cursor)) == later


def test_runs_last_page_has_no_next_cursor(api: ApiClient) -> None:
    create(api, "rate(1 minute)")
    first = page(api, limit="1")
    last = page(api, limit="1", cursor=first["next_cursor"])
    assert [len(one["items"]) for one in (first, last)] == [1, 1]
    assert last["next_cursor"] is None
