"""Where a cursor stands in a pause, and what is made of that when the pause ends."""

from __future__ import annotations

from dataclasses import replace

import pytest

from duecourse.domain.jobs.cursor import Cursor
from duecourse.domain.jobs.job import JobState
from duecourse.domain.jobs.pause import PauseChange, pause, resume
from duecourse.domain.jobs.plan import SkippedRange
from duecourse.domain.schedules import ScheduleSpec
from tests.support.jobs import NOON, cursor, job, moved

T0 = int(NOON)
MINUTELY = job("* * * * *")


def through(standing: Cursor, paused: float, resumed: float, *, catch_up: bool = False) -> PauseChange:
    """What a pause between those seconds after NOON comes to."""
    stopped = pause(MINUTELY, standing, now=NOON + paused)
    return resume(stopped.job, stopped.cursor, now=NOON + resumed, catch_up=catch_up)


def test_where_dispatch_is_not_behind_a_pause_covers_what_comes_due_in_it() -> None:
    change = through(moved(cursor(MINUTELY), T0 + 840), 150, 300)
    assert change.skipped == (SkippedRange(T0 + 180, T0 + 300, 3, "paused"),)
    assert change.cursor.occurrence == T0 + 360


def test_where_dispatch_is_behind_a_pause_covers_what_was_not_enqueued_before_it_too() -> None:
    behind = moved(cursor(MINUTELY), T0 + 120)
    change = through(behind, 600, 660)
    assert change.skipped == (SkippedRange(T0 + 120, T0 + 660, 10, "paused"),)
    caught_up = through(behind, 600, 660, catch_up=True)
    assert (caught_up.skipped, caught_up.cursor.occurrence) == ((), T0 + 120)


def test_what_jitter_put_off_until_after_the_pause_began_is_no_part_of_what_came_before_it() -> None:
    jittered = job("0 * * * *", jitter_seconds=1800)
    standing = cursor(jittered)
    assert standing.occurrence is not None
    assert standing.due is not None
    assert standing.due > standing.occurrence
    stopped = pause(jittered, standing, now=standing.due - 1)
    assert stopped.cursor.after == standing.due - 1
    late = pause(jittered, standing, now=standing.due + 600)
    again = resume(late.job, late.cursor, now=standing.due + 700, catch_up=True)
    assert (again.cursor.occurrence, again.cursor.due) == (standing.occurrence, standing.due)


def test_a_paused_job_that_was_quarantined_goes_on_from_where_it_stood() -> None:
    aside = replace(moved(cursor(MINUTELY), T0 + 120), error="the lanes are gone")
    assert through(aside, 86_400, 86_460).skipped[0].first == T0 + 120


@pytest.mark.parametrize("remaining", [None, 7])
def test_a_job_whose_schedule_is_understood_no_more_can_be_paused(remaining: int | None) -> None:
    standing = moved(cursor(MINUTELY), T0 + 120)
    broken = replace(standing, schedule=ScheduleSpec("* * * * *", "No/Where"), remaining=remaining)
    stopped = pause(MINUTELY, broken, now=NOON + 600)
    assert (stopped.cursor.occurrence, stopped.cursor.after, stopped.cursor.remaining) == (None, T0 + 119, remaining)


def test_pausing_twice_in_a_row_loses_nothing_of_what_the_first_pause_left_to_be_caught_up() -> None:
    first = through(moved(cursor(MINUTELY), T0 + 840), 150, 600, catch_up=True)
    assert first.cursor.occurrence == T0 + 180
    again = pause(first.job, first.cursor, now=NOON + 601)
    assert resume(again.job, again.cursor, now=NOON + 660, catch_up=True).cursor.occurrence == T0 + 180


@pytest.mark.parametrize("catch_up", [True, False], ids=["caught up", "skipped"])
def test_a_pause_of_a_job_without_a_schedule_covers_nothing_and_does_not_end_it(*, catch_up: bool) -> None:
    asked = job("")
    stopped = pause(asked, cursor(asked), now=NOON + 60)
    change = resume(stopped.job, stopped.cursor, now=NOON + 600, catch_up=catch_up)
    assert (stopped.job.state, change.job.state) == (JobState.PAUSED, JobState.ACTIVE)
    assert change.skipped == ()
    for left in (stopped.cursor, change.cursor):
        assert (left.occurrence, left.due, left.last, left.ending) == (None, None, None, False)
