"""What the benchmark of execution makes of what it has counted."""

from dataclasses import replace

import pytest

from benchmarks.execute.cases import CASES, Case, items, messages
from benchmarks.execute.figures import Measured, Side
from benchmarks.execute.report import budgets, table
from benchmarks.wire.billing import Billed
from duecourse.domain.jobs.job import Overlap
from duecourse.domain.runs.overlap import has_released
from duecourse.stores.run_item import from_item, lock_from_item
from duecourse_schedules import compile_schedule

NOW = 1_795_244_400
KEY = {"PK": {"S": "JOB#acme#report"}, "SK": {"S": "RUN#20261121T070000Z"}}
OURS = Side(
    runs=100,
    cpu=(0.2, 0.1, 0.3),
    requests={"GetItem": 100, "PutItem": 200, "target": 100},
    units={"write": 200, "read": 100},
)
TEXTBOOK = Side(
    runs=100,
    cpu=(0.1, 0.1, 0.1),
    requests={"PutItem": 100, "UpdateItem": 100, "DeleteMessage": 100, "target": 100},
    units={"write": 200},
)


def a_case(*, most_write_units: int = 2) -> Measured:
    return Measured("an HTTP target", most_write_units, ours=OURS, use_case=OURS, textbook=TEXTBOOK, peak_rss_mb=71.23)


def test_execute_benchmark_call_of_the_target_is_not_an_aws_request() -> None:
    assert OURS.document(10, deletes=False)["requests_per_1000"] == 3_000


def test_execute_benchmark_poller_receives_and_deletes_a_whole_batch() -> None:
    assert OURS.document(10, deletes=False)["sqs_requests_per_run"] == 0.2


def test_execute_benchmark_poller_only_receives_if_the_worker_deletes_each_message() -> None:
    assert TEXTBOOK.document(10, deletes=True)["sqs_requests_per_run"] == 1.1


def test_execute_benchmark_ratio_compares_samples_taken_together() -> None:
    document = a_case().document(10)
    assert document["cpu_ratio_vs_textbook"] == 0.5
    assert document["cpu_ratio_vs_textbook_spread"] == {"median": 0.5, "min": 0.333, "max": 1.0}


def test_execute_benchmark_case_document_has_the_same_keys_as_that_of_dispatch() -> None:
    document = a_case().document(10)
    shared = ("requests_per_1000", "sqs_requests_per_1000", "cpu_ratio_vs_textbook", "peak_rss_mb")
    assert all(isinstance(document[name], float) for name in (*shared, "cpu_ms_per_run", "wru_per_run"))
    assert document["textbook"].keys() >= {"cpu_ms_per_run", "requests_per_1000", "wru_per_run", "rru_per_run"}


def test_execute_benchmark_case_document_contains_its_figures_per_run() -> None:
    document = a_case().document(10)
    assert document["cpu_ms_per_run"] == 2.0
    assert document["wru_per_run"] == 2.0
    assert document["rru_per_run"] == 1.0
    assert document["peak_rss_mb"] == 71.2
    assert "profile_top" not in document


def test_execute_benchmark_budget_is_met_by_the_written_units() -> None:
    assert budgets({"http": a_case()}) == {"http_at_most_2_wru": True}
    assert budgets({"http": a_case(most_write_units=1)}) == {"http_at_most_1_wru": False}


def test_execute_benchmark_budget_is_not_met_without_written_units() -> None:
    assert not replace(a_case(), ours=replace(OURS, units={})).within


def test_execute_benchmark_table_lists_every_case_and_its_missed_budgets() -> None:
    said = table({"http": a_case().document(10)}, {"http_at_most_1_wru": False})
    assert "http " in said
    assert "0.50 (0.33 to 1.00)" in said
    assert "MISSED  http_at_most_1_wru" in said


def test_execute_benchmark_lock_costs_one_more_unit() -> None:
    most = {case.name: case.most_write_units for case in CASES}
    assert most == {"http": 2, "http_overlap_skip": 3, "https": 2, "lambda": 2, "lambda_overlap_skip": 3}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_execute_benchmark_jobs_of_a_case_fire_at_the_times_of_their_messages(case: Case) -> None:
    jobs = case.jobs(40, "http://127.0.0.1:9/target", NOW)
    sent = messages(jobs, NOW)
    assert all(NOW - 30 < message.due <= NOW for message in sent)
    for job, message in zip(jobs, sent, strict=True):
        assert compile_schedule(job.schedule).next(message.due - 1) == message.due
        assert (job.overlap is Overlap.ALLOW) == (case.most_write_units == 2)


def test_execute_benchmark_jobs_are_stored_by_their_keys() -> None:
    stored = items(CASES[0].jobs(2, "http://127.0.0.1:9/target", NOW))
    assert list(stored) == ["JOB#acme#http-report-000000/JOB", "JOB#acme#http-report-000001/JOB"]


def test_execute_benchmark_job_that_forbids_overlap_has_the_lock_of_its_last_run() -> None:
    job, lock, record = items(CASES[1].jobs(1, "http://127.0.0.1:9/target", NOW)).values()
    held = lock_from_item(lock)
    assert job["PK"] == lock["PK"] == record["PK"]
    assert record["SK"]["S"] == f"RUN#{held.holder}"
    assert has_released(held, from_item(record))


def test_execute_benchmark_write_is_billed_by_the_larger_size_before_or_after() -> None:
    billed = Billed()
    billed.put({**KEY, "result": {"S": "x" * 1500}})
    billed.put(KEY)
    billed.put(KEY)
    assert billed.units["write"] == 2 + 2 + 1


def test_execute_benchmark_update_adds_to_the_stored_item() -> None:
    billed = Billed()
    billed.put({**KEY, "result": {"S": "x" * 900}})
    billed.update(KEY, {":more": {"S": "y" * 200}})
    assert billed.units["write"] == 1 + 2


def test_execute_benchmark_deletion_is_billed_by_the_size_of_the_deleted_item() -> None:
    billed = Billed()
    billed.put({**KEY, "result": {"S": "x" * 1500}})
    billed.delete(KEY)
    billed.delete(KEY)
    assert billed.units["write"] == 2 + 2 + 1


def test_execute_benchmark_forgotten_item_is_absent() -> None:
    billed = Billed()
    billed.put({**KEY, "result": {"S": "x" * 1500}})
    billed.forget()
    billed.delete(KEY)
    assert billed.units["write"] == 2 + 1


def test_execute_benchmark_read_is_one_unit_per_started_four_kilobytes() -> None:
    billed = Billed()
    for size in (0, 1, 4096, 4097):
        billed.read(size)
    assert billed.units["read"] == 1 + 1 + 1 + 2
