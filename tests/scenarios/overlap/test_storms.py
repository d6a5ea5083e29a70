"""Messages of a job whose runs wait in the wait queue do not multiply, even if its lane is late by minutes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from itertools import pairwise
from typing import Any

import pytest

from duecourse.domain.ids import to_basic
from duecourse.domain.jobs.job import Completion, MissedMode, MissedPolicy, Overlap
from duecourse.domain.runs.states import RunState
from duecourse.messages import MessageKind, RunMessage
from duecourse.ports import Outgoing
from duecourse.testing.stores import MemoryStores
from tests.support.faulty import CountedStore
from tests.support.jobs import NOON, job
from tests.support.world import World

STEP_SECONDS = 0.1

OUTAGE_SECONDS, FIRING_SECONDS = 120, 60

SLOW_SECONDS = 20.0


@dataclass
class SlowLane:
    """A job that is due every second. Its workers are away for two minutes; afterwards they handle a limited number of
    messages a second. Its runs take half a second each, and those that `slow` names take longer.
    """

    overlap: Overlap
    handled_per_second: int
    slow: int = 0
    limit: int | None = None
    requests: list[str] = field(default_factory=list)
    requests_by_minute: list[int] = field(default_factory=list)
    most_calls_at_once: int = 0
    _completions: list[tuple[float, str]] = field(default_factory=list)
    _called: int = 0

    def __post_init__(self) -> None:
        self.world = world = World(MemoryStores())
        world.jobs, world.wait_queues = (
            CountedStore(world.jobs, self.requests),
            CountedStore(world.wait_queues, self.requests),
        )  # type: ignore[assignment]
        world.run_store = CountedStore(world.run_store, self.requests)  # type: ignore[assignment]
        firings = OUTAGE_SECONDS + FIRING_SECONDS
        missed = MissedPolicy(MissedMode.RUN_ALL, grace_seconds=3600)
        of: dict[str, Any] = {
            "overlap": self.overlap,
            "active_limit": self.limit,
            "missed": missed,
            "max_runs": firings,
        }
        world.add(job("rate(1 second)", completion=Completion.CALLBACK, **of))

    def run(self, seconds: int) -> None:
        """Let time pass from the beginning on."""
        world = self.world
        for step in range(1, int(seconds / STEP_SECONDS) + 1):
            world.clock.set(NOON + step * STEP_SECONDS)
            since_noon = round(step * STEP_SECONDS, 1)
            if since_noon % 60 == 0:
                world.dispatch()
                self.requests_by_minute.append(len(self.requests))
            if since_noon > OUTAGE_SECONDS and step % max(round(1 / STEP_SECONDS / self.handled_per_second), 1) == 0:
                self._handle_one()
            self._complete()

    def _handle_one(self) -> None:
        if (held := self.world.wheel.receive()) is None:
            return
        worker = self.world.worker()
        if worker([self.world.wheel.received(held)], self.world.clock.now() + 120).retained:
            self.world.wheel.put_back(held)
        waited = [each for each in self.world.wheel._held if '"waited"' in each.body]
        calls = sum(is_call(each.message) for each in waited)
        self.most_calls_at_once = max(self.most_calls_at_once, calls)

    def _complete(self) -> None:
        world = self.world
        for name, _, at in world.caller.calls[self._called :]:
            self._called += 1
            takes = SLOW_SECONDS if self.slow and self._called % self.slow == 0 else 0.5
            heappush(self._completions, (at + takes, name.partition(".")[2]))
        while self._completions and self._completions[0][0] <= world.clock.now():
            _, local = heappop(self._completions)
            run = world.run_store.get("default", "tick-tock", local)
            if run is not None and run.state is RunState.WAITING:
                world.wheel.send([Outgoing(world.about(run, MessageKind.COMPLETE), 0)])

    @property
    def sends_by_run(self) -> float:
        """Messages about runs, without those that the dispatcher sends and without the watch's, for each run."""
        sent = [each.message for each in self.world.wheel.sent]
        by_workers = [each for each in sent if (each.waited and each.watch is None) or each.kind is MessageKind.CANCEL]
        return len(by_workers) / len(self.world.runs("tick-tock"))


def is_call(message: RunMessage) -> bool:
    """Whether it starts a run that waits in the wait queue."""
    return message.kind is MessageKind.START and message.waited and message.watch is None


@pytest.mark.parametrize("handled_per_second", [10, 5])
@pytest.mark.parametrize(
    ("overlap", "slow"), [(Overlap.QUEUE, 0), (Overlap.NEWEST, 0), (Overlap.REPLACE, 0), (Overlap.REPLACE, 50)]
)
def test_wait_queue_sends_few_messages_after_an_outage_for_a_job_due_every_second(
    overlap: Overlap, slow: int, handled_per_second: int
) -> None:
    lane = SlowLane(overlap, handled_per_second, slow)
    lane.run(900)
    assert len(lane.world.runs("tick-tock")) == OUTAGE_SECONDS + FIRING_SECONDS
    assert all(run.state.final for run in lane.world.runs("tick-tock"))
    assert len(lane.world.wheel) == 0
    assert lane.sends_by_run <= 3
    by_minute = [after - before for before, after in pairwise([0, *lane.requests_by_minute])]
    assert max(by_minute) <= 20 * 60 * handled_per_second
    assert sum(by_minute) <= 50 * len(lane.world.runs("tick-tock"))
    assert by_minute[-1] == 0


@pytest.mark.parametrize("overlap", [Overlap.QUEUE, Overlap.NEWEST, Overlap.REPLACE])
def test_wait_queue_has_one_call_in_flight_for_each_job(overlap: Overlap) -> None:
    lane = SlowLane(overlap, 10)
    lane.run(600)
    assert lane.most_calls_at_once <= 2  # the watch may send one in spite of another one


@pytest.mark.parametrize("copies", [1, 10])
def test_wait_queue_calls_the_next_run_once_after_late_calls_of_an_ended_run(copies: int) -> None:
    world = World(MemoryStores())
    world.add(job("* * * * *", overlap=Overlap.QUEUE, completion=Completion.CALLBACK, max_runs=12))
    world.until(NOON + 750)
    (call,) = world.wait_queues.waiting("default", "tick-tock", limit=1)
    sent = []
    for _ in range(6):
        before = len(world.wheel.sent)
        (waiting,) = [run for run in world.runs("tick-tock") if run.state is RunState.WAITING]
        world.wheel.send([Outgoing(world.about(waiting, MessageKind.COMPLETE), 0)])
        for number in range(copies):  # calls that come after the run at the head has ended
            late = replace(call, nonce=f"late-{waiting.name.local}-{number}", not_before=world.clock.now())
            world.wheel.send([Outgoing(late, 0)])
        world.work()
        sent.append(len(world.wheel.sent) - before - 1 - copies)
    assert max(sent) <= 2  # the call of the next run, and the deadline of its callback


def test_wait_queue_call_of_an_ended_run_removes_nothing_and_sends_nothing() -> None:
    world = World(MemoryStores())
    world.add(job("* * * * *", overlap=Overlap.QUEUE, completion=Completion.CALLBACK, max_runs=4))
    world.until(NOON + 125)
    (call,) = world.wait_queues.waiting("default", "tick-tock", limit=1)
    assert call.name.local == to_basic(int(NOON) + 120)
    world.until(NOON + 245)
    first = world.runs("tick-tock")[0]
    world.tell(world.about(first, MessageKind.COMPLETE))
    second = world.runs("tick-tock")[1]
    world.tell(world.about(second, MessageKind.COMPLETE))
    before = len(world.wheel.sent)
    world.tell(replace(call, nonce="late", not_before=world.clock.now()))
    assert len(world.wheel.sent) == before + 1
