"""Any list, any limits, any failures: each item runs once, and the step ends as a model of some lines says."""

from hypothesis import given
from hypothesis import strategies as st

from duecourse.domain.runs.states import RunState
from duecourse.domain.workflows.graph import Graph, Items, Step, StepOutcome, StepOutcomes
from tests.property.test_workflows import Twice
from tests.support import in_process
from tests.support.examples import examples
from tests.support.for_each import item_ids, listed_graph, with_items
from tests.support.jobs import NOON
from tests.support.tables import create_tables
from tests.support.workflow_world import WorkflowWorld

COUNT = 9


class InFours(Graph):
    """Ends in parts of four items."""

    part_steps = 4


counts = st.integers(0, COUNT)
failing = st.sets(st.integers(0, COUNT), max_size=4)


@examples(40)
@given(counts, st.integers(1, COUNT), st.integers(0, 3), failing, failing, st.sets(st.integers(0, 30), max_size=6))
def test_for_each_item_runs_once_and_once_more_for_each_redrive_despite_duplicate_messages(
    count: int, at_once: int, max_failed: int, fails: set[int], still: set[int], twice: set[int]
) -> None:
    world = WorkflowWorld(create_tables(in_process.dynamodb()))
    answers = with_items(world, list(range(count)))
    answers.failing = set(fails)
    world.wheel = Twice(world, twice)  # type: ignore[assignment]
    world.begin(listed_graph(at_once, max_failed), NOON + 400)
    dead = {index for index in fails if index < count}
    fine = len(dead) <= max_failed
    _check(world, fine=fine)
    assert {name: answers.called[name] for name in item_ids(count)} == dict.fromkeys(item_ids(count), 1)
    if fine:
        return
    answers.failing = fails & still
    world.redrive("nightly")
    world.until(NOON + 800)
    _check(world, fine=len(dead & still) <= max_failed)
    assert [answers.called[name] for name in item_ids(count)] == [1 + (index in dead) for index in range(count)]


def _check(world: WorkflowWorld, *, fine: bool) -> None:
    wanted = RunState.SUCCEEDED if fine else RunState.DEAD
    assert [world.run(name).state for name in ("load", "nightly")] == [wanted, wanted]


@examples(200)
@given(st.integers(0, 40), st.integers(1, 40), st.data())
def test_for_each_window_opens_every_item_in_any_order_of_the_ends(
    count: int, at_once: int, data: st.DataObject
) -> None:
    """Each end opens exactly the item that no other end opens; never more than `at_once` items are open."""
    steps = tuple(Step(id=str(index), item=index) for index in range(count))
    graph = InFours(steps, items=Items(("",) * count, at_once, 0))
    known, active = StepOutcomes(), [index for index in range(count) if graph.opens(index, StepOutcomes())]
    assert active == list(range(min(at_once, count)))
    while active:
        ended = active.pop(data.draw(st.integers(0, len(active) - 1)))
        known = known.having(ended, StepOutcome.SUCCEEDED)
        opened = graph.opened(ended, known, last=True)
        assert len(opened) <= 1
        assert all(graph.opens(index, known) for index in opened)
        assert set(opened) <= set(graph.opened(ended, known, last=False))
        active += opened
        assert len(active) <= at_once
        assert {index for index in range(count) if graph.opens(index, known)} == {
            index for index in range(count) if known.any >> index & 1 or index in active
        }
    assert known.succeeded == (1 << count) - 1
