"""A run that somebody asks for, whatever schedule and state its job has."""

from dataclasses import replace

import pytest

from duecourse.domain.instants import DAY_SECONDS
from duecourse.domain.jobs.job import (
    Backoff,
    Completion,
    Delivery,
    JobState,
    MissedMode,
    MissedPolicy,
    Overlap,
    RetryPolicy,
)
from duecourse.domain.runs.states import RunState
from duecourse.domain.targets.targets import Failed
from duecourse.limits import MESSAGE_RETENTION_DAYS
from duecourse.messages import MessageKind
from duecourse.ports import NoAnswerError
from duecourse.usecases.jobs.job_errors import JobUnknownError, KeyReusedError
from duecourse.usecases.runs.lists import RunUnknownError
from duecourse.usecases.runs.requests import LaneUnavailableError, OwnPayload
from tests.support.jobs import NOON, job
from tests.support.varied import varied
from tests.support.world import Office, Payloads, World

S, K, C = RunState.SUCCEEDED, RunState.SKIPPED, RunState.CANCELLED
TRIED_AGAIN = RetryPolicy(max_attempts=2, backoff=Backoff.FIXED, min_seconds=30, max_seconds=30)
FAILED = Failed("it answered 503", code="http.503")


def test_run_now_is_queued_runs_and_names_its_caller(world: World, office: Office) -> None:
    world.add(job("0 0 1 1 *"))
    world.until(NOON + 30)
    asked = office.run()
    queued = office.record(asked)
    assert (queued.state, queued.due, queued.requested_by) == (RunState.QUEUED, int(NOON) + 30, "anna")
    world.work()
    done = office.record(asked)
    assert (done.state, done.requested_by, done.attempt) == (S, "anna", 1)
    assert world.caller.runs == [str(asked.name)]


def test_run_now_runs_a_paused_job_that_stays_paused(world: World, office: Office) -> None:
    world.add(job("* * * * *"))
    world.until(NOON + 10)
    office.pause()
    asked = office.run()
    world.until(NOON + 300)
    assert office.record(asked).state is S
    assert office.job().state is JobState.PAUSED
    assert world.caller.runs == [str(asked.name)]


def test_run_now_requested_before_a_pause_starts_during_it(world: World, office: Office) -> None:
    world.add(job("* * * * *"))
    world.until(NOON + 10)
    asked = office.run()
    office.pause()
    world.until(NOON + 60)
    assert office.record(asked).state is S


def test_run_now_runs_a_completed_job_that_stays_completed(world: World, office: Office) -> None:
    world.add(job("* * * * *", max_runs=1))
    world.until(NOON + 120)
    assert office.job().state is JobState.COMPLETED
    asked = office.run()
    world.work()
    assert office.record(asked).state is S
    assert office.job().state is JobState.COMPLETED


def test_run_now_is_not_the_last_occurrence_of_its_job(world: World, office: Office) -> None:
    world.add(job("* * * * *", max_runs=1, overlap=Overlap.ALLOW))
    world.dispatch()
    late = world.wheel.hold_back(60)
    world.until(NOON + 60)
    office.run()
    world.work()
    assert office.job().state is JobState.ACTIVE
    world.wheel.give_back(late)
    world.until(NOON + 70)
    assert office.job().state is JobState.COMPLETED


@pytest.mark.parametrize("mode", list(MissedMode))
def test_run_now_is_never_too_late(world: World, office: Office, mode: MissedMode) -> None:
    world.add(job("0 0 1 1 *", missed=MissedPolicy(mode, grace_seconds=5)))
    asked = office.run()
    late = world.wheel.hold_back(0)
    world.until(NOON + 7200)
    world.wheel.give_back(late)
    world.work()
    assert office.record(asked).state is S


def test_run_now_payload_applies_to_every_attempt(world: World, office: Office) -> None:
    world.add(job("0 0 1 1 *", payload={"of": "the job"}, retry=TRIED_AGAIN))
    payloads = Payloads([FAILED])
    world.caller.answer = payloads
    asked = office.run(OwnPayload({"of": "anna"}))
    world.until(NOON + 120)
    assert office.record(asked).state is S
    assert payloads.given == [{"of": "anna"}] * 2


def test_run_now_payload_may_be_null(world: World, office: Office) -> None:
    world.add(job("0 0 1 1 *", payload={"of": "the job"}))
    payloads = Payloads()
    world.caller.answer = payloads
    office.run(OwnPayload(None))
    office.run()
    world.work()
    assert payloads.given == [None, {"of": "the job"}]


def test_run_now_payload_applies_after_a_redrive(world: World, office: Office) -> None:
    world.add(job("0 0 1 1 *", payload={"of": "the job"}, retry=TRIED_AGAIN))
    payloads = Payloads([FAILED, FAILED])
    world.caller.answer = payloads
    asked = office.run(OwnPayload({"of": "anna"}))
    world.until(NOON + 120)
    dead = office.record(asked)
    assert dead.state is RunState.DEAD
    world.tell(world.about(dead, MessageKind.REDRIVE))
    assert office.record(asked).state is S
    assert payloads.given == [{"of": "anna"}] * 3


def test_run_now_payload_applies_when_another_worker_takes_over_the_run(world: World, office: Office) -> None:
    world.add(job("0 0 1 1 *", payload={"of": "the job"}))
    payloads = Payloads()
    world.caller.answer = payloads
    asked = office.run(OwnPayload({"of": "anna"}))
    world.work()
    done = office.record(asked)
    # As a worker leaves it that vanished in the middle of the call; its message comes again.
    lost = varied(done, state=RunState.RUNNING, lease_until=NOON + 120, finished_at=None, result=None)
    assert world.run_store.write(lost, done) is None
    world.clock.set(NOON + 200)
    again = world.about(lost, MessageKind.START)
    world.tell(replace(again, nonce=lost.nonce))
    assert office.record(asked).state is S
    assert payloads.given == [{"of": "anna"}] * 2


@pytest.mark.tables
def test_run_now_without_its_expired_payload_fails_the_run_without_a_call(world: World, office: Office) -> None:
    world.add(job("0 0 1 1 *"))
    payloads = Payloads([replace(FAILED, retryable=False)])
    world.caller.answer = payloads
    asked = office.run(OwnPayload({"of": "anna"}))
    world.work()
    key = {"PK": {"S": "JOB#default#tick-tock"}, "SK": {"S": f"INPUT#{asked.suffix}"}}
    world.tables.client.delete_item(TableName=world.tables.runs, Key=key)
    world.tell(world.about(office.record(asked), MessageKind.REDRIVE))
    dead = office.record(asked)
    assert (dead.state, dead.code, dead.attempt) == (RunState.DEAD, "payload_gone", 2)
    assert len(payloads.given) == 1


def test_run_now_does_not_start_beside_another_run_if_overlap_is_forbidden(world: World, office: Office) -> None:
    world.add(job("* * * * *", overlap=Overlap.SKIP, completion=Completion.CALLBACK))
    world.until(NOON + 65)
    asked = office.run()
    world.work()
    refused = office.record(asked)
    assert (refused.state, refused.reason) == (K, "overlap")


def test_run_now_waits_for_its_turn_if_runs_queue(world: World, office: Office) -> None:
    world.add(job("0 * * * *", overlap=Overlap.QUEUE, completion=Completion.CALLBACK))
    world.until(NOON + 3605)
    asked = office.run()
    world.until(NOON + 3700)
    assert office.record(asked).state is RunState.QUEUED
    (first,) = [run for run in world.runs("tick-tock") if run.state is RunState.WAITING]
    world.tell(world.about(first, MessageKind.COMPLETE))
    world.until(NOON + 3800)
    assert office.record(asked).state is RunState.WAITING


def test_run_now_makes_one_attempt_for_an_at_most_once_job(world: World, office: Office) -> None:
    world.add(job("0 0 1 1 *", delivery=Delivery.AT_MOST_ONCE, retry=TRIED_AGAIN))
    payloads = Payloads([FAILED])
    world.caller.answer = payloads
    asked = office.run(OwnPayload(1))
    world.until(NOON + 300)
    assert office.record(asked).state is RunState.DEAD
    assert payloads.given == [1]


def test_run_now_with_the_same_key_returns_the_same_run_whatever_its_state(world: World, office: Office) -> None:
    world.add(job("0 0 1 1 *"))
    first = office.run(OwnPayload({"n": 1}), key="k-1")
    for _ in range(3):  # only the first repetition sends the run again, in case the first message was lost
        world.clock.advance(5)
        assert office.run(OwnPayload({"n": 1}), key="k-1").name == first.name
        assert len(world.wheel.sent) == 2
    world.work()
    assert world.caller.runs == [str(first.name)]
    again = office.run(OwnPayload({"n": 1}), key="k-1")
    assert (again.name, again.state) == (first.name, S)
    assert len(world.runs("tick-tock")) == 1
    assert office.run(key="k-2").name != first.name


def test_run_now_with_the_same_key_announces_a_missed_deadline_once(world: World, office: Office) -> None:
    world.add(job("0 0 1 1 *", completion=Completion.CALLBACK, finish_by=60))
    for _ in range(3):
        office.run(key="k-1")
    world.until(NOON + 120)
    assert len(world.notices.deadlines) == 1


def test_run_now_with_the_same_key_for_another_request_is_rejected(world: World, office: Office) -> None:
    world.add(job("0 0 1 1 *"))
    office.run(OwnPayload({"n": 1}), key="k-1")
    with pytest.raises(KeyReusedError):
        office.run(OwnPayload({"n": 2}), key="k-1")
    with pytest.raises(KeyReusedError):
        office.run(key="k-1")
    assert len(world.wheel.sent) == 1


def test_run_now_rejected_by_its_lane_can_be_sent_again(world: World, office: Office) -> None:
    world.add(job("0 0 1 1 *"))
    world.wheel.refuse = lambda _: True
    with pytest.raises(LaneUnavailableError):
        office.run(key="k-1")
    world.wheel.refuse = lambda _: False
    asked = office.run(key="k-1")
    world.work()
    assert office.record(asked).state is S


@pytest.mark.parametrize("key", [None, "k-1"])
def test_run_now_rejected_by_its_lane_is_not_shown_as_queued(world: World, office: Office, key: str | None) -> None:
    world.add(job("0 0 1 1 *"))
    world.wheel.refuse = lambda _: True
    with pytest.raises(LaneUnavailableError) as error:
        office.run(key=key)
    with pytest.raises(RunUnknownError):
        office.api.runs.get("default", str(error.value))
    world.clock.advance(30)
    world.wheel.refuse = lambda _: False
    asked = office.run(key=key)
    assert office.record(asked).state is RunState.QUEUED
    world.work()
    assert office.record(asked).state is S
    assert world.caller.runs == [str(asked.name)]


def test_run_now_rejected_by_its_lane_and_repeated_after_days_starts(world: World, office: Office) -> None:
    world.add(job("0 0 1 1 *"))
    world.wheel.refuse = lambda _: True
    with pytest.raises(LaneUnavailableError):
        office.run(key="k-1")
    world.wheel.refuse = lambda _: False
    world.clock.advance((MESSAGE_RETENTION_DAYS + 1) * DAY_SECONDS)
    asked = office.run(key="k-1")
    world.work()
    assert office.record(asked).state is S


def test_run_now_rejected_by_its_lane_when_it_is_repeated_stays_queued(world: World, office: Office) -> None:
    world.add(job("0 0 1 1 *"))

    def unanswered(_: object) -> bool:
        raise NoAnswerError("lost")

    world.wheel.refuse = unanswered
    with pytest.raises(NoAnswerError):
        office.run(key="k-1")
    world.clock.advance(1)
    world.wheel.refuse = lambda _: True
    with pytest.raises(LaneUnavailableError) as error:
        office.run(key="k-1")
    assert office.api.runs.get("default", str(error.value)).state is RunState.QUEUED


def test_run_now_without_a_key_is_a_separate_run(world: World, office: Office) -> None:
    world.add(job("0 0 1 1 *", overlap=Overlap.ALLOW))
    names = {office.run().name for _ in range(5)}
    world.work()
    assert len(names) == 5
    assert sorted(world.caller.runs) == sorted(map(str, names))


def test_run_now_can_be_cancelled_while_it_is_queued(world: World, office: Office) -> None:
    world.add(job("0 0 1 1 *"))
    asked = office.run()
    late = world.wheel.hold_back(0)
    world.tell(world.about(office.record(asked), MessageKind.CANCEL, reason="cancelled"))
    world.wheel.give_back(late)
    world.work()
    assert office.record(asked).state is C
    assert world.caller.calls == []


def test_run_now_without_a_request_or_an_available_message_is_unknown(world: World, office: Office) -> None:
    world.add(job("0 0 1 1 *"))
    asked = office.run()
    late = world.wheel.hold_back(0)
    other = varied(asked, occurrence=asked.occurrence - 60)
    for run in (other, varied(asked, suffix=".m12345678"), varied(asked, suffix=".b12345678")):
        with pytest.raises(RunUnknownError):
            office.record(run)
    world.clock.advance(15 * 86_400)
    with pytest.raises(RunUnknownError):
        office.record(asked)  # no queue keeps a message for that long
    assert late


def test_run_now_is_not_run_by_a_recreated_job(world: World, office: Office) -> None:
    world.add(job("0 0 1 1 *"))
    asked = office.run(key="k-1")
    assert world.jobs.delete(office.job(), deleted_at=NOON - 1)
    with pytest.raises(JobUnknownError):
        office.run(key="k-1")
    world.add(job("0 0 1 1 *", at=NOON + 5))
    with pytest.raises(RunUnknownError):
        office.record(asked)
    world.until(NOON + 10)
    assert world.caller.calls == []
    assert office.run(key="k-1").name.suffix != asked.suffix
