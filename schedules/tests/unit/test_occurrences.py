"""Occurrences, windows and previews of any schedule.

- Exclusions and jitter: what is left of a schedule, and when it is really due.
- start <= occurrence < end, for every form; and what `next` promises.
- The preview: occurrences in UTC and on the wall clock, and what a DST rule did to them.
- Schedules are shared between the threads of a worker.
"""

import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duecourse_schedules import ScheduleSpec, compile_schedule
from duecourse_schedules.exclusions import ExclusionError, canonical_exclusion, compile_exclusions
from duecourse_schedules.preview import COUNTED, MAX_DROPPED, PreviewEntry, preview
from duecourse_schedules.schedule import Occurrences, Schedule, forget, occurrences_of
from schedules.tests.support.schedules import from_iso, instants, refusal, schedule, to_iso, utc


def occurrences(expression: str, timezone: str = "UTC", *exclude: str, jitter: int = 0) -> Occurrences:
    spec = ScheduleSpec(expression, timezone, anchor=0)
    return occurrences_of("default", "nightly", spec, exclude=exclude, jitter_seconds=jitter)


def upcoming(of: Occurrences, after: str, count: int) -> list[str]:
    at, found = int(from_iso(after)), []
    for _ in range(count):
        following = of.next(at)
        assert following is not None
        found.append(to_iso(at := following))
    return found


def test_occurrences_exclude_an_excluded_instant() -> None:
    daily = occurrences("0 9 * * *", "UTC", "2026-12-25T09:00:00Z")
    assert upcoming(daily, "2026-12-24T00:00:00Z", 2) == ["2026-12-24T09:00:00Z", "2026-12-26T09:00:00Z"]


def test_occurrences_exclude_a_date_in_the_zone_of_the_job() -> None:
    tokyo = occurrences("0 */6 * * *", "Asia/Tokyo", "2026-12-25")
    assert upcoming(tokyo, "2026-12-24T08:59:59Z", 3) == [
        "2026-12-24T09:00:00Z",
        "2026-12-25T15:00:00Z",
        "2026-12-25T21:00:00Z",
    ]


def test_occurrences_exclude_both_ends_of_an_excluded_range() -> None:
    daily = occurrences("0 9 * * *", "UTC", "2026-12-24/2027-01-02")
    assert upcoming(daily, "2026-12-23T00:00:00Z", 2) == ["2026-12-23T09:00:00Z", "2027-01-03T09:00:00Z"]


def test_occurrences_merge_exclusions_that_touch_or_overlap() -> None:
    compiled = compile_exclusions(("2026-12-24/2026-12-26", "2026-12-27", "2026-12-20/2026-12-24"), "UTC")
    assert len(compiled.days.firsts) == 1


def test_occurrences_pass_a_long_sequence_of_excluded_years_in_one_step() -> None:
    asked = []

    class Counting:
        on_wall = None

        @property
        def parts(self) -> tuple[object]:
            return (self,)

        def next(self, after: int) -> int | None:
            asked.append(after)
            return after + 1

    every_second = occurrences("rate(1 second)", "UTC", "2026-01-01/2035-12-31")
    counted = Occurrences(Counting(), every_second.owner, 0, every_second.exclusions)  # type: ignore[arg-type]
    assert counted.next(int(from_iso("2026-06-01T00:00:00Z"))) == from_iso("2036-01-01T00:00:00Z")
    assert len(asked) == 3


def test_occurrences_exclude_the_whole_day_even_if_it_starts_twice_or_not_at_midnight() -> None:
    # Havana's clocks go back from 01:00 to 00:00 on 2025-11-02, Beirut's forward at midnight on 2026-03-29.
    havana = occurrences("*/30 * * * *", "America/Havana", "2025-11-02")
    assert upcoming(havana, "2025-11-02T03:45:00Z", 1) == ["2025-11-03T05:00:00Z"]
    beirut = occurrences("*/30 * * * *", "Asia/Beirut", "2026-03-29")
    assert upcoming(beirut, "2026-03-28T21:45:00Z", 1) == ["2026-03-29T21:00:00Z"]


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ("2026-02-30", "2026-02-30"),
        ("2026-12-26/2026-12-24", "ends before it begins"),
        ("2026-12-24/soon", "two dates"),
        ("christmas", "write an instant as"),
        ("2026-12-25T09:00:00", "write an instant as"),
        ("2026-12-25T09:00:00.5Z", "whole seconds"),
    ],
)
def test_occurrences_reject_an_invalid_exclusion_with_a_remedy(entry: str, says: str) -> None:
    with pytest.raises(ExclusionError, match=says) as caught:
        compile_exclusions(("2026-01-01", entry), "UTC")
    assert caught.value.index == 1


def test_occurrences_store_an_excluded_instant_in_utc() -> None:
    assert canonical_exclusion("2026-12-25T09:00:00+01:00") == "2026-12-25T08:00:00Z"
    assert canonical_exclusion("2026-12-24/2027-01-02") == "2026-12-24/2027-01-02"


@given(after=st.integers(0, 4_000_000_000), jitter=st.integers(0, 3600))
def test_occurrences_with_jitter_stay_within_its_bound_and_before_the_next_occurrence(after: int, jitter: int) -> None:
    every_ten_minutes = occurrences("*/10 * * * *", jitter=jitter)
    at = every_ten_minutes.next(after)
    assert at is not None
    following = every_ten_minutes.next(at)
    assert following is not None
    assert at <= every_ten_minutes.due(at) <= min(at + jitter, following - 1)


def test_occurrences_have_stable_and_evenly_distributed_jitter() -> None:
    daily = occurrences("0 9 * * *", jitter=600)
    times = []
    at: int | None = 0
    for _ in range(200):
        at = daily.next(at or 0)
        assert at is not None
        assert daily.due(at) == daily.due(at)
        times.append(daily.due(at) - at)
    assert len(set(times)) > 100
    assert 200 < sum(times) / len(times) < 400


def test_occurrences_have_increasing_due_times() -> None:
    of = occurrences("*/7 * * * *", "Europe/Berlin", "2026-03-29", jitter=3600)
    at, dues = 1_774_000_000, []
    for _ in range(500):
        following = of.next(at)
        assert following is not None
        at = following
        dues.append(of.due(at))
    assert all(one < other for one, other in pairwise(dues))


FORMS = [
    "*/5 * * * *",
    "7 3 * * *",
    "0 0 L * *",
    "cron(0/10 9 ? * * *)",
    "rate(7 minutes)",
    "R/2026-01-01T00:00:00Z/PT1H",
    "R/2026-01-01T00:00:00/P1D",
]


@pytest.mark.parametrize("expression", FORMS)
def test_occurrences_include_the_start_of_the_window_and_exclude_its_end(expression):
    free = schedule(expression, anchor=0)
    first = free.next(utc("2026-02-01 00:00"))
    second = free.next(first)
    third = free.next(second)
    inside = schedule(expression, anchor=0, start=first, end=third)
    assert list(inside.upcoming(0)) == [first, second]
    assert schedule(expression, anchor=0, start=first + 1).next(0) == second
    assert schedule(expression, anchor=0, end=first).next(first - 1) is None
    assert schedule(expression, anchor=0, end=first + 1).next(first - 1) == first


def test_occurrences_never_include_a_single_time_outside_the_window():
    at = utc("2026-07-01 09:00")
    assert schedule("2026-07-01T09:00:00Z", start=at, end=at + 1).next(0) == at
    assert schedule("2026-07-01T09:00:00Z", start=at + 1).next(0) is None
    assert schedule("2026-07-01T09:00:00Z", end=at).next(0) is None


def test_occurrences_next_is_strictly_after_the_given_instant():
    daily = schedule("0 9 * * *")
    nine = utc("2026-01-01 09:00")
    assert (daily.next(nine - 1), daily.next(nine)) == (nine, nine + 86_400)


def test_occurrences_next_does_not_depend_on_earlier_calls():
    asked = [
        utc(f"{year}-{month:02}-0{day} 05:59:59")
        for year in (2026, 1999, 2150, 2031)
        for month in (3, 11, 7)
        for day in (1, 8)
    ]
    spec = ScheduleSpec("30 1,2 * * *", "America/New_York")
    shared = compile_schedule(spec)
    there = [shared.next(at) for at in asked]
    back = [shared.next(at) for at in reversed(asked)]
    forget()
    alone = [compile_schedule(spec).next(at) for at in asked]
    assert there == list(reversed(back)) == alone


def test_occurrences_upcoming_is_lazy_and_ends_with_the_schedule():
    endless = schedule("* * * * *").upcoming(0)
    assert [next(endless), next(endless)] == [60, 120]
    assert list(schedule("R2/1970-01-01T00:00:10Z/PT5S").upcoming(0)) == [10, 15]


@pytest.mark.parametrize("expression", ["0 9 * * *", "*/7 * * * *", "0 0 29 2 *", "30 1 * * SUN", "rate(1 day)"])
def test_occurrences_accept_instants_before_1970_and_at_the_ends_of_the_calendar(expression):
    spec = schedule(expression, "Europe/Berlin", anchor=0)
    assert spec.next(-(10**18)) is not None
    assert spec.next(utc("1850-01-01 00:00")) is not None
    assert spec.next(utc("9999-12-31 00:00") + 10**6) is None
    assert spec.next(10**18) is None


def test_occurrences_use_local_mean_time_with_seconds():
    # Amsterdam's clock was 19 min 32 s ahead of UTC (tzdata folds it into Brussels': 17 min 30 s).
    assert instants("0 12 * * *", "Europe/Brussels", after="1885-06-01 00:00", count=1) == ["1885-06-01 11:42:30"]


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"dst_gap": "later"}, "dst_gap"),
        ({"dst_gap": ""}, "dst_gap"),
        ({"dst_fold": "third"}, "dst_fold"),
        ({"dst_fold": None}, "dst_fold"),
        ({"start": 10, "end": 10}, "end"),
        ({"start": 10, "end": 5}, "end"),
        ({"start": 1.5}, "start"),
        ({"end": "2026-01-01"}, "end"),
        ({"anchor": True}, "anchor"),
        ({"start": []}, "start"),
        ({"dst_gap": []}, "dst_gap"),
    ],
)
def test_occurrences_reject_invalid_options_with_their_field(more, field):
    error = refusal("0 9 * * *", **more)
    assert error.field == field
    assert str(error) == f"{field}: {error.detail}"


def test_occurrences_reject_values_that_are_not_text():
    assert refusal(5).field == "schedule"
    assert refusal("0 9 * * *", None).field == "timezone"


def test_occurrences_reject_a_wrong_type_even_if_it_equals_a_valid_number():
    assert schedule("0 9 * * *", start=1, end=10**9)
    assert refusal("0 9 * * *", start=True, end=10**9).field == "start"
    assert refusal("0 9 * * *", start=1, end=1e9).field == "end"


def test_occurrences_share_one_schedule_for_equal_specs():
    assert compile_schedule(ScheduleSpec("1 2 3 4 *")) is compile_schedule(ScheduleSpec("1 2 3 4 *"))


NEW_YORK = "America/New_York"


def shown(expression, timezone=NEW_YORK, *, after, count=3, until=None, **more):
    entries = preview(
        ScheduleSpec(expression, timezone, **more), utc(after), count, None if until is None else utc(until)
    )
    return [(entry.wall, entry.mark) for entry in entries]


def test_occurrences_preview_shows_instant_wall_clock_and_offset():
    assert preview(ScheduleSpec("0 9 * * 1", NEW_YORK), utc("2026-01-01 00:00"), 1) == (
        PreviewEntry(utc("2026-01-05 14:00"), "2026-01-05T09:00:00", -18_000),
    )


def test_occurrences_preview_marks_a_fixed_time_in_a_gap_as_moved_with_its_original_time():
    [entry] = preview(ScheduleSpec("15,30 2 * * *", NEW_YORK), utc("2026-03-08 00:00"), 1)
    assert entry == PreviewEntry(
        utc("2026-03-08 07:00"), "2026-03-08T03:00:00", -14_400, "moved", "2026-03-08T02:15:00", 2
    )


def test_occurrences_preview_marks_the_time_after_a_gap_only_if_a_time_in_it_was_moved_there():
    assert shown("0 3 * * *", after="2026-03-08 00:00", count=1) == [("2026-03-08T03:00:00", None)]
    assert shown("0 2,3 * * *", after="2026-03-08 00:00", count=1) == [("2026-03-08T03:00:00", "moved")]


def test_occurrences_preview_lists_a_skipped_time_as_dropped_in_its_place_without_counting_it():
    assert shown("30 2 * * *", after="2026-03-07 00:00", dst_gap="skip") == [
        ("2026-03-07T02:30:00", None),
        ("2026-03-08T02:30:00", "dropped"),
        ("2026-03-09T02:30:00", None),
        ("2026-03-10T02:30:00", None),
    ]


def test_occurrences_preview_combines_interval_times_dropped_in_a_gap_in_one_entry():
    entries = preview(ScheduleSpec("*/30 * * * *", NEW_YORK), utc("2026-03-08 06:00"), 2)
    assert [(entry.instant, entry.wall, entry.mark, entry.count) for entry in entries] == [
        (utc("2026-03-08 06:30"), "2026-03-08T01:30:00", None, 1),
        (None, "2026-03-08T02:00:00", "dropped", 2),
        (utc("2026-03-08 07:00"), "2026-03-08T03:00:00", None, 1),
    ]


def test_occurrences_preview_marks_the_second_pass_of_a_fold_as_repeated_if_both_fire():
    passes = [("2026-11-01T01:30:00", None), ("2026-11-01T01:30:00", "repeated"), ("2026-11-02T01:30:00", None)]
    assert shown("30 1 * * *", after="2026-11-01 00:00", dst_fold="both") == passes
    assert shown("*/60 30 1 * * *", after="2026-11-01 00:00") == passes


def test_occurrences_preview_does_not_mark_a_single_pass_of_a_fold():
    once = [("2026-11-01T01:30:00", None), ("2026-11-02T01:30:00", None)]
    assert shown("30 1 * * *", after="2026-11-01 00:00", count=2) == once
    assert shown("30 1 * * *", after="2026-11-01 00:00", count=2, dst_fold="second") == once
    offsets = [
        preview(ScheduleSpec("30 1 * * *", NEW_YORK, dst_fold=fold), utc("2026-11-01 00:00"), 1)[0].offset
        for fold in ("first", "second")
    ]
    assert offsets == [-14_400, -18_000]


def test_occurrences_preview_marks_a_single_time_like_a_recurring_one():
    expression = "at(2026-03-08T02:30:00)"
    assert shown(expression, after="2026-01-01 00:00") == [("2026-03-08T03:00:00", "moved")]
    assert shown(expression, after="2026-01-01 00:00", dst_gap="skip") == [("2026-03-08T02:30:00", "dropped")]
    assert shown("at(2026-11-01T01:30:00)", after="2026-01-01 00:00", dst_fold="both") == [
        ("2026-11-01T01:30:00", None),
        ("2026-11-01T01:30:00", "repeated"),
    ]


def test_occurrences_preview_never_marks_rates_or_instants():
    assert shown("rate(30 minutes)", after="2026-11-01 05:00", count=3, anchor=0) == [
        ("2026-11-01T01:30:00", None),
        ("2026-11-01T01:00:00", None),
        ("2026-11-01T01:30:00", None),
    ]
    assert shown("2026-03-08T07:00:00Z", after="2026-01-01 00:00") == [("2026-03-08T03:00:00", None)]
    assert shown("rate(30 minutes)", after="2026-03-08 06:30", count=2, anchor=0, dst_gap="skip") == [
        ("2026-03-08T03:00:00", None),
        ("2026-03-08T03:30:00", None),
    ]


def test_occurrences_preview_of_a_schedule_that_never_fires_shows_dropped_times():
    entries = preview(ScheduleSpec("30 2 * 3 SUN#2", NEW_YORK, dst_gap="skip"), utc("2026-01-01 00:00"))
    assert 45 <= len(entries) <= MAX_DROPPED
    assert {entry.mark for entry in entries} == {"dropped"}
    assert [entry.wall for entry in entries[:2]] == ["2026-03-08T02:30:00", "2027-03-14T02:30:00"]


def test_occurrences_preview_applies_the_window_to_dropped_times():
    limits = {"dst_gap": "skip", "start": utc("2027-01-01 00:00"), "end": utc("2028-01-01 00:00")}
    assert shown("30 2 * 3 SUN#2", after="2026-01-01 00:00", **limits) == [("2027-03-14T02:30:00", "dropped")]
    assert shown("30 2 * * *", after="2026-03-08 00:00", until="2026-03-09 00:00", dst_gap="skip") == [
        ("2026-03-08T02:30:00", "dropped")
    ]


def test_occurrences_preview_excludes_the_until_instant():
    assert shown("0 9 * * *", "UTC", after="2026-01-01 00:00", until="2026-01-02 09:00", count=9) == [
        ("2026-01-01T09:00:00", None)
    ]


def test_occurrences_preview_handles_a_day_that_the_zone_skipped():
    assert shown("0 9 * * *", "Pacific/Apia", after="2011-12-29 12:00") == [
        ("2011-12-29T09:00:00", None),
        ("2011-12-31T00:00:00", "moved"),
        ("2011-12-31T09:00:00", None),
    ]


def test_occurrences_preview_limits_the_count_of_times_in_a_gap():
    entries = preview(ScheduleSpec("* * * * * *", NEW_YORK), utc("2026-03-08 06:59:58"), 2)
    assert [(entry.mark, entry.count) for entry in entries] == [(None, 1), ("dropped", COUNTED), (None, 1)]


def test_occurrences_preview_with_a_count_of_zero_is_empty():
    assert preview(ScheduleSpec("* * * * *"), 0, 0) == ()


def test_occurrences_are_the_same_for_threads_that_share_a_schedule():
    spec = ScheduleSpec("30 1,2 L,15 * MON#1", "Australia/Lord_Howe", dst_fold="both")
    starts = [utc(f"{year}-{month:02}-03 11:00") for year in range(1990, 2190, 25) for month in (1, 4, 10)]

    def row(start):
        found, at = [], start
        schedule = compile_schedule(spec)
        for _ in range(40):
            at = schedule.next(at)
            found.append(at)
        return found

    alone = [row(start) for start in starts]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(3):
            forget()
            with ThreadPoolExecutor(8) as pool:
                assert list(pool.map(row, starts)) == alone
    finally:
        sys.setswitchinterval(interval)


@pytest.mark.parametrize("jitter", [0, 7, 3600])
@pytest.mark.parametrize("expression", ["* * * * * *", "*/7 * * * *", "0 9 * * *", "at(2026-12-24T09:00:00)"])
def test_occurrences_first_one_due_after_an_instant_is_that_of_a_walk(expression: str, jitter: int) -> None:
    of = occurrences(expression, "Europe/Berlin", "2026-12-24T00:00:00Z/2026-12-24T07:00:00Z", jitter=jitter)
    begin = int(from_iso("2026-12-24T06:50:00Z"))
    walk, at = list[tuple[int, int]](), of.next(begin - 4000)
    while at is not None and at < begin + 90_000 and len(walk) < 20_000:
        walk.append((at, of.due(at)))
        at = of.next(at)
    for instant in range(begin, begin + 9000, 611):
        following = next((each for each in walk if each[1] > instant), None)
        if following is not None or at is None:
            assert of.due_after(instant) == (following or (None, None))


def test_occurrences_last_one_of_a_range_is_that_of_a_walk() -> None:
    of = occurrences("*/7 * * * *", "Europe/Berlin", "2026-12-24T00:00:00Z/2026-12-24T07:00:00Z")
    begin = int(from_iso("2026-12-24T06:30:00Z"))
    for instant in range(begin, begin + 7200, 401):
        walk, at = list[int](), of.next(instant - 1801)
        while at is not None and at <= instant:
            walk.append(at)
            at = of.next(at)
        assert of.last(instant, instant - 1800) == (walk[-1] if walk else None)


class Counted(Schedule):
    """A schedule of every second that counts its searches."""

    searches = 0
    canonical = words = "every second"

    def next(self, after: int) -> int | None:
        self.searches += 1
        return after + 1


def test_occurrences_first_one_due_after_an_instant_costs_the_same_with_a_long_delay() -> None:
    every_second = Counted(ScheduleSpec("* * * * * *"))
    of = Occurrences(every_second, "default#nightly", 3600, None)
    of.due_after(int(from_iso("2026-12-24T06:30:00Z")))
    assert every_second.searches < 20
