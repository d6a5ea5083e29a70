"""Deadlines of runs: a run that has not started or finished by its deadline is announced, and cancelled on request."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from duecourse.domain.jobs.job import Completion, DeadlineEvent, EventKind, Job, Lane, OnDeadline, Overlap
from duecourse.domain.runs.states import Cancelled, Run, RunState
from duecourse.messages import CheckFinish, MessageKind
from duecourse.ports import Outgoing
from duecourse.usecases.runs.requests import Later
from tests.support.jobs import NOON, job
from tests.support.world import Office, World

START = int(NOON)


def missed(world: World) -> list[tuple[str, int, int, RunState]]:
    """Deadline, second of the occurrence and of the deadline after NOON, and the state of the run."""
    return [
        (each.deadline.value, each.run.occurrence - START, each.at - START, each.run.state)
        for each in world.notices.deadlines
    ]


def add(world: World, expression: str = "1-2 12 * * *", **changes: Any) -> Job:
    return world.add(job(expression, **changes))


def waits(world: World, expression: str = "1-2 12 * * *", **changes: Any) -> Job:
    """A job whose runs wait for a callback."""
    return add(world, expression, completion=Completion.CALLBACK, **changes)


def run(world: World) -> Run:
    return world.runs("tick-tock")[0]


def test_deadlines_run_that_starts_and_ends_in_time_is_not_announced(world: World) -> None:
    add(world, start_within_seconds=30, finish_by=60)
    world.until(NOON + 600)
    assert [state for _, state in world.states("tick-tock")] == [RunState.SUCCEEDED] * 2
    assert missed(world) == []


def test_deadlines_run_that_waits_for_another_one_is_announced_at_its_deadline_to_start(world: World) -> None:
    waits(world, overlap=Overlap.QUEUE, start_within_seconds=45)
    world.until(NOON + 164)
    assert missed(world) == []
    world.until(NOON + 165)
    assert missed(world) == [("start", 120, 165, RunState.QUEUED)]
    world.until(NOON + 400)
    assert len(missed(world)) == 1


def test_deadlines_run_that_has_not_finished_is_announced_at_its_deadline(world: World) -> None:
    waits(world, finish_by=90, overlap=Overlap.ALLOW)
    world.until(NOON + 149)
    assert missed(world) == []
    world.until(NOON + 400)
    assert missed(world) == [("finish", 60, 150, RunState.WAITING), ("finish", 120, 210, RunState.WAITING)]
    assert world.count("DeadlinesMissed") == 2


def test_deadline_is_a_time_of_the_jobs_zone(world: World) -> None:
    add(world, "1 13 * * *", timezone="Europe/Berlin", completion=Completion.CALLBACK, finish_by="14:30")
    world.until(NOON + 5399)
    assert missed(world) == []
    world.until(NOON + 5400)
    assert missed(world) == [("finish", 60, 5400, RunState.WAITING)]


def test_deadline_later_than_a_queue_can_delay_is_a_timer_only_while_the_run_is_active(world: World) -> None:
    add(world, "1 12 * * *", finish_by=7200)
    world.until(NOON + 1200)
    assert world.timers.get("default", "tick-tock", "WAKE#20261121T120100Z.check_finish1") is None
    waits(world, "25 12 * * *", id="slow", finish_by=7200)
    world.until(NOON + 3000)
    assert world.timers.get("default", "slow", "WAKE#20261121T122500Z.check_finish1") is not None
    world.until(NOON + 9000)
    assert missed(world) == [("finish", 1500, 8700, RunState.WAITING)]


def test_deadlines_missed_deadline_cancels_the_run_on_request(world: World) -> None:
    waits(world, finish_by=90, on_deadline=OnDeadline.CANCEL)
    world.until(NOON + 400)
    ended = run(world)
    assert isinstance(ended, Cancelled)
    assert (ended.reason, ended.finished_at) == ("deadline", NOON + 150)
    assert missed(world)[0] == ("finish", 60, 150, RunState.WAITING)


def test_deadlines_run_that_has_not_started_is_cancelled_and_does_not_start_later(world: World) -> None:
    waits(world, start_within_seconds=30, overlap=Overlap.QUEUE, on_deadline=OnDeadline.CANCEL)
    world.until(NOON + 160)
    world.tell(world.about(run(world), MessageKind.COMPLETE))
    world.until(NOON + 400)
    assert world.states("tick-tock") == [(60, RunState.SUCCEEDED), (120, RunState.CANCELLED)]


def test_deadlines_run_whose_message_is_late_is_announced_before_it_starts(world: World) -> None:
    add(world, "5 12 * * *", start_within_seconds=30)
    world.until(NOON + 299)
    late = [held for held in world.wheel.hold_back(300) if held.message.kind is MessageKind.START]
    checks = [held for held in world.wheel.sent if held.message.kind is MessageKind.CHECK_START]
    assert [(check.message.lane, check.message.not_before) for check in checks] == [(Lane.HIGH, NOON + 330)]
    world.wheel.send([Outgoing(checks[0].message, 31)])
    world.until(NOON + 340)
    world.wheel.give_back(late)
    world.until(NOON + 400)
    assert missed(world) == [("start", 300, 330, RunState.QUEUED)]
    assert world.states("tick-tock") == [(300, RunState.SUCCEEDED)]


@pytest.mark.parametrize(
    "change",
    [
        lambda office: office.edit(finish_by=None),
        lambda office: office.delete(),
    ],
    ids=["no deadline", "deleted"],
)
def test_deadline_of_a_job_that_has_changed_does_not_count(
    world: World, office: Office, change: Callable[[Office], object]
) -> None:
    waits(world, "1 12 * * *", finish_by=90)
    world.until(NOON + 100)
    change(office)
    world.until(NOON + 400)
    assert missed(world) == []


def test_deadline_that_is_moved_is_checked_at_its_new_time(world: World, office: Office) -> None:
    waits(world, "1 12 * * *", finish_by=90)
    world.until(NOON + 100)
    office.edit(finish_by=1800)
    world.until(NOON + 3000)
    assert missed(world) == [("finish", 60, 1860, RunState.WAITING)]


def test_deadlines_run_of_a_paused_job_has_no_deadline(world: World, office: Office) -> None:
    add(world, "5 12 * * *", start_within_seconds=30)
    world.until(NOON + 200)
    office.pause()
    world.until(NOON + 600)
    assert missed(world) == []


def test_deadlines_skipped_and_dead_runs_are_not_announced_as_missed_deadlines(world: World) -> None:
    waits(world, overlap=Overlap.SKIP, start_within_seconds=30)
    world.until(NOON + 400)
    assert [state for _, state in world.states("tick-tock")] == [RunState.WAITING, RunState.SKIPPED]
    assert missed(world) == []


def test_deadlines_run_on_request_has_the_deadlines_of_its_job(world: World, office: Office) -> None:
    waits(world, "0 6 * * *", finish_by=90)
    office.run()
    office.run(later=Later(delay_seconds=1000))
    world.until(NOON + 1200)
    assert missed(world)[:1] == [("finish", 0, 90, RunState.WAITING)]


def test_deadlines_repeated_check_has_the_same_ids(world: World) -> None:
    waits(world, "1 12 * * *", finish_by=90, events=(EventKind.DEADLINES,), owner="billing")
    world.until(NOON + 200)
    (first,) = world.notices.deadlines
    assert (first.owner, first.deadline) == ("billing", DeadlineEvent.FINISH)
    check = replace(world.about(run(world), MessageKind.CANCEL), command=CheckFinish(), not_before=NOON + 150)
    world.tell(check)
    assert [each.detail["event"] for each in world.bus.events] == [
        "default/tick-tock.20261121T120100Z/finish/Deadline Missed"
    ] * 2
    assert world.bus.events[0].detail["deadline_at"] == "2026-11-21T12:02:30Z"


def test_deadlines_job_without_deadlines_sends_no_further_message(world: World) -> None:
    add(world, "5-6 12 * * *")
    world.until(NOON + 600)
    assert [each.message.kind for each in world.wheel.sent] == [MessageKind.START] * 2
