"""Attempts of several jobs share the rate of a key: the others wait without a worker, and no fault makes it faster."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import cycle, pairwise, takewhile
from typing import Any

import pytest

from duecourse.domain.ids import key_queue
from duecourse.domain.jobs.job import (
    Backoff,
    Completion,
    Concurrency,
    Job,
    MissedPolicy,
    Overlap,
    Rate,
    RetryPolicy,
)
from duecourse.domain.runs.document import run_document
from duecourse.domain.runs.states import GateWait, Queued, Run, RunState, Skipped, Waiting
from duecourse.domain.targets.targets import Failed, Returned
from duecourse.messages import MessageKind
from duecourse.testing.faults import around, lost, throttled
from duecourse.testing.stores import MemoryStores
from tests.scenarios.overlap.test_concurrency_keys import all_runs, complete, in_queue, states
from tests.support.faulty import CountedStore, Skewed
from tests.support.jobs import NOON, job
from tests.support.workflows import add_workflow, graph_of
from tests.support.world import World


def rated(job_id: str = "tick-tock", per_minute: int = 6, burst: int = 1, key: str = "crm", **changes: Any) -> Job:
    """Every minute, each run with one call."""
    usual: dict[str, Any] = {"overlap": Overlap.ALLOW, "rate": Rate(key, per_minute, burst)}
    return job("* * * * *", id=job_id, **(usual | changes))


def asked(world: World, number: int, job_id: str = "tick-tock") -> list[Run]:
    """Runs that are requested at once."""
    runs = [world.office.run(job_id=job_id) for _ in range(number)]
    world.work()
    return runs


def on_demand(world: World, **changes: Any) -> None:
    world.add(rated(schedule=None, **changes) if "schedule" in changes else job("", **_of(rated(**changes))))


def _of(made: Job) -> dict[str, Any]:
    names = (
        "id",
        "overlap",
        "rate",
        "concurrency",
        "completion",
        "retry",
        "missed",
        "payload",
        "start_deadline_seconds",
    )
    return {name: getattr(made, name) for name in names}


def waits(world: World) -> Run:
    """The run that waits for the rate, the first one of several."""
    found = [run for run in all_runs(world) if isinstance(run, Queued) and run.wait is not None]
    return min(found, key=lambda run: run.not_before or 0.0)


def sorted_states(world: World) -> str:
    return "".join(sorted(states(world)))


def seconds(world: World) -> list[float]:
    """When each call was made, after noon."""
    return [at - NOON for *_, at in world.caller.calls]


def hold(calls: list[float], burst: int, interval: float, *, margin: float = 0) -> None:
    """In every window there are at most as many calls as the burst, the rate and the margin (seconds) allow."""
    for first, begin in enumerate(calls):
        for number, end in enumerate(calls[first:], 1):
            assert number <= burst + (end - begin + margin) / interval


def test_rates_burst_starts_at_once_and_the_others_one_interval_apart(world: World) -> None:
    on_demand(world, burst=3)
    asked(world, 6)
    world.until(NOON + 100)
    assert seconds(world) == [0, 0, 0, 10, 20, 30]


def test_rates_runs_of_two_jobs_share_the_rate_of_a_key(world: World) -> None:
    for job_id in ("tick-tock", "tock"):
        on_demand(world, job_id=job_id)
    asked(world, 2)
    asked(world, 2, "tock")
    world.until(NOON + 100)
    assert seconds(world) == [0, 10, 20, 30]
    assert states(world) == "SSSS"


def test_rates_waiting_run_shows_its_key_and_its_instant_and_has_one_message(world: World) -> None:
    on_demand(world)
    asked(world, 2)
    run = waits(world)
    shown = run_document(run)
    assert (shown["state"], shown["waiting_for"], shown["rate_key"]) == ("QUEUED", "rate", "crm")
    assert (shown["waiting_since"], shown["next_attempt_at"]) == (
        "2026-11-21T12:00:00.000Z",
        "2026-11-21T12:00:10.000Z",
    )
    assert len(world.wheel) == 1
    world.until(NOON + 10)
    shown = run_document(world.office.record(run))
    assert (shown["state"], shown["waiting_for"], shown["rate_key"], shown["next_attempt_at"]) == (
        ("SUCCEEDED", None, None, None)
    )


def test_rates_each_attempt_counts(world: World) -> None:
    on_demand(world, retry=RetryPolicy(max_attempts=3, backoff=Backoff.FIXED, min_seconds=1, max_seconds=1))
    world.caller.answer = lambda _: Failed("no")
    asked(world, 1)
    world.until(NOON + 5)
    (run,) = all_runs(world)
    shown = run_document(run)
    assert (shown["state"], shown["waiting_for"], shown["rate_key"]) == ("RETRYING", "rate", "crm")
    assert shown["next_attempt_at"] == "2026-11-21T12:00:10.000Z"
    world.until(NOON + 100)
    assert seconds(world) == [0, 10, 20]
    assert (all_runs(world)[0].state, all_runs(world)[0].attempt) == (RunState.DEAD, 3)


def test_rates_call_of_a_retrying_run_that_waits_for_the_rate_removes_it_from_the_wait_queue(world: World) -> None:
    """It entered the wait queue of its key and found the place free. Each call would otherwise send the next one."""
    again = RetryPolicy(max_attempts=2, backoff=Backoff.FIXED, min_seconds=1, max_seconds=1)
    on_demand(world, retry=again, concurrency=Concurrency("crm", 1))
    world.caller.answer = lambda _: Failed("no")
    asked(world, 1)
    world.until(NOON + 5)
    (run,) = all_runs(world)
    assert (run.state, run_document(run)["waiting_for"]) == (RunState.RETRYING, "rate")
    (following,) = (held.message for held in world.wheel._held)
    entry = replace(following, key="crm", waited=True, replaces=())
    assert world.wait_queues.enter(entry, expires_at=int(NOON) + 9999)
    world.office.api.key_limits.put("default", "crm", 1, by="anna")
    called = world.wheel.receive()
    assert called is not None
    world.handle(called)
    assert in_queue(world) == []
    world.until(NOON + 100)
    assert seconds(world) == [0, 10]


def test_rates_redriven_run_waits_too(world: World) -> None:
    on_demand(world, retry=RetryPolicy(max_attempts=1))
    world.caller.answer = lambda _: Failed("no")
    asked(world, 1)
    world.tell(world.about(all_runs(world)[0], MessageKind.REDRIVE))
    assert all_runs(world)[0].state is RunState.DEAD
    world.until(NOON + 100)
    assert seconds(world) == [0, 10]
    assert all_runs(world)[0].attempt == 2


def test_rates_key_without_a_value_makes_the_run_dead(world: World) -> None:
    on_demand(world, key="crm-{{payload.region}}")
    asked(world, 1)
    assert (all_runs(world)[0].code, seconds(world)) == ("bad_template", [])


# With locks and places.


def test_rates_waiting_run_counts_as_active_for_its_job(world: World) -> None:
    world.add(rated("tick-tock", per_minute=1, overlap=Overlap.SKIP, max_runs=3))
    world.add(rated("tock", per_minute=1, overlap=Overlap.SKIP, max_runs=3))
    world.until(NOON + 600)
    runs = [run for run in all_runs(world) if run.state is RunState.SKIPPED]
    assert {run.state for run in all_runs(world)} == {RunState.SUCCEEDED, RunState.SKIPPED}
    assert all(one - other >= 60 for other, one in pairwise(seconds(world)))
    assert runs


@pytest.mark.parametrize("overlap", [Overlap.QUEUE, Overlap.NEWEST])
def test_rates_waiting_run_keeps_the_lock_of_its_job(world: World, overlap: Overlap) -> None:
    on_demand(world, overlap=overlap)
    asked(world, 3)
    world.until(NOON + 200)
    assert all(run.state.final for run in all_runs(world))
    assert all(one - other >= 10 for other, one in pairwise(seconds(world)))
    assert "S" in states(world)
    assert len(world.wheel) == 0


def test_rates_waiting_run_keeps_the_place_of_its_key_and_the_others_are_in_its_wait_queue(world: World) -> None:
    on_demand(world, concurrency=Concurrency("crm", 2), completion=Completion.CALLBACK)
    asked(world, 4)
    assert (sorted_states(world), len(in_queue(world)), len(seconds(world))) == ("QQQW", 2, 1)
    world.until(NOON + 10)
    assert sorted_states(world) == "QQWW"
    world.until(NOON + 100)
    complete(world)
    complete(world)
    assert (sorted_states(world), len(in_queue(world))) == ("QSSW", 0)
    world.until(NOON + 110)
    assert sorted_states(world) == "SSWW"
    assert seconds(world) == [0, 10, 100, 110]


def test_rates_run_that_waits_for_its_next_attempt_keeps_the_place_of_its_key(world: World) -> None:
    retry = RetryPolicy(max_attempts=2, backoff=Backoff.FIXED, min_seconds=1, max_seconds=1)
    on_demand(world, per_minute=1, concurrency=Concurrency("crm", 1), retry=retry)
    on_demand(world, per_minute=1, job_id="load")
    on_demand(world, job_id="other", rate=None, concurrency=Concurrency("crm", 1))
    world.caller.answer = lambda _: Failed("no") if not seconds(world)[1:] else Returned("yes")
    asked(world, 1)
    asked(world, 10, "load")
    world.until(NOON + 590)  # far beyond the lease of the worker that took the place
    asked(world, 1, "other")
    assert (states(world), states(world, "other")) == ("R", "Q")
    world.until(NOON + 700)
    assert (states(world), states(world, "other")) == ("S", "S")


def test_rates_run_that_is_cancelled_before_its_next_attempt_gives_its_place_to_the_next(world: World) -> None:
    retry = RetryPolicy(max_attempts=2, backoff=Backoff.FIXED, min_seconds=1, max_seconds=1)
    on_demand(world, concurrency=Concurrency("crm", 1), retry=retry)
    on_demand(world, job_id="other", rate=None, concurrency=Concurrency("crm", 1))
    world.caller.answer = lambda _: Failed("no")
    asked(world, 1)
    world.until(NOON + 2)
    world.caller.answer = lambda _: Returned("yes")
    asked(world, 1, "other")
    assert (states(world), states(world, "other")) == ("R", "Q")
    world.tell(world.about(all_runs(world)[0], MessageKind.CANCEL))
    assert (states(world), states(world, "other")) == ("C", "S")


def test_rates_run_cancelled_while_it_waits_gives_its_place_to_the_next(world: World) -> None:
    on_demand(world, concurrency=Concurrency("crm", 2), completion=Completion.CALLBACK)
    asked(world, 3)
    assert (sorted_states(world), len(in_queue(world))) == ("QQW", 1)
    world.tell(world.about(waits(world), MessageKind.CANCEL))
    assert (sorted_states(world), in_queue(world)) == ("CQW", [])
    world.until(NOON + 30)
    assert sorted_states(world) == "CWW"


@pytest.mark.parametrize("change", ["paused", "deleted", "late"])
def test_rates_waiting_run_ends_with_its_job_and_its_start_deadline(world: World, change: str) -> None:
    deadline = 5 if change == "late" else None
    for number in range(2):
        world.add(rated(f"job{number}", start_deadline_seconds=deadline, max_runs=1))
    world.until(NOON + 61)
    if change == "paused":
        world.office.pause("job1")
    elif change == "deleted":
        world.office.delete("job1")
    world.until(NOON + 100)
    assert states(world, "job0", "job1") == "SS"
    assert seconds(world) == [60]
    (skipped,) = (run for run in all_runs(world, "job0", "job1") if run.state is RunState.SKIPPED)
    assert skipped.reason == ("start_deadline" if change == "late" else change)  # type: ignore[union-attr]


@pytest.mark.parametrize("overlap", [Overlap.ALLOW, Overlap.QUEUE])
def test_rates_caught_up_run_with_jitter_does_not_ask_again_and_again_before_its_start_deadline(
    world: World, overlap: Overlap
) -> None:
    on_demand(world, per_minute=1, job_id="load")
    world.add(rated(per_minute=1, jitter_seconds=50, start_deadline_seconds=300, overlap=overlap, max_runs=9))
    world.until(NOON + 660, ticking=False)
    asked(world, 14, "load")
    world.dispatch()
    handled = 0
    for _ in range(360):
        for held in takewhile(lambda held: held is not None, (world.wheel.receive() for _ in range(5))):
            world.handle(held)
            handled += 1
        world.clock.advance(1)
    (caught_up,) = (run for run in all_runs(world) if run.count > 1)
    assert isinstance(caught_up, Skipped)
    assert caught_up.reason == "start_deadline"
    assert handled < 40


def test_rates_steps_of_a_workflow_wait_for_the_rate_and_the_next_step_for_them(world: World) -> None:
    for step in ("load-a", "load-b"):
        world.add(job("", **_of(rated(step)), workflow="nightly"))
    add_workflow(world, graph_of({"load-a": (), "load-b": (), "report": ("load-a", "load-b")}))
    world.until(NOON + 61)
    assert sorted(states(world, "load-a", "load-b")) == ["Q", "S"]
    world.until(NOON + 200)
    assert seconds(world) == [60, 70, 70]
    assert states(world, "nightly", "load-a", "load-b", "report") == "SSSS"


# A stored rate.


def test_rates_stored_rate_replaces_those_of_the_jobs(world: World) -> None:
    on_demand(world)
    world.office.api.key_limits.put("default", "crm", None, Rate("crm", 60, 2), by="anna")
    asked(world, 4)
    world.until(NOON + 100)
    assert seconds(world) == [0, 0, 1, 2]
    world.office.api.key_limits.delete("default", "crm")
    asked(world, 2)
    world.until(NOON + 200)
    assert seconds(world)[4:] == [100, 110]


def test_rates_stored_rate_leaves_the_limits_of_the_jobs_and_the_other_way_round(world: World) -> None:
    on_demand(world, concurrency=Concurrency("crm", 1), completion=Completion.CALLBACK)
    world.office.api.key_limits.put("default", "crm", None, Rate("crm", 60, 5), by="anna")
    asked(world, 2)
    assert (sorted_states(world), len(in_queue(world))) == ("QW", 1)
    world.office.api.key_limits.put("default", "crm", 2, by="anna")
    world.work()
    world.until(NOON + 8)
    assert seconds(world) == [0, 1]  # one interval of the rate that was paid


def test_rates_status_has_the_runs_that_wait_and_until_when(world: World) -> None:
    on_demand(world)
    asked(world, 3)
    found = world.office.api.key_limits.get("default", "crm")
    assert [(run.wait and run.wait.key, run.not_before) for run in found.at_gates["rate"]] == [
        ("crm", NOON + 10),
        ("crm", NOON + 20),
    ]
    listed, *_ = world.office.api.key_limits.page("default", limit=10, after=None)
    assert [(each.key, each.waiting, each.at_gates["rate"]) for each in listed] == [("crm", 0, 2)]


def test_rates_status_has_runs_that_wait_until_the_same_instant(world: World) -> None:
    on_demand(world)
    on_demand(world, job_id="tock")
    asked(world, 2)
    asked(world, 1, "tock")
    for run in [run for run in all_runs(world) if isinstance(run, Queued)]:
        same = replace(run, not_before=NOON + 10, fencing_token="another")
        assert world.run_store.write(same, run) is None
    limits = world.office.api.key_limits
    found = limits.get("default", "crm").at_gates["rate"]
    assert [run.not_before for run in found] == [NOON + 10, NOON + 10]
    assert [run.run_id for run in found] == sorted(run.run_id for run in found)


def test_rates_faster_rate_applies_to_the_starts_before_it(world: World) -> None:
    on_demand(world, per_minute=1, burst=100)
    asked(world, 100)
    world.office.api.key_limits.put("default", "crm", None, Rate("crm", 600, 1), by="anna")
    asked(world, 2)
    world.until(NOON + 60)
    assert len(seconds(world)) == 102
    assert seconds(world)[-1] <= 2


def test_rates_status_counts_runs_that_wait_for_their_next_attempt_and_for_a_place_apart(world: World) -> None:
    retry = RetryPolicy(max_attempts=2, backoff=Backoff.FIXED, min_seconds=1, max_seconds=1)
    on_demand(world, concurrency=Concurrency("crm", 1), retry=retry)
    world.caller.answer = lambda _: Failed("no")
    asked(world, 1)
    world.until(NOON + 2)
    asked(world, 2)
    assert sorted_states(world) == "QQR"
    found = world.office.api.key_limits.get("default", "crm")
    assert ([run.state for run in found.at_gates["rate"]], found.waiting) == ([RunState.RETRYING], 2)
    listed, *_ = world.office.api.key_limits.page("default", limit=10, after=None)
    assert [(each.key, each.waiting, each.at_gates["rate"]) for each in listed] == [("crm", 2, 1)]


def busy(seconds: float | None, code: str = "http.429") -> Failed:
    return Failed("too many", retry_after=seconds, code=code)


@pytest.mark.parametrize("code", ["http.429", "http.503"])
def test_rates_retry_after_pauses_all_runs_with_the_key(world: World, code: str) -> None:
    for job_id in ("tick-tock", "tock"):
        on_demand(world, job_id=job_id, retry=RetryPolicy(max_attempts=2, max_seconds=300))
    world.caller.answer = lambda _: Returned("yes") if seconds(world)[1:] else busy(120, code)
    asked(world, 2)
    asked(world, 2, "tock")
    world.until(NOON + 119)
    assert seconds(world) == [0]
    assert world.office.api.key_limits.get("default", "crm").paused_until == NOON + 120
    asked(world, 1)
    world.until(NOON + 300)
    assert len(seconds(world)) == 6
    assert seconds(world)[1] == 120
    assert all(one - other >= 10 for other, one in pairwise(seconds(world)))
    assert [run.attempt for run in all_runs(world)].count(1) == 4


@pytest.mark.parametrize("limit", [1, 2])
def test_rates_retry_after_pauses_a_concurrency_key_without_a_rate(world: World, limit: int) -> None:
    for job_id in ("tick-tock", "tock"):
        retry = RetryPolicy(max_attempts=2, max_seconds=300)
        on_demand(world, job_id=job_id, rate=None, concurrency=Concurrency("crm", limit), retry=retry)
    world.caller.answer = lambda _: Returned("yes") if seconds(world)[1:] else busy(120)
    asked(world, 2)
    asked(world, 2, "tock")
    world.until(NOON + 119)
    assert (seconds(world), len(in_queue(world))) == ([0], 3)
    assert world.office.api.key_limits.get("default", "crm").paused_until == NOON + 120
    handled = len(world.reports)
    world.until(NOON + 300)
    assert (sorted_states(world), len(seconds(world)), in_queue(world)) == ("SSSS", 5, [])
    assert all(120 <= second <= 150 for second in seconds(world)[1:])
    assert len(world.reports) - handled < 20


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [
        (busy(700), 700),
        (busy(5000), 900),
        (busy(1e7), 900),
        (busy(None), 10),
        (busy(120, "http.500"), 10),
        (busy(120, "timeout"), 10),
    ],
)
def test_rates_pause_is_bounded_by_15_minutes_and_only_follows_429_and_503(
    world: World, outcome: Failed, expected: float
) -> None:
    on_demand(world, retry=RetryPolicy(max_attempts=1, max_seconds=20))
    world.caller.answer = lambda _: Returned("yes") if seconds(world)[1:] else outcome
    asked(world, 2)
    world.until(NOON + 1200)
    assert seconds(world) == [0, expected]


def test_rates_paused_key_without_runs_is_shown(world: World) -> None:
    retry = RetryPolicy(max_attempts=1, max_seconds=300)
    on_demand(world, rate=None, concurrency=Concurrency("crm", 1), retry=retry)
    world.caller.answer = lambda _: busy(120)
    asked(world, 1)
    world.until(NOON + 10)
    status = world.office.api.key_limits.get("default", "crm")
    assert (status.active, status.waiting, status.paused_until) == ({}, 0, NOON + 120)


def test_rates_longer_pause_of_a_key_remains(world: World) -> None:
    overlaps = world.worker().starter.overlaps
    on_demand(world, rate=None, concurrency=Concurrency("crm", 1))
    for until in (NOON + 50, NOON + 90, NOON + 70):
        overlaps.pause_key("default", "crm", until)
    asked(world, 1)
    world.until(NOON + 89)
    assert seconds(world) == []
    world.until(NOON + 120)
    assert len(seconds(world)) == 1


def test_rates_pause_that_cannot_be_recorded_leaves_the_run_as_it_is(world: World) -> None:
    on_demand(world, retry=RetryPolicy(max_attempts=1))
    world.caller.answer = lambda _: busy(120)
    world.wait_queues = around(
        world.wait_queues, change=throttled(when=lambda *of, **_: of[3].changes[0].name == "held")
    )
    asked(world, 1)
    assert (states(world), all_runs(world)[0].code) == ("D", "http.429")


# Many, late and repeated.


def test_rates_run_whose_worker_dies_keeps_its_instant(world: World) -> None:
    on_demand(world, per_minute=1, burst=2)
    asked(world, 2)
    run, accepts = world.office.run(), world.wheel.refuse
    held = world.wheel.receive()
    assert held is not None
    world.wheel.refuse = lambda _: True
    world.handle(held)  # it has recorded the instant, and its message is not sent
    world.wheel.refuse = accepts
    assert world.office.record(run).wait == GateWait("rate", "crm", in_turn=True)
    asked(world, 5)
    world.until(NOON + 170)
    assert world.office.record(run).state is RunState.SUCCEEDED


def test_rates_runs_beyond_a_quarter_of_an_hour_ask_again_and_all_run(world: World) -> None:
    on_demand(world, per_minute=1, missed=MissedPolicy(grace_seconds=86_400))
    asked(world, 40)
    assert len(world.wheel) == 39
    world.until(NOON + 3 * 3600)
    calls = seconds(world)
    assert len(calls) == 40
    assert {run.waiting_since for run in all_runs(world)} == {None, NOON}
    assert all(one - other >= 59 for other, one in pairwise(calls))
    assert calls[-1] <= 40 * 60 + 1800


def test_rates_runs_that_come_back_late_together_do_not_start_together(world: World) -> None:
    on_demand(world)
    asked(world, 6)
    world.clock.advance(300)  # no worker meanwhile
    world.until(NOON + 500)
    assert seconds(world) == [0, 300, *(300 + 10 * number for number in range(1, 5))]


@pytest.mark.parametrize("ahead", [-5, 5])
@pytest.mark.parametrize("burst", [1, 4])
def test_rates_clocks_that_differ_by_five_seconds_add_the_starts_of_five_seconds(
    world: World, ahead: int, burst: int
) -> None:
    on_demand(world, per_minute=60, burst=burst)
    clocks = cycle([world.clock, Skewed(world.clock, ahead)])
    for _ in range(40):
        world.office.run()
    for _ in range(200):
        while (held := world.wheel.receive()) is not None:
            world.worker_clock = next(clocks)
            world.handle(held)
        world.clock.advance(1)
    assert len(seconds(world)) == 40
    hold(sorted(seconds(world)), burst, 1, margin=5)


def test_rates_message_that_comes_twice_starts_one_attempt(world: World) -> None:
    on_demand(world)
    asked(world, 2)
    waiting = waits(world)
    for _ in range(3):
        world.tell(world.about(waiting, MessageKind.START))
    world.until(NOON + 100)
    assert seconds(world)[0] == 0
    assert len(seconds(world)) == 2


@pytest.mark.parametrize("what", ["write", "change"])
@pytest.mark.parametrize("how", [throttled(times=1), lost(TimeoutError("no answer"), times=1)])
def test_rates_no_run_is_lost_after_a_failed_request(world: World, what: str, how: Any) -> None:
    on_demand(world)
    if what == "write":
        world.run_store = around(world.run_store, write=how)
    else:
        world.wait_queues = around(world.wait_queues, change=how)
    asked(world, 3)
    world.until(NOON + 900)
    assert states(world) == "SSS"
    assert all(one - other >= 10 for other, one in pairwise(seconds(world)))


def test_rates_workers_side_by_side_start_no_more_than_the_rate(world: World) -> None:
    on_demand(world, burst=2, missed=MissedPolicy(grace_seconds=86_400))
    runs = [world.office.run() for _ in range(12)]
    with ThreadPoolExecutor(max_workers=2) as threads:
        for _ in range(400):
            batches = [[each for _ in range(10) if (each := world.wheel.receive()) is not None] for _ in range(2)]
            if not any(batches):
                if len(world.caller.calls) == 12:
                    break
                world.clock.advance(1)
                continue
            list(threads.map(lambda batch: [world.handle(each) for each in batch], batches))
    assert len(seconds(world)) == len(runs)
    hold(sorted(seconds(world)), 2, 10)


@pytest.mark.parametrize(("rate", "before"), [(None, []), (Rate("crm", 60, 2), ["read", "change"])])
def test_rates_run_with_a_rate_costs_one_write_more_and_without_one_no_request_more(
    rate: Rate | None, before: list[str]
) -> None:
    world, requests = World(MemoryStores()), list[str]()
    world.run_store = CountedStore(world.run_store, requests)  # type: ignore[assignment]
    world.wait_queues = CountedStore(world.wait_queues, requests)  # type: ignore[assignment]
    world.add(rated(rate=rate))
    world.until(NOON + 200)
    requests.clear()
    world.until(NOON + 241)
    assert requests == [*before, "write", "write"]
    assert world.wait_queues.watch("default", key_queue("crm")) is None


def test_rate_held_attempt_begins_with_its_call(world: World) -> None:
    on_demand(world, per_minute=60, completion=Completion.CALLBACK)
    first, second = asked(world, 2)
    records = [world.run_store.get("default", "tick-tock", each.name.local) for each in (first, second)]
    assert [each.started_at for each in records if isinstance(each, Waiting)] == [NOON, NOON + 1]
    assert [each.deadlines.waiting_until - NOON for each in records if isinstance(each, Waiting)] == [86_400, 86_401]
