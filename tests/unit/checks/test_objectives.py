"""The objectives of a stage, from its metrics."""

import pytest

from duecourse.checks.objectives import Objective, objectives


def test_objectives_each_step_counts_by_its_runs() -> None:
    late, available = objectives({0: 100.0, 1800: 90.0}, {0: 900.0, 1800: 100.0}, {0: 2.0}, {0: 600.0, 1800: 400.0})
    assert (late.name, late.target, late.share) == ("lateness", 0.99, pytest.approx(0.99))
    assert (available.name, available.target, available.share) == ("availability", 0.999, pytest.approx(0.998))


def test_objectives_budget_is_used_up_when_the_target_is_just_met() -> None:
    assert Objective("lateness", 0.99, 0.99).budget_used == pytest.approx(1.0)
    assert Objective("lateness", 0.99, 1.0).budget_used == 0.0
    assert Objective("availability", 0.999, 0.998).budget_used == pytest.approx(2.0)


def test_objectives_without_data_nothing_is_said() -> None:
    assert [each.share for each in objectives({}, {}, {}, {})] == [None, None]
    assert [each.budget_used for each in objectives({0: 100.0}, {}, {}, {0: 0.0})] == [None, None]
