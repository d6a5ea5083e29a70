"""What the fields of a crontab expression mean."""

import pytest

from tests.support.schedules import instants, refusal, schedule

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
def test_items_are_values_ranges_steps_and_lists(expression, expected):
    assert instants(expression, after=NEW_YEAR) == expected


def test_six_fields_have_the_seconds_first():
    assert instants("30 5 9 * * *", after=NEW_YEAR) == [f"2026-01-0{day} 09:05:30" for day in (1, 2, 3)]
    assert instants("*/25 * * * * *", after=NEW_YEAR, count=4) == [
        *("2026-01-01 00:00:25", "2026-01-01 00:00:50", "2026-01-01 00:01", "2026-01-01 00:01:25")
    ]


def test_many_seconds_of_few_minutes():
    assert instants("58-59 59 23 31 12 *", after=NEW_YEAR) == [
        *("2026-12-31 23:59:58", "2026-12-31 23:59:59", "2027-12-31 23:59:58")
    ]
    assert instants("* 0-58 3 * * *", after="2026-01-01 03:58:58", count=2) == [
        "2026-01-01 03:58:59",
        "2026-01-02 03:00",
    ]


@pytest.mark.parametrize("sunday", ["0", "7", "SUN", "sun", "7-7", "0,7", "SUN-SUN", "7-SUN", "*/7", "7/1"])
def test_sunday_is_0_and_7_and_sun(sunday):
    assert instants(f"0 0 * * {sunday}", after=NEW_YEAR, count=2) == ["2026-01-04 00:00", "2026-01-11 00:00"]


@pytest.mark.parametrize("weekend", ["FRI-SUN", "5-7", "fri-7", "5-sun", "5/1", "0,5-6"])
def test_a_range_of_weekdays_may_end_at_sunday(weekend):
    assert instants(f"0 0 * * {weekend}", after=NEW_YEAR, count=4) == [
        *("2026-01-02 00:00", "2026-01-03 00:00", "2026-01-04 00:00", "2026-01-09 00:00")
    ]


def test_every_way_to_say_every_weekday():
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
def test_the_aliases(alias, meaning):
    assert schedule(alias).canonical == meaning


def test_blanks_around_and_between_the_fields_do_not_matter():
    assert schedule("  0   9 * *\t1 ").canonical == "0 9 * * 1"


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("60 * * * *", 'minute "60": 60 is out of range, minute goes from 0 to 59'),
        ("* 24 * * *", 'hour "24": 24 is out of range'),
        ("* * 0 * *", 'day of month "0": 0 is out of range, day of month goes from 1 to 31'),
        ("* * 32 * *", 'day of month "32": 32 is out of range'),
        ("* * * 13 *", 'month "13": 13 is out of range'),
        ("* * * 0 *", 'month "0": 0 is out of range'),
        ("* * * * 8", 'day of week "8": 8 is out of range'),
        ("61 * * * * *", 'second "61": 61 is out of range'),
        ("5-60 * * * *", 'minute "5-60": 60 is out of range'),
        ("*/0 * * * *", 'minute "*/0": a step of 0 never moves'),
        ("1-5/0 * * * *", 'minute "1-5/0": a step of 0'),
        ("*/61 * * * *", 'minute "*/61": a step of 61 is larger than the 60 values of the minute'),
        ("0 */25 * * *", 'hour "*/25": a step of 25 is larger than the 24 values'),
        ("0 0 */32 * *", "a step of 32 is larger than the 31 values"),
        ("0 0 * */13 *", "a step of 13 is larger than the 12 values"),
        ("0 0 * * */8", "a step of 8 is larger than the 7 values"),
        ("0 0 * * 1-5/8", "a step of 8 is larger than the 7 values"),
        ("*/ * * * *", 'minute "*/": the step after / must be a whole number'),
        ("*/-5 * * * *", "the step after / must be a whole number"),
        ("*/5/5 * * * *", "the step after / must be a whole number"),
        ("*/x * * * *", "the step after / must be a whole number"),
        ("/5 * * * *", 'minute "/5": a value is missing'),
        ("22-2 * * * *", 'minute "22-2": the range runs backwards; write 22-59,0-2 for both parts'),
        ("0 22-6 * * *", "write 22-23,0-6 for both parts"),
        ("0 0 * NOV-FEB *", "the range runs backwards"),
        ("0 0 * * 5-1", "the range runs backwards"),
        ("0 0 * * 5-0", "the range runs backwards"),
        ("0 0 29-2 * *", "write 29-31,1-2 for both parts"),
        ("0 0 * * SAT-FRI", "the range runs backwards"),
        ("50-10 0 0 * * *", "write 50-59,0-10 for both parts"),
        ("0 0 * * FRI-MON", "the range runs backwards"),
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
        ("? * * * *", "? stands only in the two day fields"),
        ("0 0 * ? *", "? stands only in the two day fields"),
        ("H * * * *", "H (a hashed value) is not supported"),
        ("H/15 * * * *", "H (a hashed value) is not supported"),
        ("R * * * *", "R (a random value) is not supported"),
        ("MON * * * *", "not a number"),
        ("0 0 * MON *", "not a number or one of JAN, FEB"),
        ("0 0 * * MONDAY", "not a number or one of SUN, MON"),
        ("0 0 * * JAN", "not a number or one of SUN, MON"),
        ("@reboot", '"@REBOOT" is not known; there are @hourly'),
        ("@every 5m", "is not known"),
        ("@", "is not known"),
        ("* * * *", "has 4 fields; cron has 5"),
        ("*", "has 1 field; cron has 5"),
        ("* * * * * * *", "has 7 fields"),
        ("every day at nine", "has 4 fields; cron has 5"),
        ("tomorrow", "has 1 field; cron has 5"),
    ],
)
def test_what_is_not_understood_is_refused_with_field_and_reason(expression, reason):
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
def test_only_256_plain_characters_are_looked_at(expression, reason):
    assert reason in refusal(expression).detail


def test_an_expression_of_exactly_256_characters_is_read():
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
def test_a_zone_within_the_expression_is_shown_its_place(expression, zone):
    error = refusal(expression)
    assert error.field == "schedule"
    assert f'give the zone in timezone ("{zone}") and leave it out here' in error.detail


def test_a_long_piece_of_the_text_is_shortened_in_the_message():
    assert len(refusal("x" * 200 + " * * * *").detail) < 100
