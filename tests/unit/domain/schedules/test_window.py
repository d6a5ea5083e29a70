"""start <= occurrence < end, for every form; and what `next` promises."""

import pytest

from duecourse.domain.schedules import ScheduleSpec, compile_schedule
from duecourse.domain.schedules.schedule import forget
from tests.support.schedules import instants, refusal, schedule, utc

FORMS = [
    "*/5 * * * *",
    "7 3 * * *",
    "0 0 L * *",
    "cron(0/10 9 ? * * *)",
    "rate(7 minutes)",
    "R/2026-01-01T00:00:00Z/PT1H",
]


@pytest.mark.parametrize("expression", FORMS)
def test_the_start_belongs_to_the_window_and_the_end_does_not(expression):
    free = schedule(expression, anchor=0)
    first = free.next(utc("2026-02-01 00:00"))
    second = free.next(first)
    third = free.next(second)
    inside = schedule(expression, anchor=0, start=first, end=third)
    assert list(inside.upcoming(0)) == [first, second]
    assert schedule(expression, anchor=0, start=first + 1).next(0) == second
    assert schedule(expression, anchor=0, end=first).next(first - 1) is None
    assert schedule(expression, anchor=0, end=first + 1).next(first - 1) == first


def test_a_single_time_outside_the_window_never_occurs():
    at = utc("2026-07-01 09:00")
    assert schedule("2026-07-01T09:00:00Z", start=at, end=at + 1).next(0) == at
    assert schedule("2026-07-01T09:00:00Z", start=at + 1).next(0) is None
    assert schedule("2026-07-01T09:00:00Z", end=at).next(0) is None


def test_next_is_strictly_after():
    daily = schedule("0 9 * * *")
    nine = utc("2026-01-01 09:00")
    assert (daily.next(nine - 1), daily.next(nine)) == (nine, nine + 86_400)


def test_next_is_pure_whatever_was_asked_before():
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


def test_upcoming_is_lazy_and_ends_with_the_schedule():
    endless = schedule("* * * * *").upcoming(0)
    assert [next(endless), next(endless)] == [60, 120]
    assert list(schedule("R2/1970-01-01T00:00:10Z/PT5S").upcoming(0)) == [10, 15]


@pytest.mark.parametrize("expression", ["0 9 * * *", "*/7 * * * *", "0 0 29 2 *", "30 1 * * SUN", "rate(1 day)"])
def test_times_before_1970_and_at_the_ends_of_the_calendar_are_answered(expression):
    spec = schedule(expression, "Europe/Berlin", anchor=0)
    assert spec.next(-(10**18)) is not None
    assert spec.next(utc("1850-01-01 00:00")) is not None
    assert spec.next(utc("9999-12-31 00:00") + 10**6) is None
    assert spec.next(10**18) is None


def test_local_mean_time_has_seconds():
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
def test_what_no_expression_could_use_is_refused_by_its_field(more, field):
    error = refusal("0 9 * * *", **more)
    assert error.field == field
    assert str(error) == f"{field}: {error.detail}"


def test_what_is_not_text_is_refused():
    assert refusal(5).field == "schedule"
    assert refusal("0 9 * * *", None).field == "timezone"


def test_a_wrong_type_is_refused_even_beside_an_equal_number():
    assert schedule("0 9 * * *", start=1, end=10**9)
    assert refusal("0 9 * * *", start=True, end=10**9).field == "start"
    assert refusal("0 9 * * *", start=1, end=1e9).field == "end"


def test_equal_specs_share_one_schedule():
    assert compile_schedule(ScheduleSpec("1 2 3 4 *")) is compile_schedule(ScheduleSpec("1 2 3 4 *"))
