"""A dead-letter queue that fails in the middle of a look into it."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from duecourse.ports import DeadLetterQueue, DeadMessage
from duecourse.testing.clock import SettableClock
from duecourse.usecases.maintenance.reconcile import HIDDEN_SECONDS
from duecourse.usecases.report import Report
from tests.support.jobs import NOON, job
from tests.support.tables import Tables
from tests.support.wheel import Held
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
    hidden: list[tuple[int, int]] = field(default_factory=list)

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

    def hide(self, messages: Sequence[DeadMessage], seconds: int) -> None:
        self.hidden.append((len(messages), seconds))
        self.queue.hide(messages, seconds)


def told(report: Report) -> list[object]:
    return [event.facts["error"] for event in report.events if event.action == "dead_letter_failed" and event.alarming]


def test_reconciler_handles_other_messages_after_a_failed_deletion_and_retries_it_in_the_next_call(
    world: World,
) -> None:
    queue = FailingQueue(world.wheel.dead_letter_queue, deletes=(1,))
    report = world.reconcile(queue)
    assert (report.counts["DeadLettersRemoved"], report.counts["ReconciliationsFailed"]) == (3, 1)
    assert told(report) == ["ConnectionError: no answer to delete"]
    assert queue.hidden == [(1, 0)]
    assert len(world.wheel.dead_letters) == 1
    assert world.reconcile().counts["DeadLettersRemoved"] == 1


def test_reconciler_ends_and_reports_its_work_when_the_queue_stops_responding(world: World) -> None:
    report = world.reconcile(FailingQueue(world.wheel.dead_letter_queue, receives=tuple(range(1, 9))))
    assert (report.counts["DeadLettersRemoved"], report.counts["ReconciliationsFailed"]) == (2, 8)
    assert set(told(report)) == {"ConnectionError: no answer to receive"}
    assert [event.action for event in report.events][-1] == "reconciled"
    assert world.reconcile().counts["DeadLettersRemoved"] == 2


@dataclass
class SlowQueue(FailingQueue):
    """Each of its answers takes half a second, so that a call of a minute sees some 1,100 messages."""

    clock: SettableClock = field(kw_only=True)

    def receive(self) -> list[DeadMessage]:
        self.clock.advance(0.5)
        return self.queue.receive()


def test_reconciler_finds_a_stranded_message_behind_2600_valid_dead_letters_in_the_third_call(world: World) -> None:
    stranded = world.wheel.dead_letters[:1]
    letters = [Held(0.0, 10_000 + number, "nothing of ours: a person must look at it") for number in range(2600)]
    world.wheel.dead_letters[:] = letters + stranded
    queue = SlowQueue(world.wheel.dead_letter_queue, clock=world.clock)
    removed = []
    for _ in range(3):
        removed.append(world.reconcile(queue).counts["DeadLettersRemoved"])
        world.clock.advance(240)
    assert removed == [0, 0, 1]
    assert [seconds for _, seconds in queue.hidden] == [HIDDEN_SECONDS, HIDDEN_SECONDS, 0]


def test_reconciler_call_that_saw_all_dead_letters_leaves_them_available_for_a_redrive(world: World) -> None:
    world.wheel.dead_letters[:] = [Held(0.0, 10_000 + number, "nothing of ours") for number in range(25)]
    queue = FailingQueue(world.wheel.dead_letter_queue)
    assert world.reconcile(queue).counts["DeadLettersKept"] == 25
    assert queue.hidden == [(25, 0)]
    assert len(world.wheel.dead_letter_queue.receive()) == 10
