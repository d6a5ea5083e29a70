"""The write units of one-off jobs and delayed runs are counted and stay within their budgets."""

from __future__ import annotations

from benchmarks.oneoff import delayed_run, total
from duecourse.domain.jobs.job import Overlap


def test_a_delayed_run_costs_seven_units_in_its_whole_life() -> None:
    assert total(delayed_run(Overlap.ALLOW)) == 7


def test_a_delayed_run_with_an_overlap_lock_costs_two_units_more() -> None:
    assert total(delayed_run(Overlap.SKIP)) == 9
