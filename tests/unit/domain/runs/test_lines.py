"""Runs of a job that wait in line (`queue`), or of which only the newest runs (`newest`, `replace`)."""

from __future__ import annotations

import pytest

from duecourse.domain.jobs.job import Overlap
from duecourse.domain.runs.overlap import (
    LOST_SECONDS,
    LinePosition,
    Lock,
    LockDecision,
    LockRequest,
    TakeOver,
    Wait,
    Yield,
    decide_lock,
    decide_turn,
)
from duecourse.domain.runs.states import Run, RunState
from tests.support.jobs import job
from tests.support.start_requests import DUE, WAITS_UNTIL, run, waiting_run

OLDER, HOLDER, NEWER = "20261121T120000Z", "20261121T120100Z", "20261121T120200Z"
LOCK = Lock(HOLDER, DUE + 120.0)
NOW = DUE + 60.0
ALIVE = f"tick-tock.{HOLDER} is RUNNING"
WAITING = [Overlap.QUEUE, Overlap.NEWEST, Overlap.REPLACE]


def decide(
    policy: Overlap, holder: Run | None, *, mine: str = NEWER, fresh: bool = True, now: float = NOW
) -> LockDecision:
    return decide_lock(LOCK, holder, LockRequest(mine, policy, fresh), now=now)


# The holder of the lock is alive.


def test_a_run_that_may_not_overlap_yields() -> None:
    assert decide(Overlap.SKIP, run()) == Yield("overlap", ALIVE)


@pytest.mark.parametrize("policy", [Overlap.QUEUE, Overlap.NEWEST])
@pytest.mark.parametrize("mine", [OLDER, NEWER])
def test_a_run_waits_whether_it_is_older_or_newer(policy: Overlap, mine: str) -> None:
    assert decide(policy, run(), mine=mine) == Wait(ALIVE)


def test_a_newer_run_asks_the_one_it_replaces_to_end_and_waits_for_it() -> None:
    assert decide(Overlap.REPLACE, run()) == Wait(ALIVE, run())


def test_a_holder_that_was_asked_to_end_is_not_asked_again() -> None:
    ending = run(cancel_requested="replaced")
    assert decide(Overlap.REPLACE, ending) == Wait(ALIVE, None)


def test_an_older_run_does_not_replace_a_newer_one_but_gives_way() -> None:
    assert decide(Overlap.REPLACE, run(), mine=OLDER) == Yield("replaced", ALIVE)


def test_a_run_is_not_replaced_by_itself() -> None:
    assert isinstance(decide(Overlap.REPLACE, run(), mine=HOLDER), Wait)


@pytest.mark.parametrize("policy", list(Overlap))
def test_a_run_that_has_made_an_attempt_waits_for_its_next_one_under_every_policy(policy: Overlap) -> None:
    assert decide(policy, run(), fresh=False) == Wait(ALIVE)


@pytest.mark.parametrize("policy", WAITING)
@pytest.mark.parametrize("holder", [None, run(RunState.QUEUED), run(RunState.DEAD)], ids=["none", "queued", "dead"])
def test_a_run_that_may_wait_does_so_while_the_holder_is_about_to_start(policy: Overlap, holder: Run | None) -> None:
    assert decide(policy, holder) == Wait("its holder is about to start")


@pytest.mark.parametrize("policy", WAITING)
@pytest.mark.parametrize("state", [RunState.SUCCEEDED, RunState.CANCELLED, RunState.SKIPPED])
def test_a_holder_that_has_ended_is_not_waited_for(policy: Overlap, state: RunState) -> None:
    assert decide(policy, run(state)) == TakeOver(LOCK, f"its holder is {state}")


def test_a_holder_that_waits_for_its_callback_keeps_the_lock_until_an_hour_after_its_deadline() -> None:
    last = WAITS_UNTIL + LOST_SECONDS
    assert decide(Overlap.SKIP, waiting_run(), now=last) == Yield("overlap", f"tick-tock.{HOLDER} is WAITING")
    late = decide(Overlap.SKIP, waiting_run(), now=last + 0.001)
    assert late == TakeOver(LOCK, "its holder's callback never came")


def test_the_lock_of_a_holder_with_heartbeats_lasts_until_the_next_one_is_due() -> None:
    beating = waiting_run(heartbeat_until=DUE + 100.0)
    assert isinstance(decide(Overlap.SKIP, beating, now=DUE + 100.0 + LOST_SECONDS), Yield)
    assert isinstance(decide(Overlap.SKIP, beating, now=DUE + 100.5 + LOST_SECONDS), TakeOver)


def test_a_waiting_holder_is_believed_in_so_long_as_the_invocation_that_took_the_lock_may_live() -> None:
    late = WAITS_UNTIL + LOST_SECONDS + 1
    taken = Lock(HOLDER, late + 100)
    assert isinstance(decide_lock(taken, waiting_run(), LockRequest(NEWER, Overlap.QUEUE), now=late), Wait)


# Whose turn it is among those that wait.


FIRST, MINE, LAST = LinePosition(DUE - 60, OLDER), LinePosition(DUE, HOLDER), LinePosition(DUE + 60, NEWER)


def turn(
    policy: Overlap, *, first: LinePosition | None = None, last: LinePosition | None = None
) -> Wait | Yield | None:
    return decide_turn(job(overlap=policy), MINE, first=first, last=last)


@pytest.mark.parametrize("policy", list(Overlap))
def test_where_nobody_waits_it_is_everybodys_turn(policy: Overlap) -> None:
    assert turn(policy) is None


@pytest.mark.parametrize("policy", list(Overlap))
def test_a_run_that_holds_the_lock_does_not_wait_for_itself(policy: Overlap) -> None:
    assert turn(policy, first=MINE, last=MINE) is None


def test_in_a_queue_the_older_goes_first() -> None:
    assert turn(Overlap.QUEUE, first=FIRST) == Wait(f"{OLDER} waits for longer")
    assert turn(Overlap.QUEUE, first=LAST) is None


def test_of_two_that_are_due_at_once_the_names_decide() -> None:
    assert turn(Overlap.QUEUE, first=LinePosition(DUE, OLDER)) == Wait(f"{OLDER} waits for longer")
    assert turn(Overlap.QUEUE, first=LinePosition(DUE, NEWER)) is None


@pytest.mark.parametrize("policy", [Overlap.NEWEST, Overlap.REPLACE])
def test_where_only_the_newest_runs_an_older_one_gives_way(policy: Overlap) -> None:
    assert turn(policy, last=LAST) == Yield("replaced", f"{NEWER} takes its place")
    assert turn(policy, last=FIRST) is None


@pytest.mark.parametrize("policy", [Overlap.SKIP, Overlap.ALLOW])
def test_where_nobody_is_to_wait_a_line_means_nothing(policy: Overlap) -> None:
    assert turn(policy, first=FIRST, last=LAST) is None
