"""Pauses that end by themselves: a round of dispatch sends the runs after the end in advance,
and the first round after the end resumes the job."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from duecourse.domain.jobs.cursor import Cursor, PlannedResume
from duecourse.domain.jobs.document import ChangeRecord
from duecourse.domain.jobs.job import DUECOURSE, Job, JobState, Lane, MissedMode, MissedPolicy, Overlap, RetryPolicy
from duecourse.domain.runs.states import RunState
from duecourse.domain.targets.targets import Failed
from duecourse.ports import StoreBusyError
from duecourse.stores.cursors import CursorStore
from duecourse.testing.clock import SettableClock
from duecourse.testing.faults import around, before
from duecourse.usecases.jobs.job_errors import PauseEndError, Precondition
from duecourse.usecases.jobs.pausing import JobSelection
from duecourse_schedules import ScheduleSpec
from tests.support.jobs import NOON, job
from tests.support.world import Killed, Office, World, dying

START = int(NOON)
END = START + 630


def pause(world: World, end: int | None = END, job_id: str = "tick-tock", **more: Any) -> Job:
    catch_up = more.pop("catch_up", False)
    planned = None if end is None else PlannedResume(end, catch_up)
    return world.api.pausing.pause("default", job_id, end=planned, **more).job


def called(world: World) -> list[tuple[int, float]]:
    """Second of the occurrence and of the call, after NOON."""
    return [
        (int(run.rpartition(".")[2][9:11]) * 3600 + int(run[-5:-3]) * 60 + int(run[-3:-1]) - 12 * 3600, at - NOON)
        for run, _, at in world.caller.calls
    ]


def skipped(world: World, job_id: str = "tick-tock") -> list[tuple[int, str | None, int]]:
    return [
        (run.occurrence - START, run.reason, run.count) for run in world.runs(job_id) if run.state is RunState.SKIPPED
    ]


def history(world: World, job_id: str = "tick-tock") -> list[ChangeRecord]:
    """Newest first."""
    return list(world.jobs.history("default", job_id, limit=50, before=None).items)


def found(world: World, job_id: str = "tick-tock") -> Job:
    job = world.jobs.get("default", job_id)
    assert job is not None
    return job


def test_pause_until_resumes_the_job_automatically_and_its_runs_are_on_time(world: World) -> None:
    world.add(job("* * * * *"))
    world.until(NOON + 150)
    paused = pause(world, note="maintenance", by="ada")
    assert (paused.state, paused.paused_until) == (JobState.PAUSED, END)
    world.until(NOON + 840)
    assert called(world) == [(at, at) for at in (60, 120, 660, 720, 780, 840)]
    assert skipped(world) == [(180, "paused", 8)]
    assert found(world).state is JobState.ACTIVE
    assert (found(world).paused_because, found(world).pause_ends_at) == (None, None)


def test_pause_until_runs_the_occurrence_at_the_end_and_not_the_one_before(world: World) -> None:
    world.add(job("rate(10 seconds)"))
    pause(world, START + 100)
    world.until(NOON + 125)
    assert called(world) == [(100, 100), (110, 110), (120, 120)]
    assert skipped(world) == [(10, "paused", 9)]


def test_pause_until_misses_no_occurrence_after_the_end_however_short_its_grace_period(world: World) -> None:
    world.add(job("rate(10 seconds)", missed=MissedPolicy(MissedMode.SKIP, grace_seconds=0)))
    pause(world, START + 601)
    world.until(NOON + 700)
    assert [second for second, _ in called(world)] == list(range(610, 701, 10))


def test_pause_until_edit_during_the_reads_of_the_job_and_its_cursor_reaches_the_cursor(world: World) -> None:
    world.add(job("* * * * *"))
    pause(world)
    world.until(END - 150)
    store, edits = world.jobs, [Lane.HIGH]

    def edit() -> None:
        while edits:
            Office(world).edit(priority=edits.pop())

    def torn(real: Callable[..., Any], *where: str) -> Any:
        """Reading both is no snapshot: here the cursor is read before the edit, and the job after it."""
        standing = store.get_cursor(*where)
        edit()
        return real(*where)[0], standing

    world.jobs = around(store, get_both=torn, get_cursor=before(edit, times=1))
    world.until(END + 100)
    standing = store.get_cursor("default", "tick-tock")
    assert standing is not None
    assert (found(world).state, edits) == (JobState.ACTIVE, [])
    assert (found(world).lane, standing.lane) == (Lane.HIGH, Lane.HIGH)


@pytest.mark.parametrize(
    ("policy", "runs"),
    [
        (MissedPolicy(MissedMode.RUN_ONCE), [180, 600, 660]),
        (MissedPolicy(MissedMode.RUN_ALL, max_missed=3), [180, 240, 300, 600, 660]),
        (MissedPolicy(MissedMode.SKIP), [600, 660]),
    ],
    ids=["run_once", "run_all", "skip"],
)
def test_pause_until_with_catch_up_follows_the_policy_of_the_job_and_starts_after_the_end(
    world: World, policy: MissedPolicy, runs: list[int]
) -> None:
    world.add(job("* * * * *", missed=policy, overlap=Overlap.ALLOW))
    world.until(NOON + 150)
    pause(world, catch_up=True)
    world.until(NOON + 660)
    done = [second for second, state in world.states("tick-tock") if state is RunState.SUCCEEDED]
    assert done == [60, 120, *runs]
    assert all(at >= 630 for _, at in called(world)[2:])


def test_pause_until_records_the_reason_of_the_resume_in_the_history(world: World) -> None:
    world.add(job("* * * * *"))
    pause(world, note="maintenance", by="ada")
    world.until(NOON + 700)
    resumed, paused, *_ = history(world)
    assert (resumed.action, resumed.principal, resumed.at) == ("resumed", DUECOURSE, END)
    assert resumed.facts == {"note": "the planned end of the pause"}
    assert {"field": "state", "before": "PAUSED", "after": "ACTIVE"} in resumed.changes
    assert {"field": "paused_until", "before": None, "after": "2026-11-21T12:10:30Z"} in paused.changes


def test_pause_until_does_not_change_a_job_that_was_resumed_earlier(world: World) -> None:
    world.add(job("* * * * *"))
    pause(world)
    world.until(NOON + 330)
    world.office.resume()
    standing = found(world)
    assert standing.paused_until is None
    world.until(NOON + 780)
    assert found(world) == standing
    assert called(world) == [(at, at) for at in range(360, 781, 60)]
    assert skipped(world) == [(60, "paused", 5)]


@pytest.mark.parametrize("end", [START + 330, START + 1230], ids=["earlier", "later"])
def test_pause_until_second_pause_moves_the_end_and_keeps_the_start(world: World, end: int) -> None:
    world.add(job("* * * * *"))
    world.until(NOON + 60)
    first = pause(world, note="maintenance", by="ada")
    world.until(NOON + 90)
    second = pause(world, end, by="bob")
    assert (second.paused_at, second.paused_by, second.paused_because) == (first.paused_at, "ada", "maintenance")
    assert pause(world, end) == second
    world.until(end + 60)
    assert called(world)[1:] == [(end - START + 30, end - START + 30)]


def test_pause_until_second_pause_without_an_end_lasts(world: World) -> None:
    world.add(job("* * * * *"))
    pause(world)
    assert pause(world, None, note="for good", by="bob").paused_until is None
    world.until(NOON + 1800)
    assert (found(world).state, found(world).paused_because) == (JobState.PAUSED, "for good")
    assert called(world) == []
    world.office.resume()
    assert pause(world, START + 3600).paused_until == START + 3600


@pytest.mark.parametrize("changes", [{"name": "other"}, {"expression": "30 * * * *"}], ids=["name", "schedule"])
def test_pause_until_keeps_its_end_after_an_edit(world: World, changes: dict[str, Any]) -> None:
    world.add(job("* * * * *"))
    pause(world)
    world.until(NOON + 300)
    world.office.edit(**changes)
    assert (found(world).state, found(world).paused_until) == (JobState.PAUSED, END)
    world.until(NOON + 1860)
    assert found(world).state is JobState.ACTIVE
    first = 1800 if "expression" in changes else 660
    assert called(world)[0] == (first, first)


def test_pause_until_resumes_neither_a_deleted_job_nor_its_recreated_job(world: World) -> None:
    world.office.create("* * * * *")
    pause(world)
    world.until(NOON + 90)
    world.office.delete()
    world.until(NOON + 120)
    world.office.create("* * * * *")
    pause(world, None)
    world.until(NOON + 1800)
    assert found(world).state is JobState.PAUSED
    assert called(world) == []


def test_pause_until_completes_a_job_whose_last_occurrence_falls_into_the_pause(world: World) -> None:
    world.add(job("at(2026-11-21T12:03:00)"))
    pause(world)
    world.until(NOON + 720)
    assert found(world).state is JobState.COMPLETED
    assert skipped(world) == [(180, "paused", 1)]


def test_pause_until_resumes_a_job_without_a_schedule_which_then_runs_only_on_request(world: World) -> None:
    world.add(job(""))
    pause(world)
    world.until(NOON + 720)
    assert found(world).state is JobState.ACTIVE
    cursor = world.jobs.get_cursor("default", "tick-tock")
    assert cursor is not None
    assert (cursor.due, cursor.resume) == (None, None)


def test_pause_until_counts_only_earlier_due_occurrences_towards_max_runs(world: World) -> None:
    world.add(job("* * * * *", max_runs=12))
    world.until(NOON + 150)
    pause(world)
    world.until(NOON + 1800)
    assert [second for second, _ in called(world)] == [60, 120, *range(660, 1201, 60)]
    assert found(world).state is JobState.COMPLETED


@pytest.mark.parametrize("wrong", [-5, 5])
def test_pause_until_resumes_for_the_same_instant_despite_a_wrong_dispatcher_clock(world: World, wrong: float) -> None:
    world.add(job("rate(10 seconds)"))
    pause(world)
    world.until(NOON + 480)
    for minute in range(480, 721, 60):
        world.until(NOON + minute, ticking=False)
        round_at(world, world.clock.now() + wrong)
    world.until(NOON + 727, ticking=False)  # a slow clock's messages are as late as the clock
    assert [second for second, _ in called(world)] == list(range(630, 721, 10))
    assert skipped(world) == [(10, "paused", 62)]


def round_at(world: World, now: float) -> None:
    """A round of a dispatcher whose clock shows another time."""
    wiring = world.wiring(SettableClock(now))
    world.note(wiring.dispatch(0, now + 45))


def test_pause_until_resumes_once_despite_duplicate_rounds_or_a_stale_index(world: World) -> None:
    world.add(job("* * * * *"))
    pause(world)
    stale = world.jobs.get_cursor("default", "tick-tock")
    assert stale is not None
    for minute in range(60, 781, 60):
        world.until(NOON + minute, ticking=False)
        world.dispatch()
        world.dispatch(Stale(world.cursors, stale))
        world.work()
    assert called(world) == [(660, 660), (720, 720), (780, 780)]
    assert [each.action for each in history(world)] == ["resumed", "paused"]


@dataclass
class Stale:
    """A cursor store whose index still shows this cursor."""

    store: CursorStore
    cursor: Cursor

    def __getattr__(self, name: str) -> object:
        return getattr(self.store, name)

    def due(self, slot: str, until: float, rare_until: float | None = None) -> list[list[Cursor]]:
        del slot, rare_until
        return [[self.cursor]] if self.cursor.due is not None and self.cursor.due <= until else []


def test_pause_until_does_not_resume_a_job_with_a_prolonged_pause_from_a_stale_index(world: World) -> None:
    world.add(job("* * * * *"))
    pause(world)
    stale = world.jobs.get_cursor("default", "tick-tock")
    assert stale is not None
    pause(world, None)
    world.until(NOON + 700)
    world.dispatch(Stale(world.cursors, stale))
    assert found(world).state is JobState.PAUSED


def test_pause_until_next_round_dispatches_a_job_resumed_by_a_round_that_died(world: World) -> None:
    world.add(job("* * * * *"))
    pause(world)
    world.until(NOON + 659)
    world.until(NOON + 660, ticking=False)
    with pytest.raises(Killed):
        world.dispatch(dying(world.cursors))
    assert found(world).state is JobState.ACTIVE
    world.until(NOON + 840)
    assert called(world) == [(at, at) for at in range(660, 841, 60)]


def test_pause_until_store_error_delays_the_end_of_one_pause_to_the_next_round(world: World) -> None:
    world.add(job("* * * * *"))
    world.add(job("* * * * *", id="other"))
    pause(world)
    pause(world, job_id="other")
    sound = world.jobs
    world.jobs = Refusing(sound, "tick-tock")  # type: ignore[assignment]
    world.until(NOON + 660)
    assert [found(world, name).state for name in ("tick-tock", "other")] == [JobState.PAUSED, JobState.ACTIVE]
    assert world.count("ClaimsDeferred") == 1
    world.jobs = sound
    world.until(NOON + 720)
    assert found(world).state is JobState.ACTIVE
    on_time = ["tick-tock.20261121T121100Z", "tick-tock.20261121T121200Z"]
    assert [run for run in world.caller.runs if run.startswith("tick")] == on_time


@dataclass
class Refusing:
    """A job store that cannot change one job."""

    store: Any
    job_id: str

    def __getattr__(self, name: str) -> Any:
        return getattr(self.store, name)

    def change(self, job: Job, *rest: Any) -> bool:
        if job.id == self.job_id:
            raise StoreBusyError("throttled")
        changed: bool = self.store.change(job, *rest)
        return changed


def test_pause_until_keeps_a_job_with_an_invalid_schedule_paused_and_shows_the_error(world: World) -> None:
    made = world.add(job("* * * * *"))
    world.add(job("* * * * *", id="other"))
    pause(world)
    pause(world, job_id="other")
    standing, cursor = found(world), world.jobs.get_cursor("default", made.id)
    assert cursor is not None
    broken = replace(cursor, schedule=ScheduleSpec("99 * * * *"), after=cursor.after + 1)
    assert world.jobs.change(standing, cursor, replace(standing, revision=standing.revision + 1), broken)
    world.until(NOON + 660)
    assert [found(world, name).state for name in ("tick-tock", "other")] == [JobState.PAUSED, JobState.ACTIVE]
    view = world.api.jobs.get("default", made.id)
    assert view.error is not None
    assert view.error.startswith("its pause cannot end: ")


def test_pause_until_for_a_tag_ends_for_the_jobs_that_it_paused(world: World) -> None:
    for name in ("a", "b", "earlier", "later", "for-good", "outside"):
        world.add(job("* * * * *", id=name, tags=() if name == "outside" else ("billing",)))
    pause(world, START + 300, "earlier")
    pause(world, START + 1500, "later")
    pause(world, None, "for-good")
    world.api.pausing.pause_many("default", JobSelection("billing"), by="ada", end=PlannedResume(END))
    assert [found(world, name).paused_until for name in ("a", "earlier", "later")] == [END, END, START + 1500]
    world.until(NOON + 700)
    states = {name: found(world, name).state.value for name in ("a", "b", "earlier", "later", "for-good")}
    assert states == {"a": "ACTIVE", "b": "ACTIVE", "earlier": "ACTIVE", "later": "PAUSED", "for-good": "PAUSED"}


def test_pause_until_repeated_for_a_tag_moves_its_end(world: World) -> None:
    world.add(job("* * * * *", tags=("billing",)))
    pausing = world.api.pausing
    for end in (END, START + 900):
        changed = pausing.pause_many("default", JobSelection("billing"), by="ada", end=PlannedResume(end)).changed
        assert (changed, found(world).paused_until) == (1, end)
    resumed = pausing.resume_many("default", JobSelection("billing"), catch_up=False)
    assert (resumed.changed, found(world).state) == (1, JobState.ACTIVE)


@pytest.mark.parametrize(
    ("end", "said"),
    [(START, "is in the past"), (START + 367 * 86_400, "is too far ahead; choose a time within 366 days")],
)
def test_pause_until_rejects_an_impossible_end(world: World, end: int, said: str) -> None:
    world.add(job("* * * * *"))
    with pytest.raises(PauseEndError, match=said):
        pause(world, end)
    assert found(world).state is JobState.ACTIVE


def test_pause_until_accepts_an_end_in_the_near_future(world: World) -> None:
    world.add(job("rate(1 second)", overlap=Overlap.ALLOW))
    world.until(NOON + 30.5)
    pause(world, START + 31)
    world.until(NOON + 70)
    calls = called(world)
    assert [second for second, _ in calls] == list(range(1, 71))


def test_pause_until_shows_the_first_occurrence_after_the_end_as_the_next_one(world: World, office: Office) -> None:
    world.add(job("* * * * *", max_runs=30))
    world.until(NOON + 150)
    pause(world)
    assert office.api.jobs.get("default", "tick-tock").next_occurrence == START + 660
    world.until(NOON + 599)  # its runs after the end are sent in advance
    assert office.api.jobs.get("default", "tick-tock").next_occurrence == START + 660


@pytest.mark.parametrize("catch_up", [False, True])
@pytest.mark.parametrize("end", [20, 35])
def test_pause_until_shortly_before_the_next_round_delays_no_run_after_it(
    world: World, end: int, *, catch_up: bool
) -> None:
    world.add(job("rate(10 seconds)", overlap=Overlap.ALLOW))
    world.until(NOON + 65)
    pause(world, START + 65 + end, catch_up=catch_up)
    world.until(NOON + 190)
    first = (65 + end + 9) // 10 * 10
    assert [call for call in called(world) if call[0] >= first] == [(at, at) for at in range(first, 191, 10)]


def test_pause_until_second_pause_after_its_end_does_not_catch_up_what_it_skipped(world: World) -> None:
    world.add(job("rate(10 seconds)", missed=MissedPolicy(MissedMode.RUN_ALL, max_missed=100), overlap=Overlap.ALLOW))
    world.until(NOON + 65)
    pause(world, START + 85)
    world.until(NOON + 105)
    second = pause(world, START + 255, catch_up=True)
    assert (second.state, second.paused_at) == (JobState.PAUSED, NOON + 105)
    world.until(NOON + 400)
    assert skipped(world) == [(70, "paused", 2)]
    assert sorted(second for second, _ in called(world)) == [at for at in range(10, 401, 10) if at not in (70, 80)]


@pytest.mark.parametrize("catch_up", [False, True])
@pytest.mark.parametrize("before", [5, 29, 59, 89])
def test_pause_until_ends_with_a_resume_shortly_before_its_end(world: World, before: int, *, catch_up: bool) -> None:
    policy = MissedPolicy(MissedMode.RUN_ALL, max_missed=100)
    world.add(job("rate(10 seconds)", missed=policy, overlap=Overlap.ALLOW))
    world.until(NOON + 305)
    pause(world)
    resumed = 630 - before
    world.until(NOON + resumed)
    world.office.resume(catch_up=catch_up)
    assert found(world).state is JobState.ACTIVE
    world.until(NOON + 700)
    ran = sorted(second for second, _ in called(world))
    missed = [] if catch_up else list(range(310, resumed + 1, 10))
    assert ran == [at for at in range(10, 701, 10) if at not in missed]
    assert skipped(world) == ([] if catch_up else [(310, "paused", len(missed))])
    assert all(at < second + 1 for second, at in called(world) if second > resumed)


@pytest.mark.parametrize("later", [None, START + 900])
def test_pause_until_that_is_prolonged_shortly_before_its_end_covers_what_was_sent_in_advance(
    world: World, later: int | None
) -> None:
    world.add(job("rate(10 seconds)", overlap=Overlap.ALLOW))
    world.until(NOON + 305)
    pause(world)
    world.until(NOON + 610)
    late = [held for second in (640, 650) for held in world.wheel.hold_back(second)]
    assert late
    pause(world, later)
    world.until(NOON + 860)
    if later is None:
        world.office.resume()
    world.until(NOON + 905)
    world.wheel.give_back(late)
    world.until(NOON + 960)
    end = 860 if later is None else 890
    assert [second for second, _ in called(world) if second > 300] == list(range(end + 10, 961, 10))
    assert skipped(world) == [(310, "paused", (end - 300) // 10)]


def test_pause_until_edit_shortly_before_its_end_withdraws_what_was_sent_in_advance(world: World) -> None:
    world.add(job("* * * * *"))
    world.until(NOON + 150)
    pause(world)
    world.until(NOON + 625)
    world.office.edit(expression="*/2 * * * *", description="changed")
    world.until(NOON + 725)
    assert [call for call in called(world) if call[0] > 150] == [(720, 720)]


def test_pause_until_edit_shortly_before_its_end_delays_no_run_after_it(world: World) -> None:
    world.add(job("rate(10 seconds)", overlap=Overlap.ALLOW))
    world.until(NOON + 305)
    pause(world)
    world.until(NOON + 625)
    world.office.edit(description="changed")
    world.until(NOON + 665)
    assert [call for call in called(world) if call[0] > 310] == [(at, at) for at in range(630, 661, 10)]


@pytest.mark.parametrize("before", [5, 35, 65])
def test_pause_until_withdraws_what_was_sent_in_advance_when_the_schedule_changes(world: World, before: int) -> None:
    world.add(job("rate(20 seconds)", overlap=Overlap.ALLOW))
    pause(world)
    world.until(NOON + 630 - before)
    world.office.edit(expression="15 12 * * *")
    world.until(NOON + 905)
    assert called(world) == [(900, 900)]


@pytest.mark.parametrize("before", [5, 35, 65])
def test_pause_until_withdraws_what_was_sent_in_advance_when_a_pause_is_planned(world: World, before: int) -> None:
    world.add(job("rate(20 seconds)", overlap=Overlap.ALLOW))
    pause(world)
    world.until(NOON + 630 - before)
    pause(world, START + 900, start=START + 635)
    world.until(NOON + 925)
    assert [second for second, _ in called(world)] == [900, 920]


@pytest.mark.parametrize("before", [5, 35, 65])
def test_pause_until_sends_the_occurrences_after_its_end_again_after_a_change(world: World, before: int) -> None:
    world.add(job("rate(20 seconds)", overlap=Overlap.ALLOW))
    pause(world)
    world.until(NOON + 630 - before)
    world.office.edit(name="changed")
    world.until(NOON + 700)
    assert called(world) == [(second, second) for second in (640, 660, 680, 700)]


@pytest.mark.parametrize("before", [1, 2, 30])
def test_pause_until_with_max_runs_runs_no_more_after_a_resume_shortly_before_its_end(
    world: World, before: int
) -> None:
    policy = MissedPolicy(MissedMode.RUN_ALL, max_missed=100)
    world.add(job("* * * * *", missed=policy, max_runs=4, overlap=Overlap.ALLOW))
    pause(world, START + 120)
    world.until(NOON + 120 - before)
    world.office.resume(catch_up=True)
    world.until(NOON + 600)
    assert sorted(second for second, _ in called(world)) == [60, 120, 180, 240]


def test_pause_until_shows_the_job_active_from_its_end_on_and_accepts_changes(world: World) -> None:
    world.add(job("* * * * *"))
    pause(world)
    world.until(NOON + 625)
    assert world.api.jobs.get("default", "tick-tock").job.state is JobState.PAUSED
    world.until(NOON + 635)
    shown = world.api.jobs.get("default", "tick-tock")
    assert (shown.job.state, shown.next_occurrence) == (JobState.ACTIVE, START + 660)
    world.office.edit(expression="*/2 * * * *")
    assert found(world).state is JobState.ACTIVE
    world.until(NOON + 800)
    assert called(world) == [(720, 720)]


def test_pause_until_job_can_be_deleted_with_the_version_that_it_shows_after_the_end(world: World) -> None:
    world.add(job("* * * * *"))
    world.until(NOON + 150)
    pause(world)
    world.until(NOON + 635)
    shown = world.office.api.jobs.get("default", "tick-tock").job.version
    world.office.api.jobs.delete("default", "tick-tock", Precondition(frozenset({shown})))
    assert world.jobs.get("default", "tick-tock") is None


def test_pause_until_job_whose_runs_die_after_the_end_is_paused_before_a_round_resumes_it(world: World) -> None:
    world.add(job("rate(10 seconds)", pause_on_failure=2, retry=RetryPolicy(max_attempts=1), overlap=Overlap.ALLOW))
    world.until(NOON + 305)
    pause(world, START + 315)
    world.caller.answer = lambda _: Failed("no", retryable=False)
    world.until(NOON + 355)
    assert found(world).paused_because == "2 runs in a row died"
    assert [second for second, _ in called(world) if second > 305] == [320, 330]
