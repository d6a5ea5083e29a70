"""Ending runs before their time."""

from dataclasses import replace

import pytest

from duecourse.domain.jobs.job import (
    Backoff,
    Completion,
    EventKind,
    JobState,
    MissedMode,
    MissedPolicy,
    ResultLocation,
    RetryPolicy,
)
from duecourse.domain.runs.states import RunState
from duecourse.domain.targets.targets import Failed, Outcome, Returned
from duecourse.messages import MessageKind
from duecourse.ports import Call
from tests.support.jobs import NOON, job
from tests.support.world import World

SOON = RetryPolicy(max_attempts=3, backoff=Backoff.FIXED, min_seconds=60, max_seconds=60)
AT = "at(2026-11-21T12:02:00)"


def test_run_end_cancelled_queued_run_never_starts(world: World) -> None:
    world.add(job(AT))
    world.until(NOON + 60)
    world.tell(world.queued_about("tick-tock", 120, MessageKind.CANCEL, reason="cancelled"))
    world.until(NOON + 300)
    (run,) = world.runs("tick-tock")
    assert (run.state, run.reason, run.attempt) == (RunState.CANCELLED, "cancelled", 0)
    assert world.caller.calls == []


def test_run_end_cancelled_retrying_run_stops(world: World) -> None:
    world.caller.answer = lambda _: Failed("no")
    world.add(job(AT, retry=SOON))
    world.until(NOON + 130)
    (run,) = world.runs("tick-tock")
    assert run.state is RunState.RETRYING
    world.tell(world.about(run, MessageKind.CANCEL, reason="cancelled"))
    world.until(NOON + 600)
    (run,) = world.runs("tick-tock")
    assert (run.state, len(world.caller.calls)) == (RunState.CANCELLED, 1)
    assert world.jobs.get("default", "tick-tock").state is JobState.COMPLETED


@pytest.mark.parametrize(("outcome", "state"), [(Failed("no"), RunState.CANCELLED), (Returned(1), RunState.SUCCEEDED)])
def test_run_end_cancelled_run_finishes_its_call_and_is_not_retried(
    world: World, outcome: Outcome, state: RunState
) -> None:
    def cancelled_meanwhile(call: Call) -> Outcome:
        held = world.wheel.put_in(world.about(call.run, MessageKind.CANCEL, reason="cancelled"))
        assert world.worker()([world.wheel.received(held)], world.clock.now() + 120).retained == ()
        return outcome

    world.caller.answer = cancelled_meanwhile
    world.add(job(AT, retry=SOON))
    world.until(NOON + 600)
    (run,) = world.runs("tick-tock")
    assert (run.state, len(world.caller.calls)) == (state, 1)
    assert world.count("FinishesRefused") == 0


def test_run_end_cancelled_waiting_run_without_heartbeats_ends_immediately_and_ignores_its_callback(
    world: World,
) -> None:
    world.add(job(AT, completion=Completion.CALLBACK))
    world.until(NOON + 130)
    (run,) = world.runs("tick-tock")
    world.tell(world.about(run, MessageKind.CANCEL, reason="cancelled"))
    world.tell(world.about(run, MessageKind.COMPLETE, result=1))
    assert [one.state for one in world.runs("tick-tock")] == [RunState.CANCELLED]


def test_run_end_cancelled_waiting_run_with_heartbeats_ends_when_its_worker_becomes_silent(world: World) -> None:
    world.add(job(AT, completion=Completion.CALLBACK, heartbeat_seconds=30, retry=SOON))
    world.until(NOON + 125)
    (run,) = world.runs("tick-tock")
    world.tell(world.about(run, MessageKind.CANCEL, reason="cancelled"))
    (run,) = world.runs("tick-tock")
    assert (run.state, run.cancel_requested) == (RunState.WAITING, "cancelled")
    world.until(NOON + 300)
    (run,) = world.runs("tick-tock")
    assert (run.state, run.reason, len(world.caller.calls)) == (RunState.CANCELLED, "cancelled", 1)


def test_run_end_repeated_or_late_cancellation_changes_nothing(world: World) -> None:
    world.add(job(AT))
    world.until(NOON + 130)
    (run,) = world.runs("tick-tock")
    for _ in range(2):
        world.tell(world.about(run, MessageKind.CANCEL, reason="cancelled"))
    assert [one.state for one in world.runs("tick-tock")] == [RunState.SUCCEEDED]


def test_run_end_publishes_the_events_selected_by_the_job(world: World) -> None:
    world.caller.answer = lambda call: Returned() if call.job.id == "fine" else Failed("no", retryable=False)
    world.add(job(AT, id="fine", events=(EventKind.ALL,)))
    world.add(job(AT, id="dies", events=(EventKind.DEATHS,)))
    world.add(job(AT, id="quiet"))
    world.until(NOON + 300)
    told = sorted(world.bus.kinds)
    assert told == [("Run Dead", "dies.20261121T120200Z"), ("Run Succeeded", "fine.20261121T120200Z")]


def test_run_end_range_skipped_by_an_outage_publishes_one_event(world: World) -> None:
    skipping = MissedPolicy(MissedMode.SKIP, grace_seconds=30)
    for name, events in (("asks", (EventKind.LATE,)), ("quiet", ())):
        world.add(job("rate(60 seconds)", id=name, missed=skipping, events=events))
    world.until(NOON + 1000)
    world.until(NOON + 9000, ticking=False)
    world.until(NOON + 9100)
    assert [(one.detail_type, one.detail["job_id"]) for one in world.bus.events] == [("Run Skipped", "asks")]
    assert world.bus.events[0].detail["count"] > 100


def test_run_end_is_not_delayed_by_rejected_events_which_are_counted(world: World) -> None:
    world.bus.refuses = True
    world.add(job(AT, events=(EventKind.ALL,)))
    world.until(NOON + 300)
    assert [run.state for run in world.runs("tick-tock")] == [RunState.SUCCEEDED]
    assert world.count("EventsRefused") == 1


def test_run_end_consecutive_deaths_pause_the_job_and_the_resume_resets_the_count(world: World) -> None:
    world.caller.answer = lambda _: Failed("no", retryable=False)
    world.add(job("* * * * *", pause_on_failure=3))
    world.until(NOON + 600)
    found = world.jobs.get("default", "tick-tock")
    assert (found.state, found.paused_because) == (JobState.PAUSED, "3 runs in a row died")
    assert len(world.caller.calls) == 3
    assert len(world.notices.deaths) == 3


def test_run_end_success_between_deaths_prevents_a_pause_of_the_job(world: World) -> None:
    def every_third(call: Call) -> Outcome:
        return Returned() if call.run.occurrence // 60 % 3 == 0 else Failed("no", retryable=False)

    world.caller.answer = every_third
    world.add(job("* * * * *", pause_on_failure=3))
    world.until(NOON + 900)
    assert world.jobs.get("default", "tick-tock").state is JobState.ACTIVE


def test_run_end_large_result_is_saved_in_the_result_store_and_a_small_one_in_the_record(world: World) -> None:
    world.caller.answer = lambda call: Returned({"body": "x" * (5000 if call.job.id == "large" else 50)})
    world.add(job(AT, id="large"))
    world.add(job(AT, id="small"))
    world.until(NOON + 300)
    (large,), (small,) = world.runs("large"), world.runs("small")
    assert large.result is None
    assert large.result_key == "results/default/large/20261121T120200Z/1.json"
    assert large.result_bytes == len(world.results.documents[large.result_key]) > 5000
    assert (small.result, small.result_key) == ({"body": "x" * 50}, None)


def test_run_end_loses_the_result_and_not_the_run_if_the_result_store_fails(world: World) -> None:
    world.results.refuses = True
    world.caller.answer = lambda _: Returned({"body": "x" * 5000})
    world.add(job(AT))
    world.until(NOON + 300)
    (run,) = world.runs("tick-tock")
    assert run.state is RunState.SUCCEEDED
    assert isinstance(run.result, dict)
    assert run.result["truncated"] is True
    assert world.count("ResultsLost") == 1


REPORTS = ResultLocation("reports", "daily/")


def located(world: World, **results: object) -> None:
    world.caller.answer = lambda call: Returned(results[call.job.id])
    for job_id in results:
        world.add(job(AT, id=job_id, results=REPORTS))
    world.until(NOON + 300)


def test_run_end_writes_every_result_of_a_job_with_a_location_there_and_a_small_one_also_to_the_record(
    world: World,
) -> None:
    located(world, large={"body": "x" * 5000}, small={"rows": 3}, silent=None)
    (large,), (small,), (silent,) = world.runs("large"), world.runs("small"), world.runs("silent")
    place = "s3://reports/daily/{}/20261121T120200Z/1.json".format
    assert (large.result, large.result_key, large.result_location) == (None, None, place("large"))
    assert (small.result, small.result_bytes, small.result_location) == ({"rows": 3}, 10, place("small"))
    assert (silent.result, silent.result_location) == (None, None)
    assert world.results.documents.keys() == {place("large"), place("small")}
    assert world.results.documents[place("small")] == b'{"rows":3}'


def test_run_end_keeps_success_and_result_in_the_stage_if_the_jobs_bucket_rejects_the_result(world: World) -> None:
    world.results.refuses = ["reports"]
    located(world, large={"body": "x" * 5000}, small={"rows": 3})
    (large,), (small,) = world.runs("large"), world.runs("small")
    assert large.state is small.state is RunState.SUCCEEDED
    assert world.results.documents.keys() == {large.result_key}
    assert (large.result_error, large.result_location) == ("AccessDenied", None)
    assert (small.result, small.result_error, small.result_key) == ({"rows": 3}, "AccessDenied", None)
    assert (world.count("ResultsRefused"), world.count("ResultsLost")) == (2, 0)


def test_run_end_writes_no_result_to_a_location_that_the_stage_no_longer_allows(world: World) -> None:
    world.settings = replace(world.settings, result_buckets={"reports": {"default": "weekly/"}})
    located(world, small={"rows": 3})
    (small,) = world.runs("small")
    assert (small.state, small.result) == (RunState.SUCCEEDED, {"rows": 3})
    assert small.result_error == "the prefix must start with weekly/, the prefix of this tenant in the bucket"
    assert not world.results.documents
