"""Exclusions and jitter: what is left of a schedule, and when it is really due."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duecourse.domain.instants import from_iso, to_iso
from duecourse.domain.schedules import ScheduleSpec
from duecourse.domain.schedules.occurrences import (
    ExclusionError,
    Occurrences,
    canonical_exclusion,
    compile_exclusions,
    occurrences_of,
)


def occurrences(expression: str, timezone: str = "UTC", *exclude: str, jitter: int = 0) -> Occurrences:
    spec = ScheduleSpec(expression, timezone, anchor=0)
    return occurrences_of("default", "nightly", spec, exclude=exclude, jitter_seconds=jitter)


def upcoming(of: Occurrences, after: str, count: int) -> list[str]:
    at, found = int(from_iso(after)), []
    for _ in range(count):
        following = of.next(at)
        assert following is not None
        found.append(to_iso(at := following))
    return found


def test_an_excluded_instant_is_left_out() -> None:
    daily = occurrences("0 9 * * *", "UTC", "2026-12-25T09:00:00Z")
    assert upcoming(daily, "2026-12-24T00:00:00Z", 2) == ["2026-12-24T09:00:00Z", "2026-12-26T09:00:00Z"]


def test_an_excluded_date_is_that_of_the_jobs_own_zone() -> None:
    tokyo = occurrences("0 */6 * * *", "Asia/Tokyo", "2026-12-25")
    assert upcoming(tokyo, "2026-12-24T08:59:59Z", 3) == [
        "2026-12-24T09:00:00Z",
        "2026-12-25T15:00:00Z",
        "2026-12-25T21:00:00Z",
    ]


def test_an_excluded_range_has_both_its_ends() -> None:
    daily = occurrences("0 9 * * *", "UTC", "2026-12-24/2027-01-02")
    assert upcoming(daily, "2026-12-23T00:00:00Z", 2) == ["2026-12-23T09:00:00Z", "2027-01-03T09:00:00Z"]


def test_ranges_that_touch_or_overlap_are_one() -> None:
    compiled = compile_exclusions(("2026-12-24/2026-12-26", "2026-12-27", "2026-12-20/2026-12-24"), "UTC")
    assert len(compiled.first_days) == 1


def test_a_row_of_excluded_years_is_passed_in_one_step() -> None:
    asked = []

    class Counting:
        def next(self, after: int) -> int | None:
            asked.append(after)
            return after + 1

    every_second = occurrences("rate(1 second)", "UTC", "2026-01-01/2035-12-31")
    counted = Occurrences(Counting(), every_second.owner, 0, every_second.exclusions)  # type: ignore[arg-type]
    assert counted.next(int(from_iso("2026-06-01T00:00:00Z"))) == from_iso("2036-01-01T00:00:00Z")
    assert len(asked) == 2


def test_a_day_that_begins_twice_or_not_at_midnight_is_excluded_whole() -> None:
    # Havana's clocks go back from 01:00 to 00:00 on 2025-11-02, Beirut's forward at midnight on 2026-03-29.
    havana = occurrences("*/30 * * * *", "America/Havana", "2025-11-02")
    assert upcoming(havana, "2025-11-02T03:45:00Z", 1) == ["2025-11-03T05:00:00Z"]
    beirut = occurrences("*/30 * * * *", "Asia/Beirut", "2026-03-29")
    assert upcoming(beirut, "2026-03-28T21:45:00Z", 1) == ["2026-03-29T21:00:00Z"]


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ("2026-02-30", "2026-02-30"),
        ("2026-12-26/2026-12-24", "ends before it begins"),
        ("2026-12-24/soon", "two dates"),
        ("christmas", "write an instant as"),
        ("2026-12-25T09:00:00", "write an instant as"),
        ("2026-12-25T09:00:00.5Z", "whole seconds"),
    ],
)
def test_what_is_no_exclusion_is_refused_with_the_remedy(entry: str, says: str) -> None:
    with pytest.raises(ExclusionError, match=says) as caught:
        compile_exclusions(("2026-01-01", entry), "UTC")
    assert caught.value.index == 1


def test_an_instant_is_kept_in_utc() -> None:
    assert canonical_exclusion("2026-12-25T09:00:00+01:00") == "2026-12-25T08:00:00Z"
    assert canonical_exclusion("2026-12-24/2027-01-02") == "2026-12-24/2027-01-02"


@given(after=st.integers(0, 4_000_000_000), jitter=st.integers(0, 3600))
def test_jitter_stays_within_its_bound_and_before_the_next_occurrence(after: int, jitter: int) -> None:
    every_ten_minutes = occurrences("*/10 * * * *", jitter=jitter)
    at = every_ten_minutes.next(after)
    assert at is not None
    following = every_ten_minutes.next(at)
    assert following is not None
    assert at <= every_ten_minutes.due(at) <= min(at + jitter, following - 1)


def test_jitter_is_the_same_each_time_and_spreads() -> None:
    daily = occurrences("0 9 * * *", jitter=600)
    times = []
    at: int | None = 0
    for _ in range(200):
        at = daily.next(at or 0)
        assert at is not None
        assert daily.due(at) == daily.due(at)
        times.append(daily.due(at) - at)
    assert len(set(times)) > 100
    assert 200 < sum(times) / len(times) < 400


def test_due_times_rise_with_their_occurrences() -> None:
    of = occurrences("*/7 * * * *", "Europe/Berlin", "2026-03-29", jitter=3600)
    at, dues = 1_774_000_000, []
    for _ in range(500):
        following = of.next(at)
        assert following is not None
        at = following
        dues.append(of.due(at))
    assert all(one < other for one, other in pairwise(dues))
