"""Runs of all jobs, found over the API."""

from base64 import urlsafe_b64encode
from typing import Any

import pytest

from duecourse.domain.jobs.job import Job
from duecourse.domain.runs.states import Run, Running, RunState
from duecourse.domain.targets.targets import HttpTarget
from duecourse.stores.run_item import Listing
from duecourse.stores.runs import RunStore
from duecourse.testing.clock import SettableClock
from tests.support.api import ApiClient, api_settings
from tests.support.api_events import json_event
from tests.support.jobs import NOON, cursor
from tests.support.jobs import job as made_job
from tests.support.runs import run
from tests.support.tables import Tables

RUNS = "/v1/runs"
SECURE = HttpTarget("https://example.com/hook")


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock(NOON + 3600)


@pytest.fixture
def unlisted(tables: Tables, clock: SettableClock) -> ApiClient:
    """The API of a stage that does not list successful runs."""
    stores = RunStore(tables.both(), listing=Listing(successes=False))
    return ApiClient(tables.job_store(clock), stores, clock, api_settings(list_successes=False))


@pytest.fixture
def runs(api: ApiClient) -> dict[str, Run]:
    """A run in each state, by its name; each came into it ten minutes after the one before."""
    alpha, beta = created(api, "alpha", tags=("billing", "night")), created(api, "beta", tags=("night",), target=SECURE)
    made = {
        "done": run(alpha, RunState.SUCCEEDED, after=0),
        "dead": run(alpha, RunState.DEAD, after=0, finished_at=NOON + 600, error="503: no upstream", suffix=".m1"),
        "again": run(beta, RunState.RETRYING, finished_at=NOON + 1200, error="Connection refused"),
        "off": run(beta, RunState.CANCELLED, after=60, finished_at=NOON + 1800, reason="cancelled"),
        "never": run(alpha, RunState.SKIPPED, after=2400, reason="paused", attempt=0),
        "alive": run(alpha, RunState.RUNNING, after=3000, started_at=NOON + 3000),
        "waits": run(beta, RunState.WAITING, after=3000, started_at=NOON + 3001),
    }
    for each in made.values():
        assert api.runs.write(each, None) is None
        if isinstance(each, Running):
            api.runs.list_running(each)
    return made


def created(api: ApiClient, name: str, **changes: Any) -> Job:
    made = made_job("0 0 1 1 *", id=name, **changes)
    assert api.jobs.create(made, cursor(made))
    return made


def found(api: ApiClient, runs: dict[str, Run], **query: str) -> list[str]:
    """The short names of the runs on the only page."""
    answer = api.get(RUNS, **query)
    assert (answer.status, answer.json.get("next_cursor")) == (200, None), answer.text
    short = {str(each.name): name for name, each in runs.items()}
    return [short[item["id"]] for item in answer.json["items"]]


def test_run_search_finds_all_listed_runs_latest_first(api: ApiClient, runs: dict[str, Run]) -> None:
    assert found(api, runs) == ["waits", "alive", "never", "off", "again", "dead", "done"]
    first = api.get(RUNS).json["items"][0]
    assert first.items() <= api.get(f"/v1/runs/{runs['waits'].name}").json.items()


@pytest.mark.parametrize(
    ("state", "names"),
    [
        ("DEAD", ["dead"]),
        ("RETRYING", ["again"]),
        ("SKIPPED,CANCELLED", ["never", "off"]),
        ("DEAD,DEAD,RETRYING", ["again", "dead"]),
        ("RUNNING,WAITING,QUEUED", ["waits", "alive"]),
        ("RUNNING,DEAD", ["alive", "dead"]),
        ("RUNNING,WAITING,QUEUED,RETRYING,DEAD,CANCELLED,SKIPPED", ["waits", "alive", "never", "off", "again", "dead"]),
    ],
)
def test_run_search_states_can_be_selected(api: ApiClient, runs: dict[str, Run], state: str, names: list[str]) -> None:
    assert found(api, runs, state=state) == names


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ({"since": "2026-11-21T12:20:00Z"}, ["waits", "alive", "never", "off", "again"]),
        ({"until": "2026-11-21T12:20:00Z"}, ["dead", "done"]),
        ({"since": "2026-11-21T12:10:00Z", "until": "2026-11-21T13:40:00+01:00"}, ["off", "again", "dead"]),
        ({"since": "2027-01-01T00:00:00Z"}, []),
        ({"tag": "night"}, ["waits", "alive", "never", "off", "again", "dead", "done"]),
        ({"tag": "billing"}, ["alive", "never", "dead", "done"]),
        ({"tag": "unused"}, []),
        ({"error": "REFUSED"}, ["again"]),
        ({"error": "503"}, ["dead"]),
        ({"error": "504"}, []),
        ({"state": "RUNNING,WAITING", "tag": "billing"}, ["alive"]),
        ({"state": "RUNNING,WAITING", "since": "2026-11-21T12:50:00Z"}, ["waits", "alive"]),
        ({"state": "RUNNING,WAITING", "until": "2026-11-21T12:50:00Z"}, []),
        ({"error": "503", "tag": "night", "state": "DEAD", "since": "2026-11-21T12:10:00Z"}, ["dead"]),
        ({"job": "alpha"}, ["alive", "never", "dead", "done"]),
        ({"job": "alpha", "state": "SUCCEEDED,DEAD"}, ["dead", "done"]),
        ({"job": "alpha", "state": "RUNNING"}, ["alive"]),
        ({"job": "beta", "state": "WAITING"}, ["waits"]),
        ({"job": "alpha", "state": "QUEUED"}, []),
        ({"job": "alpha", "since": "2026-11-21T12:10:00Z", "until": "2026-11-21T12:20:00Z"}, ["dead"]),
        ({"job": "alpha", "tag": "billing", "error": "upstream"}, ["dead"]),
        ({"job": "beta", "tag": "billing"}, []),
    ],
)
def test_run_search_filters_by_time_tag_job_and_error(
    api: ApiClient, runs: dict[str, Run], query: dict[str, str], names: list[str]
) -> None:
    assert found(api, runs, **query) == names


def test_run_search_tag_filter_uses_the_current_tags_of_the_job(api: ApiClient, runs: dict[str, Run]) -> None:
    assert api.send(json_event("PATCH", "/v1/jobs/beta", {"tags": ["night", "moved"]})).status == 200
    assert found(api, runs, tag="moved") == ["waits", "off", "again"]
    assert api.delete("/v1/jobs/beta").status == 204
    assert found(api, runs, tag="night") == ["alive", "never", "dead", "done"]


def test_run_search_job_list_includes_the_last_runs_of_each_job(api: ApiClient, runs: dict[str, Run]) -> None:
    created(api, "idle")
    assert api.runs.write(run(made_job(id="idle"), RunState.SKIPPED, after=7200, attempt=0), None) is None
    short = {str(each.name): name for name, each in runs.items()}
    answer = api.get("/v1/jobs", runs="2")
    assert answer.status == 200, answer.text
    last = {item["id"]: [short[each["id"]] for each in item["last_runs"]] for item in answer.json["items"]}
    assert last == {"alpha": ["alive", "never"], "beta": ["waits", "off"], "idle": []}, "none of a later occurrence"
    first = answer.json["items"][0]["last_runs"][0]
    assert first == {"id": str(runs["alive"].name), "occurrence": "2026-11-21T12:50:00Z", "state": "RUNNING"}
    assert all("last_runs" not in item for item in api.get("/v1/jobs").json["items"])
    assert api.send(json_event("PUT", "/v1/jobs/beta", answer.json["items"][1])).status == 200, (
        "such an answer is a valid body"
    )
    assert api.get("/v1/jobs", runs="21").status == 400
    assert api.get("/v1/workflows", runs="21").status == 400


def test_run_search_lists_runs_of_deleted_jobs(api: ApiClient, runs: dict[str, Run]) -> None:
    gone = run(made_job(id="gone"), RunState.SUCCEEDED, after=600)
    assert api.runs.write(gone, None) is None
    assert found(api, {**runs, "gone": gone}, state="SUCCEEDED") == ["gone", "done"]


def test_run_search_pages_of_many_jobs_have_each_run_once(api: ApiClient, runs: dict[str, Run]) -> None:
    many = [run(made_job(id=f"more-{number:03}"), RunState.SUCCEEDED, after=600) for number in range(120)]
    for each in many:
        assert api.runs.write(each, None) is None
    listed = [item["id"] for page in api.pages(RUNS, limit="50") for item in page.json["items"]]
    assert len(listed) == len(set(listed)) == len(many) + len(runs)
    assert listed[-1] == str(runs["done"].name)


@pytest.mark.parametrize("cursor", ["x:0:1.0:a.20261121T120000Z", "DEAD:x:1.0:a.20261121T120000Z", "DEAD:0:1.0:a"])
def test_run_search_invalid_cursor_is_refused(api: ApiClient, cursor: str) -> None:
    answer = api.get(RUNS, cursor=urlsafe_b64encode(f"1s:{cursor}".encode()).decode().rstrip("="))
    assert (answer.status, list(answer.errors)) == (400, ["cursor"])


def test_run_search_stage_without_listed_successes_says_so(unlisted: ApiClient) -> None:
    made = created(unlisted, "alpha")
    done, dead = run(made, RunState.SUCCEEDED, after=0), run(made, RunState.DEAD, after=60)
    for each in (done, dead):
        assert unlisted.runs.write(each, None) is None
    answer = unlisted.get(RUNS)
    assert [item["id"] for item in answer.json["items"]] == [str(dead.name)]
    assert answer.json["unlisted"] == ["SUCCEEDED"]
    assert "unlisted" not in unlisted.get(RUNS, state="DEAD").json
    refused = unlisted.get(RUNS, state="SUCCEEDED,DEAD")
    assert (refused.status, refused.json["type"]) == (422, "/problems/successes-unlisted")
    assert "list_successes" in refused.json["detail"]
    found_in_job = unlisted.get(RUNS, job="alpha", state="SUCCEEDED").json["items"]
    assert [item["id"] for item in found_in_job] == [str(done.name)]


@pytest.mark.parametrize(
    ("query", "parameter"),
    [
        ({"state": "FAILED"}, "state"),
        ({"state": "dead"}, "state"),
        ({"state": ""}, "state"),
        ({"state": "DEAD,"}, "state"),
        ({"tag": "a b"}, "tag"),
        ({"job": "a#b"}, "job"),
        ({"since": "today"}, "since"),
        ({"until": "2026-11-21T12:00:00"}, "until"),
        ({"since": "2026-11-21T12:00:00Z", "until": "2026-11-21T12:00:00Z"}, "until"),
        ({"error": ""}, "error"),
        ({"error": "x" * 201}, "error"),
        ({"job_id": "alpha"}, "job_id"),
        ({"limit": "0"}, "limit"),
        ({"cursor": "nonsense"}, "cursor"),
    ],
)
def test_run_search_invalid_query_is_refused_with_the_parameter(
    api: ApiClient, query: dict[str, str], parameter: str
) -> None:
    answer = api.get(RUNS, **query)
    assert (answer.status, list(answer.errors)) == (400, [parameter])


def test_run_search_missing_job_is_reported_as_unknown(api: ApiClient) -> None:
    answer = api.get(RUNS, job="nobody")
    assert (answer.status, answer.json["type"]) == (404, "/problems/unknown-job")


def test_run_search_finds_nothing_of_another_tenant(api: ApiClient, runs: dict[str, Run]) -> None:
    assert api.runs.write(run(made_job(id="alpha", tenant="other"), RunState.RETRYING, after=900), None) is None
    assert found(api, runs, state="RETRYING") == ["again"]


@pytest.mark.parametrize("limit", ["1", "2", "3"])
@pytest.mark.parametrize("query", [{}, {"job": "alpha"}, {"tag": "night"}, {"error": "e"}])
def test_run_search_pages_contain_each_run_once(
    api: ApiClient, runs: dict[str, Run], query: dict[str, str], limit: str
) -> None:
    whole = api.get(RUNS, **query).json["items"]
    assert len(whole) > 1
    assert paged(api, limit=limit, **query) == whole


def test_run_search_page_reads_a_bounded_number_of_runs_and_may_be_short_with_a_next_page(api: ApiClient) -> None:
    failing = created(api, "gamma", tags=("rare",))
    many = created(api, "delta")
    for number in range(510):
        late = run(many, RunState.DEAD, after=number, finished_at=NOON + 1000 + number, error="often")
        assert api.runs.write(late, None) is None
    wanted = run(failing, RunState.DEAD, finished_at=NOON + 1, error="seldom")
    assert api.runs.write(wanted, None) is None
    for query in ({"tag": "rare"}, {"error": "seldom"}, {"tag": "rare", "error": "seldom"}):
        first = api.get(RUNS, **query).json
        assert first["items"] == []
        assert first["next_cursor"] is not None
        assert [item["id"] for item in paged(api, **query)] == [str(wanted.name)]


def paged(api: ApiClient, **query: str) -> list[Any]:
    """All pages, one after another."""
    return [item for page in api.pages(RUNS, **query) for item in page.json["items"]]
