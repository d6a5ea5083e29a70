"""Runs of a job that waits in line (`queue`) or puts the newest first (`replace`)."""

from __future__ import annotations

import pytest

from duecourse.domain.job import Overlap
from duecourse.domain.overlap import (
    LOST_SECONDS,
    Lock,
    LockDecision,
    Seize,
    Wait,
    Waiter,
    Yield,
    ask_again,
    decide_line,
    decide_lock,
)
from duecourse.domain.run import Run, RunState
from tests.support.offers import DUE, WAITS_UNTIL, run, waiting_run

OLDER, HOLDER, NEWER = "20261121T120000Z", "20261121T120100Z", "20261121T120200Z"
LOCK = Lock(HOLDER, DUE + 120.0)
NOW = DUE + 60.0
ALIVE = f"tick-tock.{HOLDER} is RUNNING"


def decide(policy: Overlap, holder: Run, *, mine: str = NEWER, due: float = NOW, now: float = NOW) -> LockDecision:
    return decide_lock(LOCK, holder, now=now, mine=mine, due=due, policy=policy)


# The holder of the lock is alive.


def test_a_run_that_may_not_overlap_yields() -> None:
    assert decide(Overlap.SKIP, run()) == Yield("overlap", ALIVE)


@pytest.mark.parametrize("mine", [OLDER, NEWER])
def test_a_queued_run_waits_whether_it_is_older_or_newer(mine: str) -> None:
    assert decide(Overlap.QUEUE, run(), mine=mine) == Wait(NOW + 2, ALIVE)


def test_a_newer_run_asks_the_one_it_replaces_to_end_and_waits_for_it() -> None:
    assert decide(Overlap.REPLACE, run()) == Wait(NOW + 2, ALIVE, run())


def test_a_newer_run_asks_less_often_the_longer_it_waits() -> None:
    assert decide(Overlap.REPLACE, run(), due=NOW - 1000) == Wait(NOW + 30, ALIVE, run())


def test_who_was_asked_to_end_already_is_not_asked_again() -> None:
    ending = run(cancel_requested="replaced")
    assert decide(Overlap.REPLACE, ending) == Wait(NOW + 2, ALIVE, None)


def test_an_older_run_does_not_replace_a_newer_one_but_gives_way() -> None:
    assert decide(Overlap.REPLACE, run(), mine=OLDER) == Yield("replaced", ALIVE)


def test_a_run_is_not_replaced_by_itself() -> None:
    assert isinstance(decide(Overlap.REPLACE, run(), mine=HOLDER), Wait)


@pytest.mark.parametrize("policy", [Overlap.QUEUE, Overlap.REPLACE])
@pytest.mark.parametrize("state", [RunState.SUCCEEDED, RunState.CANCELLED, RunState.SKIPPED])
def test_a_holder_that_has_ended_is_not_waited_for(policy: Overlap, state: RunState) -> None:
    assert decide(policy, run(state)) == Seize(LOCK, f"its holder is {state}")


def test_a_holder_that_waits_for_its_callback_keeps_the_lock_until_an_hour_after_its_deadline() -> None:
    last = WAITS_UNTIL + LOST_SECONDS
    assert decide(Overlap.SKIP, waiting_run(), now=last) == Yield("overlap", f"tick-tock.{HOLDER} is WAITING")
    late = decide(Overlap.SKIP, waiting_run(), now=last + 0.001)
    assert late == Seize(LOCK, "its holder's callback never came")


def test_it_is_the_next_sign_of_life_that_counts_for_a_holder_that_beats() -> None:
    beating = waiting_run(heartbeat_until=DUE + 100.0)
    assert isinstance(decide(Overlap.SKIP, beating, now=DUE + 100.0 + LOST_SECONDS), Yield)
    assert isinstance(decide(Overlap.SKIP, beating, now=DUE + 100.5 + LOST_SECONDS), Seize)


def test_a_waiting_holder_is_believed_in_so_long_as_the_invocation_that_took_the_lock_may_live() -> None:
    late = WAITS_UNTIL + LOST_SECONDS + 1
    taken = Lock(HOLDER, late + 100)
    assert isinstance(decide_lock(taken, waiting_run(), now=late, policy=Overlap.QUEUE), Wait)


# The line of those that wait.


def in_line(policy: Overlap, front: str, *, mine: str = HOLDER, until: float = NOW + 90) -> Wait | Yield | None:
    return decide_line(Waiter(front, until), mine, policy, due=NOW - 40, now=NOW)


@pytest.mark.parametrize("policy", list(Overlap))
def test_where_nobody_waits_it_is_everybodys_turn(policy: Overlap) -> None:
    assert decide_line(None, HOLDER, policy, due=NOW, now=NOW) is None


@pytest.mark.parametrize("policy", list(Overlap))
def test_who_is_first_in_line_does_not_wait_for_itself(policy: Overlap) -> None:
    assert in_line(policy, HOLDER) is None


def test_in_a_queue_the_older_goes_first() -> None:
    assert in_line(Overlap.QUEUE, OLDER) == Wait(NOW + 10, f"{OLDER} waits for longer")
    assert in_line(Overlap.QUEUE, NEWER) is None


def test_where_the_newest_replaces_an_older_one_that_waits_gives_way() -> None:
    assert in_line(Overlap.REPLACE, NEWER) == Yield("replaced", f"{NEWER} takes its place")
    assert in_line(Overlap.REPLACE, OLDER) is None


@pytest.mark.parametrize("policy", [Overlap.SKIP, Overlap.ALLOW])
@pytest.mark.parametrize("front", [OLDER, NEWER])
def test_where_nobody_is_to_wait_a_line_means_nothing(policy: Overlap, front: str) -> None:
    assert in_line(policy, front) is None


@pytest.mark.parametrize(("policy", "front"), [(Overlap.QUEUE, OLDER), (Overlap.REPLACE, NEWER)])
def test_who_has_not_asked_for_a_while_is_not_waited_for(policy: Overlap, front: str) -> None:
    assert in_line(policy, front, until=NOW + 0.001) is not None
    assert in_line(policy, front, until=NOW) is None


@pytest.mark.parametrize(("waited", "pause"), [(-5, 2), (0, 2), (8, 2), (20, 5), (120, 30), (9_999, 30)])
def test_who_has_waited_for_long_asks_less_often(waited: float, pause: float) -> None:
    assert ask_again(NOW - waited, NOW) == NOW + pause
    assert decide(Overlap.QUEUE, run(), due=NOW - waited) == Wait(NOW + pause, ALIVE)
