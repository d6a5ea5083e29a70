"""What should have been, compared with what there is."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duecourse.domain.jobs.job import JobState, Lane
from duecourse.domain.maintenance.audit import (
    CLOSED_SECONDS,
    DAY_SECONDS,
    MAX_RANGES,
    Turn,
    audited_from,
    compare,
    few,
    grouped,
    held_back,
    joined,
    next_turn,
)
from duecourse.domain.runs.coverage import OccurrenceRange, Recorded
from tests.support.jobs import NOON, job

HOUR = 3600
KEPT = 90 * DAY_SECONDS


def record(first: int, last: int | None = None, *, ran: bool = True) -> Recorded:
    return Recorded(first, first if last is None else last, first, Lane.NORMAL, ran)


def test_audit_accepts_occurrences_with_their_own_records() -> None:
    made = compare([1, 2, 3], [record(1), record(2, ran=False), record(3)])
    assert (made.expected, made.missing, made.doubled) == (3, (), ())


def test_audit_reports_adjacent_occurrences_without_a_record_as_one_range() -> None:
    made = compare([10, 20, 30, 40, 50], [record(10), record(40)])
    assert made.missing == (OccurrenceRange(20, 30, 2), OccurrenceRange(50, 50, 1))


def test_audit_range_record_covers_all_occurrences_within_it() -> None:
    assert compare([10, 20, 30, 40], [record(10, 30)]).missing == (OccurrenceRange(40, 40, 1),)
    assert compare([10, 20, 30], [record(5, 35, ran=False)]).missing == ()


def test_audit_range_record_is_not_shortened_by_a_record_within_it() -> None:
    assert compare([10, 20, 30], [record(10, 30), record(20, ran=False)]).missing == ()


@pytest.mark.parametrize(
    ("records", "doubled"),
    [
        ([record(10, 30), record(20)], (OccurrenceRange(20, 20, 1),)),
        ([record(10, 30), record(20, 40)], (OccurrenceRange(20, 30, 2),)),
        ([record(10, 30), record(20, ran=False)], ()),
        ([record(10, 30, ran=False), record(20)], ()),
        ([record(10, 20), record(30, 40)], ()),
    ],
    ids=["by itself too", "by two catch-ups", "skipped by itself", "a skipped range", "one after the other"],
)
def test_audit_occurrence_covered_by_two_runs_is_doubled(
    records: list[Recorded], doubled: tuple[OccurrenceRange, ...]
) -> None:
    assert compare([10, 20, 30, 40], records).doubled == doubled


@given(
    expected=st.lists(st.integers(0, 60), unique=True).map(sorted),
    ranges=st.lists(st.tuples(st.integers(0, 60), st.integers(0, 15), st.booleans()), max_size=8),
)
def test_audit_result_equals_counting_records_one_by_one(
    expected: list[int], ranges: list[tuple[int, int, bool]]
) -> None:
    records = [record(first, first + length, ran=ran) for first, length, ran in ranges]
    made = compare(expected, records)
    within = {at: [each for each in records if each.occurrence <= at <= each.through] for at in expected}
    assert sum(gap.count for gap in made.missing) == sum(not found for found in within.values())
    assert sum(gap.count for gap in made.doubled) == sum(sum(r.ran for r in f) > 1 for f in within.values())
    missing = [at for gap in made.missing for at in expected if gap.first <= at <= gap.last]
    assert missing == [at for at, found in within.items() if not found]


def test_audit_starts_at_the_current_definition_of_a_job_and_ignores_paused_jobs() -> None:
    made = job()
    assert audited_from(made, 50, 100) == 100
    assert audited_from(made, 150, 100) == 150
    assert audited_from(replace(made, state=JobState.COMPLETED), 150, 100) == 150
    assert audited_from(replace(made, state=JobState.PAUSED), 150, 100) is None


def turn(turns: list[Turn], segments: int = 3, now: float = NOON, **changes: Any) -> Turn | None:
    return next_turn(turns, segments, now=now, kept_seconds=changes.get("kept_seconds", KEPT))


def test_audit_covers_a_single_segment_each_hour_up_to_three_hours_ago() -> None:
    first = turn([], 1, NOON + 59)
    assert first == Turn(0, 1, int(NOON) - CLOSED_SECONDS - HOUR, int(NOON) - CLOSED_SECONDS)
    done = replace(first, done=True)
    assert turn([done], 1, NOON + HOUR - 1) is None
    assert turn([done], 1, NOON + HOUR) == Turn(0, 1, done.high, done.high + HOUR, version=2)


def test_audit_segments_alternate_hourly_with_adjacent_windows() -> None:
    turns: dict[int, Turn] = {}
    windows: dict[int, list[tuple[int, int]]] = {0: [], 1: [], 2: []}
    for hour in range(9):
        while (due := turn(list(turns.values()), now=NOON + hour * HOUR)) is not None:
            turns[due.segment] = replace(due, done=True)
            windows[due.segment].append((due.low, due.high))
    for row in windows.values():
        assert len(row) >= 3
        assert all(before[1] == after[0] for before, after in pairwise(row))
        assert all(high - low == 3 * HOUR for low, high in row)
    assert {due.high % (3 * HOUR) for due in turns.values()} == {0, HOUR, 2 * HOUR}


def test_audit_continues_an_unfinished_turn_before_the_next_one() -> None:
    begun = Turn(1, 3, 0, int(NOON) - 4 * HOUR, start="there", version=7)
    assert turn([begun]) == replace(begun, low=int(NOON) - KEPT + DAY_SECONDS, version=8)


def test_audit_makes_up_missed_turns_day_by_day_while_records_are_kept() -> None:
    old = Turn(0, 1, 0, int(NOON) - 2 * DAY_SECONDS, done=True)
    found = turn([old], 1)
    assert (found.low, found.high) == (old.high, old.high + DAY_SECONDS)
    last = turn([replace(found, done=True)], 1)
    assert (last.low, last.high) == (found.high, int(NOON) - CLOSED_SECONDS)
    assert turn([replace(last, done=True)], 1) is None
    ancient = turn([replace(old, high=int(NOON) - 200 * DAY_SECONDS)], 1)
    assert ancient.low == int(NOON) - KEPT + DAY_SECONDS


def test_audit_continues_from_the_slowest_segment_when_their_number_changes() -> None:
    old = [Turn(n, 2, 0, int(NOON) - (6 + n) * HOUR, done=True) for n in range(2)]
    found = turn(old, 3)
    assert (found.segments, found.low) == (3, int(NOON) - 7 * HOUR)


def test_audit_groups_ranges_that_are_close_together() -> None:
    ranges = [
        OccurrenceRange(0, 5, 2),
        OccurrenceRange(90, 99, 2),
        OccurrenceRange(100, 101, 2),
        OccurrenceRange(300, 900, 9),
        OccurrenceRange(901, 901, 1),
    ]
    assert grouped(ranges, 100) == [ranges[:2], ranges[2:3], ranges[3:4], ranges[4:]]
    assert grouped([], 100) == []


def test_audit_merges_ranges_of_two_sources_without_duplicates_into_a_limited_number() -> None:
    known = [OccurrenceRange(10, 20, 2), OccurrenceRange(50, 60, 2)]
    assert joined(known, [OccurrenceRange(10, 20, 2), OccurrenceRange(30, 30, 1), OccurrenceRange(55, 80, 4)]) == (
        OccurrenceRange(10, 20, 2),
        OccurrenceRange(30, 30, 1),
        OccurrenceRange(50, 80, 4),
    )
    many = [OccurrenceRange(at, at, 1) for at in range(0, 2 * (MAX_RANGES + 1), 2)]
    assert few(many[1:]) == many[1:]
    assert joined(many[:5], many[5:]) == (OccurrenceRange(0, 2 * MAX_RANGES, MAX_RANGES + 1),)


def test_audit_lane_that_started_an_occurrence_due_an_hour_later_holds_back_no_older_ones() -> None:
    due = int(NOON)
    assert held_back(due, {}, Lane.LOW)
    assert held_back(due, {Lane.LOW: due + HOUR}, Lane.LOW)
    assert not held_back(due, {Lane.LOW: due + HOUR + 1}, Lane.LOW)
    assert held_back(due, {Lane.HIGH: due + 9 * HOUR}, Lane.LOW)
