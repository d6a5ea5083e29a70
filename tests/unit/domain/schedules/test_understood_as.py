"""What comes back to the author: the canonical form and the words."""

import pytest

from tests.support.schedules import schedule

NEW_YORK = "America/New_York"


@pytest.mark.parametrize(
    ("expression", "canonical"),
    [
        ("0 9 * * MON", "0 9 * * 1"),
        ("00 09 * * 1", "0 9 * * 1"),
        ("0 0 9 * * 1", "0 9 * * 1"),
        ("30 0 9 * * 1", "30 0 9 * * 1"),
        ("0 9 ? * 7", "0 9 * * 0"),
        ("5,3,1,3 * * * *", "1,3,5 * * * *"),
        ("1,2,3 * * * *", "1-3 * * * *"),
        ("0/15 9 * * *", "0-45/15 9 * * *"),
        ("0,20,40 9 * * *", "0,20,40 9 * * *"),
        ("*/15 9 * * *", "*/15 9 * * *"),
        ("*/1 9 * * *", "* 9 * * *"),
        ("*,5 9 * * *", "* 9 * * *"),
        ("*/30,5 9 * * *", "*/30,5 9 * * *"),
        ("0-59 9 * * *", "0-59 9 * * *"),
        ("0 0 1-31 * *", "0 0 1-31 * *"),
        ("0 0 */2 * 1", "0 0 */2 * 1"),
        ("0 0 * JAN-MAR,dec FRI-SUN", "0 0 * 1-3,12 0,5,6"),
        ("0 0 L,1,LW,L-3 * *", "0 0 1,L,L-3,LW * *"),
        ("0 0 15w * *", "0 0 15W * *"),
        ("0 0 * * fril,MON#1,2", "0 0 * * 2,1#1,5L"),
        ("0 0 L * 1", "0 0 L * 1"),
        ("*/10 * * * * *", "*/10 * * * * *"),
        ("* 0 9 * * *", "* 0 9 * * *"),
        ("@weekly", "0 0 * * 0"),
        ("cron(00 9 ? * 2-6 *)", "cron(0 9 ? * MON-FRI *)"),
        ("cron(0/30 * ? jan L 2026-2026)", "cron(0,30 * ? 1 SAT 2026)"),
        ("cron(0 9 1,15,L * ? 2026/1)", "cron(0 9 1,15,L * ? 2026-2199)"),
        ("cron(0 9 ? * * *)", "cron(0 9 ? * * *)"),
    ],
)
def test_the_canonical_form_has_one_spelling_per_meaning(expression, canonical):
    assert schedule(expression).canonical == canonical
    assert schedule(canonical).canonical == canonical


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("0 9 * * 1", "at 09:00 on Monday"),
        ("0 9 * * *", "at 09:00 every day"),
        ("30 0 9 * * *", "at 09:00:30 every day"),
        ("0 9,17 * * 1-5", "at 09:00 and 17:00 on Monday to Friday"),
        ("0 9 * * 0,6", "at 09:00 on Saturday and Sunday"),
        ("* * * * *", "every minute"),
        ("*/5 * * * *", "every 5 minutes"),
        ("2-59/5 * * * *", "every 5 minutes from minute 2"),
        ("*/7 * * * *", "at minutes 0 to 56 in steps of 7 of every hour"),
        ("5,10 * * * *", "at minutes 5 and 10 of every hour"),
        ("* 9-17 * * *", "every minute from 09:00 to 17:59"),
        ("*/15 9-17 * * 1-5", "every 15 minutes from 09:00 to 17:59 on Monday to Friday"),
        ("*/15 1,5 * * *", "every 15 minutes in the hours 1 and 5"),
        ("0 * * * *", "every hour at minute 0"),
        ("30 0 * * * *", "every hour at minute 0, second 30"),
        ("0 */2 * * *", "every 2 hours from 00:00"),
        ("15 9-17 * * *", "every hour from 09:15 to 17:15"),
        ("0 1-5,9,11 * * *", "at minute 0 of the hours 1 to 5, 9 and 11"),
        ("* * * * * *", "every second"),
        ("*/10 * * * * *", "every 10 seconds"),
        ("30 * * * * *", "every minute at second 30"),
        ("* 0 * * * *", "every second of minute 0"),
        ("*/20 5,6 9-11 * * *", "every 20 seconds of minutes 5 and 6 from 09:00 to 11:59"),
        ("0 0 1 1 *", "at 00:00 on day 1 of the month in January"),
        ("0 0 1,15 * *", "at 00:00 on days 1 and 15 of the month"),
        ("0 0 13 * 5", "at 00:00 on day 13 of the month or on Friday"),
        ("0 0 */2 * 1", "at 00:00 on days 1 to 31 in steps of 2 of the month if it is Monday"),
        ("0 0 L * *", "at 00:00 on the last day of the month"),
        ("0 0 L-1,L-3 * *", "at 00:00 on the day before the last and 3 days before the last day of the month"),
        ("0 0 LW * *", "at 00:00 on the last day from Monday to Friday of the month"),
        ("0 0 15W * *", "at 00:00 on the day from Monday to Friday nearest to day 15 of the month"),
        ("0 0 * * MON#1,5L", "at 00:00 on the first Monday of the month and the last Friday of the month"),
        ("0 0 * 1-3,12 *", "at 00:00 every day in January to March and December"),
        ("* * * 6 *", "every minute in June"),
        ("cron(0 9 ? * 2 2026-2030)", "at 09:00 on Monday in 2026 to 2030"),
        ("at(2026-03-08T02:30:00)", "once at 2026-03-08 02:30:00"),
    ],
)
def test_the_words_say_what_was_understood_and_where(expression, words):
    assert schedule(expression, NEW_YORK).words == f"{words}, {NEW_YORK}"


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("2026-03-08T02:30+01:00", "once at 2026-03-08 01:30:00 UTC"),
        ("rate(1 minute)", "every minute, counted from 1970-01-01 00:00:00 UTC"),
        ("rate(90 minutes)", "every 90 minutes, counted from 1970-01-01 00:00:00 UTC"),
        ("R3/2026-01-01T00:00Z/PT1H", "3 times, every hour, counted from 2026-01-01 00:00:00 UTC"),
        ("R1/2026-01-01T00:00Z/PT1H", "once, counted from 2026-01-01 00:00:00 UTC"),
    ],
)
def test_elapsed_time_and_instants_need_no_zone(expression, words):
    assert schedule(expression, NEW_YORK, anchor=0).words == words
