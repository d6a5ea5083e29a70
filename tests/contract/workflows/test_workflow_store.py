"""Graphs and ends of steps, on each emulator that executes conditions rightly."""

import pytest

from duecourse.domain.ids import RunName
from duecourse.domain.workflows.graph import PART_STEPS, StepOutcome, StepOutcomes, WorkflowRef
from duecourse.ports import GraphMissingError
from duecourse.stores.workflows import WorkflowStore
from duecourse.testing.clock import SettableClock
from tests.support.jobs import NOON, stored_job
from tests.support.tables import Tables
from tests.support.workflow_world import DIAMOND
from tests.support.workflows import graph_of

RUN = RunName("nightly", int(NOON))
LATER = int(NOON) + 86_400


@pytest.fixture
def store(any_tables: Tables) -> WorkflowStore:
    return any_tables.workflows(SettableClock(NOON))


def note(store: WorkflowStore, number: int, end: StepOutcome) -> StepOutcomes:
    return store.record_end("default", RUN, number, end, expires_at=LATER).ends


def test_workflow_store_graph_is_identified_by_its_content(any_tables: Tables, store: WorkflowStore) -> None:
    graph = graph_of(DIAMOND, report={"not_before": "0 8 * * *"})
    ref = store.put_graph("default", "nightly", graph)
    assert store.put_graph("default", "nightly", graph) == ref
    assert any_tables.workflows(SettableClock(NOON)).graph("default", ref) == graph


def test_workflow_store_missing_graph_is_an_error(store: WorkflowStore) -> None:
    with pytest.raises(GraphMissingError):
        store.graph("default", WorkflowRef("nightly", "gone"))


def test_workflow_store_recording_an_end_returns_all_ends_of_its_part(store: WorkflowStore) -> None:
    assert note(store, 0, StepOutcome.SUCCEEDED) == StepOutcomes(succeeded=0b1)
    assert note(store, 3, StepOutcome.FAILED) == StepOutcomes(succeeded=0b1, failed=0b1000)
    assert note(store, PART_STEPS, StepOutcome.ABORTED) == StepOutcomes(aborted=1 << PART_STEPS), "another part"
    whole = StepOutcomes(succeeded=0b1, failed=0b1000, aborted=1 << PART_STEPS)
    assert store.read("default", RUN, range(3)).ends == whole


def test_workflow_store_end_is_replaced_only_by_one_of_higher_rank(store: WorkflowStore) -> None:
    assert note(store, 0, StepOutcome.ABORTED) == StepOutcomes(aborted=1)
    assert note(store, 0, StepOutcome.SKIPPED) == StepOutcomes(aborted=1)
    assert note(store, 0, StepOutcome.FAILED) == StepOutcomes(failed=1)
    assert note(store, 0, StepOutcome.SUCCEEDED) == StepOutcomes(succeeded=1)
    assert note(store, 0, StepOutcome.FAILED) == StepOutcomes(succeeded=1)


def test_workflow_store_ends_are_separate_by_tenant_and_run(store: WorkflowStore) -> None:
    note(store, 0, StepOutcome.SUCCEEDED)
    assert store.read("other", RUN, [0]).ends == StepOutcomes()
    assert store.read("default", RunName("nightly", int(NOON), ".mx"), [0]).ends == StepOutcomes()


def test_workflow_store_only_steps_unchanged_since_the_read_are_claimed(
    any_tables: Tables, store: WorkflowStore
) -> None:
    jobs = any_tables.job_store(SettableClock(NOON))
    for number in range(120):
        stored_job(jobs, "", id=f"job-{number}")
    read = store.jobs("default", [f"job-{number}" for number in range(121)])
    assert len(read) == 120
    stale = jobs.get("default", "job-7")
    assert stale is not None
    assert store.claim([stale], "hourly", at=NOON) == []
    assert store.claim(list(read.values()), "nightly", at=NOON) == ["job-7"]
    now = store.jobs("default", list(read))
    assert {name for name, each in now.items() if each.workflow == "nightly"} == read.keys() - {"job-7"}
    assert now["job-7"].workflow == "hourly"
    store.free([now["job-8"]], "nightly", None, at=NOON)
    freed = jobs.get("default", "job-8")
    assert freed.workflow is None


def test_workflow_store_withdrawn_end_and_its_late_repetition_do_not_count(store: WorkflowStore) -> None:
    note(store, 0, StepOutcome.FAILED)
    note(store, 1, StepOutcome.SUCCEEDED)
    store.withdraw("default", RUN, {0: 1, PART_STEPS: 2}, [0, 1, 2], expires_at=LATER)
    withdrawn = StepOutcomes(succeeded=0b10, rounds=((0, 1), (PART_STEPS, 2)), again=True)
    assert store.read("default", RUN, [0, 1]).ends == withdrawn
    assert store.read("default", RUN, [2]).ends == StepOutcomes(again=True), "each part says so"
    assert note(store, 0, StepOutcome.FAILED) == StepOutcomes(succeeded=0b10, rounds=((0, 1),), again=True)
    ended = store.record_end("default", RUN, 0, StepOutcome.SKIPPED, in_round=1, expires_at=LATER).ends
    assert ended == StepOutcomes(succeeded=0b10, skipped=0b1, rounds=((0, 1),), again=True)
    store.withdraw("default", RUN, {0: 1}, [], expires_at=LATER)
    assert store.read("default", RUN, [0]).ends == ended, "withdrawn twice"


def test_workflow_store_runs_with_withdrawn_ends_are_found_among_many(store: WorkflowStore) -> None:
    runs = [RunName("nightly", int(NOON) + minute) for minute in range(120)]
    for run in (runs[0], runs[119]):
        store.withdraw("default", run, {PART_STEPS: 1}, [0, 1], expires_at=LATER)
    store.record_end("default", runs[1], 0, StepOutcome.FAILED, expires_at=LATER)
    assert store.redriven("default", runs) == [runs[0], runs[119]]
    assert store.redriven("default", []) == store.redriven("other", runs) == []
