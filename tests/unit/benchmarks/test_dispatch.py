"""What the benchmark of dispatching measures, and what it makes of what it has counted."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from benchmarks.dispatch.bills import ours_bill, textbook_bill
from benchmarks.dispatch.cases import CASES, NOW, SHARD, SHARDS, TENANT, Case, items, named
from benchmarks.dispatch.measure import document, measure, take_turns
from benchmarks.dispatch.sides import Textbook, dispatcher, load, load_textbook, ours
from benchmarks.wire.capacity import item_bytes, page_read_units, write_units
from benchmarks.wire.client import wire
from duecourse.domain.jobs.cursor import plan, shard_of

DISTINCT = named("distinct")
ISSUES_KEYS = {"cpu_ms_per_firing", "requests_per_1000", "wru_per_firing", "cpu_ratio_vs_textbook"}
"""What every case says beside its memory, which is measured apart."""


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_dispatch_benchmark_jobs_of_a_case_share_one_shard_and_fire_as_often_as_specified(case: Case) -> None:
    cursors = case.cursors(200)
    assert len(cursors) == case.jobs_for(200)
    assert {shard_of(TENANT, cursor.job_id, SHARDS) for cursor in cursors} == {SHARD}
    assert [cursor.due for cursor in cursors] == sorted(cursor.due or 0 for cursor in cursors)
    assert all(NOW < (cursor.due or 0) <= NOW + 300 for cursor in cursors)
    fired = [len(plan(cursor, now=NOW, horizon=840).firings) for cursor in cursors]
    assert set(fired) <= {case.firings, case.firings + 1}


def test_dispatch_benchmark_distinct_jobs_share_sixty_schedules_as_specified() -> None:
    assert len({cursor.schedule for cursor in DISTINCT.cursors(600)}) == 60
    assert "60 schedules" in DISTINCT.says


def test_dispatch_benchmark_own_expressions_are_all_different_and_compiled_in_each_turn() -> None:
    own = named("own")
    assert len({cursor.schedule.expression for cursor in own.cursors(10_000)}) == 10_000
    assert own.own
    assert not DISTINCT.own


def test_dispatch_benchmark_claim_is_one_write_to_the_table_and_two_to_the_index() -> None:
    stored = items(DISTINCT.cursors(10))
    counts = Counter(Query=3, GetItem=1, BatchExecuteStatement=1, SendMessageBatch=1, statements=10, messages=10)
    said = ours_bill(stored, counts, 10).document()
    assert said["claim_wru_per_firing"] == 3
    assert said["wru_per_firing"] == 5, "with the run's start and finish"
    assert said["wru_per_firing_overlap_skip"] == 6
    assert said["requests_per_1000"] == 600
    assert said["requests"] == {"Query": 3, "GetItem": 1, "BatchExecuteStatement": 1, "SendMessageBatch": 1}
    assert said["sqs_requests_per_1000"] == 100
    assert said["rru_per_firing"] == (page_read_units(stored) + 2 * 0.5 + 1) / 10


def test_dispatch_benchmark_units_and_requests_of_the_textbook_are_counted_too() -> None:
    page = items(DISTINCT.cursors(10))
    said = textbook_bill(page, Counter(Query=1, SendMessage=10, UpdateItem=10, messages=10)).document()
    assert said["requests_per_1000"] == 2_100
    assert said["sqs_requests_per_1000"] == 1_000
    assert said["claim_wru_per_firing"] == 3
    assert said["rru_per_firing"] == page_read_units(page) / 10


def test_dispatch_benchmark_sides_start_in_rotation_and_the_first_turn_is_a_warm_up() -> None:
    called: list[str] = []

    def side(name: str) -> Callable[[], int]:
        return lambda: called.append(name) or 1

    figures = take_turns({name: side(name) for name in ("ours", "textbook", "tuned")}, 3)
    assert {name: len(taken) for name, taken in figures.items()} == {"ours": 3, "textbook": 3, "tuned": 3}
    assert called[::3] == ["ours", "textbook", "tuned", "ours"]


def test_dispatch_benchmark_ratios_compare_figures_of_the_same_turn() -> None:
    bill = ours_bill(items(DISTINCT.cursors(1)), Counter(Query=3, statements=1), 1)
    figures = {"ours": [0.1, 0.2, 0.1], "textbook": [1.0, 1.0, 0.8], "tuned": [0.5, 1.0, 0.5]}
    said = document(DISTINCT, bill, bill, figures)
    assert said["cpu_ratio_vs_textbook"] == 8.0
    assert said["cpu_ratio_vs_textbook_spread"] == {"median": 8.0, "min": 5.0, "max": 10.0}
    assert said["cpu_ratio_vs_tuned_textbook_spread"]["median"] == 5.0
    assert said["turns"] == 3


def test_dispatch_benchmark_both_sides_run_over_the_network_and_report_their_requests() -> None:
    with wire() as at:
        found: dict[str, Any] = measure(at, DISTINCT, 60, turns=1)
    assert found.keys() >= ISSUES_KEYS
    assert (found["firings"], found["claims"]) == (60, 60)
    assert found["requests"]["SendMessageBatch"] == 6
    assert found["textbook"]["requests"] == {"Query": 1, "SendMessage": 60, "UpdateItem": 60}
    assert found["textbook"]["claim_wru_per_firing"] == found["claim_wru_per_firing"] == 3


def test_dispatch_benchmark_rejects_a_round_with_remaining_firings_or_a_page_of_the_wrong_size() -> None:
    with wire() as at:
        load(at, DISTINCT, 20)
        with pytest.raises(AssertionError, match="21 expected"):
            ours(dispatcher(), 21)
        load_textbook(at, DISTINCT, 5)
        with pytest.raises(AssertionError, match="5 entries, not 6"):
            Textbook.create()(6)


def test_dispatch_benchmark_item_size_counts_bytes_of_names_and_texts_and_digit_pairs_of_numbers() -> None:
    assert item_bytes({"PK": {"S": "JOB#ü"}}) == 2 + 6
    assert item_bytes({"due": {"N": "1795244400"}}) == 3 + 7
    assert item_bytes({"on": {"BOOL": True}}) == 2 + 1


@pytest.mark.parametrize(("size", "units"), [(1, 1), (1024, 1), (1025, 2)])
def test_dispatch_benchmark_write_is_one_unit_per_started_kilobyte_and_the_same_for_each_index(
    size: int, units: int
) -> None:
    item = {"a": {"S": "x" * (size - 1)}}
    assert write_units(item) == units
    assert write_units(item, index_writes=2) == 3 * units


@pytest.mark.parametrize(("size", "units"), [(0, 0.5), (4096, 0.5), (4097, 1.0)])
def test_dispatch_benchmark_eventually_consistent_page_is_half_a_unit_per_started_four_kilobytes(
    size: int, units: float
) -> None:
    page = [{"a": {"S": "x" * (size - 1)}}] if size else []
    assert page_read_units(page) == units
