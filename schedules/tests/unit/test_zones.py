"""Time zones and daylight saving.

- Zones: names, and offsets that agree with ``zoneinfo`` on the same data.
- Section 4, DST: what fires in the hours that a zone's clock skips or shows twice.
  New York in 2026: 02:00 becomes 03:00 on March 8 (07:00 UTC); 02:00 becomes 01:00 on November 1 (06:00 UTC).
- The same rules in zones that change by other amounts, at other hours, or in other ways than New York.
"""

from datetime import datetime
from itertools import islice, pairwise
from random import Random

import pytest
import tzdata

from duecourse_schedules import TZDATA_VERSION, ScheduleError, load_zone, zone_names
from duecourse_schedules.schedule import forget
from duecourse_schedules.zones.zone import YearlyRule, parse_tzif
from schedules.tests.support.schedule_oracle import EPOCH, wall_clock
from schedules.tests.support.schedules import instants, local, refusal, schedule, to_iso, utc

ZONES = sorted(zone_names())


def test_zones_version_matches_the_pinned_package():
    assert tzdata.__version__ == TZDATA_VERSION


@pytest.mark.parametrize("part", range(8))
def test_zones_agree_with_zoneinfo_for_every_zone(part):
    random = Random(part)
    for name in ZONES[part::8]:
        zone = load_zone(name)
        asked = [random.randint(-3_000_000_000, 16_000_000_000) for _ in range(40)]
        asked += [at + off for at in zone.starts[1:] for off in (-1, 0)]
        asked += range(utc("1965-01-01 00:00"), utc("2045-01-01 00:00"), 20 * 86_400)
        for at in asked:
            assert zone.wall(at) == (wall_clock(at, name) - EPOCH).total_seconds(), (name, at)


@pytest.mark.parametrize("part", range(4))
def test_zones_include_all_changes_even_if_first_used_before_them(part):
    for name in ZONES[part::4]:
        forget()
        at = utc("1959-12-20 00:00")
        noon = schedule("0 12 1 1,7 *", name)
        for year in range(1960, 2040):
            for month in (1, 7):
                at = noon.next(at)
                assert wall_clock(at, name) == datetime(year, month, 1, 12), name


def test_zones_yearly_rule_repeats_after_400_years():
    zone = load_zone("Pacific/Chatham")
    for year in (2500, 2900, 5000, 9998):
        january, july = utc(f"{year}-01-15 00:00"), utc(f"{year}-07-15 00:00")
        assert (zone.offset(january), zone.offset(july)) == (49_500, 45_900)
    assert len(zone.starts) < 1_200


def test_zones_give_the_same_offsets_after_use_for_the_far_future():
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
def test_zones_name_missing_in_tzdata_is_rejected(name):
    error = refusal("0 9 * * *", name)
    assert error.field == "timezone"
    assert "is not the name of an IANA time zone" in error.detail
    assert len(error.detail) < 250


def test_zones_are_checked_for_every_form_of_schedule():
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
def test_zones_suggest_similar_names(written, meant):
    assert f"did you mean {meant}" in refusal("0 9 * * *", written).detail


def test_zones_links_are_accepted_under_their_own_name():
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
def test_zones_yearly_rule_follows_the_rfc(rule, year, changes):
    assert YearlyRule(rule).changes(year) == [(utc(at), offset) for at, offset in changes]


def test_zones_reader_accepts_only_tzif_version_2_or_later():
    with pytest.raises(ValueError, match="not a TZif file"):
        parse_tzif(b"TZif\0" + b"\0" * 39)
    with pytest.raises(ValueError, match="not a TZif file"):
        parse_tzif(b"#!/bin/sh" + b"\0" * 40)


def test_zones_errors_can_be_pickled_and_compared():
    import pickle

    error = pickle.loads(pickle.dumps(ScheduleError("end", "must be later")))
    assert (error.field, error.detail, str(error)) == ("end", "must be later", "end: must be later")


NEW_YORK = "America/New_York"
GAP = "2026-03-08 06:00"  # an hour before, in UTC
FOLD = "2026-11-01 04:00"  # an hour before the first 01:00, in UTC


class TestFixedTimesInAGap:
    def test_zones_fixed_times_in_a_gap_fire_at_the_first_moment_after_it(self):
        assert instants("30 2 * * *", NEW_YORK, after=GAP) == [
            "2026-03-08 07:00",
            "2026-03-09 06:30",
            "2026-03-10 06:30",
        ]

    def test_zones_fixed_times_in_a_gap_merge_into_one_firing(self):
        assert local("0,15,30 2 * * *", NEW_YORK, after=GAP) == [
            "2026-03-08 03:00",
            "2026-03-09 02:00",
            "2026-03-09 02:15",
        ]

    def test_zones_fixed_times_in_a_gap_merge_with_the_time_after_it(self):
        assert local("30 2,3 * * *", NEW_YORK, after=GAP) == [
            "2026-03-08 03:00",
            "2026-03-08 03:30",
            "2026-03-09 02:30",
        ]
        assert local("0 2,3 * * *", NEW_YORK, after=GAP) == ["2026-03-08 03:00", "2026-03-09 02:00", "2026-03-09 03:00"]

    def test_zones_fixed_times_in_a_gap_are_dropped_with_skip(self):
        assert local("30 2 * * *", NEW_YORK, after=GAP, dst_gap="skip")[0] == "2026-03-09 02:30"
        assert local("0 2,3 * * *", NEW_YORK, after=GAP, dst_gap="skip")[:2] == ["2026-03-08 03:00", "2026-03-09 02:00"]

    def test_zones_gap_includes_its_first_moment_and_excludes_its_last(self):
        assert local("0 2 * * *", NEW_YORK, after=GAP, dst_gap="skip")[0] == "2026-03-09 02:00"
        assert local("59 1 * * *", NEW_YORK, after=GAP, dst_gap="skip")[0] == "2026-03-08 01:59"
        assert local("0 3 * * *", NEW_YORK, after=GAP, dst_gap="skip")[0] == "2026-03-08 03:00"

    def test_zones_next_occurrence_after_the_end_of_a_gap_is_on_the_next_day(self):
        assert instants("30 2 * * *", NEW_YORK, after="2026-03-08 06:59:59", count=1) == ["2026-03-08 07:00"]
        assert instants("30 2 * * *", NEW_YORK, after="2026-03-08 07:00", count=1) == ["2026-03-09 06:30"]

    def test_zones_single_date_in_a_gap_is_moved(self):
        assert local("30 2 8 3 *", NEW_YORK, after=GAP, count=1) == ["2026-03-08 03:00"]

    def test_zones_time_that_is_always_in_a_gap_fires_after_it_or_never(self):
        second_sunday = "30 2 * 3 SUN#2"
        assert local(second_sunday, NEW_YORK, after=GAP, count=2) == ["2026-03-08 03:00", "2027-03-14 03:00"]
        assert local(second_sunday, NEW_YORK, after=GAP, dst_gap="skip") == []


class TestIntervalsInAGap:
    def test_zones_interval_continues_in_elapsed_time_over_a_gap(self):
        assert instants("*/30 * * * *", NEW_YORK, after=GAP, count=4) == [
            *("2026-03-08 06:30", "2026-03-08 07:00", "2026-03-08 07:30", "2026-03-08 08:00")
        ]

    @pytest.mark.parametrize("gap", ["next", "skip"])
    def test_zones_interval_times_in_a_gap_are_omitted_with_every_rule(self, gap):
        assert local("*/20 2 * * *", NEW_YORK, after=GAP, count=1, dst_gap=gap) == ["2026-03-09 02:00"]
        assert local("30 */2 * * *", NEW_YORK, after=GAP, count=1, dst_gap=gap) == ["2026-03-08 04:30"]

    def test_zones_interval_with_all_its_times_in_a_gap_never_fires(self):
        assert local("*/5 2 * 3 SUN#2", NEW_YORK, after=GAP) == []


class TestFixedTimesInAFold:
    def test_zones_fixed_times_in_a_fold_fire_in_the_first_pass(self):
        assert local("30 1 * * *", NEW_YORK, after=FOLD) == ["2026-11-01 01:30", "2026-11-02 01:30", "2026-11-03 01:30"]

    def test_zones_fixed_times_in_a_fold_fire_in_the_second_or_both_passes_if_configured(self):
        assert local("30 1 * * *", NEW_YORK, after=FOLD, count=2, dst_fold="second") == [
            "2026-11-01 01:30b",
            "2026-11-02 01:30",
        ]
        assert local("30 1 * * *", NEW_YORK, after=FOLD, dst_fold="both") == [
            *("2026-11-01 01:30", "2026-11-01 01:30b", "2026-11-02 01:30")
        ]

    def test_zones_fold_includes_its_start_and_excludes_its_end(self):
        assert local("0 1,2 * * *", NEW_YORK, after=FOLD, count=3, dst_fold="both") == [
            *("2026-11-01 01:00", "2026-11-01 01:00b", "2026-11-01 02:00")
        ]
        assert local("0 1,2 * * *", NEW_YORK, after=FOLD, count=2, dst_fold="second") == [
            "2026-11-01 01:00b",
            "2026-11-01 02:00",
        ]

    def test_zones_next_occurrence_between_the_passes_of_a_fold_is_not_repeated(self):
        assert local("30 1 * * *", NEW_YORK, after="2026-11-01 05:31", count=1) == ["2026-11-02 01:30"]
        assert local("30 1 * * *", NEW_YORK, after="2026-11-01 05:31", count=1, dst_fold="second") == [
            "2026-11-01 01:30b"
        ]

    def test_zones_several_fixed_times_in_a_fold_keep_their_order(self):
        assert local("0,30 1 * * *", NEW_YORK, after=FOLD, count=4, dst_fold="both") == [
            *("2026-11-01 01:00", "2026-11-01 01:30", "2026-11-01 01:00b", "2026-11-01 01:30b")
        ]


class TestIntervalsInAFold:
    @pytest.mark.parametrize("fold", ["first", "second", "both"])
    def test_zones_interval_counts_both_passes_of_a_fold_with_every_rule(self, fold):
        assert local("*/30 * * * *", NEW_YORK, after=FOLD, count=6, dst_fold=fold) == [
            *("2026-11-01 00:30", "2026-11-01 01:00", "2026-11-01 01:30"),
            *("2026-11-01 01:00b", "2026-11-01 01:30b", "2026-11-01 02:00"),
        ]

    def test_zones_interval_within_one_hour_fires_in_both_passes_of_that_hour(self):
        assert local("*/30 1 * * *", NEW_YORK, after=FOLD, count=4) == [
            *("2026-11-01 01:00", "2026-11-01 01:30", "2026-11-01 01:00b", "2026-11-01 01:30b")
        ]


@pytest.mark.parametrize(
    ("expression", "interval"),
    [
        ("30 1 * * *", False),
        ("* 1 * * *", True),
        ("30 * * * *", True),
        ("*/30 1 * * *", True),
        ("30 */1 * * *", True),
        ("* 30 1 * * *", True),
        ("*/30 30 1 * * *", True),
        ("0 30 1 * * *", False),
        ("0-59/30 1 * * *", False),
        ("0/30 1 * * *", False),
        ("*,30 1 * * *", True),
        ("30,* 1 * * *", False),
        ("0-59 0-23 * * *", False),
        ("@daily", False),
        ("@hourly", True),
        ("cron(30 1 * * ? *)", False),
        ("cron(0/30 1 * * ? *)", False),
        ("cron(0/30 * * * ? *)", True),
    ],
)
def test_zones_star_at_the_start_of_second_minute_or_hour_makes_an_interval(expression, interval):
    first = local(expression, NEW_YORK, after="2026-11-01 03:59:59", count=9_000)
    assert any(text.endswith("b") for text in first if text < "2026-11-02") == interval


def test_zones_use_the_debian_rule_by_default():
    spec = schedule("30 2 * * *", NEW_YORK).spec
    assert (spec.dst_gap, spec.dst_fold) == ("next", "first")


class TestOtherZones:
    def test_zones_lord_howe_changes_by_half_an_hour(self):
        # 02:00 becomes 02:30 on 2026-10-04, 02:00 becomes 01:30 on 2026-04-05.
        zone = "Australia/Lord_Howe"
        assert local("15 2 * * *", zone, after="2026-10-03 12:00", count=2) == ["2026-10-04 02:30", "2026-10-05 02:15"]
        assert local("45 1 * * *", zone, after="2026-04-04 12:00", count=2) == ["2026-04-05 01:45", "2026-04-06 01:45"]
        assert local("45 1 * * *", zone, after="2026-04-04 12:00", count=2, dst_fold="both") == [
            *("2026-04-05 01:45", "2026-04-05 01:45b")
        ]
        assert instants("*/15 * * * *", zone, after="2026-10-03 15:15", count=3) == [
            *("2026-10-03 15:30", "2026-10-03 15:45", "2026-10-03 16:00")
        ]

    def test_zones_apia_skipped_a_whole_day(self):
        # 2011-12-29 23:59:59 was followed by 2011-12-31 00:00.
        zone = "Pacific/Apia"
        assert local("0 9 * * *", zone, after="2011-12-29 12:00") == [
            "2011-12-29 09:00",
            "2011-12-31 00:00",
            "2011-12-31 09:00",
        ]
        assert local("0 9 * * FRI", zone, after="2011-12-24 12:00", count=2) == ["2011-12-31 00:00", "2012-01-06 09:00"]
        assert local("0 9 30 12 *", zone, after="2011-12-01 00:00", count=1) == ["2011-12-31 00:00"]
        assert local("0 9 30 12 *", zone, after="2011-12-01 00:00", count=1, dst_gap="skip") == ["2012-12-30 09:00"]
        assert local("0 */12 * * *", zone, after="2011-12-29 22:30", count=2) == [
            *("2011-12-31 00:00", "2011-12-31 12:00")
        ]

    @pytest.mark.parametrize(
        ("zone", "after", "expected"),
        [
            ("America/Sao_Paulo", "2018-11-03 12:00", ["2018-11-04 01:00", "2018-11-05 00:00"]),
            ("Asia/Beirut", "2025-03-29 12:00", ["2025-03-30 01:00", "2025-03-31 00:00"]),
            ("America/Havana", "2026-03-07 12:00", ["2026-03-08 01:00", "2026-03-09 00:00"]),
        ],
    )
    def test_zones_midnight_may_be_in_a_gap(self, zone, after, expected):
        assert local("0 0 * * *", zone, after=after, count=2) == expected
        assert local("@daily", zone, after=after, count=1, dst_gap="skip") == expected[1:]

    def test_zones_midnight_may_be_repeated(self):
        # Havana: 01:00 becomes 00:00 on 2026-11-01.
        assert local("0 0 * * *", "America/Havana", after="2026-10-31 12:00", count=2) == [
            "2026-11-01 00:00",
            "2026-11-02 00:00",
        ]

    def test_zones_last_hour_of_a_day_may_be_repeated(self):
        # Beirut: 2025-10-26 00:00 becomes 2025-10-25 23:00.
        assert local("30 23 * * *", "Asia/Beirut", after="2025-10-25 12:00", count=2) == [
            "2025-10-25 23:30",
            "2025-10-26 23:30",
        ]
        assert local("0 0 26 10 *", "Asia/Beirut", after="2025-10-25 12:00", count=1) == ["2025-10-26 00:00"]

    def test_zones_dublin_matches_london_despite_its_negative_winter_dst(self):
        for expression in ("30 1 * * *", "*/20 * * * *", "0 0 L * *"):
            for after in ("2026-03-28 20:00", "2026-10-24 20:00"):
                assert instants(expression, "Europe/Dublin", after=after, count=40) == instants(
                    expression, "Europe/London", after=after, count=40
                )

    def test_zones_troll_changes_by_two_hours(self):
        zone = "Antarctica/Troll"  # 01:00 becomes 03:00 on 2026-03-29, 03:00 becomes 01:00 on 2026-10-25
        assert local("30 1,2 * * *", zone, after="2026-03-28 12:00", count=2) == [
            "2026-03-29 03:00",
            "2026-03-30 01:30",
        ]
        assert local("30 1,2 * * *", zone, after="2026-10-24 12:00", count=4, dst_fold="both") == [
            *("2026-10-25 01:30", "2026-10-25 02:30", "2026-10-25 01:30b", "2026-10-25 02:30b")
        ]

    def test_zones_casablanca_suspended_summer_time_during_ramadan(self):
        zone = "Africa/Casablanca"  # 2025-02-23 03:00 became 02:00, 2025-04-06 02:00 became 03:00
        assert local("30 2 * * *", zone, after="2025-02-22 12:00", count=2) == ["2025-02-23 02:30", "2025-02-24 02:30"]
        assert local("30 2 * * *", zone, after="2025-04-05 12:00", count=2) == ["2025-04-06 03:00", "2025-04-07 02:30"]

    def test_zones_change_of_standard_time_is_handled_as_a_gap_or_fold(self):
        # Pyongyang went from UTC+8:30 to UTC+9 at 23:30 on 2018-05-04: the next moment was midnight.
        assert local("45 23 * * *", "Asia/Pyongyang", after="2018-05-04 00:00", count=2) == [
            "2018-05-05 00:00",
            "2018-05-05 23:45",
        ]
        # Caracas went back by half an hour at 03:00 on 2007-12-09.
        assert local("45 2 * * *", "America/Caracas", after="2007-12-09 00:00", count=2) == [
            "2007-12-09 02:45",
            "2007-12-10 02:45",
        ]

    def test_zones_yearly_rule_continues_after_the_last_listed_change(self):
        for year in ("2038", "2062", "2199", "2499", "2503", "3000", "9998"):
            [first, second] = local("0 12 1 1,7 *", NEW_YORK, after=f"{year}-01-01 00:00", count=2)
            assert (first, second) == (f"{year}-01-01 12:00", f"{year}-07-01 12:00")
            assert instants("0 12 1 1,7 *", NEW_YORK, after=f"{year}-01-01 00:00", count=2) == [
                *(f"{year}-01-01 17:00", f"{year}-07-01 16:00")
            ]


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("GMT+2", "did you mean Etc/GMT-2? It is UTC+2"),
        ("gmt-11", "did you mean Etc/GMT+11? It is UTC-11"),
        ("UTC+2", "did you mean Etc/GMT-2? It is UTC+2"),
        ("UTC+02:00", "did you mean Etc/GMT-2? It is UTC+2"),
        ("+0200", "did you mean Etc/GMT-2? It is UTC+2"),
        ("-03", "did you mean Etc/GMT+3? It is UTC-3"),
        ("UTC+0", "did you mean UTC?"),
        ("GMT+5:30", "write the zone of a city"),
        ("UTC+15", "write the zone of a city"),
        ("Etc/UTC+3", "did you mean Etc/GMT-3? It is UTC+3"),
        ("W. Europe Standard Time", "did you mean Europe/Berlin?"),
        ("w. europe daylight time", "did you mean Europe/Berlin?"),
        ("Pacific Standard Time", "did you mean America/Los_Angeles?"),
        ("Central Standard Time (Mexico)", "did you mean America/Mexico_City?"),
        ("Russia Time Zone 11", "did you mean Asia/Kamchatka?"),
        ("India Standard Time", "did you mean Asia/"),
    ],
)
def test_zones_offsets_and_names_of_windows_have_the_right_suggestion(written: str, meant: str) -> None:
    assert meant in refusal("0 9 * * *", written).detail


def test_zones_suggested_offset_has_the_requested_time() -> None:
    for hours in (*range(-12, 0), *range(1, 15)):
        detail = refusal("0 9 * * *", f"GMT{hours:+d}").detail
        zone = detail.partition("did you mean ")[2].partition("?")[0]
        assert load_zone(zone).offset(0) == hours * 3600


@pytest.mark.parametrize("rules", [{}, {"dst_gap": "skip", "dst_fold": "second"}, {"dst_fold": "both"}])
@pytest.mark.parametrize(
    "expression", ["0 9 * * MON#1", "30 2 L * *", "*/30 0-3 * * 6,0", "15 2 * * *", "45 1,2 1-9 3-11 *", "@yearly"]
)
@pytest.mark.parametrize(
    "zone", ["America/New_York", "Australia/Lord_Howe", "Pacific/Apia", "Africa/Casablanca", "Asia/Tokyo"]
)
def test_zones_occurrences_in_a_row_are_those_that_are_requested_one_by_one(zone, expression, rules):
    in_a_row = list(islice(schedule(expression, zone, **rules).upcoming(utc("2009-01-01 00:00")), 400))
    assert in_a_row == sorted(set(in_a_row))
    alone = schedule(expression, zone, **rules)
    for at, following in pairwise(in_a_row):
        alone.next(0)  # the next request does not follow this one
        assert alone.next(at) == following


def test_zones_occurrences_in_a_row_end_with_the_window():
    monthly = schedule("0 9 1 * *", "Europe/Berlin", start=utc("2026-02-01 00:00"), end=utc("2026-05-01 00:00"))
    for _ in range(2):
        assert [to_iso(at)[:10] for at in monthly.upcoming(0)] == ["2026-02-01", "2026-03-01", "2026-04-01"]
