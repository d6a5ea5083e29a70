"""How many runs come due, by cursors."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from duecourse.domain.jobs.cursor import cursor_for
from duecourse.domain.jobs.upcoming import LATE_SECONDS, Bucket, Histogram, Window, dues, is_late
from duecourse.domain.schedules import ScheduleError
from tests.support.jobs import NOON, job

AT = int(NOON)
HOUR = 3600
TWO_HOURS = Window(AT, AT + 2 * HOUR, HOUR, AT)


def due(expression: str, window: Window = TWO_HOURS, after: float = NOON, **changes: Any) -> list[int]:
    """When the job's runs come due, in seconds after NOON."""
    return [at - AT for at in dues(cursor_for(job(expression, **changes), after), window)]


def test_occurrences_from_the_beginning_on_and_before_the_end_count() -> None:
    assert due("0 * * * *", after=NOON - 1) == [0, HOUR]
    assert due("30 * * * *") == [1800, 5400]
    assert due("0 0 1 1 *") == []


def test_what_has_come_due_already_does_not_count() -> None:
    assert due("*/30 * * * *", replace(TWO_HOURS, since=AT + 1801)) == [3600, 5400]


def test_what_is_enqueued_already_counts() -> None:
    ahead = cursor_for(job("*/30 * * * *"), NOON + 2000)
    assert [at - AT for at in dues(ahead, TWO_HOURS)] == [0, 1800, 3600, 5400]


def test_max_runs_bounds_what_is_not_enqueued_yet() -> None:
    ahead = replace(cursor_for(job("*/30 * * * *"), NOON + 2000), remaining=1)
    assert [at - AT for at in dues(ahead, TWO_HOURS)] == [0, 1800, 3600]
    assert list(dues(replace(ahead, remaining=0), TWO_HOURS)) == [AT, AT + 1800]


def test_of_a_schedule_that_is_over_its_last_run_counts_until_it_is_due() -> None:
    over = replace(cursor_for(job("*/30 * * * *"), NOON), occurrence=None, due=None, last=AT + 1800)
    assert list(dues(over, TWO_HOURS)) == [AT, AT + 1800]
    assert list(dues(replace(over, last=None), TWO_HOURS)) == []


def test_jitter_moves_runs_into_the_window_and_out_of_it() -> None:
    shaped = job("0 * * * *", jitter_seconds=HOUR)
    occurrences = shaped.occurrences()
    every = [occurrences.due(AT + hour * HOUR) for hour in range(-1, 3)]
    found = list(dues(cursor_for(shaped, NOON - 2 * HOUR), TWO_HOURS))
    assert found == [at for at in every if AT <= at < AT + 2 * HOUR]


def test_excluded_times_do_not_count() -> None:
    assert due("0 * * * *", after=NOON - 1, exclude=("2026-11-21T13:00:00Z",)) == [0]


def test_a_histogram_adds_jobs_up_and_names_the_largest_of_each_bucket() -> None:
    histogram = Histogram(Window(AT, AT + 2 * HOUR, HOUR, AT))
    for name, expression in (("a", "0 * * * *"), ("b", "*/10 * * * *"), ("c", "*/20 13 * * *"), ("d", "*/20 13 * * *")):
        histogram.add(cursor_for(job(expression, id=name), NOON - 1))
    assert histogram.buckets() == (
        Bucket(AT, 7, (("b", 6), ("a", 1))),
        Bucket(AT + HOUR, 13, (("b", 6), ("c", 3), ("d", 3))),
    )
    assert histogram.runs == 20


def test_a_cursor_that_cannot_be_compiled_adds_nothing() -> None:
    histogram = Histogram(TWO_HOURS)
    good = cursor_for(job("0 * * * *"), NOON)
    with pytest.raises(ScheduleError):
        histogram.add(replace(good, schedule=replace(good.schedule, expression="61 * * * *")))
    assert (histogram.runs, histogram.buckets()) == (0, ())


def test_a_job_is_late_where_its_run_is_due_for_a_minute_and_not_enqueued() -> None:
    standing = cursor_for(job("*/30 * * * *"), NOON)
    assert standing.due == AT + 1800
    assert not is_late(standing, AT + 1800 + LATE_SECONDS)
    assert is_late(standing, AT + 1800 + LATE_SECONDS + 1)
    assert not is_late(replace(standing, occurrence=None, due=None), AT + 10_000)
