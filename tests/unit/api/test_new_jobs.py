"""What a new job is made of: its id, its anchor, its first occurrence, what is sent at once."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duecourse.domain.ids import is_id
from duecourse.domain.instants import from_iso
from duecourse.domain.jobs.job import JobState
from duecourse.domain.schedules import ScheduleError, ScheduleSpec
from duecourse.usecases.jobs.change import anchored, first_occurrence, made_up_id
from duecourse.usecases.jobs.view import at_once_until, view_of
from tests.support.jobs import NOON, cursor, job, moved


@pytest.mark.parametrize(
    ("name", "id_"),
    [
        ("Weekly report", "weekly-report-nonce-1"),
        ("", "job-nonce-1"),
        ("\N{BAR CHART}", "job-nonce-1"),
        ("  --- ", "job-nonce-1"),
        ("x" * 100, "x" * 40 + "-nonce-1"),
    ],
)
def test_a_made_up_id_begins_with_the_name(name: str, id_: str) -> None:
    assert made_up_id(name, "nonce-1") == id_


@given(st.text(max_size=256), st.text(max_size=64).filter(lambda text: re.search("[A-Za-z0-9]", text) is not None))
def test_a_made_up_id_is_an_id(name: str, nonce: str) -> None:
    assert is_id(made_up_id(name, nonce))


@pytest.mark.parametrize("expression", ["rate(10 seconds)", " RATE(1 minute)", "Rate(2 days)"])
def test_a_rate_is_anchored_at_the_whole_second_of_its_creation(expression: str) -> None:
    assert anchored(ScheduleSpec(expression), NOON + 0.9).anchor == int(NOON)


@pytest.mark.parametrize(
    "spec",
    [
        ScheduleSpec("0 9 * * 1"),
        ScheduleSpec("at(2027-01-01T00:00:00)"),
        ScheduleSpec("R/2027-01-01T00:00:00Z/PT1H"),
        ScheduleSpec("rate(1 minute)", anchor=5),
        ScheduleSpec("rate(1 minute)", start=5),
    ],
)
def test_what_has_times_of_its_own_is_not_anchored(spec: ScheduleSpec) -> None:
    assert anchored(spec, NOON) == spec


@pytest.mark.parametrize(
    ("expression", "now", "first"),
    [
        ("rate(10 seconds)", "2026-11-21T12:00:00.900Z", "2026-11-21T12:00:10Z"),
        ("* * * * *", "2026-11-21T12:00:00Z", "2026-11-21T12:01:00Z"),
        ("* * * * *", "2026-11-21T12:00:59.999Z", "2026-11-21T12:01:00Z"),
        ("at(2026-11-21T12:00:01)", "2026-11-21T12:00:00.999Z", "2026-11-21T12:00:01Z"),
    ],
)
def test_the_first_occurrence_lies_strictly_after_the_creation(expression: str, now: str, first: str) -> None:
    at = from_iso(now)
    assert first_occurrence(anchored(ScheduleSpec(expression), at), at) == from_iso(first)


@pytest.mark.parametrize(
    "expression", ["at(2026-11-21T12:00:00)", "at(2020-01-01T00:00:00)", "R1/2026-11-21T11:00:00Z/PT1H"]
)
def test_a_schedule_that_is_over_is_refused(expression: str) -> None:
    with pytest.raises(ScheduleError) as refused:
        first_occurrence(ScheduleSpec(expression), NOON)
    assert refused.value.field == "schedule"


@pytest.mark.parametrize(
    ("expression", "horizon", "until"),
    [
        ("* * * * *", 840, 120),
        ("* * * * *", 60, 60),
        ("at(2026-11-21T13:00:00)", 840, 120),
        ("rate(2 seconds)", 840, 120),
        ("rate(1 second)", 840, 100),
    ],
)
def test_two_minutes_or_a_hundred_firings_are_sent_at_once(expression: str, horizon: int, until: int) -> None:
    new = job(expression)
    assert at_once_until(new, new.occurrences(), horizon) == NOON + until


def test_the_next_occurrence_is_the_next_to_come_due_not_the_next_to_be_enqueued() -> None:
    minutely = job("* * * * *")
    ahead = cursor(minutely, NOON + 840)
    assert view_of(minutely, ahead, now=NOON + 0.5).next_occurrence == NOON + 60


def test_a_last_occurrence_that_is_overdue_is_still_shown() -> None:
    once = job("at(2026-11-21T12:00:30)")
    assert view_of(once, cursor(once), now=NOON + 300).next_occurrence == NOON + 30
    assert view_of(once, moved(cursor(once), None), now=NOON + 300).next_occurrence is None


def test_a_job_that_is_not_active_has_no_next_occurrence() -> None:
    paused = job("* * * * *", state=JobState.PAUSED)
    assert view_of(paused, cursor(paused), now=NOON).next_occurrence is None


def test_a_job_whose_cursor_cannot_be_read_says_so() -> None:
    assert view_of(job(), None, now=NOON).error == "its place in the schedule cannot be read"
