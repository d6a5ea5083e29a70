"""SQS in simulated time: delays, visibility, receive counts, redrive to the dead-letter queue, FIFO groups."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.prove.simulation import Simulation
from tests.prove.stage import QueueSettings

DEDUPLICATED_SECONDS = 300
"""Amazon SQS Developer Guide, "Exactly-once processing"."""


@dataclass(eq=False)
class Message:
    """A message of a queue. `visible` is UTC seconds; `receipt` that of its last receive; `doubled`: it is, or has, a
    copy. `ghost`: a copy that a delete of the other one does not take away, which comes much later."""

    id: str
    body: str
    group: str | None
    visible: float
    sent: float
    receives: int = 0
    receipt: str = ""
    doubled: bool = False
    ghost: bool = False


@dataclass(eq=False)
class Queue:
    """`arrived` is called whenever a message becomes visible at an instant. What is received `max_receives` times moves
    to `dead_letters` at the next receive."""

    settings: QueueSettings
    simulation: Simulation
    arrived: Callable[[Queue, float], None]
    dead_letters: Queue | None = None
    messages: list[Message] = field(default_factory=list)
    sent: int = 0
    copies_deleted: list[tuple[float, str]] = field(default_factory=list)
    """When, and the bodies of copies that a delete of the other copy took away."""
    _seen: dict[str, float] = field(default_factory=dict)
    _numbers: int = 0
    _receipts: int = 0

    def send(self, body: str, delay: float, group: str | None, deduplication: str | None = None) -> str:
        """Store a message, and return its id."""
        now = self.simulation.now
        self._numbers += 1
        name = f"{self.settings.name}-{self._numbers:06}"
        if deduplication is not None:
            if now - self._seen.get(deduplication, float("-inf")) < DEDUPLICATED_SECONDS:
                return name
            self._seen[deduplication] = now
        self.sent += 1
        self.put(Message(name, body, group, now + delay, now))
        return name

    def put(self, message: Message) -> None:
        """Add a message that has its id."""
        self.messages.append(message)
        self.arrived(self, message.visible)

    def receive(self, most: int, hidden: float | None = None) -> list[Message]:
        """Up to so many visible messages, hidden from now on."""
        now = self.simulation.now
        found = [each for each in self.messages if each.visible <= now]
        if self.settings.fifo:
            busy = {each.group for each in self.messages if each.visible > now and each.receives}
            first: dict[str | None, Message] = {}
            for each in found:
                if each.group not in busy:
                    first.setdefault(each.group, each)
            found = list(first.values())
        else:
            self.simulation.random.shuffle(found)
        received = []
        for message in found[:most]:
            if message not in self.messages:
                continue
            if self.settings.receives is not None and message.receives >= self.settings.receives:
                self.delete(message.receipt)  # with what is delivered twice of it: it is one message
                assert self.dead_letters is not None
                message.visible, message.receives = now, 0
                self.dead_letters.put(message)
                continue
            message.receives += 1
            self._receipts += 1  # two copies that are received at the same instant have a receipt each
            message.receipt = f"{message.id}/{message.receives}/{now}/{self._receipts}"
            self._hide(message, self.settings.visibility_seconds if hidden is None else hidden)
            received.append(message)
        return received

    def delete(self, receipt: str) -> bool:
        """Delete by the receipt of a receive; a message that is gone counts as deleted."""
        shared = {each.id for each in self.messages if each.receipt == receipt and each.doubled and not each.ghost}
        left = [each for each in self.messages if each.receipt != receipt]
        self.messages = [each for each in left if each.ghost or each.id not in shared]
        self.copies_deleted += [(self.simulation.now, each.body) for each in left if each not in self.messages]
        return True

    def hide(self, receipt: str, seconds: float) -> bool:
        """Change a message's visibility; False where the receipt is of no message that is there."""
        for message in self.messages:
            if message.receipt == receipt:
                self._hide(message, seconds)
                return True
        return False

    def attributes(self) -> dict[str, str]:
        """What GetQueueAttributes counts; exactly here."""
        now = self.simulation.now
        hidden = [each for each in self.messages if each.visible > now]
        delayed = [each for each in hidden if not each.receives]
        return {
            "ApproximateNumberOfMessages": str(len(self.messages) - len(hidden)),
            "ApproximateNumberOfMessagesNotVisible": str(len(hidden) - len(delayed)),
            "ApproximateNumberOfMessagesDelayed": str(len(delayed)),
        }

    def _hide(self, message: Message, seconds: float) -> None:
        message.visible = self.simulation.now + seconds
        self.arrived(self, message.visible)


def record(message: Message, queue: str) -> dict[str, Any]:
    """A message as an event source mapping hands it to a function."""
    return {
        "messageId": message.id,
        "receiptHandle": message.receipt,
        "body": message.body,
        "attributes": {
            "ApproximateReceiveCount": str(message.receives),
            "SentTimestamp": str(int(message.sent * 1000)),
            "SenderId": "AIDAEXAMPLE",
            "ApproximateFirstReceiveTimestamp": str(int(message.sent * 1000)),
            **({} if message.group is None else {"MessageGroupId": message.group}),
        },
        "messageAttributes": {},
        "md5OfBody": "",
        "eventSource": "aws:sqs",
        "eventSourceARN": f"arn:aws:sqs:us-east-1:000000000000:{queue}",
        "awsRegion": "us-east-1",
    }
