"""The two day fields: L, W, #, and how the two go together."""

import pytest

from tests.support.schedules import instants, refusal


def dates(expression, after="2026-01-01 00:00", count=4, **more):
    return [text.split()[0] for text in instants(expression, after=after, count=count, **more)]


@pytest.mark.parametrize("both", ["0 9 13 * *", "0 9 13 * ?"])
def test_a_lone_day_of_the_month(both):
    assert dates(both) == ["2026-01-13", "2026-02-13", "2026-03-13", "2026-04-13"]


def test_two_plain_day_fields_match_when_either_does():
    assert dates("0 9 13 * 5") == ["2026-01-02", "2026-01-09", "2026-01-13", "2026-01-16"]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        # */2 begins with a star: odd days that are Mondays, not odd days and Mondays.
        ("0 9 */2 * 1", ["2026-01-05", "2026-01-19", "2026-02-09", "2026-02-23"]),
        ("0 9 1-7 * */7", ["2026-01-04", "2026-02-01", "2026-03-01", "2026-04-05"]),
        ("0 9 ?/2 * 1", ["2026-01-05", "2026-01-19", "2026-02-09", "2026-02-23"]),
        ("0 9 *,13 * 5", ["2026-01-02", "2026-01-09", "2026-01-16", "2026-01-23"]),
        # 13,* does not begin with a star: either field, and * names every day.
        ("0 9 13,* * 5", ["2026-01-01", "2026-01-02", "2026-01-03", "2026-01-04"]),
        ("0 9 13 * *,5", ["2026-01-13", "2026-02-13", "2026-03-13", "2026-04-13"]),
    ],
)
def test_both_must_match_when_one_begins_with_a_star(expression, expected):
    assert dates(expression) == expected


def test_the_last_day_of_the_month():
    assert dates("0 9 L * *", count=3) == ["2026-01-31", "2026-02-28", "2026-03-31"]
    assert dates("0 9 L 2 *", count=3) == ["2026-02-28", "2027-02-28", "2028-02-29"]


def test_days_before_the_last():
    assert dates("0 9 L-1 * *", count=3) == ["2026-01-30", "2026-02-27", "2026-03-30"]
    assert dates("0 9 l-30 * *") == ["2026-01-01", "2026-03-01", "2026-05-01", "2026-07-01"]
    assert dates("0 9 L-0 * *", count=2) == ["2026-01-31", "2026-02-28"]


def test_the_last_weekday_of_the_month():
    # January 2026 ends on a Saturday, February on a Saturday, March on a Tuesday, May on a Sunday.
    assert dates("0 9 LW * *", count=5) == ["2026-01-30", "2026-02-27", "2026-03-31", "2026-04-30", "2026-05-29"]


def test_l_and_lw_stand_in_lists():
    assert dates("0 9 1,15,L * *", after="2026-01-02 00:00") == ["2026-01-15", "2026-01-31", "2026-02-01", "2026-02-15"]
    assert dates("0 9 LW,L-2,5 * *") == ["2026-01-05", "2026-01-29", "2026-01-30", "2026-02-05"]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("0 9 15W 2 *", ["2026-02-16", "2027-02-15", "2028-02-15"]),  # a Sunday, a Monday, a Tuesday
        ("0 9 14W 2 *", ["2026-02-13", "2027-02-15", "2028-02-14"]),  # a Saturday, a Sunday, a Monday
        ("0 9 1W 8 *", ["2026-08-03", "2027-08-02", "2028-08-01"]),  # Saturday the 1st stays in August
        ("0 9 31W 5 *", ["2026-05-29", "2027-05-31", "2028-05-31"]),  # Sunday the 31st stays in May
        ("0 9 30w * *", ["2026-01-30", "2026-03-30", "2026-04-30"]),  # February has no 30th
        ("0 9 31W * *", ["2026-01-30", "2026-03-31", "2026-05-29"]),
    ],
)
def test_the_weekday_nearest_to_a_day(expression, expected):
    assert dates(expression, count=3) == expected


def test_the_nth_weekday_of_the_month():
    assert dates("0 9 * * MON#1") == ["2026-01-05", "2026-02-02", "2026-03-02", "2026-04-06"]
    assert dates("0 9 * * 7#5") == ["2026-03-29", "2026-05-31", "2026-08-30", "2026-11-29"]
    assert dates("0 9 * * mon#1,3#3") == ["2026-01-05", "2026-01-21", "2026-02-02", "2026-02-18"]


def test_the_last_of_a_weekday():
    assert dates("0 9 * * 5L") == ["2026-01-30", "2026-02-27", "2026-03-27", "2026-04-24"]
    assert dates("0 9 * * sunl") == dates("0 9 * * 0L") == dates("0 9 * * 7L")
    assert dates("0 9 * * FRIL,MON#1") == ["2026-01-05", "2026-01-30", "2026-02-02", "2026-02-27"]


def test_a_day_of_the_month_beside_an_nth_weekday_matches_when_either_does():
    assert dates("0 9 1 * MON#1") == ["2026-01-01", "2026-01-05", "2026-02-01", "2026-02-02"]


def test_february_29_waits_for_a_leap_year_and_a_weekday_for_longer():
    assert dates("0 0 29 2 *", count=3) == ["2028-02-29", "2032-02-29", "2036-02-29"]
    assert dates("0 0 29 2 *", after="2096-03-01 00:00", count=1) == ["2104-02-29"]
    # Both fields must match: */7 begins with a star. After 2088 no February 29 is a Sunday for 40 years.
    assert dates("0 0 29 2 */7", after="2088-03-01 00:00", count=1) == ["2128-02-29"]


@pytest.mark.parametrize("expression", ["0 9 31 * *", "0 9 31 */2 *", "0 9 28-31 2 *", "0 9 31 2,3 *"])
def test_days_that_some_months_lack_are_skipped_there(expression):
    assert len(dates(expression)) == 4


@pytest.mark.parametrize(
    "expression",
    [
        *(
            "0 0 30 2 *",
            "0 0 31 2 *",
            "0 0 31 4,6,9,11 *",
            "0 0 30-31 2 ?",
            "0 0 30 2 */2",
            "0 0 31W 4 *",
            "0 0 L-29 2 *",
        ),
        "cron(0 0 29 2 ? 2025-2027)",
        "cron(0 0 29 2 ? 2100)",
        "cron(0 0 ? 2 SUN#5 2026)",
    ],
)
def test_days_that_no_year_has_are_refused(expression):
    error = refusal(expression)
    assert error.field == "schedule"
    assert "no year has such a day: day of month" in error.detail


def test_an_impossible_date_beside_a_weekday_leaves_the_weekday():
    assert dates("0 0 30 2 1", count=2, after="2026-01-31 00:00") == ["2026-02-02", "2026-02-09"]


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("0 0 15W,20 * *", "nW stands alone"),
        ("0 0 1,15W * *", "nW stands alone"),
        ("0 0 W * *", "write 15W"),
        ("0 0 WL * *", "not a number, range, list or step"),
        ("0 0 32W * *", "32 is out of range"),
        ("0 0 0W * *", "0 is out of range"),
        ("0 0 1-5W * *", "write 15W"),
        ("0 0 L-31 * *", "no month has more than 30 days before its last"),
        ("0 0 L- * *", "write L for the last day"),
        ("0 0 L-x * *", "write L for the last day"),
        ("0 0 L3 * *", "write L for the last day"),
        ("0 0 L-3W * *", "write L for the last day"),
        ("0 0 1-L * *", "not a number"),
        ("0 0 5L * *", "not a number"),
        ("0 0 * * L", "say which weekday, as in 5L"),
        ("0 0 * * 8L", "8 is out of range"),
        ("0 0 * * LW", "not a number"),
        ("0 0 * * MON#0", "after # comes 1 to 5"),
        ("0 0 * * MON#6", "after # comes 1 to 5"),
        ("0 0 * * MON#", "after # comes 1 to 5"),
        ("0 0 * * #1", "a value is missing"),
        ("0 0 * * 1#1#1", "after # comes 1 to 5"),
        ("0 0 * * MON-FRI#1", "not a number"),
        ("0 0 * * *#1", "not a number"),
        ("0 0 1#1 * *", "not a number"),
        ("L * * * *", "not a number"),
    ],
)
def test_letters_in_the_wrong_place_are_refused(expression, reason):
    assert reason in refusal(expression).detail
