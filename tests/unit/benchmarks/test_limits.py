"""benchmarks/limits: its figures, from the times of calls and ends."""

from benchmarks.limits import hand_overs, most_active

CALLS = [(0.0, "a"), (0.1, "b"), (2.4, "c"), (3.0, "d")]
ENDS = [(2.0, "a"), (2.5, "b"), (4.4, "c"), (5.0, "d")]


def test_limits_counts_the_runs_that_are_active_at_once() -> None:
    assert most_active(CALLS, ENDS) == 2


def test_limits_counts_a_run_that_is_called_again_once() -> None:
    assert most_active([*CALLS, (0.2, "a")], ENDS) == 2


def test_limits_counts_a_run_that_starts_before_the_end_of_another() -> None:
    assert most_active([*CALLS, (1.0, "early")], ENDS) == 3


def test_limits_measures_from_an_end_to_the_start_of_the_next_run() -> None:
    assert hand_overs(CALLS, ENDS, limit=2) == [(2.0, 2.4 - 2.0), (2.5, 3.0 - 2.5)]
