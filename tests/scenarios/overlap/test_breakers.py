"""Runs of jobs with a circuit breaker wait while their target fails, and use no attempt."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from duecourse.domain.instants import DAY_SECONDS
from duecourse.domain.jobs.job import Backoff, Breaker, Completion, Concurrency, Overlap, Rate, RetryPolicy
from duecourse.domain.runs.document import run_document
from duecourse.domain.runs.overlap import Lock
from duecourse.domain.runs.states import Dead, Queued, Running, RunState
from duecourse.domain.targets.targets import Failed, HttpTarget, LambdaTarget, Outcome, Returned
from duecourse.gates.breaker import BreakerGate, BreakerState, counted_failure, replaced
from duecourse.gates.gate import KeyBusyError
from duecourse.gates.order import BY_NAME
from duecourse.messages import MessageKind
from duecourse.testing.faults import around, before, throttled
from duecourse.usecases.runs.key_limits import KeyUnknownError
from tests.scenarios.overlap.test_concurrency_keys import all_runs, in_queue, states
from tests.scenarios.overlap.test_rates import asked, seconds, sorted_states
from tests.support.faulty import CountedStore
from tests.support.jobs import NOON, job
from tests.support.parts import with_parts
from tests.support.wheel import Held
from tests.support.world import World

ONCE = RetryPolicy(max_attempts=1)
DOWN = Failed("down", code="http.503")
UP = Returned("yes")
REJECTED = Failed("not found", code="http.404", retryable=False)


def guarded(world: World, failures: int = 2, open_seconds: int = 60, key: str | None = "crm", **changes: Any) -> None:
    usual: dict[str, Any] = {"id": "tick-tock", "overlap": Overlap.ALLOW, "retry": ONCE}
    world.add(job("", **(usual | {"breaker": Breaker(key, failures, open_seconds)} | changes)))


def answer(world: World, *outcomes: Outcome) -> None:
    """The calls have these outcomes, the last one from then on."""
    left = list(outcomes)
    world.caller.answer = lambda _: left.pop(0) if left[1:] else left[0]


def state(world: World, key: str = "crm") -> BreakerState:
    return world.wait_queues.state("default", key, BreakerGate())


def received(world: World) -> Held:
    held = world.wheel.receive()
    assert held is not None
    return held


def test_breakers_opens_after_the_failures_and_a_run_waits_without_an_attempt(world: World) -> None:
    guarded(world)
    answer(world, DOWN, DOWN, UP)
    asked(world, 2)
    assert (states(world), state(world)) == ("DD", BreakerState(2, int(NOON) + 60, 60))
    asked(world, 3)
    assert (sorted_states(world), seconds(world)) == ("DDQQQ", [0, 0])
    run = next(run for run in all_runs(world) if isinstance(run, Queued))
    shown = run_document(run)
    assert (shown["waiting_for"], shown["breaker_key"], shown["rate_key"]) == ("breaker", "crm", None)
    assert (shown["attempts"], shown["waiting_since"]) == (0, "2026-11-21T12:00:00.000Z")
    world.until(NOON + 59)
    assert seconds(world) == [0, 0]
    world.until(NOON + 120)
    assert sorted_states(world) == "DDSSS"
    assert all(60 <= second <= 90 for second in seconds(world)[2:])
    assert [run.attempt for run in all_runs(world)] == [1] * 5
    assert (state(world), len(world.wheel)) == (BreakerState(), 0)


def test_breakers_runs_of_two_jobs_with_the_same_host_share_a_breaker(world: World) -> None:
    for job_id in ("tick-tock", "tock"):
        guarded(world, key=None, id=job_id, target=HttpTarget(f"https://api.example.com/{job_id}"))
    answer(world, DOWN)
    asked(world, 2)
    asked(world, 1, "tock")
    assert (states(world, "tick-tock"), states(world, "tock")) == ("DD", "Q")
    assert state(world, "api.example.com").open_until


def test_breakers_success_between_failures_clears_the_count(world: World) -> None:
    guarded(world)
    answer(world, DOWN, UP, DOWN, UP)
    for _ in range(4):
        asked(world, 1)
    assert (sorted_states(world), state(world)) == ("DDSS", BreakerState())


def test_breakers_success_of_an_attempt_that_started_before_the_first_failure_clears_nothing(world: World) -> None:
    """It costs no request: only an attempt that has read failures writes after its success."""
    guarded(world)
    answers: list[Outcome] = [DOWN, UP]

    def first(_: object) -> Outcome:
        world.caller.answer = lambda _: answers.pop(0)
        asked(world, 1)
        return UP

    world.caller.answer = first
    asked(world, 1)
    assert (sorted_states(world), state(world)) == ("DS", BreakerState(1))
    asked(world, 1)
    assert (sorted_states(world), state(world)) == ("DSS", BreakerState())


def test_breakers_failure_of_the_request_itself_is_not_counted(world: World) -> None:
    guarded(world, failures=1)
    answer(world, REJECTED)
    asked(world, 2)
    assert (states(world), state(world)) == ("DD", BreakerState())


def test_breakers_probe_that_its_target_rejects_closes_the_breaker(world: World) -> None:
    """The target works, so the other runs must not come back one at a time."""
    guarded(world, failures=1)
    answer(world, DOWN, REJECTED)
    asked(world, 5)
    world.until(NOON + 90)
    assert (sorted_states(world), state(world)) == ("DDDDD", BreakerState())
    assert [event.action for report in world.reports for event in report.events].count("breaker_closed") == 1


def test_breakers_probe_without_a_response_of_its_target_leaves_the_probe_to_another_run(world: World) -> None:
    guarded(world, failures=1)
    answer(world, DOWN, Failed("no access", code="AccessDenied", retryable=False), UP)
    asked(world, 1)
    asked(world, 1)
    opened = state(world)
    world.until(NOON + 95)
    assert (sorted_states(world), state(world)) == ("DD", opened)
    asked(world, 1)
    assert (sorted_states(world), state(world)) == ("DDS", BreakerState())


def test_breakers_one_run_probes_and_the_others_wait_until_it_ends(world: World) -> None:
    guarded(world, failures=1, completion=Completion.RESPONSE)
    answer(world, DOWN)
    asked(world, 1)
    asked(world, 1)
    waiting = next(run for run in all_runs(world) if isinstance(run, Queued))

    def probe(_: object) -> Outcome:
        asked(world, 1)  # while the probe is in progress
        return DOWN

    world.caller.answer = probe
    world.until(NOON + 95)
    assert isinstance(world.office.record(waiting), Dead)
    (other,) = (run for run in all_runs(world) if isinstance(run, Queued))
    opened = state(world)
    assert (opened.open_seconds, opened.probe) == (120, "")
    answer(world, UP)
    world.until(NOON + 400)
    record = world.office.record(other)
    assert (record.state, record.attempt) == (RunState.SUCCEEDED, 1)
    assert record.started_at is not None
    assert record.started_at >= opened.open_until


def test_breakers_if_the_worker_of_the_probe_dies_the_next_run_after_its_lease_probes(world: World) -> None:
    guarded(world, failures=1)
    answer(world, DOWN)
    asked(world, 1)
    asked(world, 2)
    answer(world, UP)
    world.clock.advance(90)
    world.handle(received(world))  # the dead run's
    alive, world.wait_queues = world.wait_queues, around(world.wait_queues, change=_dies)
    held = received(world)
    with pytest.raises(SystemExit):
        world.handle(held)
    world.wait_queues = alive
    world.wheel.put_back(held)
    probe = state(world)
    assert probe.probe
    world.until(probe.probe_until - 1)
    assert sorted_states(world) == "DQQ"
    world.until(probe.probe_until + 300)
    assert (sorted_states(world), state(world)) == ("DSS", BreakerState())


def _dies(real: Any, *arguments: Any, **named: Any) -> Any:
    real(*arguments, **named)
    raise SystemExit


def test_breakers_late_message_of_an_ended_run_does_not_keep_the_probe(world: World) -> None:
    guarded(world, failures=1)
    answer(world, DOWN, UP)
    asked(world, 1)
    world.clock.advance(61)
    world.tell(world.about(all_runs(world)[0], MessageKind.START))
    assert (state(world).word(world.clock.now()), state(world).probe) == ("half_open", "")
    asked(world, 1)
    assert (sorted_states(world), state(world)) == ("DS", BreakerState())


def test_breakers_error_before_the_start_is_written_gives_the_probe_back(world: World) -> None:
    """Other runs would wait for the end of the worker's invocation, up to 15 minutes in the lane `long`."""
    guarded(world, failures=1, completion=Completion.CALLBACK, completion_seconds=60)
    answer(world, DOWN, UP)
    asked(world, 1)
    world.until(NOON + 75)
    world.office.run(job_id="tick-tock")
    held, lane = received(world), world.wheel
    world.wheel = around(lane, send=throttled(times=1))
    world.handle(held)
    world.wheel = lane
    assert world.count("MessagesFailed") == 1
    assert (state(world).word(world.clock.now()), state(world).probe) == ("half_open", "")
    world.until(NOON + 90)
    assert sorted_states(world) == "DW"


def test_breakers_start_that_cannot_be_written_gives_the_probe_back(world: World) -> None:
    guarded(world, failures=1)
    answer(world, DOWN, UP)
    asked(world, 1)
    world.until(NOON + 75)
    world.office.run(job_id="tick-tock")
    held, store = received(world), world.run_store
    world.run_store = around(store, write=throttled(times=1, when=lambda run, _: isinstance(run, Running)))
    world.handle(held)
    world.run_store = store
    assert world.count("MessagesFailed") == 1
    assert (state(world).word(world.clock.now()), state(world).probe) == ("half_open", "")
    world.until(NOON + 90)
    assert (sorted_states(world), [run.attempt for run in all_runs(world)]) == ("DS", [1, 1])


def test_breakers_probe_is_given_back_although_an_attempt_of_before_fails_meanwhile(world: World) -> None:
    guarded(world, failures=1)
    answer(world, DOWN, UP)
    asked(world, 1)
    world.until(NOON + 75)
    world.office.run(job_id="tick-tock")
    held, store, queues = received(world), world.run_store, world.wait_queues

    def fail() -> None:
        queues.change("default", "crm", BreakerGate(), counted_failure(), expires_at=int(NOON) + DAY_SECONDS)
        raise TimeoutError

    world.run_store = around(store, write=before(fail, times=1, when=lambda run, _: isinstance(run, Running)))
    world.handle(held)
    world.run_store = store
    assert (state(world).word(world.clock.now()), state(world).probe) == ("half_open", "")
    world.until(NOON + 90)
    assert sorted_states(world) == "DS"


def test_breakers_retries_wait_for_the_breaker_too_and_are_not_used_up(world: World) -> None:
    retry = RetryPolicy(max_attempts=3, backoff=Backoff.FIXED, min_seconds=1, max_seconds=1)
    guarded(world, retry=retry)
    answer(world, DOWN, DOWN, UP)
    asked(world, 1)
    world.until(NOON + 5)
    (run,) = all_runs(world)
    shown = run_document(run)
    assert (shown["state"], shown["waiting_for"], shown["breaker_key"]) == ("RETRYING", "breaker", "crm")
    world.until(NOON + 100)
    (run,) = all_runs(world)
    assert (run.state, run.attempt) == (RunState.SUCCEEDED, 3)
    assert seconds(world)[:2] == [0, 1]


def test_breakers_redriven_run_waits_too(world: World) -> None:
    guarded(world, failures=1)
    answer(world, DOWN, UP)
    asked(world, 1)
    world.tell(world.about(all_runs(world)[0], MessageKind.REDRIVE))
    assert seconds(world) == [0]
    world.until(NOON + 100)
    assert (states(world), all_runs(world)[0].attempt) == ("S", 2)


def test_breakers_waiting_run_has_no_place_of_its_key_and_counts_as_active_for_its_job(world: World) -> None:
    guarded(world, failures=1, concurrency=Concurrency("erp", 1))
    guarded(world, failures=1, id="one", overlap=Overlap.SKIP)
    world.add(job("", id="other", overlap=Overlap.ALLOW, retry=ONCE, concurrency=Concurrency("erp", 1)))
    answer(world, DOWN, UP)
    asked(world, 3)
    asked(world, 1, "one")
    asked(world, 1, "one")
    asked(world, 1, "other")
    assert (sorted_states(world), states(world, "other"), in_queue(world)) == ("DQQ", "S", [])
    assert sorted(run.state for run in all_runs(world, "one")) == [RunState.QUEUED, RunState.SKIPPED]
    world.until(NOON + 200)
    assert (sorted_states(world), states(world, "other")) == ("DSS", "S")
    assert sorted(run.state for run in all_runs(world, "one")) == [RunState.SKIPPED, RunState.SUCCEEDED]


def test_breakers_waiting_run_costs_no_start_of_its_rate(world: World) -> None:
    guarded(world, failures=1, rate=Rate("crm", 1, 1))
    answer(world, DOWN, UP)
    asked(world, 1)
    spent = world.wait_queues.state("default", "crm", BY_NAME["rate"])
    world.until(NOON + 55)
    asked(world, 3)
    assert (sorted_states(world), world.wait_queues.state("default", "crm", BY_NAME["rate"])) == ("DQQQ", spent)
    world.until(NOON + 600)
    assert sorted_states(world) == "DSSS"
    assert all(one - other >= 60 for other, one in pairwise(seconds(world)))


def test_breakers_run_that_waits_ends_with_its_start_deadline(world: World) -> None:
    guarded(world, failures=1)
    guarded(world, failures=1, id="late", start_deadline_seconds=30)
    answer(world, DOWN, UP)
    asked(world, 1)
    asked(world, 1, "late")
    world.until(NOON + 40)
    assert [run.reason for run in all_runs(world, "late")] == ["start_deadline"]


def test_breakers_run_without_a_key_is_not_called(world: World) -> None:
    guarded(world, key=None, target=LambdaTarget("f"))
    asked(world, 1)
    assert (all_runs(world)[0].code, seconds(world)) == ("bad_template", [])


def test_breakers_failure_that_cannot_be_counted_leaves_the_run_as_it_is(world: World) -> None:
    guarded(world)
    answer(world, DOWN)
    world.wait_queues = around(world.wait_queues, change=throttled())
    asked(world, 1)
    assert (states(world), all_runs(world)[0].code) == ("D", "http.503")
    assert any(event.action == "breaker_not_changed" for report in world.reports for event in report.events)


def test_breakers_success_costs_one_read_and_a_job_without_a_breaker_nothing(world: World) -> None:
    requests: list[str] = []
    world.wait_queues = CountedStore(world.wait_queues, requests)
    world.add(job("", id="plain", overlap=Overlap.ALLOW))
    guarded(world)
    answer(world, UP)
    asked(world, 1, "plain")
    assert requests == []
    asked(world, 1)
    assert requests == ["read"]
    answer(world, DOWN)
    requests.clear()
    asked(world, 1)
    assert requests == ["read", "change"]


def test_breakers_repeated_message_of_a_waiting_run_starts_it_once(world: World) -> None:
    guarded(world, failures=1)
    answer(world, DOWN, UP)
    asked(world, 1)
    world.office.run(job_id="tick-tock")
    held = received(world)
    world.handle(held)
    world.handle(held)
    world.until(NOON + 200)
    assert (sorted_states(world), len(seconds(world))) == ("DS", 2)


def test_breakers_read_that_fails_keeps_the_message(world: World) -> None:
    guarded(world)
    answer(world, UP)
    world.wait_queues = around(world.wait_queues, state=throttled(times=1))
    asked(world, 1)
    world.until(NOON + 200)
    assert states(world) == "S"


def explained(world: World, job_id: str) -> str:
    return world.office.api.explain("default", job_id, int(NOON)).found.sentence


def test_breakers_explanation_names_the_breaker_for_which_a_run_waits(world: World) -> None:
    guarded(world, failures=1)
    guarded(world, id="tock")
    answer(world, DOWN)
    asked(world, 1)
    asked(world, 1, "tock")
    assert "waits for the circuit breaker of the key crm until 2026-11-21T12:01:" in explained(world, "tock")
    opened = "The circuit breaker is open until 2026-11-21T12:01:00Z, because 1 attempt in a row failed."
    assert opened in explained(world, "tock")
    world.clock.advance(60)
    assert "half open: one attempt tests the target" in explained(world, "tock")
    closed = replaced(state(world), BreakerState())
    world.wait_queues.change("default", "crm", BreakerGate(), closed, expires_at=int(NOON))
    assert "closed again, so the run starts at that time" in explained(world, "tock")


def test_breakers_explanation_names_the_hold_of_a_key_after_a_failure(world: World) -> None:
    """The failure has not opened the breaker."""
    guarded(world, failures=5)
    answer(world, DOWN)
    asked(world, 1)
    world.office.api.key_limits.hold("default", "crm", NOON + 300.5)
    guarded(world, failures=5, id="tock")
    asked(world, 1, "tock")
    held = "The circuit breaker is open until 2026-11-21T12:05:01Z, because an operator holds the key."
    assert held in explained(world, "tock")


@pytest.mark.parametrize("limits", [{"rate": Rate("crm", 60, 1)}, {"concurrency": Concurrency("crm", 1)}])
def test_breakers_explanation_names_a_pause_by_retry_after(world: World, limits: dict[str, Any]) -> None:
    retry = RetryPolicy(max_attempts=1, max_seconds=300)
    for job_id in ("tick-tock", "tock"):
        guarded(world, id=job_id, breaker=None, retry=retry, **limits)
    answer(world, Failed("too many", code="http.429", retry_after=120))
    asked(world, 1)
    asked(world, 1, "tock")
    paused = "The key crm is paused until 2026-11-21T12:02:00Z: a target sent Retry-After, or an operator holds it."
    assert paused in explained(world, "tock")


def test_breakers_key_shows_the_breaker_and_the_runs_that_wait_for_it(world: World) -> None:
    guarded(world, failures=1)
    answer(world, DOWN)
    asked(world, 3)
    found = world.office.api.key_limits.get("default", "crm")
    assert (found.shown["breaker_state"], found.shown["breaker_failures"]) == ("open", 1)
    assert {gate: len(runs) for gate, runs in found.at_gates.items() if runs} == {"breaker": 2}
    listed, *_ = world.office.api.key_limits.page("default", limit=10, after=None)
    assert [(each.key, each.at_gates["rate"], each.at_gates["breaker"]) for each in listed] == [("crm", 0, 2)]


def test_breakers_stored_numbers_replace_those_of_the_jobs(world: World) -> None:
    guarded(world, failures=1)
    world.office.api.key_limits.put("default", "crm", None, None, Breaker("crm", 3, 10), by="anna")
    answer(world, DOWN)
    asked(world, 4)
    assert (sorted_states(world), state(world).open_seconds) == ("DDDQ", 10)


LIMITS: list[dict[str, Any]] = [
    {"breaker": Breaker("crm", 5, 60)},
    {"breaker": None, "rate": Rate("crm", 60, 10)},
    {"breaker": None, "concurrency": Concurrency("crm", 5)},
]


@pytest.mark.parametrize("limits", LIMITS)
def test_breakers_held_key_starts_no_attempt_until_its_end(world: World, limits: dict[str, Any]) -> None:
    guarded(world, **limits)
    answer(world, UP)
    world.office.api.key_limits.hold("default", "crm", NOON + 300)
    world.office.api.key_limits.hold("default", "crm", NOON + 200)  # the later end remains
    asked(world, 2)
    assert "until 2026-11-21T12:05:" in explained(world, "tick-tock")
    world.until(NOON + 299)
    assert (states(world), seconds(world)) == ("QQ", [])
    world.until(NOON + 600)
    assert (states(world), [run.attempt for run in all_runs(world)]) == ("SS", [1, 1])


@pytest.mark.parametrize("limits", LIMITS)
def test_breakers_closed_key_starts_attempts_again(world: World, limits: dict[str, Any]) -> None:
    guarded(world, **limits)
    answer(world, UP)
    world.office.api.key_limits.hold("default", "crm", NOON + 300)
    world.clock.advance(10)
    world.office.api.key_limits.close("default", "crm")
    asked(world, 2)
    assert states(world) == "SS"
    with pytest.raises(KeyUnknownError):
        world.office.api.key_limits.get("default", "crm")


def test_breakers_closed_key_starts_the_runs_in_its_wait_queue(world: World) -> None:
    guarded(world, breaker=None, concurrency=Concurrency("crm", 5))
    answer(world, UP)
    world.office.api.key_limits.hold("default", "crm", NOON + 300)
    asked(world, 2)
    assert states(world) == "QQ"
    world.office.api.key_limits.close("default", "crm")
    world.work()
    assert states(world) == "SS"


@pytest.mark.parametrize("held_seconds", [DAY_SECONDS, 300])
def test_breakers_closed_key_starts_runs_that_already_wait_within_30_seconds(world: World, held_seconds: int) -> None:
    guarded(world)
    answer(world, UP)
    world.office.api.key_limits.hold("default", "crm", NOON + held_seconds)
    asked(world, 3)
    world.clock.advance(100)
    world.office.api.key_limits.close("default", "crm")
    world.until(NOON + 131)
    assert states(world) == "SSS"
    assert all(100 <= second <= 130 for second in seconds(world))
    world.until(NOON + 905)
    assert ([run.attempt for run in all_runs(world)], len(world.wheel)) == ([1, 1, 1], 0)


def test_breakers_closed_key_sends_nothing_for_runs_that_try_again_within_30_seconds(world: World) -> None:
    guarded(world)
    answer(world, UP)
    world.office.api.key_limits.hold("default", "crm", NOON + 101)
    asked(world, 3)
    world.clock.set(NOON + 101)
    waiting = len(world.wheel)
    world.office.api.key_limits.close("default", "crm")
    assert (waiting, len(world.wheel)) == (3, 3)
    world.until(NOON + 131)
    assert (states(world), len(world.wheel)) == ("SSS", 0)


def test_breakers_closed_key_starts_retries_that_already_wait(world: World) -> None:
    guarded(world, failures=1, retry=RetryPolicy(max_attempts=2, backoff=Backoff.FIXED, min_seconds=1, max_seconds=1))
    answer(world, DOWN, UP)
    asked(world, 1)
    world.until(NOON + 10)
    world.office.api.key_limits.close("default", "crm")
    world.until(NOON + 41)
    (run,) = all_runs(world)
    assert (run.state, run.attempt, len(world.caller.calls)) == (RunState.SUCCEEDED, 2, 2)
    world.until(NOON + 200)
    assert (len(world.caller.calls), len(world.wheel)) == (2, 0)


def test_breakers_close_leaves_runs_that_wait_for_another_key(world: World) -> None:
    guarded(world)
    guarded(world, key="erp", id="tock")
    for key in ("crm", "erp"):
        world.office.api.key_limits.hold("default", key, NOON + 600)
    asked(world, 1)
    asked(world, 1, "tock")
    sent = len(world.wheel)
    world.office.api.key_limits.close("default", "crm")
    assert len(world.wheel) == sent + 1
    world.until(NOON + 60)
    assert (states(world, "tick-tock"), states(world, "tock")) == ("S", "Q")


def test_breakers_held_run_asks_every_15_minutes_and_uses_no_attempt(world: World) -> None:
    guarded(world)
    answer(world, UP)
    world.office.api.key_limits.hold("default", "crm", NOON + 7200)
    asked(world, 1)
    requests: list[str] = []
    world.wait_queues = CountedStore(world.wait_queues, requests)
    world.until(NOON + 7199)
    assert (states(world), seconds(world)) == ("Q", [])
    assert 8 <= requests.count("read") <= 9
    world.until(NOON + 7240)
    assert (states(world), all_runs(world)[0].attempt) == ("S", 1)


def test_breakers_probe_of_a_breaker_that_was_closed_meanwhile_changes_nothing(world: World) -> None:
    guarded(world, failures=1)
    answer(world, DOWN)
    asked(world, 2)

    def close(_: object) -> Outcome:
        world.office.api.key_limits.close("default", "crm")
        return DOWN

    world.caller.answer = close
    world.until(NOON + 95)
    assert sorted_states(world) == "DD"
    assert state(world) == BreakerState()


def stale(real: Any, tenant: str, key: str, gate: Any, *, strongly: bool = False) -> Any:
    """Answers a read with the state of before, unless it is strongly consistent."""
    return real(tenant, key, gate, strongly=strongly) if strongly else gate.state()


def test_breakers_hold_and_close_do_not_rely_on_stale_reads(world: World) -> None:
    api = world.office.api.key_limits
    before_it = replace(api, gates=replace(api.gates, wait_queues=around(world.wait_queues, state=stale)))
    api.hold("default", "crm", NOON + 60)
    held = state(world)
    before_it.close("default", "crm")
    assert (state(world), api.status("default", "crm").paused_until) == (BreakerState(), None)
    before_it.hold("default", "crm", NOON + 60)
    assert state(world) == held


def test_breakers_hold_that_other_writers_outrun_each_time_is_refused(world: World) -> None:
    api = world.office.api.key_limits
    busy = around(
        world.wait_queues,
        change=lambda *of, **__: (False, of[3].state() if of[3].name != "breaker" else BreakerState(1)),
    )
    with pytest.raises(KeyBusyError):
        replace(api, gates=replace(api.gates, wait_queues=busy)).hold("default", "crm", NOON + 60)


def test_breakers_hold_whose_pause_other_writers_outrun_each_time_is_refused(world: World) -> None:
    api = world.office.api.key_limits
    busy = around(world.run_store, lock=lambda _real, *_, **__: Lock("", NOON + 30))
    with pytest.raises(KeyBusyError):
        replace(api, overlaps=replace(api.overlaps, runs=busy)).hold("default", "crm", NOON + 60)


def test_breakers_end_of_a_pause_that_other_writers_outrun_each_time_is_refused(world: World) -> None:
    api = world.office.api.key_limits
    api.hold("default", "crm", NOON + 60)
    busy = around(world.run_store, lock=lambda _real, *_, **__: Lock("", NOON + 600))
    with pytest.raises(KeyBusyError):
        with_parts(api, runs=busy).close("default", "crm")
    api.close("default", "crm")
    assert api.status("default", "crm").paused_until is None
