"""Runs that wait for one another: every order of the steps of a few of them, with everything that may go wrong once.

What is explored, and what is not, is in docs/decisions/004-waiting-runs.md; `pytest -rP` shows the figures.
"""

import sys
from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from duecourse.domain.jobs.job import (
    Backoff,
    Breaker,
    Completion,
    Concurrency,
    Job,
    MissedPolicy,
    Overlap,
    Rate,
    RetryPolicy,
)
from duecourse.usecases.worker.attempt import LaneWorker
from tests.support.jobs import job
from tests.support.wait_queue_explorer import Case, Explorer, Found
from tests.support.wait_queue_model import Left
from tests.support.wait_queue_mutants import (
    as_it_is,
    blind,
    doubling,
    each_place,
    forgetting,
    hasty,
    keeping,
    lonely,
    never_received,
    opened,
    overpaying,
    placeless,
    prepaying,
    probing,
    pushy,
    reckless,
    releasing,
    restarting,
    within,
)

RETRY = RetryPolicy(max_attempts=4, backoff=Backoff.FIXED, min_seconds=5, max_seconds=5)

RULES: dict[str, dict[str, Any]] = {
    "skip": {"overlap": Overlap.SKIP},
    "queue": {"overlap": Overlap.QUEUE},
    "a queue of one": {"overlap": Overlap.QUEUE, "queue_limit": 1},
    "newest": {"overlap": Overlap.NEWEST},
    "replace": {"overlap": Overlap.REPLACE},
    "allow 1": {"overlap": Overlap.ALLOW, "active_limit": 1},
    "allow 2": {"overlap": Overlap.ALLOW, "active_limit": 2},
}

KEYS: dict[str, dict[str, Any]] = {
    f"{rule}, key {limit}": {**RULES.get(rule, {"overlap": Overlap.ALLOW}), "concurrency": Concurrency("crm", limit)}
    for rule in ("allow", "skip", "queue", "allow 2")
    for limit in (1, 2)
}
"""Rules of jobs whose runs share a key."""

RATES: dict[str, dict[str, Any]] = {
    f"{rule}, rate {burst}": {**(RULES | KEYS).get(rule, {"overlap": Overlap.ALLOW}), "rate": Rate("crm", 6, burst)}
    for rule in ("allow", *(rule for rule in RULES if rule != "replace"), *KEYS)
    for burst in (1, 2)
}
"""Rules of jobs whose attempts share a rate, some also a key."""

RATES["allow, slow rate 2"] = {"overlap": Overlap.ALLOW, "rate": Rate("crm", 1, 2)}
"""A rate that is changed to a faster one."""

_GUARDED = ("allow", "skip", "queue", "newest", "allow, key 1", "allow, rate 1")

BREAKERS: dict[str, dict[str, Any]] = {
    f"{rule}, breaker": {"overlap": Overlap.ALLOW}
    | (RULES | KEYS | RATES).get(rule, {})
    | {"breaker": Breaker("crm", 1, 10)}
    for rule in _GUARDED
}
"""Rules of jobs whose runs share a circuit breaker, some also a key or a rate."""

NOTHING = Left()

WRONG = {
    "a crash": Left(crashes=1),
    "a lost answer": Left(losses=1),
    "a copy": Left(copies=1),
    "a lost watch": Left(watches=1),
    "time that passes early": Left(early=1),
    "a failure": Left(failures=1),
}


def case(
    rule: str,
    *,
    runs: int = 2,
    workers: int = 2,
    left: Left = NOTHING,
    callback: bool = False,
    changed: Callable[[LaneWorker], LaneWorker] = lambda worker: worker,
    then: str | None = None,
    most: int | None = None,
    jobs: int = 1,
    pauses: bool = False,
) -> Case:
    """What is searched. `then` is the rule to which the job changes; `most` is the bound of the states."""

    def of(rule: str) -> Job:
        return job(
            "* * * * *",
            missed=MissedPolicy(grace_seconds=86_400),
            retry=replace(RETRY, max_seconds=60) if pauses else RETRY,
            completion=Completion.CALLBACK if callback else Completion.RESPONSE,
            completion_seconds=600,
            **(RULES | KEYS | RATES | BREAKERS)[rule],
        )

    return Case(of(rule), runs, workers, left, changed, of(then) if then else None, most, jobs, pauses)


def explore(rule: str, **how: Any) -> Found:
    """One search, told."""
    found = Explorer(case(rule, **how))()
    told = {name: getattr(each, "__name__", each) for name, each in how.items()}
    sys.stdout.write(f"{rule}, {told}: {found}\n")
    assert found.ends
    return found


@pytest.mark.parametrize("rule", RULES)
def test_wait_queue_protocol_holds_for_two_runs_in_every_order(rule: str) -> None:
    found = explore(rule)
    assert found.repairs == 0
    assert found.most_messages <= 6


@pytest.mark.parametrize("wrong", WRONG)
def test_wait_queue_protocol_holds_for_two_runs_and_one_worker_after_any_single_fault(wrong: str) -> None:
    assert explore("queue", workers=1, left=WRONG[wrong], callback=True).most_messages <= 8


@pytest.mark.parametrize("rule", ["queue", "newest", "replace"])
def test_wait_queue_protocol_model_detects_duplicate_calls(rule: str) -> None:
    with pytest.raises(AssertionError, match="in flight"):
        explore(rule, runs=3, workers=1, callback=True, changed=doubling)


def test_wait_queue_protocol_model_detects_a_call_that_remains_recorded() -> None:
    with pytest.raises(AssertionError, match="the lock is free, and nobody is called"):
        explore("queue", runs=3, workers=1, callback=True, changed=never_received)


def test_wait_queue_protocol_model_detects_an_unnoticed_lock_release() -> None:
    with pytest.raises(AssertionError, match="the lock is free, and nobody is called"):
        explore("queue", changed=blind)


@pytest.mark.parametrize("rule", ["skip", "queue"])
def test_wait_queue_protocol_model_detects_a_lock_taken_from_an_active_run(rule: str) -> None:
    with pytest.raises(AssertionError, match="two runs are alive at once"):
        explore(rule, changed=reckless)


# A limit of active runs, which may change while runs wait.


@pytest.mark.parametrize(("rule", "then"), [("allow 1", "allow 2"), ("allow 2", "allow 1")])
@pytest.mark.parametrize("wrong", [Left(limits=1), pytest.param(Left(limits=1, crashes=1), marks=pytest.mark.extended)])
def test_wait_queue_protocol_three_runs_and_one_worker_keep_them_while_the_limit_changes(
    rule: str, then: str, wrong: Left
) -> None:
    assert explore(rule, runs=3, workers=1, callback=True, left=wrong, then=then, most=60_000).ends


@pytest.mark.parametrize("rule", ["allow 1", "allow 2"])
def test_wait_queue_protocol_places_that_are_taken_from_active_runs_are_found(rule: str) -> None:
    with pytest.raises(AssertionError, match="may be"):
        explore(rule, runs=3, workers=1, callback=True, changed=opened)


def test_wait_queue_protocol_runs_beyond_a_lowered_limit_that_do_not_count_are_found() -> None:
    with pytest.raises(AssertionError, match="2 runs are alive, and 1 may be"):
        explore("allow 2", runs=3, workers=1, callback=True, left=Left(limits=1), then="allow 1", changed=within)


def test_wait_queue_protocol_start_that_does_not_call_the_next_run_is_found() -> None:
    with pytest.raises(AssertionError, match="nobody is called"):
        explore("allow 2", runs=4, workers=1, callback=True, changed=lonely)


@pytest.mark.parametrize(("rule", "then"), [("allow 1", "allow 2"), ("allow 2", "allow 1")])
def test_wait_queue_protocol_three_runs_and_two_workers_keep_them_with_a_crash_and_a_copy_in_histories_drawn(
    rule: str, then: str
) -> None:
    of = case(rule, runs=3, left=Left(crashes=1, copies=1, limits=1), callback=True, then=then)
    found = Explorer(of).wander(Random(rule), 40)
    assert found.ends


@pytest.mark.extended
@pytest.mark.parametrize(("rule", "workers"), [("skip", 2), ("queue", 1)])
def test_wait_queue_protocol_holds_for_two_runs_with_a_crash_and_a_copy(rule: str, workers: int) -> None:
    assert explore(rule, workers=workers, left=Left(crashes=1, copies=1)).repairs == 0


@pytest.mark.extended
@pytest.mark.parametrize("wrong", ["a crash", "a lost answer", "a copy", "a lost watch"])
@pytest.mark.parametrize("rule", RULES)
def test_wait_queue_protocol_holds_for_two_runs_after_any_single_fault(rule: str, wrong: str) -> None:
    found = explore(rule, left=WRONG[wrong])
    assert found.repairs == 0 or wrong == "a lost watch"
    assert found.most_messages <= 8


@pytest.mark.extended
@pytest.mark.parametrize("wrong", ["a crash", "a lost answer"])
@pytest.mark.parametrize("rule", ["queue"])
def test_wait_queue_protocol_holds_for_two_runs_with_callbacks_after_any_single_fault(rule: str, wrong: str) -> None:
    assert explore(rule, left=WRONG[wrong], callback=True).most_messages <= 12


@pytest.mark.extended
@pytest.mark.parametrize("rule", RULES)
def test_wait_queue_protocol_holds_for_three_runs_and_one_worker_in_every_order(rule: str) -> None:
    assert explore(rule, runs=3, workers=1, callback=True).repairs == 0


# Keys: the runs of two jobs share a limit.


@pytest.mark.parametrize(
    "rule", [pytest.param(each, marks=() if each == "skip, key 1" else pytest.mark.extended) for each in KEYS]
)
def test_wait_queue_protocol_runs_of_two_jobs_share_a_key_in_every_order(rule: str) -> None:
    found = explore(rule, jobs=2)
    assert found.repairs == 0


@pytest.mark.parametrize("wrong", WRONG)
def test_wait_queue_protocol_runs_of_two_jobs_share_a_key_after_any_single_fault(wrong: str) -> None:
    assert explore("allow, key 1", workers=1, jobs=2, left=WRONG[wrong], callback=True).ends


@pytest.mark.parametrize("rule", ["queue, key 1", "queue, key 2", "allow 2, key 1", "skip, key 1"])
def test_wait_queue_protocol_three_runs_of_two_jobs_wait_for_their_job_and_their_key(rule: str) -> None:
    assert explore(rule, runs=3, workers=1, jobs=2, callback=True).repairs == 0


@pytest.mark.extended
@pytest.mark.parametrize(("rule", "then"), [("allow, key 1", "allow, key 2"), ("allow, key 2", "allow, key 1")])
@pytest.mark.parametrize("wrong", [Left(limits=1), Left(limits=1, crashes=1)])
def test_wait_queue_protocol_three_runs_and_one_worker_keep_the_limit_of_a_key_while_it_changes(
    rule: str, then: str, wrong: Left
) -> None:
    assert explore(rule, runs=3, workers=1, jobs=2, callback=True, left=wrong, then=then, most=60_000).ends


@pytest.mark.parametrize(("rule", "then"), [("skip, key 1", "skip, key 2"), ("queue, key 2", "queue, key 1")])
def test_wait_queue_protocol_three_runs_and_two_workers_keep_the_limit_of_a_key_in_histories_drawn(
    rule: str, then: str
) -> None:
    left = Left(crashes=1, copies=1, limits=1, failures=1)
    of = case(rule, runs=3, jobs=2, left=left, callback=True, then=then)
    assert Explorer(of).wander(Random(rule), 40).ends


@pytest.mark.extended
@pytest.mark.parametrize("rule", ["allow 2", "allow, key 1", "allow, key 2"])
@pytest.mark.parametrize("wrong", ["a crash", "a lost answer", "a copy", "a failure"])
def test_wait_queue_protocol_places_that_are_released_by_a_write_hold_after_any_single_fault(
    rule: str, wrong: str
) -> None:
    jobs = 1 if rule == "allow 2" else 2
    assert explore(rule, runs=3, workers=1, jobs=jobs, left=WRONG[wrong], callback=True, changed=releasing).ends


@pytest.mark.parametrize("rule", ["allow 2", "allow, key 2"])
def test_wait_queue_protocol_start_that_takes_the_place_of_a_run_ahead_is_found(rule: str) -> None:
    jobs = 1 if rule == "allow 2" else 2
    with pytest.raises(AssertionError, match="starts before"):
        explore(rule, runs=4, workers=1, jobs=jobs, callback=True, changed=pushy, most=100_000)


def test_wait_queue_protocol_places_that_are_counted_before_the_call_is_removed_are_found() -> None:
    of = case("allow, key 2", runs=5, workers=3, jobs=2, callback=True, changed=hasty)
    with pytest.raises(AssertionError, match="the lock is free, and nobody is called"):
        Explorer(of).wander(Random("hasty"), 400)


@pytest.mark.parametrize(
    ("rule", "changed"),
    [
        ("allow 2", releasing),
        ("allow, key 2", as_it_is),
        pytest.param("queue, key 2", as_it_is, marks=pytest.mark.extended),
        pytest.param("queue, key 2", releasing, marks=pytest.mark.extended),
    ],
)
def test_wait_queue_protocol_two_runs_that_are_called_at_once_start_in_histories_drawn(
    rule: str, changed: Callable[[LaneWorker], LaneWorker]
) -> None:
    left = Left(crashes=1, copies=1, losses=1, failures=1)
    of = case(rule, runs=5, workers=3, jobs=1 if rule == "allow 2" else 2, left=left, callback=True, changed=changed)
    found = Explorer(of).wander(Random(rule), 30)
    assert found.ends


def test_wait_queue_protocol_run_that_counts_in_each_of_its_places_is_found() -> None:
    how: dict[str, Any] = {"runs": 5, "workers": 3, "jobs": 2, "left": Left(copies=3), "callback": True}
    assert Explorer(case("allow, key 2", **how)).wander(Random("each place 0"), 40).ends
    with pytest.raises(AssertionError, match="the lock is free, and nobody is called"):
        Explorer(case("allow, key 2", **how, changed=each_place)).wander(Random("each place 0"), 300)


def test_wait_queue_protocol_place_of_a_key_that_is_taken_from_an_active_run_is_found() -> None:
    with pytest.raises(AssertionError, match="may be"):
        explore("allow, key 1", runs=3, workers=1, jobs=2, callback=True, changed=opened)


def test_wait_queue_protocol_place_of_a_key_that_is_given_back_unnoticed_is_found() -> None:
    with pytest.raises(AssertionError, match="the lock is free, and nobody is called"):
        explore("allow, key 1", workers=1, jobs=2, changed=keeping, callback=True)


def test_wait_queue_protocol_runs_of_a_key_beyond_a_lowered_limit_that_do_not_count_are_found() -> None:
    with pytest.raises(AssertionError, match="2 runs are alive, and 1 may be"):
        explore(
            "allow, key 2", runs=3, workers=1, jobs=2, callback=True,
            left=Left(limits=1), then="allow, key 1", changed=within,
        )  # fmt: skip


def test_wait_queue_protocol_start_that_does_not_call_the_next_run_of_its_key_is_found() -> None:
    with pytest.raises(AssertionError, match="nobody is called"):
        explore("allow, key 2", runs=4, workers=1, jobs=2, callback=True, changed=lonely)


@pytest.mark.extended
@pytest.mark.parametrize("wrong", ["a crash", "a lost answer", "a copy", "a failure"])
@pytest.mark.parametrize("rule", ["allow, key 1", "skip, key 1", "queue, key 1"])
def test_wait_queue_protocol_runs_of_two_jobs_share_a_key_with_two_workers_after_any_single_fault(
    rule: str, wrong: str
) -> None:
    assert explore(rule, jobs=2, left=WRONG[wrong], most=60_000).ends


# Rates: the attempts of jobs share one, and each waits until it can be paid.

QUICK_RATES = ("skip, rate 1", "skip, rate 2", "allow, rate 1", "allow, rate 2")


@pytest.mark.parametrize("rule", QUICK_RATES)
def test_wait_queue_protocol_three_runs_keep_a_rate_in_every_order(rule: str) -> None:
    assert explore(rule, runs=3, jobs=2).repairs == 0


@pytest.mark.parametrize("rule", ["queue, rate 1", "newest, rate 1", "allow 1, rate 1", "skip, key 1, rate 1"])
def test_wait_queue_protocol_three_runs_and_one_worker_keep_a_rate_and_a_lock(rule: str) -> None:
    assert explore(rule, runs=3, workers=1, callback=True).repairs == 0


@pytest.mark.parametrize("wrong", ["a crash", "a lost answer", "a copy", "a failure"])
def test_wait_queue_protocol_rate_is_kept_after_any_single_fault(wrong: str) -> None:
    assert explore("allow, rate 1", left=WRONG[wrong]).repairs == 0


@pytest.mark.parametrize(
    ("changed", "found"),
    [
        (prepaying, "an attempt starts that is not paid"),
        (overpaying, "starts are paid within"),
        (forgetting, "a run never ends"),
    ],
)
def test_wait_queue_protocol_model_detects_a_rate_that_is_not_kept(
    changed: Callable[[LaneWorker], LaneWorker], found: str
) -> None:
    with pytest.raises(AssertionError, match=found):
        explore("allow, rate 1", changed=changed)


@pytest.mark.parametrize(("rule", "then"), [("slow rate 2", "rate 1"), ("rate 1", "slow rate 2")])
def test_wait_queue_protocol_rate_is_kept_while_it_changes(rule: str, then: str) -> None:
    how = {"runs": 3, "workers": 1, "left": Left(limits=1), "then": f"allow, {then}"}
    assert explore(f"allow, {rule}", **how).repairs == 0


def test_wait_queue_protocol_model_detects_a_changed_rate_that_begins_anew() -> None:
    with pytest.raises(AssertionError, match="starts are paid within"):
        explore("allow, slow rate 2", runs=4, workers=1, left=Left(limits=1), then="allow, rate 1", changed=restarting)


def test_wait_queue_protocol_run_keeps_its_place_while_its_next_attempt_waits_for_the_rate() -> None:
    how: dict[str, Any] = {"workers": 1, "jobs": 2, "left": Left(failures=1)}
    assert explore("allow, key 1, rate 1", **how).repairs == 0
    with pytest.raises(AssertionError, match="without a place of its key"):
        explore("allow, key 1, rate 1", **how, changed=placeless)


@pytest.mark.parametrize("rule", ["allow, key 1", "allow, rate 1", "queue, key 2", "allow, key 1, rate 1"])
def test_wait_queue_protocol_target_that_asks_for_a_pause_delays_the_runs_with_its_key(rule: str) -> None:
    found = explore(rule, runs=3, workers=1, jobs=2, left=Left(failures=1), pauses=True)
    assert found.repairs == 0


@pytest.mark.extended
@pytest.mark.parametrize("rule", ["allow, key 1", "allow, rate 1"])
def test_wait_queue_protocol_pause_is_survived_by_two_workers_with_a_crash_and_a_copy_in_histories_drawn(
    rule: str,
) -> None:
    of = case(rule, runs=3, jobs=2, left=Left(failures=2, crashes=1, copies=1), pauses=True)
    assert Explorer(of).wander(Random(rule), 60).ends


@pytest.mark.extended
@pytest.mark.parametrize("rule", ["queue, rate 1", "newest, rate 1", "allow, key 1, rate 1"])
def test_wait_queue_protocol_two_runs_keep_a_rate_and_a_lock_in_every_order(rule: str) -> None:
    assert explore(rule).repairs == 0


@pytest.mark.extended
@pytest.mark.parametrize("wrong", [Left(crashes=1, copies=1), Left(losses=1), Left(failures=1)])
def test_wait_queue_protocol_rate_and_key_are_kept_in_histories_drawn(wrong: Left) -> None:
    of = case("skip, key 1, rate 1", runs=3, jobs=2, left=wrong, callback=True)
    assert Explorer(of).wander(Random(str(wrong)), 60).ends


# Breakers: after a failure the runs wait, and one of them probes.


@pytest.mark.parametrize("rule", BREAKERS)
@pytest.mark.parametrize("failures", [1, 2])
def test_wait_queue_protocol_breaker_has_one_probe_and_no_run_is_forgotten(rule: str, failures: int) -> None:
    assert explore(rule, jobs=2, left=Left(failures=failures), most=70_000).repairs == 0


@pytest.mark.parametrize("wrong", ["a crash", "a lost answer", "a copy", "a refusal"])
def test_wait_queue_protocol_breaker_holds_after_a_further_fault(wrong: str) -> None:
    left = (WRONG | {"a refusal": Left(refusals=1)})[wrong]._replace(failures=1)
    assert explore("allow, breaker", left=left, most=60_000).repairs == 0


def test_wait_queue_protocol_model_detects_two_probes_of_a_breaker() -> None:
    with pytest.raises(AssertionError, match="a breaker has two probes at once"):
        explore("allow, breaker", runs=3, left=Left(failures=1, copies=1, early=1), changed=probing)
