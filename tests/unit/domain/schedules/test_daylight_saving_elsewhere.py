"""The same rules in zones that change by other amounts, at other hours, or in other ways than New York."""

import pytest

from tests.support.schedules import instants, local

NEW_YORK = "America/New_York"


class TestOtherZones:
    def test_lord_howe_moves_by_half_an_hour(self):
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

    def test_apia_skipped_a_whole_day(self):
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
    def test_midnight_itself_can_lie_in_a_gap(self, zone, after, expected):
        assert local("0 0 * * *", zone, after=after, count=2) == expected
        assert local("@daily", zone, after=after, count=1, dst_gap="skip") == expected[1:]

    def test_midnight_itself_can_be_repeated(self):
        # Havana: 01:00 becomes 00:00 on 2026-11-01.
        assert local("0 0 * * *", "America/Havana", after="2026-10-31 12:00", count=2) == [
            "2026-11-01 00:00",
            "2026-11-02 00:00",
        ]

    def test_the_last_hour_of_a_day_can_be_repeated(self):
        # Beirut: 2025-10-26 00:00 becomes 2025-10-25 23:00.
        assert local("30 23 * * *", "Asia/Beirut", after="2025-10-25 12:00", count=2) == [
            "2025-10-25 23:30",
            "2025-10-26 23:30",
        ]
        assert local("0 0 26 10 *", "Asia/Beirut", after="2025-10-25 12:00", count=1) == ["2025-10-26 00:00"]

    def test_dublin_is_like_london_though_its_winter_time_is_the_exception(self):
        for expression in ("30 1 * * *", "*/20 * * * *", "0 0 L * *"):
            for after in ("2026-03-28 20:00", "2026-10-24 20:00"):
                assert instants(expression, "Europe/Dublin", after=after, count=40) == instants(
                    expression, "Europe/London", after=after, count=40
                )

    def test_troll_jumps_two_hours(self):
        zone = "Antarctica/Troll"  # 01:00 becomes 03:00 on 2026-03-29, 03:00 becomes 01:00 on 2026-10-25
        assert local("30 1,2 * * *", zone, after="2026-03-28 12:00", count=2) == [
            "2026-03-29 03:00",
            "2026-03-30 01:30",
        ]
        assert local("30 1,2 * * *", zone, after="2026-10-24 12:00", count=4, dst_fold="both") == [
            *("2026-10-25 01:30", "2026-10-25 02:30", "2026-10-25 01:30b", "2026-10-25 02:30b")
        ]

    def test_casablanca_left_its_summer_time_for_ramadan(self):
        zone = "Africa/Casablanca"  # 2025-02-23 03:00 became 02:00, 2025-04-06 02:00 became 03:00
        assert local("30 2 * * *", zone, after="2025-02-22 12:00", count=2) == ["2025-02-23 02:30", "2025-02-24 02:30"]
        assert local("30 2 * * *", zone, after="2025-04-05 12:00", count=2) == ["2025-04-06 03:00", "2025-04-07 02:30"]

    def test_a_change_of_standard_time_is_a_gap_or_a_fold_like_any_other(self):
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

    def test_the_yearly_rule_goes_on_after_the_last_listed_change(self):
        for year in ("2038", "2062", "2199", "2499", "2503", "3000", "9998"):
            [first, second] = local("0 12 1 1,7 *", NEW_YORK, after=f"{year}-01-01 00:00", count=2)
            assert (first, second) == (f"{year}-01-01 12:00", f"{year}-07-01 12:00")
            assert instants("0 12 1 1,7 *", NEW_YORK, after=f"{year}-01-01 00:00", count=2) == [
                *(f"{year}-01-01 17:00", f"{year}-07-01 16:00")
            ]
