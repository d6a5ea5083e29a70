"""Cron expressions: fields, days, and what EventBridge writes.

- What the fields of a crontab expression mean.
- The two day fields: L, W, #, and how the two go together.
- EventBridge's ``cron(min hour dom month dow year)``, as its documentation describes it.
"""

import pytest

from schedules.tests.support.schedules import instants, refusal, schedule

NEW_YEAR = "2026-01-01 00:00"  # a Thursday


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("5 * * * *", ["2026-01-01 00:05", "2026-01-01 01:05", "2026-01-01 02:05"]),
        ("* * * * *", ["2026-01-01 00:01", "2026-01-01 00:02", "2026-01-01 00:03"]),
        ("*/20 * * * *", ["2026-01-01 00:20", "2026-01-01 00:40", "2026-01-01 01:00"]),
        ("10-12 3 * * *", ["2026-01-01 03:10", "2026-01-01 03:11", "2026-01-01 03:12"]),
        ("0 8-20/6 * * *", ["2026-01-01 08:00", "2026-01-01 14:00", "2026-01-01 20:00"]),
        ("50/5 3 * * *", ["2026-01-01 03:50", "2026-01-01 03:55", "2026-01-02 03:50"]),
        ("5,1,3 0 1 1 *", ["2026-01-01 00:01", "2026-01-01 00:03", "2026-01-01 00:05"]),
        ("7-7 0 * * *", ["2026-01-01 00:07", "2026-01-02 00:07", "2026-01-03 00:07"]),
        ("*/60 4 * * *", ["2026-01-01 04:00", "2026-01-02 04:00", "2026-01-03 04:00"]),
        ("0 0 * feb,APR-Jun *", ["2026-02-01 00:00", "2026-02-02 00:00", "2026-02-03 00:00"]),
    ],
)
def test_cron_fields_accept_values_ranges_steps_and_lists(expression, expected):
    assert instants(expression, after=NEW_YEAR) == expected


def test_cron_expression_with_six_fields_starts_with_seconds():
    assert instants("30 5 9 * * *", after=NEW_YEAR) == [f"2026-01-0{day} 09:05:30" for day in (1, 2, 3)]
    assert instants("*/25 * * * * *", after=NEW_YEAR, count=4) == [
        *("2026-01-01 00:00:25", "2026-01-01 00:00:50", "2026-01-01 00:01", "2026-01-01 00:01:25")
    ]


def test_cron_expression_supports_many_seconds_in_few_minutes():
    assert instants("58-59 59 23 31 12 *", after=NEW_YEAR) == [
        *("2026-12-31 23:59:58", "2026-12-31 23:59:59", "2027-12-31 23:59:58")
    ]
    assert instants("* 0-58 3 * * *", after="2026-01-01 03:58:58", count=2) == [
        "2026-01-01 03:58:59",
        "2026-01-02 03:00",
    ]


@pytest.mark.parametrize("sunday", ["0", "7", "SUN", "sun", "7-7", "0,7", "SUN-SUN", "7-SUN", "*/7", "7/1"])
def test_cron_sunday_is_0_or_7_or_sun(sunday):
    assert instants(f"0 0 * * {sunday}", after=NEW_YEAR, count=2) == ["2026-01-04 00:00", "2026-01-11 00:00"]


@pytest.mark.parametrize("weekend", ["FRI-SUN", "5-7", "fri-7", "5-sun", "5/1", "0,5-6"])
def test_cron_weekday_range_may_end_on_sunday(weekend):
    assert instants(f"0 0 * * {weekend}", after=NEW_YEAR, count=4) == [
        *("2026-01-02 00:00", "2026-01-03 00:00", "2026-01-04 00:00", "2026-01-09 00:00")
    ]


def test_cron_all_notations_of_every_weekday_are_equivalent():
    for field in ("*", "?", "0-6", "0-7", "1-7", "MON-SUN", "SUN-SAT", "*/1"):
        assert schedule(f"0 0 * * {field}").words == "at 00:00 every day, UTC"


@pytest.mark.parametrize(
    ("alias", "meaning"),
    [
        ("@hourly", "0 * * * *"),
        ("@daily", "0 0 * * *"),
        ("@midnight", "0 0 * * *"),
        ("@weekly", "0 0 * * 0"),
        ("@monthly", "0 0 1 * *"),
        ("@yearly", "0 0 1 1 *"),
        ("@Annually", "0 0 1 1 *"),
    ],
)
def test_cron_aliases_have_their_documented_meaning(alias, meaning):
    assert schedule(alias).canonical == meaning


def test_cron_whitespace_around_and_between_fields_is_ignored():
    assert schedule("  0   9 * *\t1 ").canonical == "0 9 * * 1"


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("60 * * * *", 'minute "60": 60 is out of range; minute must be from 0 to 59'),
        ("* 24 * * *", 'hour "24": 24 is out of range'),
        ("* * 0 * *", 'day of month "0": 0 is out of range; day of month must be from 1 to 31'),
        ("* * 32 * *", 'day of month "32": 32 is out of range'),
        ("* * * 13 *", 'month "13": 13 is out of range'),
        ("* * * 0 *", 'month "0": 0 is out of range'),
        ("* * * * 8", 'day of week "8": 8 is out of range'),
        ("61 * * * * *", 'second "61": 61 is out of range'),
        ("5-60 * * * *", 'minute "5-60": 60 is out of range'),
        ("*/0 * * * *", 'minute "*/0": a step of 0 is not allowed'),
        ("1-5/0 * * * *", 'minute "1-5/0": a step of 0'),
        ("*/61 * * * *", 'minute "*/61": a step of 61 is too large; the minute has only 60 values'),
        ("0 */25 * * *", 'hour "*/25": a step of 25 is too large; the hour has only 24 values'),
        ("0 0 */32 * *", "a step of 32 is too large; the day of month has only 31 values"),
        ("0 0 * */13 *", "a step of 13 is too large; the month has only 12 values"),
        ("0 0 * * */8", "a step of 8 is too large; the day of week has only 7 values"),
        ("0 0 * * 1-5/8", "a step of 8 is too large; the day of week has only 7 values"),
        ("*/ * * * *", 'minute "*/": the step after / must be a whole number'),
        ("*/-5 * * * *", "the step after / must be a whole number"),
        ("*/5/5 * * * *", "the step after / must be a whole number"),
        ("*/x * * * *", "the step after / must be a whole number"),
        ("/5 * * * *", 'minute "/5": a value is missing'),
        ("22-2 * * * *", 'minute "22-2": the range ends before it begins; write 22-59,0-2 for both parts'),
        ("0 22-6 * * *", "write 22-23,0-6 for both parts"),
        ("0 0 * NOV-FEB *", "the range ends before it begins"),
        ("0 0 * * 5-1", "the range ends before it begins"),
        ("0 0 * * 5-0", "the range ends before it begins"),
        ("0 0 29-2 * *", "write 29-31,1-2 for both parts"),
        ("0 0 * * SAT-FRI", "the range ends before it begins"),
        ("50-10 0 0 * * *", "write 50-59,0-10 for both parts"),
        ("0 0 * * FRI-MON", "the range ends before it begins"),
        ("1,,2 * * * *", 'minute "": a value is missing'),
        (", * * * *", "a value is missing"),
        ("1, * * * *", "a value is missing"),
        ("-5 * * * *", 'minute "-5": a value is missing'),
        ("5- * * * *", 'minute "5-": a value is missing'),
        ("1-2-3 * * * *", "not a number"),
        ("** * * * *", "not a number, range, list or step"),
        ("*-5 * * * *", 'minute "*-5": not a number'),
        ("5* * * * *", "not a number"),
        ("1.5 * * * *", "not a number"),
        ("+5 * * * *", "not a number"),
        ("0x5 * * * *", "not a number"),
        ("1_0 * * * *", "not a number"),
        ("00005 * * * *", "not a number"),
        ("? * * * *", "? is allowed only in the two day fields"),
        ("0 0 * ? *", "? is allowed only in the two day fields"),
        ("H * * * *", "H (a hashed value) is not supported"),
        ("H/15 * * * *", "H (a hashed value) is not supported"),
        ("R * * * *", "R (a random value) is not supported"),
        ("MON * * * *", "not a number"),
        ("0 0 * MON *", "not a number or one of JAN, FEB"),
        ("0 0 * * MONDAY", "not a number or one of SUN, MON"),
        ("0 0 * * JAN", "not a number or one of SUN, MON"),
        ("@reboot", '"@reboot" is not known; write one of @hourly'),
        ("@every 5m", "is not known"),
        ("@", "is not known"),
        ("* * * *", "has 4 fields; cron has 5"),
        ("*", "has 1 field; cron has 5"),
        ("* * * * * * * *", "has 8 fields"),
        ("0 0 9 * * * 1969", 'year "1969": 1969 is out of range; year must be from 1970 to 2199'),
        ("0 0 9 * * * 2027-2026", "write the earlier year first"),
        ("0 9 W#0 * *", 'day of month "W#0": write W#1 to W#23 for a working day of the month'),
        ("0 9 W#24 * *", "write W#1 to W#23"),
        ("0 9 W#x * *", "write W#1 to W#23"),
        ("0 9 W# * *", "write W#1 to W#23"),
        ("0 9 W#--1 * *", "write W#1 to W#23"),
        ("0 9 L-31W * *", "L-n accepts at most 30 days"),
        ("0 9 L3W * *", "write L for the last day, L-3 for the third day before it, LW, L-3W, or 15W"),
        ("0 9 13 * +", 'day of week "": a value is missing'),
        ("0 9 13 * FRI,+MON", "not a number or one of SUN, MON"),
        ("0 9 +13 * FRI", "not a number"),
        ("every day at nine", "has 4 fields; cron has 5"),
        ("tomorrow", "has 1 field; cron has 5"),
    ],
)
def test_cron_invalid_expression_is_rejected_with_field_and_reason(expression, reason):
    error = refusal(expression)
    assert error.field == "schedule"
    assert reason in error.detail


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("   ", "is empty"),
        ("0 9 * * *\n", "line break"),
        ("0 9 * * *\r\n0 10 * * *", "line break"),
        ("0\x009 * * *", "control character"),
        ("0\x1c9\x1c*\x1c*\x1c*", "control character"),
        ("0\x0b9 * * *", "control character"),
        ("0\x7f9 * * *", "control character"),
        ("0 \u0669 * * *", "outside ASCII"),  # an Arabic nine
        ("0 \uff19 * * *", "outside ASCII"),  # a full-width nine
        ("0 \u00b2 * * *", "outside ASCII"),  # a superscript two
        ("0\u00a09\u00a0*\u00a0*\u00a0*", "outside ASCII"),
        ("0 9 * * mon\u2013fri", "outside ASCII"),
        ("*/5 * * * *" + " " * 300, "311 characters long; at most 256"),
        (",".join(["1"] * 200) + " * * * *", "at most 256"),
    ],
)
def test_cron_expression_is_limited_to_256_plain_characters(expression, reason):
    assert reason in refusal(expression).detail


def test_cron_expression_of_exactly_256_characters_is_accepted():
    assert schedule(f"{'5,' * 123}6 * * * *".ljust(256)).canonical == "5,6 * * * *"


@pytest.mark.parametrize(
    ("expression", "zone"),
    [
        ("CRON_TZ=Europe/Berlin 0 9 * * *", "Europe/Berlin"),
        ("TZ=America/New_York 30 2 * * *", "America/New_York"),
        ("cron_tz=UTC @daily", "UTC"),
        ("CRON_TZ=Asia/Kolkata", "Asia/Kolkata"),
    ],
)
def test_cron_zone_within_the_expression_is_rejected_with_a_pointer_to_the_timezone_field(expression, zone):
    error = refusal(expression)
    assert error.field == "schedule"
    assert f'write the zone in the field timezone ("{zone}") and remove it here' in error.detail


def test_cron_error_message_truncates_a_long_piece_of_the_expression():
    assert len(refusal("x" * 200 + " * * * *").detail) < 100


def dates(expression, after="2026-01-01 00:00", count=4, **more):
    return [text.split()[0] for text in instants(expression, after=after, count=count, **more)]


@pytest.mark.parametrize("both", ["0 9 13 * *", "0 9 13 * ?"])
def test_cron_single_day_of_the_month_matches_that_day(both):
    assert dates(both) == ["2026-01-13", "2026-02-13", "2026-03-13", "2026-04-13"]


def test_cron_two_plain_day_fields_match_when_either_matches():
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
def test_cron_day_fields_must_both_match_when_one_starts_with_a_star(expression, expected):
    assert dates(expression) == expected


def test_cron_last_day_of_the_month_is_supported():
    assert dates("0 9 L * *", count=3) == ["2026-01-31", "2026-02-28", "2026-03-31"]
    assert dates("0 9 L 2 *", count=3) == ["2026-02-28", "2027-02-28", "2028-02-29"]


def test_cron_days_before_the_last_day_are_supported():
    assert dates("0 9 L-1 * *", count=3) == ["2026-01-30", "2026-02-27", "2026-03-30"]
    assert dates("0 9 l-30 * *") == ["2026-01-01", "2026-03-01", "2026-05-01", "2026-07-01"]
    assert dates("0 9 L-0 * *", count=2) == ["2026-01-31", "2026-02-28"]


def test_cron_last_working_day_of_the_month_is_supported():
    # January 2026 ends on a Saturday, February on a Saturday, March on a Tuesday, May on a Sunday.
    assert dates("0 9 LW * *", count=5) == ["2026-01-30", "2026-02-27", "2026-03-31", "2026-04-30", "2026-05-29"]


def test_cron_l_and_lw_are_allowed_in_lists():
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
def test_cron_weekday_nearest_to_a_day_is_supported(expression, expected):
    assert dates(expression, count=3) == expected


def test_cron_nearest_weekdays_are_allowed_in_lists():
    assert dates("0 9 1W,15W 8 *", count=3) == ["2026-08-03", "2026-08-14", "2027-08-02"]
    assert dates("0 9 1,LW,15W 8 *") == ["2026-08-01", "2026-08-14", "2026-08-31", "2027-08-01"]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        # As in Quartz: the day is counted from the end first, then moved to the nearest weekday of the month.
        ("0 9 L-2W * *", ["2026-01-29", "2026-02-26", "2026-03-30", "2026-04-28"]),
        (
            "0 9 L-1W 1 *",
            ["2026-01-30", "2027-01-29", "2028-01-31", "2029-01-30"],
        ),  # a Friday, Saturday, Sunday, Tuesday
        ("0 9 L-30W 8 *", ["2026-08-03", "2027-08-02", "2028-08-01", "2029-08-01"]),  # Saturday the 1st stays in August
        ("0 9 L-0W * *", ["2026-01-30", "2026-02-27", "2026-03-31", "2026-04-30"]),
    ],
)
def test_cron_weekday_nearest_to_a_day_before_the_last_is_supported(expression, expected):
    assert dates(expression) == expected


def test_cron_nth_working_day_of_the_month_is_supported():
    assert dates("0 9 W#1 * *") == ["2026-01-01", "2026-02-02", "2026-03-02", "2026-04-01"]
    assert dates("0 9 W#3,W#-2 * *") == ["2026-01-05", "2026-01-29", "2026-02-04", "2026-02-26"]
    assert dates("0 9 W#-1 * *") == dates("0 9 LW * *")
    assert dates("0 9 W#23 * *", count=2) == ["2026-07-31", "2026-12-31"]  # the months with as many


def test_cron_both_day_fields_must_match_after_a_plus():
    assert dates("0 9 13 * +FRI") == ["2026-02-13", "2026-03-13", "2026-11-13", "2027-08-13"]
    assert dates("0 9 1-7 * +MON") == dates("0 9 * * MON#1")
    assert dates("0 9 L * +1-5", count=3) == ["2026-03-31", "2026-04-30", "2026-06-30"]
    assert "no year contains this day" in refusal("0 9 1-7 * +MON#3").detail


def test_cron_expression_with_seven_fields_ends_with_years():
    assert instants("30 0 9 24 12 * 2026-2027", after=NEW_YEAR) == ["2026-12-24 09:00:30", "2027-12-24 09:00:30"]
    assert instants("0 0 9 1 1 * *", after=NEW_YEAR, count=2) == ["2026-01-01 09:00", "2027-01-01 09:00"]
    assert "no year contains this day" in refusal("0 0 9 29 2 * 2026-2027").detail


def test_cron_nth_weekday_of_the_month_is_supported():
    assert dates("0 9 * * MON#1") == ["2026-01-05", "2026-02-02", "2026-03-02", "2026-04-06"]
    assert dates("0 9 * * 7#5") == ["2026-03-29", "2026-05-31", "2026-08-30", "2026-11-29"]
    assert dates("0 9 * * mon#1,3#3") == ["2026-01-05", "2026-01-21", "2026-02-02", "2026-02-18"]


def test_cron_last_given_weekday_of_the_month_is_supported():
    assert dates("0 9 * * 5L") == ["2026-01-30", "2026-02-27", "2026-03-27", "2026-04-24"]
    assert dates("0 9 * * sunl") == dates("0 9 * * 0L") == dates("0 9 * * 7L")
    assert dates("0 9 * * FRIL,MON#1") == ["2026-01-05", "2026-01-30", "2026-02-02", "2026-02-27"]


def test_cron_day_of_the_month_and_nth_weekday_match_when_either_matches():
    assert dates("0 9 1 * MON#1") == ["2026-01-01", "2026-01-05", "2026-02-01", "2026-02-02"]


def test_cron_february_29_occurs_in_leap_years_and_less_often_with_a_weekday():
    assert dates("0 0 29 2 *", count=3) == ["2028-02-29", "2032-02-29", "2036-02-29"]
    assert dates("0 0 29 2 *", after="2096-03-01 00:00", count=1) == ["2104-02-29"]
    # Both fields must match: */7 begins with a star. After 2088 no February 29 is a Sunday for 40 years.
    assert dates("0 0 29 2 */7", after="2088-03-01 00:00", count=1) == ["2128-02-29"]


@pytest.mark.parametrize("expression", ["0 9 31 * *", "0 9 31 */2 *", "0 9 28-31 2 *", "0 9 31 2,3 *"])
def test_cron_days_missing_in_some_months_are_skipped_there(expression):
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
def test_cron_days_that_exist_in_no_year_are_rejected(expression):
    error = refusal(expression)
    assert error.field == "schedule"
    assert "no year contains this day: day of month" in error.detail


def test_cron_impossible_date_with_a_weekday_matches_the_weekday():
    assert dates("0 0 30 2 1", count=2, after="2026-01-31 00:00") == ["2026-02-02", "2026-02-09"]


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("cron(0 0 15W,20 * ? *)", "cron(...) accepts nW only as a single value"),
        ("cron(0 0 1,15W * ? *)", "cron(...) accepts nW only as a single value"),
        ("cron(0 0 W#3 * ? *)", "not a number"),
        ("cron(0 0 ? * +FRI *)", "not a number"),
        ("0 0 W * *", "write 15W"),
        ("0 0 WL * *", "not a number, range, list or step"),
        ("0 0 32W * *", "32 is out of range"),
        ("0 0 0W * *", "0 is out of range"),
        ("0 0 1-5W * *", "write 15W"),
        ("0 0 L-31 * *", "L-n accepts at most 30 days before the last day"),
        ("0 0 L- * *", "write L for the last day"),
        ("0 0 L-x * *", "write L for the last day"),
        ("0 0 L3 * *", "write L for the last day"),
        ("0 0 1-L * *", "not a number"),
        ("0 0 5L * *", "not a number"),
        ("0 0 * * L", "L needs a weekday, such as 5L"),
        ("0 0 * * 8L", "8 is out of range"),
        ("0 0 * * LW", "not a number"),
        ("0 0 * * MON#0", "# needs a number from 1 to 5"),
        ("0 0 * * MON#6", "# needs a number from 1 to 5"),
        ("0 0 * * MON#", "# needs a number from 1 to 5"),
        ("0 0 * * #1", "a value is missing"),
        ("0 0 * * 1#1#1", "# needs a number from 1 to 5"),
        ("0 0 * * MON-FRI#1", "not a number"),
        ("0 0 * * *#1", "not a number"),
        ("0 0 1#1 * *", "not a number"),
        ("L * * * *", "not a number"),
    ],
)
def test_cron_misplaced_letters_are_rejected(expression, reason):
    assert reason in refusal(expression).detail


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
def test_cron_eventbridge_expressions_are_accepted_in_their_documented_forms(expression, expected):
    assert instants(expression, after=NEW_YEAR, count=2) == expected


def test_cron_eventbridge_expression_uses_only_one_of_its_day_fields():
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
    def test_cron_backward_ranges_continue_at_the_beginning(self, expression, the_same_as):
        assert instants(expression, after=NEW_YEAR, count=60) == instants(the_same_as, after=NEW_YEAR, count=60)
        assert schedule(expression).canonical == schedule(the_same_as).canonical

    def test_cron_backward_ranges_of_hours_apply_to_the_named_days_not_nights(self):
        # MON-FRI: Friday's night ends at midnight, and the early hours of Monday belong to Monday.
        assert instants("cron(0 23-1 ? * MON-FRI *)", after="2026-01-02 12:00", count=3) == [
            *("2026-01-02 23:00", "2026-01-05 00:00", "2026-01-05 01:00")
        ]

    def test_cron_backward_ranges_are_expanded_in_words_and_canonical_form(self):
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
    def test_cron_backward_ranges_of_years_are_rejected(self, years):
        error = refusal(f"cron(0 9 1 1 ? {years})")
        assert error.field == "schedule"
        assert "the range ends before it begins; write the earlier year first" in error.detail

    def test_cron_backward_ranges_follow_the_rules_of_their_field(self):
        assert "24 is out of range" in refusal("cron(0 20-24 * * ? *)").detail
        assert "a step of 25 is too large; the hour has only 24 values" in refusal("cron(0 20-2/25 * * ? *)").detail
        assert "no year contains this day" in refusal("cron(0 9 30-31 2 ? *)").detail
        assert instants("cron(0 9 30-1 2 ? *)", after=NEW_YEAR, count=2) == ["2026-02-01 09:00", "2027-02-01 09:00"]


class TestYears:
    def test_cron_years_may_be_single_listed_ranged_or_stepped(self):
        def years(field):
            return [text[:4] for text in instants(f"cron(0 0 1 1 ? {field})", after="2025-06-01 00:00", count=3)]

        assert years("2027") == ["2027"]
        assert years("2026,2030") == ["2026", "2030"]
        assert years("2020-2027") == ["2026", "2027"]
        assert years("2024/4") == ["2028", "2032", "2036"]
        assert years("*/10") == ["2030", "2040", "2050"]
        assert years("*") == ["2026", "2027", "2028"]

    def test_cron_years_are_searched_to_their_end_even_beyond_the_search_horizon(self):
        assert instants("cron(0 0 1 1 ? 2199)", after=NEW_YEAR) == ["2199-01-01 00:00"]
        assert instants("cron(59 23 31 12 ? *)", after="2199-01-01 00:00", count=2) == [
            "2199-12-31 23:59",
            "2200-12-31 23:59",
        ]
        assert instants("cron(0 0 ? 2 SUN#5 2150-2199)", "Europe/Berlin", after=NEW_YEAR, count=1) == [
            "2156-02-28 23:00"
        ]

    def test_cron_years_in_the_past_give_no_occurrence(self):
        assert instants("cron(0 0 1 1 ? 2020-2025)", after=NEW_YEAR) == []
        assert instants("cron(0 0 1 1 ? 1970)", after="1960-01-01 00:00") == ["1970-01-01 00:00"]
        assert instants("cron(0 0 1 1 ? 2199)", after="3000-01-01 00:00") == []

    @pytest.mark.parametrize(("field", "reason"), [("1969", "1969 is out of range"), ("2200", "2200 is out of range")])
    def test_cron_years_range_from_1970_to_2199(self, field, reason):
        assert f"{reason}; year must be from 1970 to 2199" in refusal(f"cron(0 0 1 1 ? {field})").detail


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("cron(0 9 * * * *)", "needs ? in exactly one of its two day fields"),
        ("cron(0 9 1 * MON *)", "needs ? in exactly one of its two day fields"),
        ("cron(0 9 * * MON *)", "needs ? in exactly one of its two day fields"),
        ("cron(0 9 ? * ? *)", "needs ? in exactly one of its two day fields"),
        ("cron(0 9 ?,1 * ? *)", "? only as a complete day field"),
        ("cron(0 9 ? * ?/2 *)", "? only as a complete day field"),
        ("cron(0 9 * ? ? *)", "? is allowed only in the two day fields"),
        ("cron(? 9 1 * ? *)", "? is allowed only in the two day fields"),
        ("cron(0 9 ? * 0 *)", "0 is out of range; day of week must be from 1 to 7"),
        ("cron(0 9 ? * 8 *)", "8 is out of range"),
        ("cron(0 9 ? * MON#1,MON#3 *)", "accepts # only as a single value"),
        ("cron(0 9 ? * 2/2 *)", "does not accept steps"),
        ("cron(0 9 ? * */2 *)", "does not accept steps"),
        ("cron(0 9 * * ?)", "cron(...) has 5 fields; it needs 6"),
        ("cron(0 0 9 * * ? *)", "cron(...) has 7 fields; it needs 6"),
        ("cron()", "cron(...) has 0 fields"),
        ("cron(0 9 30 2 ? *)", "no year contains this day"),
        ("cron(0 9 * * ? *", "the forms with brackets are cron(...), rate(...) and at(...)"),
        ("cron(0 9 * * ? *) x", "the forms with brackets"),
        ("crom(0 9 * * ? *)", "the forms with brackets"),
        ("cron (0 9 * * ? *)", "the forms with brackets"),
    ],
)
def test_cron_eventbridge_syntax_errors_are_rejected_with_reason(expression, reason):
    assert reason in refusal(expression).detail


def test_cron_eventbridge_expression_uses_skip_and_first_at_dst_changes():
    rules = {"dst_gap": "skip", "dst_fold": "first"}
    zone = "America/New_York"
    assert instants("cron(30 2 * * ? *)", zone, after="2026-03-08 00:00", count=1, **rules) == ["2026-03-09 06:30"]
    assert instants("cron(30 1 * * ? *)", zone, after="2026-11-01 00:00", count=2, **rules) == [
        *("2026-11-01 05:30", "2026-11-02 06:30")
    ]
