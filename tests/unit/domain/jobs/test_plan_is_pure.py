"""What is enqueued for a cursor is a function of the cursor: dispatchers at different times agree, nothing is lost."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from duecourse.domain.jobs.cursor import Cursor
from duecourse.domain.jobs.job import MissedMode, MissedPolicy
from duecourse.domain.jobs.plan import COUNT_LIMIT, MAX_FIRINGS, Plan, plan
from tests.support.jobs import NOON, cursor, job

T0 = int(NOON)
HORIZON = 840
EXPRESSIONS = (
    *("* * * * *", "*/7 * * * *", "13 * * * *", "30 2 * * *"),
    *("rate(1 second)", "rate(10 seconds)", "rate(17 minutes)", "at(2026-11-21T12:09:00)"),
)


@st.composite
def cursors(draw: st.DrawFn) -> Cursor:
    exclude: Any = draw(st.sampled_from([(), (), ("2026-11-21T12:10:00Z",), ("2026-11-22",)]))
    return cursor(
        job(
            draw(st.sampled_from(EXPRESSIONS)),
            timezone=draw(st.sampled_from(["UTC", "Australia/Lord_Howe"])),
            missed=MissedPolicy(
                draw(st.sampled_from(MissedMode)), draw(st.integers(0, 600)), draw(st.integers(1, MAX_FIRINGS))
            ),
            jitter_seconds=draw(st.sampled_from([0, 0, 5, 300, 3600])),
            exclude=exclude,
            max_runs=draw(st.sampled_from([None, None, 1, 7, 150])),
        )
    )


TIMES = st.one_of(st.floats(-300, 1800), st.floats(-300, 2 * 86_400)).map(lambda after: NOON + after)


def at(of: Cursor, now: float) -> Plan:
    return plan(of, now=now, horizon=HORIZON)


def names(made: Plan) -> list[int]:
    return [firing.occurrence for firing in made.firings]


@given(cursors(), TIMES, TIMES)
def test_two_dispatchers_at_different_times_enqueue_the_same_names_as_far_as_both_of_them_come(
    of: Cursor, one: float, other: float
) -> None:
    earlier, later = (at(of, now) for now in sorted((one, other)))
    if not earlier.firings:
        return
    last = names(earlier)[-1]
    # The later one may have given up on more of them, but never invents a name that the earlier one had not.
    assert {name for name in names(later) if name <= last} <= set(names(earlier))
    due = {firing.occurrence: firing.due for firing in earlier.firings}
    assert all(firing.due == due[firing.occurrence] for firing in later.firings if firing.occurrence in due)


@given(cursors(), TIMES, TIMES)
def test_where_both_find_the_cursor_on_time_the_names_are_the_same_to_the_last(
    of: Cursor, one: float, other: float
) -> None:
    earlier, later = (at(of, now) for now in sorted((one, other)))
    if later.missed == 0:
        assert names(later)[: len(names(earlier))] == names(earlier)


@given(cursors(), TIMES, TIMES)
def test_the_run_for_all_that_was_missed_has_the_same_name_at_any_time(of: Cursor, one: float, other: float) -> None:
    caught_up = [firing for now in (one, other) for firing in at(of, now).firings if firing.count > 1]
    assert {firing.occurrence for firing in caught_up} <= {of.occurrence}


@given(cursors(), TIMES)
def test_the_same_cursor_at_the_same_time_gives_the_same_plan(of: Cursor, now: float) -> None:
    assert at(of, now) == at(of, now)


@given(cursors(), st.lists(TIMES, min_size=1, max_size=6).map(sorted))
def test_claim_after_claim_every_occurrence_is_enqueued_or_skipped_exactly_once(of: Cursor, times: list[float]) -> None:
    occurrences = of.occurrences()
    standing, rows = of, []
    for now in times:
        made = at(standing, now)
        rows += [(firing.occurrence, firing.through, firing.count) for firing in made.firings]
        rows += [(skipped.first, skipped.last, skipped.count) for skipped in made.skipped]
        standing = made.cursor
    rows.sort()
    assert [first for first, _, _ in rows[:1]] == ([of.occurrence] if rows else [])
    assert all(occurrences.next(through) == first for (_, through, _), (first, _, _) in pairwise(rows))
    for first, through, count in rows:
        if count < COUNT_LIMIT:
            assert count == counted(of, first, through)
    if rows and standing.occurrence is not None:
        assert occurrences.next(rows[-1][1]) == standing.occurrence
        assert occurrences.next(standing.after) == standing.occurrence
        assert standing.due == occurrences.due(standing.occurrence)
    if of.remaining is not None:
        assert standing.remaining == of.remaining - sum(count for _, _, count in rows)


def counted(of: Cursor, first: int, through: int) -> int:
    occurrences, found = of.occurrences(), 0
    at: int | None = first
    while at is not None and at <= through:
        found, at = found + 1, occurrences.next(at)
    return found


@given(cursors(), TIMES)
def test_a_claim_covers_a_hundred_firings_at_most_and_none_beyond_the_reach(of: Cursor, now: float) -> None:
    made = at(of, now)
    assert len(made.firings) <= MAX_FIRINGS
    assert all(firing.due <= now + HORIZON for firing in made.firings)
    on_time = int(now) - of.missed.grace_seconds
    assert all(firing.caught_up == (firing.due < on_time) for firing in made.firings)


@given(cursors(), TIMES)
def test_a_plan_that_moves_nothing_is_the_end_of_the_round_for_its_cursor(of: Cursor, now: float) -> None:
    """A cursor that is due within the reach always moves, so that a round over it ends."""
    made = at(of, now)
    if of.due is not None and of.due <= now + HORIZON:
        assert made.cursor.occurrence is None or made.cursor.occurrence > (of.occurrence or 0)
