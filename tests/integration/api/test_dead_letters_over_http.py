"""Dead runs over the API: listed, and redriven many at a time."""

from base64 import urlsafe_b64encode
from typing import Any

import pytest

from duecourse.domain.jobs.job import Job
from duecourse.domain.runs.states import Run, RunState
from duecourse.messages import MessageKind
from duecourse.testing.clock import SettableClock
from duecourse.testing.faults import around, before
from tests.support.api import ApiClient
from tests.support.callbacks import recorded
from tests.support.jobs import NOON, cursor
from tests.support.jobs import job as made_job
from tests.support.runs import run
from tests.support.tables import Tables

LIST = "/v1/dead-letters"
REDRIVE = "/v1/dead-letters/redrive"
NONE_LEFT = {"dry_run": False, "redriven": 0, "refused": 0, "more": False, "next_cursor": None}


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock(NOON + 3600)


@pytest.fixture
def jobs(api: ApiClient) -> list[Job]:
    return [created(api, name) for name in ("alpha", "beta", "gamma")]


@pytest.fixture
def dead(api: ApiClient, jobs: list[Job]) -> list[Run]:
    """Nine dead runs, in the order in which they died, a minute apart; the jobs take turns. None other is dead."""
    for job in jobs:
        recorded(api, run(job, RunState.SUCCEEDED, after=-60))
        recorded(api, run(job, RunState.RETRYING, after=-30))
    return [
        recorded(api, run(jobs[number % 3], RunState.DEAD, after=number * 60, finished_at=NOON + number * 60 + 12.5))
        for number in range(9)
    ]


def dead_of_as_many_jobs(api: ApiClient, count: int) -> list[Run]:
    return [
        recorded(api, run(created(api, f"job-{number}"), RunState.DEAD, finished_at=NOON + number))
        for number in range(count)
    ]


def created(api: ApiClient, name: str, **changes: Any) -> Job:
    made = made_job("0 0 1 1 *", id=name, **changes)
    assert api.jobs.create(made, cursor(made))
    return made


def names(runs: list[Run]) -> list[str]:
    return [str(run.name) for run in runs]


def listed(api: ApiClient, **query: str) -> Any:
    answer = api.get(LIST, **query)
    assert answer.status == 200, answer.text
    return answer.json


def redriven(api: ApiClient, **body: Any) -> Any:
    answer = api.post(body, REDRIVE)
    assert answer.status == 200, answer.text
    return answer.json


def sent(api: ApiClient) -> list[str]:
    assert {one.message.kind for one in api.wheel.sent} <= {MessageKind.REDRIVE}
    return [str(one.message.name) for one in api.wheel.sent]


# --- listed


def test_dead_letters_are_listed_latest_death_first(api: ApiClient, dead: list[Run]) -> None:
    page = listed(api)
    assert [one["id"] for one in page["items"]] == names(dead[::-1])
    assert page["next_cursor"] is None
    assert page["items"][0].items() <= api.get(f"/v1/runs/{dead[-1].name}").json.items()


def test_dead_letters_each_job_has_its_own_list(api: ApiClient, dead: list[Run]) -> None:
    assert [one["id"] for one in listed(api, job_id="beta")["items"]] == names(dead[7::-3])
    assert api.get("/v1/dead-letters", job_id="nobody").status == 404


@pytest.mark.parametrize("limit", ["1", "2", "4", "9"])
@pytest.mark.parametrize("query", [{}, {"job_id": "alpha"}])
def test_dead_letters_pages_contain_each_run_once(
    api: ApiClient, dead: list[Run], limit: str, query: dict[str, str]
) -> None:
    whole = listed(api, **query)["items"]
    found: list[Any] = []
    page = listed(api, limit=limit, **query)
    found += page["items"]
    while page["next_cursor"] is not None:
        page = listed(api, limit=limit, cursor=page["next_cursor"], **query)
        assert 0 < len(page["items"]) <= int(limit)
        found += page["items"]
    assert found == whole


def test_dead_letters_of_other_tenants_are_not_listed(api: ApiClient, dead: list[Run]) -> None:
    recorded(api, run(made_job(id="alpha", tenant="other"), RunState.DEAD, after=900))
    assert len(listed(api)["items"]) == 9
    assert redriven(api)["redriven"] == 9


@pytest.mark.parametrize(
    ("query", "parameter"),
    [
        ({"limit": "0"}, "limit"),
        ({"limit": "101"}, "limit"),
        ({"job": "alpha"}, "job"),
        ({"job_id": ""}, "job_id"),
        ({"job_id": "a#b"}, "job_id"),
        ({"cursor": ""}, "cursor"),
        ({"cursor": "nonsense"}, "cursor"),
        ({"cursor": "\u2603"}, "cursor"),
        ({"since": "yesterday"}, "since"),
        ({"since": "2026-11-21T12:00:00Z", "until": "2026-11-21T12:00:00Z"}, "until"),
        ({"tag": "a b"}, "tag"),
        ({"error": ""}, "error"),
    ],
)
def test_dead_letters_invalid_query_is_refused_with_the_parameter(
    api: ApiClient, query: dict[str, str], parameter: str
) -> None:
    answer = api.get(LIST, **query)
    assert (answer.status, list(answer.errors)) == (400, [parameter])


@pytest.mark.parametrize(
    "inside",
    [
        "1r:alpha.20261121T120000Z",
        "1d:",
        "1d:nan:alpha.20261121T120000Z",
        "1d:inf:alpha.20261121T120000Z",
        "1d:-1.0:alpha.20261121T120000Z",
        "1d:1e300:alpha.20261121T120000Z",
        "1d:1_0.0:alpha.20261121T120000Z",
        "1d:10:alpha.20261121T120000Z",
        "1d:1e-200:alpha.20261121T120000Z",
        "1d:-0.0:alpha.20261121T120000Z",
        "1d:10.0:alpha",
        "1d:10.0:",
    ],
)
def test_dead_letters_forged_cursor_is_refused(api: ApiClient, jobs: list[Job], inside: str) -> None:
    sealed = urlsafe_b64encode(inside.encode()).decode().rstrip("=")
    answer = api.get(LIST, cursor=sealed)
    assert (answer.status, list(answer.errors)) == (400, ["cursor"])
    answer = api.post({"cursor": sealed}, REDRIVE)
    assert (answer.status, list(answer.errors)) == (422, ["/cursor"])


# --- redriven


def test_dead_letters_are_all_redriven_in_their_lanes(api: ApiClient, dead: list[Run]) -> None:
    answer = api.ask(REDRIVE)
    assert (answer.status, answer.json) == (200, NONE_LEFT | {"redriven": 9})
    assert sent(api) == names(dead[::-1])
    messages = [one.message for one in api.wheel.sent]
    assert {(message.attempt, message.lane, message.not_before) for message in messages} == {
        (2, dead[0].lane, NOON + 3600)
    }
    assert len({message.nonce for message in messages}) == 9
    assert [api.runs.get("default", record.job_id, record.name.local) for record in dead] == dead


def test_dead_letters_redrive_can_be_limited_to_one_job(api: ApiClient, dead: list[Run]) -> None:
    assert redriven(api, job_id="beta")["redriven"] == 3
    assert sent(api) == names(dead[7::-3])


@pytest.mark.parametrize(
    ("times", "chosen"),
    [
        ({"since": "2026-11-21T12:06:12Z"}, slice(8, 5, -1)),
        ({"until": "2026-11-21T12:02:13Z"}, slice(2, None, -1)),
        ({"since": "2026-11-21T12:03:13Z", "until": "2026-11-21T12:06:12.9Z"}, slice(5, 3, -1)),
        ({"since": "2026-11-21T14:00:00+01:00"}, slice(0, 0)),
        ({"until": "2026-11-21T12:00:12Z"}, slice(0, 0)),
    ],
)
def test_dead_letters_redrive_can_be_limited_to_a_time_range(
    api: ApiClient, dead: list[Run], times: dict[str, str], chosen: slice
) -> None:
    assert redriven(api, **times) == NONE_LEFT | {"redriven": len(dead[chosen])}
    assert sent(api) == names(dead[chosen])


def test_dead_letters_time_range_includes_its_start_and_excludes_its_end(api: ApiClient, jobs: list[Job]) -> None:
    record = recorded(api, run(jobs[0], RunState.DEAD, finished_at=NOON))
    assert redriven(api, until="2026-11-21T12:00:00Z")["redriven"] == 0
    assert redriven(api, since="2026-11-21T12:00:00Z", until="2026-11-21T12:00:01Z")["redriven"] == 1
    assert sent(api) == names([record])


def test_dead_letters_redrive_reports_runs_beyond_the_limit_and_continues_by_cursor(
    api: ApiClient, dead: list[Run]
) -> None:
    first = redriven(api, limit=4)
    assert (first["redriven"], first["more"]) == (4, True)
    second = redriven(api, limit=4, cursor=first["next_cursor"])
    assert (second["redriven"], second["more"]) == (4, True)
    third = redriven(api, limit=4, cursor=second["next_cursor"])
    assert (third["redriven"], third["more"]) == (1, False)
    assert sent(api) == names(dead[::-1])


def test_dead_letters_long_redrive_ends_in_time_and_returns_a_cursor(tables: Tables) -> None:
    clock = SettableClock(NOON + 3600)
    slow = around(tables.job_store(clock), get=before(lambda: clock.advance(1)))
    api = ApiClient(slow, tables.run_store(), clock)
    dead = dead_of_as_many_jobs(api, 45)
    found, cursor = [], {}
    while not found or cursor["cursor"] is not None:
        begun = clock.now()
        answer = redriven(api, limit=1000, **cursor)
        assert clock.now() - begun < 30  # then an HTTP API gives up
        found.append(answer["redriven"])
        cursor = {"cursor": answer["next_cursor"]}
    assert found == [20, 20, 5]
    assert sent(api) == names(dead[::-1])


def test_dead_letters_redrive_stops_where_lanes_stop_accepting(api: ApiClient) -> None:
    dead = dead_of_as_many_jobs(api, 45)
    api.wheel.refuse = lambda _: len(api.wheel.sent) >= 20
    stopped = redriven(api)
    assert (stopped["redriven"], stopped["refused"], stopped["more"]) == (20, 20, True)
    api.wheel.refuse = lambda _: False
    assert redriven(api, cursor=stopped["next_cursor"])["redriven"] == 5
    assert sent(api) == names(dead[:24:-1] + dead[4::-1])


def test_dead_letters_cursor_does_not_extend_the_requested_time_range(api: ApiClient, dead: list[Run]) -> None:
    begun = redriven(api, limit=1)
    api.wheel.sent.clear()
    redriven(api, until="2026-11-21T12:02:00Z", cursor=begun["next_cursor"])
    assert sent(api) == names(dead[1::-1])


def test_dead_letters_runs_refused_by_a_lane_are_counted(
    api: ApiClient, dead: list[Run], capsys: pytest.CaptureFixture[str]
) -> None:
    api.wheel.refuse = lambda message: message.job_id == "gamma"
    answer = redriven(api)
    assert (answer["redriven"], answer["refused"]) == (6, 3)
    assert (api.log_lines[-1]["action"], api.log_lines[-1]["unsent"]) == ("dead_letters_redriven", 3)
    assert '"SendsRefused":[3.0]' in capsys.readouterr().out


def test_dead_letters_unavailable_lane_is_reported(api: ApiClient, dead: list[Run]) -> None:
    api.wheel.refuse = lambda _: True
    answer = api.ask(REDRIVE)
    assert (answer.status, answer.json["type"]) == (503, "/problems/lane-unavailable")
    assert int(answer.headers["retry-after"]) > 0
    assert len(listed(api)["items"]) == 9


def test_dead_letters_of_deleted_jobs_are_counted_and_not_redriven(
    api: ApiClient, jobs: list[Job], dead: list[Run]
) -> None:
    alpha, beta, _ = jobs
    for gone in (alpha, beta):
        assert api.jobs.delete(gone, deleted_at=NOON + 1000)
    created(api, "beta", at=NOON + 1001)  # a re-created job
    answer = redriven(api)
    assert (answer["redriven"], answer["refused"], answer["more"]) == (3, 6, False)
    assert {name.split(".")[0] for name in sent(api)} == {"gamma"}


def test_dead_letters_empty_redrive_redrives_nothing(api: ApiClient) -> None:
    assert redriven(api) == NONE_LEFT
    assert listed(api) == {"items": [], "next_cursor": None}


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ([], ""),
        ({"job": "alpha"}, "/job"),
        ({"job_id": "a b"}, "/job_id"),
        ({"job_id": 5}, "/job_id"),
        ({"since": "yesterday"}, "/since"),
        ({"since": 5}, "/since"),
        ({"until": "2026-11-21T12:00:00"}, "/until"),
        ({"since": "2026-11-21T12:00:00Z", "until": "2026-11-21T12:00:00Z"}, "/until"),
        ({"limit": 0}, "/limit"),
        ({"limit": 1001}, "/limit"),
        ({"limit": "5"}, "/limit"),
        ({"cursor": 5}, "/cursor"),
        ({"tag": "a b"}, "/tag"),
        ({"error": ""}, "/error"),
        ({"error": "x" * 201}, "/error"),
        ({"dry_run": "yes"}, "/dry_run"),
    ],
)
def test_dead_letters_invalid_body_is_refused_with_the_location_and_redrives_nothing(
    api: ApiClient, dead: list[Run], body: object, pointer: str
) -> None:
    answer = api.post(body, REDRIVE)
    assert (answer.status, answer.json["type"]) == (422, "/problems/invalid-command")
    assert list(answer.errors) == [pointer]
    assert api.wheel.sent == []
