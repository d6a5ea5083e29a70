"""Runs of a job chosen by their state and their occurrence."""

from typing import Any

import pytest

from duecourse.domain.instants import from_iso
from duecourse.domain.runs.states import RunState
from tests.support.api import BODY, ApiClient
from tests.support.jobs import NOON
from tests.support.jobs import job as made_job
from tests.support.runs import run
from tests.support.world import World

States = list[tuple[int, str]]


@pytest.fixture
def api(world: World) -> ApiClient:
    """One with a job that fires each minute: five runs have ended, the second one badly; some are enqueued."""
    api = ApiClient.of(world)
    answer = api.post(BODY | {"id": "steady", "schedule": "rate(1 minute)"})
    assert answer.status == 201, answer.text
    world.until(NOON + 300)
    (second,) = world.run_store.page("default", "steady", limit=1, before="20261121T120200Z~")
    bad = run(
        made_job(id="steady"), RunState.CANCELLED, after=120, finished_at=NOON + 130, generation=second.generation
    )
    assert world.run_store.write(bad, second) is None
    return api


def states(api: ApiClient, **query: str) -> States:
    """Seconds after NOON and state of each run, over all pages."""
    pages = api.pages("/v1/jobs/steady/runs", **query)
    return [(int(from_iso(each["occurrence"]) - NOON), each["state"]) for page in pages for each in page.json["items"]]


DONE: States = [(300, "SUCCEEDED"), (240, "SUCCEEDED"), (180, "SUCCEEDED"), (120, "CANCELLED"), (60, "SUCCEEDED")]


def test_run_filters_unfiltered_list_includes_queued_runs(api: ApiClient) -> None:
    found = states(api)
    assert found[-5:] == DONE
    assert {state for _, state in found[:-5]} == {"QUEUED"}


@pytest.mark.parametrize("limit", ["1", "2", "50"])
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"state": "SUCCEEDED"}, [DONE[0], DONE[1], DONE[2], DONE[4]]),
        ({"state": "CANCELLED,DEAD"}, [DONE[3]]),
        ({"state": "DEAD"}, []),
        ({"from": "2026-11-21T12:00:00Z"}, DONE),
        ({"to": "2027-11-21T12:00:00Z"}, DONE),
        ({"from": "2026-11-21T12:02:00Z", "to": "2026-11-21T12:04:00Z"}, DONE[2:4]),
        ({"from": "2026-11-21T12:02:00Z", "to": "2026-11-21T12:04:00Z", "state": "SUCCEEDED"}, DONE[2:3]),
        ({"to": "2026-11-21T12:00:00Z"}, []),
        ({"to": "1970-01-01T00:00:00Z"}, []),
    ],
)
def test_run_filters_by_state_and_occurrence_exclude_queued_runs(
    api: ApiClient, query: dict[str, str], expected: States, limit: str
) -> None:
    assert states(api, limit=limit, **query) == expected


def test_run_filters_show_queued_runs_on_request(api: ApiClient) -> None:
    queued = [each for each in states(api) if each[1] == "QUEUED"]
    assert len(queued) > 1
    assert states(api, state="QUEUED") == queued
    assert states(api, state="QUEUED", limit="1") == queued
    assert states(api, state="QUEUED,SUCCEEDED", limit="3") == [each for each in states(api) if each[1] != "CANCELLED"]
    assert states(api, state="QUEUED", to="2026-11-21T12:06:30Z") == [(360, "QUEUED")]


def test_run_filters_count_runs_in_the_wait_queue_as_queued(api: ApiClient, world: World) -> None:
    in_wait_queue = run(made_job(id="steady"), RunState.QUEUED, attempt=0, waiting_since=NOON, suffix=".m1")
    assert world.run_store.write(in_wait_queue, None) is None
    assert states(api, state="QUEUED")[-1] == (0, "QUEUED")
    assert (0, "QUEUED") not in states(api, **{"from": "2026-11-21T12:00:00Z"})


@pytest.mark.parametrize(
    ("query", "parameter"),
    [
        ({"state": "GOOD"}, "state"),
        ({"from": "yesterday"}, "from"),
        ({"to": "2026-11-21"}, "to"),
        ({"from": "2026-11-21T12:00:00Z", "to": "2026-11-21T11:00:00Z"}, "to"),
        ({"since": "2026-11-21T12:00:00Z"}, "since"),
    ],
)
def test_run_filters_invalid_query_is_refused_with_the_parameter(
    api: ApiClient, query: dict[str, str], parameter: str
) -> None:
    answer = api.get("/v1/jobs/steady/runs", **query)
    assert (answer.status, list(answer.errors)) == (400, [parameter])


def test_run_filters_apply_to_a_deleted_job_and_an_unknown_job_is_reported(api: ApiClient) -> None:
    query: dict[str, Any] = {"to": "2026-11-21T12:00:30Z"}
    assert api.get("/v1/jobs/nobody/runs", **query).status == 404
    api.delete("/v1/jobs/steady")
    assert states(api, **query) == []
    assert states(api, state="CANCELLED") == [DONE[3]]
