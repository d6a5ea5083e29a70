"""Finding the newest occurrences of a schedule that only knows "next"."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duecourse.usecases.runs.lists import newest, without


@dataclass
class Listed:
    """A schedule of given instants that counts how often it was asked."""

    instants: list[int]
    asked: int = field(default=0)

    def next(self, after: int) -> int | None:
        self.asked += 1
        return next((at for at in self.instants if at > after), None)


@dataclass
class EverySecond:
    """The densest schedule there is."""

    asked: int = field(default=0)

    def next(self, after: int) -> int | None:
        self.asked += 1
        return after + 1


@pytest.mark.parametrize(
    ("covered", "left"),
    [
        ([], [(0, 100)]),
        ([(9, 20)], [(0, 9), (20, 100)]),
        ([(0, 5), (95, 100)], [(5, 95)]),
        ([(-50, 200)], []),
        ([(30, 40), (10, 20)], [(0, 10), (20, 30), (40, 100)]),
        ([(10, 30), (20, 25)], [(0, 10), (30, 100)]),
        ([(200, 300)], [(0, 100)]),
        ([(-20, -10)], [(0, 100)]),
    ],
)
def test_what_records_answer_for_is_cut_out(covered: list[tuple[int, int]], left: list[tuple[int, int]]) -> None:
    assert without((0, 100), covered) == left


def test_an_empty_window_stays_empty() -> None:
    assert without((100, 100), [(3, 4)]) == []
    assert without((100, 50), []) == []


def test_the_newest_of_a_fortnight_of_seconds_take_few_steps() -> None:
    schedule = EverySecond()
    fortnight = 14 * 86_400
    assert newest(schedule, [(0, fortnight)], 100) == list(range(fortnight, fortnight - 100, -1))
    assert schedule.asked < 25 * 102


spans = st.tuples(st.integers(-10, 500), st.integers(-10, 500)).map(lambda pair: (min(pair), max(pair)))


@given(st.sets(st.integers(1, 500)), st.integers(1, 20), st.lists(spans, max_size=3))
def test_newest_is_what_sorting_finds(instants: set[int], count: int, covered: list[tuple[int, int]]) -> None:
    windows = without((50, 450), covered)
    wanted = sorted((at for at in instants if any(low < at <= high for low, high in windows)), reverse=True)
    assert newest(Listed(sorted(instants)), windows, count) == wanted[:count]


@given(st.integers(0, 100), st.integers(0, 500), st.lists(spans, max_size=5))
def test_every_instant_is_either_covered_or_left(low: int, high: int, covered: list[tuple[int, int]]) -> None:
    left = without((low, high), covered)
    for at in range(low + 1, high + 1):
        is_covered = any(begin < at <= end for begin, end in covered)
        assert is_covered != any(begin < at <= end for begin, end in left)
