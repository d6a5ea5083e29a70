"""What an expression is understood as, and expressions that are meant to do harm.

- What comes back to the author: the canonical form and the words.
- No expression may keep a function busy: 5 ms at most for an answer or an error.
  Work is counted in lines of Python (tests/support/steps.py); at 0.05 to 0.1 microseconds a line, 40,000 stay below 5
  ms.
"""

import pytest

from duecourse_schedules import ScheduleError, ScheduleSpec, compile_schedule, load_zone
from duecourse_schedules.preview import preview
from duecourse_schedules.schedule import forget, read_instant
from schedules.tests.support.schedules import schedule, utc
from tests.support.steps import steps

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
        ("0 0 15w,w#-1,w#3,1W,l-3w,LW * *", "0 0 LW,L-3W,1W,15W,W#3,W#-1 * *"),
        ("0 0 13 * +fri", "0 0 13 * +5"),
        ("0 0 * * +fri", "0 0 * * 5"),
        ("0 0 13 * +*", "0 0 13 * *"),
        ("0 0 9 * * * 2026,2027", "0 0 9 * * * 2026,2027"),
        ("30 0 9 * * * *", "30 0 9 * * *"),
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
def test_schedule_parsing_gives_one_canonical_form_per_meaning(expression, canonical):
    assert schedule(expression).canonical == canonical
    assert schedule(canonical).canonical == canonical


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("0 9 * * 1", "at 09:00 on Monday"),
        ("0 9 * * *", "at 09:00 every day"),
        ("30 0 9 * * *", "at 09:00:30 every day"),
        ("0 9 13 * +FRI", "at 09:00 on day 13 of the month if it is Friday"),
        (
            "0 9 L-3W,1W,15W * *",
            (
                "at 09:00 on the day from Monday to Friday nearest to 3 days before the last day, the day from Monday "
                "to Friday nearest to day 1 and the day from Monday to Friday nearest to day 15 of the month"
            ),
        ),
        ("0 9 W#3,W#-2 * *", "at 09:00 on working day 3 and working day 2 from the end of the month"),
        ("30 0 9 24 12 * 2027", "at 09:00:30 on day 24 of the month in December in 2027"),
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
def test_schedule_parsing_describes_the_meaning_and_the_zone_in_words(expression, words):
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
def test_schedule_parsing_describes_elapsed_time_and_instants_without_a_zone(expression, words):
    assert schedule(expression, NEW_YORK, anchor=0).words == words


LIMIT = 40_000

RARE = [
    "30 2 * 3 SUN#2",  # with skip: in New York always in a gap
    "*/5 2 * 3 SUN#2",
    "0 0 29 2 */7",
    "0 0 29 2 5#5",
    "0 0 L-28 2 *",
    "59 59 23 31 12 *",
    "* * * * * *",
    "0-59 0-59 0-23 * * *",
    "cron(30 2 ? 3 SUN#2 1970-2199)",
    "cron(0 0 1 1 ? 2199)",
    "cron(0 0 29 2 ? 2196)",
    "cron(0/1 0/1 ? * SUN#5 2199)",
    "cron(0 0 ? 2 5#5 2000/100)",
    "cron(59-58 23-22 31-30 12-11 ? *)",
    "cron(59-1 23-1 29-29 2-2 ? 2196)",
    "at(2026-03-08T02:30:00)",
    "rate(1 second)",
]
ASKED = [
    "0001-01-01 00:00",
    "1883-11-18 00:00",
    "2026-01-01 00:00",
    "2200-01-01 00:00",
    "2499-12-31 23:00",
    "9999-12-30 00:00",
]


def fresh(expression, timezone=NEW_YORK, **more):
    forget()
    try:
        return compile_schedule(ScheduleSpec(expression, timezone, anchor=0, **more))
    except ScheduleError:
        return None


@pytest.mark.parametrize("after", ASKED)
@pytest.mark.parametrize("expression", RARE)
def test_schedule_parsing_searches_the_rarest_times_within_the_step_limit(expression, after):
    for zone in ("UTC", NEW_YORK, "Asia/Gaza", "Pacific/Apia"):
        for rules in ({}, {"dst_gap": "skip"}, {"dst_fold": "second"}, {"dst_gap": "skip", "dst_fold": "both"}):
            schedule = fresh(expression, zone, **rules)  # the zone, too, is asked for the first time
            if schedule is None:
                assert expression.startswith("cron(0 0 ? 2 5#5")
            else:
                assert steps(lambda schedule=schedule: schedule.next(utc(after))) < LIMIT


def test_schedule_parsing_first_use_of_a_zone_for_the_far_future_stays_within_the_step_limit():
    load_zone.cache_clear()
    zone = load_zone("Europe/Sofia")
    assert steps(lambda: zone.offset(utc("2499-06-01 00:00"))) < LIMIT


@pytest.mark.parametrize(
    "expression",
    [
        "0 0 30 2 *",
        "0 0 31 2,4,6,9,11 */2",
        "cron(0 0 30 2 ? 1970-2199)",
        "cron(0 0 ? 2 SUN#5,MON#5 1970-2199)",
        "cron(0 0 29 2 ? 2100)",
        "9" * 256,
        "9" * 100_000,
        "*" * 256,
        "*," * 128,
        ("*/1," * 60)[:-1] + " * * * *",
        "0 0 " + ",".join(f"L-{n}" for n in range(31)) + " * *",
        "0 0 * * " + ",".join(f"{d}#{k}" for d in range(7) for k in range(1, 6)),
        "R" + "9" * 200 + "/2026-01-01T00:00:00Z/PT1S",
        "R/2026-01-01T00:00:00Z/PT" + "9" * 200 + "S",
        "R/2026-01-01T00:00:00Z/P" + "1Y" * 100,
        "rate(" + "9" * 200 + " seconds)",
        "(" * 256,
        "cron(" * 51,
        "cron(" + ",".join(["59-58"] * 30) + " 23-22 31-30 12-11 ? *)",
        "cron(0 0 30-29/31 2 ? 2199-1970)",
        "0 9 * * *" + " " * 247,
        "0/" * 128,
        "1-" * 128,
        "L" * 256,
        "\ud800",
    ],
)
def test_schedule_parsing_compiles_within_the_step_limit(expression):
    assert steps(lambda: fresh(expression)) < LIMIT


def test_schedule_parsing_suggests_zones_within_the_step_limit():
    for name in ("a" * 64, "America/" + "ab" * 20, "/" * 100_000, "Amerika/Nev_Jork"):
        assert steps(lambda name=name: fresh("0 9 * * *", name)) < LIMIT


def test_schedule_parsing_previews_a_schedule_that_never_fires_within_a_limit():
    for expression in ("30 2 * 3 SUN#2", "*/5 2 * 3 SUN#2", "* * 2 * 3 SUN#2"):
        spec = ScheduleSpec(expression, NEW_YORK, dst_gap="skip")
        # One gap a year for 50 years, each with up to 1,000 times to count.
        assert steps(lambda spec=spec: preview(spec, utc("2026-01-01 00:00"))) < 60 * LIMIT


@pytest.mark.parametrize(
    "unprintable", ["\x00", "\x1b", "\x7f", "\x9b", "\u061c", "\u200f", "\u2028", "\u202e", "\u2066", "\ud800"]
)
def test_schedule_parsing_error_messages_are_printable(unprintable):
    for ask in (
        lambda: compile_schedule(ScheduleSpec("0 9 * * *", f"Europe/{unprintable}")),
        lambda: read_instant("after", f"tomorrow{unprintable}"),
    ):
        with pytest.raises(ScheduleError) as refused:
            ask()
        assert refused.value.detail.isprintable()
        assert unprintable.encode("unicode_escape").decode() in refused.value.detail
