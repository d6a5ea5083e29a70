"""Editing jobs that are running: what is enqueued stays good unless the schedule itself was changed."""

from typing import Any

import pytest

from duecourse.domain.jobs.job import JobState, Lane, MissedMode, MissedPolicy, Overlap, Precision
from duecourse.domain.runs.states import RunState
from tests.support.jobs import NOON, cursor, job
from tests.support.world import Office, World

SUCCEEDED, SKIPPED = RunState.SUCCEEDED, RunState.SKIPPED


@pytest.mark.parametrize(
    "changes",
    [
        {"name": "another"},
        {"payload": {"n": 2}},
        {"priority": Lane.LOW},
        {"timeout_seconds": 60},
        {"precision": Precision.EXACT},
        {"missed": MissedPolicy(MissedMode.SKIP, grace_seconds=5)},
        {"overlap": Overlap.ALLOW, "tags": ("a", "b")},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_edit_of_other_fields_loses_no_enqueued_run(office: Office, changes: dict[str, Any]) -> None:
    office.world.add(job("* * * * *"))
    office.world.until(NOON + 150)
    waiting = len(office.world.wheel)
    assert waiting >= 12
    assert office.edit(**changes).changed
    assert len(office.world.wheel) == waiting
    office.world.until(NOON + 1800)
    assert office.seconds() == list(range(60, 1801, 60))
    assert len(office.world.caller.calls) == 30


def test_edit_applies_to_enqueued_runs_when_they_start(office: Office) -> None:
    seen: list[Any] = []
    answer = office.world.caller.answer
    office.world.caller.answer = lambda call: (seen.append(call.job.payload), answer(call))[1]
    office.world.add(job("* * * * *", payload="old"))
    office.world.until(NOON + 150)
    office.edit(payload="new")
    office.world.until(NOON + 300)
    assert seen == ["old", "old", "new", "new", "new"]


def test_edit_moves_a_job_to_a_longer_lane_if_needed(office: Office) -> None:
    office.world.add(job("* * * * *"))
    office.world.until(NOON + 150)
    sent = len(office.world.wheel.sent)
    office.edit(timeout_seconds=300)
    office.world.clock.set(NOON + 720)
    office.world.dispatch()
    later = [one.message for one in office.world.wheel.sent[sent:]]
    assert {message.lane for message in later} == {Lane.LONG}


def test_edit_of_the_schedule_drops_exactly_the_runs_enqueued_under_the_old_one(office: Office) -> None:
    office.world.add(job("* * * * *"))
    office.world.until(NOON + 150)
    edited = office.edit(expression="30 */2 * * * *")
    assert (edited.changed, edited.skipped) == (True, 0)
    office.world.until(NOON + 1000)
    assert office.seconds() == [60, 120, *range(270, 1000, 120)]
    assert office.seconds(SKIPPED) == []
    assert len(office.world.caller.calls) == 9


def test_edit_of_the_schedule_keeps_due_runs_that_wait_in_their_lane(office: Office) -> None:
    patient = MissedPolicy(grace_seconds=120)
    office.world.add(job("* * * * *", overlap=Overlap.ALLOW, missed=patient))
    office.world.dispatch()
    office.world.clock.set(NOON + 125)  # no worker was free so far
    office.edit(expression="0 * * * *")
    office.world.until(NOON + 600)
    assert office.seconds() == [60, 120]


def test_edit_to_a_schedule_with_common_occurrences_runs_each_once(office: Office) -> None:
    office.world.add(job("* * * * *"))
    office.world.until(NOON + 150)
    office.edit(expression="*/2 * * * *")
    office.edit(expression="*/3 * * * *")
    office.edit(expression="* * * * *", name="back")
    office.world.until(NOON + 600)
    assert office.seconds() == list(range(60, 601, 60))
    assert len(office.world.caller.calls) == 10


def test_edit_of_the_schedule_sends_the_first_two_minutes_immediately(office: Office) -> None:
    office.world.add(job("0 0 1 1 *"))
    assert office.edit(expression="rate(30 seconds)").made.sent == 4
    office.world.until(NOON + 100, ticking=False)
    assert office.seconds() == [30, 60, 90]


def test_edit_of_the_schedule_records_occurrences_missed_in_an_outage_as_skipped(office: Office) -> None:
    office.world.add(job("* * * * *"))
    office.world.until(NOON + 400, ticking=False)  # the API sent the first two minutes
    assert office.edit(expression="0 * * * *").skipped == 4
    office.world.until(NOON + 600)
    record = office.world.runs("tick-tock")[-1]
    assert office.seconds() == [60, 120]
    assert (record.occurrence - NOON, record.state, record.reason, record.count) == (180, SKIPPED, "edited", 4)


def test_edit_of_the_schedule_sends_occurrences_that_could_not_be_sent_on_creation(office: Office) -> None:
    made = job("rate(20 seconds)")
    assert office.world.jobs.create(made, cursor(made))  # and nothing was sent
    office.world.until(NOON + 50, ticking=False)
    assert office.edit(expression="0 * * * *").skipped == 0
    office.world.until(NOON + 55)
    assert office.seconds() == [20, 40]


def test_edit_of_a_paused_job_keeps_it_paused_and_applies_the_new_schedule_afterwards(office: Office) -> None:
    office.world.add(job("* * * * *"))
    office.world.until(NOON + 150)
    office.api.pausing.pause("default", "tick-tock")
    office.world.until(NOON + 250)
    assert office.edit(expression="*/5 * * * *").view.job.state is JobState.PAUSED
    office.world.until(NOON + 400)
    assert office.seconds() == [60, 120]
    office.api.pausing.resume("default", "tick-tock", catch_up=False)
    office.world.until(NOON + 1300)
    assert office.seconds() == [60, 120, 600, 900, 1200]
    paused = [(run.occurrence - NOON, run.count) for run in office.world.runs("tick-tock") if run.state is SKIPPED]
    assert paused == [(180, 2), (300, 1)]


def test_edit_does_not_treat_runs_between_a_pause_and_the_edit_as_paused(office: Office) -> None:
    office.world.add(job("* * * * *", overlap=Overlap.ALLOW))
    office.world.until(NOON + 150)
    office.api.pausing.pause("default", "tick-tock")
    office.api.pausing.resume("default", "tick-tock", catch_up=False)
    office.world.dispatch()
    office.world.clock.set(NOON + 185)  # the run of 12:03 waits in its lane
    office.edit(expression="0 * * * *")
    office.world.until(NOON + 300)
    assert office.seconds() == [60, 120, 180]


def test_edit_gives_a_completed_job_a_new_time_at_which_it_runs(office: Office) -> None:
    office.world.add(job("at(2026-11-21T12:01:00)"))
    office.world.until(NOON + 90)
    assert office.job().state is JobState.COMPLETED
    office.edit(name="renamed")
    assert office.job().state is JobState.COMPLETED
    office.edit(expression="at(2026-11-21T12:05:00)")
    assert office.job().state is JobState.ACTIVE
    office.world.until(NOON + 400)
    assert office.seconds() == [60, 300]
    assert office.job().state is JobState.COMPLETED


def test_edit_does_not_prevent_the_completion_of_a_job_with_a_pending_last_run(office: Office) -> None:
    office.world.add(job("at(2026-11-21T12:05:00)"))
    office.world.until(NOON + 90)
    office.edit(name="renamed")
    office.world.until(NOON + 400)
    assert office.seconds() == [300]
    assert office.job().state is JobState.COMPLETED


def test_edit_of_the_schedule_keeps_the_count_towards_max_runs(office: Office) -> None:
    office.world.add(job("* * * * *", max_runs=5))
    office.world.until(NOON + 150)
    office.edit(expression="30 * * * * *")
    office.world.until(NOON + 210)
    office.edit(max_runs=6)
    office.world.until(NOON + 1000)
    assert office.seconds() == [60, 120, 210, 270, 330, 390]
    assert office.job().state is JobState.COMPLETED


def test_edit_to_more_jitter_does_not_count_an_occurrence_twice(office: Office) -> None:
    office.world.add(job("* * * * *", max_runs=5))
    office.world.until(NOON + 130)
    office.edit(jitter_seconds=120)
    office.world.until(NOON + 3600)
    assert office.world.states("tick-tock") == [(at, SUCCEEDED) for at in (60, 120, 180, 240, 300)]
    assert office.job().state is JobState.COMPLETED


def test_edit_during_a_pause_records_occurrences_due_in_the_pause_once(office: Office) -> None:
    office.world.add(job("* * * * *", overlap=Overlap.ALLOW))
    office.world.until(NOON + 90)
    office.api.pausing.pause("default", "tick-tock")
    office.world.clock.set(NOON + 400)  # no worker has looked at what was enqueued since
    assert office.edit(expression="*/2 * * * *").skipped == 5
    office.world.until(NOON + 500)
    records = [(run.occurrence - int(NOON), run.state, run.count) for run in office.world.runs("tick-tock")]
    assert records == [(60, SUCCEEDED, 1), (120, SKIPPED, 5)]


@pytest.mark.parametrize("policy", list(MissedMode))
@pytest.mark.parametrize("before", ["resume", "missing ticks"])
def test_edit_of_the_schedule_leaves_a_record_for_each_overdue_occurrence(
    world: World, policy: MissedMode, before: str
) -> None:
    world.add(job("* * * * *", missed=MissedPolicy(policy, max_missed=2), overlap=Overlap.ALLOW))
    world.until(NOON + 130)
    if before == "resume":
        world.office.pause()
        world.until(NOON + 635)
        world.office.resume(catch_up=True)
        world.clock.advance(2)
    else:
        world.until(NOON + 1600, ticking=False)
    edited = int(world.clock.now() - NOON)
    world.office.edit(expression="30 * * * *")
    world.until(NOON + 2100)
    known = [
        at - int(NOON)
        for run in world.runs("tick-tock")
        for at in range(run.occurrence, (run.through or run.occurrence) + 1, 60)
    ]
    assert sorted(known) == [*range(60, edited + 1, 60), 1800]
