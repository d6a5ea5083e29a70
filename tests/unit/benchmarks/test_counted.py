"""The benchmarks that count write units: what they add up, and what they compare it with."""

from __future__ import annotations

import pytest

from benchmarks.creation import DAILY, measure
from benchmarks.workflows import Cost, budgets
from benchmarks.workflows import measure as measure_workflow
from duecourse.domain.jobs.job import Overlap


def test_creation_with_a_seat_costs_two_units_more() -> None:
    without, seated = (measure(DAILY, seated=seats, keyed=False) for seats in (False, True))
    assert seated["write_units"] - without["write_units"] == pytest.approx(2, abs=0.2)
    assert seated["tenant_seats"] == 2
    parts = {name: units for name, units in seated.items() if name != "write_units"}
    assert seated["write_units"] == pytest.approx(sum(parts.values()), abs=0.1)


def test_workflow_whose_job_forbids_overlap_costs_two_units_more() -> None:
    allowed, forbidden = (measure_workflow({"only": ()}, overlap) for overlap in (Overlap.ALLOW, Overlap.SKIP))
    assert forbidden.written - allowed.written == forbidden.budget - allowed.budget == 2


def test_workflow_above_its_units_misses_its_budget() -> None:
    cost = Cost(members=1, units={"JOB RUN": 18, "ENDS ENDS": 1}, messages=4, locks=True)
    assert budgets({"one": cost}) == {
        "one_at_most_17_wru": False,
        "one_at_most_4_messages": True,
        "one_a_write_for_each_end": True,
    }
