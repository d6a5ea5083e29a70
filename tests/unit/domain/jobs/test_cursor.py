"""A cursor is made of its job and stands where the job's next occurrence is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from duecourse.domain.jobs.cursor import cursor_for, shard_of
from duecourse.domain.jobs.job import Lane, MissedMode, MissedPolicy, Precision
from duecourse.domain.schedules import TZDATA_VERSION, ScheduleError, ScheduleSpec
from tests.support.jobs import NOON, cursor, job

T0 = int(NOON)


def test_a_new_jobs_cursor_stands_at_its_first_occurrence_strictly_after_its_creation() -> None:
    standing = cursor_for(job("* * * * *"), NOON)
    assert (standing.occurrence, standing.due, standing.after) == (T0 + 60, T0 + 60, T0)
    assert cursor_for(job("* * * * *"), NOON + 59.999).occurrence == T0 + 60
    assert cursor_for(job("* * * * *"), NOON + 60.0).occurrence == T0 + 120


def test_a_cursor_knows_all_that_dispatching_needs() -> None:
    policy = MissedPolicy(MissedMode.RUN_ALL, 30, 5)
    made = job(
        "* * * * *",
        priority=Lane.LOW,
        precision=Precision.EXACT,
        missed=policy,
        exclude=("2026-12-25",),
        jitter_seconds=9,
        max_runs=7,
    )
    standing = cursor(made)
    assert (standing.tenant, standing.job_id, standing.generation) == ("default", "tick-tock", made.generation)
    assert (standing.schedule, standing.exclude, standing.jitter_seconds) == (made.schedule, ("2026-12-25",), 9)
    assert (standing.lane, standing.precision, standing.missed) == (Lane.LOW, Precision.EXACT, policy)
    assert (standing.remaining, standing.tzdata, standing.error, standing.last) == (7, TZDATA_VERSION, None, None)


def test_a_job_whose_attempts_outlast_the_short_workers_is_dispatched_to_the_long_ones() -> None:
    assert cursor(job(timeout_seconds=90, priority=Lane.HIGH)).lane is Lane.HIGH
    assert cursor(job(timeout_seconds=91, priority=Lane.HIGH)).lane is Lane.LONG


def test_a_cursor_is_indexed_by_the_hour_it_is_due_and_its_jobs_shard() -> None:
    standing = cursor(job("30 12 * * *"))
    assert standing.slot(16, now=NOON) == f"2026-11-21T12/{shard_of('default', 'tick-tock', 16):04d}"


def test_a_cursor_that_is_late_is_indexed_in_the_present_hour_where_the_next_round_looks() -> None:
    standing = cursor(job("30 12 * * *"))
    assert (standing.slot(1, now=NOON + 7 * 3600), standing.due) == ("2026-11-21T19/0000", T0 + 30 * 60)


def test_jitter_can_move_a_cursor_into_the_next_hours_slot_but_not_its_name() -> None:
    standing = cursor(job("59 12 * * *", id="moved", jitter_seconds=3600))
    assert standing.occurrence == T0 + 59 * 60
    assert standing.due is not None
    assert standing.due >= T0 + 3600
    assert (standing.slot(1, now=NOON) or "").startswith("2026-11-21T13/")


def test_a_cursor_with_nothing_left_is_not_indexed() -> None:
    standing = cursor(job("at(2026-11-21T12:05:00)"), after=NOON + 300)
    assert (standing.occurrence, standing.due, standing.slot(16, now=NOON)) == (None, None, None)


def test_a_cursor_without_a_schedule_stands_nowhere_and_is_not_ending() -> None:
    standing = cursor(job(""))
    assert (standing.occurrence, standing.due, standing.slot(16, now=NOON)) == (None, None, None)
    assert (standing.last, standing.ending, standing.after) == (None, False, T0)


@pytest.mark.parametrize("spec", [ScheduleSpec("* * * *"), ScheduleSpec("rate(1 minute)")])
def test_a_schedule_that_makes_no_sense_has_no_cursor(spec: ScheduleSpec) -> None:
    with pytest.raises(ScheduleError):
        cursor_for(replace(job(), schedule=spec), NOON)
