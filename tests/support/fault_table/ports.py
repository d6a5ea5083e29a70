"""Lanes, notices, events and targets that meet faults."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from duecourse.domain.jobs.job import Completion
from duecourse.domain.targets.targets import Failed, Outcome, Returned
from duecourse.ports import Call, Clock, DeadlineNotification, DeadMessage, FailureNotification, OutboundEvent, Outgoing
from duecourse.testing import executions
from duecourse.testing.clock import Numbered
from duecourse.testing.outbox import Announced, RecordedEvents
from tests.support.client_faults import SDK_TRIES, Fault
from tests.support.fault_table.danger import Danger
from tests.support.fault_table.points import CALL, DELETE, EVENT, NOTICE, SEND, sent
from tests.support.jobs import NOON
from tests.support.wheel import DeadLetters, Wheel
from tests.support.world import Killed


@dataclass
class FaultyLanes:
    """A wheel whose lanes answer like `SqsLanes`: each try of a message has a nonce of its own, nothing raises."""

    wheel: Wheel
    danger: Danger
    randomness: Numbered
    dead_letter_queue: FaultyDeadLetters = field(init=False)

    def __post_init__(self) -> None:
        self.dead_letter_queue = FaultyDeadLetters(self.wheel.dead_letter_queue, self.danger)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.wheel, name)

    def __len__(self) -> int:
        return len(self.wheel)

    def send(self, outgoing: Sequence[Outgoing]) -> list[bool]:
        """ports.Lanes."""
        match self.danger.of_port(SEND, sent(outgoing)):
            case Fault.DIES_BEFORE:
                raise Killed
            case Fault.DIES_AFTER:
                self.wheel.send(outgoing)
                raise Killed
            case Fault.ANSWER_LOST:
                for _ in range(SDK_TRIES):
                    outgoing = self._send(outgoing)
                return [False] * len(outgoing)
            case Fault.REFUSED:
                return [False] * len(outgoing)
            case Fault.TWICE:
                outgoing = self._send(outgoing)
        return self.wheel.send(outgoing)

    def _send(self, outgoing: Sequence[Outgoing]) -> list[Outgoing]:
        """Send, unheard; what the next try sends."""
        self.wheel.send(outgoing)
        return [replace(each, message=each.message.again(nonce=self.randomness.nonce())) for each in outgoing]


@dataclass
class FaultyDeadLetters:
    """ports.DeadLetterQueue."""

    queue: DeadLetters
    danger: Danger

    def receive(self) -> list[DeadMessage]:
        return self.queue.receive()

    def hide(self, messages: Sequence[DeadMessage], seconds: int) -> None:
        self.queue.hide(messages, seconds)

    def delete(self, message: DeadMessage) -> None:
        struck(self.danger.of_port(DELETE, "of a dead letter"), lambda: self.queue.delete(message))


@dataclass
class FaultyNotices(Announced):
    """ports.Notifier."""

    danger: Danger = field(default_factory=Danger)

    def death(self, death: FailureNotification) -> None:
        tell = super().death
        struck(self.danger.of_port(NOTICE, "of a death"), lambda: tell(death))

    def deadline(self, missed: DeadlineNotification) -> None:
        tell = super().deadline
        struck(self.danger.of_port(NOTICE, "of a deadline"), lambda: tell(missed))


@dataclass
class FaultyBus(RecordedEvents):
    """ports.Bus: it counts what was refused, and does not raise."""

    danger: Danger = field(default_factory=Danger)

    def publish(self, events: Sequence[OutboundEvent]) -> int:
        tell = super().publish
        try:
            struck(self.danger.of_port(EVENT, " + ".join(each.detail_type for each in events)), lambda: tell(events))
        except OSError:
            return len(events)
        return 0


def struck(fault: Fault | None, act: Callable[[], object]) -> None:
    """Ask for something that meets a fault. Raises OSError for what was refused, or not answered."""
    if fault is Fault.DIES_BEFORE:
        raise Killed
    if fault is Fault.REFUSED:
        raise OSError("ThrottlingException: Rate exceeded")
    for _ in range({Fault.ANSWER_LOST: SDK_TRIES, Fault.TWICE: 2}.get(fault, 1) if fault else 1):
        act()
    if fault is Fault.DIES_AFTER:
        raise Killed
    if fault is Fault.ANSWER_LOST:
        raise OSError("Read timeout")


@dataclass(frozen=True, slots=True)
class Called:
    """One call that reached the target: of which run (seconds after NOON of its occurrence, and its suffix), which
    attempt, when, and until when it may be at work there (UTC seconds). `fine`: its answer was heard, and a success.
    """

    name: tuple[int, str]
    attempt: int
    at: float
    until: float
    fine: bool


@dataclass
class Target:
    """ports.Caller. `answers`: what it answers to the first calls of a run that it hears, by the run's occurrence in
    seconds after NOON; to all others success.
    """

    clock: Clock
    danger: Danger
    answers: dict[int, list[Outcome]] = field(default_factory=dict)
    calls: list[Called] = field(default_factory=list)
    tokens: list[str | None] = field(default_factory=list)
    killed_at: float = 0.0
    """When the invocation that calls is killed at the latest."""

    def call(self, call: Call) -> Outcome:
        fault = self.danger.of_port(CALL, "of the target")
        if fault is Fault.DIES_BEFORE:
            raise Killed
        self.tokens.append(call.callback_token)
        if fault is not None and fault is not Fault.TWICE:
            self._called(call, fine=False, until=self.killed_at if fault is Fault.DIES_AFTER else None)
            if fault is Fault.DIES_AFTER:
                raise Killed
            return (
                Failed("HTTP 503", code="http.503") if fault is Fault.REFUSED else Failed("no answer", code="timeout")
            )
        failing = self.answers.get(call.run.occurrence - int(NOON))
        started = executions.execution_of(call) if call.job.completion is Completion.END else None
        outcome = failing.pop(0) if failing else Returned("fine", started)
        self._called(call, fine=isinstance(outcome, Returned))
        return outcome

    def _called(self, call: Call, *, fine: bool, until: float | None = None) -> None:
        now, run = self.clock.now(), call.run
        name = (run.occurrence - int(NOON), run.suffix)
        self.calls.append(Called(name, run.attempt, now, now if until is None else until, fine))
