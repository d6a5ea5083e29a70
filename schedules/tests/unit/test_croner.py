"""croner (npm) on thousands of random expressions around the changes of clocks; where it differs, how and on what."""

import re
from itertools import islice
from random import Random

import pytest

from duecourse_schedules import ScheduleError, ScheduleSpec, compile_schedule, load_zone
from duecourse_schedules.instant import iso
from duecourse_schedules.schedule import read_instant
from schedules.tests.support import croner
from schedules.tests.support import schedule_expressions as expressions
from schedules.tests.support.schedule_oracle import wall_clock
from schedules.tests.support.schedules import utc

pytestmark = pytest.mark.skipif(croner.missing() is not None, reason=str(croner.missing()))

CASES = 3_000
ZONES = [
    *("UTC", "America/New_York", "Europe/Berlin", "Pacific/Auckland", "America/Sao_Paulo", "Asia/Kolkata"),
    *("Australia/Lord_Howe", "America/Havana", "Africa/Cairo", "America/Santiago", "Asia/Beirut", "Asia/Tehran"),
    *("America/St_Johns", "Europe/Dublin", "Africa/Casablanca", "Asia/Amman", "America/Asuncion", "Antarctica/Troll"),
    *("Asia/Pyongyang", "America/Caracas", "Europe/Istanbul"),
]
# Node brings zone data of its own age: both are asked about years that no government can change any more.
BEGIN, END = utc("2010-01-01 00:00"), utc("2024-01-01 00:00")
LATER = iso(END) + "Z"
MIDNIGHT_GAP = utc("2018-05-04 15:00")
"""The clocks of Pyongyang showed 00:00 after 23:30."""


def after(random, zone):
    """Up to a day before a change of the zone's clock, or any time where it never changes."""
    known = load_zone(zone)
    known.index(END)
    changes = [at for at in known.starts if BEGIN < at < END]
    return (random.choice(changes) if changes else random.randint(BEGIN, END)) - random.randint(0, 90_000)


def expression(random, near):
    if random.random() < 0.3:
        return expressions.anything(random)
    return expressions.around(random, near, seconds=random.random() < 0.25)


def shared(text):
    """Whether its rules are ours for this expression; each line is a test below."""
    *time, day, _, weekday = text.upper().split()
    starred = [field[0] in "*?" for field in (day, weekday)]
    both_days_count = day not in "*?" and weekday not in "*?"
    interval = any(field.startswith("*") for field in time)
    return not (
        re.search(r"(^|[ ,+])\w+/", text)  # a/s
        or "L-" in day
        or "W#" in day
        or ("W" in day and "," in day)
        or len(text.split()) > 6
        or "?/" in text
        or re.search(r"(^|[,+])(0|SUN)-SUN", weekday)
        or (any(starred) and both_days_count)
        or (not interval and any("*" in field or "/" in field for field in time))
    )


def ours(case):
    try:
        found = compile_schedule(ScheduleSpec(case["expr"], case["tz"])).upcoming(read_instant("after", case["after"]))
    except ScheduleError as error:
        return {"error": str(error)}
    return {"next": [iso(at) + "Z" for at in islice(found, case["count"])]}


def both(expr, start, timezone="UTC", count=3):
    case = {"expr": expr, "tz": timezone, "after": iso(utc(start)) + "Z", "count": count}
    return ours(case).get("next"), croner.answers([case])[0].get("next")


def test_croner_agrees_around_dst_changes_where_its_rules_are_the_same():
    random = Random(2026)
    cases = []
    while len(cases) < CASES:
        zone = random.choice(ZONES)
        at = after(random, zone)
        text = expression(random, wall_clock(at + 50_000, zone))
        in_midnight_gap = zone == "Asia/Pyongyang" and MIDNIGHT_GAP - 100_000 < at < MIDNIGHT_GAP  # see below
        if shared(text) and not in_midnight_gap:
            cases.append({"expr": text, "tz": zone, "after": iso(at) + "Z", "count": 8})
    agreed = 0
    for case, theirs in zip(cases, croner.answers(cases), strict=True):
        own = ours(case)
        if "no year contains this day" in own.get("error", ""):
            assert theirs == {"next": []}, case
        else:
            assert "error" not in theirs, (case, theirs)
            found, expected = ([at for at in one["next"] if at < LATER] for one in (own, theirs))
            assert (case, found) == (case, expected)
            agreed += bool(found)
    assert agreed > CASES * 0.9


@pytest.mark.parametrize("text", ["0 9 13 * +FRI", "0 9 1-7 * +MON", "0 9 L * +1-5", "0 9 29 2 +SUN", "0 9 31 * +5L"])
def test_croner_agrees_that_both_days_must_match_after_a_plus(text):
    own, theirs = both(text, "1999-01-01 00:00", count=12)
    assert own == theirs


def test_croner_matches_either_day_where_one_field_starts_with_a_star_but_duecourse_requires_both():
    own, theirs = both("0 0 */2 * MON", "2023-01-01 12:00")
    assert own == ["2023-01-09T00:00:00Z", "2023-01-23T00:00:00Z", "2023-02-13T00:00:00Z"]
    assert theirs == ["2023-01-02T00:00:00Z", "2023-01-03T00:00:00Z", "2023-01-05T00:00:00Z"]


def test_croner_treats_a_stepped_range_as_an_interval_but_duecourse_as_fixed_times():
    own, theirs = both("0-40/20 2 * * *", "2023-03-12 00:00", "America/New_York", 1)
    assert own == ["2023-03-12T07:00:00Z"]
    assert theirs == ["2023-03-13T06:00:00Z"]


def test_croner_treats_a_star_anywhere_in_a_list_as_an_interval_but_duecourse_only_at_its_start():
    own, theirs = both("30 2,* * * *", "2023-11-05 04:00", "America/New_York", 3)
    assert own == ["2023-11-05T04:30:00Z", "2023-11-05T05:30:00Z", "2023-11-05T07:30:00Z"]
    assert theirs == ["2023-11-05T04:30:00Z", "2023-11-05T05:30:00Z", "2023-11-05T06:30:00Z"]


def test_croner_treats_a_range_from_0_to_sun_as_the_whole_week_but_duecourse_as_sunday():
    own, theirs = both("0 0 * * 0-SUN", "2023-01-01 12:00")
    assert own == ["2023-01-08T00:00:00Z", "2023-01-15T00:00:00Z", "2023-01-22T00:00:00Z"]
    assert theirs == ["2023-01-02T00:00:00Z", "2023-01-03T00:00:00Z", "2023-01-04T00:00:00Z"]


def test_croner_drops_a_time_in_a_gap_that_ends_at_midnight_but_duecourse_moves_it():
    own, theirs = both("45 23 * * *", "2018-05-04 00:00", "Asia/Pyongyang", 2)
    assert own == ["2018-05-04T15:00:00Z", "2018-05-05T14:45:00Z"]
    assert theirs == ["2018-05-05T14:45:00Z", "2018-05-06T14:45:00Z"]


def test_croner_drops_a_time_on_a_nonexistent_day_but_duecourse_moves_it():
    own, theirs = both("0 9 * * *", "2011-12-29 20:00", "Pacific/Apia", 2)
    assert own == ["2011-12-30T10:00:00Z", "2011-12-30T19:00:00Z"]
    assert theirs == ["2011-12-30T19:00:00Z", "2011-12-31T19:00:00Z"]


@pytest.mark.parametrize("text", ["5/15 * * * *", "0 0 L-3 * *", "0 0 LW,15 * *", "0 0 L-3W * *", "0 0 W#3 * *"])
def test_croner_rejects_some_expressions_that_duecourse_accepts(text):
    own, theirs = both(text, "2023-01-01 00:00")
    assert own
    assert theirs is None


@pytest.mark.parametrize("text", ["? * * * *", "0 0 31 4 *", "0 0 * * FRI#L"])
def test_croner_accepts_some_expressions_that_duecourse_rejects(text):
    own, theirs = both(text, "2023-01-01 00:00")
    assert own is None
    assert theirs is not None
