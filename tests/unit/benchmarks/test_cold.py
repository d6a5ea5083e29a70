"""What the benchmark of cold starts makes of what it has timed."""

from typing import Any

import pytest

from benchmarks.cold.figures import Start, alone, budgets, compared, table
from benchmarks.cold.functions import ENVIRONMENT, FUNCTIONS, Function
from benchmarks.cold.importtime import Imported, beyond, packages, read, slowest
from duecourse.settings import ApiSettings, DispatchSettings, ExecuteSettings, ReconcilerSettings, TickSettings

SAID = """\
import time: self [us] | cumulative | imported package
import time:       100 |        100 |   botocore.compat
a warning of somebody's
import time:      2500 |       2600 | boto3
import time:        40 |         40 |       duecourse.domain.runs.states
import time:        60 |         60 |       duecourse.domain.jobs.job
import time:       700 |        800 | duecourse.ports
"""
BOTO3 = [Start(0.10, 0.0, 0.1), Start(0.12, 0.0, 0.1), Start(0.11, 0.0, 0.1)]
DISPATCH = [Start(0.20, 0.001, 0.1), Start(0.20, 0.001, 0.1), Start(0.25, 0.001, 0.1)]


def test_cold_start_importtime_lines_are_parsed_and_others_ignored() -> None:
    assert read(SAID)[:2] == [Imported("botocore.compat", 100), Imported("boto3", 2500)]
    assert len(read(SAID)) == 5


def test_cold_start_modules_imported_by_the_base_are_not_counted() -> None:
    more = beyond(read(SAID), [Imported("boto3", 1), Imported("botocore.compat", 1)])
    assert [each.module for each in more] == [
        "duecourse.domain.runs.states",
        "duecourse.domain.jobs.job",
        "duecourse.ports",
    ]


def test_cold_start_packages_are_summed_and_own_packages_by_layer() -> None:
    assert packages(read(SAID), 3) == [("boto3", 1, 2.5), ("duecourse.ports", 1, 0.7), ("botocore", 1, 0.1)]
    assert ("duecourse.domain", 2, 0.1) in packages(read(SAID), 4)


def test_cold_start_slowest_module_comes_first() -> None:
    assert slowest(read(SAID), 2) == [("boto3", 2.5), ("duecourse.ports", 0.7)]


def test_cold_start_functions_are_compared_in_pairs() -> None:
    document = compared(DISPATCH, BOTO3)
    assert document["import_ms"] == {"median": 200.0, "min": 200.0, "max": 250.0}
    assert document["beyond_boto3_ms"] == {"median": 100.0, "min": 80.0, "max": 140.0}
    assert document["build_ms"]["median"] == 1.0
    assert document["ready_ms"]["median"] == 301.0


@pytest.mark.parametrize(("most", "kept"), [(100, True), (99, False)])
def test_cold_start_budget_applies_to_the_median_beyond_boto3(most: float, *, kept: bool) -> None:
    functions = [Function("dispatch", "_dispatch", most), Function("token_claims")]
    documents = {"dispatch": compared(DISPATCH, BOTO3), "token_claims": compared(DISPATCH, BOTO3)}
    assert budgets(functions, documents) == {f"dispatch_at_most_{most}_ms": kept}


def test_cold_start_dispatch_and_execute_have_the_designed_budget() -> None:
    budgeted = {each.name: each.most_beyond_boto3 for each in FUNCTIONS if each.most_beyond_boto3 is not None}
    assert budgeted == {"dispatch": 300, "execute": 300}


@pytest.mark.parametrize("settings", [TickSettings, DispatchSettings, ExecuteSettings, ReconcilerSettings, ApiSettings])
def test_cold_start_every_function_finds_its_settings(settings: Any) -> None:
    assert settings.from_env(ENVIRONMENT).stage == "bench"


def test_cold_start_table_has_one_row_per_function_and_marks_missed_budgets() -> None:
    dispatch = {
        **compared(DISPATCH, BOTO3),
        "uncompiled": compared(DISPATCH, BOTO3),
        "beyond_boto3_packages": [("duecourse.domain", 38, 41.2)],
        "beyond_boto3_modules": [("duecourse.domain.runs.states", 2.0)],
    }
    said = table(
        {
            "boto3": {**alone(BOTO3), "uncompiled": alone(BOTO3)},
            "functions": {"dispatch": dispatch},
            "budgets": {"dispatch_at_most_300_ms": False},
        }
    )
    assert "100 (80 to 140)" in said
    assert "duecourse.domain 41.2 ms (38)" in said
    assert "MISSED  dispatch_at_most_300_ms" in said
