"""What is wrong with an entry of the due index, and where it belongs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from duecourse.domain.jobs.job import JobState
from duecourse.domain.maintenance.index import (
    GIVEN_UP_SECONDS,
    Entry,
    IndexFault,
    ReadSlots,
    fault_of,
    long_over,
    recomputed,
)
from duecourse.domain.runs.states import RunState
from duecourse.domain.schedules import ScheduleError, ScheduleSpec
from tests.support.jobs import NOON, cursor, job, moved
from tests.support.runs import run

SLOTS = ReadSlots({0: "2026-11-21T10", 1: None}, "2026-11-14T12")
HOUR = 3600


def entry(slot: str | None = "2026-11-21T12/0000", **changes: Any) -> Entry:
    of = changes.pop("cursor", cursor(job("rate(5 minutes)")))
    due = of.due if of is not None else int(NOON)
    return Entry(("JOB#default#tick-tock", "CURSOR"), "default", "tick-tock", slot, due, of, **changes)


def fault(each: Entry, now: float = NOON) -> IndexFault | None:
    return fault_of(each, SLOTS, now=now)


@pytest.mark.parametrize(
    "slot", ["2026-11-21T12/0000", "2026-11-21T10/0000", "2026-11-14T12/0001", "2099-01-01T00/0001"]
)
def test_what_a_round_will_read_stands_well(slot: str) -> None:
    assert fault(entry(slot)) is None


@pytest.mark.parametrize(
    "slot", ["2026-11-21T09/0000", "2026-11-14T11/0001", "2026-11-21T12/0002", "2026-11-21T12", "nonsense", "/"]
)
def test_what_no_round_will_read_is_found_whether_or_not_it_can_be_read(slot: str) -> None:
    assert fault(entry(slot)) is IndexFault.UNREAD
    assert fault(entry(slot, cursor=None, unreadable=True)) is IndexFault.UNREAD


def test_an_unreadable_entry_in_a_slot_is_left_to_dispatch() -> None:
    assert fault(entry(cursor=None, unreadable=True)) is None


@pytest.mark.parametrize(
    ("tzdata", "stands", "expected"),
    [("2020a", 4 * HOUR, IndexFault.OUTDATED), ("2020a", 3 * HOUR, None), ("2020a", 2 * HOUR, None)],
    ids=["earlier today", "the same", "later today"],
)
def test_only_a_time_that_moved_earlier_cannot_wait(tzdata: str, stands: int, expected: IndexFault | None) -> None:
    at = int(NOON) + stands
    old = replace(cursor(job("0 15 * * *")), occurrence=at, due=at, tzdata=tzdata)
    assert fault(entry(cursor=old)) is expected


def test_a_cursor_of_today_is_not_computed_anew() -> None:
    at = int(NOON) + 4 * HOUR  # `run_once` may stand where its schedule says nothing any more
    assert fault(entry(cursor=replace(cursor(job("0 15 * * *")), occurrence=at, due=at))) is None


def test_a_cursor_that_has_an_error_is_quarantined() -> None:
    assert fault(entry(None, cursor=replace(cursor(job()), error="no"))) is IndexFault.QUARANTINED
    assert fault(entry(None, cursor=None, unreadable=True)) is IndexFault.QUARANTINED


def test_what_does_not_fire_on_purpose_is_not_missed_and_a_timer_always_is() -> None:
    for state in (JobState.PAUSED, JobState.COMPLETED):
        assert fault(entry(None, cursor=replace(cursor(job()), error="no"), state=state)) is None
        assert fault(entry(None, cursor=None, unreadable=True, state=state)) is None
        assert fault(entry(None, cursor=None, state=state)) is IndexFault.QUARANTINED
    assert fault(entry(None, cursor=None)) is IndexFault.QUARANTINED


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        (JobState.ACTIVE, IndexFault.OUTSIDE),
        (None, IndexFault.OUTSIDE),
        (JobState.PAUSED, None),
        (JobState.COMPLETED, None),
    ],
)
def test_what_has_an_occurrence_and_no_slot_is_outside_if_its_job_may_be_active(
    state: JobState | None, expected: IndexFault | None
) -> None:
    assert fault(entry(None, state=state)) is expected


def test_a_cursor_that_lost_its_occurrence_is_outside_until_nothing_may_come_any_more() -> None:
    stuck = replace(cursor(job("rate(5 minutes)")), occurrence=None, due=None)
    assert fault(entry(None, cursor=stuck, state=JobState.ACTIVE)) is IndexFault.OUTSIDE
    again = recomputed(stuck)
    assert again is not None
    assert again.due == NOON + 300
    assert fault(entry(None, cursor=replace(stuck, remaining=0), state=JobState.ACTIVE)) is None
    once = replace(cursor(job("at(2026-11-21T12:05:00)")), occurrence=None, due=None, after=int(NOON) + 300)
    assert fault(entry(None, cursor=once, state=JobState.ACTIVE)) is None


def test_a_schedule_has_ended_once_its_last_occurrence_has_come_due() -> None:
    over = moved(cursor(job("at(2026-11-21T12:05:00)")), None)
    assert fault(entry(None, cursor=over, state=JobState.ACTIVE), NOON + 299) is None
    assert fault(entry(None, cursor=over, state=JobState.ACTIVE), NOON + 300) is IndexFault.ENDED
    assert fault(entry(None, cursor=over, state=JobState.COMPLETED), NOON + 300) is None


def test_a_job_without_a_schedule_is_where_it_belongs_and_only_its_line_is_looked_at() -> None:
    asked = cursor(job(""))
    assert fault(entry(None, cursor=asked, state=JobState.ACTIVE)) is IndexFault.NO_SCHEDULE
    assert fault(entry(None, cursor=asked, state=JobState.PAUSED)) is None
    assert recomputed(asked) is None
    assert not long_over(asked, (), now=NOON + 2 * GIVEN_UP_SECONDS)


def test_a_cursor_that_cannot_be_computed_is_no_decision_here() -> None:
    with pytest.raises(ScheduleError):
        fault(entry(cursor=replace(cursor(job()), schedule=ScheduleSpec("nonsense"), tzdata="2020a")))


def test_an_entry_goes_to_its_own_hour_or_to_the_present_one_and_keeps_a_shard_that_is_ticked() -> None:
    assert SLOTS.slot_for(entry("2026-11-21T05/0001"), int(NOON) - 7 * HOUR, NOON) == "2026-11-21T12/0001"
    assert SLOTS.slot_for(entry("2026-11-21T05/0001"), int(NOON) + 2 * HOUR, NOON) == "2026-11-21T14/0001"
    assert SLOTS.slot_for(entry("2026-11-21T12/0007"), int(NOON), NOON)[:-1] == "2026-11-21T12/000"
    for each in (entry("2026-11-21T12/0007"), entry("nonsense"), entry(None)):
        assert SLOTS.read(SLOTS.slot_for(each, int(NOON), NOON))


def test_a_job_is_given_up_when_no_message_can_be_left_and_no_run_is_alive() -> None:
    made = job("at(2026-11-21T12:05:00)")
    over = moved(cursor(made), None)
    late = NOON + 300 + GIVEN_UP_SECONDS
    assert long_over(over, [], now=late)
    assert long_over(over, [run(made, RunState.DEAD)], now=late)
    assert not long_over(over, [run(made, RunState.WAITING)], now=late)
    assert not long_over(over, [], now=late - 1)
    assert not long_over(cursor(made), [], now=late)
