"""A run that waits for another run of its job is two items and no message; whoever releases the lock calls the next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from duecourse.domain.jobs.job import Completion, Delivery, Job, MissedMode, MissedPolicy, Overlap
from duecourse.domain.runs.overlap import Lock
from duecourse.domain.runs.states import Run, RunState
from duecourse.domain.targets.targets import Failed, Outcome, Returned
from duecourse.messages import MessageKind, RunMessage
from duecourse.ports import Call, Outgoing
from duecourse.testing.faults import around, throttled
from duecourse.usecases.worker.wait_queue import WATCH_SECONDS
from tests.support.jobs import NOON, job
from tests.support.one_run import ONCE
from tests.support.varied import varied
from tests.support.world import World

S, K, Q, W = RunState.SUCCEEDED, RunState.SKIPPED, RunState.QUEUED, RunState.WAITING


PATIENT = MissedPolicy(grace_seconds=3600)


def by_hand(overlap: Overlap = Overlap.QUEUE, **changes: Any) -> Job:
    """Every minute, each run completed by hand."""
    return job("* * * * *", **({"overlap": overlap, "completion": Completion.CALLBACK} | changes))


def complete(world: World, index: int = 0) -> None:
    """Complete one of the runs that wait for their callback."""
    waiting = [run for run in world.runs("tick-tock") if run.state is W]
    world.tell(world.about(waiting[index], MessageKind.COMPLETE))


def told(world: World) -> list[tuple[int, RunState, str | None]]:
    return [(run.occurrence - int(NOON), run.state, run.reason) for run in world.runs("tick-tock")]


def starts(world: World) -> list[tuple[int, float]]:
    """The second after NOON of each occurrence that was called, and when."""
    found = {str(run.name): run.occurrence - int(NOON) for run in world.runs("tick-tock")}
    return [(found[name], at - NOON) for name, _, at in world.caller.calls]


def in_queue(world: World) -> list[int]:
    waiting = world.wait_queues.waiting("default", "tick-tock", limit=99)
    return [message.occurrence - int(NOON) for message in waiting]


def messages_about(world: World, second: int) -> list[RunMessage]:
    """What lies in the lane about an occurrence, but for the watch of the wait queue."""
    held = [each.message for each in world.wheel._held]
    return [each for each in held if each.occurrence == int(NOON) + second and each.watch is None]


# Waiting.


def test_wait_queue_records_a_waiting_run_without_a_message(world: World) -> None:
    world.add(by_hand(max_runs=2))
    world.until(NOON + 200)
    first, second = world.runs("tick-tock")
    assert (first.state, second.state, second.waiting_since) == (W, Q, NOON + 120)
    assert messages_about(world, 120) == []
    assert in_queue(world) == [120]
    world.until(NOON + 3600)
    assert world.runs("tick-tock")[1] == second
    assert messages_about(world, 120) == []


def test_wait_queue_starts_the_next_run_at_the_moment_the_previous_one_ends(world: World) -> None:
    world.add(by_hand(max_runs=3))
    world.until(NOON + 500.25)
    complete(world)
    world.until(NOON + 777.5)
    complete(world)
    assert starts(world) == [(60, 60.0), (120, 500.25), (180, 777.5)]
    assert in_queue(world) == []
    world.until(NOON + 1000)
    complete(world)
    world.until(NOON + 1100)
    assert [state for _, state, _ in told(world)] == [S, S, S]
    assert world.wait_queues.watch("default", "tick-tock") is None
    assert len(world.wheel) == 0


def test_wait_queue_runs_twenty_runs_in_the_order_in_which_they_came_due(world: World) -> None:
    world.add(by_hand(max_runs=21))
    world.until(NOON + 1300)
    assert in_queue(world) == list(range(120, 1261, 60))
    for _ in range(21):
        complete(world)
    assert [second for second, _ in starts(world)] == list(range(60, 1261, 60))


def test_wait_queue_places_a_late_run_before_those_due_after_it(world: World) -> None:
    world.add(by_hand(max_runs=4, missed=PATIENT))
    world.until(NOON + 100)
    late = world.wheel.hold_back(120)
    world.until(NOON + 250)
    world.wheel.give_back(late)
    world.work()
    assert in_queue(world) == [120, 180, 240]


def test_wait_queue_drops_copies_of_the_message_of_a_waiting_run_immediately(world: World) -> None:
    made = world.add(by_hand(max_runs=2))
    world.until(NOON + 130)
    message = next(sent.message for sent in world.wheel.sent if sent.message.occurrence == int(NOON) + 120)
    for number in range(20):
        world.wheel.send([Outgoing(replace(message, nonce=f"copy-{number}"), 0)])
    world.work()
    sent = len(world.wheel.sent)
    world.until(NOON + 130 + 2400)
    assert len(world.wheel.sent) - sent <= 2 * 2400 / WATCH_SECONDS
    complete(world)
    assert [run.state for run in world.runs(made.id)] == [S, W]
    assert Counter(world.caller.runs) == {str(run.name): 1 for run in world.runs(made.id)}


# How many wait.


def test_wait_queue_with_a_limit_skips_runs_when_it_is_full(world: World) -> None:
    world.add(by_hand(queue_limit=2, max_runs=5))
    world.until(NOON + 400)
    assert told(world) == [
        (60, W, None),
        (120, Q, None),
        (180, Q, None),
        (240, K, "overlap_full"),
        (300, K, "overlap_full"),
    ]
    complete(world)
    complete(world)
    complete(world)
    assert [state for _, state, _ in told(world)] == [S, S, S, K, K]


def test_wait_queue_newest_lets_the_active_run_end_and_then_runs_only_the_newest(world: World) -> None:
    world.add(by_hand(Overlap.NEWEST, max_runs=4))
    world.until(NOON + 290)
    assert told(world) == [(60, W, None), (120, K, "replaced"), (180, K, "replaced"), (240, Q, None)]
    assert in_queue(world) == [240]
    complete(world)
    complete(world)
    assert [state for _, state, _ in told(world)] == [S, K, K, S]


def test_wait_queue_newest_replaces_a_late_older_run_by_the_newest_waiting_run(world: World) -> None:
    world.add(by_hand(Overlap.NEWEST, max_runs=3, missed=PATIENT))
    world.until(NOON + 100)
    late = world.wheel.hold_back(120)
    world.until(NOON + 200)
    world.wheel.give_back(late)
    world.work()
    assert told(world)[1:] == [(120, K, "replaced"), (180, Q, None)]


# What else may come while a run waits.


def test_wait_queue_skips_runs_of_a_paused_job_when_their_turn_comes(world: World) -> None:
    world.add(by_hand(max_runs=4))
    world.until(NOON + 250)
    world.office.pause()
    complete(world)
    assert told(world) == [(60, S, None), (120, K, "paused"), (180, K, "paused"), (240, K, "paused")]
    assert in_queue(world) == []


def test_wait_queue_skips_runs_of_a_deleted_job(world: World) -> None:
    world.add(by_hand(max_runs=3))
    world.until(NOON + 200)
    world.office.delete()
    world.until(NOON + 200 + WATCH_SECONDS)
    assert told(world)[1:] == [(120, K, "deleted"), (180, K, "deleted")]
    assert in_queue(world) == []


def test_wait_queue_of_a_deleted_job_does_not_delay_its_recreated_job(world: World) -> None:
    office = world.office
    world.add(by_hand())
    world.until(NOON + 250)
    office.delete()
    world.clock.advance(1)
    office.create("* * * * *", overlap=Overlap.QUEUE)
    world.until(NOON + 310)
    assert (300, S, None) in told(world)
    assert in_queue(world) == []


@pytest.mark.parametrize("deadline", [100, 3000])
def test_wait_queue_ends_the_wait_at_a_start_deadline(world: World, deadline: int) -> None:
    world.add(by_hand(max_runs=2, start_deadline_seconds=deadline))
    world.until(NOON + 120 + deadline)
    assert told(world)[1] == (120, Q, None)
    world.until(NOON + 120 + deadline + 62)  # a long one waits in the due index, which is read once a minute
    assert told(world)[1] == (120, K, "start_deadline")
    assert in_queue(world) == []


def test_wait_queue_starts_all_waiting_runs_once_overlap_is_allowed(world: World) -> None:
    world.add(by_hand(max_runs=4))
    world.until(NOON + 250)
    world.office.edit(overlap=Overlap.ALLOW)
    world.until(NOON + 250 + WATCH_SECONDS)
    assert [state for _, state, _ in told(world)] == [W, W, W, W]
    assert in_queue(world) == []


def test_wait_queue_skips_waiting_runs_beside_an_active_run_once_overlap_is_forbidden(world: World) -> None:
    world.add(by_hand(max_runs=4))
    world.until(NOON + 250)
    world.office.edit(overlap=Overlap.SKIP)
    world.until(NOON + 250 + WATCH_SECONDS)
    assert told(world) == [(60, W, None), (120, K, "overlap"), (180, K, "overlap"), (240, K, "overlap")]


def test_wait_queue_prevents_completion_of_the_job_while_a_run_waits(world: World) -> None:
    office = world.office
    world.add(by_hand(max_runs=2))
    world.until(NOON + 200)
    complete(world)
    assert office.job().state == "ACTIVE"
    complete(world)
    assert office.job().state == "COMPLETED"


def test_wait_queue_holds_a_redriven_run_with_its_record_unchanged_whatever_the_overlap_rule(world: World) -> None:
    world.add(by_hand(Overlap.SKIP, retry=ONCE, max_runs=2))
    world.until(NOON + 61)
    world.tell(world.about(world.runs("tick-tock")[0], MessageKind.FAIL, error="no"))
    world.until(NOON + 130)
    dead, second = world.runs("tick-tock")
    assert (dead.state, second.state) == (RunState.DEAD, W)
    world.tell(world.about(dead, MessageKind.REDRIVE))
    assert (world.runs("tick-tock")[0], in_queue(world)) == (dead, [60])
    complete(world)
    world.until(NOON + 130 + WATCH_SECONDS)
    assert told(world) == [(60, W, None), (120, S, None)]
    assert in_queue(world) == []


# What is missed, and what only waits.


@pytest.mark.parametrize("mode", MissedMode)
def test_wait_queue_keeps_a_run_from_being_missed_although_its_dispatcher_died_before_the_claim(
    world: World, mode: MissedMode
) -> None:
    world.cursors = around(world.cursors, claim=throttled(times=1))
    world.add(by_hand(missed=MissedPolicy(mode, grace_seconds=60, max_missed=3), max_runs=14))
    world.until(NOON + 61)  # sent for fourteen minutes, and not claimed
    world.until(NOON + 300, ticking=False)
    assert in_queue(world) == [120, 180, 240, 300]
    world.dispatch()
    world.until(NOON + 320)
    for _ in range(40):
        if any(state is W for _, state, _ in told(world)):
            complete(world)
        world.until(world.clock.now() + 40)
    assert [(second, state) for second, state, _ in told(world)] == [(second, S) for second in range(60, 841, 60)]
    assert Counter(world.caller.runs) == {str(run.name): 1 for run in world.runs("tick-tock")}


# What gets lost.


def lose(world: World, hit: Callable[[RunMessage], bool]) -> int:
    """Messages that hit are gone."""
    before = len(world.wheel._held)
    world.wheel._held = [each for each in world.wheel._held if not hit(each.message)]
    return before - len(world.wheel._held)


def test_wait_queue_repeats_a_lost_call_within_half_a_minute(world: World) -> None:
    world.add(by_hand(max_runs=2))
    world.until(NOON + 305)
    waiting = world.runs("tick-tock")[0]
    held = world.wheel.put_in(world.about(waiting, MessageKind.COMPLETE))
    world.worker()([world.wheel.received(held)], world.clock.now() + 120)
    assert lose(world, lambda message: message.watch is None) == 1
    world.until(NOON + 305 + WATCH_SECONDS)
    assert told(world)[1] == (120, W, None)


def test_wait_queue_without_its_watch_is_watched_again_from_the_next_entry(world: World) -> None:
    world.add(by_hand(max_runs=4))
    world.until(NOON + 125)
    assert lose(world, lambda message: message.watch is not None) == 1
    world.until(NOON + 245)
    assert any(each.message.watch is not None for each in world.wheel._held)


def test_wait_queue_continues_after_its_lock_holder_vanished(world: World) -> None:
    world.add(by_hand(max_runs=2))
    world.until(NOON + 125)
    first = world.runs("tick-tock")[0]
    world.clock.advance(1)
    gone = varied(first, state=RunState.RUNNING, lease_until=NOON + 130, fencing_token="gone")
    assert world.run_store.write(gone, first) is None
    world.until(NOON + 130 + 120 + WATCH_SECONDS + 1)
    assert told(world)[1] == (120, W, None)


def test_wait_queue_calls_the_next_run_by_the_redelivered_message_if_its_lane_rejected_the_call(world: World) -> None:
    world.add(by_hand(max_runs=2))
    world.until(NOON + 200)
    world.wheel.refuse = lambda message: message.waited
    complete(world)
    assert told(world)[1] == (120, Q, None)
    world.wheel.refuse = lambda _: False
    world.until(NOON + 210)
    assert told(world)[1] == (120, W, None)


def test_wait_queue_watch_does_not_multiply(world: World) -> None:
    world.add(by_hand(max_runs=2))
    world.until(NOON + 125)
    watches = [each.message for each in world.wheel._held if each.message.watch is not None]
    world.wheel.send([Outgoing(replace(watches[0], nonce=f"twin-{number}"), 0) for number in range(10)])
    world.until(NOON + 125 + 10 * WATCH_SECONDS)
    assert len([each for each in world.wheel._held if each.message.watch is not None]) == 1


def test_wait_queue_keeps_the_message_of_a_run_until_its_watch_is_set_up(world: World) -> None:
    world.wheel.refuse = lambda message: message.watch is not None
    world.add(by_hand(max_runs=2))
    world.until(NOON + 121)
    assert world.wait_queues.watch("default", "tick-tock") is None
    assert messages_about(world, 120) != []
    world.wheel.refuse = lambda _: False
    world.until(NOON + 300)
    assert world.wait_queues.watch("default", "tick-tock") is not None
    assert (in_queue(world), messages_about(world, 120)) == ([120], [])


def test_wait_queue_watch_written_again_after_a_lost_response_has_its_message(world: World) -> None:
    def write_twice(real: Callable[..., bool], *asked: object, **how: object) -> bool:
        """The SDK writes the watch again when its answer was lost, and says what became of the second one."""
        real(*asked, **how)
        return real(*asked, **how)

    world.wait_queues = around(world.wait_queues, set_watch=write_twice)
    world.add(by_hand(max_runs=2))
    world.until(NOON + 125)
    (watch,) = [each.message for each in world.wheel._held if each.message.watch is not None]
    standing = world.wait_queues.watch("default", "tick-tock")
    assert standing is not None
    assert standing.nonce == watch.watch


def test_wait_queue_watch_works_if_its_message_arrives_before_it_is_stored(world: World) -> None:
    world.add(by_hand(max_runs=2))
    world.until(NOON + 125)
    assert world.wait_queues.set_watch(
        "default", "tick-tock", None, world.wait_queues.watch("default", "tick-tock"), expires_at=0
    )
    world.until(NOON + 125 + 2 * WATCH_SECONDS)
    (watch,) = [each.message for each in world.wheel._held if each.message.watch is not None]
    standing = world.wait_queues.watch("default", "tick-tock")
    assert standing is not None
    assert standing.nonce == watch.watch


def test_wait_queue_watch_among_the_dead_letters_is_sent_again_by_the_reconciler(world: World) -> None:
    world.add(by_hand(max_runs=2))
    world.until(NOON + 125)
    watch = next(each for each in world.wheel._held if each.message.watch is not None)
    world.wheel._held.remove(watch)
    world.wheel.dead_letters.append(watch)
    world.reconcile()
    assert world.wheel.dead_letters == []
    world.until(NOON + 125 + WATCH_SECONDS)
    assert any(each.message.watch is not None for each in world.wheel._held)


def test_wait_queue_keeps_the_turn_of_a_failing_run_until_its_last_attempt(world: World) -> None:
    def fail_the_first(call: Call) -> Outcome:
        return Failed("no") if call.run.occurrence == int(NOON) + 60 else Returned()

    world.caller.answer = fail_the_first
    from duecourse.domain.jobs.job import Backoff, RetryPolicy

    twice = RetryPolicy(max_attempts=2, backoff=Backoff.FIXED, min_seconds=200, max_seconds=200)
    world.add(job("* * * * *", overlap=Overlap.QUEUE, retry=twice, max_runs=3))
    world.until(NOON + 400)
    assert [(name[-7:-1], at - NOON) for name, _, at in world.caller.calls] == [
        ("120100", 60.0),
        ("120100", 260.0),
        ("120200", 260.0),
        ("120300", 260.0),
    ]
    assert [run.state for run in world.runs("tick-tock")] == [RunState.DEAD, S, S]


def test_wait_queue_lists_a_waiting_run_as_queued(world: World) -> None:
    world.add(by_hand(max_runs=3))
    world.until(NOON + 200)
    found: list[Run] = world.runs("tick-tock")
    assert [run.state for run in found] == [W, Q, Q]


def test_wait_queue_calls_a_run_that_could_not_be_removed_from_it(world: World) -> None:
    world.add(job("* * * * *", overlap=Overlap.QUEUE, delivery=Delivery.AT_MOST_ONCE, max_runs=3))
    world.until(NOON + 59)
    lock = Lock("20261121T115900Z", NOON + 61)  # its holder never begins
    assert world.run_store.lock("default", "tick-tock", lock, None) is None
    refused = throttled(times=1)
    world.wait_queues = around(world.wait_queues, leave=refused)
    world.until(NOON + 300)
    assert told(world) == [(60, S, None), (120, S, None), (180, S, None)]
    assert refused.hits == 1
    assert (len(world.caller.calls), in_queue(world)) == (3, [])
