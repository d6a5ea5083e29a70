"""The engine against a walk along the clock (schedules/tests/support/schedule_oracle.py), which shares no idea with it.

`SCHEDULE_ROUNDS=20 pytest schedules/tests/property/test_brute_force.py` walks twenty times as many expressions.
"""

import calendar
import os
from datetime import date, timedelta
from random import Random

import pytest

from duecourse_schedules import ScheduleError, ScheduleSpec, compile_schedule
from schedules.tests.support import schedule_expressions as expressions
from schedules.tests.support.schedule_oracle import Reading, Walk, by_days, transitions, wall_clock

ROUNDS = int(os.environ.get("SCHEDULE_ROUNDS", "1"))
HOUR = 3_600
ZONES = [
    "America/New_York",
    "Europe/London",
    "Europe/Dublin",  # negative summer time
    "America/Sao_Paulo",  # changes at midnight
    "Asia/Beirut",
    "America/Havana",
    "Africa/Casablanca",  # four changes a year, moving with the moon
    "Australia/Lord_Howe",  # half an hour
    "Pacific/Apia",  # a day skipped
    "Antarctica/Troll",  # two hours
    "Pacific/Chatham",  # UTC+12:45
    "America/St_Johns",  # changed at 00:01
    "America/Caracas",  # half an hour of standard time
    "Asia/Pyongyang",
    "Pacific/Kwajalein",  # a day skipped
]
RULES = [("next", "first")] * 3 + [(gap, fold) for gap in ("next", "skip") for fold in ("first", "second", "both")]


def fires(schedule, low, high):
    """The engine's occurrences with low < t < high."""
    row = []
    at = schedule.next(low)
    while at is not None and at < high:
        row.append(at)
        at = schedule.next(at)
    return row


def agree(random, walk, expression, low, high):
    """Compare engine and walk between two instants, asked in a row and from random instants; how often they fire."""
    gap, fold = random.choice(RULES)
    try:
        schedule = compile_schedule(ScheduleSpec(expression, walk.zone_name, gap, fold))
    except ScheduleError as error:
        assert "no year contains this day" in error.detail
        return 0
    expected = [at for at in walk.fires(Reading(expression), gap, fold) if low < at < high]
    case = (expression, walk.zone_name, gap, fold, low)
    assert (case, fires(schedule, low, high)) == (case, expected)
    for _ in range(4):
        after = random.randint(low, high)
        following = next((at for at in expected if at > after), None)
        found = schedule.next(after)
        assert (case, after, found if found is not None and found < high else None) == (case, after, following)
    return len(expected)


def around_transitions(zone, every):
    """Walk around each so-manieth transition of a zone; how often anything fired."""
    random = Random(f"minutes {zone}")
    fired = 0
    for change in transitions(zone, 1990, 2037)[::every]:
        walk = Walk(zone, change - 30 * HOUR, change + 30 * HOUR, 60)
        for _ in range(3 * ROUNDS):
            expression = expressions.around(random, wall_clock(change - random.randint(0, 1), zone))
            fired += agree(random, walk, expression, change - 26 * HOUR, change + 26 * HOUR)
    return fired


@pytest.mark.parametrize("zone", ZONES)
def test_schedule_brute_force_agrees_around_every_fifth_transition_from_1990_to_2037(zone):
    """Two of them a year: so both kinds, in each part of these years."""
    assert around_transitions(zone, 5) > 0


@pytest.mark.extended
@pytest.mark.parametrize("zone", ZONES)
def test_schedule_brute_force_agrees_around_every_transition_from_1990_to_2037(zone):
    assert around_transitions(zone, 1) > 0


@pytest.mark.parametrize("zone", ZONES)
def test_schedule_brute_force_agrees_with_seconds_around_sampled_transitions(zone):
    random = Random(f"seconds {zone}")
    changes = transitions(zone, 1990, 2037)
    for change in random.sample(changes, min(3, len(changes))):
        walk = Walk(zone, change - 3 * HOUR, change + 4 * HOUR, 1)
        for _ in range(2 * ROUNDS):
            expression = expressions.around(random, wall_clock(change - 1, zone), seconds=True)
            agree(random, walk, expression, change - HOUR, change + 2 * HOUR)


@pytest.mark.parametrize("part", range(6))
def test_schedule_brute_force_agrees_on_the_day_fields_over_years(part):
    random = Random(f"days {part}")
    fired = refused = 0
    for number in range(100 * ROUNDS):
        expression = expressions.eventbridge(random) if number % 3 == 0 else expressions.anything(random)
        begin = date(random.randint(1980, 2150), random.randint(1, 12), 1)
        expected = by_days(Reading(expression), (begin + timedelta(days=day) for day in range(1_100)))
        low = calendar.timegm(begin.timetuple()) - 1
        try:
            schedule = compile_schedule(ScheduleSpec(expression))
        except ScheduleError as error:
            assert "no year contains this day" in error.detail
            assert (expression, expected) == (expression, [])
            refused += 1
            continue
        assert (expression, fires(schedule, low, low + 1 + 1_100 * 86_400)) == (expression, expected)
        fired += len(expected)
    assert fired > 1_000 * ROUNDS
    assert refused < 10 * ROUNDS


def test_schedule_brute_force_walk_is_correct_in_known_cases():
    """The oracle has no oracle; these are from the design and from Debian's manual of cron."""
    gap = calendar.timegm((2026, 3, 8, 7, 0, 0))
    walk = Walk("America/New_York", gap - 6 * HOUR, gap + 6 * HOUR, 60)
    assert walk.fires(Reading("30 2 * * *")) == [gap]
    assert walk.fires(Reading("30 2 * * *"), "skip") == []
    assert walk.fires(Reading("0 * * * *"))[5:8] == [gap - HOUR, gap, gap + HOUR]
    fold = calendar.timegm((2026, 11, 1, 6, 0, 0))
    walk = Walk("America/New_York", fold - 6 * HOUR, fold + 6 * HOUR, 60)
    assert walk.fires(Reading("30 1 * * *")) == [fold - HOUR // 2]
    assert walk.fires(Reading("30 1 * * *"), "next", "second") == [fold + HOUR // 2]
    assert walk.fires(Reading("30 1 * * *"), "next", "both") == [fold - HOUR // 2, fold + HOUR // 2]
    assert walk.fires(Reading("*/30 1 * * *")) == [fold - HOUR, fold - HOUR // 2, fold, fold + HOUR // 2]
