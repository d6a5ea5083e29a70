"""What of a row of occurrences no record answers for."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from duecourse.domain.jobs.job import Lane
from duecourse.domain.runs.coverage import OccurrenceRange, Recorded, unrecorded
from tests.support.jobs import NOON, job

MINUTELY = job("* * * * *").occurrences()
T0 = int(NOON)


def minute(number: int) -> int:
    return T0 + 60 * number


def record(first: int, last: int | None = None) -> Recorded:
    """A record of the minutes from the first through the last after NOON."""
    through = minute(first if last is None else last)
    return Recorded(minute(first), through, minute(first), Lane.NORMAL, ran=True)


def parts(first: int, last: int, *records: Recorded, most: int = 50) -> list[tuple[int, int, int]]:
    whole = OccurrenceRange(minute(first), minute(last), last - first + 1)
    found = unrecorded(MINUTELY, whole, records, most=most)
    return [((gap.first - T0) // 60, (gap.last - T0) // 60, gap.count) for gap in found]


def test_a_row_without_records_stays_whole_and_is_not_walked() -> None:
    week = OccurrenceRange(minute(1), minute(1) + 7 * 86_400, 10_000)
    assert unrecorded(MINUTELY, week, (), most=50) == [week]


def test_records_are_cut_out_wherever_they_stand() -> None:
    assert parts(1, 10, record(1)) == [(2, 10, 9)]
    assert parts(1, 10, record(10)) == [(1, 9, 9)]
    assert parts(1, 10, record(7), record(3)) == [(1, 2, 2), (4, 6, 3), (8, 10, 3)]
    assert parts(1, 10, record(3, 6)) == [(1, 2, 2), (7, 10, 4)]
    assert parts(1, 3, record(1), record(2), record(3)) == []


def test_a_record_that_reaches_over_an_end_covers_what_it_covers() -> None:
    assert parts(3, 10, record(1, 4)) == [(5, 10, 6)]
    assert parts(1, 5, record(4, 9)) == [(1, 3, 3)]
    assert parts(2, 3, record(1, 9)) == []


def test_the_last_of_the_parts_that_may_be_reaches_to_the_end() -> None:
    assert parts(1, 10, record(2), record(4), record(6), most=2) == [(1, 1, 1), (3, 10, 8)]


def test_a_row_that_was_counted_up_to_a_limit_stays_long_in_its_last_part() -> None:
    whole = OccurrenceRange(minute(1), minute(20_000), 10_000)
    assert unrecorded(MINUTELY, whole, [record(3)], most=50) == [
        OccurrenceRange(minute(1), minute(2), 2),
        OccurrenceRange(minute(4), minute(20_000), 9_997),
    ]


@given(st.integers(1, 30), st.integers(0, 30), st.lists(st.tuples(st.integers(0, 40), st.integers(0, 5)), max_size=8))
def test_parts_and_records_together_are_the_row_and_share_nothing(
    first: int, length: int, drawn: list[tuple[int, int]]
) -> None:
    last = first + length
    records = [record(begin, begin + more) for begin, more in drawn]
    covered = {each for begin, more in drawn for each in range(begin, begin + more + 1)}
    found = parts(first, last, *records)
    minutes = [each for begin, end, _ in found for each in range(begin, end + 1)]
    assert minutes == sorted(set(range(first, last + 1)) - covered)
    assert all(count == end - begin + 1 for begin, end, count in found)
