"""The preview: occurrences in UTC and on the wall clock, and what a DST rule did to them."""

from duecourse.domain.schedules import ScheduleSpec
from duecourse.domain.schedules.preview import COUNTED, MAX_DROPPED, PreviewEntry, preview
from tests.support.schedules import utc

NEW_YORK = "America/New_York"


def shown(expression, timezone=NEW_YORK, *, after, count=3, until=None, **more):
    entries = preview(
        ScheduleSpec(expression, timezone, **more), utc(after), count, None if until is None else utc(until)
    )
    return [(entry.wall, entry.mark) for entry in entries]


def test_an_ordinary_time_has_its_instant_its_wall_clock_and_its_offset():
    assert preview(ScheduleSpec("0 9 * * 1", NEW_YORK), utc("2026-01-01 00:00"), 1) == (
        PreviewEntry(utc("2026-01-05 14:00"), "2026-01-05T09:00:00", -18_000),
    )


def test_a_fixed_time_in_a_gap_is_marked_as_moved_and_says_from_where():
    [entry] = preview(ScheduleSpec("15,30 2 * * *", NEW_YORK), utc("2026-03-08 00:00"), 1)
    assert entry == PreviewEntry(
        utc("2026-03-08 07:00"), "2026-03-08T03:00:00", -14_400, "moved", "2026-03-08T02:15:00", 2
    )


def test_the_time_after_the_gap_is_moved_only_when_one_in_it_fell_there():
    assert shown("0 3 * * *", after="2026-03-08 00:00", count=1) == [("2026-03-08T03:00:00", None)]
    assert shown("0 2,3 * * *", after="2026-03-08 00:00", count=1) == [("2026-03-08T03:00:00", "moved")]


def test_a_skipped_time_is_listed_as_dropped_at_its_place_beside_the_count():
    assert shown("30 2 * * *", after="2026-03-07 00:00", dst_gap="skip") == [
        ("2026-03-07T02:30:00", None),
        ("2026-03-08T02:30:00", "dropped"),
        ("2026-03-09T02:30:00", None),
        ("2026-03-10T02:30:00", None),
    ]


def test_an_interval_drops_its_times_in_a_gap_in_one_entry():
    entries = preview(ScheduleSpec("*/30 * * * *", NEW_YORK), utc("2026-03-08 06:00"), 2)
    assert [(entry.instant, entry.wall, entry.mark, entry.count) for entry in entries] == [
        (utc("2026-03-08 06:30"), "2026-03-08T01:30:00", None, 1),
        (None, "2026-03-08T02:00:00", "dropped", 2),
        (utc("2026-03-08 07:00"), "2026-03-08T03:00:00", None, 1),
    ]


def test_the_second_pass_of_a_fold_is_marked_as_repeated_where_both_fire():
    passes = [("2026-11-01T01:30:00", None), ("2026-11-01T01:30:00", "repeated"), ("2026-11-02T01:30:00", None)]
    assert shown("30 1 * * *", after="2026-11-01 00:00", dst_fold="both") == passes
    assert shown("*/60 30 1 * * *", after="2026-11-01 00:00") == passes


def test_a_single_pass_of_a_fold_is_not_marked():
    once = [("2026-11-01T01:30:00", None), ("2026-11-02T01:30:00", None)]
    assert shown("30 1 * * *", after="2026-11-01 00:00", count=2) == once
    assert shown("30 1 * * *", after="2026-11-01 00:00", count=2, dst_fold="second") == once
    offsets = [
        preview(ScheduleSpec("30 1 * * *", NEW_YORK, dst_fold=fold), utc("2026-11-01 00:00"), 1)[0].offset
        for fold in ("first", "second")
    ]
    assert offsets == [-14_400, -18_000]


def test_a_single_time_is_marked_like_a_recurring_one():
    expression = "at(2026-03-08T02:30:00)"
    assert shown(expression, after="2026-01-01 00:00") == [("2026-03-08T03:00:00", "moved")]
    assert shown(expression, after="2026-01-01 00:00", dst_gap="skip") == [("2026-03-08T02:30:00", "dropped")]
    assert shown("at(2026-11-01T01:30:00)", after="2026-01-01 00:00", dst_fold="both") == [
        ("2026-11-01T01:30:00", None),
        ("2026-11-01T01:30:00", "repeated"),
    ]


def test_rates_and_instants_are_never_marked():
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


def test_a_schedule_that_never_fires_still_shows_what_is_dropped():
    entries = preview(ScheduleSpec("30 2 * 3 SUN#2", NEW_YORK, dst_gap="skip"), utc("2026-01-01 00:00"))
    assert 45 <= len(entries) <= MAX_DROPPED
    assert {entry.mark for entry in entries} == {"dropped"}
    assert [entry.wall for entry in entries[:2]] == ["2026-03-08T02:30:00", "2027-03-14T02:30:00"]


def test_the_window_bounds_what_is_dropped_too():
    limits = {"dst_gap": "skip", "start": utc("2027-01-01 00:00"), "end": utc("2028-01-01 00:00")}
    assert shown("30 2 * 3 SUN#2", after="2026-01-01 00:00", **limits) == [("2027-03-14T02:30:00", "dropped")]
    assert shown("30 2 * * *", after="2026-03-08 00:00", until="2026-03-09 00:00", dst_gap="skip") == [
        ("2026-03-08T02:30:00", "dropped")
    ]


def test_until_is_exclusive():
    assert shown("0 9 * * *", "UTC", after="2026-01-01 00:00", until="2026-01-02 09:00", count=9) == [
        ("2026-01-01T09:00:00", None)
    ]


def test_a_whole_day_can_be_jumped_over():
    assert shown("0 9 * * *", "Pacific/Apia", after="2011-12-29 12:00") == [
        ("2011-12-29T09:00:00", None),
        ("2011-12-31T00:00:00", "moved"),
        ("2011-12-31T09:00:00", None),
    ]


def test_counting_in_a_gap_is_bounded():
    entries = preview(ScheduleSpec("* * * * * *", NEW_YORK), utc("2026-03-08 06:59:58"), 2)
    assert [(entry.mark, entry.count) for entry in entries] == [(None, 1), ("dropped", COUNTED), (None, 1)]


def test_nothing_is_listed_for_a_count_of_nothing():
    assert preview(ScheduleSpec("* * * * *"), 0, 0) == ()
