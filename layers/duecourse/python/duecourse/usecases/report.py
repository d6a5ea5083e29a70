"""What a use case tells its handler: decisions with stable action names, to be logged and counted there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Event:
    """One decision: a stable `action` and its facts. `alarming` ones are logged as errors."""

    action: str
    facts: Mapping[str, object]
    alarming: bool = False


@dataclass(slots=True)
class Report:
    """Events in the order they happened, counts by metric name, and durations (seconds) by metric name."""

    events: list[Event] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    seconds: dict[str, list[float]] = field(default_factory=dict)

    def add(self, action: str, /, *, alarming: bool = False, **facts: object) -> None:
        """Note an event."""
        self.events.append(Event(action, facts, alarming))

    def measure(self, metric: str, seconds: float) -> None:
        """Note a duration."""
        self.seconds.setdefault(metric, []).append(seconds)

    def merge(self, other: Report) -> None:
        """Take over all that another report noted."""
        self.events += other.events
        self.counts += other.counts
        for metric, measured in other.seconds.items():
            self.seconds.setdefault(metric, []).extend(measured)
