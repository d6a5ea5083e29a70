"""RESULTS.md from the documents that the benchmarks leave."""

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.results import BENCHMARKS, OWN_TARGETS, chosen, kept, read, write_page
from benchmarks.results_pages import generic
from benchmarks.results_pages.budgets import BUDGETS
from benchmarks.results_pages.markdown import cell, table
from benchmarks.results_pages.page import ABOUT, results_page, whole


def a_head(name: str, *, date: str = "2026-11-21T15:00:00Z", processor: str = "A Processor") -> dict[str, Any]:
    return {
        "benchmark": name,
        "command": f"python -m benchmarks.{name} --json",
        "date": date,
        "machine": {"processor": processor, "cores": 2, "system": "Linux 6"},
        "versions": {"duecourse": "0.1.0", "python": "3.11.7"},
    }


def spread(middle: float) -> dict[str, float]:
    return {"median": middle, "min": middle - 1, "max": middle + 1}


def a_case(ratio: float, units: float, requests: float = 140) -> dict[str, Any]:
    return {
        "says": "jobs of a kind",
        "cpu_ms_per_firing": 0.1,
        "requests_per_1000": requests,
        "claim_wru_per_firing": units,
        "wru_per_firing": units + 2,
        "cursor_bytes": 351,
        "cpu_ratio_vs_textbook": ratio,
        "cpu_ratio_vs_textbook_spread": spread(ratio),
        "peak_rss_mb": 90.5,
        "textbook": {"cpu_ms_per_firing": spread(1.5)},
    }


def a_start() -> dict[str, Any]:
    return {
        "import_ms": spread(250.0),
        "beyond_boto3_ms": spread(100.0),
        "uncompiled": {"import_ms": spread(700.0), "beyond_boto3_ms": spread(380.0)},
        "beyond_boto3_packages": [["aws_lambda_powertools", 40, 60.5]],
    }


def a_burst(setting: str, last: float | None = -61.2, p99: float | None = 9.0) -> dict[str, Any]:
    lateness = None if p99 is None else {"p99": p99}
    return {"jobs": 500_000, "workers": setting, "last_enqueued_seconds": last, "lateness_seconds": lateness}


def documents() -> dict[str, dict[str, Any]]:
    """All that `make bench` leaves, as small as it can be."""
    late = {"p50": 0.02, "p90": 0.1, "p99": 0.4, "max": 0.5}
    side = {
        "backend": "the local stack",
        "settings": "as it is",
        "guarantees": "never early",
        "expected": 10,
        "arrived": 10,
        "lost": 0,
        "doubled": 0,
        "early": 0,
        "lateness_seconds": late,
        "by_kind": {"minutely": late, "once": None},
    }
    rates = {"duecourse": 500_000, "croniter": 20_000, "cronsim": 90_000, "croner": None}
    return {
        "schedule": a_head("schedule")
        | {
            "expressions": [
                {"expression": "0 9 * * 1|5", "timezone": "UTC", "calls_per_second": rates, "times_croniter": 25.0}
            ],
            "worst": [{"expression": "30 2 * 3 SUN#2", "timezone": "UTC", "milliseconds": 1.5}],
            "notes": ["croner left out"],
            "budgets": {"ten_times_croniter": True},
        },
        "cold": a_head("cold")
        | {
            "boto3": {"import_ms": spread(150.0), "uncompiled": {"import_ms": spread(400.0)}},
            "functions": {"dispatch": a_start(), "execute": a_start()},
            "repeats": 15,
            "budgets": {"dispatch_at_most_300_ms": True},
        },
        "dispatch": a_head("dispatch", date="2026-11-20T09:00:00Z")
        | {
            "cases": {"distinct": a_case(9, 3), "minutely": a_case(20, 0.3), "ten_seconds": a_case(20, 0.05)},
            "budgets": {"distinct_at_least_7_times_less": True},
        },
        "execute": a_head("execute")
        | {
            "cases": {"http": {"wru_per_run": 2.0}, "http_overlap_skip": {"wru_per_run": 3.0}},
            "budgets": {"http_at_most_2_wru": True},
        },
        "workflows": a_head("workflows")
        | {"cases": {"diamond": {"write_units": 24, "messages": 7}}, "budgets": {"diamond_at_most_24_wru": True}},
        "hops": a_head("hops")
        | {
            "hop_seconds": {"p50": 0.11},
            "put_seconds": 4.1,
            "wide": {"jobs": 502, "called": 502, "succeeded": 502, "called_again": 0, "state": "SUCCEEDED"},
        },
        "wait_queue": a_head("wait_queue") | {"hand_over_seconds": {"max": 0.3}},
        "limits": a_head("limits")
        | {
            "limit": 50,
            "active_at_most": 50,
            "succeeded": 1_000,
            "hand_over_seconds": {"p99": 0.4},
            "budgets": {"active_within_the_limit": True},
        },
        "slow": a_head("slow") | {"quiet_with_seats_seconds": {"p99": 0.16, "steps": {"p99": 0.4}}},
        "console": a_head("console") | {"first_page": {"transferred_bytes": 300_000, "interactive_seconds": 1.2}},
        "local": a_head("local")
        | {
            "minutes": 3,
            "jobs": {"minutely": 20},
            "sides": {"duecourse": side, "procrastinate": side | {"times_as_late_as_duecourse": spread(12)}},
            "notes": ["at the same time"],
            "budgets": {"p50_below_100_ms": True},
        },
        "burst": a_head("burst")
        | {
            "scenarios": [
                a_burst(setting) for setting in ("prod, overlap skip", "prod", "sizing, overlap skip", "sizing")
            ],
            "budgets": {"half_a_million_in_a_second": True},
        },
        "cost": a_head("cost")
        | {
            "idle_month": {"16_shards": {"lane_polls": 1.04, "total": 3.11}},
            "idle_apart": {"alarms": 1.0},
            "idle_remedies": ["0.80 USD less a month: half the shards"],
            "per_million": {"duecourse_distinct": 4.95, "eventbridge_scheduler": 1.69},
            "per_million_items": {"duecourse_distinct": {"dispatch_writes": 1.88, "total": 4.95}},
            "break_even": {"daily_jobs_from": 31},
            "assumptions": {"call_seconds": 0.2},
            "price_table": {
                "date": "2026-11-21",
                "region": "us-east-1",
                "free_tiers": "not counted",
                "prices": {
                    "lambda_gb_second": {
                        "dollars": 0.0000133334,
                        "per": 1,
                        "unit": "GB-seconds, Arm",
                        "source": "AWS Lambda Pricing",
                        "standing": "checked",
                    }
                },
            },
            "notes": ["Free tiers are not counted."],
            "budgets": {"idle_month_16_shards_at_most_6_dollars": True},
        },
    }


def budget_row(page: str, what: str) -> str:
    return next(line for line in page.splitlines() if line.startswith(f"| {what}"))


def test_benchmark_results_list_every_budget_with_its_bound() -> None:
    page = results_page(documents())
    for budget in BUDGETS:
        assert budget.bound in budget_row(page, budget.what)


def test_benchmark_results_meet_every_budget_with_figures() -> None:
    page = results_page(documents())
    for budget in BUDGETS:
        assert budget_row(page, budget.what).endswith("| yes |"), budget_row(page, budget.what)


def test_benchmark_results_name_machine_versions_date_and_commands() -> None:
    page = results_page(documents())
    assert "- Machine: A Processor, 2 cores, Linux 6" in page
    assert "duecourse 0.1.0, python 3.11.7" in page
    assert "- Date: 2026-11-20 to 2026-11-21" in page
    for name in documents():
        assert f"`python -m benchmarks.{name} --json`" in page


def test_benchmark_results_name_every_machine_if_there_are_several() -> None:
    page = results_page(documents() | {"cold": a_head("cold", processor="Another One")})
    assert "- Machine: A Processor" in page
    assert "- Machine: Another One" in page


def test_benchmark_results_report_a_missing_benchmark_in_its_section_and_among_the_budgets() -> None:
    found = documents()
    del found["local"]
    page = results_page(found)
    assert "not measured: no results of `local`" in budget_row(page, "lateness of a start")
    assert "there is no `results/local.json`" in page
    assert "--only local" in page


def test_benchmark_results_report_every_benchmark_as_missing_without_any_results() -> None:
    page = results_page({})
    assert page.count("Not run here") == len(ABOUT)
    assert page.count("not measured") == len(BUDGETS)


def test_benchmark_results_show_a_failed_benchmark_as_failed() -> None:
    failed = a_head("dispatch") | {"failed": "status 2, and no JSON document"}
    page = results_page(documents() | {"dispatch": failed})
    assert "**It failed**: status 2, and no JSON document" in page
    assert "`dispatch` failed" in budget_row(page, "AWS requests")
    assert not whole(failed)


def test_benchmark_results_show_a_missed_budget_as_missed() -> None:
    found = documents()
    found["dispatch"]["cases"]["distinct"] = a_case(5, 3, requests=400)
    found["dispatch"]["budgets"] = {"distinct_at_least_7_times_less": False}
    page = results_page(found)
    assert budget_row(page, "client CPU to dispatch, distinct").endswith("| **no** |")
    assert budget_row(page, "AWS requests").endswith("| **no** |")
    assert "**missed**: distinct at least 7 times less" in page
    assert not whole(found["dispatch"])


def test_benchmark_results_units_per_firing_list_claim_and_run_with_default_policies_first() -> None:
    row = budget_row(results_page(documents()), "WRU per firing")
    assert "overlap forbidden (default) 6.00, 3.30; allowed 5.00, 2.30" in row


def test_benchmark_results_report_figures_missing_from_a_document() -> None:
    found = documents()
    del found["dispatch"]["cases"]["minutely"]
    row = budget_row(results_page(found), "client CPU to dispatch, jobs that fire every minute")
    assert "not in the results" in row


def test_benchmark_results_show_a_document_of_another_shape() -> None:
    assert "| calls | 12 |" in results_page({"schedule": a_head("schedule") | {"figures": {"calls": 12}}})


def test_benchmark_results_have_a_section_for_an_unknown_benchmark() -> None:
    page = results_page({"novelty": a_head("novelty") | {"figures": {"calls": {"a": 1, "b": 2}}}})
    assert "## novelty" in page
    assert "| calls | 1 | 2 |" in page


def test_benchmark_results_show_plots_in_their_section() -> None:
    page = results_page(documents(), ["burst-lead.png", "local-lateness.png", "stray.png"])
    burst, local, cost = (page.index(f"\n## {name}\n") for name in ("burst", "local", "cost"))
    assert burst < page.index("![burst-lead.png](plots/burst-lead.png)") < local
    assert local < page.index("![local-lateness.png](plots/local-lateness.png)") < cost
    assert "![stray.png](plots/stray.png)" in page


def test_benchmark_results_show_cases_side_by_side() -> None:
    page = results_page(documents())
    assert "|  | distinct | minutely | ten seconds |" in page
    assert "| cpu ratio vs textbook spread | 9 (8 to 10) | 20 (19 to 21) | 20 (19 to 21) |" in page


def test_benchmark_results_judge_lateness_of_duecourse_alone_and_show_it_beside_the_others() -> None:
    found = documents()
    beside = found["local"]["sides"]["duecourse"]
    beside["lateness_seconds"] = {**beside["lateness_seconds"], "p50": 0.3}
    assert budget_row(results_page(found), "lateness of a start").endswith("| **no** |")
    late = {"p50": 0.02, "p90": 0.1, "p99": 0.4, "max": 0.5}
    found["local"]["alone"] = {**beside, "lateness_seconds": late}
    page = results_page(found)
    row = budget_row(page, "lateness of a start")
    assert "all jobs p50 20 ms, p99 0.400 s; minutely p50 20 ms, p99 0.400 s; 0 early" in row
    assert "(beside the others p50 300 ms)" in row
    assert row.endswith("| yes |")
    assert "| duecourse alone |" in page


def test_benchmark_results_judge_lateness_of_each_job_type_separately() -> None:
    found = documents()
    side = found["local"]["sides"]["duecourse"]
    side["by_kind"] = {"minutely": side["lateness_seconds"] | {"p50": 0.115}}
    row = budget_row(results_page(found), "lateness of a start")
    assert "minutely p50 115 ms" in row
    assert row.endswith("| **no** |")


def test_benchmark_results_distinguish_cold_starts_from_those_of_boto3() -> None:
    page = results_page(documents())
    assert "dispatch 100 (99 to 101) ms, execute 100" in budget_row(page, "cold import")
    assert "at hand when a stage is deployed (as source dispatch 380 (379 to 381) ms, execute 380" in budget_row(
        page, "cold import"
    )
    assert "**where modules are not compiled beforehand**" in page
    assert "aws_lambda_powertools 40 60.5" in page


def test_benchmark_results_omit_removed_functions_and_name_new_ones() -> None:
    found = documents()
    found["cold"]["functions"]["sweep"] = a_start()
    page = results_page(found)
    assert "| sweep |" not in page
    assert "sweep, beyond boto3" not in page
    assert "Not measured yet: tick, reconcile, api, callbacks, token_claims, console." in page


def test_benchmark_results_burst_rows_show_both_halves_as_shipped_and_default_policies_first() -> None:
    found = documents()
    found["burst"]["scenarios"] = [
        a_burst("prod, overlap skip", 76.8, 501.1),
        a_burst("prod", None, None),
        a_burst("sizing, overlap skip", -175.9, 23.9),
        a_burst("sizing", -175.9, 9.5),
    ]
    page = results_page(found)
    rows = [line for line in page.splitlines() if line.startswith("| burst of 500,000")]
    assert "as shipped, overlap forbidden (default)" in rows[0]
    assert "the last is enqueued 76.8 s after its second; p99 started within 501.1 s | **no** |" in rows[0]
    assert "the last is never enqueued; p99 started never | **no** |" in rows[1]
    assert "the last is enqueued 175.9 s before its second; p99 started within 23.9 s | **no** |" in rows[2]
    assert rows[3].endswith("| yes |")


def test_benchmark_results_format_figures_readably() -> None:
    assert cell(None) == "-"
    assert cell(True) == "yes"
    assert cell(1234567) == "1,234,567"
    assert cell(0.123456) == "0.1235"
    assert cell(123456.7) == "123,457"
    assert cell(spread(3)) == "3 (2 to 4)"
    assert cell("a|b\nc") == "a\\|b c"


def test_benchmark_results_align_columns_of_figures_right() -> None:
    assert table(["a", "b", "c"], [["x", 1, "y"], ["z", None, "w"]])[1] == "| --- | ---: | --- |"


def test_benchmark_results_show_nested_documents_as_tables() -> None:
    lines = generic.page(
        a_head("any") | {"seconds": 3.5, "rows": {"one": {"p50": 1}, "two": {"p99": 2}}, "notes": ["so it is"]}
    )
    assert "| seconds | 3.5 |" in lines
    assert "| one | 1 | - |" in lines
    assert "| two | - | 2 |" in lines
    assert "- so it is" in lines


def test_benchmark_results_accept_a_document_as_written() -> None:
    assert read("cold", (), '{"budgets": {"a": true}}', 0) == {"budgets": {"a": True}}
    assert read("cold", (), '{"budgets": {"a": false}}', 1) == {"budgets": {"a": False}}


@pytest.mark.parametrize(
    ("written", "status"), [("", 1), ("no JSON", 0), ("[]", 0), ('{"budgets": {"a": true}}', 1), ("{}", 2)]
)
def test_benchmark_results_treat_every_other_end_of_a_benchmark_as_failed(written: str, status: int) -> None:
    document = read("cold", (), written, status)
    assert "failed" in document
    assert not whole(document)


def test_benchmark_results_run_all_benchmarks_except_those_with_their_own_targets() -> None:
    assert chosen(None, []) == [name for name in BENCHMARKS if name not in OWN_TARGETS]
    assert chosen(None, []).index("cost") > chosen(None, []).index("execute"), "it reads what those have found"


def test_benchmark_results_run_selected_or_all_but_excluded_benchmarks() -> None:
    assert chosen(["cost", "lanes", "dispatch"], []) == ["dispatch", "cost", "lanes"]
    assert chosen([], []) == []
    assert "local" not in chosen(None, ["local"])


def test_benchmark_results_page_is_generated_from_all_stored_results(tmp_path: Path) -> None:
    results, plots = tmp_path / "results", tmp_path / "plots"
    results.mkdir()
    plots.mkdir()
    for name, document in documents().items():
        (results / f"{name}.json").write_text(json.dumps(document))
    (plots / "burst-lead.png").touch()
    write_page(results, plots, tmp_path / "RESULTS.md")
    page = (tmp_path / "RESULTS.md").read_text()
    assert page.startswith("# Results\n")
    assert "![burst-lead.png](plots/burst-lead.png)" in page
    for name in documents():
        assert f"\n## {name}\n" in page


def test_benchmark_results_unreadable_document_does_not_hide_others(tmp_path: Path) -> None:
    (tmp_path / "cold.json").write_text("half a docu")
    (tmp_path / "cost.json").write_text(json.dumps(documents()["cost"]))
    found = kept(tmp_path)
    page = results_page(found)
    assert "**It failed**: cold.json cannot be read" in page
    assert "- Date: 2026-11-21\n- Machine: A Processor" in page
    assert "cannot be read" in found["cold"]["failed"]
    assert whole(found["cost"])
