"""Workflows keep their promises in every order of their workers' steps, with what may go wrong once.

The short form of `make model`; what was explored is in docs/decisions/015-workflows.md.
"""

import pytest

from tests.support.workflow_model.cases import MUTANTS, SHORT, WALKS
from tests.support.workflow_model.explorer import BrokenPromiseError, Explorer
from tests.support.workflow_model.values import Case


def named(case: Case) -> str:
    """What may go wrong in it."""
    wrong = [f"{name}={count}" for name, count in case.left._asdict().items() if count]
    return "-".join([case.name.replace(" ", "_"), str(case.workers), *wrong])


@pytest.mark.parametrize("case", SHORT, ids=named)
def test_workflow_protocol_keeps_its_guarantees_in_every_order_of_the_steps(case: Case) -> None:
    assert Explorer(case).exhaust().rests


@pytest.mark.parametrize("case", WALKS, ids=named)
def test_workflow_protocol_keeps_its_guarantees_in_random_orders_for_larger_graphs(case: Case) -> None:
    assert Explorer(case).walk(seed=1, steps=2_500).rests


@pytest.mark.parametrize("changed", MUTANTS)
def test_workflow_protocol_with_one_changed_line_breaks_a_guarantee(changed: str) -> None:
    with pytest.raises(BrokenPromiseError):
        Explorer(MUTANTS[changed], changed).exhaust()
