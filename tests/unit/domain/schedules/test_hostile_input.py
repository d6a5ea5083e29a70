"""No expression may keep a function busy: 5 ms at most for an answer or an error.

Work is counted in lines of Python (tests/support/steps.py); at 0.05 to 0.1 microseconds a line, 40,000 stay below 5 ms.
"""

import pytest

from duecourse.domain.schedules import ScheduleError, ScheduleSpec, compile_schedule, load_zone
from duecourse.domain.schedules.parsed_input import read_instant
from duecourse.domain.schedules.preview import preview
from duecourse.domain.schedules.schedule import forget
from tests.support.schedules import utc
from tests.support.steps import steps

LIMIT = 40_000
NEW_YORK = "America/New_York"

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
def test_the_rarest_times_are_found_or_given_up_within_the_limit(expression, after):
    for zone in ("UTC", NEW_YORK, "Asia/Gaza", "Pacific/Apia"):
        for rules in ({}, {"dst_gap": "skip"}, {"dst_fold": "second"}, {"dst_gap": "skip", "dst_fold": "both"}):
            schedule = fresh(expression, zone, **rules)  # the zone, too, is asked for the first time
            if schedule is None:
                assert expression.startswith("cron(0 0 ? 2 5#5")
            else:
                assert steps(lambda schedule=schedule: schedule.next(utc(after))) < LIMIT


def test_a_zone_asked_for_the_first_time_about_the_far_future_stays_within_the_limit():
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
def test_compiling_stays_within_the_limit(expression):
    assert steps(lambda: fresh(expression)) < LIMIT


def test_suggesting_zones_stays_within_the_limit():
    for name in ("a" * 64, "America/" + "ab" * 20, "/" * 100_000, "Amerika/Nev_Jork"):
        assert steps(lambda name=name: fresh("0 9 * * *", name)) < LIMIT


def test_a_preview_of_a_schedule_that_never_fires_is_bounded():
    for expression in ("30 2 * 3 SUN#2", "*/5 2 * 3 SUN#2", "* * 2 * 3 SUN#2"):
        spec = ScheduleSpec(expression, NEW_YORK, dst_gap="skip")
        # One gap a year for 50 years, each with up to 1,000 times to count.
        assert steps(lambda spec=spec: preview(spec, utc("2026-01-01 00:00"))) < 60 * LIMIT


@pytest.mark.parametrize(
    "unprintable", ["\x00", "\x1b", "\x7f", "\x9b", "\u061c", "\u200f", "\u2028", "\u202e", "\u2066", "\ud800"]
)
def test_what_a_message_repeats_can_be_printed(unprintable):
    for ask in (
        lambda: compile_schedule(ScheduleSpec("0 9 * * *", f"Europe/{unprintable}")),
        lambda: read_instant("after", f"tomorrow{unprintable}"),
    ):
        with pytest.raises(ScheduleError) as refused:
            ask()
        assert refused.value.detail.isprintable()
        assert unprintable.encode("unicode_escape").decode() in refused.value.detail
