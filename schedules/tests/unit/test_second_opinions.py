"""What others wrote for the same rules: cronsim where its rules are ours, croniter with each difference named."""

import re
from datetime import UTC, datetime, timedelta
from random import Random
from zoneinfo import ZoneInfo

import pytest
from croniter import croniter
from cronsim import CronSim

from schedules.tests.support import schedule_expressions as expressions
from schedules.tests.support.schedule_oracle import zone
from schedules.tests.support.schedules import instants, local, refusal, schedule, utc

NEW_YORK = "America/New_York"
ONE_VALUE = re.compile(r"\b(\d+)-\1\b")
ONE_VALUE_STEPPED = re.compile(r"\b(\d+)-\1/")
CRONSIM_DAYS = ["*", "1", "13", "1,15", "L", "LW", "1-7", "*/2", "28-31", "L,15"]
CRONSIM_WEEKDAYS = ["*", "1", "1-5", "SUN", "0,6", "5L", "MON#1", "*/2", "3#5", "7"]


def from_cronsim(expression, start, count, timezone="UTC"):
    iterator = CronSim(expression, datetime.fromtimestamp(start, zone(timezone)))
    return [int(next(iterator).astimezone(UTC).timestamp()) for _ in range(count)]


def from_croniter(expression, start, count, **more):
    iterator = croniter(expression, start, **more)
    return [int(iterator.get_next(float)) for _ in range(count)]


def ours(expression, start, count, timezone="UTC", **more):
    compiled = schedule(expression, timezone, **more)
    row, at = [], start
    for _ in range(count):
        at = compiled.next(at)
        row.append(at)
    return row


class TestCronsim:
    def test_cron_libraries_cronsim_agrees_on_all_forms_of_days_in_utc(self):
        for day in CRONSIM_DAYS:
            for weekday in CRONSIM_WEEKDAYS:
                for month in ("*", "2", "JAN,JUL"):
                    expression = f"30 6 {day} {month} {weekday}"
                    start = utc("2026-01-01 00:00")
                    assert (expression, ours(expression, start, 8)) == (expression, from_cronsim(expression, start, 8))

    @pytest.mark.parametrize("timezone", [NEW_YORK, "Europe/Berlin", "Pacific/Auckland"])
    def test_cron_libraries_cronsim_agrees_in_gaps_and_folds_of_a_whole_hour(self, timezone):
        random = Random(timezone)
        for _ in range(60):
            expression = " ".join(
                [
                    expressions.plain_field(random, 0, 59, 0.3),
                    expressions.plain_field(random, 0, 23, 0.4),
                    *random.choice([["*", "*", "*"], ["*", "3,10,11", "*"], ["*", "*", "SUN"], ["8,29", "*", "*"]]),
                ]
            )
            if ONE_VALUE_STEPPED.search(expression):
                continue  # see below
            for start in (
                "2026-03-06 00:00",
                "2026-03-28 00:00",
                "2026-10-24 00:00",
                "2026-10-31 00:00",
                "2026-09-26 00:00",
            ):
                at = utc(start)
                case = (expression, start)
                assert (case, ours(expression, at, 12, timezone)) == (case, from_cronsim(expression, at, 12, timezone))

    def test_cron_libraries_cronsim_steps_from_a_range_of_one_value_to_the_maximum_but_duecourse_does_not(self):
        start = utc("2026-01-01 00:00")
        assert instants("0 20-20/2 * * *", after="2026-01-01 00:00", count=2) == [
            "2026-01-01 20:00",
            "2026-01-02 20:00",
        ]
        assert from_cronsim("0 20-20/2 * * *", start, 2) == ours("0 20,22 * * *", start, 2)

    def test_cron_libraries_cronsim_finds_an_interval_in_a_gap_at_midnight_but_duecourse_does_not(self):
        # Havana: 00:00 became 01:00 on Sunday 2026-03-08; */30 0 has no time on that day.
        start = utc("2026-03-06 00:00")
        assert local("*/30 0 * * SUN", "America/Havana", after="2026-03-06 00:00", count=1) == ["2026-03-15 00:00"]
        assert from_cronsim("*/30 0 * * SUN", start, 1, "America/Havana") == [utc("2026-03-08 05:00")]


class TestCroniter:
    def test_cron_libraries_croniter_agrees_in_utc_on_the_common_grammar(self):
        random = Random(7)
        for _ in range(300):
            expression = " ".join(
                [
                    expressions.plain(random, 0, 59),
                    expressions.plain(random, 0, 23),
                    random.choice(["*", "*", "1", "13", "1,15", "28-31", "L", "*/5"]),
                    random.choice(["*", "*", "2", "6-9", "JAN,JUL"]),
                    random.choice(["*", "*", "1", "1-5", "SUN", "0,6"]),
                ]
            )
            if ONE_VALUE.search(expression):
                continue  # see below
            fields = expression.split()
            if fields[2].startswith("*/") and fields[4] != "*":
                continue  # Vixie's rule: see below
            start = utc("2026-01-01 00:00")
            assert (expression, ours(expression, start, 6)) == (expression, from_croniter(expression, start, 6))

    @pytest.mark.parametrize(
        ("eventbridge", "theirs"),
        [
            ("cron(0/30 20-2 ? * MON-FRI *)", "0,30 20-2 * * MON-FRI"),
            ("cron(50-10 9 * * ? *)", "50-10 9 * * *"),
            ("cron(0 9 1 NOV-FEB ? *)", "0 9 1 NOV-FEB *"),
            ("cron(0 9 ? * FRI-MON *)", "0 9 * * FRI-MON"),
            ("cron(0 9 ? * 5-2 *)", "0 9 * * 4-1"),
            ("cron(0 20-5/2 * * ? *)", "0 20-5/2 * * *"),
            ("cron(50-15/10 9 * * ? *)", "50-15/10 9 * * *"),
        ],
    )
    def test_cron_libraries_croniter_agrees_on_backward_ranges(self, eventbridge, theirs):
        start = utc("2026-01-01 00:00")
        assert ours(eventbridge, start, 100) == from_croniter(theirs, start, 100)

    def test_cron_libraries_croniter_restarts_an_uneven_step_after_the_field_end_but_duecourse_continues_it(self):
        start = utc("2026-01-01 00:00")
        assert ours("cron(0 20-4/3 * * ? *)", start, 6) == ours("0 20,23,2 * * *", start, 6)
        assert from_croniter("0 20-4/3 * * *", start, 6) == ours("0 20,23,3 * * *", start, 6)

    def test_cron_libraries_croniter_reads_a_range_of_one_value_as_every_value_but_duecourse_as_that_value(self):
        start = utc("2026-01-01 00:00")
        assert instants("5-5 3 * * *", after="2026-01-01 00:00", count=2) == ["2026-01-01 03:05", "2026-01-02 03:05"]
        assert from_croniter("5-5 3 * * *", start, 2) != ours("5-5 3 * * *", start, 2)

    def test_cron_libraries_croniter_ignores_a_day_of_the_month_beside_an_nth_weekday_but_duecourse_does_not(self):
        start = utc("2026-01-01 12:00")
        assert instants("0 9 1 * MON#1", after="2026-01-01 12:00") == [
            "2026-01-05 09:00",
            "2026-02-01 09:00",
            "2026-02-02 09:00",
        ]
        assert from_croniter("0 9 1 * MON#1", start, 3) != ours("0 9 1 * MON#1", start, 3)

    def test_cron_libraries_croniter_expects_seconds_last_by_default_but_duecourse_first(self):
        start = utc("2026-01-01 00:00")
        assert from_croniter("5 9 * * * 30", start, 2) == ours("30 5 9 * * *", start, 2)
        assert from_croniter("30 5 9 * * *", start, 2, second_at_beginning=True) == ours("30 5 9 * * *", start, 2)

    def test_cron_libraries_croniter_fires_a_fixed_time_twice_in_a_fold_but_duecourse_once(self):
        begin = datetime(2026, 11, 1, tzinfo=ZoneInfo(NEW_YORK))
        iterator = croniter("30 1 * * *", begin)
        theirs = [iterator.get_next(datetime) for _ in range(2)]
        assert theirs[1] - theirs[0] <= timedelta(hours=1)
        assert local("30 1 * * *", NEW_YORK, after="2026-11-01 04:00", count=2) == [
            "2026-11-01 01:30",
            "2026-11-02 01:30",
        ]

    @pytest.mark.parametrize("expression", ["0 22-2 * * *", "0 0 * * 5-1", "R * * * *", "0 9 * * L5", "0 0 30 2 *"])
    def test_cron_libraries_croniter_accepts_some_expressions_that_duecourse_rejects(self, expression):
        assert croniter.is_valid(expression)
        assert refusal(expression).field == "schedule"
