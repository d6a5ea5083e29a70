"""Work side by side."""

from threading import Barrier, current_thread

import pytest

from duecourse.adapters.system import Threads
from tests.support.waiting import PATIENCE_SECONDS


def test_threads_work_in_parallel_and_return_results_in_the_order_of_the_items() -> None:
    meeting = Barrier(4, timeout=PATIENCE_SECONDS)  # passed only if four are at work at once

    def work(number: int) -> int:
        meeting.wait()
        return number * number

    assert Threads(4).map(work, [3, 1, 2, 0]) == [9, 1, 4, 0]


def test_threads_single_item_needs_no_thread() -> None:
    assert Threads(4).map(lambda _: current_thread(), ["one"]) == [current_thread()]
    assert Threads(4).map(str, []) == []


def test_threads_raise_a_failure_after_all_items_have_ended() -> None:
    done: list[int] = []

    def work(number: int) -> None:
        if number == 0:
            raise ValueError("the first")
        done.append(number)

    with pytest.raises(ValueError, match="the first"):
        Threads(2).map(work, range(6))
    assert sorted(done) == [1, 2, 3, 4, 5]


def test_threads_background_result_is_available() -> None:
    assert Threads(1).begin(lambda: "later").result(timeout=PATIENCE_SECONDS) == "later"
