"""Zones: names, and offsets that agree with ``zoneinfo`` on the same data."""

from datetime import datetime
from random import Random

import pytest
import tzdata

from duecourse.domain.schedules import TZDATA_VERSION, ScheduleError, load_zone, zone_names
from duecourse.domain.schedules.schedule import forget
from duecourse.domain.schedules.zones.zone import YearlyRule, parse_tzif
from tests.support.schedule_oracle import EPOCH, wall_clock
from tests.support.schedules import refusal, schedule, utc

ZONES = sorted(zone_names())


def test_the_version_is_that_of_the_pinned_package():
    assert tzdata.__version__ == TZDATA_VERSION


@pytest.mark.parametrize("part", range(8))
def test_every_zone_shows_what_zoneinfo_shows(part):
    random = Random(part)
    for name in ZONES[part::8]:
        zone = load_zone(name)
        asked = [random.randint(-3_000_000_000, 16_000_000_000) for _ in range(40)]
        asked += [at + off for at in zone.starts[1:] for off in (-1, 0)]
        asked += range(utc("1965-01-01 00:00"), utc("2045-01-01 00:00"), 20 * 86_400)
        for at in asked:
            assert zone.wall(at) == (wall_clock(at, name) - EPOCH).total_seconds(), (name, at)


@pytest.mark.parametrize("part", range(4))
def test_a_zone_first_asked_about_a_time_before_its_changes_knows_them_all_the_same(part):
    for name in ZONES[part::4]:
        forget()
        at = utc("1959-12-20 00:00")
        noon = schedule("0 12 1 1,7 *", name)
        for year in range(1960, 2040):
            for month in (1, 7):
                at = noon.next(at)
                assert wall_clock(at, name) == datetime(year, month, 1, 12), name


def test_a_yearly_rule_repeats_after_400_years():
    zone = load_zone("Pacific/Chatham")
    for year in (2500, 2900, 5000, 9998):
        january, july = utc(f"{year}-01-15 00:00"), utc(f"{year}-07-15 00:00")
        assert (zone.offset(january), zone.offset(july)) == (49_500, 45_900)
    assert len(zone.starts) < 1_200


def test_asking_far_ahead_and_back_again_gives_the_same_offsets():
    zone = load_zone("Europe/Paris")
    assert zone.offset(utc("2400-07-01 00:00")) == 7_200
    assert zone.offset(utc("1990-07-01 00:00")) == 7_200
    assert zone.offset(utc("1890-07-01 00:00")) == 561


@pytest.mark.parametrize(
    "name",
    [
        *("", " ", ".", "..", "/", "Mars/Olympus", "Europe", "Europe/", "/Europe/Berlin", "Europe//Berlin"),
        *(
            "../zones",
            "../../../../etc/passwd",
            "Europe/../Europe/Berlin",
            "Europe\\Berlin",
            "Europe/Berlin\0",
            "zones",
        ),
        *("UTC+2", "+02:00", "utc ", "EST5EDT,M3.2.0,M11.1.0", "localtime", "posixrules", "tzdata.zi", "__init__.py"),
        *("Europe/Berlin\n", "Ｅurope/Berlin", "x" * 5_000),
    ],
)
def test_a_name_that_tzdata_does_not_list_is_refused(name):
    error = refusal("0 9 * * *", name)
    assert error.field == "timezone"
    assert "is not the name of an IANA time zone" in error.detail
    assert len(error.detail) < 250


def test_the_zone_is_checked_for_every_form():
    for expression in ("2026-01-01T00:00:00Z", "rate(1 hour)", "R/2026-01-01T00:00:00Z/PT1H"):
        assert refusal(expression, "Nowhere", anchor=0).field == "timezone"


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("america/new_york", "America/New_York"),
        ("EUROPE/BERLIN", "Europe/Berlin"),
        ("Berlin", "Europe/Berlin"),
        ("New York", "America/New_York"),
        ("America/New-York", "America/New_York"),
        ("Europe/Berln", "Europe/Berlin"),
        ("Asia/Calcuta", "Asia/Calcutta"),
        ("utc", "UTC"),
        ("Tokyo", "Asia/Tokyo"),
    ],
)
def test_near_matches_are_suggested(written, meant):
    assert f"did you mean {meant}" in refusal("0 9 * * *", written).detail


def test_links_are_zones_of_their_own_name():
    assert load_zone("US/Eastern").offset(utc("2026-07-01 00:00")) == -14_400


@pytest.mark.parametrize(
    ("rule", "year", "changes"),
    [
        ("EST5EDT,M3.2.0,M11.1.0", 2026, [("2026-03-08 07:00", -14_400), ("2026-11-01 06:00", -18_000)]),
        ("<+1030>-10:30<+11>-11,M10.1.0,M4.1.0", 2026, [("2026-04-04 15:00", 37_800), ("2026-10-03 15:30", 39_600)]),
        ("IST-1GMT0,M10.5.0,M3.5.0/1", 2026, [("2026-03-29 01:00", 3_600), ("2026-10-25 01:00", 0)]),
        ("<-02>2<-01>,M3.5.0/-1,M10.5.0/0", 2026, [("2026-03-29 01:00", -3_600), ("2026-10-25 01:00", -7_200)]),
        ("IST-2IDT,M3.4.4/26,M10.5.0", 2026, [("2026-03-27 00:00", 10_800), ("2026-10-24 23:00", 7_200)]),
        # J60 is always March 1; 59 counts February 29.
        ("AAA0BBB,J60/0,J365", 2028, [("2028-03-01 00:00", 3_600), ("2028-12-31 01:00", 0)]),
        ("AAA0BBB,J60/0,J365", 2027, [("2027-03-01 00:00", 3_600), ("2027-12-31 01:00", 0)]),
        ("AAA0BBB,59/0,364", 2028, [("2028-02-29 00:00", 3_600), ("2028-12-30 01:00", 0)]),
        ("UTC0", 2026, []),
    ],
)
def test_the_yearly_rule_is_read_as_the_rfc_says(rule, year, changes):
    assert YearlyRule(rule).changes(year) == [(utc(at), offset) for at, offset in changes]


def test_only_tzif_of_version_2_or_later_is_read():
    with pytest.raises(ValueError, match="not a TZif file"):
        parse_tzif(b"TZif\0" + b"\0" * 39)
    with pytest.raises(ValueError, match="not a TZif file"):
        parse_tzif(b"#!/bin/sh" + b"\0" * 40)


def test_errors_can_be_pickled_and_told_apart():
    import pickle

    error = pickle.loads(pickle.dumps(ScheduleError("end", "must be later")))
    assert (error.field, error.detail, str(error)) == ("end", "must be later", "end: must be later")
