"""GET /v1/jobs/<id>/explain, with real tables: why a job ran at an instant, or did not."""

from dataclasses import replace
from typing import Any

import pytest

from duecourse.domain.ids import to_basic
from duecourse.domain.instants import to_iso
from duecourse.domain.jobs.cursor import Cursor, SkippedRange
from duecourse.domain.jobs.job import Job, Lane
from duecourse.domain.runs.overlap import QueuePosition
from duecourse.domain.runs.states import RunState
from duecourse.messages import RunMessage
from duecourse.ports import Claim, ClaimResult, Depth
from duecourse.testing.clock import SettableClock
from duecourse.usecases.dispatch.claim import Skipping
from duecourse.usecases.run_counts import RunCounts
from tests.support import runs
from tests.support.api import BODY, ApiClient
from tests.support.api_events import json_event
from tests.support.jobs import NOON, moved
from tests.support.limits import FixedDepths
from tests.support.tables import Tables

HOUR = 3600


@pytest.fixture
def hourly(api: ApiClient, tables: Tables, clock: SettableClock) -> Job:
    """A job on the hour, created at noon."""
    answer = api.post(BODY | {"id": "hourly", "schedule": "0 * * * *"})
    assert answer.status == 201, answer.text
    found = tables.job_store(clock).get("default", "hourly")
    assert found is not None
    return found


def asked(api: ApiClient, after: float, job_id: str = "hourly") -> Any:
    answer = api.get(f"/v1/jobs/{job_id}/explain", at=to_iso(NOON + after))
    assert answer.status == 200, answer.text
    assert answer.json["at"] == to_iso(NOON + after)
    return answer.json


def dispatched(tables: Tables, clock: SettableClock, hours: int) -> Cursor:
    """The cursor as a dispatcher leaves it that has handed over everything before so many hours after noon."""
    standing = tables.job_store(clock).get_cursor("default", "hourly")
    assert standing is not None
    claimed = moved(standing, int(NOON) + hours * HOUR)
    (won,) = tables.cursor_store(clock).claim([Claim(standing, claimed)], 1)
    assert won.result is ClaimResult.WON
    return claimed


def test_explain_waiting_run_shows_its_position_and_the_runs_before_it(
    tables: Tables, clock: SettableClock, api: ApiClient, hourly: Job
) -> None:
    lines = tables.wait_queues()
    api = ApiClient.over(tables, clock, wait_queues=lines)
    for hours in (1, 2):
        at = int(NOON) + hours * HOUR
        waits = {"attempt": 0, "waiting_since": float(at)}
        record = runs.run(hourly, RunState.QUEUED, after=hours * HOUR, **waits)
        assert tables.run_store().write(record, None) is None
        message = RunMessage(record.identity, hourly.lane, float(at), f"nonce-{hours}")
        assert lines.enter(message, expires_at=at + HOUR)
    clock.set(NOON + 2 * HOUR + 30)
    first, second = asked(api, HOUR), asked(api, 2 * HOUR)
    assert (first["verdict"], first["facts"]["place"]) == ("queued", 1)
    assert first["sentence"].endswith("It is first in the wait queue.")
    assert (second["facts"]["place"], second["facts"]["behind"]) == (2, first["run"]["id"])
    assert second["sentence"].endswith(f"It is number 2 in the wait queue, behind {first['run']['id']}.")
    lines.leave("default", "hourly", QueuePosition(int(NOON) + HOUR, to_basic(int(NOON) + HOUR)))
    assert asked(api, 2 * HOUR)["facts"]["place"] == 1
    assert "place" not in asked(api, HOUR)["facts"]


def test_explain_without_an_instant_explains_the_present(api: ApiClient, clock: SettableClock, hourly: Job) -> None:
    clock.set(NOON + 30.5)
    answer = api.get("/v1/jobs/hourly/explain")
    assert (answer.status, answer.json["at"]) == (200, "2026-11-21T12:00:30Z")
    assert (answer.json["verdict"], answer.json["nearest"]["after"]) == ("not_an_occurrence", "2026-11-21T13:00:00Z")


def test_explain_past_occurrence_shows_its_run(
    api: ApiClient, tables: Tables, clock: SettableClock, hourly: Job
) -> None:
    tables.run_store().write(runs.run(hourly, RunState.SUCCEEDED, after=HOUR), None)
    clock.set(NOON + HOUR + 30)
    found = asked(api, HOUR)
    assert found["verdict"] == "fired"
    assert found["run"]["id"] == f"hourly.{to_basic(int(NOON) + HOUR)}"
    assert found["facts"] == {"state": "SUCCEEDED", "attempts": 2}
    assert found["nearest"] == {"before": None, "after": "2026-11-21T14:00:00Z"}


def test_explain_occurrence_in_its_lane_is_queued(
    api: ApiClient, tables: Tables, clock: SettableClock, hourly: Job
) -> None:
    dispatched(tables, clock, 2)
    clock.set(NOON + HOUR - 60)
    found = asked(api, HOUR)
    assert (found["verdict"], found["run"]["state"]) == ("queued", "QUEUED")


def test_explain_occurrence_sent_directly_by_the_api_is_queued(api: ApiClient) -> None:
    api.post(BODY | {"id": "soon", "schedule": "rate(10 seconds)"})
    assert asked(api, 60, "soon")["verdict"] == "queued"
    assert asked(api, 600, "soon")["verdict"] == "future"


def test_explain_unsent_past_occurrence_is_late_and_a_coming_one_is_future(
    api: ApiClient, clock: SettableClock, hourly: Job
) -> None:
    clock.set(NOON + HOUR + 1)
    assert (asked(api, HOUR)["verdict"], asked(api, HOUR)["run"]) == ("late", None)
    assert asked(api, 5 * HOUR)["facts"]["due"] == "2026-11-21T17:00:00Z"


def test_explain_range_of_skipped_occurrences_covers_each_despite_a_record_in_between(
    api: ApiClient, tables: Tables, clock: SettableClock, hourly: Job
) -> None:
    standing = dispatched(tables, clock, 20)
    clock.set(NOON + 20 * HOUR)
    store = tables.run_store()
    ranged = SkippedRange(int(NOON) + 2 * HOUR, int(NOON) + 9 * HOUR, 8, "missed")
    for record in Skipping(store, clock, 90, RunCounts(tables.run_counts(), clock)).records(standing, [ranged]):
        assert store.write(record, None) is None
    store.write(runs.run(hourly, RunState.SUCCEEDED, after=4 * HOUR), None)
    store.write(runs.run(hourly, RunState.SUCCEEDED, after=4 * HOUR + 5, suffix=".mabcdefgh"), None)
    assert asked(api, 4 * HOUR)["verdict"] == "fired"
    found = asked(api, 6 * HOUR)
    assert (found["verdict"], found["facts"]["reason"]) == ("skipped", "missed")
    assert found["run"]["id"] == "hourly.20261121T140000Z"
    assert asked(api, 10 * HOUR)["verdict"] == "queued"


def test_explain_occurrence_no_longer_in_any_queue_is_lost(tables: Tables, clock: SettableClock, hourly: Job) -> None:
    dispatched(tables, clock, 3)
    clock.set(NOON + 3 * HOUR)
    depths = FixedDepths({Lane.NORMAL: Depth(0, 0, 0)})
    api = ApiClient.over(tables, clock, depths=depths)
    found = asked(api, HOUR)
    assert (found["verdict"], found["facts"]["lane"], found["run"]) == ("lost", "normal", None)
    depths.known[Lane.NORMAL] = Depth(0, 1, 0)
    assert asked(api, HOUR)["verdict"] == "queued"


def test_explain_occurrence_kept_by_an_edit_because_of_later_jitter_is_queued(
    api: ApiClient, tables: Tables, clock: SettableClock
) -> None:
    assert api.post(BODY | {"id": "late", "schedule": "0 * * * *", "jitter_seconds": 3000}).status == 201
    of = tables.job_store(clock).get("default", "late")
    assert of is not None
    at, due = next(
        (at, due)
        for at in range(int(NOON) + HOUR, int(NOON) + 99 * HOUR, HOUR)
        if (due := of.occurrences().due(at)) > at + 300
    )
    clock.set(due - 60)  # between the two: what is due within two minutes is sent at once
    changed = api.send(json_event("PATCH", "/v1/jobs/late", {"exclude": ["2027-01-01"]}))
    assert changed.status == 200, changed.text
    found = asked(api, at - NOON, "late")
    assert (found["verdict"], found["run"]["state"]) == ("queued", "QUEUED")
    newest = api.get("/v1/jobs/late/runs", limit="1").json["items"][0]
    assert (newest["id"], newest["state"]) == (f"late.{to_basic(at)}", "QUEUED")
    assert api.get(f"/v1/runs/late.{to_basic(at)}").status == 200


def test_explain_occurrence_delayed_by_jitter_beyond_the_lookahead_is_not_queued_yet(
    api: ApiClient, tables: Tables, clock: SettableClock
) -> None:
    clock.set(NOON - 60)
    jobs = tables.job_store(clock)
    for number in range(20):
        body = BODY | {"id": f"late{number}", "schedule": "0 * * * *", "jitter_seconds": 3000}
        assert api.post(body).status == 201
        of = jobs.get("default", f"late{number}")
        assert of is not None
        if of.occurrences().due(int(NOON)) > NOON + 300:
            break
    assert asked(api, 0, of.id)["verdict"] == "future"
    assert api.get(f"/v1/jobs/{of.id}/runs").json["items"] == []


def test_explain_paused_job_is_reported_and_after_resuming_the_record_is_shown(
    api: ApiClient, clock: SettableClock, hourly: Job
) -> None:
    clock.set(NOON + 600)
    assert api.ask("/v1/jobs/hourly/pause").status == 200
    clock.set(NOON + 3 * HOUR + 60)
    paused = asked(api, 2 * HOUR)
    assert (paused["verdict"], paused["facts"]["since"]) == ("paused", "2026-11-21T12:10:00Z")
    assert api.ask("/v1/jobs/hourly/resume").status == 200
    recorded = asked(api, 2 * HOUR)
    assert (recorded["verdict"], recorded["run"]["state"]) == ("paused", "SKIPPED")
    assert "It had been paused since 2026-11-21T12:10:00Z by " in recorded["sentence"]


def test_explain_deleted_job_can_be_explained_for_a_day(api: ApiClient, clock: SettableClock, hourly: Job) -> None:
    clock.set(NOON + 600)
    assert api.delete("/v1/jobs/hourly").status == 204
    found = asked(api, HOUR)
    assert (found["verdict"], found["nearest"]) == ("deleted", {"before": None, "after": None})


def test_explain_hour_skipped_by_the_clock_is_reported(api: ApiClient) -> None:
    api.post(BODY | {"id": "early", "schedule": "30 2 * * *", "timezone": "America/New_York"})
    answer = api.get("/v1/jobs/early/explain", at="2027-03-14T02:30:00-05:00")
    assert (answer.json["verdict"], answer.json["facts"]["wall"]) == ("gap", "2027-03-14T02:30:00")
    assert answer.json["at"] == "2027-03-14T07:30:00Z"


def test_explain_too_many_intermediate_records_are_not_reported_as_lost(
    api: ApiClient, tables: Tables, clock: SettableClock, hourly: Job
) -> None:
    dispatched(tables, clock, 3)
    store = tables.run_store()
    for number in range(401):
        store.write(runs.run(hourly, RunState.SUCCEEDED, after=HOUR + number, suffix=".mabcdefgh"), None)
    clock.set(NOON + 2 * HOUR + 60)
    assert asked(api, 2 * HOUR)["verdict"] == "unclear"


def test_explain_unknown_job_is_not_explained(api: ApiClient) -> None:
    for job_id in ("nobody", "no%2Fbody"):
        answer = api.get(f"/v1/jobs/{job_id}/explain", at="2026-11-21T12:00:00Z")
        assert (answer.status, answer.json["type"]) == (404, "/problems/unknown-job")


def test_explain_job_of_another_tenant_does_not_exist(
    api: ApiClient, tables: Tables, clock: SettableClock, hourly: Job
) -> None:
    theirs = replace(hourly, tenant="acme", id="theirs")
    tables.run_store().write(runs.run(theirs, RunState.SUCCEEDED, after=HOUR), None)
    assert api.get("/v1/jobs/theirs/explain", at="2026-11-21T13:00:00Z").status == 404


@pytest.mark.parametrize(
    ("query", "parameter"),
    [
        ({"at": ""}, "at"),
        ({"at": "yesterday"}, "at"),
        ({"at": "2026-11-21T12:00:00"}, "at"),
        ({"at": "9999-12-31T23:59:59Z"}, "at"),
        ({"at": "2026-11-21T12:00:00Z,2026-11-22T12:00:00Z"}, "at"),
        ({"at": "2026-11-21T12:00:00Z", "when": "now"}, "when"),
    ],
)
def test_explain_invalid_instant_is_refused_with_the_parameter(
    api: ApiClient, hourly: Job, query: dict[str, str], parameter: str
) -> None:
    answer = api.get("/v1/jobs/hourly/explain", **query)
    assert (answer.status, answer.json["type"]) == (400, "/problems/bad-parameter")
    assert list(answer.errors) == [parameter]


@pytest.mark.parametrize("at", ["0001-01-03T00:00:00Z", "1969-12-31T23:59:59Z", "9999-12-29T00:00:00Z"])
def test_explain_ends_of_the_calendar_are_valid_instants(api: ApiClient, hourly: Job, at: str) -> None:
    assert api.get("/v1/jobs/hourly/explain", at=at).status == 200
