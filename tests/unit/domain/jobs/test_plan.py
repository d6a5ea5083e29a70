"""Cursors, plans and missed occurrences.

- A cursor is made of its job and stands where the job's next occurrence is.
- What a dispatcher does with a cursor whose occurrences are on time.
- What is enqueued for a cursor is a function of the cursor: dispatchers at different times agree, nothing is lost.
- What a dispatcher does with a cursor that nobody has come to in time.
"""

from dataclasses import fields, replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duecourse.domain.jobs.cursor import (
    COUNT_LIMIT,
    MAX_FIRINGS,
    Cursor,
    Firing,
    Plan,
    PlannedResume,
    SkippedRange,
    cursor_for,
    plan,
    shard_of,
)
from duecourse.domain.jobs.job import Deadline, DeadlineEvent, Lane, MissedMode, MissedPolicy, Precision
from duecourse.domain.maintenance.index import Entry, IndexFault, ReadSlots, fault_of
from duecourse_schedules import TZDATA_VERSION, ScheduleError, ScheduleSpec
from duecourse_schedules.exclusions import ExclusionError
from tests.support.jobs import NOON, cursor, job

T0 = int(NOON)


def test_plan_cursor_of_a_new_job_is_at_the_first_occurrence_after_its_creation() -> None:
    standing = cursor_for(job("* * * * *"), NOON)
    assert (standing.occurrence, standing.due, standing.after) == (T0 + 60, T0 + 60, T0)
    assert cursor_for(job("* * * * *"), NOON + 59.999).occurrence == T0 + 60
    assert cursor_for(job("* * * * *"), NOON + 60.0).occurrence == T0 + 120


def test_plan_cursor_contains_all_values_that_dispatch_needs() -> None:
    policy = MissedPolicy(MissedMode.RUN_ALL, 30, 5)
    made = job(
        "* * * * *",
        priority=Lane.LOW,
        precision=Precision.EXACT,
        missed=policy,
        exclude=("2026-12-25",),
        jitter_seconds=9,
        max_runs=7,
    )
    standing = cursor(made)
    assert (standing.tenant, standing.job_id, standing.generation) == ("default", "tick-tock", made.generation)
    assert (standing.schedule, standing.exclude, standing.jitter_seconds) == (made.schedule, ("2026-12-25",), 9)
    assert (standing.lane, standing.precision, standing.missed) == (Lane.LOW, Precision.EXACT, policy)
    assert (standing.remaining, standing.tzdata, standing.error, standing.last) == (7, TZDATA_VERSION, None, None)


def test_plan_uses_the_long_lane_for_jobs_whose_attempts_exceed_the_short_workers() -> None:
    assert cursor(job(timeout_seconds=90, priority=Lane.HIGH)).lane is Lane.HIGH
    assert cursor(job(timeout_seconds=91, priority=Lane.HIGH)).lane is Lane.LONG


def test_plan_cursor_is_indexed_by_its_due_hour_and_the_shard_of_its_job() -> None:
    assert cursor(job("30 12 * * *")).slot(16, now=NOON) == f"2026-11-21T12/{shard_of('default', 'tick-tock', 16):04d}"


@pytest.mark.parametrize(
    ("expression", "rare"),
    [
        ("30 12 * * *", True),
        ("at(2026-11-21T12:05:00)", True),
        ("*/10 * * * *", True),
        ("rate(541 seconds)", True),
        ("rate(540 seconds)", False),
        ("* * * * *", False),
        ("0,5 13 * * *", False),
        ("0 13,14 * * *", True),
        ("", False),
    ],
)
def test_plan_cursor_is_rare_if_a_claim_covers_one_occurrence_however_early_it_is(
    expression: str, *, rare: bool
) -> None:
    assert cursor(job(expression)).is_rare() is rare


def test_plan_cursor_of_a_paused_job_is_not_rare() -> None:
    assert not replace(cursor(job("30 12 * * *")), resume=PlannedResume(T0 + 60)).is_rare()


def test_plan_late_cursor_is_indexed_in_the_current_hour_that_the_next_round_reads() -> None:
    standing = cursor(job("30 12 * * *"))
    assert (standing.slot(1, now=NOON + 7 * 3600), standing.due) == ("2026-11-21T19/0000", T0 + 30 * 60)


def test_plan_jitter_can_move_a_cursor_into_the_next_hour_without_changing_its_occurrence() -> None:
    standing = cursor(job("59 12 * * *", id="moved", jitter_seconds=3600))
    assert standing.occurrence == T0 + 59 * 60
    assert standing.due is not None
    assert standing.due >= T0 + 3600
    assert (standing.slot(1, now=NOON) or "").startswith("2026-11-21T13/")


def test_plan_cursor_without_further_occurrences_is_not_indexed() -> None:
    standing = cursor(job("at(2026-11-21T12:05:00)"), after=NOON + 300)
    assert (standing.occurrence, standing.due, standing.slot(16, now=NOON)) == (None, None, None)


def test_plan_cursor_without_a_schedule_has_no_occurrence_and_is_not_ending() -> None:
    standing = cursor(job(""))
    assert (standing.occurrence, standing.due, standing.slot(16, now=NOON)) == (None, None, None)
    assert (standing.last, standing.ending, standing.after) == (None, False, T0)


@pytest.mark.parametrize("spec", [ScheduleSpec("* * * *"), ScheduleSpec("rate(1 minute)")])
def test_plan_cursor_of_an_invalid_schedule_is_rejected(spec: ScheduleSpec) -> None:
    with pytest.raises(ScheduleError):
        cursor_for(replace(job(), schedule=spec), NOON)


def planned(standing: Cursor, *, now: float = NOON, horizon: float = 840) -> Plan:
    return plan(standing, now=now, horizon=horizon)


def seconds(made: Plan) -> list[int]:
    """Seconds after NOON of the planned firings."""
    return [firing.occurrence - T0 for firing in made.firings]


def test_plan_enqueues_every_occurrence_within_the_horizon_and_moves_the_cursor_to_the_next_one() -> None:
    made = planned(cursor(job("* * * * *")), horizon=200)
    assert made.firings == tuple(Firing(T0 + at, T0 + at, T0 + at, following=T0 + at + 60) for at in (60, 120, 180))
    assert (made.cursor.occurrence, made.cursor.due, made.cursor.after) == (T0 + 240, T0 + 240, T0 + 180)
    assert (made.skipped, made.missed, made.reason) == ((), 0, "due")


def test_plan_enqueues_an_occurrence_due_exactly_at_the_horizon() -> None:
    assert seconds(planned(cursor(job("* * * * *")), horizon=120)) == [60, 120]
    assert seconds(planned(cursor(job("* * * * *")), horizon=119.9)) == [60]


def test_plan_horizon_counts_from_now() -> None:
    assert seconds(planned(cursor(job("* * * * *")), now=NOON + 59.5, horizon=60.5)) == [60, 120]


def test_plan_leaves_a_cursor_beyond_the_horizon_in_place() -> None:
    standing = cursor(job("0 15 * * *"))
    assert planned(standing) == Plan((), (), replace(standing, after=T0 + 3 * 3600 - 1), "not due")


def test_plan_covers_at_most_one_hundred_occurrences_and_the_next_plan_continues_after_them() -> None:
    first = planned(cursor(job("rate(1 second)")))
    assert seconds(first) == list(range(1, MAX_FIRINGS + 1))
    second = planned(first.cursor)
    assert seconds(second) == list(range(MAX_FIRINGS + 1, 2 * MAX_FIRINGS + 1))


def test_plan_firing_on_time_is_not_caught_up_and_represents_one_occurrence() -> None:
    made = planned(cursor(job("* * * * *")), now=NOON + 60)
    assert [(firing.count, firing.caught_up) for firing in made.firings] == [(1, False)] * len(made.firings)


def test_plan_keeps_all_other_fields_of_the_cursor() -> None:
    standing = cursor(job("* * * * *", priority=Lane.HIGH, precision=Precision.EXACT, exclude=("2026-12-25",)))
    left = planned(standing).cursor
    moving = {"occurrence", "due", "after"}
    assert all(
        getattr(left, name) == getattr(standing, name) for name in Cursor.__dataclass_fields__ if name not in moving
    )


# The end of a schedule.


def test_plan_last_occurrence_removes_the_cursor_from_the_index_and_is_kept() -> None:
    made = planned(cursor(job("at(2026-11-21T12:05:00)")))
    assert seconds(made) == [300]
    assert (made.cursor.occurrence, made.cursor.due, made.cursor.last) == (None, None, T0 + 300)
    assert made.cursor.slot(16, now=NOON) is None


def test_plan_cursor_with_further_occurrences_has_no_last_one() -> None:
    assert planned(cursor(job("* * * * *"))).cursor.last is None


def test_plan_schedule_ended_by_newer_tzdata_keeps_the_last_passed_occurrence() -> None:
    ending = replace(cursor(job("0 0 1 1 *")), schedule=ScheduleSpec("0 0 1 1 *", end=T0 + 600))
    standing = replace(ending, occurrence=T0 + 300, due=T0 + 300, after=T0 - 3600, tzdata="1999a")
    made = planned(standing)
    assert (made.firings, made.skipped, made.reason) == ((), (), "exhausted")
    assert (made.cursor.occurrence, made.cursor.due, made.cursor.last) == (None, None, T0 - 3600)
    over = Entry(("JOB#default#tick-tock", "CURSOR"), "default", "tick-tock", None, None, made.cursor)
    assert fault_of(over, ReadSlots({0: None}, "2026-11-14T12"), now=NOON) is IndexFault.ENDED


def test_plan_of_an_exhausted_cursor_is_empty_and_keeps_the_last_occurrence() -> None:
    exhausted = planned(cursor(job("at(2026-11-21T12:05:00)"))).cursor
    assert planned(exhausted, now=NOON + 9999) == Plan((), (), exhausted, "exhausted")


def test_plan_ends_at_the_end_of_the_window() -> None:
    spec = ScheduleSpec("* * * * *", end=T0 + 180)
    made = planned(cursor(job(schedule=spec)))
    assert (seconds(made), made.cursor.occurrence, made.cursor.last) == ([60, 120], None, T0 + 120)


# A bound on runs.


def test_plan_reduces_remaining_runs_by_each_passed_occurrence() -> None:
    made = planned(cursor(job("* * * * *", max_runs=10)), horizon=180)
    assert (made.cursor.remaining, made.cursor.occurrence) == (7, T0 + 240)


def test_plan_exhausts_a_job_whose_runs_are_used_up() -> None:
    made = planned(cursor(job("* * * * *", max_runs=3)))
    assert (seconds(made), made.cursor.occurrence, made.cursor.remaining) == ([60, 120, 180], None, 0)
    assert made.cursor.last == T0 + 180


def test_plan_of_a_cursor_without_remaining_runs_enqueues_nothing() -> None:
    made = planned(replace(cursor(job("* * * * *")), remaining=0))
    assert (made.firings, made.skipped, made.cursor.occurrence) == ((), (), None)


# Jitter.


def test_plan_firing_is_named_by_its_nominal_time_and_due_at_its_time_with_jitter() -> None:
    standing = cursor(job("*/5 * * * *", jitter_seconds=200))
    occurrences = standing.occurrences()
    made = planned(standing)
    assert seconds(made)[:2] == [300, 600]
    assert [firing.due for firing in made.firings] == [occurrences.due(firing.occurrence) for firing in made.firings]
    assert any(firing.due != firing.occurrence for firing in made.firings)


def test_plan_applies_the_horizon_to_due_times() -> None:
    standing = cursor(job("*/5 * * * *", jitter_seconds=200))
    due = standing.occurrences().due(T0 + 300)
    assert due > T0 + 300
    assert seconds(planned(standing, horizon=due - T0 - 1)) == []
    assert seconds(planned(standing, horizon=due - T0)) == [300]


# Zone data and things that make no sense.


def test_plan_recomputes_a_cursor_of_other_tzdata_from_its_last_passed_occurrence() -> None:
    standing = replace(cursor(job("0 * * * *")), occurrence=T0 + 1800, due=T0 + 1800, tzdata="1999a")
    made = planned(standing, horizon=3600)
    assert seconds(made) == [3600]
    assert made.cursor.tzdata == TZDATA_VERSION


def test_plan_does_not_recompute_a_cursor_of_the_same_tzdata() -> None:
    standing = replace(cursor(job("0 * * * *")), occurrence=T0 + 1800, due=T0 + 1800)
    assert seconds(planned(standing, horizon=3600)) == [1800, 3600]


def test_plan_exhausted_cursor_stays_exhausted_with_any_tzdata() -> None:
    exhausted = replace(planned(cursor(job("at(2026-11-21T12:05:00)"))).cursor, tzdata="1999a")
    assert planned(exhausted).firings == ()


@pytest.mark.parametrize("spec", [ScheduleSpec("61 * * * *"), ScheduleSpec("* * * * *", "Mars/Olympus_Mons")])
def test_plan_with_an_invalid_schedule_raises_an_error(spec: ScheduleSpec) -> None:
    with pytest.raises(ScheduleError):
        planned(replace(cursor(job("* * * * *")), schedule=spec))


def test_plan_with_an_invalid_exclusion_raises_an_error() -> None:
    with pytest.raises(ExclusionError):
        planned(replace(cursor(job("* * * * *")), exclude=("christmas",)))


@pytest.mark.parametrize("mode", list(MissedMode))
def test_plan_of_a_cursor_on_time_has_no_missed_occurrences(mode: MissedMode) -> None:
    made = planned(cursor(job("* * * * *", missed=MissedPolicy(mode))), now=NOON + 60)
    assert (made.missed, made.skipped, made.reason) == (0, (), "due")


HORIZON = 840
EXPRESSIONS = (
    *("* * * * *", "*/7 * * * *", "13 * * * *", "30 2 * * *"),
    *("rate(1 second)", "rate(10 seconds)", "rate(17 minutes)", "at(2026-11-21T12:09:00)"),
)


@st.composite
def cursors(draw: st.DrawFn) -> Cursor:
    exclude: Any = draw(st.sampled_from([(), (), ("2026-11-21T12:10:00Z",), ("2026-11-22",)]))
    return cursor(
        job(
            draw(st.sampled_from(EXPRESSIONS)),
            timezone=draw(st.sampled_from(["UTC", "Australia/Lord_Howe"])),
            missed=MissedPolicy(
                draw(st.sampled_from(MissedMode)), draw(st.integers(0, 600)), draw(st.integers(1, MAX_FIRINGS))
            ),
            jitter_seconds=draw(st.sampled_from([0, 0, 5, 300, 3600])),
            exclude=exclude,
            max_runs=draw(st.sampled_from([None, None, 1, 7, 150])),
        )
    )


TIMES = st.one_of(st.floats(-300, 1800), st.floats(-300, 2 * 86_400)).map(lambda after: NOON + after)


def at(of: Cursor, now: float) -> Plan:
    return plan(of, now=now, horizon=HORIZON)


def names(made: Plan) -> list[int]:
    return [firing.occurrence for firing in made.firings]


@given(cursors(), TIMES, TIMES)
def test_plan_two_dispatchers_at_different_times_enqueue_the_same_names_as_far_as_both_reach(
    of: Cursor, one: float, other: float
) -> None:
    earlier, later = (at(of, now) for now in sorted((one, other)))
    if not earlier.firings:
        return
    last = names(earlier)[-1]
    # The later one may have given up on more of them, but never invents a name that the earlier one had not.
    assert {name for name in names(later) if name <= last} <= set(names(earlier))
    due = {firing.occurrence: firing.due for firing in earlier.firings}
    assert all(firing.due == due[firing.occurrence] for firing in later.firings if firing.occurrence in due)


@given(cursors(), TIMES, TIMES)
def test_plan_two_dispatchers_enqueue_identical_names_if_the_cursor_is_on_time_for_both(
    of: Cursor, one: float, other: float
) -> None:
    earlier, later = (at(of, now) for now in sorted((one, other)))
    if later.missed == 0:
        assert names(later)[: len(names(earlier))] == names(earlier)


@given(cursors(), TIMES, TIMES)
def test_plan_catch_up_run_has_the_same_name_at_any_time(of: Cursor, one: float, other: float) -> None:
    caught_up = [firing for now in (one, other) for firing in at(of, now).firings if firing.count > 1]
    assert {firing.occurrence for firing in caught_up} <= {of.occurrence}


@given(cursors(), TIMES)
def test_plan_is_the_same_for_the_same_cursor_at_the_same_time(of: Cursor, now: float) -> None:
    assert at(of, now) == at(of, now)


@given(cursors(), st.lists(TIMES, min_size=1, max_size=6).map(sorted))
def test_plan_consecutive_claims_enqueue_or_skip_every_occurrence_exactly_once(of: Cursor, times: list[float]) -> None:
    occurrences = of.occurrences()
    standing, rows = of, []
    for now in times:
        made = at(standing, now)
        rows += [(firing.occurrence, firing.through, firing.count) for firing in made.firings]
        rows += [(skipped.first, skipped.last, skipped.count) for skipped in made.skipped]
        standing = made.cursor
    rows.sort()
    assert [first for first, _, _ in rows[:1]] == ([of.occurrence] if rows else [])
    assert all(occurrences.next(through) == first for (_, through, _), (first, _, _) in pairwise(rows))
    for first, through, count in rows:
        if count < COUNT_LIMIT:
            assert count == counted(of, first, through)
    if rows and standing.occurrence is not None:
        assert occurrences.next(rows[-1][1]) == standing.occurrence
        assert occurrences.next(standing.after) == standing.occurrence
        assert standing.due == occurrences.due(standing.occurrence)
    if of.remaining is not None:
        assert standing.remaining == of.remaining - sum(count for _, _, count in rows)


def counted(of: Cursor, first: int, through: int) -> int:
    occurrences, found = of.occurrences(), 0
    at: int | None = first
    while at is not None and at <= through:
        found, at = found + 1, occurrences.next(at)
    return found


@given(cursors(), TIMES)
def test_plan_covers_at_most_one_hundred_firings_and_none_beyond_the_horizon(of: Cursor, now: float) -> None:
    made = at(of, now)
    assert len(made.firings) <= MAX_FIRINGS
    assert all(firing.due <= now + HORIZON for firing in made.firings)
    on_time = int(now) - of.missed.grace_seconds
    assert all(firing.caught_up == (firing.due < on_time) for firing in made.firings)


@given(cursors(), TIMES)
def test_plan_always_moves_a_cursor_due_within_the_horizon_so_that_the_round_ends(of: Cursor, now: float) -> None:
    """A cursor that is due within the reach always moves, so that a round over it ends."""
    made = at(of, now)
    if of.due is not None and of.due <= now + HORIZON:
        assert made.cursor.occurrence is None or made.cursor.occurrence > (of.occurrence or 0)


HOUR = 3600
SKIP, ONCE, ALL = MissedMode.SKIP, MissedMode.RUN_ONCE, MissedMode.RUN_ALL


def standing(expression: str = "* * * * *", mode: MissedMode = ONCE, **changes: Any) -> Cursor:
    policy = MissedPolicy(mode, changes.pop("grace", 60), changes.pop("max_missed", 10))
    return cursor(job(expression, missed=policy, **changes))


def missed_planned(of: Cursor, now: float, horizon: float = 120) -> Plan:
    return plan(of, now=now, horizon=horizon)


def on_time(made: Plan) -> list[int]:
    """Seconds after NOON of the firings that are not caught up."""
    return [firing.occurrence - T0 for firing in made.firings if not firing.caught_up]


def test_plan_occurrence_is_missed_only_when_later_than_the_grace_period() -> None:
    of = standing("0 * * * *", grace=60)
    assert missed_planned(of, T0 + HOUR + 60).missed == 0
    assert missed_planned(of, T0 + HOUR + 60.9).missed == 0  # whole seconds: the worker judges the rest
    assert missed_planned(of, T0 + HOUR + 61).missed == 1


@pytest.mark.parametrize("grace", [0, 5, 300])
def test_plan_uses_the_grace_period_of_the_job(grace: int) -> None:
    of = standing("0 * * * *", grace=grace)
    assert missed_planned(of, T0 + HOUR + grace).missed == 0
    assert missed_planned(of, T0 + HOUR + grace + 1).missed == 1


def test_plan_occurrence_is_missed_by_its_due_time_not_its_nominal_time() -> None:
    of = standing("0 * * * *", jitter_seconds=HOUR)
    due = of.occurrences().due(T0 + HOUR)
    assert due > T0 + HOUR + 60
    assert missed_planned(of, due + 60).missed == 0
    assert missed_planned(of, due + 61).missed == 1


# skip


def test_plan_skips_missed_occurrences_as_one_range_and_fires_the_rest() -> None:
    made = missed_planned(standing(mode=SKIP), T0 + HOUR)
    assert made.skipped == (SkippedRange(T0 + 60, T0 + HOUR - 120, 58, "missed"),)
    assert on_time(made) == [HOUR - 60, HOUR, HOUR + 60, HOUR + 120]
    assert len(made.firings) == 4
    assert (made.cursor.occurrence, made.missed, made.reason) == (T0 + HOUR + 180, 58, "caught up")


def test_plan_skips_a_single_missed_occurrence_as_a_range_of_one() -> None:
    made = missed_planned(standing("0 * * * *", SKIP), T0 + HOUR + 300)
    assert made.skipped == (SkippedRange(T0 + HOUR, T0 + HOUR, 1, "missed"),)
    assert made.firings == ()


def test_plan_missed_one_off_job_that_skips_has_the_skipped_occurrence_as_its_last() -> None:
    made = missed_planned(standing("at(2026-11-21T12:05:00)", SKIP), T0 + HOUR)
    assert made.skipped == (SkippedRange(T0 + 300, T0 + 300, 1, "missed"),)
    assert (made.cursor.occurrence, made.cursor.last) == (None, T0 + 300)


# run_once


def test_plan_catch_up_run_is_named_after_the_first_missed_occurrence_and_contains_their_count() -> None:
    made = missed_planned(standing(), T0 + HOUR)
    assert made.firings[0] == Firing(T0 + 60, T0 + 60, T0 + HOUR - 120, 58, caught_up=True, following=T0 + HOUR - 60)
    assert on_time(made) == [HOUR - 60, HOUR, HOUR + 60, HOUR + 120]
    assert (made.skipped, made.missed, made.reason) == ((), 58, "caught up")
    assert made.cursor.occurrence == T0 + HOUR + 180


def test_plan_single_missed_occurrence_runs_under_its_own_name() -> None:
    made = missed_planned(standing("0 * * * *"), T0 + HOUR + 300)
    assert made.firings == (Firing(T0 + HOUR, T0 + HOUR, T0 + HOUR, 1, caught_up=True, following=T0 + 2 * HOUR),)


def test_plan_missed_one_off_job_runs_and_is_exhausted() -> None:
    made = missed_planned(standing("at(2026-11-21T12:05:00)"), T0 + 9 * 24 * HOUR)
    assert made.firings == (Firing(T0 + 300, T0 + 300, T0 + 300, 1, caught_up=True),)
    assert (made.cursor.occurrence, made.cursor.last) == (None, T0 + 300)


def test_plan_catch_up_run_is_due_when_the_first_missed_occurrence_was_due() -> None:
    of = standing("*/5 * * * *", jitter_seconds=200)
    assert missed_planned(of, T0 + HOUR).firings[0].due == of.occurrences().due(T0 + 300)


def test_plan_catch_up_run_counts_as_one_of_the_hundred_firings() -> None:
    made = missed_planned(standing("rate(1 second)"), T0 + HOUR, horizon=840)
    assert len(made.firings) == MAX_FIRINGS
    assert on_time(made) == list(range(HOUR - 60, HOUR - 60 + MAX_FIRINGS - 1))


# run_all


def test_plan_run_all_starts_each_missed_occurrence_oldest_first_under_its_own_name() -> None:
    made = missed_planned(standing(mode=ALL, max_missed=10), T0 + 8 * 60)
    missed = [firing for firing in made.firings if firing.caught_up]
    assert missed == [Firing(T0 + at, T0 + at, T0 + at, 1, caught_up=True) for at in range(60, 7 * 60, 60)]
    assert on_time(made) == [420, 480, 540, 600]
    assert made.skipped == ()


def test_plan_run_all_skips_missed_occurrences_beyond_its_limit_as_one_range() -> None:
    made = missed_planned(standing(mode=ALL, max_missed=3), T0 + HOUR)
    assert [firing.occurrence - T0 for firing in made.firings if firing.caught_up] == [60, 120, 180]
    assert made.skipped == (SkippedRange(T0 + 240, T0 + HOUR - 120, 55, "missed"),)
    assert on_time(made) == [HOUR - 60, HOUR, HOUR + 60, HOUR + 120]
    assert made.missed == 58


def test_plan_run_all_with_a_limit_of_one_hundred_fills_a_claim_and_continues_in_the_next() -> None:
    made = missed_planned(standing(mode=ALL, max_missed=100), T0 + 10 * HOUR)
    assert [firing.caught_up for firing in made.firings] == [True] * MAX_FIRINGS
    assert made.skipped[0].first == T0 + 60 * 101
    assert made.cursor.occurrence == T0 + 10 * HOUR - 60
    then = missed_planned(made.cursor, T0 + 10 * HOUR)
    assert on_time(then) == [10 * HOUR - 60, 10 * HOUR, 10 * HOUR + 60, 10 * HOUR + 120]


# A long time.


@pytest.mark.parametrize("mode", list(MissedMode))
def test_plan_missed_range_above_the_count_limit_has_a_minimum_count_and_is_passed(mode: MissedMode) -> None:
    now = T0 + 30 * 24 * HOUR
    made = missed_planned(standing("rate(1 second)", mode), now)
    assert made.missed == COUNT_LIMIT + (10 if mode is ALL else 0)
    assert on_time(made)[0] + T0 == now - 60
    (through,) = [s.last for s in made.skipped] or [f.through for f in made.firings if f.caught_up]
    assert through == now - 61


def test_plan_missed_range_just_below_the_count_limit_is_counted_exactly() -> None:
    made = missed_planned(standing("rate(1 second)", SKIP), T0 + COUNT_LIMIT - 1 + 61)
    assert made.skipped == (SkippedRange(T0 + 1, T0 + COUNT_LIMIT - 1, COUNT_LIMIT - 1, "missed"),)


def test_plan_missed_range_above_the_count_limit_keeps_occurrences_that_jitter_makes_on_time() -> None:
    of = standing("*/2 * * * *", SKIP, jitter_seconds=119)
    occurrences = of.occurrences()
    now = T0 + 60 * 24 * HOUR
    begin = next(at for at in range(now, now + HOUR, 120) if occurrences.due(at) - at > 100)
    asked = begin + 60 + 50  # nominally a minute before the grace, by its due time well after
    made = missed_planned(of, asked)
    assert made.skipped[0].count == COUNT_LIMIT
    assert made.firings[0].occurrence == begin
    assert made.skipped[0].last < begin


def test_plan_missed_range_above_the_count_limit_ends_with_its_schedule() -> None:
    spec = ScheduleSpec("rate(1 second)", anchor=T0, end=T0 + 2 * COUNT_LIMIT)
    made = missed_planned(standing(schedule=spec, mode=SKIP), T0 + 24 * HOUR)
    assert (made.cursor.occurrence, made.firings) == (None, ())
    assert made.skipped[0].last >= T0 + 2 * COUNT_LIMIT - 1
    assert made.cursor.last == made.skipped[0].last


def test_plan_missed_occurrences_count_exactly_towards_max_runs() -> None:
    made = missed_planned(standing("rate(1 second)", SKIP, max_runs=COUNT_LIMIT), T0 + 24 * HOUR)
    assert made.skipped == (SkippedRange(T0 + 1, T0 + COUNT_LIMIT, COUNT_LIMIT, "missed"),)
    assert (made.cursor.occurrence, made.cursor.remaining, made.firings) == (None, 0, ())


def test_plan_max_runs_leaves_occurrences_that_were_not_missed() -> None:
    made = missed_planned(standing(max_runs=60), T0 + HOUR)
    assert made.firings[0].count == 58
    assert on_time(made) == [HOUR - 60, HOUR]
    assert made.cursor.remaining == 0


def test_plan_excluded_times_are_not_missed() -> None:
    made = missed_planned(standing("0 * * * *", exclude=("2026-11-21T14:00:00Z",)), T0 + 4 * HOUR - 120)
    assert made.firings[0] == Firing(T0 + HOUR, T0 + HOUR, T0 + 3 * HOUR, 2, caught_up=True, following=T0 + 4 * HOUR)


def test_plan_cursor_moved_by_other_tzdata_catches_up_from_its_real_position() -> None:
    of = replace(standing("0 * * * *"), occurrence=T0 + 1800, due=T0 + 1800, tzdata="1999a")
    assert missed_planned(of, T0 + 3 * HOUR - 120).firings[0].occurrence == T0 + HOUR


def test_plan_moves_a_cursor_without_a_change_of_its_other_fields() -> None:
    others: dict[str, Any] = {
        "tenant": "acme",
        "job_id": "nightly",
        "generation": 7,
        "schedule": ScheduleSpec("0 * * * *", "Europe/Berlin"),
        "lane": Lane.HIGH,
        "precision": Precision.EXACT,
        "missed": MissedPolicy(MissedMode.SKIP, grace_seconds=30),
        "exclude": ("2026-12-24",),
        "jitter_seconds": 5,
        "offset_seconds": 6,
        "error": "an older error",
        "bulk": True,
        "resume": PlannedResume(T0),
        "deadlines": (Deadline(DeadlineEvent.START, 60),),
    }
    moved = {"occurrence", "due", "after", "remaining", "tzdata", "last", "ending", "waited"}
    assert others.keys() | moved == {field.name for field in fields(Cursor)}
    cursor = Cursor(**others, occurrence=T0, due=T0, after=T0 - 1)
    made = plan(cursor, now=T0, horizon=7_200).cursor
    assert made.occurrence != cursor.occurrence
    assert {name: getattr(made, name) for name in others} == others
