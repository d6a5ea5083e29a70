"""Dead runs chosen by time, tag and error: listed, counted by a dry run, redriven."""

from typing import Any

import pytest

from duecourse.domain.jobs.job import Job
from duecourse.domain.runs.states import Run, RunState
from duecourse.testing.clock import SettableClock
from tests.support.api import ApiClient
from tests.support.jobs import NOON, cursor
from tests.support.jobs import job as made_job
from tests.support.runs import run

LIST = "/v1/dead-letters"
REDRIVE = "/v1/dead-letters/redrive"


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock(NOON + 7200)


@pytest.fixture
def dead(api: ApiClient) -> list[Run]:
    """Four dead runs, in the order in which they died, ten minutes apart."""
    alpha, beta = created(api, "alpha", tags=("billing", "night")), created(api, "beta", tags=("night",))
    return [
        died(api, of, number, error)
        for number, (of, error) in enumerate(
            [(alpha, "503: no upstream"), (beta, "Connection refused"), (alpha, "connection refused"), (beta, None)]
        )
    ]


def created(api: ApiClient, name: str, **changes: Any) -> Job:
    made = made_job("0 0 1 1 *", id=name, **changes)
    assert api.jobs.create(made, cursor(made))
    return made


def died(api: ApiClient, of: Job, number: int, error: str | None) -> Run:
    record = run(of, RunState.DEAD, after=number, finished_at=NOON + 600 * number, error=error)
    assert api.runs.write(record, None) is None
    return record


CHOICES = [
    ({}, [3, 2, 1, 0]),
    ({"since": "2026-11-21T12:10:00Z"}, [3, 2, 1]),
    ({"until": "2026-11-21T12:10:00Z"}, [0]),
    ({"since": "2026-11-21T12:10:00Z", "until": "2026-11-21T12:30:00Z"}, [2, 1]),
    ({"tag": "night"}, [3, 2, 1, 0]),
    ({"tag": "billing"}, [2, 0]),
    ({"tag": "unused"}, []),
    ({"error": "REFUSED"}, [2, 1]),
    ({"error": "refused", "tag": "billing"}, [2]),
    ({"error": "refused", "job_id": "beta", "since": "2026-11-21T12:00:00Z"}, [1]),
]


@pytest.mark.parametrize(("choice", "expected"), CHOICES)
def test_dead_letter_filters_same_filter_lists_counts_and_redrives_the_same_runs(
    api: ApiClient, dead: list[Run], choice: dict[str, str], expected: list[int]
) -> None:
    names = [str(dead[number].name) for number in expected]
    listed = api.get(LIST, **choice).json
    assert ([one["id"] for one in listed["items"]], listed["next_cursor"]) == (names, None)
    looked = api.post(choice | {"dry_run": True}, REDRIVE).json
    assert looked == {"dry_run": True, "redriven": len(names), "refused": 0, "more": False, "next_cursor": None}
    assert api.wheel.sent == []
    assert api.post(choice, REDRIVE).json == looked | {"dry_run": False}
    assert [str(one.message.name) for one in api.wheel.sent] == names


def test_dead_letter_filters_dry_run_leaves_no_record_in_the_job_history(api: ApiClient, dead: list[Run]) -> None:
    assert api.post({"dry_run": True}, REDRIVE).status == 200
    assert api.get("/v1/jobs/alpha/history").json["items"] == []
    assert api.post({}, REDRIVE).status == 200
    (noted,) = api.get("/v1/jobs/alpha/history").json["items"]
    assert noted["action"] == "redriven"


def test_dead_letter_filters_dry_run_counts_runs_without_a_job_separately(api: ApiClient, dead: list[Run]) -> None:
    alpha = api.jobs.get("default", "alpha")
    assert alpha is not None
    assert api.jobs.delete(alpha, deleted_at=NOON + 7000)
    looked = api.post({"dry_run": True}, REDRIVE).json
    assert (looked["redriven"], looked["refused"]) == (2, 2)


@pytest.mark.parametrize("limit", [1, 2, 3])
@pytest.mark.parametrize("dry_run", [True, False])
def test_dead_letter_filters_redrive_by_error_continues_by_cursor(
    api: ApiClient, dead: list[Run], limit: int, dry_run: bool
) -> None:
    count, body = 0, {"error": "refused", "limit": limit, "dry_run": dry_run}
    while True:
        answer = api.post(body, REDRIVE).json
        assert answer["redriven"] <= limit
        count += answer["redriven"]
        if answer["next_cursor"] is None:
            break
        body["cursor"] = answer["next_cursor"]
    names = [] if dry_run else [str(dead[2].name), str(dead[1].name)]
    assert (count, [str(one.message.name) for one in api.wheel.sent]) == (2, names)


def test_dead_letter_filters_rare_matches_are_found_beyond_the_limit_of_one_response(api: ApiClient) -> None:
    many = created(api, "many")
    wanted = died(api, created(api, "seldom", tags=("rare",)), 0, "seldom")
    for number in range(1, 503):
        died(api, many, number, "often")
    first = api.get(LIST, tag="rare").json
    assert first["items"] == []
    second = api.get(LIST, tag="rare", cursor=first["next_cursor"]).json
    assert ([one["id"] for one in second["items"]], second["next_cursor"]) == ([str(wanted.name)], None)
    looked = api.post({"tag": "rare", "dry_run": True}, REDRIVE).json
    assert (looked["redriven"], looked["more"]) == (0, True)
    assert api.post({"tag": "rare", "cursor": looked["next_cursor"]}, REDRIVE).json["redriven"] == 1
