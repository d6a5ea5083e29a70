"""A step with `for_each` runs once for each item of a list that an upstream step has returned."""

from dataclasses import replace
from typing import Any

import pytest

from duecourse.domain.instants import DAY_SECONDS
from duecourse.domain.jobs.job import Overlap
from duecourse.domain.runs.states import RunState
from duecourse.domain.targets.targets import Failed, Outcome
from duecourse.ports import Call
from duecourse.stores.keys import GRAPH_PREFIX, job_key
from duecourse.stores.table import Table
from duecourse.usecases.workflows.workflows import KEPT_LONGER_DAYS
from tests.support.for_each import item, item_ids, listed_graph, with_items
from tests.support.jobs import NOON
from tests.support.workflow_world import INSTANT, WorkflowWorld

S, D, C = RunState.SUCCEEDED, RunState.DEAD, RunState.CANCELLED
END = NOON + 120


def states(world: WorkflowWorld, *names: str) -> list[RunState | None]:
    return [None if (run := world.run(name)) is None else run.state for name in names]


def test_for_each_runs_the_step_once_for_each_item_with_its_value_and_index(world: WorkflowWorld) -> None:
    values = [{"id": "a"}, {"id": "b"}, {"id": "c"}]
    answers = with_items(world, values, payload={"id": "{{item.id}}", "of": "{{item}}", "text": "item {{index}}"})
    world.begin(listed_graph(), END)
    assert states(world, "list", "load", "report", "nightly") == [S] * 4
    assert {name: count for name, count in answers.called.items() if "load" in name} == dict.fromkeys(item_ids(3), 1)
    for index, value in enumerate(values):
        assert answers.payloads[f"load.{INSTANT}.i{index}"] == {"id": value["id"], "of": value, "text": f"item {index}"}


def test_for_each_results_become_a_manifest_that_later_steps_read(world: WorkflowWorld) -> None:
    answers = with_items(world, ["x", "y"], report="{{upstream.load.result}}")
    world.begin(listed_graph(), END)
    rows = [
        {"index": index, "run_id": f"load.{INSTANT}.i{index}", "state": "SUCCEEDED", "result": {"of": index}}
        for index in range(2)
    ]
    assert answers.payloads[f"report.{INSTANT}"] == {"count": 2, "succeeded": 2, "failed": 0, "items": rows}


def test_for_each_manifest_counts_items_whose_records_have_expired_as_they_ended(world: WorkflowWorld) -> None:
    answers = with_items(world, list("abcd"))
    answers.failing = {1, 3}
    world.begin(listed_graph(max_failed=1), END)
    answers.failing = set()
    for index in (0, 3):
        world.delete_record("load", f"{INSTANT}.i{index}")
    world.redrive("load")
    world.until(END + 120)
    manifest = {"count": 4, "succeeded": 3, "failed": 1}
    run = world.run("load")
    assert run is not None
    assert run.result.items() >= manifest.items()  # type: ignore[attr-defined]
    rows = [{**row, "run_id": None} for row in run.result["items"]]  # type: ignore[index, attr-defined]
    assert rows[0] == {"index": 0, "run_id": None, "state": "SUCCEEDED", "result": None, "expired": True}
    assert rows[1] == {"index": 1, "run_id": None, "state": "SUCCEEDED", "result": {"of": 1}}
    assert rows[3] == {"index": 3, "run_id": None, "state": "DEAD", "result": None, "expired": True}


def test_for_each_items_are_kept_as_long_as_the_ends_of_the_step(world: WorkflowWorld) -> None:
    with_items(world, ["x", "y"])
    world.begin(listed_graph(), END)
    run = world.run("load")
    assert run is not None
    key = job_key("default", "load", f"{GRAPH_PREFIX}{run.items}")
    item = world.tables.both().get(Table.RUNS, key)
    assert item is not None
    assert run.expires_at is not None
    later = int(item["expires_at"]["N"]) - run.expires_at
    assert 0 <= later - KEPT_LONGER_DAYS * DAY_SECONDS <= 3600, "the record of a run in progress includes its deadline"


def test_for_each_of_an_empty_list_succeeds_at_once_with_an_empty_manifest(world: WorkflowWorld) -> None:
    answers = with_items(world, [], report="{{upstream.load.result}}")
    world.begin(listed_graph(), END)
    assert answers.payloads[f"report.{INSTANT}"] == {"count": 0, "succeeded": 0, "failed": 0, "items": []}
    assert states(world, "load", "nightly") == [S, S]


@pytest.mark.parametrize(
    ("value", "error"),
    [
        (None, "for_each needs a list, but {{upstream.list.result.items}} is null"),
        ({"a": 1}, "for_each needs a list, but {{upstream.list.result.items}} is an object"),
        ("text", "for_each needs a list, but {{upstream.list.result.items}} is a text"),
        ([0] * 1001, "for_each has 1,001 items; at most 1,000 are allowed"),
        (["x" * 300_000], "the list of for_each has more than 262144 bytes"),
    ],
    ids=["null", "object", "text", "too many", "too large"],
)
def test_for_each_without_a_usable_list_fails_before_the_first_item(
    world: WorkflowWorld, value: object, error: str
) -> None:
    answers = with_items(world, value)
    world.begin(listed_graph(), END)
    run = world.run("load")
    assert run is not None
    assert (run.state, run.code) == (D, "for_each")
    assert run.error.startswith(error)
    assert sum(answers.called.values()) == 1


def test_for_each_redrive_after_an_unusable_list_reads_it_again(world: WorkflowWorld) -> None:
    answers = with_items(world, None)
    world.begin(listed_graph(), END)
    answers.values = ["x"]
    record = world.run("list")
    assert record is not None
    world.run_store.write(replace(record, result={"items": ["x"]}), record)  # type: ignore[call-arg]
    world.redrive("load")
    world.until(END + 60)
    assert states(world, "load", "report", "nightly") == [S] * 3


@pytest.mark.parametrize(("max_failed", "ends"), [(0, D), (1, D), (2, S)])
def test_for_each_step_succeeds_if_at_most_max_failed_items_died(
    world: WorkflowWorld, max_failed: int, ends: RunState
) -> None:
    answers = with_items(world, list("abcde"))
    answers.failing = {1, 3}
    world.begin(listed_graph(max_failed=max_failed), END)
    assert states(world, "load", "nightly") == [ends, ends]
    assert [answers.called[name] for name in item_ids(5)] == [1] * 5
    run = world.run("load")
    assert run is not None
    if ends is D:
        assert run.error == "2 of 5 items failed: 1 (http.500), 3 (http.500)"
    else:
        assert [run.result[name] for name in ("count", "succeeded", "failed")] == [5, 3, 2]  # type: ignore[index, attr-defined]


def test_for_each_redriven_step_runs_only_its_dead_items_again(world: WorkflowWorld) -> None:
    answers = with_items(world, list("abcdefgh"))
    answers.failing = {1, 6}
    world.begin(listed_graph(at_once=2), END)
    answers.failing = set()
    answers.values = ["another", "list"]
    world.redrive("load")
    world.until(END + 120)
    assert states(world, "load", "report", "nightly") == [S] * 3
    assert [answers.called[name] for name in item_ids(8)] == [1, 2, 1, 1, 1, 1, 2, 1]
    assert answers.called[f"list.{INSTANT}"] == 1


def test_for_each_redriven_workflow_runs_only_the_dead_items_again(world: WorkflowWorld) -> None:
    answers = with_items(world, list("abc"))
    answers.failing = {2}
    world.begin(listed_graph(), END)
    answers.failing = set()
    world.redrive("nightly")
    world.until(END + 120)
    assert states(world, "load", "report", "nightly") == [S] * 3
    assert [answers.called[name] for name in item_ids(3)] == [1, 1, 2]


def test_for_each_step_and_workflow_continue_after_the_redrive_of_the_last_dead_item(world: WorkflowWorld) -> None:
    answers = with_items(world, list("abc"), report="{{upstream.load.result.items.2.result.of}}")
    answers.failing = {1, 2}
    world.begin(listed_graph(), END)
    answers.failing = set()
    for index in (1, 2):
        assert states(world, "load", "nightly") == [D, D]
        world.api.commands.redrive("default", f"load.{INSTANT}.i{index}")
        world.work()
        world.until(END + 60 * index)
    assert states(world, "load", "report", "nightly") == [S] * 3
    assert [answers.called[name] for name in item_ids(3)] == [1, 2, 2]
    assert answers.payloads[f"report.{INSTANT}"] == 2


def test_for_each_items_are_cancelled_with_their_workflow(world: WorkflowWorld) -> None:
    answers = with_items(world, list("abcdef"))
    answered = answers.__call__

    def cancelling(call: Call) -> Outcome:
        if call.run.name.item == 1:
            world.api.commands.cancel("default", f"nightly.{INSTANT}")
        return answered(call)

    world.caller.answer = cancelling
    world.begin(listed_graph(at_once=1), END)
    assert states(world, "load", "report", "nightly") == [C, None, C]
    assert sum(answers.called[name] for name in item_ids(6)) < 6
    assert all((run := item(world, index)) is None or run.state.final for index in range(6))


def test_for_each_item_that_is_cancelled_alone_counts_as_failed(world: WorkflowWorld) -> None:
    answers = with_items(world, list("abc"))
    answers.failing = {1}
    answered = answers.__call__

    def cancelling(call: Call) -> Outcome:
        if call.run.name.item == 1:
            world.api.commands.cancel("default", call.run.run_id)
            world.work()
        return answered(call)

    world.caller.answer = cancelling
    world.begin(listed_graph(at_once=1), END)
    assert states(world, "load", "nightly") == [D, D]
    cancelled = item(world, 1)
    assert cancelled is not None
    assert (cancelled.state, cancelled.reason) == (C, "cancelled")
    assert [answers.called[name] for name in item_ids(3)] == [1, 1, 1]


def test_for_each_run_of_the_step_shows_its_items(world: WorkflowWorld) -> None:
    answers = with_items(world, list("abc"))
    answers.failing = {1}
    world.begin(listed_graph(), END)
    view = world.api.workflow_runs.look(world.api.runs.get("default", f"load.{INSTANT}"))
    assert [(each.step.id, each.run and each.run.state) for each in view.steps] == [("0", S), ("1", D), ("2", S)]
    whole = world.view()
    assert [each.step.id for each in whole.steps] == ["list", "load", "report"]


def test_for_each_rerun_resolves_the_list_again(world: WorkflowWorld) -> None:
    answers = with_items(world, ["a"])
    world.begin(listed_graph(), END)
    answers.values = ["a", "b"]
    run = world.rerun(["list"])
    world.until(END + 120)
    local = run.name.local
    assert world.state("nightly", local) == (S, None)
    assert [answers.called[name] for name in item_ids(2, local)] == [1, 1]


def test_for_each_rerun_after_the_step_passes_its_manifest_on(world: WorkflowWorld) -> None:
    answers = with_items(world, ["a"], report="{{upstream.load.result.count}}")
    world.begin(listed_graph(), END)
    run = world.rerun(["report"])
    world.until(END + 120)
    assert answers.payloads[f"report.{run.name.local}"] == 1
    assert sum(answers.called[name] for name in item_ids(1)) == 1


def test_for_each_redriven_items_share_the_places_of_their_own_key(world: WorkflowWorld) -> None:
    answers = with_items(world, list("abcdef"))
    answers.failing = {0, 1, 2, 4}
    world.begin(listed_graph(at_once=1), END)
    active: list[int] = []
    answered = answers.__call__

    def counting(call: Call) -> Outcome:
        world.work()  # meanwhile the others find no place
        found = [item(world, index) for index in range(6)]
        active.append(sum(run is not None and run.state is RunState.RUNNING for run in found))
        return answered(call)

    world.caller.answer = counting
    answers.failing = {2}
    world.redrive("load")
    world.until(END + 300)
    assert states(world, "load", "nightly") == [D, D]
    assert [answers.called[name] for name in item_ids(6)] == [2, 2, 2, 1, 2, 1]
    assert max(active) == 1
    assert {run.key for index in (0, 1, 4) if (run := item(world, index)) is not None} == {f"load.{INSTANT}"}
    world.redrive("nightly")
    world.until(END + 600)
    assert states(world, "load", "nightly") == [D, D]
    answers.failing = set()
    world.redrive("nightly")
    world.until(END + 900)
    assert states(world, "load", "report", "nightly") == [S] * 3
    assert [answers.called[name] for name in item_ids(6)] == [2, 2, 4, 1, 2, 1]


@pytest.mark.parametrize(
    "overlap",
    [
        {"overlap": Overlap.SKIP},
        {"overlap": Overlap.QUEUE, "queue_limit": 1},
        {"overlap": Overlap.NEWEST},
        {"overlap": Overlap.REPLACE},
    ],
    ids=["skip", "queue of one", "newest", "replace"],
)
def test_for_each_items_of_a_job_that_forbids_overlap_wait_for_each_other(
    world: WorkflowWorld, overlap: dict[str, Any]
) -> None:
    answers = with_items(world, list("abcd"), **overlap)
    answers.failing = {0, 2}
    active: list[int] = []

    def counting(call: Call) -> Outcome:
        world.work()  # meanwhile the others come due
        found = [item(world, index) for index in range(4)]
        active.append(sum(run is not None and run.state is RunState.RUNNING for run in found))
        return answers(call)

    world.caller.answer = counting
    world.begin(listed_graph(), END)
    assert states(world, "load", "nightly") == [D, D]
    answers.failing = set()
    world.redrive("load")
    world.until(END + 300)
    assert states(world, "load", "report", "nightly") == [S] * 3
    assert [answers.called[name] for name in item_ids(4)] == [2, 1, 2, 1]
    assert max(active) == 1


def test_for_each_redriven_step_that_is_cancelled_stops_the_items_that_wait_for_a_place(world: WorkflowWorld) -> None:
    answers = with_items(world, list("abcd"))
    answers.failing = {0, 1, 2, 3}
    world.begin(listed_graph(at_once=1), END)
    answered = answers.__call__

    def cancelling(call: Call) -> Outcome:
        world.work()  # meanwhile the others find no place
        world.api.commands.cancel("default", f"load.{INSTANT}")
        world.work()
        return answered(call)

    world.caller.answer = cancelling
    world.redrive("load")
    world.until(END + 300)
    assert states(world, "load", "nightly") == [C, D]
    assert sum(answers.called[name] for name in item_ids(4)) == 5
    assert all((run := item(world, index)) is not None and run.state.final for index in range(4))


@pytest.mark.parametrize(("within_seconds", "ended"), [(3600, C), (1800, D)], ids=["of the workflow", "of the step"])
def test_for_each_deadline_ends_the_step_and_its_items_and_a_redrive_continues_with_the_rest(
    world: WorkflowWorld, within_seconds: int, ended: RunState
) -> None:
    answers = with_items(world, list("abc"))
    answered = answers.__call__

    def answer(call: Call) -> Outcome:
        if call.run.name.item == 1 and call.run.attempt == 1:
            return Failed("not now", retry_after=7200, code="http.503")
        return answered(call)

    world.caller.answer = answer
    world.begin(listed_graph(at_once=1, within_seconds=within_seconds), NOON + 2000, deadline_seconds=1800)
    assert states(world, "nightly", "load") == [D, ended]
    assert item(world, 2) is None
    world.redrive("nightly")
    world.until(NOON + 2400)
    assert states(world, "nightly", "load", "report") == [S] * 3
    assert [answers.called[name] for name in item_ids(3)] == [1, 1, 1]
