"""When a process writes the counts of a tenant's runs, and which hours an answer has."""

from collections import Counter

import pytest

from duecourse.domain.runs.counts import MAX_TENANTS, HeldCounts, Hours, RunCount, due, hour_of

AT = 1_795_262_700.0
HOUR = 3600
CURRENT = hour_of(AT)


def held(at: float = AT, tried_at: float | None = None) -> HeldCounts:
    """One success."""
    found = HeldCounts(at, tried_at)
    found.add(RunCount.SUCCEEDED, 1, at)
    return found


@pytest.mark.parametrize(
    ("tried_at", "is_due"),
    [(None, True), (AT - 60, True), (AT - 59.9, False), (AT + 5, True)],
    ids=["first", "a minute ago", "less than a minute ago", "clock was set back"],
)
def test_run_counts_are_due_a_minute_after_the_last_write(tried_at: float | None, is_due: bool) -> None:
    assert held(tried_at=tried_at).is_due(AT) is is_due
    assert not HeldCounts(AT, tried_at).is_due(AT), "there is nothing to write"


def test_run_counts_of_a_bounded_number_of_tenants_are_due_the_oldest_first() -> None:
    tenants = {f"tenant-{number:02}": held(AT - number) for number in range(MAX_TENANTS + 2)}
    assert due(tenants | {"resting": held(AT - 99, tried_at=AT)}, AT) == sorted(tenants, reverse=True)[:MAX_TENANTS]


def test_run_counts_belong_to_the_hour_in_which_they_were_added() -> None:
    found = held(CURRENT + HOUR - 1)
    found.add(RunCount.DEAD, 1, CURRENT + HOUR)
    found.add(RunCount.SKIPPED, 3, CURRENT + HOUR)
    assert found.hours == {CURRENT: {"succeeded": 1}, CURRENT + HOUR: {"dead": 1, "skipped": 3}}
    assert found.since == CURRENT + HOUR - 1


def test_run_counts_that_could_not_be_written_are_added_to_those_made_since() -> None:
    kept = held(AT + 50, tried_at=AT)
    kept.put_back(held(AT))
    assert (kept.hours, kept.since, kept.tried_at) == ({CURRENT: {"succeeded": 2}}, AT, AT)
    assert not kept.is_over(AT + 60)
    assert HeldCounts(AT, tried_at=AT).is_over(AT + 60)
    assert not HeldCounts(AT, tried_at=AT).is_over(AT + 59)


@pytest.mark.parametrize(
    ("since", "until", "first", "end"),
    [
        (None, None, -23 * HOUR, HOUR),
        (None, -2 * HOUR, -26 * HOUR, -2 * HOUR),
        (-2 * HOUR + 1, -HOUR + 1, -2 * HOUR, 0),
        (-400 * 24 * HOUR, 9 * HOUR, -31 * 24 * HOUR, HOUR),
    ],
    ids=["the last 24", "24 before a time", "parts of hours", "31 days, none in the future"],
)
def test_run_counts_hours_of_an_answer_are_whole_and_bounded(
    since: int | None, until: int | None, first: int, end: int
) -> None:
    hours = Hours.of(None if since is None else CURRENT + since, None if until is None else CURRENT + until, AT)
    assert (hours.first - CURRENT, hours.end - CURRENT) == (first, end)
    assert len(hours) == (end - first) // HOUR


def test_run_counts_hours_in_the_future_are_none() -> None:
    hours = Hours.of(CURRENT + 5 * HOUR, None, AT)
    assert (len(hours), hours.counted({})) == (0, {})


def test_run_counts_hours_before_the_first_count_are_unknown_and_later_ones_without_counts_are_empty() -> None:
    hours = Hours(CURRENT - 4 * HOUR, CURRENT + HOUR)
    one = Counter({RunCount.DEAD: 1})
    assert hours.counted({}) == {}
    assert hours.counted({CURRENT - 2 * HOUR: one}) == {CURRENT - 2 * HOUR: one, CURRENT - HOUR: {}, CURRENT: {}}
    earlier = hours.counted({CURRENT - 99 * HOUR: one})
    assert (list(earlier), *earlier.values()) == ([CURRENT + n * HOUR for n in range(-4, 1)], {}, {}, {}, {}, {})
