"""Lists in few bytes: summaries of jobs, compressed responses, and unchanged pages."""

from typing import Any

import pytest

from duecourse.domain.runs.states import RunState
from tests.support.api import ApiClient
from tests.support.jobs import NOON, cursor
from tests.support.jobs import job as made_job
from tests.support.runs import run

SUMMARIES, GZIP = "/v1/job-summaries", {"accept-encoding": "gzip, deflate"}


def created(api: ApiClient, name: str, **changes: Any) -> None:
    job = made_job("0 3 * * *", id=name, **changes)
    assert api.jobs.create(job, cursor(job))


def test_lists_summary_has_the_schedule_the_next_occurrence_and_the_states_of_the_last_runs(api: ApiClient) -> None:
    created(api, "nightly", tags=("crm",))
    for number, state in enumerate([RunState.DEAD, *[RunState.SUCCEEDED] * 21]):
        assert api.runs.write(run(made_job(id="nightly"), state, after=-86_400 * (22 - number)), None) is None
    (summary,) = api.get(SUMMARIES).json["items"]
    assert summary == {
        "id": "nightly",
        "name": "",
        "state": "ACTIVE",
        "schedule": "0 3 * * *",
        "timezone": "UTC",
        "next_occurrence": "2026-11-22T03:00:00Z",
        "last_states": ["SUCCEEDED"] * 20,
        "tags": ["crm"],
        "error": None,
        "workflow": None,
    }
    assert api.get(SUMMARIES, tag="other").json["items"] == []


def test_lists_hundred_summaries_take_at_most_fifteen_kilobytes(api: ApiClient) -> None:
    for number in range(100):
        created(api, f"job-of-a-team-{number:05}", tags=("crm", "nightly"), owner=f"team {number}")
        for day in range(3):
            job = made_job(id=f"job-of-a-team-{number:05}")
            assert api.runs.write(run(job, RunState.SUCCEEDED, after=-86_400 * (day + 1)), None) is None
    answer = api.get(SUMMARIES, limit="100", headers=GZIP)
    assert len(answer.json["items"]) == 100
    assert len(api.compressed) <= 15_000


def test_lists_short_responses_and_callers_without_gzip_are_not_compressed(api: ApiClient) -> None:
    api.get("/v1/jobs", headers=GZIP)
    for number in range(20):
        created(api, f"job-{number}")
    api.get("/v1/jobs")
    assert api.compressed == b""
    api.get("/v1/jobs", headers=GZIP)
    assert api.compressed


@pytest.mark.parametrize("path", ["/v1/jobs", "/v1/runs", "/v1/calendars", SUMMARIES])
def test_lists_unchanged_page_is_not_sent_again(api: ApiClient, path: str) -> None:
    created(api, "nightly")
    tag = api.get(path).headers["etag"]
    again = api.get(path, headers={"if-none-match": f'"other", {tag}'})
    assert (again.status, again.text, again.headers["etag"]) == (304, "", tag)
    assert api.get(path, headers={"if-none-match": '"other"'}).status == 200


def test_lists_changed_page_is_sent_with_another_tag(api: ApiClient) -> None:
    created(api, "nightly")
    tag = api.get("/v1/jobs").headers["etag"]
    created(api, "hourly")
    changed = api.get("/v1/jobs", headers={"if-none-match": tag})
    assert changed.status == 200
    assert changed.headers["etag"] != tag


def test_lists_run_shows_how_long_its_last_attempt_took(api: ApiClient) -> None:
    created(api, "nightly")
    took = run(made_job(id="nightly"), RunState.SUCCEEDED, started_at=NOON + 1, finished_at=NOON + 61.5)
    assert api.runs.write(took, None) is None
    (listed,) = api.get("/v1/runs").json["items"]
    assert listed["duration_seconds"] == 60.5
