"""Messages become visible on their second: never before it, and less than a second after it."""

from itertools import count

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from duecourse.domain.ids import RunIdentity
from duecourse.domain.instants import HOLD_SECONDS
from duecourse.domain.jobs.cursor import plan
from duecourse.domain.jobs.job import Lane, MissedMode, MissedPolicy, Precision
from duecourse.limits import MAX_DELAY_SECONDS
from duecourse.messages import RunMessage
from duecourse.usecases.dispatch.claim import ALIGNED_SECONDS, delay, message, outgoing
from duecourse.usecases.worker.attempt import CLOCK_SLACK_SECONDS
from duecourse_schedules.schedule import OccurrenceRules
from tests.support.jobs import NOON, cursor, job

T0 = int(NOON)
DUES = st.integers(1, 850).map(lambda ahead: T0 + ahead)
FRACTIONS = st.floats(0, 1, exclude_max=True)


@given(DUES, FRACTIONS)
@example(T0 + 1, 5e-324)
@example(T0 + 1, 1 - 2**-22)
@example(T0 + 840, 0.1)
def test_enqueue_message_becomes_visible_within_its_due_second(due: int, fraction: float) -> None:
    now = T0 + fraction
    visible = now + delay(due, Precision.SECOND, now)
    assert due <= visible < due + 1


@given(DUES, st.floats(0, ALIGNED_SECONDS))
def test_enqueue_message_sent_just_after_the_start_of_a_second_is_late_by_at_most_that_delay(
    due: int, fraction: float
) -> None:
    visible = T0 + fraction + delay(due, Precision.SECOND, T0 + fraction)
    assert visible - due <= ALIGNED_SECONDS + 1e-6


@given(DUES, FRACTIONS)
@example(T0 + 1, 1 - 2**-22)
def test_enqueue_held_message_is_visible_less_than_a_second_before_its_due_second_and_as_soon_after_it_as_others(
    due: int, fraction: float
) -> None:
    now = T0 + fraction
    visible = now + delay(due, Precision.SECOND, now, held=True)
    assert -1 < visible - due <= ALIGNED_SECONDS + 1e-6
    assert due - visible <= HOLD_SECONDS


@given(DUES, FRACTIONS)
def test_enqueue_exact_message_is_visible_before_its_due_second_within_the_hold_time_of_a_worker(
    due: int, fraction: float
) -> None:
    now = T0 + fraction
    visible = now + delay(due, Precision.EXACT, now)
    assert visible <= max(due - HOLD_SECONDS + ALIGNED_SECONDS, now)
    assert due - visible <= HOLD_SECONDS + CLOCK_SLACK_SECONDS


@given(DUES, st.floats(0, ALIGNED_SECONDS - 0.001))
def test_enqueue_exact_message_sent_at_the_start_of_a_second_is_visible_one_second_early(
    due: int, fraction: float
) -> None:
    visible = T0 + fraction + delay(due, Precision.EXACT, T0 + fraction)
    assert due - HOLD_SECONDS <= visible <= due - HOLD_SECONDS + ALIGNED_SECONDS + 1e-6


@pytest.mark.parametrize("precision", list(Precision))
def test_enqueue_due_message_is_not_delayed(precision: Precision) -> None:
    assert [delay(T0 - ago, precision, NOON) for ago in (0, 1, 86_400)] == [0, 0, 0]


@pytest.mark.parametrize(
    ("ahead", "fraction", "second", "exact"),
    [
        (10, 0.0, 10, 9),
        (10, 0.1, 10, 9),
        (10, 0.2, 10, 8),
        (10, 0.9, 10, 8),
        (1, 0.0, 1, 0),
        (1, 0.5, 1, 0),
        (2, 0.5, 2, 0),
        (840, 0.001, 840, 839),
    ],
)
def test_enqueue_delays_are_whole_seconds_from_the_time_of_sending(
    ahead: int, fraction: float, second: int, exact: int
) -> None:
    assert delay(T0 + ahead, Precision.SECOND, NOON + fraction) == second
    assert delay(T0 + ahead, Precision.EXACT, NOON + fraction) == exact


def test_enqueue_delay_is_limited_to_the_maximum_of_the_queue() -> None:
    assert delay(T0 + 86_400, Precision.SECOND, NOON) == MAX_DELAY_SECONDS
    assert delay(T0 + 86_400, Precision.EXACT, NOON) == MAX_DELAY_SECONDS


# The messages.


def test_enqueue_each_firing_of_a_plan_is_one_message_with_its_own_nonce() -> None:
    standing = cursor(job("* * * * *", priority=Lane.HIGH, jitter_seconds=30))
    made = plan(standing, now=NOON, horizon=200)
    serial = count(1)
    sent = outgoing(standing, made, now=NOON, nonce=lambda: f"nonce-{next(serial)}")
    assert [one.message for one in sent] == [
        RunMessage(
            RunIdentity(
                tenant="default",
                job_id="tick-tock",
                occurrence=firing.occurrence,
                due=firing.due,
                generation=standing.generation,
            ),
            lane=Lane.HIGH,
            not_before=float(firing.due),
            nonce=f"nonce-{number}",
            following=firing.following,
        )
        for number, firing in enumerate(made.firings, 1)
    ]
    assert [one.delay_seconds for one in sent] == [firing.due - T0 for firing in made.firings]


def test_enqueue_plan_without_firings_uses_no_nonce() -> None:
    standing = cursor(job("0 15 * * *"))

    def drawn() -> str:
        raise AssertionError("drawn")

    assert outgoing(standing, plan(standing, now=NOON, horizon=200), now=NOON, nonce=drawn) == []


def test_enqueue_catch_up_run_is_marked_and_sent_immediately() -> None:
    standing = cursor(job("* * * * *"))
    hours = NOON + 7 * 3600 + 0.5
    first, *on_time = outgoing(standing, plan(standing, now=hours, horizon=10), now=hours, nonce=lambda: "n")
    assert (first.delay_seconds, first.message.count) == (0, 418)
    assert (first.message.through, first.message.caught_up_at) == (T0 + 7 * 3600 - 120, hours)
    assert (first.message.occurrence, first.message.not_before) == (T0 + 60, NOON + 60)
    assert first.message.rules == OccurrenceRules(standing.schedule, standing.exclude, standing.jitter_seconds)
    assert first.message.following == on_time[0].message.due
    assert [(one.message.count, one.message.through, one.message.caught_up_at) for one in on_time] == [
        (1, None, None)
    ] * 2
    assert {one.message.rules for one in on_time} == {None}


def test_enqueue_single_missed_occurrence_is_caught_up_as_one_occurrence() -> None:
    standing = cursor(job("0 * * * *", missed=MissedPolicy(MissedMode.RUN_ALL)))
    late = NOON + 3600 + 300
    (firing,) = plan(standing, now=late, horizon=10).firings
    made = message(standing, firing, now=late, nonce="n")
    assert (made.count, made.through, made.caught_up_at) == (1, None, late)
