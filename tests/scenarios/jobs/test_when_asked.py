"""A job without a schedule: it runs when it is asked to, and is never over."""

from functools import partial

import pytest

from duecourse.domain.instants import DAY_SECONDS
from duecourse.domain.jobs.backfill import Backfill
from duecourse.domain.jobs.job import Completion, JobState, Overlap
from duecourse.domain.runs.explain import Verdict
from duecourse.domain.runs.states import RunState
from duecourse.messages import MessageKind
from duecourse.usecases.report import Report
from duecourse.usecases.runs.skip_next import NothingToSkipError
from duecourse_schedules import ScheduleError
from tests.support.audited import AuditedWorld
from tests.support.jobs import NOON, job
from tests.support.tables import Tables
from tests.support.world import Office

N = int(NOON)
S, K, C, Q, W = RunState.SUCCEEDED, RunState.SKIPPED, RunState.CANCELLED, RunState.QUEUED, RunState.WAITING
when_asked = partial(job, "")


@pytest.fixture
def world(tables: Tables) -> AuditedWorld:
    made = AuditedWorld(tables)
    made.cursors.highest_shards(1)  # a tick has come
    return made


def alarms(reports: list[Report]) -> list[str]:
    return [event.action for report in reports for event in report.events if event.alarming]


def test_job_without_schedule_runs_only_on_request(world: AuditedWorld, office: Office) -> None:
    world.add(when_asked())
    world.until(NOON + 600)
    assert world.runs("tick-tock") == []
    first = office.run()
    world.until(NOON + 1200)
    second = office.run()
    world.until(NOON + 1800)
    assert world.caller.runs == [str(first.name), str(second.name)]
    assert world.states("tick-tock") == [(600, S), (1200, S)]


@pytest.mark.parametrize(
    ("overlap", "beside", "after"),
    [
        (Overlap.SKIP, [W, K], [S, K]),
        (Overlap.QUEUE, [W, Q], [S, W]),
        (Overlap.NEWEST, [W, Q], [S, W]),
        (Overlap.REPLACE, [C, W], [C, W]),
        (Overlap.ALLOW, [W, W], [S, W]),
    ],
)
def test_job_without_schedule_treats_a_second_request_during_a_run_by_its_overlap_rule(
    world: AuditedWorld, office: Office, overlap: Overlap, beside: list[RunState], after: list[RunState]
) -> None:
    world.add(when_asked(overlap=overlap, completion=Completion.CALLBACK))
    first = office.run()
    world.until(NOON + 10)
    second = office.run()
    world.until(NOON + 20)

    def states() -> list[RunState]:
        return [office.record(run).state for run in (first, second)]

    assert states() == beside
    world.tell(world.about(office.record(first), MessageKind.COMPLETE))
    world.until(NOON + 40)
    assert states() == after


def test_job_without_schedule_is_never_completed_repaired_audited_or_cleaned_up(
    world: AuditedWorld, office: Office
) -> None:
    made = world.add(when_asked())
    office.run()
    world.until(NOON + 60)
    cursor = world.jobs.get_cursor("default", made.id)
    for day in (1, 2, 200):
        world.clock.set(NOON + day * DAY_SECONDS)
        world.repair()
        world.audit()
    assert office.job() == made
    assert world.jobs.get_cursor("default", made.id) == cursor
    assert alarms(world.reports) == []
    assert world.count("EntriesChecked") == 3
    for metric in ("JobsCompleted", "CursorsRepaired", "JobsCleanedUp", "OccurrencesAudited"):
        assert world.count(metric) == 0


def test_job_without_schedule_runs_during_a_pause_and_is_active_after_it_with_nothing_skipped(
    world: AuditedWorld, office: Office
) -> None:
    world.add(when_asked())
    world.api.pausing.pause("default", "tick-tock", by="anna")
    asked = office.run()
    world.until(NOON + 300)
    assert (office.record(asked).state, office.job().state) == (S, JobState.PAUSED)
    for catch_up in (False, True):
        world.api.pausing.pause("default", "tick-tock")
        view = world.api.pausing.resume("default", "tick-tock", catch_up=catch_up)
        assert (view.job.state, view.next_occurrence) == (JobState.ACTIVE, None)
    world.until(NOON + 600)
    assert office.job().state is JobState.ACTIVE
    assert world.states("tick-tock") == [(0, S)]


def test_job_without_schedule_still_runs_due_occurrences_of_its_removed_schedule_but_no_later_ones(
    world: AuditedWorld, office: Office
) -> None:
    world.add(job("* * * * *"))
    world.until(NOON + 150)
    world.clock.set(NOON + 181)  # that of 180 s is in its lane, and so are those of the next minutes
    world.office.edit("tick-tock", "")
    world.until(NOON + 1200)
    assert world.states("tick-tock") == [(60, S), (120, S), (180, S)]
    assert office.job().state is JobState.ACTIVE
    assert len(world.wheel) == 0


def test_job_without_schedule_keeps_requested_runs_while_a_schedule_is_added_and_removed(
    world: AuditedWorld, office: Office
) -> None:
    world.add(when_asked(completion=Completion.CALLBACK, overlap=Overlap.QUEUE))
    first, second = office.run(), office.run()
    world.until(NOON + 10)
    world.office.edit("tick-tock", "0 * * * *")
    third = office.run()  # its message is in the lane when the job is edited again
    world.office.edit("tick-tock", "")
    for run in (first, second, third):
        world.until(world.clock.now() + 30)
        world.tell(world.about(office.record(run), MessageKind.COMPLETE))
    world.until(NOON + 7200)
    assert [office.record(run).state for run in (first, second, third)] == [S, S, S]
    assert (office.job().state, len(world.runs("tick-tock"))) == (JobState.ACTIVE, 3)


def test_job_without_schedule_comes_due_as_soon_as_it_has_a_schedule(world: AuditedWorld) -> None:
    world.add(when_asked())
    world.until(NOON + 90)
    world.office.edit("tick-tock", "* * * * *")
    world.until(NOON + 240)
    assert world.states("tick-tock") == [(120, S), (180, S), (240, S)]


@pytest.mark.parametrize("expression", ["at(2026-11-21T12:01:00)", "R2/2026-11-21T12:00:30Z/PT30S"])
def test_job_without_schedule_is_active_again_once_its_ended_schedule_is_removed(
    world: AuditedWorld, office: Office, expression: str
) -> None:
    world.add(job(expression))
    world.until(NOON + 120)
    assert office.job().state is JobState.COMPLETED
    world.office.edit("tick-tock", "")
    office.run()
    world.until(NOON + 300)
    world.clock.set(NOON + DAY_SECONDS)
    world.repair()
    assert office.job().state is JobState.ACTIVE


def test_job_without_schedule_is_not_completed_by_the_last_run_of_its_removed_schedule(
    world: AuditedWorld, office: Office
) -> None:
    world.add(job("at(2026-11-21T12:01:00)", completion=Completion.CALLBACK))
    world.until(NOON + 90)
    world.office.edit("tick-tock", "")
    (run,) = world.runs("tick-tock")
    world.tell(world.about(run, MessageKind.COMPLETE))
    world.until(NOON + 300)
    assert world.states("tick-tock") == [(60, S)]
    assert office.job().state is JobState.ACTIVE


def test_job_without_schedule_can_neither_skip_nor_backfill(world: AuditedWorld, office: Office) -> None:
    world.add(when_asked())
    with pytest.raises(NothingToSkipError):
        office.skip()
    with pytest.raises(ScheduleError, match="is null, so the job has no occurrences to backfill"):
        office.backfill(Backfill(N - 3600, N))
    assert world.jobs.history("default", "tick-tock", limit=10, before=None).items == ()


def test_job_without_schedule_explains_a_requested_run_at_its_second_and_gives_a_reason_for_other_times(
    world: AuditedWorld, office: Office
) -> None:
    world.add(when_asked())
    world.until(NOON + 30)
    asked = office.run()
    world.until(NOON + 60)
    explain = world.api.explain

    def verdict(second: int) -> tuple[Verdict, str | None]:
        explained = explain("default", "tick-tock", N + second)
        return explained.found.verdict, None if explained.run is None else str(explained.run.name)

    assert verdict(30) == (Verdict.FIRED, str(asked.name))
    assert verdict(29) == verdict(31) == (Verdict.NOT_AN_OCCURRENCE, None)
