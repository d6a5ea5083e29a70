"""The pull workers of a tenant: their names in reports, in runs and in the list."""

from dataclasses import replace
from typing import Any

import pytest

from benchmarks.wire.metered import Metered
from duecourse.domain.jobs.job import Completion, Job
from duecourse.domain.runs.states import RunState, attempts_of
from duecourse.domain.runs.workers import (
    GROUPS,
    LISTED_SECONDS,
    NOTED_SECONDS,
    Sighting,
    WorkerGroup,
    group_of,
    noted,
)
from duecourse.messages import Complete, Fail
from duecourse.ports import NoAnswerError
from duecourse.testing.clock import SettableClock
from duecourse.testing.faults import around, before, failing, lost
from tests.support.api import Answered, ApiClient, api_settings
from tests.support.api_events import jwt_caller
from tests.support.callbacks import BODIES, NAME, call, callback_job, recorded, stored
from tests.support.jobs import NOON, cursor
from tests.support.jobs import job as made_job
from tests.support.runs import TOKEN, run, waiting_run
from tests.support.tables import Tables
from tests.support.varied import varied

READER = jwt_caller("default", "jobs:read")


@pytest.fixture
def job(api: ApiClient) -> Job:
    return callback_job(api)


def report(api: ApiClient, action: str = "heartbeat", worker: Any = "host-7", **more: Any) -> Answered:
    return call(api, action, BODIES[action] | {"worker": worker} | more)


def workers(api: ApiClient, caller: Any = READER) -> Any:
    api.caller = caller
    answer = api.get("/v1/workers")
    assert answer.status == 200, answer.text
    return answer.json


def names(api: ApiClient) -> list[str]:
    return [each["name"] for each in workers(api)["items"]]


def test_workers_heartbeat_that_is_stored_names_the_worker_of_the_attempt(api: ApiClient, job: Job) -> None:
    recorded(api, waiting_run(job))
    assert report(api, progress=0.5).status == 200
    shown = api.get(f"/v1/runs/{NAME}").json
    assert (shown["worker"], shown["attempt_list"][-1]["worker"]) == ("host-7", "host-7")
    api.clock.advance(20)
    assert call(api, "heartbeat", {"progress": 0.6}).status == 200
    assert api.get(f"/v1/runs/{NAME}").json["worker"] == "host-7"


def test_workers_name_alone_is_not_written_to_the_run(tables: Tables, job: Job) -> None:
    metered = Metered(tables.client)
    api = ApiClient.over(replace(tables, client=metered))
    recorded(api, waiting_run(job, heartbeat_until=NOON + 900))
    assert report(api).status == 200
    metered.clear()
    api.clock.advance(NOTED_SECONDS - 1)
    assert report(api).status == 200
    assert metered.requests["update_item"] == 0
    assert stored(api).callback.worker is None


@pytest.mark.parametrize(("action", "sent"), [("complete", Complete({"sent": 3}, "host-7")), ("fail", None)])
def test_workers_end_of_a_run_is_sent_with_the_name(api: ApiClient, job: Job, action: str, sent: Any) -> None:
    recorded(api, waiting_run(job))
    assert report(api, action).status == 202
    ((message),) = (each.message for each in api.wheel.sent)
    assert message.command == (sent or Fail("no paper", "callback.failed", worker="host-7"))
    assert names(api) == ["host-7"]


@pytest.mark.parametrize("worker", ["", "two words", "ü", "x" * 101, "a\n", 7, ["a"], "a#b"])
@pytest.mark.parametrize("action", ["heartbeat", "complete", "fail"])
def test_workers_invalid_name_is_refused_with_the_location_and_changes_nothing(
    api: ApiClient, job: Job, action: str, worker: Any
) -> None:
    before = recorded(api, waiting_run(job))
    answer = report(api, action, worker)
    assert answer.status == 422, answer.text
    assert list(answer.errors) == ["/worker"]
    assert (stored(api), api.wheel.sent, names(api)) == (before, [], [])


def test_workers_reports_without_a_name_read_and_write_nothing_more(tables: Tables, job: Job) -> None:
    metered = Metered(tables.client)
    api = ApiClient.over(replace(tables, client=metered))
    recorded(api, waiting_run(job))
    metered.clear()
    assert call(api, "heartbeat", {"progress": 0.5}).status == 200
    unnamed = dict(metered.requests)
    assert unnamed["update_item"] == 1
    assert call(api, "complete").status == 202
    assert metered.requests["update_item"] == 1
    assert metered.requests["get_item"] == unnamed["get_item"] + 1  # the record


def test_workers_are_listed_with_their_last_report_and_run(api: ApiClient, job: Job) -> None:
    recorded(api, waiting_run(job))
    assert workers(api) == {"items": [], "complete": True}
    assert report(api, progress=0.5).status == 200
    api.clock.advance(20)
    (shown,) = workers(api)["items"]
    assert shown == {
        "name": "host-7",
        "status": "working",
        "seen_at": "2026-11-21T12:00:00.000Z",
        "run_id": NAME,
        "job_id": "steady",
        "attempt": 2,
        "run_state": "WAITING",
    }


def test_workers_whose_heartbeats_stop_are_silent_and_leave_the_list_an_hour_later(api: ApiClient, job: Job) -> None:
    recorded(api, waiting_run(job))
    assert report(api, progress=0.5).status == 200
    api.clock.advance(120)
    assert [each["status"] for each in workers(api)["items"]] == ["silent"]
    api.clock.advance(LISTED_SECONDS - 121)
    assert names(api) == ["host-7"]
    api.clock.advance(1)
    assert names(api) == []


def test_workers_are_noted_once_in_ten_minutes_by_all_processes(tables: Tables, job: Job) -> None:
    metered = Metered(tables.client)
    first, second = (ApiClient.over(replace(tables, client=metered)) for _ in range(2))
    recorded(first, waiting_run(job, heartbeat_until=NOON + 9000))
    written = []
    for minute in range(21):
        for api in (first, second):
            metered.clear()
            api.clock.set(NOON + 60 * minute)
            assert report(api).status == 200
            written.append(metered.written)
    assert written == [1, 0] + [0] * 18 + [1, 0] + [0] * 18 + [1, 0]


def test_workers_names_of_one_run_cause_at_most_one_note_a_minute(tables: Tables, job: Job) -> None:
    metered = Metered(tables.client)
    api = ApiClient.over(replace(tables, client=metered))
    recorded(api, waiting_run(job, heartbeat_until=NOON + 9000))
    metered.clear()
    for number in range(50):
        assert report(api, worker=f"host-{number}").status == 200
    assert metered.written == 1
    api.clock.advance(61)
    assert report(api, worker="host-50").status == 200
    assert set(names(api)) == {"host-0", "host-50"}


def test_workers_beyond_the_bound_are_missing_and_the_list_says_so(api: ApiClient, job: Job) -> None:
    record = recorded(api, waiting_run(job))
    sightings = tuple(Sighting(f"host-{number}", NOON - number, record.run_id, 2) for number in range(16))
    for number in range(GROUPS):
        assert api.runs.workers.replace("default", number, WorkerGroup(sightings, 1))
    assert workers(api)["complete"]
    assert report(api, worker="new").status == 200
    shown = workers(api)
    assert "new" in [each["name"] for each in shown["items"]]
    assert (len(shown["items"]), shown["complete"]) == (GROUPS * 16, False)
    api.clock.advance(LISTED_SECONDS)
    assert workers(api) == {"items": [], "complete": True}


def test_workers_three_hundred_are_all_listed(api: ApiClient, job: Job) -> None:
    record, store = recorded(api, waiting_run(job)), api.runs.workers
    for number in range(300):
        new = Sighting(f"ip-10-0-0-{number}", NOON, record.run_id, 2)
        group = noted(store.group("default", group_of(new.name)), new)
        assert group is not None
        assert store.replace("default", group_of(new.name), group)
    shown = workers(api)
    assert (len(shown["items"]), shown["complete"]) == (300, True)
    assert {each["status"] for each in shown["items"]} == {"working"}


@pytest.mark.parametrize("fault", [failing(NoAnswerError("gone")), lost(NoAnswerError("gone"))])
def test_workers_note_that_fails_does_not_fail_the_report_and_is_logged_and_counted(
    api: ApiClient, job: Job, fault: Any
) -> None:
    recorded(api, waiting_run(job))
    api.runs.workers = around(api.runs.workers, replace=fault)
    assert report(api, progress=0.5).status == 200
    assert stored(api).callback.progress == 0.5
    (line,) = [each for each in api.log_lines if each.get("action") == "heartbeat_taken"]
    assert line["worker_not_noted"] == "NoAnswerError: gone"
    assert line["worker"] == "host-7"


def test_workers_noted_by_two_processes_at_once_are_both_listed(api: ApiClient, job: Job) -> None:
    """Two names of the same group."""
    record = recorded(api, waiting_run(job))
    other = WorkerGroup((Sighting("other", NOON, record.run_id, 2),), 1)

    def overtake() -> None:
        for number in range(GROUPS):
            real.replace("default", number, other)

    real = api.runs.workers
    api.runs.workers = around(real, replace=before(overtake, times=1))
    assert report(api).status == 200
    assert set(names(api)) == {"host-7", "other"}


def test_workers_filter_finds_the_runs_of_one_machine(api: ApiClient, job: Job) -> None:
    for number, name in enumerate(("host-7", "host-8", None)):
        dead = run(job, RunState.DEAD, after=60 * number, error="no paper", callback_hash="h" * 64, worker=name)
        recorded(api, dead)
    api.caller = READER
    for path in ("/v1/runs", "/v1/jobs/steady/runs"):
        for query in ({"state": "DEAD"}, {}):
            found = api.get(path, worker="host-7", **query).json["items"]
            assert [each["worker"] for each in found] == ["host-7"], (path, query)
        assert api.get(path, worker="host", state="DEAD").json["items"] == []


def test_workers_filter_excludes_delayed_runs_which_no_worker_has_received(api: ApiClient, job: Job) -> None:
    assert api.post({"delay_seconds": 7200}, f"/v1/jobs/{job.id}/run").status == 202
    api.caller = READER
    assert len(api.get("/v1/runs", state="QUEUED").json["items"]) == 1
    assert api.get("/v1/runs", state="QUEUED", worker="host-7").json["items"] == []


def test_workers_filter_examines_more_runs_than_the_page_has(api: ApiClient, job: Job) -> None:
    for number, name in enumerate(("host-7", *["host-8"] * 20)):
        dead = run(job, RunState.DEAD, after=60 * number, error="no paper", callback_hash="h" * 64, worker=name)
        recorded(api, dead)
    api.caller = READER
    found = api.get("/v1/runs", state="DEAD", worker="host-7", limit="5").json
    assert ([each["worker"] for each in found["items"]], found["next_cursor"]) == (["host-7"], None)


def test_workers_filter_includes_runs_that_another_worker_has_repeated(api: ApiClient, job: Job) -> None:
    first = varied(run(job, RunState.RETRYING), callback_hash="h" * 64, worker="host-7")
    again = varied(waiting_run(job, attempt=3), earlier=attempts_of(first)[-1:], worker="host-8")
    recorded(api, again)
    api.caller = READER
    (found,) = api.get("/v1/runs", worker="host-7").json["items"]
    assert found["worker"] == "host-8"
    attempts = api.get(f"/v1/runs/{NAME}").json["attempt_list"]
    assert [each["worker"] for each in attempts] == ["host-7", "host-8"]


def test_workers_of_other_jobs_are_hidden_from_tag_scoped_callers(tables: Tables) -> None:
    clock = SettableClock(NOON)
    settings = api_settings(auth="jwt", tenant_claim="tenant")
    api = ApiClient.over(tables, clock, settings=settings, workflows=tables.workflows(clock))
    job = callback_job(api)
    tagged = made_job(id="tagged", completion=Completion.CALLBACK, heartbeat_seconds=60, tags=("billing",))
    assert api.jobs.create(tagged, cursor(tagged))
    recorded(api, waiting_run(job))
    recorded(api, waiting_run(tagged))
    assert report(api, worker="theirs").status == 200
    own = call(api, "heartbeat", {"worker": "ours"}, token=TOKEN, run_id="tagged.20261121T120000Z")
    assert own.status == 200
    assert set(names(api)) == {"ours", "theirs"}
    scoped = workers(api, jwt_caller("default", "jobs:read:tag=billing"))
    assert [each["name"] for each in scoped["items"]] == ["ours"]
    assert workers(api, jwt_caller("default", "jobs:read:tag=other"))["items"] == []
    assert workers(api, jwt_caller("globex", "jobs:read"))["items"] == []


def test_workers_list_for_tag_scoped_callers_says_that_others_are_missing(tables: Tables) -> None:
    clock = SettableClock(NOON)
    settings = api_settings(auth="jwt", tenant_claim="tenant")
    api = ApiClient.over(tables, clock, settings=settings, workflows=tables.workflows(clock))
    tagged = made_job(id="tagged", completion=Completion.CALLBACK, heartbeat_seconds=60, tags=("billing",))
    assert api.jobs.create(tagged, cursor(tagged))
    recorded(api, waiting_run(tagged))
    own = jwt_caller("default", "jobs:read:tag=billing")
    assert call(api, "heartbeat", {"worker": "ours"}, token=TOKEN, run_id="tagged.20261121T120000Z").status == 200
    assert workers(api, own)["complete"]
    recorded(api, waiting_run(callback_job(api)))
    api.clock.advance(700)
    assert report(api, worker="ours").status == 200
    assert (workers(api, own)["items"], workers(api, own)["complete"]) == ([], False)
    assert workers(api, jwt_caller("default", "jobs:read"))["complete"]
