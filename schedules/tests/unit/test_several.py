"""Several schedules of one job: their union, and what refuses a list."""

from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duecourse_schedules import ScheduleError, ScheduleSpec, compile_schedule
from duecourse_schedules.preview import preview, preview_schedule
from duecourse_schedules.schedule import (
    NoSchedule,
    UnionSchedule,
    check_interval,
    closest,
    joined,
    moved_from,
    moved_to,
    occurrences_of,
    rates,
)
from duecourse_schedules.zones.dst_effect import dst_effect
from schedules.tests.support.schedules import from_iso, to_iso, utc

WEEK = ["0 9 * * 1-5", "0 11 * * 6"]
NEW_YORK = "America/New_York"


def several(schedules: list[str], timezone: str = "UTC", **more):
    return compile_schedule(ScheduleSpec(joined(schedules), timezone, **more))


def upcoming(schedules: list[str], after: str, count: int, timezone: str = "UTC", **more) -> list[str]:
    found = islice(several(schedules, timezone, **more).upcoming(int(from_iso(after))), count)
    return [to_iso(at) for at in found]


def refusal(schedules, timezone: str = "UTC", **more) -> str:
    with pytest.raises(ScheduleError) as refused:
        compile_schedule(ScheduleSpec(joined(schedules), timezone, **more))
    return str(refused.value)


def test_several_schedules_fire_at_the_occurrences_of_each_of_them():
    assert upcoming(WEEK, "2026-11-26T12:00:00Z", 4, "Europe/Berlin") == [
        "2026-11-27T08:00:00Z",
        "2026-11-28T10:00:00Z",
        "2026-11-30T08:00:00Z",
        "2026-12-01T08:00:00Z",
    ]


def test_several_schedules_that_name_the_same_instant_fire_once():
    assert upcoming(["0 * * * *", "*/30 * * * *", "0 9 * * *"], "2026-11-26T08:30:00Z", 4) == [
        "2026-11-26T09:00:00Z",
        "2026-11-26T09:30:00Z",
        "2026-11-26T10:00:00Z",
        "2026-11-26T10:30:00Z",
    ]


def test_several_schedules_may_be_of_any_form_and_end_with_the_last_one():
    forms = ["at(2026-12-24T18:00:00)", "R2/2026-12-24T18:00:00Z/PT1H", "cron(0 12 25 12 ? 2026)"]
    assert upcoming(forms, "2026-11-26T00:00:00Z", 9) == [
        "2026-12-24T18:00:00Z",
        "2026-12-24T19:00:00Z",
        "2026-12-25T12:00:00Z",
    ]


def test_several_schedules_rates_count_from_the_same_anchor():
    anchor = int(from_iso("2026-11-26T00:00:10Z"))
    assert upcoming(["rate(2 hours)", "rate(3 hours)"], "2026-11-26T01:00:00Z", 4, anchor=anchor) == [
        "2026-11-26T02:00:10Z",
        "2026-11-26T03:00:10Z",
        "2026-11-26T04:00:10Z",
        "2026-11-26T06:00:10Z",
    ]
    assert rates(joined(["0 9 * * 1", "rate(2 hours)", "R/2026-01-01T00:00:00Z/PT1H"])) == ("rate(2 hours)",)


def test_several_schedules_respect_the_window_and_the_exclusions_of_the_job():
    spec = ScheduleSpec(joined(WEEK), start=utc("2026-12-24 00:00"), end=utc("2027-01-01 00:00"))
    occurrences = occurrences_of("acme", "report", spec, exclude=("2026-12-25", "2026-12-28/2026-12-30"))
    at, found = utc("2026-11-01 00:00"), []
    while (at := occurrences.next(at)) is not None:
        found.append(to_iso(at))
    assert found == ["2026-12-24T09:00:00Z", "2026-12-26T11:00:00Z", "2026-12-31T09:00:00Z"]


def test_several_schedules_jitter_of_several_schedules_ends_before_the_next_occurrence_of_any_of_them():
    spec = ScheduleSpec(joined(["0 9 * * *", "1 9 * * *"]))
    occurrences = occurrences_of("acme", "report", spec, jitter_seconds=3600)
    at = utc("2026-11-01 00:00")
    for _ in range(50):
        first = occurrences.next(at)
        second = occurrences.next(first)
        assert occurrences.due(first) < second
        at = second


def test_several_schedules_move_off_excluded_days_separately():
    spec = ScheduleSpec(joined(["0 9 25 12 *", "0 9 24 12 *"]), on_excluded="previous")
    occurrences = occurrences_of("acme", "report", spec, exclude=("2026-12-25", "2027-12-24/2027-12-25"))
    assert occurrences.next(utc("2026-01-01 00:00")) == utc("2026-12-24 09:00")
    assert moved_from(occurrences.schedule, utc("2026-12-24 09:00")) is None, "the second schedule itself contains it"
    assert moved_to(occurrences.schedule, utc("2026-12-25 09:00")) == utc("2026-12-24 09:00")
    assert occurrences.next(utc("2026-12-24 09:00")) == utc("2027-12-23 09:00")
    assert moved_from(occurrences.schedule, utc("2027-12-23 09:00")) == utc("2027-12-25 09:00")


def test_several_schedules_each_of_several_schedules_follows_its_own_rule_of_daylight_saving():
    # 02:30 does not exist on 2026-03-08. The fixed time moves, the interval is dropped.
    assert upcoming(["30 2 * * *", "45 */2 * * *"], "2026-03-08T06:00:00Z", 3, NEW_YORK) == [
        "2026-03-08T07:00:00Z",
        "2026-03-08T08:45:00Z",
        "2026-03-08T10:45:00Z",
    ]
    schedule = several(["30 2 * * *", "0 12 * * *"], NEW_YORK, dst_gap="skip")
    effect = dst_effect(schedule, utc("2026-03-08 07:30"))
    assert effect is not None
    assert effect.wall == "2026-03-08T02:30:00"
    assert effect.kind == "gap"


def test_several_schedules_preview_of_several_schedules_shows_the_effect_of_the_rules_on_each():
    spec = ScheduleSpec(joined(["30 2 * * *", "0 3 8 3 *"]), NEW_YORK)
    found = preview(spec, utc("2026-03-07 12:00"), 2)
    assert [(entry.wall, entry.mark) for entry in found] == [
        ("2026-03-08T03:00:00", None),
        ("2026-03-09T02:30:00", None),
    ]
    spec = ScheduleSpec(joined(["30 2 * * *", "0 12 * * *"]), NEW_YORK, dst_gap="skip")
    found = preview(spec, utc("2026-03-07 18:00"), 2)
    assert [(entry.wall, entry.mark) for entry in found] == [
        ("2026-03-08T02:30:00", "dropped"),
        ("2026-03-08T12:00:00", None),
        ("2026-03-09T02:30:00", None),
    ]


def test_several_schedules_preview_of_several_schedules_has_words_and_a_list_of_canonical_forms():
    found = preview_schedule(ScheduleSpec(joined(["0  9 * * MON-FRI", "rate(2 hours)"]), "Europe/Berlin"), 0, 1)
    assert found.words == (
        "at 09:00 on Monday to Friday, Europe/Berlin; every 2 hours, counted from 1970-01-01 00:00:00 UTC"
    )
    assert found.canonical == ["0 9 * * 1-5", "rate(2 hours)"]


@pytest.mark.parametrize(
    ("schedules", "reason"),
    [
        ([], "schedule: has no entries; write null for a job that runs only on demand"),
        (["0 9 * * 1", "0 25 * * 1"], 'schedule[1]: hour "25": 25 is out of range; hour must be from 0 to 23'),
        (["0 9 * * 1", " "], "schedule[1]: is empty; write an expression, or remove the entry"),
        (["0 9 * * 1", "0  9 * * 1"], "schedule[1]: is the same as entry 0; remove one of them"),
        (["rate(1 hour)", "0 9 30 2 *"], "schedule[1]: no year contains this day"),
        ([f"{minute} 9 * * 1" for minute in range(11)], "schedule: has 11 entries; at most 10 are allowed"),
        (
            [f"{'1,' * 60}{minute} 9 * * 1" for minute in range(2)],
            "schedule: has 259 characters in total; at most 256 are allowed",
        ),
        ("0 9 * * 1|0 9 * * 2", "schedule: contains |; write several schedules as a list, each in quotes"),
        (["0 9 * * 1", "0 9|* * 2"], "schedule[1]: contains |; write several schedules as a list"),
        (["0 9 * * 1", 5], "schedule[1]: must be text"),
    ],
)
def test_several_schedules_list_of_schedules_is_refused_with_the_entry(schedules, reason):
    assert refusal(schedules, anchor=0).startswith(reason)


def test_several_schedules_only_cron_and_at_can_move_off_excluded_days_in_a_list_too():
    spec = ScheduleSpec(joined(["0 9 * * 1", "rate(1 hour)"]), anchor=0, on_excluded="next")
    with pytest.raises(ScheduleError, match="previous and next cannot be used with intervals"):
        occurrences_of("acme", "report", spec)


def test_several_schedules_list_with_one_schedule_is_that_schedule():
    assert joined(["0 9 * * 1"]) == joined("0 9 * * 1") == "0 9 * * 1"


def test_several_schedules_shortest_interval_is_found_between_a_frequent_and_a_rare_schedule():
    schedule = several(["*/15 * * * *", "1 0 1 1 *"])
    found = closest(schedule, utc("2026-03-01 00:00"), limit=300)
    assert found == (utc("2027-01-01 00:01"), 60)
    with pytest.raises(ScheduleError, match="60 s apart"):
        check_interval(schedule, utc("2026-03-01 00:00"), 300)
    early = several(["*/15 * * * *", "59 23 31 12 *"])
    assert closest(early, utc("2026-03-01 00:00"), limit=300) == (utc("2027-01-01 00:00"), 60)
    assert closest(several(["0 * * * *", "30 * * * *"]), 0, limit=1800) is None
    assert closest(several(["0 9 * * *", "0 9 1 * *"]), 0, limit=86_400) is None, "an instant of both is one occurrence"


@given(
    st.lists(
        st.sampled_from(
            ["0 9 * * *", "*/7 * * * *", "30 2 L * *", "0 0 29 2 *", "30 1 * 3,10 SUN", "rate(5 hours)", "0 6 LW * *"]
        ),
        min_size=2,
        max_size=4,
        unique=True,
    ),
    st.integers(0, 2_000_000_000),
    st.sampled_from(["UTC", NEW_YORK, "Australia/Lord_Howe"]),
)
def test_several_schedules_union_has_exactly_the_occurrences_of_its_parts(expressions, after, timezone):
    union = several(expressions, timezone, anchor=after)
    parts = [compile_schedule(ScheduleSpec(each, timezone, anchor=after)) for each in expressions]
    merged = sorted({at for part in parts for at in islice(part.upcoming(after), 20)})[:20]
    assert list(islice(union.upcoming(after), len(merged))) == merged


def test_several_schedules_part_without_occurrences_is_searched_once():
    class Dead(NoSchedule):
        __slots__ = ("searched",)

        def next(self, after):
            self.searched = [*getattr(self, "searched", ()), after]

    dead = Dead(ScheduleSpec(""))
    union = UnionSchedule(ScheduleSpec(joined(WEEK)), (compile_schedule(ScheduleSpec("* * * * *")), dead))
    start = from_iso("2027-01-01T00:00:00Z")
    assert len(list(islice(union.upcoming(int(start)), 1_000))) == 1_000
    assert len(dead.searched) == 1


@pytest.mark.parametrize("schedule", [5, {"a": 1}, b"* * * * *", [5]])
def test_several_schedules_values_that_are_neither_text_nor_a_list_are_refused(schedule):
    with pytest.raises(ScheduleError, match="must be text"):
        joined(schedule)
