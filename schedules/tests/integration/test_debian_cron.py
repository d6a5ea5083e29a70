"""Debian's own cron over changes of clocks and over two months: it fires in the minutes that the engine says.

Expressions hold what both know: five fields, ``*``, ``a``, ``a-b``, steps of ranges and stars, lists, names.
Only the package `cron` is needed besides a C compiler and root; nothing runs but one daemon at a time, with jobs that
are written down instead of started.
"""

import re
from itertools import takewhile
from random import Random

import pytest

from schedules.tests.support import debian_cron
from schedules.tests.support import schedule_expressions as expressions
from schedules.tests.support.schedule_oracle import wall_clock
from schedules.tests.support.schedules import refusal, schedule, utc

pytestmark = [pytest.mark.skipif(debian_cron.missing() is not None, reason=str(debian_cron.missing()))]

HOUR = 3_600
WEEKDAYS = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT", "7"]
TRANSITIONS = [
    ("America/New_York", "2026-03-08 07:00"),
    ("America/New_York", "2026-11-01 06:00"),
    ("Europe/Berlin", "2026-03-29 01:00"),
    ("Europe/Berlin", "2026-10-25 01:00"),
    ("Europe/Dublin", "2026-10-25 01:00"),
    ("Pacific/Auckland", "2026-04-04 14:00"),
    ("Pacific/Auckland", "2026-09-26 14:00"),
    ("Australia/Lord_Howe", "2026-04-04 15:00"),
    ("Australia/Lord_Howe", "2026-10-03 15:30"),
    ("Antarctica/Troll", "2026-03-29 01:00"),
    ("Antarctica/Troll", "2026-10-25 01:00"),
    ("Africa/Cairo", "2026-04-23 22:00"),
    ("America/Santiago", "2026-04-05 03:00"),
    ("America/St_Johns", "2026-03-08 05:30"),
]
TYPICAL = ["30 1 * * *", "30 2 * * *", "15,45 2 * * *", "0 3 * * *", "0 * * * *", "*/10 2 * * *", "*/15 * * * *"]


def shared(text):
    """Whether both understand it: no a/s and no step larger than a week; see below."""
    return not re.search(r"(^|[ ,])\w+/|\*/8$|\*/8,[^ ]*$", text)


def around(random, near):
    """An expression that has a fair chance to fire near a wall time."""
    while True:
        minute = expressions.plain_field(random, 0, 59, 0.1)
        hour = expressions.near(random, near.hour, 0, 23) if random.random() < 0.8 else "*"
        text = " ".join([minute, hour, *(days(random) if random.random() < 0.4 else "***")])
        if shared(text):
            return text


def days(random):
    return [
        expressions.plain_field(random, 1, 31, 0.5),
        expressions.plain_field(random, 1, 12, 0.6),
        expressions.plain_field(random, 0, 7, 0.5, WEEKDAYS),
    ]


def minutes(instants):
    """cron acts in the first second of a minute; times of a gap that it makes up for are one, as they are to us."""
    return sorted({at - at % 60 for at in instants})


def ours(expression, zone, begin, end):
    found = schedule(expression, zone).upcoming(begin + 59)  # a daemon looks at its first whole minute
    return list(takewhile(lambda at: at < end, found))


@pytest.mark.parametrize(("zone", "change"), TRANSITIONS)
def test_debian_cron_fires_in_the_same_minutes_around_a_clock_change(tmp_path, zone, change):
    at = utc(change)
    begin, end = at - 2 * HOUR, at + 3 * HOUR
    random = Random(zone + change)
    jobs = TYPICAL + [around(random, wall_clock(at + random.choice([-5, 5]), zone)) for _ in range(20)]
    fired = 0
    for expression, instants in zip(jobs, debian_cron.fired(tmp_path, jobs, zone, begin, end), strict=True):
        own = ours(expression, zone, begin, end)
        assert (expression, own) == (expression, minutes(instants))
        fired += len(own)
    assert fired > 50


def test_debian_cron_fires_on_the_same_days_of_two_months(tmp_path):
    random = Random(29)
    begin, end = utc("2028-02-01 00:00"), utc("2028-04-01 00:00")
    jobs = []
    while len(jobs) < 60:
        text = " ".join([str(random.randint(0, 59)), str(random.randint(0, 23)), *days(random)])
        if shared(text) and not re.search(r" (30|31) (2|FEB) \*", text):
            jobs.append(text)
    for expression, instants in zip(jobs, debian_cron.fired(tmp_path, jobs, "UTC", begin, end), strict=True):
        assert (expression, ours(expression, "UTC", begin, end)) == (expression, minutes(instants))


def test_debian_cron_treats_a_day_skipped_at_the_date_line_as_a_correction_instead_of_a_gap(tmp_path):
    begin, end = utc("2011-12-30 00:00"), utc("2011-12-31 04:00")
    [instants] = debian_cron.fired(tmp_path, ["0 12 * * *"], "Pacific/Apia", begin, end)
    assert minutes(instants) == [utc("2011-12-30 22:00")]
    assert ours("0 12 * * *", "Pacific/Apia", begin, end) == [utc("2011-12-30 10:00"), utc("2011-12-30 22:00")]


@pytest.mark.parametrize("expression", ["5/15 1 * * *", "0 1 * * FRI-SUN", "0 1 L * *", "0 1 * * MONL", "0 1 ? * *"])
def test_debian_cron_rejects_expressions_that_duecourse_accepts(tmp_path, expression):
    begin, end = utc("2028-12-30 00:00"), utc("2029-02-01 00:00")
    assert debian_cron.fired(tmp_path, [expression], "UTC", begin, end) == [[]]
    assert ours(expression, "UTC", begin, end)


def test_debian_cron_reads_only_the_name_of_an_nth_weekday(tmp_path):
    begin, end = utc("2028-12-31 00:00"), utc("2029-01-09 00:00")
    [instants] = debian_cron.fired(tmp_path, ["0 1 * * MON#1"], "UTC", begin, end)
    assert minutes(instants) == ours("0 1 * * MON", "UTC", begin, end) != ours("0 1 * * MON#1", "UTC", begin, end)


@pytest.mark.parametrize("expression", ["*/70 1 * * *", "0 1 */40 * *", "0 1 30 2 *"])
def test_debian_cron_accepts_expressions_that_duecourse_rejects(tmp_path, expression):
    begin, end = utc("2028-12-30 00:00"), utc("2029-01-09 00:00")
    [instants] = debian_cron.fired(tmp_path, [expression], "UTC", begin, end)
    assert bool(instants) == ("30 2" not in expression)
    assert refusal(expression).field == "schedule"
