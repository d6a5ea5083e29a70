"""A dead-letter queue that fails in the middle of a look into it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from duecourse.ports import DeadLetterQueue, DeadMessage
from duecourse.usecases.report import Report
from tests.support.jobs import NOON, job
from tests.support.tables import Tables
from tests.support.world import World


@pytest.fixture
def world(tables: Tables) -> World:
    """Four messages that nobody needs lie in the dead-letter queue: their job is gone."""
    world = World(tables)
    made = world.add(job("rate(20 seconds)"))
    for second in (20, 40, 60, 80):
        world.wheel.dead_letters += world.wheel.hold_back(second)
    assert world.jobs.delete(made, deleted_at=NOON + 1)
    world.clock.set(NOON + 120)
    return world


@dataclass
class FailingQueue:
    """ports.DeadLetterQueue: the calls whose numbers (from 0) are named fail, and messages come two at a time."""

    queue: DeadLetterQueue
    deletes: tuple[int, ...] = ()
    receives: tuple[int, ...] = ()
    calls: dict[str, int] = field(default_factory=lambda: {"delete": 0, "receive": 0})
    given: list[DeadMessage] = field(default_factory=list)
    released: list[DeadMessage] = field(default_factory=list)

    def _count(self, call: str, failing: tuple[int, ...]) -> None:
        number = self.calls[call]
        self.calls[call] += 1
        if number in failing:
            raise ConnectionError(f"no answer to {call}")

    def receive(self) -> list[DeadMessage]:
        self._count("receive", self.receives)
        self.given = self.given or self.queue.receive()
        now, self.given = self.given[:2], self.given[2:]
        return now

    def delete(self, message: DeadMessage) -> None:
        self._count("delete", self.deletes)
        self.queue.delete(message)

    def release(self, messages: Sequence[DeadMessage]) -> None:
        self.released += messages
        self.queue.release(messages)


def told(report: Report) -> list[object]:
    return [event.facts["error"] for event in report.events if event.action == "dead_letter_failed" and event.alarming]


def test_a_message_that_cannot_be_deleted_keeps_nobody_from_the_others_and_is_seen_by_the_next_sweep(
    world: World,
) -> None:
    queue = FailingQueue(world.wheel.dead_letter_queue, deletes=(1,))
    report = world.sweep(queue)
    assert (report.counts["DeadLettersRemoved"], report.counts["SweepsFailed"]) == (3, 1)
    assert told(report) == ["ConnectionError: no answer to delete"]
    assert len(queue.released) == len(world.wheel.dead_letters) == 1
    assert world.sweep().counts["DeadLettersRemoved"] == 1


def test_a_queue_that_stops_answering_ends_the_sweep_which_tells_what_it_has_done(world: World) -> None:
    report = world.sweep(FailingQueue(world.wheel.dead_letter_queue, receives=(1,)))
    assert (report.counts["DeadLettersRemoved"], report.counts["SweepsFailed"]) == (2, 1)
    assert told(report) == ["ConnectionError: no answer to receive"]
    assert [event.action for event in report.events][-1] == "swept"
    assert world.sweep().counts["DeadLettersRemoved"] == 2
