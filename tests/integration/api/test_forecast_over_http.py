"""The forecast of a workflow's run over the API: only on request, bounded and charged."""

from typing import Any

import pytest

from duecourse.domain.ids import to_basic
from duecourse.domain.jobs.job import NoticeCause
from duecourse.domain.runs.states import Waiting
from duecourse.messages import MessageKind
from tests.integration.api.test_workflows_over_http import INLINE, PATH, Desk
from tests.support.api import HTTP_TARGET, Answered
from tests.support.jobs import NOON
from tests.support.named_steps import named
from tests.support.tables import Tables

WAITS = {"job": {"target": HTTP_TARGET, "completion": "callback", "completion_seconds": 3600}}
JOBS = named({"extract": WAITS, "load": WAITS | {"after": ["extract"]}, "alert": INLINE | {"after": ["load"]}})
STARTS = (60, 3660, 7260)


@pytest.fixture
def desk(tables: Tables) -> Desk:
    return Desk(tables)


def begin(desk: Desk, **more: Any) -> None:
    answer = desk.put({"schedule": "1 * * * *", "jobs": JOBS, **more})
    assert answer.status == 201, answer.text


def complete(desk: Desk, step: str, second: int) -> None:
    run = desk.world.run_store.get("default", step, to_basic(int(NOON) + second))
    assert isinstance(run, Waiting)
    desk.world.tell(desk.world.about(run, MessageKind.COMPLETE))


def hours(desk: Desk) -> None:
    """Three runs whose steps take ten and five minutes; the alert takes no time."""
    for second in STARTS:
        desk.world.until(NOON + second + 600)
        complete(desk, "extract", second)
        desk.world.until(NOON + second + 900)
        complete(desk, "load", second)
        desk.world.until(NOON + second + 905)


def read(desk: Desk, second: int, query: str = "true") -> Answered:
    return desk.api.get(f"{PATH}/runs/{to_basic(int(NOON) + second)}", forecast=query)


def test_forecast_over_http_names_the_end_the_deadline_and_the_critical_path(desk: Desk) -> None:
    begin(desk, finish_by=1200, deadline_seconds=3000)
    hours(desk)
    desk.world.until(NOON + 10_870)
    found = read(desk, 10_860).json["forecast"]
    assert found["predicted_end"].startswith("2026-11-21T15:16:0")
    assert (found["deadline"], found["deadline_at"]) == ("finish_by", "2026-11-21T15:21:00Z")
    assert (found["at_risk"], found["is_lower_bound"]) == (False, False)
    assert [(each["id"], round(each["p90_seconds"], -1), each["samples"]) for each in found["critical_path"]] == [
        ("extract", 600.0, 3),
        ("load", 300.0, 3),
        ("alert", 0.0, 3),
    ]
    desk.world.until(NOON + 10_860 + 950)
    found = read(desk, 10_860).json["forecast"]
    assert (found["at_risk"], found["is_lower_bound"], found["overdue"]) == (True, True, ["extract"])


def test_forecast_over_http_is_absent_unless_requested_and_for_runs_that_have_ended(desk: Desk) -> None:
    begin(desk)
    hours(desk)
    desk.world.until(NOON + 10_870)
    assert read(desk, 60).json["forecast"] is None
    assert read(desk, 10_860, "false").json["forecast"] is None
    assert desk.view(to_basic(int(NOON) + 10_860))["forecast"] is None
    assert read(desk, 10_860, "yes").status == 400


def test_forecast_over_http_of_a_first_run_says_that_the_steps_are_unknown(desk: Desk) -> None:
    begin(desk)
    desk.world.until(NOON + 70)
    found = read(desk, 60).json["forecast"]
    assert (found["is_lower_bound"], found["unknown"]) == (True, ["extract", "load", "alert"])
    assert [each["p90_seconds"] for each in found["critical_path"]] == [None] * 3


def test_forecast_over_http_is_charged_for_the_records_that_it_reads(tables: Tables) -> None:
    """A forecast of 200 remaining steps reads 4,000 records, which count as 21 requests."""
    desk = Desk(tables, requests_per_second=1, burst=200)
    jobs = {f"s{number}": INLINE | {"after": ["first"]} for number in range(199)}
    assert desk.put({"schedule": "1 * * * *", "jobs": {"first": WAITS, **jobs}}).status == 201
    desk.world.until(NOON + 400)
    assert desk.view()["run"] == "nightly.20261121T120100Z"
    statuses = [read(desk, 60).status for _ in range(12)]
    assert statuses.index(429) in (8, 9), "23 of 200 requests each"


def test_forecast_over_http_notice_is_a_cause_of_rules(desk: Desk) -> None:
    causes = [each.value for each in NoticeCause if each not in (NoticeCause.TEST, NoticeCause.REPORT)]
    begin(desk, notify=[{"on": causes, "to": {"job": "tell"}}])
    assert desk.api.get(PATH).json["notify"][0]["on"] == causes
