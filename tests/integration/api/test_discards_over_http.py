"""Dead runs that are discarded over the API: what their lists, figures and histories show then."""

from typing import Any

import pytest

from duecourse.domain.jobs.job import Job
from duecourse.domain.runs.states import Dead, Run, RunState
from duecourse.testing.clock import SettableClock
from tests.support.api import ApiClient
from tests.support.jobs import NOON, cursor
from tests.support.jobs import job as made_job
from tests.support.runs import run

DISCARDED = {"at": "2026-11-21T14:00:00.000Z", "by": "local", "note": "sent again"}


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock(NOON + 7200)


def created(api: ApiClient, name: str = "alpha") -> Job:
    made = made_job("0 0 1 1 *", id=name)
    assert api.jobs.create(made, cursor(made))
    return made


def died(api: ApiClient, of: Job, number: int = 0) -> Run:
    record = run(of, RunState.DEAD, after=number, finished_at=NOON + 600 * number, error="refused")
    assert api.runs.write(record, None) is None
    return record


def discard(api: ApiClient, record: Run, **body: Any) -> Any:
    return api.post(body, f"/v1/runs/{record.name}/discard")


def listed(api: ApiClient, path: str, **query: str) -> list[str]:
    return [each["id"] for each in api.get(path, **query).json["items"]]


def test_discards_run_stays_dead_with_when_by_whom_and_why(api: ApiClient) -> None:
    record = died(api, created(api))
    answer = discard(api, record, note="sent again")
    assert (answer.status, answer.json["state"], answer.json["discarded"]) == (200, "DEAD", DISCARDED)
    read = api.get(f"/v1/runs/{record.name}").json
    assert {name: read[name] for name in answer.json} == answer.json


def test_discards_are_left_out_of_lists_and_figures_of_dead_runs(api: ApiClient) -> None:
    of = created(api)
    first, second = died(api, of, 0), died(api, of, 1)
    discard(api, first)
    kept, gone = [str(second.name)], [str(first.name)]
    assert listed(api, "/v1/dead-letters") == kept
    assert listed(api, "/v1/dead-letters", job_id="alpha") == kept
    assert listed(api, "/v1/runs") == kept
    for path in ("/v1/runs", "/v1/jobs/alpha/runs"):
        assert listed(api, path, state="DEAD") == kept
        assert listed(api, path, state="DEAD", discarded="true") == gone
        assert listed(api, path, discarded="true") == gone
        assert listed(api, path, state="SUCCEEDED", discarded="true") == []
    assert listed(api, "/v1/runs", job="alpha", state="DEAD") == kept
    assert listed(api, "/v1/jobs/alpha/runs") == [*kept, *gone]
    assert api.get("/v1/stats").json["dead_runs"]["count"] == 1


def test_discards_list_has_pages(api: ApiClient) -> None:
    of = created(api)
    records = [died(api, of, number) for number in range(7)]
    for each in records:
        discard(api, each)
    found, cursor_text = list[str](), None
    while True:
        query = {"discarded": "true", "limit": "3"} | ({} if cursor_text is None else {"cursor": cursor_text})
        page = api.get("/v1/runs", **query).json
        found += [each["id"] for each in page["items"]]
        if (cursor_text := page["next_cursor"]) is None:
            break
    assert found == [str(each.name) for each in reversed(records)]


def test_discards_repeated_request_returns_the_first_discard(api: ApiClient, clock: SettableClock) -> None:
    record = died(api, created(api))
    discard(api, record, note="sent again")
    clock.advance(60)
    assert discard(api, record, note="another").json["discarded"] == DISCARDED
    (entry, *_) = api.get("/v1/jobs/alpha/history").json["items"]
    assert (entry["action"], entry["principal"], entry["facts"]["run_ids"]) == (
        "discarded",
        "local",
        [str(record.name)],
    )


@pytest.mark.parametrize("state", [RunState.SUCCEEDED, RunState.RETRYING, RunState.CANCELLED])
def test_discards_reject_runs_that_are_not_dead(api: ApiClient, state: RunState) -> None:
    record = run(created(api), state)
    assert api.runs.write(record, None) is None
    before = api.runs.get("default", "alpha", record.name.local)
    answer = discard(api, record)
    assert (answer.status, answer.json["type"]) == (409, "/problems/not-dead")
    assert "only dead runs can be redriven or discarded" in answer.json["detail"]
    assert api.runs.get("default", "alpha", record.name.local) == before


@pytest.mark.parametrize(
    ("note", "detail"),
    [
        ("", "must not be empty"),
        ("x" * 501, "at most 500 characters"),
        (7, "must be text"),
        ("two\nlines", "control characters"),
        ("\x1b[2J", "control characters"),
    ],
)
def test_discards_reject_an_invalid_note(api: ApiClient, note: object, detail: str) -> None:
    record = died(api, created(api))
    answer = discard(api, record, note=note)
    assert (answer.status, list(answer.errors)) == (422, ["/note"])
    assert detail in answer.errors["/note"]
    stored = api.runs.get("default", "alpha", record.name.local)
    assert isinstance(stored, Dead)
    assert stored.discard is None


def test_discards_unknown_run_is_not_found(api: ApiClient) -> None:
    created(api)
    assert api.post({}, "/v1/runs/alpha.20261121T120000Z/discard").status == 404


def test_discards_run_can_be_redriven(api: ApiClient) -> None:
    record = died(api, created(api))
    discard(api, record)
    assert api.post({}, f"/v1/runs/{record.name}/redrive").status == 202
