"""The figures of lateness."""

from __future__ import annotations

import pytest

from duecourse.cli.local.demo.verdict import figures, rank


def test_no_starts_have_no_figures() -> None:
    assert figures([]) is None


def test_an_early_start_is_counted_and_is_not_in_time() -> None:
    found = figures([-0.001, 0.0, 1.0, 1.001])

    assert found is not None
    assert (found.count, found.early, found.within_a_second) == (4, 1, 2)
    assert found.share_within_a_second == pytest.approx(0.5)


def test_ranks_are_values_that_occurred() -> None:
    values = [n / 100 for n in range(1, 101)]

    assert (rank(values, 0.5), rank(values, 0.9), rank(values, 0.99), rank(values, 1.0)) == (0.5, 0.9, 0.99, 1.0)
    assert rank([0.25], 0.01) == 0.25


def test_the_figures_read_as_one_line() -> None:
    assert str(figures([0.01, 0.02, 1.5])) == (
        "3 starts, 0 early, 2 within one second (67 %), median 0.020 s, p90 1.500 s, p99 1.500 s, worst 1.500 s"
    )
