"""A run of a workflow takes thirteen write units, three more for each job, and none for an edge."""

import pytest

from benchmarks.workflows import ITEM_UNITS, LISTED_ITEM_UNITS, Steps, measure, measure_items
from duecourse.domain.workflows.graph import PART_STEPS
from tests.support.workflow_world import CHAIN, DIAMOND

FIRST = tuple(f"first-{number}" for number in range(10))
DENSE: Steps = dict.fromkeys(FIRST, ()) | {f"second-{number}": FIRST for number in range(10)}


@pytest.mark.parametrize(
    ("steps", "units", "messages"),
    [(CHAIN, 22, 6), (DIAMOND, 25, 7), (DENSE, 73, 23)],
    ids=["chain", "diamond", "dense"],
)
def test_workflow_costs_of_a_run_are_its_own_units_and_those_of_its_steps(
    steps: Steps, units: int, messages: int
) -> None:
    cost = measure(steps)
    assert (cost.written, cost.messages) == (units, messages)


def test_workflow_costs_of_each_end_are_one_write_however_many_ends_the_item_contains() -> None:
    wide: Steps = {f"part-{number:03d}": () for number in range(PART_STEPS)}
    assert measure(wide).ends == PART_STEPS


@pytest.mark.parametrize(("listed", "most"), [(False, ITEM_UNITS), (True, LISTED_ITEM_UNITS)], ids=["plain", "listed"])
def test_workflow_costs_of_an_item_of_a_list_are_its_start_its_end_and_its_note(*, listed: bool, most: float) -> None:
    empty, cost = (measure_items(count, listed=listed) for count in (0, 200))
    units = (cost.written - empty.written) / cost.steps
    assert units <= 3 + listed + 2 / cost.steps  # the list needs two units more
    assert units <= most
    assert cost.messages <= empty.messages + cost.steps
