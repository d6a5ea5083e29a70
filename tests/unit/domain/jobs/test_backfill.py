"""Ranges of occurrences: backfills, and what comes next.

- Which past occurrences a backfill runs, when each of them starts, and what that will cost.
- How many runs come due, by cursors.
"""

from dataclasses import dataclass, replace
from typing import Any

import pytest

from duecourse.domain.jobs.backfill import (
    COUNTED,
    Backfill,
    BackfillPlan,
    BackfillTooLargeError,
    due_in,
    estimated_cost,
    plan_backfill,
)
from duecourse.domain.jobs.cursor import cursor_for
from duecourse.domain.jobs.job import Job
from duecourse.domain.jobs.upcoming import LATE_SECONDS, Bucket, Histogram, Window, dues, is_late
from duecourse_schedules import ScheduleError
from tests.support.jobs import NOON, job

N = int(NOON)
MINUTES = job("* * * * *")


def planned(asked: Backfill, *, of: Job = MINUTES, now: float = NOON, limit: int = 1000) -> BackfillPlan:
    return plan_backfill(of.occurrences(), asked, now=now, limit=limit)


def test_occurrence_ranges_backfill_includes_its_start_and_excludes_its_end() -> None:
    made = planned(Backfill(N - 300, N - 120))
    assert made.occurrences == (N - 300, N - 240, N - 180)
    assert (made.first, made.last, made.count) == (N - 300, N - 180, 3)


def test_occurrence_ranges_backfill_excludes_future_occurrences() -> None:
    assert planned(Backfill(N - 60, N + 600)).occurrences == (N - 60, N)
    assert planned(Backfill(N + 60, N + 600)).occurrences == ()


def test_occurrence_ranges_backfill_excludes_occurrences_that_jitter_moves_into_the_future() -> None:
    jittery = job("* * * * *", jitter_seconds=59)
    due = jittery.occurrences().due(N)
    assert planned(Backfill(N, N + 1), of=jittery, now=due - 1).count == 0
    assert planned(Backfill(N, N + 1), of=jittery, now=due).count == 1


def test_occurrence_ranges_backfill_starts_one_run_per_pace_interval_from_now() -> None:
    made = planned(Backfill(N - 300, N - 120, pace_seconds=90), now=NOON + 0.7)
    assert [made.due(index) for index in range(made.count)] == [N, N + 90, N + 180]
    assert made.ends_at == N + 180


def test_occurrence_ranges_backfill_can_start_with_the_newest_occurrence() -> None:
    made = planned(Backfill(N - 300, N - 120, newest_first=True))
    assert made.occurrences == (N - 180, N - 240, N - 300)
    assert (made.first, made.last) == (N - 300, N - 180)


@pytest.mark.parametrize("newest_first", [False, True])
@pytest.mark.parametrize("jitter", [0, 59])
def test_occurrence_ranges_backfill_computes_the_start_of_each_run_without_the_plan(
    newest_first: bool, jitter: int
) -> None:
    occurrences = job("* * * * *", jitter_seconds=jitter).occurrences()
    asked = Backfill(N - 300, N + 60, pace_seconds=90, newest_first=newest_first)
    made = plan_backfill(occurrences, asked, now=NOON + 0.7, limit=10)
    planned_starts = {at: made.due(index) for index, at in enumerate(made.occurrences)}
    everything = range(N - 400, N + 100)
    found = {at: due_in(occurrences, asked, at, now=NOON + 0.7) for at in everything}
    assert {at: start for at, start in found.items() if start is not None} == planned_starts


@dataclass
class Counted:
    """A schedule of every second that counts how often it is asked."""

    asked: int = 0

    def next(self, after: int) -> int:
        self.asked += 1
        return after + 1

    def due(self, occurrence: int) -> int:
        return occurrence


@pytest.mark.parametrize("newest_first", [False, True])
def test_occurrence_ranges_backfill_lookup_in_a_dense_schedule_takes_a_bounded_number_of_steps(
    newest_first: bool,
) -> None:
    schedule = Counted()
    asked = Backfill(N - 86_400, N, newest_first=newest_first)
    assert due_in(schedule, asked, N - 43_200, now=NOON) == N + COUNTED  # type: ignore[arg-type]
    assert schedule.asked < COUNTED + 10
    outside = Counted()
    assert due_in(outside, asked, N, now=NOON) is None  # type: ignore[arg-type]
    assert outside.asked == 0


def test_occurrence_ranges_empty_backfill_has_no_first_occurrence_and_no_end() -> None:
    made = planned(Backfill(N - 30, N - 20))
    assert (made.count, made.first, made.last, made.ends_at) == (0, None, None, None)


def test_occurrence_ranges_backfill_respects_exclusions_and_the_window_of_the_job() -> None:
    excluding = job("* * * * *", exclude=("2026-11-21T11:57:00Z",))
    assert planned(Backfill(N - 240, N - 60), of=excluding).occurrences == (N - 240, N - 120)


def test_occurrence_ranges_backfill_above_the_limit_is_rejected_with_its_count() -> None:
    with pytest.raises(BackfillTooLargeError) as refused:
        planned(Backfill(N - 3600, N), limit=59)
    assert (refused.value.count, refused.value.limit, refused.value.at_least) == (60, 59, False)
    assert planned(Backfill(N - 3600, N), limit=60).count == 60


def test_occurrence_ranges_backfill_count_stops_at_a_maximum() -> None:
    with pytest.raises(BackfillTooLargeError, match="more than 10000 occurrences") as refused:
        planned(Backfill(N - 86_400, N), of=job("* * * * * *"), limit=100)
    assert refused.value.at_least


def test_occurrence_ranges_backfill_cost_grows_with_the_amount_of_work() -> None:
    def cost(count: int, of: Job = MINUTES, *, pace: int = 1, locked: bool = False) -> float:
        return estimated_cost(BackfillPlan(tuple(range(count)), N, pace), of, locked=locked, waits_after=900)

    plain = cost(1000)
    assert 0 < plain < 0.05
    assert cost(2000) > plain
    assert cost(1000, locked=True) > plain
    assert cost(1000, pace=60) > plain, "timers cost something"
    assert cost(1000, job("* * * * *", estimated_seconds=20)) > plain
    assert cost(0) < cost(1)


def test_occurrence_ranges_backfill_cost_limits_the_duration_of_an_attempt_to_its_timeout() -> None:
    made = BackfillPlan((N,), N, 1)
    short, long = (job(timeout_seconds=30, estimated_seconds=seconds) for seconds in (30, 3000))
    assert estimated_cost(made, short, locked=False, waits_after=900) == estimated_cost(
        made, long, locked=False, waits_after=900
    )


AT = int(NOON)
HOUR = 3600
TWO_HOURS = Window(AT, AT + 2 * HOUR, HOUR, AT)


def due(expression: str, window: Window = TWO_HOURS, after: float = NOON, **changes: Any) -> list[int]:
    """When the job's runs come due, in seconds after NOON."""
    return [at - AT for at in dues(cursor_for(job(expression, **changes), after), window)]


def test_occurrence_ranges_forecast_includes_its_start_and_excludes_its_end() -> None:
    assert due("0 * * * *", after=NOON - 1) == [0, HOUR]
    assert due("30 * * * *") == [1800, 5400]
    assert due("0 0 1 1 *") == []


def test_occurrence_ranges_forecast_excludes_occurrences_already_due() -> None:
    assert due("*/30 * * * *", replace(TWO_HOURS, since=AT + 1801)) == [3600, 5400]


def test_occurrence_ranges_forecast_includes_occurrences_already_enqueued() -> None:
    assert [at - AT for at in dues(cursor_for(job("*/30 * * * *"), NOON + 2000), TWO_HOURS)] == [0, 1800, 3600, 5400]


def test_occurrence_ranges_forecast_applies_max_runs_to_occurrences_not_yet_enqueued() -> None:
    ahead = replace(cursor_for(job("*/30 * * * *"), NOON + 2000), remaining=1)
    assert [at - AT for at in dues(ahead, TWO_HOURS)] == [0, 1800, 3600]
    assert list(dues(replace(ahead, remaining=0), TWO_HOURS)) == [AT, AT + 1800]


def test_occurrence_ranges_forecast_includes_the_last_run_of_an_ended_schedule_until_it_is_due() -> None:
    over = replace(cursor_for(job("*/30 * * * *"), NOON), occurrence=None, due=None, last=AT + 1800)
    assert list(dues(over, TWO_HOURS)) == [AT, AT + 1800]
    assert list(dues(replace(over, last=None), TWO_HOURS)) == []


def test_occurrence_ranges_forecast_includes_or_excludes_runs_by_their_time_with_jitter() -> None:
    shaped = job("0 * * * *", jitter_seconds=HOUR)
    occurrences = shaped.occurrences()
    every = [occurrences.due(AT + hour * HOUR) for hour in range(-1, 3)]
    found = list(dues(cursor_for(shaped, NOON - 2 * HOUR), TWO_HOURS))
    assert found == [at for at in every if AT <= at < AT + 2 * HOUR]


def test_occurrence_ranges_forecast_excludes_excluded_times() -> None:
    assert due("0 * * * *", after=NOON - 1, exclude=("2026-11-21T13:00:00Z",)) == [0]


def test_occurrence_ranges_histogram_sums_jobs_and_lists_the_largest_of_each_bucket() -> None:
    histogram = Histogram(Window(AT, AT + 2 * HOUR, HOUR, AT))
    for name, expression in (("a", "0 * * * *"), ("b", "*/10 * * * *"), ("c", "*/20 13 * * *"), ("d", "*/20 13 * * *")):
        histogram.add(cursor_for(job(expression, id=name), NOON - 1))
    assert histogram.buckets() == (
        Bucket(AT, 7, (("b", 6), ("a", 1))),
        Bucket(AT + HOUR, 13, (("b", 6), ("c", 3), ("d", 3))),
    )
    assert histogram.runs == 20


def test_occurrence_ranges_histogram_ignores_a_cursor_that_cannot_be_compiled() -> None:
    histogram = Histogram(TWO_HOURS)
    good = cursor_for(job("0 * * * *"), NOON)
    with pytest.raises(ScheduleError):
        histogram.add(replace(good, schedule=replace(good.schedule, expression="61 * * * *")))
    assert (histogram.runs, histogram.buckets()) == (0, ())


def test_occurrence_ranges_job_is_late_when_its_run_is_due_for_over_a_minute_and_not_enqueued() -> None:
    standing = cursor_for(job("*/30 * * * *"), NOON)
    assert standing.due == AT + 1800
    assert not is_late(standing, AT + 1800 + LATE_SECONDS)
    assert is_late(standing, AT + 1800 + LATE_SECONDS + 1)
    assert not is_late(replace(standing, occurrence=None, due=None), AT + 10_000)
