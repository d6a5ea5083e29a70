"""A run of an existing job that is requested for a later time: it waits in the due index by a timer."""

from dataclasses import replace

import pytest

from duecourse.domain.jobs.job import Completion, JobState, Overlap
from duecourse.domain.runs.states import Run, RunState
from duecourse.domain.tenants.quota import counted_places
from duecourse.ports import Timer
from duecourse.testing.faults import around, failing
from duecourse.usecases.jobs.job_errors import KeyReusedError
from duecourse.usecases.runs.lists import RunUnknownError
from duecourse.usecases.runs.requests import MAX_AHEAD_DAYS, Later, OwnPayload, Repeats, RunRequest
from duecourse.usecases.tenants import RunQuotaError
from duecourse_schedules import ScheduleError
from tests.support.jobs import NOON, job
from tests.support.world import Killed, Office, Payloads, World

TWO_HOURS = int(NOON) + 7200
IN_TWO_HOURS = Later(delay_seconds=7200)
DAY = 86_400
S, Q = RunState.SUCCEEDED, RunState.QUEUED


@pytest.fixture
def calls(world: World) -> Payloads:
    """A job without a schedule, and what its target is given."""
    world.add(job(""))
    answers = Payloads()
    world.caller.answer = answers
    return answers


def timer_of(world: World, run: Run) -> Timer | None:
    return world.timers.get("default", run.job_id, f"WAKE#{run.name.local}.start1")


def test_delayed_run_starts_at_its_time_with_its_own_payload(world: World, office: Office, calls: Payloads) -> None:
    asked = office.run(OwnPayload({"to": "anna"}), later=IN_TWO_HOURS)
    assert (asked.state, asked.due, asked.requested_by) == (Q, TWO_HOURS, "anna")
    world.until(TWO_HOURS - 1)
    assert world.caller.calls == []
    world.until(TWO_HOURS)
    assert world.caller.calls == [(str(asked.name), 1, TWO_HOURS)]
    assert calls.given == [{"to": "anna"}]
    assert office.record(asked).state is S


def test_delayed_run_of_a_burst_writes_its_timer_at_most_twice(world: World, office: Office, calls: Payloads) -> None:
    manual, at, written = office.api.manual, Later(at=TWO_HOURS), []
    for number in range(5):
        request = RunRequest("key:a", "the window")
        run = manual.run(office.job(), request, OwnPayload({"n": number}), at, repeats=Repeats.LAST_PAYLOAD)
        timer = timer_of(world, run)
        assert timer is not None
        written.append(timer.message.nonce)
    assert written[1:] == [written[1]] * 4
    world.until(TWO_HOURS + 60)
    assert calls.given == [{"n": 4}]


@pytest.mark.parametrize("delay", [0, 1, 120, 121, 180, 300, 301, 900, 901])
def test_delayed_run_is_never_early_whatever_its_delay(
    world: World, office: Office, calls: Payloads, delay: int
) -> None:
    world.until(NOON + 30.25)
    asked = office.run(later=Later(delay_seconds=delay))
    assert asked.due == int(NOON) + 31 + delay
    world.until(asked.due + 60)
    ((_, _, at),) = world.caller.calls
    assert asked.due <= at <= asked.due + 0.5
    assert len(calls.given) == 1


def test_delayed_run_is_listed_and_readable_before_and_after_its_start(
    world: World, office: Office, calls: Payloads
) -> None:
    del calls
    now = office.run()
    world.work()
    first, second = office.run(later=IN_TWO_HOURS), office.run(later=Later(at=TWO_HOURS + 60))
    for instant in (NOON, TWO_HOURS - 200):  # the second one: its message is sent
        world.until(instant)
        assert [run.name for run in office.listed()] == [second.name, first.name, now.name]
        assert [run.name for run in office.listed(limit=1)] == [second.name, first.name, now.name]
        assert [run.name for run in office.listed(Q)] == [second.name, first.name]
        assert office.record(first) == first
    world.until(TWO_HOURS + 30)
    assert [(run.name, run.state) for run in office.listed()] == [(second.name, Q), (first.name, S), (now.name, S)]


def test_delayed_run_with_a_key_is_requested_once(world: World, office: Office, calls: Payloads) -> None:
    first = office.run(OwnPayload(1), key="k", later=IN_TWO_HOURS)
    world.until(NOON + 600)
    assert office.run(OwnPayload(1), key="k", later=IN_TWO_HOURS) == first
    with pytest.raises(KeyReusedError):
        office.run(OwnPayload(2), key="k", later=IN_TWO_HOURS)
    with pytest.raises(KeyReusedError):
        office.run(OwnPayload(1), key="k", later=Later(delay_seconds=7201))
    world.until(TWO_HOURS - 30)  # its message is sent
    assert office.run(OwnPayload(1), key="k", later=IN_TWO_HOURS) == first
    world.until(TWO_HOURS + 600)
    assert office.run(OwnPayload(1), key="k", later=IN_TWO_HOURS).state is S
    world.until(TWO_HOURS + 1200)
    assert calls.given == [1]


def test_delayed_run_request_by_instant_can_be_repeated_after_that_instant(
    world: World, office: Office, calls: Payloads
) -> None:
    first = office.run(key="k", later=Later(at=TWO_HOURS))
    world.until(TWO_HOURS + 3600)
    assert office.run(key="k", later=Later(at=TWO_HOURS)).name == first.name
    assert len(calls.given) == 1


@pytest.mark.parametrize("seconds", [-3600, MAX_AHEAD_DAYS * DAY + 60])
def test_delayed_run_in_the_past_or_too_far_ahead_is_rejected(world: World, office: Office, seconds: int) -> None:
    world.add(job(""))
    with pytest.raises(ScheduleError):
        office.run(key="k", later=Later(at=int(NOON) + seconds))
    assert world.inputs.get("default", "tick-tock", office.run(key="k").name.suffix) is not None


def test_delayed_run_that_is_cancelled_never_starts(world: World, office: Office, calls: Payloads) -> None:
    asked = office.run(later=IN_TWO_HOURS)
    office.api.commands.cancel("default", str(asked.name), "anna")
    world.work()
    assert office.record(asked).state is RunState.CANCELLED
    assert office.listed(Q) == []
    world.until(TWO_HOURS + 600)
    assert calls.given == []
    assert office.record(asked).state is RunState.CANCELLED


def test_delayed_run_that_is_cancelled_while_its_message_is_in_transit_never_starts(
    world: World, office: Office, calls: Payloads
) -> None:
    asked = office.run(later=IN_TWO_HOURS)
    world.until(TWO_HOURS - 10)
    office.api.commands.cancel("default", str(asked.name), "anna")
    world.until(TWO_HOURS + 600)
    assert calls.given == []
    assert office.record(asked).state is RunState.CANCELLED


def test_delayed_run_of_a_paused_job_starts_as_an_immediate_run_would(
    world: World, office: Office, calls: Payloads
) -> None:
    office.run(later=IN_TWO_HOURS)
    office.pause()
    world.until(TWO_HOURS + 60)
    assert len(calls.given) == 1
    assert office.job().state is JobState.PAUSED


def test_delayed_run_of_a_deleted_job_never_starts_even_if_the_job_is_recreated(
    world: World, office: Office, calls: Payloads
) -> None:
    asked = office.run(later=IN_TWO_HOURS)
    world.until(NOON + 60)
    office.delete()
    with pytest.raises(RunUnknownError):
        office.record(asked)
    office.create("")
    assert office.listed() == []
    world.until(TWO_HOURS + 600)
    assert calls.given == []
    assert world.runs("tick-tock") == []
    world.until(TWO_HOURS + 2 * DAY, ticking=False)
    world.repair()
    world.until(world.clock.now() + 120)
    assert calls.given == []


def test_delayed_run_calls_the_target_that_its_job_has_at_its_time(world: World, office: Office) -> None:
    world.add(job("", timeout_seconds=30))
    office.run(later=IN_TWO_HOURS)
    office.edit(timeout_seconds=60, payload="present")
    calls = Payloads()
    world.caller.answer = calls
    world.until(TWO_HOURS + 60)
    assert calls.given == ["present"]


def test_delayed_run_starts_late_after_a_dispatch_outage(world: World, office: Office, calls: Payloads) -> None:
    asked = office.run(later=IN_TWO_HOURS)
    world.until(TWO_HOURS + 5 * 3600, ticking=False)
    assert calls.given == []
    world.until(TWO_HOURS + 5 * 3600 + 60)
    assert len(calls.given) == 1
    assert office.record(asked).state is S


def test_delayed_run_after_its_start_deadline_is_skipped(world: World, office: Office, calls: Payloads) -> None:
    office.edit(start_deadline_seconds=600)
    asked = office.run(later=IN_TWO_HOURS)
    world.until(TWO_HOURS + 3600, ticking=False)
    world.until(TWO_HOURS + 3660)
    assert calls.given == []
    assert office.record(asked).state is RunState.SKIPPED


def test_delayed_run_follows_the_overlap_rule_when_it_starts(world: World, office: Office) -> None:
    world.add(job("", overlap=Overlap.SKIP, completion=Completion.CALLBACK, completion_seconds=3600))
    first, second = office.run(later=IN_TWO_HOURS), office.run(later=Later(delay_seconds=7260))
    world.until(TWO_HOURS + 120)
    assert office.record(first).state is RunState.WAITING
    assert office.record(second).state is RunState.SKIPPED


def test_delayed_run_whose_dispatcher_dies_before_its_timer_is_cleared_starts_once(
    world: World, office: Office, calls: Payloads
) -> None:
    office.run(later=IN_TWO_HOURS)
    world.until(TWO_HOURS - 400)
    world.clock.set(TWO_HOURS - 240)
    with pytest.raises(Killed):
        world.dispatch(around(world.cursors, clear=failing(Killed()), claim=failing(Killed())))
    world.until(TWO_HOURS + 600)
    assert len(calls.given) == 1


def test_delayed_run_whose_message_was_lost_is_sent_again_by_index_repair(
    world: World, office: Office, calls: Payloads
) -> None:
    asked = office.run(OwnPayload("mine"), later=IN_TWO_HOURS)
    world.until(TWO_HOURS - 60)
    assert len(world.wheel) == 1
    world.wheel.empty()
    world.until(TWO_HOURS + 3600)
    report = world.repair()
    assert not [event for event in report.events if event.action == "requested_run_sent_again"]
    world.until(TWO_HOURS + 7 * 3600)
    report = world.repair(every_seconds=0)
    (event,) = [event for event in report.events if event.action == "requested_run_sent_again"]
    assert event.facts["run_id"] == str(asked.name)
    world.until(TWO_HOURS + 8 * 3600)
    assert calls.given == ["mine"]
    assert world.repair(every_seconds=0).counts["CursorsRepaired"] == 0


def test_delayed_run_has_a_quota_for_runs_due_in_the_same_hour(world: World, office: Office, calls: Payloads) -> None:
    world.settings = replace(world.settings, delayed_runs_per_hour=3)
    first = office.run(key="first", later=IN_TWO_HOURS)
    for _ in range(2):
        office.run(later=IN_TWO_HOURS)
    with pytest.raises(RunQuotaError):
        office.run(key="fourth", later=IN_TWO_HOURS)
    assert office.run(key="first", later=IN_TWO_HOURS) == first
    office.run(later=Later(at=TWO_HOURS + 3600))
    world.until(TWO_HOURS + 60)
    assert len(calls.given) == 3
    assert office.run(key="fourth", later=Later(delay_seconds=0)) is not None


@pytest.mark.parametrize("quota", [1, 499, 10_000])
def test_delayed_run_quota_on_average_counts_as_many_places_as_runs(quota: int) -> None:
    draws = [number / 10_000 for number in range(10_000)]
    assert sum(counted_places(1, quota, draw) for draw in draws) == pytest.approx(10_000, rel=0.01)
    assert sum(counted_places(1, quota, draw) > 0 for draw in draws) <= 10_000 / max(quota // 500, 1) + 1


@pytest.mark.tables
def test_delayed_run_timer_leaves_the_index_and_expires(world: World, office: Office, calls: Payloads) -> None:
    del calls
    asked = office.run(later=IN_TWO_HOURS)
    world.until(TWO_HOURS + 3600)
    assert timer_of(world, asked) is not None
    client, table = world.tables.client, world.tables.jobs
    item = client.get_item(
        TableName=table, Key={"PK": {"S": "JOB#default#tick-tock"}, "SK": {"S": f"WAKE#{asked.name.local}.start1"}}
    )["Item"]
    assert "slot" not in item
    assert TWO_HOURS + 7 * DAY - 600 <= int(item["expires_at"]["N"]) <= TWO_HOURS + 7 * DAY + 600


def test_delayed_run_is_requested_again_if_its_timer_was_not_written(
    world: World, office: Office, calls: Payloads
) -> None:
    with world.faulty("timers", put=failing(Killed())), pytest.raises(Killed):
        office.run(key="k", later=IN_TWO_HOURS)
    world.until(NOON + 60)
    asked = office.run(key="k", later=IN_TWO_HOURS)
    assert asked.due == TWO_HOURS
    world.until(TWO_HOURS + 60)
    assert len(calls.given) == 1
    assert replace(asked).name in {run.name for run in office.listed()}
