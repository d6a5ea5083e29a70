"""A delayed run whose time or payload is changed before it starts."""

from dataclasses import replace

import pytest

from duecourse.domain.ids import RunName
from duecourse.domain.jobs.job import Completion, Overlap
from duecourse.domain.runs.states import Run, RunState
from duecourse.messages import MessageKind
from duecourse.testing.faults import around, before
from duecourse.usecases.runs.commands import JobGoneError, RunEndedError
from duecourse.usecases.runs.lists import RunUnknownError
from duecourse.usecases.runs.requests import MAX_AHEAD_DAYS, Later, OwnPayload
from duecourse.usecases.runs.rescheduling import NotDelayedError
from duecourse.usecases.tenants import RunQuotaError
from duecourse_schedules import ScheduleError
from tests.support.jobs import NOON, job
from tests.support.world import Office, Payloads, World

HOUR, DAY = 3600, 86_400
TWO_HOURS, FIVE_HOURS = int(NOON) + 2 * HOUR, int(NOON) + 5 * HOUR
S, Q = RunState.SUCCEEDED, RunState.QUEUED


@pytest.fixture
def calls(world: World) -> Payloads:
    """A job without a schedule, and what its target is given."""
    world.add(job(""))
    answers = Payloads()
    world.caller.answer = answers
    return answers


def rescheduled(office: Office, run: Run, to: int | None, payload: OwnPayload | None = None) -> Run:
    act, later = office.api.rescheduling, None if to is None else Later(at=to)
    return act(act.unstarted("default", run.run_id), "anna", payload, later)


def times(world: World) -> list[float]:
    return [at for _, _, at in world.caller.calls]


@pytest.mark.parametrize("before", [HOUR, 301, 299, 60, 11])
@pytest.mark.parametrize("to", [TWO_HOURS - 60, TWO_HOURS + 1, TWO_HOURS + 600, FIVE_HOURS])
def test_rescheduled_run_starts_once_at_its_new_time(
    world: World, office: Office, calls: Payloads, before: int, to: int
) -> None:
    asked = office.run(OwnPayload(1), later=Later(at=TWO_HOURS))
    world.until(TWO_HOURS - before)
    to = max(to, TWO_HOURS - before + 5)  # a time that has passed is rejected
    moved = rescheduled(office, asked, to)
    assert (moved.run_id, moved.due, moved.state) == (asked.run_id, to, Q)
    assert office.record(asked) == moved
    world.until(to - 1)
    assert calls.given == []
    world.until(FIVE_HOURS + HOUR)
    assert calls.given == [1]
    (at,) = times(world)
    assert to <= at <= to + 0.5
    assert (office.record(asked).state, office.record(asked).due) == (S, to)


def test_rescheduled_run_is_called_with_its_new_payload_and_due_time(
    world: World, office: Office, calls: Payloads
) -> None:
    asked = office.run(OwnPayload({"to": "anna"}), later=Later(at=TWO_HOURS))
    bare = office.run(later=Later(at=TWO_HOURS))
    rescheduled(office, asked, None, OwnPayload(None))
    assert rescheduled(office, bare, None, OwnPayload({"to": "bob"})).own_payload
    world.until(TWO_HOURS + 60)
    assert sorted(map(str, calls.given)) == ["None", "{'to': 'bob'}"]


def test_rescheduled_run_can_start_now(world: World, office: Office, calls: Payloads) -> None:
    asked = office.run(OwnPayload(1), later=Later(at=TWO_HOURS))
    rescheduled(office, asked, int(world.clock.now()))
    world.work()
    assert calls.given == [1]
    world.until(TWO_HOURS + 60)
    assert calls.given == [1]


def test_rescheduled_run_can_be_rescheduled_again(world: World, office: Office, calls: Payloads) -> None:
    asked = office.run(OwnPayload(1), later=Later(at=TWO_HOURS))
    for to in (FIVE_HOURS, TWO_HOURS + 30, TWO_HOURS + 900, TWO_HOURS + 60):
        rescheduled(office, asked, to)
        assert [run.run_id for run in office.listed(Q)] == [asked.run_id]
    world.until(FIVE_HOURS + 60)
    (at,) = times(world)
    assert TWO_HOURS + 60 <= at <= TWO_HOURS + 60.5


def test_rescheduled_run_whose_request_is_repeated_stays(world: World, office: Office, calls: Payloads) -> None:
    asked = office.run(OwnPayload(1), key="k", later=Later(at=TWO_HOURS))
    moved = rescheduled(office, asked, FIVE_HOURS, OwnPayload(2))
    assert office.run(OwnPayload(1), key="k", later=Later(at=TWO_HOURS)) == moved
    world.until(FIVE_HOURS + 60)
    assert calls.given == [2]


def test_rescheduled_run_can_be_cancelled(world: World, office: Office, calls: Payloads) -> None:
    asked = office.run(later=Later(at=TWO_HOURS))
    rescheduled(office, asked, FIVE_HOURS)
    office.api.commands.cancel("default", asked.run_id, "anna")
    world.work()
    assert office.record(asked).state is RunState.CANCELLED
    world.until(FIVE_HOURS + 60)
    assert calls.given == []
    with pytest.raises(RunEndedError):
        rescheduled(office, asked, FIVE_HOURS + HOUR)


def test_rescheduled_run_of_a_deleted_job_does_not_start(world: World, office: Office, calls: Payloads) -> None:
    asked = office.run(later=Later(at=TWO_HOURS))
    rescheduled(office, asked, FIVE_HOURS)
    office.delete()
    with pytest.raises(JobGoneError):
        rescheduled(office, asked, FIVE_HOURS + HOUR)
    world.until(FIVE_HOURS + 60)
    assert calls.given == []
    (record,) = world.runs("tick-tock")
    assert (record.state, record.reason) == (RunState.SKIPPED, "deleted")


@pytest.mark.parametrize("overlap", [Overlap.QUEUE, Overlap.SKIP])
def test_rescheduled_run_whose_earlier_message_arrives_leaves_the_lock_of_its_job(
    world: World, office: Office, overlap: Overlap
) -> None:
    """The worker takes the lock before it finds the record: another run must not wait for the new time."""
    world.add(job("", overlap=overlap))
    first, second = office.run(later=Later(at=TWO_HOURS)), office.run(later=Later(at=TWO_HOURS + 2))
    world.until(TWO_HOURS - 100)  # both messages are sent
    rescheduled(office, first, FIVE_HOURS)
    world.until(TWO_HOURS + 60)
    assert [name for name, _, _ in world.caller.calls] == [second.run_id]
    assert times(world)[0] <= TWO_HOURS + 3
    world.until(FIVE_HOURS + 60)
    assert [name for name, _, _ in world.caller.calls] == [second.run_id, first.run_id]


@pytest.mark.parametrize("before", [HOUR, 30])
def test_rescheduled_run_meets_the_deadlines_of_its_new_time(world: World, office: Office, before: int) -> None:
    world.add(job("", start_within_seconds=300, finish_by=300))
    asked = office.run(later=Later(at=TWO_HOURS))
    world.until(TWO_HOURS - before)
    rescheduled(office, asked, TWO_HOURS + 1800)
    world.until(FIVE_HOURS)
    assert world.notices.deadlines == []


def test_rescheduled_run_that_has_begun_or_was_not_requested_is_refused(
    world: World, office: Office, calls: Payloads
) -> None:
    del calls
    asked = office.run(later=Later(at=TWO_HOURS))
    world.until(TWO_HOURS + 60)
    with pytest.raises(RunEndedError):
        rescheduled(office, asked, FIVE_HOURS)
    with pytest.raises(RunUnknownError):
        rescheduled(office, replace(asked, identity=replace(asked.identity, suffix=".mnothere")), FIVE_HOURS)
    world.add(job("0 20 * * *", id="nightly", completion=Completion.CALLBACK, completion_seconds=DAY))
    world.until(NOON + 8 * HOUR + 60)
    waiting = RunName("nightly", int(NOON) + 8 * HOUR).id
    with pytest.raises(NotDelayedError):
        office.api.rescheduling.unstarted("default", waiting)


@pytest.mark.parametrize("to", [int(NOON) - HOUR, int(NOON) + MAX_AHEAD_DAYS * DAY + 60])
def test_rescheduled_run_needs_a_time_in_reach(world: World, office: Office, calls: Payloads, to: int) -> None:
    asked = office.run(OwnPayload(1), later=Later(at=TWO_HOURS))
    with pytest.raises(ScheduleError):
        rescheduled(office, asked, to)
    world.until(TWO_HOURS + 60)
    assert calls.given == [1]


def test_rescheduled_run_counts_in_the_quota_of_its_new_hour(world: World, office: Office, calls: Payloads) -> None:
    del calls
    world.settings = replace(world.settings, delayed_runs_per_hour=1)
    office.run(later=Later(at=FIVE_HOURS))
    asked = office.run(later=Later(at=TWO_HOURS))
    with pytest.raises(RunQuotaError):
        rescheduled(office, asked, FIVE_HOURS + 60)
    assert office.record(asked).due == TWO_HOURS


def test_rescheduled_run_that_starts_in_the_meantime_stays_as_it_is(
    world: World, office: Office, calls: Payloads
) -> None:
    asked = office.run(OwnPayload(1), later=Later(at=TWO_HOURS))
    world.until(TWO_HOURS - 11)
    found = office.api.rescheduling.unstarted("default", asked.run_id)
    world.until(TWO_HOURS + 10)
    with pytest.raises(RunEndedError):
        office.api.rescheduling(found, "anna", OwnPayload(2), Later(at=FIVE_HOURS))
    assert calls.given == [1]
    assert office.record(asked).due == TWO_HOURS
    world.until(FIVE_HOURS + 60)
    assert calls.given == [1]


def test_rescheduled_run_whose_message_is_lost_is_found_by_index_repair(
    world: World, office: Office, calls: Payloads
) -> None:
    asked = office.run(OwnPayload(1), later=Later(at=TWO_HOURS))
    rescheduled(office, asked, FIVE_HOURS)
    world.until(FIVE_HOURS - 60)
    world.wheel.empty()
    world.until(FIVE_HOURS + 7 * HOUR)
    (event,) = [event for event in world.repair().events if event.action == "requested_run_sent_again"]
    assert event.facts["run_id"] == asked.run_id
    world.until(FIVE_HOURS + 8 * HOUR)
    assert calls.given == [1]


def test_rescheduled_run_leaves_a_line_in_the_history_of_its_job(world: World, office: Office, calls: Payloads) -> None:
    del calls
    asked = office.run(later=Later(at=TWO_HOURS))
    rescheduled(office, asked, FIVE_HOURS)
    newest = world.jobs.history("default", asked.job_id, limit=1, before=None).items[0]
    assert (newest.action, newest.principal) == ("rescheduled", "anna")
    assert newest.facts == {"run_id": asked.run_id, "due": "2026-11-21T17:00:00Z", "payload_changed": False}


@pytest.mark.parametrize("payload", [None, OwnPayload({"a": 1})])
def test_rescheduled_run_whose_timer_the_dispatcher_clears_at_the_same_moment_starts(
    world: World, office: Office, calls: Payloads, payload: OwnPayload | None
) -> None:
    """The round has sent a message without the payload, and clears the new timer, which has the same time."""
    asked = office.run(later=Later(at=TWO_HOURS))
    world.until(TWO_HOURS - 310)
    world.clock.set(TWO_HOURS - 290)
    change = before(lambda: rescheduled(office, asked, TWO_HOURS, payload), times=1, when=bool)
    world.dispatch(around(world.cursors, clear=change))
    world.until(TWO_HOURS + 60)
    assert calls.given == [None if payload is None else payload.payload]


@pytest.mark.parametrize("to", [TWO_HOURS - HOUR, FIVE_HOURS])
def test_rescheduled_run_keeps_its_time_if_a_repeated_request_finishes_afterwards(
    world: World, office: Office, calls: Payloads, to: int
) -> None:
    office.edit(start_within_seconds=300)
    asked = office.run(OwnPayload(1), key="k", later=Later(at=TWO_HOURS))
    world.until(NOON + 60)
    with world.faulty("timers", put_new=before(lambda: rescheduled(office, asked, to), times=1)):
        office.run(OwnPayload(1), key="k", later=Later(at=TWO_HOURS))
    world.until(FIVE_HOURS + HOUR)
    ((_, _, at),) = world.caller.calls
    assert to <= at <= to + 0.5
    assert world.notices.deadlines == []


def test_rescheduled_run_counts_only_in_a_new_hour(world: World, office: Office, calls: Payloads) -> None:
    del calls
    world.settings = replace(world.settings, delayed_runs_per_hour=2)
    asked = office.run(later=Later(at=TWO_HOURS))
    for number in range(3):
        rescheduled(office, asked, TWO_HOURS + 60 * number, OwnPayload(number))
    office.run(later=Later(at=TWO_HOURS + 5))
    rescheduled(office, asked, TWO_HOURS + 30)
    with pytest.raises(RunQuotaError):
        office.run(later=Later(at=TWO_HOURS + 5))


@pytest.mark.parametrize("shift", [200, 600, 3000])
def test_rescheduled_run_that_misses_its_deadline_is_announced_once(world: World, office: Office, shift: int) -> None:
    world.add(job("", start_within_seconds=60))
    asked = office.run(later=Later(at=TWO_HOURS))
    world.until(TWO_HOURS - 30)  # the check for the earlier time is sent
    rescheduled(office, asked, TWO_HOURS + shift)
    world.until(TWO_HOURS + shift - 1)
    held = world.wheel.hold_back(2 * HOUR)
    world.wheel.give_back([each for each in held if each.message.kind is not MessageKind.START])
    world.until(FIVE_HOURS)
    assert [each.at for each in world.notices.deadlines] == [TWO_HOURS + shift + 60]


@pytest.mark.parametrize("seconds", [-10, 0, 30])
def test_rescheduled_run_must_not_have_come_due(world: World, office: Office, calls: Payloads, seconds: int) -> None:
    del calls
    asked = office.run(later=Later(at=TWO_HOURS))
    world.until(TWO_HOURS - 11)
    world.wheel.hold_back(2 * HOUR)
    world.until(TWO_HOURS + seconds)
    with pytest.raises(NotDelayedError):
        rescheduled(office, asked, FIVE_HOURS)
    assert world.runs("tick-tock") == []


@pytest.mark.parametrize("to", [TWO_HOURS + HOUR, FIVE_HOURS])
def test_rescheduled_run_whose_payload_changes_meanwhile_keeps_its_new_time(
    world: World, office: Office, calls: Payloads, to: int
) -> None:
    asked = office.run(OwnPayload(1), later=Later(at=TWO_HOURS))
    reschedule = office.api.rescheduling
    found = reschedule.unstarted("default", asked.run_id)
    rescheduled(office, asked, to)
    assert reschedule(found, "ben", OwnPayload(2), None).due == to
    world.until(FIVE_HOURS + 60)
    assert calls.given == [2]
    assert to <= times(world)[0] <= to + 0.5


def test_rescheduled_run_counts_in_its_hour_if_it_was_due_too_soon_to_count(
    world: World, office: Office, calls: Payloads
) -> None:
    del calls
    world.settings = replace(world.settings, delayed_runs_per_hour=2)
    first, second, third = (office.run(later=Later(delay_seconds=60 + number)) for number in range(3))
    rescheduled(office, first, int(NOON) + 3000)
    rescheduled(office, second, int(NOON) + 110)
    rescheduled(office, second, int(NOON) + 3000)
    with pytest.raises(RunQuotaError):
        rescheduled(office, third, int(NOON) + 3000)
    assert office.api.runs.get("default", third.run_id).due == int(NOON) + 62
    rescheduled(office, second, int(NOON) + 3100)  # it counts already


def test_rescheduled_run_with_a_new_payload_announces_a_missed_deadline_once(world: World, office: Office) -> None:
    world.add(
        job(
            "",
            start_within_seconds=30,
            overlap=Overlap.QUEUE,
            completion=Completion.CALLBACK,
            completion_seconds=HOUR,
        )
    )
    office.run(later=Later(at=TWO_HOURS - 300))
    asked = office.run(OwnPayload(1), later=Later(at=TWO_HOURS))
    world.until(TWO_HOURS - 60)  # the check is sent
    rescheduled(office, asked, None, OwnPayload(2))
    world.until(TWO_HOURS + 600)
    assert [each.at for each in world.notices.deadlines] == [TWO_HOURS + 30]
