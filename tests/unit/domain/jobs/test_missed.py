"""What a dispatcher does with a cursor that nobody has come to in time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from duecourse.domain.jobs.cursor import Cursor
from duecourse.domain.jobs.job import MissedMode, MissedPolicy
from duecourse.domain.jobs.plan import COUNT_LIMIT, MAX_FIRINGS, Firing, Plan, SkippedRange, plan
from duecourse.domain.schedules import ScheduleSpec
from tests.support.jobs import NOON, cursor, job

T0 = int(NOON)
HOUR = 3600
SKIP, ONCE, ALL = MissedMode.SKIP, MissedMode.RUN_ONCE, MissedMode.RUN_ALL


def standing(expression: str = "* * * * *", mode: MissedMode = ONCE, **changes: Any) -> Cursor:
    policy = MissedPolicy(mode, changes.pop("grace", 60), changes.pop("max_missed", 10))
    return cursor(job(expression, missed=policy, **changes))


def planned(of: Cursor, now: float, horizon: float = 120) -> Plan:
    return plan(of, now=now, horizon=horizon)


def on_time(made: Plan) -> list[int]:
    """Seconds after NOON of the firings that are not caught up."""
    return [firing.occurrence - T0 for firing in made.firings if not firing.caught_up]


def test_an_occurrence_as_late_as_the_grace_is_on_time_and_one_later_than_it_is_missed() -> None:
    of = standing("0 * * * *", grace=60)
    assert planned(of, T0 + HOUR + 60).missed == 0
    assert planned(of, T0 + HOUR + 60.9).missed == 0  # whole seconds: the worker judges the rest
    assert planned(of, T0 + HOUR + 61).missed == 1


@pytest.mark.parametrize("grace", [0, 5, 300])
def test_the_grace_is_the_jobs_own(grace: int) -> None:
    of = standing("0 * * * *", grace=grace)
    assert planned(of, T0 + HOUR + grace).missed == 0
    assert planned(of, T0 + HOUR + grace + 1).missed == 1


def test_an_occurrence_is_missed_by_its_due_time_not_the_nominal_one() -> None:
    of = standing("0 * * * *", jitter_seconds=HOUR)
    due = of.occurrences().due(T0 + HOUR)
    assert due > T0 + HOUR + 60
    assert planned(of, due + 60).missed == 0
    assert planned(of, due + 61).missed == 1


# skip


def test_what_a_job_that_skips_has_missed_is_one_range_and_the_rest_fires() -> None:
    made = planned(standing(mode=SKIP), T0 + HOUR)
    assert made.skipped == (SkippedRange(T0 + 60, T0 + HOUR - 120, 58, "missed"),)
    assert on_time(made) == [HOUR - 60, HOUR, HOUR + 60, HOUR + 120]
    assert len(made.firings) == 4
    assert (made.cursor.occurrence, made.missed, made.reason) == (T0 + HOUR + 180, 58, "caught up")


def test_a_single_missed_occurrence_is_a_range_of_one() -> None:
    made = planned(standing("0 * * * *", SKIP), T0 + HOUR + 300)
    assert made.skipped == (SkippedRange(T0 + HOUR, T0 + HOUR, 1, "missed"),)
    assert made.firings == ()


def test_a_missed_one_off_job_that_skips_ends_with_the_skipped_one_as_its_last() -> None:
    made = planned(standing("at(2026-11-21T12:05:00)", SKIP), T0 + HOUR)
    assert made.skipped == (SkippedRange(T0 + 300, T0 + 300, 1, "missed"),)
    assert (made.cursor.occurrence, made.cursor.last) == (None, T0 + 300)


# run_once


def test_what_a_job_has_missed_is_one_run_named_after_the_first_and_told_how_many_it_stands_for() -> None:
    made = planned(standing(), T0 + HOUR)
    assert made.firings[0] == Firing(T0 + 60, T0 + 60, T0 + HOUR - 120, 58, caught_up=True, following=T0 + HOUR - 60)
    assert on_time(made) == [HOUR - 60, HOUR, HOUR + 60, HOUR + 120]
    assert (made.skipped, made.missed, made.reason) == ((), 58, "caught up")
    assert made.cursor.occurrence == T0 + HOUR + 180


def test_a_single_missed_occurrence_runs_under_its_own_name() -> None:
    made = planned(standing("0 * * * *"), T0 + HOUR + 300)
    assert made.firings == (Firing(T0 + HOUR, T0 + HOUR, T0 + HOUR, 1, caught_up=True, following=T0 + 2 * HOUR),)


def test_a_missed_one_off_job_runs_and_is_exhausted() -> None:
    made = planned(standing("at(2026-11-21T12:05:00)"), T0 + 9 * 24 * HOUR)
    assert made.firings == (Firing(T0 + 300, T0 + 300, T0 + 300, 1, caught_up=True),)
    assert (made.cursor.occurrence, made.cursor.last) == (None, T0 + 300)


def test_the_run_for_all_is_due_when_the_first_of_them_was() -> None:
    of = standing("*/5 * * * *", jitter_seconds=200)
    made = planned(of, T0 + HOUR)
    assert made.firings[0].due == of.occurrences().due(T0 + 300)


def test_the_run_for_all_counts_as_one_of_the_hundred() -> None:
    made = planned(standing("rate(1 second)"), T0 + HOUR, horizon=840)
    assert len(made.firings) == MAX_FIRINGS
    assert on_time(made) == list(range(HOUR - 60, HOUR - 60 + MAX_FIRINGS - 1))


# run_all


def test_a_job_that_runs_all_runs_each_it_missed_oldest_first_under_its_own_name() -> None:
    made = planned(standing(mode=ALL, max_missed=10), T0 + 8 * 60)
    missed = [firing for firing in made.firings if firing.caught_up]
    assert missed == [Firing(T0 + at, T0 + at, T0 + at, 1, caught_up=True) for at in range(60, 7 * 60, 60)]
    assert on_time(made) == [420, 480, 540, 600]
    assert made.skipped == ()


def test_beyond_what_it_may_catch_up_the_rest_is_skipped_as_one_range() -> None:
    made = planned(standing(mode=ALL, max_missed=3), T0 + HOUR)
    assert [firing.occurrence - T0 for firing in made.firings if firing.caught_up] == [60, 120, 180]
    assert made.skipped == (SkippedRange(T0 + 240, T0 + HOUR - 120, 55, "missed"),)
    assert on_time(made) == [HOUR - 60, HOUR, HOUR + 60, HOUR + 120]
    assert made.missed == 58


def test_a_job_that_may_catch_up_a_hundred_fills_a_claim_with_them_and_goes_on_with_the_next() -> None:
    made = planned(standing(mode=ALL, max_missed=100), T0 + 10 * HOUR)
    assert [firing.caught_up for firing in made.firings] == [True] * MAX_FIRINGS
    assert made.skipped[0].first == T0 + 60 * 101
    assert made.cursor.occurrence == T0 + 10 * HOUR - 60
    assert on_time(planned(made.cursor, T0 + 10 * HOUR)) == [10 * HOUR - 60, 10 * HOUR, 10 * HOUR + 60, 10 * HOUR + 120]


# A long time.


@pytest.mark.parametrize("mode", list(MissedMode))
def test_a_row_too_long_to_count_says_at_least_how_many_and_is_passed_all_the_same(mode: MissedMode) -> None:
    now = T0 + 30 * 24 * HOUR
    made = planned(standing("rate(1 second)", mode), now)
    assert made.missed == COUNT_LIMIT + (10 if mode is ALL else 0)
    assert on_time(made)[0] + T0 == now - 60
    (through,) = [s.last for s in made.skipped] or [f.through for f in made.firings if f.caught_up]
    assert through == now - 61


def test_a_row_one_short_of_the_limit_is_counted_exactly() -> None:
    made = planned(standing("rate(1 second)", SKIP), T0 + COUNT_LIMIT - 1 + 61)
    assert made.skipped == (SkippedRange(T0 + 1, T0 + COUNT_LIMIT - 1, COUNT_LIMIT - 1, "missed"),)


def test_a_row_too_long_to_count_loses_no_occurrence_that_jitter_keeps_on_time() -> None:
    of = standing("*/2 * * * *", SKIP, jitter_seconds=119)
    occurrences = of.occurrences()
    now = T0 + 60 * 24 * HOUR
    begin = next(at for at in range(now, now + HOUR, 120) if occurrences.due(at) - at > 100)
    asked = begin + 60 + 50  # nominally a minute before the grace, by its due time well after
    made = planned(of, asked)
    assert made.skipped[0].count == COUNT_LIMIT
    assert made.firings[0].occurrence == begin
    assert made.skipped[0].last < begin


def test_a_row_too_long_to_count_ends_with_its_schedule() -> None:
    spec = ScheduleSpec("rate(1 second)", anchor=T0, end=T0 + 2 * COUNT_LIMIT)
    made = planned(standing(schedule=spec, mode=SKIP), T0 + 24 * HOUR)
    assert (made.cursor.occurrence, made.firings) == (None, ())
    assert made.skipped[0].last >= T0 + 2 * COUNT_LIMIT - 1
    assert made.cursor.last == made.skipped[0].last


def test_missed_occurrences_count_towards_the_bound_on_runs_exactly() -> None:
    made = planned(standing("rate(1 second)", SKIP, max_runs=COUNT_LIMIT), T0 + 24 * HOUR)
    assert made.skipped == (SkippedRange(T0 + 1, T0 + COUNT_LIMIT, COUNT_LIMIT, "missed"),)
    assert (made.cursor.occurrence, made.cursor.remaining, made.firings) == (None, 0, ())


def test_a_bound_on_runs_leaves_what_was_not_missed() -> None:
    made = planned(standing(max_runs=60), T0 + HOUR)
    assert made.firings[0].count == 58
    assert on_time(made) == [HOUR - 60, HOUR]
    assert made.cursor.remaining == 0


def test_excluded_times_are_not_missed() -> None:
    made = planned(standing("0 * * * *", exclude=("2026-11-21T14:00:00Z",)), T0 + 4 * HOUR - 120)
    assert made.firings[0] == Firing(T0 + HOUR, T0 + HOUR, T0 + 3 * HOUR, 2, caught_up=True, following=T0 + 4 * HOUR)


def test_a_cursor_moved_by_other_zone_data_catches_up_from_where_it_really_stood() -> None:
    of = replace(standing("0 * * * *"), occurrence=T0 + 1800, due=T0 + 1800, tzdata="1999a")
    made = planned(of, T0 + 3 * HOUR - 120)
    assert made.firings[0].occurrence == T0 + HOUR
