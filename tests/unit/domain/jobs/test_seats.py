"""A tenant's bucket and its seats.

- Which jobs have a seat, which lose it, and when it is free for another one.
- A bucket fills at a steady rate and never beyond its burst; what is taken from it is gone.
"""

from dataclasses import replace
from typing import Any

import pytest

from duecourse.domain.jobs.job import Completion, Job, JobSnapshot, JobState, Lane, Overlap, Tombstone
from duecourse.domain.tenants.rate import (
    MAX_DEBT_SECONDS,
    MAX_TAKEN,
    NANOSECONDS,
    Bucket,
    BucketRules,
    ahead,
    changed,
    charge,
    retry_after,
    take,
    tokens_left,
)
from duecourse.domain.tenants.seats import (
    Seats,
    Starting,
    has_left,
    has_seat,
    keeps_seat,
    loses_seat,
    may_have_seat,
    moved,
)
from tests.support.jobs import NOON, job

RECURRING = job(seated=True)
ONE_OFF = job("at(2026-11-21T12:01:00)", seated=True)
WHEN_ASKED = job("", seated=True)
LATER = NOON + 131
"""A call that had begun at NOON has ended, whatever the clocks say: 120 s and a margin of 10."""


ALLOWS = job("rate(1 minute)", overlap=Overlap.ALLOW, seated=True, timeout_seconds=30)
STEP = job("", overlap=Overlap.ALLOW, seated=True, workflow="nightly")


@pytest.mark.parametrize("overlap", Overlap)
def test_tenant_limits_job_that_forbids_overlap_may_have_a_seat(overlap: Overlap) -> None:
    assert may_have_seat(job(overlap=overlap)) is (overlap is not Overlap.ALLOW)


@pytest.mark.parametrize(
    ("expression", "changes", "may"),
    [
        ("rate(1 minute)", {}, True),
        ("rate(1 minute)", {"jitter_seconds": 20}, False),
        ("rate(40 seconds)", {}, False),  # 30 s, a margin of 10 s, and 5 s for a late start
        ("rate(1 minute)", {"timeout_seconds": 50}, False),
        ("0 9 * * *", {"timeout_seconds": 900}, True),
        ("*/30 9 * * *", {"timeout_seconds": 900}, True),
        ("at(2026-11-21T12:01:00)", {}, False),
    ],
)
def test_tenant_limits_job_that_allows_overlap_may_have_a_seat_if_its_occurrences_are_far_enough_apart(
    expression: str, changes: dict[str, object], may: bool
) -> None:
    assert may_have_seat(job(expression, overlap=Overlap.ALLOW, **({"timeout_seconds": 30} | changes))) is may


@pytest.mark.parametrize(
    ("of", "step", "may"),
    [
        (STEP, True, True),
        (STEP, False, False),  # it runs only on demand, any number of runs at once
        (replace(STEP, completion=Completion.CALLBACK), True, False),
        (replace(STEP, overlap=Overlap.QUEUE), False, True),
    ],
)
def test_tenant_limits_step_of_a_workflow_may_have_a_seat(of: Job, step: bool, may: bool) -> None:
    assert may_have_seat(of, step=step) is may


@pytest.mark.parametrize(
    ("of", "lane", "generation", "manual", "seated"),
    [
        (RECURRING, Lane.NORMAL, RECURRING.generation, False, True),
        (RECURRING, Lane.NORMAL, RECURRING.generation - 1, False, True),  # it takes the same lock
        (RECURRING, Lane.NORMAL, RECURRING.generation, True, True),
        (RECURRING, Lane.HIGH, RECURRING.generation, False, False),  # enqueued before the job changed its lane
        (replace(RECURRING, seated=False), Lane.NORMAL, RECURRING.generation, False, False),
        (replace(RECURRING, state=JobState.PAUSED), Lane.NORMAL, RECURRING.generation, True, True),
        (replace(RECURRING, state=JobState.COMPLETED), Lane.NORMAL, RECURRING.generation, True, False),
        (WHEN_ASKED, Lane.NORMAL, WHEN_ASKED.generation, True, True),  # it takes the lock, too
        (ONE_OFF, Lane.NORMAL, ONE_OFF.generation, False, True),
        (ONE_OFF, Lane.NORMAL, ONE_OFF.generation, True, False),  # nothing keeps two of those apart
        (ONE_OFF, Lane.NORMAL, ONE_OFF.generation - 1, False, False),  # a redrive of what it was before
    ],
)
def test_tenant_limits_run_uses_the_seat_of_its_job_if_no_second_run_can_use_it(
    of: Job, lane: Lane, generation: int, manual: bool, seated: bool
) -> None:
    assert has_seat(of, lane, Starting(generation, NOON, manual=manual)) is seated


@pytest.mark.parametrize(
    ("start", "seated"),
    [
        ({"following": int(NOON) + 40}, True),
        ({"following": int(NOON) + 39}, False),  # it may still be at work when the next one is due
        ({"following": None}, False),
        ({"following": None, "last": True}, True),
        ({"following": int(NOON) + 40, "manual": True}, False),
        ({"following": int(NOON) + 40, "generation": ALLOWS.generation - 1}, False),
        ({"following": int(NOON) + 40, "called_until": NOON - 60}, False),
    ],
)
def test_tenant_limits_run_that_allows_overlap_has_a_seat_if_it_ends_before_the_next_run_is_due(
    start: dict[str, Any], seated: bool
) -> None:
    assert has_seat(ALLOWS, Lane.NORMAL, Starting(**{"generation": ALLOWS.generation, "now": NOON} | start)) is seated


def test_tenant_limits_run_that_allows_overlap_has_no_seat_just_after_an_edit() -> None:
    edited = replace(ALLOWS, updated_at=NOON + 1)
    for now, seated in ((NOON + 130, False), (NOON + 131, True)):
        start = Starting(edited.generation, now, following=int(now) + 60)
        assert has_seat(edited, Lane.NORMAL, start) is seated


@pytest.mark.parametrize(
    ("first", "in_workflow", "seated"),
    [
        (True, 0.0, True),
        (True, None, False),  # the workflow has no lock, or its run has ended
        (True, NOON - 129, False),  # a call of the run before may be at work
        (True, NOON - 130, True),
        (False, 0.0, False),  # a retry or a redrive
    ],
)
def test_tenant_limits_step_has_a_seat_if_runs_of_its_workflow_cannot_overlap(
    first: bool, in_workflow: float | None, seated: bool
) -> None:
    start = Starting(STEP.generation, NOON, first=first, in_workflow=in_workflow)
    assert has_seat(STEP, Lane.NORMAL, start) is seated


def test_tenant_limits_call_that_outlasts_its_run_leaves_no_seat_for_the_next_run() -> None:
    for now, seated in ((NOON + 129, False), (NOON + 130, True)):
        assert has_seat(RECURRING, Lane.NORMAL, Starting(1, now, called_until=NOON)) is seated


def test_tenant_limits_step_that_leaves_its_workflow_loses_its_seat() -> None:
    left = moved(STEP, None, NEW)
    assert (left.seated, left.updated_at, left.workflow) == (False, NEW, None)
    assert not has_left(Lane.NORMAL, left, now=NEW + 130)
    assert has_left(Lane.NORMAL, left, now=NEW + 131)


def test_tenant_limits_job_keeps_its_seat_when_it_joins_a_workflow_or_leaves_one_with_a_lock() -> None:
    assert moved(replace(STEP, workflow=None), "nightly", NEW).seated is True
    assert moved(replace(STEP, overlap=Overlap.QUEUE), None, NEW).seated is True


@pytest.mark.parametrize(
    ("holder", "left_at_once", "left_later"),
    [
        (None, True, True),
        (Tombstone(NOON), False, True),  # a call of it may still be under way
        (RECURRING, False, False),
        (replace(RECURRING, state=JobState.PAUSED), False, False),
        (replace(RECURRING, state=JobState.COMPLETED), True, True),
        (replace(RECURRING, seated=False), False, True),
        (replace(RECURRING, priority=Lane.HIGH), False, True),
    ],
)
def test_tenant_limits_seat_is_free_once_no_call_of_its_job_can_be_active(
    holder: JobSnapshot, left_at_once: bool, left_later: bool
) -> None:
    assert has_left(Lane.NORMAL, holder, now=NOON + 1) is left_at_once
    assert has_left(Lane.NORMAL, holder, now=LATER) is left_later


def test_tenant_limits_call_in_the_long_lane_may_take_fifteen_minutes() -> None:
    assert not has_left(Lane.LONG, Tombstone(NOON), now=NOON + 900)
    assert has_left(Lane.LONG, Tombstone(NOON), now=NOON + 911)


def test_tenant_limits_seat_of_an_unreadable_job_is_kept() -> None:
    seats = Seats("default", Lane.NORMAL, ("gone", "here", "unreadable"), 0.0, 7)
    looked = seats.without_leavers({"gone": None, "here": RECURRING}, now=NOON)
    assert looked == Seats("default", Lane.NORMAL, ("here", "unreadable"), NOON, 7)
    assert looked.given_to("new").holders == ("here", "unreadable", "new")


@pytest.mark.parametrize(
    ("before", "changes", "keeps"),
    [
        (RECURRING, {"name": "x"}, True),
        (RECURRING, {"priority": Lane.HIGH}, False),
        (RECURRING, {"timeout_seconds": 600}, False),  # that is lane `long`
        (replace(RECURRING, seated=False), {"name": "x"}, False),
        (replace(RECURRING, state=JobState.COMPLETED), {"name": "x"}, False),
    ],
)
def test_tenant_limits_edit_keeps_the_seat_unless_it_changes_the_lane(
    before: Job, changes: dict[str, object], keeps: bool
) -> None:
    assert keeps_seat(before, replace(before, **changes)) is keeps  # type: ignore[arg-type]


NEW = NOON + 30
DUE = int(NOON) + 60


def rescheduled(of: Job, expression: str) -> Job:
    return replace(of, schedule=job(expression).schedule).redefined(NEW)


@pytest.mark.parametrize(
    ("before", "after", "due", "loses"),
    [
        (RECURRING, replace(RECURRING, name="x"), DUE, False),
        (RECURRING, replace(RECURRING, overlap=Overlap.ALLOW), DUE, True),
        (ALLOWS, replace(ALLOWS, overlap=Overlap.SKIP), DUE, True),  # a run without the lock may be at work
        (ALLOWS, replace(ALLOWS, name="x"), DUE, False),
        (ALLOWS, replace(ALLOWS, timeout_seconds=60), DUE, True),
        (RECURRING, rescheduled(RECURRING, "rate(20 seconds)"), DUE, False),  # both take the lock
        (RECURRING, rescheduled(RECURRING, "at(2026-11-21T13:00:00)"), DUE, True),  # the new one takes none
        (RECURRING, rescheduled(RECURRING, ""), DUE, False),
        (WHEN_ASKED, rescheduled(WHEN_ASKED, "rate(20 seconds)"), None, False),
        (WHEN_ASKED, rescheduled(WHEN_ASKED, "at(2026-11-21T13:00:00)"), None, True),
        (ONE_OFF, rescheduled(ONE_OFF, ""), None, True),
        (ONE_OFF, rescheduled(ONE_OFF, "at(2026-11-21T13:00:00)"), DUE, False),  # it has not come due
        (ONE_OFF, rescheduled(ONE_OFF, "at(2026-11-21T13:00:00)"), int(NOON), True),
        (ONE_OFF, rescheduled(ONE_OFF, "at(2026-11-21T13:00:00)"), None, True),  # claimed: it may be running
        (ONE_OFF, rescheduled(ONE_OFF, "rate(20 seconds)"), None, True),
        (replace(ONE_OFF, state=JobState.COMPLETED), rescheduled(ONE_OFF, "rate(20 seconds)"), None, False),
        (job("nonsense"), rescheduled(RECURRING, "rate(20 seconds)"), None, True),
    ],
)
def test_tenant_limits_edit_removes_the_seat_if_a_run_could_start_beside_an_earlier_one(
    before: Job, after: Job, due: int | None, loses: bool
) -> None:
    assert loses_seat(before, after, due, now=NEW) is loses


NOW = 1_000_000.0
RULES = BucketRules(rate=10, burst=100)


def bucket(tokens: float, *, at: float = NOW) -> Bucket:
    """A bucket that has so many tokens at that time."""
    return Bucket(round((at + (RULES.burst - tokens) / RULES.rate) * NANOSECONDS), round(at * NANOSECONDS))


def test_tenant_limits_bucket_without_a_record_is_full() -> None:
    assert tokens_left(None, RULES, NOW) == 100


def test_tenant_limits_bucket_fills_with_time_up_to_its_burst() -> None:
    assert tokens_left(bucket(0), RULES, NOW + 3) == 30
    assert tokens_left(bucket(0), RULES, NOW + 3600) == 100


def test_tenant_limits_bucket_written_by_a_clock_far_ahead_counts_as_full() -> None:
    assert tokens_left(bucket(0, at=NOW + 3600), RULES, NOW) == 100


@pytest.mark.parametrize(
    ("at", "seconds"), [(-1.0, 0.0), (0.0, 0.0), (4.0, 4.0), (10.0, 10.0), (10.1, 0.0), (3600.0, 0.0)]
)
def test_tenant_limits_bucket_shows_how_far_its_writer_is_ahead_unless_that_clock_is_wrong(
    at: float, seconds: float
) -> None:
    assert ahead(bucket(50, at=NOW + at), NOW) == seconds
    assert ahead(None, NOW) == 0


@pytest.mark.parametrize(("tokens", "granted"), [(99.0, 20), (80.0, 20), (40.0, 10), (7.9, 1), (1.0, 1)])
def test_tenant_limits_grant_is_a_quarter_of_the_tokens_but_at_least_one_and_at_most_twenty(
    tokens: float, granted: int
) -> None:
    taken = take(bucket(tokens), RULES, NOW, wanted=50)
    assert taken.granted == granted <= MAX_TAKEN
    assert taken.change is not None
    after = changed(bucket(tokens), taken.change)
    assert tokens_left(after, RULES, NOW) == pytest.approx(tokens - granted)


@pytest.mark.parametrize(("burst", "granted"), [(1, 1), (40, 1), (50, 11), (60, 15), (100, 20), (2_000, 20)])
def test_tenant_limits_first_instance_gets_more_than_one_token_if_forty_requests_still_fit(
    burst: int, granted: int
) -> None:
    assert take(None, BucketRules(10, burst), NOW, wanted=1).granted == granted
    assert burst < 40 or burst - granted >= 39


@pytest.mark.parametrize(("wanted", "granted"), [(0, 1), (1, 1), (7, 7), (30, 20)])
def test_tenant_limits_another_instance_gets_the_tokens_that_it_requests(wanted: int, granted: int) -> None:
    assert take(bucket(99), RULES, NOW, wanted=wanted).granted == granted


def test_tenant_limits_several_tokens_are_granted_while_they_are_a_quarter_despite_concurrent_grants() -> None:
    taken = take(bucket(50), RULES, NOW, wanted=50)
    assert taken.granted == 12
    assert taken.change is not None
    assert changed(bucket(48), taken.change) is not None
    assert changed(bucket(47), taken.change) is None


def test_tenant_limits_single_token_can_be_the_last_one() -> None:
    taken = take(bucket(50), RULES, NOW, wanted=1)
    assert taken.change is not None
    assert changed(bucket(1), taken.change) is not None
    assert changed(bucket(0.9), taken.change) is None


def test_tenant_limits_empty_bucket_grants_nothing_and_returns_the_time_of_the_next_token() -> None:
    taken = take(bucket(0.5), RULES, NOW, wanted=50)
    assert (taken.change, taken.granted, taken.wait) == (None, 0, pytest.approx(0.05))
    assert take(bucket(0.5), RULES, NOW + taken.wait + 1e-6, wanted=1).granted == 1


def test_tenant_limits_work_in_progress_continues_despite_debt() -> None:
    owing = bucket(-30)
    assert charge(owing, RULES, 5, NOW).change is None
    taken = charge(owing, RULES, 5, NOW, begun=True)
    assert taken.change is not None
    assert tokens_left(changed(owing, taken.change), RULES, NOW) == pytest.approx(-35)


def test_tenant_limits_work_in_progress_adds_debt_of_at_most_one_minute_of_the_rate() -> None:
    owing = bucket(-30)
    taken = charge(owing, RULES, 1_000_000, NOW, begun=True)
    assert taken.change is not None
    written = changed(owing, taken.change)
    assert tokens_left(written, RULES, NOW) == pytest.approx(-MAX_DEBT_SECONDS * RULES.rate)
    again = charge(written, RULES, 5, NOW, begun=True)
    assert again.change is not None
    assert changed(written, again.change) == written


def test_tenant_limits_charge_does_not_overwrite_the_debt_of_another_instance() -> None:
    taken = charge(bucket(50), RULES, 80, NOW)
    assert taken.change is not None
    assert changed(bucket(-1), taken.change) is None
    assert tokens_left(changed(bucket(30), taken.change), RULES, NOW) == pytest.approx(-50)


@pytest.mark.parametrize(("wait", "seconds"), [(0.0, 1), (0.05, 1), (1.0, 1), (1.2, 2)])
def test_tenant_limits_retry_after_is_rounded_up_to_whole_seconds(wait: float, seconds: int) -> None:
    assert retry_after(wait) == seconds
