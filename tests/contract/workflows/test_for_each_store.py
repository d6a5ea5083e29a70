"""The graph of a step's items, and whether the note of an end is the first one, on each emulator."""

from hashlib import sha256

import pytest

from duecourse.checks.tenants import tenant_of
from duecourse.domain.ids import RunName
from duecourse.domain.workflows.graph import ForEach, Graph, Rule, Step, StepOutcome
from duecourse.domain.workflows.items import items_graph
from duecourse.domain.workflows.results import MAX_TAKEN_BYTES
from duecourse.stores.keys import GRAPH_PREFIX, job_key
from duecourse.stores.table import Table
from duecourse.stores.workflows import WorkflowStore
from duecourse.testing.clock import SettableClock
from tests.support.jobs import NOON
from tests.support.tables import Tables

RUN = RunName("load", int(NOON))
LATER = int(NOON) + 86_400
STEP = Step(id="load", for_each=ForEach("{{workflow.payload}}", 3, 1, 60))


@pytest.fixture
def store(any_tables: Tables) -> WorkflowStore:
    return any_tables.workflows(SettableClock(NOON))


def test_for_each_graph_keeps_the_values_of_its_items(any_tables: Tables, store: WorkflowStore) -> None:
    graph = items_graph(STEP, [1, "two", {"three": [3.5, None]}], "Europe/Berlin")
    ref = store.put_graph("default", "load", graph, expires_at=LATER)
    assert any_tables.workflows(SettableClock(NOON)).graph("default", ref) == graph


def test_for_each_graph_is_in_the_table_of_runs_which_no_maintenance_scans(
    any_tables: Tables, store: WorkflowStore
) -> None:
    both, graph = any_tables.both(SettableClock(NOON)), items_graph(STEP, ["a", "b"], "UTC")
    ref = store.put_graph("default", "load", graph, expires_at=LATER)
    key = job_key("default", "load", GRAPH_PREFIX + ref.graph)
    assert both.get(Table.JOBS, key) is None
    item = both.get(Table.RUNS, key)
    assert item is not None
    assert item["expires_at"] == {"N": str(LATER)}
    assert tenant_of(key["PK"]["S"], key["SK"]["S"]) == "default"
    definition = Graph((STEP,))
    ref = store.put_graph("default", "nightly", definition)
    key = job_key("default", "nightly", GRAPH_PREFIX + ref.graph)
    assert both.get(Table.RUNS, key) is None
    assert both.get(Table.JOBS, key) is not None
    assert any_tables.workflows(SettableClock(NOON)).graph("default", ref) == definition


def test_for_each_largest_list_fits_into_an_item_of_the_table(any_tables: Tables, store: WorkflowStore) -> None:
    values = ["".join(sha256(f"{index} {part}".encode()).hexdigest() for part in range(4)) for index in range(980)]
    assert MAX_TAKEN_BYTES * 0.95 < sum(len(each) + 4 for each in values) <= MAX_TAKEN_BYTES
    graph = items_graph(STEP, values, "UTC")
    ref = store.put_graph("default", "load", graph, expires_at=LATER)
    assert any_tables.workflows(SettableClock(NOON)).graph("default", ref) == graph


def test_for_each_leaves_the_hash_of_other_graphs_as_it_was(store: WorkflowStore) -> None:
    steps = Step(id="a"), Step(id="b", after=("a",), when=Rule.ALL_DONE, only="0 2 * * *", job="n--b")
    assert str(store.ref_of("nightly", Graph(steps, "Europe/Berlin"))) == "nightly@53eca5e0ff4e544e26dd696a"


def test_for_each_note_of_an_end_is_the_first_one_only_once(store: WorkflowStore) -> None:
    def note(number: int, in_round: int = 0) -> tuple[bool, int]:
        end = StepOutcome.FAILED
        recorded = store.record_end("default", RUN, number, end, in_round=in_round, expires_at=LATER)
        return recorded.first, recorded.ends.passed

    assert note(0) == (True, 0b1)
    assert note(1) == (True, 0b11)
    assert note(0) == (False, 0b11)
    assert note(0, in_round=1) == (True, 0b11)
    store.withdraw("default", RUN, {1: 1}, [0], expires_at=LATER)
    assert note(2) == (True, 0b111), "a withdrawn end still counts as passed"
