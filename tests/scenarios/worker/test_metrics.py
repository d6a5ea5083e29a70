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


def test_metrics_count_attempts_and_final_states_in_total_and_by_target(world: World) -> None:
    world.add(job("at(2026-11-21T12:01:00)", id="fine"))
    world.add(job("at(2026-11-21T12:01:00)", id="failing", retry=TWICE))
    world.caller.answer = lambda call: FAILED if call.job.id == "failing" else Returned("fine")
    world.until(NOON + 120)
    assert counted(world, *OUTCOMES) == (3, 2, 1, 1)
    assert tuple(by_target(world)[metric] for metric in OUTCOMES) == (3, 2, 1, 1)
    assert sum(len(report.seconds.get("Lateness", [])) for report in world.reports) == 2  # one a run, not an attempt


def test_metrics_lateness_of_a_caught_up_run_counts_from_its_catch_up(world: World) -> None:
    world.add(job("* * * * *", overlap=Overlap.ALLOW, missed=MissedPolicy(MissedMode.RUN_ALL)))
    world.until(NOON + 300)
    world.clock.set(NOON + 3600)  # no round for most of an hour
    world.dispatch()
    world.work()
    caught_up = [report for report in world.reports if report.counts["CaughtUp"]]
    lateness = [seconds for report in caught_up for seconds in report.seconds["Lateness"]]
    assert len(lateness) >= 5
    assert max(lateness) < 5


def test_metrics_balance_of_failed_attempts_is_emitted_by_lane(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    world.add(job("at(2026-11-21T12:01:00)", retry=TWICE))
    world.caller.answer = lambda _: FAILED
    world.until(NOON + 120)
    balances = [report.balances["FailuresBeyond"] for report in world.reports if report.balances]
    assert balances == pytest.approx([0.6, 0.6])
    report = next(report for report in world.reports if report.balances)
    publish(
        report, Logger(stream=StringIO()), Metrics(namespace="D", service="duecourse"), function="execute", lane="low"
    )
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    (found,) = [line for line in lines if "FailuresBeyond" in line]
    assert (found["lane"], found["FailuresBeyond"]) == ("low", [pytest.approx(0.6)])
    assert found["_aws"]["CloudWatchMetrics"][0]["Dimensions"] == [["function", "lane", "service"]]


def test_metrics_of_started_attempts_include_the_number_of_failures_even_if_it_is_zero(world: World) -> None:
    world.add(job("at(2026-11-21T12:01:00)"))
    world.until(NOON + 120)
    (report,) = [report for report in world.reports if report.counts["AttemptsStarted"]]
    assert {"AttemptsFailed": 0, "RunsDead": 0}.items() <= report.counts.items()


def test_metrics_count_an_attempt_of_a_vanished_worker_as_failed(world: World) -> None:
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


def test_metrics_count_an_attempt_without_its_callback_as_failed(world: World) -> None:
    waits = {"completion": Completion.CALLBACK, "completion_seconds": 60}
    world.add(job("at(2026-11-21T12:01:00)", retry=replace(TWICE, max_attempts=1), **waits))
    world.until(NOON + 300)
    assert counted(world, *OUTCOMES) == (1, 1, 0, 1)


def test_metrics_count_skipped_and_cancelled_runs(world: World) -> None:
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


def test_metrics_count_only_a_catch_up_run_as_caught_up_and_count_it_once(world: World) -> None:
    missed = MissedPolicy(MissedMode.RUN_ONCE, grace_seconds=60)
    world.add(job("*/5 * * * *", missed=missed))
    world.until(NOON + 600)
    assert counted(world, "CaughtUp", "Missed") == (0, 0)
    world.until(NOON + 5 * 3600, ticking=False)
    world.until(NOON + 5 * 3600 + 600)
    assert world.count("CaughtUp") == 1
    assert world.count("Missed") > 10


def test_metrics_do_not_count_a_run_that_waited_for_its_turn_as_caught_up(world: World) -> None:
    world.add(job("0 0 1 1 *", completion=Completion.CALLBACK, completion_seconds=60, overlap=Overlap.QUEUE))
    office = world.office
    office.run()
    world.work()
    world.clock.advance(1)
    office.run()
    world.until(NOON + 300)
    assert counted(world, "AttemptsStarted", "CaughtUp")[0] >= 2
    assert world.count("CaughtUp") == 0


def test_metrics_count_a_pause_prevented_by_concurrent_changes_as_failed(world: World) -> None:
    world.caller.answer = lambda _: FAILED
    world.add(job("0 * * * *", retry=RetryPolicy(max_attempts=1), pause_on_failure=1))
    world.jobs = around(world.jobs, change=answering(False))
    world.until(NOON + 3600 + 300)
    assert counted(world, "RunsDead", "JobsPaused", "PausesFailed") == (1, 0, world.wheel.max_receive_count)


def test_metrics_of_a_round_include_its_reads_and_an_unusual_watermark_age(world: World) -> None:
    report = world.dispatch()
    assert (report.ages, report.counts["SlotsRead"]) == ({}, 3)
    world.clock.advance(5 * 3600)
    assert world.dispatch().ages == {"WatermarkAge": 7 * 3600.0}
    assert world.dispatch().ages == {}


def test_metrics_shard_without_a_watermark_reports_no_delay(world: World) -> None:
    world.clock.advance(5 * 3600)
    assert world.dispatch().ages
    assert world.dispatch(shard=7).ages == {}


def test_metrics_count_a_round_that_stops_early(world: World) -> None:
    assert world.dispatch().counts["RoundsUnfinished"] == 0
    stopped = world.round_of_dispatch()(0, world.clock.now())
    assert stopped.counts["RoundsUnfinished"] == 1
    assert [event.action for event in stopped.events] == ["round_stopped", "dispatched"]


def test_metrics_of_the_smallest_active_stage_are_ten(world: World, capsys: pytest.CaptureFixture[str]) -> None:
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
    assert len(found) <= ACTIVE_METRICS == 10, sorted(found)
