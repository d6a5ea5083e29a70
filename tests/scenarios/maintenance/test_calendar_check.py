"""A change of a calendar reaches all its jobs, even if its request ends early: index repair continues it."""

from typing import Any

import pytest

from duecourse.domain.jobs.calendars import CalendarDays, copies_of
from duecourse.domain.jobs.job import JobState
from duecourse.ports import NoAnswerError
from duecourse.testing.faults import around, before, failing, lost, twice
from duecourse.usecases.maintenance.calendar_check import PAGE_SECONDS
from duecourse.usecases.report import Report
from duecourse_schedules import ScheduleSpec
from tests.support.jobs import NOON
from tests.support.tables import Tables
from tests.support.world import Killed, Office, World

DAY = 86_400
TODAY, TOMORROW = "2026-11-21", "2026-11-22"
EVENING = NOON + 6 * 3600


@pytest.fixture
def office(tables: Tables) -> Office:
    world = World(tables)
    world.cursors.highest_shards(1)  # a tick has come
    return Office(world)


def put(office: Office, *days: str, calendar: str = "bank", **more: Any) -> Any:
    return office.api.calendars.put("default", calendar, days, "", by="anna", **more)


def opened(office: Office, *ids: str, **asked: Any) -> None:
    for job_id in ids:
        office.create("0 18 * * *", job_id, exclude=(CalendarDays("bank"),), **asked)


def following(office: Office) -> dict[str, float | None]:
    page = office.api.jobs.page("default", limit=50, after=None)
    return {view.job.id: view.next_occurrence for view in page.items}


def left_early(office: Office, *days: str) -> None:
    """A change whose process ended before it edited the first job."""
    jobs = office.world.jobs
    office.world.jobs = around(jobs, change=failing(Killed()))
    with pytest.raises(Killed):
        put(office, *days)
    office.world.jobs = jobs


def actions(report: Report) -> list[tuple[str, Any]]:
    return [(event.action, event.facts.get("job_id")) for event in report.events if event.action.startswith("calendar")]


def test_calendar_check_continues_a_change_whose_request_ended_early(office: Office) -> None:
    put(office, TODAY)
    opened(office, "a", "b")
    office.create("0 18 * * *", "other")
    left_early(office, TOMORROW)
    assert following(office)["a"] == EVENING + DAY
    report = office.world.repair()
    assert actions(report) == [("calendar_followed", "a"), ("calendar_followed", "b")]
    assert following(office) == {"a": EVENING, "b": EVENING, "other": EVENING}
    (change, *_) = office.api.jobs.history("default", "a", limit=1, before=None).items
    assert (change.principal, change.action) == ("anna", "edited")
    office.world.clock.advance(DAY)
    assert actions(office.world.repair()) == []


def test_calendar_check_edits_a_job_once_for_changes_of_all_its_calendars(office: Office) -> None:
    put(office, TODAY)
    put(office, TODAY, calendar="company")
    office.create("0 18 * * *", "a", exclude=(CalendarDays("bank"), CalendarDays("company")))
    left_early(office, TOMORROW)
    jobs = office.world.jobs
    office.world.jobs = around(jobs, change=failing(Killed()))
    with pytest.raises(Killed):
        put(office, TOMORROW, calendar="company")
    office.world.jobs = jobs
    assert actions(office.world.repair()) == [("calendar_followed", "a")]
    assert following(office) == {"a": EVENING}
    copies = copies_of(office.api.jobs.get("default", "a").job.exclude)
    assert [(copy.id, copy.version) for copy in copies] == [("bank", 2), ("company", 2)]


def test_calendar_check_changes_no_job_that_has_the_present_days(office: Office) -> None:
    put(office, TODAY)
    opened(office, "a")
    put(office, TOMORROW)
    before_repair = office.api.jobs.get("default", "a").job
    assert actions(office.world.repair()) == []
    assert office.api.jobs.get("default", "a").job == before_repair


def test_calendar_check_leaves_completed_and_deleted_jobs_and_edits_paused_ones(office: Office) -> None:
    put(office, TODAY)
    opened(office, "paused", "deleted")
    office.create("0 18 * * *", "ended", exclude=(CalendarDays("bank"),), max_runs=1)
    office.pause("paused")
    left_early(office, TOMORROW)
    office.api.jobs.delete("default", "deleted")
    job = office.world.jobs.get("default", "ended")
    assert job is not None
    assert office.world.jobs.complete(job, at=office.world.clock.now(), expires_at=None)
    assert actions(office.world.repair()) == [("calendar_followed", "paused")]
    found = office.api.jobs.get("default", "paused").job
    assert (found.state, copies_of(found.exclude)[0].version) == (JobState.PAUSED, 2)


def test_calendar_check_names_a_job_that_would_never_run_again_and_goes_on(office: Office) -> None:
    put(office, TODAY)
    opened(office, "b")
    once = ScheduleSpec("at(2026-11-22T18:00:00)").expression
    office.create(once, "a", exclude=(CalendarDays("bank"),))
    left_early(office, TOMORROW)
    report = office.world.repair()
    assert actions(report) == [("calendar_not_followed", "a"), ("calendar_followed", "b")]
    assert not any(event.alarming for event in report.events)
    assert following(office)["a"] == EVENING + DAY, "it keeps its old days"


def test_calendar_check_error_of_one_job_does_not_stop_the_others(office: Office) -> None:
    put(office, TODAY)
    opened(office, "a", "b")
    left_early(office, TOMORROW)
    world, jobs = office.world, office.world.jobs
    fault = failing(NoAnswerError("no response"), when=lambda job, *_: job.id == "a", times=1)
    world.jobs = around(jobs, change=fault)
    report = world.repair()
    assert actions(report) == [("calendar_not_followed", "a"), ("calendar_followed", "b")]
    assert report.counts["RepairsFailed"] == 1
    world.jobs = jobs
    world.clock.advance(DAY)
    assert actions(world.repair()) == [("calendar_followed", "a")]


def test_calendar_check_stops_in_time_and_goes_on_in_the_next_pass(office: Office) -> None:
    put(office, TODAY)
    opened(office, "a", "b")
    left_early(office, TOMORROW)
    world, jobs = office.world, office.world.jobs
    world.jobs = around(jobs, change=before(lambda: world.clock.advance(PAGE_SECONDS)))
    assert actions(world.repair()) == [("calendar_followed", "a")]
    world.jobs = jobs
    world.clock.advance(DAY)
    assert actions(world.repair()) == [("calendar_followed", "b")]


@pytest.mark.parametrize("fault", [failing(Killed(), times=1), lost(Killed(), times=1), twice(times=1)])
def test_calendar_check_that_dies_or_repeats_a_write_edits_each_job_once(office: Office, fault: Any) -> None:
    put(office, TODAY)
    opened(office, "a", "b")
    left_early(office, TOMORROW)
    world, jobs = office.world, office.world.jobs
    world.jobs = around(jobs, change=fault)
    try:
        world.repair()
    except Killed:
        world.jobs = jobs
        world.repair()  # the next invocation reads the same page again
    assert following(office) == {"a": EVENING, "b": EVENING}
    for job_id in ("a", "b"):
        edits = office.api.jobs.history("default", job_id, limit=9, before=None).items
        assert [each.action for each in edits] == ["edited", "created"]
