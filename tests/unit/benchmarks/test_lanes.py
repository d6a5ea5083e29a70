"""Benchmarks of lanes, hops and cold starts.

- The jobs of the lanes' benchmark, as they are posted.
- What the lanes' benchmark makes of the records it has read.
- What the benchmarks of workflows promise, of what they have found.
"""

import json
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from benchmarks.hops.__main__ import budgets
from benchmarks.hops.workers import workers
from benchmarks.lanes_load import LaneJob, Load
from benchmarks.lanes_report import PRESSED, Report, Start, backlog, report, started_per_second
from benchmarks.workflows import Cost
from benchmarks.workflows import budgets as costs_kept
from duecourse.client import ApiError, Client
from duecourse.client.models import Run

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
RECEIVER = "http://127.0.0.1:9"


def an_api(posted: list[str], *, refused: str = "") -> Client:
    """An API that takes all jobs but one, and knows one run of each."""

    def answer(request: httpx.Request) -> httpx.Response:
        if request.method == "POST":
            job_id = json.loads(request.content)["id"]
            posted.append(job_id)
            if job_id == refused:
                return httpx.Response(422, json={"title": "One field is wrong"})
            return httpx.Response(201, json={"id": job_id, "schedule": "at(2026-11-21T12:00:00)", "state": "ACTIVE"})
        job_id = request.url.path.split("/")[-2]
        run = {
            "id": f"{job_id}.20261121T120000Z",
            "job_id": job_id,
            "state": "SUCCEEDED",
            "occurrence": "2026-11-21T12:00:00Z",
            "lateness_seconds": 0.5,
        }
        return httpx.Response(200, json={"items": [run]})

    return Client("http://api", transport=httpx.MockTransport(answer))


def test_lanes_benchmark_job_is_due_once_in_the_lane_of_its_priority() -> None:
    document = LaneJob("low", 7, NOON, 0.2).document(RECEIVER)
    assert (document["id"], document["priority"]) == ("low-00007", "low")
    assert document["schedule"] == "at(2026-11-21T12:00:00)"
    assert document["target"]["url"] == "http://127.0.0.1:9/ok?seconds=0.2"
    assert document["timeout_seconds"] <= 90


def test_lanes_benchmark_job_enters_lane_long_by_its_timeout() -> None:
    document = LaneJob("long", 0, NOON, 20).document(RECEIVER)
    assert (document["priority"], document["timeout_seconds"]) == ("normal", 120)


def test_lanes_benchmark_every_job_is_posted_once_and_its_runs_are_read() -> None:
    posted: list[str] = []
    said: list[int] = []
    with an_api(posted) as client:
        load = Load(client, RECEIVER)
        load.post([LaneJob("low", number, NOON) for number in range(20)], said.append)
        starts = load.starts()
    assert sorted(posted) == [f"low-{number:05d}" for number in range(20)]
    assert said == list(range(1, 21))
    assert [start.run_id for start in starts] == [f"low-{number:05d}.20261121T120000Z" for number in range(20)]
    assert {(start.lane, start.lateness) for start in starts} == {("low", 0.5)}


def test_lanes_benchmark_jobs_posted_for_the_warm_up_are_not_read() -> None:
    with an_api([]) as client:
        load = Load(client, RECEIVER)
        load.post([LaneJob("low", 80_000, NOON)])
        load.forget()
        load.post([LaneJob("high", 0, NOON)])
        assert [start.lane for start in load.starts()] == ["high"]


def test_lanes_benchmark_rejected_job_aborts_the_posting() -> None:
    posted: list[str] = []
    with an_api(posted, refused="low-00003") as client, pytest.raises(ApiError):
        Load(client, RECEIVER).post([LaneJob("low", number, NOON) for number in range(500)])
    assert len(posted) < 500


SLOW = timedelta(seconds=20)


def a_start(
    lane: str, *, due: float = 0, late: float | None = 0.1, takes: float = 0.2, state: str = "SUCCEEDED"
) -> Start:
    """One run, due so many seconds after noon."""
    at = NOON + timedelta(seconds=due)
    started = None if late is None else at + timedelta(seconds=late)
    return Start(
        lane=lane,
        run_id=f"{lane}.{due}",
        state=state,
        due=at,
        started_at=started,
        finished_at=None if started is None else started + timedelta(seconds=takes),
        lateness=late,
    )


LOW = [a_start("low", late=number) for number in range(60)]
LONG = [a_start("long", due=2, takes=21), a_start("long", due=2, takes=20)]
HIGH = [a_start("high", due=second) for second in range(5, 5 + PRESSED)]
NORMAL = [a_start("normal", due=second) for second in range(5, 5 + PRESSED)]


def validate_draft(starts: Sequence[Start], expected: dict[str, int] | None = None) -> Report:
    return report(starts, expected or {"high": PRESSED, "normal": PRESSED, "low": 60, "long": 2}, SLOW, {})


def broken(starts: Sequence[Start]) -> list[str]:
    return [check.name for check in validate_draft(starts).checks if not check.kept]


def test_lanes_benchmark_guarantee_is_met_if_all_high_and_normal_runs_start_in_time_despite_a_backlog() -> None:
    assert broken([*LOW, *LONG, *HIGH, *NORMAL]) == []
    assert validate_draft([*LOW, *LONG, *HIGH, *NORMAL]).kept


def test_lanes_benchmark_fails_if_one_run_starts_after_two_seconds() -> None:
    late = [*HIGH[1:], a_start("high", due=5, late=2.001)]
    assert "high runs start within 2 s" in broken([*LOW, *LONG, *late, *NORMAL])


def test_lanes_benchmark_fails_if_one_run_starts_early() -> None:
    early = [*NORMAL[1:], a_start("normal", due=5, late=-0.001)]
    assert broken([*LOW, *LONG, *HIGH, *early]) == ["normal runs start within 2 s"]


def test_lanes_benchmark_fails_if_one_run_has_not_started() -> None:
    queued = [*NORMAL[1:], a_start("normal", due=5, late=None, state="QUEUED")]
    assert "normal runs start within 2 s" in broken([*LOW, *LONG, *HIGH, *queued])


def test_lanes_benchmark_fails_if_one_run_has_started_and_failed() -> None:
    dead = [*NORMAL[1:], a_start("normal", due=5, state="DEAD")]
    assert broken([*LOW, *LONG, *HIGH, *dead]) == ["normal runs start within 2 s"]


def test_lanes_benchmark_runs_in_time_prove_nothing_without_a_backlog_of_low_runs() -> None:
    at_once = [a_start("low", late=0.1) for _ in range(60)]
    assert broken([*at_once, *LONG, *HIGH, *NORMAL]) == [
        "high runs came due while low ones waited",
        "normal runs came due while low ones waited",
    ]


def test_lanes_benchmark_lost_low_run_is_reported() -> None:
    assert broken([*LOW[1:], *LONG, *HIGH, *NORMAL]) == ["no low run is lost"]


def test_lanes_benchmark_long_runs_that_end_early_prove_nothing() -> None:
    short = [LONG[0], a_start("long", due=2, takes=3)]
    assert broken([*LOW, *short, *HIGH, *NORMAL]) == ["runs of 20 s in long delay nobody"]


def test_lanes_benchmark_late_run_during_long_runs_is_attributed_to_them() -> None:
    late = [*HIGH[1:], a_start("high", due=6, late=3)]
    assert broken([*LOW, *LONG, *late, *NORMAL])[-1] == "runs of 20 s in long delay nobody"


def test_lanes_benchmark_guarantee_is_not_met_without_any_runs() -> None:
    assert not validate_draft([]).kept


def test_lanes_benchmark_without_long_runs_makes_no_statement_about_them() -> None:
    made = validate_draft([*LOW, *HIGH, *NORMAL], {"high": PRESSED, "normal": PRESSED, "low": 60, "long": 0})
    assert made.kept
    assert not any("long" in check.name for check in made.checks)


def test_lanes_benchmark_backlog_consists_of_due_runs_that_have_not_started() -> None:
    low = [a_start("low", late=late) for late in (1, 3, 5)] + [a_start("low", due=9), a_start("low", late=None)]
    found = backlog([a_start("high", due=0), a_start("high", due=3), a_start("high", due=6)], low)
    assert (found.most, found.fewest, found.pressed) == (4, 1, 3)


def test_lanes_benchmark_rate_is_the_number_of_starts_until_the_last_one() -> None:
    assert started_per_second([a_start("low", late=late) for late in (0.5, 1, 2)]) == 1.5
    assert started_per_second([a_start("low", late=0.1)]) == 1.0
    assert started_per_second([a_start("low", late=None)]) == 0.0


def test_lanes_benchmark_run_is_read_from_its_record() -> None:
    document = {
        "id": "high-1.20261121T120000Z",
        "job_id": "high-1",
        "state": "SUCCEEDED",
        "occurrence": "2026-11-21T12:00:00Z",
        "due": "2026-11-21T12:00:00Z",
        "started_at": "2026-11-21T12:00:00.250Z",
        "finished_at": "2026-11-21T12:00:01.000Z",
        "lateness_seconds": 0.25,
    }
    start = Start.of("high", Run.from_document(document))
    assert start.started_at == NOON + timedelta(seconds=0.25)
    assert start.finished_at == NOON + timedelta(seconds=1)
    assert (start.lane, start.lateness, start.state) == ("high", 0.25, "SUCCEEDED")


def test_lanes_benchmark_report_is_available_as_a_table_and_as_a_document() -> None:
    made = report([*LOW, *LONG, *HIGH, *NORMAL], {"high": 10, "normal": 10, "low": 60, "long": 2}, SLOW, {"a_fact": 7})
    text = str(made)
    assert "a fact" in text
    assert "kept    high runs start within 2 s: 10 of 10 started, the worst after 0.100 s" in text
    document = made.document()
    assert document["facts"] == {"a_fact": 7}
    assert document["lanes"][0] == {
        "lane": "high",
        "runs": 10,
        "succeeded": 10,
        "lateness_seconds": {"p50": 0.1, "p99": 0.1, "max": 0.1, "early": 0},
        "low_waiting": {"most": 54, "fewest": 45, "met_by": 10},
    }
    assert all(check["kept"] for check in document["checks"].values())


WIDE = {"jobs": 12, "called": 12, "succeeded": 12, "state": "SUCCEEDED", "workers_killed": 4}
GOOD: dict[str, Any] = {"hop_seconds": {"p50": 0.149}, "put_seconds": 4.9, "wide": WIDE}
ENDPOINT = "http://127.0.0.1:9"


def test_lanes_benchmark_budgets_are_met_if_all_runs_are_in_time_and_every_job_was_called() -> None:
    assert all(budgets(GOOD).values())


@pytest.mark.parametrize(
    "worse",
    [
        {"hop_seconds": {"p50": 0.15}},
        {"put_seconds": 5.0},
        {"wide": WIDE | {"succeeded": 11}},
        {"wide": WIDE | {"called": 11}},
        {"wide": WIDE | {"state": "DEAD"}},
        {"wide": WIDE | {"workers_killed": 0}},
    ],
    ids=str,
)
def test_lanes_benchmark_each_budget_is_missed_by_a_worse_figure(worse: dict[str, Any]) -> None:
    assert list(budgets(GOOD | worse).values()).count(False) == 1


def test_lanes_benchmark_workers_include_only_those_of_this_stack() -> None:
    named = {"AWS_LAMBDA_FUNCTION_NAME": "Duecourse-local-ExecuteNormal"}
    wait = [sys.executable, "-c", "input()"]
    with (
        subprocess.Popen(wait, env=named | {"AWS_ENDPOINT_URL": ENDPOINT}, stdin=subprocess.PIPE) as ours,
        subprocess.Popen(
            wait, env=named | {"AWS_ENDPOINT_URL": "http://127.0.0.1:8"}, stdin=subprocess.PIPE
        ) as another,
    ):
        found = list(workers(ENDPOINT))
        ours.kill(), another.kill()
    assert found == [ours.pid]


def test_lanes_benchmark_excess_write_or_message_misses_a_budget() -> None:
    right = Cost(3, {"JOB RUN": 17, "ENDS ENDS": 3}, 6)
    assert all(costs_kept({"chain": right}).values())
    dear = Cost(3, {"JOB RUN": 17, "ENDS ENDS": 4}, 7)
    assert not any(costs_kept({"chain": dear}).values())
