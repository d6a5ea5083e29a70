"""Which past occurrences a backfill runs, when each of them starts, and what that will cost."""

from __future__ import annotations

from dataclasses import dataclass

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
from duecourse.domain.jobs.job import Job
from tests.support.jobs import NOON, job

N = int(NOON)
MINUTES = job("* * * * *")


def planned(asked: Backfill, *, of: Job = MINUTES, now: float = NOON, limit: int = 1000) -> BackfillPlan:
    return plan_backfill(of.occurrences(), asked, now=now, limit=limit)


def test_a_backfill_covers_its_first_instant_and_not_its_second() -> None:
    made = planned(Backfill(N - 300, N - 120))
    assert made.occurrences == (N - 300, N - 240, N - 180)
    assert (made.first, made.last, made.count) == (N - 300, N - 180, 3)


def test_nothing_of_the_future_is_in_it() -> None:
    assert planned(Backfill(N - 60, N + 600)).occurrences == (N - 60, N)
    assert planned(Backfill(N + 60, N + 600)).occurrences == ()


def test_what_the_jitter_puts_into_the_future_is_of_the_future() -> None:
    jittery = job("* * * * *", jitter_seconds=59)
    due = jittery.occurrences().due(N)
    assert planned(Backfill(N, N + 1), of=jittery, now=due - 1).count == 0
    assert planned(Backfill(N, N + 1), of=jittery, now=due).count == 1


def test_runs_start_one_each_pace_from_now_on() -> None:
    made = planned(Backfill(N - 300, N - 120, pace_seconds=90), now=NOON + 0.7)
    assert [made.due(index) for index in range(made.count)] == [N, N + 90, N + 180]
    assert made.ends_at == N + 180


def test_the_newest_can_come_first() -> None:
    made = planned(Backfill(N - 300, N - 120, newest_first=True))
    assert made.occurrences == (N - 180, N - 240, N - 300)
    assert (made.first, made.last) == (N - 300, N - 180)


@pytest.mark.parametrize("newest_first", [False, True])
@pytest.mark.parametrize("jitter", [0, 59])
def test_the_start_of_each_run_is_found_without_the_plan(newest_first: bool, jitter: int) -> None:
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
def test_a_schedule_that_became_dense_is_asked_so_often_and_no_more(newest_first: bool) -> None:
    schedule = Counted()
    asked = Backfill(N - 86_400, N, newest_first=newest_first)
    assert due_in(schedule, asked, N - 43_200, now=NOON) == N + COUNTED  # type: ignore[arg-type]
    assert schedule.asked < COUNTED + 10
    outside = Counted()
    assert due_in(outside, asked, N, now=NOON) is None  # type: ignore[arg-type]
    assert outside.asked == 0


def test_an_empty_range_has_no_first_and_no_end() -> None:
    made = planned(Backfill(N - 30, N - 20))
    assert (made.count, made.first, made.last, made.ends_at) == (0, None, None, None)


def test_exclusions_and_the_jobs_window_hold() -> None:
    excluding = job("* * * * *", exclude=("2026-11-21T11:57:00Z",))
    assert planned(Backfill(N - 240, N - 60), of=excluding).occurrences == (N - 240, N - 120)


def test_more_than_the_limit_is_refused_with_its_number() -> None:
    with pytest.raises(BackfillTooLargeError) as refused:
        planned(Backfill(N - 3600, N), limit=59)
    assert (refused.value.count, refused.value.limit, refused.value.at_least) == (60, 59, False)
    assert planned(Backfill(N - 3600, N), limit=60).count == 60


def test_counting_ends_somewhere() -> None:
    with pytest.raises(BackfillTooLargeError, match="more than 10000 occurrences") as refused:
        planned(Backfill(N - 86_400, N), of=job("* * * * * *"), limit=100)
    assert refused.value.at_least


def test_the_cost_grows_with_what_is_done() -> None:
    def cost(count: int, of: Job = MINUTES, *, pace: int = 1, locked: bool = False) -> float:
        made = BackfillPlan(tuple(range(count)), N, pace)
        return estimated_cost(made, of, locked=locked, waits_after=900)

    plain = cost(1000)
    assert 0 < plain < 0.05
    assert cost(2000) > plain
    assert cost(1000, locked=True) > plain
    assert cost(1000, pace=60) > plain, "timers cost something"
    assert cost(1000, job("* * * * *", estimated_seconds=20)) > plain
    assert cost(0) < cost(1)


def test_no_attempt_is_taken_to_last_longer_than_it_may() -> None:
    made = BackfillPlan((N,), N, 1)
    short, long = (job(timeout_seconds=30, estimated_seconds=seconds) for seconds in (30, 3000))
    assert estimated_cost(made, short, locked=False, waits_after=900) == estimated_cost(
        made, long, locked=False, waits_after=900
    )
