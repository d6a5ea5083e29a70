"""What a change of a job's definition does to its next occurrences."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duecourse.domain.jobs.schedule_change import (
    MONTH_SECONDS,
    MOST_COMPARED,
    Definition,
    Difference,
    ScheduleChange,
    schedule_change,
)
from tests.support.jobs import NOON, job

T0 = int(NOON)
MINUTE, HOUR, DAY = 60, 3_600, 86_400


def changed(before: str | None, after: str, **changes: Any) -> ScheduleChange:
    old = None if before is None else Definition(job(before), None)
    found = schedule_change(old, Definition(job(after, **changes), changes.get("max_runs")), NOON)
    assert found is not None
    return found


def counts(change: ScheduleChange) -> dict[str, int]:
    return {"kept": change.kept, "moved": change.moved, "added": change.added, "removed": change.removed}


def test_schedule_change_is_none_if_the_occurrences_are_the_same() -> None:
    one = Definition(job("0 3 * * *"), None)
    assert schedule_change(one, Definition(job("0 3 * * *", timeout_seconds=20), None), NOON) is None
    assert schedule_change(one, Definition(job("0 3 * * *", jitter_seconds=20), None), NOON) is not None
    assert schedule_change(one, Definition(job("0 3 * * *"), 3), NOON) is not None


def test_schedule_change_of_a_job_that_expects_pings_has_no_run_as_long_as_they_arrive() -> None:
    one, other = (job(f"rate({hours} hours)", expect_every=hours * HOUR) for hours in (2, 3))
    change = schedule_change(Definition(one, None), Definition(other, None), NOON)
    assert change is not None
    assert (counts(change), change.before, change.after) == (dict.fromkeys(counts(change), 0), 0, 0)


def test_schedule_change_of_the_hour_moves_each_run() -> None:
    change = changed("0 3 * * *", "30 4 * * *")
    assert counts(change) == {"kept": 0, "moved": 30, "added": 0, "removed": 0}
    assert change.differences[0] == Difference(T0 + 15 * HOUR, T0 + 16 * HOUR + 30 * MINUTE)
    assert (change.until, change.before, change.after) == (T0 + MONTH_SECONDS, 30, 30)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("0 3 * * *", "0 3 * * 1", {"kept": 5, "moved": 0, "added": 0, "removed": 25}),
        ("0 3 * * 1", "0 3 * * *", {"kept": 5, "moved": 0, "added": 25, "removed": 0}),
        ("0 3 * * 1", "0 3 * * 2", {"kept": 0, "moved": 4, "added": 0, "removed": 1}),
        ("0,20,40 3 * * *", "0,30 3 * * *", {"kept": 30, "moved": 30, "added": 0, "removed": 30}),
        ("0 3 * * *", "0 3 1 1 *", {"kept": 0, "moved": 0, "added": 0, "removed": 30}),
        ("0 3 * * *", "", {"kept": 0, "moved": 0, "added": 0, "removed": 30}),
        (None, "0 3 * * *", {"kept": 0, "moved": 0, "added": 30, "removed": 0}),
        ("at(2026-11-22T03:00:00)", "at(2026-12-10T03:00:00)", {"kept": 0, "moved": 0, "added": 1, "removed": 1}),
    ],
)
def test_schedule_change_adds_removes_and_moves_runs(before: str | None, after: str, expected: object) -> None:
    assert counts(changed(before, after)) == expected


def test_schedule_change_moves_the_nearest_run() -> None:
    change = changed("0 3 * * *", "0 4 * * 1")
    moved = [each for each in change.differences if each.after is not None]
    assert len(moved) == 5
    assert {each.after - each.before for each in moved if each.after and each.before} == {HOUR}


def test_schedule_change_of_a_frequent_job_is_compared_up_to_its_limit() -> None:
    change = changed("0 3 * * *", "* * * * *")
    assert change.until == T0 + (MOST_COMPARED + 1) * MINUTE
    assert (change.added, change.removed, change.kept) == (MOST_COMPARED, 0, 0)
    assert (change.before, change.after) == (30, None)  # minutely: not counted, and not estimated


def test_schedule_change_counts_the_runs_that_max_runs_still_allows() -> None:
    assert counts(changed("0 3 * * *", "0 3 * * *", max_runs=3)) == {"kept": 3, "moved": 0, "added": 0, "removed": 27}


EXPRESSIONS = st.sampled_from(
    ["0 3 * * *", "30 3 * * *", "0 */2 * * *", "*/7 * * * *", "0 3 * * 1", "0 0 1 * *", "rate(5 hours)", ""]
)


@given(EXPRESSIONS, EXPRESSIONS)
def test_schedule_change_accounts_for_every_run_of_both_definitions(before: str, after: str) -> None:
    one, other = Definition(job(before), None), Definition(job(after), None)
    change = schedule_change(one, other, NOON)
    back = schedule_change(other, one, NOON)
    if change is None or back is None:
        assert before == after
        return
    if change.until == T0 + MONTH_SECONDS:
        assert change.kept + change.moved + change.removed == change.before
        assert change.kept + change.moved + change.added == change.after
    else:
        assert None in (change.before, change.after)
    assert (back.kept, back.moved, back.added, back.removed) == (
        *(change.kept, change.moved, change.removed, change.added),
    )
    times = [each.after if each.before is None else each.before for each in change.differences]
    assert all(T0 < time < change.until for time in times if time is not None)
