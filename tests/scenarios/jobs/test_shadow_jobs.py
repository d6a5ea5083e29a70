"""Shadow jobs: they run nothing, store the pings of another scheduler, and are promoted."""

from collections.abc import Iterator
from typing import Any

import pytest

from duecourse.client import ApiError
from duecourse.domain.jobs.calendars import pause_of
from duecourse.domain.jobs.cursor import PlannedResume
from duecourse.domain.jobs.job import JobState
from duecourse.domain.jobs.shadow import MAX_IN_HOUR, ShadowPing, ShadowStatus, hour_of
from duecourse.testing import Scheduler
from duecourse.testing.faults import around, before, failing, lost
from duecourse.usecases.jobs.change import Draft
from duecourse.usecases.jobs.job_errors import JobChangedError
from duecourse.usecases.jobs.shadow import HourFullError
from tests.support.jobs import NOON, job
from tests.support.world import Killed, World

TARGET = {"type": "http", "url": "https://example.com/hook"}
BODY: dict[str, Any] = {"schedule": "0 * * * *", "target": TARGET}


@pytest.fixture
def scheduler() -> Iterator[Scheduler]:
    with Scheduler("2026-11-26T12:30:00Z") as scheduler:
        yield scheduler


def shadowed(scheduler: Scheduler, job_id: str = "hourly", **fields: Any) -> Any:
    return scheduler.client.put_job(job_id, BODY | fields, shadow=True)


def pinged_for(scheduler: Scheduler, hours: int, job_id: str = "hourly") -> None:
    """Let the other scheduler run the job for some hours, three seconds late."""
    scheduler.advance(minutes=30, seconds=3)
    for _ in range(hours):
        scheduler.client.ping_job(job_id)
        scheduler.advance(hours=1)


def test_shadow_job_calls_nothing_and_leaves_no_run(scheduler: Scheduler) -> None:
    made = shadowed(scheduler)
    assert (made.state, made.next_occurrence) == ("PAUSED", None)
    assert made.shadow_since is not None
    assert scheduler.advance(days=2) == []
    assert scheduler.client.list_runs("hourly").items == ()


def test_shadow_job_that_agrees_is_promoted_and_runs_at_its_next_occurrence(scheduler: Scheduler) -> None:
    shadowed(scheduler)
    pinged_for(scheduler, 5)
    report = scheduler.client.get_shadow_report("hourly")
    assert (report.status, report.agreed, report.missing, report.extra) == ("agrees", 5, 0, 0)
    assert report.lateness is not None
    assert report.lateness.most_seconds == 3
    promoted = scheduler.client.promote_job("hourly")
    assert (promoted.state, promoted.shadow_since, promoted.paused_because) == ("ACTIVE", None, None)
    assert promoted.next_occurrence is not None
    calls = scheduler.advance(hours=2)
    assert len(calls) == 2
    note = scheduler.client.get_job_history("hourly").items[0].document
    assert (note["action"], "5 agreed" in note["facts"]["note"]) == ("resumed", True)


def test_shadow_promotion_can_be_repeated(scheduler: Scheduler) -> None:
    shadowed(scheduler)
    pinged_for(scheduler, 3)
    first = scheduler.client.promote_job("hourly")
    second = scheduler.client.promote_job("hourly")
    assert (second.etag, second.state) == (first.etag, "ACTIVE")
    paused = scheduler.client.pause_job("hourly")
    assert scheduler.client.promote_job("hourly").etag == paused.etag


@pytest.mark.parametrize(
    ("hours", "more", "said"),
    [
        (0, 0, "could be compared yet"),
        (0, 3, "no ping of the other scheduler has arrived"),
        (2, 3, "3 occurrences without a ping and 0 pings"),
    ],
)
def test_shadow_job_that_does_not_agree_is_promoted_only_with_force(
    scheduler: Scheduler, hours: int, more: int, said: str
) -> None:
    shadowed(scheduler)
    pinged_for(scheduler, hours)
    scheduler.advance(hours=more)
    with pytest.raises(ApiError, match=said) as refused:
        scheduler.client.promote_job("hourly")
    assert refused.value.status == 409
    assert scheduler.client.get_job("hourly").state == "PAUSED"
    assert scheduler.client.promote_job("hourly", force=True).state == "ACTIVE"


def test_shadow_job_whose_first_occurrence_is_to_come_waits(scheduler: Scheduler) -> None:
    shadowed(scheduler)
    scheduler.advance(minutes=10)
    scheduler.client.ping_job("hourly")
    assert scheduler.client.get_shadow_report("hourly").status == "disagrees"
    shadowed(scheduler, "other")
    scheduler.client.ping_job("other")
    assert scheduler.client.get_shadow_report("other").status == "waits"
    with pytest.raises(ApiError, match=r"no occurrence since .* could be compared yet"):
        scheduler.client.promote_job("other")


def test_shadow_ping_names_its_occurrence_and_can_be_repeated(scheduler: Scheduler) -> None:
    shadowed(scheduler)
    scheduler.advance(minutes=45)
    for _ in range(3):
        scheduler.client.ping_job("hourly", occurrence="2026-11-26T13:00Z")
        scheduler.advance(seconds=10)
    report = scheduler.client.get_shadow_report("hourly")
    assert (report.status, report.pings, report.agreed) == ("agrees", 1, 1)
    assert report.lateness is not None
    assert report.lateness.most_seconds == 15 * 60


@pytest.mark.parametrize("occurrence", ["2026-10-01T13:00Z", "2026-11-26T12:36Z", "soon"])
def test_shadow_ping_for_another_time_is_rejected(scheduler: Scheduler, occurrence: str) -> None:
    shadowed(scheduler)
    with pytest.raises(ApiError, match="occurrence") as refused:
        scheduler.client.ping_job("hourly", occurrence=occurrence)
    assert refused.value.status == 400


def test_shadow_ping_of_a_job_that_is_none_is_rejected(scheduler: Scheduler) -> None:
    scheduler.client.put_job("hourly", BODY)
    with pytest.raises(ApiError, match="does not expect pings"):
        scheduler.client.ping_job("hourly")
    with pytest.raises(ApiError, match="only for a shadow of another scheduler, and hourly is not one"):
        scheduler.client.ping_job("hourly", occurrence="2026-11-26T12:00Z")
    with pytest.raises(ApiError, match="not a shadow of another scheduler, so it has no report"):
        scheduler.client.get_shadow_report("hourly")
    with pytest.raises(ApiError, match="There is no job"):
        scheduler.client.ping_job("unknown", occurrence="2026-11-26T12:00Z")


def test_shadow_job_is_not_resumed_or_paused_until_a_time(scheduler: Scheduler) -> None:
    shadowed(scheduler, tags=["billing"])
    for resumed in (
        lambda: scheduler.client.resume_job("hourly"),
        lambda: scheduler.client.pause_job("hourly", until="2026-11-27T12:00:00Z"),
    ):
        with pytest.raises(ApiError, match="is a shadow of another scheduler, so it stays paused"):
            resumed()
    assert scheduler.client.resume_jobs(all=True).changed == 0
    assert list(scheduler.client.resume_jobs(all=True, others=True).failed) == ["hourly"]
    assert scheduler.client.pause_jobs(tag="billing", until="2026-11-27T12:00:00Z").changed == 0
    assert scheduler.client.pause_job("hourly").shadow_since is not None
    assert scheduler.advance(days=2) == []


def test_shadow_job_stays_one_when_it_is_edited(scheduler: Scheduler) -> None:
    shadowed(scheduler)
    pinged_for(scheduler, 3)
    edited = scheduler.client.put_job("hourly", BODY | {"name": "Each hour"})
    assert (edited.state, edited.shadow_since is None) == ("PAUSED", False)
    assert scheduler.client.get_shadow_report("hourly").agreed == 3
    read = scheduler.client.get_job("hourly").document
    assert scheduler.client.put_job("hourly", read).shadow_since is not None
    scheduler.client.patch_job("hourly", {"schedule": "*/30 * * * *"})
    assert scheduler.client.get_shadow_report("hourly").agreed == 0
    assert scheduler.advance(days=1) == []


def test_shadow_request_does_not_change_an_existing_job(scheduler: Scheduler) -> None:
    scheduler.client.put_job("hourly", BODY)
    assert shadowed(scheduler, name="Renamed").state == "ACTIVE"
    assert len(scheduler.advance(hours=2)) == 2


def test_shadow_dry_run_shows_a_shadow_and_creates_nothing(scheduler: Scheduler) -> None:
    seen = scheduler.client.put_job("hourly", BODY, shadow=True, dry_run=True)
    assert (seen.state, seen.shadow_since is None) == ("PAUSED", False)
    assert scheduler.client.list_jobs().items == ()


def test_shadow_job_needs_a_schedule(scheduler: Scheduler) -> None:
    with pytest.raises(ApiError, match="is required for a shadow job") as refused:
        shadowed(scheduler, schedule=None)
    assert refused.value.status == 422


def test_shadow_explanation_names_the_other_scheduler(scheduler: Scheduler) -> None:
    shadowed(scheduler)
    scheduler.advance(hours=2)
    found = scheduler.client.explain_job("hourly", at="2026-11-26T13:00:00Z").document
    assert "shadow of another scheduler" in found["sentence"]


def test_shadow_job_can_be_run_by_a_request(scheduler: Scheduler) -> None:
    shadowed(scheduler)
    scheduler.client.run_job("hourly")
    assert len(scheduler.advance(minutes=1)) == 1


def test_shadow_pings_of_a_deleted_job_are_not_in_the_report_of_the_next_one(scheduler: Scheduler) -> None:
    shadowed(scheduler)
    pinged_for(scheduler, 2)
    scheduler.client.delete_job("hourly")
    with pytest.raises(ApiError, match="There is no job"):
        scheduler.client.ping_job("hourly")
    scheduler.advance(minutes=10)
    shadowed(scheduler)
    report = scheduler.client.get_shadow_report("hourly")
    assert (report.status, report.pings) == ("waits", 0)


def test_shadow_report_after_days_knows_that_pings_had_begun(scheduler: Scheduler) -> None:
    shadowed(scheduler)
    pinged_for(scheduler, 2)
    scheduler.advance(days=3)
    scheduler.client.ping_job("hourly")
    report = scheduler.client.get_shadow_report("hourly", days=1)
    assert (report.status, report.before_first_ping) == ("disagrees", 0)
    assert report.missing >= 23


def test_shadow_report_a_week_after_the_last_change_looks_at_the_hour_of_that_change(scheduler: Scheduler) -> None:
    shadowed(scheduler)
    pinged_for(scheduler, 24 * 7 - 1)
    scheduler.client.ping_job("hourly")
    scheduler.advance(minutes=34)
    report = scheduler.client.get_shadow_report("hourly")
    assert (report.status, report.agreed, report.missing) == ("agrees", 24 * 7, 0)
    assert scheduler.client.promote_job("hourly").state == "ACTIVE"


def test_shadow_pings_from_before_a_change_of_the_schedule_make_no_occurrence_missing(scheduler: Scheduler) -> None:
    """The other scheduler is connected again ten days after the change; until then, nothing was expected of it."""
    shadowed(scheduler)
    scheduler.advance(minutes=30, seconds=3)
    scheduler.client.ping_job("hourly")
    scheduler.advance(minutes=20)
    scheduler.client.patch_job("hourly", {"schedule": "30 */2 * * *"})
    scheduler.advance_to("2026-12-06T18:30:02Z")
    scheduler.client.ping_job("hourly")
    scheduler.advance(minutes=10)
    report = scheduler.client.get_shadow_report("hourly")
    assert (report.status, report.agreed, report.missing) == ("agrees", 1, 0)


def test_shadow_pings_of_a_job_deleted_a_moment_ago_make_no_occurrence_missing(scheduler: Scheduler) -> None:
    shadowed(scheduler)
    scheduler.advance(minutes=59)
    scheduler.client.ping_job("hourly")
    scheduler.client.delete_job("hourly")
    scheduler.advance(seconds=30)
    shadowed(scheduler)
    scheduler.advance(hours=5)
    report = scheduler.client.get_shadow_report("hourly")
    assert (report.status, report.pings, report.missing) == ("no_pings", 0, 0)


def test_shadow_pings_of_an_hour_are_limited(world: World) -> None:
    a_shadow(world)
    pings, hour = world.jobs.shadow_pings, hour_of(int(NOON)) - 3600
    for second in range(MAX_IN_HOUR):
        pings.put("default", "tick-tock", ShadowPing(hour + second, hour + second))
    world.api.shadows.ping("default", "tick-tock", hour)
    with pytest.raises(HourFullError):
        world.api.shadows.ping("default", "tick-tock", hour + 3599)


def test_shadow_job_of_each_month_is_promoted_with_more_days(scheduler: Scheduler) -> None:
    """A week after its occurrence, seven days have nothing to compare: the old scheduler is connected nevertheless."""
    shadowed(scheduler, schedule="0 13 26 * *")
    pinged_for(scheduler, 1)
    scheduler.advance(days=9)
    assert scheduler.client.get_shadow_report("hourly").status == "waits"
    with pytest.raises(ApiError, match="could be compared yet; wait for the next one, set more days, or set force"):
        scheduler.client.promote_job("hourly")
    assert scheduler.client.promote_job("hourly", days=35).state == "ACTIVE"


# Faults.


def a_shadow(world: World) -> None:
    """A shadow job of each minute, with two pings."""
    made = job("* * * * *")
    world.api.editing.put("default", made.id, lambda _: Draft.of(made), shadow=True)
    for _ in range(2):
        world.until(world.clock.now() + 60)
        world.api.shadows.ping("default", made.id, None)


def promoted(world: World) -> bool:
    _, by_this_call = world.api.shadows.promote("default", "tick-tock", force=False, charge=lambda _: None)
    return by_this_call


def test_shadow_promotion_whose_response_is_lost_is_found_by_the_repetition(world: World) -> None:
    a_shadow(world)
    jobs = world.jobs
    world.jobs = around(jobs, change=lost(Killed()))
    with pytest.raises(Killed):
        promoted(world)
    world.jobs = jobs
    assert not promoted(world)
    world.until(NOON + 300)
    assert world.caller.runs == [f"tick-tock.20261121T120{minute}00Z" for minute in (3, 4, 5)]


def test_shadow_promotion_that_dies_before_its_write_changes_nothing(world: World) -> None:
    a_shadow(world)
    jobs = world.jobs
    world.jobs = around(jobs, change=failing(Killed()))
    with pytest.raises(Killed):
        promoted(world)
    world.jobs = jobs
    world.until(NOON + 240)
    assert world.caller.runs == []
    assert world.api.shadows.ping("default", "tick-tock", None)[0].job.shadow_since is not None


def test_shadow_job_that_changes_after_its_report_is_not_promoted(world: World) -> None:
    a_shadow(world)
    jobs = world.jobs

    def edit() -> None:
        world.jobs = jobs
        made = job("*/2 * * * *")
        world.api.editing.put("default", made.id, lambda _: Draft.of(made))

    world.jobs = around(jobs, get_cursor=before(edit, times=1))
    with pytest.raises(JobChangedError):
        promoted(world)
    world.jobs = jobs
    world.until(NOON + 240)
    assert world.caller.runs == []


def test_shadow_promotion_after_a_faster_one_changes_nothing(world: World) -> None:
    """Neither does it end the planned pause of the job."""
    a_shadow(world)
    start = int(world.clock.now()) + 3600
    pause = PlannedResume(start + 3600, catch_up=False)
    jobs = world.jobs

    def promote_first() -> None:
        world.jobs = jobs
        assert promoted(world)
        world.api.pausing.pause("default", "tick-tock", start=start, end=pause)

    world.jobs = around(jobs, get_cursor=before(promote_first, times=1))
    assert not promoted(world)
    found = world.jobs.get("default", "tick-tock")
    assert found is not None
    assert (found.state, pause_of(found.exclude) is None) == (JobState.ACTIVE, False)


def test_shadow_ping_whose_response_is_lost_is_stored_once(world: World) -> None:
    a_shadow(world)
    occurrence = int(NOON) + 180
    world.until(NOON + 190)
    first = world.api.shadows.ping("default", "tick-tock", occurrence)[1]
    world.until(NOON + 200)
    assert world.api.shadows.ping("default", "tick-tock", occurrence)[1] == first
    _, report = world.api.shadows.report("default", "tick-tock", charge=lambda _: None)
    assert (report.pings, report.agreed, report.status) == (3, 3, ShadowStatus.AGREES)


def test_shadow_report_is_charged_before_pings_are_read(world: World) -> None:
    a_shadow(world)

    def refuse(cost: int) -> None:
        raise OverflowError(cost)

    with pytest.raises(OverflowError, match=r"^1$"):
        world.api.shadows.report("default", "tick-tock", charge=refuse)
