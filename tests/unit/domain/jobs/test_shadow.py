"""The comparison of a shadow job's occurrences with the pings of another scheduler."""

import tracemalloc
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duecourse.domain.jobs.cursor import cursor_for
from duecourse.domain.jobs.job import JobState
from duecourse.domain.jobs.shadow import (
    BECAUSE,
    MAX_OCCURRENCES,
    MAX_ROWS,
    Disagreement,
    DisagreementKind,
    Period,
    Pings,
    ShadowPing,
    ShadowReport,
    ShadowStatus,
    as_shadow,
    compare,
    cost_of,
    hour_of,
    period_of,
)
from duecourse_schedules import ScheduleError, ScheduleSpec
from tests.support.jobs import NOON, job

T0 = int(NOON)
MINUTE, HOUR, DAY = 60, 3_600, 86_400
MISSING, EXTRA = DisagreementKind.MISSING, DisagreementKind.EXTRA


def report(
    expression: str,
    pings: Sequence[int | ShadowPing],
    *,
    now: float,
    days: int = 7,
    tolerance: int = 120,
    full: frozenset[int] = frozenset(),
    **fields: Any,
) -> ShadowReport:
    """Report about a job that is a shadow since NOON. A ping as a number has no occurrence."""
    made = job(expression, **fields)
    found = sorted(each if isinstance(each, ShadowPing) else ShadowPing(each, each) for each in pings)
    period = period_of(made, days=days, tolerance=tolerance, now=now)
    return compare(period, Pings(tuple(found), full), tolerance=tolerance, late=made.jitter_seconds)


def counts(found: ShadowReport) -> dict[str, int]:
    names = ("agreed", "missing", "extra", "undecided", "before_first_ping")
    return {name: value for name in names if (value := getattr(found, name))}


def minutes(first: int, last: int, late: int = 2) -> list[int]:
    return [T0 + minute * MINUTE + late for minute in range(first, last + 1)]


def test_shadow_agrees_if_each_occurrence_has_a_ping() -> None:
    found = report("0 * * * *", [T0 + hour * HOUR + 3 for hour in range(1, 25)], now=T0 + DAY + 10 * MINUTE)
    assert counts(found) == {"agreed": 24}
    assert found.status is ShadowStatus.AGREES
    assert found.lateness is not None
    assert (found.lateness.median, found.lateness.most) == (3, 3)


def test_shadow_lists_missing_and_extra_pings() -> None:
    pings = [T0 + hour * HOUR for hour in range(1, 25) if hour != 7] + [T0 + 9 * HOUR + 30 * MINUTE]
    found = report("0 * * * *", pings, now=T0 + DAY + 10 * MINUTE)
    assert counts(found) == {"agreed": 23, "missing": 1, "extra": 1}
    assert found.disagreements == (
        Disagreement(T0 + 7 * HOUR, MISSING),
        Disagreement(T0 + 9 * HOUR + 30 * MINUTE, EXTRA),
    )
    assert found.status is ShadowStatus.DISAGREES


def test_shadow_without_pings_counts_no_missing_occurrence() -> None:
    found = report("* * * * *", [], now=T0 + 7 * DAY)
    assert found.status is ShadowStatus.NO_PINGS
    assert found.disagreements == ()
    assert found.before_first_ping > 10_000


def test_shadow_occurrences_before_the_first_ping_are_not_missing() -> None:
    found = report("* * * * *", minutes(30, 60), now=T0 + 60 * MINUTE + 3)
    assert counts(found) == {"agreed": 31, "before_first_ping": 29}
    period = period_of(job("* * * * *"), days=7, tolerance=120, now=T0 + 60 * MINUTE + 3)
    pings = tuple(ShadowPing(at, at) for at in minutes(30, 60))
    assert compare(period, Pings(pings, earlier=True), tolerance=120).missing == 29


def test_shadow_job_of_each_minute_finds_the_minute_without_a_ping() -> None:
    pings = [*minutes(1, 99), *minutes(101, 200)]
    found = report("* * * * *", pings, now=T0 + 200 * MINUTE + 3)
    assert counts(found) == {"agreed": 199, "missing": 1}
    assert found.disagreements == (Disagreement(T0 + 100 * MINUTE, MISSING),)
    assert found.lateness is not None
    assert found.lateness.most == 2


def test_shadow_extra_ping_does_not_shift_the_others() -> None:
    pings = [*minutes(1, 99), *minutes(101, 200), T0 + 150 * MINUTE + 30]
    found = report("* * * * *", pings, now=T0 + 200 * MINUTE + 3)
    assert counts(found) == {"agreed": 199, "missing": 1, "extra": 1}


def test_shadow_late_ping_belongs_to_its_occurrence() -> None:
    pings = [*minutes(1, 99), T0 + 101 * MINUTE + 5, *minutes(101, 200)]
    found = report("* * * * *", pings, now=T0 + 200 * MINUTE + 3)
    assert counts(found) == {"agreed": 200}
    assert found.lateness is not None
    assert found.lateness.most >= 62
    late = report("0 * * * *", [T0 + HOUR + 119, T0 + 2 * HOUR + 121], now=T0 + 3 * HOUR - 60)
    assert counts(late) == {"agreed": 1, "missing": 1, "extra": 1}


@pytest.mark.parametrize("skew", [-5, 0, 5])
def test_shadow_allows_for_clocks_that_differ(skew: int) -> None:
    found = report("* * * * *", minutes(1, 60, skew), now=T0 + 61 * MINUTE - 10)
    assert counts(found) == {"agreed": 60}


def test_shadow_ping_names_its_occurrence_although_it_arrives_late() -> None:
    pings = [ShadowPing(T0 + hour * HOUR, T0 + hour * HOUR + 900) for hour in range(1, 4)]
    found = report("0 * * * *", pings, now=T0 + 4 * HOUR - 60)
    assert counts(found) == {"agreed": 3}
    assert found.lateness is not None
    assert (found.lateness.median, found.lateness.most_at) == (900, T0 + 3 * HOUR)


def test_shadow_occurrence_is_undecided_until_its_ping_is_overdue() -> None:
    pings = [T0 + HOUR]
    assert counts(report("0 * * * *", pings, now=T0 + 2 * HOUR + 124)) == {"agreed": 1, "undecided": 1}
    assert counts(report("0 * * * *", pings, now=T0 + 2 * HOUR + 125)) == {"agreed": 1, "missing": 1}


def test_shadow_waits_if_nothing_could_be_compared() -> None:
    found = report("0 3 * * *", [T0 + 30], now=T0 + HOUR)
    assert (found.status, counts(found)) == (ShadowStatus.WAITS, {"undecided": 1})


def test_shadow_ping_of_the_earlier_schedule_is_not_extra() -> None:
    changed = {"changed_at": NOON + HOUR + 1}
    found = report("30 * * * *", [T0 + HOUR + 40, T0 + HOUR + 30 * MINUTE], now=T0 + 2 * HOUR, **changed)
    assert (found.begin, counts(found)) == (T0 + HOUR + 2, {"agreed": 1, "undecided": 1})


def test_shadow_job_with_jitter_allows_pings_within_it() -> None:
    found = report("0 * * * *", [T0 + HOUR + 600], now=T0 + 2 * HOUR - 60, jitter_seconds=900)
    assert counts(found) == {"agreed": 1}


def test_shadow_hour_whose_pings_were_rejected_is_undecided() -> None:
    pings = [T0 + HOUR, T0 + HOUR + MINUTE]
    found = report("* * * * *", pings, now=T0 + HOUR + 10 * MINUTE, full=frozenset({hour_of(T0 + HOUR)}))
    assert found.missing == 0
    assert found.undecided == 8


@pytest.mark.parametrize(("fold", "expected"), [("first", {"agreed": 2, "extra": 1}), ("both", {"agreed": 3})])
def test_shadow_reports_what_the_change_of_clocks_does(fold: str, expected: dict[str, int]) -> None:
    texts = ("2026-10-24T00:30:00Z", "2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z")
    pings = [int(datetime.fromisoformat(text).timestamp()) for text in texts]
    made = job("30 2 * * *", changed_at=float(pings[0] - HOUR))
    made = replace(made, schedule=ScheduleSpec("30 2 * * *", "Europe/Berlin", dst_fold=fold))
    period = period_of(made, days=7, tolerance=120, now=pings[2] + 10 * HOUR)
    found = compare(period, Pings(tuple(ShadowPing(each, each) for each in pings)), tolerance=120)
    assert counts(found) == expected


def test_shadow_report_is_shortened_to_the_newest_occurrences() -> None:
    now = T0 + DAY
    period = period_of(job("* * * * * *"), days=7, tolerance=120, now=now)
    assert not period.complete
    assert len(period.occurrences) <= MAX_OCCURRENCES
    assert period.end == now
    whole = period_of(job("* * * * *"), days=7, tolerance=120, now=T0 + 30 * DAY)
    assert whole.complete
    assert whole.end - whole.begin == 7 * DAY


def test_shadow_report_lists_some_disagreements_and_counts_all() -> None:
    found = report("* * * * *", [T0 + MINUTE], now=T0 + DAY)
    assert (found.missing, len(found.disagreements)) == (DAY // MINUTE - 4, MAX_ROWS)


def test_shadow_of_a_job_whose_schedule_was_removed_has_only_extra_pings() -> None:
    found = report("", [T0 + HOUR], now=T0 + DAY)
    assert counts(found) == {"extra": 1}


def test_shadow_report_costs_more_with_more_occurrences() -> None:
    assert cost_of(job("0 3 * * *"), days=7, now=T0 + 30 * DAY) == 3
    assert cost_of(job("* * * * *"), days=7, now=T0 + 30 * DAY) == 13
    assert cost_of(job("* * * * * *"), days=35, now=T0 + 40 * DAY) == 1 + 11 + 10


def test_shadow_is_a_paused_job_without_a_next_occurrence() -> None:
    made = job("0 3 * * *")
    change = as_shadow(made, cursor_for(made, NOON), "ada")
    assert (change.job.state, change.job.shadow_since) == (JobState.PAUSED, made.created_at)
    assert (change.job.paused_by, change.job.paused_because) == ("ada", BECAUSE)
    assert (change.cursor.due, change.cursor.occurrence) == (None, None)


@pytest.mark.parametrize("made", [job(""), job("rate(60 seconds)", expect_every=60)])
def test_shadow_needs_a_schedule_that_another_scheduler_can_have(made: Any) -> None:
    with pytest.raises(ScheduleError, match="is required for a shadow job"):
        as_shadow(made, cursor_for(made, NOON), None)


@given(
    st.lists(st.integers(5, 60), unique=True, max_size=20),
    st.lists(st.integers(200, 3600), unique=True, max_size=30),
)
def test_shadow_each_ping_and_each_occurrence_is_counted_once(hit: list[int], more: list[int]) -> None:
    now = T0 + 2 * HOUR + 200
    pings = sorted({T0 + minute * MINUTE for minute in hit} | {T0 + second for second in more})
    found = report("*/5 * * * *", pings, now=now)
    assert found.agreed + found.missing + found.before_first_ping == 24
    assert (found.agreed + found.extra, found.undecided) == (len(pings), 0)


def test_shadow_without_an_occurrence_in_the_period_does_not_blame_the_connection() -> None:
    """A job of each month has no occurrence in most weeks, so no ping was expected."""
    found = report("0 3 1 * *", [], now=T0 + 8 * DAY, days=7)
    assert (found.status, counts(found)) == (ShadowStatus.WAITS, {})
    recent = report("0 * * * *", [], now=T0 + HOUR + 10)
    assert (recent.status, counts(recent)) == (ShadowStatus.WAITS, {"undecided": 1})


def test_shadow_whose_pings_ended_before_the_period_disagrees() -> None:
    period = period_of(job("0 * * * *"), days=1, tolerance=120, now=T0 + 5 * DAY + 10 * MINUTE)
    found = compare(period, Pings(earlier=True), tolerance=120)
    assert (found.status, counts(found)) == (ShadowStatus.DISAGREES, {"missing": 24})
    assert found.first_ping is None


def test_shadow_report_of_more_days_covers_at_least_as_much() -> None:
    now = T0 + 60 * DAY
    week, all_days = (period_of(job("* * * * *"), days=days, tolerance=120, now=now) for days in (7, 35))
    assert week.complete
    assert not all_days.complete
    assert all_days.begin <= week.begin
    assert len(all_days.occurrences) <= MAX_OCCURRENCES


def nearest_first(occurrences: Sequence[int], positions: Sequence[int], early: int, late: int) -> dict[int, int]:
    """Pair the occurrences and pings by looking at all pairs."""
    near = sorted(
        (abs(position - at), place, index)
        for place, at in enumerate(occurrences)
        for index, position in enumerate(positions)
        if -early <= position - at <= late
    )
    pairs: dict[int, int] = {}
    for _, place, index in near:
        if place not in pairs and index not in pairs.values():
            pairs[place] = index
    return pairs


@given(
    st.lists(st.integers(0, 60), unique=True, max_size=12),
    st.lists(st.integers(0, 60), unique=True, max_size=12),
    st.integers(0, 30),
    st.integers(0, 40),
)
def test_shadow_pairs_are_the_nearest_ones(first: list[int], second: list[int], early: int, more: int) -> None:
    occurrences, positions = [T0 + each for each in sorted(first)], [T0 + each for each in sorted(second)]
    period = Period(T0 - DAY, T0 + DAY, tuple(occurrences), complete=True)
    pings = Pings(tuple(ShadowPing(each, each) for each in positions))
    found = compare(period, pings, tolerance=early, late=more)
    pairs = nearest_first(occurrences, positions, early, early + more)
    assert found.agreed == len(pairs)
    lateness = [positions[index] - occurrences[place] for place, index in pairs.items()]
    assert (found.lateness.most if found.lateness else None) == max(lateness, default=None)


def test_shadow_report_with_a_large_tolerance_needs_little_memory() -> None:
    now = T0 + 8 * DAY
    period = period_of(job("* * * * *"), days=7, tolerance=3600, now=now)
    pings = Pings(tuple(ShadowPing(at + 2, at + 2) for at in period.occurrences))
    tracemalloc.start()
    try:
        found = compare(period, pings, tolerance=3600)
        used = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found.status is ShadowStatus.AGREES
    assert used < 20_000_000
