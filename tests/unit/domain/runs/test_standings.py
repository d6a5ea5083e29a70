"""The results of occurrences, by all records that they have."""

from dataclasses import replace

import pytest

from duecourse.domain.jobs.backfill import Only, Standing
from duecourse.domain.jobs.job import Lane
from duecourse.domain.runs.coverage import Recorded, standings
from duecourse.domain.runs.states import RunState

OWN = Recorded(100, 100, 100, Lane.NORMAL, ran=True)


def standing(*records: Recorded, at: int = 100) -> Standing:
    return standings([at], records, late_before=1000)[at]


@pytest.mark.parametrize(
    ("state", "reason", "expected"),
    [
        (RunState.SUCCEEDED, None, Standing.SUCCEEDED),
        (RunState.DEAD, "attempts_exhausted", Standing.FAILED),
        (RunState.QUEUED, None, Standing.ACTIVE),
        (RunState.RUNNING, None, Standing.ACTIVE),
        (RunState.WAITING, None, Standing.ACTIVE),
        (RunState.RETRYING, None, Standing.ACTIVE),
        (RunState.CANCELLED, "cancelled", Standing.SKIPPED),
        (RunState.CANCELLED, "missed", Standing.SKIPPED),
        (RunState.SKIPPED, "missed", Standing.MISSING),
        (RunState.SKIPPED, "superseded", Standing.SKIPPED),
        (RunState.SKIPPED, "start_deadline", Standing.MISSING),
        (RunState.SKIPPED, "paused", Standing.SKIPPED),
        (RunState.SKIPPED, "overlap", Standing.SKIPPED),
    ],
)
def test_occurrence_results_each_state_has_a_result(state: RunState, reason: str | None, expected: Standing) -> None:
    assert standing(replace(OWN, state=state, reason=reason)) is expected


def test_occurrence_results_occurrence_without_a_record_is_missing_once_it_is_late() -> None:
    assert standings([999, 1000], [], late_before=1000) == {999: Standing.MISSING, 1000: Standing.ACTIVE}


@pytest.mark.parametrize(("at", "expected"), [(99, False), (100, True), (150, True), (200, True), (201, False)])
def test_occurrence_results_record_counts_for_all_occurrences_that_it_covers(at: int, expected: bool) -> None:
    assert standing(replace(OWN, through=200), at=at) is (Standing.SUCCEEDED if expected else Standing.MISSING)


def test_occurrence_results_best_of_several_records_counts() -> None:
    dead = replace(OWN, state=RunState.DEAD)
    again = replace(OWN, backfilled=True)
    assert standing(dead, again) is standing(again, dead) is Standing.SUCCEEDED
    assert standing(dead, replace(again, state=RunState.WAITING)) is Standing.ACTIVE


def test_occurrence_results_backfill_run_that_never_ran_has_no_effect() -> None:
    never = replace(OWN, backfilled=True, state=RunState.SKIPPED, reason="overlap")
    assert standing(never) is Standing.MISSING
    assert standing(replace(OWN, state=RunState.DEAD), never) is Standing.FAILED


@pytest.mark.parametrize("result", Standing)
def test_occurrence_results_backfill_includes_the_selected_result_or_all(result: Standing) -> None:
    assert [only for only in Only if only.includes(result)] == [
        only for only in Only if only is Only.ALL or only == result.value
    ]
