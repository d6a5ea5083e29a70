"""What is counted of rounds, attempts and ends of runs."""

import json
from collections import Counter
from dataclasses import replace
from io import StringIO

import pytest
from aws_lambda_powertools import Logger, Metrics

from benchmarks.cost.months import ACTIVE_METRICS
from duecourse.domain.jobs.job import Backoff, Completion, MissedMode, MissedPolicy, Overlap, RetryPolicy
from duecourse.domain.targets.targets import Failed, Returned
from duecourse.messages import Cancel
from duecourse.telemetry import publish
from duecourse.testing.faults import answering, around
from duecourse.usecases.report import Report
from duecourse.usecases.runs.commands import CommandSender
from tests.support.jobs import NOON, job
from tests.support.world import FUNCTION_SECONDS, Killed, World

TWICE = RetryPolicy(max_attempts=2, backoff=Backoff.FIXED, min_seconds=30, max_seconds=30)
FAILED = Failed("it answered 503", code="http.503")


def counted(world: World, *metrics: str) -> tuple[int, ...]:
    return tuple(world.count(metric) for metric in metrics)


def by_target(world: World, target: str = "http") -> Counter[str]:
    return sum((report.by_target.get(target, Counter()) for report in world.reports), Counter())


OUTCOMES = ("AttemptsStarted", "AttemptsFailed", "RunsSucceeded", "RunsDead")


def test_attempts_and_ends_are_counted_and_once_more_by_target(world: World) -> None:
    world.add(job("at(2026-11-21T12:01:00)", id="fine"))
    world.add(job("at(2026-11-21T12:01:00)", id="failing", retry=TWICE))
    world.caller.answer = lambda call: FAILED if call.job.id == "failing" else Returned("fine")
    world.until(NOON + 120)
    assert counted(world, *OUTCOMES) == (3, 2, 1, 1)
    assert tuple(by_target(world)[metric] for metric in OUTCOMES) == (3, 2, 1, 1)
    assert sum(len(report.seconds.get("Lateness", [])) for report in world.reports) == 2  # one a run, not an attempt


def test_a_report_of_started_attempts_has_the_number_of_failures_even_if_it_is_zero(world: World) -> None:
    world.add(job("at(2026-11-21T12:01:00)"))
    world.until(NOON + 120)
    (report,) = [report for report in world.reports if report.counts["AttemptsStarted"]]
    assert {"AttemptsFailed": 0, "RunsDead": 0}.items() <= report.counts.items()


def test_an_attempt_whose_worker_vanished_has_failed(world: World) -> None:
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
    assert counted(world, *OUTCOMES) == (1, 1, 1, 0)  # the killed worker's own report went with it


def test_an_attempt_that_misses_its_callback_has_failed(world: World) -> None:
    waits = {"completion": Completion.CALLBACK, "completion_seconds": 60}
    world.add(job("at(2026-11-21T12:01:00)", retry=replace(TWICE, max_attempts=1), **waits))
    world.until(NOON + 300)
    assert counted(world, *OUTCOMES) == (1, 1, 0, 1)


def test_runs_that_are_not_made_and_runs_that_are_cancelled_are_counted(world: World) -> None:
    world.add(job("0 0 1 1 *", completion=Completion.CALLBACK, overlap=Overlap.SKIP))
    office = world.office
    first = office.run()
    world.work()
    office.run()
    world.work()
    CommandSender(world.wheel, world.clock, world.randomness).send_one(Cancel(), office.record(first))
    world.work()
    assert counted(world, "AttemptsStarted", "RunsSkipped", "RunsCancelled", "AttemptsFailed") == (1, 1, 1, 0)
    assert by_target(world) == Counter(AttemptsStarted=1, RunsSkipped=1, RunsCancelled=1)


def test_a_run_that_stands_for_missed_ones_is_counted_once_and_no_other_is(world: World) -> None:
    missed = MissedPolicy(MissedMode.RUN_ONCE, grace_seconds=60)
    world.add(job("*/5 * * * *", missed=missed))
    world.until(NOON + 600)
    assert counted(world, "CaughtUp", "Missed") == (0, 0)
    world.until(NOON + 5 * 3600, ticking=False)
    world.until(NOON + 5 * 3600 + 600)
    assert world.count("CaughtUp") == 1
    assert world.count("Missed") > 10


def test_a_run_that_waited_for_its_turn_caught_nothing_up(world: World) -> None:
    world.add(job("0 0 1 1 *", completion=Completion.CALLBACK, completion_seconds=60, overlap=Overlap.QUEUE))
    office = world.office
    office.run()
    world.work()
    world.clock.advance(1)
    office.run()
    world.until(NOON + 300)
    assert counted(world, "AttemptsStarted", "CaughtUp")[0] >= 2
    assert world.count("CaughtUp") == 0


def test_a_job_that_is_changed_meanwhile_each_time_is_counted_as_not_paused(world: World) -> None:
    world.caller.answer = lambda _: FAILED
    world.add(job("0 * * * *", retry=RetryPolicy(max_attempts=1), pause_on_failure=1))
    world.jobs = around(world.jobs, change=answering(False))
    world.until(NOON + 3600 + 300)
    assert counted(world, "RunsDead", "JobsPaused", "PausesFailed") == (1, 0, world.wheel.max_receive_count)


def test_a_round_says_what_it_read_and_how_far_back_it_began_where_that_is_further_than_usual(world: World) -> None:
    report = world.dispatch()
    assert (report.ages, report.counts["SlotsRead"]) == ({}, 3)
    world.clock.advance(5 * 3600)
    assert world.dispatch().ages == {"WatermarkAge": 7 * 3600.0}
    assert world.dispatch().ages == {}


def test_a_shard_that_has_no_watermark_yet_is_not_behind(world: World) -> None:
    world.clock.advance(5 * 3600)
    assert world.dispatch().ages
    assert world.dispatch(shard=7).ages == {}


def test_a_round_that_stops_early_is_counted(world: World) -> None:
    assert world.dispatch().counts["RoundsUnfinished"] == 0
    stopped = world.round_of_dispatch()(0, world.clock.now())
    assert stopped.counts["RoundsUnfinished"] == 1
    assert [event.action for event in stopped.events] == ["round_stopped", "dispatched"]


def test_the_smallest_active_stage_writes_nine_metrics(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    world.add(job("* * * * *"))
    world.until(NOON + 130)
    logger, metrics = Logger(service="smallest", stream=StringIO()), Metrics(namespace="Duecourse", service="duecourse")
    publish(Report(counts=Counter(TicksSent=1)), logger, metrics, function="tick")
    for report in world.reports:
        if report.counts["MessagesReceived"]:
            publish(report, logger, metrics, function="execute", lane="normal")
        else:
            publish(report, logger, metrics, function="dispatch")
    found = set()
    for document in map(json.loads, capsys.readouterr().out.splitlines()):
        (directive,) = document["_aws"]["CloudWatchMetrics"]
        for names in directive["Dimensions"]:
            place = tuple(f"{name}={document[name]}" for name in sorted(names) if name != "service")
            found |= {(each["Name"], *place) for each in directive["Metrics"]}
    assert world.count("RunsSucceeded") == 2
    assert len(found) <= ACTIVE_METRICS == 9, sorted(found)
