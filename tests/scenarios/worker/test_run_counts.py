"""The counts of runs by hour, from the end of a run to GET /v1/stats?by=hour."""

from collections import Counter
from dataclasses import replace

import pytest

from duecourse.domain.jobs.job import Backoff, Completion, MissedMode, MissedPolicy, Overlap, RetryPolicy
from duecourse.domain.runs.states import RunState
from duecourse.domain.targets.targets import Failed, Returned
from duecourse.messages import MessageKind
from duecourse.testing.faults import around, failing
from duecourse.usecases.run_counts import RunCounts
from tests.support.api import ApiClient
from tests.support.jobs import NOON, job
from tests.support.one_run import the_run
from tests.support.world import FUNCTION_SECONDS, Killed, Office, World

FAILED = Failed("it answered 503", code="http.503")
TWICE = RetryPolicy(max_attempts=2, backoff=Backoff.FIXED, min_seconds=30, max_seconds=30)


def by_hour(world: World) -> dict[str, Counter[str]]:
    """The counts that the API answers, by hour of the day."""
    answer = ApiClient.of(world).get("/v1/stats", by="hour")
    assert answer.status == 200, answer.text
    items = answer.json["by_hour"]["items"]
    return {item.pop("hour")[11:13]: +Counter(item) for item in items}


def test_run_counts_have_each_end_and_each_retry(world: World) -> None:
    world.add(job("at(2026-11-21T12:01:00)", id="fine"))
    world.add(job("at(2026-11-21T12:01:00)", id="failing", retry=TWICE))
    world.caller.answer = lambda call: FAILED if call.job.id == "failing" else Returned("fine")
    world.until(NOON + 300)
    world.clock.set(NOON + 7200)
    world.add(job("at(2026-11-21T14:01:00)", id="later"))
    world.until(NOON + 7300)
    assert by_hour(world) == {"12": {"succeeded": 1, "dead": 1, "retried": 1}, "13": {}, "14": {"succeeded": 1}}


def test_run_counts_are_absent_if_nothing_was_counted(world: World) -> None:
    found = ApiClient.of(world).get("/v1/stats", by="hour").json["by_hour"]
    assert (found["items"], found["counted_from"]) == ([], None)
    assert (found["since"], found["until"]) == ("2026-11-20T13:00:00Z", "2026-11-21T13:00:00Z")
    assert "by_hour" not in ApiClient.of(world).get("/v1/stats").json


def test_run_counts_of_a_lost_attempt_and_of_its_retry(world: World) -> None:
    world.add(job("at(2026-11-21T12:01:00)", retry=TWICE))
    world.clock.set(NOON + 60)
    held = world.wheel.receive()
    assert held is not None

    def vanishing(_: object) -> Returned:
        raise Killed

    world.caller.answer = vanishing
    with pytest.raises(Killed):
        world.worker()([world.wheel.received(held)], NOON + 60 + FUNCTION_SECONDS)
    world.wheel.put_back(held)
    world.caller.answer = lambda _: Returned("fine")
    world.until(NOON + 900)
    assert by_hour(world) == {"12": {"retried": 1, "succeeded": 1}}


def test_run_counts_have_cancelled_runs_and_runs_skipped_by_a_worker(world: World) -> None:
    world.add(job("* * * * *", completion=Completion.CALLBACK, overlap=Overlap.SKIP, max_runs=3))
    world.until(NOON + 240)
    world.tell(world.about(world.runs("tick-tock")[0], MessageKind.CANCEL))
    world.until(NOON + 400)
    assert by_hour(world) == {"12": {"skipped": 2, "cancelled": 1}}


def test_run_counts_have_each_occurrence_that_a_round_skips(world: World) -> None:
    world.add(job("*/10 * * * *", missed=MissedPolicy(MissedMode.SKIP)))
    world.clock.set(NOON + 3630)
    world.until(NOON + 3720)
    assert [run.count for run in world.runs("tick-tock")] == [5, 1]
    assert by_hour(world) == {"13": {"skipped": 5, "succeeded": 1}}


def test_run_counts_have_what_people_skip(world: World, office: Office) -> None:
    api = ApiClient.of(world)
    office.create("0 * * * *")
    assert api.ask("/v1/jobs/tick-tock/skip-next").status in (200, 201, 202)
    assert by_hour(world) == {"12": {"skipped": 1}}
    assert api.ask("/v1/jobs/tick-tock/pause").status == 200
    world.clock.set(NOON + 5 * 3600 + 60)
    assert api.ask("/v1/jobs/tick-tock/resume").status == 200
    assert by_hour(world)["17"] == {"skipped": 4}


def test_run_counts_are_not_lost_between_minutes_and_not_by_a_failed_write(world: World) -> None:
    world.add(job("rate(10 seconds)", overlap=Overlap.ALLOW))
    world.run_counts = replace(
        world.run_counts, store=around(world.run_count_store, add=failing(OSError("throttled"), times=3))
    )
    world.until(NOON + 600)
    runs = len(world.caller.runs)
    assert runs >= 58
    assert sum(event.action == "run_counts_not_written" for each in world.reports for event in each.events) == 3
    assert runs - 6 <= by_hour(world)["12"]["succeeded"] <= runs
    world.until(NOON + 660)
    assert by_hour(world)["12"]["succeeded"] >= runs


def test_run_counts_miss_at_most_the_last_minute_of_a_stopped_process(world: World) -> None:
    world.add(job("rate(10 seconds)", overlap=Overlap.ALLOW))
    world.until(NOON + 305)
    world.run_counts = RunCounts(world.run_count_store, world.clock)  # of the process that replaces it
    world.until(NOON + 605)
    runs, minute = len(world.caller.runs), 6
    assert runs - 2 * minute <= by_hour(world)["12"]["succeeded"] < runs, "each process has a last minute"


def test_run_counts_have_a_run_that_the_reconciler_ended(world: World) -> None:
    world.add(job("at(2026-11-21T12:01:00)", retry=replace(TWICE, max_attempts=1)))
    world.clock.set(NOON + 60)
    held = world.wheel.receive()
    assert held is not None
    world.wheel.dead_letters.append(held)
    world.clock.set(NOON + 600)
    world.reconcile()
    assert the_run(world).state is RunState.DEAD
    assert by_hour(world) == {"12": {"dead": 1}}


@pytest.mark.parametrize(
    ("query", "parameter"),
    [
        ({"since": "2026-11-21T00:00:00Z"}, "since"),
        ({"until": "2026-11-21T00:00:00Z"}, "until"),
        ({"by": "day"}, "by"),
        ({"by": "hour", "since": "2026-11-21T00:00:00Z", "until": "2026-11-21T00:00:00Z"}, "until"),
    ],
)
def test_run_counts_query_is_checked(world: World, query: dict[str, str], parameter: str) -> None:
    answer = ApiClient.of(world).get("/v1/stats", headers=None, **query)
    assert (answer.status, [*answer.errors]) == (400, [parameter])
