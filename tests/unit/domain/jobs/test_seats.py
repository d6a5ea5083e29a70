"""Which jobs have a seat, which lose it, and when it is free for another one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from duecourse.domain.jobs.job import Gone, Job, JobSnapshot
from duecourse.domain.jobs.policies import JobState, Lane, Overlap
from duecourse.domain.jobs.seats import Seats, has_left, has_seat, keeps_seat, loses_seat, may_have_seat
from tests.support.jobs import NOON, job

RECURRING = job(seated=True)
ONE_OFF = job("at(2026-11-21T12:01:00)", seated=True)
WHEN_ASKED = job("", seated=True)
LATER = NOON + 131
"""A call that had begun at NOON has ended, whatever the clocks say: 120 s and a margin of 10."""


@pytest.mark.parametrize("overlap", Overlap)
def test_only_jobs_whose_runs_may_overlap_can_have_no_seat(overlap: Overlap) -> None:
    assert may_have_seat(job(overlap=overlap)) is (overlap is not Overlap.ALLOW)


@pytest.mark.parametrize(
    ("of", "lane", "generation", "manual", "seated"),
    [
        (RECURRING, Lane.NORMAL, RECURRING.generation, False, True),
        (RECURRING, Lane.NORMAL, RECURRING.generation - 1, False, True),  # it takes the same lock
        (RECURRING, Lane.NORMAL, RECURRING.generation, True, True),
        (RECURRING, Lane.HIGH, RECURRING.generation, False, False),  # enqueued before the job changed its lane
        (replace(RECURRING, seated=False), Lane.NORMAL, RECURRING.generation, False, False),
        (replace(RECURRING, seated=None), Lane.NORMAL, RECURRING.generation, False, True),
        (replace(RECURRING, seated=None), Lane.HIGH, RECURRING.generation, True, True),
        (replace(RECURRING, state=JobState.PAUSED), Lane.NORMAL, RECURRING.generation, True, True),
        (replace(RECURRING, state=JobState.COMPLETED), Lane.NORMAL, RECURRING.generation, True, False),
        (WHEN_ASKED, Lane.NORMAL, WHEN_ASKED.generation, True, True),  # it takes the lock, too
        (ONE_OFF, Lane.NORMAL, ONE_OFF.generation, False, True),
        (ONE_OFF, Lane.NORMAL, ONE_OFF.generation, True, False),  # nothing keeps two of those apart
        (ONE_OFF, Lane.NORMAL, ONE_OFF.generation - 1, False, False),  # a redrive of what it was before
    ],
)
def test_a_run_starts_among_the_seats_where_its_job_has_one_and_no_second_run_can(
    of: Job, lane: Lane, generation: int, manual: bool, seated: bool
) -> None:
    assert has_seat(of, lane, generation, manual=manual) is seated


@pytest.mark.parametrize(
    ("holder", "left_at_once", "left_later"),
    [
        (None, True, True),
        (Gone(NOON), False, True),  # a call of it may still be under way
        (RECURRING, False, False),
        (replace(RECURRING, seated=None), False, False),  # edited by a release of before there were seats
        (replace(RECURRING, state=JobState.PAUSED), False, False),
        (replace(RECURRING, state=JobState.COMPLETED), True, True),
        (replace(RECURRING, seated=False), False, True),
        (replace(RECURRING, priority=Lane.HIGH), False, True),
    ],
)
def test_a_seat_is_free_once_no_call_of_its_job_can_be_under_way(
    holder: JobSnapshot, left_at_once: bool, left_later: bool
) -> None:
    assert has_left(Lane.NORMAL, holder, now=NOON + 1) is left_at_once
    assert has_left(Lane.NORMAL, holder, now=LATER) is left_later


def test_a_call_in_long_may_go_on_for_a_quarter_of_an_hour() -> None:
    assert not has_left(Lane.LONG, Gone(NOON), now=NOON + 900)
    assert has_left(Lane.LONG, Gone(NOON), now=NOON + 911)


def test_who_cannot_be_read_keeps_the_seat() -> None:
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
        (replace(RECURRING, seated=None), {"name": "x"}, False),
        (replace(RECURRING, state=JobState.COMPLETED), {"name": "x"}, False),
    ],
)
def test_an_edit_leaves_a_job_its_seat_unless_it_goes_to_another_lane(
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
def test_an_edit_takes_the_seat_where_a_run_could_start_beside_an_earlier_one(
    before: Job, after: Job, due: int | None, loses: bool
) -> None:
    assert loses_seat(before, after, due, now=NEW) is loses
