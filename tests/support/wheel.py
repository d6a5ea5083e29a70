"""The timing wheel of duecourse.testing with what only its own tests do to messages: they are late, lost or redriven.

What SQS does to a *received* message (visibility, receive counts, the move to the dead-letter queue) is tested on
MiniStack.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappush

from duecourse.adapters.sqs.received import HIDDEN_SECONDS
from duecourse.messages import RunMessage
from duecourse.ports import DeadMessage
from duecourse.testing import wheel
from duecourse.testing.wheel import Held
from tests.support.jobs import NOON

__all__ = ["Held", "Wheel"]


@dataclass
class Wheel(wheel.Wheel):
    """A wheel whose messages can be held back."""

    @property
    def dead_letter_queue(self) -> DeadLetters:
        """What the dead-letter reconciler sees."""
        return DeadLetters(self)

    def redrive(self) -> None:
        """What the console's button does: every dead letter goes back to its queue, under a new message id."""
        for held in self.dead_letters:
            heappush(self._held, Held(self.clock.now(), next(self._serial), held.body, lane=held.lane))
        self.dead_letters.clear()

    def put_in(self, message: RunMessage) -> Held:
        """A message as its worker receives it at this very moment, past the queue."""
        return Held(self.clock.now(), next(self._serial), message.to_json(), 1, message.lane)

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
