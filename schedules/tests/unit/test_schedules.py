"""duecourse_schedules.schedules: the engine as programs use it, with aware datetimes."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from itertools import islice, pairwise
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from duecourse_schedules import schedules

BERLIN = ZoneInfo("Europe/Berlin")
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
NAIVE = datetime(2026, 3, 1, 12)


def berlin(month: int, day: int, hour: int, minute: int = 0) -> datetime:
    return datetime(2026, month, day, hour, minute, tzinfo=BERLIN)


def test_schedules_next_occurrence_is_in_the_requested_zone() -> None:
    found = schedules.next("0 9 * * 1", tz="Europe/Berlin", after=NOON)
    assert found == berlin(3, 2, 9)
    assert found.tzinfo is BERLIN


def test_schedules_search_from_now_by_default() -> None:
    before = datetime.now(UTC)
    following = schedules.next("* * * * *")
    last = schedules.previous("* * * * *")
    assert following is not None
    assert last is not None
    assert timedelta(0) < following - before <= timedelta(minutes=5)
    assert last < following


def test_schedules_occurrences_are_strictly_after_or_before_the_given_instant() -> None:
    assert schedules.next("0 12 * * *", after=NOON) == NOON + timedelta(days=1)
    assert schedules.previous("0 12 * * *", before=NOON) == NOON - timedelta(days=1)


def test_schedules_fraction_of_a_second_is_significant() -> None:
    half = timedelta(seconds=0.5)
    assert schedules.next("* * * * * *", after=NOON - half) == NOON
    assert schedules.previous("* * * * * *", before=NOON + half) == NOON
    assert list(schedules.between("0 12 * * *", NOON, NOON + half)) == [NOON]
    assert list(schedules.between("0 12 * * *", NOON + half, NOON + half * 1.5)) == []


def test_schedules_daylight_saving_follows_the_engine() -> None:
    def on(day: datetime, **options: Any) -> list[datetime]:
        found = schedules.between("30 2 * * *", day, day + timedelta(days=1), tz="Europe/Berlin", **options)
        return [each.astimezone(UTC) for each in found]

    spring, autumn = berlin(3, 29, 0), berlin(10, 25, 0)
    assert on(spring) == [datetime(2026, 3, 29, 1, tzinfo=UTC)]
    assert on(spring, dst_gap="skip") == []
    assert on(autumn) == [datetime(2026, 10, 25, 0, 30, tzinfo=UTC)]
    assert on(autumn, dst_fold="second") == [datetime(2026, 10, 25, 1, 30, tzinfo=UTC)]
    assert len(on(autumn, dst_fold="both")) == 2


def test_schedules_passes_of_a_repeated_hour_are_distinguished_by_fold() -> None:
    passes = list(schedules.upcoming("30 2 25 10 *", tz="Europe/Berlin", after=NOON, count=2, dst_fold="both"))
    assert [(each.hour, each.fold) for each in passes] == [(2, 0), (2, 1)]


def test_schedules_upcoming_ends_with_its_count_or_never() -> None:
    assert len(list(schedules.upcoming("@hourly", after=NOON, count=3))) == 3
    assert len(list(islice(schedules.upcoming("@hourly", after=NOON), 500))) == 500
    assert list(schedules.upcoming("at(2026-03-01T13:00:00)", after=NOON)) == [NOON + timedelta(hours=1)]


def test_schedules_window_includes_its_start_and_excludes_its_end() -> None:
    hours = [NOON + timedelta(hours=hour) for hour in range(4)]
    assert list(schedules.between("@hourly", hours[0], hours[3])) == hours[:3]
    assert list(schedules.upcoming("@hourly", after=NOON, start=hours[2], end=hours[3])) == hours[2:3]
    assert schedules.previous("@hourly", before=hours[3], end=hours[1]) == hours[0]


def test_schedules_excluded_times_are_omitted() -> None:
    found = schedules.upcoming("0 9 * * *", tz="Europe/Berlin", after=NOON, count=2, exclude=["2026-03-02/2026-03-04"])
    assert list(found) == [berlin(3, 5, 9), berlin(3, 6, 9)]
    last = schedules.previous(
        "0 9 * * *", tz="Europe/Berlin", before=berlin(3, 5, 1), exclude=["2026-03-02/2026-03-04"]
    )
    assert last == berlin(3, 1, 9)


def test_schedules_rate_counts_from_its_anchor_else_its_start_else_the_search_instant() -> None:
    anchor = NOON + timedelta(minutes=1)
    assert schedules.next("rate(1 hour)", after=NOON, anchor=anchor) == anchor
    assert schedules.next("rate(1 hour)", after=anchor, start=NOON) == NOON + timedelta(hours=1)
    assert schedules.next("rate(1 hour)", after=NOON) == NOON + timedelta(hours=1)
    assert schedules.previous("rate(1 hour)", before=NOON + timedelta(hours=9), anchor=anchor) == anchor + timedelta(
        hours=8
    )


@pytest.mark.parametrize(
    ("expr", "tz"),
    [
        ("*/7 * * * * *", "UTC"),
        ("*/20 1-3 * * *", "Europe/Berlin"),
        ("30 2 * * *", "America/New_York"),
        ("0 0 29 2 *", "Asia/Tokyo"),
        ("cron(0 9 ? * 2#1 *)", "Australia/Lord_Howe"),
        ("R/2026-03-01T00:00:00Z/PT7H", "UTC"),
    ],
)
def test_schedules_previous_is_the_inverse_of_next(expr: str, tz: str) -> None:
    listed = list(schedules.upcoming(expr, tz=tz, after=NOON, count=40))
    for earlier, later in pairwise(listed):
        assert schedules.previous(expr, tz=tz, before=later) == earlier


def test_schedules_previous_is_none_before_the_first_occurrence() -> None:
    assert schedules.previous("at(2026-03-01T13:00:00)", before=NOON) is None
    assert schedules.previous("@hourly", before=NOON, start=NOON) is None
    assert schedules.previous("0 0 1 1 *", before=datetime(1, 1, 1, tzinfo=UTC)) is None


def test_schedules_describe_returns_words() -> None:
    assert schedules.describe("0 9 * * 1", tz="America/New_York") == "at 09:00 on Monday, America/New_York"
    assert schedules.describe("rate(5 minutes)", anchor=NOON) == "every 5 minutes, counted from 2026-03-01 12:00:00 UTC"


def test_schedules_validate_accepts_schedules_that_a_job_may_have() -> None:
    for expr in ("0 9 * * 1", "rate(5 minutes)", "@daily", "at(9999-12-24T18:00:00)"):
        schedules.validate(expr, "Europe/Berlin")


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda: schedules.validate("61 * * * *"), "schedule: .*61"),
        (lambda: schedules.validate(""), "schedule: is empty"),
        (lambda: schedules.validate("at(2020-01-01T00:00:00)"), "schedule: has no occurrence in the future"),
        (lambda: schedules.validate("@daily", "Europe/Berlim"), "timezone: .*Europe/Berlin"),
        (lambda: schedules.next("@daily", dst_gap="never"), "dst_gap: must be"),  # type: ignore[arg-type]
        (lambda: schedules.next("@daily", after=NAIVE), "after: .*datetime with a time zone"),
        (lambda: schedules.next("@daily", start=NAIVE), "start: .*datetime with a time zone"),
        (lambda: schedules.next("@daily", after="2026-03-01"), "after: .*datetime with a time zone"),  # type: ignore[arg-type]
        (lambda: schedules.upcoming("@daily", after=NOON, start=NOON, end=NOON), "end: must be later"),
        (lambda: schedules.between("@daily", NOON, NAIVE), "end: .*datetime with a time zone"),
        (lambda: schedules.previous("@daily", before=NAIVE), "before: .*datetime with a time zone"),
        (lambda: schedules.previous("", before=NOON), "schedule: is empty"),
        (lambda: schedules.previous("rate(1 hour)", before=NOON), "anchor: .*set anchor or start"),
        (lambda: schedules.next("rate(1 hour)", anchor=NOON.replace(microsecond=1)), "anchor: .*whole seconds"),
        (lambda: schedules.next("@daily", exclude=["Monday"]), "exclude: 'Monday'"),
        (lambda: schedules.describe("@sometimes"), "schedule: "),
    ],
)
def test_schedules_errors_are_value_errors_that_name_the_field(ask: Callable[[], object], said: str) -> None:
    with pytest.raises(ValueError, match=f"^{said}"):
        ask()


def test_schedules_offset_of_a_given_instant_is_irrelevant() -> None:
    elsewhere = NOON.astimezone(timezone(timedelta(hours=-7)))
    assert schedules.next("@hourly", after=elsewhere) == schedules.next("@hourly", after=NOON)
