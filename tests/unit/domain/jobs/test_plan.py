"""What a dispatcher does with a cursor whose occurrences are on time."""

from __future__ import annotations

from dataclasses import replace

import pytest

from duecourse.domain.jobs.cursor import Cursor
from duecourse.domain.jobs.job import Lane, MissedMode, MissedPolicy, Precision
from duecourse.domain.jobs.plan import MAX_FIRINGS, Firing, Plan, plan
from duecourse.domain.maintenance.index import Entry, IndexFault, ReadSlots, fault_of
from duecourse.domain.schedules import TZDATA_VERSION, ScheduleError, ScheduleSpec
from duecourse.domain.schedules.occurrences import ExclusionError
from tests.support.jobs import NOON, cursor, job

T0 = int(NOON)


def planned(standing: Cursor, *, now: float = NOON, horizon: float = 840) -> Plan:
    return plan(standing, now=now, horizon=horizon)


def seconds(made: Plan) -> list[int]:
    """Seconds after NOON of the planned firings."""
    return [firing.occurrence - T0 for firing in made.firings]


def test_every_occurrence_within_reach_is_enqueued_and_the_cursor_stands_at_the_one_after_it() -> None:
    made = planned(cursor(job("* * * * *")), horizon=200)
    assert made.firings == tuple(Firing(T0 + at, T0 + at, T0 + at, following=T0 + at + 60) for at in (60, 120, 180))
    assert (made.cursor.occurrence, made.cursor.due, made.cursor.after) == (T0 + 240, T0 + 240, T0 + 180)
    assert (made.skipped, made.missed, made.reason) == ((), 0, "due")


def test_an_occurrence_due_exactly_at_the_reach_is_enqueued() -> None:
    assert seconds(planned(cursor(job("* * * * *")), horizon=120)) == [60, 120]
    assert seconds(planned(cursor(job("* * * * *")), horizon=119.9)) == [60]


def test_reach_is_counted_from_now() -> None:
    assert seconds(planned(cursor(job("* * * * *")), now=NOON + 59.5, horizon=60.5)) == [60, 120]


def test_a_cursor_beyond_the_reach_stays_as_it_stands() -> None:
    standing = cursor(job("0 15 * * *"))
    assert planned(standing) == Plan((), (), replace(standing, after=T0 + 3 * 3600 - 1), "not due")


def test_a_claim_covers_a_hundred_occurrences_at_most_and_the_next_one_goes_on_from_there() -> None:
    first = planned(cursor(job("rate(1 second)")))
    assert seconds(first) == list(range(1, MAX_FIRINGS + 1))
    second = planned(first.cursor)
    assert seconds(second) == list(range(MAX_FIRINGS + 1, 2 * MAX_FIRINGS + 1))


def test_a_firing_that_is_on_time_is_not_caught_up_and_stands_for_itself() -> None:
    made = planned(cursor(job("* * * * *")), now=NOON + 60)
    assert [(firing.count, firing.caught_up) for firing in made.firings] == [(1, False)] * len(made.firings)


def test_the_cursor_keeps_what_it_knows_of_its_job() -> None:
    standing = cursor(job("* * * * *", priority=Lane.HIGH, precision=Precision.EXACT, exclude=("2026-12-25",)))
    left = planned(standing).cursor
    moving = {"occurrence", "due", "after"}
    assert all(
        getattr(left, name) == getattr(standing, name) for name in Cursor.__dataclass_fields__ if name not in moving
    )


# The end of a schedule.


def test_the_last_occurrence_takes_the_cursor_out_of_the_index_and_stays_known() -> None:
    made = planned(cursor(job("at(2026-11-21T12:05:00)")))
    assert seconds(made) == [300]
    assert (made.cursor.occurrence, made.cursor.due, made.cursor.last) == (None, None, T0 + 300)
    assert made.cursor.slot(16, now=NOON) is None


def test_a_cursor_that_goes_on_names_no_last_occurrence() -> None:
    assert planned(cursor(job("* * * * *"))).cursor.last is None


def test_a_schedule_that_newer_zone_data_end_has_what_was_passed_last_as_its_last_occurrence() -> None:
    ending = replace(cursor(job("0 0 1 1 *")), schedule=ScheduleSpec("0 0 1 1 *", end=T0 + 600))
    standing = replace(ending, occurrence=T0 + 300, due=T0 + 300, after=T0 - 3600, tzdata="1999a")
    made = planned(standing)
    assert (made.firings, made.skipped, made.reason) == ((), (), "exhausted")
    assert (made.cursor.occurrence, made.cursor.due, made.cursor.last) == (None, None, T0 - 3600)
    over = Entry(("JOB#default#tick-tock", "CURSOR"), "default", "tick-tock", None, None, made.cursor)
    assert fault_of(over, ReadSlots({0: None}, "2026-11-14T12"), now=NOON) is IndexFault.ENDED


def test_an_exhausted_cursor_has_nothing_to_plan_and_keeps_its_last_occurrence() -> None:
    exhausted = planned(cursor(job("at(2026-11-21T12:05:00)"))).cursor
    assert planned(exhausted, now=NOON + 9999) == Plan((), (), exhausted, "exhausted")


def test_the_end_of_the_window_is_the_end() -> None:
    spec = ScheduleSpec("* * * * *", end=T0 + 180)
    made = planned(cursor(job(schedule=spec)))
    assert (seconds(made), made.cursor.occurrence, made.cursor.last) == ([60, 120], None, T0 + 120)


# A bound on runs.


def test_a_bound_on_runs_counts_down_with_each_occurrence_passed() -> None:
    made = planned(cursor(job("* * * * *", max_runs=10)), horizon=180)
    assert (made.cursor.remaining, made.cursor.occurrence) == (7, T0 + 240)


def test_a_job_whose_runs_are_used_up_is_exhausted() -> None:
    made = planned(cursor(job("* * * * *", max_runs=3)))
    assert (seconds(made), made.cursor.occurrence, made.cursor.remaining) == ([60, 120, 180], None, 0)
    assert made.cursor.last == T0 + 180


def test_a_cursor_that_may_pass_nothing_more_enqueues_nothing() -> None:
    made = planned(replace(cursor(job("* * * * *")), remaining=0))
    assert (made.firings, made.skipped, made.cursor.occurrence) == ((), (), None)


# Jitter.


def test_a_firing_is_named_by_its_nominal_time_and_due_at_its_own() -> None:
    standing = cursor(job("*/5 * * * *", jitter_seconds=200))
    occurrences = standing.occurrences()
    made = planned(standing)
    assert seconds(made)[:2] == [300, 600]
    assert [firing.due for firing in made.firings] == [occurrences.due(firing.occurrence) for firing in made.firings]
    assert any(firing.due != firing.occurrence for firing in made.firings)


def test_a_plan_reaches_as_far_as_due_times() -> None:
    standing = cursor(job("*/5 * * * *", jitter_seconds=200))
    due = standing.occurrences().due(T0 + 300)
    assert due > T0 + 300
    assert seconds(planned(standing, horizon=due - T0 - 1)) == []
    assert seconds(planned(standing, horizon=due - T0)) == [300]


# Zone data and things that make no sense.


def test_a_cursor_computed_with_other_zone_data_is_computed_anew_from_what_it_had_passed() -> None:
    standing = replace(cursor(job("0 * * * *")), occurrence=T0 + 1800, due=T0 + 1800, tzdata="1999a")
    made = planned(standing, horizon=3600)
    assert seconds(made) == [3600]
    assert made.cursor.tzdata == TZDATA_VERSION


def test_a_cursor_computed_with_these_zone_data_is_believed() -> None:
    standing = replace(cursor(job("0 * * * *")), occurrence=T0 + 1800, due=T0 + 1800)
    assert seconds(planned(standing, horizon=3600)) == [1800, 3600]


def test_an_exhausted_cursor_stays_so_whatever_the_zone_data() -> None:
    exhausted = replace(planned(cursor(job("at(2026-11-21T12:05:00)"))).cursor, tzdata="1999a")
    assert planned(exhausted).firings == ()


@pytest.mark.parametrize("spec", [ScheduleSpec("61 * * * *"), ScheduleSpec("* * * * *", "Mars/Olympus_Mons")])
def test_a_schedule_that_makes_no_sense_is_an_error(spec: ScheduleSpec) -> None:
    with pytest.raises(ScheduleError):
        planned(replace(cursor(job("* * * * *")), schedule=spec))


def test_an_exclusion_that_makes_no_sense_is_an_error() -> None:
    with pytest.raises(ExclusionError):
        planned(replace(cursor(job("* * * * *")), exclude=("christmas",)))


@pytest.mark.parametrize("mode", list(MissedMode))
def test_nothing_is_missed_on_a_cursor_that_is_on_time(mode: MissedMode) -> None:
    made = planned(cursor(job("* * * * *", missed=MissedPolicy(mode))), now=NOON + 60)
    assert (made.missed, made.skipped, made.reason) == (0, (), "due")
