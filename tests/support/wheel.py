"""The lanes as a timing wheel driven by a settable clock.

Emulators hold messages back in real time; scenarios that span hours need queues that follow their clock. What SQS does
to a *received* message (visibility, receive counts, the move to the dead-letter queue) is tested on MiniStack.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from itertools import count
from threading import Lock

from duecourse.adapters.sqs.received import HIDDEN_SECONDS
from duecourse.messages import RunMessage, read_run_message
from duecourse.ports import DeadMessage, Outgoing
from duecourse.usecases.worker.work_item import ReceivedMessage
from tests.support.clock import SettableClock
from tests.support.jobs import NOON


@dataclass(order=True)
class Held:
    """A message in the wheel."""

    visible: float
    serial: int
    body: str = field(compare=False)
    receives: int = field(default=0, compare=False)

    @property
    def message(self) -> RunMessage:
        return read_run_message(self.body)


@dataclass
class Wheel:
    """ports.Lanes and ports.Received."""

    clock: SettableClock
    refuse: Callable[[RunMessage], bool] = lambda _: False
    sent: list[Outgoing] = field(default_factory=list)
    dead_letters: list[Held] = field(default_factory=list)
    max_receive_count: int = 5
    visibility: float = 150
    _held: list[Held] = field(default_factory=list)
    _postponed: dict[str, float] = field(default_factory=dict)
    _serial: count[int] = field(default_factory=count)
    _lock: Lock = field(default_factory=Lock, repr=False)

    def send(self, outgoing: Sequence[Outgoing]) -> list[bool]:
        with self._lock:
            accepted = []
            for one in outgoing:
                assert 0 <= one.delay_seconds <= 900
                fine = not self.refuse(one.message)
                accepted.append(fine)
                if fine:
                    self.sent.append(one)
                    visible = self.clock.now() + one.delay_seconds
                    heappush(self._held, Held(visible, next(self._serial), one.message.to_json()))
            return accepted

    def postpone(self, receipt: str, seconds: int) -> None:
        self._postponed[receipt] = self.clock.now() + seconds

    @property
    def dead_letter_queue(self) -> DeadLetters:
        """What the dead-letter reconciler sees."""
        return DeadLetters(self)

    def redrive(self) -> None:
        """What the console's button does: every dead letter goes back to its queue, under a new message id."""
        for held in self.dead_letters:
            heappush(self._held, Held(self.clock.now(), next(self._serial), held.body))
        self.dead_letters.clear()

    def __len__(self) -> int:
        return len(self._held)

    @property
    def next_visible(self) -> float | None:
        return self._held[0].visible if self._held else None

    def receive(self) -> Held | None:
        """The next visible message; one that was received too often goes to the dead letters instead."""
        with self._lock:
            while self._held and self._held[0].visible <= self.clock.now():
                held = heappop(self._held)
                if held.receives >= self.max_receive_count:
                    self.dead_letters.append(held)
                    continue
                held.receives += 1
                return held
            return None

    def put_in(self, message: RunMessage) -> Held:
        """A message as its worker receives it at this very moment, past the queue."""
        return Held(self.clock.now(), next(self._serial), message.to_json(), receives=1)

    def hold_back(self, second: int) -> list[Held]:
        """Take out the messages of the occurrence that many seconds after NOON: they are late, or lost."""
        late = [held for held in self._held if held.message.occurrence == int(NOON) + second]
        self._held = [held for held in self._held if held.message.occurrence != int(NOON) + second]
        heapify(self._held)
        return late

    def empty(self) -> None:
        """Lose all messages."""
        self._held.clear()

    def give_back(self, late: Sequence[Held]) -> None:
        """Make messages that were held back visible."""
        for held in late:
            held.visible = self.clock.now()
            heappush(self._held, held)

    def received(self, held: Held) -> ReceivedMessage:
        """How a worker sees a received message."""
        name = f"message-{held.serial}"
        request = f"request-{held.serial}-{held.receives}"
        return ReceivedMessage(name, f"{name}/{held.receives}", held.receives, request, held.body)

    def put_back(self, held: Held) -> None:
        """Not deleted: visible again when postponed to, or after the visibility time-out."""
        with self._lock:
            receipt = f"message-{held.serial}/{held.receives}"
            held.visible = self._postponed.pop(receipt, self.clock.now() + self.visibility)
            heappush(self._held, held)


@dataclass
class DeadLetters:
    """ports.DeadLetterQueue."""

    wheel: Wheel
    _hidden: dict[str, float] = field(default_factory=dict)

    def receive(self) -> list[DeadMessage]:
        now = self.wheel.clock.now()
        names = {f"message-{held.serial}": held for held in self.wheel.dead_letters}
        fresh = [name for name in names if self._hidden.get(name, now) <= now][:10]
        self._hidden.update(dict.fromkeys(fresh, now + HIDDEN_SECONDS))
        return [DeadMessage(name, f"{name}/dead", names[name].body) for name in fresh]

    def delete(self, message: DeadMessage) -> None:
        letters = self.wheel.dead_letters
        letters[:] = [held for held in letters if f"message-{held.serial}" != message.message_id]

    def hide(self, messages: Sequence[DeadMessage], seconds: int) -> None:
        until = self.wheel.clock.now() + seconds
        self._hidden.update({message.message_id: until for message in messages})
