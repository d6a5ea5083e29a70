"""Recurring exclusions, and occurrences that move off excluded days.

- Cron expressions that exclude whole days, minutes or seconds.
- `on_excluded`: the previous or the next day that is not excluded, on the clock of the zone.
- The preview and the bounds of a search.
"""

import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duecourse_schedules import ScheduleError, ScheduleSpec, compile_schedule
from duecourse_schedules.exclusions import MAX_MOVE_DAYS, Entry, ExclusionError, compile_exclusions, packed_days
from duecourse_schedules.packed import CalendarSizeError, unpack
from duecourse_schedules.preview import MAX_EXCLUDED, preview
from duecourse_schedules.schedule import Occurrences, moved_from, moved_to, occurrences_of
from schedules.tests.support.schedule_oracle import Reading, by_days
from schedules.tests.support.schedules import utc

WEEKENDS = "* * * * SAT,SUN"
BERLIN = "Europe/Berlin"
DAY = 86_400


def occurrences(expression: str, *exclude: Entry, on: str = "skip", zone: str = "UTC", **more: str) -> Occurrences:
    return occurrences_of("", "", ScheduleSpec(expression, zone, on_excluded=on, **more), exclude=exclude)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Days:
    """The exclusions of a calendar, in their short form."""

    packed: str

    @property
    def exclude(self) -> list[str]:
        return list(unpack(self.packed))


def calendar(*entries: str) -> Days:
    """A calendar with these exclusions."""
    return Days(packed_days(entries))


def local(of: Occurrences, after: str, count: int = 3) -> list[str]:
    """The next occurrences on the clock of the zone."""
    zone, at, found = of.exclusions.zone, utc(after), []  # type: ignore[union-attr]
    for _ in range(count):
        following = of.next(at)
        if following is None:
            break
        at = following
        found.append(datetime.fromtimestamp(zone.wall(at), UTC).strftime("%a %Y-%m-%d %H:%M"))
    return found


class TestWorkingDays:
    """`W#n` counts Monday to Friday, without the excluded days of the job."""

    def test_working_days_do_not_count_excluded_days(self) -> None:
        third = occurrences("0 9 W#3 * *", "2027-01-01", "* * 6 1 *", zone=BERLIN)
        assert local(third, "2026-12-04 00:00", 3) == [
            "Thu 2027-01-07 09:00",
            "Wed 2027-02-03 09:00",
            "Wed 2027-03-03 09:00",
        ]

    def test_working_days_of_a_month_without_so_many_are_left_out(self) -> None:
        assert local(occurrences("0 9 W#20 * *", "2026-12-15/2026-12-31"), "2026-11-01 00:00", 2) == [
            "Fri 2026-11-27 09:00",
            "Thu 2027-01-28 09:00",
        ]
        assert occurrences("0 9 W#1 * *", "* * * * *").next(utc("2026-01-01 00:00")) is None

    def test_working_days_in_other_forms_of_the_same_field_are_skipped_or_moved(self) -> None:
        excluded = ("* * * * SAT,SUN", "2026-12-24/2027-01-01")
        assert local(occurrences("0 9 W#-1,25 12 *", *excluded, on="next"), "2026-12-01 00:00", 2) == [
            "Wed 2026-12-23 09:00",
            "Mon 2027-01-04 09:00",
        ]

    def test_calendar_counts_as_excluded_days(self) -> None:
        assert local(occurrences("0 9 W#1 12 *", calendar("2026-12-01/2026-12-02")), "2026-11-01 00:00", 1) == [
            "Thu 2026-12-03 09:00"
        ]

    @given(st.integers(1, 23), st.sampled_from([1, -1]), st.integers(0, 2**31), st.integers(1980, 2150))
    def test_working_days_agree_with_a_walk_along_the_calendar(self, n: int, sign: int, seed: int, year: int) -> None:
        random = Random(seed)
        days = [date(year, 1, 1) + timedelta(days=random.randint(0, 420)) for _ in range(12)]
        first = random.choice(days)
        ranges = [first + timedelta(days=more) for more in range(5)]
        exclude = (*(day.isoformat() for day in days), f"{ranges[0]}/{ranges[-1]}")
        expression = f"0 12 W#{n * sign},3 * *"
        reading = Reading(expression, frozenset([*days, *ranges]))
        expected = by_days(reading, (date(year, 1, 1) + timedelta(days=day) for day in range(400)))
        off = {int(datetime(day.year, day.month, day.day, 12, tzinfo=UTC).timestamp()) for day in (*days, *ranges)}
        of, at, found = occurrences(expression, *exclude), utc(f"{year}-01-01 00:00"), []
        while (at := of.next(at) or 2**40) < utc(f"{year}-01-01 00:00") + 400 * DAY:
            found.append(at)
        assert found == [at for at in expected if at not in off]


class TestRecurring:
    def test_exclusions_excludes_days_of_the_week(self) -> None:
        weekdays = occurrences("0 9 * * *", WEEKENDS)
        plain = compile_schedule(ScheduleSpec("0 9 * * 1-5"))
        at = utc("2026-01-01 00:00")
        for _ in range(300):
            assert weekdays.next(at) == (at := plain.next(at) or 0)

    def test_exclusions_excludes_a_date_of_each_year(self) -> None:
        assert local(occurrences("0 9 24-26 12 *", "* * 25 12 *"), "2026-12-01 00:00") == [
            "Thu 2026-12-24 09:00",
            "Sat 2026-12-26 09:00",
            "Fri 2027-12-24 09:00",
        ]

    def test_exclusions_excludes_whole_minutes_on_the_clock_of_the_zone(self) -> None:
        nights = occurrences("*/20 * * * * *", "* 23,0-5 * * *", zone=BERLIN)
        assert local(nights, "2026-01-10 21:59", 4)[2:] == ["Sun 2026-01-11 06:00"] * 2

    def test_exclusions_excludes_single_seconds(self) -> None:
        assert local(occurrences("*/20 * * * * *", "20,40 * * * * *"), "2026-01-10 00:00", 2) == [
            "Sat 2026-01-10 00:01",
            "Sat 2026-01-10 00:02",
        ]

    def test_exclusions_takes_eventbridges_form_and_years(self) -> None:
        daily = occurrences("0 9 * * *", "cron(* * * * ? 2027-2028)")
        assert local(daily, "2026-12-31 00:00", 2) == ["Thu 2026-12-31 09:00", "Mon 2029-01-01 09:00"]

    def test_exclusions_both_passes_of_a_repeated_hour_are_excluded_and_no_other_time(self) -> None:
        around = occurrences("*/30 * * * *", "30-59 2 * * *", zone=BERLIN)
        assert local(around, "2026-10-24 23:59", 6) == [
            *("Sun 2026-10-25 02:00", "Sun 2026-10-25 02:00"),
            *(f"Sun 2026-10-25 0{time}" for time in ("3:00", "3:30", "4:00", "4:30")),
        ]

    @pytest.mark.parametrize(
        ("entry", "problem"),
        [("* * * * XYZ", "not a number"), ("* * *", "has 3 fields"), ("daily", "write an instant")],
    )
    def test_exclusions_rejects_an_entry_of_no_form(self, entry: str, problem: str) -> None:
        with pytest.raises(ExclusionError, match=problem) as refused:
            occurrences("0 9 * * *", "2026-12-25", entry)
        assert refused.value.index == 1

    @pytest.mark.parametrize("on", ["skip", "previous", "next"])
    @pytest.mark.parametrize(
        "exclude", [("* * * * *",), ("* * * 1-6 *", "* * * 7-12 *"), ("* 0-11 * * *", "* 12-23 * * *")]
    )
    def test_exclusions_search_through_nothing_but_excluded_times_ends(self, exclude: tuple[str, ...], on: str) -> None:
        assert occurrences("* * * * *", *exclude, on=on).next(utc("2026-01-01 00:00")) is None


class TestMoves:
    def test_exclusions_last_working_day_of_each_month_needs_one_job(self) -> None:
        closing = occurrences("0 18 L * *", WEEKENDS, "2026-12-24/2027-01-01", on="previous", zone=BERLIN)
        assert local(closing, "2026-10-01 00:00", 5) == [
            "Fri 2026-10-30 18:00",
            "Mon 2026-11-30 18:00",
            "Wed 2026-12-23 18:00",
            "Fri 2027-01-29 18:00",
            "Fri 2027-02-26 18:00",
        ]

    def test_exclusions_so_does_the_first_one(self) -> None:
        opening = occurrences("0 8 1 * *", WEEKENDS, "* * 1 1,5 *", on="next", zone=BERLIN)
        assert local(opening, "2026-12-15 00:00", 5) == [
            "Mon 2027-01-04 08:00",
            "Mon 2027-02-01 08:00",
            "Mon 2027-03-01 08:00",
            "Thu 2027-04-01 08:00",
            "Mon 2027-05-03 08:00",
        ]

    def test_exclusions_occurrences_that_meet_on_a_day_are_one(self) -> None:
        assert local(occurrences("0 9,17 * * *", WEEKENDS, on="next"), "2026-11-06 10:00", 3) == [
            "Fri 2026-11-06 17:00",
            "Mon 2026-11-09 09:00",
            "Mon 2026-11-09 17:00",
        ]

    def test_exclusions_time_in_a_gap_on_the_excluded_day_keeps_its_name_on_the_other_day(self) -> None:
        assert local(occurrences("30 2 29 3 *", WEEKENDS, on="previous", zone=BERLIN), "2026-01-01 00:00", 1) == [
            "Fri 2026-03-27 02:30"
        ]

    @pytest.mark.parametrize(("gap", "fired"), [("next", "Sun 2026-03-29 03:00"), ("skip", "Tue 2028-03-28 02:30")])
    def test_exclusions_move_into_a_gap_follows_the_jobs_rule(self, gap: str, fired: str) -> None:
        moved = occurrences("30 2 28 3 *", "2026-03-28", on="next", zone=BERLIN, dst_gap=gap)
        assert local(moved, "2026-03-01 00:00", 1) == [fired]

    def test_exclusions_occurrence_without_a_day_to_move_to_is_skipped(self) -> None:
        far = (date(2026, 6, 1) + timedelta(days=MAX_MOVE_DAYS)).isoformat()
        closed = occurrences("0 9 1 6 *", f"2026-06-01/{far}", on="next")
        assert local(closed, "2026-01-01 00:00", 1) == ["Tue 2027-06-01 09:00"]
        near = (date(2026, 6, 1) + timedelta(days=MAX_MOVE_DAYS - 1)).isoformat()
        assert local(occurrences("0 9 1 6 *", f"2026-06-01/{near}", on="next"), "2026-01-01 00:00", 1) == [
            "Thu 2026-07-02 09:00"
        ]

    def test_exclusions_excluded_instants_and_times_are_skipped(self) -> None:
        kept = occurrences("0 9 * * *", "2026-06-02T09:00:00Z", "* 9 3 * *", on="next")
        assert local(kept, "2026-06-01 10:00", 1) == ["Thu 2026-06-04 09:00"]

    def test_exclusions_single_time_moves_too(self) -> None:
        once = occurrences("at(2026-12-25T18:00:00)", "2026-12-25/2026-12-26", on="previous", zone=BERLIN)
        assert local(once, "2026-12-01 00:00") == ["Thu 2026-12-24 18:00"]
        assert moved_from(once.schedule, utc("2026-12-24 17:00")) == utc("2026-12-25 18:00")
        assert moved_to(once.schedule, utc("2026-12-25 17:00")) == utc("2026-12-24 18:00")

    def test_exclusions_window_is_that_of_the_moved_occurrences(self) -> None:
        spec = ScheduleSpec(
            "0 9 * * 6", start=utc("2026-06-05 08:00"), end=utc("2026-06-12 09:00"), on_excluded="previous"
        )
        assert local(occurrences_of("", "", spec, exclude=(WEEKENDS,)), "2026-01-01 00:00") == ["Fri 2026-06-05 09:00"]

    def test_exclusions_rate_does_not_move(self) -> None:
        with pytest.raises(ScheduleError, match="write the schedule as cron") as refused:
            occurrences_of("", "", ScheduleSpec("rate(1 day)", anchor=0, on_excluded="next"))
        assert refused.value.field == "on_excluded"

    def test_exclusions_another_rule_is_refused(self) -> None:
        with pytest.raises(ScheduleError, match="must be skip, previous or next"):
            occurrences("0 9 * * *", on="nearest")

    def test_exclusions_words_name_the_rule(self) -> None:
        assert compile_schedule(ScheduleSpec("0 9 * * 1", on_excluded="next")).words == (
            "at 09:00 on Monday, UTC, or on the day after excluded days"
        )

    @given(
        st.sampled_from(
            ["0 9 L * *", "30 2 * * *", "0 6,18 1,15 * *", "0 0 29 2 *", "15 23 * * MON#1", "*/50 5 * * 6"]
        ),
        st.sampled_from([-1, 1]),
        st.lists(st.sampled_from(["2026-03-01/2026-03-31", "* * 1-7 * *", "* * 31 * *", "2026-06-15"]), max_size=3),
        st.integers(0, 500 * 24),
    )
    def test_exclusions_agrees_with_a_walk_over_all_days(
        self, expression: str, step: int, exclude: list[str], hours: int
    ) -> None:
        entries = (WEEKENDS, *exclude)
        plain = compile_schedule(ScheduleSpec(expression))
        skipping = occurrences("0 12 * * *", *entries)

        def excluded(day: int) -> bool:
            noon = day * DAY + DAY // 2
            return skipping.next(noon - 1) != noon

        after = utc("2026-01-01 00:00") + hours * 3600
        expected = set()
        for at in _between(plain, after - 40 * DAY, after + 1_600 * DAY):
            day = at // DAY
            for moved in range(day, day + step * (MAX_MOVE_DAYS + 1), step):
                if not excluded(moved):
                    expected.add(at + (moved - day) * DAY)
                    break
            if sum(each > after for each in expected) > 40:
                break
        wanted = sorted(each for each in expected if each > after)[:5]
        moves = occurrences(expression, *entries, on="previous" if step < 0 else "next")
        found, at = [], after
        for _ in wanted:
            at = moves.next(at) or 0
            found.append(at)
        assert found == wanted


def _between(schedule, low, high):  # type: ignore[no-untyped-def]
    at = schedule.next(low)
    while at is not None and at < high:
        yield at
        at = schedule.next(at)


NIGHTS = tuple(f"* {hour} * * *" for hour in range(23))


class TestLongSearches:
    """A search passes any number of excluded times by arithmetic, and has a bound."""

    @pytest.mark.parametrize(
        ("schedule", "exclude", "expected"),
        [
            ("* * * * * *", ("* 0-22 * * *", "* 23 * 1-11 *", "0-58 23 * 12 *"), "2026-12-01 23:59"),
            ("* * * * * *", (*NIGHTS, "* 23 * 1-11 *", "0-58 23 * 12 *", "59 23 1-30 12 *"), "2026-12-31 23:59"),
            ("* * * * * *", (*NIGHTS, "* 23 * * *", "2026-12-01"), None),
            ("* * * * * *", ("0-29 * * * * *", "30-59 * * * 1-11 *", "30-59 1-59 * * 12 *"), "2026-12-01 00:00:30"),
            ("*/2 * * * *", ("*/2 * * 1-11 *",), "2026-12-01 00:00"),
            ("*/2 * * * *", ("*/4 * * * *", "2-58/4 * * 1-11 *"), "2026-12-01 00:02"),
            ("0 9-17 * * *", ("0 9-12 * * *", "0 13-17 * 1-11 *", "0 13-16 * 12 *"), "2026-12-01 17:00"),
            ("0 9 * * MON", ("0 9 * * MON-SAT",), None),
            ("R/2026-01-01T09:00:00/P1D", ("0 9 * 1-11 *", "0-30 9 1-30 12 *"), "2026-12-31 09:00"),
            ("rate(30 minutes)", ("* * * 1-11 *", "0-59 0-22 * 12 *"), "2026-12-01 23:00"),
        ],
    )
    def test_exclusions_next_occurrence_after_months_is_found(
        self, schedule: str, exclude: tuple[str, ...], expected: str | None
    ) -> None:
        after = utc("2026-03-01 00:00")
        at = occurrences_of("", "", ScheduleSpec(schedule, anchor=after), exclude=exclude).next(after)
        shown = None if at is None else datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S")
        assert shown == (expected if expected is None else expected.ljust(19, "!").replace("!!!", ":00"))

    @pytest.mark.parametrize(
        ("start", "expected"),
        [("2090-01-01 00:00", "2090-01-02 00:00"), ("2600-01-04 00:00", "2600-01-06 00:00")],
    )
    def test_exclusions_first_occurrence_far_in_the_future_may_be_excluded(self, start: str, expected: str) -> None:
        spec = ScheduleSpec("* * * * *", start=utc(start))
        assert occurrences_of("", "", spec, exclude=(WEEKENDS,)).next(utc("2026-01-01 00:00")) == utc(expected)

    def test_exclusions_at_the_end_of_time_end_the_search(self) -> None:
        spec = ScheduleSpec("* * * * *", start=utc("9999-06-01 00:00"))
        assert occurrences_of("", "", spec, exclude=("* * * * *",)).next(0) is None
        window = "9990-01-01T00:00:00Z/9999-12-31T23:59:59Z/catch_up"
        assert occurrences_of("", "", spec, exclude=(window, WEEKENDS)).next(0) is None

    def test_exclusions_search_that_takes_too_long_is_an_error_and_not_the_end_of_the_schedule(self) -> None:
        rate = occurrences_of("", "", ScheduleSpec("rate(2 minutes)", anchor=0), exclude=("*/2 * * 1-11 *",))
        assert rate.next(utc("2026-11-30 23:58")) == utc("2026-12-01 00:00")
        with pytest.raises(ScheduleError, match="takes too long; use fewer or simpler cron expressions") as refused:
            rate.next(utc("2026-03-01 00:00"))
        assert refused.value.field == "exclude"


DAYS = tuple(f"* * {day} * *" for day in range(1, 29))


def calls(function: Callable[[], object]) -> int:
    """The number of function calls that a function makes."""
    count = 0

    def counting(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(counting)
    try:
        function()
    finally:
        sys.setprofile(before)
    return count


def parts(text: str) -> str:
    """Ten schedules."""
    return "|".join(text.format(n, n + 10) for n in range(10))


class TestWork:
    """The work of a search has a bound, whatever the schedule and its exclusions are."""

    @pytest.mark.parametrize("zone", ["UTC", "Africa/Casablanca"])
    @pytest.mark.parametrize(
        ("schedule", "exclude", "on_excluded"),
        [
            ("* * * * * *", ("* 0-22 * * *", "* 23 * 1-11 *", "0-58 23 * 12 *"), "skip"),
            ("* * * * * *", (*NIGHTS, "* 23 * 1-11 *", "0-58 23 * 12 *", "59 23 1-30 12 *"), "skip"),
            ("* * * * * *", (*NIGHTS, "* 23 * * *", "2026-12-01"), "skip"),
            ("rate(1 second)", ("*/2 * * * * *", "1-59/2 * * * * *"), "skip"),
            (parts("{} * * * * *"), (*NIGHTS, "* 23 * 1-11 *", "0-58 23 * 12 *"), "skip"),
            (parts("{} 9 W#{} * *"), DAYS, "skip"),
            (parts("{} 9 W#{} * *"), DAYS, "previous"),
            ("0 9 W#3 * *", ("* * * * MON-FRI",), "previous"),
            ("0 9 * * *", ("* * * * *",), "next"),
            ("0 9 * * *", ("* * 1-30 * *", "* 9 * * *"), "next"),
            ("*/7 * * * *", ("* * 2-30 * *", "*/7 * * * *"), "next"),
            (parts("{} 9 15 6 *"), ("* * * 1-11 *",), "next"),
            (parts("{} 9 {} 6 *"), (*DAYS[:20], "* * 21-31 * *"), "next"),
            (
                "* * * * * *",
                ("2026-12-01T00:00:00Z/2030-01-01T00:00:00Z/catch_up", *NIGHTS[:20], "* 20-23 * * *"),
                "skip",
            ),
        ],
    )
    def test_exclusions_search_makes_a_bounded_number_of_calls(
        self, zone: str, schedule: str, exclude: tuple[str, ...], on_excluded: str
    ) -> None:
        spec = ScheduleSpec(schedule, zone, anchor=0, on_excluded=on_excluded)
        occurrences_of.cache_clear()
        compile_exclusions.cache_clear()

        def search() -> None:
            with suppress(ScheduleError):
                occurrences_of("", "", spec, exclude=exclude).next(utc("2026-11-28 00:00"))

        assert calls(search) < 200_000

    @pytest.mark.parametrize(
        ("schedule", "exclude", "on_excluded", "expected"),
        [
            ("rate(1 day)", ("2026-11-01/2030-12-31",), "skip", "2031-01-01 00:00"),
            ("rate(1 second)", ("2026-11-01/2030-12-31",), "skip", "2031-01-01 00:00"),
            ("0 0 29 2 *", ("2028-02-29", "2032-02-29", "2036-02-29"), "skip", "2040-02-29 00:00"),
            ("0 0 29 2 *", ("* * * * SUN-FRI",), "skip", "2048-02-29 00:00"),
            (
                "*/30 * * * * *",
                ("* 0-8,18-23 * * *", "* * * * SAT,SUN", "2026-11-01/2029-12-31"),
                "skip",
                "2030-01-01 09:00",
            ),
            ("rate(30 seconds)", ("* 0-8,18-23 * * *", "* * * * SAT,SUN", "* * * 11 *"), "skip", "2026-12-01 09:00"),
            (
                "0 9 * * MON",
                tuple(f"{year}-01-01/{year}-12-31" for year in range(2026, 2032)),
                "skip",
                "2032-01-05 09:00",
            ),
            ("0 9 * * MON", ("* * * 1-11 *", "0-59 9 1-30 12 *"), "skip", "2029-12-31 09:00"),
            ("0 9 W#1 * *", ("2026-11-01/2040-12-31",), "skip", "2041-01-01 09:00"),
            ("0 9 1 * *", ("* * 1-30 * *", "* * 31 1-11 *"), "next", "2026-12-31 09:00"),
            ("*/5 * * * *", ("* * * * SAT,SUN", "* 0-7,18-23 * * *"), "next", "2026-11-30 08:00"),
        ],
    )
    def test_exclusions_of_many_years_are_passed(
        self, schedule: str, exclude: tuple[str, ...], on_excluded: str, expected: str
    ) -> None:
        spec = ScheduleSpec(schedule, anchor=0, on_excluded=on_excluded)
        at = occurrences_of("", "", spec, exclude=exclude).next(utc("2026-11-28 00:00"))
        assert at == utc(expected)


class TestPreview:
    def test_exclusions_shows_from_where_an_occurrence_moved(self) -> None:
        spec = ScheduleSpec("0 18 L * *", BERLIN, on_excluded="previous")
        first, second = preview(spec, utc("2026-10-01 00:00"), 2, exclude=(WEEKENDS,))
        assert (first.mark, first.wall, first.named) == ("shifted", "2026-10-30T18:00:00", "2026-10-31T18:00:00")
        assert (second.mark, second.wall) == (None, "2026-11-30T18:00:00")

    def test_exclusions_lists_a_bounded_number_of_excluded_days(self) -> None:
        found = preview(ScheduleSpec("0 9 * * 6"), 0, 3, exclude=("* * * 2-12 *", "* * 8-31 * *"))
        assert sum(entry.mark is None for entry in found) == 3
        never = preview(ScheduleSpec("0 9 * * 6"), 0, 3, exclude=("* 9 * * *",))
        assert [entry.mark for entry in never] == ["excluded"] * MAX_EXCLUDED


class TestCalendars:
    @given(
        st.lists(st.tuples(st.dates(date(1960, 1, 1), date(2100, 1, 1)), st.integers(0, 40)), max_size=20),
        st.lists(st.sampled_from([WEEKENDS, "* * 24 12 *", "* 0-5 * * MON"]), max_size=2, unique=True),
    )
    def test_exclusions_copy_excludes_what_its_entries_exclude(
        self, ranges: list[tuple[date, int]], crons: list[str]
    ) -> None:
        entries = [f"{first}/{first + timedelta(days=length)}" for first, length in ranges] + crons
        days = packed_days(entries)
        assert packed_days(list(unpack(days))) == days
        spec = ScheduleSpec("0 3,9 * * *")
        copied = occurrences_of("", "", spec, exclude=("2026-02-02", calendar(*entries)))
        written = occurrences_of("", "", spec, exclude=("2026-02-02", *entries))
        at = utc("2026-01-01 00:00")
        for _ in range(50):
            following = copied.next(at)
            assert following == written.next(at)
            at = following or at

    def test_exclusions_its_entries_are_in_order_and_each_day_is_named_once(self) -> None:
        days = packed_days(["2027-01-01", WEEKENDS, "2026-12-25/2026-12-26", "2026-12-24", WEEKENDS])
        assert list(unpack(days)) == ["2026-12-24/2026-12-26", "2027-01-01", WEEKENDS]

    def test_exclusions_entry_without_days_excludes_nothing(self) -> None:
        assert occurrences("0 9 * * *", Days("")).next(0) == 9 * 3600

    def test_exclusions_calendar_that_would_fill_the_cursor_is_refused(self) -> None:
        alternate = [(date(2026, 1, 1) + timedelta(days=2 * number)).isoformat() for number in range(400)]
        with pytest.raises(CalendarSizeError):
            packed_days(alternate)


class TestWindows:
    """Two instants with a slash: no occurrence from the first one on, until the second one."""

    WINDOW = "2026-10-24T20:00:00Z/2026-10-25T02:00:00+01:00"

    @pytest.mark.parametrize(
        ("expression", "expected"),
        [
            ("30 * * * *", ["Sat 2026-10-24 21:30", "Sun 2026-10-25 02:30"]),
            ("0 * * * *", ["Sat 2026-10-24 21:00", "Sun 2026-10-25 02:00"]),
            ("rate(90 minutes)", ["Sat 2026-10-24 21:00", "Sun 2026-10-25 02:00"]),
            ("at(2026-10-24T23:00:00)", []),
        ],
    )
    def test_windows_exclude_their_begin_and_not_their_end(self, expression: str, expected: list[str]) -> None:
        anchored = {"anchor": utc("2026-10-24 19:00")} if expression.startswith("rate") else {}
        within = occurrences(expression, self.WINDOW, zone=BERLIN, **anchored)  # type: ignore[arg-type]
        assert local(within, "2026-10-24 18:59", 2) == expected

    def test_windows_that_overlap_or_touch_are_one(self) -> None:
        day = "2026-11-21T{}:00:00Z/2026-11-21T{}:00:00Z"
        three = (day.format("08", "10"), day.format("10", "12"), day.format("09", "11"), day.format("14", "15"))
        found = occurrences("0 * * * *", *three, "* 12 * * *")
        assert local(found, "2026-11-21 06:30", 4) == [f"Sat 2026-11-21 {at}:00" for at in ("07", "13", "15", "16")]

    def test_windows_of_a_calendar_are_kept_in_utc_and_read_back(self) -> None:
        entries = ("* * * * SUN", self.WINDOW, "2026-12-25")
        read = ["2026-12-25", "2026-10-24T20:00:00Z/2026-10-25T01:00:00Z", "* * * * SUN"]
        assert list(unpack(packed_days(entries))) == read
        assert occurrences("0 21 * * *", calendar(*entries)).next(utc("2026-10-24 00:00")) == utc("2026-10-26 21:00")

    def test_windows_are_one_entry_of_a_preview(self) -> None:
        found = preview(ScheduleSpec("0 * * * *", "UTC"), utc("2026-10-24 19:30"), 1, exclude=(self.WINDOW,))
        assert [(each.instant, each.mark) for each in found] == [
            (utc("2026-10-24 20:00"), "excluded"),
            (utc("2026-10-25 01:00"), None),
        ]

    @pytest.mark.parametrize(
        "entry",
        [
            "2026-10-24T20:00:00Z/2026-10-24T20:00:00Z",
            "2026-10-24T20:00:00Z/2026-10-24T19:00:00Z",
            "2026-10-24T20:00:00/2026-10-25T20:00:00",
            "2026-10-24T20:00:00Z/2026-10-25",
            "2026-10-24T20:00:00Z/",
        ],
    )
    def test_windows_that_are_not_two_instants_in_order_are_refused(self, entry: str) -> None:
        with pytest.raises(ExclusionError, match=r"window|write an instant"):
            occurrences("0 * * * *", entry)


class TestCaughtUpWindows:
    """Windows whose occurrences are replaced by one at their end."""

    WINDOW = "2026-12-05T22:00:00Z/2026-12-06T02:00:00Z/catch_up"

    @pytest.mark.parametrize(
        ("expression", "others", "expected"),
        [
            ("0 23 * * *", [], ["Sun 2026-12-06 02:00", "Sun 2026-12-06 23:00"]),
            ("0 22,23 * * *", [], ["Sun 2026-12-06 02:00", "Sun 2026-12-06 22:00"]),
            ("0 * * * *", [], ["Sun 2026-12-06 02:00", "Sun 2026-12-06 03:00"]),
            ("0 2 * * *", [], ["Sun 2026-12-06 02:00", "Mon 2026-12-07 02:00"]),
            ("0 3 * * *", [], ["Sun 2026-12-06 03:00", "Mon 2026-12-07 03:00"]),
            ("at(2026-12-05T23:00:00)", [], ["Sun 2026-12-06 02:00"]),
            ("0 23 * * *", ["* * * * SUN"], ["Mon 2026-12-07 00:00", "Mon 2026-12-07 23:00"]),
            ("0 23 * * *", ["2026-12-05"], ["Sun 2026-12-06 23:00", "Mon 2026-12-07 23:00"]),
            (
                "0 23 * * *",
                ["2026-12-06T01:00:00Z/2026-12-06T03:00:00Z"],
                ["Sun 2026-12-06 03:00", "Sun 2026-12-06 23:00"],
            ),
        ],
        ids=["one", "two", "many", "its end", "none", "one-off", "end excluded", "day excluded", "end in a window"],
    )
    def test_caught_up_windows_have_one_occurrence_at_the_first_instant_that_is_not_excluded(
        self, expression: str, others: list[str], expected: list[str]
    ) -> None:
        found = occurrences(expression, self.WINDOW, *others)
        assert local(found, "2026-12-05 21:30", 2) == expected

    def test_caught_up_windows_have_their_occurrence_also_for_a_search_that_begins_within(self) -> None:
        found = occurrences("0 23 * * *", self.WINDOW)
        assert local(found, "2026-12-06 00:30", 1) == local(found, "2026-12-05 23:00", 1) == ["Sun 2026-12-06 02:00"]

    def test_caught_up_windows_do_not_run_after_the_end_of_the_schedule(self) -> None:
        found = occurrences("0 23 * * *", self.WINDOW, end=utc("2026-12-06 01:00"))  # type: ignore[arg-type]
        assert local(found, "2026-12-05 21:30") == []

    def test_caught_up_windows_of_a_calendar_are_read_back(self) -> None:
        plain = "2026-12-12T22:00:00Z/2026-12-13T02:00:00Z"
        assert list(unpack(packed_days([plain, self.WINDOW]))) == [self.WINDOW, plain]

    def test_caught_up_windows_of_a_year_fit_into_a_calendar(self) -> None:
        begin = [datetime(2026, 12, 5, 22, tzinfo=UTC) + timedelta(days=7 * week) for week in range(52)]
        form = "%Y-%m-%dT%H:%M:%SZ"
        windows = [f"{at:{form}}/{at + timedelta(hours=4):{form}}/catch_up" for at in begin]
        assert list(unpack(packed_days(windows))) == windows

    def test_caught_up_windows_are_shown_by_a_preview(self) -> None:
        found = preview(ScheduleSpec("0 22,23 * * *"), utc("2026-12-05 12:00"), 2, exclude=(self.WINDOW,))
        assert [(each.instant, each.mark, each.named) for each in found] == [
            (utc("2026-12-05 22:00"), "excluded", None),
            (utc("2026-12-06 02:00"), "shifted", "2026-12-05T22:00:00"),
            (utc("2026-12-06 22:00"), None, None),
        ]

    @given(st.data())
    def test_caught_up_windows_agree_with_a_walk_along_the_clock(self, data: st.DataObject) -> None:
        hours = st.integers(0, 72)
        spans = data.draw(st.lists(st.tuples(hours, st.integers(1, 30), st.booleans()), min_size=1, max_size=4))
        step, begin = data.draw(st.sampled_from([1, 3, 7, 24])), utc("2026-12-04 00:00")

        def iso(hour: int) -> str:
            return datetime.fromtimestamp(begin + hour * 3600, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

        entries = [f"{iso(at)}/{iso(at + length)}{'/catch_up' * caught}" for at, length, caught in spans]
        found = occurrences(f"0 */{step} * * *" if step < 24 else "0 5 * * *", *entries)
        named = {hour for hour in range(200) if (hour % 24 % step == 0 if step < 24 else hour % 24 == 5)}
        plain = {hour for at, length, caught in spans if not caught for hour in range(at, at + length)}
        caught_up = {hour for at, length, caught in spans if caught for hour in range(at, at + length)}
        expected = named - plain - caught_up
        for hour in named & (caught_up - plain):
            end = next(each for each in range(hour, 500) if each not in caught_up)
            expected.add(next(each for each in range(end, 500) if each not in plain | caught_up))
        at, walked = begin - 1, []
        while (following := found.next(at)) is not None and following < begin + 150 * 3600:
            at = following
            walked.append((at - begin) // 3600)
        assert walked == sorted(hour for hour in expected if hour < 150)
        for hour in range(150):
            after = begin + hour * 3600
            assert found.next(after) == next(begin + each * 3600 for each in sorted(expected) if each > hour)
