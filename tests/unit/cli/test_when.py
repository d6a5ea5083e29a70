"""Times as people say and read them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from duecourse.cli.when import instant_of, last_night, moment, relative, zone_of

BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 11, 22, 9, 30, tzinfo=UTC)  # 10:30 in Berlin


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("now", NOW),
        ("today", datetime(2026, 11, 21, 23, tzinfo=UTC)),
        ("yesterday", datetime(2026, 11, 20, 23, tzinfo=UTC)),
        ("3h", NOW - timedelta(hours=3)),
        ("15m", NOW - timedelta(minutes=15)),
        ("2d", NOW - timedelta(days=2)),
        ("02:30", datetime(2026, 11, 22, 1, 30, tzinfo=UTC)),
        ("2:30", datetime(2026, 11, 22, 1, 30, tzinfo=UTC)),
        ("22:00", datetime(2026, 11, 21, 21, tzinfo=UTC)),
        ("2026-07-01", datetime(2026, 6, 30, 22, tzinfo=UTC)),
        ("2026-07-01 02:30", datetime(2026, 7, 1, 0, 30, tzinfo=UTC)),
        ("2026-07-01T02:30:00Z", datetime(2026, 7, 1, 2, 30, tzinfo=UTC)),
    ],
)
def test_a_time_is_that_of_the_zones_clock_and_past(text: str, meant: datetime) -> None:
    assert instant_of(text, BERLIN, NOW) == meant


@pytest.mark.parametrize("text", ["", "soon", "25:00", "2026-13-01", "3w", "99999999h"])
def test_what_is_no_time_is_told_with_the_forms(text: str) -> None:
    with pytest.raises(ValueError, match="write today, yesterday"):
        instant_of(text, BERLIN, NOW)


def test_last_night_is_the_one_that_is_over_or_on() -> None:
    evening = datetime(2026, 11, 21, 17, tzinfo=UTC)
    assert last_night(BERLIN, NOW) == (evening, datetime(2026, 11, 22, 7, tzinfo=UTC))
    at_three = datetime(2026, 11, 22, 2, tzinfo=UTC)
    assert last_night(BERLIN, at_three) == (evening, at_three)
    at_nineteen = datetime(2026, 11, 22, 18, tzinfo=UTC)
    assert last_night(BERLIN, at_nineteen) == (evening + timedelta(days=1), at_nineteen)


def test_an_instant_is_read_in_utc_or_on_a_zones_clock() -> None:
    assert moment(NOW) == "2026-11-22 09:30:00Z"
    assert moment(NOW, BERLIN) == "2026-11-22 10:30:00+01:00"
    assert moment(None) == "-"


@pytest.mark.parametrize(
    ("away", "said"),
    [
        (timedelta(seconds=-40), "40 s ago"),
        (timedelta(minutes=12), "in 12 min"),
        (timedelta(hours=-3), "3 h ago"),
        (timedelta(days=5), "in 5 d"),
    ],
)
def test_how_far_away_an_instant_is(away: timedelta, said: str) -> None:
    assert relative(NOW + away, NOW) == said


def test_a_zone_that_this_machine_does_not_know_is_utc() -> None:
    assert zone_of("Mars/Olympus") is UTC
    assert zone_of(None) == ZoneInfo("UTC")
