"""One instant, fixed intervals, and no schedule at all.

- One-off times: at(...) and ISO-8601 instants.
- Intervals in elapsed time: rate(...) and R/start/period.
- Intervals on the wall clock: a period of days or more from a local start.
- No schedule: what a job has that runs only when it is asked to.
"""

import calendar
from datetime import UTC, datetime, timedelta
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duecourse_schedules import ScheduleError, ScheduleSpec
from duecourse_schedules.preview import preview_schedule
from duecourse_schedules.schedule import counted_from, occurrences_of
from schedules.tests.support.schedules import instants, local, refusal, schedule, utc

NEW_YORK = "America/New_York"
NEW_YEAR = "2026-01-01 00:00"


class TestAt:
    def test_schedule_forms_at_uses_the_clock_of_the_zone(self):
        assert instants("at(2026-07-01T09:00:00)", NEW_YORK, after=NEW_YEAR) == ["2026-07-01 13:00"]
        assert instants("AT(2026-07-01t09:00:00)", after=NEW_YEAR) == ["2026-07-01 09:00"]

    def test_schedule_forms_at_ends_once_it_has_passed(self):
        assert instants("at(2026-07-01T09:00:00)", after="2026-07-01 08:59:59") == ["2026-07-01 09:00"]
        assert instants("at(2026-07-01T09:00:00)", after="2026-07-01 09:00") == []

    def test_schedule_forms_at_in_a_gap_follows_the_rule_of_the_job(self):
        expression = "at(2026-03-08T02:30:00)"
        assert local(expression, NEW_YORK, after=NEW_YEAR) == ["2026-03-08 03:00"]
        assert local(expression, NEW_YORK, after=NEW_YEAR, dst_gap="skip") == []
        assert local("at(2011-12-30T12:00:00)", "Pacific/Apia", after="2011-01-01 00:00") == ["2011-12-31 00:00"]

    def test_schedule_forms_at_in_a_fold_follows_the_rule_of_the_job(self):
        expression = "at(2026-11-01T01:30:00)"
        assert local(expression, NEW_YORK, after=NEW_YEAR) == ["2026-11-01 01:30"]
        assert local(expression, NEW_YORK, after=NEW_YEAR, dst_fold="second") == ["2026-11-01 01:30b"]
        assert local(expression, NEW_YORK, after=NEW_YEAR, dst_fold="both") == ["2026-11-01 01:30", "2026-11-01 01:30b"]

    def test_schedule_forms_at_is_not_recurring_even_if_it_fires_in_both_passes(self):
        at = schedule("at(2026-11-01T01:30:00)", NEW_YORK, dst_fold="both")
        assert (at.kind, at.recurring) == ("at", False)

    def test_schedule_forms_at_supports_the_far_future(self):
        assert instants("at(2600-07-01T12:00:00)", NEW_YORK, after=NEW_YEAR) == ["2600-07-01 16:00"]

    @pytest.mark.parametrize(
        ("expression", "reason"),
        [
            ("at(2026-02-30T09:00:00)", "this day does not exist"),
            ("at(2026-13-01T09:00:00)", "this day does not exist"),
            ("at(0000-01-01T09:00:00)", "this day does not exist"),
            ("at(2026-01-01T24:00:00)", "this time of day does not exist"),
            ("at(2026-01-01T09:60:00)", "this time of day does not exist"),
            ("at(2026-12-31T23:59:60)", "this time of day does not exist"),
            ("at(2026-01-01T09:00)", "write at(yyyy-mm-ddThh:mm:ss)"),
            ("at(2026-01-01)", "write at(yyyy-mm-ddThh:mm:ss)"),
            ("at(20260101T090000)", "write at(yyyy-mm-ddThh:mm:ss)"),
            ("at(2026-1-1T9:00:00)", "write at(yyyy-mm-ddThh:mm:ss)"),
            ("at(2026-01-01 09:00:00)", "write at(yyyy-mm-ddThh:mm:ss)"),
            ("at()", "write at(yyyy-mm-ddThh:mm:ss)"),
            ("at(tomorrow)", "write at(yyyy-mm-ddThh:mm:ss)"),
            ("at(2026-01-01T09:00:00Z)", "for an instant write 2026-01-01T09:00:00Z alone"),
            ("at(2026-01-01T09:00:00+01:00)", "for an instant write 2026-01-01T09:00:00+01:00 alone"),
            ("at(2026-01-01T09:00:00.0)", "without a fraction"),
        ],
    )
    def test_schedule_forms_at_rejects_invalid_arguments(self, expression, reason):
        assert reason in refusal(expression).detail


class TestInstant:
    @pytest.mark.parametrize(
        "expression",
        [
            *("2026-07-01T09:00:00Z", "2026-07-01T09:00Z", "2026-07-01t09:00:00z", "2026-07-01T09:00:00.000Z"),
            *(
                "2026-07-01T11:00:00+02:00",
                "2026-07-01T11:00+02",
                "2026-07-01T05:00:00-0400",
                "2026-07-01T09:00:00-00:00",
            ),
            *("20260701T090000Z", "20260701T0900Z", "20260701T110000+0200", "2026-07-01T14:45:00+05:45"),
        ],
    )
    def test_schedule_forms_instant_with_an_offset_is_independent_of_the_zone(self, expression):
        assert instants(expression, "Asia/Tokyo", after=NEW_YEAR) == ["2026-07-01 09:00"]
        assert schedule(expression, "Asia/Tokyo").canonical == "2026-07-01T09:00:00Z"

    def test_schedule_forms_instant_without_an_offset_is_a_local_time_like_at(self):
        assert instants("2026-07-01T09:00:00", NEW_YORK, after=NEW_YEAR) == ["2026-07-01 13:00"]
        assert schedule("2026-07-01T09:00").canonical == "at(2026-07-01T09:00:00)"
        assert local("2026-03-08T02:30:00", NEW_YORK, after=NEW_YEAR) == ["2026-03-08 03:00"]

    @pytest.mark.parametrize(
        ("expression", "reason"),
        [
            ("2026-02-29T00:00:00Z", "this day does not exist"),
            ("2026-01-01T25:00:00Z", "this time of day does not exist"),
            ("2026-01-01T09:00:00.5Z", "times are in whole seconds"),
            ("2026-01-01T09:00:00+24:00", "this offset from UTC does not exist"),
            ("2026-01-01T09:00:00+01:60", "this offset from UTC does not exist"),
            ("2026-01-01", "has 1 field"),
            ("2026-01-01T09Z", "has 1 field"),
            ("2026-W01-1T09:00:00Z", "has 1 field"),
            ("20260101T09:00:00Z", "has 1 field"),
            ("2026-01-01 09:00:00", "has 2 fields"),
            ("1767258000", "has 1 field"),
        ],
    )
    def test_schedule_forms_instant_that_is_not_a_whole_second_of_the_calendar_is_rejected(self, expression, reason):
        assert reason in refusal(expression).detail


class TestRate:
    def test_schedule_forms_rate_counts_from_its_anchor_forwards_and_backwards(self):
        anchor = utc("2026-01-01 00:00:20")
        assert instants("rate(5 minutes)", after=NEW_YEAR, anchor=anchor) == [
            *("2026-01-01 00:00:20", "2026-01-01 00:05:20", "2026-01-01 00:10:20")
        ]
        assert instants("rate(5 minutes)", after="2020-01-01 00:00", anchor=anchor, count=1) == ["2026-01-01 00:00:20"]
        assert instants("rate(5 minutes)", after="2026-05-01 00:00:20", anchor=anchor, count=1) == [
            "2026-05-01 00:05:20"
        ]

    def test_schedule_forms_rate_without_an_anchor_counts_from_the_start(self):
        assert instants("rate(1 hour)", after=NEW_YEAR, start=utc("2026-01-01 00:01"), count=2) == [
            "2026-01-01 00:01",
            "2026-01-01 01:01",
        ]

    def test_schedule_forms_rate_prefers_the_anchor_to_the_start(self):
        assert instants(
            "rate(1 hour)", after=NEW_YEAR, start=utc("2026-01-01 03:30"), anchor=utc(NEW_YEAR), count=1
        ) == ["2026-01-01 04:00"]

    def test_schedule_forms_rate_without_anchor_and_start_is_rejected(self):
        assert refusal("rate(5 minutes)").field == "anchor"

    def test_schedule_forms_rate_is_elapsed_time_regardless_of_clock_changes(self):
        anchor = utc("2026-03-07 14:00")  # 09:00 in New York
        assert local("rate(1 day)", NEW_YORK, after="2026-03-07 14:00", anchor=anchor, count=2) == [
            *("2026-03-08 10:00", "2026-03-09 10:00")
        ]

    @pytest.mark.parametrize(
        ("expression", "canonical"),
        [
            ("rate(1 second)", "rate(1 second)"),
            ("rate(30 seconds)", "rate(30 seconds)"),
            ("rate(1 minute)", "rate(1 minute)"),
            ("rate(90 minutes)", "rate(90 minutes)"),
            ("rate(60 minutes)", "rate(1 hour)"),
            ("rate(1 hour)", "rate(1 hour)"),
            ("rate(36 hours)", "rate(36 hours)"),
            ("rate(1 day)", "rate(1 day)"),
            ("rate(14 days)", "rate(14 days)"),
            ("RATE( 05  Minutes )", "rate(5 minutes)"),
        ],
    )
    def test_schedule_forms_rate_units_range_from_seconds_to_days(self, expression, canonical):
        assert schedule(expression, anchor=0).canonical == canonical

    @pytest.mark.parametrize(
        ("expression", "reason"),
        [
            ("rate(1 minutes)", "write rate(1 minute)"),
            ("rate(5 minute)", "write rate(5 minutes)"),
            ("rate(1 hours)", "write rate(1 hour)"),
            ("rate(0 minutes)", "at least 1 second"),
            ("rate(-5 minutes)", "is not a whole number"),
            ("rate(1.5 hours)", "is not a whole number"),
            ("rate(five minutes)", "is not a whole number"),
            ("rate(5 weeks)", "the unit must be second(s), minute(s), hour(s) or day(s)"),
            ("rate(1 month)", "the unit must be"),
            ("rate(5 minutess)", "the unit must be"),
            ("rate(5minutes)", "write a number and a unit"),
            ("rate(5)", "write a number and a unit"),
            ("rate()", "write a number and a unit"),
            ("rate(5 minutes 3 seconds)", "write a number and a unit"),
            ("rate(99999999999999999999 days)", "longer than the supported range"),
            (f"rate({'9' * 200} days)", "longer than the supported range"),
            ("rate 5 minutes", "has 3 fields"),
        ],
    )
    def test_schedule_forms_rate_rejects_invalid_intervals_and_those_that_eventbridge_rejects(self, expression, reason):
        assert reason in refusal(expression, anchor=0).detail

    def test_schedule_forms_rate_ends_with_the_calendar(self):
        assert instants("rate(1000000 days)", after=NEW_YEAR, anchor=0, count=5) == [
            "4707-11-29 00:00",
            "7445-10-25 00:00",
        ]


class TestRepeatingInterval:
    def test_schedule_forms_repeating_interval_contains_its_own_start(self):
        expression = "R/2026-01-31T09:00:00+01:00/PT90M"
        assert instants(expression, after=NEW_YEAR, anchor=12_345) == [
            "2026-01-31 08:00",
            "2026-01-31 09:30",
            "2026-01-31 11:00",
        ]
        assert schedule(expression).canonical == "R/2026-01-31T08:00:00Z/PT90M"

    def test_schedule_forms_repeating_interval_may_start_at_a_local_time(self):
        expression = "R/2026-01-31T09:00:00/PT24H"
        assert instants(expression, NEW_YORK, after="2026-03-07 00:00", count=2) == [
            "2026-03-07 14:00",
            "2026-03-08 14:00",
        ]
        assert schedule(expression, NEW_YORK).canonical == "R/2026-01-31T09:00:00/PT24H"

    def test_schedule_forms_repeating_interval_with_a_number_has_that_many_occurrences(self):
        assert instants("R3/2026-01-31T09:00:00Z/P1D", after=NEW_YEAR, count=9) == [
            *("2026-01-31 09:00", "2026-02-01 09:00", "2026-02-02 09:00")
        ]
        assert instants("R1/2026-01-31T09:00:00Z/P1D", after=NEW_YEAR, count=9) == ["2026-01-31 09:00"]

    def test_schedule_forms_repeating_interval_is_recurring_unless_it_occurs_once(self):
        assert schedule("R/2026-01-31T09:00:00Z/P1D").recurring
        assert schedule("R2/2026-01-31T09:00:00Z/P1D").recurring
        assert not schedule("R1/2026-01-31T09:00:00Z/P1D").recurring
        assert schedule("R1/2026-01-31T09:00:00Z/P1D").kind == "rate"

    @pytest.mark.parametrize(
        ("period", "seconds"),
        [
            *(("PT30S", 30), ("PT5M", 300), ("PT1H", 3_600), ("P1D", 86_400), ("P2W", 1_209_600)),
            *(("PT1H30M", 5_400), ("P1DT12H", 129_600), ("pt36h", 129_600), ("PT0M5S", 5)),
        ],
    )
    def test_schedule_forms_repeating_interval_accepts_weeks_days_hours_minutes_and_seconds(self, period, seconds):
        repeating = schedule(f"R/1970-01-01T00:00:00Z/{period}")
        assert repeating.next(0) == seconds

    @pytest.mark.parametrize(
        ("expression", "reason"),
        [
            ("R/2026-01-31T09:00:00Z/P1M", "write the start without an offset, such as R/2026-01-31T09:00:00/P3M"),
            ("R/2026-01-31T09:00:00Z/P1Y", "a period in months or years counts on the job's clock"),
            ("R/2026-01-31T09:00:00/P1M2DT3H", "and has no other units"),
            ("R/2026-01-31T09:00:00/P1M2D", "and has no other units"),
            ("R/2026-01-31T09:00:00/P0M", "at least 1 second"),
            ("R/2026-01-31T09:00:00/P999999999D", "longer than the supported range"),
            ("R/2026-01-31T09:00:00Z/PT0S", "at least 1 second"),
            ("R/2026-01-31T09:00:00Z/P", "is not a period"),
            ("R/2026-01-31T09:00:00Z/PT", "is not a period"),
            ("R/2026-01-31T09:00:00Z/P1DT", "is not a period"),
            ("R/2026-01-31T09:00:00Z/PT0.5S", "is not a period"),
            ("R/2026-01-31T09:00:00Z/-PT5M", "is not a period"),
            ("R/2026-01-31T09:00:00Z/1H", "is not a period"),
            ("R/2026-01-31T09:00:00Z/2026-02-01T09:00:00Z", "is not a period"),
            ("R/2026-01-31T09:00:00Z", "write R/start/period"),
            ("R//PT5M", "is not a start"),
            ("R/PT5M/2026-01-31T09:00:00Z", "is not a start"),
            ("R0/2026-01-31T09:00:00Z/PT5M", "R0 would never fire"),
            ("R-1/2026-01-31T09:00:00Z/PT5M", "the number of occurrences"),
            ("RX/2026-01-31T09:00:00Z/PT5M", "the number of occurrences"),
            ("R/2026-02-31T09:00:00Z/PT5M", "this day does not exist"),
        ],
    )
    def test_schedule_forms_repeating_interval_rejects_other_forms(self, expression, reason):
        assert reason in refusal(expression).detail

    def test_schedule_forms_repeating_interval_with_a_skipped_start_is_rejected(self):
        assert (
            "does not exist in America/New_York"
            in refusal("R/2026-03-08T02:30:00/PT1H", NEW_YORK, dst_gap="skip").detail
        )
        assert local("R/2026-03-08T02:30:00/PT1H", NEW_YORK, after=NEW_YEAR, count=1) == ["2026-03-08 03:00"]


class TestCalendarInterval:
    """A period of days, weeks, months or years from a local start counts on the wall clock."""

    def test_calendar_interval_keeps_the_time_of_day_across_changes_of_the_clock(self):
        assert local("R/2026-01-15T09:00:00/P3M", NEW_YORK, after=NEW_YEAR, count=5) == [
            *("2026-01-15 09:00", "2026-04-15 09:00", "2026-07-15 09:00", "2026-10-15 09:00", "2027-01-15 09:00")
        ]
        assert local("R/2026-03-02T09:00:00/P2W", NEW_YORK, after=NEW_YEAR, count=3) == [
            *("2026-03-02 09:00", "2026-03-16 09:00", "2026-03-30 09:00")
        ]

    def test_calendar_interval_uses_the_last_day_of_shorter_months_and_does_not_drift(self):
        assert instants("R/2027-12-31T09:00:00/P1M", after=NEW_YEAR, count=5) == [
            *("2027-12-31 09:00", "2028-01-31 09:00", "2028-02-29 09:00", "2028-03-31 09:00", "2028-04-30 09:00")
        ]
        assert instants("R/2024-02-29T09:00:00/P1Y", after=NEW_YEAR, count=3) == [
            *("2026-02-28 09:00", "2027-02-28 09:00", "2028-02-29 09:00")
        ]

    def test_calendar_interval_follows_the_rules_of_daylight_saving(self):
        expression = "R/2026-03-01T02:30:00/P7D"
        assert local(expression, NEW_YORK, after="2026-03-07 00:00", count=2) == [
            "2026-03-08 03:00",
            "2026-03-15 02:30",
        ]
        assert local(expression, NEW_YORK, after="2026-03-07 00:00", count=1, dst_gap="skip") == ["2026-03-15 02:30"]

    def test_calendar_interval_ends_with_its_number_of_occurrences_and_with_the_calendar(self):
        assert instants("R3/2026-01-31T09:00:00/P6M", after=NEW_YEAR, count=9) == [
            *("2026-01-31 09:00", "2026-07-31 09:00", "2027-01-31 09:00")
        ]
        assert instants("R/2026-01-31T09:00:00/P250Y", after="2026-02-01 00:00", count=9) == ["2276-01-31 09:00"]
        assert not schedule("R1/2026-01-31T09:00:00/P6M").recurring
        assert schedule("R/2026-01-31T09:00:00/P6M").recurring

    def test_calendar_interval_moves_off_excluded_days(self):
        spec = ScheduleSpec("R/2026-05-01T09:00:00/P1M", "Europe/Berlin", on_excluded="next")
        of = occurrences_of("", "", spec, exclude=("2026-05-01", "* * * * SAT,SUN"))
        assert of.next(utc("2026-04-01 00:00")) == utc("2026-05-04 07:00")

    @pytest.mark.parametrize(
        ("expression", "canonical", "words"),
        [
            (
                "r/20260131t090000/p3m",
                "R/2026-01-31T09:00:00/P3M",
                "every 3 months, counted from 2026-01-31 09:00:00, UTC",
            ),
            (
                "R/2026-01-31T09:00/P12M",
                "R/2026-01-31T09:00:00/P1Y",
                "every year, counted from 2026-01-31 09:00:00, UTC",
            ),
            (
                "R/2026-01-31T09:00/P2W",
                "R/2026-01-31T09:00:00/P14D",
                "every 2 weeks, counted from 2026-01-31 09:00:00, UTC",
            ),
            (
                "R5/2026-01-31T09:00/P1D",
                "R5/2026-01-31T09:00:00/P1D",
                "5 times, every day, counted from 2026-01-31 09:00:00, UTC",
            ),
        ],
    )
    def test_calendar_interval_has_words_and_a_canonical_form(self, expression, canonical, words):
        assert schedule(expression).canonical == canonical == schedule(canonical).canonical
        assert schedule(expression).words == words

    @given(st.integers(0, 4_000_000_000), st.integers(1, 60), st.sampled_from("DWMY"), st.integers(-(10**9), 10**9))
    def test_calendar_interval_agrees_with_a_walk_along_the_calendar(self, start, number, unit, ahead):
        begin = datetime.fromtimestamp(start, UTC).replace(tzinfo=None)
        of = schedule(f"R/{begin.isoformat()}/P{number}{unit}")
        step = {"D": (0, number), "W": (0, 7 * number), "M": (number, 0), "Y": (12 * number, 0)}[unit]

        def at(k):
            if step[1]:
                return begin + timedelta(days=k * step[1])
            year, month = divmod(begin.year * 12 + begin.month - 1 + k * step[0], 12)
            day = min(begin.day, calendar.monthrange(year, month + 1)[1])
            return begin.replace(year=year, month=month + 1, day=day)

        after = start + ahead
        expected = next(found for k in count() if (found := calendar.timegm(at(k).timetuple())) > after)
        assert of.next(after) == expected


def test_schedule_forms_empty_schedule_has_no_occurrence() -> None:
    assert instants("", after="0001-01-03 00:00") == []
    assert schedule("").next(utc("2026-01-01 00:00")) is None


def test_schedule_forms_empty_schedule_is_recurring() -> None:
    none = schedule("")
    assert (none.kind, none.recurring, none.canonical, none.words) == ("none", True, "", "only on demand")


def test_schedule_forms_empty_schedule_still_requires_a_valid_zone() -> None:
    assert refusal("", "No/Where").field == "timezone"


@pytest.mark.parametrize("text", ["", " ", "\t"])
@pytest.mark.parametrize("anchor", [None, 0])
def test_schedule_forms_empty_text_from_a_user_is_rejected(text: str, anchor: int | None) -> None:
    spec = ScheduleSpec(text, anchor=anchor)
    with pytest.raises(ScheduleError, match="is empty"):
        counted_from(spec, 0)
    with pytest.raises(ScheduleError, match="is empty"):
        preview_schedule(spec, 0, 1)
