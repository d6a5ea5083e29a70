"""The write units of one-off jobs and delayed runs are counted and stay within their budgets."""

from __future__ import annotations

from benchmarks.oneoff import at_job, delayed_run, total
from duecourse.domain.jobs.job import Overlap


def test_a_delayed_run_costs_seven_units_in_its_whole_life() -> None:
    assert total(delayed_run(Overlap.ALLOW)) == 7


def test_a_delayed_run_with_an_overlap_lock_costs_two_units_more() -> None:
    assert total(delayed_run(Overlap.SKIP)) == 9


def test_a_one_off_job_costs_24_units_in_its_whole_life_and_none_for_its_removal() -> None:
    parts = at_job(Overlap.SKIP)
    assert total(parts) == 24
    assert parts["removed"] == {}
