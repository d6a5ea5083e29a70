"""The lanes as a timing wheel: messages become visible as the clock advances."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count
from threading import Lock

from duecourse.domain.jobs.job import Lane
from duecourse.limits import MAX_DELAY_SECONDS
from duecourse.messages import RunMessage, read_run_message
from duecourse.ports import Depth, Outgoing, OutgoingOperation
from duecourse.testing.clock import SettableClock
from duecourse.usecases.worker.work_item import ReceivedMessage


@dataclass(order=True)
class Held:
    """A message in the wheel that is visible from an instant on (UTC seconds)."""

    visible: float
    serial: int
    body: str = field(compare=False)
    receives: int = field(default=0, compare=False)
    lane: Lane = field(default=Lane.NORMAL, compare=False)
    sent_at: float | None = field(default=None, compare=False)

    @property
    def message(self) -> RunMessage:
        """The run message that the body contains."""
        return read_run_message(self.body)


@dataclass
class Wheel:
    """Implementation of ports.Lanes, ports.Received and ports.Depths with one queue. It rejects messages for which
    `refuse` returns true, and those that continue operations if `refuse_operations` is set. `sent` has only messages
    about runs.
    """

    clock: SettableClock
    refuse: Callable[[RunMessage], bool] = lambda _: False
    refuse_operations: bool = False
    sent: list[Outgoing] = field(default_factory=list)
    dead_letters: list[Held] = field(default_factory=list)
    max_receive_count: int = 5
    visibility: float = 150
    _held: list[Held] = field(default_factory=list)
    _postponed: dict[str, float] = field(default_factory=dict)
    _serial: count[int] = field(default_factory=count)
    _lock: Lock = field(default_factory=Lock, repr=False)

    def send(self, outgoing: Sequence[Outgoing | OutgoingOperation]) -> list[bool]:
        """Keep the messages until they are due. Return, for each, whether it was accepted."""
        with self._lock:
            accepted = []
            for one in outgoing:
                if not 0 <= one.delay_seconds <= MAX_DELAY_SECONDS:
                    raise ValueError(f"SQS delays a message by 0 to {MAX_DELAY_SECONDS} s, not by {one.delay_seconds}")
                if isinstance(one, Outgoing):
                    fine = not self.refuse(one.message)
                    self.sent += [one] if fine else []
                else:
                    fine = not self.refuse_operations
                accepted.append(fine)
                if fine:
                    visible = self.clock.now() + one.delay_seconds
                    now, lane = self.clock.now(), one.message.lane
                    held = Held(visible, next(self._serial), one.message.to_json(), lane=lane, sent_at=now)
                    heappush(self._held, held)
            return accepted

    def postpone(self, receipt: str, seconds: int) -> None:
        """Hide the message for this number of seconds."""
        self._postponed[receipt] = self.clock.now() + seconds

    def depth(self, lane: Lane) -> Depth:
        """Return how many messages of the lane are visible, and how many are not visible yet."""
        now = self.clock.now()
        with self._lock:
            visible = [held.visible <= now for held in self._held if held.lane is lane]
        return Depth(sum(visible), 0, len(visible) - sum(visible))

    def __len__(self) -> int:
        return len(self._held)

    @property
    def next_visible(self) -> float | None:
        """The time at which the next message becomes or became visible (UTC seconds), or None if there is none."""
        return self._held[0].visible if self._held else None

    def receive(self) -> Held | None:
        """Return the next visible message. A message that was received too often is moved to the
        dead letters instead.
        """
        with self._lock:
            while self._held and self._held[0].visible <= self.clock.now():
                held = heappop(self._held)
                if held.receives >= self.max_receive_count:
                    self.dead_letters.append(held)
                    continue
                held.receives += 1
                return held
            return None

    def received(self, held: Held) -> ReceivedMessage:
        """Return a message in the form in which a worker receives it."""
        name = f"message-{held.serial}"
        request = f"request-{held.serial}-{held.receives}"
        return ReceivedMessage(name, f"{name}/{held.receives}", held.receives, request, held.body, held.sent_at)

    def put_back(self, held: Held) -> None:
        """Return a message to the queue. It becomes visible at the time set by `postpone`, or after the visibility
        timeout.
        """
        with self._lock:
            receipt = f"message-{held.serial}/{held.receives}"
            held.visible = self._postponed.pop(receipt, self.clock.now() + self.visibility)
            heappush(self._held, held)
