"""Section 4, DST: what fires in the hours that a zone's clock skips or shows twice.

New York in 2026: 02:00 becomes 03:00 on March 8 (07:00 UTC); 02:00 becomes 01:00 on November 1 (06:00 UTC).
"""

import pytest

from tests.support.schedules import instants, local, schedule

NEW_YORK = "America/New_York"
GAP = "2026-03-08 06:00"  # an hour before, in UTC
FOLD = "2026-11-01 04:00"  # an hour before the first 01:00, in UTC


class TestFixedTimesInAGap:
    def test_fire_at_the_moment_after_the_gap(self):
        assert instants("30 2 * * *", NEW_YORK, after=GAP) == [
            "2026-03-08 07:00",
            "2026-03-09 06:30",
            "2026-03-10 06:30",
        ]

    def test_merge_to_one_firing(self):
        assert local("0,15,30 2 * * *", NEW_YORK, after=GAP) == [
            "2026-03-08 03:00",
            "2026-03-09 02:00",
            "2026-03-09 02:15",
        ]

    def test_merge_with_the_time_after_the_gap(self):
        assert local("30 2,3 * * *", NEW_YORK, after=GAP) == [
            "2026-03-08 03:00",
            "2026-03-08 03:30",
            "2026-03-09 02:30",
        ]
        assert local("0 2,3 * * *", NEW_YORK, after=GAP) == ["2026-03-08 03:00", "2026-03-09 02:00", "2026-03-09 03:00"]

    def test_are_dropped_when_the_job_says_skip(self):
        assert local("30 2 * * *", NEW_YORK, after=GAP, dst_gap="skip")[0] == "2026-03-09 02:30"
        assert local("0 2,3 * * *", NEW_YORK, after=GAP, dst_gap="skip")[:2] == ["2026-03-08 03:00", "2026-03-09 02:00"]

    def test_the_first_moment_of_a_gap_lies_in_it_and_the_last_does_not(self):
        assert local("0 2 * * *", NEW_YORK, after=GAP, dst_gap="skip")[0] == "2026-03-09 02:00"
        assert local("59 1 * * *", NEW_YORK, after=GAP, dst_gap="skip")[0] == "2026-03-08 01:59"
        assert local("0 3 * * *", NEW_YORK, after=GAP, dst_gap="skip")[0] == "2026-03-08 03:00"

    def test_asking_from_the_moment_after_the_gap_gives_the_next_day(self):
        assert instants("30 2 * * *", NEW_YORK, after="2026-03-08 06:59:59", count=1) == ["2026-03-08 07:00"]
        assert instants("30 2 * * *", NEW_YORK, after="2026-03-08 07:00", count=1) == ["2026-03-09 06:30"]

    def test_a_single_date_is_moved_too(self):
        assert local("30 2 8 3 *", NEW_YORK, after=GAP, count=1) == ["2026-03-08 03:00"]

    def test_a_time_that_always_lies_in_a_gap_fires_after_it_or_never(self):
        second_sunday = "30 2 * 3 SUN#2"
        assert local(second_sunday, NEW_YORK, after=GAP, count=2) == ["2026-03-08 03:00", "2027-03-14 03:00"]
        assert local(second_sunday, NEW_YORK, after=GAP, dst_gap="skip") == []


class TestIntervalsInAGap:
    def test_go_on_in_elapsed_time(self):
        assert instants("*/30 * * * *", NEW_YORK, after=GAP, count=4) == [
            *("2026-03-08 06:30", "2026-03-08 07:00", "2026-03-08 07:30", "2026-03-08 08:00")
        ]

    @pytest.mark.parametrize("gap", ["next", "skip"])
    def test_times_in_it_do_not_exist_whatever_the_job_says(self, gap):
        assert local("*/20 2 * * *", NEW_YORK, after=GAP, count=1, dst_gap=gap) == ["2026-03-09 02:00"]
        assert local("30 */2 * * *", NEW_YORK, after=GAP, count=1, dst_gap=gap) == ["2026-03-08 04:30"]

    def test_never_fire_when_all_their_times_lie_in_it(self):
        assert local("*/5 2 * 3 SUN#2", NEW_YORK, after=GAP) == []


class TestFixedTimesInAFold:
    def test_fire_in_the_first_pass(self):
        assert local("30 1 * * *", NEW_YORK, after=FOLD) == ["2026-11-01 01:30", "2026-11-02 01:30", "2026-11-03 01:30"]

    def test_fire_in_the_second_pass_or_in_both_when_the_job_says_so(self):
        assert local("30 1 * * *", NEW_YORK, after=FOLD, count=2, dst_fold="second") == [
            "2026-11-01 01:30b",
            "2026-11-02 01:30",
        ]
        assert local("30 1 * * *", NEW_YORK, after=FOLD, dst_fold="both") == [
            *("2026-11-01 01:30", "2026-11-01 01:30b", "2026-11-02 01:30")
        ]

    def test_the_fold_begins_at_one_and_ends_before_two(self):
        assert local("0 1,2 * * *", NEW_YORK, after=FOLD, count=3, dst_fold="both") == [
            *("2026-11-01 01:00", "2026-11-01 01:00b", "2026-11-01 02:00")
        ]
        assert local("0 1,2 * * *", NEW_YORK, after=FOLD, count=2, dst_fold="second") == [
            "2026-11-01 01:00b",
            "2026-11-01 02:00",
        ]

    def test_asking_between_the_passes_does_not_fire_again(self):
        assert local("30 1 * * *", NEW_YORK, after="2026-11-01 05:31", count=1) == ["2026-11-02 01:30"]
        assert local("30 1 * * *", NEW_YORK, after="2026-11-01 05:31", count=1, dst_fold="second") == [
            "2026-11-01 01:30b"
        ]

    def test_several_times_keep_their_order(self):
        assert local("0,30 1 * * *", NEW_YORK, after=FOLD, count=4, dst_fold="both") == [
            *("2026-11-01 01:00", "2026-11-01 01:30", "2026-11-01 01:00b", "2026-11-01 01:30b")
        ]


class TestIntervalsInAFold:
    @pytest.mark.parametrize("fold", ["first", "second", "both"])
    def test_count_both_passes_whatever_the_job_says(self, fold):
        assert local("*/30 * * * *", NEW_YORK, after=FOLD, count=6, dst_fold=fold) == [
            *("2026-11-01 00:30", "2026-11-01 01:00", "2026-11-01 01:30"),
            *("2026-11-01 01:00b", "2026-11-01 01:30b", "2026-11-01 02:00"),
        ]

    def test_within_one_hour_of_the_day_fire_in_both_of_its_passes(self):
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
def test_a_star_at_the_beginning_of_second_minute_or_hour_makes_an_interval(expression, interval):
    first = local(expression, NEW_YORK, after="2026-11-01 03:59:59", count=9_000)
    assert any(text.endswith("b") for text in first if text < "2026-11-02") == interval


def test_the_default_is_debians_rule():
    spec = schedule("30 2 * * *", NEW_YORK).spec
    assert (spec.dst_gap, spec.dst_fold) == ("next", "first")
