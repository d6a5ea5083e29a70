"""EventBridge's ``cron(min hour dom month dow year)``, as its documentation describes it."""

import pytest

from tests.support.schedules import instants, refusal, schedule

NEW_YEAR = "2026-01-01 00:00"  # a Thursday


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        # The examples of EventBridge's documentation.
        ("cron(0 10 * * ? *)", ["2026-01-01 10:00", "2026-01-02 10:00"]),
        ("cron(15 12 * * ? *)", ["2026-01-01 12:15", "2026-01-02 12:15"]),
        ("cron(0 18 ? * MON-FRI *)", ["2026-01-01 18:00", "2026-01-02 18:00"]),
        ("cron(0 8 1 * ? *)", ["2026-01-01 08:00", "2026-02-01 08:00"]),
        ("cron(0/15 * * * ? *)", ["2026-01-01 00:15", "2026-01-01 00:30"]),
        ("cron(0/10 * ? * MON-FRI *)", ["2026-01-01 00:10", "2026-01-01 00:20"]),
        ("cron(0/5 8-17 ? * MON-FRI *)", ["2026-01-01 08:00", "2026-01-01 08:05"]),
        ("cron(0/30 20-2 ? * MON-FRI *)", ["2026-01-01 00:30", "2026-01-01 01:00"]),
        # Days are numbered from SUN = 1.
        ("cron(0 9 ? * 1 *)", ["2026-01-04 09:00", "2026-01-11 09:00"]),
        ("cron(0 9 ? * 7 *)", ["2026-01-03 09:00", "2026-01-10 09:00"]),
        ("cron(0 9 ? * 2-6 *)", ["2026-01-01 09:00", "2026-01-02 09:00"]),
        ("cron(0 9 ? * FRI-SUN *)", ["2026-01-02 09:00", "2026-01-03 09:00"]),
        ("cron(0 9 ? * L *)", ["2026-01-03 09:00", "2026-01-10 09:00"]),
        ("cron(0 9 ? * 6L *)", ["2026-01-30 09:00", "2026-02-27 09:00"]),
        ("cron(0 9 ? * FRIL *)", ["2026-01-30 09:00", "2026-02-27 09:00"]),
        ("cron(0 9 ? * 3#2 *)", ["2026-01-13 09:00", "2026-02-10 09:00"]),
        ("cron(0 9 ? * * *)", ["2026-01-01 09:00", "2026-01-02 09:00"]),
        ("cron(0 9 L * ? *)", ["2026-01-31 09:00", "2026-02-28 09:00"]),
        ("cron(0 9 3W * ? *)", ["2026-01-02 09:00", "2026-02-03 09:00"]),
        ("cron(0 9 LW * ? *)", ["2026-01-30 09:00", "2026-02-27 09:00"]),
        ("CRON(0 9 ? * mon *)", ["2026-01-05 09:00", "2026-01-12 09:00"]),
        (" cron( 0 9 ? * MON *  ) ", ["2026-01-05 09:00", "2026-01-12 09:00"]),
    ],
)
def test_eventbridge_expressions_in_their_documented_forms(expression, expected):
    assert instants(expression, after=NEW_YEAR, count=2) == expected


def test_a_day_of_the_month_and_a_day_of_the_week_cannot_both_count():
    # The other is ?, which begins with ?: both must match, and ? always does.
    assert instants("cron(0 9 13 * ? *)", after=NEW_YEAR, count=2) == ["2026-01-13 09:00", "2026-02-13 09:00"]


class TestRangesThatRunBackwards:
    """A range may pass the end of its field and go on at its beginning, as EventBridge's guide shows; years end."""

    @pytest.mark.parametrize(
        ("expression", "the_same_as"),
        [
            ("cron(0/30 20-2 ? * MON-FRI *)", "cron(0,30 20,21,22,23,0,1,2 ? * MON-FRI *)"),
            ("cron(55-5 9 * * ? *)", "cron(55,56,57,58,59,0,1,2,3,4,5 9 * * ? *)"),
            ("cron(0 9 29-2 * ? *)", "cron(0 9 29,30,31,1,2 * ? *)"),
            ("cron(0 9 1 NOV-FEB ? *)", "cron(0 9 1 11,12,1,2 ? *)"),
            ("cron(0 9 1 11-2 ? *)", "cron(0 9 1 11,12,1,2 ? *)"),
            ("cron(0 9 ? * FRI-MON *)", "cron(0 9 ? * FRI,SAT,SUN,MON *)"),
            ("cron(0 9 ? * fri-sun *)", "cron(0 9 ? * FRI,SAT,SUN *)"),
            ("cron(0 9 ? * 6-1 *)", "cron(0 9 ? * 6,7,1 *)"),
            ("cron(0 10-9 * * ? *)", "cron(0 0-23 * * ? *)"),
            # The step goes on counting past the end.
            ("cron(0 20-4/3 * * ? *)", "cron(0 20,23,2 * * ? *)"),
            ("cron(50-15/10 9 * * ? *)", "cron(50,0,10 9 * * ? *)"),
            ("cron(0 9 1 OCT-MAR/2 ? *)", "cron(0 9 1 OCT,DEC,FEB ? *)"),
            ("cron(0 9 30-3/2,15 * ? *)", "cron(0 9 30,1,3,15 * ? *)"),
        ],
    )
    def test_go_on_at_the_beginning(self, expression, the_same_as):
        assert instants(expression, after=NEW_YEAR, count=60) == instants(the_same_as, after=NEW_YEAR, count=60)
        assert schedule(expression).canonical == schedule(the_same_as).canonical

    def test_name_hours_of_the_days_that_are_named_not_of_the_nights(self):
        # MON-FRI: Friday's night ends at midnight, and the early hours of Monday belong to Monday.
        assert instants("cron(0 23-1 ? * MON-FRI *)", after="2026-01-02 12:00", count=3) == [
            *("2026-01-02 23:00", "2026-01-05 00:00", "2026-01-05 01:00")
        ]

    def test_are_written_out_in_words_and_in_canonical_form(self):
        night = schedule("cron(0/30 20-2 ? * MON-FRI *)")
        assert night.canonical == "cron(0,30 0-2,20-23 ? * MON-FRI *)"
        assert night.words == "every 30 minutes in the hours 0 to 2 and 20 to 23 on Monday to Friday, UTC"
        winter = schedule("cron(0 9 ? NOV-FEB FRI-MON *)")
        assert winter.canonical == "cron(0 9 ? 1,2,11,12 SUN,MON,FRI,SAT *)"
        assert (
            winter.words == "at 09:00 on Monday and Friday to Sunday in January, February, November and December, UTC"
        )
        assert schedule("cron(0 9 29-2 * ? *)").words == "at 09:00 on days 1, 2 and 29 to 31 of the month, UTC"

    @pytest.mark.parametrize("years", ["2030-2026", "2199-1970", "2030-2026/2", "2026,2030-2028"])
    def test_of_years_are_refused(self, years):
        error = refusal(f"cron(0 9 1 1 ? {years})")
        assert error.field == "schedule"
        assert "the range runs backwards; years do not wrap, write the earlier one first" in error.detail

    def test_stay_within_the_rules_of_their_field(self):
        assert "24 is out of range" in refusal("cron(0 20-24 * * ? *)").detail
        assert "a step of 25 is larger than the 24 values" in refusal("cron(0 20-2/25 * * ? *)").detail
        assert "no year has such a day" in refusal("cron(0 9 30-31 2 ? *)").detail
        assert instants("cron(0 9 30-1 2 ? *)", after=NEW_YEAR, count=2) == ["2026-02-01 09:00", "2027-02-01 09:00"]


class TestYears:
    def test_are_single_listed_ranged_or_stepped(self):
        def years(field):
            return [text[:4] for text in instants(f"cron(0 0 1 1 ? {field})", after="2025-06-01 00:00", count=3)]

        assert years("2027") == ["2027"]
        assert years("2026,2030") == ["2026", "2030"]
        assert years("2020-2027") == ["2026", "2027"]
        assert years("2024/4") == ["2028", "2032", "2036"]
        assert years("*/10") == ["2030", "2040", "2050"]
        assert years("*") == ["2026", "2027", "2028"]

    def test_are_followed_to_their_end_even_past_the_horizon_of_the_search(self):
        assert instants("cron(0 0 1 1 ? 2199)", after=NEW_YEAR) == ["2199-01-01 00:00"]
        assert instants("cron(59 23 31 12 ? *)", after="2199-01-01 00:00", count=2) == [
            "2199-12-31 23:59",
            "2200-12-31 23:59",
        ]
        assert instants("cron(0 0 ? 2 SUN#5 2150-2199)", "Europe/Berlin", after=NEW_YEAR, count=1) == [
            "2156-02-28 23:00"
        ]

    def test_that_are_over_leave_no_occurrence(self):
        assert instants("cron(0 0 1 1 ? 2020-2025)", after=NEW_YEAR) == []
        assert instants("cron(0 0 1 1 ? 1970)", after="1960-01-01 00:00") == ["1970-01-01 00:00"]
        assert instants("cron(0 0 1 1 ? 2199)", after="3000-01-01 00:00") == []

    @pytest.mark.parametrize(("field", "reason"), [("1969", "1969 is out of range"), ("2200", "2200 is out of range")])
    def test_go_from_1970_to_2199(self, field, reason):
        assert f"{reason}, year goes from 1970 to 2199" in refusal(f"cron(0 0 1 1 ? {field})").detail


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("cron(0 9 * * * *)", "needs ? in exactly one of its two day fields"),
        ("cron(0 9 1 * MON *)", "needs ? in exactly one of its two day fields"),
        ("cron(0 9 * * MON *)", "needs ? in exactly one of its two day fields"),
        ("cron(0 9 ? * ? *)", "needs ? in exactly one of its two day fields"),
        ("cron(0 9 ?,1 * ? *)", "? only as the whole of one day field"),
        ("cron(0 9 ? * ?/2 *)", "? only as the whole of one day field"),
        ("cron(0 9 * ? ? *)", "? stands only in the two day fields"),
        ("cron(? 9 1 * ? *)", "? stands only in the two day fields"),
        ("cron(0 9 ? * 0 *)", "0 is out of range, day of week goes from 1 to 7"),
        ("cron(0 9 ? * 8 *)", "8 is out of range"),
        ("cron(0 9 ? * MON#1,MON#3 *)", "takes # only alone"),
        ("cron(0 9 ? * 2/2 *)", "takes no steps there"),
        ("cron(0 9 ? * */2 *)", "takes no steps there"),
        ("cron(0 9 * * ?)", "cron(...) has 5 fields; it takes 6"),
        ("cron(0 0 9 * * ? *)", "cron(...) has 7 fields; it takes 6"),
        ("cron()", "cron(...) has 0 fields"),
        ("cron(0 9 30 2 ? *)", "no year has such a day"),
        ("cron(0 9 * * ? *", "the forms with brackets are cron(...), rate(...) and at(...)"),
        ("cron(0 9 * * ? *) x", "the forms with brackets"),
        ("crom(0 9 * * ? *)", "the forms with brackets"),
        ("cron (0 9 * * ? *)", "the forms with brackets"),
    ],
)
def test_eventbridge_syntax_errors_are_ours(expression, reason):
    assert reason in refusal(expression).detail


def test_skip_and_first_are_its_daylight_saving_rules():
    rules = {"dst_gap": "skip", "dst_fold": "first"}
    zone = "America/New_York"
    assert instants("cron(30 2 * * ? *)", zone, after="2026-03-08 00:00", count=1, **rules) == ["2026-03-09 06:30"]
    assert instants("cron(30 1 * * ? *)", zone, after="2026-11-01 00:00", count=2, **rules) == [
        *("2026-11-01 05:30", "2026-11-02 06:30")
    ]
