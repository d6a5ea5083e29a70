"""Locks and wait queues.

- A run finds the lock of its job in another run's hands.
- Runs of a job that wait in the wait queue (`queue`), or of which only the newest runs (`newest`, `replace`).
"""

from dataclasses import replace

import pytest

from duecourse.domain.jobs.job import Overlap
from duecourse.domain.runs.decision import LEASE_MARGIN_SECONDS, RetryLater
from duecourse.domain.runs.overlap import (
    LOST_SECONDS,
    ORPHAN_SECONDS,
    Lock,
    LockDecision,
    LockRequest,
    QueuePosition,
    Skip,
    StealLock,
    Wait,
    decide_lock,
    decide_turn,
    has_place,
    last_rank_before,
    rank_of_start,
)
from duecourse.domain.runs.states import Run, RunState
from tests.support.jobs import job
from tests.support.start_requests import DUE, WAITS_UNTIL, run, waiting_run

LOCK = Lock("20261121T120100Z", DUE + 120.0)
BELIEVED = LOCK.until + LEASE_MARGIN_SECONDS
ORPHANED = DUE + 120.0 + ORPHAN_SECONDS
SKIPS = LockRequest("20261121T120200Z")


def decide(holder: Run | None, *, now: float, lock: Lock = LOCK, asks: LockRequest = SKIPS) -> LockDecision:
    return decide_lock(lock, holder, asks, now=now)


def test_overlap_running_holder_keeps_the_lock() -> None:
    assert decide(run(), now=DUE + 60.0) == Skip("overlap", "tick-tock.20261121T120100Z is RUNNING")


@pytest.mark.parametrize("after", [-1e4, 0.0, LOST_SECONDS])
def test_overlap_holder_between_attempts_keeps_the_lock_until_one_hour_after_its_next_attempt_is_due(
    after: float,
) -> None:
    assert isinstance(decide(run(RunState.RETRYING, not_before=DUE + 1e5), now=DUE + 1e5 + after), Skip)


def test_overlap_holder_whose_next_attempt_never_started_loses_the_lock() -> None:
    waiting = run(RunState.RETRYING, not_before=DUE + 1e5)
    late = DUE + 1e5 + LOST_SECONDS + 1
    assert decide(waiting, now=late) == StealLock(LOCK, "its holder's next attempt never started")
    taken_again = Lock(LOCK.holder, late + 100)  # by its next attempt, which is about to start
    assert isinstance(decide(waiting, now=late, lock=taken_again), Skip)


ENDED = [state for state in RunState if state.final]


@pytest.mark.parametrize("rank", [2, 3, 4])
@pytest.mark.parametrize("state", ENDED)
def test_overlap_ended_holder_loses_the_lock_immediately(state: RunState, rank: int) -> None:
    lock = replace(LOCK, rank=rank)
    assert decide(run(state), now=DUE + 1.0, lock=lock) == StealLock(lock, f"its holder is {state}")


@pytest.mark.parametrize("state", ENDED)
def test_overlap_ended_holder_keeps_the_lock_while_the_invocation_that_restarts_it_may_be_active(
    state: RunState,
) -> None:
    redriven = replace(LOCK, rank=5)
    assert decide(run(state), now=DUE + 5.0, lock=redriven) == RetryLater(DUE + 7.0, "its holder is about to start")
    assert decide(run(state), now=BELIEVED, lock=redriven) == StealLock(redriven, "its holder never started again")


def test_overlap_holder_with_an_expired_lease_keeps_the_lock_until_its_message_can_return() -> None:
    assert isinstance(decide(run(), now=DUE + 121.0), Skip)
    assert isinstance(decide(run(), now=ORPHANED), Skip)


def test_overlap_holder_that_does_not_return_after_its_lease_loses_the_lock() -> None:
    assert decide(run(), now=ORPHANED + 0.001) == StealLock(LOCK, "its holder's worker vanished")


def test_overlap_lock_lasts_for_the_lease_of_the_holder_not_of_the_invocation_that_took_it() -> None:
    assert isinstance(decide(run(attempt=2, lease_until=DUE + 1000.0), now=ORPHANED + 1), Skip)


def test_overlap_holder_without_a_record_keeps_the_lock_while_its_invocation_may_be_active() -> None:
    assert decide(None, now=DUE + 5.0) == RetryLater(DUE + 7.0, "its holder is about to start")
    assert decide(None, now=BELIEVED - 0.5) == RetryLater(BELIEVED, "its holder is about to start")


def test_overlap_run_that_has_waited_for_a_starting_holder_waits_until_its_invocation_must_be_over() -> None:
    again = LockRequest("20261121T120200Z", again=True)
    assert decide(None, now=DUE + 5.0, asks=again) == RetryLater(BELIEVED, "its holder is about to start")


def test_overlap_holder_from_the_wait_queue_keeps_the_lock_while_its_invocation_may_be_active() -> None:
    called = run(RunState.QUEUED)
    assert decide(called, now=DUE + 5.0) == RetryLater(DUE + 7.0, "its holder is about to start")
    assert decide(called, now=BELIEVED) == StealLock(LOCK, "its holder never started")


def test_overlap_holder_that_never_started_loses_the_lock_after_its_invocation() -> None:
    assert decide(None, now=BELIEVED) == StealLock(LOCK, "its holder never started")


def test_overlap_lock_is_taken_only_from_the_checked_holder() -> None:
    other = Lock("20261121T120200Z", DUE + 500.0)
    decision = decide(run(RunState.SUCCEEDED), now=DUE + 1.0, lock=other)
    assert isinstance(decision, StealLock)
    assert decision.previous == other


def test_overlap_starts_rank_by_attempt_with_a_redrive_above_other_starts_of_its_attempt() -> None:
    queued, dead = run(RunState.QUEUED, attempt=0), run(RunState.DEAD, attempt=0)
    first, second, retrying = run(attempt=1), run(attempt=2), run(RunState.RETRYING, attempt=1)
    starts = [
        (first, None),
        (first, queued),
        (first, dead),
        (second, retrying),
        (second, run(RunState.DEAD, attempt=1)),
    ]
    ranks = [rank_of_start(*start) for start in starts]
    assert ranks[0] == ranks[1]
    assert ranks[1:] == sorted(set(ranks))


@pytest.mark.parametrize("attempt", [0, 1, 4])
@pytest.mark.parametrize("state", [state for state in RunState if state.final])
def test_overlap_final_record_ends_all_starts_except_those_based_on_it_and_later_ones(
    state: RunState, attempt: int
) -> None:
    final, following = run(state, attempt=attempt), run(attempt=attempt + 1)
    retrying = run(RunState.RETRYING, attempt=attempt)
    assert rank_of_start(run(attempt=max(attempt, 1)), None) <= last_rank_before(final)
    assert rank_of_start(following, retrying) <= last_rank_before(final)  # its write is refused
    assert rank_of_start(following, final) > last_rank_before(final)
    later = rank_of_start(run(attempt=attempt + 2), run(RunState.RETRYING, attempt=attempt + 1))
    assert later > last_rank_before(final)


OLDER, HOLDER, NEWER = "20261121T120000Z", "20261121T120100Z", "20261121T120200Z"
HELD_LOCK = Lock(HOLDER, DUE + 120.0)
NOW = DUE + 60.0
ALIVE = f"tick-tock.{HOLDER} is RUNNING"
WAITING = [Overlap.QUEUE, Overlap.NEWEST, Overlap.REPLACE]


def decide_waiting(
    policy: Overlap, holder: Run | None, *, mine: str = NEWER, fresh: bool = True, now: float = NOW
) -> LockDecision:
    return decide_lock(HELD_LOCK, holder, LockRequest(mine, policy, fresh), now=now)


# The holder of the lock is alive.


def test_overlap_skip_policy_skips_the_run() -> None:
    assert decide_waiting(Overlap.SKIP, run()) == Skip("overlap", ALIVE)


@pytest.mark.parametrize("policy", [Overlap.QUEUE, Overlap.NEWEST])
@pytest.mark.parametrize("mine", [OLDER, NEWER])
def test_overlap_run_waits_whether_it_is_older_or_newer(policy: Overlap, mine: str) -> None:
    assert decide_waiting(policy, run(), mine=mine) == Wait(ALIVE)


def test_overlap_newer_run_cancels_the_run_that_it_replaces_and_waits_for_it() -> None:
    assert decide_waiting(Overlap.REPLACE, run()) == Wait(ALIVE, run())


def test_overlap_holder_with_a_cancellation_request_gets_no_second_one() -> None:
    ending = run(cancel_requested="replaced")
    assert decide_waiting(Overlap.REPLACE, ending) == Wait(ALIVE, None)


def test_overlap_older_run_does_not_replace_a_newer_one_and_is_skipped() -> None:
    assert decide_waiting(Overlap.REPLACE, run(), mine=OLDER) == Skip("replaced", ALIVE)


def test_overlap_run_does_not_replace_itself() -> None:
    assert isinstance(decide_waiting(Overlap.REPLACE, run(), mine=HOLDER), Wait)


@pytest.mark.parametrize("policy", list(Overlap))
def test_overlap_run_that_has_made_an_attempt_waits_under_every_policy(policy: Overlap) -> None:
    assert decide_waiting(policy, run(), fresh=False) == Wait(ALIVE)


@pytest.mark.parametrize("policy", WAITING)
@pytest.mark.parametrize("holder", [None, run(RunState.QUEUED)], ids=["none", "queued"])
def test_overlap_run_waits_while_the_holder_is_about_to_start(policy: Overlap, holder: Run | None) -> None:
    assert decide_waiting(policy, holder) == Wait("its holder is about to start")


@pytest.mark.parametrize("policy", WAITING)
@pytest.mark.parametrize("state", ENDED)
def test_overlap_run_does_not_wait_for_an_ended_holder(policy: Overlap, state: RunState) -> None:
    assert decide_waiting(policy, run(state)) == StealLock(HELD_LOCK, f"its holder is {state}")


def test_overlap_holder_waiting_for_its_callback_keeps_the_lock_until_one_hour_after_its_deadline() -> None:
    last = WAITS_UNTIL + LOST_SECONDS
    assert decide_waiting(Overlap.SKIP, waiting_run(), now=last) == Skip("overlap", f"tick-tock.{HOLDER} is WAITING")
    late = decide_waiting(Overlap.SKIP, waiting_run(), now=last + 0.001)
    assert late == StealLock(HELD_LOCK, "its holder's callback never arrived")


def test_overlap_holder_with_heartbeats_keeps_the_lock_until_the_next_one_is_due() -> None:
    beating = waiting_run(heartbeat_until=DUE + 100.0)
    assert isinstance(decide_waiting(Overlap.SKIP, beating, now=DUE + 100.0 + LOST_SECONDS), Skip)
    assert isinstance(decide_waiting(Overlap.SKIP, beating, now=DUE + 100.5 + LOST_SECONDS), StealLock)


def test_overlap_waiting_holder_keeps_the_lock_while_the_invocation_that_took_it_may_be_active() -> None:
    late = WAITS_UNTIL + LOST_SECONDS + 1
    taken = Lock(HOLDER, late + 100)
    assert isinstance(decide_lock(taken, waiting_run(), LockRequest(NEWER, Overlap.QUEUE), now=late), Wait)


# Whose turn it is among those that wait.


FIRST, MINE, LAST = QueuePosition(DUE - 60, OLDER), QueuePosition(DUE, HOLDER), QueuePosition(DUE + 60, NEWER)


def turn(
    policy: Overlap, *, first: QueuePosition | None = None, last: QueuePosition | None = None
) -> Wait | Skip | None:
    return decide_turn(job(overlap=policy), MINE, first=first, last=last)


@pytest.mark.parametrize("policy", list(Overlap))
def test_overlap_run_may_start_under_every_policy_if_the_wait_queue_is_empty(policy: Overlap) -> None:
    assert turn(policy) is None


@pytest.mark.parametrize("policy", list(Overlap))
def test_overlap_run_with_the_lock_does_not_wait_for_itself(policy: Overlap) -> None:
    assert turn(policy, first=MINE, last=MINE) is None


def test_overlap_oldest_run_in_the_wait_queue_goes_first() -> None:
    assert turn(Overlap.QUEUE, first=FIRST) == Wait(f"{OLDER} has waited longer")
    assert turn(Overlap.QUEUE, first=LAST) is None


def test_overlap_names_decide_between_runs_due_at_the_same_time() -> None:
    assert turn(Overlap.QUEUE, first=QueuePosition(DUE, OLDER)) == Wait(f"{OLDER} has waited longer")
    assert turn(Overlap.QUEUE, first=QueuePosition(DUE, NEWER)) is None


@pytest.mark.parametrize("policy", [Overlap.NEWEST, Overlap.REPLACE])
def test_overlap_older_run_is_skipped_where_only_the_newest_runs(policy: Overlap) -> None:
    assert turn(policy, last=LAST) == Skip("replaced", f"{NEWER} replaces it")
    assert turn(policy, last=FIRST) is None


@pytest.mark.parametrize("policy", [Overlap.SKIP, Overlap.ALLOW])
def test_overlap_wait_queue_is_ignored_by_policies_without_waiting(policy: Overlap) -> None:
    assert turn(policy, first=FIRST, last=LAST) is None


# Places of a concurrency key.


@pytest.mark.parametrize("key", [None, "crm"])
def test_overlap_run_that_waits_for_its_key_keeps_the_lock_of_its_job(key: str | None) -> None:
    queued = run(RunState.QUEUED, attempt=0, key=key)
    found = decide(queued, now=BELIEVED + 1)
    assert isinstance(found, Skip if key else StealLock)


@pytest.mark.parametrize(
    ("state", "attempt", "key", "taken"),
    [
        (RunState.RUNNING, 1, "crm", True),
        (RunState.RUNNING, 1, "other", False),
        (RunState.RUNNING, 2, "crm", True),
        (RunState.RUNNING, 2, "other", False),
        (RunState.WAITING, 2, "crm", True),
        (RunState.RETRYING, 2, "crm", False),
        (RunState.WAITING, 1, "crm", True),
        (RunState.RETRYING, 1, "crm", False),
        (RunState.SUCCEEDED, 1, "crm", False),
        (RunState.CANCELLED, 0, "crm", False),
        (RunState.QUEUED, 0, "crm", True),
        (None, 0, None, True),
    ],
)
def test_overlap_place_of_a_key_belongs_to_its_attempt_and_to_later_ones_with_the_key(
    state: RunState | None, attempt: int, key: str | None, taken: bool
) -> None:
    lock = Lock("tick-tock.20261121T120100Z", DUE + 120.0, rank=2)
    holder = None if state is None else run(state, attempt=attempt, key=key)
    assert has_place(lock, holder, "crm", now=DUE + 60.0) is taken


def test_overlap_place_of_a_key_taken_for_a_redrive_is_not_free_by_the_death_before_it() -> None:
    dead = run(RunState.DEAD, attempt=1, key="crm")
    redriven = Lock("tick-tock.20261121T120100Z", DUE + 120.0, rank=last_rank_before(dead) + 1)
    assert has_place(redriven, dead, "crm", now=DUE + 60.0)
    assert not has_place(redriven, dead, "crm", now=BELIEVED)


@pytest.mark.parametrize(("after", "taken"), [(ORPHAN_SECONDS, True), (ORPHAN_SECONDS + 1, False)])
def test_overlap_lost_worker_keeps_the_place_of_a_key_until_its_message_has_returned(after: int, taken: bool) -> None:
    lock = Lock("tick-tock.20261121T120100Z", DUE + 120.0, rank=2)
    running = run(RunState.RUNNING, key="crm", lease_until=DUE + 120.0)
    assert has_place(lock, running, "crm", now=DUE + 120.0 + after) is taken


@pytest.mark.parametrize(("now", "taken"), [(BELIEVED - 1, True), (BELIEVED, False)])
def test_overlap_place_of_a_key_whose_run_never_started_is_free_after_the_lease(now: float, taken: bool) -> None:
    lock = Lock("tick-tock.20261121T120100Z", DUE + 120.0, rank=2)
    assert has_place(lock, None, "crm", now=now) is taken
