"""Renaming a job: its history stays, and no occurrence is lost or runs twice."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from duecourse.domain.instants import DAY_SECONDS
from duecourse.domain.jobs.calendars import named
from duecourse.domain.jobs.cursor import PlannedResume
from duecourse.domain.jobs.document import ChangeAction
from duecourse.domain.jobs.job import JobState, Lane, Overlap
from duecourse.domain.jobs.rename import RenameError
from duecourse.domain.runs.explain import Verdict
from duecourse.domain.runs.states import RunState
from duecourse.domain.targets.targets import Failed, Outcome, Returned
from duecourse.messages import MessageKind
from duecourse.ports import Call
from duecourse.usecases.jobs.change import Created
from duecourse.usecases.jobs.job_errors import JobExistsError, JobReservedError, JobUnknownError
from duecourse.usecases.runs.dead_letters import DeadRuns
from duecourse.usecases.runs.requests import Later, RunRequest
from tests.support.jobs import NOON
from tests.support.world import Office

OLD, NEW = "tick-tock", "daily"
DEAD, SUCCEEDED = RunState.DEAD, RunState.SUCCEEDED


def renamed(office: Office, old: str = OLD, new: str = NEW, **asked: bool) -> Created:
    return office.api.renaming.rename("default", old, new, by="anna", **asked)


def called(office: Office) -> list[int]:
    """Seconds after NOON of the occurrences that were called, whichever name their runs have."""
    return [int(at - NOON) // 10 * 10 for _, _, at in office.world.caller.calls]


def fails(_: Call) -> Outcome:
    return Failed("no", retryable=False)


@pytest.mark.parametrize("overlap", [Overlap.SKIP, Overlap.QUEUE, Overlap.ALLOW])
@pytest.mark.parametrize("second", [0, 1, 51, 59, 60])
def test_rename_at_any_time_runs_each_occurrence_once(office: Office, second: int, overlap: Overlap) -> None:
    office.create("* * * * *", overlap=overlap)
    office.world.until(NOON + 180 + second)
    assert renamed(office).view.job.id == NEW
    office.world.until(NOON + 900)
    assert called(office) == list(range(60, 901, 60))
    seconds = [run.occurrence - int(NOON) for run in office.listed(SUCCEEDED, job_id=NEW)]
    assert seconds == list(range(900, 0, -60))
    assert {run.job_id for run in office.listed(SUCCEEDED, job_id=NEW)} == {OLD, NEW}


def test_rename_of_a_job_every_ten_seconds_loses_nothing_even_before_the_first_tick(office: Office) -> None:
    office.create("rate(10 seconds)")
    office.world.clock.set(NOON + 1)
    renamed(office)
    office.world.until(NOON + 300)
    assert called(office) == list(range(10, 301, 10))


def test_rename_keeps_the_jitter(office: Office) -> None:
    office.create("* * * * *", jitter_seconds=50)
    office.world.until(NOON + 200)
    dues = [office.job().occurrences().due(int(NOON) + at) for at in range(0, 900, 60)]
    made = renamed(office).view.job
    assert [made.occurrences().due(int(NOON) + at) for at in range(0, 900, 60)] == dues
    office.world.until(NOON + 900)
    seconds = [run.occurrence - int(NOON) for run in office.listed(SUCCEEDED, job_id=NEW)]
    assert seconds == sorted({*seconds}, reverse=True)
    assert set(range(60, 840, 60)) <= set(seconds)


def test_rename_lists_runs_of_both_names_page_by_page(office: Office) -> None:
    office.create("* * * * *")
    office.world.until(NOON + 300)
    renamed(office)
    office.world.until(NOON + 600)
    whole = office.listed(job_id=NEW)
    assert office.listed(job_id=NEW, limit=3) == whole
    last = office.api.history.last("default", [office.job(NEW)], 20)[0]
    assert [run.name for run in last] == [run.name for run in whole if run.state is SUCCEEDED]
    assert [run.job_id for run in office.listed(SUCCEEDED, job_id=OLD)] == [OLD] * 5


def test_rename_history_contains_the_changes_of_both_names_and_the_rename(office: Office) -> None:
    office.create("* * * * *")
    office.edit(name="first")
    office.world.clock.set(NOON + 30)
    renamed(office)
    office.edit(NEW, name="second")
    found = office.api.jobs.history("default", NEW, limit=10, before=None).items
    assert [(each.job_id, each.action) for each in found][:3] == [
        (NEW, ChangeAction.EDITED),
        (NEW, ChangeAction.RENAMED),
        (OLD, ChangeAction.EDITED),
    ]
    rename = found[1]
    assert (rename.principal, rename.changes) == ("anna", ({"field": "id", "before": OLD, "after": NEW},))


def test_rename_lets_explain_find_earlier_runs_under_both_names(office: Office) -> None:
    office.create("* * * * *")
    office.world.until(NOON + 200)
    renamed(office)
    office.world.until(NOON + 600)
    for name in (OLD, NEW):
        for second in (60, 180, 300):
            assert office.api.explain("default", name, int(NOON) + second).found.verdict is Verdict.FIRED


def test_rename_lists_and_redrives_dead_runs_of_the_old_name_with_the_current_definition(office: Office) -> None:
    office.create("2 12 * * *")
    office.world.caller.answer = fails
    office.world.until(NOON + 200)
    renamed(office)
    (dead,) = office.api.dead_letters.page("default", DeadRuns(NEW), limit=10, before=None).items
    assert (dead.job_id, dead.state) == (OLD, DEAD)
    seen = list[object]()

    def answer(call: Call) -> Outcome:
        seen.append(call.job.payload)
        return Returned("fine")

    office.world.caller.answer = answer
    office.edit(NEW, payload="repaired")
    assert office.api.dead_letters.redrive("default", DeadRuns(NEW), limit=10).sent == 1
    office.world.work()
    assert seen == ["repaired"]
    assert office.record(dead).state is SUCCEEDED


def test_rename_does_not_let_a_redriven_run_of_the_old_name_overlap_one_of_the_new_name(office: Office) -> None:
    office.create("2,10,20 12 * * *", overlap=Overlap.QUEUE)
    office.world.caller.answer = fails
    office.world.until(NOON + 200)
    renamed(office)
    (dead,) = office.listed(DEAD, job_id=NEW)
    active: list[str] = []

    def answer(call: Call) -> Outcome:
        if not active:
            active.append(str(call.run.name))
            office.api.commands.redrive("default", str(dead.name))
            office.world.work()  # while the new run calls its target
            assert office.record(dead).state is DEAD
        return Returned("fine")

    office.world.caller.answer = answer
    office.world.until(NOON + 1300)
    assert active[0].startswith(NEW)
    assert office.record(dead).state is SUCCEEDED
    assert [run.occurrence - int(NOON) for run in office.listed(SUCCEEDED, job_id=NEW)] == [1200, 600, 120]


def test_rename_is_possible_only_after_the_end_of_an_active_run(office: Office) -> None:
    office.create("2,10 12 * * *")
    refused = list[str]()

    def answer(_: Call) -> Outcome:
        with pytest.raises(RenameError, match="has not ended; rename tick-tock after the run has ended") as error:
            renamed(office)
        refused.append(str(error.value))
        return Returned("fine")

    office.world.caller.answer = answer
    office.world.until(NOON + 200)
    assert len(refused) == 1
    assert renamed(office).view.job.id == NEW


def test_rename_lets_runs_that_may_overlap_continue_under_their_old_name(office: Office) -> None:
    office.create("2,10 12 * * *", overlap=Overlap.ALLOW)

    def answer(_: Call) -> Outcome:
        office.world.caller.answer = lambda _: Returned("fine")
        renamed(office)
        return Failed("not yet")

    office.world.caller.answer = answer
    office.world.until(NOON + 700)
    assert [(run.job_id, run.state) for run in office.listed(job_id=NEW)] == [(NEW, SUCCEEDED), (OLD, SUCCEEDED)]


def test_rename_keeps_a_delayed_run(office: Office) -> None:
    office.create("0 9 * * *")
    run = office.run(later=Later(delay_seconds=3600))
    office.world.clock.set(NOON + 60)
    renamed(office)
    assert [each.name for each in office.listed(RunState.QUEUED, job_id=NEW)] == [run.name]
    assert office.record(run).state is RunState.QUEUED
    office.world.until(NOON + 3700)
    assert office.record(run).state is SUCCEEDED


def test_rename_keeps_a_run_in_its_lane(office: Office) -> None:
    office.create("0 9 * * *")
    run = office.run()
    renamed(office)
    office.world.work()
    assert office.record(run).state is SUCCEEDED
    cancelled = office.api.manual.run(office.job(NEW), RunRequest("anna"))
    assert cancelled.job_id == NEW


@pytest.mark.parametrize("state", [JobState.PAUSED, JobState.COMPLETED])
def test_rename_keeps_the_state_and_the_settings_of_the_job(office: Office, state: JobState) -> None:
    office.create(
        "2 12 21 11 *" if state is JobState.PAUSED else "at(2026-11-21T12:02:00)", tags=("a", "b"), payload="x" * 5000
    )
    office.world.until(NOON + 300)
    if state is JobState.PAUSED:
        office.pause()
    before = office.job()
    assert before.state is state
    made = renamed(office).view.job
    kept = ("state", "tags", "payload", "paused_at", "created_at", "seated", "expires_at", "schedule")
    assert [getattr(made, name) for name in kept] == [getattr(before, name) for name in kept]
    assert office.job(NEW) == made
    assert office.world.jobs.tagged("default", "a", [OLD, NEW]) == {NEW}
    with pytest.raises(JobUnknownError):
        office.job(OLD)
    if state is JobState.PAUSED:
        office.resume(NEW)
        assert office.job(NEW).state is JobState.ACTIVE


def test_rename_during_a_pause_is_followed_by_a_catch_up_of_the_whole_pause(office: Office) -> None:
    office.create("* * * * *")
    office.world.until(NOON + 130)
    office.pause()
    office.world.until(NOON + 250)
    renamed(office)
    office.world.until(NOON + 430)
    office.resume(NEW, catch_up=True)
    office.world.until(NOON + 540)
    (caught,) = [run for run in office.listed(SUCCEEDED, job_id=NEW) if run.count > 1]
    assert (caught.occurrence - int(NOON), caught.count) == (180, 4)  # 12:07 is within its grace


def test_rename_that_is_repeated_changes_nothing(office: Office) -> None:
    office.create("* * * * *")
    first = renamed(office).view.job
    assert renamed(office).view.job == first
    with pytest.raises(JobUnknownError):
        renamed(office, new="another")


def test_rename_reserves_the_old_name_until_its_runs_have_expired(office: Office) -> None:
    office.create("* * * * *")
    renamed(office)
    with pytest.raises(JobReservedError) as refused:
        office.create("* * * * *", OLD)
    assert refused.value.renamed_to == NEW
    office.create("* * * * *", "other")
    with pytest.raises(JobReservedError):
        renamed(office, "other", OLD)
    with pytest.raises(JobExistsError):
        renamed(office, "other", NEW)
    office.world.clock.set(NOON + 92 * DAY_SECONDS)
    assert office.create("* * * * *", OLD).former == ()
    assert office.job(NEW).names(NOON + 92 * DAY_SECONDS) == (NEW,)


def test_rename_lets_a_new_job_run_under_the_old_name_after_its_reservation(office: Office) -> None:
    """DynamoDB may remove the expired lock some days later."""
    office.create("* * * * *")
    renamed(office)
    later = NOON + 92 * DAY_SECONDS
    office.world.clock.set(later)
    office.create("* * * * *", OLD)
    office.run(job_id=OLD)
    office.world.work()
    assert [run.state for run in office.world.runs(OLD)] == [SUCCEEDED]


def test_rename_former_names_are_freed_by_deleting_the_job(office: Office) -> None:
    office.create("* * * * *")
    renamed(office)
    office.delete(NEW)
    assert office.create("* * * * *", OLD).id == OLD


def test_rename_to_a_name_with_runs_of_a_deleted_job_is_rejected(office: Office) -> None:
    office.create("* * * * *", NEW)
    office.world.until(NOON + 70)
    office.delete(NEW)
    office.world.clock.set(NOON + 3 * DAY_SECONDS)
    office.create("* * * * *")
    with pytest.raises(RenameError, match="has runs of a job that was deleted"):
        renamed(office)


def test_rename_twice_and_back_keeps_all_runs_of_the_job(office: Office) -> None:
    office.create("* * * * *")
    office.world.until(NOON + 130)
    renamed(office)
    office.world.until(NOON + 250)
    renamed(office, NEW, "third")
    assert office.world.jobs.current("default", OLD) == office.job("third")
    office.world.until(NOON + 370)
    renamed(office, "third", OLD)
    office.world.until(NOON + 600)
    assert called(office) == list(range(60, 601, 60))
    runs = office.listed(SUCCEEDED)
    assert [run.occurrence - int(NOON) for run in runs] == list(range(600, 0, -60))
    assert [each.id for each in office.job().former] == ["third", NEW]
    assert {run.job_id for run in runs} == {OLD, NEW, "third"}


def test_rename_allows_a_limited_number_of_former_names(office: Office) -> None:
    office.create("0 9 * * *")
    names = [OLD, *(f"name-{number}" for number in range(6))]
    for old, new in pairwise(names[:6]):
        renamed(office, old, new)
    with pytest.raises(RenameError, match="has 5 former ids"):
        renamed(office, names[5], names[6])
    assert renamed(office, names[5], names[4]).view.job.id == names[4]


def test_rename_dry_run_writes_nothing(office: Office) -> None:
    made = office.create("* * * * *")
    assert renamed(office, dry_run=True).view.job.id == NEW
    assert office.job() == made


def test_rename_is_possible_only_after_an_enqueued_last_run(office: Office) -> None:
    office.create("at(2026-11-21T12:02:00)")
    office.world.until(NOON + 115)
    with pytest.raises(RenameError, match="has no occurrence after the rename"):
        renamed(office)
    office.world.until(NOON + 180)
    assert renamed(office).view.job.state is JobState.COMPLETED


def test_rename_is_rejected_while_occurrences_are_overdue(office: Office) -> None:
    office.create("* * * * *")
    office.world.clock.set(NOON + 600)
    with pytest.raises(RenameError, match="overdue"):
        renamed(office)


def test_rename_moves_the_seat_with_the_job(office: Office) -> None:
    made = office.create("* * * * *")
    assert made.seated
    renamed(office)
    assert office.world.jobs.seats.seats("default", Lane.NORMAL).holders == (NEW,)


def test_rename_makes_a_worker_with_the_old_job_take_the_lock_of_the_new_name(office: Office) -> None:
    office.create("2,10 12 * * *")
    office.world.until(NOON + 100)
    stale = office.job()
    renamed(office)
    world = office.world
    jobs, reads = world.jobs, list[str]()

    class Stale:
        def __getattr__(self, name: str) -> object:
            return getattr(jobs, name)

        def snapshot(self, tenant: str, job_id: str) -> object:
            reads.append(job_id)
            return stale if len(reads) == 1 else jobs.snapshot(tenant, job_id)

    run = office.api.manual.run(replace(stale), RunRequest("anna"))
    (message,) = [one.message for one in world.wheel.sent if one.message.name == run.name]
    assert message.kind is MessageKind.START
    worker = world.worker()
    held = world.wheel.receive()
    assert held is not None
    replace(worker, jobs=Stale())([world.wheel.received(held)], world.clock.now() + 120)
    assert len(reads) > 1
    world.work()  # in the bulk queue, since a call under the old name could be in progress
    assert office.record(run).state is SUCCEEDED
    locked = world.run_store.locked("default", OLD)
    assert locked is not None
    assert locked.holder == "renamed"
    free = world.run_store.locked("default", NEW)
    assert free is not None
    assert free.holder == ""


def test_rename_lets_a_planned_resume_happen_under_the_new_name(office: Office) -> None:
    office.create("* * * * *")
    office.world.until(NOON + 130)
    office.api.pausing.pause("default", OLD, end=PlannedResume(int(NOON) + 600))
    renamed(office)
    office.world.until(NOON + 900)
    assert office.job(NEW).state is JobState.ACTIVE
    assert called(office) == [60, 120, *range(600, 901, 60)]
    office.api.pausing.pause("default", NEW, end=PlannedResume(int(NOON) + 1200))
    office.world.until(NOON + 1150)
    assert office.job(NEW).state is JobState.PAUSED  # a round has sent the runs after the pause in advance
    renamed(office, NEW, OLD)
    office.world.until(NOON + 1500)
    assert called(office)[8:] == list(range(1200, 1501, 60))


def test_rename_after_the_end_of_a_pause_that_no_round_has_ended_repeats_no_run(office: Office) -> None:
    office.create("rate(10 seconds)")
    office.world.until(NOON + 65)
    office.api.pausing.pause("default", OLD, end=PlannedResume(int(NOON) + 85))
    office.world.until(NOON + 105)
    renamed(office)
    office.world.until(NOON + 150)
    assert called(office) == [*range(10, 61, 10), *range(90, 151, 10)]


def calendar(office: Office, *exclude: str) -> None:
    office.api.calendars.put("default", "holidays", exclude, "", by="anna")


def test_rename_of_a_completed_job_whose_calendar_has_changed_since(office: Office) -> None:
    """A completed job keeps its copy of the days."""
    calendar(office, "2026-12-25")
    office.create("* * * * *", max_runs=1, exclude=(named("holidays"),))
    office.world.until(NOON + 130)
    assert office.job().state is JobState.COMPLETED
    calendar(office, "2026-12-26")
    assert renamed(office).view.job.calendars == ("holidays",)
    assert office.api.calendars.users("default", "holidays")[0] == [NEW]


def test_rename_of_a_job_whose_calendar_has_its_former_days_again(office: Office) -> None:
    """The job could not follow the change between, and its copy has the days of the calendar but its first version."""
    calendar(office, "2026-12-25")
    office.create("at(2026-11-22T12:00:00)", exclude=(named("holidays"),))
    calendar(office, "2026-11-22")
    calendar(office, "2026-12-25")
    assert renamed(office).view.job.calendars == ("holidays",)
