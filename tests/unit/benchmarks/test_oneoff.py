"""The write units of one-off jobs and delayed runs are counted and stay within their budgets."""

from benchmarks.cost.counts import ONE_OFF_WRU
from benchmarks.oneoff import at_job, delayed_run, total
from duecourse.domain.jobs.job import Overlap


def test_one_off_delayed_run_costs_nine_units_in_its_whole_life() -> None:
    assert total(delayed_run(Overlap.ALLOW)) == ONE_OFF_WRU["delayed_run"] == 9


def test_one_off_delayed_run_with_overlap_lock_costs_one_more_unit() -> None:
    assert total(delayed_run(Overlap.SKIP)) == ONE_OFF_WRU["delayed_run_overlap_skip"] == 10


def test_one_off_job_costs_22_units_in_its_whole_life_and_none_for_its_removal() -> None:
    parts = at_job(Overlap.SKIP)
    assert total(parts) == ONE_OFF_WRU["at_job"] == 22
    assert parts["removed"] == {}
